"""The one table of exceptions: where two runs differ, or one fails, and the second model is not to blame.

`fix` and `verify` ask it through the runs, `tosa` through its agreement. A row is excused (the run is equal, and the
verdict lists it) or leaves the run undecided: then the proof decides, and where it is not complete nothing does.
Below each row stand how it is recognized and the evidence: a model and the observed runtime, or the test that asks it.
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
"""The runtime of the models. `XNNPACK` is LiteRT with that delegate."""


@dataclass(frozen=True, slots=True)
class Row:
    """One exception."""

    name: str
    """The `class` of the exception in a verdict."""
    effect: Literal["excused", "undecided"]
    runtimes: frozenset[Runtime] = frozenset()
    """The runtimes with this exception; empty for all."""
    operators: frozenset[str] = frozenset()
    """The operators that make the first tensor that differs; empty for any."""

    def entry(self, site: str | None, output: str | None = None, count: int = 1) -> dict[str, object]:
        """Return the entry of a verdict."""
        return {"class": self.name, "output": output, "site": site, "count": count}


NAN_PAYLOAD = Row("nan-payload", "excused")
"""Both elements are NaN, of other bits.

Recognized by: the elements.
Evidence: Mul(x, NaN) of two constants in onnxruntime 1.31.1: IEEE 754 leaves the payload of a result open.
"""
TOLERANCE = Row("tolerance", "excused")
"""The elements are within the tolerance that was asked for.

Recognized by: the elements and the criterion.
Evidence: --atol, --rtol.
"""
SIGNED_ZERO = Row(
    "signed-zero",
    "excused",
    frozenset({"onnxruntime", "onnx.reference"}),
    frozenset({"Add", "Mul", "Sum", "Mean", "Max", "Min", "PRelu"}),
)
"""Both elements are zero, of another sign: the loop over an operand written out in full is another one.

Recognized by: the elements, and the operator that makes the first tensor that differs.
Evidence: Add(x, [0.0]) and Add(x, [-0.0]) where x is -0.0, onnxruntime 1.31.1, optimizations off.
"""
REUSED_INTERPRETER = Row("reused-interpreter", "excused")
"""One of the models fails, or returns something else, only in an interpreter that has run other sizes before.

Recognized by: from fresh interpreters both models return the same.
Evidence: SHAPE, STRIDED_SLICE, PACK, RESHAPE of x[?,4] at batch 0 after batch 3, ai-edge-litert 2.3.0: a file was
different from itself, until an output without elements was read by its shape.
"""
SHARED_FAILURE = Row("shared-failure", "undecided")
"""The second model fails where the first one does too, though it ran there before.

Recognized by: the first model fails from a fresh interpreter, or the second one from some and not from others.
Evidence: MAX_POOL_2D of x[?,4,4,3] at batch 0 with XNNPACK: now and then it fails, ai-edge-litert 2.3.0.
"""
UNWRITTEN_VARIABLE = Row("unwritten-variable", "undecided", frozenset({"LiteRT", "XNNPACK"}))
"""The first model reads a variable that nothing has written.

XNNPACK returns what is in memory, the other kernels refuse.
Recognized by: a READ_VARIABLE of the file that no ASSIGN_VARIABLE surely comes before, and the outputs that follow
from it.
Evidence: VAR_HANDLE, READ_VARIABLE, ADD: other values in each process, ai-edge-litert 2.3.0.
"""
READS_PAST_THE_END = Row(
    "reads-past-the-end", "undecided", frozenset({"LiteRT", "XNNPACK"}), frozenset({"ATAN2", "STABLEHLO_SHIFT_LEFT"})
)
"""A kernel takes operands of any sizes and looks at no more than the first one's.

Recognized by: two runs of the first model differ, and such an operator with operands of unequal shapes is before the
output.
Evidence: ATAN2(x[2,3], z[3]), ai-edge-litert 2.3.0.
"""
UNSTABLE = Row("unstable", "undecided")
"""Two runs of the first model itself differ: it is random, or keeps a state.

Recognized by: the first model is run twice, and from another interpreter before a difference is said.
Evidence: RandomNormal, RANDOM_UNIFORM.
"""
ONLY_NAN = Row("only-nan", "undecided")
"""An output is NaN throughout, in both models and every run: nothing of it was compared.

Recognized by: the elements.
Evidence: Log of a sum of negative numbers: any other computation that ends in NaN would be equal too.
"""

ONE_KERNEL_SET = Row("one-kernel-set", "excused", frozenset({"LiteRT", "XNNPACK"}))
"""One of LiteRT's kernel sets returns other values for the explicit form, the others the same.

Recognized by: the proof is complete, and the other kernel sets are bit-equal on the same inputs.
Evidence: none seen with ai-edge-litert 2.3.0 on models/ and the real models but for the rows above.
"""
DROPPED_CAST = Row("dropped-cast", "excused", frozenset({"onnxruntime"}))
"""A rounding to float16 between two operators that onnxruntime computes in float32 is dropped.

Recognized by: the proof is complete, and both models, with every rounding kept, are bit-equal on the same inputs.
Evidence: Add(x, Mul(a, c)) of float16, a[M] and x[N,M], onnxruntime 1.31.1: the product is rounded behind an
Unsqueeze and an Expand, and right before the Add it is not.
"""
SIZE_0 = Row("size-0", "excused")
"""A size of 0, which the proof assumes away: a reshape finds another shape there, or a kernel returns one.

Recognized by: the proof is complete and lists that assumption, every run that differs has a size of 0, and others are
equal.
Evidence: ReduceSum of [0,2,3,8] along -1 without keepdims returns [0,2,3,8], onnxruntime 1.31.1; a RESHAPE to [-1,4]
passes over a 0, ai-edge-litert 2.3.0.
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
    """Return whether excused rows cover the difference. `op` makes the first tensor that differs, None if unknown."""
    return found.counts.keys() <= {row.name for row in _rows(runtime) if not row.operators or op in row.operators}


def _rows(runtime: Runtime) -> Iterator[Row]:
    return (row for row in TABLE if row.effect == "excused" and (not row.runtimes or runtime in row.runtimes))


def one_kernel_set(runs: Sequence[Run]) -> dict[str, object] | None:
    """Return the entry of ONE_KERNEL_SET if it explains all differences of these runs.

    A failure is never excused, nor another shape, nor a NaN or an infinity for a number.
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
    """Return the entry of SIZE_0 if only runs at a size of 0 differ or fail."""
    off = [run for run in runs if run.optimizations == "off"]
    differing = [run for run in off if run.status == "different"]
    if not all(0 in run.bindings.values() for run in differing):
        return None
    if not any(run.status == "equal" and 0 not in run.bindings.values() for run in off):
        return None
    sites = dict.fromkeys(f"{name}={size}" for run in differing for name, size in run.bindings.items() if size == 0)
    return SIZE_0.entry(", ".join(sites), count=len(differing))


def dropped_cast(verdict: Verdict, kept: Verdict) -> dict[str, object] | None:
    """Return the entry of DROPPED_CAST if the runs that differ are equal with every rounding kept.

    A failure is never excused.
    """
    differing = [run for run in verdict.runs if run.status == "different" and run.optimizations == "off"]
    same = [_inputs(run) for run in kept.runs if run.status == "equal"]
    if kept.status != "equal" or not all(run.outputs and _inputs(run) in same for run in differing):
        return None
    site = (verdict.first_difference or {}).get("producer")
    return DROPPED_CAST.entry(str(site) if site else None, count=len(differing))


def _inputs(run: Run) -> tuple[object, ...]:
    return run.signature, *sorted(run.bindings.items())
