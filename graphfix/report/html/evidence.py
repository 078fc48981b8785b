"""The verdict in full: proof, runs, claimed sizes, exceptions, assumptions, versions; and the TOSA conversion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphfix.report.html.elements import code, escaped, facts, listed, section, table, words
from graphfix.report.tosa import GAPS, conversion_texts, gap_cells
from graphfix.report.verdict import NEVER_DECIDES, bindings_text, claims_text, map_lines, runs_heading, unmatched
from graphfix.results import Outcome, Run, Verdict

RUNS = ("sizes", "ran by", "status", "outputs", "largest difference", "reason")


OPTIMIZED = (
    "Runs with optimizations never decide the verdict: the runtime then fuses operators and rounds differently, in "
    "both models and not in the same places. A difference there does not show an error of the rewrite."
)


def verdict(found: Verdict | None) -> Iterator[str]:
    """Yield the sections of a verdict that are not empty."""
    if found is None:
        return
    yield section("Proof", _proof(found.proof or {}))
    runs = [table(RUNS, map(_run, found.runs), caption="Runs")] if found.runs else []
    if any(run.optimizations == "on" for run in found.runs):
        runs.append(f'<p class="muted">{OPTIMIZED}</p>')
    yield section(runs_heading(found), runs)
    yield section("Exceptions of the runtime", _exceptions(found.exceptions))
    yield section("The verdict assumes", [listed(map(words, found.assumes), "assumptions")])
    if found.facts is not None:
        yield section("Sizes that were claimed", [f"<p>{words(claims_text(found.facts))}</p>"])
    digests = [(f"sha256 {which}", code(digest)) for which, digest in found.sha256.items()]
    versions = [(name, words(version)) for name, version in found.versions.items()]
    pairs = [*digests, *versions, *([("seed", str(found.seed))] if found.runs else [])]
    yield section("Evidence", [facts(pairs), listed(map(words, found.newer), "notes")] if pairs else ())


def conversion(outcome: Outcome) -> Iterator[str]:
    """Yield the section about the conversion to TOSA."""
    done = outcome.conversion
    if done is None:
        return
    gaps = [(code(gap.output), *gap_cells(gap)) for gap in done.gaps]
    operators = [(code(name), f"{count:,}") for name, count in sorted(done.operators.items())]
    yield section(
        "TOSA",
        [
            *(f"<p>{words(line)}</p>" for line in conversion_texts(outcome, done)),
            table(GAPS, gaps, caption="Differences") if gaps else "",
            table(("operator", "number"), operators, caption="Operators") if operators else "",
        ],
    )


def _proof(proof: Mapping[str, Any]) -> Iterator[str]:
    if not proof:
        return
    reason = f": {proof['reason']}" if proof.get("reason") else ""
    yield f"<p>{words(str(proof.get('status')) + reason)}</p>"
    for which, text, node in unmatched(proof):
        maps = "".join(f"<li>{code(line)}</li>" for line in map_lines(node))
        yield f"<p>First without a match, {words(which)}: {code(text)}</p><ul>{maps}</ul>"
    yield listed(map(words, proof.get("notes", ())), "notes")


def _run(run: Run) -> list[str]:
    largest = "" if run.largest_difference is None else f"{run.largest_difference:.3g}"
    ran_by = run.kernels or f"optimizations {run.optimizations}{NEVER_DECIDES if run.optimizations == 'on' else ''}"
    signature = f", signature {code(run.signature)}" if run.signature else ""
    sizes = words(bindings_text(run) or "as declared")
    reason = words(run.reason) if run.reason else ""
    return [sizes, escaped(ran_by) + signature, run.status, str(run.outputs), largest, reason]


def _exceptions(exceptions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if exceptions:
        names = list(dict.fromkeys(str(name) for exception in exceptions for name in exception))
        rows = [[code(entry.get(name, "")) for name in names] for entry in exceptions]
        yield table(names, rows, caption="Exceptions of the runtime")
