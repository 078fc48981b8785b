"""Read sizes from operands and attributes, and compute sizes: what several modules of rules use."""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import Call
from graphfix.formats.onnx.infer.operators.reshaping import divided
from graphfix.shapes.shape import UNKNOWN, Size
from graphfix.shapes.terms import Terms, as_size


def ranked(call: Call, index: int, rank: int) -> tuple[Size, ...] | None:
    """Return the operand's dims where it has this rank, else None."""
    dims = call.dims(index)
    return dims if dims is not None and len(dims) == rank else None


def positive(call: Call, attribute: str) -> Size:
    """Return an attribute that is used as a size or a count; unknown where it is absent or below 1."""
    number = call.number(attribute, 0)
    return number if number > 0 else UNKNOWN


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


def scalar(call: Call, index: int) -> Size:
    """Return the integer that an operand of one element holds, as a size; unknown if the value is not followed."""
    element = call.scalar(index)
    return UNKNOWN if element is None else as_size(element)
