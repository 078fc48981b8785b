"""The checked FlatBuffer reader, on bytes made by hand and on files of the stock builder."""

from __future__ import annotations

import struct

import pytest

from graphfix.formats.tflite.file import schema as layouts
from graphfix.formats.tflite.file.reader import MOST, FlatBuffer, MalformedError
from graphfix.formats.tflite.file.schema import layout
from tests.support.tflite.flat_files import add_model, packed, schema

PAIR = layout("Pair", "number:i=7 flag:? other:o")


def made(vtable: list[int], table: bytes, behind: bytes = b"") -> bytes:
    """A root at once behind its vtable: the vtable starts at byte 8."""
    data = struct.pack(f"<{len(vtable)}H", *vtable)
    data += bytes(-len(data) % 4)
    return struct.pack("<I", 8 + len(data)) + b"TEST" + data + struct.pack("<i", len(data)) + table + behind


def flat(data: bytes) -> FlatBuffer:
    return FlatBuffer(memoryview(data))


def test_fields_are_read_by_slot_and_absent_ones_are_the_schemas_defaults() -> None:
    data = made([10, 9, 0, 8, 4], struct.pack("<IB3x", 8, 1), struct.pack("<Ii", 1, 5))
    found = flat(data)
    root = found.root()
    number, flag, other = found.table(root, PAIR)
    assert (number, flag) == (7, True)
    assert found.integers(other) == (5,)
    assert found.fields(root, PAIR) == {"flag": True, "other": other}


def test_a_vtable_shorter_than_the_layout_means_absent_fields() -> None:
    found = flat(made([6, 8, 4], struct.pack("<i", -2)))
    assert found.table(found.root(), PAIR) == [-2, False, 0]
    assert not found.has_unknown(found.root(), PAIR)


def test_fields_beyond_the_known_slots_are_seen() -> None:
    found = flat(made([12, 8, 0, 0, 0, 4], struct.pack("<i", 3)))
    assert found.has_unknown(found.root(), PAIR)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"\4\0\0\0TES", "fewer than a header", id="no header"),
        pytest.param(struct.pack("<I4x", 99), "outside", id="root behind the end"),
        pytest.param(struct.pack("<I4x", 0), "outside", id="root at its own reference"),
        pytest.param(struct.pack("<I4xi", 8, 100), "vtable outside", id="vtable before the file"),
        pytest.param(struct.pack("<I4xi", 8, -100), "vtable outside", id="vtable behind the file"),
        pytest.param(made([7, 8, 4], bytes(4)), "vtable of 7", id="odd vtable"),
        pytest.param(made([2, 8, 4], bytes(4)), "vtable of 2", id="vtable shorter than its own header"),
        pytest.param(made([600, 8, 4], bytes(4)), "vtable of 600", id="vtable longer than the file"),
        pytest.param(made([6, 8, 400], bytes(4)), "ends behind", id="field behind the end"),
        pytest.param(made([6, 8, 2], bytes(4)), "over one another", id="field on the distance to the vtable"),
        pytest.param(made([8, 8, 4, 5], bytes(4)), "over one another", id="a field inside another"),
        pytest.param(made([10, 8, 0, 0, 4], struct.pack("<I", 0)), "outside", id="a reference to itself"),
        pytest.param(made([10, 8, 0, 0, 4], struct.pack("<I", 2**31)), "outside", id="a reference of 2 GiB"),
        pytest.param(made([10, 8, 0, 0, 4], struct.pack("<I", 5)), "outside", id="a reference behind the end"),
    ],
)
def test_a_table_that_leaves_the_file_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        flat(data).table(flat(data).root(), PAIR)


def test_a_vector_that_leaves_the_file_is_refused() -> None:
    found = flat(struct.pack("<5I", 0, 3, 1, 2, 3))
    assert found.integers(4) == (1, 2, 3)
    with pytest.raises(MalformedError, match="ends behind the file"):
        flat(struct.pack("<5I", 0, 4, 1, 2, 3)).integers(4)
    with pytest.raises(MalformedError, match="outside"):
        found.integers(18)


def test_64_bit_numbers_and_32_bit_ones_at_one_position_are_reported_apart() -> None:
    found = flat(struct.pack("<I4xIqq8x", 0, 2, -5, 6))
    assert found.long_integers(8) == (-5, 6)
    assert found.integers(8) == (-5, -1)


def test_a_vector_longer_than_any_shape_is_refused_before_it_is_read() -> None:
    data = struct.pack("<II", 0, MOST + 1) + bytes(4 * (MOST + 1))
    with pytest.raises(MalformedError, match="numbers"):
        flat(data).integers(4)


def test_vectors_that_lie_over_one_another_are_refused_for_the_memory_they_would_take() -> None:
    # Each word is the length of a vector of the 50 words that follow it.
    found = flat(struct.pack("<200I", *[50] * 200))
    with pytest.raises(MalformedError, match="over one another"):
        list(map(found.integers, range(4, 400, 4)))


def test_one_vector_may_be_read_any_number_of_times() -> None:
    found = flat(struct.pack("<4I", 0, 2, 8, 9))
    assert {id(found.integers(4)) for _ in range(99)} == {id(found.integers(4))}


def test_a_name_that_is_no_utf_8_is_shown_with_escapes() -> None:
    assert flat(struct.pack("<II", 0, 3) + b"a\xffb\0").text(4) == "a\\xffb"


def test_position_0_is_an_absent_vector_or_string() -> None:
    found = flat(bytes(16))
    assert (found.integers(0), found.long_integers(0), found.text(0), list(found.references(0))) == ((), (), "", [])


def test_tables_of_the_stock_builder_are_read() -> None:
    found = flat(packed(add_model()))
    values = dict(zip(layouts.MODEL.names, found.table(found.root(), layouts.MODEL), strict=True))
    assert values["version"] == 3
    assert found.text(values["description"]) == "made for a test"
    assert len(list(found.references(values["buffers"]))) == 3
    assert schema.Model.GetRootAs(packed(add_model())).BuffersLength() == 3
