"""The list of operator forms that may be new in the second TFLite file.

A term describes the result of an operator. Data-movement operators, and operators whose results are known integers or
constants, have no term, and some operators share one term. So operators of the second file are compared with those of
the first field by field (`known_operators`). A form on this list may be new if it meets all demands of LiteRT's
kernels: operands, their types and ranks, results, options and versions. The limits are those of LiteRT 2.3, for the
kernel set that accepts least (`tests/checker/proof/tflite/test_closed_world.py` measures them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from graphfix.checker.files.tflite.records import WIDTHS
from graphfix.checker.files.tflite.schema import OPTIONS
from graphfix.checker.proof.tflite.operators.products import PLANE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.files.tflite.records import Operator
    from graphfix.checker.proof.tflite.reading.operands import Call

Fits: TypeAlias = "Callable[[Call], bool]"

PAIR: Final = 2
MOST_RANK: Final = 8
"""The most axes over which LiteRT's kernels broadcast.

Also the most axes of a SQUEEZE, and in the options of a RESHAPE.
"""
NARROWEST: Final = 5
"""The most axes over which all kernels broadcast."""
INDEX: Final = frozenset({"int32", "int64"})
HANDLES: Final = frozenset({"resource", "variant"})
TILED: Final = frozenset({*WIDTHS, "string"} - {"complex128", "bfloat16"})


class Form(NamedTuple):
    """A form of an operator that may be new in the second file, and the reason why it is on the list."""

    versions: tuple[int, int]
    """The first and the last version that every kernel set of LiteRT 2.3 loads."""
    options: str | None
    """The name of the options' table. The table may be missing."""
    fields: tuple[str, ...]
    """The options that may have any value, because the operator's rule reads them.

    Other options must have their default.
    """
    fits: Fits
    """The check whether kernels accept the operands and the result.

    The operator's rule has checked the operands' values.
    """
    reason: str


def _indexed(kinds: frozenset[str]) -> Fits:
    """Return the check that operand 0 has the result's type, and operand 1 is an index of one of the types `kinds`.

    The index must have at most one axis.
    """

    def fits(call: Call) -> bool:
        sizes = call.sizes(1)
        return (
            len(call.inputs) == PAIR
            and _typed(call, 0, call.result.dtype)
            and any(_typed(call, 1, dtype) for dtype in kinds)
            and sizes is not None
            and len(sizes) <= 1
        )

    return fits


def _typed(call: Call, index: int, dtype: str) -> bool:
    """Return whether an operand has the element type `dtype`, and is not a handle (a resource or variant)."""
    tensor = call.inputs[index] if index < len(call.inputs) else None
    return tensor is not None and tensor.dtype == dtype not in HANDLES


def _reshape(call: Call) -> bool:
    """Return whether a RESHAPE's operand 1 is an int32 vector, and its option `newShape` is short or missing.

    With this operand, kernels do not use the option. But kernels load the option, and refuse a long one.
    """
    option = call.option("newShape")
    short = option is None or (isinstance(option, tuple) and len(option) <= MOST_RANK)
    return short and _indexed(frozenset({"int32"}))(call) and len(call.sizes(1) or ()) == 1


def _squeeze(call: Call) -> bool:
    """Return whether a SQUEEZE has one operand of known rank with the result's type, and few enough axes."""
    sizes, axes = call.sizes(0), call.option("squeezeDims")
    one = len(call.inputs) == 1 and _typed(call, 0, call.result.dtype) and sizes is not None
    return one and len(sizes or ()) <= MOST_RANK and len(axes if isinstance(axes, tuple) else ()) <= MOST_RANK


def _of_types(kinds: frozenset[str]) -> Fits:
    """Return the check that the result and operand 0 have one of the types `kinds`.

    Operand 1 must be a vector of int32 or int64.
    """

    def fits(call: Call) -> bool:
        return call.result.dtype in kinds and _indexed(INDEX)(call) and len(call.sizes(1) or ()) == 1

    return fits


def _shape(call: Call) -> bool:
    """Return whether a SHAPE has one operand, and a result of int32 or int64."""
    return len(call.inputs) == 1 and call.result.dtype in INDEX


