"""Texts of models whose stored shapes lie: one text is four models, with or without its lie and its broadcast.

~5|4~    the lie, and the true size in its place
^4|N,4^  the dims (or the name) of an operand that is broadcast, and those of one that is not
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from _pytest.mark import ParameterSet

from tests.support.tiers import ci_or_full, in_turn

_LIE = re.compile(r"~([^~|]*)\|([^~|]*)~")
_BROADCAST = re.compile(r"\^([^^|]*)\|([^^|]*)\^")


def variant(text: str, *, lies: bool = True, broadcasts: bool = True) -> str:
    """Return one of the four models of a text. Raises ValueError where the text has no lie or no broadcast."""
    for choice, pattern in ((lies, _LIE), (broadcasts, _BROADCAST)):
        text, count = pattern.subn(r"\1" if choice else r"\2", text)
        if not count:
            raise ValueError(f"no {pattern.pattern} in {text}")
    return text


SHARE = 3
"""CI takes one in so many of the models of each way."""


def a_share(ways: Mapping[str, Mapping[str, str]], first: int) -> list[ParameterSet]:
    """Return a parameter for each model: of each way CI takes one in `SHARE`, from number `first` on.

    Tests with another `first` take other models of each way, so that together they take all.
    """
    return [
        pytest.param(text, id=f"{way}: {name}".replace(" ", "-"), marks=ci_or_full(number % SHARE == first))
        for way, models in ways.items()
        for number, (name, text) in enumerate(models.items())
    ]


def by_target(ways: Mapping[str, Mapping[str, str]], targets: Sequence[str]) -> list[ParameterSet]:
    """Return the first model of each way with each target: CI takes one target a way, in turn."""
    first = [pytest.param(*it.values, id=it.id, marks=pytest.mark.ci) for it in cases(ways, first=True)]
    return in_turn(first, targets)


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
