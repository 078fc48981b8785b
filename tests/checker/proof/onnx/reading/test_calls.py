"""A node as the rules read it: what it gives, what it leaves out, and which node is another value each time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from onnx import AttributeProto, TensorProto, helper

from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.onnx.closed_world.validate import imported, is_separate
from graphfix.checker.proof.onnx.reading.operands import Call, tensor_of, trimmed
from graphfix.checker.proof.onnx.reading.types import dtype, is_free, is_uninferred, set_type


def call(
    op: str = "Any", views: Sequence[ProofValue | None] = (), version: int = 17, domain: str = "", **attributes: object
) -> Call:
    return Call(
        label=op, domain=domain, op=op, version=version, meaning_version=version, views=views, operand_names=[],
        result_names=["y"],
        attributes={name: helper.make_attribute(name, value) for name, value in attributes.items()}, description=op,
        table=TermTable(Algebra()),
    )  # fmt: skip


def test_attributes_have_the_defaults_of_their_rule() -> None:
    given = call(i=3, s="text", f=0.5, l=[1, 2])
    assert (given.integer("i", 7), given.integer("j", 7)) == (3, 7)
    assert (given.text("s"), given.text("t"), given.text("t", b"u")) == (b"text", b"", b"u")
    assert (given.number("f", 0.25), given.number("g", 0.25)) == (0.5, 0.25)
    assert (given.integers("l"), given.integers("m")) == ((1, 2), None)


@pytest.mark.parametrize(
    ("stated", "default", "expected"),
    [(0, True, False), (1, False, True), (2, False, None), (-1, True, None), (None, True, True), (None, False, False)],
)
def test_a_flag_is_0_or_1(stated: int | None, default: bool, expected: bool | None) -> None:
    given = call() if stated is None else call(keep=stated)
    assert given.flag("keep", default=default) is expected


def test_operands_that_are_not_given_have_no_sizes() -> None:
    table = TermTable(Algebra())
    n = table.algebra.symbol(("N",), "N")
    core, _ = table.find_or_create_core(("input", "x"), "x")
    core.sizes = (2, n)
    unranked, _ = table.find_or_create_core(("input", "u"), "u")
    x, u, two = value_of(core), value_of(unranked), table.integers((2, n), "int64")
    given = call(views=[x, None, u, two])
    assert [given.operand(at) for at in range(5)] == [x, None, u, two, None]
    assert [given.sizes(at) for at in range(5)] == [(2, n), None, None, (2,), None]
    assert [given.rank(at) for at in range(5)] == [2, None, None, 1, None]
    assert [given.content(at) for at in range(5)] == [None, None, None, (2, n), None]
    assert given.operands_by_name("a", "b", "", "d") == {"a": x, "d": two}


@pytest.mark.parametrize(
    ("kind", "scalar", "vector", "indices"),
    [("int64", False, True, True), ("int32", False, False, True), ("int64", True, False, False),
     ("bool", False, False, False)],
)  # fmt: skip
def test_a_vector_is_of_64_bits_and_indices_of_32_too(kind: str, scalar: bool, vector: bool, indices: bool) -> None:
    table = TermTable(Algebra())
    given = call(views=[table.integers((1,), kind, scalar=scalar)])
    assert given.int64_vector(0) == ((1,) if vector else None)
    assert given.index_vector(0) == ((1,) if indices else None)
    assert given.int64_vector(1) is given.index_vector(1) is None


def test_a_target_is_known_unless_a_term_may_be_negative() -> None:
    given = call()
    table = given.table
    n = table.algebra.symbol(("N",), "N")
    less = table.arithmetic.sub(n, 1)
    assert less is not None
    given.views = [table.integers(each, "int64") for each in ((n, -1), (less, 2))]
    assert [given.target_shape(at) for at in range(3)] == [(n, -1), None, None]
    assert [given.partial_target_shape(at) for at in range(3)] == [(n, -1), (None, 2), None]
    core, _ = table.find_or_create_core(("whole", "Concat"), "Concat")
    core.sizes, core.elements = (3,), (n, None, 4)
    given.views = [value_of(core), ProofValue(core, (None, 0), (1, 3))]
    assert [given.partial_vector(at) for at in range(3)] == [(n, None, 4), None, None]
    assert [given.partial_target_shape(at) for at in range(3)] == [(n, None, 4), None, None]


def test_axes_are_an_attribute_or_an_operand() -> None:
    table = TermTable(Algebra())
    x, axes = table.integers((5, 6), "int64"), table.integers((0, 2), "int64")
    n = table.algebra.symbol(("N",), "N")
    assert call(views=[x], axes=[1]).axes() == (1,)
    assert call(views=[x, axes]).axes() == (0, 2)
    assert call(views=[x, axes], axes=[1]).axes() == (1,)
    assert call(views=[x]).axes() is None
    assert call(views=[x, table.integers((0, n), "int64")]).axes() is None


@pytest.mark.parametrize(("version", "lowest"), [(10, 0), (11, -3), (17, -3)])
def test_axes_are_counted_from_the_end_since_set_11(version: int, lowest: int) -> None:
    assert call(version=version).lowest_axis(3) == lowest


SEPARATE: list[tuple[str, str, int, int, dict[str, object], bool]] = [
    ("", "Relu", 17, 1, {}, False),
    ("", "RandomNormal", 17, 0, {}, True),
    ("", "Bernoulli", 17, 1, {}, True),
    ("", "Dropout", 17, 1, {}, False),
    ("", "Dropout", 17, 2, {}, False),
    ("", "Dropout", 17, 3, {}, True),
    ("", "Dropout", 12, 3, {}, True),
    ("", "Dropout", 11, 1, {}, False),
    ("", "Dropout", 7, 1, {}, False),
    ("", "Dropout", 6, 1, {}, True),
    ("", "Dropout", 6, 1, {"is_test": 1}, False),
    ("", "Dropout", 6, 1, {"is_test": 0}, True),
    ("com.microsoft", "FastGelu", 1, 1, {}, False),
    ("com.microsoft", "GroupQueryAttention", 1, 1, {"past_present_share_buffer": 1}, True),
]


@pytest.mark.parametrize(("domain", "op", "version", "count", "attributes", "expected"), SEPARATE)
def test_what_may_be_another_value_each_time(
    domain: str, op: str, version: int, count: int, attributes: dict[str, object], expected: bool
) -> None:
    table = TermTable(Algebra())
    views = [table.integers((1,), "int64")] * count
    assert is_separate(call(op, views, version, domain, **attributes)) is expected


def test_a_set_is_imported_in_one_version() -> None:
    sets = [helper.make_opsetid(domain, version) for domain, version in (("", 17), ("mine", 1), ("ai.onnx", 17))]
    assert imported(sets) == {"": 17, "mine": 1}
    with pytest.raises(UnprovedError, match=r"two versions of the operator set 'ai\.onnx' are imported"):
        imported([*sets[:2], helper.make_opsetid("ai.onnx", 16)])


@pytest.mark.parametrize(
    ("names", "expected"), [(["a", "", "b", "", ""], ["a", "", "b"]), (["", ""], []), ([], []), (["a"], ["a"])], ids=str
)
def test_results_end_with_a_name(names: list[str], expected: list[str]) -> None:
    assert list(trimmed(names)) == expected


CONSTANTS: list[tuple[str, object, tuple[int, list[int], list[object]] | None]] = [
    ("value_int", 3, (TensorProto.INT64, [], [3])),
    ("value_ints", [3, 4], (TensorProto.INT64, [2], [3, 4])),
    ("value_float", 0.5, (TensorProto.FLOAT, [], [0.5])),
    ("value_floats", [0.5, 1.5], (TensorProto.FLOAT, [2], [0.5, 1.5])),
    ("value_string", "a", (TensorProto.STRING, [], [b"a"])),
    ("value_strings", ["a", "b"], (TensorProto.STRING, [2], [b"a", b"b"])),
    ("value_int", 0.5, None),
    ("value_ints", 3, None),
    ("value", 3, None),
]


@pytest.mark.parametrize(("name", "value", "expected"), CONSTANTS)
def test_the_tensor_that_numbers_stand_for(
    name: str, value: object, expected: tuple[int, list[int], list[object]] | None
) -> None:
    found = tensor_of(name, helper.make_attribute(name, value))
    if expected is None:
        assert found is None
        return
    assert found is not None
    held = [*found.int64_data, *found.float_data, *found.string_data]
    assert (found.data_type, list(found.dims), held) == expected
    assert tensor_of(name, AttributeProto(name=name)) is None


def test_a_type_is_entered_once() -> None:
    table = TermTable(Algebra())
    core, _ = table.find_or_create_core(("input", "x"), "x")
    assert dtype(core) is None
    set_type(core, TensorProto.FLOAT)
    set_type(core, TensorProto.INT64)
    assert dtype(core) == TensorProto.FLOAT
    assert dtype(table.integers((1, 2), "int64").core) == TensorProto.INT64
    assert dtype(table.empty("float32", (0,)).core) == TensorProto.FLOAT


def test_sizes_for_which_runtimes_infer_no_number() -> None:
    algebra = Algebra()
    named, free, other = (algebra.symbol(key, key[1]) for key in (("declared", "N"), ("input", "x"), ("dim", "d")))
    both, mixed, fixed = (algebra.broadcast_size(pair) for pair in ((named, free), (named, other), (named, 3)))
    assert [is_free(size) for size in (named, free, other, both, 3)] == [True, True, False, False, False]
    assert [is_uninferred(size) for size in (named, free, other, both, mixed, fixed, 3)] == [
        True, True, False, True, False, False, False,
    ]  # fmt: skip
    other.is_uninferred = True
    assert is_uninferred(other)
    assert is_uninferred(mixed)
