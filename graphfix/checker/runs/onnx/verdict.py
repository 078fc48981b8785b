"""Compare two ONNX models by runs: choose the runtime, run both models, and return the verdict."""

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
from graphfix.checker.runs.inputs.recast import (
    fed_with_int64,
    int64_inputs,
    narrowed,
    widened,
    within_int32,
    without_inputs,
)
from graphfix.checker.runs.loads import Loads
from graphfix.checker.runs.onnx.attention_sizes import attention_sizes
from graphfix.checker.runs.onnx.input_limits import limits
from graphfix.checker.runs.onnx.kept_casts import with_kept_casts
from graphfix.checker.runs.onnx.loads import checked_data, copies_fault, ways
from graphfix.checker.runs.onnx.observed_sizes import in_onnxruntime, in_reference
from graphfix.checker.runs.onnx.work import work_fault
from graphfix.checker.runs.original_runs import Answers, Sweep, of_cases
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
    from collections.abc import Callable, Iterator, Mapping

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
"""The time limit of one run in seconds, if there is no budget (`--thorough`)."""
_RANKS_TO_TRY = (2, 1, 3, 4, 0)


def by_runs(task: Task, sessions: Sessions) -> Verdict:
    """Compare two ONNX files by runs in the processes of `sessions`. Raise GraphfixError for bad input."""
    runs = _Runs.of(task)
    verdict = runs.compared(sessions)
    facts = runs.witness.facts(ran=runs.witness.runs > 0) if runs.witness is not None else None
    return replace(verdict, assumes=assumed_defaults(*runs.interfaces), facts=facts)


def with_casts_kept(task: Task) -> Verdict | None:
    """Run copies of both models in which onnxruntime drops no rounding to float16, and return the verdict.

    Return None if a model has no float16 results.
    """
    runs = _Runs.of(replace(task, claims=None))
    data = checked_data(task, runs.models)
    copies = [with_kept_casts(each) for each in data]
    if copies[0] is None or copies[1] is None:
        return None
    task.progress(f"{RUNS_OF_BOTH} with every rounding to float16")
    with Child() as sessions:
        before, after = (
            partial(sessions.load, copy, folder=each.folder) for copy, each in zip(copies, data, strict=True) if copy
        )
        openers = (lambda expose: before(expose=expose)), runs.adapted(lambda expose: after(expose=expose))
        verdict, _ = runs.run(runs.comparison(openers, "onnxruntime"))
    return verdict


