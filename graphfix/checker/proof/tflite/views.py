"""TFLite's view operators and its arithmetic on shapes: they are read, and are no terms of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.schema import TYPES
from graphfix.checker.proof import broadcast, shape_arithmetic, views
from graphfix.checker.proof.sizes import right_aligned
from graphfix.checker.proof.terms import MOST_ELEMENTS, View, held
from graphfix.checker.proof.tflite.shapes import stated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.files.tflite.file import Operator, Tensor
    from graphfix.checker.proof.sizes import Sizes
    from graphfix.checker.proof.terms import Table


@dataclass(frozen=True, slots=True)
class Step:
    """An operator with its operands."""

    table: Table
    operator: Operator
    views: Sequence[View | None]
    inputs: Sequence[Tensor | None]
    result: Tensor
    told: str

    def operand(self, index: int) -> View | None:
        """Give an operand; None where it is not given, though the operator may need it."""
        return self.views[index] if index < len(self.views) else None

    def content(self, index: int) -> Sizes | None:
        """Give the elements of an operand that is a scalar or vector of known integers or terms, of its own type."""
        view = self.operand(index)
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if view is None or tensor is None or tensor.quantization is not None or tensor.dtype != held(view):
            return None
        return view.content

    def target(self, index: int) -> Sizes | None:
        """Give the elements of an operand that has to be a vector: a shape, repeats."""
        view = self.operand(index)
        return None if view is None or view.sizes is None or len(view.sizes) != 1 else self.content(index)

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
        if (
            self.result.quantization is not None
            or self.result.dtype not in ("int32", "int64")
            or len(terms) > MOST_ELEMENTS
        ):
            return None
        if self.result.dtype == "int32" and not all(
            -(1 << 31) <= term < 1 << 31 for term in terms if isinstance(term, int)
        ):
            return None
        return self.table.numbers(terms, self.result.dtype, scalar=scalar)


def viewed(step: Step) -> View | None:
    """Give the view that an operator makes of operand 0, or the integers that it computes; None where it is a term."""
    rule = VIEWS.get(step.operator.name)
    if rule is None or not step.views or step.views[0] is None:
        return None
    if step.operator.name in COUNTING and held(step.views[0]) is None:
        return None  # most sums are of elements that nobody knows
    taking = step.inputs if step.operator.name in ALIKE else step.inputs[:1]
    if step.operator.name not in RETYPING and any(each is None or each.dtype != step.result.dtype for each in taking):
        return None
    return rule(step)


def _reshape(step: Step) -> View | None:
    view, target = step.views[0], stated(step)
    if view is None or target is None:
        return None
    content = step.content(0)
    if content is not None and target in ((-1,), (len(content),)):
        return step.vector(content)
    return views.reshaped(view, target, zero_copies=False)


def _expand_dims(step: Step) -> View | None:
    axes = step.numbers(1)
    if step.views[0] is None or axes is None or len(axes) != 1:
        return None
    return views.unsqueezed(step.views[0], axes)


def _squeeze(step: Step) -> View | None:
    axes = step.option("squeezeDims")
    if step.views[0] is None:
        return None
    return views.squeezed(step.views[0], axes if isinstance(axes, tuple) and axes else None)


def _broadcast_to(step: Step) -> View | None:
    view, target = step.views[0], step.target(1)
    return None if view is None or target is None else _onto(step, view, target)


def _onto(step: Step, view: View, target: Sizes) -> View | None:
    """Stretch one way to a shape; where the operand may not fit it, that is a term of its own."""
    seen = views.broadcast_to(step.table.algebra, view, target)
    return seen if seen is not None else broadcast.onto_target(step.table, view, target, step.told)


def lifted(view: View, rank: int) -> View:
    """See a value with unit axes in front, up to a rank."""
    missing = 0 if view.sizes is None else rank - len(view.sizes)
    return views.unsqueezed(view, range(missing)) or view if missing > 0 else view


def _tile(step: Step) -> View | None:
    repeats = step.target(1)
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
    if view is None or view.sizes is None or TYPES.get(step.integer("outType")) != step.result.dtype:
        return None
    return _narrowed(step, view.sizes)


def _narrowed(step: Step, terms: Sizes, *, scalar: bool = False) -> View | None:
    """Give sizes in the result's type."""
    if step.result.dtype == "int32" and not all(isinstance(term, int) for term in terms):
        step.table.assumes["sizes are below 2**31"] = None
    return step.vector(terms, scalar=scalar)


def _rank(step: Step) -> View | None:
    view = step.views[0]
    return None if view is None or view.sizes is None else step.vector((len(view.sizes),), scalar=True)


def _cast(step: Step) -> View | None:
    content, view = step.content(0), step.views[0]
    return None if content is None or view is None else _narrowed(step, content, scalar=view.sizes == ())


def _gather(step: Step) -> View | None:
    content, indices, picks = step.content(0), step.numbers(1), step.operand(1)
    if content is None or indices is None or picks is None or step.integer("axis") or step.integer("batchDims"):
        return None
    if step.views[0] is None or step.views[0].sizes == () or not all(0 <= index < len(content) for index in indices):
        return None
    return step.vector(tuple(content[index] for index in indices), scalar=picks.sizes == ())


def _concatenation(step: Step) -> View | None:
    parts = [step.target(index) for index in range(len(step.views))]
    if step.integer("axis") not in (0, -1) or step.integer("fusedActivationFunction"):
        return None
    known = [part for part in parts if part is not None]
    return step.vector(tuple(term for part in known for term in part)) if len(known) == len(parts) else None


