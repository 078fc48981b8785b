"""ONNX nodes that compute constants from constants: they are read as what they compute."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.files.onnx.tensors import elements
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import View
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.integer_values import cut
from graphfix.checker.proof.onnx import nodes
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.integer_values import plain_cast
from graphfix.checker.proof.onnx.layout_shapes import COUNTED_PARTS, equal_part, places
from graphfix.checker.proof.onnx.reading.types import type_name
from graphfix.results.runtime_facts import MOST_AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import AttributeProto

    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.onnx.reading.operands import Call

EQUAL_UNTIL = 8
"""The first operator set in which operands of all broadcasting operators may have different shapes."""
MOST_OF_SLICE = 5
"""Operands."""
Rule: TypeAlias = "Callable[[Call, Sequence[Array | None]], Array | Sequence[Array] | None]"
"""Takes the operands, None for one that is not given; returns the result, or the results, or None."""


def computed(constants: Constants, call: Call) -> list[View] | None:
    """Return the results of a node whose operands are all small constants; None where it is to be read as a term."""
    first = call.views[0] if call.views else None
    if call.op == "ConstantOfShape" and not call.domain and loads(call):
        made = _filled(constants, call)
        return None if made is None else [made]
    if first is not None and not constant_folding.is_constant(first):
        return None  # most nodes end here
    rule = RULES.get(call.op) if not call.domain and call.views else None
    if (
        rule is None
        or not all(view is None or constant_folding.is_constant(view) for view in call.views)
        or not loads(call)
    ):
        return None
    results = _results(rule, call)
    if any(array.size > constant_folding.MOST or array.dtype.name not in constant_folding.TYPES for array in results):
        return None
    return [constant_folding.as_constant(constants, array, call.description) for array in results] or None


def _results(rule: Rule, call: Call) -> list[Array]:
    arrays = [constant_folding.literal(view) for view in call.views]
    if any(array is None and view is not None for array, view in zip(arrays, call.views, strict=True)):
        return []
    if not constant_folding.may_broadcast(arrays):
        return []
    try:
        found = rule(call, arrays)
    except (ValueError, IndexError, TypeError):  # operands that do not fit: a runtime refuses them as well
        return []
    if found is None:
        return []
    return [np.asarray(found)] if isinstance(found, np.ndarray | np.generic) else list(found)


def _filled(constants: Constants, call: Call) -> View | None:
    """Return the result of a ConstantOfShape of known sizes: one element, stretched."""
    sizes, given = call.vector(0) if call.views else None, _element(call.attributes.get("value"))
    if sizes is None or given is None or any(isinstance(size, int) and size < 0 for size in sizes):
        return None
    call.table.arithmetic.need(sizes)
    known = numbers(sizes)
    if known is not None and 0 in known:  # no element to stretch
        if len(known) > MOST_AXES or prod(filter(None, known)) > constant_folding.MOST_BYTES:
            return None
        return constant_folding.as_constant(constants, np.zeros(known, given.dtype), call.description)
    return View(
        constant_folding.as_constant(constants, given.reshape(()), call.description).core, (None,) * len(sizes), sizes
    )


def _element(value: AttributeProto | None) -> Array | None:
    """Return the one element that the file itself holds; None for any other tensor."""
    if value is None:
        return np.zeros(1, np.float32)
    given = elements(value.t) if list(value.t.dims) == [1] else None
    return None if given is None or given.dtype.name not in constant_folding.TYPES else given


def _meet(call: Call, arrays: Sequence[Array | None]) -> bool:
    """Whether operands have the shapes that their operator set takes: before it broadcast they were equal."""
    if call.version >= (onnx_ops.LEGACY_END if call.op in onnx_ops.LEGACY else EQUAL_UNTIL):
        return True
    return not call.attributes and len({None if array is None else array.shape for array in arrays}) == 1


def _pair(rule: str) -> Rule:
    def computed_pair(call: Call, arrays: Sequence[Array | None]) -> Array | None:
        one, two = arrays
        if one is None or two is None or not _meet(call, arrays):
            return None
        return constant_folding.paired(rule, one, two)

    return computed_pair


def _all(rule: str) -> Rule:
    """Operators of any number of operands."""

    def computed_all(call: Call, arrays: Sequence[Array | None]) -> Array | None:
        found = arrays[0] if _meet(call, arrays) else None
        for array in arrays[1:]:
            found = None if found is None or array is None else constant_folding.paired(rule, found, array)
        return found

    return computed_all


def _single(rule: str) -> Rule:
    return lambda _, arrays: None if arrays[0] is None else constant_folding.single(rule, arrays[0])


def _reduction(rule: str) -> Rule:
    def computed_reduction(call: Call, arrays: Sequence[Array | None]) -> Array | None:
        data, keep, idle = arrays[0], call.flag("keepdims", default=True), call.flag("noop_with_empty_axes")
        given = len(arrays) > 1 or "axes" in call.attributes
        if data is None or keep is None or idle is None:
            return None
        axes = _axes(call, call.axes(), data.ndim) if given else ()
        if axes is None or ("axes" in call.attributes and not axes):
            return None
        if not axes and idle:
            return data
        return constant_folding.reduced(rule, data, axes or None, keep=keep)

    return computed_reduction


def _axes(call: Call, axes: Sequence[int] | None, rank: int) -> tuple[int, ...] | None:
    """Return axes counted from the front; None where the operator's set does not allow them."""
    return None if axes is None or min(axes, default=0) < call.lowest(rank) else places(axes, rank)


def _axis(call: Call, default: int, rank: int) -> int | None:
    """Return the axis that an attribute names, counted from the front; None where the set does not allow it."""
    found = _axes(call, (call.integer("axis", default),), rank)
    return None if found is None else found[0]


