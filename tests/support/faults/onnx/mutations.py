"""Random changes of ONNX models, at the level of protobuf fields: what a proof must not fall for."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Mutation = Callable[[ModelProto, random.Random], bool]
"""Changes the model; False where it finds nothing to change."""

SIBLINGS = (
    ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu", "Sum", "Mean"), ("And", "Or", "Xor"),
    ("Greater", "Less", "Equal"), ("Neg", "Abs", "Identity"), ("Unsqueeze", "Squeeze"), ("Expand", "Reshape", "Tile"),
    ("Shape", "Size"), ("QuantizeLinear", "DequantizeLinear"),
)  # fmt: skip


def graphs(model: ModelProto) -> Iterator[GraphProto]:
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        yield graph
        pending += [each.g for node in graph.node for each in node.attribute if each.HasField("g")]


def nodes(model: ModelProto) -> list[NodeProto]:
    return [node for graph in graphs(model) for node in graph.node]


def constants(model: ModelProto) -> list[TensorProto]:
    held = [tensor for graph in graphs(model) for tensor in graph.initializer]
    return held + [each.t for node in nodes(model) for each in node.attribute if each.HasField("t")]


def _visible(model: ModelProto, graph: GraphProto) -> list[str]:
    names = [info.name for each in (model.graph, graph) for info in each.input]
    names += [tensor.name for each in (model.graph, graph) for tensor in each.initializer]
    return sorted({*names, *(name for each in (model.graph, graph) for node in each.node for name in node.output)})


def operand_rewired(model: ModelProto, choose: random.Random) -> bool:
    graph = choose.choice(list(graphs(model)))
    taking = [node for node in graph.node if node.input]
    if not taking:
        return False
    node = choose.choice(taking)
    at = choose.randrange(len(node.input))
    kept, node.input[at] = node.input[at], choose.choice([*_visible(model, graph), ""])
    return bool(kept != node.input[at])


def operands_swapped(model: ModelProto, choose: random.Random) -> bool:
    taking = [node for node in nodes(model) if len(set(node.input)) > 1]
    if not taking:
        return False
    node = choose.choice(taking)
    one, two = choose.sample(range(len(node.input)), 2)
    node.input[one], node.input[two] = node.input[two], node.input[one]
    return True


def operand_dropped(model: ModelProto, choose: random.Random) -> bool:
    taking = [node for node in nodes(model) if node.input]
    if not taking:
        return False
    node = choose.choice(taking)
    del node.input[choose.randrange(len(node.input))]
    return True


def operand_added(model: ModelProto, choose: random.Random) -> bool:
    graph = choose.choice(list(graphs(model)))
    if not graph.node:
        return False
    choose.choice(graph.node).input.append(choose.choice(_visible(model, graph) or [""]))
    return True


def constant_of_other_dims(model: ModelProto, choose: random.Random) -> bool:
    held = constants(model)
    if not held:
        return False
    tensor = choose.choice(held)
    kept = dims = list(tensor.dims)
    dims = choose.choice(
        [
            dims[::-1], [1, *dims], [*dims, 1], [size for size in dims if size != 1],
            choose.sample(dims, len(dims)), [int(np.prod(dims))],
        ]
    )  # fmt: skip
    tensor.dims[:] = dims
    return dims != kept


def element_changed(model: ModelProto, choose: random.Random) -> bool:
    held = [tensor for tensor in constants(model) if tensor.data_type != TensorProto.STRING and 0 not in tensor.dims]
    if not held:
        return False
    numbers = [tensor for tensor in held if tensor.data_type == TensorProto.INT64]
    tensor = choose.choice(numbers if numbers and choose.random() < 0.7 else held)
    array = numpy_helper.to_array(tensor).copy()
    flat = array.reshape(-1)
    at = choose.randrange(flat.size)
    kept = flat.tobytes()
    if array.dtype.kind == "f":
        flat.view(np.uint8)[choose.randrange(flat.nbytes)] ^= 1 << choose.randrange(8)
    elif array.dtype.kind == "b":
        flat[at] = not flat[at]
    else:
        flat[at] = choose.choice([0, 1, 2, 3, 4, flat[0], *([-1, -flat[at]] if flat.dtype.kind == "i" else [5])])
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return bool(kept != flat.tobytes())


def constant_longer_or_shorter(model: ModelProto, choose: random.Random) -> bool:
    held = [tensor for tensor in constants(model) if tensor.data_type == TensorProto.INT64 and len(tensor.dims) == 1]
    if not held:
        return False
    tensor = choose.choice(held)
    elements = numpy_helper.to_array(tensor).tolist()
    at = choose.randrange(len(elements) + 1)
    changed = [*elements[:at], choose.choice([0, 1, 2, 3, -1]), *elements[at:]]
    if elements and choose.random() < 0.5:
        changed = [*elements[:at], *elements[at + 1 :]]
    tensor.CopyFrom(numpy_helper.from_array(np.array(changed, np.int64), tensor.name))
    return changed != elements


def constant_of_another_type(model: ModelProto, choose: random.Random) -> bool:
    held = [tensor for tensor in constants(model) if tensor.data_type not in (TensorProto.STRING, TensorProto.BOOL)]
    if not held:
        return False
    tensor = choose.choice(held)
    array = numpy_helper.to_array(tensor)
    to = choose.choice([np.int32, np.int64, np.float32, np.uint8])
    with np.errstate(invalid="ignore"):
        tensor.CopyFrom(numpy_helper.from_array(array.astype(to), tensor.name))
    return bool(array.dtype != to)


def constants_swapped(model: ModelProto, choose: random.Random) -> bool:
    held = list(model.graph.initializer)
    if len(held) < 2:
        return False
    one, two = choose.sample(held, 2)
    one.name, two.name = two.name, one.name
    return True


def constant_doubled(model: ModelProto, choose: random.Random) -> bool:
    """Two initializers of one name, of which the second holds something else."""
    held = [each for each in model.graph.initializer if each.data_type == TensorProto.FLOAT and 0 not in each.dims]
    if not held:
        return False
    tensor = choose.choice(held)
    model.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(1), tensor.name))
    return True


def attribute_changed(model: ModelProto, choose: random.Random) -> bool:
    held = [
        each
        for node in nodes(model)
        for each in node.attribute
        if each.type in (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT)
    ]
    if not held:
        return False
    given = choose.choice(held)
    kept = given.SerializeToString()
    if given.type == AttributeProto.INT:
        given.i += choose.choice([-2, -1, 1, 2])
    elif given.type == AttributeProto.FLOAT:
        given.f += 0.5
    elif given.ints:
        given.ints[choose.randrange(len(given.ints))] = choose.choice([0, 1, 2, 3, -1])
    return bool(kept != given.SerializeToString())


def attribute_dropped(model: ModelProto, choose: random.Random) -> bool:
    held = [node for node in nodes(model) if node.attribute]
    if not held:
        return False
    node = choose.choice(held)
    del node.attribute[choose.randrange(len(node.attribute))]
    return True


def attribute_added(model: ModelProto, choose: random.Random) -> bool:
    held = nodes(model)
    if not held:
        return False
    name = choose.choice(["axis", "allowzero", "start", "end", "keepdims", "to", "broadcast", "axes", "is_test"])
    value = [choose.choice([0, 1, -1])] if name == "axes" else choose.choice([0, 1, 2, -1])
    node = choose.choice(held)
    kept = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
    return True


def node_bypassed(model: ModelProto, choose: random.Random) -> bool:
    held = [node for node in nodes(model) if node.input and node.input[0] and len(node.output) == 1]
    if not held:
        return False
    node = choose.choice(held)
    node.CopyFrom(helper.make_node("Identity", [node.input[0]], [node.output[0]], name=node.name))
    return True


def another_operator(model: ModelProto, choose: random.Random) -> bool:
    held = [(node, group) for node in nodes(model) for group in SIBLINGS if node.op_type in group]
    if not held:
        return False
    node, group = choose.choice(held)
    kept, node.op_type = node.op_type, choose.choice(group)
    return bool(kept != node.op_type)


def node_inserted(model: ModelProto, choose: random.Random) -> bool:
    """A node in front of an operand, or one that nobody reads."""
    graph = choose.choice(list(graphs(model)))
    places = [(at, node) for at, node in enumerate(graph.node) if node.input and node.input[0]]
    if not places:
        return False
    at, node = choose.choice(places)
    index = choose.choice([index for index, name in enumerate(node.input) if name])
    name = f"inserted{choose.randrange(1 << 30)}"
    op = choose.choice(["Expand", "Reshape", "Unsqueeze", "Squeeze", "Identity", "Neg", "Shape", "Flatten", "Tile"])
    operands = [node.input[index]]
    if op in ("Expand", "Reshape", "Unsqueeze", "Squeeze", "Tile"):
        numbers = [choose.choice([0, 1, 1, 1, 2, 3, -1]) for _ in range(choose.randrange(4))]
        shapes = [each.output[0] for each in graph.node[:at] if each.op_type in ("Shape", "Concat")]
        if shapes and choose.random() < 0.5:
            operands.append(choose.choice(shapes))
        else:
            graph.initializer.append(numpy_helper.from_array(np.array(numbers, np.int64), f"{name}_by"))
            operands.append(f"{name}_by")
    if choose.random() < 0.7:
        node.input[index] = name
    graph.node.insert(at, helper.make_node(op, operands, [name]))
    return True


def nodes_exchanged(model: ModelProto, choose: random.Random) -> bool:
    """Two nodes give each other's results."""
    held = [node for node in choose.choice(list(graphs(model))).node if len(node.output) == 1]
    if len(held) < 2:
        return False
    one, two = choose.sample(held, 2)
    one.output[0], two.output[0] = two.output[0], one.output[0]
    return True


