"""Pairs that LiteRT computes by different kernels: each is run and differs, none is proved, and an equal twin is."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from models.builders.tflite.text import Quantized, model
from tests.support.proving import prove
from tests.support.runtimes.litert_groups import KERNELS, Job, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.runtimes.litert_groups import Ran

SCALES = {name: Quantized(0.5, 0) for name in "xcruyad"}
UNITS = list(
    product(
        ("ADD", "SUB", "MUL"),
        ("int8", "uint8"),
        ("RELU", "RELU6", "RELU_N1_TO_1"),
        (((2, 3), 3), ((2, 1), 4)),
        (False, True),
    )
)
SLOPES = [
    ((1, 4), (1,)),
    ((2, 3), (3,)),
    ((2, 3), (1, 3)),
    ((2, 3), (2, 1)),
    ((2, 2, 3), (1, 3)),
    ((2, 2, 3), (1, 1, 1)),
]
STRETCHES = [
    ((4,), (1,)),
    ((2, 3), (1,)),
    ((2, 3), (2, 1)),
    ((2, 3), (1, 1)),
    ((2, 3), ()),
    ((4, 1), (1, 1)),
    ((2, 1, 5), (2, 1, 1)),
]
SELECTIONS = [(op, shapes, swap) for op in ("MAXIMUM", "MINIMUM") for shapes in STRETCHES for swap in (False, True)]


def listed(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape))


def proved(folder: Path, files: Sequence[bytes]) -> bool:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, file in zip(paths, files, strict=True):
        path.write_bytes(file)
    return prove(*paths, tflite=True).proved


def ran(files: Sequence[bytes], *feeds: np.ndarray) -> list[list[Ran]]:
    found = run([[Job(file, kernels, feeds) for kernels in KERNELS] for file in files])
    assert all(each.fine for group in found for each in group)
    return found


def differs(files: Sequence[bytes], *feeds: np.ndarray) -> bool:
    before, after = ran(files, *feeds)
    return not all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for one, two in zip(before, after, strict=True)
        for a, b in zip(one.outputs, two.outputs, strict=True)
    )


def with_unit_constant(
    op: str, dtype: str, activation: str, sizes: tuple[int, ...], rank: int, *, swap: bool
) -> tuple[bytes, bytes]:
    """The result has its rank from both operands, then from the constant of one element alone."""
    whole = (*(1,) * (rank - len(sizes)), *sizes)
    constant = f"c:const:{dtype}[{listed((1,) * rank)}]{{3}}"
    texts = []
    for operand in ("x", "r"):
        given = (constant, operand) if swap else (operand, constant)
        texts.append(f"y:{dtype}[{listed(whole)}] = {op}({', '.join(given)}, fused_activation_function={activation})")
    begin = f"subgraph main(x:{dtype}[{listed(whole)}]):\n"
    lowered = f"r:{dtype}[{listed(sizes)}] = RESHAPE(x, s:const:int32[{len(sizes)}]{{{listed(sizes)}}})\n"
    return model(f"{begin}{texts[0]}", quantization=SCALES), model(f"{begin}{lowered}{texts[1]}", quantization=SCALES)


@pytest.mark.alike(2)
@pytest.mark.parametrize(("op", "dtype", "activation", "shapes", "swap"), UNITS, ids=str)
def test_a_rank_that_only_a_constant_of_one_element_has_is_a_term(
    tmp_path: Path, op: str, dtype: str, activation: str, shapes: tuple[tuple[int, ...], int], swap: bool
) -> None:
    files = with_unit_constant(op, dtype, activation, *shapes, swap=swap)
    assert not proved(tmp_path, files)
    assert not proved(tmp_path, files[::-1])
    assert proved(tmp_path, with_unit_constant(op, "float32", activation, *shapes, swap=swap))


@pytest.mark.ci
def test_litert_drops_such_a_rank() -> None:
    for op, dtype, activation, (sizes, rank), swap in UNITS:
        files = with_unit_constant(op, dtype, activation, sizes, rank, swap=swap)
        whole = (1,) * (rank - len(sizes)) + sizes
        before, after = ran(files, np.ones(whole, dtype))
        assert [each.outputs[0].shape for each in before] == [whole] * 3
        assert [each.outputs[0].shape for each in after] == [whole, whole, sizes]


@pytest.mark.parametrize("shapes", [shapes for shapes, _ in [each[3] for each in UNITS[:4]]], ids=str)
@pytest.mark.parametrize("target", ["explicit", "ranks", "compact"])
def test_the_rewriter_leaves_such_a_node(tmp_path: Path, shapes: tuple[int, ...], target: str) -> None:
    path = tmp_path / "m.tflite"
    _, file = with_unit_constant("ADD", "int8", "RELU", shapes, 4, swap=False)
    path.write_bytes(file)
    loaded = graphfix.load(path)
    outcome = graphfix.fix(loaded, target=target)
    assert not [site for site in outcome.sites if site.op == "ADD" and site.status == "changed"]


def stretched(
    op: str, dtype: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], *, swap: bool = False
) -> tuple[bytes, bytes]:
    """The second operand is implicitly stretched, then by a BROADCAST_TO."""
    whole, sizes = shapes
    begin = f"subgraph main(x:{dtype}[{listed(whole)}], a:{dtype}[{listed(sizes)}]):\n"
    stretch = f"d:{dtype}[{listed(whole)}] = BROADCAST_TO(a, t:const:int32[{len(whole)}]{{{listed(whole)}}})\n"
    scales = None if dtype == "float32" else SCALES
    files = []
    for lines, operand in (("", "a"), (stretch, "d")):
        given = f"{operand}, x" if swap else f"x, {operand}"
        files.append(model(f"{begin}{lines}y:{dtype}[{listed(whole)}] = {op}({given})", quantization=scales))
    return files[0], files[1]


@pytest.mark.alike(3)
@pytest.mark.parametrize("shapes", SLOPES, ids=str)
@pytest.mark.parametrize(("slope", "number"), [(24275, -2365), (-3, -100), (30000, -7), (5, -32768)])
def test_prelu_of_int16_goes_by_equal_shapes(
    tmp_path: Path, shapes: tuple[tuple[int, ...], tuple[int, ...]], slope: int, number: int
) -> None:
    files = stretched("PRELU", "int16", shapes)
    assert not proved(tmp_path, files)
    assert not proved(tmp_path, files[::-1])
    assert differs(files, np.full(shapes[0], number, np.int16), np.full(shapes[1], slope, np.int16))
    assert proved(tmp_path, stretched("PRELU", "int8", shapes))


@pytest.mark.parametrize(("op", "shapes", "swap"), SELECTIONS, ids=str)
def test_selecting_floats_goes_by_the_innermost_axis(
    tmp_path: Path, op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]], swap: bool
) -> None:
    files = stretched(op, "float32", shapes, swap=swap)
    assert not proved(tmp_path, files)
    assert not proved(tmp_path, files[::-1])
    assert proved(tmp_path, stretched(op, "int32", shapes, swap=swap))


@pytest.mark.ci
def test_xnnpack_selects_a_number_or_a_nan() -> None:
    for op, shapes, swap in SELECTIONS:
        nan, one = np.full(shapes[0], np.nan, np.float32), np.ones(shapes[1], np.float32)
        files = stretched(op, "float32", shapes, swap=swap)
        given = differs(files, nan, one), differs(files, np.ones_like(nan), one * np.float32(np.nan))
        assert any(given) == swap, (op, shapes)


@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize(
    "shapes", [((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 2, 3), (2, 3)), ((2, 2, 3), (2, 1, 3))], ids=str
)
def test_a_stretch_along_outer_axes_is_proved(
    tmp_path: Path, op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    for swap in (False, True):
        files = stretched(op, "float32", shapes, swap=swap)
        assert proved(tmp_path, files)
        nan = np.full(shapes[0], np.nan, np.float32)
        assert not differs(files, nan, np.ones(shapes[1], np.float32))


SLOPE_SHAPES = [(2,), (1, 2), (2, 2), (3, 1, 2), (1, 3, 2, 2)]


def with_slope(shape: tuple[int, ...], *, moved: bool) -> bytes:
    """PRELU with a constant slope, read as it is or through a RESHAPE that changes nothing."""
    sizes, numbers = listed(shape), listed([-1.5] * int(np.prod(shape)))
    slope = f"k:const[{sizes}]{{{numbers}}}"
    target = f"s:const:int32[{len(shape)}]{{{sizes}}}"
    lines = [f"r[{sizes}] = RESHAPE({slope}, {target})"] if moved else []
    return model("\n".join([*lines, f"y[1,3,2,2] = PRELU(x[1,3,2,2], {'r' if moved else slope})"]))


@pytest.mark.parametrize("shape", SLOPE_SHAPES, ids=str)
def test_a_slope_that_is_no_constant_of_the_file_is_a_term(tmp_path: Path, shape: tuple[int, ...]) -> None:
    files = [with_slope(shape, moved=moved) for moved in (False, True)]
    before, after = ran(files, np.full((1, 3, 2, 2), -0.0, np.float32))
    signs = [[np.signbit(each.outputs[0]).all() for each in group] for group in (before, after)]
    del signs[0][2]  # XNNPACK's sign of zero for a constant slope depends on the processor
    assert signs == [[True, True], [True, True, True]]
    assert not proved(tmp_path, files)
    assert not proved(tmp_path, files[::-1])
    assert proved(tmp_path, [files[1], files[1]])
