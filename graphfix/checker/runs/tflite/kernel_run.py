"""Run two TFLite files for one SignatureDef on one kernel set of LiteRT, and compare the outputs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from graphfix.checker.files.pair import Pair
from graphfix.checker.files.tflite.graphs import ancestors, read_graphs
from graphfix.checker.runs.comparing import inexact_sites
from graphfix.checker.runs.comparing.comparison import Comparison, weigh
from graphfix.checker.runs.comparing.exceptions import READS_PAST_THE_END
from graphfix.checker.runs.comparing.first_difference import first_place
from graphfix.checker.runs.comparing.unwritten_variables import reads_variables, unwritten_outputs
from graphfix.checker.runs.inputs import given_inputs
from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import litert_interface
from graphfix.checker.runs.inputs.seeded_inputs import Choice, seeded
from graphfix.checker.runs.original_runs import (
    Answers,
    Sweep,
    Undetermined,
    after_reload,
    of_cases,
)
from graphfix.checker.runs.sizes.free_sizes import Free, free_dims
from graphfix.checker.runs.tflite.cut_models import aborting_operator
from graphfix.checker.runs.tflite.input_limits import limits
from graphfix.checker.runs.witness import WitnessedSession
from graphfix.results import Run, Verdict
from graphfix.results.progress import RUNS_OF_FIRST
from graphfix.results.records import dataclass, field
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.files.tflite.graphs import Graph, Op
    from graphfix.checker.runs.comparing.difference import Difference
    from graphfix.checker.runs.comparing.exceptions import Runtime
    from graphfix.checker.runs.comparing.first_difference import Place
    from graphfix.checker.runs.inputs.interface import Interface
    from graphfix.checker.runs.inputs.seeded_inputs import Case
    from graphfix.checker.runs.original_runs import Answer
    from graphfix.checker.runs.tflite.pace import Pace
    from graphfix.checker.runs.witness import Sizes, Witness
    from graphfix.checker.task import Task
    from graphfix.results import InexactSite
    from graphfix.runtimes.session import Session
    from graphfix.runtimes.sessions import LitertSession, Sessions

KERNEL_NAMES = {"reference": "the reference kernels", "builtin": "the builtin kernels", "xnnpack": "XNNPACK"}


@dataclass(frozen=True, slots=True)
class Opener:
    """Loads one file on one kernel set, for one SignatureDef, or for subgraph 0 if `signature` is None."""

    sessions: Sessions
    path: Path
    kernels: str
    signature: str | None = None

    def __call__(self) -> LitertSession:
        """Load the file unchanged. Raise RefusedError."""
        return self.sessions.load_tflite(self.path, self.kernels, signature=self.signature)

    def exposing(self, names: Sequence[str]) -> LitertSession:
        """Load the file with further tensors as outputs.

        XNNPACK keeps no inner tensors, so the builtin kernels are used instead.
        """
        kernels = "builtin" if self.kernels == "xnnpack" else self.kernels
        return self.sessions.load_tflite(self.path, kernels, signature=self.signature, expose=names)


@dataclass(frozen=True, slots=True)
class KernelRun:
    """The result of the runs on one kernel set, for one signature."""

    kernels: str
    signature: str
    verdict: Verdict
    cases: tuple[Case, ...] = ()
    """The inputs that the original accepted; empty if it does not run."""
    custom: str = ""
    """The custom operator for which LiteRT has no kernel; empty if there is none."""
    inexact: Mapping[InexactSite, float] = field(default_factory=dict)
    """Inexact site -> its largest difference in these runs, divided by the largest magnitude."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs, each with its kernel set and signature."""
        return tuple(replace(run, kernels=self.kernels, signature=self.signature) for run in self.verdict.runs)


