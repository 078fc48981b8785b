"""The results that the engine and the checker return and that reports print: plain data without behaviour.

This package imports no other package of graphfix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

from graphfix.results.claims import Facts
from graphfix.results.excerpt import Excerpt, JsonShape
from graphfix.results.field_texts import described
from graphfix.results.records import dataclass, field

InputNumber = bool | int | float
InputValue = InputNumber | tuple[InputNumber, ...]
"""The value that `--set` gives to an input: a scalar, or a flat list of its elements."""

Status = Literal["changed", "left", "exempt", "found"]
VerdictStatus = Literal["proved", "equal", "different", "contradicted", "undecided", "skipped"]
ConversionStatus = Literal["converted", "agrees", "differs", "unpredictable", "not run", "refused"]


class GraphfixError(Exception):
    """A request that could not be carried out: one line, what, where and what to do (exit status 2)."""


class RewriteError(GraphfixError):
    """A rewrite of the user's own failed; the exception's `__cause__` is the original Python exception."""


class OverwriteError(GraphfixError):
    """A report would replace a file that is read. No report is written then."""


@described
@dataclass(slots=True)
class Site:
    """A finding or an edit at one operand of a node, or at the node itself (`operand` is None).

    Read-only by type: large models have 100,000s of sites, and making a frozen dataclass takes three times as long.
    """

    code: Final[str]
    """The finding code, `GF101` ... (see `graphfix explain`)."""
    node: Final[str]
    """The node's name, or `Op#index` when it has none."""
    op: Final[str]
    """The operator."""
    graph: Final[str]
    """`main`, or the path of the body that contains the node, such as `main/if_3.then_branch`."""
    operand: Final[int | None]
    """The index of the operand, from 0; None for the node itself."""
    before: Final[JsonShape]
    """The operand's shape; the shape of the node's first result if `operand` is None."""
    after: Final[JsonShape]
    status: Final[Status]
    """`found` by `check`; `changed` by `fix`; `left` alone with a reason; `exempt`: left as it is on purpose."""
    rewrite: Final[str | None] = None
    """The name of the rewrite that made the edit, or would make it."""
    reason: Final[str | None] = None
    """For `left` and `exempt`, the end of the sentence "left alone because ...".

    For an edit, an explanation or None.
    """
    bytes: Final[int] = 0
    """The bytes of constants that the edit added to the file.

    If a node has several edits, only its first site has them.
    """
    blocks: Final[bool] = False
    """Whether no converter to the target can convert the model correctly while this site exists."""
    inexact: Final[str | None] = None
    """Why the result's numbers may differ, and by how much at most; None if every bit stays the same."""

    def __repr__(self) -> str:
        """Return `<Site: GF101 changed, Add 'head/add' operand 1: [4] -> [1,1,4]>`."""
        operand = "" if self.operand is None else f" operand {self.operand}"
        shapes = f"{_shape_text(self.before)} -> {_shape_text(self.after)}" if self.after else _shape_text(self.before)
        return f"<Site: {self.code} {self.status}, {self.op} {self.node!r}{operand}: {shapes}>"

    @property
    def is_finding(self) -> bool:
        """Return whether `check` exits with status 1 because of this site: its status is `found` or `left`."""
        return self.status in ("found", "left")


def _shape_text(shape: JsonShape) -> str:
    """Return `[2,N,?]`, or `[..]` for a shape without a rank."""
    if shape is None:
        return "[..]"
    return f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"


@dataclass(frozen=True, slots=True)
class InexactSite:
    """An operator of the first file that the second file computes by other operators, which round differently."""

    operator: str
    """The operator's name in reports, such as `GELU#0`."""
    before: str
    after: str
    """The name of the operator's result, in the first file (`before`) and in the second file (`after`)."""
    graph: int = 0
    """TFLite: the index of the subgraph that contains the operator."""
    inside: bool = False
    """ONNX: whether the operator is in a body. No run can show the values of a body."""


