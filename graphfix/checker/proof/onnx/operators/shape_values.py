"""Rules for operators that read a shape, or create a value of a stated shape: Shape, Size, ConstantOfShape, Range."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from graphfix.checker.files.onnx.tensors import elements
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, ProofValue, integer_type
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.integer_values import span, span_of
from graphfix.checker.proof.onnx.operators.entry import SIZE_TYPES, Operator
from graphfix.checker.proof.onnx.operators.reshaping import sizes_of_length
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.results.runtime_facts import MOST_AXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import AttributeProto

    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

EXACT_SPAN = 1 << 53
"""Below this number a range is exact in runtimes that count it in float64."""
COUNTED_BY_FLOATS = "sizes that a Range of float32 counts to or from are below 2**23"
WHOLE = 1 << 23
"""Up to this number float32 represents the difference of any two integers exactly."""

# --- Shape, Size ----------------------------------------------------------------------------------------------------


def _shape_view(call: Call) -> ProofValue | None:
    """Return the sizes of operand 0 as known integers; if the rank is unknown, a vector of unknown length.

    Return None if there are too many sizes.
    """
    view = call.views[0]
    if view is None:
        return None
    if view.sizes is None:
        return _shape_of(call, view)
    start, end = call.integer("start", 0), call.integer("end", len(view.sizes))
    part = view.sizes[start:end]
    call.table.arithmetic.record_sizes(part)
    return call.table.integers(part, "int64") if len(part) <= MOST_ELEMENTS else None


def _shape_of(call: Call, view: ProofValue) -> ProofValue:
    """Return the shape of a value of unknown rank, as a vector that is not counted as the result of an operator."""
    core, new = call.table.find_or_create_core(("shape", *call.mapped_key, view), call.description, counted=False)
    if new:
        core.sizes = call.table.named_sizes(core, (None,))
        core.shape_of = view if not call.attributes else None
    return ProofValue(core, (0,), core.sizes)


def _size_view(call: Call) -> ProofValue | None:
    """Return the number of elements of operand 0 as a known integer; None if it is unknown."""
    sizes = call.sizes(0)
    count = None if sizes is None else call.table.arithmetic.mul(*sizes)
    return None if count is None else call.table.integers((count,), "int64", scalar=True)


# --- ConstantOfShape --------------------------------------------------------------------------------------------------


def _filled_sizes(call: Call) -> Dims:
    """Return the dims of a ConstantOfShape, which operand 0 states; None if the rank is unknown."""
    sizes = call.partial_target_shape(0)
    if sizes is None:
        return sizes_of_length(call.sizes(0))
    return tuple([None if isinstance(size, int) and size < 0 else size for size in sizes])


def _filled_view(call: Call) -> ProofValue | None:
    """Return the known integers of a ConstantOfShape whose `value` is a tensor without axes; None for any other node.

    The result must be a scalar or a short vector. The function `filled` reads a `value` with an axis.
    """
    target, given = call.int64_vector(0), call.attributes.get("value")
    if given is None or target is None or len(target) > 1:
        return None
    tensor = given.t
    kind, length = SIZE_TYPES.get(tensor.data_type), numbers(target)
    if kind is None or length is None or tensor.dims or prod(length) > MOST_ELEMENTS:
        return None
    element = elements(tensor) if prod(length) >= 1 else None
    return (
        None if element is None else call.table.integers((int(element.item()),) * prod(length), kind, scalar=not target)
    )


def filled(constants: Constants, call: Call) -> ProofValue | None:
    """Return the result of a ConstantOfShape of known sizes: one constant element, stretched to these sizes.

    Return None if a size is unknown or negative, or if `value` is not one element in the model file.
    """
    sizes, given = call.int64_vector(0), _filling_element(call.attributes.get("value"))
    if sizes is None or given is None or any(isinstance(size, int) and size < 0 for size in sizes):
        return None
    call.table.arithmetic.require_not_negative(sizes)
    size_numbers = numbers(sizes)
    if size_numbers is not None and 0 in size_numbers:  # There are no elements, so none can be stretched.
        if len(size_numbers) > MOST_AXES or prod(filter(None, size_numbers)) > constant_folding.MOST_BYTES:
            return None
        return constant_folding.as_constant(constants, np.zeros(size_numbers, given.dtype), call.description)
    return ProofValue(
        constant_folding.as_constant(constants, given.reshape(()), call.description).core, (None,) * len(sizes), sizes
    )


def _filling_element(value: AttributeProto | None) -> Array | None:
    """Return the attribute `value` of a ConstantOfShape as an array of one element; float32 0 if it is absent.

    Return None for a tensor of another shape than [1], for external data, and for types without arithmetic.
    """
    if value is None:
        return np.zeros(1, np.float32)
    given = elements(value.t) if list(value.t.dims) == [1] else None
    return None if given is None or given.dtype.name not in constant_folding.TYPES else given


# --- Range ------------------------------------------------------------------------------------------------------------


def _range_sizes(call: Call) -> Dims:
    """Return the length of a Range of known integers, or of float32 integers that are counted in steps of 1 or -1.

    The length is unknown for other floats, because runtimes round them differently.
    """
    ends = [call.content(index) for index in range(3)]
    exact_ends = [end[0] for end in ends if end and (not isinstance(end[0], int) or abs(end[0]) < EXACT_SPAN)]
    kinds = {None if view is None else integer_type(view) for view in call.views}
    if len(exact_ends) < len(ends) or len(kinds) != 1:
        exact_ends = _float_range(call)
    if len(exact_ends) < len(ends) or not isinstance(exact_ends[2], int):
        return (None,)
    plain = numbers(exact_ends)
    return (
        span(*plain)
        if plain is not None
        else span_of(call.table.arithmetic, exact_ends[0], exact_ends[1], exact_ends[2]),
    )


def _float_range(call: Call) -> list[Size]:
    """Return start, limit and step of a float32 Range that are integers, with at least one term; else an empty list.

    The step must be 1 or -1. The proof then assumes that the sizes are small enough for exact floats.
    """
    views = [view for view in call.views if view is not None and dtype(view.core) == TensorProto.FLOAT]
    end_numbers = [_whole_number(call, view) for view in views]
    found = [
        number for number in end_numbers if number is not None and (not isinstance(number, int) or abs(number) <= WHOLE)
    ]
    if not found or len(found) < len(call.views) or found[-1] not in (1, -1) or numbers(found) is not None:
        return []
    call.table.assumptions[COUNTED_BY_FLOATS] = None
    return found


def _whole_number(call: Call, view: ProofValue) -> Size | None:
    """Return a constant of one integer, or the size from which a float32 value was converted.

    Return None for any other value.
    """
    array = constant_folding.constant_array(view)
    if array is None:
        return call.table.integers_of_floats.get(view.core)
    return int(array.item()) if array.size == 1 and float(array.item()).is_integer() else None


def _range_fold(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Range of constants.

    Return None unless start, limit and step are scalars of one type, and runtimes agree on the result.
    """
    start, limit, step = arrays
    if start is None or limit is None or step is None or {start.shape, limit.shape, step.shape} != {()}:
        return None
    return constant_folding.ranged(start, limit, step) if start.dtype == limit.dtype == step.dtype else None


# --- RandomNormal, RandomUniform ----------------------------------------------------------------------------------


def _random_sizes(call: Call) -> Dims:
    """Return the attribute `shape` of a RandomNormal or RandomUniform; None if it is absent or has a negative size."""
    shape = call.integers("shape")
    return None if shape is None or min(shape, default=0) < 0 else shape


OPERATORS: Operators = {
    "Shape": Operator(view=_shape_view),
    "Size": Operator(sizes=lambda _: (), view=_size_view),
    "ConstantOfShape": Operator(sizes=_filled_sizes, view=_filled_view),
    "Range": Operator(sizes=_range_sizes, fold=_range_fold),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), Operator(sizes=_random_sizes)),
}
