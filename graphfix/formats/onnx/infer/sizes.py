"""Read sizes from operands and attributes, compute sizes, and place axes: the functions that modules of rules share."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.formats.onnx.infer.call import Call
from graphfix.shapes.dim import UNKNOWN, Shape, Size
from graphfix.shapes.terms import Terms, as_size

# --- shapes and axes --------------------------------------------------------------------------------------------------


def unknowns(rank: int) -> Shape:
    """Return a shape of this rank whose sizes are all unknown: [?, ?, ...]."""
    return Shape((UNKNOWN,) * rank)


def normalized_axes(axes: Sequence[int], rank: int) -> list[int] | None:
    """Return axes counted from the front; None if an axis is outside the rank, or occurs twice."""
    found = [axis + rank if axis < 0 else axis for axis in axes]
    return found if len(set(found)) == len(found) and all(0 <= axis < rank for axis in found) else None


def with_size(dims: tuple[Size, ...], axis: int, size: Size) -> Shape:
    """Return the shape in which this axis has another size."""
    return Shape((*dims[:axis], size, *dims[axis + 1 :]))


# --- operands and attributes ------------------------------------------------------------------------------------------


def ranked(call: Call, index: int, rank: int) -> tuple[Size, ...] | None:
    """Return the operand's dims where it has this rank, else None."""
    dims = call.dims(index)
    return dims if dims is not None and len(dims) == rank else None


def positive(call: Call, attribute: str) -> Size:
    """Return an attribute that is used as a size or a count; unknown where it is absent or below 1."""
    number = call.number(attribute, 0)
    return number if number > 0 else UNKNOWN


def scalar(call: Call, index: int) -> Size:
    """Return the integer that an operand of one element holds, as a size; unknown if the value is not followed."""
    element = call.scalar(index)
    return UNKNOWN if element is None else as_size(element)


# --- arithmetic -------------------------------------------------------------------------------------------------------


def divided(terms: Terms, size: Size, by: int) -> Size:
    """Return the quotient by a positive number; unknown if there is a remainder, which runtimes refuse."""
    return UNKNOWN if isinstance(size, int) and size % by else as_size(terms.floordiv(size, by))


def quotient(terms: Terms, size: Size, by: Size) -> Size:
    """Return the quotient of sizes; unknown if there is a remainder, which kernels refuse."""
    if isinstance(by, int):
        return divided(terms, size, by) if by > 0 else UNKNOWN
    return as_size(terms.quotient(size, by))


def product(terms: Terms, *sizes: Size) -> Size:
    """Return the product, as a size."""
    return as_size(terms.mul(*sizes))


def total(terms: Terms, *sizes: Size) -> Size:
    """Return the sum, as a size."""
    return as_size(terms.add(*sizes))
