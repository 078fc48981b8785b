"""What the texts of `--dim` and `--shape` say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from graphfix.results import GraphfixError
from graphfix.shapes.shape import Size, symbol

Texts = Mapping[str, str]


def size(path: Path, name: str, text: str) -> Size:
    """A number, or a range LO..HI."""
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text.strip())
    if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
        raise GraphfixError(f"{path}: --dim {name}={text}: give a number such as 4, or a range such as 2..64")
    return int(match[1]) if match[2] is None else symbol(name, int(match[1]), int(match[2]))


def sizes(path: Path, shapes: Texts) -> dict[str, list[int | None]]:
    """The sizes of each input; None for one that stays free."""
    parsed: dict[str, list[int | None]] = {}
    for name, text in shapes.items():
        parts = [part.strip() for part in text.strip().strip("[]").split(",")] if text.strip().strip("[]") else []
        if not all(re.fullmatch(r"\d+|\?", part) for part in parts):
            raise GraphfixError(f"{path}: --shape {name}={text}: give sizes such as 1,3,224,224 (? leaves one free)")
        parsed[name] = [None if part == "?" else int(part) for part in parts]
    return parsed


def settled(path: Path, dims: Texts, shapes: Texts) -> tuple[dict[str, int], dict[str, list[int]]]:
    """The symbols and the whole inputs that are bound to numbers; a range stays free."""
    bound = {name: size(path, name, text) for name, text in dims.items()}
    whole = {name: [number for number in parsed if number is not None] for name, parsed in sizes(path, shapes).items()}
    full = {name: parsed for name, parsed in whole.items() if "?" not in shapes[name]}
    return {name: number for name, number in bound.items() if isinstance(number, int)}, full