@described
@dataclass(frozen=True, slots=True)
class Run:
    """One run of both models on the same inputs, with one binding of the free dims."""

    bindings: Mapping[str, int]
    optimizations: Literal["off", "on"]
    status: Literal["equal", "different", "undecided"]
    outputs: int = 0
    """The number of outputs that were compared."""
    largest_difference: float | None = None
    reason: str | None = None
    kernels: str = ""
    """The kernel set, if the runtime has several: `reference`, `builtin` or `xnnpack` for LiteRT."""
    signature: str = ""
    """The SignatureDef that was run; empty for the model's main graph."""


@described
@dataclass(frozen=True, slots=True)
class Load:
    """Whether the second file was loaded by a runtime. A runtime makes many decisions when it loads a file."""

    observed: Sequence[str] = ()
    """The ways to load a file in which the second file loads, such as `onnxruntime with optimizations`."""
    reason: str | None = None
    """Why the load was not observed in other ways."""
    failure: str | None = None
    """Why the second file does not load in a way in which the first file does."""


@described
@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of comparing two models: whether they compute the same. `verify` returns it.

    `status` is `proved` (equal for all inputs), `equal` (in all runs), `different`, `contradicted` (an assumed size is
    wrong), `undecided` or `skipped`. `reason`, `proof` and `first_difference` explain the status, `runs` lists the
    runs, and `assumes` lists the assumptions.
    """

    status: VerdictStatus
    runs: Sequence[Run] = ()
    exceptions: Sequence[Mapping[str, Any]] = ()
    """Places where the runtime itself computes an explicit form differently: class, site and count of each."""
    first_difference: Mapping[str, Any] | None = None
    """The first tensor that differs, in the order of execution: name, producer, index, both values."""
    reason: str | None = None
    """Why the runs are undecided, or by which rule their outputs were compared."""
    proof: Mapping[str, Any] | None = None
    """The result of the proof: `status`, `reason`, `first` unmatched nodes with their maps, `assumes`, `seconds`.

    None if no proof was requested.
    """
    assumes: Sequence[str] = ()
    facts: Facts | None = None
    """The comparison of claimed sizes with the sizes in the runs; None if there were no claims."""
    load: Load | None = None
    """Whether the second file was loaded; None if no load was requested, or if the interfaces already differ."""
    seed: int = 0
    """The seed of the inputs."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By runtime: the version that was run."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The digests of the two files, with the keys `before` and `after`."""
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
        """Return whether a run shows that the models differ, or that an assumed size is wrong."""
        return self.status in ("different", "contradicted")


@described
@dataclass(frozen=True, slots=True)
class Gap:
    """The largest difference between an output of a converted model and the original's output, over all runs."""

    output: str
    largest: float
    """The largest absolute difference; infinite where shapes differ, or a NaN or an infinity has no counterpart."""
    relative: float | None
    """The largest difference divided by the range of the output's values in the same run.

    None if the output is constant in every run.
    """
    within: bool
    """Whether the difference is small enough.

    It is if it is within the tolerance, within one quantization step, or not larger than the difference between the
    runtime's own kernel sets. The tolerance is a part of the output's range. For a constant output it is a part of its
    largest magnitude, or of 1 if that is larger.
    """
    spread: float | None = None
    """The largest difference between the runtime's own kernel sets; None if only one was run."""
    quanta: float | None = None
    """The largest difference in quantization steps; None if the output is not quantized."""


