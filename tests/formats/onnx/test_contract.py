"""Nodes of constants that their operator's specification does not allow: nothing is computed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import AttributeProto, NodeProto, TensorProto, helper

import graphfix
from graphfix.formats.onnx.constants.contract import allowed
from tests.support.notation import model

I = np.int64  # noqa: E741 -- the type of nearly every operand here


def node(op: str, results: int = 1, **attributes: object) -> NodeProto:
    return helper.make_node(op, [], [f"y{at}" for at in range(results)], **attributes)


def vector(*elements: int) -> np.ndarray:
    return np.asarray(elements, I)


def filled(*elements: int) -> TensorProto:
    return helper.make_tensor("", TensorProto.INT64, [len(elements)], elements)


def referring() -> NodeProto:
    """A node of a function: its `axis` is the attribute `a` of the call."""
    made = node("Flatten")
    made.attribute.add(name="axis", type=AttributeProto.INT, ref_attr_name="a")
    return made


def twice() -> NodeProto:
    made = node("Flatten", axis=0)
    made.attribute.append(made.attribute[0])
    return made


DATA, SCALAR = vector(1, 2, 3, 4), np.asarray(2, I)
MATRIX, FLOATS = DATA.reshape(2, 2), DATA.astype(np.float32)
SPARSE = helper.make_sparse_tensor(filled(5), filled(0), [4])
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
    "Slice by steps of 0": (node("Slice"), 18, [DATA, vector(0), vector(2), vector(0), vector(0)]),
    "Slice of an axis that is not there": (node("Slice"), 18, [DATA, vector(0), vector(2), vector(1)]),
    "Slice along a matrix of axes": (node("Slice"), 18, [DATA, vector(0), vector(2), vector(0).reshape(1, 1)]),
    "Slice from a scalar": (node("Slice"), 18, [DATA, np.asarray(0, I), vector(2)]),
    "Slice to a scalar": (node("Slice"), 18, [DATA, vector(0), np.asarray(2, I)]),
    "Slice by a scalar": (node("Slice"), 18, [DATA, vector(0), vector(2), vector(0), np.asarray(1, I)]),
    "Slice by too few steps": (node("Slice"), 18, [MATRIX, vector(0, 0), vector(2, 2), vector(0, 1), vector(1)]),
    "Slice along too few axes": (node("Slice"), 18, [MATRIX, vector(0, 0), vector(2, 2), vector(0)]),
    "Slice backwards from just before the front": (
        node("Slice"),
        18,
        [DATA, vector(-5), vector(-9), vector(0), vector(-1)],
    ),
    "Slice backwards to behind the end": (node("Slice"), 18, [DATA, vector(3), vector(5), vector(0), vector(-1)]),
    "Transpose of one axis twice": (node("Transpose", perm=[0, 0]), 18, [MATRIX]),
    "Transpose of too few axes": (node("Transpose", perm=[0]), 18, [MATRIX]),
    "Reshape that copies an axis that is not there": (node("Reshape"), 18, [DATA, vector(4, 0)]),
    "Reshape to what is left of a copied 0": (node("Reshape"), 18, [DATA[:0], vector(0, -1)]),
    "Flatten behind the last axis but one more": (node("Flatten", axis=3), 18, [MATRIX]),
    "Squeeze of an axis of 4 beside a unit axis": (node("Squeeze"), 18, [DATA.reshape(1, 4), vector(0, 1)]),
    "Flatten of a scalar": (node("Flatten"), 18, [SCALAR]),
    "Expand of one element by less than 0": (node("Expand"), 18, [DATA[:1], vector(-1)]),
    "Squeeze of an axis of 2": (node("Squeeze"), 18, [MATRIX, vector(0)]),
    "Squeeze of an axis that is not there": (node("Squeeze"), 18, [DATA.reshape(1, 4), vector(2)]),
    "Squeeze of one axis twice": (node("Squeeze"), 18, [DATA.reshape(1, 4), vector(0, -2)]),
    "Squeeze along a matrix": (node("Squeeze"), 18, [DATA.reshape(1, 4), vector(0).reshape(1, 1)]),
    "Squeeze of an axis of 4, of old": (node("Squeeze", axes=[1]), 11, [DATA.reshape(1, 4)]),
    "Unsqueeze behind the end": (node("Unsqueeze"), 18, [DATA, vector(2)]),
    "Unsqueeze in one place twice": (node("Unsqueeze"), 18, [DATA, vector(0, -3)]),
    "Unsqueeze by a scalar": (node("Unsqueeze"), 18, [DATA, np.asarray(0, I)]),
    "Unsqueeze from the end, of old": (node("Unsqueeze", axes=[-1]), 9, [DATA.astype(np.float32)]),
    "Range of a vector among scalars": (node("Range"), 18, [SCALAR, vector(4), SCALAR]),
    "Split of too few parts": (node("Split", 2), 18, [DATA, vector(4)]),
    "Split of a part below 0": (node("Split", 2), 18, [DATA, vector(-1, 5)]),
    "Split along a matrix": (node("Split", 2), 18, [DATA, vector(1, 3).reshape(1, 2)]),
    "Split along an axis that is not there": (node("Split", 2, axis=1), 18, [DATA, vector(1, 3)]),
    "Split into another number": (node("Split", 2, num_outputs=4), 18, [DATA]),
    "Split into parts that are not alike": (node("Split", 3, num_outputs=3), 18, [DATA]),
    "Split into parts that are not alike, of old": (node("Split", 3), 13, [DATA]),
    "Split of other parts, of old": (node("Split", 2, split=[2, 3]), 11, [DATA]),
    "ReduceSum of an axis that is not there": (node("ReduceSum"), 18, [DATA, vector(1)]),
    "ReduceSum of one axis twice": (node("ReduceSum"), 18, [DATA, vector(0, -1)]),
    "ReduceMax of an axis that is not there, of old": (node("ReduceMax", axes=[1]), 13, [DATA]),
    "CumSum of an axis that is not there": (node("CumSum"), 18, [DATA, np.asarray(1, I)]),
    "Concat of two ranks": (node("Concat", axis=0), 18, [DATA, MATRIX]),
    "Concat of other sizes beside the axis": (node("Concat", axis=0), 18, [MATRIX, MATRIX[:, :1]]),
    "Concat along an axis that is not there": (node("Concat", axis=1), 18, [DATA, DATA]),
    "Concat without its axis": (node("Concat"), 18, [DATA, DATA]),
    "Concat of two types": (node("Concat", axis=0), 18, [DATA, DATA, DATA.astype(np.int32)]),
    "Gather along an axis that is not there": (node("Gather", axis=1), 18, [DATA, vector(0)]),
    "Gather along an axis before the first": (node("Gather", axis=-2), 18, [DATA, vector(0)]),
    "Gather from before the front": (node("Gather"), 18, [DATA, vector(0, -5)]),
    "Gather from the end, of old": (node("Gather"), 9, [DATA, vector(-1)]),
    "Gather along an axis from the end, of old": (node("Gather", axis=-1), 9, [DATA, vector(0)]),
    "Tile by less than 0": (node("Tile"), 18, [DATA, vector(-1)]),
    "Tile by a scalar": (node("Tile"), 18, [DATA, np.asarray(2, I)]),
    "Expand to another size": (node("Expand"), 18, [DATA, vector(3)]),
    "Expand by a scalar": (node("Expand"), 18, [DATA, np.asarray(4, I)]),
    "ConstantOfShape of less than 0": (node("ConstantOfShape"), 18, [vector(2, -1)]),
    "ConstantOfShape of a matrix": (node("ConstantOfShape"), 18, [vector(2, 1).reshape(1, 2)]),
    "ConstantOfShape of two elements": (node("ConstantOfShape", value=filled(1, 2)), 18, [vector(2)]),
    "ConstantOfShape of no element": (node("ConstantOfShape", value=filled()), 18, [vector(2)]),
    "Max of two shapes, before it broadcasts": (node("Max"), 7, [FLOATS, FLOATS[:1]]),
    "a sparse constant": (node("Constant", sparse_value=SPARSE), 18, []),
    "an attribute of the function around": (referring(), 18, [MATRIX]),
    "an attribute twice": (twice(), 18, [MATRIX]),
    "too few operands": (node("Add"), 18, [DATA]),
    "too few results": (node("Neg", 0), 18, [DATA]),
    "an operator that nobody knows": (node("Thing"), 18, [DATA]),
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
    "Slice without axes": (node("Slice"), 18, [MATRIX, vector(0, 1), vector(2, 2), None, vector(1, 1)]),
    "Slice backwards within the axis": (node("Slice"), 18, [DATA, vector(-4), vector(4), vector(0), vector(-1)]),
    "Slice of old": (node("Slice", starts=[0], ends=[2], axes=[0]), 9, [DATA]),
    "Transpose": (node("Transpose", perm=[1, 0]), 18, [MATRIX]),
    "Transpose without an order": (node("Transpose"), 18, [MATRIX]),
    "Reshape that copies an axis": (node("Reshape"), 18, [DATA, vector(0, 1)]),
    "Reshape of no elements to what is left": (node("Reshape"), 18, [DATA[:0], vector(2, -1)]),
    "Reshape of no elements": (node("Reshape"), 18, [DATA[:0], vector(0, 3)]),
    "Reshape to what is left, where 0 is a size": (node("Reshape", allowzero=1), 18, [DATA, vector(2, -1)]),
    "Reshape to nothing": (node("Reshape"), 18, [SCALAR, vector()]),
    "Reshape of old": (node("Reshape", shape=[2, 2]), 4, [FLOATS]),
    "Flatten of old": (node("Flatten", axis=0), 9, [MATRIX]),
    "Squeeze of a unit axis": (node("Squeeze"), 18, [DATA.reshape(1, 4), vector(-2)]),
    "Squeeze of a unit axis, of old": (node("Squeeze", axes=[0]), 11, [DATA.reshape(1, 4)]),
    "Unsqueeze in front and behind": (node("Unsqueeze"), 18, [DATA, vector(0, -1)]),
    "Unsqueeze of old": (node("Unsqueeze", axes=[1]), 11, [DATA]),
    "Range": (node("Range"), 18, [SCALAR, SCALAR, SCALAR]),
    "Split of no elements beside all": (node("Split", 2), 18, [DATA, vector(0, 4)]),
    "Split into a number": (node("Split", 2, num_outputs=2), 18, [DATA]),
    "Split of old": (node("Split", 2, split=[1, 3]), 11, [DATA]),
    "Split alike, of old": (node("Split", 2), 17, [DATA]),
    "Split along the last axis": (node("Split", 2, axis=-1), 18, [MATRIX, vector(1, 1)]),
    "ReduceSum of an axis": (node("ReduceSum"), 18, [DATA, vector(-1)]),
    "ReduceMax of an axis, of old": (node("ReduceMax", axes=[0]), 13, [DATA]),
    "CumSum": (node("CumSum"), 18, [DATA, np.asarray(-1, I)]),
    "Concat of three": (node("Concat", axis=1), 18, [MATRIX, MATRIX[:, :1], MATRIX]),
    "Gather from the end": (node("Gather", axis=-1), 18, [DATA, vector(-4, 3)]),
    "Gather from the end since 11": (node("Gather"), 11, [DATA, vector(-1)]),
    "Gather of old": (node("Gather"), 9, [DATA, vector(0)]),
    "Tile to nothing": (node("Tile"), 18, [DATA, vector(0)]),
    "Expand": (node("Expand"), 18, [DATA, vector(2, 1)]),
    "Expand to nothing": (node("Expand"), 18, [DATA[:1], vector(0)]),
    "ConstantOfShape of nothing": (node("ConstantOfShape"), 18, [vector(0)]),
    "Flatten of a vector": (node("Flatten"), 18, [DATA]),
    "Expand to a scalar": (node("Expand"), 18, [SCALAR, vector()]),
    "ConstantOfShape of one element": (node("ConstantOfShape", value=filled(1)), 18, [vector(2)]),
    "Max of two shapes": (node("Max"), 8, [FLOATS, FLOATS[:1]]),
    "Max of old": (node("Max"), 7, [FLOATS, FLOATS]),
    "Where of two types that are no one variable": (node("Where"), 18, [DATA > 2, DATA, DATA[:1]]),
    "NonZero": (node("NonZero"), 18, [DATA]),
    "Cast": (node("Cast", to=1), 18, [DATA]),
}


@pytest.mark.parametrize(("message", "version", "arrays"), ALLOWED.values(), ids=ALLOWED)
def test_what_the_specification_allows_is_computed(
    message: NodeProto, version: int, arrays: list[np.ndarray | None]
) -> None:
    assert allowed(message, version, arrays)


PAIRS = "Add Sub Mul Div Mod Min Max Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor Where".split()


@pytest.mark.parametrize("op", PAIRS)
def test_operands_that_do_not_broadcast_are_not_computed(op: str) -> None:
    data = DATA > 2 if op in ("And", "Or", "Xor") else DATA
    choice = [DATA > 2] if op == "Where" else []
    assert allowed(node(op), 18, [*choice, data, data[:1]])
    assert not allowed(node(op), 18, [*choice, data, data[:3]])


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceProd", "ReduceMin", "ReduceMax"])
def test_a_reduction_of_nothing_is_not_computed(op: str) -> None:
    assert allowed(node(op), 18, [DATA])
    assert not allowed(node(op), 18, [DATA[:0]])


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
