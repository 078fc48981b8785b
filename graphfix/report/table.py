"""Print the answer of a command for one model: a headline, the sites, the verdict, and the seconds."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias

from graphfix.report.colour import Paint, Style, plain
from graphfix.report.findings.selection import may_be_own
from graphfix.report.text import (
    counted,
    findings,
    folds,
    node_reason,
    node_text,
    operand_text,
    printable,
    seconds_text,
    shape_text,
    sites_left_text,
    tally,
)
from graphfix.report.tosa import conversion_lines, unconverted
from graphfix.report.verdict import assumed, noted_lines, tolerance_lines, unproved_lines, verdict_text
from graphfix.results import OpenSizes, Outcome, Site
from graphfix.results.records import dataclass
from graphfix.results.sites import Kind, kinds, of_node, rows

REMOVED = "GF203"
"""The code of sites that remove a node; no operand becomes explicit by them."""
LIMITS = frozenset({"GF301", "GF302", "GF304", "GF305"})
"""The codes of findings about what the target can't accept."""
QUOTED = r"'[^']*'"
"""A regular expression for the name of a value in a reason."""
GROUPED = 2000
"""The most operands that are compared to group similar ones. Of more operands, only the first lines are printed."""
STYLES: Mapping[str, Style] = MappingProxyType(
    {"clean": "good", "nothing": "good", "equal": "good", "proved": "good", "different": "bad", "contradicted": "bad"}
)
"""By first word of an answer: whether it is good or bad. Any other word is printed as a doubt."""
TableRow: TypeAlias = tuple[str, str, str, str, str, str]
"""The cells of a row: `found` or "", codes, operator, node, operand, shapes."""
Operand: TypeAlias = tuple[str, str, int | None]
"""An operand: graph, node and index; the index is None for a whole node."""
DONE = ("changed", "found")
"""The statuses of sites that were edited or found."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """The most lines of each kind that the table shows."""

    edited: int
    """For operands that were made explicit or found."""
    staying: int
    """For operands that stay, for each status."""
    open: int
    """For unknown sizes."""
    assumed: int
    grouped: bool = True
    """Whether similar sites share a line."""


SHORT = Lengths(20, 6, 4, 5)
WHOLE = Lengths(sys.maxsize, sys.maxsize, sys.maxsize, sys.maxsize, grouped=False)


def table(outcome: Outcome, paint: Paint = plain, *, is_complete: bool = False, is_piped: bool = False) -> str:
    """Return the answer for one model as lines. Long lists are cut unless `is_complete`.

    `is_piped`: the written model went to stdout.
    """
    lengths = WHOLE if is_complete else SHORT
    alike = kinds(outcome.sites)
    lines = [headline(outcome, paint, alike)]
    proved_under = assumed(outcome)
    if outcome.command == "verify":
        lines += [*_assumed(proved_under, lengths), *noted_lines(outcome.verdict), *unproved_lines(outcome.verdict)]
        lines += tolerance_lines(outcome.verdict)
    lines += _sites(outcome.sites, alike, lengths, paint)
    lines += [*_open(outcome.open_sizes, lengths), *_assumed(outcome.assumes, lengths)]
    lines += [f"  {printable(text)}" for text in outcome.notes]
    if outcome.command in ("fix", "tosa"):
        lines += [_fixed(outcome, paint), *_assumed(proved_under, lengths)]
        lines += [*noted_lines(outcome.verdict), *unproved_lines(outcome.verdict)]
    lines += conversion_lines(outcome)
    if outcome.seconds:
        lines.append(seconds_text(outcome.seconds))
    if outcome.sites_left:
        lines.append(sites_left_text(outcome, is_piped=is_piped))
    return "\n".join(lines)


def unwritten(outcome: Outcome) -> str:
    """Return why `fix` or `tosa` wrote nothing, for users who don't see the table."""
    return unconverted(outcome) or f"{printable(outcome.source)}: nothing written, {_fixed(outcome)}"


def headline(outcome: Outcome, paint: Paint = plain, alike: Sequence[Kind] | None = None) -> str:
    """Return the files and the result of a command in one line.

    `alike` are the sites by kind, if they are known already.
    """
    match outcome.command:
        case "verify":
            files = f"{printable(outcome.source)}, {printable(outcome.output or '')}"
        case "check":
            files = printable(outcome.source)
        case _:
            files = _files(outcome)
    return f"{files}: {answer(outcome, paint, alike)}"


def answer(outcome: Outcome, paint: Paint = plain, alike: Sequence[Kind] | None = None) -> str:
    """Return the result of a command in a sentence without file names."""
    alike = kinds(outcome.sites) if alike is None else alike
    match outcome.command:
        case "verify":
            return _verdict(outcome, paint)
        case "check":
            suppressed_text = f", {outcome.suppressed} in the baseline" * bool(outcome.suppressed)
            return f"{_coloured(_found(outcome), paint)}{_kept(outcome, alike)}{suppressed_text}"
        case _:
            return f"{_made(outcome, done(alike))}{_kept(outcome, alike)}"


