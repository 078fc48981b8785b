"""ONNX's view operators: they are read as maps, and are no terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.operators import LEGACY_END
from graphfix.checker.proof.core.arithmetic import ELEMENT
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, View, extent, integer_type, whole
from graphfix.checker.proof.neutral import constant_folding, repeat_elements, views
from graphfix.checker.proof.onnx import integer_matrices
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.integer_values import COUNTING, INTEGER_VALUES, renumbered
from graphfix.checker.proof.onnx.layout_shapes import places
from graphfix.checker.proof.onnx.reading.versions import inference_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.core.terms import TermTable
    from graphfix.checker.proof.onnx.reading.operands import Call

COUNTED_TARGET = 5
"""Until then Reshape's target is an attribute, and a 0 in it copies."""
OLD_TILE = 6
MOST_AXES = 1 << 31
TRAINING_AT = 2
REPEATING: Mapping[bytes, tuple[bytes, ...]] = {
    b"asymmetric": (b"floor",),
    b"half_pixel": (b"round_prefer_floor", b"round_prefer_ceil"),
    b"pytorch_half_pixel": (b"round_prefer_floor", b"round_prefer_ceil"),
}
"""Coordinates and roundings by which element i comes from i // factor: (i + 1/2) / factor - 1/2 is never half-way."""
SCALES, SIZES = 2, 3
"""The operands of a Resize in its present form."""


def viewed(call: Call) -> View | None:
    """Return the view that a node makes of operand 0, or the integers that it computes; None where it is a term."""
    rule = VIEWS.get(call.op) if not call.domain else None
    if rule is None or not call.views or call.views[0] is None:
        return None
    if call.op in COUNTING and integer_type(call.views[0]) is None:
        return None  # most sums are of elements that nobody knows
    return rule(call) if loads(call) else None


def _dropout(call: Call) -> View | None:
    """It does nothing unless it trains; before set 7 it trains unless an attribute says otherwise."""
    training = len(call.views) > TRAINING_AT and call.views[TRAINING_AT] is not None
    if training or (call.version < LEGACY_END and not inference_mode(call.attributes)):
        return None
    ratio = call.operand(1)
    if ratio is None:
        return call.views[0]
    given = constant_folding.literal(ratio)  # runtimes look at it all the same
    return call.views[0] if given is not None and given.ndim == 0 and 0 <= given < 1 else None


def _reshape(call: Call) -> View | None:
    view = call.views[0]
    target = call.integers("shape") if call.since < COUNTED_TARGET else call.target(1)
    copies = call.flag("allowzero")
    if view is None or target is None or copies is None:
        return None
    known = renumbered(call.table, view, target) or integer_matrices.reshaped(call, target, integer_type(view))
    if known is not None:
        return known
    seen = views.reshaped(view, target, zero_copies=not copies)
    if seen is not None:
        return seen
    sizes = tuple(size for size in target if isinstance(size, int) and size > 0)
    return repeat_elements.merged(call.table, view, sizes, call.description) if len(sizes) == len(target) else None


def _unsqueeze(call: Call) -> View | None:
    axes = call.axes()
    if call.views[0] is None or not axes or min(axes) < call.lowest(MOST_AXES):
        return None
    return views.unsqueezed(call.views[0], axes)


def _squeeze(call: Call) -> View | None:
    axes = call.axes()
    given = "axes" in call.attributes or call.operand(1) is not None
    if call.views[0] is None or (given and not axes) or min(axes or (), default=0) < call.lowest(MOST_AXES):
        return None  # runtimes do not agree on what no axes are
    if axes and places(axes, call.rank(0) or 0) is None:
        return None
    gone = axes if given else views.unit_axes(call.table.arithmetic, call.sizes(0))
    return None if gone is None else views.squeezed(call.views[0], gone)


def _flatten(call: Call) -> View | None:
    axis = call.integer("axis", 1)
    if call.views[0] is None or axis < call.lowest(MOST_AXES):
        return None
    return views.flattened(call.views[0], axis)