@dataclass(frozen=True, slots=True)
class KernelRunner:
    """Two files, the task, and the processes that run them."""

    task: Task
    sessions: Sessions
    paths: tuple[Path, Path]
    own_inputs: bool = False
    """Whether inputs are generated even if the task contains a file of inputs."""
    witness: Witness | None = None
    """Records the sizes of inner values during the runs of the first kernel set that runs the main graph."""
    pace: Pace | None = None
    """The times of the brief runs so far; None if the runs are not brief."""
    least: bool = False
    """Whether the smallest sizes are run first."""
    _graphs: dict[Path, tuple[Graph, ...]] = field(default_factory=dict, repr=False)

    def run(self, kernels: str, signature: str | None, cases: Sequence[Case]) -> KernelRun:
        """Run both files on a kernel set.

        `cases` are inputs that another kernel set accepted; if empty, inputs are generated.
        """
        openers = (
            Opener(self.sessions, self.paths[0], kernels, signature),
            Opener(self.sessions, self.paths[1], kernels, signature),
        )
        self.task.progress(f"{RUNS_OF_FIRST} on {KERNEL_NAMES[kernels]}")
        try:
            answers = self._answers(*openers, cases)
        except RefusedError as error:
            reason = f"the first model does not load: {error}"
            return KernelRun(kernels, signature or "", refused(reason), custom=error.custom)
        if isinstance(answers, str):
            return KernelRun(kernels, signature or "", refused(answers))
        unwritten = self._unwritten(openers[0])
        if not answers.accepted:
            verdict = _never_accepted(answers, unwritten)
            return KernelRun(kernels, signature or "", verdict, custom=answers.custom)
        answers = answers.without(unwritten)
        if self.task.copied:
            verdict = Verdict("undecided")
        else:
            verdict = self._weighed(openers[0], self._comparison(*openers), answers)
        cases = tuple(answer.case for answer in answers.accepted)
        return KernelRun(kernels, signature or "", verdict, cases, inexact=self._inexact(*openers, cases))

    def _inexact(self, before: Opener, after: Opener, cases: Sequence[Case]) -> Mapping[InexactSite, float]:
        """Return how far the inexact sites of the subgraph differ. Empty for XNNPACK, which keeps no inner tensors.

        With --signature, the proof numbers the subgraph of that signature as 0, whatever its number in the files is.
        """
        if not self.task.inexact or before.kernels == "xnnpack":
            return {}
        is_first = before.signature in (None, self.task.pair.signature)
        subgraph = 0 if is_first else dict(before().interface.signatures)[before.signature or ""]
        sites = [site for site in self.task.inexact if site.graph == subgraph]
        self.task.progress("comparing what was written in other operators")
        return inexact_sites.observed((before.exposing, after.exposing), sites, [case.feeds for case in cases])

    def _weighed(self, opener: Opener, comparison: Comparison, answers: Answers) -> Verdict:
        """Return the verdict of the comparison.

        If a run differs, exclude outputs that the original does not determine.

        These are outputs that change if the original is loaded again in a new process. Outputs that depend on an
        operator that may read past the end of an operand are excluded, too.
        """
        verdict = weigh(comparison, answers)
        if verdict.status != "different" or self.task.brief:  # complete runs follow and examine the difference
            return verdict
        self.task.progress(f"{RUNS_OF_FIRST} in the place of the second")
        with Child() as sessions:
            again = replace(opener, sessions=sessions)
            try:
                of_cases(again(), [answer.case for answer in answers.accepted])
                stable = after_reload(again(), answers)
            except RefusedError:
                return verdict
        stable = stable.without(self._loose(opener))
        undetermined = sum(len(answer.undetermined) for answer in answers.accepted)
        found = sum(len(answer.undetermined) for answer in stable.accepted)
        return weigh(comparison, stable) if found > undetermined else verdict

    def _unwritten(self, opener: Opener) -> dict[str, Undetermined]:
        """Return the outputs that depend on a variable that is read before it is written, each with the reason."""
        if not reads_variables(opener.path):
            return {}
        return unwritten_outputs(opener.path, opener().interface, opener.signature)

    def _loose(self, opener: Opener) -> dict[str, Undetermined]:
        """Return the outputs, with the reason, that depend on an operator that may read past the end of an operand."""
        if opener.signature is not None:
            return {}
        graph = self._read(opener.path)[0]
        found = {at: f"{op.name}#{at}" for at, op in enumerate(graph.ops) if _reads_past(graph, op)}
        reached = {index: ancestors(graph, [index]) & found.keys() for index in graph.outputs} if found else {}
        readers = {graph.names[index]: found[min(places)] for index, places in reached.items() if places}
        return {name: _reads_past_the_end(reader) for name, reader in readers.items()}

    def aborting(self, kernel_run: KernelRun) -> str:
        """Return ` at ADD#3` if the original aborts the process and the aborting operator is found; else ""."""
        if kernel_run.signature or not kernel_run.runs or "aborts the process" not in (kernel_run.verdict.reason or ""):
            return ""
        self.task.progress("looking for the operator that aborts")
        try:
            interface = litert_interface(self.sessions.load_tflite(self.paths[0], kernel_run.kernels).interface)
        except RefusedError:
            return ""
        interface = interface.setting(self.task.pair.values, self.task.pair.bindings, self.task.pair.shapes)
        case = seeded(interface, kernel_run.runs[0].bindings, Limits(), Choice(), (self.task.seed, 0))
        found = aborting_operator(self.sessions, self.paths[0], kernel_run.kernels, case.feeds)
        return f" at {found}" if found is not None else ""

    def _answers(self, before: Opener, after: Opener, cases: Sequence[Case]) -> Answers | str:
        """Run the original and return its outputs, or the reason why no sizes fit both models. Raise RefusedError."""
        session = before()
        watched = self._watched(session, before)
        if self.pace is not None:
            watched = self.pace.timed(watched)
        if cases:
            return of_cases(watched, cases, brief=self.task.brief)
        first, second = litert_interface(session.interface), self._other_interface(session, after)
        task = self.task
        if before.signature == task.pair.signature:
            names = session.tensors() if task.pair.signature is not None else []
            first = first.known_as({spec.name: names[spec.index] for spec in session.inputs if names})
            bindings, shapes = first.by_own_names(task.pair.bindings, task.pair.shapes)
            first = first.setting(task.pair.values, bindings, shapes)
            second = second.without(first.constant_feeds)
            same = () if self.own_inputs else task.pair.same
            free = free_dims(first, second, replace(task.pair, bindings=bindings, shapes=shapes, same=same))
        else:  # the user's sizes apply to the main subgraph, and another SignatureDef has inputs of other names
            free = free_dims(first, second, Pair(task.pair.before, task.pair.after, tflite=True))
        if isinstance(free, str):
            return free
        if self.task.inputs is not None and not self.own_inputs:
            return of_cases(watched, [given_inputs.load(self.task.inputs, first)], brief=self.task.brief)
        return self._sweep(session, watched, before.signature, first, free)

    def _watched(self, session: LitertSession, opener: Opener) -> Session:
        """Return a session whose runs the witness observes.

        Return the session unchanged if there is no witness, if it has observed runs already, or for a signature. Also
        for XNNPACK, which keeps no inner tensors.
        """
        if self.witness is None or self.witness.runs or opener.signature is not None or opener.kernels == "xnnpack":
            return session
        return _observed(session, self.witness)

    def _other_interface(self, session: LitertSession, other: Opener) -> Interface:
        """Return the interface of the second model, or that of the first if the second does not load."""
        try:
            return litert_interface(other().interface)
        except RefusedError:
            return litert_interface(session.interface)

    def _sweep(
        self, session: LitertSession, watched: Session, signature: str | None, interface: Interface, free: Free
    ) -> Answers:
        """Run the original on seeded inputs at several sizes."""
        names = {spec.index: spec.name for spec in session.inputs}
        subgraph = dict(session.interface.signatures).get(signature or "", 0)
        limits_of = partial(limits, self._read(self.paths[0]), subgraph, names, fractional=interface.fractional)
        task = self.task
        sweep = Sweep(
            watched, limits_of, interface, task.seed, larger=task.runs_alone, brief=task.brief, least=self.least
        )
        return _without_loose_ends(sweep.run(free, task.sets))

    def _read(self, path: Path) -> tuple[Graph, ...]:
        if path not in self._graphs:
            self._graphs[path] = read_graphs(path)
        return self._graphs[path]

    def _comparison(self, before: Opener, after: Opener) -> Comparison:
        def locate(feeds: Mapping[str, object], _: Mapping[str, Difference]) -> Place | None:
            if before.signature is not None:
                return None  # LiteRT lists the operators of the first subgraph only
            graphs = self._read(self.paths[0])[0], self._read(self.paths[1])[0]
            ends = [graphs[0].names[index] for index in graphs[0].outputs]
            models = graphs[0].producers(), graphs[1].producers()
            opened = before.exposing, after.exposing
            return first_place(models, ends, opened, feeds, self.task.criterion)

        runtime: Runtime = "XNNPACK" if before.kernels == "xnnpack" else "LiteRT"
        return Comparison(
            (before, after), self.task.criterion, locate, runtime, self.task.progress, brief=self.task.brief
        )


