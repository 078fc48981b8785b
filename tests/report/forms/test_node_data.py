"""Node data: Model Explorer's own classes write the same file, and each key is an id that its adapters give."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphfix.cli.commands import main
from graphfix.report.forms import node_data, registry
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, Outcome, Site
from graphfix.results.excerpt import Excerpt, NodeExcerpt
from tests.support.places import ROOT

FOUND = Site("GF101", "ffn/bias", "Add", "main", 1, (64,), (1, 1, 64), "found", "equalize-ranks")
ONNX = Outcome("check", "m.onnx", "onnx", target="ranks", sites=(FOUND, replace(FOUND, code="GF102")))
FORM = registry.FORMS[".node_data.json"]


def data(outcome: Outcome) -> Any:  # noqa: ANN401
    return json.loads(FORM([outcome]))


def keys(outcome: Outcome) -> dict[str, list[str]]:
    return {graph: list(nodes["results"]) for graph, nodes in data(outcome).items()}


def excerpt(*nodes: NodeExcerpt, **names: str) -> Excerpt:
    return Excerpt(nodes, steps=1, names=names)


def at(position: int, site: Site) -> NodeExcerpt:
    return NodeExcerpt(f"k{position}", site.graph, site.node, site.op, position, None, None)


def test_a_node_has_its_codes_and_the_colour_of_its_status() -> None:
    nodes = data(ONNX)
    assert nodes["name"] == "graphfix check, target ranks"
    assert nodes["results"]["ffn/bias"] == {"value": "GF101 GF102 found", "bgColor": "#f9a825", "textColor": "#000000"}


def test_of_several_statuses_the_one_that_needs_someone_counts() -> None:
    statuses: tuple[Any, ...] = ("exempt", "found", "left")
    sites = [replace(FOUND, status=status, code=f"GF10{number}") for number, status in enumerate(statuses)]
    assert data(replace(ONNX, sites=sites))["results"]["ffn/bias"]["value"] == "GF102 left"


def test_the_main_graph_has_the_name_that_the_file_gives_it() -> None:
    named = replace(ONNX, excerpt=excerpt(at(3, FOUND), main="main_graph"))
    assert keys(named) == {"main_graph": ["ffn/bias"]}


def test_onnx_bodies_and_functions_are_named_as_the_adapter_does() -> None:
    graphs = ("main//a/if.else_branch", "main//a/loop.body", "function local.ops.outer", "main")
    sites = [replace(FOUND, graph=graph) for graph in graphs]
    assert keys(replace(ONNX, sites=sites, excerpt=excerpt(main="g"))) == {
        "g": ["/a/if/else_branch/ffn/bias", "ffn/bias"],
        "/a/loop/body": ["ffn/bias"],
        "[function]local.ops::outer": ["ffn/bias"],
    }


def unnamed(number: int) -> Site:
    return replace(FOUND, node=f"Add#{number}")


def test_onnx_nodes_without_a_name_are_counted_as_the_adapter_does_where_all_are_known() -> None:
    whole = excerpt(at(2, unnamed(2)), at(0, unnamed(0)), at(1, FOUND), main="g")
    outcome = replace(ONNX, sites=(unnamed(0), unnamed(2)), excerpt=whole)
    assert keys(outcome) == {"g": ["node", "node_1"]}


@pytest.mark.parametrize(
    "known",
    [
        None,
        excerpt(at(0, unnamed(0)), at(2, unnamed(2))),
        replace(excerpt(at(0, unnamed(0))), left_out=1),
        excerpt(at(0, unnamed(0)), at(1, replace(FOUND, node="node"))),
        excerpt(at(0, unnamed(0)), at(1, replace(FOUND, graph="main/if.then_branch"))),
    ],
    ids=["no excerpt", "a gap", "a part of the model", "a name that is taken", "a body"],
)
def test_else_they_are_left_out_and_the_title_says_so(known: Excerpt | None) -> None:
    nodes = data(replace(ONNX, sites=(unnamed(0), FOUND), excerpt=known and replace(known, names={})))
    assert list(nodes["results"]) == ["ffn/bias"]
    assert nodes["name"].endswith("(1 node without a name not shown)")


def test_so_is_a_body_of_a_node_without_a_name() -> None:
    nodes = data(replace(ONNX, sites=(replace(FOUND, graph="main/If#2.then_branch"), FOUND)))
    assert list(nodes["results"]) == ["ffn/bias"]
    assert "1 node" in nodes["name"]


@pytest.mark.parametrize("name", ["encoder.onnx", "rfc_rank_expansion.onnx", "bodies/while.tflite"])
def test_the_names_of_the_graphs_come_with_the_excerpt(name: str, tmp_path: Path) -> None:
    path = tmp_path / "r.node_data.json"
    main(["check", str(ROOT / "models" / name), "-q", "--report", str(path)])
    graphs = json.loads(path.read_text(encoding="utf-8"))
    assert (
        list(graphs)
        == {
            "encoder.onnx": ["main_graph"],
            "rfc_rank_expansion.onnx": ["main"],
            "bodies/while.tflite": ["test", "turn"],
        }[name]
    )


def test_a_tflite_operator_is_its_place_in_the_subgraph() -> None:
    body = replace(FOUND, node="MUL#0", op="MUL", graph="main/IF#0.then")
    sites = (replace(FOUND, node="ADD#7", op="ADD"), body)
    names = Excerpt([], 1, names={"main": "main", "main/IF#0.then": "yes"})
    outcome = Outcome("check", "m.tflite", "tflite", sites=sites, excerpt=names)
    assert keys(outcome) == {"main": ["7"], "yes": ["0"]}
    moved = replace(outcome, excerpt=replace(names, nodes=[at(9, sites[0])]))
    assert keys(moved)["main"] == ["9"]
    unplaced = [replace(at(0, sites[0]), position=None), at(3, body)]
    assert keys(replace(outcome, excerpt=replace(names, nodes=unplaced))) == {"main": ["7"], "yes": ["3"]}


def test_an_input_is_found_by_its_name_and_the_model_is_no_node() -> None:
    sites = tuple(replace(FOUND, op=op, node=op) for op in ("input", "value", "model"))
    assert list(data(replace(ONNX, sites=sites))["results"]) == ["[value] input"]
    assert list(data(replace(ONNX, format="tflite", sites=sites))["results"]) == ["input", "value"]


def test_nothing_found_is_no_graph() -> None:
    assert data(replace(ONNX, sites=())) == {}
    assert json.loads(FORM([Failure("check", "m", "m: empty")])) == {}


def test_node_data_is_of_one_model(tmp_path: Path) -> None:
    path = tmp_path / "r.node_data.json"
    with pytest.raises(GraphfixError, match="node data is of one model, these are 2; name one, or another form"):
        registry.refuse(path, models=2)
    registry.refuse(path)
    registry.refuse(tmp_path / "r.json", models=2)


def test_the_longest_suffix_chooses_the_form_and_says_whether_the_graph_is_drawn(tmp_path: Path) -> None:
    registry.write(tmp_path / "R.Node_Data.json", [ONNX])
    assert (tmp_path / "R.Node_Data.json").read_text(encoding="utf-8") == FORM([ONNX])
    assert registry.needs_excerpt(Path("r.node_data.json"))
    assert not any(map(registry.needs_excerpt, (Path("r.json"), Path("r.md"), Path("node_data.json"), Path("r"))))


# --- Model Explorer ---------------------------------------------------------------------------------------------------


def builder() -> ModuleType:
    """Model Explorer's classes of node data, without the viewer's server and adapters (half a gigabyte)."""
    found = importlib.util.find_spec("model_explorer")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent
    package = ModuleType("explorer_classes")
    package.__path__ = [str(folder)]
    sys.modules["explorer_classes"] = package
    return importlib.import_module("explorer_classes.node_data_builder")


@pytest.mark.explorer
def test_model_explorers_own_classes_write_the_same() -> None:
    classes = builder()
    named = replace(ONNX, excerpt=excerpt(at(3, FOUND), main="main_graph"))
    for outcome, graphs in ((named, data(named)), (ONNX, {"": data(ONNX)})):
        built = {
            graph: classes.GraphNodeData(
                **{**nodes, "results": {key: classes.NodeDataResult(**node) for key, node in nodes["results"].items()}}
            )
            for graph, nodes in graphs.items()
        }
        whole = classes.ModelNodeData(built) if "" not in built else built[""]
        theirs = json.loads(whole.to_json_string())
        assert without_defaults(theirs) == without_defaults(data(outcome))


def without_defaults(part: Any) -> Any:  # noqa: ANN401
    """Without what the classes write where nothing was said."""
    if isinstance(part, dict):
        return {key: without_defaults(value) for key, value in part.items() if value not in ([], False)}
    return part


@pytest.mark.parametrize(
    ("format_", "graph", "expected"),
    [
        ("onnx", "function local.ops.outer", ("[function]local.ops::outer", "")),
        ("tflite", "function local.ops.outer", ("a name", "")),
        ("onnx", "main//a/if.else_branch", ("the main graph", "/a/if/else_branch/")),
        ("onnx", "main//a/loop.body", ("/a/loop/body", "")),
        ("tflite", "main//a/loop.body", ("a name", "")),
        ("onnx", "main", ("the main graph", "")),
        ("onnx", "other", (None, "")),
        ("onnx", "main/If#2.then_branch", ("", "")),
        ("onnx", "main/if.then_branch", ("the main graph", "if/then_branch/")),
    ],
)
def test_a_graph_is_called_by_the_rule_of_its_format(
    format_: str, graph: str, expected: tuple[str | None, str]
) -> None:
    names = {"main": "the main graph", **({graph: "a name"} if format_ == "tflite" else {})}
    assert node_data._graph_id(format_, graph, names) == expected
