"""The table of exceptions: reasons why two runs may differ, or one may fail, although the second model is correct.

`fix` and `verify` use the table through the runs, and `tosa` uses it through its own comparison with the original. A
row has one of two effects. "excused": the run counts as equal, and the verdict lists the exception. "undecided": the
run decides nothing, so only a complete proof can decide. The text below each row states how the exception is
recognized, and the evidence. The evidence is a model and the runtime in which it was observed, or the test that checks
it.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Literal

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphfix.checker.runs.comparing.difference import Difference
    from graphfix.results import Run, Verdict

Runtime = Literal["onnxruntime", "onnx.reference", "LiteRT", "XNNPACK"]
"""The runtime of both models. `XNNPACK` is LiteRT with the XNNPACK delegate."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of exceptions: one kind of difference or failure that is not the fault of the second model."""

    name: str
    """The `class` of the exception in a verdict."""
    effect: Literal["excused", "undecided"]
    runtimes: frozenset[Runtime] = frozenset()
    """The runtimes that show this exception; empty for all runtimes."""
    operators: frozenset[str] = frozenset()
    """The operators that cause the exception; empty for any operator.

    A row that is excused applies only if one of these operators computes the first tensor that differs.
    """

    def entry(self, site: str | None, output: str | None = None, count: int = 1) -> dict[str, object]:
        """Return the exception as an entry for the verdict.

        `site` is a node or sizes, `count` the number of elements.
        """
        return {"class": self.name, "output": output, "site": site, "count": count}


NAN_PAYLOAD = Row("nan-payload", "excused")
"""Both elements are NaN, but their bits differ.

Recognized by: the elements.

Evidence: Mul(x, NaN) of two constants in onnxruntime 1.31.1. IEEE 754 does not define the payload of a NaN result.
"""
TOLERANCE = Row("tolerance", "excused")
"""The elements are within the tolerance that the user requested.

Recognized by: the elements and the criterion.

Evidence: --atol, --rtol.
"""
SIGNED_ZERO = Row(
    "signed-zero",
    "excused",
    frozenset({"onnxruntime", "onnx.reference"}),
    frozenset({"Add", "Mul", "Sum", "Mean", "Max", "Min", "PRelu"}),
)
"""Both elements are zero, but their signs differ. A kernel uses another loop if an operand is expanded to full size.

Recognized by: the elements, and the operator that computes the first tensor that differs.

Evidence: Add(x, [0.0]) and Add(x, [-0.0]) where x is -0.0, onnxruntime 1.31.1, optimizations off.
"""
REUSED_INTERPRETER = Row("reused-interpreter", "excused")
"""A model fails or returns another result only in an interpreter that has run other sizes before.

Recognized by: both models return equal results in fresh interpreters.

Evidence: SHAPE, STRIDED_SLICE, PACK, RESHAPE of x[?,4] at batch 0 after batch 3, ai-edge-litert 2.3.0. A file seemed to
differ from itself, until graphfix read the shape of an output without elements.
"""
SHARED_FAILURE = Row("shared-failure", "undecided")
"""The second model fails on inputs on which the first model also fails, although the first ran on them before.

Recognized by: the first model fails in a fresh interpreter, or the second model fails in some fresh interpreters only.

Evidence: MAX_POOL_2D of x[?,4,4,3] at batch 0 with XNNPACK fails sometimes, ai-edge-litert 2.3.0.
"""
UNWRITTEN_VARIABLE = Row("unwritten-variable", "undecided", frozenset({"LiteRT", "XNNPACK"}))
"""The first model reads a variable before any operator has written it.

XNNPACK returns the present content of the memory. The other kernel sets refuse the read.

Recognized by: a READ_VARIABLE in the file that may run before any ASSIGN_VARIABLE of its variable, and the outputs that
depend on it.

Evidence: VAR_HANDLE, READ_VARIABLE, ADD: other values in each process, ai-edge-litert 2.3.0.
"""
READS_PAST_THE_END = Row(
    "reads-past-the-end", "undecided", frozenset({"LiteRT", "XNNPACK"}), frozenset({"ATAN2", "STABLEHLO_SHIFT_LEFT"})
)
"""A kernel accepts operands of different sizes, but checks only the size of the first operand.

Recognized by: the outputs of both models differ, and depend on an ATAN2 or STABLEHLO_SHIFT_LEFT whose operands have
unequal shapes.

Evidence: ATAN2(x[2,3], z[3]), ai-edge-litert 2.3.0.
"""
UNSTABLE = Row("unstable", "undecided")
"""Two runs of the first model differ, because the model is random or stores a state.

Recognized by: the first model runs twice, and again in another interpreter before a difference is reported.

Evidence: RandomNormal, RANDOM_UNIFORM.
"""
ONLY_NAN = Row("only-nan", "undecided")
"""All elements of an output are NaN, in both models and in every run, so nothing was compared.

Recognized by: the elements.

Evidence: Log of a sum of negative numbers. Any other computation that results in NaN would be equal, too.
"""

