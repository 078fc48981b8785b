"""Matrix products that sum over a size of 0: onnxruntime returns the batch of the first operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.parser
import pytest

from graphfix.checker.proof.core.result import SOME_TERMS
from graphfix.runtimes.process import Child
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

PRODUCTS = {
    "MatMul": ("float", "float", "MatMul ({x}, w)"),
    "MatMulInteger": ("uint8", "int32", "MatMulInteger ({x}, w)"),
    "QLinearMatMul": ("uint8", "uint8", "QLinearMatMul ({x}, s, z, w, s, z, s, z)"),
    "FusedMatMul": ("float", "float", "com.microsoft.FusedMatMul ({x}, w)"),
    "transposed": ("float", "float", "com.microsoft.FusedMatMul <transB = 1> ({x}, w)"),
}


def files(folder: Path, name: str, summed: str, batch: str = "2") -> tuple[Path, Path]:
    """Write a file whose product reads x[3,K], and one whose product reads x as [1,3,K]."""
    of, result, node = PRODUCTS[name]
    right = f"{batch},5,{summed}" if name == "transposed" else f"{batch},{summed},5"
    before, after = folder / "before.onnx", folder / "after.onnx"
    for path, read in ((before, "x"), (after, "l")):
        graph = f"g ({of}[3,{summed}] x, {of}[{right}] w) => ({result}[?,?,?] y, {of}[?,?,?] l)"
        fixed = "<int64[1] axes = {0}, float s = {1.0}, uint8 z = {0}>"
        made = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> {graph} {fixed}'
            f"{{ l = Unsqueeze (x, axes) y = {node.format(x=read)} }}"
        )
        onnx.save(made, path)
    return before, after


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_lift_is_proved_where_the_sum_has_terms(name: str, tmp_path: Path) -> None:
    proof = prove(*files(tmp_path, name, "K"))
    assert proof.proved
    assert SOME_TERMS in proof.assumes
    assert prove(*files(tmp_path, name, "4")).assumes == ()


@pytest.mark.parametrize("name", PRODUCTS)
def test_it_is_not_proved_where_the_sum_has_none(name: str, tmp_path: Path) -> None:
    assert prove(*files(tmp_path, name, "0")).status == "not proved"


@pytest.mark.parametrize("name", PRODUCTS)
def test_nothing_is_assumed_where_the_batches_are_the_same(name: str, tmp_path: Path) -> None:
    for summed in ("K", "0"):
        proof = prove(*files(tmp_path, name, summed, batch="1"))
        assert proof.proved
        assert SOME_TERMS not in proof.assumes


@pytest.mark.parametrize("name", [name for name in PRODUCTS if name != "transposed"])
def test_the_batch_of_the_lifted_operand_is_what_onnxruntime_returns(name: str, tmp_path: Path) -> None:
    element = np.float32 if PRODUCTS[name][0] == "float" else np.uint8
    feeds = {"x": np.zeros((3, 0), element), "w": np.zeros((2, 0, 5), element)}
    with Child() as child:
        shapes = [child.load(path).run(feeds)[0].shape for path in files(tmp_path, name, "K")]
    assert shapes == [(2, 3, 5), (1, 3, 5)]


def test_a_size_that_is_read_of_such_a_product_is_not_that_of_both_batches(tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for summed, expected in ((0, "not proved"), (4, "proved")):
        header = f'<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,{summed}] x, float[2,{summed},5] w)'
        product = f"{header} => (int64[3] y) {{ m = MatMul (x, w) y = Shape (m) }}"
        number = f"{header} => (int64[3] y) {{ y = Constant <value_ints = [2, 3, 5]> () }}"
        for path, text in ((before, product), (after, number)):
            onnx.save(onnx.parser.parse_model(text), path)
        assert prove(before, after).status == expected