@dataclass(frozen=True, slots=True)
class _Runs:
    """Two models without their weights, and settings for their runs."""

    task: Task
    models: tuple[ModelProto, ModelProto]
    declared: tuple[Interface, Interface]
    """The interfaces as the files declare them, except that the inputs `narrow` are int64 in both."""
    interfaces: tuple[Interface, Interface]
    """The interfaces with inputs set to constants (`--set`) removed from the inputs to generate."""
    narrow: frozenset[str]
    """The names of the inputs that are int64 in the first model and int32 in the second."""
    missing: frozenset[str]
    """The names of the inputs that are set to constants and that the second model does not have."""
    witness: Witness | None

    @classmethod
    def of(cls, task: Task) -> _Runs:
        """Read the two models of a task. Raise GraphfixError."""
        pair, models = task.pair, (read(task.pair.before), read(task.pair.after))
        before, after = map(onnx_interface, models)
        narrow = narrowed(before, after) if pair.narrow_inputs else frozenset[str]()
        missing = frozenset(pair.values) - {value.name for value in models[1].graph.input}
        after = widened(after, narrow)
        interfaces = before.setting(pair.values, pair.bindings, pair.shapes), after.without(pair.values)
        witness = Witness(task.claims, list(symbols(models[0].graph))) if task.claims is not None else None
        return cls(task, models, (before, after), interfaces, narrow, missing, witness)

    def compared(self, sessions: Sessions) -> Verdict:
        """Run both models in onnxruntime, or in onnx's reference evaluator if onnxruntime lacks a kernel."""
        before, after = self.declared
        reason = disagreement(before.without(self.missing), after)
        if reason is not None:
            return Verdict("different", reason=reason)
        why = work_fault(self.models, thorough=self.task.thorough)
        if why is not None:
            return Verdict("undecided", reason=why)
        verdict, fallback = self._by_onnxruntime(sessions)
        if fallback and verdict.status != "different":
            return replace(self._by_reference(), load=verdict.load)
        return verdict

    def adapted(self, opener: Callable[..., Session]) -> Callable[..., Session]:
        """Return an opener of the second model that accepts the inputs of the first model."""
        return fed_with_int64(without_inputs(opener, self.missing), self.narrow)

    def _by_onnxruntime(self, sessions: Sessions) -> tuple[Verdict, bool]:
        """Run both models in onnxruntime; return the verdict, and whether the reference evaluator must run them.

        With a witness, the original runs as a copy with Shape nodes. If a difference is found then, the original runs
        again unchanged, because only the model itself may decide.
        """
        task, witness = self.task, self.witness
        legacy = any(_opset(model) <= _LAST_WITHOUT_KERNELS for model in self.models)
        data = checked_data(task, self.models)
        loads = Loads(task.progress)
        size, needed = data[0].bytes_of(self.models[0])
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
            return _loaded(loads, (before, after), why, copies_fault(data[1], self.models[1])), False
        sessions.kept = 2 if task.brief and budget is None and not task.copied else 1
        openers = (lambda expose: before(expose=expose)), self.adapted(lambda expose: after(expose=expose))
        optimized = partial(before, optimized=True), self.adapted(partial(after, optimized=True))
        comparison = replace(self.comparison(openers, "onnxruntime"), optimized=optimized)
        verdict, lacking = self.run(self._watched(comparison, partial(in_onnxruntime, before)), budget)
        if witness is not None and witness.runs and verdict.status == "different":
            verdict, lacking = self.run(comparison)
        if not task.copied:
            fault = None
            if budget is not None:
                sessions.seconds = SECONDS  # the optimization of a large model may need much time
                fault = copies_fault(data[1], self.models[1])
            verdict = loads.judge(verdict, *ways(before, after, fault))
        versions = {"onnxruntime": installed("onnxruntime")}
        # a model with a budget is too large for onnx's evaluator, which reads all weights into memory
        fallback = budget is None and (lacking or (legacy and not verdict.runs))
        return replace(verdict, versions=versions), fallback

    def _by_reference(self) -> Verdict:
        """Run both models in onnx's reference evaluator, and return the verdict."""
        self.task.progress("onnxruntime lacks a kernel: running onnx's reference evaluator")

        def opener(data: ExternalData) -> ExposingOpener:
            return lambda expose: reference_evaluator.load(data.model_with_data(), expose=expose)

        first_data, second_data = checked_data(self.task, self.models)
        openers = opener(first_data), self.adapted(opener(second_data))
        comparison = self.comparison(openers, "onnx.reference")
        verdict, _ = self.run(self._watched(comparison, partial(in_reference, openers[0])))
        return replace(verdict, versions={"onnx.reference": installed("onnx")})

    def _watched(self, comparison: Comparison, load: Callable[[ModelProto, Witness], Session]) -> Comparison:
        """Return the comparison with the first model loaded by `load`, so that the witness observes its runs.

        Without a witness, return the comparison unchanged.
        """
        if self.witness is None:
            return comparison
        return replace(comparison, opened=(partial(load, self.models[0], self.witness), comparison.opened[1]))

    def comparison(self, openers: tuple[ExposingOpener, ExposingOpener], runtime: Runtime) -> Comparison:
        """Return the comparison of the two models that these openers load."""
        task, models = self.task, self.models

        def locate(feeds: Mapping[str, object], _: Mapping[str, Difference]) -> Place | None:
            ends = {value.name for value in models[0].graph.output}
            producers = dict(_producers(models[0])), dict(_producers(models[1]))
            return first_place(producers, ends, openers, feeds, task.criterion)

        opened = partial(openers[0], ()), partial(openers[1], ())
        return Comparison(opened, task.criterion, locate, runtime, task.progress, openers, brief=task.brief)

    def run(self, comparison: Comparison, budget: Budget | None = None) -> tuple[Verdict, bool]:
        """Return the verdict, and whether the first model lacks a kernel and was therefore not run."""
        task = self.task
        try:
            answers = self._answers(comparison, budget)
        except RefusedError as error:
            reason = f"the first model does not load: {error}"
            return Verdict("undecided", reason=reason), error.missing_kernel
        if isinstance(answers, str):
            return Verdict("undecided", reason=answers), False
        if not answers.accepted:
            return Verdict("undecided", runs=answers.refused, reason=answers.refusal), answers.missing_kernel
        if task.copied:
            return Verdict("undecided"), False
        # optimized models contain copies of the weights, and their runs decide nothing
        if budget is not None or task.brief:
            comparison = replace(comparison, optimized=None, budget=budget)
        verdict = weigh(comparison, answers)
        if task.inexact and verdict.status == "equal" and comparison.exposing is not None:
            task.progress("observing what is inexact")
            feeds = [answer.case.feeds for answer in answers.accepted]
            shown = [site for site in task.inexact if not site.inside]
            verdict = bounded(verdict, task.inexact, [observed(comparison.exposing, shown, feeds)] if shown else [])
        return verdict, False

    def _answers(self, comparison: Comparison, budget: Budget | None) -> Answers | str:
        """Run the original at several sizes and return its outputs, or the reason why no sizes fit both models.

        Raise RefusedError if the original does not load.
        """
        task, model = self.task, self.models[0]
        before = self.interfaces[0].with_ranks_of(self.interfaces[1], task.pair.shapes)
        given = given_inputs.load(task.inputs, before) if task.inputs is not None else None
        task.progress(RUNS_OF_FIRST)
        session: Session | None = None
        answers = Answers(())
        relations = attention_sizes(model)
        # onnx's evaluator needs seconds for a convolution of that size
        larger = task.runs_alone and comparison.runtime == "onnxruntime"
        for interface in _ranked(before):
            free = free_dims(interface, self.interfaces[1], task.pair)
            if isinstance(free, str):
                return free
            free = related(free, relations)
            session = session or comparison.opened[0]()
            if given is not None:
                return of_cases(session, [given], brief=task.brief)
            limits_of = partial(_limits, model, int64_inputs(interface) if task.pair.narrow_inputs else frozenset())
            sweep = Sweep(session, limits_of, interface, task.seed, larger=larger, budget=budget, brief=task.brief)
            answers = sweep.run(free, task.sets)
            if answers.accepted:
                break
        return answers


