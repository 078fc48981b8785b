"""Colours for a terminal: `coloured` paints a text in a style, and `plain` returns it unchanged."""

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
"""By style: the numbers of its ANSI escape sequence. The terminal chooses the exact colour."""


def plain(text: str, _: Style) -> str:
    """Return the text without colours."""
    return text


def coloured(text: str, style: Style) -> str:
    """Return the text in the colour of a style; an empty text stays empty."""
    return f"\x1b[{SEQUENCES[style]}m{text}\x1b[0m" if text else text
