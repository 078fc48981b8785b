"""Models as optimizers, quantizers and builders write them, fixed for both targets: proved, nothing left, runs equal.

What falls short stands in tests/support/deployed_gaps.py by name. The tables there are exact: a line that no longer
holds fails a test, and is to be taken out.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import graphfix
from graphfix.checker.verdict import COPIED
from graphfix.results import GraphfixError, Site
from tests.support.deployed_gaps import LEFT, LEFT_KINDS, NOT_EQUAL_BY_RUNS, NOT_PROVED, REFUSED
from tests.support.fixed_files import FixedFiles
from tests.support.places import MODELS
from tests.support.tiers import COVER_DEPLOYED, tiered

TARGETS = ("explicit", "ranks")
FOLDER = MODELS / "deployed"
PATHS = sorted(path for suffix in ("onnx", "tflite") for path in FOLDER.rglob(f"*.{suffix}"))
UNKNOWN_RANK = "GF104"
MOST_UNKNOWN, LEAST_PROVED = 50, 0.95
"""One node in so many may have an operand of unknown rank; so many of the files are proved."""


def name_of(path: Path) -> str:
    return path.relative_to(FOLDER).with_suffix("").as_posix()


EACH = tiered(PATHS, lambda path: name_of(path) in COVER_DEPLOYED, name=name_of)
COVER = [path for path in PATHS if name_of(path) in COVER_DEPLOYED]


def nodes(sites: Iterable[Site]) -> set[tuple[str, str]]:
    return {(site.graph, site.node) for site in sites}


def kinds(site: Site) -> list[str]:
    """The reasons by kind for which this site is left."""
    return [kind for kind in LEFT_KINDS if kind in (site.reason or "")]


def test_the_cover_and_the_names_of_the_gaps_are_files() -> None:
    names = {name_of(path) for path in PATHS}
    assert names >= COVER_DEPLOYED
    assert names >= {*REFUSED, *(name for name, _ in (*NOT_PROVED, *LEFT, *NOT_EQUAL_BY_RUNS))}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", EACH)
def test_a_deployed_model_is_fixed_and_proved(path: Path, target: str, fixed: FixedFiles) -> None:
    if name_of(path) in REFUSED:
        with pytest.raises(GraphfixError, match=REFUSED[name_of(path)]):
            fixed(path, target)
        return
    out, outcome = fixed(path, target)
    verdict = graphfix.verify(path, out, proof="only")
    assert (verdict.status != "proved") == ((name_of(path), target) in NOT_PROVED), verdict.proof
    left = [site for site in outcome.sites if site.status == "left" and not kinds(site)]
    assert len(nodes(left)) == LEFT.get((name_of(path), target), 0), [(site.node, site.reason) for site in left]


@pytest.mark.ci
def test_each_kind_of_reason_occurs(fixed: FixedFiles) -> None:
    every = (site for path in PATHS if name_of(path) not in REFUSED for site in fixed(path, "ranks")[1].sites)
    assert {kind for site in every if site.status == "left" for kind in kinds(site)} == LEFT_KINDS.keys()


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
def test_most_nodes_are_known_and_most_files_are_proved(target: str, fixed: FixedFiles) -> None:
    sites = [site for path in PATHS if name_of(path) not in REFUSED for site in _sites(path, target, fixed)]
    unknown = [site for _, site in sites if site.status == "left" and site.code == UNKNOWN_RANK]
    count = len({(path, site.graph, site.node) for path, site in sites})
    assert len(nodes(unknown)) * MOST_UNKNOWN <= count
    wrong = {*REFUSED, *(name for name, other in NOT_PROVED if other == target)}
    assert len(wrong) <= (1 - LEAST_PROVED) * len(PATHS)


def _sites(path: Path, target: str, fixed: FixedFiles) -> list[tuple[Path, Site]]:
    """The sites of a model, each with the model."""
    return [(path, site) for site in fixed(path, target)[1].sites]


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_a_deployed_model_runs_equal(path: Path, target: str, fixed: FixedFiles) -> None:
    if name_of(path) not in REFUSED:
        assert_runs_equal(path, target, fixed)


@pytest.mark.ci
@pytest.mark.parametrize("path", COVER, ids=name_of)
def test_a_deployed_model_of_the_cover_runs_equal(path: Path, fixed: FixedFiles) -> None:
    assert_runs_equal(path, "explicit", fixed)


def assert_runs_equal(path: Path, target: str, fixed: FixedFiles) -> None:
    """Without optimizations the runs find no difference and compare something, unless the model is in the table."""
    _, outcome = fixed(path, target, verified=True)
    verdict = outcome.verdict
    assert verdict is not None
    if verdict.reason == COPIED:
        assert verdict.status == "proved"
        return  # a copy is not run
    statuses = {run.status for run in verdict.runs if run.optimizations == "off"}
    equal = verdict.status in {"proved", "equal"} and "equal" in statuses and "different" not in statuses
    assert equal == ((name_of(path), target) not in NOT_EQUAL_BY_RUNS), (verdict.status, verdict.reason)
