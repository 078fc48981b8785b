"""ONNX nodes that compute constants from constants: they are read as what they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from onnx import numpy_helper

from graphfix.checker.proof import constant_folding
from graphfix.checker.proof.onnx.types import type_name
from graphfix.checker.proof.onnx.validate import loads
from graphfix.checker.proof.sizes import numbers
from graphfix.checker.proof.terms import View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.constant_folding import Array
    from graphfix.checker.proof.constants import Constants
    from graphfix.checker.proof.onnx.operands import Call

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
    try:
        found = rule(call, arrays)
    except (ValueError, IndexError, TypeError):  # operands that do not fit: a runtime refuses them as well
        return []
    if found is None:
        return []
    return [np.asarray(found)] if isinstance(found, np.ndarray | np.generic) else list(found)


def _filled(constants: Constants, call: Call) -> View | None:
    """Return the result of a ConstantOfShape of known sizes: one element, stretched."""
    sizes, value = call.content(0), call.attributes.get("value")
    given = np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value.t)
    if sizes is None or given.shape != (1,) or any(isinstance(size, int) and size < 0 for size in sizes):
        return None
    if given.dtype.name not in constant_folding.TYPES:
        return None
    known = numbers(sizes)
    if known is not None and 0 in known:  # no element to stretch
        return constant_folding.as_constant(constants, np.zeros(known, given.dtype), call.description)
    return View(
        constant_folding.as_constant(constants, given.reshape(()), call.description).core, (None,) * len(sizes), sizes
    )


def _pair(rule: str) -> Rule:
    def computed_pair(_: Call, arrays: Sequence[Array | None]) -> Array | None:
        one, two = arrays
        return None if one is None or two is None else constant_folding.paired(rule, one, two)

    return computed_pair


def _all(rule: str) -> Rule:
    """Operators of any number of operands."""

    def computed_all(_: Call, arrays: Sequence[Array | None]) -> Array | None:
        found = arrays[0]
        for array in arrays[1:]:
            found = None if found is None or array is None else constant_folding.paired(rule, found, array)
        return found

    return computed_all


def _single(rule: str) -> Rule:
    return lambda _, arrays: None if arrays[0] is None else constant_folding.single(rule, arrays[0])


def _reduction(rule: str) -> Rule:
    def computed_reduction(call: Call, arrays: Sequence[Array | None]) -> Array | None:
        axes = call.axes() if len(arrays) > 1 or "axes" in call.attributes else None
        if arrays[0] is None or (not axes and call.integer("noop_with_empty_axes", 0)):
            return arrays[0]
        return constant_folding.reduced(rule, arrays[0], axes or None, keep=bool(call.integer("keepdims", 1)))

    return computed_reduction


def _cast(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    return None if arrays[0] is None else constant_folding.converted(arrays[0], type_name(call.integer("to", 0)))


def _gather(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    data, indices = arrays
    axis = call.integer("axis", 0)
    if data is None or indices is None or data.size // max(data.shape[axis], 1) * indices.size > constant_folding.MOST:
        return None
    return np.take(data, indices.astype(np.int64), axis=axis)


def _slice(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    data, (starts, ends, axes, steps) = arrays[0], [*arrays[1:], None, None][:4]
    if data is None or starts is None or ends is None:
        return None
    places = range(starts.size) if axes is None else axes.tolist()
    cuts = [slice(None)] * data.ndim
    strides = [1] * starts.size if steps is None else steps.tolist()
    for place, start, end, step in zip(places, starts.tolist(), ends.tolist(), strides, strict=True):
        cuts[place] = slice(start, end, step)
    return data[tuple(cuts)]


def _concat(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    given = [array for array in arrays if array is not None]
    if len({array.dtype for array in given}) > 1:
        return None
    return np.concatenate(given, axis=call.integer("axis", 1))


def _split(call: Call, arrays: Sequence[Array | None]) -> Sequence[Array] | None:
    data, axis = arrays[0], call.integer("axis", 0)
    if data is None:
        return None
    count = len(call.outputs)
    if len(arrays) > 1 and arrays[1] is not None:
        sizes = arrays[1].tolist()
        fits = sum(sizes) == data.shape[axis] and len(sizes) == count and min(sizes) >= 0
        return np.split(data, np.cumsum(sizes)[:-1], axis) if fits else None
    return np.split(data, count, axis) if data.shape[axis] % count == 0 else None


def _transpose(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    return None if arrays[0] is None else np.transpose(arrays[0], call.integers("perm"))


def _reshape(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    data, target = arrays
    if data is None or target is None or (call.integer("allowzero", 0) and not target.all()):
        return None
    return data.reshape([size or data.shape[axis] for axis, size in enumerate(target.tolist())])


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
    return None if start is None or limit is None or step is None else constant_folding.ranged(start, limit, step)


def _non_zero(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    return None if arrays[0] is None else np.array(np.nonzero(arrays[0]), np.int64)


RULES: Mapping[str, Rule] = {
    **{op: _pair(rule) for op, rule in (
        ("Add", "add"), ("Sub", "sub"), ("Mul", "mul"), ("Div", "div"), ("Equal", "equal"), ("Less", "less"),
        ("Greater", "greater"), ("LessOrEqual", "less or equal"), ("GreaterOrEqual", "greater or equal"),
        ("And", "and"), ("Or", "or"), ("Xor", "xor"),
    )},
    **{op: _all(rule) for op, rule in (("Min", "min"), ("Max", "max"))},
    **{op: _single(op.lower()) for op in ("Neg", "Abs", "Sign", "Floor", "Ceil", "Not")},
    **{f"Reduce{rule.title()}": _reduction(rule) for rule in constant_folding.REDUCTIONS},
    "Mod": lambda call, arrays: None if call.integer("fmod", 0) else _pair("mod")(call, arrays),
    "Cast": _cast, "Gather": _gather, "Slice": _slice, "Concat": _concat, "Split": _split, "Transpose": _transpose,
    "Reshape": _reshape, "Where": _where, "Range": _range, "NonZero": _non_zero,
}  # fmt: skip
"""Rules of the standard operators; views are read before."""
