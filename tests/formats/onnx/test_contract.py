"""Nodes of constants that their operator's specification does not allow: nothing is computed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper

import graphfix
from graphfix.formats.onnx.constants.contract import allowed
from tests.support.notation import model

I = np.int64  # noqa: E741 -- the type of nearly every operand here


def node(op: str, results: int = 1, **attributes: object) -> NodeProto:
    return helper.make_node(op, [], [f"y{at}" for at in range(results)], **attributes)


def vector(*elements: int) -> np.ndarray:
    return np.asarray(elements, I)


DATA, SCALAR = vector(1, 2, 3, 4), np.asarray(2, I)
REFUSED = {
    "Slice with two types of bounds": (node("Slice"), 18, [DATA, vector(0), np.asarray([1], np.int32)]),
    "Slice along one axis twice": (node("Slice"), 18, [DATA, vector(0, 0), vector(1, 1), vector(0, -1)]),
    "Slice of other lengths": (node("Slice"), 18, [DATA, vector(0), vector(1, 2)]),
    "Slice backwards from before the front": (node("Slice"), 18, [DATA, vector(-9), vector(-9), vector(0), vector(-1)]),
    "Transpose by negative axes": (node("Transpose", perm=[-1, 0]), 18, [DATA.reshape(2, 2)]),
    "Reshape by -2": (node("Reshape"), 18, [DATA, vector(-2, 2)]),
    "Flatten from before the first axis": (node("Flatten", axis=-3), 18, [DATA.reshape(2, 2)]),
    "Flatten from a negative axis of old": (node("Flatten", axis=-1), 9, [DATA.reshape(2, 2)]),
    "Reshape by a 0 that is a size, and by -1": (node("Reshape", allowzero=1), 18, [DATA[:0], vector(-1, 0)]),
    "Reshape by two -1": (node("Reshape"), 18, [DATA, vector(-1, -1)]),
    "Reshape by a matrix": (node("Reshape"), 18, [DATA, vector(2, 2).reshape(1, 2)]),
    "Range of vectors": (node("Range"), 18, [vector(0), vector(4), vector(1)]),
    "Range of two types": (node("Range"), 18, [SCALAR, SCALAR, np.asarray(1, np.int32)]),
    "Split by both": (node("Split", 2, num_outputs=2), 18, [DATA, vector(2, 2)]),
    "Split by neither": (node("Split", 2), 18, [DATA]),
    "Split of other parts": (node("Split", 2), 18, [DATA, vector(2, 3)]),
    "ReduceSum along a scalar": (node("ReduceSum"), 18, [DATA, np.asarray(0, I)]),
    "ReduceSum along a matrix": (node("ReduceSum"), 18, [DATA, vector(0).reshape(1, 1)]),
    "ReduceMax of nothing": (node("ReduceMax"), 18, [vector()]),
    "an attribute that the version does not have": (node("Split", 2, num_outputs=2), 13, [DATA]),
    "an attribute of another type": (node("Concat", axis=0.0), 18, [DATA]),
    "an operand too many": (node("Neg"), 18, [DATA, DATA]),
    "a result too many": (node("Neg", 2), 18, [DATA]),
    "an operand that is not there": (node("Add"), 18, [DATA, None]),
    "a type that the version does not take": (node("Sign"), 18, [DATA.astype(np.bool_)]),
    "a negative axis of old": (node("Concat", axis=-1), 9, [DATA]),
    "CumSum along a vector": (node("CumSum"), 18, [DATA, vector(0)]),
    "Gather of what is not there": (node("Gather"), 18, [DATA, vector(4)]),
    "NonZero of a scalar": (node("NonZero"), 18, [SCALAR]),
    "Tile by too many": (node("Tile"), 18, [DATA, vector(1, 2)]),
    "Expand by less than 0": (node("Expand"), 18, [DATA, vector(-1)]),
    "an operator that is no more": (node("Upsample"), 18, [DATA]),
    "an operator that is not yet": (node("Range"), 10, [SCALAR, SCALAR, SCALAR]),
}


@pytest.mark.parametrize(("message", "version", "arrays"), REFUSED.values(), ids=REFUSED)
def test_what_the_specification_does_not_allow_is_not_computed(
    message: NodeProto, version: int, arrays: list[np.ndarray | None]
) -> None:
    assert not allowed(message, version, arrays)


ALLOWED = {
    "Slice": (node("Slice"), 18, [DATA, vector(0), vector(9), vector(-1), vector(2)]),
    "Reshape": (node("Reshape"), 18, [DATA, vector(2, -1)]),
    "Split": (node("Split", 2), 18, [DATA, vector(1, 3)]),
    "Squeeze without axes": (node("Squeeze"), 18, [DATA.reshape(1, 4)]),
    "ReduceSum of all": (node("ReduceSum"), 18, [DATA]),
    "a negative axis": (node("Concat", axis=-1), 11, [DATA, DATA]),
    "Flatten from the first axis": (node("Flatten", axis=-2), 18, [DATA.reshape(2, 2)]),
    "Flatten behind the last axis": (node("Flatten", axis=2), 18, [DATA.reshape(2, 2)]),
    "Reshape of no elements by a 0 that is a size": (node("Reshape", allowzero=1), 18, [DATA[:0], vector(2, 0)]),
}


@pytest.mark.parametrize(("message", "version", "arrays"), ALLOWED.values(), ids=ALLOWED)
def test_what_the_specification_allows_is_computed(
    message: NodeProto, version: int, arrays: list[np.ndarray | None]
) -> None:
    assert allowed(message, version, arrays)


def test_a_value_in_another_file_is_neither_read_nor_a_traceback(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of that name in the current folder is another one."""
    monkeypatch.chdir(str(tmp_path))
    with open("w.bin", "wb") as file:  # noqa: PTH123 -- a name as the file has it
        file.write(np.float32([7]).tobytes())
    value = TensorProto(data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    value.external_data.add(key="location", value="w.bin")
    proto = model("c[*] = ConstantOfShape(s:const{3})\ny[*] = Add(x[2,3], c)")
    proto.graph.node[0].attribute.add(name="value", type=5).t.CopyFrom(value)
    assert not allowed(proto.graph.node[0], 18, [vector(3)])
    with pytest.raises(graphfix.GraphfixError):
        graphfix.load(proto)
