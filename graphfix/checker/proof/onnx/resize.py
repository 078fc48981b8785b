"""Resize by nearest elements and whole factors, as the repetition that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof import constant_folding, repeat_elements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.terms import Table, View

REPEATING: Mapping[bytes, tuple[bytes, ...]] = {
    b"asymmetric": (b"floor",),
    b"half_pixel": (b"round_prefer_floor", b"round_prefer_ceil"),
    b"pytorch_half_pixel": (b"round_prefer_floor", b"round_prefer_ceil"),
}
"""Coordinates and roundings by which element i comes from i // factor: (i + 1/2) / factor - 1/2 is never half-way."""
SCALES, SIZES = 2, 3
"""The operands of a Resize in its present form."""


def resized(table: Table, call: Call) -> View | None:
    """Read a Resize that repeats elements; None for any other. Source: the operator's specification, set 13."""
    data = call.views[0]
    if data is None or not _repeats(call):
        return None
    have, factors = repeat_elements.numbers(data), _factors(call)
    return None if have is None or factors is None else repeat_elements.repeated(table, data, factors, call.told)


def _repeats(call: Call) -> bool:
    text = {name: given.s for name, given in call.attributes.items()}
    coordinates = text.get("coordinate_transformation_mode", b"half_pixel")
    return (
        text.get("mode", b"nearest") == b"nearest"
        and text.get("nearest_mode", b"round_prefer_floor") in REPEATING.get(coordinates, ())
        and text.get("keep_aspect_ratio_policy", b"stretch") == b"stretch"
        and "axes" not in text
    )


def _factors(call: Call) -> tuple[int, ...] | None:
    """Give the whole factor of each axis, from the scales or from the sizes that are asked for."""
    have = repeat_elements.numbers(call.views[0]) if call.views[0] is not None else None
    scales, sizes = ([*call.views, None, None, None][at] for at in (SCALES, SIZES))
    if have is None or 0 in have or (scales is None) == (sizes is None):
        return None
    array = constant_folding.literal(scales if sizes is None else sizes)
    if array is None or array.shape != (len(have),):
        return None
    wanted = array.tolist() if sizes is None else [size / own for size, own in zip(array.tolist(), have, strict=True)]
    return tuple(map(int, wanted)) if all(float(each).is_integer() and each >= 1 for each in wanted) else None