def _files(outcome: Outcome) -> str:
    why = " (dry run)" if outcome.dry_run else ""
    to = " -> " + printable(outcome.output) if outcome.output is not None else f": nothing written{why}"
    return f"{printable(outcome.source)}{to}"


def _fixed(outcome: Outcome, paint: Paint = plain) -> str:
    verdict = _verdict(outcome, paint)
    undecided = outcome.verdict is not None and outcome.verdict.status == "undecided"
    kept_back = undecided and outcome.output is None and outcome.conversion is None
    return f"{verdict}; --no-verify writes it unverified" if kept_back else verdict


def _verdict(outcome: Outcome, paint: Paint) -> str:
    return _coloured(verdict_text(outcome.verdict) if outcome.verdict is not None else "not verified", paint)


def _coloured(text: str, paint: Paint) -> str:
    """Return the text with its first word in colour."""
    word = text.split(maxsplit=1)[0].rstrip(":,")
    return f"{paint(word, STYLES.get(word, 'doubt'))}{text[len(word) :]}"


def _made(outcome: Outcome, edited: Sequence[Kind]) -> str:
    edits = sum(outcome.rewrites.values())
    if not edits:
        return _nothing(outcome)
    number = number_of_operands(
        (site, nodes)
        for site, nodes in edited
        if site.operand is not None and site.code != REMOVED and not may_be_own(site.code)
    )
    made = f"{counted(number, 'operand')} made explicit"
    if not number or folds(outcome):
        number = number_of_nodes(edited)
        made = f"{counted(number, 'node')} rewritten"
    by = f" by {counted(edits, 'edit')}" if edits != number else ""
    return f"{made}{by}{tally(outcome.rewrites)}"


def _nothing(outcome: Outcome) -> str:
    """Return the sentence for a model without edits."""
    if outcome.output is None:
        return "nothing had to be taken out" if folds(outcome) else "no operand had to be made explicit"
    copied = "" if outcome.conversion is not None else ", copied"
    stated = "; only what the file states was changed" if outcome.changed else copied
    return f"nothing to {'take out' if folds(outcome) else 'make explicit'}{stated}"


def _found(outcome: Outcome) -> str:
    codes = Counter(site.code for site in outcome.sites if site.status == "found")
    target = f" for target {printable(outcome.target)}" if outcome.target else ""
    if codes:
        return f"{counted(codes.total(), 'finding')}{target}{tally(dict(sorted(codes.items())))}"
    if _is_of_the_target(outcome):
        number = counted(len(findings(outcome)), "site")
        return f"{number} that target {printable(outcome.target or '')} can't take, and nothing that fix would change"
    if findings(outcome):
        return f"nothing that fix would change{target}"
    return f"clean{target}{', as far as it can be asked' if outcome.notes else ''}"


def _is_of_the_target(outcome: Outcome) -> bool:
    """Return whether all findings of a check are about what the target can't accept."""
    target_findings = findings(outcome)
    return (
        bool(target_findings)
        and outcome.target is not None
        and all(site.code in LIMITS for site in target_findings)
        and not any(site.status == "found" for site in target_findings)
    )


def _kept(outcome: Outcome, alike: Sequence[Kind]) -> str:
    counted_before = outcome.command == "check" and _is_of_the_target(outcome)
    statuses = Counter[str]()
    for site, nodes in alike:
        statuses[site.status] += 0 if counted_before and site.status == "left" else len(nodes)
    return "".join(f", {statuses[status]} {status}" for status in ("left", "exempt") if statuses[status])


def _sites(sites: Sequence[Site], alike: Sequence[Kind], lengths: Lengths, paint: Paint) -> Iterator[str]:
    """Yield the edited or found operands in columns, then the operands that stay as sentences."""
    number = number_of_operands(done(alike))
    looked_at = number if number <= GROUPED else min(lengths.edited, number)
    operands = first_operands(sites, looked_at)
    yield from _aligned([_row(node, steps) for (_, node, _), steps in operands.items()], lengths, paint)
    yield from _more(number - looked_at)
    statuses = {site.status for site, _ in alike}
    for status in ("left", "exempt"):
        if status in statuses:
            staying = [of_node(site, node) for node, site in rows(sites) if site.status == status]
            yield from _staying(staying, lengths, paint)


def _row(node: str, steps: Sequence[Site]) -> TableRow:
    """Return the row of one operand with all of its steps: `[4] -> [1,1,4] -> [2,3,4]`."""
    first = of_node(steps[0], node)
    shapes = [] if first.operand is None and first.before is None else [shape_text(first.before)]
    shapes += [shape_text(step.after) for step in steps if step.operand is not None or step.after is not None]
    shapes = [shape for shape, _ in groupby(shapes)]
    codes = " ".join(dict.fromkeys(step.code for step in steps))
    found = "found" if first.status == "found" else ""
    what = first.reason or ": ".join(filter(None, (" -> ".join(shapes), node_reason(first))))
    return (found, codes, printable(first.op), node_text(first), operand_text(first), printable(what))


