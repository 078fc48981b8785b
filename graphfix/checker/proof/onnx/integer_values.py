"""ONNX's arithmetic on shapes: vectors of known integers are read as what they hold, and are no terms."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING

from graphfix.checker.proof import integer_values
from graphfix.checker.proof.onnx.table import LEGACY_END
from graphfix.checker.proof.sizes import numbers
from graphfix.checker.proof.terms import MOST_ELEMENTS, View, integer_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.sizes import Sizes
    from graphfix.checker.proof.terms import TermTable

_EXACT = {"int32": 1 << 31, "int64": 1 << 53}
"""Numbers below are the same in both types."""
NUMBERS = {6: "int32", 7: "int64"}
"""TensorProto's numbers of the types that shapes are computed in."""


def renumbered(table: TermTable, view: View, target: Sizes) -> View | None:
    """Reshape known integers to a vector of [-1]."""
    content, dtype = view.content, integer_type(view)
    if content is None or dtype is None or target not in ((-1,), (len(content),)):
        return None
    return table.integers(content, dtype)


def _shape(call: Call) -> View | None:
    view = call.views[0]
    if view is None:
        return None
    if view.sizes is None:
        return _shape_of(call, view)
    start, end = call.integer("start", 0), call.integer("end", len(view.sizes))
    part = view.sizes[start:end]
    return call.table.integers(part, "int64") if len(part) <= MOST_ELEMENTS else None


def _shape_of(call: Call, view: View) -> View:
    """The shape of a value whose rank is not known: a vector that no operator is needed for."""
    core, new = call.table.core(("shape", *call.key, view), call.description, counted=False)
    if new:
        core.sizes = call.table.named_sizes(core, (None,))
        core.shape_of = view if not call.attributes else None
    return View(core, (0,), core.sizes)


def _size(call: Call) -> View | None:
    sizes = numbers(call.sizes(0))
    return None if sizes is None else call.table.integers((prod(sizes),), "int64", scalar=True)


def _cast(call: Call) -> View | None:
    content, to = call.content(0), NUMBERS.get(call.integer("to", 0))
    view = call.views[0]
    if view is None or to is None or not plain_cast(call):
        return None
    if content is None:
        return _rounded(call.table, view, to)
    if integer_type(view) == to:
        return view
    if to == "int32":
        if not all(-_EXACT[to] <= number < _EXACT[to] for number in content if isinstance(number, int)):
            return None
        if numbers(content) is None:
            call.table.assumes["sizes that are cast to int32 are below 2**31"] = None
    return call.table.integers(content, to, scalar=call.rank(0) == 0)


def plain_cast(call: Call) -> bool:
    """Whether a Cast asks for nothing that concerns float8 alone: onnxruntime then returns anything."""
    return "round_mode" not in call.attributes and call.flag("saturate", default=True) is True


def _rounded(table: TermTable, view: View, to: str) -> View | None:
    """Read a small constant of whole float64 numbers as integers: before operator set 9 shapes were written so."""
    key = view.core.key
    if key[:2] != ("constant", "float64") or view.axes is None or len(view.axes) > 1 or not isinstance(key[3], bytes):
        return None
    elements = [number for (number,) in struct.iter_unpack("<d", key[3])]
    if not all(number.is_integer() and abs(number) < _EXACT[to] for number in elements):
        return None
    whole_numbers = tuple(map(int, elements))
    if not view.axes or view.axes[0] is not None:
        return table.integers(whole_numbers, to, scalar=not view.axes)
    size = view.sizes[0] if view.sizes else None
    return table.integers(whole_numbers * size, to) if isinstance(size, int) and size <= MOST_ELEMENTS else None


def _gather(call: Call) -> View | None:
    content, indices = call.content(0), call.content(1)
    view = call.views[0]
    dtype = integer_type(view) if view is not None else None
    if content is None or indices is None or dtype is None or call.rank(0) != 1 or call.rank(1) not in (0, 1):
        return None
    if call.integer("axis", 0) not in (0, call.lowest(1)):
        return None
    picked = []
    for index in indices:
        if not isinstance(index, int) or not call.lowest(len(content)) <= index < len(content):
            return None
        picked.append(content[index])
    return call.table.integers(tuple(picked), dtype, scalar=call.rank(1) == 0)


def _slice(call: Call) -> View | None:
    content, view = call.content(0), call.views[0]
    dtype = integer_type(view) if view is not None else None
    given = [
        (integer_type(part), call.rank(index)) for index, part in enumerate(call.views) if index and part is not None
    ]
    if content is None or dtype is None or call.rank(0) != 1 or len(given) != len(call.views) - 1:
        return None
    if len(set(given)) != 1 or given[0] not in (("int32", 1), ("int64", 1)):
        return None
    parts = [call.content(index) or () for index in range(1, len(call.views))]
    bounds = [part[0] for part in parts if len(part) == 1 and isinstance(part[0], int)]
    start, end, axis, step = (*bounds, *(0, 0, 0, 1)[len(bounds) :])
    if len(bounds) < len(parts) or axis not in (0, call.lowest(1)) or step < 1:
        return None
    return call.table.integers(content[start:end:step], dtype)


def _concat(call: Call) -> View | None:
    contents = [call.content(index) for index in range(len(call.views))]
    dtypes = {integer_type(view) for view in call.views if view is not None}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype is None or None in contents or any(call.rank(index) != 1 for index in range(len(call.views))):
        return None
    if call.integer("axis", 1) not in (0, call.lowest(1)):
        return None
    whole = tuple(term for content in contents if content is not None for term in content)
    return call.table.integers(whole, dtype) if len(whole) <= MOST_ELEMENTS else None


def _alike(call: Call) -> bool:
    return not call.attributes and len({view.sizes for view in call.views if view is not None}) == 1


def _arithmetic(rule: str) -> Callable[[Call], View | None]:
    def counted(call: Call) -> View | None:
        kinds = {None if view is None else integer_type(view) for view in call.views}
        if len(kinds) != 1 or (call.version < LEGACY_END and not _alike(call)):
            return None
        return integer_values.computed(call.table, rule, call.views, kinds.pop())

    return counted


INTEGER_VALUES: Mapping[str, Callable[[Call], View | None]] = {
    "Shape": _shape, "Size": _size, "Cast": _cast, "Gather": _gather, "Slice": _slice, "Concat": _concat,
    **{op: _arithmetic(op.lower()) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min")},
}  # fmt: skip
COUNTING = frozenset({"Add", "Sub", "Mul", "Div", "Max", "Min"})
