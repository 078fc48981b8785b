"""Compare two ONNX models: what is run by which runtime, and what the verdict is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.skeleton import read
from graphfix.checker.files.onnx.stored_sizes import symbols
from graphfix.checker.runs.budget import LARGE, SECONDS, Budget, allowance, memory_fault
from graphfix.checker.runs.comparing.comparison import Comparison, weigh
from graphfix.checker.runs.comparing.first_difference import Place, first_place
from graphfix.checker.runs.comparing.inexact_sites import bounded, observed
from graphfix.checker.runs.inputs import given_inputs
from graphfix.checker.runs.inputs.interface import Interface, assumed_defaults, disagreement, onnx_interface
from graphfix.checker.runs.inputs.recast import fed_with_int64, int64_inputs, narrowed, widened, within_int32
from graphfix.checker.runs.loads import Loads
from graphfix.checker.runs.onnx.attention_sizes import attention_sizes
from graphfix.checker.runs.onnx.input_limits import limits
from graphfix.checker.runs.onnx.kept_casts import with_kept_casts
from graphfix.checker.runs.onnx.loads import checked_data, copies_fault, ways
from graphfix.checker.runs.onnx.observed_sizes import in_onnxruntime, in_reference
from graphfix.checker.runs.onnx.work import work_fault
from graphfix.checker.runs.original_runs import Answers, Sweep, given_answers
from graphfix.checker.runs.sizes.free_sizes import free_dims
from graphfix.checker.runs.sizes.related_sizes import related
from graphfix.checker.runs.witness import Witness
from graphfix.results import Verdict
from graphfix.results.progress import RUNS_OF_BOTH, RUNS_OF_FIRST, Notice
from graphfix.results.records import dataclass
from graphfix.results.runtime_facts import installed
from graphfix.runtimes.memory import unused
from graphfix.runtimes.onnx import reference_evaluator
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.sessions import LONGEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from onnx import ModelProto

    from graphfix.checker.files.onnx.external_data import ExternalData
    from graphfix.checker.runs.comparing.difference import Difference
    from graphfix.checker.runs.comparing.exceptions import Runtime
    from graphfix.checker.runs.comparing.first_difference import ExposingOpener
    from graphfix.checker.runs.inputs.input_limits import Limits
    from graphfix.checker.task import Task
    from graphfix.runtimes.session import Session
    from graphfix.runtimes.sessions import Sessions

_LAST_WITHOUT_KERNELS = 6
_LONGEST = 24 * 3600.0
"""The most seconds of one run without a budget (`--thorough`)."""
_RANKS_TO_TRY = (2, 1, 3, 4, 0)


def by_runs(task: Task, sessions: Sessions) -> Verdict:
    """Compare two ONNX files by runs in a process. Raises GraphfixError for bad input."""
    models = read(task.pair.before), read(task.pair.after)
    interfaces = _interfaces(task, models)
    named = list(symbols(models[0].graph))
    witness = Witness(task.claims, named) if task.claims is not None else None
    verdict = _by_runs(task, sessions, models, interfaces, witness)
    facts = witness.facts(ran=witness.runs > 0) if witness is not None else None
    return replace(verdict, assumes=assumed_defaults(*interfaces), facts=facts)


def _interfaces(task: Task, models: tuple[ModelProto, ModelProto]) -> tuple[Interface, Interface]:
    """Read both; what is taken for a constant is no input of either, and int32 is the int64 that is fed.

    Raises GraphfixError.
    """
    before, after = _declared(task, models)
    return before.setting(task.pair.values, task.pair.bindings, task.pair.shapes), after.without(task.pair.values)


def _declared(task: Task, models: tuple[ModelProto, ModelProto]) -> tuple[Interface, Interface]:
    """Read both; an input that the second takes as int32 as the first has it."""
    before, after = map(onnx_interface, models)
    return before, widened(after, _narrow(task, models))


def _missing(task: Task, model: ModelProto) -> frozenset[str]:
    """Name the inputs with a constant value that the second model does not have."""
    return frozenset(task.pair.values) - {value.name for value in model.graph.input}


def _by_runs(
    task: Task,
    sessions: Sessions,
    models: tuple[ModelProto, ModelProto],
    interfaces: tuple[Interface, Interface],
    witness: Witness | None,
) -> Verdict:
    before, after = _declared(task, models)
    reason = disagreement(before.without(_missing(task, models[1])), after)
    if reason is not None:
        return Verdict("different", reason=reason)
    why = work_fault(models, thorough=task.thorough)
    if why is not None:
        return Verdict("undecided", reason=why)
    verdict, fallback = _by_onnxruntime(task, sessions, models, interfaces, witness)
    if fallback and verdict.status != "different":
        second = _by_reference(task, models, interfaces, witness)
        return replace(second, load=verdict.load)
    return verdict


def _narrow(task: Task, models: tuple[ModelProto, ModelProto]) -> frozenset[str]:
    """Name the inputs that the second model takes as int32, and the first as int64."""
    return narrowed(*map(onnx_interface, models)) if task.pair.narrow_inputs else frozenset()


def _adapted(
    opener: Callable[..., Session], task: Task, models: tuple[ModelProto, ModelProto]
) -> Callable[..., Session]:
    """Open the second model, and feed it as the first."""
    return fed_with_int64(_without(opener, _missing(task, models[1])), _narrow(task, models))


def with_casts_kept(task: Task) -> Verdict | None:
    """Run copies of both models in which onnxruntime drops no rounding to float16; None where there are none."""
    models = read(task.pair.before), read(task.pair.after)
    data = checked_data(task, models)
    copies = [with_kept_casts(each) for each in data]
    if copies[0] is None or copies[1] is None:
        return None
    task.progress(f"{RUNS_OF_BOTH} with every rounding to float16")
    with Child() as sessions:
        before, after = (
            partial(sessions.load, copy, folder=each.folder) for copy, each in zip(copies, data, strict=True) if copy
        )
        openers = (lambda expose: before(expose=expose)), _adapted(lambda expose: after(expose=expose), task, models)
        comparison = _comparison(task, models, openers, "onnxruntime")
        verdict, _ = _run(task, comparison, models[0], _interfaces(task, models))
    return verdict


def _by_onnxruntime(
    task: Task,
    sessions: Sessions,
    models: tuple[ModelProto, ModelProto],
    interfaces: tuple[Interface, Interface],
    witness: Witness | None,
) -> tuple[Verdict, bool]:
    """Run onnxruntime; also return whether its lack of kernels calls for the reference evaluator.

    With a witness the original runs as a copy with Shape nodes. Where anything differs then, it runs as it is:
    what decides is the model itself.
    """
    legacy = any(_opset(model) <= _LAST_WITHOUT_KERNELS for model in models)
    data = checked_data(task, models)
    loads = Loads(task.progress)
    size, needed = data[0].bytes_of(models[0])
    budget = None if size < LARGE or task.thorough or task.inputs is not None else Budget(task.progress)
    sessions.seconds = _LONGEST if task.thorough else LONGEST_SECONDS
    sessions.memory = allowance(size, thorough=task.thorough)
    load = partial(sessions.load, arena=budget is None)
    before, after = (
        loads.watched(side, partial(load, each.runnable(), folder=each.folder)) for side, each in enumerate(data)
    )
    why = memory_fault(needed, unused()) if budget is not None else None
    if budget is not None:
        budget.stop_after = partial(setattr, sessions, "seconds")
    if why is not None:
        task.progress(Notice(why))
        return _loaded(loads, (before, after), why, copies_fault(data[1], models[1])), False
    sessions.kept = 2 if task.brief and budget is None and not task.copied else 1
    openers = (lambda expose: before(expose=expose)), _adapted(lambda expose: after(expose=expose), task, models)
    comparison = replace(
        _comparison(task, models, openers, "onnxruntime"),
        optimized=(
            partial(before, optimized=True),
            _adapted(partial(after, optimized=True), task, models),
        ),
    )
    watched = comparison
    if witness is not None:
        first = partial(in_onnxruntime, before, models[0], witness)
        watched = replace(comparison, opened=(first, comparison.opened[1]))
    verdict, lacking = _run(task, watched, models[0], interfaces, budget)
    if witness is not None and witness.runs and verdict.status == "different":
        verdict, lacking = _run(task, comparison, models[0], interfaces)
    if not task.copied:
        fault = None
        if budget is not None:
            sessions.seconds = SECONDS  # optimizing a large model may take long
            fault = copies_fault(data[1], models[1])
        verdict = loads.judge(verdict, *ways(before, after, fault))
    versions = {"onnxruntime": installed("onnxruntime")}
    # a model with a budget is too large for onnx's evaluator, which reads all weights into memory
    fallback = budget is None and (lacking or (legacy and not verdict.runs))
    return replace(verdict, versions=versions), fallback


def _loaded(
    loads: Loads, openers: tuple[Callable[..., Session], Callable[..., Session]], why: str, fault: str | None
) -> Verdict:
    """Load both models without a run, and return the verdict; `why` is the reason that none is run."""
    try:
        openers[0]()
    except RefusedError as error:
        why = f"the first model does not load: {error}"
    verdict = loads.judge(Verdict("undecided", reason=why), *ways(*openers, fault))
    return replace(verdict, versions={"onnxruntime": installed("onnxruntime")})


def _by_reference(
    task: Task,
    models: tuple[ModelProto, ModelProto],
    interfaces: tuple[Interface, Interface],
    witness: Witness | None,
) -> Verdict:
    """Run onnx's reference evaluator, both models alike."""
    task.progress("onnxruntime lacks a kernel: running onnx's reference evaluator")

    def opener(data: ExternalData) -> ExposingOpener:
        return lambda expose: reference_evaluator.load(data.whole(), expose=expose)

    first_data, second_data = checked_data(task, models)
    openers = opener(first_data), _adapted(opener(second_data), task, models)
    comparison = _comparison(task, models, openers, "onnx.reference")
    if witness is not None:
        first = partial(in_reference, openers[0], models[0], witness)
        comparison = replace(comparison, opened=(first, comparison.opened[1]))
    verdict, _ = _run(task, comparison, models[0], interfaces)
    return replace(verdict, versions={"onnx.reference": installed("onnx")})


