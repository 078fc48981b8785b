"""Compare two model files by the proof and by runs: check the request and the formats, and combine both results."""

from __future__ import annotations

import filecmp
import hashlib
import math
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.files import is_tflite
from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.equal_sizes import stated
from graphfix.checker.files.set_values import assumed
from graphfix.checker.runs import by_runs
from graphfix.checker.task import ROUNDED
from graphfix.results import GraphfixError, Load, Verdict
from graphfix.results.claims import Claims
from graphfix.results.progress import RUNS_OF_BOTH
from graphfix.results.runtime_facts import installed, newer_than_measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from graphfix.checker.files.pair import Pair
    from graphfix.checker.proof import Proof
    from graphfix.checker.runs.early import EarlyRuns
    from graphfix.checker.task import Task
    from graphfix.results.claims import StoredShape, StoredSize
    from graphfix.runtimes.process import Child

NOT_LOADED = "nothing was run, and the load was not observed"
"""The reason in a verdict by the proof alone."""
COPIED = "the second file is a copy of the first, so it was not run"
"""The reason in a verdict for two files with the same bytes."""


def compare(task: Task) -> Verdict:
    """Compare the two files of a task and return the verdict. Raise GraphfixError for bad input."""
    _check_numbers(task)
    before, after = is_tflite(task.pair.before), is_tflite(task.pair.after)
    if before != after:
        names = (task.pair.after, task.pair.before) if after else (task.pair.before, task.pair.after)
        raise GraphfixError(f"{names[0]} is a TFLite model, {names[1]} is none; name two files of one format")
    if task.pair.signature is not None and not before:
        raise GraphfixError(
            f"{task.pair.before}: --signature {task.pair.signature}: only a TFLite model has signatures; leave it out"
        )
    try:
        task = replace(task, pair=_renamed(task.pair) if before else task.pair)
        with _early_runs(task) as early:
            return _judged(task, early)
    except BindingError as error:
        raise GraphfixError(f"{task.pair.before}: {error}") from None


def _renamed(pair: Pair) -> Pair:
    """Return a TFLite pair whose sizes use the names of the tensors. Raise BindingError for an unknown signature."""
    from graphfix.checker.files.tflite.names import renamed

    bindings, shapes = renamed(pair.before, pair.bindings, pair.shapes, pair.signature)
    ranges, _ = renamed(pair.before, pair.ranges, {}, pair.signature) if pair.ranges else (pair.ranges, {})
    return replace(pair, tflite=True, bindings=bindings, shapes=shapes, ranges=ranges)


def _early_runs(task: Task) -> AbstractContextManager[EarlyRuns | None]:
    """Start brief runs of a pair that may be proved; no brief runs if the user requests special runs.

    The context is None if no brief runs are started. This is so if the user requests a number of runs, a tolerance,
    `thorough`, no proof, or a proof without runs. It is also so if both files have the same bytes.
    """
    asked = task.runs is not None or task.thorough or not task.criterion.exact or task.proof != "with"
    if asked or filecmp.cmp(task.pair.before, task.pair.after, shallow=False):
        return nullcontext()
    from graphfix.checker.runs.early import EarlyRuns

    return EarlyRuns(task)


def _judged(task: Task, early: EarlyRuns | None) -> Verdict:
    """Prove and run the pair, and return the complete verdict, with versions and digests."""
    proof, document = _proof(task)
    believed = () if proof is None else proof.believed
    task = replace(task, runs_alone=proof is None or not proof.proved)
    if proof is not None and proof.inexact:
        # values computed from inexact sites get the bound of the sites themselves
        task = replace(task, inexact=proof.inexact, criterion=replace(task.criterion, of_largest=ROUNDED))
    task = _watching(task, believed)
    verdict = _observed(task, proof, early)
    if not task.criterion.exact and verdict.status == "equal" and not task.inexact:
        verdict = replace(verdict, reason=f"the outputs were compared {task.criterion}, not bit for bit")
    if proof is not None:
        verdict = replace(_both(task, verdict, proof, _discharged(task, verdict, proof, early)), proof=document)
    versions = _versions(task, verdict)
    return replace(
        _witnessed(verdict),
        assumes=tuple(dict.fromkeys((*verdict.assumes, *_asked(task)))),
        seed=task.seed,
        versions=versions,
        newer=tuple(newer_than_measured(versions)),
        sha256={"before": _digest(task.pair.before), "after": _digest(task.pair.after)},
    )


