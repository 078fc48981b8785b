"""In the runs, compare the result of each inexact rewrite with the value that it replaces.

An inexact rewrite replaces an operator by others that compute the same function but may round differently. The proof
shows the function, and the runs measure the difference. For this, each replaced and new value becomes an output of its
model, on the inputs that the original accepted.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.runs.comparing.difference import largest_magnitude
from graphfix.checker.runs.comparing.exceptions import TOLERANCE
from graphfix.checker.task import ROUNDED
from graphfix.results.records import dataclass
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.runs.comparing.difference import Array
    from graphfix.results import InexactSite, Verdict
    from graphfix.runtimes.session import Session

    ExposingOpener = Callable[[Sequence[str]], Session]
    Found = Mapping[InexactSite, float]

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Held:
    """The comparison of all inexact sites with their bound. Each field is a text for the verdict."""

    differs: str | None
    """The sites whose difference exceeds the bound; None if no site exceeds it."""
    open: str | None
    """The sites that no run observed; None if all were observed."""
    text: str
    """The largest difference and its site; empty if no site was observed."""


def observed(
    opened: tuple[ExposingOpener, ExposingOpener], sites: Sequence[InexactSite], feeds: Sequence[Mapping[str, object]]
) -> dict[InexactSite, float]:
    """Return, by site, the largest |a - b| over all runs, divided by the largest |a|.

    Omit sites that can't be observed.

    `opened` loads the two models with additional outputs, and `feeds` are the inputs of each run. All sites are
    observed in one load of each model, or one by one if that fails.
    """
    found = _together(opened, sites, feeds)
    if found is None and len(sites) > 1:
        alone = (_together(opened, [site], feeds) or {} for site in sites)
        return {site: gap for each in alone for site, gap in each.items()}
    return found or {}


def _together(
    opened: tuple[ExposingOpener, ExposingOpener], sites: Sequence[InexactSite], feeds: Sequence[Mapping[str, object]]
) -> dict[InexactSite, float] | None:
    """Observe all sites in one load of each model; None if a model is refused or there are no inputs."""
    try:
        shown = [
            _values(open_with([site.before if first else site.after for site in sites]), len(sites), feeds)
            for first, open_with in zip((True, False), opened, strict=True)
        ]
    except RefusedError:
        return None
    if not feeds:
        return None
    gaps = [[apart(a, b) for a, b in zip(*run, strict=True)] for run in zip(*shown, strict=True)]
    return {site: max(run[place] for run in gaps) for place, site in enumerate(sites)}


def _values(session: Session, count: int, feeds: Sequence[Mapping[str, object]]) -> list[list[Array]]:
    """Return, for each run, the values of the sites, which are the last `count` outputs. Raise RefusedError."""
    return [[np.asarray(value) for value in session.run(each)[-count:]] for each in feeds]


def apart(a: Array, b: Array) -> float:
    """Return the largest |a - b| divided by the largest finite |a|.

    Return infinity if the arrays differ in the number of elements or in their type, or if a NaN or an infinity is in
    one of them only. Elements are compared in order and shapes are ignored, because the new operators may have other
    axes.
    """
    if a.size != b.size or a.dtype != b.dtype:
        return math.inf
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        gaps = np.where(same, 0.0, np.abs(a - b))
    gap = float(np.where(np.isnan(gaps), math.inf, gaps).max(initial=0.0))
    largest = largest_magnitude(a)
    return 0.0 if not gap else gap / largest if largest else math.inf


def held_sites(sites: Sequence[InexactSite], runs: Sequence[Found]) -> Held:
    """Compare each site's largest difference over all runs with the bound `ROUNDED`; return texts for the verdict."""
    worst = {site: max(run[site] for run in runs if site in run) for site in sites if any(site in run for run in runs)}
    beyond = [f"{site.operator} ({gap:.2g})" for site, gap in worst.items() if not gap <= ROUNDED]
    unseen = [site.operator for site in sites if site not in worst]
    differs = f"off by more than {ROUNDED:g} of the largest magnitude: {_some(beyond)}" if beyond else None
    not_shown = f"not observed: {_some(unseen)}" if unseen else None
    farthest = max(worst, key=lambda site: worst[site], default=None)
    if farthest is None:
        return Held(differs, not_shown, "")
    sum_ = f"{len(worst)} inexact operator{'s' if len(worst) > 1 else ''} off by at most"
    return Held(differs, not_shown, f"{sum_} {worst[farthest]:.2g} of the largest magnitude, at {farthest.operator}")


def bounded(
    equal: Verdict, sites: Sequence[InexactSite], runs: Sequence[Found], undecided: str | None = None
) -> Verdict:
    """Return the verdict `equal` after a check of the inexact sites: "different" if a site exceeds the bound `ROUNDED`.

    The verdict is "undecided" if some site was not observed in any run, or for the reason `undecided`, if there is one.
    Sites inside bodies are exempt, because only the model's outputs show their differences. `runs` contains the
    differences that each group of runs has found.
    """
    shown = [site for site in sites if not site.inside]
    found = held_sites(shown, runs)
    if found.differs is not None:
        return replace(equal, status="different", reason=found.differs)
    reasons = [reason for reason in (undecided, found.open) if reason is not None]
    if reasons:
        return replace(equal, status="undecided", reason="; ".join(reasons))
    kept = tuple(entry for entry in equal.exceptions if entry["class"] != TOLERANCE.name)
    inside = len(sites) - len(shown)
    texts = [found.text, f"{inside} inexact inside of bodies, which no run shows" if inside else ""]
    text = ", ".join(filter(None, texts))
    return replace(equal, exceptions=kept, reason=f"{text}, and the outputs by no more than {ROUNDED:g}")


def _some(names: Sequence[str]) -> str:
    """Return at most `MOST_NAMED` of the names as a text, with the number of further names."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
