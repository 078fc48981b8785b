"""Formulas of TFLite operators in terms of other operators, such as a float32 GELU in products and TANH.

An operator of the first file is equal to its formula in the second file. Most formulas are exact. An inexact formula,
such as that of GELU, rounds at other places than the operator's kernel, so the runs compare both values with a bound.
"""

from __future__ import annotations

import struct
from math import isfinite, pi
from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.neutral import constant_folding, views
from graphfix.checker.proof.tflite.definitions.maker import Maker, UnreadError, Value
from graphfix.checker.proof.tflite.definitions.sequence_lstm import STATES, sequence_lstm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.tflite.reading.operands import Call

PASSING: Final = frozenset({"CUMSUM"})
"""Operators that may return operand 0 unchanged."""
INEXACT: Final = frozenset({"GELU", "COMPLEX_ABS", "UNIDIRECTIONAL_SEQUENCE_LSTM"})
FAR = "no float that is quantized is 2^31 steps or more from 0: of those LiteRT's reference kernels make any number"
SQUARED: Final = "the squares of the parts of complex numbers are neither too large for a float nor flushed to 0"
ASSUMING: Final[Mapping[str, str]] = {
    "QUANTIZE": FAR,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": STATES,
    "COMPLEX_ABS": SQUARED,
}
DIVIDING: Final = frozenset({"FLOOR_DIV", "FLOOR_MOD"})
OVERFLOWING: Final = "no FLOOR_DIV or FLOOR_MOD of int32 divides -2^31 by -1"
INT8: Final = (-128, 127)
WHOLE: Final = frozenset({"int8", "int16", "int32"})
MOST_CLASSES: Final = 4096
MOST_AXES: Final = 5
"""The most axes that LiteRT's PAD accepts."""
SCALE: Final = struct.Struct("<f")


def is_exact(call: Call) -> bool:
    """Return whether the formula of an operator computes every bit of the operator's result."""
    return call.operator.name not in INEXACT and (call.operator.name, call.result.dtype) != ("CUMSUM", "float32")


def assumed(call: Call) -> str | None:
    """Return the assumption that the proof makes if it uses the formula of an operator; None for no assumption."""
    if call.operator.name in DIVIDING:
        divisor = call.operand(1)
        divisor_array = None if divisor is None else constant_folding.constant_array(divisor)
        return OVERFLOWING if divisor_array is None or (divisor_array == -1).any() else None
    return ASSUMING.get(call.operator.name)


def form(constants: Constants, call: Call) -> ProofValue | None:
    """Return the term of an operator's formula; None if the operator has no formula for these operands."""
    rule = DEFINED.get(call.operator.name)
    data, tensor = call.operand(0), call.inputs[0] if call.inputs else None
    if rule is None or data is None or tensor is None or tensor.quantization is not None:
        return None
    if call.operator.name in DIVIDING and any(each is None or each.quantization is not None for each in call.inputs):
        return None  # The operators of the formula would read the quantization.
    try:
        found = rule(call, Maker(constants, call), Value(data, tensor))
    except UnreadError:
        return None
    return None if found is None else found.view


def _quantize(call: Call, make: Maker, x: Value) -> Value | None:
    """Return the formula of QUANTIZE from float32 to int8: QUANTIZE of x clamped to the ends of the result's range.

    QUANTIZE saturates, so both compute the same number. The ends are the real values of -128 and 127. Dividing an end
    by the scale results in that number exactly, and rounding is monotonic. A NaN passes MAXIMUM and MINIMUM because it
    is operand 1.
    """
    parameters = call.result.quantization
    if (x.tensor.dtype, call.result.dtype) != ("float32", "int8") or parameters is None:
        return None
    bits, zeros, *_ = parameters.key
    if not isinstance(bits, bytes) or not isinstance(zeros, tuple) or (len(bits), len(zeros)) != (SCALE.size, 1):
        return None
    (scale,) = SCALE.unpack(bits)
    if not (isfinite(scale) and scale > 0 and INT8[0] <= zeros[0] <= INT8[1]):
        return None
    least, most = ((end - zeros[0]) * scale for end in INT8)
    return make.same(make("MAXIMUM", least, make("MINIMUM", most, x)))


def _cast(call: Call, make: Maker, x: Value) -> Value | None:
    """Return the formula of CAST between float32 and bool, or from float32 to an integer type; None for other types.

    The integer is truncated towards 0. As a bool, 0 is false and every other number is true.
    """
    if call.result.quantization is not None:
        return None
    of, to = x.tensor.dtype, call.result.dtype
    if (of, to) == ("float32", "bool"):
        return make("NOT_EQUAL", x, 0.0)
    if (of, to) == ("bool", "float32"):
        return make("SELECT_V2", x, 1.0, 0.0)
    if of != "float32" or to not in WHOLE:
        return None
    floor = make("FLOOR", make("ABS", x))
    return make.same(make("SELECT_V2", make("GREATER_EQUAL", x, 0.0), floor, make("NEG", floor)))


