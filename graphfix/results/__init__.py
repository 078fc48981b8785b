"""What the engine and the checker return and the report prints: plain data that imports no other package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

from graphfix.results.claims import Facts
from graphfix.results.excerpt import Excerpt, JsonShape
from graphfix.results.field_texts import described
from graphfix.results.records import dataclass, field

InputNumber = bool | int | float
InputValue = InputNumber | tuple[InputNumber, ...]
"""What `--set` says that an input is: a scalar, or a flat list of its elements."""

Status = Literal["changed", "left", "exempt", "found"]
VerdictStatus = Literal["proved", "equal", "different", "contradicted", "undecided", "skipped"]
ConversionStatus = Literal["converted", "agrees", "differs", "unpredictable", "not run", "refused"]


class GraphfixError(Exception):
    """A request that could not be carried out: one line, what, where and what to do (exit status 2)."""


class RewriteError(GraphfixError):
    """A rewrite of the user's own is at fault; its cause is what Python raised."""


class OverwriteError(GraphfixError):
    """A report would replace a file that is read: none is written."""


@described
@dataclass(slots=True)
class Site:
    """One operand of one node (or the node itself, `operand` None) that a finding is about.

    Read-only by type: big models have 100,000s, and a frozen dataclass costs three times as much to make.
    """

    code: Final[str]
    """The finding code, `GF101` ... (see `graphfix explain`)."""
    node: Final[str]
    """The node's name, or `Op#index` when it has none."""
    op: Final[str]
    """The operator."""
    graph: Final[str]
    """`main`, or the path of the body that holds the node, such as `main/if_3.then_branch`."""
    operand: Final[int | None]
    """Its index, from 0."""
    before: Final[JsonShape]
    """The operand's shape, or the node's where `operand` is None."""
    after: Final[JsonShape]
    status: Final[Status]
    """`found` by `check`, `changed` by `fix`; `left` with a reason; `exempt`: it stays on purpose."""
    rewrite: Final[str | None] = None
    """Which one made the edit, or would."""
    reason: Final[str | None] = None
    """Completes the sentence "left alone because"; of an edit what it is where shapes do not say that, mostly None."""
    bytes: Final[int] = 0
    """By how much the file's constants grew; of several edits of one node the first has it."""
    blocks: Final[bool] = False
    """Whether no converter to the target makes anything right of the model as long as it is so."""
    inexact: Final[str | None] = None
    """Why the numbers may differ, and by how much at most; None where every bit is the same."""

    def __repr__(self) -> str:
        """Return `<Site: GF101 changed, Add 'head/add' operand 1: [4] -> [1,1,4]>`."""
        operand = "" if self.operand is None else f" operand {self.operand}"
        shapes = f"{_shape_text(self.before)} -> {_shape_text(self.after)}" if self.after else _shape_text(self.before)
        return f"<Site: {self.code} {self.status}, {self.op} {self.node!r}{operand}: {shapes}>"

    @property
    def is_finding(self) -> bool:
        """Whether `check` ends with 1 for it: what it found, and what it could not decide."""
        return self.status in ("found", "left")


def _shape_text(shape: JsonShape) -> str:
    """Return `[2,N,?]`, or `[..]` for a shape without a rank."""
    if shape is None:
        return "[..]"
    return f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"


@dataclass(frozen=True, slots=True)
class InexactSite:
    """An operator of the first file that the second writes in others, which round in other places."""

    operator: str
    """As a report names it: `GELU#0`."""
    before: str
    after: str
    """The value that it makes, in the first file and in the second, as the runtime names it."""
    graph: int = 0
    """TFLite: the subgraph that holds it."""
    inside: bool = False
    """ONNX: whether a body holds it, whose values no run can show."""


@described
@dataclass(frozen=True, slots=True)
class Run:
    """Both models run on the same inputs under one binding of the free dims."""

    bindings: Mapping[str, int]
    optimizations: Literal["off", "on"]
    status: Literal["equal", "different", "undecided"]
    outputs: int = 0
    """How many outputs were compared."""
    largest_difference: float | None = None
    reason: str | None = None
    kernels: str = ""
    """The kernel set, where the runtime has several: `reference`, `builtin` or `xnnpack` for LiteRT."""
    signature: str = ""
    """The SignatureDef that was run, where it is not the model's main graph."""


