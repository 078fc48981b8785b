"""Judge two model files by their runs: what is run by which runtime, and what the verdict is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np
import onnx

from graphfix.results import GraphfixError, Verdict
from graphfix.runtimes import RefusedError, reference
from graphfix.runtimes.child import Child
from graphfix.verify import golden
from graphfix.verify.contest import Contest, weigh
from graphfix.verify.interface import Face, assumed_defaults, disagreement, face_of
from graphfix.verify.original import Answers, Interviewer, golden_answers
from graphfix.verify.reader import external_folder, read
from graphfix.verify.sweep import free_dims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from graphfix.runtimes import Session
    from graphfix.verify.compare import Criterion

_LAST_WITHOUT_KERNELS = 6
_RANKS_TO_TRY = (2, 1, 3, 4, 0)


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
    progress: Callable[[str], None] = field(repr=False)


def judge(task: Task) -> Verdict:
    """Compare the two files of a task. Raises GraphfixError for bad input."""
    _check_numbers(task)
    models = read(task.before), read(task.after)
    faces = face_of(models[0]), face_of(models[1])
    verdict = _judged(task, models, faces)
    if not task.criterion.exact and verdict.status == "equal":
        verdict = replace(verdict, reason=f"the outputs were compared {task.criterion}, not bit for bit")
    return replace(
        verdict,
        seed=task.seed,
        versions={"numpy": np.__version__, "onnx": onnx.__version__, **verdict.versions},
        sha256={"before": _digest(task.before), "after": _digest(task.after)},
        assumes=assumed_defaults(*faces),
    )


def _judged(task: Task, models: tuple[onnx.ModelProto, onnx.ModelProto], faces: tuple[Face, Face]) -> Verdict:
    reason = disagreement(*faces)
    if reason is not None:
        return Verdict("different", reason=reason)
    verdict, fallback = _by_onnxruntime(task, models, faces)
    if not fallback:
        return verdict
    second = _by_reference(task, models, faces)
    if second.status == "undecided" and verdict.status == "different":
        return verdict
    return second


def _by_onnxruntime(
    task: Task, models: tuple[onnx.ModelProto, onnx.ModelProto], faces: tuple[Face, Face]
) -> tuple[Verdict, bool]:
    """Judge by onnxruntime; also tell whether its lack of kernels calls for the reference evaluator."""
    legacy = any(_opset(model) <= _LAST_WITHOUT_KERNELS for model in models)
    with Child() as child:

        def opener(path: Path, model: onnx.ModelProto) -> Callable[[Sequence[str], bool], Session]:
            folder = external_folder(path, model)
            return lambda expose, optimized: child.load(
                path, optimized=optimized, expose=expose, folder=folder if expose else None
            )

        contest = Contest(
            (opener(task.before, models[0]), opener(task.after, models[1])),
            models,
            task.criterion,
            optimizations=True,
            progress=task.progress,
        )
        verdict, lacking = _run(task, contest, faces)
    versions = {"onnxruntime": metadata.version("onnxruntime")}
    return replace(verdict, versions=versions), lacking or (legacy and not verdict.runs)


def _by_reference(task: Task, models: tuple[onnx.ModelProto, onnx.ModelProto], faces: tuple[Face, Face]) -> Verdict:
    """Judge by onnx's reference evaluator, both models alike."""
    task.progress("onnxruntime lacks a kernel: running onnx's reference evaluator")

    def opener(path: Path) -> Callable[[Sequence[str], bool], Session]:
        return lambda expose, _: reference.load(path, expose=expose)

    contest = Contest(
        (opener(task.before), opener(task.after)),
        models,
        task.criterion,
        optimizations=False,
        progress=task.progress,
    )
    verdict, _ = _run(task, contest, faces)
    return replace(verdict, versions={"onnx.reference": onnx.__version__})


def _run(task: Task, contest: Contest, faces: tuple[Face, Face]) -> tuple[Verdict, bool]:
    """Give the verdict, and whether a kernel was lacking."""
    try:
        answers = _answers(task, contest, faces)
    except RefusedError as error:
        reason = f"the first model does not load: {error}"
        return Verdict("undecided", reason=reason), error.missing_kernel
    if isinstance(answers, str):
        return Verdict("undecided", reason=answers), False
    if not answers.accepted:
        return Verdict("undecided", runs=answers.refused, reason=answers.refusal), answers.missing_kernel
    return weigh(contest, answers)


def _answers(task: Task, contest: Contest, faces: tuple[Face, Face]) -> Answers | str:
    """Ask the original. A string says why no size fits. Raises RefusedError where it does not load."""
    settled = faces[0].settled(faces[1], task.shapes)
    given = golden.load(task.inputs, settled) if task.inputs is not None else None
    task.progress("running the first model")
    session: Session | None = None
    answers = Answers(())
    for face in _ranked(settled):
        free = free_dims(face, faces[1], task.bindings, task.shapes)
        if isinstance(free, str):
            return free
        session = session or contest.opened[0]((), False)
        if given is not None:
            return golden_answers(session, given)
        answers = Interviewer(session, contest.models[0], face, task.seed).sweep(free, task.runs)
        if answers.accepted:
            break
    return answers


def _ranked(face: Face) -> Iterator[Face]:
    if face.unranked:
        yield from (face.with_rank(rank) for rank in _RANKS_TO_TRY)
    else:
        yield face


def _opset(model: onnx.ModelProto) -> int:
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), _LAST_WITHOUT_KERNELS + 1)


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
