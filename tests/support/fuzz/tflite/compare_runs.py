"""What LiteRT says of random TFLite models before and after fix: elements, shapes, and what is broadcast still."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from graphfix.formats.tflite.view import SubgraphView
from graphfix.shapes.dim import Dim, Shape, Size
from tests.support.fuzz.tflite.checks import Case, Fixed, Way, always_run, jobs, known_shapes, load, prepared
from tests.support.fuzz.tflite.graph_builder import Draft
from tests.support.fuzz.tflite.ops import BROADCAST
from tests.support.runtimes.litert_groups import KERNELS, WITH_SHAPES, Ran, run

Sizes = tuple[int, ...]
DELEGATE = KERNELS[2]
"""It takes higher ranks than the kernels and fewer shapes: an operator's operands decide who runs it."""
LACKING = "Didn't find op for builtin opcode"
"""An operator without a kernel may go, and its code with it: the model runs then."""
BY_ZERO = ("data[i] != zero_point", "Division by 0")
"""Kernels look at the divisor before they divide: one that is stretched to no elements holds no 0 any more."""


def examine(drafts: Mapping[int, Draft], *, every: bool = False) -> tuple[list[str], int]:
    """What is wrong with these models, and how many of them never run; `every`: by all options."""
    cases = [prepared(draft, seed, every=every) for seed, draft in drafts.items()]
    silent = 0
    for case, ran in zip(cases, run([jobs(case) for case in cases]), strict=True):
        silent += not compare_case(case, ran)
    return [what for case in cases for what in case.found], silent


def compare_case(case: Case, ran: Sequence[Ran]) -> bool:
    """Compare the runs; say whether the original ran at all."""
    each = len(KERNELS) * len(case.ways)
    files = list(dict.fromkeys([case.file, *(fixed.data for fixed in case.fixed)]))
    runs_of = {file: ran[at * each : (at + 1) * each] for at, file in enumerate(files)}
    before = runs_of[case.file]
    runs = any(it.fine for it in before)
    for options, error in case.refused if runs else ():
        case.says(options, f"refused, though it runs: {error}", {})
    _inferred(case, before, case.shapes, {})
    for fixed in case.fixed:
        _compared(case, fixed, before, runs_of[fixed.data])
        model = load(fixed.data)
        _inferred(case, runs_of[fixed.data], known_shapes(model), fixed.bound)
        for view in always_run(model) if not fixed.folded else ():
            _left(case, fixed, view, runs_of[fixed.data])
    return runs


# --- elements --------------------------------------------------------------------------------------------------------


def _compared(case: Case, fixed: Fixed, before: Sequence[Ran], after: Sequence[Ran]) -> None:
    assumes = fixed.options.get("unknown") == "assume"
    for at, (kernels, way) in enumerate(product(KERNELS, case.ways)):
        expected, got = before[at], after[at]
        if kernels == DELEGATE:
            if fixed.bound or _is_empty(case, way):
                continue  # of a model that is static the delegate takes more operators, and rounds some otherwise
            expected = _as_delegated(expected, before[at - len(case.ways)], got)
        if (assumes and expected.error) or (fixed.bound and not way.keeps_bound):
            continue  # it may be the assumption that does not hold
        what = difference(expected, got)
        if what:
            case.says(fixed.options, f"{kernels} on {[feed.shape for feed in way.feeds]}: {what}", fixed.bound)


def _is_empty(case: Case, way: Way) -> bool:
    """Whether a tensor may have no elements: what XNNPACK then does, an error, a crash or another shape, is its own."""
    return any(feed.size == 0 for feed in way.feeds) or re.search(r"[\[,]0[\],]", case.draft.text) is not None


def _as_delegated(expected: Ran, by_kernels: Ran, got: Ran) -> Ran:
    """What the original may give: what the delegate can't do it leaves to the kernels, and does what they can't.

    A shape that the delegate alone gives is its own fault.
    """
    if not by_kernels.fine:
        return got if expected.error and got.fine else by_kernels if got.error else expected
    if expected.fine:
        pairs = zip(expected.outputs, by_kernels.outputs, strict=True)
        return expected if all(one.shape == other.shape for one, other in pairs) else by_kernels
    return by_kernels if got.fine and not expected.signal else expected


def difference(expected: Ran, got: Ran) -> str:
    """How a run differs from the original's; a kernel that ends the process promises nothing."""
    if expected.signal:
        return ""
    if expected.error:
        return _other_failure(expected, got)
    if not got.fine:
        return f"fails by {got.signal or got.error}, the original runs"
    pairs = enumerate(zip(expected.outputs, got.outputs, strict=True))
    return next((f"output {at} {what}" for at, pair in pairs if (what := _other_elements(*pair))), "")


