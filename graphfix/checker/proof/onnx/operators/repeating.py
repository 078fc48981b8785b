"""Rules for operators that repeat elements: Expand, Tile, and Resize, which may also interpolate or drop elements."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from onnx import helper, numpy_helper

from graphfix.checker.proof.core.arithmetic import ELEMENT
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, ProofValue, shape_or_value, value_of
from graphfix.checker.proof.neutral import constant_folding, repeat_elements, views
from graphfix.checker.proof.onnx.operators.entry import Operator, unknown_sizes
from graphfix.checker.proof.onnx.reading.versions import CURRENT_SET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.core.terms import TermTable
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call, NodesReader

_OLD_TILE = 6
"""Before this version a Tile repeats only one axis."""
_OLD_OPERANDS = 2
"""The number of operands of an Upsample, and of a Resize of set 10: data and scales."""
_SCALES, _SIZES = 2, 3
"""The indices of the operands of a Resize in its present form."""
_REPEATING: Mapping[bytes, tuple[bytes, ...]] = {
    b"asymmetric": (b"floor",),
    b"half_pixel": (b"round_prefer_floor", b"round_prefer_ceil"),
    b"pytorch_half_pixel": (b"round_prefer_floor", b"round_prefer_ceil"),
}
"""For each coordinate mode, the roundings by which element i of the result is element i // factor of the data.

