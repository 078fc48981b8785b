"""Mutations of an ONNX model that keep the computation.

Each function in `EQUAL` changes the model in place and returns whether it changed something. `draft` describes the
values of the model before all mutations.
"""

# ruff: noqa: ARG001 -- every mutation has the same parameters

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from attacking.onnx_draft import AXES_ARE_OPERANDS, KINDS, meet

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from onnx import GraphProto, ModelProto, NodeProto

    from attacking.onnx_draft import Draft, Value

DEFAULTS = {
    "Softmax": {"axis": -1}, "LogSoftmax": {"axis": -1}, "Gemm": {"alpha": 1.0, "transA": 0},
    "Gather": {"axis": 0}, "LayerNormalization": {"axis": -1, "epsilon": 1e-5}, "BatchNormalization": {"momentum": 0.9},
    "MaxPool": {"ceil_mode": 0}, "Conv": {"group": 1},
    "LSTM": {"direction": "forward"}, "GRU": {"linear_before_reset": 0}, "Elu": {"alpha": 1.0},
    "ReduceMean": {"keepdims": 1}, "ReduceMax": {"keepdims": 1}, "Resize": {"cubic_coeff_a": -0.75},
}  # fmt: skip
NEGATIVE = ("Softmax", "LogSoftmax", "Concat", "Gather", "ArgMax", "LayerNormalization")
BROADCASTING = ("Add", "Mul", "Sub", "Div", "Max", "Min", "Less", "Greater", "Where")
Place = "tuple[GraphProto, int, int, Value]"


def graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the bodies that a node has as attributes, such as the branches of an If."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield a graph and all bodies inside it, bodies in bodies included."""
    yield graph
    for node in graph.node:
        for body in graphs_of(node):
            yield from graphs(body)


def places(
    model: ModelProto, draft: Draft, accept: Callable[[NodeProto, int, Value], bool]
) -> list[tuple[GraphProto, int, int, Value]]:
    """Return all operands that `accept` accepts, in the main graph and in all bodies.

    `accept` is called with the node, the index of the operand, and the operand's value. Operands whose value the draft
    does not contain are skipped. Each result contains the graph, the index of the node, the index of the operand, and
    the value.
    """
    return [
        (graph, at, place, draft.value_table[name])
        for graph in graphs(model.graph)
        for at, node in enumerate(graph.node)
        for place, name in enumerate(node.input)
        if name in draft.value_table and accept(node, place, draft.value_table[name])
    ]


def store(graph: GraphProto, name: str, array: np.ndarray) -> str:
    """Add an initializer with this name to the graph, and return the name."""
    graph.initializer.append(numpy_helper.from_array(array, name))
    return name


def insert(graph: GraphProto, at: int, operator: str, operands: list[str], result: str, **more: object) -> None:
    """Insert a node with one result at index `at` of the graph's nodes. `more` are the attributes."""
    graph.node.insert(at, helper.make_node(operator, operands, [result], **more))


def _moved(graph: GraphProto, at: int, draft: Draft, operator: str, operand: str, axes: list[int]) -> str:
    """Insert an Unsqueeze or Squeeze at index `at` of the graph's nodes, and return the name of its result.

    The axes are an attribute or an operand, as the operator set requires.
    """
    result = draft.fresh("m")
    if draft.opset < AXES_ARE_OPERANDS:
        insert(graph, at, operator, [operand], result, axes=axes)
    else:
        insert(graph, at, operator, [operand, store(graph, draft.fresh("m"), np.array(axes, np.int64))], result)
    return result