def _comparison(
    task: Task,
    models: tuple[ModelProto, ModelProto],
    openers: tuple[ExposingOpener, ExposingOpener],
    runtime: Runtime,
) -> Comparison:
    def locate(feeds: Mapping[str, object], _: Mapping[str, Difference]) -> Place | None:
        ends = {value.name for value in models[0].graph.output}
        producers = dict(_producers(models[0])), dict(_producers(models[1]))
        return first_place(producers, ends, openers, feeds, task.criterion)

    opened = partial(openers[0], ()), partial(openers[1], ())
    return Comparison(opened, task.criterion, locate, runtime, task.progress, openers, brief=task.brief)


def _producers(model: ModelProto) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (tensor, (operator, how a report names the node)), in the file's order."""
    for index, node in enumerate(model.graph.node):
        # a constant may be lifted in place; what reads it shows whether that mattered
        if node.op_type != "Constant":
            label = f"{node.op_type} '{node.name}'" if node.name else f"{node.op_type}#{index}"
            yield from ((name, (node.op_type, label)) for name in node.output if name)


def _run(
    task: Task,
    comparison: Comparison,
    model: ModelProto,
    interfaces: tuple[Interface, Interface],
    budget: Budget | None = None,
) -> tuple[Verdict, bool]:
    """Return the verdict, and whether the first model lacks a kernel."""
    try:
        answers = _answers(task, comparison, model, interfaces, budget)
    except RefusedError as error:
        reason = f"the first model does not load: {error}"
        return Verdict("undecided", reason=reason), error.missing_kernel
    if isinstance(answers, str):
        return Verdict("undecided", reason=answers), False
    if not answers.accepted:
        return Verdict("undecided", runs=answers.refused, reason=answers.refusal), answers.missing_kernel
    if task.copied:
        return Verdict("undecided"), False
    if budget is not None or task.brief:  # optimizations hold copies of the weights, and decide nothing
        comparison = replace(comparison, optimized=None, budget=budget)
    verdict = weigh(comparison, answers)
    if task.inexact and verdict.status == "equal" and comparison.exposing is not None:
        task.progress("observing what is inexact")
        feeds = [answer.case.feeds for answer in answers.accepted]
        shown = [site for site in task.inexact if not site.inside]
        verdict = bounded(verdict, task.inexact, [observed(comparison.exposing, shown, feeds)] if shown else [])
    return verdict, False