def _integers(count: int | None) -> Fits:
    """Return the check that an operator has `count` operands, which are all vectors of the result's type.

    If `count` is None, any number of operands is accepted.
    """

    def fits(call: Call) -> bool:
        vectors = all(
            _typed(call, index, call.result.dtype) and len(call.sizes(index) or ()) == 1
            for index in range(len(call.inputs))
        )
        return vectors and len(call.inputs) == (count or len(call.inputs)) > 0 and call.result.dtype in INDEX

    return fits


def _gather(call: Call) -> bool:
    """Return whether a GATHER selects from a vector of int32 or int64 by an index of one of these types."""
    return _indexed(INDEX)(call) and call.result.dtype in INDEX and len(call.sizes(0) or ()) == 1


def _compared(call: Call) -> bool:
    """Return whether the operands are two int32 vectors of one length, and the result is bool."""
    vectors = all(_typed(call, index, "int32") and len(call.sizes(index) or ()) == 1 for index in range(PAIR))
    return len(call.inputs) == PAIR and vectors and call.sizes(0) == call.sizes(1) and call.result.dtype == "bool"


def _select(call: Call) -> bool:
    """Return whether a SELECT_V2 has a bool condition and two values of the result's type."""
    operands = _typed(call, 0, "bool") and all(_typed(call, index, call.result.dtype) for index in (1, 2))
    return len(call.inputs) == 3 and operands  # noqa: PLR2004 - a condition and two values


def _real(call: Call) -> bool:
    """Return whether a REAL reads one complex64 operand and has a float32 result."""
    return len(call.inputs) == 1 and _typed(call, 0, "complex64") and call.result.dtype == "float32"


def _planes(call: Call) -> bool:
    """Return whether an RFFT2D reads float32 planes and two int32 lengths, and has a complex64 result."""
    typed = _typed(call, 0, "float32") and _typed(call, 1, "int32") and call.result.dtype == "complex64"
    return len(call.inputs) == PAIR and typed and len(call.sizes(0) or ()) >= PLANE and call.sizes(1) == (PLANE,)


AXES, REPEATS = "unit axes, to lift an operand", "an axis of size 1 repeated, to stretch an operand"
SIZES = "a shape that is put together when the model runs, for a stretch"
NEW: Final[Mapping[str, Form]] = {
    "RESHAPE": Form((1, 1), "ReshapeOptions", ("newShape",), _reshape, AXES),
    "EXPAND_DIMS": Form((1, 1), "ExpandDimsOptions", (), _indexed(INDEX), AXES),
    "SQUEEZE": Form((1, 1), "SqueezeOptions", ("squeezeDims",), _squeeze, AXES),
    "TILE": Form((1, 2), "TileOptions", (), _of_types(TILED), REPEATS),
    "BROADCAST_TO": Form((2, 3), "BroadcastToOptions", (), _of_types(frozenset(WIDTHS)), REPEATS),
    "SHAPE": Form((1, 1), "ShapeOptions", ("outType",), _shape, SIZES),
    "GATHER": Form((1, 1), "GatherOptions", (), _gather, SIZES),
    "CONCATENATION": Form((1, 1), "ConcatenationOptions", ("axis",), _integers(None), SIZES),
    "BROADCAST_ARGS": Form((1, 1), None, (), _integers(PAIR), SIZES),
    "EQUAL": Form((1, 1), "EqualOptions", (), _compared, SIZES),
    "SELECT_V2": Form((1, 1), "SelectV2Options", (), _select, "what a SELECT is called where it broadcasts"),
    "REAL": Form((1, 1), None, (), _real, "a CAST from complex numbers takes the real part"),
    "RFFT2D": Form((1, 1), "Rfft2dOptions", (), _planes, "the same planes, with other unit axes in front"),
}
"""The forms that may be new in the second file."""
VERSIONS: Final[Mapping[str, tuple[int, int]]] = {name: form.versions for name, form in NEW.items()}


def plain(operator: Operator, form: Form) -> bool:
    """Return whether an operator has the version and the options that its form allows."""
    key: tuple[Any, ...] = operator.key
    _, kinds, newer, fields, custom, mutating, between = key
    oldest, newest = form.versions
    return (
        oldest <= operator.version <= newest
        and (not kinds or OPTIONS.get(kinds) == form.options)
        and not (newer or custom or between or any(mutating))
        and all(name in form.fields or not value for name, value in fields)
    )
