"""ONNX's arithmetic on shapes: vectors of known integers are read as what they hold, and are no terms."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.files.onnx.operators import LEGACY_END
from graphfix.checker.files.onnx.tensors import elements
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, View, integer_type, whole
from graphfix.checker.proof.neutral import integer_values
from graphfix.checker.proof.onnx.reading.types import dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import Core, TermTable
    from graphfix.checker.proof.onnx.reading.operands import Call

_EXACT = {"int32": 1 << 31, "int64": 1 << 53}
"""Numbers below are the same in both types."""
NUMBERS = {6: "int32", 7: "int64"}
"""TensorProto's numbers of the types that shapes are computed in."""
NUMBERS_OF = {name: number for number, name in NUMBERS.items()}
BOOL = "bool"
FLOATS: Mapping[object, str] = {"float64": "<d", "float32": "<f"}
"""How elements of floats are stored."""
PAIR, TRIPLE = 2, 3


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
    call.table.arithmetic.see(part)
    return call.table.integers(part, "int64") if len(part) <= MOST_ELEMENTS else None


def _shape_of(call: Call, view: View) -> View:
    """The shape of a value whose rank is not known: a vector that no operator is needed for."""
    core, new = call.table.core(("shape", *call.key, view), call.description, counted=False)
    if new:
        core.sizes = call.table.named_sizes(core, (None,))
        core.shape_of = view if not call.attributes else None
    return View(core, (0,), core.sizes)


def _size(call: Call) -> View | None:
    sizes = call.sizes(0)
    count = None if sizes is None else call.table.arithmetic.mul(*sizes)
    return None if count is None else call.table.integers((count,), "int64", scalar=True)


def _cast(call: Call) -> View | None:
    return _cast_to(call, NUMBERS.get(call.integer("to", 0)))


def _cast_like(call: Call) -> View | None:
    like = call.operand(1)
    kind = None if like is None else dtype(like.core)
    return _cast_to(call, NUMBERS.get(kind)) if isinstance(kind, int) else None


def _cast_to(call: Call, to: str | None) -> View | None:
    content, view = call.content(0), call.views[0]
    if view is None or to is None or not plain_cast(call):
        return None
    if content is None:
        return _rounded(call.table, view, to)
    if integer_type(view) == to:
        return view
    elements = [integer_values.held(call.table, element, to) for element in content]
    known = tuple(element for element in elements if element is not None)
    if len(known) < len(elements):
        return None
    return call.table.integers(known, to, scalar=call.rank(0) == 0)


def plain_cast(call: Call) -> bool:
    """Whether a Cast asks for nothing that concerns float8 alone: onnxruntime then returns anything."""
    return "round_mode" not in call.attributes and call.flag("saturate", default=True) is True


def _rounded(table: TermTable, view: View, to: str) -> View | None:
    """Read a small constant of whole floats as integers: before operator set 9 shapes were written so."""
    key = view.core.key
    form = FLOATS.get(key[1]) if key[0] == "constant" else None
    if form is None or view.axes is None or len(view.axes) > 1 or not isinstance(key[3], bytes):
        return None
    elements = [number for (number,) in struct.iter_unpack(form, key[3])]
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


def enter_elements(call: Call, core: Core) -> None:
    """Enter the known elements of a vector that a Concat joins, where it is not known as a whole."""
    parts = [_part(view) for view in call.views]
    if None in parts or all(element is None for part in parts for element in part or ()):
        return
    elements = tuple([element for part in parts for element in part or ()])
    if len(elements) <= MOST_ELEMENTS:
        core.elements = elements


def _part(view: View | None) -> Dims:
    """Return the elements of a vector of int64, with None for an unknown element; None for any other value."""
    if view is None or view.sizes is None or len(view.sizes) != 1:
        return None
    if view.content is not None:
        return view.content if integer_type(view) == "int64" else None
    count = view.sizes[0]
    if dtype(view.core) != TensorProto.INT64 or not isinstance(count, int) or count > MOST_ELEMENTS:
        return None
    return view.core.elements if view.core.elements is not None and view == whole(view.core) else (None,) * count


def _alike(call: Call) -> bool:
    return not call.attributes and len({view.sizes for view in call.views if view is not None}) == 1


def _arithmetic(rule: str) -> Callable[[Call], View | None]:
    def counted(call: Call) -> View | None:
        kinds = {None if view is None else integer_type(view) for view in call.views}
        if len(kinds) != 1 or (call.version < LEGACY_END and not _alike(call)):
            return None
        if call.flag("fmod") is None:  # onnxruntime refuses it
            return None
        return integer_values.computed(call.table, rule, call.views, kinds.pop())

    return counted


