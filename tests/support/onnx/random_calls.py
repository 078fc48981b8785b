"""Random models of local functions, of operators with parameters, of bodies and of what moves elements."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from tests.support.onnx.random_builder import Builder, Case, floats, sizes

OPERATORS = ("Relu", "Sigmoid", "Gelu", "Identity", "FastGelu", "Own", "Transpose", "Shape", "Flatten", "Softmax")


def functions(random: Random) -> Case:
    """Local functions, many with a built-in's name, in domains of every kind."""
    b = Builder(random, 20)
    domain = random.choice(["", "ai.onnx", "com.microsoft", "local", "local", "local"])
    name = random.choice(OPERATORS)
    rank = random.randint(1, 3)
    x = b.input(floats(*sizes(random, rank, 1, 4)))
    body = [
        [helper.make_node("Concat", ["p", "p"], ["r"], axis=random.choice([0, -1]))],
        [helper.make_node("Neg", ["p"], ["r"])],
        [helper.make_node("Transpose", ["p"], ["t"]), helper.make_node("Abs", ["t"], ["r"])],
        [helper.make_node("Shape", ["p"], ["s"]), helper.make_node("ConstantOfShape", ["s"], ["r"])],
        [helper.make_node("Constant", [], ["c"], value_ints=[-1]), helper.make_node("Reshape", ["p", "c"], ["r"])],
    ]
    made = helper.make_function(domain, name, ["p"], ["r"], random.choice(body), [helper.make_opsetid("", 20)])
    b.functions.append(made)
    if domain not in ("", "ai.onnx"):
        b.domains[domain] = 1
    y = b.node(name, [x], domain=domain)[0]
    again = b.node(name, [y], domain=domain)[0] if random.random() < 0.5 else y
    b.node("Neg", [again])
    return b.case()


def parameters(random: Random) -> Case:
    """PRelu, LayerNormalization and others with parameters that may be larger than what they are applied to."""
    b = Builder(random, random.choice([17, 18, 23]))
    op = random.choice(["PRelu", "PRelu", "LayerNormalization", "Clip", "BatchNormalization", "Gemm", "Where"])
    dims = sizes(random, random.randint(1, 4), 1, 3)
    small = [random.choice([size, 1]) for size in dims[random.randint(0, len(dims)) :]]
    if random.random() < 0.4:
        dims, small = [random.choice([size, 1]) for size in dims], dims
    x = b.input(floats(*dims))
    if op == "PRelu":
        y = b.node(op, [x, b.operand(floats(*small), np.float32)])[0]
    elif op == "LayerNormalization":
        scale = b.operand(floats(*small), np.float32)
        y = b.node(op, [x, scale], random.choice([1, 3]), axis=random.randint(-len(dims), len(dims) - 1))[0]
    elif op == "Clip":
        y = b.node(op, [x, b.operand(0, np.float32)])[0]
    elif op == "Gemm":
        y = b.node(op, [b.input(floats(2, 3)), b.input(floats(3, 4)), b.operand(floats(*small), np.float32)])[0]
    elif op == "Where":
        y = b.node(op, [b.constant(True, np.bool_), x, b.operand(floats(*small), np.float32)])[0]
    else:
        held = [b.operand(floats(dims[1] if len(dims) > 1 else 1), np.float32) for _ in range(4)]
        y = b.node(op, [x, *held])[0]
    b.node("Neg", [y])
    return b.case()


def moves(random: Random) -> Case:
    """Operators that cut, join, reduce and regroup, with axes from both ends and sizes that are 0 or 1."""
    b = Builder(random, random.choice([13, 13, 18, 20]))
    dims = sizes(random, random.randint(1, 4), 0 if random.random() < 0.2 else 1, 4)
    y = b.input(floats(*dims))
    for _ in range(random.randint(1, 3)):
        y = random.choice(MOVES)(b, y, random.randint(-len(dims), len(dims) - 1))
    return b.case()


def _subset(b: Builder, rank: int) -> list[int]:
    axes = b.random.sample(range(rank), b.random.randint(0, rank))
    return [axis - rank if b.random.random() < 0.3 else axis for axis in axes]


