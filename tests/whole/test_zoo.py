"""Real models, each fixed for both targets: verified, kept but for what was asked, and seen at run time."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import onnx.checker
import pytest
from onnx import numpy_helper

import graphfix
from graphfix.results import Outcome, Site
from tests.support import engine
from tests.support.fixed_files import FixedFiles
from tests.support.places import ROOT, committed_models, model_id, zoo_models
from tests.support.runtimes.onnx_witness import REFUSALS, Seen, Witness, accepted, session_of
from tests.support.tiers import by_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnx import GraphProto, ModelProto, NodeProto

TARGETS = ("explicit", "ranks")
BINDINGS = 3
OWN = committed_models("onnx")
NOT_RUN = {
    *("legacy/axis", "legacy/comparison", "legacy/prelu", "legacy/suffix"),  # no kernels below opset 7
    "operators/bfloat16",  # no kernel
    *("rfc/incompatible", "rfc/incompatible_both", "trait/bad_operands", "trait/three_incompatible"),  # GF105
}
"""What onnxruntime does not load."""


# --- what the command promises ---------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", zoo_models("onnx"))
def test_a_real_model_is_fixed_and_found_equal(path: Path, target: str, fixed: FixedFiles) -> None:
    out, outcome = fixed(path, target, verified=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved", outcome.verdict.reason
    assert out.exists()
    onnx.checker.check_model(str(out), full_check=False)


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", zoo_models("onnx"))
def test_a_second_run_changes_nothing(path: Path, target: str, fixed: FixedFiles, tmp_path: Path) -> None:
    out, _ = fixed(path, target)
    found = [site for site in graphfix.check(out, target=target).sites if site.status == "found"]
    assert not found
    again = graphfix.fix_file(out, tmp_path / "again.onnx", target=target, check_result=False)
    assert not again.changed
    assert (tmp_path / "again.onnx").read_bytes() == out.read_bytes()


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", zoo_models("onnx"))
def test_the_view_after_the_edits_is_that_of_the_written_file(path: Path, target: str, tmp_path: Path) -> None:
    derived = engine.load(path)
    engine.fix(derived, target=target)
    derived.save(tmp_path / "o.onnx")
    loaded = engine.load(tmp_path / "o.onnx")
    assert [graph.path for graph in derived.graphs] == [graph.path for graph in loaded.graphs]
    for mine, theirs in zip(derived.graphs, loaded.graphs, strict=True):
        assert [str(node) for node in mine.nodes] == [str(node) for node in theirs.nodes]


# --- what nobody named -----------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", zoo_models("onnx"))
def test_what_no_edit_names_is_kept(path: Path, target: str, fixed: FixedFiles) -> None:
    out, outcome = fixed(path, target)
    before, after = onnx.load(path), onnx.load(out)
    for field in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(before, field) == getattr(after, field)
    assert list(before.opset_import) == list(after.opset_import)
    assert list(before.metadata_props) == list(after.metadata_props)
    assert list(before.functions) == list(after.functions) or touched(outcome, "function")
    assert list(before.graph.input) == list(after.graph.input)
    assert list(before.graph.output) == list(after.graph.output)
    assert_graph_kept(before.graph, after.graph, gone_with(before.graph, outcome))


def touched(outcome: Outcome, where: str) -> bool:
    return any(site.status == "changed" and site.graph.startswith(where) for site in outcome.sites)


def gone_with(graph: GraphProto, outcome: Outcome) -> set[str]:
    """The results of main nodes that may go: Expands that the report calls redundant, and what only served those."""
    expands = {site.node for site in outcome.sites if site.code in {"GF202", "GF203"} and site.status == "changed"}
    nodes = [(node.name or f"{node.op_type}#{index}", node) for index, node in enumerate(graph.node)]
    gone = {name for label, node in nodes if label in expands for name in node.output}
    outputs = {value.name for value in graph.output}
    read_by = readers(graph)
    for _, node in reversed(nodes):
        if not outputs.intersection(node.output) and set().union(*(read_by[name] for name in node.output)) <= gone:
            gone.update(node.output)
    return gone


def readers(graph: GraphProto) -> Mapping[str, set[str]]:
    """By name: the results of the main nodes that read it, themselves or in a body."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for node in graph.node:
        for name in reads(node):
            found[name].add(node.output[0])
    return found


def reads(node: NodeProto) -> set[str]:
    bodies = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
    inside = {name for body in bodies for inner in body.node for name in reads(inner)}
    return {*node.input, *inside, *(value.name for body in bodies for value in body.output)}


def assert_graph_kept(before: GraphProto, after: GraphProto, gone: set[str]) -> None:
    """Every old node is there, in the old order, with its name, attributes and results; so is every payload."""
    old, new = dict(payloads(before)), dict(payloads(after))
    assert {name for name in old.keys() & new.keys() if old[name][1] != new[name][1]} == set()
    kept = {data for _, data in new.values()}  # a constant that all readers read at another rank has a new name
    lost = {name for name in old.keys() - new.keys() if old[name][1] not in kept}
    read_by = readers(before)
    assert {name for name in lost if not read_by[name] <= gone} == set()
    left = iter(after.node)
    for node in before.node:
        if gone.issuperset(node.output):
            continue
        twin = next((other for other in left if list(other.output) == list(node.output)), None)
        assert twin is not None, node.name
        assert_node_kept(node, twin, gone)


