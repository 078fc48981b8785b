"""Extract the nodes that a report draws: nodes with sites and their neighbours, before and after the edits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from graphfix.engine.open_sizes import aligned
from graphfix.graph.broadcast import Alignment
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import Change, Site
from graphfix.results.excerpt import Excerpt, NodeExcerpt, OperandAxis, OperandExcerpt
from graphfix.results.records import dataclass

STEPS = 2
"""The most edges between a node with a site and a neighbour that is drawn."""
BITS = r"[a-z]+(\d+)"
Key = tuple[str, str]
"""A node's identity: the path of its graph and its first result's name. Edits keep both."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a view's nodes at one time, in order, with the edges between them."""

    nodes: Mapping[Key, Node]
    reads: Mapping[Key, tuple[Key, ...]]
    """By node: the nodes whose results it reads, also inside its bodies."""
    dead: AbstractSet[Key]
    """The nodes whose results contribute to no output."""


def snapshot(graphs: Sequence[Graph]) -> Snapshot:
    """Return the present nodes of all graphs. An inserted node precedes its first reader."""
    nodes = {_key(node): node.reading(node.operands) for graph in graphs for node in _in_order(graph)}
    makers = {result: key for key, node in nodes.items() for result in node.results if result is not None}
    reads = {key: tuple(dict.fromkeys(_makers(node, makers))) for key, node in nodes.items()}
    return Snapshot(nodes, reads, _dead(nodes, reads))


def excerpt(before: Snapshot, after: Snapshot, sites: Sequence[Site]) -> Excerpt:
    """Return the nodes with sites and the nodes at most STEPS edges away, before and after the edits."""
    after = without_taken(after, before)
    both = merged(list(before.nodes), list(after.nodes))
    site_names = _named(sites, before, after)
    near = _near(set(site_names), before, after)
    nodes = [_node(key, before, after, near, site_names.get(key)) for key in both if key in near]
    return Excerpt(nodes, STEPS, len(both) - len(near))


def without_taken(after: Snapshot, before: Snapshot) -> Snapshot:
    """Return the snapshot `after` without the nodes that edits removed.

    A removed node stays in the view, but it reads nothing, or no output depends on it any more.
    """
    dead = after.dead - before.dead
    nodes = {
        key: node
        for key, node in after.nodes.items()
        if key not in dead and (node.operands or (key in before.nodes and not before.nodes[key].operands))
    }
    reads = {key: tuple([each for each in after.reads[key] if each in nodes]) for key in nodes}
    return Snapshot(nodes, reads, after.dead)


def _dead(nodes: dict[Key, Node], reads: Mapping[Key, Sequence[Key]]) -> AbstractSet[Key]:
    """Return the nodes whose results contribute to no output; `nodes` are in execution order."""
    dead: set[Key] = set()
    read: set[Key] = set()
    for key, node in reversed(nodes.items()):
        if key in read or any(result in node.graph.outputs for result in node.results):
            read.update(reads[key])
        else:
            dead.add(key)
    return dead


def _in_order(graph: Graph) -> Iterator[Node]:
    """Yield the nodes of a graph; each inserted node precedes the first node that reads it."""
    made = {result: node for node in graph.made if node.operands for result in node.results}
    seen: set[int] = set()
    for node in graph.nodes:
        waiting = [node]
        while waiting:  # A stack instead of recursion: a long chain of inserted nodes may precede one node.
            last = waiting[-1]
            missing = [made[value] for value in last.operands if value in made and made[value].index not in seen]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if last.index >= 0:
                yield last
            elif last.index not in seen:
                seen.add(last.index)
                yield last


def _key(node: Node) -> Key:
    first = next((result.name for result in node.results if result is not None), f" {node.label}")
    return node.graph.path, first


