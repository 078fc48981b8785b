"""Judge two ONNX models: what is run by which runtime, and what the verdict is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING

import onnx

from graphfix.checker.files.onnx.skeleton import external_folder, read
from graphfix.checker.runs import given_inputs
from graphfix.checker.runs.comparison import Contest, weigh
from graphfix.checker.runs.first_difference import Place, first_place
from graphfix.checker.runs.input_limits import limits
from graphfix.checker.runs.interface import Face, assumed_defaults, disagreement
from graphfix.checker.runs.onnx_interface import face_of
from graphfix.checker.runs.original_runs import Answers, Interviewer, golden_answers
from graphfix.checker.runs.sizes import free_dims
from graphfix.results import Verdict
from graphfix.runtimes import onnx_reference
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from graphfix.checker.runs.difference import Difference
    from graphfix.checker.runs.first_difference import Opened
    from graphfix.checker.task import Task
    from graphfix.runtimes.session import Session

_LAST_WITHOUT_KERNELS = 6
_RANKS_TO_TRY = (2, 1, 3, 4, 0)
# Where onnxruntime's own kernels give another sign of zero for an operand that is written out in full.
_OWN_WAY_WITH_ZERO = frozenset({"Add", "Mul", "Sum", "Mean", "Max", "Min", "PRelu"})


def judged(task: Task) -> Verdict:
    """Compare two ONNX files. Raises GraphfixError for bad input."""
    models = read(task.before), read(task.after)
    faces = face_of(models[0]), face_of(models[1])
    verdict = _judged(task, models, faces)
    versions = {"onnx": onnx.__version__, **verdict.versions}
    return replace(verdict, versions=versions, assumes=assumed_defaults(*faces))


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

        def opener(path: Path, model: onnx.ModelProto) -> Opened:
            folder = external_folder(path, model)
            return lambda expose: child.load(path, expose=expose, folder=folder if expose else None)

        openers = opener(task.before, models[0]), opener(task.after, models[1])
        contest = replace(
            _contest(task, models, openers),
            optimized=(
                partial(child.load, task.before, optimized=True),
                partial(child.load, task.after, optimized=True),
            ),
        )
        verdict, lacking = _run(task, contest, models[0], faces)
    versions = {"onnxruntime": metadata.version("onnxruntime")}
    return replace(verdict, versions=versions), lacking or (legacy and not verdict.runs)


def _by_reference(task: Task, models: tuple[onnx.ModelProto, onnx.ModelProto], faces: tuple[Face, Face]) -> Verdict:
    """Judge by onnx's reference evaluator, both models alike."""
    task.progress("onnxruntime lacks a kernel: running onnx's reference evaluator")

    def opener(path: Path) -> Opened:
        return lambda expose: onnx_reference.load(path, expose=expose)

    openers = opener(task.before), opener(task.after)
    verdict, _ = _run(task, _contest(task, models, openers), models[0], faces)
    return replace(verdict, versions={"onnx.reference": onnx.__version__})


def _contest(task: Task, models: tuple[onnx.ModelProto, onnx.ModelProto], openers: tuple[Opened, Opened]) -> Contest:
    def locate(feeds: Mapping[str, object], _: Mapping[str, Difference]) -> Place | None:
        ends = {value.name for value in models[0].graph.output}
        producers = dict(_producers(models[0])), dict(_producers(models[1]))
        return first_place(producers, ends, openers, feeds, task.criterion)

    opened = partial(openers[0], ()), partial(openers[1], ())
    return Contest(opened, task.criterion, locate, _decisive, task.progress)


def _decisive(found: Difference, place: Place | None) -> bool:
    if "value" in found.counts:
        return True
    return "signed-zero" in found.counts and (place is None or place.op not in _OWN_WAY_WITH_ZERO)


def _producers(model: onnx.ModelProto) -> Iterator[tuple[str, tuple[str, str]]]:
    """Give (tensor, (operator, how a report names the node)), in the file's order."""
    for index, node in enumerate(model.graph.node):
        # a constant may be lifted in place; what reads it tells whether that mattered
        if node.op_type != "Constant":
            label = f"{node.op_type} '{node.name}'" if node.name else f"{node.op_type}#{index}"
            yield from ((name, (node.op_type, label)) for name in node.output if name)


def _run(task: Task, contest: Contest, model: onnx.ModelProto, faces: tuple[Face, Face]) -> tuple[Verdict, bool]:
    """Give the verdict, and whether a kernel was lacking."""
    try:
        answers = _answers(task, contest, model, faces)
    except RefusedError as error:
        reason = f"the first model does not load: {error}"
        return Verdict("undecided", reason=reason), error.missing_kernel
    if isinstance(answers, str):
        return Verdict("undecided", reason=answers), False
    if not answers.accepted:
        return Verdict("undecided", runs=answers.refused, reason=answers.refusal), answers.missing_kernel
    return weigh(contest, answers)


def _answers(task: Task, contest: Contest, model: onnx.ModelProto, faces: tuple[Face, Face]) -> Answers | str:
    """Ask the original. A string says why no size fits. Raises RefusedError where it does not load."""
    settled = faces[0].settled(faces[1], task.shapes)
    given = given_inputs.load(task.inputs, settled) if task.inputs is not None else None
    task.progress("running the first model")
    session: Session | None = None
    answers = Answers(())
    for face in _ranked(settled):
        free = free_dims(face, faces[1], task.bindings, task.shapes)
        if isinstance(free, str):
            return free
        session = session or contest.opened[0]()
        if given is not None:
            return golden_answers(session, given)
        answers = Interviewer(session, partial(limits, model), face, task.seed).sweep(free, task.runs)
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