def _other_failure(expected: Ran, got: Ran) -> str:
    if got.signal:
        return f"{got.signal}, the original fails: {expected.error}"
    early = any(text in expected.error for text in (*BY_ZERO, LACKING))
    return f"runs, the original fails: {expected.error}" if got.fine and not early else ""


def _other_elements(one: np.ndarray, other: np.ndarray) -> str:
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"is {other.dtype}{other.shape}, not {one.dtype}{one.shape}"
    if one.dtype == object:
        return "" if one.tolist() == other.tolist() else "has other words"
    if one.tobytes() == other.tobytes():
        return ""
    pairs = zip(one.ravel(), other.ravel(), strict=True)
    return f"has other elements: {[pair for pair in pairs if pair[0].tobytes() != pair[1].tobytes()][:3]}"


# --- shapes ----------------------------------------------------------------------------------------------------------


def _shaped(case: Case, ran: Sequence[Ran], bound: Mapping[str, int]) -> Iterator[tuple[Way, Ran]]:
    """The runs that give shapes."""
    first = KERNELS.index(WITH_SHAPES) * len(case.ways)
    for at, way in enumerate(case.ways):
        one = ran[first + at]
        if one.fine and not (bound and not way.keeps_bound):
            yield way, one


def _inferred(
    case: Case, ran: Sequence[Ran], shapes: Sequence[tuple[int, Mapping[int, Shape]]], bound: Mapping[str, int]
) -> None:
    """Every shape of the run is an instance of the view's."""
    for (way, one), (index, known) in product(_shaped(case, ran, bound), shapes):
        sizes: dict[str, int] = {}
        for tensor, shape in known.items():
            real = one.shapes[index][tensor]
            why = no_instance(shape, real, sizes)
            if why:
                fed = [feed.shape for feed in way.feeds]
                what = f"on {fed} tensor {tensor} of subgraph {index} is {real}, the view says {shape}: {why}"
                case.says({}, what, bound)
                return


def no_instance(shape: Shape, real: Sizes, sizes: dict[str, int]) -> str:
    """Why a shape is not what the view says; `sizes` are those that names have had so far."""
    if shape.axes is None:
        return ""
    if len(shape.axes) != len(real):
        return "another rank"
    pairs = zip(shape.axes, real, strict=True)
    return next((why for size, actual in pairs if (why := _no_size(size, actual, sizes))), "")


def _no_size(size: Size, actual: int, sizes: dict[str, int]) -> str:
    if isinstance(size, int):
        return "another size" if size != actual else ""
    if actual < size.lo or (size.hi is not None and actual > size.hi):
        return f"{size} is out of its range"
    if len(size.parts) == 1:
        known = sizes.setdefault(size.parts[0], actual)
        return f"{size} is {known} elsewhere" if known != actual else ""
    return f"{size} is no broadcast of {sizes}" if _wrong_broadcast(size, actual, sizes) else ""


def _wrong_broadcast(size: Dim, actual: int, sizes: Mapping[str, int]) -> bool:
    if not size.parts or not all(part in sizes for part in size.parts):
        return False
    return actual != next((sizes[part] for part in size.parts if sizes[part] != 1), 1)


# --- what operators met when the model ran ---------------------------------------------------------------------------


def _left(case: Case, fixed: Fixed, view: SubgraphView, ran: Sequence[Ran]) -> None:
    """No operand of another rank (another shape, for `explicit`) than its node's result, unless a site says why."""
    name = view.record.name
    nodes = zip(fixed.labels[name], view.graph.nodes, view.record.operators, strict=True)
    asked = [
        (label, operator)
        for label, node, operator in nodes
        if node.op in BROADCAST and (name, label, None) not in fixed.excused
    ]
    for (_, one), (label, operator) in product(_shaped(case, ran, fixed.bound), asked):
        shapes = one.shapes[view.index]
        operands = [
            shapes[tensor] for at, tensor in enumerate(operator.inputs) if (name, label, at) not in fixed.excused
        ]
        if broadcasts(operands, shapes[operator.outputs[0]], fixed.allowed):
            what = f"{name}: {label} still broadcasts {operands} to {shapes[operator.outputs[0]]}"
            case.says(fixed.options, what, fixed.bound)
            return


def broadcasts(operands: Sequence[Sizes], result: Sizes, allowed: int | None) -> bool:
    """Whether an operand has not the result's rank, or more than `allowed` have not its shape."""
    if any(len(shape) != len(result) for shape in operands):
        return True
    return allowed is not None and sum(shape != result for shape in operands) > allowed
