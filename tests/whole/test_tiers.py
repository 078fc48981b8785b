"""The tiers: the models that plain `pytest` takes hold what occurs in any; what is absent is named in one line."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import ai_edge_litert.schema_py_generated as schema
import onnx
import pytest

import graphfix
from graphfix.results import GraphfixError
from tests.support import needs
from tests.support.places import MODELS, committed_models, model_id, zoo_paths
from tests.support.tiers import COVER

TARGETS = ("explicit", "ranks", "tosa")


def features(path: Path) -> set[tuple[Hashable, ...]]:
    """What is worth a test of its own: the rewrites that work, the findings, the operators, the element types."""
    found: set[tuple[Hashable, ...]] = {("type", each) for each in element_types(path)}
    for target in TARGETS:
        try:
            outcome = graphfix.fix(graphfix.load(path), target=target)
        except GraphfixError:
            found.add(("refused",))
            continue
        found |= {(target, name) for name, count in outcome.rewrites.items() if count}
        found |= {(site.code, site.status) for site in outcome.sites} | {
            ("operator", site.op) for site in outcome.sites
        }
    return {(path.suffix, *each) for each in found}


def element_types(path: Path) -> set[int]:
    if path.suffix == ".onnx":
        graph = onnx.load(path).graph
        return {value.type.tensor_type.elem_type for value in [*graph.input, *graph.output]}
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    return {tensor.type for graph in model.subgraphs for tensor in graph.tensors}


@pytest.mark.ci
def test_the_cover_has_each_rewrite_finding_operator_and_element_type_of_the_models() -> None:
    known = {model_id(path): features(path) for path in committed_models()}
    assert known.keys() >= COVER
    covered = set().union(*(known[name] for name in COVER))
    assert set().union(*known.values()) - covered == set()
    assert len(covered) > 100


def test_what_is_absent_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    zoo = next(need for need in needs.NEEDS if need.marker == "zoo")
    monkeypatch.setattr(needs, "ZOO", MODELS / "nowhere")
    assert zoo.absent() == "zoo: models/nowhere is absent (scripts/fetch_zoo.py)"
    monkeypatch.setattr(needs, "ZOO", MODELS)
    monkeypatch.setattr(needs, "zoo_paths", lambda: [*zoo_paths(), MODELS / "gone.onnx"])
    assert "is absent" in zoo.absent()


def test_a_release_that_is_too_old_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.too_old.cache_clear()
    monkeypatch.setattr(needs.metadata, "version", lambda _: "1.19.0")
    assert needs.too_old("onnx>=1.23") == "onnx: 1.19.0 is installed, >=1.23 is needed"
    assert needs.too_old("onnx>=1.19") == ""
    needs.too_old.cache_clear()


def test_a_release_newer_than_the_constraints_is_never_needed() -> None:
    with pytest.raises(pytest.UsageError, match=r"tests/constraints\.txt has an older release"):
        needs.too_old("onnx>=99")


def test_where_releases_are_required_an_old_one_is_an_error(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.too_old.cache_clear()
    monkeypatch.setattr(needs.metadata, "version", lambda _: "1.19.0")
    request.node.add_marker(pytest.mark.needs_release("onnx>=1.23"))
    monkeypatch.delenv(needs.RELEASES, raising=False)
    assert needs.missing(request.node) == "onnx: 1.19.0 is installed, >=1.23 is needed"
    monkeypatch.setenv(needs.RELEASES, "required")
    with pytest.raises(pytest.UsageError, match=r"GRAPHFIX_RELEASES=required, and onnx: 1\.19\.0 is installed"):
        needs.missing(request.node)
    needs.too_old.cache_clear()
