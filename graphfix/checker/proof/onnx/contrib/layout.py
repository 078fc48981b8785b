"""Rules for operators of com.microsoft that move, look up or count elements, and for operators that split texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import integer_type
from graphfix.checker.proof.neutral.integer_values import span
from graphfix.checker.proof.onnx.contrib.results import Result, constant, kind_of, ranked, same_as, typed, with_sizes
from graphfix.checker.proof.onnx.operators.concat import joined
from graphfix.checker.proof.onnx.operators.slice_and_pad import slice_sizes

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

MATRIX, TOKENS, IMAGE = 2, 3, 4
"""Ranks: of a matrix, of tokens [batch,positions,hidden], and of an image [batch,channels,rows,columns]."""
PARTS = 3
"""The number of operands of QLinearConcat for each tensor: the tensor, its scale and its zero point."""
BYTE = 8
"""The number of bits of a byte."""


def _free(call: Call, more: int = 0) -> Dims:
    """Return dims that are all unknown, of operand 0's rank plus `more`; None if the rank is unknown."""
    rank = call.rank(0)
    return None if rank is None else (None,) * (rank + more)


def _expanded(call: Call) -> Dims:
    """Return the dims of an ExpandDims, which inserts an axis of size 1; operand 1 is the position."""
    sizes, axis = call.sizes(0), numbers(call.content(1))
    if sizes is None or axis is None or len(axis) != 1 or not -len(sizes) - 1 <= axis[0] <= len(sizes):
        return _free(call, 1)
    at = axis[0] + len(sizes) + 1 if axis[0] < 0 else axis[0]
    return (*sizes[:at], 1, *sizes[at:])


def _gathered_points(call: Call) -> Dims:
    """Return the dims of a GatherND whose points have as many coordinates as the data has axes, else None.

    For fewer coordinates, onnxruntime infers one axis too many.
    """
    data, indices = call.sizes(0), call.sizes(1)
    return indices[:-1] if data and indices and indices[-1] == len(data) else None


def _padded(call: Call) -> Dims:
    """Return the dims of a Pad; all are unknown if the padding (operand 1) is unknown."""
    sizes, pads = call.sizes(0), call.content(1)
    if sizes is None or pads is None or len(pads) != 2 * len(sizes):
        return _free(call)
    ends = zip(sizes, pads, pads[len(sizes) :], strict=False)
    return tuple(_natural(call.table.arithmetic.add(*each)) for each in ends)


def _natural(size: Size | None) -> Size | None:
    """Return `size`, or None if it is a number below 0."""
    return None if isinstance(size, int) and size < 0 else size


def _counted(call: Call) -> Dims:
    """Return the length of a Range of known integers, in a tuple; None in the tuple if it is unknown.

    Operand 2, the step, is 1 by default.
    """
    ends = [call.content(at) for at in range(2 if call.operand(2) is None else 3)]
    counts = numbers([end[0] if end else None for end in ends])
    kinds = {None if view is None else integer_type(view) for view in call.views}
    if counts is None or len(kinds) != 1 or None in kinds:
        return (None,)
    start, limit, step = (*counts, 1)[:3]
    return (span(start, limit, step) if step else None,)


def _unfolded(call: Call) -> Dims:
    """Return the dims of an UnfoldTensor: [..., windows, ..., elements of a window].

    It reads windows of `size` elements along the axis `dim`, with a distance of `step`. The elements of a window are a
    new last axis.
    """
    sizes, size, step, axis = call.sizes(0), call.integer("size", 0), call.integer("step", 1), call.integer("dim", -1)
    if sizes is None or size < 1 or step < 1 or not -len(sizes) <= axis < len(sizes):
        return _free(call, 1)
    axis %= len(sizes)
    room = call.table.arithmetic.add(sizes[axis], -size)
    steps = (
        None if room is None or call.table.arithmetic.least(room) < 0 else call.table.arithmetic.floordiv(room, step)
    )
    count = None if steps is None else call.table.arithmetic.add(steps, 1)
    return (*sizes[:axis], count, *sizes[axis + 1 :], size)


def _concatenated(call: Call) -> Dims:
    """Return the dims of a QLinearConcat; None if the number of operands is not 2 plus a multiple of 3."""
    if (len(call.views) - 2) % PARTS:
        return None
    return joined(call, [call.sizes(at) for at in range(2, len(call.views), PARTS)])


