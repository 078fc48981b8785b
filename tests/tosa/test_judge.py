"""When an output of the converted model is near enough; without the TOSA tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

import graphfix
from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.runs.onnx.float16_outputs import float16_outputs
from graphfix.checker.runs.tflite.quantized_ends import input_ranges, output_steps
from graphfix.engine.request import Request
from graphfix.graph.edits import New, Replace
from graphfix.results import Conversion
from graphfix.runtimes import tosa
from graphfix.shapes.dim import Shape
from graphfix.tosa import agreement, plain_weights
from graphfix.tosa.judge import Apart, Limits, judged
from graphfix.tosa.plain_weights import dequantized
from tests.support.notation import node
from tests.support.runtimes.tosa_loop import onnx_file, tflite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DONE = Conversion("converted", "a converter")
"""What the runs are asked of."""


def near(wanted: Sequence[Sequence[float]], got: Sequence[float], step: float | None = None, **limits: float) -> bool:
    """Whether it is judged so; values that are all whole are int8."""
    arrays = [np.array(values, np.int8 if all(type(value) is int for value in values) else None) for values in wanted]
    return judged(arrays, np.array(got, arrays[0].dtype), Limits(**limits), step, Apart.of([arrays])).within


@pytest.mark.parametrize(
    ("got", "step", "within"),
    [
        ([1, 101], 1.0, True),  # 0.01 of the range, and one quantum
        ([2, 100], 1.0, False),
        ([1, 101], None, False),  # whole numbers that are no quantized ones
        ([0.25, 100.0], 0.25, True),  # dequantized
        ([0.25 + 1e-7, 100.0], 0.25, True),  # both were rounded
        ([0.5, 100.0], 0.25, False),
    ],
)
def test_a_quantized_output_may_be_one_quantum_away(got: list[float], step: float | None, *, within: bool) -> None:
    assert near([[type(got[0])(0), type(got[0])(100)]], got, step) == within


def test_of_another_shape_nothing_is_near_whatever_the_limits_say() -> None:
    for wanted, got in (([1.0, 2.0], [1.0]), ([1.0], [1.0, 1.0])):
        assert not near([wanted], got, atol=10.0)
        assert not near([wanted], got, rtol=10.0)


STEP = 2.0**-11
"""From one number of float16 to the next, from 0.5 to 1."""


@pytest.mark.parametrize(
    ("got", "within"),
    [
        ([0.5 + STEP, 0.75 - STEP], True),  # 2e-3 of the range
        ([0.5, 0.75 - 2 * STEP], False),
        ([0.5 - STEP / 2, 0.75], True),  # below 0.5 numbers are twice as near
        ([0.5, float("nan")], False),
    ],
)
def test_an_output_of_float16_may_be_the_next_number(got: list[float], *, within: bool) -> None:
    wanted = np.float16([0.5, 0.75])
    assert judged([wanted], np.float16(got), Limits()).within == within
    assert not judged([wanted.astype(np.float32)], np.float32([0.5, 0.75 - STEP]), Limits()).within


ENDS = {
    "a Cast to float32": ("float[4]", "y = Cast<to=1>(h)", True),
    "a Cast to float64": ("double[4]", "y = Cast<to=11>(h)", True),
    "moved behind the Cast": ("float[4,1]", "f = Cast<to=1>(h) y = Unsqueeze(f, a)", True),
    "moved in front of the Cast": ("float[4,1]", "f = Unsqueeze(h, a) y = Cast<to=1>(f)", True),
    "computed of the Cast": ("float[4]", "f = Cast<to=1>(h) y = Neg(f)", False),
    "float16 itself": ("float16[4]", "y = Neg(h)", False),
    "whole numbers": ("float[1]", "i = ArgMax(h) y = Cast<to=1>(i)", False),
    "truth values": ("float[4]", "b = Greater(h, h) y = Cast<to=1>(b)", False),
    "an input": ("float[4]", "y = Identity(x)", False),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_output_that_a_cast_makes_of_float16_holds_float16_numbers(case: str, tmp_path: Path) -> None:
    kind, nodes, half = ENDS[case]
    body = f"c = Cast<to=10>(x) h = Relu(c) {nodes}"
    path = onnx_file(tmp_path, f"g (float[4] x) => ({kind} y) <int64[1] a = {{1}}> {{ {body} }}")
    assert float16_outputs(onnx.load(path)) == (frozenset({"y"}) if half else frozenset())


WIDE = "g (float[2] x) => (float[2] y) { c = Cast<to=10>(x) h = Identity(c) y = Cast<to=1>(h) }"


@pytest.mark.parametrize(
    ("got", "status"),
    [
        ([0.5 + STEP, 0.75 - STEP], "agrees"),
        ([0.5, 0.75 - 2 * STEP], "differs"),
        ([0.5, 1e6], "differs"),
        ([0.5, float("nan")], "differs"),
    ],
    ids=["one step", "two steps", "beyond float16", "no number"],
)
def test_float16_numbers_in_a_wider_output_are_held_to_their_own_step(
    got: list[float], status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tools that make float16 of a model often keep its inputs and outputs in float32."""
    model, inputs = onnx_file(tmp_path, WIDE), tmp_path / "x.npz"
    np.savez(inputs, x=np.float32([0.5, 0.75]))
    monkeypatch.setattr(tosa, "run", lambda *_: tosa.Computed([np.float32(got)], "valid"))
    assert agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request(run_on=[inputs])).status == status


