"""TFLite's view operators and its arithmetic on shapes: they are read, and are no terms of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphfix.verify.proof import arithmetic, views
from graphfix.verify.proof.sizes import right_aligned
from graphfix.verify.proof.terms import MOST_ELEMENTS, View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.verify.proof.sizes import Sizes
    from graphfix.verify.proof.terms import Table
    from graphfix.verify.proof.tflite_file import Operator, Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """An operator with its operands."""

    table: Table
    operator: Operator
    views: Sequence[View | None]
    inputs: Sequence[Tensor | None]
    result: Tensor
    told: str

    def content(self, index: int) -> Sizes | None:
        """Give the elements of an operand that is a vector of known integers or terms."""
        view = self.views[index] if index < len(self.views) else None
        return None if view is None else view.content

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """Give the elements of an operand, all of them numbers."""
        content = self.content(index)
        if content is None or not all(isinstance(number, int) for number in content):
            return None
        return tuple(number for number in content if isinstance(number, int))

    def option(self, name: str) -> object:
        """Give a field of the options; None where there are none."""
        return self.operator.options.get(name)

    def integer(self, name: str) -> int:
        """Give an integer field of the options; 0 where there are none."""
        value = self.option(name)
        return value if isinstance(value, int) else 0

    def vector(self, terms: Sizes, *, scalar: bool = False) -> View | None:
        """Give integers of the result's type."""
        if self.result.dtype not in ("int32", "int64") or len(terms) > MOST_ELEMENTS:
            return None
        if self.result.dtype == "int32" and not all(
            -(1 << 31) <= term < 1 << 31 for term in terms if isinstance(term, int)
        ):
            return None
        return self.table.numbers(terms, self.result.dtype, scalar=scalar)


def viewed(step: Step) -> View | None:
    """Give the view that an operator makes of operand 0, or the integers that it computes; None where it is a term."""
    rule = VIEWS.get(step.operator.name)
    return rule(step) if rule is not None and step.views and step.views[0] is not None else None


def _reshape(step: Step) -> View | None:
    view, target = step.views[0], step.content(1)
    if target is None and len(step.views) < 2:  # noqa: PLR2004 - the shape operand
        option = step.option("newShape")
        target = option if isinstance(option, tuple) else None
    if view is None or target is None:
        return None
    content = view.content
    if content is not None and target in ((-1,), (len(content),)):
        return step.vector(content)
    return views.reshaped(view, target, zero_copies=False)


def _expand_dims(step: Step) -> View | None:
    axes = step.numbers(1)
    return views.unsqueezed(step.views[0], axes) if step.views[0] is not None and axes is not None else None


def _squeeze(step: Step) -> View | None:
    axes = step.option("squeezeDims")
    if step.views[0] is None:
        return None
    return views.squeezed(step.views[0], axes if isinstance(axes, tuple) and axes else None)


def _broadcast_to(step: Step) -> View | None:
    view, target = step.views[0], step.content(1)
    return None if view is None or target is None else _onto(step, lifted(view, len(target)), target)


def _onto(step: Step, view: View, target: Sizes) -> View | None:
    """Stretch one way to a shape of the same rank; where the operand may not fit it, that is a term of its own."""
    seen = views.broadcast_to(step.table.algebra, view, target)
    if seen is not None:
        return seen
    if view.sizes is None or len(view.sizes) != len(target) or any(isinstance(to, int) and to < 0 for to in target):
        return None
    return step.table.result(("stretched", step.result.dtype, view, target), step.told, target)


def lifted(view: View, rank: int) -> View:
    """See a value with unit axes in front, up to a rank."""
    missing = 0 if view.sizes is None else rank - len(view.sizes)
    return views.unsqueezed(view, range(missing)) or view if missing > 0 else view


def _tile(step: Step) -> View | None:
    repeats = step.content(1)
    return views.tiled(step.views[0], repeats) if step.views[0] is not None and repeats is not None else None


def _broadcast_in_dim(step: Step) -> View | None:
    view, dims, to = step.views[0], step.option("broadcastDimensions"), step.result.dims
    if view is None or view.axes is None or view.sizes is None or not isinstance(dims, tuple) or to is None:
        return None
    sizes = tuple(size for size in to if size is not None)
    if not len(set(dims)) == len(dims) == len(view.axes) or len(sizes) < len(to):
        return None
    if not all(0 <= axis < len(to) for axis in dims):
        return None
    follows = dict(zip(dims, zip(view.axes, view.sizes, strict=True), strict=True))
    pairs = [follows.get(axis, (None, 1)) for axis in range(len(to))]
    return _onto(step, View(view.core, tuple(axis for axis, _ in pairs), tuple(size for _, size in pairs)), sizes)


def _shape(step: Step) -> View | None:
    view = step.views[0]
    if view is None or view.sizes is None:
        return None
    if step.result.dtype == "int32" and not all(isinstance(size, int) for size in view.sizes):
        step.table.assumes["sizes are below 2**31"] = None
    return step.vector(view.sizes)


def _rank(step: Step) -> View | None:
    view = step.views[0]
    return None if view is None or view.sizes is None else step.vector((len(view.sizes),), scalar=True)