def _floor_div(call: Call, make: Maker, a: Value) -> Value | None:
    """Return the formula of FLOOR_DIV or FLOOR_MOD of int32: DIV truncates, so its result is corrected.

    If the remainder and the divisor b differ in sign, 1 is subtracted from the quotient, or b is added to the
    remainder.
    """
    b = make.operand(1)
    if {value.tensor.dtype for value in (a, b)} != {"int32"} or call.result.dtype != "int32":
        return None
    quotient = make("DIV", a, b)
    rest = make("SUB", a, make("MUL", quotient, b))
    below, above = make("LESS", rest, 0), make("GREATER", rest, 0)
    divisor_array = constant_folding.constant_array(b.view)
    if divisor_array is None:
        wrong = make("SELECT_V2", make("LESS", b, 0), above, below)
    elif (divisor_array < 0).all() or (divisor_array > 0).all():
        wrong = above if (divisor_array < 0).all() else below
    else:
        wrong = make("SELECT_V2", make.constant(np.asarray(divisor_array < 0)), above, below)
    if call.operator.name == "FLOOR_DIV":
        return make("SELECT_V2", wrong, make("SUB", quotient, 1), quotient)
    return make("SELECT_V2", wrong, make("ADD", rest, b), rest)


def _cumsum(call: Call, make: Maker, x: Value) -> Value | None:
    """Return the formula of CUMSUM: add the element 1, then 2, then 4 ... places before; if `reverse`, behind.

    For an exclusive sum, the elements are first shifted by 1. Returns None unless all sizes are numbers.
    """
    axes, sizes = call.known_integers(1), numbers(x.view.sizes)
    if axes is None or len(axes) != 1 or not sizes or 0 in sizes or x.tensor.dtype not in ("int32", "float32"):
        return None
    if len(sizes) > MOST_AXES:
        return None
    axis, reverse = axes[0] % len(sizes), bool(call.option("reverse"))

    def moved(value: Value, step: int) -> Value:
        """Return the value moved by `step` places along the axis. Zeros fill the places that become free."""
        cut = tuple(size - step if at == axis else size for at, size in enumerate(sizes))
        begin = np.asarray([step if at == axis and reverse else 0 for at in range(len(sizes))], np.int32)
        paddings = np.zeros((len(sizes), 2), np.int32)
        paddings[axis, int(reverse)] = step
        values = [value, make.constant(begin), make.constant(np.asarray(cut, np.int32))]
        return make.exactly("PAD", [make.exactly("SLICE", values, cut), make.constant(paddings)], sizes)

    length, step = sizes[axis], 1
    if length == 1 and call.option("exclusive"):
        return None
    if length == 1:  # The kernel adds the element to 0, so -0.0 becomes 0.0.
        return x if x.tensor.dtype == "int32" else make("ADD", x, 0.0)
    value = moved(x, 1) if call.option("exclusive") else x
    while step < length:
        value = make("ADD", value, moved(value, step))
        step *= 2
    return value


def _one_hot(call: Call, make: Maker, x: Value) -> Value | None:
    """Return the formula of ONE_HOT: `on` where the index equals the class, else `off`.

    An index out of range equals no class.
    """
    class_numbers, sizes, axis = call.known_integers(1), numbers(x.view.sizes), call.integer("axis")
    if class_numbers is None or len(class_numbers) != 1 or sizes is None or 0 in sizes or x.tensor.dtype != "int32":
        return None
    place = len(sizes) if axis == -1 else axis
    if not 0 < class_numbers[0] <= MOST_CLASSES or not 0 <= place <= len(sizes):
        return None
    apart = views.unsqueezed(x.view, (place,))
    if apart is None:
        return None
    dims = [class_numbers[0] if at == place else 1 for at in range(len(sizes) + 1)]
    classes = make.constant(np.arange(class_numbers[0], dtype=np.int32).reshape(dims))
    equal = make("EQUAL", Value(apart, x.tensor), classes)
    return make("SELECT_V2", equal, make.operand(2), make.operand(3), last=True)


def _gelu(call: Call, make: Maker, x: Value) -> Value:
    """Return x times the standard normal distribution function, or its approximation (Hendrycks and Gimpel, 2016)."""
    if call.option("approximate"):
        cubed = make("MUL", make("MUL", make("MUL", x, x), x), 0.044715)
        bent = make("TANH", make("MUL", make("ADD", x, cubed), (2 / pi) ** 0.5))
        return make("MUL", make("MUL", x, 0.5), make("ADD", bent, 1.0))
    # Half of erfc(|x| / sqrt(2)): Abramowitz and Stegun, formula 7.1.26.
    t = make("DIV", 1.0, make("ADD", make("MUL", make("ABS", x), 0.3275911 / 2**0.5), 1.0))
    sum_: Value | float = 1.061405429 / 2
    for number in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        sum_ = make("ADD", make("MUL", sum_, t), number / 2)
    tail = make("MUL", make("MUL", sum_, t), make("EXP", make("MUL", make("MUL", x, x), -0.5)))
    return make("MUL", x, make("SELECT_V2", make("GREATER_EQUAL", x, 0.0), make("SUB", 1.0, tail), tail))


def _complex_abs(call: Call, make: Maker, x: Value) -> Value | None:
    """Return the square root of the sum of squares.

    The kernel avoids overflow of a square, so it rounds at other places.
    """
    if (x.tensor.dtype, call.result.dtype) != ("complex64", "float32"):
        return None
    real, imaginary = make("REAL", x), make("IMAG", x)
    return make("SQRT", make("ADD", make("MUL", real, real), make("MUL", imaginary, imaginary)))


DEFINED: Final[Mapping[str, Callable[[Call, Maker, Value], Value | None]]] = {
    "GELU": _gelu,
    "CUMSUM": _cumsum,
    "ONE_HOT": _one_hot,
    "COMPLEX_ABS": _complex_abs,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": sequence_lstm,
    "QUANTIZE": _quantize,
    "CAST": _cast,
    "FLOOR_DIV": _floor_div,
    "FLOOR_MOD": _floor_div,
}
