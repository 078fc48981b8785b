"""How an error of one line shows a value that a user gave."""

from __future__ import annotations

LETTERS = 100
"""Of a value only so many are shown."""


def shown(value: object) -> str:
    """The value as Python writes it, or its beginning."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than 4300 digits
        text = "a number of so many digits"
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} .."
