"""What target tosa rewrites in ONNX models is proved, and the same with a fault in it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.by_runs import verify
from tests.support.proof_graphs import IMAGE, RESIZE, WIDE, floats, ints, unary
from tests.support.proving import prove
from tests.support.tiers import tiered

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.written import Written


@dataclass(frozen=True)
class Case:
    """One computation in two forms, and forms that compute another thing."""

    before: str
    after: str
    faults: tuple[str, ...]
    opset: int = 17
    """Of `before`; the others are of 17."""
    data: Mapping[str, np.ndarray] = field(default_factory=dict)


OLDER = {
    "the axes of Unsqueeze": Case(
        unary("y = Unsqueeze <axes=[1]> (x)", "[2,1,3,4]"),
        unary("y = Unsqueeze(x, one)", "[2,1,3,4]"),
        (unary("y = Unsqueeze(x, two)", "[2,3,1,4]"),),
        11,
        {"one": ints(1), "two": ints(2)},
    ),
    "the axes of ReduceSum": Case(
        unary("y = ReduceSum <axes=[1], keepdims=0> (x)", "[2,4]"),
        unary("y = ReduceSum <keepdims=0> (x, one)", "[2,4]"),
        (unary("y = ReduceSum <keepdims=0> (x, two)", "[2,3]"), unary("y = ReduceSum <keepdims=0> (x)", "[]")),
        11,
        {"one": ints(1), "two": ints(2)},
    ),
    "the sizes of Split": Case(
        unary("a, b = Split <axis=2, split=[1,3]> (x) y = ReduceMax <axes=[2], keepdims=0> (a)", "[2,3]"),
        unary("a, b = Split <axis=2> (x, one) y = ReduceMax <axes=[2], keepdims=0> (a)", "[2,3]"),
        (unary("a, b = Split <axis=2> (x, two) y = ReduceMax <axes=[2], keepdims=0> (a)", "[2,3]"),),
        11,
        {"one": ints(1, 3), "two": ints(3, 1)},
    ),
    "the bounds of Slice": Case(
        unary("y = Slice <axes=[2], ends=[3], starts=[1]> (x)", "[2,3,2]"),
        unary("y = Slice(x, one, three, axis)", "[2,3,2]"),
        (unary("y = Slice(x, nought, axis, axis)", "[2,3,2]"), unary("y = Slice(x, one, three)", "[1,3,4]")),
        9,
        {"nought": ints(0), "one": ints(1), "three": ints(3), "axis": ints(2)},
    ),
    "how many TopK gives": Case(
        unary("a, b = TopK <k=2> (x) y = Neg(a)", "[2,3,2]"),
        unary("a, b = TopK(x, two) y = Neg(a)", "[2,3,2]"),
        (unary("a, b = TopK <largest=0> (x, two) y = Neg(a)", "[2,3,2]"),),
        9,
        {"two": ints(2)},
    ),
    "what Pad puts around": Case(
        unary("y = Pad <pads=[0,1,0,0], value=2.5> (x)", "[2,4]", "[2,3]"),
        unary("y = Pad(x, left, value)", "[2,4]", "[2,3]"),
        (unary("y = Pad(x, right, value)", "[2,4]", "[2,3]"), unary("y = Pad(x, left)", "[2,4]", "[2,3]")),
        9,
        {"left": ints(0, 1, 0, 0), "right": ints(0, 0, 0, 1), "value": np.float32(2.5)},
    ),
    "the bounds of Clip": Case(
        unary("y = Clip <min=-0.25, max=0.5> (x)", "[2,3,4]"),
        unary("y = Clip(x, low, high)", "[2,3,4]"),
        (unary("y = Clip(x, low, low)", "[2,3,4]"), unary("y = Clip(x, low)", "[2,3,4]")),
        9,
        {"low": np.float32(-0.25), "high": np.float32(0.5)},
    ),
    "one bound of Clip": Case(
        unary("y = Clip <min=-0.25> (x)", "[2,3,4]"),
        unary("y = Clip(x, low)", "[2,3,4]"),
        (unary("y = Clip(x, , low)", "[2,3,4]"),),
        9,
        {"low": np.float32(-0.25)},
    ),
    "a normalization with its statistics": Case(
        unary("y = BatchNormalization(x, a, b, m, v)", "[2,3,4]"),
        unary("y = BatchNormalization(x, a, b, m, v)", "[2,3,4]"),
        (
            unary("y = BatchNormalization(x, b, a, m, v)", "[2,3,4]"),
            unary("y = BatchNormalization <epsilon=0.5> (x, a, b, m, v)", "[2,3,4]"),
        ),
        9,
        {"a": floats(1, 2, 3), "b": floats(3, 4, 6), "m": floats(0, 1, 2), "v": floats(1, 2, 3)},
    ),
    "a Softmax over the last axis": Case(
        unary("y = Softmax <axis=2> (x)", "[2,3,4]"),
        unary("y = Softmax <axis=-1> (x)", "[2,3,4]"),
        (unary("y = Softmax <axis=-2> (x)", "[2,3,4]"),),
        11,
    ),
    "a Softmax over all axes but one, of which one is not 1": Case(
        unary("y = Softmax(x)", "[2,3,1]", "[2,3,1]"),
        unary("y = Softmax <axis=-2> (x)", "[2,3,1]", "[2,3,1]"),
        (unary("y = Softmax(x)", "[2,3,1]", "[2,3,1]"),),
        11,
    ),
    "a Softmax over two axes": Case(
        unary("y = Softmax(x)", "[2,3,4]"),
        unary("f = Flatten <axis=1> (x) s = Softmax <axis=-1> (f) p = Shape(x) y = Reshape(s, p)", "[2,3,4]"),
        (unary("f = Flatten <axis=2> (x) s = Softmax <axis=-1> (f) p = Shape(x) y = Reshape(s, p)", "[2,3,4]"),),
        11,
    ),
    "a linear Upsample": Case(
        unary('y = Upsample <mode="linear"> (x, s)', "[1,1,4,4]", "[1,1,2,2]"),
        unary(
            'y = Resize <mode="linear", coordinate_transformation_mode="asymmetric", nearest_mode="floor"> (x, , s)',
            "[1,1,4,4]",
            "[1,1,2,2]",
        ),
        (unary('y = Resize <mode="linear", nearest_mode="floor"> (x, , s)', "[1,1,4,4]", "[1,1,2,2]"),),
        9,
        {"s": floats(1, 1, 2, 2)},
    ),
    "a Dropout": Case(
        unary("a = Neg(x) b = Dropout <ratio=0.75> (a) y = Exp(b)", "[2,3,4]"),
        unary("a = Neg(x) y = Exp(a)", "[2,3,4]"),
        (unary("a = Abs(x) y = Exp(a)", "[2,3,4]"),),
        9,
    ),
}
"""Operator sets before 17."""

KNOWN = {
    "a shape that is put together": Case(
        unary(
            "s = Shape(x) n = Gather(s, at) u = Unsqueeze(n, nought) v = Concat <axis=0> (u, r) y = Reshape(x, v)",
            "[2,12]",
        ),
        unary("y = Reshape(x, t)", "[2,12]"),
        (unary("y = Reshape(x, o)", "[3,8]"), unary("y = Reshape(x, p)", "[12,2]")),
        data={
            "at": np.int64(0), "nought": ints(0), "r": ints(-1), "t": ints(2, -1), "o": ints(3, -1), "p": ints(12, 2),
        },
    ),
    "numbers that are counted, scaled and cast": Case(
        unary("r = Range(z, f, o) c = Cast <to=1> (r) h = Mul(c, half) y = Add(x, h)", "[2,3,4]"),
        unary("y = Add(x, made)", "[2,3,4]"),
        (unary("y = Add(x, off)", "[2,3,4]"),),
        data={
            "z": np.int64(0), "f": np.int64(4), "o": np.int64(1), "half": np.float32(0.5),
            "made": floats(0, 0.5, 1, 1.5), "off": floats(0, 0.5, 1, 1.5000001),
        },
    ),
    "elements that are chosen, moved and compared": Case(
        unary(
            "t = Transpose <perm=[1,0]> (m) e = Less(t, k) w = Where(e, t, k) f = Cast <to=1> (w) y = Add(x, f)",
            "[2,3,4]",
        ),
        unary("y = Add(x, made)", "[2,3,4]"),
        (unary("y = Add(x, off)", "[2,3,4]"),),
        data={
            "m": np.array([[1, 5], [2, 6], [7, 3], [4, 8]], np.int64)[:, :1].repeat(3, 1), "k": np.int64(3),
            "made": floats(1, 2, 3, 3).reshape(1, 4).repeat(3, 0), "off": floats(1, 2, 7, 3).reshape(1, 4).repeat(3, 0),
        },
    ),
    "a constant of a known shape": Case(
        unary("s = Shape(x) z = ConstantOfShape <value=float[1]{2.5}> (s) y = Concat <axis=1> (x, z)", "[2,6,4]"),
        unary("y = Concat <axis=1> (x, made)", "[2,6,4]"),
        (unary("y = Concat <axis=1> (made, x)", "[2,6,4]"), unary("y = Concat <axis=1> (x, off)", "[2,6,4]")),
        data={"made": np.full((2, 3, 4), 2.5, np.float32), "off": np.full((2, 3, 4), -2.5, np.float32)},
    ),
    "a branch that is always taken": Case(
        unary(
            "s = Shape(x) n = Gather(s, last) c = Equal(n, four) y = If(c) "
            "<then_branch = t () => (float[2,3,4] a) { a = Exp(x) }, "
            "else_branch = e () => (float[2,3,4] b) { r = RandomUniformLike(x) b = Sub(x, r) }>",
            "[2,3,4]",
        ),
        unary("y = Exp(x)", "[2,3,4]"),
        (unary("r = RandomUniformLike(x) y = Sub(x, r)", "[2,3,4]"), unary("y = Neg(x)", "[2,3,4]")),
        data={"last": np.int64(2), "four": np.int64(4)},
    ),
}  # fmt: skip
"""Constants that are computed."""

MERGED = "a = Reshape(x, split) b = Expand(a, wide) y = Reshape(b, joined)"
EXACT = {
    "a square": Case(
        unary("y = Pow(x, two)", "[2,3,4]"),
        unary("y = Mul(x, x)", "[2,3,4]"),
        (unary("y = Mul(x, two)", "[2,3,4]"), unary("a = Abs(x) y = Mul(x, a)", "[2,3,4]")),
        data={"two": floats(2)},
    ),
    "elements that stand twice": Case(
        unary(RESIZE.format("asymmetric", "floor"), WIDE, IMAGE),
        unary(MERGED, WIDE, IMAGE),
        (
            unary("a = Reshape(x, front) b = Expand(a, wider) y = Reshape(b, joined)", WIDE, IMAGE),
            unary("t = Transpose <perm=[0,1,3,2]> (x) " + MERGED.replace("Reshape(x", "Reshape(t"), WIDE, IMAGE),
        ),
        data={
            "s": floats(1, 1, 2, 2), "split": ints(1, 1, 2, 1, 2, 1), "wide": ints(1, 1, 2, 2, 2, 2),
            "joined": ints(1, 1, 4, 4), "front": ints(1, 1, 1, 2, 1, 2), "wider": ints(1, 1, 2, 2, 2, 2),
        },
    ),
    "elements that stand twice by their middles": Case(
        unary(RESIZE.format("half_pixel", "round_prefer_ceil"), WIDE, IMAGE),
        unary(RESIZE.format("pytorch_half_pixel", "round_prefer_floor"), WIDE, IMAGE),
        (unary(RESIZE.format("align_corners", "floor"), WIDE, IMAGE),),
        data={"s": floats(1, 1, 2, 2)},
    ),
    "a PRelu": Case(
        unary("y = PRelu(x, s)", "[2,3,4]"),
        unary("k = GreaterOrEqual(x, z) f = Where(k, o, s) y = Mul(x, f)", "[2,3,4]"),
        (
            unary("k = GreaterOrEqual(x, z) f = Where(k, s, o) y = Mul(x, f)", "[2,3,4]"),
            unary("k = GreaterOrEqual(x, o) f = Where(k, o, s) y = Mul(x, f)", "[2,3,4]"),
            unary("k = GreaterOrEqual(x, z) f = Where(k, o, t) y = Mul(x, f)", "[2,3,4]"),
        ),
        data={
            "s": floats(-2, 3, 4).reshape(3, 1), "t": floats(-2, 3, 4, 5), "z": np.float32(0), "o": np.float32(1),
        },
    ),
}  # fmt: skip
"""Operators that are the same bits in other operators."""

CASES = {**OLDER, **KNOWN, **EXACT}


@pytest.mark.parametrize("name", CASES)
def test_one_computation_in_two_forms_is_proved(name: str, written: Written) -> None:
    before, after = pair(CASES[name], CASES[name].after, written)
    assert prove(before, after).reason is None


@pytest.mark.parametrize("name", CASES)
def test_the_same_with_a_fault_is_not(name: str, written: Written) -> None:
    for fault in CASES[name].faults:
        before, after = pair(CASES[name], fault, written)
        assert not prove(before, after).proved, fault


@pytest.mark.ci
@pytest.mark.parametrize("name", tiered(CASES, lambda name: name == "a PRelu"))
def test_runs_say_what_the_proof_says(name: str, written: Written) -> None:
    assert verify(*pair(CASES[name], CASES[name].after, written), runs=1).status == "equal"
    for fault in CASES[name].faults:
        assert verify(*pair(CASES[name], fault, written), runs=1).status != "equal", fault


def pair(case: Case, after: str, written: Written) -> tuple[Path, Path]:
    return written(case.before, opset=case.opset, **case.data), written(after, **case.data)


def test_what_a_proof_assumes_of_onnxruntime_is_reported(written: Written) -> None:
    case = EXACT["a square"]
    before, after = pair(case, case.after, written)
    assert prove(before, after).assumes == (
        "a power by 2 and a PRelu of float32 have the bits of the products that they are, as in onnxruntime",
    )
    assert prove(before, written(case.before, two=floats(2), more=floats(1))).assumes == ()
