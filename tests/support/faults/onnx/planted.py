"""Faults that a rewriter could make, planted into ONNX models one at a time: kind -> every model with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

Fault = Callable[[ModelProto], Iterator[None]]
"""Changes the model at one place, yields, and changes it back; then the next place."""

SIBLINGS = {
    "Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul", "Max": "Min", "Min": "Max", "And": "Or", "Or": "And",
    "Greater": "Less", "Less": "Greater", "Relu": "Neg", "Sum": "Mean", "Exp": "Sqrt", "ReduceMean": "ReduceSum",
}  # fmt: skip
MOVING = {"Constant", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Identity", "Shape", "Tile", "Flatten"}
"""What they mean shows in what they give, in all versions."""
LEGACY = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
ORDERED = ("Sub", "Div", "Pow", "Less", "Greater", "GreaterOrEqual", "LessOrEqual", "MatMul", "Mod", "BitShift")


def graphs(model: ModelProto) -> Iterator[GraphProto]:
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        yield graph
        for node in graph.node:
            pending += [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def nodes(model: ModelProto, *ops: str) -> Iterator[NodeProto]:
    held = [node for graph in graphs(model) for node in graph.node]
    held += [node for function in model.functions for node in function.node]
    yield from (node for node in held if not ops or node.op_type in ops)


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    for graph in graphs(model):
        yield from graph.initializer
    for node in nodes(model, "Constant"):
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))


def constant(model: ModelProto, name: str) -> TensorProto | None:
    for tensor in (each for graph in graphs(model) for each in graph.initializer):
        if tensor.name == name:
            return tensor
    for node in nodes(model, "Constant"):
        if node.output[0] == name and node.attribute and node.attribute[0].HasField("t"):
            return node.attribute[0].t
    return None


def set_elements(tensor: TensorProto, elements: object) -> Iterator[None]:
    kept = TensorProto()
    kept.CopyFrom(tensor)
    made = numpy_helper.from_array(elements, tensor.name)
    tensor.CopyFrom(made)
    yield
    tensor.CopyFrom(kept)


def _swapped(node: NodeProto, one: int, two: int) -> Iterator[None]:
    if node.input[one] != node.input[two]:
        node.input[one], node.input[two] = node.input[two], node.input[one]
        yield
        node.input[one], node.input[two] = node.input[two], node.input[one]


def left_and_right_swapped(model: ModelProto) -> Iterator[None]:
    for node in nodes(model, *ORDERED):
        yield from _swapped(node, 0, 1)


def branches_of_where_swapped(model: ModelProto) -> Iterator[None]:
    for node in nodes(model, "Where"):
        yield from _swapped(node, 1, 2)


def _target_changed(model: ModelProto, op: str, change: Callable[[list[int]], list[int] | None]) -> Iterator[None]:
    for node in nodes(model, op):
        tensor = constant(model, node.input[1]) if len(node.input) > 1 else None
        if tensor is None or tensor.data_type != TensorProto.INT64:
            continue
        elements = numpy_helper.to_array(tensor)
        changed = change(elements.reshape(-1).tolist())
        if changed is not None:
            yield from set_elements(tensor, elements.dtype.type(changed).reshape(-1))


def lifted_on_the_wrong_side(model: ModelProto) -> Iterator[None]:
    """[1,1,4] -> [4,1,1]."""
    yield from _target_changed(model, "Reshape", lambda dims: dims[::-1] if dims != dims[::-1] else None)


def constant_lifted_on_the_wrong_side(model: ModelProto) -> Iterator[None]:
    for tensor in tensors(model):
        dims = list(tensor.dims)
        if dims != dims[::-1]:
            tensor.dims[:] = dims[::-1]
            yield
            tensor.dims[:] = dims


def stretched_to_another_size(model: ModelProto) -> Iterator[None]:
    yield from _target_changed(model, "Expand", lambda dims: [*dims[:-1], dims[-1] + 1] if dims else None)
    yield from _target_changed(model, "Expand", lambda dims: [dims[0] + 1, *dims[1:]] if dims else None)


def zero_in_a_reshape(model: ModelProto) -> Iterator[None]:
    yield from _target_changed(model, "Reshape", lambda dims: [*dims[:-1], 0] if dims and dims[-1] else None)


def zero_in_front_of_a_reshape(model: ModelProto) -> Iterator[None]:
    yield from _target_changed(model, "Reshape", lambda dims: [0, *dims[1:]] if dims and dims[0] > 0 else None)


def _source(graph: GraphProto, name: str) -> str:
    """Where a value comes from, through lifts and stretches, which a reader that broadcasts does not tell."""
    moving = ("Expand", "Identity", "Reshape", "Unsqueeze")
    made = {node.output[0]: node.input[0] for node in graph.node if node.op_type in moving}
    while name in made:
        name = made[name]
    return name


def _read_beside(graph: GraphProto, name: str) -> set[str]:
    """Name what the readers of a value read, through every further Expand: a stretch by that adds nothing."""
    found = set()
    for node in graph.node:
        if name in node.input:
            found |= {_source(graph, each) for each in node.input}
            found |= _read_beside(graph, node.output[0]) if node.op_type == "Expand" else set()
    return found


def stretched_by_the_wrong_operand(model: ModelProto) -> Iterator[None]:
    """Expand(a, Shape(b)) -> Expand(a, Shape(c)), where c is an input that no reader of the result reads."""
    for graph in graphs(model):
        shapes = {node.output[0]: node for node in graph.node if node.op_type == "Shape"}
        for node in graph.node:
            if node.op_type == "Expand" and node.input[1] in shapes:
                shape = shapes[node.input[1]]
                read = {_source(graph, node.input[0]), *_read_beside(graph, node.output[0])}
                for name in sorted({each.name for each in model.graph.input} - read - {shape.input[0]}):
                    kept, shape.input[0] = shape.input[0], name
                    yield
                    shape.input[0] = kept


def attribute_dropped(model: ModelProto) -> Iterator[None]:
    for node in nodes(model):
        for index, attribute in enumerate(node.attribute):
            if not attribute.HasField("g") and node.op_type != "Constant":
                kept = [onnx.AttributeProto.FromString(each.SerializeToString()) for each in node.attribute]
                del node.attribute[index]
                yield
                del node.attribute[:]
                node.attribute.extend(kept)


def attribute_changed(model: ModelProto) -> Iterator[None]:
    for node in nodes(model):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.INT and node.op_type not in ("Cast", "Shape"):
                attribute.i += 1
                yield
                attribute.i -= 1
            elif attribute.type == onnx.AttributeProto.FLOAT:
                kept, attribute.f = attribute.f, attribute.f + 0.5
                yield
                attribute.f = kept


def cast_to_another_type(model: ModelProto) -> Iterator[None]:
    for node in nodes(model, "Cast"):
        for attribute in node.attribute:
            kept, attribute.i = (
                attribute.i,
                TensorProto.DOUBLE if attribute.i == TensorProto.FLOAT else TensorProto.FLOAT,
            )
            yield
            attribute.i = kept


def bit_of_a_weight_flipped(model: ModelProto) -> Iterator[None]:
    for tensor in tensors(model):
        if tensor.data_type == TensorProto.FLOAT and 0 not in tensor.dims:
            elements = numpy_helper.to_array(tensor).copy()
            elements.view("int32").reshape(-1)[-1] ^= 1
            yield from set_elements(tensor, elements)


def constants_swapped(model: ModelProto) -> Iterator[None]:
    held = list(model.graph.initializer)
    for one, two in pairwise(held):
        if (one.data_type, list(one.dims)) == (two.data_type, list(two.dims)):
            a, b = numpy_helper.to_array(one), numpy_helper.to_array(two)
            if a.tobytes() != b.tobytes():
                one.name, two.name = two.name, one.name
                yield
                one.name, two.name = two.name, one.name


def another_operator(model: ModelProto) -> Iterator[None]:
    for node in nodes(model, *SIBLINGS):
        kept, node.op_type = node.op_type, SIBLINGS[node.op_type]
        yield
        node.op_type = kept


def operand_rewired(model: ModelProto) -> Iterator[None]:
    """Each operand of each node becomes the node's other operand, or the first input of the model.

    Not of an Expand nor of the Shape by which it stretches: that is a fault of another kind.
    """
    for graph in graphs(model):
        first = model.graph.input[0].name if model.graph.input else ""
        for node in (each for each in graph.node if each.op_type not in ("Expand", "Shape")):
            for index, name in enumerate(node.input):
                for other in sorted({first, *node.input} - {name, ""}):
                    if _source(graph, other) == _source(graph, name):
                        continue  # one is the other, stretched
                    node.input[index] = other
                    yield
                    node.input[index] = name


def node_bypassed(model: ModelProto) -> Iterator[None]:
    """Not an Expand: a reader that broadcasts needs none."""
    for graph in graphs(model):
        for node in graph.node:
            if len(node.input) and node.input[0] and node.op_type not in ("Identity", "Expand", "If", "Loop", "Scan"):
                kept = NodeProto.FromString(node.SerializeToString())
                node.CopyFrom(helper.make_node("Identity", [kept.input[0]], [kept.output[0]]))
                yield
                node.CopyFrom(kept)


def output_rewired(model: ModelProto) -> Iterator[None]:
    for graph in graphs(model):
        made = [name for node in graph.node for name in node.output if name]
        for node in graph.node[-1:]:
            for other in made[:-1][-3:]:
                kept = NodeProto.FromString(node.SerializeToString())
                node.CopyFrom(helper.make_node("Identity", [other], [kept.output[0]]))
                yield
                node.CopyFrom(kept)


def output_renamed(model: ModelProto) -> Iterator[None]:
    for output in model.graph.output:
        made = [node for node in model.graph.node if output.name in node.output]
        readers = [node for node in nodes(model) if output.name in node.input]
        if not made or readers:
            continue
        kept, at = output.name, list(made[0].output).index(output.name)
        output.name = made[0].output[at] = f"{kept}_x"
        yield
        output.name = made[0].output[at] = kept


def input_type_changed(model: ModelProto) -> Iterator[None]:
    for info in (*model.graph.input, *model.graph.output):
        kind = info.type.tensor_type
        kept, kind.elem_type = kind.elem_type, TensorProto.INT16
        yield
        kind.elem_type = kept


def input_shape_changed(model: ModelProto) -> Iterator[None]:
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            kept = onnx.TensorShapeProto.Dimension.FromString(dim.SerializeToString())
            dim.dim_value = dim.dim_value + 1 if kept.HasField("dim_value") else 3
            yield
            dim.CopyFrom(kept)


def inputs_swapped(model: ModelProto) -> Iterator[None]:
    """Where callers see both: before IR version 4 some inputs are constants."""
    constants = {tensor.name for tensor in model.graph.initializer}
    held = [onnx.ValueInfoProto.FromString(info.SerializeToString()) for info in model.graph.input]
    if len(held) > 1 and constants.isdisjoint(info.name for info in held):
        del model.graph.input[:]
        model.graph.input.extend(held[::-1])
        yield
        del model.graph.input[:]
        model.graph.input.extend(held)


def domain_changed(model: ModelProto) -> Iterator[None]:
    for node in nodes(model):
        stated, kept = node.HasField("domain"), node.domain
        node.domain = f"{kept}.other"
        yield
        node.domain = kept
        if not stated:
            node.ClearField("domain")


def quantized_axis_not_shifted(model: ModelProto) -> Iterator[None]:
    for node in nodes(model, "DequantizeLinear", "QuantizeLinear"):
        for attribute in node.attribute:
            if attribute.name == "axis":
                for axis in {0, 1, 2} - {attribute.i}:
                    kept, attribute.i = attribute.i, axis
                    yield
                    attribute.i = kept


def result_stretched(model: ModelProto) -> Iterator[None]:
    """The output goes through an Expand to a bigger shape."""
    for output in model.graph.output:
        made = [node for node in model.graph.node if output.name in node.output]
        if not made or any(output.name in node.input for node in nodes(model)):
            continue
        at = list(made[0].output).index(output.name)
        made[0].output[at] = "inner"
        model.graph.initializer.append(helper.make_tensor("by", TensorProto.INT64, [7], [2, 1, 1, 1, 1, 1, 1]))
        model.graph.node.append(helper.make_node("Expand", ["inner", "by"], [output.name]))
        yield
        model.graph.node.pop()
        model.graph.initializer.pop()
        made[0].output[at] = output.name


def branches_of_if_swapped(model: ModelProto) -> Iterator[None]:
    names = {"then_branch": "else_branch", "else_branch": "then_branch"}
    for node in nodes(model, "If"):
        for _ in range(2):
            for attribute in node.attribute:
                attribute.name = names.get(attribute.name, attribute.name)
            if _ == 0:
                yield


def unsqueezed_at_another_axis(model: ModelProto) -> Iterator[None]:
    """Axes as an operand or as an attribute; the first of them moves to the other end."""
    yield from _target_changed(model, "Unsqueeze", lambda axes: [len(axes), *axes[1:]] if axes == [0] else None)
    yield from _target_changed(model, "Unsqueeze", lambda axes: [-1] if axes == [0] else None)
    for node in nodes(model, "Unsqueeze"):
        for attribute in node.attribute:
            if attribute.name == "axes" and list(attribute.ints) == [0]:
                attribute.ints[:] = [1]
                yield
                attribute.ints[:] = [0]


def zero_allowed_in_a_reshape(model: ModelProto) -> Iterator[None]:
    """A 0 that copied a size states none: the size is 0."""
    for node in nodes(model, "Reshape"):
        tensor = constant(model, node.input[1]) if len(node.input) > 1 else None
        if tensor is None or any(each.name == "allowzero" for each in node.attribute):
            continue
        elements = numpy_helper.to_array(tensor)
        if elements.size and (elements > 0).all():
            node.attribute.append(helper.make_attribute("allowzero", 1))
            yield from set_elements(tensor, elements * np.array([0] + [1] * (elements.size - 1)))
            node.attribute.pop()


def slope_of_another_axis(model: ModelProto) -> Iterator[None]:
    """The slope of a PRelu follows the first axis that it fits in place of the one that it follows."""
    for node in nodes(model, "PRelu"):
        tensor = constant(model, node.input[1])
        if tensor is not None and sorted(tensor.dims) != list(tensor.dims)[::-1]:
            dims = list(tensor.dims)
            tensor.dims[:] = [*dims[1:], dims[0]] if len(dims) > 1 else [*dims, 1]
            yield
            tensor.dims[:] = dims


def legacy_axis_misread(model: ModelProto) -> Iterator[None]:
    """A constant that an `axis` aligned in front, or in the middle, is aligned at the end again."""
    for node in nodes(model, *LEGACY):
        tensor = constant(model, node.input[1]) if len(node.input) > 1 else None
        if tensor is None or list(tensor.dims)[-1:] != [1]:
            continue
        dims = list(tensor.dims)
        while dims and dims[-1] == 1:
            dims.pop()
        if dims:
            kept, tensor.dims[:] = list(tensor.dims), dims
            yield
            tensor.dims[:] = kept


def operand_of_a_body_rewired(model: ModelProto) -> Iterator[None]:
    """A node of a body reads the first input of the model, or another value of the body."""
    for graph in list(graphs(model))[1:]:
        made = [name for node in graph.node for name in node.output]
        others = {*made[:-1], *(info.name for info in (*graph.input, *model.graph.input[:1]))}
        for node in graph.node:
            for index, name in enumerate(node.input):
                for other in sorted(others - {name, *node.output}):
                    node.input[index] = other
                    yield
                    node.input[index] = name


def target_of_another_type(model: ModelProto) -> Iterator[None]:
    """The numbers of a Reshape, an Expand, a Tile or an Unsqueeze are of int32."""
    for node in nodes(model, "Reshape", "Expand", "Tile", "Unsqueeze", "Squeeze"):
        tensor = constant(model, node.input[1]) if len(node.input) > 1 else None
        if tensor is not None and tensor.data_type == TensorProto.INT64:
            yield from set_elements(tensor, numpy_helper.to_array(tensor).astype(np.int32))


def another_operator_set(model: ModelProto) -> Iterator[None]:
    """The version in which some operator of the model means something else, has another form or other types."""
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            for version in (6, 99):
                kept = entry.version
                if _means_other(model, kept, version):
                    entry.version = version
                    yield
                    entry.version = kept


def _means_other(model: ModelProto, one: int, two: int) -> bool:
    ops = {node.op_type for node in model.graph.node if node.domain in ("", "ai.onnx")} - MOVING
    return two > onnx.defs.onnx_opset_version() or any(_since(op, one) != _since(op, two) for op in ops)


def _since(op: str, version: int) -> int:
    try:
        return int(onnx.defs.get_schema(op, version, "").since_version)
    except onnx.defs.SchemaError:
        return 0


def initializer_given_twice(model: ModelProto) -> Iterator[None]:
    """A second one of the name, with other elements: some runtimes take it."""
    for tensor in list(model.graph.initializer):
        if tensor.data_type == TensorProto.FLOAT:
            made = numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(1), tensor.name)
            model.graph.initializer.append(made)
            yield
            model.graph.initializer.pop()


def stated_of_another_type(model: ModelProto) -> Iterator[None]:
    """The file says of an inner value that its elements are of a type that they are not."""
    for node in model.graph.node:
        for name in node.output:
            if name and name not in {info.name for info in (*model.graph.output, *model.graph.value_info)}:
                model.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.COMPLEX64, None))
                yield
                model.graph.value_info.pop()


def stretch_that_nobody_reads(model: ModelProto) -> Iterator[None]:
    """An Expand that fails for every input but one of a certain size, or of size 1."""
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        if dims and dims[-1].dim_value != 1:
            model.graph.initializer.append(helper.make_tensor("odd", TensorProto.INT64, [1], [977]))
            model.graph.node.append(helper.make_node("Expand", [info.name, "odd"], ["unread"]))
            yield
            model.graph.node.pop()
            model.graph.initializer.pop()


FAULTS: Mapping[str, Fault] = {
    fault.__name__: fault
    for fault in (
        left_and_right_swapped, branches_of_where_swapped, lifted_on_the_wrong_side,
        constant_lifted_on_the_wrong_side, stretched_to_another_size, zero_in_a_reshape,
        zero_in_front_of_a_reshape, stretched_by_the_wrong_operand, attribute_dropped,
        attribute_changed, cast_to_another_type, bit_of_a_weight_flipped, constants_swapped, another_operator,
        operand_rewired, node_bypassed, output_rewired, output_renamed, input_type_changed, input_shape_changed,
        inputs_swapped, domain_changed, quantized_axis_not_shifted, result_stretched, branches_of_if_swapped,
        unsqueezed_at_another_axis, zero_allowed_in_a_reshape, slope_of_another_axis, legacy_axis_misread,
        operand_of_a_body_rewired, target_of_another_type, another_operator_set, initializer_given_twice,
        stated_of_another_type, stretch_that_nobody_reads,
    )
}  # fmt: skip