def _observed(task: Task, proof: Proof | None, early: EarlyRuns | None) -> Verdict:
    """Return the verdict of the runs, or of the loads alone, as far as the task requests them.

    The verdict of the brief runs is sufficient if the pair is proved and they found no difference.
    """
    if task.proof == "only" and not task.load:
        return Verdict("undecided", reason=NOT_LOADED, load=Load(reason=NOT_LOADED))
    if proof is not None and proof.copied and proof.proved and task.inputs is None:
        return _of_copies(task, early)
    if task.proof == "only":
        return _by_loads(task)
    if early is not None and proof is not None and proof.proved and not (proof.inexact or proof.believed):
        task.progress(RUNS_OF_BOTH)
        verdict = early.verdict()
        if verdict is not None and (verdict.status == "equal" or not _has_run(verdict)):
            return verdict
    if early is not None:
        early.drop()
    with _process(task, early) as child:
        return by_runs(task, child)


def _process(task: Task, early: EarlyRuns | None) -> AbstractContextManager[Child]:
    """Return a context with the process that was started for this task, if it is free, or with a new process."""
    started = task.process if early is None else early.process
    if started is not None:
        return nullcontext(started)
    from graphfix.runtimes.process import Child

    return Child()


def _has_run(verdict: Verdict) -> bool:
    """Return whether a verdict of brief runs is "different" or some run compared outputs.

    If the result is True and the status is not "equal", complete runs must decide.
    """
    return verdict.status == "different" or any(run.outputs for run in verdict.runs)


def _of_copies(task: Task, early: EarlyRuns | None) -> Verdict:
    """Return the verdict for two files with the same bytes.

    If there are claims about sizes, run the first file to check them.
    """
    verdict = Verdict("undecided")
    if early is not None:
        early.drop()
    if task.claims is not None and task.claims.node_names:
        with _process(task, early) as child:
            verdict = by_runs(replace(task, copied=True, brief=True), child)
    return Verdict("undecided", reason=COPIED, load=Load(reason=COPIED), facts=verdict.facts, versions=verdict.versions)


def _versions(task: Task, verdict: Verdict) -> dict[str, str]:
    """Return the versions of numpy, of onnx (if an ONNX model was loaded or run) and of the runtimes."""
    readers = {} if task.pair.tflite or not verdict.versions else {"onnx": installed("onnx")}
    return {"numpy": np.__version__, **readers, **verdict.versions}


def _proof(task: Task) -> tuple[Proof | None, Mapping[str, object] | None]:
    """Prove the pair, and return the proof and its JSON document; (None, None) if no proof is requested."""
    if task.proof == "without":
        return None, None
    from graphfix.checker.proof import prove

    task.progress("proving")
    started = perf_counter()
    proof = prove(task.pair)
    return proof, proof.document(perf_counter() - started)


def _watching(task: Task, believed: Sequence[StoredSize | StoredShape]) -> Task:
    """Return the task with further claims for the runs to check: stored sizes and shapes that the proof believes."""
    if not believed:
        return task
    claims = task.claims or Claims({}, {})
    return replace(task, claims=replace(claims, believed=tuple(dict.fromkeys((*claims.believed, *believed)))))


def _asked(task: Task) -> tuple[str, ...]:
    """Return the assumptions that the user stated: a signature, equal sizes, and values of inputs."""
    called = () if task.pair.signature is None else (f"callers use the signature '{task.pair.signature}' alone",)
    return (*called, *stated(task.pair.same), *assumed(task.pair.values))