def _cast(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    return (
        None
        if arrays[0] is None or not plain_cast(call)
        else constant_folding.converted(arrays[0], type_name(call.integer("to", 0)))
    )


def _gather(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    data, indices = arrays
    axis = None if data is None else _axis(call, 0, data.ndim)
    if data is None or indices is None or axis is None:
        return None
    if data.size // max(data.shape[axis], 1) * indices.size > constant_folding.MOST:
        return None
    if indices.size and indices.min() < call.lowest(data.shape[axis]):
        return None
    return np.take(data, indices.astype(np.int64), axis=axis)


def _slice(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    data, starts, ends, axes, steps = [*arrays, None, None][:MOST_OF_SLICE]
    given = [part for part in (starts, ends, axes, steps) if part is not None]
    if data is None or starts is None or ends is None or len({(part.shape, part.dtype) for part in given}) != 1:
        return None
    at = _axes(call, range(starts.size) if axes is None else axes.tolist(), data.ndim) if starts.ndim == 1 else None
    if at is None:
        return None
    strides = [1] * starts.size if steps is None else steps.tolist()
    for place, start, end, step in zip(at, starts.tolist(), ends.tolist(), strides, strict=True):
        taken = cut(data.shape[place], start, end, step)
        if taken is None:
            return None
        data = np.take(data, list(taken), axis=place) if taken else data[(slice(None),) * place + (slice(0),)]
    return data


def _concat(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    given = [array for array in arrays if array is not None]
    axis = _axis(call, 1, given[0].ndim) if given else None
    if axis is None or len(given) < len(arrays) or len({array.dtype for array in given}) > 1:
        return None
    return np.concatenate(given, axis=axis)


def _split(call: Call, arrays: Sequence[Array | None]) -> Sequence[Array] | None:
    """Split as told: by sizes, or from set 18 on by a number of parts; both or neither is no node then."""
    data, parts = [*arrays, None][:2]
    axis, count = None if data is None else _axis(call, 0, data.ndim), len(call.outputs)
    if data is None or axis is None:
        return None
    size, numbered = data.shape[axis], "num_outputs" in call.attributes
    if call.version >= COUNTED_PARTS and numbered is (parts is not None):
        return None
    if parts is not None:
        return _parts(data, parts.tolist(), axis, count) if parts.ndim == 1 and parts.dtype == np.int64 else None
    if (call.integer("num_outputs", 0) != count) if numbered else size % count:
        return None
    even = [equal_part(size, count, at) for at in range(count)]
    return _parts(data, [part for part in even if part is not None], axis, count)


def _parts(data: Array, sizes: Sequence[int], axis: int, count: int) -> Sequence[Array] | None:
    fits = sum(sizes) == data.shape[axis] and len(sizes) == count and min(sizes) >= 0
    return np.split(data, np.cumsum(sizes)[:-1], axis) if fits else None


def _transpose(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    data, order = arrays[0], call.integers("perm")
    if data is None or (order is not None and sorted(order) != list(range(data.ndim))):
        return None
    return np.transpose(data, order)


def _reshape(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    data, target = arrays
    if data is None or target is None or target.ndim != 1 or call.flag("allowzero") is None:
        return None
    sizes = target.tolist()
    if min(sizes, default=0) < -1 or sizes.count(-1) > 1 or (call.flag("allowzero") and 0 in sizes):
        return None
    return data.reshape([size or data.shape[axis] for axis, size in enumerate(sizes)])


def _where(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    condition, one, two = arrays
    if condition is None or one is None or two is None or one.dtype != two.dtype:
        return None
    plain = (
        constant_folding.reproducible(one)
        and constant_folding.reproducible(two)
        and constant_folding.small(condition, one, two)
    )
    return np.where(condition, one, two) if plain else None


def _range(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    start, limit, step = arrays
    if start is None or limit is None or step is None or {start.shape, limit.shape, step.shape} != {()}:
        return None
    return constant_folding.ranged(start, limit, step) if start.dtype == limit.dtype == step.dtype else None


def _power(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Multiply a square out, as onnxruntime does."""
    base, (data, exponent) = arrays[0], call.views
    if base is None or data is None or exponent is None or not nodes.multiplies(call, data, exponent, nodes.SQUARE):
        return None
    call.table.assumes[nodes.PRODUCTS] = None
    return constant_folding.paired("mul", base, base)


def _non_zero(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    return None if arrays[0] is None else np.array(np.nonzero(arrays[0]), np.int64)


RULES: Mapping[str, Rule] = {
    **{op: _pair(rule) for op, rule in (
        ("Add", "add"), ("Sub", "sub"), ("Mul", "mul"), ("Div", "div"), ("Equal", "equal"), ("Less", "less"),
        ("Greater", "greater"), ("LessOrEqual", "less or equal"), ("GreaterOrEqual", "greater or equal"),
        ("And", "and"), ("Or", "or"), ("Xor", "xor"),
    )},
    **{op: _all(rule) for op, rule in (("Min", "min"), ("Max", "max"))},
    **{op: _single(op.lower()) for op in ("Neg", "Abs", "Sign", "Floor", "Ceil", "Sqrt", "Not")},
    **{f"Reduce{rule.title()}": _reduction(rule) for rule in constant_folding.REDUCTIONS},
    "Mod": lambda call, arrays: None if call.integer("fmod", 0) else _pair("mod")(call, arrays),
    "Cast": _cast, "Gather": _gather, "Slice": _slice, "Concat": _concat, "Split": _split, "Transpose": _transpose,
    "Reshape": _reshape, "Where": _where, "Range": _range, "NonZero": _non_zero,
    "Pow": _power,
}  # fmt: skip
"""Rules of the standard operators; views are read before."""
