"""Print the notation of a model's nodes before and after its edits as a unified diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from graphfix.report.colour import Paint, Style, plain
from graphfix.report.text import printable
from graphfix.results import Change, Outcome
from graphfix.results.records import dataclass, field

CONTEXT = 3
"""The number of unchanged lines that are printed on each side of a change."""


@dataclass(slots=True)
class _Hunk:
    """A block of neighbouring lines, and the number of lines before it on each side of the diff."""

    graph: str
    before: int
    after: int
    lines: list[str] = field(default_factory=list)

    def text(self, paint: Paint) -> Iterator[str]:
        """Yield the heading with both ranges, then the lines; removed lines precede the lines that replace them."""
        gone = sum(line[0] != "+" for line in self.lines)
        come = sum(line[0] != "-" for line in self.lines)
        ranges = f"-{_range(self.before, gone)} +{_range(self.after, come)}"
        yield f"{paint(f'@@ {ranges} @@', 'lifted')} {printable(self.graph)}"
        for _, lines in groupby(self.lines, key=lambda line: line[0] != " "):
            ordered = sorted(lines, key=lambda line: line[0] == "+")
            yield from (paint(line, STYLES[line[0]]) if line[0] in STYLES else line for line in ordered)


STYLES: dict[str, Style] = {"-": "removed", "+": "added"}


def diff_lines(outcome: Outcome, paint: Paint = plain) -> Iterator[str]:
    """Yield the lines of a unified diff, as `diff -u` writes them; yield nothing if nothing changed.

    Each line is the notation of a node. Lines are numbered graph by graph.
    """
    name = printable(outcome.source)
    hunks = [hunk for _, nodes in groupby(outcome.changes, key=lambda each: each.graph) for hunk in _hunks(list(nodes))]
    if hunks:
        yield from (paint(f"{sign} {name} ({when})", "heading") for sign, when in (("---", "before"), ("+++", "after")))
    for hunk in hunks:
        yield from hunk.text(paint)


def _hunks(nodes: Sequence[Change]) -> Iterator[_Hunk]:
    """Yield the changes of one graph with their context lines; changes that are close to each other share a hunk."""
    hunk: _Hunk | None = None
    before = after = last = 0
    for at, node in enumerate(nodes):
        if node.before != node.after:
            if hunk is not None and at - last > 2 * CONTEXT + 1:
                hunk.lines += _same(nodes[last + 1 : last + 1 + CONTEXT])
                yield hunk
                hunk = None
            around = nodes[max(at - CONTEXT, 0) : at] if hunk is None else nodes[last + 1 : at]
            hunk = hunk or _Hunk(node.graph, before - len(around), after - len(around))
            hunk.lines += [*_same(around), *_changed(node)]
            last = at
        before += node.before is not None
        after += node.after is not None
    if hunk is not None:
        hunk.lines += _same(nodes[last + 1 : last + 1 + CONTEXT])
        yield hunk


def _same(nodes: Sequence[Change]) -> list[str]:
    return [f" {printable(node.before or '')}" for node in nodes]


def _changed(node: Change) -> Iterator[str]:
    for sign, text in (("-", node.before), ("+", node.after)):
        if text is not None:
            yield f"{sign}{printable(text)}"


def _range(start: int, length: int) -> str:
    """Return a range of lines in the notation of unified diffs: lines are counted from 1.

    For an empty range, the number is that of the line before it.
    """
    first = start + 1 if length else start
    return f"{first}" if length == 1 else f"{first},{length}"
