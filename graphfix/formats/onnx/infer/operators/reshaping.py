"""Rules of the operators that regroup or reorder all elements: Reshape, Squeeze, Flatten, Transpose, DepthToSpace.

Source: the ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.integers import (
    BoundsRule,
    Elements,
    IntegerRule,
    bounds_of_first,
    operand,
    same_elements,
)
from graphfix.formats.onnx.infer.sizes import divided, unknowns
from graphfix.shapes.dim import UNKNOWN, Shape, Size, never_one, same
from graphfix.shapes.shape import with_axes
from graphfix.shapes.terms import Terms, as_size, maybe_negative

NO_SIZE_IS_0 = "no size that a Reshape is given as a term is 0, which would stand for another"
IMAGE = 4
"""The rank of [batch, channels, height, width]."""

# --- Unsqueeze and Squeeze --------------------------------------------------------------------------------------------


def unsqueeze(call: Call) -> Results:
    """Insert unit axes at the positions of the result that `axes` lists."""
    dims, axes = call.dims(0), call.ints(1, "axes")
    if dims is None or axes is None:
        length = call.length(1)
        return NOTHING if dims is None or length is None else (unknowns(len(dims) + length),)
    rank = len(dims) + len(axes)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) < len(axes):
        return NOTHING  # an axis twice, or outside the rank: the runtime refuses the model
    return (with_axes(Shape(dims), sorted(places)),)


def squeeze(call: Call) -> Results:
    """Return the shape without the given axes; without axes, drop those of size 1 if no other size can be 1."""
    dims, axes = call.dims(0), call.ints(1, "axes")
    if dims is None:
        return NOTHING
    if axes is None and call.has(1):
        # several may name one axis twice
        return (unknowns(len(dims) - 1),) if dims and call.length(1) == 1 else NOTHING
    if not axes:
        is_determined = all(size == 1 or never_one(size) for size in dims)
        return (Shape(tuple([size for size in dims if size != 1])),) if is_determined else NOTHING
    gone = {axis % len(dims) for axis in axes if -len(dims) <= axis < len(dims)}
    if len(gone) < len(axes):
        return NOTHING
    return (Shape(tuple(size for axis, size in enumerate(dims) if axis not in gone)),)


# --- Reshape and Flatten ----------------------------------------------------------------------------------------------


def reshape(call: Call) -> Results:
    """Return the target's sizes: 0 copies a size (unless allowzero), one -1 becomes the remaining size.

    If the target is computed, only the rank is known.
    """
    given = call.list("shape")
    target = given if given is not None else call.elements(1)
    if target is None:
        length = call.length(1)
        return NOTHING if length is None else (unknowns(length),)
    source, keeps_zero = call.dims(0), call.flag("allowzero", 0)
    if keeps_zero is None:
        return (unknowns(len(target)),)
    copies = not keeps_zero
    target = tuple([UNKNOWN if not isinstance(size, int) and maybe_negative(size) else size for size in target])
    sizes = [_target_size(call, source, axis, size) if copies else size for axis, size in enumerate(target)]
    if -1 in sizes:
        others = [size for size in sizes if size != -1]
        if not copies and any(size.lo <= 0 for size in others if not isinstance(size, int)):
            call.scope.assumes[NO_SIZE_IS_0] = None  # if a size is 0, onnxruntime computes the -1 from other sizes
        missing = UNKNOWN if source is None or 0 in others else call.terms.missing_size(source, others)
        sizes[sizes.index(-1)] = missing
    return NOTHING if any(isinstance(size, int) and size < 0 for size in sizes) else (Shape(tuple(sizes)),)


def _target_size(call: Call, source: tuple[Size, ...] | None, axis: int, size: Size) -> Size:
    """Return the size that an element of the target means if 0 copies the source's size; there must be one to copy.

    A named element may be 0 and mean the source's size. If the source's size is 0 too, both mean the same.
    """
    if source is None or axis >= len(source):
        return UNKNOWN if source is None or size == 0 else size
    copied = source[axis]
    if isinstance(size, int):
        return copied if size == 0 else size
    if size.lo <= 0 and size.parts and not _is_zero_with(call.terms, copied, size):
        call.scope.assumes[NO_SIZE_IS_0] = None
    return size


def _is_zero_with(terms: Terms, copied: Size, size: Size) -> bool:
    """Return whether the source's size is 0 wherever the target's size is 0."""
    return same(copied, size) or terms.quotient(copied, size) != UNKNOWN


def flatten(call: Call) -> Results:
    """Return two sizes: the product of those before the axis, and the product of the others."""
    dims, axis = call.dims(0), call.number("axis", 1)
    if dims is None or not -len(dims) <= axis <= len(dims):
        return (unknowns(2),)
    axis += len(dims) if axis < 0 else 0
    return (Shape((as_size(call.terms.mul(*dims[:axis])), as_size(call.terms.mul(*dims[axis:])))),)


# --- Transpose, DepthToSpace, SpaceToDepth ----------------------------------------------------------------------------


def transpose(call: Call) -> Results:
    """Return the permuted axes; without `perm` the axes are reversed."""
    dims, perm = call.dims(0), call.list("perm")
    if dims is None:
        return NOTHING
    order = perm if perm is not None else tuple(reversed(range(len(dims))))
    return (Shape(tuple(dims[axis] for axis in order)),) if sorted(order) == list(range(len(dims))) else NOTHING


def _transposed_elements(call: Call, _: str) -> Elements | None:
    elements, order = operand(call, 0), call.list("perm")
    if elements is None:
        return None
    axes = range(len(elements.shape))
    if order is not None and sorted(order) != list(axes):
        return None
    return elements.transposed(axes[::-1] if order is None else order)


def depth_to_space(call: Call) -> Results:
    """[N,C,H,W] to [N,C/b/b,H*b,W*b]."""
    dims, block = call.dims(0), call.number("blocksize", 0)
    if dims is None or len(dims) != IMAGE or block < 1:
        return NOTHING if dims is None else (unknowns(len(dims)),)
    batch, channels, *sizes = dims
    terms = call.terms
    grown = [as_size(terms.mul(size, block)) for size in sizes]
    return (Shape((batch, divided(terms, channels, block * block), *grown)),)


def space_to_depth(call: Call) -> Results:
    """[N,C,H,W] to [N,C*b*b,H/b,W/b]."""
    dims, block = call.dims(0), call.number("blocksize", 0)
    if dims is None or len(dims) != IMAGE or block < 1:
        return NOTHING if dims is None else (unknowns(len(dims)),)
    batch, channels, *sizes = dims
    terms = call.terms
    cut = [divided(terms, size, block) for size in sizes]
    return (Shape((batch, as_size(terms.mul(channels, block * block)), *cut)),)


SHAPES: Mapping[str, Rule] = {
    "DepthToSpace": depth_to_space,
    "Flatten": flatten,
    "Reshape": reshape,
    "SpaceToDepth": space_to_depth,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
INTEGERS: Mapping[str, IntegerRule] = {
    **dict.fromkeys(("Unsqueeze", "Squeeze", "Reshape", "Flatten"), same_elements),
    "Transpose": _transposed_elements,
}
BOUNDS: Mapping[str, BoundsRule] = dict.fromkeys(SHAPES, bounds_of_first)
