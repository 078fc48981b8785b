"""Print a verdict: whether two models compute the same, in one sentence, and the details below it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graphfix.report.text import counted, printable, tally
from graphfix.results import Outcome, Run, Verdict
from graphfix.results.claims import Facts

LIBRARIES = ("numpy", "onnx")
"""Packages whose versions are recorded, but which run no model if a runtime is listed besides them."""
SMALL = 1e-3
"""The largest difference of outputs for which a tolerance is suggested."""
NEVER_DECIDES = " (these runs never decide)"
"""The words that follow each figure of runs with optimizations."""


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict as a sentence: `equal: 12 outputs bit-equal over 5 runs (onnxruntime 1.31.1, seed 0)`.

    For other statuses the sentence names the first difference, or why the verdict is undecided.
    """
    match verdict.status:
        case "skipped":
            return "not verified (--no-verify)"
        case "undecided":
            return f"undecided: {printable(verdict.reason or 'no run could be compared')}{_unproved(verdict)}"
        case "different":
            return f"different: {_difference(verdict)}{_unproved(verdict)}"
        case "contradicted":
            return f"contradicted by the original's run: {printable(verdict.reason or '')}"
        case "proved":
            return f"proved for all inputs and sizes{_runs(verdict)}"
        case status:
            agreed = f"{_agreement(verdict)}{exceptions_text(verdict.exceptions)}{_optimized(verdict.runs)}"
            return f"{status}: {agreed}{_unproved(verdict)}"


def _unproved(verdict: Verdict) -> str:
    """Return why nothing was proved: `; not proved: Add 'n3' of the second file has no match in the first`.

    Return "" if the proof succeeded, or if none was requested.
    """
    if verdict.proof is None or verdict.proof.get("status") == "proved":
        return ""
    if verdict.proof.get("status") == "bounded":
        return "; proved but for where it is rounded"
    return f"; not proved: {printable(str(verdict.proof.get('reason')))}"


def assumed(outcome: Outcome) -> list[str]:
    """Return the assumptions of the verdict that the outcome does not list already.

    `x is [1, 1], as asked for` is omitted if the outcome lists `x is [1,1], by default`.
    """
    said = {_claim(text) for text in outcome.assumes}
    return [text for text in (outcome.verdict.assumes if outcome.verdict else ()) if _claim(text) not in said]


def _claim(text: str) -> str:
    """Return an assumption without the words that say who made it."""
    for source in (", by default", ", as asked for"):
        if text.endswith(source):
            return text.removesuffix(source).replace(", ", ",")
    return text


def claims_text(facts: Facts) -> str:
    """Return the comparison of claimed sizes with the original's run, and the first contradiction.

    Example: `12 operands of broadcasting operators: 12 observed when the original ran, 0 contradicted`.
    """
    counts = f"{facts.observed} observed when the original ran, {facts.contradicted} contradicted"
    first = f"; {printable(str(facts.first))}" if facts.first is not None else ""
    return f"{counted(facts.claimed, 'operand')} of broadcasting operators: {counts}{first}"


def noted_lines(verdict: Verdict | None) -> Iterator[str]:
    """Yield a line for each note, such as `  note: the first file declares the output 'y' as [], which it is not`.

    The notes are those of the proof, then a failure with optimizations on, then runtimes newer than the measured ones.
    """
    if verdict is None:
        return
    notes = list((verdict.proof or {}).get("notes", ()))
    failed = [run.reason for run in verdict.runs if run.optimizations == "on" and run.status == "undecided"]
    notes += [f"with optimizations on (the default of onnxruntime) {why}{NEVER_DECIDES}" for why in failed[:1]]
    if verdict.load is not None and verdict.load.reason not in (None, verdict.reason):
        notes.append(f"the load of the second file was not observed {verdict.load.reason}")
    notes += verdict.newer
    yield from (f"  note: {printable(text)}" for text in notes)


def unproved_lines(verdict: Verdict | None) -> Iterator[str]:
    """Yield the lines of the first two unmatched nodes: the notation, then a line for each indexing map."""
    for which, text, node in unmatched(verdict.proof if verdict is not None else None):
        yield f"  {which}: {text}"
        yield from (f"      {line}" for line in map_lines(node))


def unmatched(proof: Mapping[str, Any] | None) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the first unmatched node of each file: (`before` or `after`, its text, its entry in the JSON document)."""
    first = (proof or {}).get("first") or {}
    for which in ("before", "after"):
        node = first.get("nodes", {}).get(which) or {}
        if first.get(which) is not None:
            yield which, printable(_node(str(first[which]), node)), node


def _node(text: str, node: Mapping[str, Any]) -> str:
    """Return `y[2,3] = Add(x[2,3], b[3]) # Add 'n3' in main/if_1.then_branch`; only `text` if the node is unknown."""
    if not node:
        return text
    scope = "" if node["graph"] == "main" else f" in {node['graph']}"
    return f"{node['notation']}    # {text}{scope}"


def map_lines(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield `operand 1: (d0, d1) -> (d0, 0)` for each operand.

    If the operand only moves elements of another value, the map of that value follows: `, that is (d0, d1) -> (d0) of
    b[3]`.
    """
    for read in node.get("maps", ()):
        of = f", that is {read['through']} of {read['of']}" if read["of"] is not None else ""
        yield printable(f"operand {read['operand']}: {read['map']}{of}")