def _slice(b: Builder, x: str, axis: int) -> str:
    random = b.random
    count = random.randint(1, 2)
    axes = [axis, axis + 1 if axis != -1 else 0][:count]
    bounds = [[random.choice([0, 1, -1, -3, 5, 2**63 - 1, -(2**63)]) for _ in axes] for _ in range(2)]
    backwards = [-1, -2] if x in b.feeds and b.feeds[x].size else []  # onnxruntime aborts on an empty axis
    steps = [random.choice([1, 1, 2, *backwards]) for _ in axes]
    return b.node("Slice", [x, *map(b.operand, [*bounds, axes, steps])])[0]


def _pad(b: Builder, x: str, axis: int) -> str:
    cut = [-1] if x in b.feeds and b.feeds[x].size else []  # below 0 onnxruntime aborts the process
    pads = [b.random.choice([0, 1, 2, *cut]), b.random.choice([0, 0, 1, 2])]
    if b.opset >= 18:
        return b.node("Pad", [x, b.operand(pads), "", b.operand([axis])])[0]
    rank = b.random.randint(1, 4)
    return b.node("Pad", [x, b.operand([pads[0]] * rank + [pads[1]] * rank)])[0]


def _concat(b: Builder, x: str, axis: int) -> str:
    other = x
    if x in b.feeds and b.random.random() < 0.5:
        dims = list(b.feeds[x].shape)
        dims[axis] = b.random.randint(0, 3)
        other = b.input(floats(*dims))
    return b.node("Concat", [x, other, x][: b.random.randint(1, 3)], axis=axis)[0]


def _split(b: Builder, x: str, axis: int) -> str:
    count = b.random.randint(1, 3)
    if b.random.random() < 0.4:
        return b.node("Split", [x, b.operand([b.random.randint(0, 2) for _ in range(count)])], count, axis=axis)[-1]
    held = {"num_outputs": count} if b.opset >= 18 else {}
    return b.node("Split", [x], count, axis=axis, **held)[-1]


def _reduce(b: Builder, x: str, axis: int) -> str:
    held: dict[str, Any] = {"keepdims": b.random.randint(0, 1)}
    if x not in b.feeds or not b.feeds[x].size:
        axis = b.random.randint(0, 2)  # onnxruntime does not reduce nothing along axes that count from the end
    if b.random.random() < 0.3:
        return b.node("Cast", b.node("ArgMax", [x], axis=axis, **held), to=TensorProto.FLOAT)[0]
    if b.random.random() < 0.3:
        held["noop_with_empty_axes"] = b.random.randint(0, 1)
    axes = [axis] if b.random.random() < 0.5 else sorted({axis, *b.random.sample(range(3), b.random.randint(0, 2))})
    given = [b.operand(axes)] if b.random.random() < 0.8 else []
    return b.node("ReduceSum", [x, *given], **held)[0]


def _unit_axes(b: Builder, x: str, axis: int) -> str:
    op = b.random.choice(["Squeeze", "Unsqueeze"])
    given = [] if op == "Squeeze" and b.random.random() < 0.4 else [b.operand([axis])]
    return b.node(op, [x, *given])[0]


def _gather(b: Builder, x: str, axis: int) -> str:
    random = b.random
    indices = np.zeros([random.randint(0, 2) for _ in range(random.randint(0, 2))], np.int64)
    op = random.choice(["Gather", "Gather", "GatherElements", "GatherND"])
    held = {"axis": axis} if op != "GatherND" else {"batch_dims": random.randint(0, 1)}
    return b.node(op, [x, b.operand(indices)], **held)[0]


def _regroup(b: Builder, x: str, axis: int) -> str:
    random = b.random
    op = random.choice(["Flatten", "Transpose", "Tile", "Expand", "DepthToSpace", "SpaceToDepth"])
    if op == "Flatten":
        return b.node(op, [x], axis=axis)[0]
    if op == "Transpose":
        return b.node(op, [x])[0]
    if op in ("Tile", "Expand"):
        return b.node(op, [x, b.operand(sizes(random, random.randint(1, 4), 0 if op == "Tile" else 1, 2))])[0]
    return b.node(op, [x], blocksize=random.choice([1, 2]))[0]


