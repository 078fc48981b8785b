"""Node data for Google's Model Explorer: the nodes that sites are about, coloured on the graph of the model.

The viewer finds a node by its graph and its id. For TFLite that is the operator's place in its subgraph; the ONNX
adapter takes the node's name, `<node_3>` for one without, and `NODE/ATTRIBUTE` for a body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphfix.report.text import Entry, printable
from graphfix.results import Outcome, Site

COLOURS: Mapping[str, tuple[str, str]] = {
    "left": ("#b3261e", "#ffffff"),
    "found": ("#f9a825", "#000000"),
    "changed": ("#1b6e3c", "#ffffff"),
    "exempt": ("#d0d7de", "#000000"),
}
"""Of a node and of its text, by the status of its sites; of several the first here counts."""
INPUT, MODEL = "input", "model"
"""The operators of sites that are about no node."""


def node_data_text(entries: Sequence[Entry]) -> str:
    """The nodes by graph; of one graph whose name is not known its nodes alone, which any graph shows."""
    graphs: dict[str, Any] = {}
    unknown: set[str] = set()
    for entry in entries:
        if isinstance(entry, Outcome):
            names = entry.excerpt.names if entry.excerpt is not None else {}
            for graph, sites in _by_graph(entry).items():
                key = _graph_id(entry.format, graph, names)
                graphs[printable(key or graph)] = _graph(entry, sites)
                unknown |= {graph} if key is None else set()
    alone = len(graphs) == 1 and bool(unknown)
    return json.dumps(next(iter(graphs.values())) if alone else graphs, indent=2) + "\n"


def _by_graph(outcome: Outcome) -> dict[str, list[Site]]:
    graphs: dict[str, list[Site]] = {}
    for site in outcome.sites:
        if site.op != MODEL:
            graphs.setdefault(site.graph, []).append(site)
    return graphs


def _graph(outcome: Outcome, sites: Sequence[Site]) -> dict[str, Any]:
    positions = _positions(outcome)
    nodes: dict[str, list[Site]] = {}
    for site in sites:
        nodes.setdefault(_node_id(outcome.format, site, positions), []).append(site)
    target = f", target {outcome.target}" if outcome.target else ""
    return {
        "name": printable(f"graphfix {outcome.command}{target}"),
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


def _positions(outcome: Outcome) -> dict[tuple[str, str], int]:
    """The place of each node in its graph, where an excerpt says it."""
    nodes = outcome.excerpt.nodes if outcome.excerpt is not None else ()
    return {(node.graph, node.node): node.position for node in nodes if node.position is not None}


def _node_id(format_: str, site: Site, positions: Mapping[tuple[str, str], int]) -> str:
    if site.op == INPUT:
        return f"[value] {site.node}" if format_ == "onnx" else site.node
    counted = _counted(site.node, re.escape(site.op))
    position = positions.get((site.graph, site.node), counted)
    if position is None or (format_ == "onnx" and counted is None):
        return site.node
    return f"<node_{position}>" if format_ == "onnx" else str(position)


def _counted(node: str, operator: str = "[^/]+") -> int | None:
    """The 3 of `Add#3`, a node that the file gives no name."""
    number = re.fullmatch(rf"{operator}#(\d{{1,9}})", node)
    return int(number[1]) if number else None


def _graph_id(format_: str, graph: str, names: Mapping[str, str]) -> str | None:
    """What the viewer calls a graph; None where only the file says it and nobody has read that."""
    if format_ == "onnx" and graph.startswith("function "):
        domain, _, name = graph.removeprefix("function ").rpartition(".")
        return f"[function]{domain}::{name}"
    if format_ == "onnx" and "/" in graph:
        node, _, attribute = graph.removeprefix("main/").rpartition(".")
        number = _counted(node)
        return f"{node if number is None else f'<node_{number}>'}/{attribute}"
    return names.get(graph)