With these modes the coordinate (i + 1/2) / factor - 1/2 is never exactly between two elements.
"""
_NEARLY = Fraction(1, 1 << 20)
"""The relative error by which float32 may compute a scaled size too small or too large."""
_FINEST, _COARSEST = 64, 64
"""The largest denominator and the largest numerator of a scale by which a term is multiplied."""
EXACT_IN_FLOAT32 = "sizes that a Resize scales are below 2**18: float32 holds what they are scaled to"
_OF_SIZES = frozenset({"axes", "keep_aspect_ratio_policy", "antialias"})
"""Attributes of a Resize that change the meaning of the stated sizes, or how the result is computed."""
_COORDINATES = "coordinate_transformation_mode"
_CROPPED = b"tf_crop_and_resize"
"""The coordinate mode that uses the operand roi."""

# --- Expand ---------------------------------------------------------------------------------------------------------


def _expand_view(call: Call) -> ProofValue | None:
    """Return the result of an Expand: operand 0, stretched by its map. Return None if maps can't express the stretch.

    If a rank is unknown, the result contains the set of shapes that are broadcast together. Return None for a target of
    another type than int64, and for an unknown target that is not the Shape of a value.
    """
    view, target = call.views[0], call.operand(1)
    if view is None or target is None:
        return None
    content = call.int64_vector(1)
    if content is None and target.content is not None:
        return None  # The target is not a vector of int64.
    sizes = _target_elements(call, target) if content is None else content
    call.table.arithmetic.require_not_negative(sizes or ())
    if sizes is not None and view.axes is not None and view.sizes is not None:
        return views.expanded(call.table.algebra, view, sizes)
    if content is not None and not any(isinstance(size, int) and size < 0 for size in content):
        return _stretched(call.table, views.expanded_by(view, frozenset((content,))))
    shape = target.core.shape_of
    if shape is not None and target == value_of(target.core):
        return _stretched(
            call.table, views.expanded_by(view, shape.broadcast_shapes or frozenset((shape_or_value(shape),)))
        )
    return None


def _stretched(table: TermTable, view: ProofValue) -> ProofValue:
    """Return `view` unchanged, and record that the shapes in `view.more` have to fit together."""
    table.check_fit(view.broadcast_shapes)
    return view


def _target_elements(call: Call, target: ProofValue) -> Sizes | None:
    """Return the elements of a computed target of known length, with a symbol for each unknown element.

    Return None if the length is unknown or too large.
    """
    table = call.table
    count = target.sizes[0] if target.sizes is not None and len(target.sizes) == 1 else None
    if not isinstance(count, int) or count > MOST_ELEMENTS:
        return None
    partial_content = call.partial_vector(1) or (None,) * count
    return tuple(
        table.algebra.symbol((ELEMENT, target, index)) if size is None else size
        for index, size in enumerate(partial_content)
    )


# --- Tile -----------------------------------------------------------------------------------------------------------


def _tile_sizes(call: Call) -> Dims:
    """Return the dims of a Tile, with None for each axis whose number of repeats is unknown."""
    sizes, repeats = call.sizes(0), call.partial_vector(1)
    if sizes is None or repeats is None or len(repeats) != len(sizes):
        return unknown_sizes(call.rank(0))
    times = call.table.arithmetic.mul
    return tuple([None if count is None else times(size, count) for size, count in zip(sizes, repeats, strict=True)])


def _tile_view(call: Call) -> ProofValue | None:
    """Return the result of a Tile that repeats axes of size 1, as operand 0 with another map.

    Return None for any other Tile.
    """
    repeats = call.int64_vector(1)
    if call.meaning_version < _OLD_TILE or repeats is None or call.views[0] is None:
        return None
    call.table.arithmetic.require_not_negative(repeats)
    return views.tiled(call.views[0], repeats)


# --- Resize -----------------------------------------------------------------------------------------------------------


def _resize_sizes(call: Call) -> Dims:
    """Return the dims of a Resize or Upsample: the stated sizes, or the scaled sizes where no rounding is in doubt."""
    own = call.sizes(0)
    if own is None:
        return None
    unknown = (None,) * len(own)
    if "axes" in call.attributes or not _is_stretched(call):
        return unknown
    if call.operand(_SIZES) is not None:
        sizes = call.int64_vector(_SIZES)
        return sizes if sizes is not None and len(sizes) == len(own) and call.operand(_SCALES) is None else unknown
    scales = constant_folding.constant_array(
        call.operand(_SCALES if call.op == "Resize" and len(call.views) != _OLD_OPERANDS else 1)
    )
    if scales is None or scales.shape != (len(own),) or scales.dtype.kind != "f":
        return unknown
    if call.op == "Resize" and call.text(_COORDINATES) == _CROPPED:
        return unknown
    return tuple(_scaled_size(call, size, scale) for size, scale in zip(own, scales.tolist(), strict=True))


def _is_stretched(call: Call) -> bool:
    """Return whether a Resize uses the stated sizes as they are, without keeping the aspect ratio."""
    return call.text("keep_aspect_ratio_policy", b"stretch") == b"stretch"


def _scaled_size(call: Call, size: Size, scale: float) -> Size | None:
    """Return the size of an axis that is scaled and rounded down; None if float32 may round it to another number."""
    if scale == 1:
        return size
    if not 0 < scale < float("inf"):
        return None
    if not isinstance(size, int):
        return _scaled_term(call, size, Fraction(scale))
    exact = size * Fraction(scale)
    made = exact.numerator // exact.denominator
    near = [exact, *(() if exact == made else (exact * (1 - _NEARLY), exact * (1 + _NEARLY)))]
    return made if all(each.numerator // each.denominator == made for each in near) else None


def _scaled_term(call: Call, size: Size, scale: Fraction) -> Size | None:
    """Return the term `size` times `scale`, rounded down; None if that is not a term.

    The scale must be a simple fraction. A simple fraction has a numerator and a denominator up to 64. The proof then
    assumes sizes below 2**18. Their products are below 2**24, which float32 represents exactly.
    """
    if scale.denominator > _FINEST or scale.numerator > _COARSEST:
        return None
    scaled = call.table.arithmetic.mul(size, scale.numerator)
    found = None if scaled is None else call.table.arithmetic.floordiv(scaled, scale.denominator)
    if found is not None:
        call.table.assumptions[EXACT_IN_FLOAT32] = None
    return found


def _resize_view(call: Call) -> ProofValue | None:
    """Return the result of a Resize that repeats each element an integer number of times; None for any other Resize.

    Source: the operator's specification, set 13.
    """
    data = call.views[0]
    if data is None or not _repeats_elements(call):
        return None
    have, factors = numbers(data.sizes), _whole_factors(call)
    return (
        None
        if have is None or factors is None
        else repeat_elements.repeated(call.table, data, factors, call.description)
    )


def _repeats_elements(call: Call) -> bool:
    """Return whether a Resize selects the nearest element, by coordinates that repeat each element equally often."""
    roundings = _REPEATING.get(call.text(_COORDINATES, b"half_pixel"), ())
    return (
        call.text("mode", b"nearest") == b"nearest"
        and call.text("nearest_mode", b"round_prefer_floor") in roundings
        and _is_stretched(call)
        and "axes" not in call.attributes
        and call.flag("antialias") is False
    )


def _whole_factors(call: Call) -> tuple[int, ...] | None:
    """Return the integer factor by which each axis grows, from the scales or from the stated sizes.

    Return None if a factor is not an integer of at least 1, if a size is 0, or if something is unknown.
    """
    have = numbers(call.sizes(0))
    scales, sizes = ([*call.views, None, None, None][at] for at in (_SCALES, _SIZES))
    if have is None or 0 in have or (scales is None) == (sizes is None):
        return None
    array = constant_folding.constant_array(scales if sizes is None else sizes)
    if array is None or array.shape != (len(have),):
        return None
    wanted = array.tolist() if sizes is None else [size / own for size, own in zip(array.tolist(), have, strict=True)]
    return tuple(map(int, wanted)) if all(float(each).is_integer() and each >= 1 for each in wanted) else None


def by_scales(call: Call, among: NodesReader) -> ProofValue | None:
    """Return a linear Resize by sizes as the Resize by scales that onnxruntime computes, with quotients in float32.

    `among` reads the nodes of that Resize. Return None for any other Resize, if a size is unknown, or if the scales do
    not lead to exactly the stated sizes.
    """
    data, asked = call.operand(0), call.content(_SIZES)
    if call.text("mode") != b"linear" or data is None or asked is None or call.text(_COORDINATES) == _CROPPED:
        return None
    if not _is_stretched(call) or "axes" in call.attributes or call.integer("antialias", 0):
        return None
    have, want = numbers(data.sizes or ()), numbers(asked)
    if have is None or want is None or len(have) != len(want) or not all(have):
        return None
    scales = np.array(want, np.float32) / np.array(have, np.float32)
    if [int(scale * np.float32(size)) for scale, size in zip(scales, have, strict=True)] != list(want):
        return None
    nodes = [
        helper.make_node("Constant", [], ["scales"], value=numpy_helper.from_array(scales)),
        helper.make_node("Constant", [], ["roi"], value=numpy_helper.from_array(np.zeros(0, np.float32))),
        helper.make_node("Resize", ["x", "roi", "scales"], ["y"], call.description),
    ]
    nodes[-1].attribute.extend(given for name, given in call.attributes.items() if name not in _OF_SIZES)
    return among(nodes, max(call.version, CURRENT_SET), {"x": data})


OPERATORS: Operators = {
    "Expand": Operator(view=_expand_view),
    "Tile": Operator(sizes=_tile_sizes, view=_tile_view),
    "Resize": Operator(sizes=_resize_sizes, view=_resize_view),
    "Upsample": Operator(sizes=_resize_sizes),
}
