"""TFLite pairs that are spelled in two ways and compute the same: proved, and a changed twin is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from models.builders.tflite.text import model
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

TWO = "subgraph main(a:{0}[2,3], b:{0}[3]):\ny:{1}[2,3] = {2}({3})"
COMMUTATIVE = [
    *((op, kind, kind) for op in ("ADD", "MUL", "MAXIMUM", "MINIMUM") for kind in ("int32", "int64")),
    *((op, "bool", "bool") for op in ("LOGICAL_AND", "LOGICAL_OR")),
    *((op, kind, "bool") for op in ("EQUAL", "NOT_EQUAL") for kind in ("float32", "int32", "bool")),
]
ORDERED = [
    *((op, "int32", "int32") for op in ("SUB", "FLOOR_DIV", "FLOOR_MOD")),
    *((op, "int32", "bool") for op in ("LESS", "GREATER")),
    *((op, "float32", "float32") for op in ("MAXIMUM", "MINIMUM")),
]
COPIES = {
    "TRANSPOSE": ("TRANSPOSE(x, p:const:int32[3]{{{}}})", "0,1,2", "1,0,2", "2,1,0"),
    "CAST": ("CAST(x, in_data_type=FLOAT32, out_data_type={})", "FLOAT32", "FLOAT32", ""),
}
RESULTS = {"1,1,3": "1,1,3", ", x": "4,1,3", "1,0,2": "1,2,3", "2,1,0": "3,1,2"}
AXES = {
    "CONCATENATION": ("subgraph main(a[2,2], b[2,2]):\ny[{1}] = CONCATENATION(a, b, axis={0})", ("2,4", "4,2")),
    "GATHER": ("y[2,2] = GATHER(x[2,2], p:const:int32[2]{{1,0}}, axis={0})", ("", "")),
    "PACK": ("subgraph main(a[2], b[2]):\ny[2,2] = PACK(a, b, axis={0}, values_count=2)", ("", "")),
    "UNPACK": ("s[2], t[2] = UNPACK(x[2,2], axis={0}, num=2)\ny[2] = SUB(s, t)", ("", "")),
}


def proved(folder: Path, before: str, after: str) -> bool:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(model(text))
    return prove(*paths, tflite=True).proved


@pytest.mark.parametrize(("op", "dtype", "result"), COMMUTATIVE)
def test_operands_of_a_commutative_operator_are_exchanged(tmp_path: Path, op: str, dtype: str, result: str) -> None:
    one, two = (TWO.format(dtype, result, op, given) for given in ("a, b", "b, a"))
    assert proved(tmp_path, one, two)
    assert not proved(tmp_path, one, TWO.format(dtype, result, op, "a, a"))


@pytest.mark.parametrize(("op", "dtype", "result"), ORDERED)
def test_operands_of_others_are_not(tmp_path: Path, op: str, dtype: str, result: str) -> None:
    one, two = (TWO.format(dtype, result, op, given) for given in ("a, b", "b, a"))
    assert not proved(tmp_path, one, two)


@pytest.mark.parametrize("op", COPIES)
def test_a_copy_is_dropped(tmp_path: Path, op: str) -> None:
    text, *whole, other = COPIES[op]
    for given in whole:
        sizes = RESULTS.get(given, "2,1,3")
        written = text.format(given)
        before = f"subgraph main(x[2,1,3]):\ns[{sizes}] = {written}\ny[{sizes}] = ABS(s)"
        after = before.replace(written, f"RESHAPE(x, n:const:int32[3]{{{sizes}}})")
        assert proved(tmp_path, before, after)
    if other:
        sizes = RESULTS[other]
        before = f"subgraph main(x[2,1,3]):\ns[{sizes}] = {text.format(other)}\ny[{sizes}] = ABS(s)"
        assert not proved(tmp_path, before, "subgraph main(x[2,1,3]):\ny[2,1,3] = ABS(x)")


@pytest.mark.parametrize("op", AXES)
def test_a_negative_axis_is_counted_from_the_back(tmp_path: Path, op: str) -> None:
    text, (last, first) = AXES[op]
    assert proved(tmp_path, text.format(1, last), text.format(-1, last))
    assert proved(tmp_path, text.format(0, first), text.format(-2, first))
    assert not proved(tmp_path, text.format(1, last), text.format(-2, first))


NEUTRAL = {
    "a sum with zeros": ("ADD", "int32", "0,0,0", "", True),
    "zeros first": ("ADD", "int64", "0,0,0", "first", True),
    "a difference from zeros": ("SUB", "int32", "0,0,0", "", True),
    "zeros less something": ("SUB", "int32", "0,0,0", "first", False),
    "a product with ones": ("MUL", "int32", "1,1,1", "", True),
    "a sum with one that is not zero": ("ADD", "int32", "0,0,1", "", False),
    "a product with one that is not one": ("MUL", "int32", "1,1,2", "", False),
    "a sum with ones": ("ADD", "int32", "1,1,1", "", False),
    "a sum with zeros and an activation": ("ADD", "int32", "0,0,0", "relu", False),
    "a sum of floats with zeros": ("ADD", "float32", "0.0,0.0,0.0", "", False),
    "a product of floats with ones": ("MUL", "float32", "1.0,1.0,1.0", "", False),
    "a product of 8 bits with ones": ("MUL", "int8", "1,1,1", "", False),
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_whole_numbers_beside_neutral_ones_are_themselves(tmp_path: Path, name: str) -> None:
    op, kind, elements, how, expected = NEUTRAL[name]
    constant = f"k:const:{kind}[3]{{{elements}}}"
    pair = f"{constant}, x" if how == "first" else f"x, {constant}"
    options = ", fused_activation_function=RELU" if how == "relu" else ""
    head = f"subgraph main(x:{kind}[2,3]):\n"
    before = f"{head}s:{kind}[2,3] = {op}({pair}{options})\ny:{kind}[2,3] = ABS(s)"
    assert proved(tmp_path, before, f"{head}y:{kind}[2,3] = ABS(x)") is expected


EMPTY = {
    "of no rows": ("e:const[0,3]", "0", True),
    "of one row": ("e:const[1,3]{1.0,2.0,3.0}", "1", False),
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_operand_without_elements_joins_nothing(tmp_path: Path, name: str) -> None:
    operand, more, expected = EMPTY[name]
    head, rows = "subgraph main(a[2,3], b[2,3]):\n", 4 + int(more)
    before = f"{head}s[{rows},3] = CONCATENATION(a, {operand}, b, axis=0)\ny[{rows},3] = ABS(s)"
    assert proved(tmp_path, before, before)
    assert proved(tmp_path, before, f"{head}s[4,3] = CONCATENATION(a, b, axis=0)\ny[4,3] = ABS(s)") is expected