def _select(b: Builder, x: str, axis: int) -> str:
    random = b.random
    op = random.choice(["TopK", "NonZero", "Compress", "OneHot", "Trilu"])
    if op == "TopK":
        return b.node(op, [x, b.operand([random.randint(0, 2)])], 2, axis=axis)[0]
    if op == "Compress":
        held = {"axis": axis} if random.random() < 0.7 else {}
        return b.node(op, [x, b.operand([True], np.bool_)], **held)[0]
    if op == "OneHot":
        whole = b.node("Cast", [x], to=TensorProto.INT64)[0]
        return b.node(op, [whole, b.operand(random.randint(1, 3)), b.constant([0, 1], np.float32)], axis=axis)[0]
    if op == "Unique":
        held = {"axis": axis} if random.random() < 0.7 else {}
        return b.node(op, [x], 4, **held)[0]
    found = b.node(op, [x])[0]
    return b.node("Cast", [found], to=TensorProto.FLOAT)[0] if op == "NonZero" else found


MOVES = (_slice, _slice, _pad, _concat, _split, _reduce, _reduce, _unit_axes, _gather, _regroup, _regroup, _select)


def bodies(random: Random) -> Case:
    """If, Loop and Scan whose bodies keep or change sizes."""
    b = Builder(random, random.choice([11, 13, 16, 18]))
    dims = sizes(random, random.randint(1, 3), 1, 3)
    x = b.input(floats(*dims))
    step = random.choice(["Neg", "Concat", "Transpose", "ReduceMax"])
    held: dict[str, Any] = {"axis": random.choice([0, -1])} if step == "Concat" else {}
    carried = helper.make_node(step, ["p", "p"] if step == "Concat" else ["p"], ["q"], **held)
    kind = random.choice(["If", "Loop", "Loop", "Scan"])
    state, result = ValueInfoProto(name="p"), ValueInfoProto(name="q")
    state.type.tensor_type.elem_type = result.type.tensor_type.elem_type = TensorProto.FLOAT
    if kind == "If":
        nodes = [helper.make_node(step, [x, x] if step == "Concat" else [x], ["q"], **held)]
        other = helper.make_graph([helper.make_node("Neg", [x], ["q"])], "e", [], [result])
        then = helper.make_graph(nodes, "t", [], [result])
        y = b.node(kind, [b.operand(random.random() < 0.5, np.bool_)], then_branch=then, else_branch=other)[0]
    elif kind == "Loop":
        at = helper.make_tensor_value_info("i", TensorProto.INT64, random.choice([[], [], [], [1], ["one"]]))
        go = [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("c", "d")]
        inner = [helper.make_node("Identity", ["c"], ["d"]), carried]
        if random.random() < 0.5:
            inner.append(helper.make_node("Identity", ["p"], ["s"]))
        else:  # the number of the iteration has an axis where the body declares one
            inner.append(helper.make_node("Gather", [x, "j"], ["s"]))
            inner.insert(0, helper.make_node("Sub", ["i", "i"], ["j"]))
        seen = ValueInfoProto(name="s")
        seen.type.tensor_type.elem_type = TensorProto.FLOAT
        body = helper.make_graph(inner, "b", [at, go[0], state], [go[1], result, seen])
        y = b.node(kind, [b.operand(random.randint(1, 2)), b.constant(True, np.bool_), x], 2, body=body)[0]
    else:
        row = ValueInfoProto(name="r")
        row.type.tensor_type.elem_type = TensorProto.FLOAT
        seen = ValueInfoProto(name="s")
        seen.type.tensor_type.elem_type = TensorProto.FLOAT
        body = helper.make_graph([carried, helper.make_node("Neg", ["r"], ["s"])], "b", [state, row], [result, seen])
        rows = b.input(floats(*sizes(random, random.randint(1, 3), 1, 3)))
        more = {"scan_input_axes": [random.choice([0, -1])], "scan_output_axes": [random.choice([0, -1])]}
        y = b.node(kind, [x, rows], 2, body=body, num_scan_inputs=1, **more)[0]
    b.node("Neg", [y])
    return b.case()
