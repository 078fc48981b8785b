"""The Markdown report, for a comment on a pull request: a table of all models, then a short section for each model.

GitHub refuses a comment of more than 65,536 characters. The report is always shorter, and its last line counts what was
omitted. Each model has an equal share of the space. The first sites are visible, the others and the evidence collapsed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from graphfix.report.forms.markdown_escapes import Block, code, collapsed, fit, prose, size, table
from graphfix.report.text import Entry, Failure, counted, findings, folds, node_reason, seconds_text, shape_text
from graphfix.report.tosa import GAPS, conversion_texts, gap_cells
from graphfix.report.verdict import (
    NEVER_DECIDES,
    assumed,
    bindings_text,
    claims_text,
    map_lines,
    runs_heading,
    unmatched,
    verdict_text,
)
from graphfix.results import Conversion, Outcome, Run, Site, Verdict
from graphfix.version import VERSION

MOST, LAST_LINE = 65_000, 500
"""The most bytes of the report, and the bytes reserved for the line that counts what was omitted."""
IN_SIGHT = 20
"""The most sites of a model that are not collapsed."""
HEADINGS = (
    ("changed", "Made explicit"),
    ("found", "Found"),
    ("left", "Left alone because nothing could be decided"),
    ("exempt", "Exempt"),
)
SITES = ("code", "node", "operator", "operand", "before", "after", "rewrite", "reason")
RUNS = ("sizes", "optimizations", "status", "outputs", "largest difference", "reason")
KERNEL_RUNS = ("sizes", "kernels", *RUNS[2:])
"""The headings if the runtime has several kernel sets: a column for the set instead of the optimizations."""


def markdown(entries: Sequence[Entry]) -> str:
    """Return a summary of the models, then a section for each model that the summary does not describe completely."""
    command = entries[0].command if entries else ""
    cut = Counter[str]()
    lines = [f"# graphfix {command}".rstrip(), "", f"graphfix {VERSION}, {counted(len(entries), 'model')}."]
    shown_entries = [entry for entry in entries if len(entries) == 1 or not _silent(entry)]
    heads = ("model", "changed", "found", "left", "exempt", "answer")
    summary = table(("",), heads, map(_summary, entries), "model")
    lines += fit([summary], (MOST - LAST_LINE) // (2 if shown_entries else 1), cut)
    room = MOST - LAST_LINE - size(lines)
    for number, entry in enumerate(shown_entries):
        section = list(fit(_section(entry), room // (len(shown_entries) - number), cut))
        room -= size(section)
        lines += section
    left_out = ", ".join(counted(number, what) for what, number in cut.items() if number)
    if left_out:
        all_of_it = "A report as JSON or HTML (`--report FILE.json`) has all."
        lines += ["", f"Left out, to fit a comment: {left_out}. {all_of_it}"]
    return "\n".join(lines) + "\n"


def _silent(entry: Entry) -> bool:
    """Return whether the summary describes a model completely: a check without findings and notes."""
    if isinstance(entry, Failure) or entry.command != "check":
        return False
    return not (findings(entry) or entry.notes or entry.open_sizes or entry.assumes)


def _summary(entry: Entry) -> list[str]:
    if isinstance(entry, Failure):
        return [code(entry.source), "", "", "", "", f"error: {prose(entry.error)}"]
    statuses = Counter[str](site.status for site in entry.sites)
    answer = prose(verdict_text(entry.verdict)) if entry.verdict is not None else ""
    return [code(entry.source), *(str(statuses[status]) for status, _ in HEADINGS), answer]


def _section(entry: Entry) -> Iterator[Block]:
    if isinstance(entry, Failure):
        yield Block(("", f"## {code(entry.source)}", ""), (f"Error: {prose(entry.error)}",))
        return
    joint = {"verify": " and "}.get(entry.command, " to ")
    after = f"{joint}{code(entry.output)}" if entry.output else ""
    yield Block(("", f"## {code(entry.source)}{after}", ""), tuple(_facts(entry)))
    yield from _sites(entry)
    yield from _list("### What is not known of sizes", [each.text for each in entry.open_sizes])
    yield from _list("### Assumed", entry.assumes)
    yield from _list("### The verdict assumes", assumed(entry))
    if entry.verdict is not None:
        yield from _verdict(entry.verdict)
    if entry.conversion is not None:
        yield from _conversion(entry, entry.conversion)


def _list(heading: str, texts: Sequence[str]) -> Iterator[Block]:
    if texts:
        yield Block(("", heading, ""), tuple(f"- {prose(text)}" for text in texts))


def _facts(outcome: Outcome) -> Iterator[str]:
    if outcome.verdict is not None:
        yield f"- Verdict: {prose(verdict_text(outcome.verdict))}"
    if outcome.command in ("fix", "tosa") and outcome.output is None:
        yield "- Written: nothing"
    if outcome.target is not None:
        yield f"- Target: {prose(outcome.target)} ({outcome.format})"
    rewrites = ", ".join(f"{name} {count}" for name, count in outcome.rewrites.items() if count)
    if rewrites:
        yield f"- Rewrites: {rewrites}"
    yield from (f"- Note: {prose(text)}" for text in outcome.notes)
    if outcome.suppressed:
        yield f"- In the baseline: {counted(outcome.suppressed, 'finding')}"
    elif not outcome.sites and outcome.command != "verify":
        yield f"- Nothing is {'redundant' if folds(outcome) else 'implicit'}"
    yield f"- Seconds: {seconds_text(outcome.seconds)}"


# --- the sites --------------------------------------------------------------------------------------------------------


def _sites(outcome: Outcome) -> Iterator[Block]:
    """Yield the first sites of each status visibly and the rest collapsed; exempt sites are all collapsed."""
    in_sight = IN_SIGHT
    for status, heading in HEADINGS:
        sites = iter([site for site in outcome.sites if site.status == status])
        number = sum(site.status == status for site in outcome.sites)
        if not number:
            continue
        heading = "Taken out" if status == "changed" and folds(outcome) else heading  # noqa: PLW2901 -- the other way
        first = list(islice(sites, 0 if status == "exempt" else in_sight))
        in_sight -= len(first)
        if first:
            yield table(("", f"### {heading}: {number}", ""), SITES, map(_site, first), "site")
        rest = [_site(site) for site in sites]
        if rest:
            more = f"{len(rest)} more" if first else str(number)
            yield collapsed(f"{heading}: {more}", table((), SITES, rest, "site"))


def _site(site: Site) -> list[str]:
    where = code(site.node) + ("" if site.graph == "main" else f" in {code(site.graph)}")
    operand = "" if site.operand is None else str(site.operand)
    before = "" if site.operand is None and site.before is None else code(shape_text(site.before))
    after = "" if site.after is None else code(shape_text(site.after))
    reason = prose(site.reason or node_reason(site) or "")
    return [site.code, where, prose(site.op), operand, before, after, site.rewrite or "", reason]


# --- the verdict ------------------------------------------------------------------------------------------------------


def _verdict(verdict: Verdict) -> Iterator[Block]:
    if verdict.proof is not None:
        yield collapsed("Proof", Block((), tuple(_proof(verdict.proof))))
    if verdict.runs:
        heads = KERNEL_RUNS if any(run.kernels for run in verdict.runs) else RUNS
        yield collapsed(runs_heading(verdict), table((), heads, map(_run, verdict.runs), "run"))
    if verdict.exceptions:
        names = list(dict.fromkeys(str(name) for exception in verdict.exceptions for name in exception))
        rows = [[code(str(entry.get(name, ""))) for name in names] for entry in verdict.exceptions]
        title = f"Exceptions of the runtime: {len(rows)}"
        yield collapsed(title, table((), list(map(prose, names)), rows, "exception"))
    if verdict.facts is not None:
        yield collapsed("Sizes that were claimed", Block((), (prose(claims_text(verdict.facts)),)))
    evidence = [f"- sha256 {which}: {code(digest)}" for which, digest in verdict.sha256.items()]
    evidence += [f"- {prose(name)} {prose(version)}" for name, version in verdict.versions.items()]
    evidence += [f"- note: {prose(text)}" for text in verdict.newer]
    if evidence:
        yield collapsed("Evidence", Block((), (*evidence, f"- seed {verdict.seed}")))


def _proof(proof: Mapping[str, Any]) -> Iterator[str]:
    reason = f": {prose(str(proof['reason']))}" if proof.get("reason") else ""
    yield f"- {prose(str(proof.get('status')))}{reason}"
    for which, text, node in unmatched(proof):
        yield f"- first without a match, {which}: {code(text)}"
        yield from (f"  - {code(line)}" for line in map_lines(node))
    yield from (f"- note: {prose(str(text))}" for text in proof.get("notes", ()))


def _run(run: Run) -> list[str]:
    largest = "" if run.largest_difference is None else f"{run.largest_difference:.3g}"
    sizes = prose(bindings_text(run)) or "as declared"
    ran_by = run.kernels or f"{run.optimizations}{NEVER_DECIDES if run.optimizations == 'on' else ''}"
    if run.signature:
        ran_by += f", signature {code(run.signature)}"
    return [sizes, ran_by, run.status, str(run.outputs), largest, prose(run.reason or "")]


# --- TOSA -------------------------------------------------------------------------------------------------------------


def _conversion(outcome: Outcome, done: Conversion) -> Iterator[Block]:
    yield Block(("", "### TOSA", ""), [f"- {prose(text)}" for text in conversion_texts(outcome, done)])
    if done.gaps:
        yield table(("",), GAPS, ([code(gap.output), *gap_cells(gap)] for gap in done.gaps), "output")
    if done.operators:
        rows = [[code(name), str(number)] for name, number in sorted(done.operators.items())]
        yield collapsed(f"Operators: {len(rows)}", table((), ("operator", "number"), rows, "operator"))