def _pack(step: Step) -> View | None:
    parts = [step.content(index) for index in range(len(step.views))]
    if any(view is None or view.sizes != () for view in step.views) or step.integer("axis"):
        return None
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or step.integer("valuesCount") != len(parts):
        return None
    return step.vector(tuple(term for part in known for term in part))


def _strided_slice(step: Step) -> View | None:
    content, parts = step.target(0), [step.numbers(index) for index in (1, 2, 3)]
    if content is None or any(step.target(index) is None for index in (1, 2, 3)):
        return None
    if any(tensor is None or tensor.dtype != "int32" for tensor in step.inputs[1:4]):
        return None
    begin, end, stride = (part[0] if part is not None and len(part) == 1 else None for part in parts)
    if begin is None or end is None or stride is None or stride < 1:
        return None
    masks = [step.integer(name) for name in ("beginMask", "endMask", "shrinkAxisMask")]
    if step.integer("ellipsisMask") or step.integer("newAxisMask") or step.integer("offset") or max(masks) > 1:
        return None
    start = None if step.integer("beginMask") else begin
    if step.integer("shrinkAxisMask"):
        at = 0 if start is None else start
        return step.vector((content[at],), scalar=True) if -len(content) <= at < len(content) else None
    return step.vector(content[start : None if step.integer("endMask") else end : stride])


def _slice(step: Step) -> View | None:
    content, begin, size = step.target(0), step.numbers(1), step.numbers(2)
    kinds = {None if tensor is None else tensor.dtype for tensor in step.inputs[1:]}
    if step.target(1) is None or step.target(2) is None or len(kinds) != 1:
        return None
    if content is None or begin is None or size is None or len(begin) != 1 or len(size) != 1:
        return None
    if begin[0] < 0 or size[0] < -1:
        return None
    end = len(content) if size[0] < 0 else begin[0] + size[0]
    return step.vector(content[begin[0] : end]) if end <= len(content) else None


def parted(step: Step, count: int, place: int) -> View | None:
    """Give one of the parts of known integers that SPLIT or SPLIT_V cuts a vector into; None where it is not known."""
    split = step.operator.name == "SPLIT"
    data, axis = (1, 0) if split else (0, 2)
    if step.integer("numSplits") != count:
        return None
    whole, tensor = step.target(data), step.inputs[data]
    if whole is None or tensor is None or tensor.dtype != step.result.dtype or step.numbers(axis) not in ((0,), (-1,)):
        return None
    sizes = _parts(len(whole), (len(whole) // count,) * count if split else step.numbers(1))
    if len(sizes) != count:
        return None
    start = sum(sizes[:place])
    return step.vector(whole[start : start + sizes[place]])


def _parts(total: int, stated: Sequence[int] | None) -> Sequence[int]:
    """Give the lengths of the parts, one of which may be stated as -1; nothing where they are not known."""
    rest = total - sum(size for size in stated or () if size >= 0)
    sizes = [rest if size == -1 else size for size in stated or ()]
    return sizes if sum(sizes) == total and min(sizes, default=0) >= 0 else ()


def _broadcast_args(step: Step) -> View | None:
    one, two = step.target(0), step.target(1)
    if one is None or two is None:
        return None
    rank = max(len(one), len(two))
    pairs = zip(right_aligned(one, rank), right_aligned(two, rank), strict=True)
    return step.vector(tuple(map(step.table.algebra.met, pairs)))


def _arithmetic(rule: str) -> Callable[[Step], View | None]:
    def counted(step: Step) -> View | None:
        if step.integer("fusedActivationFunction"):
            return None
        if any(step.content(index) is None for index in range(len(step.views))):
            return None
        return shape_arithmetic.computed(step.table, rule, step.views, step.result.dtype)

    return counted


VIEWS: Mapping[str, Callable[[Step], View | None]] = {
    "RESHAPE": _reshape, "EXPAND_DIMS": _expand_dims, "SQUEEZE": _squeeze, "BROADCAST_TO": _broadcast_to,
    "TILE": _tile, "STABLEHLO_BROADCAST_IN_DIM": _broadcast_in_dim, "SHAPE": _shape, "RANK": _rank, "CAST": _cast,
    "GATHER": _gather, "CONCATENATION": _concatenation, "PACK": _pack, "STRIDED_SLICE": _strided_slice,
    "SLICE": _slice, "BROADCAST_ARGS": _broadcast_args, "ADD": _arithmetic("add"), "SUB": _arithmetic("sub"),
    "MUL": _arithmetic("mul"), "FLOOR_DIV": _arithmetic("div"), "DIV": _arithmetic("div"),
    "FLOOR_MOD": _arithmetic("mod"), "MAXIMUM": _arithmetic("max"), "MINIMUM": _arithmetic("min"),
}  # fmt: skip
COUNTING = frozenset("ADD SUB MUL FLOOR_DIV DIV FLOOR_MOD MAXIMUM MINIMUM".split())
RETYPING = frozenset({"SHAPE", "RANK", "CAST"})
"""Those whose result is not of operand 0's type."""
ALIKE = frozenset("CONCATENATION PACK BROADCAST_ARGS ADD SUB MUL FLOOR_DIV DIV FLOOR_MOD MAXIMUM MINIMUM".split())
"""Those whose operands are all of one type."""
MOVING = frozenset({"RESHAPE", "EXPAND_DIMS", "SQUEEZE", "BROADCAST_TO", "TILE", "STABLEHLO_BROADCAST_IN_DIM"})
"""Operators that move elements: the result is quantized as the operand is, or it is no view."""
