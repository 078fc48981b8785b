"""Where the sizes were lost that decide whether a node stretches: the first operator whose result has a new name.

    python -m sizes_tables.lost MODEL < NODES        in scripts/

NODES is a JSON list of pairs of graph and node. Prints a JSON list: for each the operator that made the size (or the
rank) that is not known by the sizes before it, or INPUTS where all names are of inputs. Uses graphfix's view: the one
of the installation that is measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import graphfix

INPUTS = "sizes of several inputs"
LOST = "?"
"""What the name of a size begins with that is one value's: `?VALUE.AXIS`; a computed size is `?={..}`."""


def cause(node: Any, makers: Mapping[str, tuple[int, Any]]) -> str:  # noqa: ANN401 - a node of any graphfix
    """Return the operator of the first maker of a name that the operands' shapes differ by."""
    shapes = [value.shape for value in node.operands if value is not None]
    if any(shape.axes is None for shape in shapes):
        return f"{_unranked(node).op} (rank)"
    rank = max(len(shape.axes) for shape in shapes)
    names: set[str] = set()
    for axis in range(1, rank + 1):
        sizes = [shape.axes[-axis] for shape in shapes if len(shape.axes) >= axis]
        parts = {getattr(size, "parts", (str(size),)) for size in sizes if size != 1}
        if len(parts) > 1 or parts == {()}:
            names.update(name for each in parts for name in each)
            names.update(() if () not in parts else {""})
    return _first(names, makers) or (f"after {_maker(node, makers)}" if "" in names else INPUTS)


def _first(names: set[str], makers: Mapping[str, tuple[int, Any]]) -> str | None:
    """Return the first operator, in the order of execution, of which one of the names speaks."""
    found = [made for value, made in makers.items() if any(f"{LOST}{value}." in name for name in names)]
    return min(found, key=lambda made: made[0])[1].op if found else None


def _maker(node: Any, makers: Mapping[str, tuple[int, Any]]) -> str:  # noqa: ANN401 - a node of any graphfix
    made = [makers[value.name][1].op for value in node.operands if value is not None and value.name in makers]
    return made[0] if made else "input"


def _unranked(node: Any) -> Any:  # noqa: ANN401 - a node of any graphfix
    """Follow the values whose rank is not known to the first node that makes one."""
    for value in node.operands:
        if value is not None and value.shape.axes is None and value.producer is not None:
            return _unranked(value.producer)
    return node


def main() -> int:
    """Print the causes."""
    nodes = [tuple(each) for each in json.load(sys.stdin)]
    found: dict[tuple[str, str], str] = {}
    for graph in graphfix.load(sys.argv[1]).graphs:
        makers = {
            value.name: (at, node) for at, node in enumerate(graph.nodes) for value in node.results if value is not None
        }
        for node in graph.nodes:
            if (graph.path, node.label) in nodes:
                found[graph.path, node.label] = cause(node, makers)
    print(json.dumps([found.get((graph, node), "not found") for graph, node in nodes]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