def assert_node_kept(before: NodeProto, after: NodeProto, gone: set[str]) -> None:
    assert (before.op_type, before.domain, before.name) == (after.op_type, after.domain, after.name)
    assert before.doc_string == after.doc_string
    assert len(before.input) == len(after.input)
    assert [attribute.name for attribute in before.attribute] == [attribute.name for attribute in after.attribute]
    for mine, theirs in zip(before.attribute, after.attribute, strict=True):
        if mine.type == onnx.AttributeProto.GRAPH:
            assert_graph_kept(mine.g, theirs.g, gone)
        elif before.op_type == "Constant" and mine.name == "value":
            assert payload(mine.t) == payload(theirs.t)
        else:
            assert mine == theirs


def payloads(graph: GraphProto) -> Iterator[tuple[str, tuple[tuple[int, ...], bytes]]]:
    for tensor in graph.initializer:
        yield tensor.name, (tuple(tensor.dims), payload(tensor))


def payload(tensor: onnx.TensorProto) -> bytes:
    return tensor.raw_data or numpy_helper.to_array(tensor).tobytes()


# --- what is seen at run time ----------------------------------------------------------------------------------


def unequal(seen: Seen, target: str) -> list[int]:
    """The operands that still broadcast: of a smaller rank, for `explicit` also of another shape than the result's."""
    shapes = [shape for shape in seen.shapes if shape is not None]
    rank = max((len(shape) for shape in shapes), default=0)
    whole = tuple(
        biggest(sizes) for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True)
    )
    return [
        index
        for index, shape in enumerate(seen.shapes)
        if shape is not None and (len(shape) != rank or (target == "explicit" and shape != whole))
    ]


def biggest(sizes: tuple[int, ...]) -> int:
    return next((size for size in sizes if size != 1), 1)


def excused(seen: Seen, operand: int, sites: dict[str, list[Site]]) -> Site | None:
    """The site by which the report says that this operand was left, and why."""
    for site in sites.get(seen.result, ()):
        if site.status in {"left", "exempt"} and site.reason and site.operand in {operand, None}:
            return site
    return None


def sites_by_result(model: ModelProto, outcome: Outcome) -> dict[str, list[Site]]:
    """The report says `Op#index` of a node without a name, as the original counts: what it makes stays the same."""
    makes = {node.name or f"{node.op_type}#{index}": node.output[0] for index, node in enumerate(model.graph.node)}
    found: dict[str, list[Site]] = {}
    for site in outcome.sites:
        if site.graph == "main" and site.node in makes:
            found.setdefault(makes[site.node], []).append(site)
    return found


def witnessed(path: Path, out: Path, outcome: Outcome, target: str, folder: Path) -> tuple[int, set[tuple[str, ...]]]:
    """Run the fixed model at several sizes; give how many there were, and the exceptions that the report explains."""
    runs = accepted(session_of(path), onnx.load(path), BINDINGS)
    witness = Witness(out, folder)
    sites = sites_by_result(onnx.load(path), outcome)
    exceptions: set[tuple[str, ...]] = set()
    for feeds in runs:
        for seen in witness.look(feeds):
            for operand in unequal(seen, target):
                site = excused(seen, operand, sites)
                assert site is not None, (
                    f"{seen.op} making '{seen.result}', operand {operand}: {seen.shapes}, and no site says why"
                )
                exceptions.add((seen.result, str(operand), site.code, site.status, str(site.reason)))
    return len(runs), exceptions


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", zoo_models("onnx"))
def test_no_operator_of_a_real_model_broadcasts_at_run_time(
    path: Path, target: str, fixed: FixedFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, outcome = fixed(path, target)
    runs, exceptions = witnessed(path, out, outcome, target, tmp_path)
    with capsys.disabled():
        for row in sorted(exceptions):
            print(f"\n  {path.parent.name}/{path.name} {target}: {' | '.join(row)}", end="")  # noqa: T201 - the table
    assert runs == BINDINGS or (runs == 1 and not free_dims(path))


def free_dims(path: Path) -> bool:
    """Whether any input has a dim that is no number."""
    model: ModelProto = onnx.load(path, load_external_data=False)
    return any(
        not dim.HasField("dim_value") or dim.dim_value < 0
        for value in model.graph.input
        for dim in value.type.tensor_type.shape.dim
    )


@pytest.mark.parametrize("target", TARGETS)
def test_the_witness_sees_the_broadcasts_of_an_original(target: str, tmp_path: Path) -> None:
    path = ROOT / "models" / "encoder.onnx"
    nothing = Outcome("fix", str(path), "onnx")
    with pytest.raises(AssertionError, match="no site says why"):
        witnessed(path, path, nothing, target, tmp_path)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", by_model(path for path in OWN if model_id(path).removesuffix(".onnx") not in NOT_RUN))
def test_no_operator_of_an_own_model_broadcasts_at_run_time(path: Path, target: str, tmp_path: Path) -> None:
    out = tmp_path / "o.onnx"
    outcome = graphfix.fix_file(path, out, target=target, check_result=False)
    runs, _ = witnessed(path, out, outcome, target, tmp_path)
    assert runs >= 1


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_an_own_model_that_was_not_witnessed_does_not_load(name: str) -> None:
    with pytest.raises(REFUSALS):
        session_of(ROOT / "models" / f"{name}.onnx")
