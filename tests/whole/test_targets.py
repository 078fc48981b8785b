"""Real models for the targets beside `explicit` and `ranks`: proved, nothing left to do, and the file's own view."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphfix
from graphfix.graph.view import Node
from graphfix.results import Site
from graphfix.targets import target as targets
from tests.support import engine
from tests.support.fixed_files import FixedFiles
from tests.support.fuzz import round_trip_gaps as gaps
from tests.support.fuzz.round_trip import UNLIKE, compared, folded
from tests.support.places import MODELS as FOLDER
from tests.support.places import zoo_models
from tests.support.tiers import in_turn, quick_in_ci

TARGETS = ("compact", "onnxruntime", "litert-gpu", "ethos-u")
MODELS = [*zoo_models("onnx"), *zoo_models("tflite")]


def findings(path: Path, target: str) -> list[Site]:
    return [site for site in graphfix.check(path, target=target).sites if site.status == "found"]


@pytest.mark.alike(2)
@pytest.mark.parametrize(("path", "target"), in_turn(quick_in_ci(MODELS), TARGETS))
def test_a_real_model_is_proved_and_equal(path: Path, target: str, fixed: FixedFiles) -> None:
    _, outcome = fixed(path, target, verified=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved", outcome.verdict.reason


@pytest.mark.alike(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", quick_in_ci(MODELS))
def test_then_nothing_is_found_and_a_second_run_copies(path: Path, target: str, tmp_path: Path) -> None:
    # unverified: of a model that no runtime runs `fix` believes less when it verifies, and does less
    out, again = tmp_path / path.name, tmp_path / "again" / path.name
    again.parent.mkdir()
    graphfix.fix_file(path, out, target=target, check_result=False, bind_defaults=targets.target_of(target).static)
    assert findings(out, target) == []
    assert not graphfix.fix_file(out, again, target=target, check_result=False).changed
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.alike(3)
@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", MODELS)
def test_the_facts_after_the_edits_are_those_of_the_file_loaded_afresh(path: Path, target: str, tmp_path: Path) -> None:
    derived = engine.load(path)
    engine.fix(derived, target=target)
    mine = derived.finish()
    derived.save(tmp_path / path.name)
    theirs = engine.load(tmp_path / path.name).graphs
    assert [str(node) for graph in mine for node in graph.nodes] == [
        str(node) for graph in theirs for node in graph.nodes
    ]


@pytest.mark.alike(2)
@pytest.mark.ci
@pytest.mark.parametrize("path", MODELS)
def test_explicit_and_back_is_what_folding_alone_makes(path: Path) -> None:
    file = path.read_bytes()
    found = compared(file, folded(file, "explicit", "compact"))
    assert {UNLIKE: found[UNLIKE]} == found if path.relative_to(FOLDER).as_posix() in gaps.MODELS else not found


def ranks(node: Node) -> set[int]:
    """Those of the operands that are known."""
    return {value.shape.rank for value in node.operands if value is not None and value.shape.ranked}


@pytest.mark.alike(3)
@pytest.mark.parametrize("target", ["litert-gpu", "ethos-u"])
@pytest.mark.parametrize("path", quick_in_ci(MODELS))
def test_what_the_target_can_not_take_is_listed_and_nothing_else_is_left(
    path: Path, target: str, fixed: FixedFiles
) -> None:
    out, _ = fixed(path, target)
    row = targets.target_of(target)
    assert row.movement is not None
    named = {(site.graph, site.node, site.code): site.reason for site in graphfix.check(out, target=target).sites}
    assert all(named.values()), "each with its reason"
    said = {(graph, node) for graph, node, _ in named}
    for node in (node for graph in engine.load(out).graphs for node in graph.nodes if node.operands):
        where = node.graph.path, node.label
        if node.row is not None and node.row.style == "multidirectional" and len(ranks(node)) > 1:
            assert where in said, f"operands of several ranks: {node}"
        if row.max_rank is not None and max(ranks(node), default=0) > row.max_rank:
            assert (*where, "GF301") in named, f"above rank {row.max_rank}: {node}"
        if node.op in (targets.MOVEMENT | targets.ONNX_MOVEMENT) - row.movement:
            assert where in said, f"not taken: {node}"
