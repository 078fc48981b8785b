"""Models as exporters write them, fixed for both targets: proved, nothing left, few stretches at run time.

What falls short stands in tests/support/exported_gaps.py by name. The tables there are exact: a line that no longer
holds fails a test, and is to be taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

import graphfix
from graphfix.results import Site
from tests.support.exported_gaps import LEFT, NEVER_STRETCHED, NOT_EQUAL_BY_RUNS, NOT_PROVED
from tests.support.fixed_files import FixedFiles, assert_runs_equal
from tests.support.places import MODELS
from tests.support.runtimes.exported_sizes import Job, look
from tests.support.tiers import COVER_EXPORTED, all_but_one_in, in_turn, tiered

TARGETS = ("explicit", "ranks")
FOLDER = MODELS / "exported"
FORMATS = ("onnx", "tflite")
PATHS = sorted(path for format_ in FORMATS for path in FOLDER.glob(f"*.{format_}"))
EACH = in_turn(
    tiered(PATHS, lambda path: path.name in COVER_EXPORTED, all_but_one_in(2, PATHS), name=lambda path: path.name),
    TARGETS,
)
"""The cover for both targets, in CI half of all models for one of them in turn, in `full` the rest."""
AT_RUN_TIME = "GF103"
MOST = 50
"""One node in so many may be stretched at run time by nothing: of the nodes with a site, over all models."""


def nodes(sites: Iterable[Site]) -> set[tuple[str, str]]:
    return {(site.graph, site.node) for site in sites}


def test_the_cover_and_the_names_of_the_gaps_are_files() -> None:
    names = {path.name for path in PATHS}
    assert names >= COVER_EXPORTED
    assert names >= {name for name, _ in (*NOT_PROVED, *LEFT, *NOT_EQUAL_BY_RUNS)}


@pytest.mark.parametrize(("path", "target"), EACH)
def test_an_exported_model_is_fixed_and_proved(path: Path, target: str, fixed: FixedFiles) -> None:
    out, _ = fixed(path, target)
    verdict = graphfix.verify(path, out, proof="only")
    assert (verdict.status != "proved") == ((path.name, target) in NOT_PROVED), verdict.proof


@pytest.mark.parametrize(("path", "target"), EACH)
def test_no_site_of_an_exported_model_is_left(path: Path, target: str, fixed: FixedFiles) -> None:
    _, outcome = fixed(path, target)
    left = [site for site in outcome.sites if site.status == "left"]
    assert len(nodes(left)) == LEFT.get((path.name, target), 0), [(site.node, site.reason) for site in left]


@pytest.mark.parametrize(("path", "target"), EACH)
def test_nothing_of_a_fixed_exported_model_is_found_again(path: Path, target: str, fixed: FixedFiles) -> None:
    out, _ = fixed(path, target)
    found = [site for site in graphfix.check(out, target=target).sites if site.status == "found"]
    assert found == [] or (path.name, target) in NOT_PROVED


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_an_exported_model_runs_equal(path: Path, target: str, fixed: FixedFiles) -> None:
    assert_runs_equal(path, target, fixed, path.name, NOT_EQUAL_BY_RUNS)


@pytest.mark.ci
@pytest.mark.parametrize("path", [path for path in PATHS if path.name in COVER_EXPORTED], ids=lambda path: path.name)
def test_an_exported_model_of_the_cover_runs_equal(path: Path, fixed: FixedFiles) -> None:
    assert_runs_equal(path, "explicit", fixed, path.name, NOT_EQUAL_BY_RUNS)


LOOKED = [
    path for path, target in (it.values for it in EACH if pytest.mark.full not in it.marks) if target == "explicit"
]
"""The models that CI fixes for `explicit` in the tests above."""


@pytest.mark.parametrize(
    "paths",
    [pytest.param(LOOKED, id="some", marks=pytest.mark.ci), pytest.param(PATHS, id="all", marks=pytest.mark.full)],
)
def test_at_most_one_node_in_fifty_is_stretched_at_run_time_and_never_stretches(
    paths: Sequence[Path], fixed: FixedFiles
) -> None:
    """CI looks at the models that it fixes anyway, `full` at all."""
    names = {path.name for path in paths}
    known = {name: count for name, count in NEVER_STRETCHED.items() if name in names}
    assert known
    jobs, sites = jobs_of(paths, fixed)
    idle = {
        Path(job.path).name: len(looked.seen - looked.stretched) for job, looked in zip(jobs, look(jobs), strict=True)
    }
    assert {name: count for name, count in idle.items() if count} == known
    assert sum(idle.values()) * MOST <= sites


def jobs_of(paths: Sequence[Path], fixed: FixedFiles) -> tuple[list[Job], int]:
    """The models with stretches at run time, and how many nodes of all of them have a site."""
    jobs, count = [], 0
    for path in paths:
        _, outcome = fixed(path, "explicit")
        count += len(nodes(outcome.sites))
        waiting = [site for site in outcome.sites if site.code == AT_RUN_TIME and site.status == "changed"]
        jobs += [Job(str(path), [asdict(site) for site in waiting])] if waiting else []
    return jobs, count


@pytest.mark.ci
def test_a_stretch_is_seen_at_one_size_and_not_at_another() -> None:
    """LayerNorm's mean has one column and the input's batch: axis 0 is never stretched, axis 1 always."""
    path = FOLDER / "swin_free_legacy.onnx"
    site = {"graph": "main", "node": "/norm/Sub", "op": "Sub", "operand": 1}
    batch = Job(str(path), [site | {"before": [None, 7, 7, 7], "after": [None, 7, 7, 7]}])
    columns = Job(str(path), [site | {"before": [7, 7, 7, None], "after": [7, 7, 7, None]}])
    assert [bool(looked.stretched) for looked in look([batch, columns])] == [False, True]
    assert all(looked.seen for looked in look([batch, columns]))
