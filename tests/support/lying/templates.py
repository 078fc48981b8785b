"""Texts of models whose stored shapes lie: one text is four models, with or without its lie and its broadcast.

~5|4~    the lie, and the true size in its place
^4|N,4^  the dims (or the name) of an operand that is broadcast, and those of one that is not
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from _pytest.mark import ParameterSet

_LIE = re.compile(r"~([^~|]*)\|([^~|]*)~")
_BROADCAST = re.compile(r"\^([^^|]*)\|([^^|]*)\^")


def variant(text: str, *, lies: bool = True, broadcasts: bool = True) -> str:
    """Return one of the four models of a text. Raises ValueError where the text has no lie or no broadcast."""
    for choice, pattern in ((lies, _LIE), (broadcasts, _BROADCAST)):
        text, count = pattern.subn(r"\1" if choice else r"\2", text)
        if not count:
            raise ValueError(f"no {pattern.pattern} in {text}")
    return text


def cases(ways: Mapping[str, Mapping[str, str]], *, first: bool = False) -> list[ParameterSet]:
    """Return a parameter for each model: its text, with the way and its name as the id.

    The first model of each way is a plain test, the others are CI's; `first` leaves these out.
    """
    return [
        pytest.param(text, id=f"{way}: {name}".replace(" ", "-"), marks=() if number == 0 else pytest.mark.ci)
        for way, models in ways.items()
        for number, (name, text) in enumerate(models.items())
        if number == 0 or not first
    ]
