"""Random models whose sizes come from integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.support.onnx.random_builder import Builder, Case, floats, sizes
from tests.support.runtimes.onnx_runs import run

WHOLE = (TensorProto.INT64, TensorProto.INT32)
SHORT = (TensorProto.INT16, TensorProto.INT8, TensorProto.BOOL)
UNSIGNED = (TensorProto.UINT64, TensorProto.UINT32, TensorProto.UINT16, TensorProto.UINT8)
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
TYPES = (*WHOLE, *SHORT, *UNSIGNED, *FLOATS)
FACTORS = (0, 1, 2, 3, 5, 7, 64, 100, 127, 128, 255, 256, 257, 300, 1000, 65536, 2**31, -1, -2, -7)


def arithmetic(random: Random) -> Case:
    """A shape through casts and arithmetic of any type; what comes out is a size."""
    b = Builder(random, random.choice([13, 14, 18, 19, 21]))
    dims = [random.choice([0, 1, 2, 3, 5, 8, 100, 127, 200, 255, 256, 300]) for _ in range(random.randint(1, 3))]
    vector = b.node("Shape", [b.input(np.empty(dims, np.bool_), open_sizes=0.4)])[0]
    kind: int = TensorProto.INT64
    for _ in range(random.randint(1, 6)):
        step = random.choice(["cast", "cast", "back", "pair", "pair", *MOVES])
        if step in MOVES:
            vector = MOVES[step](b, vector)
        elif step == "pair":
            vector = vector if kind == TensorProto.BOOL else _pair(b, vector, kind)
        else:
            kind = random.choice(TYPES if step == "cast" else WHOLE)
            vector = b.node("Cast", [vector], to=kind)[0]
    if kind != TensorProto.INT64:
        vector = b.node("Cast", [vector], to=TensorProto.INT64)[0]
    first = b.node("Slice", [vector, b.constant([0]), b.constant([1])])[0]
    if _small(b, first):
        _use(b, first)
    return b.case()


def _use(b: Builder, size: str) -> None:
    """Let a vector of one element be a size."""
    op = b.random.choice(["ConstantOfShape", "Expand", "Tile", "Reshape", "Range"])
    if op == "ConstantOfShape":
        b.node(op, [size], value=helper.make_tensor("", TensorProto.BOOL, [1], [True]))
    elif op == "Expand":
        b.node(op, [b.constant([True], np.bool_), size])
    elif op == "Tile":
        b.node(op, [b.input(floats(b.random.randint(0, 3))), size])
    elif op == "Reshape":
        target = b.node("Concat", [size, b.constant([-1])], axis=0)
        b.node(op, [b.input(floats(b.random.choice([0, 1, 2, 6, 44]))), *target])
    else:
        limit = b.node("Squeeze", [size, b.constant([0])])[0]
        b.node(op, [b.constant(0), limit, b.constant(b.random.choice([1, 2, 3]))])


def _gathered(b: Builder, vector: str) -> str:
    at = b.random.choice([[0], [0, 0], [-1], 0])
    found = b.node("Gather", [vector, b.operand(at)], axis=b.random.choice([0, -1]))[0]
    return found if at else b.node("Unsqueeze", [found, b.constant([0])])[0]


def _sliced(b: Builder, vector: str) -> str:
    """Backwards only where there is something: onnxruntime aborts the process on an empty axis."""
    random = b.random
    step = random.choice([1, 1, 2, -1])
    if step < 0:
        vector = _doubled(b, b.node("Gather", [vector, b.constant([0])])[0])
    bounds = [[random.randint(-2, 3)], [random.randint(-2, 4)], [random.choice([0, -1])], [step]]
    return b.node("Slice", [vector, *map(b.operand, bounds)])[0]


def _doubled(b: Builder, vector: str) -> str:
    return b.node("Concat", [vector, vector], axis=b.random.choice([0, -1]))[0]


def _there_and_back(b: Builder, vector: str) -> str:
    flat = b.node("Reshape", [vector, b.constant([1, -1])])[0]
    return b.node("Squeeze", [flat, b.constant([0])])[0]


MOVES: Mapping[str, Callable[[Builder, str], str]] = {
    "gather": _gathered,
    "slice": _sliced,
    "concat": _doubled,
    "reshape": _there_and_back,
}


def _small(b: Builder, size: str) -> bool:
    """Whether the size, which runs as a part of the model, is one that memory has room for."""
    built = b.case()
    try:
        found = run(built.proto, **built.feeds)
    except Exception:  # noqa: BLE001 -- onnxruntime's own classes; then nothing is run later either
        return False
    held = dict(zip([output.name for output in built.proto.graph.output], found, strict=True))[size]
    return bool((held <= 10**6).all())


def _pair(b: Builder, vector: str, kind: int) -> str:
    op = b.random.choice(["Add", "Sub", "Mul", "Div"])
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    factor = np.asarray([b.random.choice(FACTORS)]).astype(dtype)
    if op == "Div" and not factor[0]:
        factor = np.asarray([3]).astype(dtype)
    shape: Any = factor if b.random.random() < 0.7 else factor[0]
    operands = [vector, b.constant(shape, dtype)]
    return b.node(op, operands if op == "Div" or b.random.random() < 0.7 else operands[::-1])[0]


def reshapes(random: Random) -> Case:
    """Reshape by sizes of the operand or of another value, 0 among them, in any order."""
    b = Builder(random, random.choice([5, 13, 14, 18]))
    x, other = (b.input(floats(*sizes(random, random.randint(1, 3), 0, 4)), open_sizes=0.7) for _ in range(2))
    shape = b.node("Shape", [random.choice([x, x, other])])[0]
    parts = [
        b.node("Gather", [shape, b.constant([random.choice([0, -1, 1])])])[0]
        if random.random() < 0.6
        else b.constant([random.choice([-1, 0, 1, 2, 4])])
        for _ in range(random.randint(1, 3))
    ]
    target = b.node("Concat", parts, axis=0)
    held = {"allowzero": random.choice([0, 1])} if b.opset >= 14 else {}
    b.node("Reshape", [x, *target], **held)
    return b.case()


def ranges(random: Random) -> Case:
    """Range of every element type."""
    b = Builder(random, random.choice([11, 13, 18]))
    dtype = random.choice([np.int64, np.int32, np.int16, np.float32, np.float32, np.float64])
    if np.issubdtype(dtype, np.integer):
        start, limit, step = (random.randint(-9, 9) for _ in range(3))
        bounds: list[float] = [start, limit, step or 2]
    else:
        bounds = [random.choice([0.0, 1.0, -3.0, 0.1, 0.3]), random.choice([1.0, 0.9, 5.0, -2.0, 0.7])]
        bounds.append(random.choice([1.0, 0.1, 0.3, -0.1, 0.2, -1.0, 0.7]))
    y = b.node("Range", [b.operand(bound, dtype) for bound in bounds])[0]
    shape = b.node("Shape", [y])[0]
    b.node("ConstantOfShape", [shape])
    return b.case()
