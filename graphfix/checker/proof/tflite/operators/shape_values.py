"""Rules of SHAPE, RANK, RANGE and CAST: the integers by which models compute sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.files.tflite.schema import TYPES
from graphfix.checker.proof.core.sizes import all_known, numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS
from graphfix.checker.proof.neutral import constant_folding, integer_values
from graphfix.checker.proof.tflite.operators.entry import Folding, Integers, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.reading.operands import Call

EXACT_IN_FLOAT32: Final = (
    "no size that a RANGE counts to in float32 is above 2 ** 24, where not every whole number is one"
)
_EXACT: Final = 1 << 24
_TRIPLE: Final = 3


def _shape(call: Call) -> ProofValue | None:
    """Return the sizes of operand 0 as known integers."""
    view = call.views[0]
    if view is None or view.sizes is None or TYPES.get(call.integer("outType")) != call.result.dtype:
        return None
    return call.result_sizes(view.sizes)


def _rank(call: Call) -> ProofValue | None:
    view = call.views[0]
    return None if view is None or view.sizes is None else call.result_integers((len(view.sizes),), scalar=True)


# --- CAST -------------------------------------------------------------------------------------------------------------


def _cast_integers(call: Call) -> ProofValue | None:
    """Return known integers, or sizes, in the result's type."""
    content, view = call.content(0), call.views[0]
    return None if content is None or view is None else call.result_sizes(content, scalar=view.sizes == ())


def _cast_folded(call: Call, arrays: Sequence[Array]) -> Array | None:
    """Return a constant in another type.

    Kernels use the types of the tensors and ignore the types in the options, but refuse an option that is not a type.
    """
    if any(call.integer(name) not in TYPES for name in ("inDataType", "outDataType")):
        return None
    return constant_folding.converted(arrays[0], call.result.dtype)


# --- RANGE ------------------------------------------------------------------------------------------------------------


def _range_sizes(call: Call) -> Dims:
    """Return the length of a RANGE from known ends.

    For float32, the proof assumes that unknown sizes are at most 2**24.
    """
    floats = call.result.dtype == "float32"
    ends = [_whole(call, index) if floats else call.content(index) for index in range(3)]
    range_ends = [end[0] for end in ends if end]
    if len(range_ends) < len(ends) or not isinstance(range_ends[2], int):
        return None
    if floats and numbers(tuple(range_ends)) is None:
        call.table.assumptions[EXACT_IN_FLOAT32] = None
    return (integer_values.span_of(call.table.arithmetic, range_ends[0], range_ends[1], range_ends[2]),)


def _whole(call: Call, index: int) -> Sizes | None:
    """Return the integer in a float32 scalar: a constant, or a size that a CAST has converted.

    None if it is unknown.
    """
    view, tensor = call.operand(index), call.inputs[index] if index < len(call.inputs) else None
    if view is None or view.sizes != () or tensor is None or tensor.dtype != "float32" or tensor.quantization:
        return None
    array = constant_folding.constant_array(view)
    if array is None:
        return view.content
    number = float(array.item())
    return (int(number),) if number.is_integer() and abs(number) < _EXACT else None


def _range_integers(call: Call) -> ProofValue | None:
    """Return the integers of a short RANGE."""
    ends = [call.content(index) for index in range(len(call.views))]
    kinds = {None if tensor is None else tensor.dtype for tensor in call.inputs}
    if len(ends) != _TRIPLE or kinds != {call.result.dtype} or any(end is None or len(end) != 1 for end in ends):
        return None
    (start,), (limit,), (step,) = (end or (0,) for end in ends)
    count = integer_values.span_of(call.table.arithmetic, start, limit, step) if isinstance(step, int) else None
    if not isinstance(count, int) or not 0 < count <= MOST_ELEMENTS or not isinstance(step, int):
        return None
    elements: Sizes | None = all_known(call.table.arithmetic.add(start, step * at) for at in range(count))
    return None if elements is None else call.result_integers(elements)


def _range_folded(_: Call, arrays: Sequence[Array]) -> Array | None:
    """Return the numbers of a RANGE of constants; None if the step leads away from the end."""
    if any(array.shape != () for array in arrays):
        return None
    start, limit, step = (array.item() for array in arrays)
    return constant_folding.ranged(*arrays) if start == limit or (step > 0) == (limit > start) else None


OPERATORS: Final[Mapping[str, Rules]] = {
    "SHAPE": Rules(integers=Integers(_shape, retypes=True)),
    "RANK": Rules(integers=Integers(_rank, retypes=True)),
    # A CAST to the operand's own type returns the operand.
    "CAST": Rules(
        copied=lambda _, view: view, integers=Integers(_cast_integers, retypes=True), fold=Folding(_cast_folded)
    ),
    "RANGE": Rules(sizes=_range_sizes, integers=Integers(_range_integers), fold=Folding(_range_folded, "one type")),
}
