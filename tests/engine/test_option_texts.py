"""The texts of `--dim`, `--shape`, `--same` and `--set` as typed values, and those that mean nothing."""

from __future__ import annotations

from typing import Any

import pytest

from graphfix.engine.option_texts import parse_dim, parse_fields, parse_same, parse_shape, parse_value
from graphfix.results import GraphfixError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        (" 4 ", 4),
        ("0", 0),
        ("2..64", (2, 64)),
        ("3..3", (3, 3)),
        ("9" * 19, int("9" * 19)),
        *((text, None) for text in ("", "a", "-1", "4..", "..4", "5..4", "1.5", "2...4", "9" * 20, "1.." + "9" * 20)),
    ],
)
def test_a_dim_is_a_number_or_a_range(text: str, value: object) -> None:
    if value is not None:
        assert parse_dim("N", text) == value
        return
    with pytest.raises(GraphfixError, match=r"give a number such as 4, or a range such as 2\.\.64"):
        parse_dim("N", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,3,224", (1, 3, 224)),
        ("[1, 3]", (1, 3)),
        ("?,3", (None, 3)),
        ("7", (7,)),
        ("", ()),
        ("[]", ()),
        *((text, "no") for text in ("1,,2", "a", "-1,2", "1,2,", "?1", "9" * 20)),
    ],
)
def test_a_shape_is_sizes_of_which_some_are_free(text: str, value: object) -> None:
    if value != "no":
        assert parse_shape("x", text) == value
        return
    with pytest.raises(GraphfixError, match=r"--shape x=.*: give sizes such as 1,3,224,224 \(\? leaves one free\)"):
        parse_shape("x", text)


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("a=b", ("a", "b")),
        ("ids[0] = mask[0]=c", ("ids[0]", "mask[0]", "c")),
        ("ceil(T=2)=n", ("ceil(T=2)", "n")),
        ("a", None),
        ("a=", None),
        ("=a", None),
        ("ceil(T=2)", None),
    ],
)
def test_sizes_that_are_equal_are_two_or_more(text: str, members: tuple[str, ...] | None) -> None:
    if members is not None:
        assert parse_same(text) == members
        return
    with pytest.raises(GraphfixError, match="give two sizes or more"):
        parse_same(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16000", 16000),
        ("-3", -3),
        ("+3", 3),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("True", True),
        ("false", False),
        ("False", False),
        ("1,2", (1, 2)),
        ("[1, 2.5]", (1, 2.5)),
        ("[1]", (1,)),
        ("[]", ()),
        *((text, "no") for text in ("", "a", "1,", "[1,a]", "1 2", "[[1]]")),
    ],
)
def test_a_value_is_a_number_or_a_list(text: str, value: object) -> None:
    if value != "no":
        parsed = parse_value("x", text)
        assert (parsed, type(parsed)) == (value, type(value))
        return
    with pytest.raises(GraphfixError, match=r"--set x=.*: give a number such as 16000"):
        parse_value("x", text)


def test_the_first_text_that_means_nothing_is_the_fault() -> None:
    given: dict[str, Any] = {"dims": {"N": "4"}, "shapes": {"x": "1,?"}, "same": ["a=b"], "values": {"v": "2"}}
    assert parse_fields(given) == {
        "dims": {"N": 4},
        "shapes": {"x": (1, None)},
        "same": [("a", "b")],
        "values": {"v": 2},
    }
    assert parse_fields({"same": None, "dims": {}}) == {"dims": {}}
    assert list(parse_fields({**given, "same": ["a"], "values": {"v": "w"}})) == ["fault"]
    assert "--same a:" in parse_fields({**given, "same": ["a"], "values": {"v": "w"}})["fault"]