@described
@dataclass(frozen=True, slots=True)
class Load:
    """Where the load of the second file was observed: a runtime decides much when it loads a file."""

    observed: Sequence[str] = ()
    """The ways to load a file in which the second file loads, such as `onnxruntime with optimizations`."""
    reason: str | None = None
    """Why the load was not observed in other ways."""
    failure: str | None = None
    """Why the second file does not load in a way in which the first file does."""


@described
@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether two models compute the same: what `verify` returns.

    `status` is `proved` (for all inputs), `equal` (in all runs), `different`, `contradicted` (a size that was taken for
    granted is another one), `undecided` or `skipped`. `reason`, `proof` and `first_difference` say why, `runs` lists
    what was run, and `assumes` what was taken for granted.
    """

    status: VerdictStatus
    runs: Sequence[Run] = ()
    exceptions: Sequence[Mapping[str, Any]] = ()
    """What the runtime itself computes differently for an explicit form: its class, site and count."""
    first_difference: Mapping[str, Any] | None = None
    """The first tensor, in the order of execution, that differs: name, producer, index, both values."""
    reason: str | None = None
    """Why the runs decided nothing, or how they compared."""
    proof: Mapping[str, Any] | None = None
    """What the proof found, where it was asked: its `status`, `reason`, `first` nodes with their maps, `assumes` and
    `seconds`."""
    assumes: Sequence[str] = ()
    facts: Facts | None = None
    """What the runs say of the sizes that were claimed, where any were."""
    load: Load | None = None
    """Where the second file was loaded; None where that was not asked, or where the interfaces differ already."""
    seed: int = 0
    """Of the inputs."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By runtime: what was run."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """Of the files `before` and `after`."""
    newer: Sequence[str] = ()
    """A sentence for each runtime that is newer than the versions with which graphfix was measured."""

    def __repr__(self) -> str:
        """Return `<Verdict: proved, 2 of 2 runs equal, 1 assumption>`."""
        equal, number = sum(run.status == "equal" for run in self.runs), len(self.assumes)
        parts = [f"{equal} of {len(self.runs)} run{'s' * (len(self.runs) != 1)} equal"] if self.runs else []
        parts += [f"{number} assumption{'s' * (number != 1)}"] if number else []
        return f"<Verdict: {', '.join([self.status, *parts])}>"

    @property
    def is_no(self) -> bool:
        """Whether a run shows that the two models, or what was claimed of sizes, do not agree."""
        return self.status in ("different", "contradicted")


@described
@dataclass(frozen=True, slots=True)
class Gap:
    """How far one output of a converted model is from the original's, at worst over all runs."""

    output: str
    largest: float
    """The largest absolute difference; infinite where shapes differ, or a NaN or an infinity has no counterpart."""
    relative: float | None
    """That, as a part of the range of the output's values in the same run; None where it is constant in every run."""
    within: bool
    """Whether it is near enough: within the tolerance (of the range, or of what a constant output is at most, 1 at
    least), a step of its quantization, or as near as the runtime's own kernel sets are to each other."""
    spread: float | None = None
    """How far those sets are from each other; None where only one was asked."""
    quanta: float | None = None
    """The largest difference in steps of the output's quantization; None for one that is not quantized."""


@described
@dataclass(frozen=True, slots=True)
class Conversion:
    """What the TOSA tools made of a model."""

    status: ConversionStatus
    """`converted`: valid, and no run was asked for; `agrees`, `differs`, `unpredictable`: what the runs showed;
    `not run`: valid, but something could not be run; `refused`: not converted, or not valid."""
    tool: str
    """The converter."""
    reason: str | None = None
    """Why it was refused or not run, or what the runs showed, in one line."""
    operators: Mapping[str, int] = field(default_factory=dict)
    """TOSA operators by name, and how many of each; custom ones are `tosa.custom:NAME`."""
    bytecode: str | None = None
    """The file of MLIR bytecode beside the output."""
    gaps: Sequence[Gap] = ()
    runs: int = 0
    beside: str = ""
    """What the reference model was run beside: `onnxruntime`, `LiteRT (reference kernels)`."""
    tolerance: float = 0.0
    specification: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@described