@pytest.mark.parametrize(
    ("wanted", "got", "within"),
    [
        ([[0.0, 1.0], [0.5, 1.0]], [0.5005, 1.0], True),  # beside the second set
        ([[0.0, 1.0], [0.5, 1.0]], [0.9, 1.0], True),  # 0.4 from it, and the two are 0.5 apart
        ([[0.0, 1.0], [0.5, 1.0]], [1.0, 1.0], True),  # just as far
        ([[0.0, 1.0], [0.5, 1.0]], [1.1, 1.0], False),
        ([[0.0, 1.0], [0.5, 1.0]], [-0.4, 0.6], False),  # no element is 0.5 away, and all of them are moved
        ([[0.0, 1.0], [0.001, 1.0]], [0.003, 1.0], False),
        ([[0.0, 1.0], [float("nan"), 1.0]], [0.5, 1.0], False),  # what has no counterpart is no measure
    ],
)
def test_an_output_may_be_as_near_as_the_kernel_sets_are_to_each_other(
    wanted: list[list[float]], got: list[float], *, within: bool
) -> None:
    assert near(wanted, got) == within


@pytest.mark.parametrize(
    ("got", "limits", "within"),
    [
        ([10.0, 1000.009], {"atol": 0.01}, True),
        ([10.02, 1000.0], {"atol": 0.01}, False),  # 2e-5 of the range: what the user says goes
        ([10.0, 1005.0], {"rtol": 0.01}, True),
        ([10.2, 1000.0], {"rtol": 0.01}, False),
        ([10.2, 1000.0], {"rtol": 0.01, "atol": 0.2}, True),
    ],
)
def test_the_user_says_what_is_near_enough(got: list[float], limits: dict[str, float], *, within: bool) -> None:
    assert near([[10.0, 1000.0]], got, **limits) == within


def ends(folder: Path, text: str) -> tuple[dict[str, tuple[float, float]], tuple[float | None, ...]]:
    (graph,) = read_graphs(tflite(folder, text))
    return input_ranges(graph, {tensor: graph.names[tensor] for tensor in graph.inputs}), output_steps(graph)


@pytest.mark.parametrize(
    ("text", "ranges", "steps"),
    [
        # by the scale 0.5 and the zero point 3
        (
            "q:int8[4] = QUANTIZE(x[4])\nr:int8[2,2] = RESHAPE(q, s:const:int32[2]{2,2})\ny[2,2] = DEQUANTIZE(r)",
            True,
            (0.5,),
        ),
        ("q:int8[4] = QUANTIZE(x[4])\nd[4] = DEQUANTIZE(q)\ny[2,2] = RESHAPE(d, s:const:int32[2]{2,2})", True, (0.5,)),
        ("q:int8[4] = QUANTIZE(x[4])\nd[4] = DEQUANTIZE(q)\ny[4] = NEG(d)", True, (None,)),
        ("y:int8[4] = RELU(x:int8[4])", False, (1.0,)),
        ("y[4] = NEG(x[4])", False, (None,)),
    ],
)
def test_floats_at_the_ends_stand_for_quantized_numbers(
    text: str, steps: tuple[float | None, ...], tmp_path: Path, *, ranges: bool
) -> None:
    assert ends(tmp_path, text) == ({"x": (-65.5, 62.0)} if ranges else {}, steps)


def test_floats_that_are_quantized_at_once_are_fed_the_range_of_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tflite(tmp_path, "q:int8[400] = QUANTIZE(x[400])\ny[400] = DEQUANTIZE(q)")
    fed: list[np.ndarray] = []

    def computed(_: Path, given: list[np.ndarray]) -> tosa.Computed:
        fed.extend(given)
        return tosa.Computed([np.round(given[0] * 2) / 2], "valid")

    monkeypatch.setattr(tosa, "run", computed)
    assert agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request()).status == "agrees"
    assert all(values.min() < -50 and values.max() > 50 for values in fed)


