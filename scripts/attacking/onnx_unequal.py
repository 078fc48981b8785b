"""Mutations of an ONNX model that mostly change the computation or make the model invalid.

Each function in `UNEQUAL` changes the model in place and returns whether it changed something. Some mutations happen to
keep the computation, so a pair with such mutations may be equal.
"""

# ruff: noqa: ARG001 -- every mutation has the same parameters

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from attacking.onnx_equal import graphs, insert, places, store

if TYPE_CHECKING:
    import random

    from onnx import ModelProto

    from attacking.onnx_draft import Draft

OTHERS = {
    "Add": "Sub", "Mul": "Div", "Sub": "Add", "Div": "Mul", "Max": "Min", "Min": "Max", "Relu": "Abs",
    "MaxPool": "AveragePool", "Less": "Greater", "LogSoftmax": "Softmax", "Softmax": "LogSoftmax", "Floor": "Ceil",
    "Tanh": "Sigmoid", "Identity": "Neg", "Neg": "Identity", "Expand": "Tile", "Squeeze": "Unsqueeze", "LSTM": "RNN",
    "ReduceMax": "ReduceMin",
}  # fmt: skip
TEXTS = (
    b"SAME_UPPER",
    b"SAME_LOWER",
    b"VALID",
    b"NOTSET",
    b"reverse",
    b"forward",
    b"nearest",
    b"linear",
    b"half_pixel",
    b"align_corners",
    b"ab->ba",
)


