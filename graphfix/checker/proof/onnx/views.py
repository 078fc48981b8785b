"""ONNX's view operators and its arithmetic on shapes: they are read, and are no terms of their own."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from graphfix.checker.proof import repeat_elements, shape_arithmetic, views
from graphfix.checker.proof.onnx.resize import resized
from graphfix.checker.proof.onnx.schema import loads
from graphfix.checker.proof.onnx.table import LEGACY_END
from graphfix.checker.proof.onnx.versions import tests
from graphfix.checker.proof.terms import MOST_ELEMENTS, View, extent, held, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.sizes import Sizes
    from graphfix.checker.proof.terms import Table

COUNTED_TARGET = 5
"""Until then Reshape's target is an attribute, and a 0 in it copies."""
OLD_TILE = 6
MOST_AXES = 1 << 31
TRAINING_AT = 2
_EXACT = {"int32": 1 << 31, "int64": 1 << 53}
"""Numbers below are the same in both types."""
NUMBERS = {6: "int32", 7: "int64"}
"""TensorProto's numbers of the types that shapes are computed in."""


def viewed(table: Table, call: Call) -> View | None:
    """Give the view that a node makes of operand 0, or the integers that it computes; None where it is a term."""
    rule = VIEWS.get(call.op) if not call.domain else None
    if rule is None or not call.views or call.views[0] is None:
        return None
    if call.op in COUNTING and held(call.views[0]) is None:
        return None  # most sums are of elements that nobody knows
    return rule(table, call) if loads(call) else None


def _identity(table: Table, call: Call) -> View | None:  # noqa: ARG001 - every rule takes both
    return call.views[0]


def _dropout(table: Table, call: Call) -> View | None:  # noqa: ARG001 - every rule takes both
    """It does nothing unless it is told to train, and before set 7 if it is told that it does not."""
    training = len(call.views) > TRAINING_AT and call.views[TRAINING_AT] is not None
    return None if training or (call.version < LEGACY_END and not tests(call.attributes)) else call.views[0]


def _reshape(table: Table, call: Call) -> View | None:
    view = call.views[0]
    target = call.integers("shape") if call.since < COUNTED_TARGET else call.vector(1)
    if view is None or target is None:
        return None
    known = _renumbered(table, view, target)
    if known is not None:
        return known
    seen = views.reshaped(view, target, zero_copies=not call.integer("allowzero", 0))
    if seen is not None:
        return seen
    sizes = tuple(size for size in target if isinstance(size, int) and size > 0)
    return repeat_elements.merged(table, view, sizes, call.told) if len(sizes) == len(target) else None


def _renumbered(table: Table, view: View, target: Sizes) -> View | None:
    """Reshape known integers to a vector of [-1]."""
    content, dtype = view.content, held(view)
    if content is None or dtype is None or target not in ((-1,), (len(content),)):
        return None
    return table.numbers(content, dtype)


def _unsqueeze(table: Table, call: Call) -> View | None:  # noqa: ARG001 - every rule takes both
    axes = call.axes()
    if call.views[0] is None or axes is None or min(axes, default=0) < call.lowest(MOST_AXES):
        return None
    return views.unsqueezed(call.views[0], axes)


def _squeeze(table: Table, call: Call) -> View | None:  # noqa: ARG001 - every rule takes both
    axes = call.axes()
    stated = "axes" in call.attributes or call.operand(1) is not None
    if call.views[0] is None or (stated and not axes) or min(axes or (), default=0) < call.lowest(MOST_AXES):
        return None  # runtimes do not agree on what no axes are
    return views.squeezed(call.views[0], axes if stated else None)


def _flatten(table: Table, call: Call) -> View | None:  # noqa: ARG001 - every rule takes both
    axis = call.integer("axis", 1)
    if call.views[0] is None or axis < call.lowest(MOST_AXES):
        return None
    return views.flattened(call.views[0], axis)


def _expand(table: Table, call: Call) -> View | None:
    view, target = call.views[0], call.operand(1)
    if view is None or target is None:
        return None
    content = call.vector(1)
    if content is None and target.content is not None:
        return None  # no vector of int64
    sizes = content or _elements(table, target) if content != () else content
    if sizes is not None and view.axes is not None and view.sizes is not None:
        return views.expanded(table.algebra, view, sizes)
    if content is not None and not any(isinstance(size, int) and size < 0 for size in content):
        return _stretched(table, views.expanded_by(view, frozenset((content,))))
    shape = target.core.shape_of
    if shape is not None and target == whole(target.core):
        return _stretched(table, views.expanded_by(view, shape.more or frozenset((extent(shape),))))
    return None


def _stretched(table: Table, view: View) -> View:
    """Enter that the shapes have to fit."""
    table.met(view.more)
    return view


def _elements(table: Table, target: View) -> Sizes | None:
    """Name the elements of a computed vector of known length, as the sizes that they are where a shape is expected."""
    if target.sizes is None or len(target.sizes) != 1 or not isinstance(target.sizes[0], int):
        return None
    return tuple(table.algebra.symbol(("element", target, index)) for index in range(target.sizes[0]))


def _tile(table: Table, call: Call) -> View | None:  # noqa: ARG001 - every rule takes both
    repeats = call.vector(1)
    if call.since < OLD_TILE or repeats is None or call.views[0] is None:
        return None
    return views.tiled(call.views[0], repeats)


