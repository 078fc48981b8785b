"""Rules for the result sizes of matrix products, recurrent networks, losses, and operators on regions of images."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from graphfix.checker.proof.core.result import SOME_PIXELS, SOME_TERMS
from graphfix.checker.proof.onnx.operators.entry import Operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

MATRIX, STATES, GRIDS = 2, 3, 4
"""Ranks: of a matrix, of the input of a recurrent network, and the lowest rank of data that a grid samples."""


def gemm(call: Call, a: int, b: int) -> Dims:
    """Return the dims [rows, columns] of the product of operands `a` and `b` (indices), which may be transposed.

    A size is None if it is unknown. A third operand, which is added, never changes the shape.
    """
    one, two = call.sizes(a), call.sizes(b)
    first, second = call.flag("transA"), call.flag("transB")
    rows = one[int(first)] if one is not None and len(one) == MATRIX and first is not None else None
    columns = two[1 - int(second)] if two is not None and len(two) == MATRIX and second is not None else None
    return rows, columns


def stacked(call: Call, one: Sizes | None, two: Sizes | None) -> Dims:
    """Return the shape of the product of two stacks of matrices, as numpy's matmul does; None if it is unknown.

    `one` and `two` are the operands' shapes. A vector has no axis in the result: [5,2,3] and [3] -> [5,2].
    """
    if not one or not two:
        return None
    batch = call.table.algebra.broadcast_shape(one[:-MATRIX], two[:-MATRIX])
    if not has_both_batches(call, one[:-MATRIX], two[:-MATRIX], (one[-1], two[-MATRIX:][0])):
        return None
    return (*batch, *one[-MATRIX:-1], *(two[-1:] if len(two) >= MATRIX else ()))


def has_both_batches(call: Call, one: Sizes, two: Sizes, summed: Sizes) -> bool:
    """Return whether the result of a matrix product has the broadcast of the batch shapes `one` and `two`, as in numpy.

    If the sum is over a size of 0, onnxruntime returns the batch of the first operand instead. `summed` is the size
    that is summed over, for each operand. If it may be 0, and the first batch is not the broadcast, the proof assumes
    that it is not 0.
    """
    if (1,) * (len(two) - len(one)) + one == call.table.algebra.broadcast_shape(one, two):
        return True
    if 0 not in summed and max(map(call.table.arithmetic.least, summed)) < 1:
        call.table.assumptions[SOME_TERMS] = None
    return 0 not in summed


def _recurrent(call: Call, index: int) -> Dims:
    """Return the dims of result `index` of an LSTM, GRU or RNN.

    Result 0 is Y[seq,directions,batch,hidden], and the others are states [directions,batch,hidden]. With `layout` 1 the
    batch is axis 0, in operand 0 too.
    """
    data, weights, layout = call.sizes(0), call.sizes(2), call.flag("layout")
    if layout is None or index > MATRIX:
        return None
    steps, batch = data[:MATRIX] if data is not None and len(data) == STATES else (None, None)
    if layout:
        steps, batch = batch, steps
    count = directions(call)
    stated = weights[2] if weights is not None and len(weights) == STATES else None
    hidden = call.integer("hidden_size", 0) or stated
    if index:
        return (batch, count, hidden) if layout else (count, batch, hidden)
    return (batch, steps, count, hidden) if layout else (steps, count, batch, hidden)


def directions(call: Call) -> int | None:
    """Return the number of directions of a recurrent operator, 1 or 2.

    Return None if the attribute `direction` is not valid.
    """
    return {b"forward": 1, b"reverse": 1, b"bidirectional": 2}.get(call.text("direction", b"forward"))


def _einsum(call: Call) -> Dims:
    """Return the dims of an Einsum by the letters of its equation; None for an ellipsis or an invalid equation."""
    equation = call.text("equation").decode("ascii", "replace").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not all(letter.isalpha() for letter in left.replace(",", "") + right) or len(terms) != len(call.views):
        return None
    counted = Counter("".join(terms))
    result = right if arrow else "".join(sorted(letter for letter, count in counted.items() if count == 1))
    shapes = [call.sizes(at) for at in range(len(terms))]
    if any(sizes is not None and len(sizes) != len(term) for sizes, term in zip(shapes, terms, strict=True)):
        return None
    return tuple(_letter(letter, terms, shapes) for letter in result)


def _letter(letter: str, terms: Sequence[str], shapes: Sequence[Sizes | None]) -> Size | None:
    """Return the size of a letter of an Einsum; None if it is unknown.

    A size of 1 is stretched. So if exactly one number above 1 occurs for the letter, that number is the size. `terms`
    are the operands' letters and `shapes` their shapes.
    """
    found: set[Size | None] = set()
    for term, sizes in zip(terms, shapes, strict=True):
        if letter in term:
            found |= {None} if sizes is None else {size for at, size in zip(term, sizes, strict=True) if at == letter}
    large_sizes = [size for size in found if isinstance(size, int) and size > 1]
    return large_sizes[0] if len(large_sizes) == 1 else found.pop() if len(found) == 1 else None


def grid_sample(call: Call, data: Sizes | None) -> Dims:
    """Return the shape of a GridSample of data[batch,channels,...] at operand 1, a grid[batch,...,coordinates].

    `data` is the shape of the data. Return None if a rank is unknown, below 4, or different.
    """
    grid = call.sizes(1)
    if data is None or grid is None or len(data) < GRIDS or len(grid) != len(data):
        return None
    return (*data[:MATRIX], *grid[1:-1])


def _roi_align(call: Call) -> Dims:
    """Return the dims of a RoiAlign: [count, channels, height, width].

    Operand 0 is X[batch,channels,rows,columns], and operand 1 is regions[count,4]. Height and width are attributes.
    Return None if the image is empty or a rank is unknown.
    """
    data, regions = call.sizes(0), call.sizes(1)
    if data is None or regions is None or len(data) != GRIDS or len(regions) != MATRIX or not _has_pixels(call, data):
        return None
    return regions[0], data[1], call.integer("output_height", 1), call.integer("output_width", 1)


def _instance_norm(call: Call) -> Dims:
    """Return the dims of an InstanceNormalization of X[batch,channels,...], which are those of X.

    Return None if the image is empty.
    """
    data = call.sizes(0)
    return data if data is not None and _has_pixels(call, data) else None


def _has_pixels(call: Call, data: Sizes) -> bool:
    """Return whether no size behind the channels is 0. If a size may be 0, the proof assumes that it is not."""
    image = data[2:]
    if any(call.table.arithmetic.least(size) < 1 for size in image):
        call.table.assumptions[SOME_PIXELS] = None
    return 0 not in image


def _determinant(call: Call) -> Dims:
    """Return the dims of a Det: those of its operand without the last two axes, which are matrices."""
    data = call.sizes(0)
    return None if data is None or len(data) < MATRIX else data[:-MATRIX]


def _loss(call: Call, index: int) -> Dims:
    """Return the dims of a result of a loss of scores[batch,classes,...] for labels[batch,...].

    Result 0 is a loss for each label if `reduction` is none, else one number. Result 1 is the logarithm of the scores.
    """
    if index:
        return call.sizes(0)
    return call.sizes(1) if call.text("reduction") == b"none" else ()


def _multinomial(call: Call) -> Dims:
    """Return the dims of a Multinomial: [batch, sample_size]."""
    data, count = call.sizes(0), call.integer("sample_size", 1)
    return None if data is None or len(data) != MATRIX or count < 0 else (data[0], count)


OPERATORS: Operators = {
    "Gemm": Operator(sizes=lambda call: gemm(call, 0, 1)),
    "MatMulInteger": Operator(sizes=lambda call: stacked(call, call.sizes(0), call.sizes(1))),
    "QLinearMatMul": Operator(sizes=lambda call: stacked(call, call.sizes(0), call.sizes(3))),
    "Einsum": Operator(sizes=_einsum),
    "Det": Operator(sizes=_determinant),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), Operator(each_size=_recurrent)),
    "RotaryEmbedding": Operator(sizes=lambda call: call.sizes(0)),
    # The scale and the zero point are scalars.
    "DynamicQuantizeLinear": Operator(each_size=lambda call, index: () if index else call.sizes(0)),
    "InstanceNormalization": Operator(sizes=_instance_norm),
    "RoiAlign": Operator(sizes=_roi_align),
    "GridSample": Operator(sizes=lambda call: grid_sample(call, call.sizes(0))),
    "NonMaxSuppression": Operator(sizes=lambda _: (None, 3)),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), Operator(each_size=_loss)),
    "Multinomial": Operator(sizes=_multinomial),
}