def default_stated(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Add an attribute with its default value to a node that has no such attribute.

    Return whether the model was changed.
    """
    found = [
        (node, name, value)
        for graph in graphs(model.graph)
        for node in graph.node
        for name, value in DEFAULTS.get(node.op_type, {}).items()
        if all(attribute.name != name for attribute in node.attribute)
    ]
    if draft.opset < AXES_ARE_OPERANDS or not found:
        return False
    node, name, value = rng.choice(found)
    node.attribute.append(helper.make_attribute(name, value))
    return True


def axis_negative(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Write an axis attribute as a negative number instead of a positive number, or the opposite way round.

    Return whether the model was changed.
    """
    found = [
        (attribute, draft.value_table[node.input[0]].rank)
        for node in model.graph.node
        if node.op_type in NEGATIVE and node.input and node.input[0] in draft.value_table
        for attribute in node.attribute
        if attribute.name == "axis"
    ]
    if draft.opset < AXES_ARE_OPERANDS or not found:
        return False
    held, rank = rng.choice(found)
    held.i += rank if held.i < 0 else -rank
    return True


def there_and_back(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Add an axis of size 1 to an operand and remove the axis again, by Unsqueeze and Squeeze or by two Reshapes.

    Return whether the model was changed.
    """
    found = places(model, draft, lambda _node, _, value: value.rank < 4 and value.kind in ("float32", "int64", "int32"))
    if not found:
        return False
    graph, at, place, value = rng.choice(found)
    if value.is_static and rng.random() < 0.5:
        lifted, back = draft.fresh("m"), draft.fresh("m")
        insert(
            graph,
            at,
            "Reshape",
            [value.name, store(graph, draft.fresh("m"), np.array([1, *value.shape], np.int64))],
            lifted,
        )
        insert(
            graph, at + 1, "Reshape", [lifted, store(graph, draft.fresh("m"), np.array(value.shape, np.int64))], back
        )
    else:
        axis = rng.randint(0, value.rank)
        back = _moved(
            graph, at + 1, draft, "Squeeze", _moved(graph, at, draft, "Unsqueeze", value.name, [axis]), [axis]
        )
    graph.node[at + 2].input[place] = back
    return True


def _broadcasts(node: NodeProto, draft: Draft) -> tuple[int | str, ...] | None:
    """Return the shape to which all operands of a node broadcast, or None.

    The result is None if an operand's shape is unknown, or if the shapes do not certainly broadcast.
    """
    shape: tuple[int | str, ...] | None = ()
    for name in node.input:
        if name not in draft.value_table or shape is None:
            return None
        shape = meet(shape, draft.value_table[name].shape)
    return shape


def lifted(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Make the leading unit axes explicit that a broadcast adds to an operand, by Unsqueeze or Reshape.

    Return whether the model was changed.
    """
    found = places(
        model,
        draft,
        lambda node, _, value: (
            node.op_type in BROADCASTING
            and (_broadcasts(node, draft) is not None)
            and value.kind != "bool"
            and value.rank < len(_broadcasts(node, draft) or ())
        ),
    )
    if not found:
        return False
    graph, at, place, value = rng.choice(found)
    missing = len(_broadcasts(graph.node[at], draft) or ()) - value.rank
    if rng.random() < 0.5 and value.is_static:
        result = draft.fresh("m")
        insert(
            graph,
            at,
            "Reshape",
            [value.name, store(graph, draft.fresh("m"), np.array([1] * missing + [*value.shape], np.int64))],
            result,
        )
    else:
        result = _moved(graph, at, draft, "Unsqueeze", value.name, list(range(missing)))
    graph.node[at + 1].input[place] = result
    return True


def stretched(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Expand an operand of a broadcasting operator to the shape of the result.

    Return whether the model was changed.
    """

    def accept(node: NodeProto, _: int, value: Value) -> bool:
        shape = _broadcasts(node, draft) if node.op_type in BROADCASTING else None
        return shape is not None and shape != value.shape and value.kind in ("float32", "int32", "int64")

    found = places(model, draft, accept) if draft.opset >= 8 else []
    if not found:
        return False
    graph, at, place, value = rng.choice(found)
    shape = _broadcasts(graph.node[at], draft) or ()
    result, target = draft.fresh("m"), draft.fresh("m")
    full = [name for name in graph.node[at].input if draft.value_table[name].shape == shape]
    if all(isinstance(dim, int) for dim in shape):
        store(graph, target, np.array(shape, np.int64))
    elif full:
        insert(graph, at, "Shape", [full[0]], target)
        at += 1
    else:
        return False
    insert(graph, at, "Expand", [value.name, target], result)
    graph.node[at + 1].input[place] = result
    return True


def identity(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Insert an Identity before an operand of a node.

    Return whether the model was changed.
    """
    found = places(model, draft, lambda _, _place, value: value.kind in ("float32", "int64") and value.rank > 1)
    if not found:
        return False
    graph, at, place, value = rng.choice(found)
    result = draft.fresh("m")
    insert(graph, at, "Identity", [value.name], result)
    graph.node[at + 1].input[place] = result
    return True


def constant_form(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Change how an initializer is stored: as a Constant node, or as typed numbers instead of raw bytes.

    Return whether the model was changed.
    """
    initializers = [one for one in model.graph.initializer if one.data_type in (TensorProto.FLOAT, TensorProto.INT64)]
    if not initializers:
        return False
    tensor = rng.choice(initializers)
    if rng.random() < 0.5:
        model.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
        model.graph.initializer.remove(tensor)
        return True
    array = numpy_helper.to_array(tensor)
    tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, array.shape, array.flatten().tolist()))
    return True


def constant_stretched(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Replace a constant operand of a broadcasting operator by a constant that has the shape of the result.

    Return whether the model was changed.
    """
    stored = {one.name for one in model.graph.initializer}
    found = [
        one
        for one in places(model, draft, lambda node, _, value: node.op_type in BROADCASTING and value.name in stored)
        if (shape := _broadcasts(one[0].node[one[1]], draft)) is not None and all(isinstance(dim, int) for dim in shape)
    ]
    if not found:
        return False
    graph, at, place, value = rng.choice(found)
    array = numpy_helper.to_array(next(one for one in model.graph.initializer if one.name == value.name))
    try:
        stretched_array = np.broadcast_to(array, _broadcasts(graph.node[at], draft) or ())
    except ValueError:  # an earlier mutation has changed the constant's shape
        return False
    graph.node[at].input[place] = store(model.graph, draft.fresh("m"), stretched_array.copy())
    return True


def declared(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Declare the type and the sizes of an inner value, or remove such a declaration.

    Return whether the model was changed.
    """
    if model.graph.value_info and rng.random() < 0.5:
        model.graph.value_info.pop()
        return True
    outputs = {one.name for one in model.graph.output}
    made = [
        draft.value_table[name]
        for node in model.graph.node
        for name in node.output
        if name in draft.value_table and name not in outputs and node.op_type not in ("Loop", "Scan")
    ]
    made = [value for value in made if not any(str(dim).startswith("?") for dim in value.shape)]
    if not made:
        return False
    value = rng.choice(made)
    model.graph.value_info.append(helper.make_tensor_value_info(value.name, KINDS[value.kind], value.shape))
    return True


def twin(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Copy a node, and let one reader of its result read the copy's result.

    Return whether the model was changed.
    """
    makers = {name: node for node in model.graph.node for name in node.output if len(node.output) == 1}
    found = [
        one
        for one in places(model, draft, lambda _, _place, value: value.name in makers)
        if one[0] is model.graph or one[0] == model.graph
    ]
    if not found:
        return False
    graph, at, place, value = rng.choice(found)
    node = helper.make_node("Identity", [], [])
    node.CopyFrom(makers[value.name])
    node.output[0] = draft.fresh("m")
    graph.node[at].input[place] = node.output[0]
    graph.node.insert(at, node)
    return True


def wrapped(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Replace a node with one result by an If with a constant condition. Both branches contain a copy of the node.

    Return whether the model was changed.
    """
    found = [
        at
        for at, node in enumerate(model.graph.node)
        if len(node.output) == 1 and len([*graphs_of(node)]) == 0 and node.output[0] in draft.value_table
    ]
    if not found:
        return False
    at = rng.choice(found)
    node = model.graph.node[at]
    branches = []
    for name in ("then", "else"):
        inner = helper.make_node("Identity", [], [])
        inner.CopyFrom(node)
        inner.output[0] = draft.fresh("m")
        value = draft.value_table[node.output[0]]
        info = helper.make_tensor_value_info(inner.output[0], KINDS[value.kind], [None] * value.rank)
        branches.append(helper.make_graph([inner], name, [], [info]))
    flag = store(model.graph, draft.fresh("m"), np.array(rng.random() < 0.5))
    made = helper.make_node("If", [flag], [node.output[0]], then_branch=branches[0], else_branch=branches[1])
    node.CopyFrom(made)
    return True


def renamed(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Rename all inner values of the main graph. Return False without a change if the model contains bodies."""
    if len([*graphs(model.graph)]) > 1:
        return False
    outside = {one.name for one in (*model.graph.input, *model.graph.output)}
    names = {name: name + "_r" for node in model.graph.node for name in node.output if name not in outside}
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for info in model.graph.value_info:
        info.name = names.get(info.name, info.name)
    return True


EQUAL = (
    default_stated,
    axis_negative,
    *(there_and_back, lifted, stretched, constant_form, twin),
    there_and_back,
    lifted,
    lifted,
    stretched,
    stretched,
    identity,
    constant_form,
    constant_stretched,
    declared,
    twin,
    wrapped,
)
"""The mutations from which one is chosen at random; some are listed several times to be chosen more often.

`renamed` is not included, because it changes names that all other mutations look up in the draft. It is applied last.
"""