@dataclass(frozen=True, slots=True)
class OpenSizes:
    """Sizes that are not known: whether they are equal, so that no operand is stretched, or which numbers they are."""

    nodes: int
    """How many nodes depend on it."""
    sizes: tuple[str, ...]
    """What meets: sizes of inputs (`ids[0]`, or a symbol), numbers, and what is computed."""
    option: str
    """What would decide it on the command line, with `<size>` in place of a number."""
    text: str
    """All of that in one sentence."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A model file of an outcome, as the HTML report lists it."""

    size: int
    """Bytes of the file and of the data files that it names."""
    nodes: int | None = None
    """Number of nodes in all graphs, bodies and functions; None if the file can't be read as a model."""
    operator_sets: str = ""
    """ONNX: the imported operator sets, such as `17, com.microsoft 1`; TFLite: empty."""


@described
@dataclass(slots=True)
class Change:
    """A node as `show` prints it, before the edits and after them; None where it is not there.

    Read-only by type, as `Site` is.
    """

    graph: Final[str]
    before: Final[str | None]
    after: Final[str | None]


@described
@dataclass(frozen=True, slots=True)
class Outcome:
    """What `fix`, `check`, `verify` or `tosa` did with one model.

    `sites` has a Site for each operand that was changed, found, left or exempt; `rewrites` counts edits by rewrite, and
    `changed` says whether there were any. `model` is the result of `fix` in memory, `output` the file that was written.
    `verdict` says whether the result computes the same, `assumes` what was taken for granted of sizes.
    """

    command: str
    source: str
    """The model's path as it was given; of a model without a path a name such as `<bytes>` or `<ModelProto>`."""
    format: str
    """`onnx` or `tflite`."""
    target: str | None = None
    output: str | None = None
    """The file that was written; None where none was."""
    changed: bool = False
    """Whether the result is more than a copy."""
    rewrites: Mapping[str, int] = field(default_factory=dict)
    """By name of those that ran: how many edits each made."""
    sites: Sequence[Site] = ()
    verdict: Verdict | None = None
    """None where nothing was to be verified."""
    assumes: Sequence[str] = ()
    """What was taken for granted of the model's sizes and values: sentences."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall-clock time by step: `load`, `infer`, `plan`, `write`, `verify`, `proof`."""
    conversion: Conversion | None = None
    """Of `tosa` alone."""
    open_sizes: Sequence[OpenSizes] = ()
    """What is not known of sizes; on the first most nodes depend."""
    notes: Sequence[str] = ()
    """Sentences: what the target could not ask of this model, which operators graphfix does not know, a name of the
    output that says another format."""
    suppressed: int = 0
    """Of `check`: how many findings are none, because the baseline has them; they are no sites."""
    own_codes: Mapping[str, str] = field(default_factory=dict)
    """By finding code of rewrites of the user's own that ran: the first line of the page."""
    excerpt: Excerpt | None = None
    """The nodes that sites are about, and those around them, where a report that draws them was asked for."""
    dry_run: bool = False
    """Whether nothing was to be written: it was planned, and not verified."""
    changes: Sequence[Change] = ()
    """Every node in order, where a diff was asked for."""
    sites_left: int = 0
    """For `fix`: the number of findings that `check` of the output has."""
    check_options: Sequence[str] = ()
    """The options of the `check` command that lists these sites."""
    model: Any = field(default=None, repr=False, compare=False)
    """For `graphfix.fix`: the rewritten `graphfix.Model`; None for other commands. JSON does not have it."""
    files: Sequence[FileFacts] = ()
    """The model that was read and, if one was written, the result; only for a report that shows them. JSON does not
    have it."""
    reused: bool = False
    """Of a batch: whether it was made before, of the same bytes, with the same options and version."""

    def __repr__(self) -> str:
        """Return `<Outcome: fix m.onnx for ranks: 20 changed, 2 left, proved>`."""
        statuses = [site.status for site in self.sites]
        counts = [f"{number} {status}" for status in get_args(Status) if (number := statuses.count(status))]
        said = [
            *(counts or ["no sites"] * (self.command != "verify")),
            *([self.verdict.status] if self.verdict else []),
        ]
        files = f"{self.source} -> {self.output}" if self.output else self.source
        target = f" for {self.target}" if self.target else ""
        return f"<Outcome: {self.command} {files}{target}: {', '.join(said)}>"
