"""How far values that a rewrite rounds otherwise are off, and what a verdict says of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from graphfix.checker.runs.comparing.inexact_sites import apart, bounded, held_sites, observed
from graphfix.results import InexactSite, Verdict
from graphfix.runtimes.session import RefusedError, SessionBy


def site(name: str, *, inside: bool = False) -> InexactSite:
    return InexactSite(operator=name, before=f"{name}.before", after=f"{name}.after", inside=inside)


A, B, C, D, E = map(site, "ABCDE")
IN_A_BODY = site("F", inside=True)


@pytest.mark.parametrize(
    ("a", "b", "gap"),
    [
        ([1, -4], [1, -4], 0.0),
        ([1, -4], [1.5, -4], 0.125),
        ([1, -4], [1, -3], 0.25),
        ([2, np.inf], [2.5, np.inf], 0.25),
        ([2, np.nan], [3, np.nan], 0.5),
        ([2, np.nan], [2, 1], math.inf),
        ([2, 1], [2, np.nan], math.inf),
        ([2, np.inf], [2, -np.inf], math.inf),
        ([0, 0], [0, 1e-9], math.inf),
        ([np.inf], [np.inf], 0.0),
        ([], [], 0.0),
        ([1], [1, 1], math.inf),
    ],
)
def test_values_are_apart_by_a_part_of_the_largest_magnitude(a: list[float], b: list[float], gap: float) -> None:
    assert apart(np.float32(a), np.float32(b)) == gap


def test_axes_do_not_matter_and_types_do() -> None:
    assert apart(np.float32([[1, 2]]), np.float32([[1], [3]])) == 0.5
    assert apart(np.float32([1]), np.float64([1])) == math.inf


@pytest.mark.parametrize(
    ("runs", "differs", "is_open", "text"),
    [
        ([{A: 0.0, B: 1e-5}], None, None, "2 inexact operators off by at most 1e-05 of the largest magnitude, at B"),
        ([{A: 1e-6, B: 0}, {A: 2e-5}], None, None, "2 inexact operators off by at most 2e-05 of the largest"),
        ([{A: 1e-4, B: 0}], None, None, "2 inexact operators off by at most 0.0001 of the largest magnitude, at A"),
        ([{A: 2e-4}, {B: 0, A: 0}], "off by more than 0.0001 of the largest magnitude: A (0.0002)", None, "2 inexact"),
        ([{A: math.nan, B: 0}], "off by more than 0.0001 of the largest magnitude: A (nan)", None, "2 inexact"),
        ([{A: 0}], None, "not observed: B", "1 inexact operator off by at most 0 of the largest magnitude, at A"),
        ([], None, "not observed: A, B", ""),
    ],
)
def test_each_site_is_held_to_its_bound_by_the_worst_of_all_runs(
    runs: list[Mapping[InexactSite, float]], differs: str | None, is_open: str | None, text: str
) -> None:
    found = held_sites([A, B], runs)
    assert (found.differs, found.open) == (differs, is_open)
    assert found.text.startswith(text)
    assert bool(found.text) == bool(text)


def test_at_most_three_sites_are_named() -> None:
    assert held_sites([A, B, C], []).open == "not observed: A, B, C"
    assert held_sites([A, B, C, D, E], []).open == "not observed: A, B, C and 2 more"


FARTHEST = "inexact operator off by at most 1e-05 of the largest magnitude"
TOLERATED = ({"class": "tolerance"}, {"class": "nan-payload"})


@pytest.mark.parametrize(
    ("sites", "run", "undecided", "status", "reason"),
    [
        ([A], {A: 0.5}, "no run", "different", "off by more than 0.0001 of the largest magnitude: A (0.5)"),
        ([A], {A: 0.0}, "no run", "undecided", "no run"),
        ([A, B], {A: 0.0}, "no run", "undecided", "no run; not observed: B"),
        ([A, B], {A: 0.0}, None, "undecided", "not observed: B"),
        (
            [A],
            {A: 1e-5},
            None,
            "equal",
            f"1 {FARTHEST}, at A, and the outputs by no more than 0.0001",
        ),
        (
            [IN_A_BODY],
            {},
            None,
            "equal",
            "1 inexact inside of bodies, which no run shows, and the outputs by no more than 0.0001",
        ),
    ],
)
def test_a_verdict_says_whether_the_sites_are_within_their_bounds(
    sites: list[InexactSite], run: dict[InexactSite, float], undecided: str | None, status: str, reason: str
) -> None:
    found = bounded(Verdict("equal", exceptions=TOLERATED), sites, [run], undecided)
    assert (found.status, found.reason) == (status, reason)
    assert found.exceptions == (TOLERATED[1:] if status == "equal" else TOLERATED)


Opener = Callable[[Sequence[str]], SessionBy]


def opener(refused: str = "", most: int = 9, **values: float) -> Opener:
    """Open a model whose own output comes first; the other values are those of the names that are exposed."""

    def opened(names: Sequence[str]) -> SessionBy:
        if refused in names or len(names) > most:
            raise RefusedError("no such value")
        shown = [np.float32([values[name[0]]]) for name in names]
        return SessionBy(
            ("y", *names), lambda feeds: [np.float32([7]), *(each * np.float32(feeds["x"]) for each in shown)]
        )

    return opened


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param(opener(A=2, B=4), {A: 0.5, B: 0.25}, id="together"),
        pytest.param(opener(most=1, A=2, B=4), {A: 0.5, B: 0.25}, id="one by one"),
        pytest.param(opener(refused="A.before", A=2, B=4), {B: 0.25}, id="one of them"),
        pytest.param(opener(most=0, A=2, B=4), {}, id="none"),
    ],
)
def test_sites_are_observed_together_or_one_by_one(first: Opener, expected: dict[InexactSite, float]) -> None:
    second = opener(A=3, B=5)
    assert observed((first, second), [A, B], [{"x": 1.0}, {"x": 2.0}]) == expected
    assert observed((first, second), [A, B], []) == {}
    assert observed((opener(refused="A.before"), second), [A], [{"x": 1.0}]) == {}


def test_each_model_shows_its_own_name_of_a_value() -> None:
    first, second = opener(refused="A.after", A=2), opener(refused="A.before", A=3)
    assert observed((first, second), [A], [{"x": 1.0}]) == {A: 0.5}
    assert observed((second, first), [A], [{"x": 1.0}]) == {}


def test_the_worst_of_the_runs_counts() -> None:
    def opened(scale: float) -> Opener:
        return lambda names: SessionBy(
            ("y", *names), lambda feeds: [0, *[np.float32([4, 4 + float(str(feeds["x"])) * scale]) for _ in names]]
        )

    assert observed((opened(0), opened(1)), [A], [{"x": 1}, {"x": 2}, {"x": 0}]) == {A: 0.5}
