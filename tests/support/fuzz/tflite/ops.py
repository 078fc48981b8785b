"""Steps of random TFLite models: operators that broadcast."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tests.support.fuzz.tflite.graph_builder import (
    BOOL,
    FLOAT,
    INT,
    LONG,
    SCALED,
    WORD,
    Concrete,
    GraphBuilder,
    Known,
    aligned,
    together,
)


@dataclass(frozen=True, slots=True)
class Op:
    """An element-wise operator of two operands: the types that LiteRT has kernels for."""

    name: str
    dtypes: tuple[str, ...]
    result: str | None = None
    """The result's type, None where it is the operands'."""
    activates: bool = False
    """Whether it may have an activation fused to it."""
    rescales: bool = False
    """Whether quantized operands may have different scales."""


NUMBERS = (FLOAT, INT, LONG)
ALL = (*NUMBERS, *SCALED)
OPS = (
    *(Op(name, ALL, activates=True, rescales=True) for name in ("ADD", "SUB", "MUL")),
    Op("DIV", (FLOAT, INT), activates=True),
    Op("POW", (FLOAT, INT)),
    Op("FLOOR_DIV", (FLOAT, INT)),
    Op("FLOOR_MOD", NUMBERS),
    Op("SQUARED_DIFFERENCE", (FLOAT, INT, "int8")),
    *(Op(name, ALL) for name in ("MAXIMUM", "MINIMUM")),
    *(
        Op(name, (*NUMBERS, "int8", "uint8"), BOOL, rescales=True)
        for name in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
    ),
    *(Op(name, (*NUMBERS, "int8", "uint8", BOOL, WORD), BOOL) for name in ("EQUAL", "NOT_EQUAL")),
    *(Op(name, (BOOL,)) for name in ("LOGICAL_AND", "LOGICAL_OR")),
    Op("BITWISE_XOR", (INT,)),
    Op("RIGHT_SHIFT", (INT,)),
)
MATRIX_RANK = 5
"""LiteRT's BATCH_MATMUL takes no more axes."""
BROADCAST = frozenset(op.name for op in OPS) | {"SELECT_V2"}
"""The operators of numpy's rule."""


# --- operators that broadcast --------------------------------------------------------------------------------------


def elementwise(builder: GraphBuilder) -> None:
    """An operator of two operands."""
    choose = builder.source.choose
    op = choose.choice(OPS)
    first = builder.any(*op.dtypes)
    apart = op.rescales and first.dtype in SCALED and builder.source.odds(0.3)
    second = (
        builder.otherwise(builder.part(first.shape), first.dtype)
        if apart
        else builder.partner(first.shape, first.dtype)
    )
    pair = [first, second]
    choose.shuffle(pair)
    if op.name == "POW" and first.dtype == FLOAT and builder.source.odds(0.6):
        pair = [first, whole_numbers(builder, first.shape)]
    shape = together(pair[0].shape, pair[1].shape)
    if shape is None:
        return
    fused = op.activates and first.dtype == FLOAT and builder.source.odds(0.15)
    attributes = {"fused_activation_function": choose.choice(("RELU", "RELU6"))} if fused else {}
    kept = op.name != "POW"  # what overflows is not defined, and a power of a power does
    builder.add(op.name, pair, shape, op.result or first.dtype, free=aligned(pair), kept=kept, **attributes)


def whole_numbers(builder: GraphBuilder, base: Concrete) -> Known:
    """Exponents by which LiteRT multiplies, where there is one of them."""
    shape = builder.part(base) if builder.source.odds(0.5) else (1,) * builder.source.choose.randrange(len(base) + 2)
    return builder.constant(shape, FLOAT, [builder.source.choose.choice((2, 3, 5)) for _ in range(prod(shape))])


def choice(builder: GraphBuilder) -> None:
    """A SELECT_V2."""
    first = builder.any(*ALL)
    second = builder.partner(first.shape, first.dtype)
    shape = together(first.shape, second.shape)
    if shape is None:
        return
    condition = builder.partner(shape, BOOL)
    whole = together(shape, condition.shape)
    if whole is not None:
        operands = [condition, first, second]
        builder.add("SELECT_V2", operands, whole, first.dtype, free=aligned(operands))


def old_choice(builder: GraphBuilder) -> None:
    """A SELECT: the condition is a scalar, a vector along axis 0, or whole."""
    first = builder.any(FLOAT, INT)
    second = builder.leaf(first.shape, first.dtype)
    kinds: list[Concrete] = [(), first.shape, *([first.shape[:1]] if first.shape else [])]
    condition = builder.leaf(builder.source.choose.choice(kinds), BOOL)
    builder.add("SELECT", [condition, first, second], first.shape, first.dtype)


def slope(builder: GraphBuilder) -> None:
    """A PRELU; its slope is broadcast onto the input."""
    x = builder.any(FLOAT, "int8", "uint8", "int16")
    cut = builder.source.choose.randrange(len(x.shape) + 1)
    part = tuple(1 if builder.source.odds(0.4) else size for size in x.shape[cut:])
    alpha = builder.leaf(part, "int8" if x.dtype == "int16" else x.dtype)
    builder.add("PRELU", [x, alpha], x.shape, x.dtype, free=x.free)


def product(builder: GraphBuilder) -> None:
    """A BATCH_MATMUL, either side transposed or not."""
    odds = builder.source.odds
    left = builder.any(FLOAT, "int8")
    if not 2 <= len(left.shape) <= MATRIX_RANK:
        left = builder.leaf((*builder.shape()[:3], 2, 3), left.dtype)
    turns = [odds(0.3), odds(0.3)]
    rows, depth = left.shape[-2:][:: -1 if turns[0] else 1]
    columns = builder.source.size()
    matrix = (columns, depth) if turns[1] else (depth, columns)
    batch = builder.part(left.shape[:-2])[-3:]
    right = builder.leaf((*batch, *matrix), left.dtype)
    whole = together(batch, left.shape[:-2])
    if whole is not None:
        switches = {name: True for name, turn in zip(("adj_x", "adj_y"), turns, strict=True) if turn}
        builder.add("BATCH_MATMUL", [left, right], (*whole, rows, columns), left.dtype, **switches)


def dense(builder: GraphBuilder) -> None:
    """A FULLY_CONNECTED without a bias."""
    x = builder.any(FLOAT)
    if not x.shape or 0 in x.shape:
        return
    units = builder.source.choose.choice((1, 2, 3))
    weights = builder.constant((units, x.shape[-1]), FLOAT)
    if builder.source.odds(0.6):
        builder.add("FULLY_CONNECTED", [x, weights], (*x.shape[:-1], units), FLOAT, keep_num_dims=True)
    else:
        builder.add("FULLY_CONNECTED", [x, weights], (prod(x.shape[:-1]), units), FLOAT)


def tiled(builder: GraphBuilder) -> None:
    """A TILE."""
    x = builder.any(FLOAT, INT, "int8", WORD)
    if not x.shape:
        return
    repeats = [builder.source.choose.choice((1, 1, 2, 3)) if size <= 3 else 1 for size in x.shape]
    shape = tuple(size * times for size, times in zip(x.shape, repeats, strict=True))
    if prod(shape) <= 800:
        builder.add("TILE", [x, builder.vector(repeats)], shape, x.dtype, free=x.free)