def _shape(table: Table, call: Call) -> View | None:
    view = call.views[0]
    if view is None:
        return None
    if view.sizes is None:
        return _shape_of(table, call, view)
    start, end = call.integer("start", 0), call.integer("end", len(view.sizes))
    part = view.sizes[start:end]
    return table.numbers(part, "int64") if len(part) <= MOST_ELEMENTS else None


def _shape_of(table: Table, call: Call, view: View) -> View:
    """The shape of a value whose rank is not known: a vector that no operator is needed for."""
    core, new = table.core(("shape", *call.key, view), call.told, counted=False)
    if new:
        core.sizes = table.named(core, (None,))
        core.shape_of = view if not call.attributes else None
    return View(core, (0,), core.sizes)


def _size(table: Table, call: Call) -> View | None:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    total = 1
    for size in sizes:
        if not isinstance(size, int):
            return None
        total *= size
    return table.numbers((total,), "int64", scalar=True)


def _cast(table: Table, call: Call) -> View | None:
    content, to = call.content(0), NUMBERS.get(call.integer("to", 0))
    view = call.views[0]
    if view is None or to is None:
        return None
    if content is None:
        return _rounded(table, view, to)
    if held(view) == to:
        return view
    if to == "int32":
        if not all(-_EXACT[to] <= number < _EXACT[to] for number in content if isinstance(number, int)):
            return None
        if not all(isinstance(number, int) for number in content):
            table.assumes["sizes that are cast to int32 are below 2**31"] = None
    return table.numbers(content, to, scalar=call.rank(0) == 0)


def _rounded(table: Table, view: View, to: str) -> View | None:
    """Read a small constant of whole float64 numbers as integers: before operator set 9 no other can be stated."""
    key = view.core.key
    if key[:2] != ("constant", "float64") or view.axes is None or len(view.axes) > 1 or not isinstance(key[3], bytes):
        return None
    numbers = [number for (number,) in struct.iter_unpack("<d", key[3])]
    if not all(number.is_integer() and abs(number) < _EXACT[to] for number in numbers):
        return None
    whole_numbers = tuple(map(int, numbers))
    if not view.axes or view.axes[0] is not None:
        return table.numbers(whole_numbers, to, scalar=not view.axes)
    size = view.sizes[0] if view.sizes else None
    return table.numbers(whole_numbers * size, to) if isinstance(size, int) and size <= MOST_ELEMENTS else None


def _gather(table: Table, call: Call) -> View | None:
    content, indices = call.content(0), call.content(1)
    view = call.views[0]
    dtype = held(view) if view is not None else None
    if content is None or indices is None or dtype is None or call.rank(0) != 1 or call.rank(1) not in (0, 1):
        return None
    if call.integer("axis", 0) not in (0, call.lowest(1)):
        return None
    picked = []
    for index in indices:
        if not isinstance(index, int) or not -len(content) <= index < len(content):
            return None
        picked.append(content[index])
    return table.numbers(tuple(picked), dtype, scalar=call.rank(1) == 0)


def _slice(table: Table, call: Call) -> View | None:
    content, view = call.content(0), call.views[0]
    dtype = held(view) if view is not None else None
    given = [(held(part), call.rank(index)) for index, part in enumerate(call.views) if index and part is not None]
    if content is None or dtype is None or call.rank(0) != 1 or len(given) != len(call.views) - 1:
        return None
    if len(set(given)) != 1 or given[0] not in (("int32", 1), ("int64", 1)):
        return None
    parts = [call.content(index) or () for index in range(1, len(call.views))]
    numbers = [part[0] for part in parts if len(part) == 1 and isinstance(part[0], int)]
    start, end, axis, step = (*numbers, *(0, 0, 0, 1)[len(numbers) :])
    if len(numbers) < len(parts) or axis not in (0, call.lowest(1)) or step < 1:
        return None
    return table.numbers(content[start:end:step], dtype)


def _concat(table: Table, call: Call) -> View | None:
    contents = [call.content(index) for index in range(len(call.views))]
    dtypes = {held(view) for view in call.views if view is not None}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype is None or None in contents or any(call.rank(index) != 1 for index in range(len(call.views))):
        return None
    if call.integer("axis", 1) not in (0, call.lowest(1)):
        return None
    whole = tuple(term for content in contents if content is not None for term in content)
    return table.numbers(whole, dtype) if len(whole) <= MOST_ELEMENTS else None


def _arithmetic(rule: str) -> Callable[[Table, Call], View | None]:
    def counted(table: Table, call: Call) -> View | None:
        kinds = {None if view is None else held(view) for view in call.views}
        if len(kinds) != 1 or (call.version < LEGACY_END and len({view.sizes for view in call.views if view}) != 1):
            return None
        return shape_arithmetic.computed(table, rule, call.views, kinds.pop())

    return counted


VIEWS: Mapping[str, Callable[[Table, Call], View | None]] = {
    "Identity": _identity, "Reshape": _reshape, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Flatten": _flatten,
    "Expand": _expand, "Tile": _tile, "Shape": _shape, "Size": _size, "Cast": _cast, "Gather": _gather,
    "Slice": _slice, "Concat": _concat, "Add": _arithmetic("add"), "Sub": _arithmetic("sub"),
    "Mul": _arithmetic("mul"), "Div": _arithmetic("div"), "Max": _arithmetic("max"), "Min": _arithmetic("min"),
    "Resize": resized, "Dropout": _dropout,
}  # fmt: skip
COUNTING = frozenset({"Add", "Sub", "Mul", "Div", "Max", "Min"})
