"""Parts of a term's key for operators whose kernel LiteRT chooses by the operands' shapes.

The kernels round differently.

Measured with LiteRT on its three kernel sets, and read in its optimized_ops.h.
"""

from __future__ import annotations

import struct
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from graphfix.checker.proof.core.sizes import broadcast_parts
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.kernels.unit_constants import selecting_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphfix.checker.files.tflite.records import Tensor
    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.tflite.reading.operands import Call

PAIR = 2
SCALE = struct.Struct("<f")
BY_PLACE = {
    **{name: {("float32", "float32")} for name in ("LOGISTIC", "HARD_SWISH", "TANH", "ELU", "GELU")},
    "QUANTIZE": {("float32", "int8"), ("float32", "uint8"), ("float32", "int16"), ("int8", "int8")},
    "DEQUANTIZE": {("int8", "float32"), ("uint8", "float32")},
}
"""Operators whose results depend on an element's place, and the pairs of types (operand 0, result) for which they do.

A kernel computes elements in packets, and the elements that do not fill a packet by other instructions. These differ in
the last bit, or in how a half is rounded.
"""
NEARLY = 1e-4
"""An exponent this near to an integer is treated as an integer. The kernel's limit is 1e-5, which is stricter."""
ROUNDING = "sums of 8 bits are rounded as they were, whatever shapes ADD reads its operands in"
INTEGERS = {"int8": (-128, 127), "uint8": (0, 255)}
PACKED = (1 << 15) - 1
"""The largest sum or product in packets, which have 16 bits before saturation to 8 bits.

Single elements have 32 bits.
"""


def by_place(call: Call, view: ProofValue) -> bool:
    """Return whether an element of the result depends on its place, and operand 0 is not a whole core in order.

    `view` is operand 0. QUANTIZE and DEQUANTIZE with a scale for each channel are computed without packets, so the
    result is False for them.
    """
    kinds = BY_PLACE.get(call.operator.name, ())
    read, result = call.inputs[0], call.result
    if read is None or (read.dtype, result.dtype) not in kinds or _as_many(view):
        return False
    return not any(each.quantization is not None and each.quantization.axis is not None for each in (read, result))


def _as_many(view: ProofValue) -> bool:
    """Return whether a value has each element of its core exactly once and in order.

    Unit axes may be added or dropped.

    For a value of unknown rank, the result is True if the value is not broadcast with other shapes.
    """
    if view.axes is None or view.sizes is None:
        return not view.broadcast_shapes
    followed = [axis for axis in view.axes if axis is not None]
    core = [axis for axis, size in enumerate(view.core.sizes or ()) if size != 1]
    stretched = any(axis is None and size != 1 for axis, size in zip(view.axes, view.sizes, strict=True))
    return followed == core and not stretched


def ways(call: Call, views: Sequence[ProofValue]) -> tuple[object, ...]:
    """Return the part of a key by which LiteRT chooses a kernel; () if LiteRT has only one kernel."""
    if len(views) != PAIR:
        return ()
    return (*_computing(call, views), *selecting_kernel(call, views))


def _computing(call: Call, views: Sequence[ProofValue]) -> tuple[object, ...]:
    """Return the part of a key by which LiteRT chooses a kernel for POW, or for quantized ADD and MUL; else ()."""
    if call.operator.name == "POW":
        return (_multiplied_out(*views),)
    if call.operator.name not in ("ADD", "MUL") or call.result.dtype not in INTEGERS:
        return ()
    stretches = tuple(map(_stretch, views)) if _overflows_packets(call, views) else ()
    # If both operands are one tensor, XNNPACK squares it, and rounds differently from a product of two equal tensors.
    squared = call.operator.name == "MUL" and views[0] == views[1] and call.inputs[0] is call.inputs[1]
    return (*stretches, "squared") if squared else stretches


def of_prelu(call: Call, views: Sequence[ProofValue]) -> tuple[object, ...]:
    """Return the part of a PRELU's key by which LiteRT chooses a kernel.

    XNNPACK computes the operator if the slope is a constant of the file, and multiplies -0.0 by the slope. The other
    kernels do not. For int16, a type that no kernel is written for, the kernel for equal shapes and the broadcasting
    kernel return different numbers.
    """
    slope = call.inputs[1]
    is_constant = slope is not None and slope.payload is not None
    if call.result.dtype != "int16":
        return ("constant slope", is_constant)
    one, two = (view.sizes for view in views)
    if one is None or two is None:
        return ("equal shapes", *views)
    pairs = list(zip(one, two, strict=False))
    if len(one) != len(two) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
        return ("equal shapes", False)
    unequal = frozenset(pair for pair in pairs if pair[0] != pair[1])
    return ("equal shapes", unequal or True)


# --- a power ----------------------------------------------------------------------------------------------------------


