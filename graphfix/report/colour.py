"""Colours of a terminal: a text is painted by what it is, and plain text is the same function without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

Style = Literal["heading", "lifted", "stretched", "maybe", "aside", "good", "bad", "doubt", "removed", "added"]
Paint: TypeAlias = Callable[[str, Style], str]

SEQUENCES: Mapping[Style, str] = MappingProxyType(
    {
        "heading": "1",
        "lifted": "1;36",
        "stretched": "1;33",
        "maybe": "1;35",
        "aside": "2",
        "good": "32",
        "bad": "1;31",
        "doubt": "33",
        "removed": "31",
        "added": "32",
    }
)
"""The numbers of a style; the terminal chooses the shade."""


def plain(text: str, _: Style) -> str:
    """The text alone."""
    return text


def coloured(text: str, style: Style) -> str:
    """The text in the colour of a style; an empty one stays empty."""
    return f"\x1b[{SEQUENCES[style]}m{text}\x1b[0m" if text else text