def _aligned(rows: Sequence[TableRow], lengths: Lengths, paint: Paint) -> Iterator[str]:
    """Yield a line for each row. If there are too many, rows that differ only in their node share a line."""
    groups: dict[tuple[str, ...], list[TableRow]] = {}
    for number, row in enumerate(rows):
        groups.setdefault((*row[:3], *row[4:]) if len(rows) > lengths.edited else (str(number),), []).append(row)
    shown = list(groups.values())[: lengths.edited]
    table = [(row[0], row[1], _with_more(row[3], len(members)), *row[4:]) for members in shown for row in members[:1]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        cells[:2] = [paint(cells[0], "doubt"), paint(cells[1], "heading")]
        yield f"  {'  '.join(cell for cell, width in zip(cells, widths, strict=True) if width)}".rstrip()
    yield from _more(len(rows) - sum(map(len, shown)))


def _staying(sites: Sequence[Site], lengths: Lengths, paint: Paint) -> Iterator[str]:
    """Yield a line for each reason and operator: `left GF104 Mul 'x', operand 0: the rank of 'a' is not known`."""
    groups: dict[object, list[Site]] = {}
    for number, site in enumerate(sites):
        groups.setdefault(_alike(site) if lengths.grouped else number, []).append(site)
    shown = list(groups.values())[: lengths.staying]
    for members in shown:
        first = members[0]
        nodes = {(site.graph, site.node) for site in members}
        operands = sorted({site.operand for site in members if site.operand is not None})
        many = "s" * (len(operands) > 1)
        which = f", operand{many} {' and '.join(map(str, operands))}" if operands else ""
        where = f"{_with_more(node_text(first), len(nodes))}{which}"
        what = f"{paint(first.status, 'doubt')} {paint(first.code, 'heading')}"
        yield f"  {what} {where}: {printable(first.reason or 'no reason is given')}"
    yield from _more(len(sites) - sum(map(len, shown)))


def _alike(site: Site) -> tuple[str, str, str | None]:
    """Return the fields in which sites that share a line must agree.

    A free size appears in all later nodes, so all sites with GF302 share a line. The other limits of a target depend on
    the value in the reason and not on the operator.
    """
    if site.code == "GF302" and site.op != "input":
        return site.code, "", None
    if site.code in LIMITS and site.reason is not None:
        return site.code, "", re.sub(QUOTED, "", site.reason)
    return site.code, site.op, site.reason


def _with_more(text: str, size: int) -> str:
    return text if size == 1 else f"{text} and {size - 1} more"


def _more(number: int) -> Iterator[str]:
    if number:
        yield f"  ... and {number} more; -v or --report FILE.md lists all"


def _open(sizes: Sequence[OpenSizes], lengths: Lengths) -> Iterator[str]:
    yield from (f"  {printable(each.text)}" for each in sizes[: lengths.open])
    yield from _more(len(sizes) - min(len(sizes), lengths.open))


def _assumed(assumes: Sequence[str], lengths: Lengths) -> Iterator[str]:
    yield from (f"  assumes {printable(text)}" for text in assumes[: lengths.assumed])
    if len(assumes) > lengths.assumed:
        more = counted(len(assumes) - lengths.assumed, "more assumption")
        yield f"  ... and {more}; -v or --report FILE.md lists all"


def done(kinds: Iterable[Kind]) -> list[Kind]:
    """Return the kinds of sites whose operands were edited or found."""
    return [kind for kind in kinds if kind[0].status in DONE]


def number_of_operands(kinds: Iterable[Kind]) -> int:
    """Return the number of operands in sites of these kinds; an operand with several steps counts once."""
    return _distinct(((site.graph, site.operand), nodes) for site, nodes in kinds)


def number_of_nodes(kinds: Iterable[Kind]) -> int:
    """Return the number of nodes in sites of these kinds."""
    return _distinct((site.graph, nodes) for site, nodes in kinds)


def _distinct(rows_by_kind: Iterable[tuple[object, Sequence[str]]]) -> int:
    """Return the number of pairs with different nodes or different places; no site object is created."""
    by_place: dict[object, list[Sequence[str]]] = {}
    for place, nodes in rows_by_kind:
        by_place.setdefault(place, []).append(nodes)
    return sum(len(set[str]().union(*nodes)) for nodes in by_place.values())


def first_operands(sites: Sequence[Site], most: int) -> dict[Operand, list[Site]]:
    """Return the steps of the first `most` operands that were edited or found, by operand."""
    first: dict[Operand, list[Site]] = {}
    for node, site in rows(sites):
        if len(first) == most:
            break
        if site.status in DONE:
            first[site.graph, node, site.operand] = []
    names = {node for _, node, _ in first}
    for node, site in rows(sites):
        if node in names and site.status in DONE and (steps := first.get((site.graph, node, site.operand))) is not None:
            steps.append(site)
    return first
