"""The Markdown report: every site of every model in tables, for a pull request or a folder of artefacts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphfix.report.text import Entry, Failure, counted, folds, printable, seconds_text, shape_text
from graphfix.report.tosa import converted_text, run_text
from graphfix.report.verdict import bindings_text, map_lines, unmatched, verdict_text
from graphfix.results import VERSION, Conversion, Facts, Gap, Outcome, Run, Site, Verdict

HEADINGS = (
    ("changed", "Made explicit"),
    ("found", "Found"),
    ("left", "Left alone because nothing could be decided"),
    ("exempt", "Exempt"),
)
SITES = ("code", "node", "operator", "operand", "before", "after", "rewrite", "reason")
RUNS = ("sizes", "optimizations", "status", "outputs", "largest difference", "reason")
GAPS = ("output", "largest difference", "part of its range", "within the tolerance")
KERNEL_RUNS = ("sizes", "kernels", *RUNS[2:])
"""Where the runtime has several kernel sets, they take the place of the optimizations."""


def markdown(entries: Sequence[Entry]) -> str:
    """A summary of the models, then one section a model."""
    command = entries[0].command if entries else ""
    lines = [
        f"# graphfix {command}".rstrip(),
        "",
        f"graphfix {VERSION}, {counted(len(entries), 'model')}.",
    ]
    if len(entries) > 1:
        lines += [
            "",
            *_table(("model", "changed", "found", "left", "exempt", "answer"), map(_summary, entries)),
        ]
    for entry in entries:
        lines += ["", f"## {_title(entry)}", "", *_section(entry)]
    return "\n".join(lines) + "\n"


def _title(entry: Entry) -> str:
    if isinstance(entry, Failure):
        return _code(entry.model)
    joint = {"verify": " and "}.get(entry.command, " to ")
    return _code(entry.model) + (f"{joint}{_code(entry.output)}" if entry.output else "")


def _summary(entry: Entry) -> list[str]:
    if isinstance(entry, Failure):
        return [_code(entry.model), "", "", "", "", f"error: {_prose(entry.error)}"]
    statuses = Counter[str](site.status for site in entry.sites)
    answer = _prose(verdict_text(entry.verdict)) if entry.verdict is not None else ""
    return [_code(entry.model), *(str(statuses[status]) for status, _ in HEADINGS), answer]


def _section(entry: Entry) -> Iterator[str]:
    if isinstance(entry, Failure):
        yield f"Error: {_prose(entry.error)}"
        return
    yield from _facts(entry)
    for status, heading in HEADINGS:
        sites = [site for site in entry.sites if site.status == status]
        if sites:
            heading = "Taken out" if status == "changed" and folds(entry) else heading  # noqa: PLW2901 -- the other way
            yield from ("", f"### {heading}: {len(sites)}", "", *_table(SITES, map(_site, sites)))
    if entry.open_sizes:
        yield from ("", "### What is not known of sizes", "", *(f"- {_prose(each.text)}" for each in entry.open_sizes))
    if entry.assumes:
        yield from ("", "### Assumed", "", *(f"- {_prose(text)}" for text in entry.assumes))
    if entry.verdict is not None:
        yield from _verdict(entry.verdict)
    if entry.conversion is not None:
        yield from _conversion(entry, entry.conversion)


def _facts(outcome: Outcome) -> Iterator[str]:
    if outcome.verdict is not None:
        yield f"- Verdict: {_prose(verdict_text(outcome.verdict))}"
    if outcome.command in ("fix", "tosa") and outcome.output is None:
        yield "- Written: nothing"
    if outcome.target is not None:
        yield f"- Target: {outcome.target} ({outcome.format})"
    rewrites = ", ".join(f"{name} {count}" for name, count in outcome.rewrites.items() if count)
    if rewrites:
        yield f"- Rewrites: {rewrites}"
    yield from (f"- Note: {_prose(text)}" for text in outcome.notes)
    if not outcome.sites and outcome.command != "verify":
        yield f"- Nothing is {'redundant' if folds(outcome) else 'implicit'}"
    if outcome.seconds:
        yield f"- Seconds: {seconds_text(outcome.seconds)}"


def _site(site: Site) -> list[str]:
    where = _code(site.node) + ("" if site.graph == "main" else f" in {_code(site.graph)}")
    operand = "" if site.operand is None else str(site.operand)
    before = "" if site.operand is None and site.before is None else _code(shape_text(site.before))
    after = "" if site.after is None else _code(shape_text(site.after))
    return [
        site.code,
        where,
        _prose(site.op),
        operand,
        before,
        after,
        site.rewrite or "",
        _prose(site.reason or ""),
    ]


def _verdict(verdict: Verdict) -> Iterator[str]:
    if verdict.runs:
        heads = KERNEL_RUNS if any(run.kernels for run in verdict.runs) else RUNS
        yield from ("", f"### Runs: {len(verdict.runs)}", "", *_table(heads, map(_run, verdict.runs)))
    if verdict.proof is not None:
        yield from ("", "### Proof", "", *_proof(verdict.proof))
    if verdict.exceptions:
        names = list(dict.fromkeys(str(name) for exception in verdict.exceptions for name in exception))
        rows = [[_code(str(entry.get(name, ""))) for name in names] for entry in verdict.exceptions]
        yield from ("", "### Exceptions of the runtime", "", *_table(names, rows))
    if verdict.assumes:
        yield from ("", "### The verdict assumes", "", *(f"- {_prose(text)}" for text in verdict.assumes))
    if verdict.facts is not None:
        yield from ("", "### Sizes that were claimed", "", _claims(verdict.facts))
    evidence = [f"- sha256 {which}: {_code(digest)}" for which, digest in verdict.sha256.items()]
    evidence += [f"- {_prose(name)} {_prose(version)}" for name, version in verdict.versions.items()]
    if evidence:
        yield from ("", "### Evidence", "", *evidence, f"- seed {verdict.seed}")


def _claims(facts: Facts) -> str:
    counts = f"{facts.observed} observed when the original ran, {facts.contradicted} contradicted"
    return f"{counted(facts.claimed, 'operand')} of broadcasting operators: {counts}"


def _proof(proof: Mapping[str, Any]) -> Iterator[str]:
    reason = f": {_prose(str(proof['reason']))}" if proof.get("reason") else ""
    yield f"- {_prose(str(proof.get('status')))}{reason}"
    for which, text, node in unmatched(proof):
        yield f"- first without a match, {which}: {_code(text)}"
        yield from (f"  - {_code(line)}" for line in map_lines(node))
    yield from (f"- note: {_prose(str(text))}" for text in proof.get("notes", ()))


def _conversion(outcome: Outcome, done: Conversion) -> Iterator[str]:
    yield from ("", "### TOSA", "", f"- {_prose(converted_text(outcome, done))}")
    if done.status not in ("converted", "refused"):
        yield f"- {_prose(run_text(done))}"
    if done.gaps:
        yield from ("", *_table(GAPS, map(_gap, done.gaps)))
    if done.operators:
        rows = [[_code(name), str(number)] for name, number in sorted(done.operators.items())]
        yield from ("", *_table(("operator", "number"), rows))


def _gap(gap: Gap) -> list[str]:
    part = "constant" if gap.relative is None else f"{gap.relative:.3g}"
    return [_code(gap.output), f"{gap.largest:.3g}", part, "yes" if gap.within else "no"]


def _run(run: Run) -> list[str]:
    largest = "" if run.largest_difference is None else f"{run.largest_difference:.3g}"
    sizes = _prose(bindings_text(run)) or "as declared"
    ran_by = run.kernels or run.optimizations
    if run.signature:
        ran_by += f", signature {_code(run.signature)}"
    return [sizes, ran_by, run.status, str(run.outputs), largest, _prose(run.reason or "")]


def _table(heads: Sequence[str], rows: Iterator[list[str]] | list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _code(text: str) -> str:
    """Write a code span; a name may hold backticks, and a bar would end the cell even there."""
    plain = printable(text).replace("|", "\\|")
    ticks = re.findall("`+", plain)
    if not ticks:
        return f"`{plain}`"
    fence = "`" * (max(map(len, ticks)) + 1)
    return f"{fence} {plain} {fence}"


def _prose(text: str) -> str:
    """Write running text: what Markdown would read as markup is escaped."""
    escaped = "".join(f"\\{letter}" if letter in "\\`*_<|" else letter for letter in printable(text))
    return escaped.replace("](", "]\\(")