def _looked_up(call: Call) -> Dims:
    """Return the dims of a GatherBlockQuantized, where the axes of the indices replace `gather_axis`.

    The elements of uint8 data are bytes that contain several elements of the last axis. The result has these elements.
    """
    data, indices, axis = call.sizes(0), call.sizes(1), call.integer("gather_axis", 0)
    kind = kind_of(0)(call)
    if not data or indices is None or kind is None or not -len(data) <= axis < len(data):
        return None
    axis, bits = axis % len(data), call.integer("bits", 4)
    made = (*data[:axis], *indices, *data[axis + 1 :])
    if kind != TensorProto.UINT8:
        return made
    if axis == len(data) - 1 or bits < 1 or BYTE % bits:
        return None
    return (*made[:-1], call.table.arithmetic.mul(made[-1], BYTE // bits))


def _by_packed_rows(call: Call) -> Dims:
    """Return the dims of a GatherPacked: the indices' shape, then rows of K elements."""
    indices, width = call.sizes(1), call.integer("K", 0)
    return None if indices is None or width < 1 else (*indices, width)


def _embedded(call: Call) -> Dims:
    """Return the dims of a TorchEmbedding: the indices' shape, then the row size of the table."""
    table, indices = call.sizes(0), call.sizes(1)
    return None if table is None or indices is None or len(table) != MATRIX else (*indices, table[1])


def _tokens(call: Call) -> Dims:
    """Return the dims of a Tokenizer: the operand's shape and a new last axis; None unless all sizes are above 0.

    A size that is not a number may be 0, so None is returned for it too.
    """
    sizes = call.sizes(0)
    return (*sizes, None) if sizes and all(isinstance(size, int) and size for size in sizes) else None


def _cropped(call: Call) -> Dims:
    """Return the dims of a CropAndResize: [regions, channels, rows, columns].

    Operand 3 states rows and columns, which are None if it is not constant.
    """
    data, regions = call.sizes(0), call.sizes(1)
    if data is None or regions is None or len(data) != IMAGE or len(regions) != MATRIX:
        return None
    plane = constant(call, 3, 2)
    return (regions[0], data[1], *(plane or (None, None)))


def _cut_out(call: Call) -> Dims:
    """Return the dims of a Crop of an image, whose attribute `border` states left, top, right, bottom.

    If the attribute `scale` is present, it states rows and columns of the result.
    """
    data, border, plane = call.sizes(0), call.integers("border"), call.integers("scale")
    if data is None or len(data) != IMAGE or border is None or len(border) != IMAGE:
        return _free(call)
    if plane:
        return (*data[:2], *plane) if len(plane) == MATRIX and min(plane) > 0 else _free(call)
    left, top, right, bottom = border
    rows, columns = (
        call.table.arithmetic.add(size, -cut) for size, cut in zip(data[2:], (top + bottom, left + right), strict=True)
    )
    return *data[:2], _natural(rows), _natural(columns)


def _restored(call: Call) -> Dims:
    """Return the dims of a RestorePadding: [batch, positions, hidden], for tokens[count,hidden]."""
    tokens, places = call.sizes(0), call.sizes(1)
    if tokens is None or places is None or len(tokens) != MATRIX or len(places) != MATRIX:
        return None
    return (*places, tokens[1])


def _compressed(call: Call) -> Dims:
    """Return the dims of a RemovePadding's result 0: [tokens, hidden], where the number of tokens is unknown."""
    data = call.sizes(0)
    return (None, data[2] if data is not None and len(data) == TOKENS else None)


def _places(call: Call) -> Dims:
    """Return the dims of a RemovePadding's result 1, the positions of tokens: [batch, positions]."""
    data = call.sizes(0)
    return data[:2] if data is not None and len(data) == TOKENS else None


def _ends(call: Call) -> Dims:
    """Return the dims of a RemovePadding's result 2, the first token of each text and the end: [batch + 1]."""
    data = call.sizes(0)
    return (call.table.arithmetic.add(data[0], 1),) if data else None


def _stated(call: Call) -> Kind:
    """Return the element type that the attribute `output_dtype` states; bfloat16 by default."""
    return call.integer("output_dtype", TensorProto.BFLOAT16)


OPERATORS: Operators = {
    "ExpandDims": (with_sizes(0, _expanded),),
    "GatherND": (with_sizes(0, _gathered_points),),
    "GatherBlockQuantized": (with_sizes(2, _looked_up),),
    "GatherPacked": (Result(_by_packed_rows, _stated),),
    "TorchEmbedding": (with_sizes(0, _embedded),),
    "Pad": (with_sizes(0, _padded),),
    "Range": (with_sizes(0, _counted),),
    "UnfoldTensor": (with_sizes(0, _unfolded),),
    "QLinearConcat": (with_sizes(1, _concatenated),),
    "Unique": (
        with_sizes(0, ranked(1)), typed(TensorProto.INT64, same_as(0).sizes), typed(TensorProto.INT64, ranked(1)),
    ),
    "Tokenizer": (with_sizes(0, _tokens),),
    "CropAndResize": (with_sizes(0, _cropped),),
    "DynamicTimeWarping": (typed(TensorProto.INT32, lambda _: (2, None)),),
    "BifurcationDetector": (with_sizes(1, ranked(1)), with_sizes(2, ranked(0))),
    "IsAllFinite": (typed(TensorProto.BOOL, ranked(0)),),
    "RemovePadding": (
        with_sizes(0, _compressed), with_sizes(1, _places), with_sizes(1, _ends), with_sizes(1, lambda _: (1,)),
    ),
    "RestorePadding": (with_sizes(0, _restored),),
    # Searches return [batch, ...]. The length of the texts is known only when the model runs.
    "BeamSearch": (typed(TensorProto.INT32, ranked(3)), with_sizes(5, ranked(2)), with_sizes(5, ranked(4))),
    "WhisperBeamSearch": (typed(TensorProto.INT32, ranked(3)),),
    "GreedySearch": (typed(TensorProto.INT32, ranked(2)),),
    "Sampling": (typed(TensorProto.INT32, ranked(2)),),
}  # fmt: skip
"""The rules of the operators of com.microsoft, by operator."""
STANDARD: Operators = {"Crop": (with_sizes(0, _cut_out),), "DynamicSlice": (with_sizes(0, slice_sizes),)}
"""The rules of onnxruntime's own operators in the standard domain, by operator."""