def node_hoisted(model: ModelProto, choose: random.Random) -> bool:
    """A node of a body moves in front of the node that has the body."""
    held = [
        (at, body)
        for at, node in enumerate(model.graph.node)
        for body in (each.g for each in node.attribute if each.HasField("g"))
        if body.node
    ]
    if not held:
        return False
    at, body = choose.choice(held)
    moved = NodeProto()
    taken = choose.randrange(len(body.node))
    moved.CopyFrom(body.node[taken])
    inner = [tensor for tensor in body.initializer if tensor.name in moved.input]
    for tensor in inner:
        model.graph.initializer.append(tensor)
        body.initializer.remove(tensor)
    del body.node[taken]
    model.graph.node.insert(at, moved)
    return True


def another_operator_set(model: ModelProto, choose: random.Random) -> bool:
    entry = choose.choice(list(model.opset_import))
    kept, entry.version = entry.version, choose.choice([entry.version + 1, entry.version - 1, choose.randrange(1, 30)])
    return bool(kept != entry.version)


def another_ir_version(model: ModelProto, choose: random.Random) -> bool:
    kept, model.ir_version = model.ir_version, choose.choice([3, 4, 7, 8, 10, 99])
    return bool(kept != model.ir_version)


def _declared(model: ModelProto) -> list[ValueInfoProto]:
    held = [info for graph in graphs(model) for info in (*graph.input, *graph.output, *graph.value_info)]
    return [info for info in held if info.type.HasField("tensor_type")]