@described
@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of converting a model by the TOSA tools."""

    status: ConversionStatus
    """`converted`: valid, and no run was requested. `agrees`, `differs`, `unpredictable`: the result of the runs.

    `not run`: valid, but a model could not be run. `refused`: not converted, or not valid.
    """
    tool: str
    """The name of the converter."""
    reason: str | None = None
    """One line: why the model was refused or not run, or the result of the runs."""
    operators: Mapping[str, int] = field(default_factory=dict)
    """By name of a TOSA operator: how often it occurs. A custom operator has the name `tosa.custom:NAME`."""
    bytecode: str | None = None
    """The path of the MLIR bytecode beside the output."""
    gaps: Sequence[Gap] = ()
    runs: int = 0
    beside: str = ""
    """The runtime of the original model: `onnxruntime`, `LiteRT (reference kernels)`."""
    tolerance: float = 0.0
    specification: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@described
@dataclass(frozen=True, slots=True)
class OpenSizes:
    """Unknown sizes on which nodes depend, and the options that would decide them.

    It is unknown whether the sizes are equal, so that no operand is stretched, or which numbers they are.
    """

    nodes: int
    """The number of nodes that depend on these sizes."""
    sizes: tuple[str, ...]
    """The sizes that come together on one axis: sizes of inputs (`ids[0]`, a symbol), numbers, computed sizes."""
    option: str
    """The command-line options that would decide these sizes, with `<size>` instead of a number."""
    text: str
    """The whole entry as one sentence."""


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
    """The notation of a node before and after the edits; None if the node does not exist then.

    Read-only by type, like `Site`.
    """

    graph: Final[str]
    before: Final[str | None]
    after: Final[str | None]


@described
@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `fix`, `check`, `verify` or `tosa` for one model.

    `sites` has a Site for each operand that was changed, found, left or exempt. `rewrites` counts edits by rewrite, and
    `changed` is whether there were any. `model` is the result of `fix` in memory, `output` the file that was written.
    `verdict` is whether the result computes the same, and `assumes` lists assumptions about sizes.
    """

    command: str
    source: str
    """The path of the model as the user wrote it.

    For a model without a path, a name such as `<bytes>` or `<ModelProto>`.
    """
    format: str
    """`onnx` or `tflite`."""
    target: str | None = None
    output: str | None = None
    """The path of the written file; None if no file was written."""
    changed: bool = False
    """Whether the result differs from a copy of the input."""
    rewrites: Mapping[str, int] = field(default_factory=dict)
    """By name of a rewrite that ran: its number of edits."""
    sites: Sequence[Site] = ()
    verdict: Verdict | None = None
    """None if there was nothing to verify."""
    assumes: Sequence[str] = ()
    """Sentences: assumptions about the model's sizes and values."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall-clock time by step: `load`, `infer`, `plan`, `write`, `verify`, `proof`."""
    conversion: Conversion | None = None
    """The result of the conversion; only for `tosa`."""
    open_sizes: Sequence[OpenSizes] = ()
    """Unknown sizes that decide broadcasts; the sizes on which most nodes depend come first."""
    notes: Sequence[str] = ()
    """Sentences for the user.

    They are about limits of the target that could not be checked, about unknown operators, and about a file whose
    suffix is that of the other format.
    """
    suppressed: int = 0
    """For `check`: the number of findings that the baseline contains. They are not in `sites`."""
    own_codes: Mapping[str, str] = field(default_factory=dict)
    """By finding code of the user's own rewrites that ran: the first line of the rewrite's page."""
    excerpt: Excerpt | None = None
    """The nodes with sites and their neighbours; only if a report was requested that draws them."""
    dry_run: bool = False
    """Whether the edits were only planned: nothing was written or verified."""
    changes: Sequence[Change] = ()
    """The notation of every node, in order; only if a diff was requested."""
    sites_left: int = 0
    """For `fix`: the number of findings of a `check` of the output."""
    check_options: Sequence[str] = ()
    """The options of the `check` command that lists these findings."""
    model: Any = field(default=None, repr=False, compare=False)
    """For `graphfix.fix`: the rewritten `graphfix.Model`; None for other commands. It is not in the JSON document."""
    files: Sequence[FileFacts] = ()
    """The model that was read and, if one was written, the result; only for a report that shows them. JSON does not
    have it."""
    reused: bool = False
    """For a batch: whether an earlier result was used, made from the same bytes by the same options and version."""

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
