"""Node data for Google's Model Explorer, which colours the nodes with sites on the graph of the model.

The viewer finds a node by its graph and an id. For a TFLite file the id is the operator's index in its subgraph. For
ONNX it is the node's name, or `NODE/ATTRIBUTE` for a body. ONNX nodes without a name are numbered by the viewer's
adapter. The numbers are reproduced here if the excerpt contains the whole model and the model has no body. Otherwise
such nodes are omitted, and the title says how many.
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
"""By status: the colours of a node and of its text. A node with several statuses has the first of these."""
INPUT, VALUE, MODEL = "input", "value", "model"
"""The operators of sites that are not about a node."""
BRANCHES = ("then_branch", "else_branch")
"""The bodies of If, which the ONNX adapter draws inside the surrounding graph."""
MAIN, UNNAMED = "main", ""
NOTHING = Excerpt((), 0)
Places: TypeAlias = Mapping[tuple[str, str], str]
"""By (graph, node) of a site: the viewer's id."""


def node_data_text(entries: Sequence[Entry]) -> str:
    """Return the JSON text: the nodes by graph, or the nodes alone for a single graph without a known name."""
    graphs: dict[str | None, Any] = {}
    for entry in entries:
        if isinstance(entry, Outcome):
            graphs |= _graphs(entry)
    if len(graphs) == 1 and None in graphs:
        return f"{json.dumps(graphs[None], indent=2)}\n"
    return json.dumps({printable(name or "main"): graph for name, graph in graphs.items()}, indent=2) + "\n"


def _graphs(outcome: Outcome) -> dict[str | None, Any]:
    """Return the viewer's data by name of a graph; None is a graph whose name is unknown."""
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
    """Return the viewer's entry for a node: a text such as `GF101 GF102 found`, and colours."""
    statuses = {site.status for site in sites}
    status = next(each for each in COLOURS if each in statuses)
    codes = sorted({site.code for site in sites if site.status == status})
    colour, text = COLOURS[status]
    return {"value": printable(f"{' '.join(codes)} {status}"), "bgColor": colour, "textColor": text}


# --- the viewer's names -----------------------------------------------------------------------------------------------


def _tflite_id(site: Site, places: Places) -> str | None:
    """Return the operator's index, which is also in its label; for a value, the name of its tensor."""
    if site.op in (INPUT, VALUE):
        return site.node
    return places.get((site.graph, site.node)) or _number(site.node, re.escape(site.op))


def _places(excerpt: Excerpt) -> dict[tuple[str, str], str]:
    """Return the index of each operator in its subgraph, as far as the excerpt contains the operator."""
    return {(node.graph, node.node): str(node.position) for node in excerpt.nodes if node.position is not None}


def _onnx_id(site: Site, places: Places) -> str | None:
    """Return the node's name; None for a node without a name whose number in the adapter is unknown."""
    if site.op == INPUT:
        return f"[value] {site.node}"
    unnamed = _number(site.node, re.escape(site.op)) is not None
    return places.get((site.graph, site.node)) if unnamed else site.node


def _counted_nodes(excerpt: Excerpt) -> dict[tuple[str, str], str]:
    """Return the adapter's ids `node`, `node_1` ...

    of the nodes without a name; empty if the excerpt is not the whole model.
    """
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
    """Return the 3 of `Add#3`, the label of a node without a name; None for any other label."""
    number = re.fullmatch(rf"{operator}#(\d{{1,9}})", node)
    return number[1] if number else None


def _graph_id(format_: str, graph: str, names: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the viewer's name of a graph, and the prefix of the ids of its nodes.

    The name is None if only the file contains it, and UNNAMED for the body of a node without a name.
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
