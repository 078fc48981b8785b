"""The sizes by which the proof reads a bound TFLite model are those that LiteRT gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from models.builders.grammar import constant
from models.builders.tflite.text import model as tflite
from tests.support.proving import prove
from tests.support.runtimes import litert_runs
from tests.support.tiers import tiered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


WINDOWS = {
    f"{op} {padding} by {stride}, {dilation} apart": (op, padding, stride, dilation)
    for op in ("CONV_2D", "AVERAGE_POOL_2D")
    for padding in ("SAME", "VALID")
    for stride, dilation in ((1, 1), (2, 1), (3, 1), (1, 2))
    if op == "CONV_2D" or dilation == 1
}
SLICES = {
    "plain": ([0, 1, 2], [2, 5, 7], [1, 2, 3], {}),
    "from the end": ([-2, -4, 1], [-1, -1, 100], [1, 1, 1], {}),
    "back": ([1, 4, 6], [-9, 0, -99], [-1, -2, -1], {}),
    "masked": ([1, 1, 1], [1, 1, 1], [1, 1, 1], {"begin_mask": 1, "end_mask": 7}),
    "shrunk": ([1, 0, 3], [2, 5, 4], [1, 1, 1], {"shrink_axis_mask": 5}),
    "few axes": ([1], [2], [1], {}),
}


@pytest.mark.parametrize("name", tiered(WINDOWS, lambda name: name == "CONV_2D SAME by 2, 1 apart"))
def test_the_sizes_of_a_window_are_those_that_litert_gives(name: str, tmp_path: Path) -> None:
    op, padding, stride, dilation = WINDOWS[name]
    options = f"padding={padding}, stride_h={stride}, stride_w={stride}"
    if op == "CONV_2D":
        rest = f"k:const[3,3,3,2], b:const[3], dilation_h_factor={dilation}, dilation_w_factor={dilation}"
    else:
        rest = "filter_height=3, filter_width=2"
    for height, width in ((7, 9), (8, 6), (5, 5)):
        assert_sizes("x[N,H,W,2]", f"{op}(x, {rest}, {options})", [1, height, width, 2], tmp_path)


@pytest.mark.parametrize("name", tiered(SLICES, lambda name: name == "masked"))
def test_the_sizes_of_a_slice_are_those_that_litert_gives(name: str, tmp_path: Path) -> None:
    begin, end, stride, options = SLICES[name]
    bounds = [constant(name, np.int32(each)) for name, each in (("b", begin), ("e", end), ("s", stride))]
    masks = [f"{name}={mask}" for name, mask in options.items()]
    cut = f"STRIDED_SLICE({', '.join(['x', *bounds, *masks])})"
    assert_sizes("x[N,M,K]", cut, [3, 5, 7], tmp_path)


def test_the_sizes_of_what_is_packed_and_padded_are_those_that_litert_gives(tmp_path: Path) -> None:
    assert_sizes("x[N,M]", "PACK(x, x, x, values_count=3, axis=1)", [2, 5], tmp_path)
    assert_sizes("x[N,M]", "PAD(x, p:const:int32[2,2]{1,0,2,3})", [2, 5], tmp_path)


def assert_sizes(free: str, operator: str, shape: Sequence[int], folder: Path) -> None:
    """The shape of the operator's result is proved to be what LiteRT gives, and nothing else."""
    zeros = np.zeros(shape, np.float32)
    plain = saved(folder / "plain.tflite", tflite(f"subgraph main({free}):\ny[] = {operator}"))
    (ran,) = litert_runs.run([litert_runs.Job(plain, "reference", {"x": zeros})])
    assert ran.fine, ran
    real = ran.outputs[0].shape
    shaped = f"""subgraph main({free}):
    y[{",".join("?" * len(real))}] = {operator}
    out:int32[{len(real)}] = SHAPE(y, out_type=INT32)
    """
    before = saved(folder / "before.tflite", tflite(shaped))
    for sizes, holds in ((real, True), ((*real[:-1], real[-1] + 1), False)):
        declared = f"subgraph main({free}) -> out:\n{constant('out', np.int32(sizes))}"
        after = saved(folder / "after.tflite", tflite(declared))
        assert prove(before, after, shapes={"x": shape}, tflite=True).proved == holds