def test_weights_that_meet_floats_are_read_as_the_floats_that_they_stand_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LiteRT's own kernel of such weights is some thousandths of the range away from their product."""
    weights = "1,2,3,4,5,6,7,8,-1,-2,-3,-4"
    model = tflite(tmp_path, f"y[2,3] = FULLY_CONNECTED(x[2,4], w:const:int8[3,4]{{{weights}}})")
    floats = (np.array(weights.split(","), np.float32).reshape(3, 4) - 3) / 2
    monkeypatch.setattr(tosa, "run", lambda _, given: tosa.Computed([given[0] @ floats.T], "valid"))
    found = agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request())
    assert (found.status, found.beside) == ("agrees", "LiteRT (reference kernels, weights dequantized)")
    assert found.gaps[0].largest < 1e-5
    assert not dequantized(tflite(tmp_path, "y[2,3] = FULLY_CONNECTED(x[2,4], w[3,4])"), tmp_path / "plain.tflite")


def test_the_weights_of_a_transpose_conv_are_dequantized(tmp_path: Path) -> None:
    """Its floats are operand 2: LiteRT rounds them to int8 on the way, as it does in the other operators."""
    operands = "s:const:int32[4]{1,4,4,1}, w:const:int8[1,2,2,1], x[1,2,2,1]"
    text = f"y[1,4,4,1] = TRANSPOSE_CONV({operands}, stride_h=2, stride_w=2)"
    made = tmp_path / "plain.tflite"
    assert dequantized(tflite(tmp_path, text), made)
    assert [node.op for node in graphfix.load(made).graphs[0].nodes] == ["DEQUANTIZE", "TRANSPOSE_CONV"]


def test_the_other_kernels_are_asked_where_the_first_are_not_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Onnxruntime's optimizations make one sum of two, and round it otherwise."""
    model = onnx_file(tmp_path, "g (float[2] x) => (float[2] y) {y = Neg(x)}")
    monkeypatch.setattr(tosa, "run", lambda _, given: tosa.Computed([-given[0] + 1], "valid"))
    said: list[str] = []
    found = agreement.agreement(
        DONE, model, model, tmp_path / "m.tosa", Request(progress=lambda text, *_: said.append(text))
    )
    assert (found.status, found.gaps[0].spread) == ("differs", 0.0)
    assert said[-1] == "asking the runtime's other kernels"
    monkeypatch.setattr(tosa, "run", lambda _, given: tosa.Computed([-given[0]], "valid"))
    assert agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request()).gaps[0].spread is None


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w:const:int8[3,4])", (0, "DEQUANTIZE 1")),
        ("y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w:const:uint8[3,4])", (0, "DEQUANTIZE 1")),
        ("y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w:const:int8[3,4], b:const[3])", (0, "DEQUANTIZE 1", 2)),
        ("y[2,3] = tflite.BATCH_MATMUL(x[2,4], w:const:int8[4,3], adj_x=False)", (0, "DEQUANTIZE 1")),
        ("y[2,3] = tflite.FULLY_CONNECTED(x:int8[2,4], w:const:int8[3,4])", None),
        ("y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w:int8[3,4])", None),
        ("y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w:const:int16[3,4])", None),
        ("y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w:const[3,4])", None),
        (" = tflite.FULLY_CONNECTED(x[2,4], w:const:int8[3,4])", None),
    ],
)
def test_constant_weights_of_bytes_that_meet_floats_are_dequantized(
    text: str, reads: tuple[int | str, ...] | None
) -> None:
    about = node(text) if not text.startswith(" ") else replace(node(f"y{text}"), results=(None,))
    edits = list(plain_weights.plan(about))
    if reads is None:
        assert edits == []
        return
    (edit,) = edits
    assert isinstance(edit, Replace)
    made = edit.node
    assert reads == tuple(f"{each.op} {each.operands[0]}" if isinstance(each, New) else each for each in made.operands)
    (weights,) = (each for each in made.operands if isinstance(each, New))
    w = about.operand(1)
    assert (weights.shape, weights.dtype, weights.version) == (w.shape, "float32", 2)
    assert (made.op, made.shape, made.dtype, made.version) == (about.op, Shape((2, 3)), "float32", about.version)
    assert dict(made.attributes) == about.attributes