def _runs(verdict: Verdict) -> str:
    """Return the result of the runs besides the proof, or why there is none."""
    if not any(run.status == "equal" and run.optimizations == "off" for run in verdict.runs):
        reason = f"; {printable(verdict.reason)}" if verdict.reason else ""
        return f"{reason}{exceptions_text(verdict.exceptions)}"
    return f"; {_agreement(verdict)}{exceptions_text(verdict.exceptions)}{_optimized(verdict.runs)}"


def exceptions_text(exceptions: Sequence[Mapping[str, Any]]) -> str:
    """Return `; 2 exceptions of the runtime: signed-zero at Add 'n3', Mul 'n5'`; "" if there are none."""
    if not exceptions:
        return ""
    sites: dict[str, dict[str, None]] = {}
    for exception in exceptions:
        kind = str(exception.get("class", "unnamed"))
        sites.setdefault(kind, {})[printable(str(exception.get("site") or exception.get("output")))] = None
    listed = "; ".join(f"{kind} at {', '.join(places)}" for kind, places in sites.items())
    return f"; {counted(sum(map(len, sites.values())), 'exception')} of the runtime: {listed}"


def runs_heading(verdict: Verdict) -> str:
    """Return `Runs: 10 (equal 6, undecided 4)`."""
    return f"Runs: {len(verdict.runs)}{tally(Counter(run.status for run in verdict.runs))}"


def bindings_text(run: Run) -> str:
    """Return `N=2, T=5`; "" for a model without free dims."""
    return ", ".join(f"{name}={size}" for name, size in run.bindings.items())


def _agreement(verdict: Verdict) -> str:
    deciding = [run for run in verdict.runs if run.optimizations == "off" and run.status == "equal"]
    outputs = max((run.outputs for run in deciding), default=0)
    runtimes = {name: version for name, version in verdict.versions.items() if name not in LIBRARIES}
    runtime_versions = [f"{name} {version}" for name, version in (runtimes or verdict.versions).items()]
    bits = "" if verdict.reason else " bit-equal"
    agreed = f"{counted(outputs, 'output')}{bits} over {_extent(verdict.runs)}"
    reason = f"; {printable(verdict.reason)}" if verdict.reason else ""
    return f"{agreed} ({', '.join([*runtime_versions, f'seed {verdict.seed}'])}){reason}"


def _extent(runs: Sequence[Run]) -> str:
    """Return `5 runs`, `4 runs on 3 kernel sets`, or `3 runs, 1 more undecided` if the first model refuses a size."""
    equal, undecided = (
        Counter(run.kernels for run in runs if run.optimizations == "off" and run.status == status)
        for status in ("equal", "undecided")
    )
    runs_text = counted(max(equal.values(), default=0), "run")
    sets = f" on {counted(len(equal), 'kernel set')}" if any(equal) else ""
    refused = max((undecided[kernels] for kernels in equal), default=0)  # a kernel set without a run is not counted
    more = f", {refused} more undecided" if refused else ""
    return f"{runs_text}{sets}{more}"


def _optimized(runs: Sequence[Run]) -> str:
    """Return the largest difference of the runs with optimizations.

    They never decide, but a user of the model sees them.
    """
    statuses = Counter(run.status for run in runs if run.optimizations == "on")
    largest = max((run.largest_difference or 0.0 for run in runs if run.optimizations == "on"), default=0.0)
    if not statuses["different"]:
        return ""
    return f"; with optimizations on the largest difference is {largest:.2g}{NEVER_DECIDES}"


def tolerance_lines(verdict: Verdict | None) -> Iterator[str]:
    """Yield the line that names the options of a tolerance, if the outputs of all runs differ by little."""
    different = [run for run in verdict.runs if run.status == "different"] if verdict is not None else []
    largest = [run.largest_difference or math.inf for run in different if run.optimizations == "off"]
    if verdict is not None and verdict.status == "different" and max(largest, default=math.inf) <= SMALL:
        yield f"  the outputs differ by at most {max(largest):.2g}; if that is rounding, --atol and --rtol accept it"


def _difference(verdict: Verdict) -> str:
    first = verdict.first_difference
    reason = printable(verdict.reason) if verdict.reason else ""
    if not first:
        return reason or "the outputs differ"
    if first.get("producer"):
        text = f"the first tensor to differ is '{first.get('tensor')}' of {first['producer']}"
        if first.get("other_producer"):
            text += f" ({first['other_producer']} in the second file: perhaps an unrelated tensor of the same name)"
    else:
        text = f"the output '{first.get('tensor')}' differs (no tensor before it could be shown to)"
    if "before" in first and "after" in first:
        at = f" at {first['index']}" if first.get("index") not in (None, [], ()) else ""
        text += f"{at}: {first['before']} before, {first['after']} after"
    if first.get("count"):
        text += f" ({counted(first['count'], 'element')})"
    return printable(text) + (f"; {reason}" if reason else "")