def _multiplied_out(base: ProofValue, exponent: ProofValue) -> object:
    """Return for which sizes the kernel multiplies a power out instead of calling the routine `pow`.

    The result is "never", or ("where", sizes), which means "if these sizes are 1". ("where", sizes, "unless", more)
    means "if `sizes` are 1, unless the sizes in `more` are 1 too". If a rank is unknown, the result is (base,
    exponent).

    The kernel multiplies out if the shapes differ, and the exponent is a single number that is positive and (nearly) an
    integer. Each step then rounds, saturates or wraps. Source: `BroadcastPow4D`, which all kernel sets have, for both
    types.
    """
    ones, others = _not_one(exponent.sizes), _not_one(base.sizes)
    if ones is None or others is None:
        return "never" if ones is not None and _has_number(ones) else (base, exponent)
    if _has_number(ones) or not _may_be_whole(exponent):
        return "never"
    if _has_number(others) or len(base.sizes or ()) != len(exponent.sizes or ()):
        return "where", ones
    return ("where", ones, "unless", others - ones) if others - ones else "never"


def _not_one(sizes: Sizes | None) -> frozenset[Size] | None:
    """Return the sizes that must be 1 if the shape is to have one element; None if the rank is unknown."""
    return None if sizes is None else frozenset(part for size in sizes for part in broadcast_parts(size) if part != 1)


def _has_number(sizes: Iterable[Size]) -> bool:
    return any(isinstance(size, int) for size in sizes)


def _may_be_whole(exponent: ProofValue) -> bool:
    """Return whether the kernel may treat an exponent as a positive integer."""
    power = constant_folding.constant_array(exponent)
    if power is None:
        return True
    number = float(power.item())
    return isfinite(number) and number > 0 and abs(number - round(number)) < NEARLY


# --- sums and products of 8 bits --------------------------------------------------------------------------------------


def enter_reach(call: Call, views: Sequence[ProofValue], core: Core) -> None:
    """Record the largest magnitude of a quantized sum or difference.

    It is often far less than the element type allows.

    The result is within two quantization steps of the exact one, because the kernel rounds both operands and the
    result.
    """
    if call.operator.name not in ("ADD", "SUB") or call.result.dtype not in INTEGERS or len(views) != PAIR:
        return
    if call.operator.name == "SUB" or not _overflows_packets(call, views):
        reached = sum(_reach(call, at, view) for at, view in enumerate(views)) + 2 * _scaled(call.result).scale
        call.table.quantized_limits[core] = reached


def enter_rounding(call: Call, views: Sequence[ProofValue], core: Core) -> None:
    """Record how the operands of a quantized sum are stretched.

    If one sum is read with its operands stretched in two ways, the proof assumes that both results are equal. Elements
    in packets may round a tie differently from single elements.
    """
    if call.operator.name != "ADD" or call.result.dtype not in INTEGERS:
        return
    form = tuple(map(_stretch, views))
    if call.table.routines.setdefault(core, form) != form:
        call.table.assumptions[ROUNDING] = None


def _stretch(view: ProofValue) -> object:
    """Return how an operand is stretched: the pairs (axis of the core, size) of all axes except unit axes.

    Unit axes move no element. A value of unknown rank is returned as it is.
    """
    if view.axes is None or view.sizes is None:
        return view
    return tuple(pair for pair in zip(view.axes, view.sizes, strict=True) if pair[1] != 1)


class _Scaled(NamedTuple):
    """The quantization of a tensor of 8 bits."""

    scale: float
    zero: int
    reach: float
    """The largest magnitude of the numbers that the tensor can represent."""


def _reach(call: Call, at: int, view: ProofValue) -> float:
    """Return the largest magnitude of an operand, by its type and by how the operand was computed."""
    reach = _scaled(call.inputs[at]).reach
    return min(reach, call.table.quantized_limits.get(view.core, reach))


def _overflows_packets(call: Call, views: Sequence[ProofValue]) -> bool:
    """Return whether a result may need more than 16 bits before saturation. Packets then saturate at another number.

    The stretching of the operands decides which elements are in packets.
    """
    result = _scaled(call.result)
    if not result.scale:
        return False
    one, two = (_reach(call, at, view) for at, view in enumerate(views))
    most = one * two if call.operator.name == "MUL" else one + two
    return most / result.scale + abs(result.zero) > PACKED


def _scaled(tensor: Tensor | None) -> _Scaled:
    """Return the scale and the zero point as kernels read them; zeros if a tensor does not have exactly one of each."""
    if tensor is None or tensor.quantization is None:
        return _Scaled(0, 0, 0)
    bits, zeros, _ = tensor.quantization.key
    if not isinstance(bits, bytes) or not isinstance(zeros, tuple) or (len(bits), len(zeros)) != (SCALE.size, 1):
        return _Scaled(0, 0, 0)
    (scale,), (zero,), (low, high) = SCALE.unpack(bits), zeros, INTEGERS.get(tensor.dtype, (0, 0))
    return _Scaled(abs(scale), zero, abs(scale) * max(zero - low, high - zero))
