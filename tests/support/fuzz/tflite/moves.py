"""Steps of random TFLite models: operators that convert, rearrange, join, cut or reduce what others broadcast."""

from __future__ import annotations

from math import prod

from tests.support.fuzz.tflite.graph_builder import BOOL, FLOAT, INT, LONG, SCALED, GraphBuilder, Known, together


def unary(builder: GraphBuilder) -> None:
    """An operator that keeps the shape."""
    x = builder.any(FLOAT, INT, LONG, "int8", "int16")
    names = {FLOAT: ("NEG", "ABS", "RELU", "FLOOR", "SQUARE", "LOGISTIC"), INT: ("NEG", "ABS"), LONG: ("NEG",)}
    if x.dtype in names:
        builder.add(builder.source.choose.choice(names[x.dtype]), [x], x.shape, x.dtype, free=x.free)
    elif not x.constant:  # XNNPACK leaves what it makes of a constant unset where that is an output
        builder.add("DEQUANTIZE", [x], x.shape, FLOAT, free=x.free)


def converted(builder: GraphBuilder) -> None:
    """A CAST, or a QUANTIZE."""
    x = builder.any(FLOAT, INT, BOOL)
    if x.dtype == FLOAT and builder.source.odds(0.5):
        builder.add("QUANTIZE", [x], x.shape, builder.source.choose.choice(SCALED), free=x.free)
    else:
        to = {FLOAT: INT, INT: LONG, BOOL: FLOAT}[x.dtype]
        builder.add("CAST", [x], x.shape, to, free=x.free)


def joined(builder: GraphBuilder) -> None:
    """A CONCATENATION or a PACK of two values of one shape, or of a value with itself."""
    x = builder.any(FLOAT, INT)
    same = [value for value in builder.values if value.shape == x.shape and value.dtype == x.dtype]
    other = builder.source.choose.choice(same) if same else x
    if x.shape and builder.source.odds(0.5):
        axis = builder.source.choose.randrange(-len(x.shape), len(x.shape))
        shape = tuple(size * (1 + (at == axis % len(x.shape))) for at, size in enumerate(x.shape))
        builder.add("CONCATENATION", [x, other], shape, x.dtype, axis=axis)
    elif len(x.shape) < 6:
        axis = builder.source.choose.randrange(len(x.shape) + 1)
        builder.add("PACK", [x, other], (*x.shape[:axis], 2, *x.shape[axis:]), x.dtype, axis=axis, values_count=2)


def gathered(builder: GraphBuilder) -> None:
    """A GATHER of one index or some."""
    x = builder.any(FLOAT, INT)
    axes = [axis for axis, size in enumerate(x.shape) if size]
    if not axes:
        return
    axis = builder.source.choose.choice(axes)
    some = tuple(builder.source.choose.randrange(x.shape[axis]) for _ in range(builder.source.choose.choice((1, 2))))
    scalar = builder.source.odds(0.4)
    indices = builder.number(0) if scalar else builder.vector(some)
    shape = (*x.shape[:axis], *(() if scalar else (len(some),)), *x.shape[axis + 1 :])
    builder.add("GATHER", [x, indices], shape, x.dtype, axis=axis)


def reduced(builder: GraphBuilder) -> None:
    """A MEAN, SUM or REDUCE_MAX over some axes, kept as 1 or not."""
    x = builder.any(FLOAT)
    axes = [axis for axis in range(len(x.shape)) if builder.source.odds(0.4)]
    if not axes or 0 in x.shape:
        return
    keeps = builder.source.odds(0.5)
    shape = tuple(1 if at in axes else size for at, size in enumerate(x.shape) if keeps or at not in axes)
    op = builder.source.choose.choice(("MEAN", "SUM", "REDUCE_MAX"))
    builder.add(op, [x, builder.vector(axes)], shape, FLOAT, keep_dims=keeps)


def padded(builder: GraphBuilder) -> None:
    """A PAD."""
    x = builder.any(FLOAT)
    if not 0 < len(x.shape) < 5:
        return
    amounts = [builder.source.choose.choice((0, 0, 1)) for _ in range(2 * len(x.shape))]
    shape = tuple(size + amounts[2 * at] + amounts[2 * at + 1] for at, size in enumerate(x.shape))
    builder.add("PAD", [x, builder.constant((len(x.shape), 2), INT, amounts)], shape, FLOAT)


