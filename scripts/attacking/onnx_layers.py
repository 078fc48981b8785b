"""Build random ONNX graphs from layers: attention, recurrence, normalizations, windows, bodies and functions.

Each function appends the nodes of one layer to a draft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import AttributeProto, TensorProto, helper

from attacking.onnx_draft import Value, meet

if TYPE_CHECKING:
    from attacking.onnx_draft import Draft


def attention(draft: Draft) -> None:
    """Append attention, written as its formula, or sometimes as the operator Attention from operator set 23 on."""
    rng = draft.rng
    batch = rng.choice([1, 2, "N"])
    query, key, value = (draft.input("float32", (batch, 2, length, 4)) for length in (3, "M", "M"))
    mask = draft.input("float32", rng.choice([(batch, 1, 1, "M"), (3, "M"), (1, 1, 3, "M")]))
    shape = (batch, 2, 3, 4)
    if draft.opset >= 23 and rng.random() < 0.5:
        draft.node(
            "Attention",
            [query, key, value, mask] if mask.shape == (3, "M") else [query, key, value],
            "float32",
            shape,
            **rng.choice([{}, {"is_causal": 1}, {"scale": 0.5}]),
        )
        return
    turned = draft.node("Transpose", [key], "float32", (batch, 2, 4, "M"), perm=[0, 1, 3, 2])
    scores = draft.node("MatMul", [query, turned], "float32", (batch, 2, 3, "M"))
    scaled = draft.node(
        rng.choice(["Mul", "Div"]), [scores, draft.constant(np.array(0.5, np.float32))], "float32", scores.shape
    )
    masked = draft.node("Add", [scaled, mask], "float32", scores.shape)
    weights = draft.node("Softmax", [masked], "float32", scores.shape, axis=3)
    made = draft.node("MatMul", [weights, value], "float32", shape)
    back = draft.node("Transpose", [made], "float32", (batch, 3, 2, 4), perm=[0, 2, 1, 3])
    draft.node("Reshape", [back, draft.constant([0, 0, 8])], "float32", (batch, 3, 8))


def recurrence(draft: Draft) -> None:
    """Append an LSTM, GRU or RNN, with a random choice of its optional operands."""
    rng = draft.rng
    operator, gates = rng.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    directions = rng.choice([1, 2])
    value = draft.input("float32", (rng.choice([1, 3, "T"]), rng.choice([1, 2, "N"]), 3))
    length, batch, _ = value.shape
    draft.sizes |= {"N": (1, 3, 2, 4), "T": (1, 2, 3)}  # onnxruntime ends the process at a size of 0
    operands: list[Value | str] = [
        value,
        draft.weights(directions, 2 * gates, 3),
        draft.weights(directions, 2 * gates, 2),
    ]
    operands.append(draft.weights(directions, 4 * gates) if rng.random() < 0.6 else "")
    if rng.random() < 0.5:
        operands += ["", draft.input("float32", (directions, batch, 2))]
    more = {"direction": "bidirectional"} if directions == 2 else {"direction": "reverse"} if rng.random() < 0.3 else {}
    if operator == "GRU" and rng.random() < 0.5:
        more["linear_before_reset"] = 1
    made = draft.node(operator, operands, "float32", (length, directions, batch, 2), hidden_size=2, **more)
    last = draft.note(Value(draft.fresh("v"), "float32", (directions, batch, 2)))
    draft.nodes[-1].output.append(last.name)
    if rng.random() < 0.7:
        draft.node("Transpose", [made], "float32", (length, batch, directions, 2), perm=[0, 2, 1, 3])


def normalization(draft: Draft) -> None:
    """Append a normalization, as an operator that the operator set contains or as its formula."""
    rng = draft.rng
    operator = rng.choice(
        ["formula", "Batch", "Instance", "Lp"]
        + ["Layer"] * (draft.opset >= 17)
        + ["Group"] * (draft.opset >= 21)
        + ["RMS"] * (draft.opset >= 23)
    )
    shape = (rng.choice([1, 2, "N"]), 4, rng.choice([2, "M"]), 3)
    value = draft.find(
        lambda one: one.kind == "float32" and one.rank == 4 and one.shape[1] == 4 and isinstance(one.shape[-1], int)
    ) or draft.input("float32", shape)
    four = [draft.weights(4) for _ in range(4)]
    if operator == "Batch":
        positive = draft.constant(np.array([1, 2, 0.5, 3], np.float32))
        draft.node("BatchNormalization", [value, *four[:3], positive], "float32", value.shape, epsilon=1e-3)
    elif operator in ("Instance", "Group"):
        more = {"num_groups": 2} if operator == "Group" else {}
        draft.node(operator + "Normalization", [value, *four[:2]], "float32", value.shape, **more)
    elif operator == "Lp":
        draft.node("LpNormalization", [value], "float32", value.shape, axis=1, p=rng.choice([1, 2]))
    elif operator in ("Layer", "RMS"):
        count = 2 if operator == "Layer" and rng.random() < 0.5 else 1
        more_operands = [draft.weights(value.shape[-1]) for _ in range(count)]
        draft.node(operator + "Normalization", [value, *more_operands], "float32", value.shape, axis=-1)
    else:
        _formula(draft, value)


def _formula(draft: Draft, value: Value) -> None:
    """Append layer normalization over the last axis, written as its formula."""
    shape = (*value.shape[:-1], 1)
    means = (
        (lambda one: draft.node("ReduceMean", [one], "float32", shape, axes=[-1]))
        if draft.opset < 18
        else (lambda one: draft.node("ReduceMean", [one, draft.constant([-1])], "float32", shape))
    )
    centred = draft.node("Sub", [value, means(value)], "float32", value.shape)
    square = draft.node("Mul", [centred, centred], "float32", value.shape)
    near = draft.node("Add", [means(square), draft.constant(np.array(1e-5, np.float32))], "float32", shape)
    normal = draft.node("Div", [centred, draft.node("Sqrt", [near], "float32", shape)], "float32", value.shape)
    scaled = draft.node("Mul", [normal, draft.weights(value.shape[-1])], "float32", value.shape)
    draft.node("Add", [scaled, draft.weights(value.shape[-1])], "float32", value.shape)


def windows(draft: Draft) -> None:
    """Append a Conv, ConvTranspose, Resize or Einsum, and after the first three an Add or Mul that broadcasts.

    Append only an input if the operator set does not contain the operator, or if the sizes do not fit.
    """
    rng = draft.rng
    value = draft.input("float32", (rng.choice([1, "N"]), 2, rng.choice([5, 6, 7, "H"]), rng.choice([5, 6])))
    operator = rng.choice(["Conv", "ConvTranspose", "Resize", "Einsum"])
    more: dict[str, object] = {}
    operands: list[Value | str] = [value]
    channels = 2
    if operator == "Conv":
        operands += [draft.weights(4, 2, 3, 3), draft.weights(4)]
        channels = 4
        more = rng.choice(
            [{"pads": [1, 1, 1, 1]}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, {"dilations": [2, 2]}]
        )
    elif operator == "ConvTranspose":
        operands.append(draft.weights(2, 3, 3, 3))
        channels = 3
        more = rng.choice(
            [
                {"strides": [2, 2], "output_padding": [1, 1]},
                {"auto_pad": "SAME_UPPER", "strides": [2, 2], "output_padding": [1, 0]},
                {"output_shape": [11, 12], "strides": [2, 2]},
            ]
        )
    elif operator == "Resize" and draft.opset >= 11:
        scales = draft.constant(np.array([1, 1, rng.choice([2, 1.5, 0.7]), rng.choice([2, 0.6])], np.float32))
        operands += ["" if draft.opset >= 13 else draft.constant(np.array([], np.float32)), scales]
        more = {
            "mode": rng.choice(["nearest", "linear"]),
            "coordinate_transformation_mode": rng.choice(["asymmetric", "half_pixel"]),
        }
    elif draft.opset >= 12:
        operator, operands = "Einsum", [value, draft.weights(5, 3)]
        more = {"equation": rng.choice(["abcd,dk->abck", "abcd,dk->kabc", "...d,dk->...k"])}
        if value.shape[-1] != 5:
            return
    else:
        return
    made = draft.node(
        operator, operands, "float32", (value.shape[0], channels, draft.fresh("?h"), draft.fresh("?w")), **more
    )
    if operator != "Einsum":
        _scaled(draft, made)


def pools(draft: Draft) -> None:
    """Append a pool and an Add or Mul that broadcasts. Shape inference often infers wrong sizes for such a pool."""
    rng = draft.rng
    value = draft.input("float32", (rng.choice([1, "N"]), 2, rng.choice([5, 6, 7, "H"]), rng.choice([5, 6])))
    operator = rng.choice(["MaxPool", "AveragePool", "LpPool"])
    more: dict[str, object] = {"kernel_shape": [rng.choice([2, 3])] * 2, "strides": [rng.choice([1, 2, 3])] * 2}
    if operator != "LpPool" or draft.opset >= 18:
        more["ceil_mode"] = rng.choice([0, 1, 1])
    more |= rng.choice([{"pads": [1, 1, 1, 1]}, {"pads": [0, 1, 1, 0]}, {}, {"auto_pad": "SAME_UPPER"}])
    _scaled(
        draft,
        draft.node(operator, [value], "float32", (value.shape[0], 2, draft.fresh("?h"), draft.fresh("?w")), **more),
    )


def small_pool(draft: Draft) -> None:
    """Append a MaxPool of one row. Shape inference at load time infers another size than the kernel returns."""
    rng = draft.rng
    value = draft.input("float32", (1, 1, rng.choice([4, 5, 6])))
    step = rng.choice([2, 3])
    pads = [rng.choice([0, 1]), 1]
    more = {"kernel_shape": [3], "strides": [step], "pads": pads, "ceil_mode": 1}
    made = draft.node("MaxPool", [value], "float32", (1, 1, draft.fresh("?w")), **more)
    draft.node("Exp", [made], "float32", made.shape)


def _scaled(draft: Draft, made: Value) -> None:
    """Append an Add or Mul of `made` with a constant that broadcasts, if the number of channels is constant."""
    rng, channels = draft.rng, made.shape[1]
    if isinstance(channels, int):
        scale = draft.weights(*rng.choice([(1,), (channels, 1, 1), (1, channels, 1, 1), ()]))
        draft.node(rng.choice(["Add", "Mul"]), [made, scale], "float32", made.shape)


def _nodes(draft: Draft, value: Value) -> Value:
    """Append one or two elementwise nodes to a body, and return the last result. The first node reads `value`."""
    other = (
        draft.weights(*value.shape[-1:])
        if value.is_static and value.rank
        else draft.constant(np.array(1.5, np.float32))
    )
    made = draft.node(draft.rng.choice(["Add", "Mul", "Sub"]), [value, other], "float32", value.shape)
    return (
        draft.node(draft.rng.choice(["Relu", "Neg", "Tanh"]), [made], "float32", value.shape)
        if draft.rng.random() < 0.5
        else made
    )


def _own(body: Draft, value: Value) -> Value:
    """Return a copy of `value` that only the body returns, and in one of 20 cases `value` itself.

    onnxruntime computes wrongly if a body returns one of its inputs, or returns a value twice.
    """
    return value if body.rng.random() < 0.05 else body.node("Identity", [value], value.kind, value.shape)


def condition(draft: Draft) -> None:
    """Append an If whose branches compute something or return an outer value.

    Its condition is an input or a constant.
    """
    value = draft.some(rank=2)
    flag = draft.input("bool", ()) if draft.rng.random() < 0.7 else draft.constant(np.array(draft.rng.random() < 0.5))
    graphs = []
    for name in ("then", "else"):
        body = draft.body()
        made = (
            body.node("Identity", [value], "float32", value.shape) if draft.rng.random() < 0.3 else _nodes(body, value)
        )
        graphs.append(body.graph([], [made], name, sizes=draft.rng.random() < 0.6))
    draft.node("If", [flag], "float32", value.shape, then_branch=graphs[0], else_branch=graphs[1])


def loop(draft: Draft) -> None:
    """Append a Loop whose body collects one value in each iteration, and sometimes returns its inputs."""
    rng = draft.rng
    value = draft.some(rank=2)
    body = draft.body()
    trip = body.note(Value(body.fresh("b"), "int64", ()))
    going = body.note(Value(body.fresh("b"), "bool", ()))
    state = body.note(Value(body.fresh("b"), "float32", value.shape))
    after = state if rng.random() < 0.05 else _nodes(body, state)
    collected = _own(body, rng.choice([state, after, trip]))
    proceed = going if rng.random() < 0.4 else body.node("Identity", [going], "bool", ())
    graph = body.graph([trip, going, state], [proceed, after, collected], "loop", sizes=rng.random() < 0.7)
    trips = (
        draft.constant(np.array(rng.choice([0, 1, 3])))
        if rng.random() < 0.5
        else draft.input("int64", (), low=0, high=3)
    )
    keep = "" if rng.random() < 0.3 else draft.constant(np.array(True))
    draft.node("Loop", [trips, keep, value], "float32", value.shape, body=graph)
    stacked = draft.note(Value(draft.fresh("v"), collected.kind, (draft.fresh("?trips"), *collected.shape)))
    draft.nodes[-1].output.append(stacked.name)


def scan(draft: Draft) -> None:
    """Append a Scan over the rows of an input, whose body sometimes returns its inputs."""
    rng = draft.rng
    value = draft.input("float32", (rng.choice([2, 3, "T"]), 3))
    start = draft.input("float32", (3,))
    body = draft.body()
    state = body.note(Value(body.fresh("b"), "float32", (3,)))
    part = body.note(Value(body.fresh("b"), "float32", (3,)))
    total = _own(body, state) if rng.random() < 0.3 else body.node("Add", [state, part], "float32", (3,))
    collected = _own(body, rng.choice([total, part, state, _nodes(body, part)]))
    graph = body.graph([state, part], [total, collected], "scan")
    more = {"scan_input_directions": [1]} if rng.random() < 0.3 else {}
    draft.node("Scan", [start, value], "float32", (3,), body=graph, num_scan_inputs=1, **more)
    draft.nodes[-1].output.append(draft.note(Value(draft.fresh("v"), "float32", value.shape)).name)


def function(draft: Draft) -> None:
    """Append a call of the local function `Scaled`, `a * factor + b`, where `factor` is an attribute."""
    value = draft.some()
    if "local" not in draft.domains:
        draft.domains["local"] = 1
        factor = helper.make_node("Constant", [], ["k"])
        factor.attribute.add(name="value_float", ref_attr_name="factor", type=AttributeProto.FLOAT)
        nodes = [factor, helper.make_node("Mul", ["a", "k"], ["m"]), helper.make_node("Add", ["m", "b"], ["r"])]
        draft.functions.append(
            helper.make_function(
                "local",
                "Scaled",
                ["a", "b"],
                ["r"],
                nodes,
                [helper.make_opsetid("", draft.opset)],
                attributes=["factor"],
            )
        )
    other = draft.find(lambda one: one.kind == "float32" and meet(one.shape, value.shape) == value.shape) or value
    draft.node("Scaled", [value, other], "float32", value.shape, domain="local", factor=draft.rng.choice([0.5, 2.0]))


def lie(draft: Draft) -> None:
    """Declare random sizes for an inner value, so a declared size may be right, wrong, absent or another symbol."""
    value = draft.find(lambda one: one.rank > 0 and any(one.name in node.output for node in draft.nodes))
    if value is not None and all(info.name != value.name for info in draft.stored):
        shape = [draft.rng.choice([dim, dim, None, 1, 7, "Q"]) for dim in value.shape]
        draft.stored.append(
            helper.make_tensor_value_info(
                value.name, TensorProto.FLOAT if value.kind == "float32" else TensorProto.INT64, shape
            )
        )