def attribute(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Change the value of an attribute, or remove the attribute.

    Return whether the model was changed.
    """
    found = [(node, attribute) for graph in graphs(model.graph) for node in graph.node for attribute in node.attribute]
    if not found:
        return False
    node, held = rng.choice(found)
    if rng.random() < 0.3:
        node.attribute.remove(held)
    elif held.type == AttributeProto.INT:
        held.i += rng.choice([-1, 1, 2])
    elif held.type == AttributeProto.FLOAT:
        held.f = rng.choice([held.f * 2, -held.f, float("nan"), 0.0])
    elif held.type == AttributeProto.INTS and held.ints:
        held.ints[rng.randrange(len(held.ints))] += rng.choice([-1, 1])
    elif held.type == AttributeProto.STRING:
        held.s = rng.choice(TEXTS)
    else:
        return False
    return True


def operand(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Let a node read another value of the same type that is computed before the node.

    Return whether the model was changed.
    """
    found = places(model, draft, lambda *_: True)
    graph, at, place, value = rng.choice(found)
    before = {name for node in model.graph.node[:at] for name in node.output} | {
        one.name for one in (*model.graph.input, *model.graph.initializer)
    }
    others = [
        one.name
        for one in draft.value_table.values()
        if one.kind == value.kind
        and one.name != value.name
        and one.name in before
        and (one.shape == value.shape or rng.random() < 0.2)
    ]
    if not others:
        return False
    graph.node[at].input[place] = rng.choice(others)
    return True


def constant(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Change an element of a constant, or its shape.

    Return whether the model was changed.
    """
    initializers = [one for one in model.graph.initializer if one.dims != [0] and one.data_type in (1, 6, 7)]
    if not initializers:
        return False
    tensor = rng.choice(initializers)
    array = numpy_helper.to_array(tensor).copy()
    flat = array.reshape(-1)
    if array.ndim and rng.random() < 0.25:
        array = rng.choice([array[..., None], array[None], array.reshape(array.shape[::-1]), array.reshape(-1)])
    elif flat.size:
        at = rng.randrange(flat.size)
        flat[at] = (
            flat[at] + 1
            if array.dtype.kind != "f"
            else rng.choice([-flat[at], np.nextafter(flat[at], np.float32(9)), np.float32("nan")])
        )
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return True


def operator(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Replace the operator of a node by a similar operator.

    Return whether the model was changed.
    """
    found = [node for graph in graphs(model.graph) for node in graph.node if node.op_type in OTHERS]
    if not found:
        return False
    node = rng.choice(found)
    node.op_type = OTHERS[node.op_type]
    return True


def swapped(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Exchange two operands of a node, or two results.

    Return whether the model was changed.
    """
    found = [
        pair
        for graph in graphs(model.graph)
        for node in graph.node
        for pair in (node.input, node.output)
        if len(pair) > 1
    ]
    if not found:
        return False
    held = rng.choice(found)
    one, other = rng.sample(range(len(held)), 2)
    held[one], held[other] = held[other], held[one]
    return True


def misplaced(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Insert an operator that moves, stretches or repeats the axes of an operand, mostly in a wrong way.

    Return whether the model was changed.
    """
    found = places(model, draft, lambda _, _place, value: value.rank > 0)
    if not found:
        return False
    graph, at, place, value = rng.choice(found)
    result, axis = draft.fresh("m"), rng.randrange(value.rank)
    numbers = [int(dim) if isinstance(dim, int) else rng.choice([1, 2, -1]) for dim in value.shape]
    kind = rng.choice(["Expand", "Tile", "Reshape", "Transpose", "Unsqueeze", "Squeeze", "Slice"])
    if kind == "Transpose":
        insert(graph, at, kind, [value.name], result, perm=list(range(value.rank))[::-1])
    elif kind == "Slice":
        bounds = [store(graph, draft.fresh("m"), np.array([number], np.int64)) for number in (0, 2**31 - 1, axis)]
        insert(graph, at, kind, [value.name, *bounds], result)
    else:
        target = {
            "Expand": rng.choice([numbers, [1, *numbers], [1] * value.rank, [abs(one) for one in numbers]]),
            "Tile": [1] * value.rank,
            "Reshape": numbers[::-1],
            "Unsqueeze": [axis],
            "Squeeze": [axis],
        }[kind]
        if rng.random() < 0.3:
            target = [one + (at == axis) for at, one in enumerate(target)]
        insert(graph, at, kind, [value.name, store(graph, draft.fresh("m"), np.array(target, np.int64))], result)
    graph.node[at + 1].input[place] = result
    return True


def dropped(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Let all readers of a node's result read the node's first operand instead.

    Return whether the model was changed.
    """
    found = places(model, draft, lambda node, place, _: place == 0 and len(node.output) == 1)
    if not found:
        return False
    graph, at, _, value = rng.choice(found)
    gone = graph.node[at].output[0]
    for inner in graphs(model.graph):
        for node in inner.node:
            node.input[:] = [value.name if name == gone else name for name in node.input]
    return True


def lie(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Change a declared type or size of an inner value, an input or an output.

    Return whether the model was changed.
    """
    infos = [info for graph in graphs(model.graph) for info in (*graph.value_info, *graph.input, *graph.output)]
    info = rng.choice(infos)
    tensor_type = info.type.tensor_type
    if not tensor_type.shape.dim or rng.random() < 0.1:
        tensor_type.elem_type = rng.choice([1, 6, 7, 10])
        return True
    dim = rng.choice(tensor_type.shape.dim)
    action = rng.choice(["number", "symbol", "none", "rank"])
    if action == "number":
        dim.dim_value = rng.choice([1, 2, 3, 7])
    elif action == "symbol":
        dim.dim_param = rng.choice(["N", "M", "Q"])
    elif action == "none":
        dim.Clear()
    else:
        tensor_type.shape.dim.add().dim_value = 1
    return True


def body(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Let a body return another value of the body, or one of the body's inputs.

    Return whether the model was changed.
    """
    inside = [*graphs(model.graph)][1:]
    if not inside:
        return False
    graph = rng.choice(inside)
    names = [name for node in graph.node for name in node.output] + [one.name for one in graph.input]
    out = rng.choice(graph.output)
    old = out.name
    new = rng.choice(names)
    if new in {one.name for one in graph.output} or new == old:
        return False
    out.name = new
    return True


def bypassed(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Let a body return the operand of an Identity instead of the Identity's result.

    Some runtimes compute wrong results for a body that returns its own input.

    Return whether the model was changed.
    """
    found = [
        (graph, node)
        for graph in [*graphs(model.graph)][1:]
        for node in graph.node
        if node.op_type == "Identity" and any(one.name == node.output[0] for one in graph.output)
    ]
    if not found:
        return False
    graph, node = rng.choice(found)
    next(one for one in graph.output if one.name == node.output[0]).name = node.input[0]
    if rng.random() < 0.7 and all(node.output[0] not in other.input for other in graph.node):
        graph.node.remove(node)
    return True


def versions(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Change the operator set, the IR version, a node of a function, or the order of outputs or inputs.

    Return whether the model was changed.
    """
    action = rng.choice(["opset", "ir", "function", "call", "output", "input"])
    if action == "opset":
        model.opset_import[0].version += rng.choice([-1, 1, 2])
    elif action == "ir":
        model.ir_version = rng.choice([3, 8, 9, 11])
    elif action == "function" and model.functions:
        node = rng.choice(model.functions[0].node)
        node.op_type = {"Mul": "Add", "Add": "Mul", "Constant": "Constant"}[node.op_type]
    elif action == "output" and len(model.graph.output) > 1:
        one = model.graph.output[0]
        kept = type(one).FromString(one.SerializeToString())
        del model.graph.output[0]
        model.graph.output.append(kept)
    elif action == "input" and len(model.graph.input) > 1:
        model.graph.input.add().CopyFrom(model.graph.input[0])
        del model.graph.input[0]
    else:
        return False
    return True


def optional(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Remove an operand or a result of a node, or replace the operand or result by an empty name, or add an empty name.

    Return whether the model was changed.
    """
    node = rng.choice([node for graph in graphs(model.graph) for node in graph.node])
    names = node.input if rng.random() < 0.7 else node.output
    if names and rng.random() < 0.7:
        at = rng.randrange(len(names))
        if rng.random() < 0.5:
            names[at] = ""
        else:
            del names[at]
    else:
        names.append("")
    return True


def joined(model: ModelProto, draft: Draft, rng: random.Random) -> bool:
    """Append a copy of a node: mostly with unread results, and sometimes with the results' old names, which is invalid.

    Both nodes get the same name.

    Return whether the model was changed.
    """
    node = rng.choice(model.graph.node)
    copy = helper.make_node("Identity", [], [])
    copy.CopyFrom(node)
    if rng.random() < 0.7:
        copy.output[:] = [draft.fresh("m") for _ in copy.output]
    node.name = copy.name = "one"
    model.graph.node.append(copy)
    return True


UNEQUAL = (
    attribute,
    attribute,
    operand,
    operand,
    constant,
    constant,
    operator,
    swapped,
    misplaced,
    misplaced,
    dropped,
    lie,
    lie,
    body,
    bypassed,
    bypassed,
    versions,
    optional,
    joined,
)