def declared_type_changed(model: ModelProto, choose: random.Random) -> bool:
    held = _declared(model)
    if not held:
        return False
    kind = choose.choice(held).type.tensor_type
    kept, kind.elem_type = kind.elem_type, choose.choice([TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL])
    return bool(kept != kind.elem_type)


def declared_shape_changed(model: ModelProto, choose: random.Random) -> bool:
    held = _declared(model)
    if not held:
        return False
    kind = choose.choice(held).type.tensor_type
    dims = kind.shape.dim
    if not dims or choose.random() < 0.2:
        dims.add().dim_value = choose.randrange(4)
        return True
    dim = choose.choice(dims)
    kept = dim.SerializeToString()
    if choose.random() < 0.5:
        dim.dim_value = choose.randrange(4)
    else:
        dim.dim_param = choose.choice("NMKL")
    return bool(kept != dim.SerializeToString())


def value_declared(model: ModelProto, choose: random.Random) -> bool:
    graph = choose.choice(list(graphs(model)))
    made = [name for node in graph.node for name in node.output if name]
    if not made:
        return False
    kind = choose.choice([TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL])
    dims = [choose.randrange(4) for _ in range(choose.randrange(4))]
    graph.value_info.append(helper.make_tensor_value_info(choose.choice(made), kind, dims))
    return True


def renamed(model: ModelProto, choose: random.Random) -> bool:
    """An input or output gets another name, everywhere."""
    held = [info.name for info in (*model.graph.input, *model.graph.output)]
    if not held:
        return False
    old = choose.choice(held)
    for graph in graphs(model):
        for info in (*graph.input, *graph.output, *graph.initializer):
            info.name = "renamed" if info.name == old else info.name
        for node in graph.node:
            for names in (node.input, node.output):
                names[:] = ["renamed" if name == old else name for name in names]
    return True


MUTATIONS: Mapping[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        operand_rewired, operands_swapped, operand_dropped, operand_added, constant_of_other_dims, element_changed,
        constant_longer_or_shorter, constant_of_another_type, constants_swapped, constant_doubled, attribute_changed,
        attribute_dropped, attribute_added, node_bypassed, another_operator, node_inserted, nodes_exchanged,
        node_hoisted, another_operator_set, another_ir_version, declared_type_changed, declared_shape_changed,
        value_declared, renamed,
    )
}  # fmt: skip


def mutated(model: ModelProto, choose: random.Random) -> tuple[str, ModelProto]:
    """Give a model with one change or a few, and what they are."""
    made = ModelProto()
    made.CopyFrom(model)
    done: list[str] = []
    while len(done) < (1 if choose.random() < 0.75 else 2):
        name = choose.choice(sorted(MUTATIONS))
        if MUTATIONS[name](made, choose):
            done.append(name)
    return " ".join(done), made