def _expand(call: Call) -> View | None:
    view, target = call.views[0], call.operand(1)
    if view is None or target is None:
        return None
    content = call.vector(1)
    if content is None and target.content is not None:
        return None  # no vector of int64
    sizes = _elements(call, target) if content is None else content
    call.table.arithmetic.need(sizes or ())
    if sizes is not None and view.axes is not None and view.sizes is not None:
        return views.expanded(call.table.algebra, view, sizes)
    if content is not None and not any(isinstance(size, int) and size < 0 for size in content):
        return _stretched(call.table, views.expanded_by(view, frozenset((content,))))
    shape = target.core.shape_of
    if shape is not None and target == whole(target.core):
        return _stretched(call.table, views.expanded_by(view, shape.more or frozenset((extent(shape),))))
    return None


def _stretched(table: TermTable, view: View) -> View:
    """Enter that the shapes have to fit."""
    table.check_fit(view.more)
    return view


def _elements(call: Call, target: View) -> Sizes | None:
    """Return the elements of a computed vector of known length as sizes: an element that is unknown is a symbol."""
    table = call.table
    count = target.sizes[0] if target.sizes is not None and len(target.sizes) == 1 else None
    if not isinstance(count, int) or count > MOST_ELEMENTS:
        return None
    known = call.partial_vector(1) or (None,) * count
    return tuple(
        table.algebra.symbol((ELEMENT, target, index)) if size is None else size for index, size in enumerate(known)
    )


def _tile(call: Call) -> View | None:
    repeats = call.vector(1)
    if call.since < OLD_TILE or repeats is None or call.views[0] is None:
        return None
    call.table.arithmetic.need(repeats)
    return views.tiled(call.views[0], repeats)


def _resize(call: Call) -> View | None:
    """Read a Resize that repeats elements; None for any other. Source: the operator's specification, set 13."""
    data = call.views[0]
    if data is None or not _repeats(call):
        return None
    have, factors = numbers(data.sizes), _factors(call)
    return (
        None
        if have is None or factors is None
        else repeat_elements.repeated(call.table, data, factors, call.description)
    )


def _repeats(call: Call) -> bool:
    text = {name: given.s for name, given in call.attributes.items()}
    coordinates = text.get("coordinate_transformation_mode", b"half_pixel")
    return (
        text.get("mode", b"nearest") == b"nearest"
        and text.get("nearest_mode", b"round_prefer_floor") in REPEATING.get(coordinates, ())
        and text.get("keep_aspect_ratio_policy", b"stretch") == b"stretch"
        and "axes" not in text
        and call.flag("antialias") is False
    )


def _factors(call: Call) -> tuple[int, ...] | None:
    """Return the whole factor of each axis, from the scales or from the sizes that are asked for."""
    have = numbers(call.sizes(0))
    scales, sizes = ([*call.views, None, None, None][at] for at in (SCALES, SIZES))
    if have is None or 0 in have or (scales is None) == (sizes is None):
        return None
    array = constant_folding.literal(scales if sizes is None else sizes)
    if array is None or array.shape != (len(have),):
        return None
    wanted = array.tolist() if sizes is None else [size / own for size, own in zip(array.tolist(), have, strict=True)]
    return tuple(map(int, wanted)) if all(float(each).is_integer() and each >= 1 for each in wanted) else None


VIEWS: Mapping[str, Callable[[Call], View | None]] = {
    **INTEGER_VALUES,
    "Identity": lambda call: call.views[0],
    "Dropout": _dropout, "Reshape": _reshape, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Flatten": _flatten,
    "Expand": _expand, "Tile": _tile, "Resize": _resize, "Transpose": integer_matrices.transposed,
    "Slice": lambda call: INTEGER_VALUES["Slice"](call) or integer_matrices.sliced(call),
}  # fmt: skip