def _named(sites: Sequence[Site], before: Snapshot, after: Snapshot) -> dict[Key, str]:
    """Return by key the name that sites use for each node with a site.

    The label of an unnamed node contains its index in a view, so both views are searched.
    """
    keys: dict[tuple[str, str], Key] = {}
    for view in (before, after):
        for key, node in view.nodes.items():
            keys.setdefault((node.graph.path, node.label), key)
    pairs = ((keys.get((site.graph, site.node)), site.node) for site in sites)
    return {key: name for key, name in pairs if key is not None}


def _makers(node: Node, makers: Mapping[Value, Key]) -> Iterator[Key]:
    yield from (makers[value] for value in node.operands if value is not None and value in makers)


def merged(before: Sequence[Key], after: Sequence[Key]) -> list[Key]:
    """Return the nodes of both lists in one order: a node of `after` alone precedes the next node that is in both."""
    keys_before = set(before)
    follows: dict[Key | None, list[Key]] = {}
    waiting: list[Key] = []
    for key in after:
        if key in keys_before:
            follows[key] = waiting
            waiting = []
        else:
            waiting.append(key)
    return [each for key in before for each in (*follows.get(key, ()), key)] + waiting


def _near(site_keys: set[Key], before: Snapshot, after: Snapshot) -> set[Key]:
    """Return the keys at most STEPS edges away from those in `site_names`, along edges of either snapshot."""
    edges: dict[Key, set[Key]] = {}
    for reads in (before.reads, after.reads):
        for key, makers in reads.items():
            for maker in makers:
                edges.setdefault(key, set()).add(maker)
                edges.setdefault(maker, set()).add(key)
    near = set(site_keys)
    edge_of = set(site_keys)
    for _ in range(STEPS):
        edge_of = {other for key in edge_of for other in edges.get(key, ())} - near
        near |= edge_of
    return near


def _node(key: Key, before: Snapshot, after: Snapshot, near: set[Key], name: str | None) -> NodeExcerpt:
    """Return the excerpt of one node; `name` is the name that its sites use, or None if it has no site."""
    was, now = before.nodes.get(key), after.nodes.get(key)
    node = was or after.nodes[key]
    alignment = aligned(was) if was is not None and name is not None else None
    ranked = alignment is not None and alignment.result.ranked
    return NodeExcerpt(
        key=_text(key),
        graph=key[0],
        node=node.label if name is None else name,
        op=node.op,
        position=was.index if was is not None else None,
        before=str(was) if was is not None else None,
        after=str(now) if now is not None else None,
        reads_before=[_text(each) for each in before.reads.get(key, ()) if each in near],
        reads_after=[_text(each) for each in after.reads.get(key, ()) if each in near],
        space=alignment.result.json if alignment is not None and ranked else None,
        operands=list(_operands(alignment)) if alignment is not None and ranked else (),
        site=name is not None,
    )


def _text(key: Key) -> str:
    return "/".join(key)


def _operands(alignment: Alignment) -> Iterator[OperandExcerpt]:
    for operand in alignment.operands:
        lifted = alignment.result.rank - operand.shape.rank
        axes = [
            OperandAxis(axis - lifted if axis >= lifted else None, stretched)
            for axis, stretched in enumerate(alignment.stretches(operand))
        ]
        value = operand.value
        matrix = value.shape.json[operand.shape.rank :] if value.shape.json is not None else ()
        yield OperandExcerpt(operand.index, value.name, value.shape.json, axes, matrix, _itemsize(value.dtype))


def _itemsize(dtype: str) -> int | None:
    """Return the bytes of an element; None for texts, and for elements smaller than a byte."""
    bits = re.match(BITS, dtype)
    if bits is None:
        return 1 if dtype == "bool" else None
    return int(bits[1]) // 8 or None


def changes(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Yield each node's notation before and after the edits, in one order, for the lines of a diff.

    The time is linear in the number of nodes. A node is identified by its graph and its first result.
    """
    after = without_taken(after, before)
    for key in merged(list(before.nodes), list(after.nodes)):
        yield Change(key[0], _notation(before.nodes.get(key)), _notation(after.nodes.get(key)))


def _notation(node: Node | None) -> str | None:
    if node is None:
        return None
    return f"{node}    # {node.name}" if node.name else str(node)
