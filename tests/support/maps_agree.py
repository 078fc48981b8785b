"""The indexing maps of a file as `show --maps` prints them beside those that the proof gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import graphfix
from graphfix import api
from graphfix.checker.proof.core.indexing_maps import Read, Reads
from tests.support.proving import maps

Maps = Mapping[int, str]
"""By operand: `(d0, d1) -> (0, d1)`."""


@dataclass
class Compared:
    """What was found in one file."""

    nodes: list[str] = field(default_factory=list)
    """The operator of each node that both sides gave maps for."""
    same: int = 0
    """How many were the same text; the others differ in what is known of a size."""
    shown_only: list[str] = field(default_factory=list)
    proved_only: list[str] = field(default_factory=list)
    unknown: list[tuple[str, bool, bool]] = field(default_factory=list)
    """(operator, whether `show` does not know its maps, whether the proof does not)."""
    differing: list[str] = field(default_factory=list)


def shown(path: Path) -> Iterator[tuple[str, str, str, Maps | None]]:
    """(scope, node, operator, maps) of what `show --maps` prints; None where it says that they are not known."""
    lines = list(api.show(path, maps=True))
    for graph in graphfix.load(path).graphs:
        at = lines.index(f"{graph.path}:") + 1 + len(graph.inputs)
        for node in graph.nodes:
            assert lines[at][4:].startswith(str(node).partition("(")[0])  # constants show their elements behind it
            at, found, unknown = at + 1, dict[int, str](), False
            while at < len(lines) and lines[at].startswith("      "):
                what, _, text = lines[at].strip().partition(": ")
                unknown = unknown or what == "maps"
                if what.startswith("operand "):
                    found[int(what.split()[1])] = text
                at += 1
            if found or unknown:
                yield graph.path, node.label, node.op, None if unknown else found


def compared(path: Path) -> Compared:
    """Hold both sides of one file beside each other, node by node; a function's are those of each call."""
    given: dict[tuple[str, str], list[Reads]] = {}
    for each in maps(path, tflite=path.suffix == ".tflite"):
        given.setdefault((each.graph, each.label), []).append(each)
    done = Compared()
    for scope, label, op, printed in shown(path):
        readings = given.pop((scope, label), [])
        if not scope.startswith("function "):  # a name may serve several nodes: the next is for the next
            given[scope, label], readings = readings[1:], readings[:1]
        if not readings:
            done.shown_only.append(op)
        for reading in readings:
            if printed is None or reading.reads is None:
                done.unknown.append((op, printed is None, reading.reads is None))
                continue
            done.nodes.append(op)
            proved = {read.operand: read.map for read in reading.reads}
            done.same += proved == printed
            if not agreeing(printed, reading.reads):
                done.differing.append(f"{path.name}: {scope}: {label}: {printed} is shown, {proved} is proved")
    done.proved_only += [reading.op for readings in given.values() for reading in readings]
    return done


def agreeing(shown: Maps, proved: Sequence[Read]) -> bool:
    """Whether two sides say the same of every operand."""
    return list(shown) == [read.operand for read in proved] and all(
        _alike(shown[read.operand], read) for read in proved
    )


def _alike(text: str, read: Read) -> bool:
    """Whether two maps are one, whatever is known of sizes.

    What may be 1 at run time is `d1?` to the one and may be `d1` or `0` to the other; an axis of size 1 is `0` where
    the size that it meets is not known to be 1, and `d1` where it is.
    """
    (space, one), (other_space, two) = (whole.removesuffix(")").split(") -> (") for whole in (text, read.map))
    mine, theirs = ([part for part in results.split(", ") if part] for results in (one, two))
    if space != other_space or not len(mine) == len(theirs) == len(read.sizes):
        return False
    return all(
        a.rstrip("?") == b.rstrip("?") or ("0" in (a, b) and (size == 1 or "?" in a + b))
        for a, b, size in zip(mine, theirs, read.sizes, strict=True)
    )