def _discharged(task: Task, verdict: Verdict, proof: Proof, early: EarlyRuns | None) -> frozenset[str]:
    """Return the assumptions of the proof that LiteRT has confirmed: it allocates tensors with their stored shapes."""
    from graphfix.checker.proof import STORED_SHAPES

    ran = any(run.status == "equal" for run in verdict.runs)
    if not ran or not proof.matched or STORED_SHAPES not in proof.assumes:
        return frozenset()
    from graphfix.checker.runs.tflite.allocated_shapes import shapes_hold

    task.progress("comparing the stored shapes with LiteRT's")
    with _process(task, early) as child:
        hold = shapes_hold(child, task.pair.before, task.pair.bindings, task.pair.shapes)
    return frozenset((STORED_SHAPES,)) if hold else frozenset()


def _both(task: Task, verdict: Verdict, proof: Proof, discharged: frozenset[str]) -> Verdict:
    """Combine the verdict of the runs with the proof. Assumptions of a proof that matched are added.

    If a run differs, the verdict is "different" even if the pair is proved, except for a few rows of the table of
    exceptions. If the pair is proved and no run differs, the verdict is "proved".
    """
    if not proof.proved:
        return verdict if not proof.matched else replace(verdict, assumes=_assumes(verdict, proof, discharged))
    if verdict.status == "different":
        excused = _excused(task, verdict, proof)
        if excused is None:
            return verdict
        verdict = excused
    return replace(verdict, status="proved", assumes=_assumes(verdict, proof, discharged))


def _assumes(verdict: Verdict, proof: Proof, discharged: frozenset[str]) -> tuple[str, ...]:
    """Return the assumptions of runs and proof, without those that a runtime has confirmed."""
    return tuple(dict.fromkeys((*verdict.assumes, *(text for text in proof.assumes if text not in discharged))))


def _excused(task: Task, verdict: Verdict, proof: Proof) -> Verdict | None:
    """Return the verdict of proved models with an exception that explains all differences; None if none does."""
    from graphfix.checker.proof import ABOUT_SIZE_0
    from graphfix.checker.runs.comparing import exceptions

    if not any(run.status == "different" for run in verdict.runs):
        return None  # the interfaces differ, or the second model does not load
    if verdict.load is not None and verdict.load.failure is not None:
        return None
    reason = verdict.reason
    entry = None if ABOUT_SIZE_0.isdisjoint(proof.assumes) else exceptions.size_0(verdict.runs)
    if entry is not None:
        reason = "they differ at a size of 0 alone, which the proof assumes away"
    elif task.pair.tflite:
        entry = exceptions.one_kernel_set(verdict.runs)
    else:
        from graphfix.checker.runs.onnx.verdict import with_casts_kept

        kept = with_casts_kept(task)
        entry = None if kept is None else exceptions.dropped_cast(verdict, kept)
        reason = f"{reason}; with every rounding to float16 kept they are bit-equal"
    return None if entry is None else replace(verdict, exceptions=(*verdict.exceptions, entry), reason=reason)


def _witnessed(verdict: Verdict) -> Verdict:
    """Return the verdict as "contradicted" if a value of the original had another size than claimed; else unchanged."""
    facts = verdict.facts
    if facts is None or facts.first is None:
        return verdict
    more = f", and so {facts.contradicted - 1} more" if facts.contradicted > 1 else ""
    return replace(verdict, status="contradicted", reason=f"{facts.first}{more}")


def _by_loads(task: Task) -> Verdict:
    if task.pair.tflite:
        from graphfix.checker.runs.tflite import verdict as tflite_runs

        return tflite_runs.by_loads(task)
    from graphfix.checker.runs.onnx import loads as onnx_loads

    return onnx_loads.by_loads(task)


def _check_numbers(task: Task) -> None:
    """Raise GraphfixError if the number of runs, a tolerance or the seed is out of range."""
    if task.runs is not None and task.runs < 1:
        raise GraphfixError(f"{task.runs} runs decide nothing; ask for at least 1")
    for name, limit in (("atol", task.criterion.atol), ("rtol", task.criterion.rtol)):
        if limit is not None and not 0 <= limit < math.inf:  # NaN is no tolerance
            what = "at least 0" if limit != math.inf else "finite"
            raise GraphfixError(f"a tolerance is {what}, and {name} is {limit}; give 0 for bit equality")
    if task.seed < 0:
        raise GraphfixError(f"a seed is at least 0, not {task.seed}; give another one")


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
