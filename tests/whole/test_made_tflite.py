"""The committed TFLite models, each fixed for both targets: verified, kept but for what was asked, seen at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.checker.verdict import COPIED
from graphfix.results import GraphfixError
from models.builders.tflite.cases import TfliteCase, tflite_cases
from tests.support.places import ROOT
from tests.support.runtimes.litert_witness import Job, free_axes, run
from tests.support.tflite import kept as kept_tflite
from tests.support.tflite.fixing import fixed
from tests.support.tflite.seen import BINDINGS, Change, stated_inputs, watched
from tests.support.tiers import is_covering, tiered

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from tests.support.runtimes.litert_witness import Sizes

TARGETS = ("explicit", "ranks")
CASES = tflite_cases()
REFUSED = [case for case in CASES if case.kind == "refused"]
FITTING = [case for case in CASES if case.kind != "refused"]
UNDECIDED = {
    "explicit/broadcast_in_dim": "STABLEHLO_BROADCAST_IN_DIM",
    "quantized/per_channel_operand": "SIGABRT",
    "shapes/rank_9": "SIGABRT",
    "shapes/rank_9_int8": "SIGABRT",
    "shapes/rank_9_int16": "SIGABRT",
}
"""What LiteRT does not run on any kernel set, and what the reason names."""


def parameters() -> list[ParameterSet]:
    """Each model for both targets: plain `pytest` verifies a cover of them for one target."""
    return tiered(
        [
            (case, target)
            for case in FITTING
            if case.name != "operators/atan2_unequal"  # computes from what stands behind its operand
            for target in TARGETS
        ],
        plain=lambda both: is_covering(path_of(both[0])) and both[1] == "explicit",
        name=lambda both: f"{both[0].name}-{both[1]}",
    )


def path_of(case: TfliteCase) -> Path:
    return ROOT / "models" / f"{case.name}.tflite"


@pytest.mark.alike(4)
@pytest.mark.ci
@pytest.mark.parametrize("both", parameters())
def test_a_made_model_is_fixed_and_found_equal(both: tuple[TfliteCase, str], tmp_path: Path) -> None:
    """CI verifies a quarter of them, `full` all; the runs below compare the outputs of all in CI too."""
    case, target = both
    out = tmp_path / "o.tflite"
    outcome = graphfix.fix_file(path_of(case), out, target=target)
    verdict = outcome.verdict
    assert verdict is not None
    said = UNDECIDED.get(case.name) if outcome.changed else COPIED  # a copy is not run
    assert verdict.status == "proved", verdict.reason
    assert said is None or said in str(verdict.reason)
    assert out.exists()


@pytest.mark.alike(10)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", FITTING, ids=lambda case: case.name)
def test_what_no_site_names_is_kept_and_a_second_run_changes_nothing(case: TfliteCase, target: str) -> None:
    done = fixed(case.data, target=target)  # with the second run, and the view of the written file
    assert kept_tflite.differences(done.before, done.data, done.outcome.sites) == []
    assert (done.data == done.before) == (not done.outcome.changed)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sampled", [True, pytest.param(False, marks=pytest.mark.ci)], ids=["cover", "all"])
def test_no_operator_of_a_made_model_broadcasts_at_run_time(sampled: bool, target: str, tmp_path: Path) -> None:
    cases = [
        case
        for case in FITTING
        if case.name not in UNDECIDED and case.name != "operators/atan2_unequal"
        if not sampled or is_covering(path_of(case))
    ]
    changes = []
    for case in cases:
        out = tmp_path / path_of(case).name
        outcome = graphfix.fix_file(path_of(case), out, target=target, check_result=False)
        changes.append(Change(path_of(case), out, outcome.sites, target))
    found = dict(zip([case.name for case in cases], watched(changes, tmp_path), strict=True))
    assert {name: one.wrong for name, one in found.items() if one.wrong} == {}
    assert [name for name, one in found.items() if not one.ran["optimized"]] == []
    few = [name for name, one in found.items() if any(one.sizes) and len(one.sizes) < BINDINGS]
    assert all(name.startswith("rfc/dynamic_to_static") for name in few)  # [?] under [5] is 1 or 5


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "name",
    "constants/shared shapes/two_sided_int8 operators/batch_matmul operators/select_ranks_int16 bodies/if".split(),
)
def test_the_witness_sees_the_broadcasts_of_an_original(name: str, target: str, tmp_path: Path) -> None:
    path = ROOT / "models" / f"{name}.tflite"
    (found,) = watched([Change(path, path, (), target)], tmp_path)
    assert found.wrong
    assert all("no site says why" in line for line in found.wrong)


# --- another batch ----------------------------------------------------------------------------------------------------


def batches(inputs: list[list[int]]) -> list[Sizes]:
    """Another first axis for all inputs together, and for each alone."""
    groups = [[at for at, shape in enumerate(inputs) if shape], *([at] for at, shape in enumerate(inputs) if shape)]
    unique = dict.fromkeys(map(tuple, groups))
    return [{at: (batch, *inputs[at][1:]) for at in group} for batch in (2, 3, 5) for group in unique if group]


@pytest.mark.ci
def test_a_batch_that_a_static_model_takes_is_taken_after_ranks(tmp_path: Path) -> None:
    jobs = []
    for case in FITTING:
        inputs = stated_inputs(path_of(case))
        out = tmp_path / path_of(case).name
        outcome = graphfix.fix_file(path_of(case), out, target="ranks", check_result=False)
        if outcome.changed and not free_axes(inputs) and not case.name.startswith("operators/custom"):
            jobs += [Job(str(path), sizes) for sizes in batches(inputs) for path in (path_of(case), out)]
    ran = run(jobs)
    pairs = list(zip(jobs[::2], ran[::2], ran[1::2], strict=True))
    wrong = [
        (job.path, job.sizes, after.error)
        for job, before, after in pairs
        if before.fine and before.outputs != after.outputs
    ]
    taken = {job.path for job, before, _ in pairs if before.fine}
    assert wrong == []
    assert len(taken) >= 30


# --- what is left, and what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_operands_that_never_fit_are_an_error_in_one_line(case: TfliteCase, target: str, tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match=r"GF105") as raised:
        graphfix.fix_file(path_of(case), tmp_path / "o.tflite", target=target)
    assert "\n" not in str(raised.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["shapes/rank_9", "shapes/rank_9_int8", "shapes/rank_9_int16"])
def test_above_the_rank_limit_an_operand_is_left_and_nothing_aborts(name: str, target: str, tmp_path: Path) -> None:
    path, out = ROOT / "models" / f"{name}.tflite", tmp_path / "o.tflite"
    outcome = graphfix.fix_file(path, out, target=target)
    assert {(site.code, site.status) for site in outcome.sites} == {("GF301", "left")}
    assert out.read_bytes() == path.read_bytes()
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"  # a copy; LiteRT ends its process on either


@pytest.mark.parametrize("target", TARGETS)
def test_an_operator_that_reads_beyond_its_operand_is_left(target: str, tmp_path: Path) -> None:
    path, out = ROOT / "models" / "operators/atan2_unequal.tflite", tmp_path / "o.tflite"
    outcome = graphfix.fix_file(path, out, target=target, check_result=False)
    assert {site.status for site in outcome.sites} <= {"left", "exempt"}
    assert out.read_bytes() == path.read_bytes()
