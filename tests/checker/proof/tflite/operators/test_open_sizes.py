"""A RESHAPE to a size of -1: what follows, and what is assumed; and constants without elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.proof.core.result import NO_SIZE_BESIDE_IS_0
from models.builders.tflite.text import model as tflite
from tests.support.faults.tflite.planted import packed, unpacked
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.proof import Proof

STORED = "r[{}] = RESHAPE({}, s:const:int32[2]{{{}}})\ny[{}] = NEG(r)"
COMPUTED = """a:int32[2] = SHAPE(p[{},3], out_type=INT32)
n:int32[1] = SLICE(a, b:const:int32[1]{{0}}, c:const:int32[1]{{1}})
t:int32[2] = CONCATENATION(n, m:const:int32[1]{{-1}}, axis=0)
r[?,?] = RESHAPE({}, t)
y[?,?] = NEG(r)"""
CASES = {
    "numbers": (STORED.format("3,4", "x[2,6]", "3,-1", "3,4"), False),
    "a free size": (STORED.format("3,?", "x[N,6]", "3,-1", "3,?"), True),
    "a free size, the first open": (STORED.format("?,3", "x[N,6]", "-1,3", "?,3"), True),
    "two free sizes": (STORED.format("2,?", "x[N,M]", "2,-1", "2,?"), True),
    "the free size itself": (STORED.format("?,6", "x[N,6]", "-1,6", "?,6"), False),
    "numbers by a number that is computed": (COMPUTED.format("2", "x[2,6]"), False),
    "numbers by a free size, which divides them or not": (COMPUTED.format("N", "x[2,6]"), False),
    "nothing by a free size": (COMPUTED.format("N", "x[0,6]"), True),
    "a free size by itself": (COMPUTED.format("N", "p"), True),
}


def asked(folder: Path, before: str, after: str) -> Proof:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(tflite(text))
    return prove(*paths, tflite=True)


@pytest.mark.parametrize(("text", "assumed"), CASES.values(), ids=CASES)
def test_that_no_size_beside_is_0_is_assumed_where_one_may_be(text: str, assumed: bool, tmp_path: Path) -> None:
    proof = asked(tmp_path, text, text.replace("r[", "q[").replace("(r)", "(q)"))
    assert (proof.status, NO_SIZE_BESIDE_IS_0 in proof.assumes) == ("proved", assumed)


EMPTY = "r[0,3] = MUL(e:const[0,3], x[1,3])\nn:int32[2] = SHAPE(e, out_type=INT32)\ny[0,3] = NEG(r)"


def without_buffer(path: Path) -> None:
    """Let the constant have no buffer, as converters write one of no elements."""
    model = unpacked(path.read_bytes())
    (tensor,) = (each for each in model.subgraphs[0].tensors if each.name == b"e")
    tensor.buffer = 0
    path.write_bytes(packed(model))


@pytest.mark.parametrize("empty", [True, False], ids=["no buffer", "an empty buffer"])
@pytest.mark.parametrize(
    ("change", "proved"),
    [(("r", "r"), True), (("const[0,3]", "const[0,1]"), False), (("const[0,3]", "const:int32[0,3]"), False)],
    ids=["the same", "another shape", "another type"],
)
def test_a_constant_without_elements_has_a_type_and_a_shape(
    change: tuple[str, str], proved: bool, empty: bool, tmp_path: Path
) -> None:
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    after = EMPTY.replace("r[", "q[").replace("(r)", "(q)").replace(*change)
    for path, text in zip(paths, (EMPTY, after), strict=True):
        path.write_bytes(tflite(text, outputs=["y", "n"]))
        if empty:
            without_buffer(path)
    assert prove(*paths, tflite=True).proved is proved


@pytest.mark.parametrize("sizes", ["1,3", ""])
def test_a_tensor_that_nothing_makes_is_no_constant_without_elements(sizes: str, tmp_path: Path) -> None:
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path in paths:
        path.write_bytes(tflite(f"{path.stem}[1,3] = MUL(e:const[{sizes}], x[1,3])\ny[1,3] = NEG({path.stem})"))
        without_buffer(path)
    reason = prove(*paths, tflite=True).reason
    assert reason == "the tensor 'e' is read before any operator produces it; check the model"