def _cast(step: Step) -> View | None:
    content, view = step.content(0), step.views[0]
    return None if content is None or view is None else step.vector(content, scalar=view.sizes == ())


def _gather(step: Step) -> View | None:
    content, indices, picks = step.content(0), step.numbers(1), step.views[1]
    if content is None or indices is None or picks is None or step.integer("axis") or step.integer("batchDims"):
        return None
    if step.views[0] is None or step.views[0].sizes == () or not all(0 <= index < len(content) for index in indices):
        return None
    return step.vector(tuple(content[index] for index in indices), scalar=picks.sizes == ())


def _concatenation(step: Step) -> View | None:
    if any(view is None or view.content is None or view.sizes == () for view in step.views):
        return None
    if step.integer("axis") not in (0, -1) or step.integer("fusedActivationFunction"):
        return None
    return step.vector(tuple(term for view in step.views if view is not None for term in view.content or ()))


def _pack(step: Step) -> View | None:
    if any(view is None or view.content is None or view.sizes != () for view in step.views) or step.integer("axis"):
        return None
    return step.vector(tuple(term for view in step.views if view is not None for term in view.content or ()))


def _strided_slice(step: Step) -> View | None:
    content, parts = step.content(0), [step.numbers(index) for index in (1, 2, 3)]
    if content is None or step.views[0] is None or step.views[0].sizes == ():
        return None
    begin, end, stride = (part[0] if part is not None and len(part) == 1 else None for part in parts)
    if begin is None or end is None or stride is None or stride < 1:
        return None
    if step.integer("ellipsisMask") or step.integer("newAxisMask") or step.integer("offset"):
        return None
    start = None if step.integer("beginMask") else begin
    if step.integer("shrinkAxisMask"):
        at = 0 if start is None else start
        return step.vector((content[at],), scalar=True) if -len(content) <= at < len(content) else None
    return step.vector(content[start : None if step.integer("endMask") else end : stride])


def _slice(step: Step) -> View | None:
    content, begin, size = step.content(0), step.numbers(1), step.numbers(2)
    if content is None or begin is None or size is None or len(begin) != 1 or len(size) != 1 or begin[0] < 0:
        return None
    end = len(content) if size[0] < 0 else begin[0] + size[0]
    return step.vector(content[begin[0] : end]) if end <= len(content) else None


def parted(step: Step, count: int) -> list[View | None]:
    """Give the parts of known integers that SPLIT or SPLIT_V cuts a vector into; nothing where they are not known."""
    name, whole = step.operator.name, step.content(1 if step.operator.name == "SPLIT" else 0)
    if name not in ("SPLIT", "SPLIT_V") or whole is None or not count:
        return []
    parts = (len(whole) // count,) * count if name == "SPLIT" else step.numbers(1)
    if parts is None or len(parts) != count:
        return []
    rest = len(whole) - sum(size for size in parts if size >= 0)
    sizes = [rest if size < 0 else size for size in parts]
    if sum(sizes) != len(whole) or min(sizes) < 0:
        return []
    starts = [sum(sizes[:index]) for index in range(count)]
    return [step.vector(whole[at : at + size]) for at, size in zip(starts, sizes, strict=True)]


def _broadcast_args(step: Step) -> View | None:
    one, two = step.content(0), step.content(1)
    if one is None or two is None:
        return None
    rank = max(len(one), len(two))
    pairs = zip(right_aligned(one, rank), right_aligned(two, rank), strict=True)
    return step.vector(tuple(map(step.table.algebra.met, pairs)))


def _arithmetic(rule: str) -> Callable[[Step], View | None]:
    def counted(step: Step) -> View | None:
        if step.integer("fusedActivationFunction"):
            return None
        return arithmetic.computed(step.table, rule, step.views, step.result.dtype)

    return counted


VIEWS: Mapping[str, Callable[[Step], View | None]] = {
    "RESHAPE": _reshape, "EXPAND_DIMS": _expand_dims, "SQUEEZE": _squeeze, "BROADCAST_TO": _broadcast_to,
    "TILE": _tile, "STABLEHLO_BROADCAST_IN_DIM": _broadcast_in_dim, "SHAPE": _shape, "RANK": _rank, "CAST": _cast,
    "GATHER": _gather, "CONCATENATION": _concatenation, "PACK": _pack, "STRIDED_SLICE": _strided_slice,
    "SLICE": _slice, "BROADCAST_ARGS": _broadcast_args, "ADD": _arithmetic("add"), "SUB": _arithmetic("sub"),
    "MUL": _arithmetic("mul"), "FLOOR_DIV": _arithmetic("div"), "DIV": _arithmetic("div"),
    "FLOOR_MOD": _arithmetic("mod"), "MAXIMUM": _arithmetic("max"), "MINIMUM": _arithmetic("min"),
}  # fmt: skip
MOVING = frozenset({"RESHAPE", "EXPAND_DIMS", "SQUEEZE", "BROADCAST_TO", "TILE", "STABLEHLO_BROADCAST_IN_DIM"})
"""Operators that move elements: the result is quantized as the operand is, or it is no view."""
