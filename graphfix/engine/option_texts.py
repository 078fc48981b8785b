"""Parse the texts of `--dim`, `--shape`, `--same` and `--set` into the typed values of a request.

The command line parses its options here. The Python functions parse texts here too; such texts are deprecated in favour
of typed values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from graphfix.results import GraphfixError, InputNumber, InputValue

TRUTH: Mapping[str, bool] = MappingProxyType({"true": True, "false": False, "True": True, "False": False})


def parse_dim(name: str, text: str) -> int | tuple[int, int]:
    """Return the number of a text such as `4`, or the (least, greatest) size of a range such as `2..64`.

    Raises GraphfixError for any other text; `name` is the dim's name for the error.
    """
    match = re.fullmatch(r"(\d{1,19})(?:\.\.(\d{1,19}))?", text.strip())
    if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
        raise GraphfixError(f"--dim {name}={text}: give a number such as 4, or a range such as 2..64")
    return int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))


def parse_shape(name: str, text: str) -> tuple[int | None, ...]:
    """Return the sizes of one input, with None for a size that stays free (`?`). Raises GraphfixError."""
    listed = text.strip().strip("[]")
    parts = [part.strip() for part in listed.split(",")] if listed else []
    if not all(re.fullmatch(r"\d{1,19}|\?", part) for part in parts):
        raise GraphfixError(f"--shape {name}={text}: give sizes such as 1,3,224,224 (? leaves one free)")
    return tuple(None if part == "?" else int(part) for part in parts)


def parse_same(text: str) -> tuple[str, ...]:
    """Return the members of a text such as `a=b=c`. Raises GraphfixError if there are fewer than two.

    A `=` in parentheses belongs to a name, because names such as `ceil(T=2)` occur.
    """
    members = [member.strip() for member in re.split(r"=(?![^()]*\))", text)]
    if len(members) == 1 or not all(members):
        raise GraphfixError(f"--same {text}: give two sizes or more, such as ids[0]=mask[0] or batch=batch2")
    return tuple(members)


def parse_value(name: str, text: str) -> InputValue:
    """Return the scalar of a text, or a tuple of elements if the text has a comma or a bracket.

    Raises GraphfixError.
    """
    listed = text.strip()
    elements = [each.strip() for each in listed.removeprefix("[").removesuffix("]").split(",")]
    if elements == [""] and listed == "[]":
        return ()
    numbers = tuple(_number(name, text, each) for each in elements)
    return numbers[0] if len(numbers) == 1 and not listed.startswith("[") else numbers


def _number(name: str, text: str, element: str) -> InputNumber:
    if element in TRUTH:
        return TRUTH[element]
    try:
        return int(element) if re.fullmatch(r"[+-]?\d+", element) else float(element)
    except ValueError:
        why = "give a number such as 16000, true or false, or a flat list such as 1,2,3"
        raise GraphfixError(f"--set {name}={text}: {why}") from None


PARSERS: Mapping[str, Callable[[str, str], object]] = MappingProxyType(
    {"dims": parse_dim, "shapes": parse_shape, "same": lambda _, text: parse_same(text), "values": parse_value}
)
"""By field of the request: the parser of one text, which is called with a name and the text.

The order of the fields is the order in which errors are reported.
"""


def parse_fields(texts: Mapping[str, Mapping[str, str] | Sequence[str] | None]) -> dict[str, Any]:
    """Return the request's fields for the texts of a command line; a field without texts is left out.

    If a text can't be parsed, the only field is `fault`, with the error as a text. The error is raised later, where
    sizes are bound, because it begins with the name of a model.
    """
    parsed: dict[str, Any] = {}
    try:
        for field, parse in PARSERS.items():
            given = texts.get(field)
            if given is None:
                continue
            if isinstance(given, Mapping):
                parsed[field] = {name: parse(name, text) for name, text in given.items()}
            else:
                parsed[field] = [parse("", text) for text in given]
    except GraphfixError as error:
        return {"fault": str(error)}
    return parsed
