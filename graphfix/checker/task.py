"""Judge two model files by the proof and by their runs: which format they are of, and what every verdict says."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import numpy as np

from graphfix.results import GraphfixError, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.proof import Proof
    from graphfix.checker.runs.difference import Criterion

_TFLITE = b"TFL3"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be judged, and how."""

    before: Path
    after: Path
    bindings: Mapping[str, int]
    shapes: Mapping[str, Sequence[int]]
    inputs: Path | None
    runs: int
    seed: int
    criterion: Criterion
    proof: Literal["with", "only", "without"]
    """Whether the proof is asked as well as the runs, alone, or not at all."""
    progress: Callable[[str], None] = field(repr=False)


def judge(task: Task) -> Verdict:
    """Compare the two files of a task. Raises GraphfixError for bad input."""
    _check_numbers(task)
    before, after = _is_tflite(task.before), _is_tflite(task.after)
    if before != after:
        names = (task.after, task.before) if after else (task.before, task.after)
        raise GraphfixError(f"{names[0]} is a TFLite model, {names[1]} is none; name two files of one format")
    proof, document = _proof(task, tflite=before)
    unrun = Verdict("undecided", reason="nothing was run")
    verdict = unrun if task.proof == "only" else _judged(task, tflite=before)
    if not task.criterion.exact and verdict.status == "equal":
        verdict = replace(verdict, reason=f"the outputs were compared {task.criterion}, not bit for bit")
    if proof is not None:
        verdict = replace(_both(verdict, proof, _discharged(task, verdict, proof)), proof=document)
    return replace(
        verdict,
        seed=task.seed,
        versions={"numpy": np.__version__, **verdict.versions},
        sha256={"before": _digest(task.before), "after": _digest(task.after)},
    )


def _proof(task: Task, *, tflite: bool) -> tuple[Proof | None, Mapping[str, object] | None]:
    """Ask the proof, unless it is not wanted; give it as a document too."""
    if task.proof == "without":
        return None, None
    from graphfix.checker.proof import prove

    task.progress("proving")
    started = perf_counter()
    proof = prove(task.before, task.after, bindings=task.bindings, shapes=task.shapes, tflite=tflite)
    return proof, proof.document(perf_counter() - started)


def _discharged(task: Task, verdict: Verdict, proof: Proof) -> frozenset[str]:
    """Give what the proof leans on that a runtime has shown: shapes that LiteRT allocates as they are stored."""
    from graphfix.checker.proof import STORED_SHAPES

    ran = any(run.status == "equal" for run in verdict.runs)
    if not ran or not proof.proved or STORED_SHAPES not in proof.assumes:
        return frozenset()
    from graphfix.checker.runs.tflite.allocated_shapes import shapes_hold
    from graphfix.runtimes.process import Child

    task.progress("comparing the stored shapes with LiteRT's")
    with Child() as child:
        hold = shapes_hold(child, task.before, task.bindings, task.shapes)
    return frozenset((STORED_SHAPES,)) if hold else frozenset()


def _both(verdict: Verdict, proof: Proof, discharged: frozenset[str]) -> Verdict:
    """Put proof and runs together: a run that differs is told whatever is proved; a proof decides where none can."""
    if not proof.proved or verdict.status == "different":
        return verdict
    assumes = tuple(dict.fromkeys((*verdict.assumes, *(text for text in proof.assumes if text not in discharged))))
    return replace(verdict, status="proved", assumes=assumes)


def _judged(task: Task, *, tflite: bool) -> Verdict:
    if tflite:
        from graphfix.checker.runs.tflite.verdict import judged

        return judged(task)
    from graphfix.checker.runs.onnx import judged as judged_onnx

    return judged_onnx(task)


def _is_tflite(path: Path) -> bool:
    """Tell by the file identifier, at bytes 4 to 8."""
    try:
        with path.open("rb") as file:
            return file.read(8)[4:] == _TFLITE
    except OSError as error:
        raise GraphfixError(f"{path}: can't be read: {error.strerror}") from None


def _check_numbers(task: Task) -> None:
    if task.runs < 1:
        raise GraphfixError(f"{task.runs} runs decide nothing; ask for at least 1")
    if any(limit is not None and limit < 0 for limit in (task.criterion.atol, task.criterion.rtol)):
        raise GraphfixError(f"a tolerance is at least 0, not {task.criterion}")
    if task.seed < 0:
        raise GraphfixError(f"a seed is at least 0, not {task.seed}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
