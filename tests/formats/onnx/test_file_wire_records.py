"""Where the records of a message start and stop, in bytes that protobuf may write and in bytes that it can not."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.formats.onnx.file import wire
from graphfix.formats.onnx.file.container import _is_listed
from graphfix.formats.onnx.file.data_home import DataHome
from graphfix.formats.onnx.file.wire import MalformedError, encode, records, refuse_uneven, tag_of, varint

VARINT, FIXED64, LEN, GROUP, END, FIXED32 = range(6)


def tag(number: int, kind: int) -> bytes:
    return encode(tag_of(number, kind))


A = tag(1, VARINT) + b"\x05"
"""A field of every message: what follows has to be found behind it."""
FOUND: dict[str, tuple[bytes, list[tuple[int, int, int]]]] = {
    "nothing": (b"", []),
    "one": (A, [(0, 1, 2)]),
    "behind 8 bytes": (tag(2, FIXED64) + bytes(8) + A, [(9, 10, 11)]),
    "behind 4 bytes": (tag(2, FIXED32) + bytes(4) + A, [(5, 6, 7)]),
    "behind a text": (tag(2, LEN) + b"\x03abc" + A, [(5, 6, 7)]),
    "behind a text of 200": (tag(2, LEN) + encode(200) + bytes(200) + A, [(203, 204, 205)]),
    "behind a length that is spelled long": (tag(2, LEN) + b"\x82\x00ab" + A, [(5, 6, 7)]),
    "behind a large tag": (tag(16, VARINT) + b"\x00" + A, [(3, 4, 5)]),
    "behind a large number": (tag(2, VARINT) + b"\xff" * 9 + b"\x01" + A, [(11, 12, 13)]),
    "behind a group": (tag(2, GROUP) + A + tag(2, END) + A, [(4, 5, 6)]),
    "behind an empty group": (tag(2, GROUP) + tag(2, END) + A, [(2, 3, 4)]),
    "behind a group in a group": (
        tag(2, GROUP) + tag(3, GROUP) + tag(3, END) + A + tag(2, END) + A,
        [(6, 7, 8)],
    ),
    "behind a group that holds a text": (tag(2, GROUP) + tag(3, LEN) + b"\x02\x14\x14" + tag(2, END) + A, [(6, 7, 8)]),
    "behind a group that holds 8 bytes": (tag(2, GROUP) + tag(3, FIXED64) + bytes(8) + tag(2, END) + A, [(11, 12, 13)]),
    "behind a group of a large number": (tag(99, GROUP) + A + tag(99, END) + A, [(6, 7, 8)]),
}


@pytest.mark.parametrize(("data", "found"), FOUND.values(), ids=FOUND)
def test_a_record_is_found_behind_whatever_stands_before_it(data: bytes, found: list[tuple[int, int, int]]) -> None:
    each = list(records(memoryview(data), 0, len(data), {tag_of(1, VARINT)}))
    assert each == [(start, tag_of(1, VARINT), body, stop) for start, body, stop in found]


BROKEN: dict[str, tuple[bytes, str]] = {
    "a text that is too short": (tag(2, LEN) + b"\x03ab", "the record at byte 0 does not end within its message"),
    "the second of two": (A + tag(2, LEN) + b"\x03ab", "the record at byte 2 does not end within its message"),
    "a text without its length": (tag(2, LEN), "the number at byte 1 does not end"),
    "7 of 8 bytes": (tag(2, FIXED64) + bytes(7), "the record at byte 0 does not end within its message"),
    "3 of 4 bytes": (tag(2, FIXED32) + bytes(3), "the record at byte 0 does not end within its message"),
    "a number that goes on": (tag(2, VARINT) + b"\xff", "the number at byte 1 does not end"),
    "a number of 11 bytes": (tag(2, VARINT) + b"\xff" * 10 + b"\x01", "the number at byte 1 does not end"),
    "a tag that goes on": (b"\xff", "the number at byte 0 does not end"),
    "a group that does not end": (tag(2, GROUP) + A, "the number at byte 3 does not end"),
    "a group that ends as another": (tag(2, GROUP) + tag(3, END), "no field can start before byte 2"),
    "an end without a group": (tag(2, END), "no field can start before byte 1"),
    "groups that cross": (
        tag(2, GROUP) + tag(3, GROUP) + tag(2, END) + tag(3, END),
        "no field can start before byte 3",
    ),
    "a wire type that is not there": (tag(2, 6), "no field can start before byte 1"),
    "another": (tag(2, 7), "no field can start before byte 1"),
}


@pytest.mark.parametrize(("data", "words"), BROKEN.values(), ids=BROKEN)
def test_bytes_that_are_no_message_are_refused_by_their_place(data: bytes, words: str) -> None:
    with pytest.raises(MalformedError) as caught:
        list(records(memoryview(data), 0, len(data), ()))
    assert str(caught.value) == words


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16383, 16384, (1 << 64) - 1])
def test_a_number_is_read_as_it_is_written(number: int) -> None:
    data = b"\xff" + encode(number)
    assert varint(memoryview(data), 1, len(data)) == (number, len(data))
    assert len(encode(number)) == max(1, -(-number.bit_length() // 7))


UNEVEN: dict[str, tuple[int, int, bytes, bool]] = {
    "whole floats": (4, LEN, bytes(8), False),
    "a part of a float": (4, LEN, bytes(7), True),
    "no floats": (4, LEN, b"", False),
    "one float": (4, FIXED32, bytes(4), False),
    "whole doubles": (10, LEN, bytes(8), False),
    "half a double": (10, LEN, bytes(12), True),
    "whole numbers": (7, LEN, b"\x81\x01", False),
    "a number that goes on": (7, LEN, b"\x01\x81", True),
    "a number alone": (7, VARINT, b"\x01", False),
    "a text": (6, LEN, b"\x81", False),
    "bytes": (9, LEN, b"\x81\x81\x81", False),
}


@pytest.mark.parametrize(("number", "kind", "body", "uneven"), UNEVEN.values(), ids=UNEVEN)
def test_packed_numbers_end_with_a_whole_one(number: int, kind: int, body: bytes, uneven: bool) -> None:
    data = memoryview(b"xx" + body)
    record = (0, tag_of(number, kind), 2, 2 + len(body))
    assert tag_of(number, kind) in wire.DATA
    if uneven:
        with pytest.raises(MalformedError, match=f"the numbers that end at byte {len(data)} are not whole"):
            refuse_uneven(data, record)
    else:
        refuse_uneven(data, record)


@pytest.mark.parametrize(
    ("location", "alone", "with_root"),
    [
        ("", False, False),
        ("a\0b", False, False),
        ("w.bin", True, True),
        ("deep/w.bin", True, True),
        ("../shared/w.bin", False, True),
        ("../other/w.bin", False, False),
        ("/w.bin", False, False),
    ],
)
def test_a_place_in_the_models_folder_or_in_a_root_is_listed(
    location: str, alone: bool, with_root: bool, tmp_path: Path
) -> None:
    model = tmp_path / "own" / "m.onnx"
    for folder in ("own", "shared", "other"):
        (tmp_path / folder).mkdir()
    found = [_is_listed(location, DataHome.of(model, roots)) for roots in ([], [tmp_path / "shared"])]
    assert found == [alone, with_root]
