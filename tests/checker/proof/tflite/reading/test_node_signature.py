"""What the key of a term says of an operator: one spelling of its options, its scales, and what is stated of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.checker.files.tflite.records import Operator, Quantization, Tensor
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import ProofValue, TermTable
from graphfix.checker.proof.tflite.reading.node_signature import (
    canonical,
    hybrid,
    keeps_quantization,
    quantized,
    shared_name,
    signature,
    stated,
    type_of,
)
from tests.support.tflite.rule_calls import QUANTIZED, call, operand

BY_AXIS = Quantization((b"\0\0\0?\0\0\0?", (0, 0), ()), 1)
OTHER = Quantization((b"\0\0\0?", (1,), ()), None)


def keyed(name: str, options: dict[str, object], *more: object) -> Operator:
    return Operator(name, 1, (0,), (1,), options, (), (name, "kind", "newer", tuple(options.items()), *more))


def views(*texts: str) -> list[ProofValue | None]:
    table = TermTable(Algebra())
    return [operand(table, text, at)[1] for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("name", "options", "sizes", "expected"),
    [
        ("CONCATENATION", {"axis": -1, "more": 5}, "float32[2,3,4]", (("axis", 2), ("more", 5))),
        ("CONCATENATION", {"more": 5, "axis": -3}, "float32[2,3,4]", (("more", 5), ("axis", 0))),
        ("CONCATENATION", {"axis": -4}, "float32[2,3,4]", None),
        ("CONCATENATION", {"axis": 0}, "float32[2,3,4]", None),
        ("CONCATENATION", {"axis": 2}, "float32[2,3,4]", None),
        ("CONCATENATION", {"axis": None}, "float32[2,3,4]", None),
        ("CONCATENATION", {}, "float32[2,3,4]", None),
        ("CONCATENATION", {"axis": -1}, "float32[*]", None),
        ("CONCATENATION", {"axis": -1}, "", None),
        ("GATHER", {"axis": -1, "batchDims": -1}, "float32[2,3]", (("axis", 1), ("batchDims", -1))),
        ("UNPACK", {"axis": -2}, "float32[2,3]", (("axis", 0),)),
        ("PACK", {"axis": -1}, "float32[2,3]", (("axis", 2),)),
        ("PACK", {"axis": -3}, "float32[2,3]", (("axis", 0),)),
        ("PACK", {"axis": -4}, "float32[2,3]", None),
        ("SOFTMAX", {"axis": -1}, "float32[2,3]", None),
    ],
)
def test_a_negative_axis_is_counted_from_the_front(
    name: str, options: dict[str, object], sizes: str, expected: tuple[tuple[str, object], ...] | None
) -> None:
    given = keyed(name, options, "behind")
    found = canonical(given, views(sizes))
    fields = tuple(options.items()) if expected is None else expected
    assert found == given._replace(key=(name, "kind", "newer", fields, "behind"))


def test_an_axis_of_nothing_or_of_fields_that_are_none_stays() -> None:
    given = keyed("PACK", {"axis": -1})
    assert canonical(given, []) is given
    odd = given._replace(key=("PACK", "kind", "newer", None))
    assert canonical(odd, views("float32[2,3]")) is odd


OLD = {"alignCorners": False, "halfPixelCenters": False}


@pytest.mark.parametrize(
    ("operands", "options", "changes"),
    [
        (["float32[2,3,5,7]", "int32{6,20}"], OLD, True),
        (["float32[2,3,5,7]", "int32{3,5}"], OLD, True),
        (["float32[N,3,5,M]", "int32{3,10}"], OLD, True),
        (["float32[2,3,5,7]", "int32{9,5}"], OLD, False),
        (["float32[2,3,5,7]", "int32{3,15}"], OLD, False),
        (["float32[2,3,5,7]", "int32{7,5}"], OLD, False),
        (["float32[2,3,5,7]", "int32{3,1}"], OLD, False),
        (["float32[2,0,5,7]", "int32{0,5}"], OLD, False),
        (["float32[2,3,5,7]", "int32{0,5}"], OLD, False),
        (["float32[2,3,5]", "int32{6,20}"], OLD, False),
        (["float32[2,3,5,7,9]", "int32{6,20}"], OLD, False),
        (["float32[2,N,5,7]", "int32{6,20}"], OLD, False),
        (["float32[2,3,5,7]", "int32{N,20}"], OLD, False),
        (["float32[2,3,5,7]", "int32[2]"], OLD, False),
        (["float32[2,3,5,7]", "int32{6}"], OLD, False),
        (["float32[2,3,5,7]", "int32{6,20,7}"], OLD, False),
        (["float32[*]", "int32{6,20}"], OLD, False),
        (["float32[2,3,5,7]", ""], OLD, False),
        (["float32[2,3,5,7]"], OLD, False),
        (["float32[2,3,5,7]", "int32{6,20}", "int32{6,20}"], OLD, False),
        (["float32[2,3,5,7]", "int32{6,20}"], {**OLD, "alignCorners": True}, False),
        (["float32[2,3,5,7]", "int32{6,20}"], {**OLD, "halfPixelCenters": True}, False),
    ],
)
def test_a_nearest_resize_by_powers_of_2_is_one_by_centers(
    operands: list[str], options: dict[str, object], changes: bool
) -> None:
    given = keyed("RESIZE_NEAREST_NEIGHBOR", options, "behind")
    centers = (("alignCorners", False), ("halfPixelCenters", True))
    wanted = ("RESIZE_NEAREST_NEIGHBOR", "kind", "newer", centers, "behind") if changes else given.key
    assert canonical(given, views(*operands)).key == wanted
    other = keyed("RESIZE_BILINEAR", options)
    assert canonical(other, views(*operands)) is other


def test_scales_follow_the_axis_of_the_value_that_is_viewed() -> None:
    (view,) = views("int8[2,3]")
    assert view is not None
    assert quantized(None, view) is None
    assert quantized(QUANTIZED, view) == (QUANTIZED.key, None)
    turned = ProofValue(view.core, (None, 0), (1, 2))
    found = [quantized(replace(BY_AXIS, axis=at), turned) for at in (-1, 0, 1, 2)]
    assert found == [(BY_AXIS.key, each) for each in (("declared", -1), ("declared", 0), 0, ("declared", 2))]
    assert quantized(BY_AXIS, None) == (BY_AXIS.key, ("declared", 1))
    assert quantized(BY_AXIS, ProofValue(view.core, None, None)) == (BY_AXIS.key, ("declared", 1))


def test_the_key_of_a_term_says_types_and_scales_of_operands_and_result() -> None:
    given = call("ADD", ["int8[2,3]", "float32[2,3]"], "int16")
    given = replace(given, operator=given.operator._replace(key=("ADD", "key"), version=4))
    one, two = given.inputs
    assert one is not None
    assert two is not None
    assert signature(given) == (("ADD", "key"), 4, (("int8", None), ("float32", None)), ("int16", None))
    scaled = replace(given, inputs=[one._replace(quantization=BY_AXIS), two._replace(quantization=QUANTIZED)])
    parts = (("int8", (BY_AXIS.key, 1)), ("float32", (QUANTIZED.key, None)))
    assert signature(scaled) == (("ADD", "key"), 4, parts, ("int16", None))
    outside = [one._replace(quantization=replace(BY_AXIS, axis=2)), two]
    assert signature(replace(given, inputs=outside)) is None
    assert signature(replace(given, inputs=[one, None])) is None
    assert signature(replace(given, views=[None, given.views[1]])) is None
    result = given.result._replace(quantization=QUANTIZED)
    assert signature(replace(given, result=result)) == (
        ("ADD", "key"), 4, (("int8", None), ("float32", None)), ("int16", (QUANTIZED.key, None)))  # fmt: skip
    assert signature(replace(given, result=result._replace(quantization=BY_AXIS))) is None


@pytest.mark.parametrize(
    ("op", "operands", "result", "expected"),
    [
        ("SELECT", ["bool[2]"], "float32", "SELECT"),
        ("SELECT_V2", ["bool[2]"], "float32", "SELECT"),
        ("REAL", ["complex64[2]"], "float32", "REAL"),
        ("RFFT2D", ["float32[2]"], "complex64", "RFFT2D"),
        ("CAST", ["complex64[2]"], "float32", "REAL"),
        ("CAST", ["complex64[2]"], "int32", None),
        ("CAST", ["float32[2]"], "float32", None),
        ("CAST", [""], "float32", None),
        ("CAST", [], "float32", None),
        ("IMAG", ["complex64[2]"], "float32", None),
    ],
)
def test_operators_of_several_names_share_one(op: str, operands: list[str], result: str, expected: str | None) -> None:
    assert shared_name(call(op, operands, result)) == expected


def test_for_operators_that_take_their_shape_from_the_file_it_is_stated() -> None:
    tensor = Tensor("y", "int8", (None, 3), (1, 3), BY_AXIS, variable=False, payload=None)
    type_ = ("int8", (BY_AXIS.key, 1))
    assert type_of(tensor) == type_
    assert type_of(tensor._replace(quantization=None)) == ("int8", None)
    found = {
        name: stated(keyed(name, {}), tensor)
        for name in ("ADD", "SELECT", "SELECT_V2", "READ_VARIABLE", "STABLEHLO_ADD", "custom Own")
    }
    assert found == {name: (*type_, 2) if name == "ADD" else (*type_, (None, 3), (1, 3)) for name in found}


@pytest.mark.parametrize(
    ("one", "two", "keeps"),
    [
        (None, None, True),
        (QUANTIZED, None, False),
        (None, QUANTIZED, False),
        (QUANTIZED, replace(QUANTIZED), True),
        (QUANTIZED, OTHER, False),
        (BY_AXIS, BY_AXIS, False),
        (replace(BY_AXIS, axis=None), BY_AXIS, False),
        (BY_AXIS, replace(BY_AXIS, axis=None), False),
    ],
)
def test_a_result_is_quantized_as_the_operand_is(one: Quantization, two: Quantization, keeps: bool) -> None:
    given = call("RESHAPE", ["int8[2]"], "int8")
    (tensor,) = given.inputs
    assert tensor is not None
    result = given.result._replace(quantization=two)
    assert keeps_quantization(replace(given, inputs=[tensor._replace(quantization=one)], result=result)) is keeps
    nothing = replace(given, inputs=[], views=[], result=result)
    assert keeps_quantization(nothing) is (two is None)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["float32", "int8"], True),
        (["uint8", "float32"], True),
        (["float32", "int32", "int4"], True),
        (["float32", "int16"], False),
        (["int8", "int8"], False),
        (["float32", ""], False),
        ([], False),
    ],
)
def test_floats_beside_bytes_are_a_hybrid(kinds: list[str], expected: bool) -> None:
    tensors = call("ADD", [kind and f"{kind}[2]" for kind in kinds]).inputs
    assert hybrid(tensors) is expected