def _observed(session: LitertSession, witness: Witness) -> Session:
    """Return a session of subgraph 0 that reports the allocated sizes to the witness. Raise RefusedError."""
    claimed, fed = witness.claims.values, {spec.index for spec in session.inputs}
    tensors = {name: at for at, name in enumerate(session.tensors()) if name in claimed and at not in fed}

    def observe(feeds: Mapping[str, object]) -> tuple[list[object], Mapping[str, Sizes]]:
        values, sizes = session.run_observed(feeds, tuple(tensors.values()))
        return values, dict(zip(tensors, sizes, strict=True))

    return WitnessedSession(session.outputs, session.run, observe, witness)


def _never_accepted(answers: Answers, unwritten: Mapping[str, Undetermined]) -> Verdict:
    """Return the verdict for a first model that never ran.

    If a kernel refused to read an unwritten variable, its message is replaced by a clear reason.
    """
    reason = answers.refusal
    if "READ_VARIABLE" in reason:
        reason = next((why.cause for why in unwritten.values()), reason)
    return Verdict("undecided", runs=answers.refused, reason=reason)


def _reads_past_the_end(reader: str) -> Undetermined:
    """Return the reason for outputs that depend on `reader`, a node that may read past the end of an operand."""
    cause = f"{reader} reads past the end of an operand"
    return Undetermined(READS_PAST_THE_END, cause, ", and does not determine", reader)