def _compared(relation: str) -> Callable[[Call], View | None]:
    """Rule for a comparison: known where it holds, or does not, for all sizes."""

    def rule(call: Call) -> View | None:
        kinds = {None if view is None else integer_type(view) for view in call.views}
        if len(call.views) != PAIR or not kinds <= NUMBERS_OF.keys() or len(kinds) != 1 or call.attributes:
            return None
        one, two = call.views
        found = integer_values.paired(
            one, two, lambda a, b: integer_values.decided(call.table.arithmetic, relation, a, b)
        )
        return None if found is None else _like(call, found, BOOL)

    return rule


def _like(call: Call, elements: Sizes, dtype: str) -> View:
    """See elements as the result of an elementwise operator."""
    return call.table.integers(
        elements, dtype, scalar=all(view is not None and view.sizes == () for view in call.views)
    )


def _not(call: Call) -> View | None:
    content = call.content(0)
    if content is None or call.views[0] is None or integer_type(call.views[0]) != BOOL:
        return None
    return _like(call, tuple(1 - element for element in content if isinstance(element, int)), BOOL)


def _where(call: Call) -> View | None:
    """Choose by conditions that are known."""
    if len(call.views) != TRIPLE or None in call.views:
        return None
    views = [view for view in call.views if view is not None]
    condition, kinds = views[0].content, {integer_type(view) for view in views[1:]}
    kind = kinds.pop() if len(kinds) == 1 else None
    contents = [view.content for view in views]
    if condition is None or kind not in NUMBERS_OF or integer_type(views[0]) != BOOL or None in contents:
        return None
    length = max(len(view.content or ()) for view in views)
    if any(len(view.content or ()) not in (1, length) for view in views):
        return None
    columns = zip(*(integer_values.repeated(view, length) for view in views), strict=True)
    return _like(call, tuple(one if chosen else two for chosen, one, two in columns), kind)


def _filled(call: Call) -> View | None:
    """ConstantOfShape: a short vector, or a scalar, of one integer."""
    target, given = call.vector(0), call.attributes.get("value")
    if given is None or target is None or len(target) > 1:
        return None
    tensor = given.t
    kind, length = NUMBERS.get(tensor.data_type), numbers(target)
    if kind is None or length is None or tuple(tensor.dims) not in ((), (1,)) or prod(length) > MOST_ELEMENTS:
        return None
    element = elements(tensor) if prod(length) >= 1 else None
    return (
        None if element is None else call.table.integers((int(element.item()),) * prod(length), kind, scalar=not target)
    )


def _neg(call: Call) -> View | None:
    content, view = call.content(0), call.views[0]
    kind = None if view is None else integer_type(view)
    if content is None or kind not in NUMBERS_OF:
        return None
    turned = [
        integer_values.held(call.table, call.table.arithmetic.mul(element, -1), kind or "") for element in content
    ]
    known = tuple(element for element in turned if element is not None)
    return _like(call, known, kind) if len(known) == len(turned) else None


def _product(call: Call) -> View | None:
    """ReduceProd of all elements of a vector."""
    content, view, keep = call.content(0), call.views[0], call.flag("keepdims", default=True)
    kind = None if view is None else integer_type(view)
    axes = call.axes()
    if (
        content is None
        or kind not in NUMBERS_OF
        or call.rank(0) != 1
        or keep is None
        or axes not in (None, (0,), (-1,))
    ):
        return None
    if axes is None and (call.operand(1) is not None or call.flag("noop_with_empty_axes") is not False):
        return None
    whole = integer_values.held(call.table, call.table.arithmetic.mul(*content), kind or "")
    return None if whole is None else call.table.integers((whole,), kind, scalar=not keep)


INTEGER_VALUES: Mapping[str, Callable[[Call], View | None]] = {
    "Shape": _shape, "Size": _size, "Cast": _cast, "CastLike": _cast_like, "Gather": _gather, "Slice": _slice,
    "Concat": _concat,
    **{op: _arithmetic(op.lower()) for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min")},
    "Equal": _compared("equal"), "Greater": _compared("greater"), "Less": _compared("less"),
    "GreaterOrEqual": _compared("greater or equal"), "LessOrEqual": _compared("less or equal"),
    "Not": _not, "Where": _where, "ConstantOfShape": _filled, "Neg": _neg, "ReduceProd": _product,
}  # fmt: skip
COUNTING = frozenset({"Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"})
