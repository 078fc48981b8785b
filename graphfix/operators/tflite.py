"""The catalogue's rows for TFLite's builtin operators, grouped by families, and the operators that stretch.

Biases and quantization parameters are not operands of a row, because each follows one axis of another operand. Sources:
TFLite's schema, and measurements with LiteRT 2.3 on the reference kernels, without a delegate and with XNNPACK, which
tests/operators repeats.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from graphfix.operators.row import TFLITE, Exempt, Operand, Row, StretchForm, Style

MAX_RANK = 8
"""The largest rank for broadcasting.

Above it, LiteRT's kernels abort the process. Operands of equal shape have no limit.
"""
MAX_PRODUCT_RANK = 5

# Every reason completes the sentence "left alone because".
VECTOR = Exempt("a matrix product of LiteRT takes no operand of rank 1", when="rank 1")
ALPHA_RANK = Exempt("PRELU's alpha stays one rank below its input: some tools refuse a lifted one")
ALPHA_DIMS = Exempt("PRELU stretches its alpha itself, and no tool asks for a stretched one")
CONDITION = Exempt("the condition of SELECT is a scalar or follows axis 0, and is not right-aligned")
PREDICATE = Exempt("the predicate is a scalar by definition, or has the shape of the other operands")
BOUND = Exempt("a bound of STABLEHLO_CLAMP is a scalar by definition, or has the shape of its operand")
EXPONENT = Exempt(
    "LiteRT multiplies out a power by one whole exponent, and asks the routine pow for a stretched one",
    when="one element",
)
ONE_POWER = Exempt(
    "LiteRT multiplies out a power of one element by one only where their ranks differ", when="one element each"
)
EXPLICIT = Exempt("it is a broadcast spelled out already: normalize-expand brings it to the standard form")

SAME_BITS = "LiteRT: implicit, lifted and stretched operands give the same bits on all three kernel sets"
BUT_NAN = f"{SAME_BITS}; of floats XNNPACK may return the other operand where one is NaN or both are zero"
NO_KERNEL = "no kernel in LiteRT 2.3: from the specification of StableHLO"
REFUSES = "LiteRT refuses operands of different shapes"


def _each(names: str, style: Style, evidence: str, *operands: Operand) -> tuple[Row, ...]:
    """Return one row for each of the names."""
    return tuple(Row(TFLITE, op, 1, None, style, operands, evidence=evidence) for op in names.split())


def _with(rows: tuple[Row, ...], max_rank: int | None = None, onto: int | None = None) -> tuple[Row, ...]:
    """Return the rows with these two fields set."""
    return tuple(replace(row, max_rank=max_rank, onto=onto) for row in rows)


def _equal(names: str, evidence: str, unequal: str) -> tuple[Row, ...]:
    """Return rows of style "equal" for operators with two operands. `unequal`: why unequal shapes are left alone."""
    rows = _each(names, "equal", evidence, Operand(0), Operand(1))
    return tuple(replace(row, unequal=unequal) for row in rows)


def _own(names: str, left: Exempt, evidence: str, *indices: int, onto: int | None = None) -> tuple[Row, ...]:
    """Return rows of operators with a special rule, of style "own".

    If there are no indices, no operand is ever a site.
    """
    rows = _each(names, "own", evidence, *(Operand(index, left, left) for index in indices))
    return tuple(replace(row, left=left, onto=onto) for row in rows)


_TWO = (Operand(0), Operand(1))
_PAIRS = (
    "ADD SUB MUL DIV FLOOR_DIV FLOOR_MOD SQUARED_DIFFERENCE LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL"
    " LOGICAL_AND LOGICAL_OR BITWISE_XOR RIGHT_SHIFT"
)
_POW = (Operand(0, ONE_POWER, ONE_POWER), Operand(1, ONE_POWER, EXPONENT))
_POW_EVIDENCE = (
    "LiteRT, all kernel sets: a stretched whole exponent gives other last bits, and other values where it overflows"
)
_ELEMENTWISE = _with(
    (
        *_each(_PAIRS, "multidirectional", SAME_BITS, *_TWO),
        *_each("POW", "multidirectional", _POW_EVIDENCE, *_POW),
        *_each("MAXIMUM MINIMUM", "multidirectional", BUT_NAN, *_TWO),
        *_each("SELECT_V2", "multidirectional", SAME_BITS, *_TWO, Operand(2)),
    ),
    max_rank=MAX_RANK,
)

_PRELU_EVIDENCE = f"{SAME_BITS}, but int16: a stretched alpha gives other values"
_PRELU = _with(
    _each("PRELU", "unidirectional", _PRELU_EVIDENCE, Operand(1, ALPHA_RANK, ALPHA_DIMS)), max_rank=MAX_RANK, onto=0
)

_FACTORS = (Operand(0, VECTOR, VECTOR), Operand(1, VECTOR, VECTOR))
_MATMUL = _with(_each("BATCH_MATMUL", "matmul", SAME_BITS, *_FACTORS), max_rank=MAX_PRODUCT_RANK)

_OUT_OF_BOUNDS = "LiteRT does not compare the shapes and reads beyond the smaller operand"
_EQUAL = (
    *_equal("ATAN2", "LiteRT compares the ranks only", f"ATAN2 has no broadcast, and {_OUT_OF_BOUNDS}"),
    *(
        replace(row, operands=(), variadic=True)
        for row in _equal("ADD_N", REFUSES, f"ADD_N has no broadcast: {REFUSES}")
    ),
    *_equal(
        "STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM STABLEHLO_AND",
        REFUSES,
        f"StableHLO has no implicit broadcast: {REFUSES}",
    ),
    *_equal(
        "STABLEHLO_SHIFT_LEFT",
        "LiteRT compares nothing",
        f"StableHLO has no implicit broadcast, and {_OUT_OF_BOUNDS}",
    ),
    *_equal(
        "STABLEHLO_SUBTRACT STABLEHLO_DIVIDE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_COMPARE",
        NO_KERNEL,
        "StableHLO has no implicit broadcast",
    ),
)

_OWN = (
    *_own("SELECT", CONDITION, "LiteRT: a rank-1 condition chooses whole rows", 0, onto=1),
    *_own("STABLEHLO_SELECT", PREDICATE, NO_KERNEL, 0, onto=1),
    *_own("STABLEHLO_CLAMP", BOUND, NO_KERNEL, 0, 2, onto=1),
    *_own("BROADCAST_TO", EXPLICIT, "LiteRT: onto the shape of operand 1, one way"),
    *_own("STABLEHLO_BROADCAST_IN_DIM", EXPLICIT, NO_KERNEL),
)

ROWS: tuple[Row, ...] = tuple(chain(_ELEMENTWISE, _PRELU, _MATMUL, _EQUAL, _OWN))

STRETCH_FORMS: tuple[StretchForm, ...] = (
    StretchForm(TFLITE, "BROADCAST_TO", by="shape", standard=True),
    StretchForm(TFLITE, "TILE", by="repeats", standard=True),
    StretchForm(TFLITE, "STABLEHLO_BROADCAST_IN_DIM", by="axes", standard=False),
)