def _loaded(
    loads: Loads, openers: tuple[Callable[..., Session], Callable[..., Session]], why: str, fault: str | None
) -> Verdict:
    """Load both models without a run, and return the verdict. `why` is the reason why the models are not run."""
    try:
        openers[0]()
    except RefusedError as error:
        why = f"the first model does not load: {error}"
    verdict = loads.judge(Verdict("undecided", reason=why), *ways(*openers, fault))
    return replace(verdict, versions={"onnxruntime": installed("onnxruntime")})


def _producers(model: ModelProto) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (tensor, (operator, label of the node in reports)), in the order of the file."""
    for index, node in enumerate(model.graph.node):
        # a constant may be lifted in place, and its readers show whether that changed a result
        if node.op_type != "Constant":
            label = f"{node.op_type} '{node.name}'" if node.name else f"{node.op_type}#{index}"
            yield from ((name, (node.op_type, label)) for name in node.output if name)


def _limits(model: ModelProto, narrow: frozenset[str], shapes: Mapping[str, tuple[int, ...]]) -> Limits:
    """Return the limits of the inputs. The inputs `narrow` are restricted to int32."""
    return within_int32(limits(model, shapes), narrow)


def _ranked(interface: Interface) -> Iterator[Interface]:
    """Yield the interface with each rank to try for inputs of unknown rank; unchanged if all are known."""
    if interface.unranked:
        yield from (interface.with_rank(rank) for rank in _RANKS_TO_TRY)
    else:
        yield interface


def _opset(model: ModelProto) -> int:
    """Return the version of the standard operator set that a model imports; 7 if it imports none."""
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), _LAST_WITHOUT_KERNELS + 1)
