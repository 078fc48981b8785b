"""The answer on stdout: a headline, the sites in short, the verdict, the seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from graphfix.report.entry import Entry, Failure
from graphfix.report.notation import (
    counted,
    findings,
    node_text,
    operand_text,
    printable,
    seconds_text,
    shapes_text,
    tally,
)
from graphfix.report.verdict import verdict_text
from graphfix.results import Outcome, Site

LINES: Mapping[str, int] = MappingProxyType({"changed": 20, "found": 20, "left": 20, "exempt": 5})
"""Status, in the order of print -> how many lines of it the table shows."""
ASSUMED = 5
Row: TypeAlias = tuple[str, str, str, str, str]
"""Status, code, node, operand, shapes and reason."""


def table(outcome: Outcome) -> str:
    """Tell what a command did with one model. Long lists are cut: a report file has all of them."""
    lines = [_headline(outcome), *_sites(outcome.sites), *_assumed(outcome.assumes)]
    if outcome.command == "fix":
        lines.append(_fixed(outcome))
    if outcome.seconds:
        lines.append(seconds_text(outcome.seconds))
    return "\n".join(lines)


def unwritten(outcome: Outcome) -> str:
    """Why `fix` wrote nothing, for those who don't get the table."""
    return f"{printable(outcome.model)}: nothing written, {_fixed(outcome)}"


def totals(entries: Sequence[Entry]) -> str:
    """Give the last line of a `check` of several models."""
    failed = sum(isinstance(entry, Failure) for entry in entries)
    found = sum(isinstance(entry, Outcome) and bool(findings(entry)) for entry in entries)
    parts = [f"{len(entries) - failed - found} clean", f"{found} with findings"]
    return f"{counted(len(entries), 'model')}: {', '.join(parts + [f'{failed} could not be checked'] * bool(failed))}"


def _headline(outcome: Outcome) -> str:
    match outcome.command:
        case "verify":
            told = verdict_text(outcome.verdict) if outcome.verdict is not None else "not verified"
            return f"{printable(outcome.model)}, {printable(outcome.output or '')}: {told}"
        case "check":
            return f"{printable(outcome.model)}: {_found(outcome)}{_kept(outcome)}"
        case _:
            return f"{_files(outcome)}: {_made(outcome)}{_kept(outcome)}"


def _files(outcome: Outcome) -> str:
    to = " -> " + printable(outcome.output) if outcome.output is not None else ": nothing written"
    return f"{printable(outcome.model)}{to}"


def _fixed(outcome: Outcome) -> str:
    told = verdict_text(outcome.verdict) if outcome.verdict is not None else "not verified"
    undecided = outcome.verdict is not None and outcome.verdict.status == "undecided"
    return f"{told}; --no-verify writes it unverified" if undecided and outcome.output is None else told


def _made(outcome: Outcome) -> str:
    sites = [site for site in outcome.sites if site.status == "changed"]
    edits = sum(outcome.rewrites.values())
    if not edits:
        return "nothing to make explicit, dims bound" if outcome.changed else "nothing to make explicit, copied"
    operands = {(site.graph, site.node, site.operand) for site in sites if site.operand is not None}
    nodes = {(site.graph, site.node) for site in sites}
    said = (
        f"{counted(len(operands), 'operand')} made explicit" if operands else f"{counted(len(nodes), 'node')} rewritten"
    )
    by = f" by {counted(edits, 'edit')}" if edits != len(operands or nodes) else ""
    return f"{said}{by}{tally(outcome.rewrites)}"


def _found(outcome: Outcome) -> str:
    codes = Counter(site.code for site in outcome.sites if site.status == "found")
    target = f" for target {outcome.target}" if outcome.target else ""
    if codes:
        return f"{counted(codes.total(), 'finding')}{target}{tally(dict(sorted(codes.items())))}"
    return f"{'nothing found' if findings(outcome) else 'clean'}{target}"


def _kept(outcome: Outcome) -> str:
    statuses = Counter(site.status for site in outcome.sites)
    return "".join(f", {statuses[status]} {status}" for status in ("left", "exempt") if statuses[status])


def _sites(sites: Sequence[Site]) -> Iterator[str]:
    """Yield a line a site; more than fit are told together where only the node differs."""
    shown: list[tuple[list[Row], int]] = []
    for status, limit in LINES.items():
        rows = [_row(site) for site in sites if site.status == status]
        groups = _grouped(rows) if len(rows) > limit or status == "exempt" else [(row, 1) for row in rows]
        told = sum(size for _, size in groups[:limit])
        shown.append(([_with_size(row, size) for row, size in groups[:limit]], len(rows) - told))
    widths = [max((len(row[column]) for rows, _ in shown for row in rows), default=0) for column in range(4)]
    for rows, more in shown:
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False) if width]
            yield "  " + "  ".join([*cells, row[4]]).rstrip()
        if more:
            yield f"  ... and {more} more; --report FILE.md lists all"


def _row(site: Site) -> Row:
    mark = "" if site.status == "changed" else site.status
    why = ": ".join(part for part in (shapes_text(site), printable(site.reason or "")) if part)
    return (mark, site.code, node_text(site), operand_text(site), why)


def _grouped(rows: Sequence[Row]) -> list[tuple[Row, int]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row[1], row[2].split(" ")[0].split("#")[0], *row[3:]), []).append(row)
    return [(members[0], len(members)) for members in groups.values()]


def _with_size(row: Row, size: int) -> Row:
    return row if size == 1 else (*row[:2], f"{row[2]} and {size - 1} more", *row[3:])


def _assumed(assumes: Sequence[str]) -> Iterator[str]:
    yield from (f"  assumes {printable(text)}" for text in assumes[:ASSUMED])
    if len(assumes) > ASSUMED:
        yield f"  ... and {len(assumes) - ASSUMED} more assumptions; --report FILE.md lists all"
