"""Node data for Google's Model Explorer: the nodes that sites are about, coloured on the graph of the model.

The viewer finds a node by its graph and its id. In a TFLite file that is the operator's place in its subgraph. For ONNX
the adapter takes the node's name, and `NODE/ATTRIBUTE` for a body; nodes without a name it counts, which is done here
where the whole model is known and has no body: else they are left out, and the title says how many.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from graphfix.report.text import Entry, counted, printable
from graphfix.results import Outcome, Site
from graphfix.results.excerpt import Excerpt

COLOURS: Mapping[str, tuple[str, str]] = {
    "left": ("#b3261e", "#ffffff"),
    "found": ("#f9a825", "#000000"),
    "changed": ("#1b6e3c", "#ffffff"),
    "exempt": ("#d0d7de", "#000000"),
}
"""Of a node and of its text, by the status of its sites; of several the first here counts."""
INPUT, VALUE, MODEL = "input", "value", "model"
"""The operators of sites that are about no node."""
BRANCHES = ("then_branch", "else_branch")
"""The bodies of If, which the adapter for ONNX draws inside the graph around it."""
MAIN, UNNAMED = "main", ""
NOTHING = Excerpt((), 0)
Places: TypeAlias = Mapping[tuple[str, str], str]
"""By graph and node, as a site names them: the viewer's id."""


def node_data_text(entries: Sequence[Entry]) -> str:
    """The nodes by graph; of one graph whose name is not known its nodes alone, which any graph shows."""
    graphs: dict[str | None, Any] = {}
    for entry in entries:
        if isinstance(entry, Outcome):
            graphs |= _graphs(entry)
    if len(graphs) == 1 and None in graphs:
        return f"{json.dumps(graphs[None], indent=2)}\n"
    return json.dumps({printable(name or "main"): graph for name, graph in graphs.items()}, indent=2) + "\n"


def _graphs(outcome: Outcome) -> dict[str | None, Any]:
    """By graph, as the viewer calls it, what it shows; None is one whose name only the file says."""
    ids = _tflite_id if outcome.format == "tflite" else _onnx_id
    drawn = outcome.excerpt or NOTHING
    places = _places(drawn) if outcome.format == "tflite" else _counted_nodes(drawn)
    graphs: dict[str | None, dict[str, list[Site]]] = {}
    hidden: set[tuple[str, str]] = set()
    for site in outcome.sites:
        if site.op == MODEL or (site.op == VALUE and outcome.format == "onnx"):
            continue
        (graph, prefix), node = _graph_id(outcome.format, site.graph, drawn.names), ids(site, places)
        if node is None or graph == UNNAMED:
            hidden.add((site.graph, site.node))
        else:
            graphs.setdefault(graph, {}).setdefault(f"{prefix}{node}", []).append(site)
    title = f"graphfix {outcome.command}" + (f", target {outcome.target}" if outcome.target else "")
    title += f" ({counted(len(hidden), 'node')} without a name not shown)" if hidden else ""
    return {graph: _graph(title, nodes) for graph, nodes in graphs.items()}


def _graph(title: str, nodes: Mapping[str, Sequence[Site]]) -> dict[str, Any]:
    return {
        "name": printable(title),
        "results": {node: _result(about) for node, about in nodes.items()},
        "showExpandedSummaryOnGroupNode": True,
    }


def _result(sites: Sequence[Site]) -> dict[str, str]:
    """`GF101 GF102 found` on the colour of that."""
    statuses = {site.status for site in sites}
    status = next(each for each in COLOURS if each in statuses)
    codes = sorted({site.code for site in sites if site.status == status})
    colour, text = COLOURS[status]
    return {"value": printable(f"{' '.join(codes)} {status}"), "bgColor": colour, "textColor": text}


# --- the viewer's names -----------------------------------------------------------------------------------------------


def _tflite_id(site: Site, places: Places) -> str | None:
    """The operator's place: its label has it too. A value is found by the name of its tensor."""
    if site.op in (INPUT, VALUE):
        return site.node
    return places.get((site.graph, site.node)) or _number(site.node, re.escape(site.op))


def _places(excerpt: Excerpt) -> dict[tuple[str, str], str]:
    """The place of each operator in its subgraph, where an excerpt says it."""
    return {(node.graph, node.node): str(node.position) for node in excerpt.nodes if node.position is not None}


def _onnx_id(site: Site, places: Places) -> str | None:
    """The node's name; None where it has none, and nobody knows how the adapter counts it."""
    if site.op == INPUT:
        return f"[value] {site.node}"
    unnamed = _number(site.node, re.escape(site.op)) is not None
    return places.get((site.graph, site.node)) if unnamed else site.node


def _counted_nodes(excerpt: Excerpt) -> dict[tuple[str, str], str]:
    """`node`, `node_1` ...: the nodes without a name, as the adapter counts them; nothing where that can't be said."""
    nodes = sorted(
        ((node.position, node) for node in excerpt.nodes if node.position is not None), key=lambda pair: pair[0]
    )
    is_complete = not excerpt.left_out and [at for at, _ in nodes] == list(range(len(nodes)))
    if not is_complete or any(node.graph != MAIN for _, node in nodes):
        return {}
    unnamed = [node.node for _, node in nodes if _number(node.node, re.escape(node.op)) is not None]
    ids = {(MAIN, name): f"node_{at}" if at else "node" for at, name in enumerate(unnamed)}
    return {} if {node.node for _, node in nodes} & set(ids.values()) else ids


def _number(node: str, operator: str = "[^/]+") -> str | None:
    """The 3 of `Add#3`, a node that the file gives no name."""
    number = re.fullmatch(rf"{operator}#(\d{{1,9}})", node)
    return number[1] if number else None


def _graph_id(format_: str, graph: str, names: Mapping[str, str]) -> tuple[str | None, str]:
    """What the viewer calls a graph, and what it puts in front of the names of its nodes.

    None is one whose name only the file says, UNNAMED the body of a node without a name.
    """
    if format_ == "onnx" and graph.startswith("function "):
        domain, _, name = graph.removeprefix("function ").rpartition(".")
        return f"[function]{domain}::{name}", ""
    if format_ == "onnx" and "/" in graph:
        node, _, attribute = graph.removeprefix(f"{MAIN}/").rpartition(".")
        if _number(node) is not None:
            return UNNAMED, ""
        return (names.get(MAIN), f"{node}/{attribute}/") if attribute in BRANCHES else (f"{node}/{attribute}", "")
    return names.get(graph), ""