def moved(builder: GraphBuilder) -> None:
    """A TRANSPOSE, EXPAND_DIMS or SQUEEZE."""
    choose = builder.source.choose
    x = builder.any(FLOAT, INT, BOOL)
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    kind = choose.randrange(3)
    if kind == 0 and 1 < len(x.shape) < 6:
        order = list(range(len(x.shape)))
        choose.shuffle(order)
        shape = tuple(x.shape[axis] for axis in order)
        free = None if x.free is None else tuple(x.free[axis] for axis in order)
        builder.add("TRANSPOSE", [x, builder.vector(order)], shape, x.dtype, free=free)
    elif kind == 1 and ones:
        gone = ones if builder.source.odds(0.4) else [choose.choice(ones)]
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in gone)
        named = {} if len(gone) == len(ones) and not x.varies and builder.source.odds(0.5) else {"squeeze_dims": gone}
        builder.add("SQUEEZE", [x], shape, x.dtype, **named)
    elif len(x.shape) < 6:
        axis = choose.randrange(len(x.shape) + 1)
        free = None if x.free is None else (*x.free[:axis], False, *x.free[axis:])
        shape = (*x.shape[:axis], 1, *x.shape[axis:])
        builder.add("EXPAND_DIMS", [x, builder.number(axis)], shape, x.dtype, free=free)


def reshaped(builder: GraphBuilder) -> None:
    """A RESHAPE: stated, with a -1, by the option alone, or as another value's shape computed when it runs."""
    odds, choose = builder.source.odds, builder.source.choose
    x = builder.any(FLOAT, INT, BOOL, "int8")
    others = [value for value in builder.values if value is not x and prod(value.shape) == prod(x.shape)]
    if others and odds(0.5):
        other = choose.choice(others)
        builder.add("RESHAPE", [x, sizes(builder, other)], other.shape, x.dtype, free=other.free if other.shape else ())
        return
    shape = list(x.shape)
    if len(shape) > 1 and odds(0.5):
        at = choose.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    if len(shape) < 6 and odds(0.5):
        shape.insert(choose.randrange(len(shape) + 1), 1)
    to = [*shape]
    if to and 0 not in to and (x.varies or odds(0.4)):
        to[choose.randrange(len(to))] = -1
    if odds(0.3):
        builder.add("RESHAPE", [x], tuple(shape), x.dtype, new_shape=to)
    else:
        builder.add("RESHAPE", [x, builder.vector(to)], tuple(shape), x.dtype)


def stretched(builder: GraphBuilder) -> None:
    """A BROADCAST_TO, to a stated shape or to that of another value."""
    x = builder.any(FLOAT, INT, BOOL, "int8")
    other = builder.partner(x.shape, x.dtype)
    to = together(x.shape, other.shape)
    if to is None:
        return
    if to == other.shape and builder.source.odds(0.6):
        target, free = sizes(builder, other), other.free
    else:
        target, free = builder.vector(to), (False,) * len(to)
    builder.add("BROADCAST_TO", [x, target], to, x.dtype, free=free if to else ())


def sizes(builder: GraphBuilder, of: Known) -> Known:
    """The shape of a value as it is computed in real models: whole, or put together axis by axis."""
    rank = len(of.shape)
    shape = builder.add(
        "SHAPE", [of], (rank,), INT, free=None if of.free is None else (False,), kept=False, out_type="INT32"
    )
    if not rank or builder.source.odds(0.4):
        return shape
    way = builder.source.choose.randrange(3)
    parts = [_size(builder, shape, axis, of.shape[axis], way) for axis in range(rank)]
    if way == 0:
        return builder.add("PACK", parts, (rank,), INT, free=(False,), kept=False, axis=0, values_count=rank)
    return builder.add("CONCATENATION", parts, (rank,), INT, free=(False,), kept=False, axis=0)


def _size(builder: GraphBuilder, shape: Known, axis: int, size: int, way: int) -> Known:
    """One size of a shape: a scalar for a PACK, a vector of one element else."""
    if builder.source.odds(0.15):
        return builder.number(size) if way == 0 else builder.vector([size])
    if way == 2:
        return builder.add("GATHER", [shape, builder.vector([axis])], (1,), INT, free=(False,), kept=False, axis=0)
    cut = [shape, builder.vector([axis]), builder.vector([axis + 1]), builder.vector([1])]
    shape_, mask = ((), 1) if way == 0 else ((1,), 0)
    free = () if way == 0 else (False,)
    return builder.add("STRIDED_SLICE", cut, shape_, INT, free=free, kept=False, shrink_axis_mask=mask)