ONE_KERNEL_SET = Row("one-kernel-set", "excused", frozenset({"LiteRT", "XNNPACK"}))
"""One kernel set of LiteRT returns other values for the explicit form. The other kernel sets return equal values.

Recognized by: the proof is complete, and the other kernel sets are bit-equal on the same inputs.

Evidence: not observed with ai-edge-litert 2.3.0 on models/ and the real models, except for the rows above.
"""
DROPPED_CAST = Row("dropped-cast", "excused", frozenset({"onnxruntime"}))
"""onnxruntime drops a rounding to float16 between two operators that it computes in float32.

Recognized by: the proof is complete, and if every rounding is kept, both models are bit-equal on the same inputs.

Evidence: Add(x, Mul(a, c)) of float16, a[M] and x[N,M], onnxruntime 1.31.1. The product is rounded if an Unsqueeze and
an Expand follow it, but not if the Add follows it directly.
"""
SIZE_0 = Row("size-0", "excused")
"""A run has a size of 0, which the proof excludes. A reshape or a kernel may then return another shape.

Recognized by: the proof is complete and assumes that no size is 0. Every run that differs has a size of 0, and some
other run is equal.

Evidence: ReduceSum of [0,2,3,8] along -1 without keepdims returns [0,2,3,8], onnxruntime 1.31.1. A RESHAPE to [-1,4]
ignores a 0, ai-edge-litert 2.3.0.
"""

TABLE = (
    NAN_PAYLOAD,
    TOLERANCE,
    SIGNED_ZERO,
    REUSED_INTERPRETER,
    SHARED_FAILURE,
    UNWRITTEN_VARIABLE,
    READS_PAST_THE_END,
    UNSTABLE,
    ONLY_NAN,
    ONE_KERNEL_SET,
    DROPPED_CAST,
    SIZE_0,
)


def excused(found: Difference, runtime: Runtime, op: str | None) -> bool:
    """Return whether the table of exceptions excuses every class of the difference `found` in this runtime.

    `op` is the operator that computes the first tensor that differs; None if unknown.
    """
    return found.counts.keys() <= {row.name for row in _rows(runtime) if not row.operators or op in row.operators}


def _rows(runtime: Runtime) -> Iterator[Row]:
    """Return the excused rows that apply to a runtime."""
    return (row for row in TABLE if row.effect == "excused" and (not row.runtimes or runtime in row.runtimes))


def one_kernel_set(runs: Sequence[Run]) -> dict[str, object] | None:
    """Return the entry of ONE_KERNEL_SET if a single kernel set differs in these runs; else None.

    The other kernel sets must be equal on the inputs of the runs that differ. Return None also if a run that differs
    has failed, if a shape differs, or if NaN or infinity replaces a number.
    """
    differing = [run for run in runs if run.status == "different" and run.optimizations == "off"]
    sets = {run.kernels for run in differing}
    finite = all(run.outputs and isfinite(run.largest_difference or 0.0) for run in differing)
    if len(sets) != 1 or "" in sets or not finite:
        return None
    siblings = {run.kernels for run in runs if run.status == "equal"} - sets
    same = {(run.kernels, _inputs(run)) for run in runs if run.status == "equal"}
    if not siblings or any((kernels, _inputs(run)) not in same for kernels in siblings for run in differing):
        return None
    (kernels,) = sets
    return {**ONE_KERNEL_SET.entry(kernels, count=len(differing)), "kernels": kernels}


def size_0(runs: Sequence[Run]) -> dict[str, object] | None:
    """Return the entry of SIZE_0 if only runs with a size of 0 differ or fail, and another run is equal; else None."""
    off = [run for run in runs if run.optimizations == "off"]
    differing = [run for run in off if run.status == "different"]
    if not all(0 in run.bindings.values() for run in differing):
        return None
    if not any(run.status == "equal" and 0 not in run.bindings.values() for run in off):
        return None
    sites = dict.fromkeys(f"{name}={size}" for run in differing for name, size in run.bindings.items() if size == 0)
    return SIZE_0.entry(", ".join(sites), count=len(differing))


def dropped_cast(verdict: Verdict, kept: Verdict) -> dict[str, object] | None:
    """Return the entry of DROPPED_CAST if the runs that differ are equal with every rounding kept; else None.

    `kept` is the verdict of the runs with every rounding kept. A failed run is never excused.
    """
    differing = [run for run in verdict.runs if run.status == "different" and run.optimizations == "off"]
    same = [_inputs(run) for run in kept.runs if run.status == "equal"]
    if kept.status != "equal" or not all(run.outputs and _inputs(run) in same for run in differing):
        return None
    site = (verdict.first_difference or {}).get("producer")
    return DROPPED_CAST.entry(str(site) if site else None, count=len(differing))


def _inputs(run: Run) -> tuple[object, ...]:
    """Return a key for the inputs of a run: the signature and the sizes."""
    return run.signature, *sorted(run.bindings.items())