def _answers(
    task: Task,
    comparison: Comparison,
    model: ModelProto,
    interfaces: tuple[Interface, Interface],
    budget: Budget | None,
) -> Answers | str:
    """Ask the original. A string says why no size fits. Raises RefusedError where it does not load."""
    before = interfaces[0].with_ranks_of(interfaces[1], task.pair.shapes)
    given = given_inputs.load(task.inputs, before) if task.inputs is not None else None
    task.progress(RUNS_OF_FIRST)
    session: Session | None = None
    answers = Answers(())
    relations = attention_sizes(model)
    # onnx's evaluator takes seconds for a convolution of that size
    larger = task.runs_alone and comparison.runtime == "onnxruntime"
    for interface in _ranked(before):
        free = free_dims(interface, interfaces[1], task.pair)
        if isinstance(free, str):
            return free
        free = related(free, relations)
        session = session or comparison.opened[0]()
        if given is not None:
            return given_answers(session, given, brief=task.brief)
        known = partial(_limits, model, int64_inputs(interface) if task.pair.narrow_inputs else frozenset())
        sweep = Sweep(session, known, interface, task.seed, larger=larger, budget=budget, brief=task.brief)
        answers = sweep.run(free, task.sets)
        if answers.accepted:
            break
    return answers


def _limits(model: ModelProto, narrow: frozenset[str], shapes: Mapping[str, tuple[int, ...]]) -> Limits:
    """What inputs may hold; those of `narrow` numbers of int32."""
    return within_int32(limits(model, shapes), narrow)


def _ranked(interface: Interface) -> Iterator[Interface]:
    if interface.unranked:
        yield from (interface.with_rank(rank) for rank in _RANKS_TO_TRY)
    else:
        yield interface


def _opset(model: ModelProto) -> int:
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), _LAST_WITHOUT_KERNELS + 1)


# --- a second model that lacks inputs of the first: those that are bound to constants ---------------------------------


@dataclass(frozen=True, slots=True)
class _WithoutInputs:
    """A session of a model that lacks some inputs: `run` drops their values."""

    session: Session
    names: Collection[str]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what `run` returns, in that order."""
        return self.session.outputs

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once. Raises RefusedError."""
        return self.session.run({name: value for name, value in feeds.items() if name not in self.names})


def _without(load: Callable[..., Session], names: Collection[str]) -> Callable[..., Session]:
    """Return a loader of a model that lacks these inputs."""
    if not names:
        return load

    def loaded(*args: object, **options: object) -> Session:
        return _WithoutInputs(load(*args, **options), names)

    return loaded
