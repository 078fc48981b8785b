"""Judge two TFLite models: every kernel set of LiteRT, every SignatureDef, and what the verdict is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.checker.runs.interface import disagreement
from graphfix.checker.runs.tflite.kernel_run import KERNEL_NAMES, Bench, Leg
from graphfix.checker.runs.tflite.session import face_of, outputs_disagree
from graphfix.checker.runs.tflite.without_custom_ops import cut_alike
from graphfix.results import GraphfixError, Run, Verdict, VerdictStatus
from graphfix.runtimes import litert
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from graphfix.checker.runs.seeded_inputs import Case
    from graphfix.checker.task import Task

# How LiteRT says that a file is none of its own.
_NO_MODEL = ("valid Flatbuffer", "schema version", "Could not open", "Failed to open")


def judged(task: Task) -> Verdict:
    """Compare two TFLite files. Raises GraphfixError for bad input."""
    with Child() as child:
        verdict = _judged(task, child)
    return replace(verdict, versions={"ai-edge-litert": metadata.version("ai-edge-litert")})


def _judged(task: Task, child: Child) -> Verdict:
    before, after = _declared(child, task.before), _declared(child, task.after)
    if isinstance(before, RefusedError):
        return Verdict("undecided", reason=f"the first model does not load: {before}")
    if isinstance(after, RefusedError):
        return Verdict("different", reason=f"the second model does not load, the first does: {after}")
    reason = _disagreement(before, after)
    if reason is not None:
        return Verdict("different", reason=reason)
    bench = Bench(task, child, (task.before, task.after))
    others = [key for key, subgraph in before.signatures if subgraph]
    legs = list(_legs(bench, None))
    for key in others:
        legs += _legs(replace(bench, own_inputs=True), key)
    cut, assumes = _cut_legs(bench, [leg for leg in legs if not leg.signature])
    return replace(_combined([*legs, *cut], bench), assumes=assumes)


def _declared(child: Child, path: Path) -> litert.Face | RefusedError:
    """Ask the first kernel set that loads a file. Raises GraphfixError for what is no model."""
    refusal: RefusedError | None = None
    for kernels in litert.KERNELS:
        try:
            return child.load_tflite(path, kernels).face
        except RefusedError as error:
            refusal = refusal or error
            if any(words in str(error) for words in _NO_MODEL):
                raise GraphfixError(f"{path}: no TFLite model: {error}; check the file") from None
    return refusal or RefusedError("LiteRT has no kernels")


def _disagreement(before: litert.Face, after: litert.Face) -> str | None:
    faces = face_of(before), face_of(after)
    reason = disagreement(*faces) or outputs_disagree(*faces)
    if reason is not None:
        return reason
    if sorted(before.signatures) != sorted(after.signatures):
        a, b = (", ".join(f"{key} (subgraph {at})" for key, at in face.signatures) for face in (before, after))
        return f"the signatures differ: {a or 'none'} in the first, {b or 'none'} in the second"
    for a_port, b_port in zip(before.inputs + before.outputs, after.inputs + after.outputs, strict=True):
        if a_port.alias != b_port.alias:
            return f"the signature calls '{a_port.name}' '{a_port.alias}' in the first, '{b_port.alias}' in the second"
    return None


def _legs(bench: Bench, signature: str | None) -> Iterator[Leg]:
    """Run each kernel set; what the first one took is put to the others too."""
    cases: Sequence[Case] = ()
    for kernels in litert.KERNELS:
        leg = bench.leg(kernels, signature, cases)
        cases = cases or leg.cases
        yield leg


def _cut_legs(bench: Bench, legs: Sequence[Leg]) -> tuple[list[Leg], tuple[str, ...]]:
    """Run the models without the custom operators that LiteRT does not know, on the kernel sets that lack them."""
    cut: list[Leg] = []
    names: frozenset[str] = frozenset()
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        for leg in legs:
            if leg.custom:
                found, names = _cut_leg(bench, leg, names | {leg.custom}, Path(folder))
                cut += found
    if not any(leg.cases for leg in cut):
        return cut, ()
    lacking = " and ".join(KERNEL_NAMES[leg.kernels] for leg in cut) if len(cut) < len(legs) else "LiteRT"
    return cut, tuple(_assumption(name, lacking) for name in sorted(names))


def _assumption(name: str, lacking: str) -> str:
    verb = "have" if lacking.endswith("kernels") else "has"
    return (
        f"the custom operator '{name}' gives the same results for the same operands ({lacking} {verb} no kernel for it)"
    )


def _cut_leg(bench: Bench, leg: Leg, names: frozenset[str], folder: Path) -> tuple[list[Leg], frozenset[str]]:
    """Cut out one operator after the other until the rest runs."""
    while True:
        paths = cut_alike(bench.paths, names, folder)
        told = ", ".join(f"'{name}'" for name in sorted(names))
        if isinstance(paths, str):
            reason = f"LiteRT has no kernel for the custom operator {told}: {paths}"
            run = Run({}, "off", "undecided", reason=reason)
            return [Leg(leg.kernels, "", Verdict("undecided", runs=(run,), reason=reason))], names
        found = Bench(bench.task, bench.child, paths, own_inputs=True).leg(leg.kernels, None, ())
        if not found.custom or found.custom in names:
            runs = tuple(replace(run, reason=run.reason or f"without {told}") for run in found.verdict.runs)
            return [replace(found, verdict=replace(found.verdict, runs=runs))], names
        names |= {found.custom}


def _combined(legs: Sequence[Leg], bench: Bench) -> Verdict:
    """Give one verdict: a kernel set on which the original does not run decides nothing."""
    runs = tuple(run for leg in legs for run in leg.runs)
    exceptions = tuple({**entry, "kernels": leg.kernels} for leg in legs for entry in leg.verdict.exceptions)
    ran = [leg for leg in legs if leg.cases]
    worst = next((leg for leg in ran if leg.verdict.status == "different"), None)
    if worst is not None:
        reason = f"{_only(ran, worst)}{_where(worst)}{worst.verdict.reason}"
        first = worst.verdict.first_difference
        return Verdict("different", runs=runs, exceptions=exceptions, first_difference=first, reason=reason)
    open_reason = next((f"{_where(leg)}{leg.verdict.reason}" for leg in ran if leg.verdict.status != "equal"), None)
    undecided = open_reason or _never_ran(legs, bench)
    status: VerdictStatus = "equal" if undecided is None else "undecided"
    return Verdict(status, runs=runs, exceptions=exceptions, reason=undecided)


def _never_ran(legs: Iterable[Leg], bench: Bench) -> str | None:
    """Say why a signature (or the model itself) ran on no kernel set, or None."""
    by_signature: dict[str, list[Leg]] = {}
    for leg in legs:
        by_signature.setdefault(leg.signature, []).append(leg)
    for group in by_signature.values():
        if not any(leg.cases for leg in group):
            # what was said last is of the model without its custom operators, where it has some
            told = group[-1] if group[0].custom else group[0]
            return f"{_where(told)}{told.verdict.reason}{bench.aborting(told)}"
    return None


def _only(ran: Sequence[Leg], worst: Leg) -> str:
    """Name the kernel sets that show a difference where others do not."""
    same = [leg for leg in ran if leg.signature == worst.signature]
    differing = [leg.kernels for leg in same if leg.verdict.status == "different"]
    if len(differing) == len(same):
        return ""
    return f"only with {' and '.join(KERNEL_NAMES[kernels] for kernels in dict.fromkeys(differing))}: "


def _where(leg: Leg) -> str:
    return f"signature '{leg.signature}': " if leg.signature else ""
