"""The sizes by which the proof reads a bound TFLite model are those that LiteRT gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.proof import prove
from tests.support.runtimes import litert_runs
from tests.support.tflite.written import G, Op, T, tflite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


FREE = T("x", [-1, -1, -1, 2])
KERNEL = T("k", data=np.ones((3, 3, 3, 2), np.float32))
BIAS = T("b", data=np.zeros(3, np.float32))
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
    "masked": ([1, 1, 1], [1, 1, 1], [1, 1, 1], {"beginMask": 1, "endMask": 7}),
    "shrunk": ([1, 0, 3], [2, 5, 4], [1, 1, 1], {"shrinkAxisMask": 5}),
    "few axes": ([1], [2], [1], {}),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_sizes_of_a_window_are_those_that_litert_gives(name: str, tmp_path: Path) -> None:
    op, padding, stride, dilation = WINDOWS[name]
    options = {"padding": getattr(schema.Padding, padding), "strideH": stride, "strideW": stride}
    if op == "CONV_2D":
        options |= {"dilationHFactor": dilation, "dilationWFactor": dilation}
        window, rest = Op(op, ["x", "k", "b"], ["y"], options), [KERNEL, BIAS]
    else:
        window, rest = Op(op, ["x"], ["y"], options | {"filterHeight": 3, "filterWidth": 2}), []
    for height, width in ((7, 9), (8, 6), (5, 5)):
        assert_sizes(FREE, rest, window, [1, height, width, 2], tmp_path)


@pytest.mark.parametrize("name", SLICES)
def test_the_sizes_of_a_slice_are_those_that_litert_gives(name: str, tmp_path: Path) -> None:
    begin, end, stride, options = SLICES[name]
    bounds = [T(n, dtype="int32", data=ints(*v)) for n, v in (("b", begin), ("e", end), ("s", stride))]
    cut = Op("STRIDED_SLICE", ["x", "b", "e", "s"], ["y"], options)
    assert_sizes(T("x", [-1, -1, -1]), bounds, cut, [3, 5, 7], tmp_path)


def test_the_sizes_of_what_is_packed_and_padded_are_those_that_litert_gives(tmp_path: Path) -> None:
    free = T("x", [-1, -1])
    assert_sizes(free, [], Op("PACK", ["x", "x", "x"], ["y"], {"valuesCount": 3, "axis": 1}), [2, 5], tmp_path)
    around = T("p", dtype="int32", data=np.array([[1, 0], [2, 3]], np.int32))
    assert_sizes(free, [around], Op("PAD", ["x", "p"], ["y"]), [2, 5], tmp_path)


def assert_sizes(free: T, rest: Sequence[T], op: Op, shape: Sequence[int], folder: Path) -> None:
    """The shape of the operator's result is proved to be what LiteRT gives, and nothing else."""
    zeros = np.zeros(shape, np.float32)
    plain = saved(folder / "plain.tflite", tflite(G([free, *rest, T("y")], [op], ["x"], ["y"])))
    (ran,) = litert_runs.run([litert_runs.Job(plain, "reference", {"x": zeros})])
    assert ran.fine, ran
    told = ran.outputs[0].shape
    shaped = G(
        [free, *rest, T("y", [-1] * len(told)), T("out", [len(told)], "int32")],
        [op, Op("SHAPE", ["y"], ["out"], {"outType": schema.TensorType.INT32})],
        ["x"],
        ["out"],
    )
    before = saved(folder / "before.tflite", tflite(shaped))
    for sizes, holds in ((told, True), ((*told[:-1], told[-1] + 1), False)):
        stated = G([free, T("out", dtype="int32", data=ints(*sizes))], [], ["x"], ["out"])
        after = saved(folder / "after.tflite", tflite(stated))
        assert prove(before, after, shapes={"x": shape}, tflite=True).proved == holds
