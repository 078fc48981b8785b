"""The part of a term's key that describes a TFLite operator: its name, options and types.

Options and operators of equal meaning have one notation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.tflite.operators.table import CHOOSING, STATEFUL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Quantization, Tensor
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.tflite.reading.operands import Call

_PAIR: Final = 2
_IMAGE: Final = 4
"""The number of axes of an image: batch, height, width, channels."""
_NEAREST: Final = "RESIZE_NEAREST_NEIGHBOR"
_OLD_COORDINATES: Final = ("alignCorners", False), ("halfPixelCenters", False)
_CENTERS: Final = ("alignCorners", False), ("halfPixelCenters", True)
_WITH_AXIS: Final[Mapping[str, int]] = {"CONCATENATION": 0, "GATHER": 0, "UNPACK": 0, "PACK": 1}
"""Operators whose option `axis` may be negative.

Kernels add the rank of operand 0, and this number, to a negative axis.
"""
_SHARED_NAMES: Final[Mapping[str, str]] = {
    "SELECT": "SELECT", "SELECT_V2": "SELECT", "REAL": "REAL", "RFFT2D": "RFFT2D",
}  # fmt: skip
"""Operators whose options have no fields, and a name that operators with equal results share.

The results are equal if the operands have equal maps.
"""


def signature(call: Call) -> tuple[object, ...] | None:
    """Return the part of a term's key that is independent of the operands' elements: options, types and quantization.

    Returns None if an operand is missing, or if the result has scales along an axis. The result is also None if an
    operand's scales follow an axis that is not an axis of the operand's core.
    """
    parameters = []
    for tensor, view in zip(call.inputs, call.views, strict=True):
        if tensor is None or view is None:
            return None
        parameter = quantized(tensor.quantization, view)
        if (
            tensor.quantization is not None
            and tensor.quantization.axis is not None
            and (parameter is None or not isinstance(parameter[1], int))
        ):
            return None
        parameters.append((tensor.dtype, parameter))
    if call.result.quantization is not None and call.result.quantization.axis is not None:
        return None
    return (*_kind(call), tuple(parameters), type_of(call.result))


def _kind(call: Call) -> tuple[object, ...]:
    """Return an operator's key and version, or only the name that several operators share."""
    name = shared_name(call)
    return (call.operator.key, call.operator.version) if name is None else (name,)


def shared_name(call: Call) -> str | None:
    """Return the name that operators with equal results share, such as SELECT for SELECT_V2; None for other operators.

    A CAST from complex numbers to float32 returns the real part, so its name is REAL.
    """
    if call.operator.name != "CAST":
        return _SHARED_NAMES.get(call.operator.name)
    operand = call.inputs[0] if call.inputs else None
    taken = call.result.dtype == "float32" and operand is not None and operand.dtype == "complex64"
    return _SHARED_NAMES["REAL"] if taken else None


def quantized(quantization: Quantization | None, view: ProofValue | None) -> tuple[object, object] | None:
    """Return (parameters, axis of the core that the scales follow); None for a tensor without quantization.

    A lift does not change this axis. The axis is None for one scale, and ("declared", axis) if the scales do not follow
    an axis of the core.
    """
    if quantization is None:
        return None
    axis = quantization.axis
    if axis is None:
        return quantization.key, None
    follows = view.axes[axis] if view is not None and view.axes is not None and 0 <= axis < len(view.axes) else None
    return quantization.key, ("declared", axis) if follows is None else follows


def type_of(tensor: Tensor) -> tuple[object, ...]:
    """Return the element type of a tensor, and its quantization."""
    quantization = tensor.quantization
    return tensor.dtype, None if quantization is None else (quantization.key, quantization.axis)


def stated(operator: Operator, tensor: Tensor) -> tuple[object, ...]:
    """Return the properties that the file states of a result: type, quantization and rank.

    For some operators, the shape too.

    Operators in `CHOOSING` and `STATEFUL`, StableHLO and custom operators use the shape from the file. Other kernels
    only compare the rank.
    """
    name = operator.name
    if name in CHOOSING or name in STATEFUL or name.startswith(("STABLEHLO", "custom ")):
        return (*type_of(tensor), tensor.dims, tensor.stored)
    return (*type_of(tensor), len(tensor.stored))


def keeps_quantization(call: Call) -> bool:
    """Return whether the result and operand 0 have equal quantization: one scale, or none."""
    tensor = call.inputs[0] if call.inputs else None
    ours = None if tensor is None else tensor.quantization
    theirs = call.result.quantization
    if ours is None or theirs is None:
        return ours is theirs
    return ours.key == theirs.key and ours.axis is None and theirs.axis is None


def hybrid(tensors: Sequence[Tensor | None]) -> bool:
    """Return whether the operands include both float32 and integers of 8 bits or less.

    The kernel's rounding then depends on which operand is a constant.
    """
    kinds = {tensor.dtype for tensor in tensors if tensor is not None}
    return "float32" in kinds and not kinds.isdisjoint(("int8", "uint8", "int4"))


# --- one notation for options of equal meaning ------------------------------------------------------------------------


def canonical(operator: Operator, views: Sequence[ProofValue | None]) -> Operator:
    """Return an operator with canonical options: a positive axis, and a nearest RESIZE by the centers of elements.

    A nearest RESIZE by a power of 2 selects the same elements by its old coordinates as by centers: floor(i / f) equals
    floor((i + 0.5) / f) for integers i and f, and dividing a float by a power of 2 does not round.
    """
    if operator.name in _WITH_AXIS:
        return _counted_from_the_front(operator, views)
    if operator.name != _NEAREST or len(views) != _PAIR or None in views:
        return operator
    data, target = (view for view in views if view is not None)
    have, want = numbers((data.sizes or ())[1:3]), numbers(target.content)
    if have is None or want is None or len(want) != _PAIR or len(data.sizes or ()) != _IMAGE:
        return operator
    if not all(size and to % size == 0 and (to // size).bit_count() == 1 for size, to in zip(have, want, strict=True)):
        return operator
    name, kind, newer, others, *rest = operator.key
    if others != _OLD_COORDINATES:
        return operator
    return operator._replace(key=(name, kind, newer, _CENTERS, *rest))


def _counted_from_the_front(operator: Operator, views: Sequence[ProofValue | None]) -> Operator:
    """Return an operator with its negative axis replaced by the positive one.

    Kernels add the rank to a negative axis.
    """
    axis, data = operator.options.get("axis"), views[0] if views else None
    if not isinstance(axis, int) or axis >= 0 or data is None or data.sizes is None:
        return operator
    place = axis + len(data.sizes) + _WITH_AXIS[operator.name]
    name, kind, newer, others, *rest = operator.key
    if place < 0 or not isinstance(others, tuple):
        return operator
    fields = tuple(("axis", place) if field == ("axis", axis) else field for field in others)
    return operator._replace(key=(name, kind, newer, fields, *rest))