def _reads_past(graph: Graph, op: Op) -> bool:
    """Return whether an operator's kernel may read past the end of an operand, because shapes are unequal."""
    shapes = {graph.shapes[tensor] for tensor in op.inputs if tensor >= 0}
    return op.name in READS_PAST_THE_END.operators and len(shapes) > 1


def _without_loose_ends(answers: Answers) -> Answers:
    """Return the answers without runs at a size of 0 in which two runs of the original differ.

    At such sizes some kernels do not write their outputs. If no other run exists, return the answers unchanged.
    """
    kept = tuple(answer for answer in answers.accepted if not (answer.undetermined and 0 in answer.case.sizes.values()))
    if not kept or len(kept) == len(answers.accepted):
        return answers
    dropped = tuple(_loose(answer) for answer in answers.accepted if answer not in kept)
    return replace(answers, accepted=kept, refused=answers.refused + dropped)


def _loose(answer: Answer) -> Run:
    """Return the report of a run that is dropped because two runs of the original differ at a size of 0."""
    reason = f"two runs of the first model differ at a size of 0 in: {', '.join(answer.undetermined)}"
    return Run(dict(answer.case.sizes), "off", "undecided", reason=reason)


def refused(reason: str) -> Verdict:
    """Return the verdict of a kernel set on which nothing is run."""
    return Verdict("undecided", runs=(Run({}, "off", "undecided", reason=reason),), reason=reason)
