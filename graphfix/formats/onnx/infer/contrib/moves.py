"""Operators that move, cut, pad, join, look up and count elements.

Sources: onnxruntime's docs/ContribOperators.md and its CPU kernels; the experimental operators of ONNX's own domain are
those that onnxruntime still registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.contrib.operator import (
    BOOL,
    FLOAT,
    INT32,
    INT64,
    MICROSOFT,
    SAME,
    STRING,
    Attributes,
    Operator,
    fixed,
    like,
    since,
    type_attribute,
)
from graphfix.formats.onnx.infer.operators import generators, indexing, joining, slicing, windows
from graphfix.formats.onnx.infer.operators.elementwise import always
from graphfix.formats.onnx.infer.operators.reductions import reduce
from graphfix.formats.onnx.infer.operators.reshaping import IMAGE
from graphfix.formats.onnx.infer.sizes import (
    normalized_axes,
    positive,
    product,
    ranked,
    scalar,
    total,
    unknowns,
    with_size,
)
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.dim import UNKNOWN, Shape, Size
from graphfix.shapes.terms import as_size, bounds

BOUNDS_ARE_OPERANDS = 18
"""An operator set in which axes, pads and bounds are operands."""
BYTE = 8
"""Bits of a byte."""


def _expand_dims(call: Call) -> Results:
    """Return the result shape of ExpandDims, which inserts a unit axis.

    Operand 1 contains the position of the unit axis in the result. If the position is unknown, only the rank is known.
    """
    dims, axis = call.dims(0), call.scalar(1)
    if dims is None:
        return NOTHING
    at = normalized_axes((axis,), len(dims) + 1) if isinstance(axis, int) else None
    return (unknowns(len(dims) + 1),) if at is None else (Shape((*dims[: at[0]], 1, *dims[at[0] :])),)


def _unfold_tensor(call: Call) -> Results:
    """Return the result shape of UnfoldTensor, which cuts windows of `size` elements along the axis `dim`.

    Windows begin `step` elements apart. The axis gets the number of windows, and a new last axis has the size `size`.
    """
    dims, size, step = call.dims(0), call.number("size", 0), call.number("step", 1)
    if not dims:
        return NOTHING
    at = normalized_axes((call.number("dim", -1),), len(dims))
    if at is None or size < 1 or step < 1:
        return (unknowns(len(dims) + 1),)
    image = dims[at[0]]
    fits = not isinstance(image, int) or image >= size
    count = as_size(call.terms.floordiv(image, step, step - size)) if fits else UNKNOWN
    return (Shape((*with_size(dims, at[0], count).dims, size)),)


def _concat(call: Call) -> Results:
    """Return the result shape of QLinearConcat, by the rule of Concat.

    Operands 0 and 1 are the result's scale and zero point. Then each tensor is followed by its scale and zero point.
    """
    return joining.concat(call.reading(range(2, len(call.inputs), 3)))


def _unique(call: Call) -> Results:
    """Return the result shapes of Unique for a vector [n]: distinct elements [?], indices [n], counts [?].

    Each index is the position of an input element among the distinct elements.
    """
    return (unknowns(1), call.shape(0), unknowns(1))


def _gather_block_quantized(call: Call) -> Results:
    """Return the result shape of GatherBlockQuantized: as Gather, but elements may be packed in bytes.

    A uint8 contains 8 / `bits` elements of the last axis, so the last axis gets longer. Other types contain one
    element.
    """
    data = call.dims(0)
    indices = call.dims(1)
    at = None if data is None else normalized_axes((call.number("gather_axis", 0),), len(data))
    if not data or indices is None or at is None:
        return NOTHING
    gathered = (*data[: at[0]], *indices, *data[at[0] + 1 :])
    code, bits = call.dtype(0), call.number("bits", 4)
    if code and code != TensorProto.UINT8:
        return (Shape(gathered),)
    if not code or at[0] == len(data) - 1 or bits not in (2, 4, 8):
        return (unknowns(len(gathered)),)
    return (with_size(gathered, len(gathered) - 1, product(call.terms, data[-1], BYTE // bits)),)


def _gather_packed(call: Call) -> Results:
    """Return the result shape of GatherPacked: the shape of the indices, followed by the attribute `K`."""
    indices = call.dims(1)
    return NOTHING if indices is None else (Shape((*indices, positive(call, "K"))),)


def _embedding(call: Call) -> Results:
    """Return the result shape of TorchEmbedding: the shape of the indices, followed by M of the table [N,M]."""
    table, indices = ranked(call, 0, 2), call.dims(1)
    return NOTHING if indices is None else (Shape((*indices, table[1] if table else UNKNOWN)),)


def _word_embedding(call: Call) -> Results:
    """Return the result shape of WordConvEmbedding: [words,count], from [words,letters] and filters [count,..]."""
    words, filters = ranked(call, 0, 2), call.dims(1)
    return (Shape((words[0] if words else UNKNOWN, filters[0] if filters else UNKNOWN)),)


def _tokenizer(call: Call) -> Results:
    """Return the result shape of Tokenizer: the operand's shape with a new last axis of unknown size.

    Return NOTHING if an axis may have size 0, because onnxruntime adds no axis if there are no strings.
    """
    dims = call.dims(0)
    filled = dims is not None and all(bounds(size)[0] > 0 for size in dims)
    return (Shape((*dims, UNKNOWN)),) if dims is not None and filled else NOTHING


def _crop(call: Call) -> Results:
    """Return the result shape of Crop for an image [N,C,H,W].

    If the attribute `scale` is present, it contains the new height and width. Otherwise the attribute `border` (left,
    top, right, bottom) contains the numbers of rows and columns that are cut off.
    """
    dims, border, sizes = call.dims(0), call.list("border"), call.list("scale")
    if dims is None or len(dims) != IMAGE:
        return NOTHING
    if sizes:
        return (Shape((*dims[:2], *sizes)),) if len(sizes) == 2 and min(sizes) >= 0 else (unknowns(IMAGE),)  # noqa: PLR2004 -- height and width
    if border is None or len(border) != IMAGE:
        return (unknowns(IMAGE),)
    left, top, right, bottom = border
    height, width = total(call.terms, dims[2], -top - bottom), total(call.terms, dims[3], -left - right)
    return (Shape((*dims[:2], height, width)),)


def _given_tensor_fill(call: Call) -> Results:
    """Return the result shape of GivenTensorFill: the attribute `shape`, followed by `extra_shape`.

    Return NOTHING if operand 0 is present, if `shape` is absent, or if a size is negative.
    """
    wanted, more = call.list("shape"), call.list("extra_shape") or ()
    if call.has(0) or wanted is None or min((*wanted, *more), default=0) < 0:
        return NOTHING
    return (Shape((*wanted, *more)),)


def _rfft(call: Call) -> Results:
    """Return the result shape of Rfft: `[..,n]` -> `[..,n/2+1,2]`, with n/2 rounded down."""
    dims = call.dims(0)
    return (Shape((*dims[:-1], total(call.terms, call.terms.floordiv(dims[-1], 2), 1), 2)),) if dims else NOTHING


def _irfft(call: Call) -> Results:
    """Return the result shape of Irfft: `[..,m,2]` -> `[..,2*(m-1)]`."""
    dims = call.dims(0)
    if dims is None or len(dims) < 2:  # noqa: PLR2004 -- the last axis holds the two parts of a number
        return NOTHING
    return (Shape((*dims[:-2], total(call.terms, call.terms.mul(dims[-2], 2), -2))),)


def _relative_position_bias(call: Call) -> Results:
    """Return the result shape of RelativePositionBias: [1,heads,query,key], from a table [buckets,heads].

    Operands 1 and 2 contain the lengths of query and key.
    """
    table = ranked(call, 0, 2)
    return (Shape((1, table[1] if table else UNKNOWN, scalar(call, 1), scalar(call, 2))),)


def _remove_padding(call: Call) -> Results:
    """Return the result shapes of RemovePadding for operand 0, [batch,sequence,hidden].

    The results are the tokens [?,hidden], the tokens' offsets [batch,sequence], the cumulative sequence lengths
    [batch+1], and the greatest sequence length [1].
    """
    dims = ranked(call, 0, 3)
    batch, sequence, hidden = dims or (UNKNOWN,) * 3
    return (Shape((UNKNOWN, hidden)), Shape((batch, sequence)), Shape((total(call.terms, batch, 1),)), Shape((1,)))


def _restore_padding(call: Call) -> Results:
    """Return the result shape of RestorePadding: [batch,sequence,hidden].

    Operand 0 contains the tokens [?,hidden], and operand 1 the tokens' offsets [batch,sequence].
    """
    tokens, offsets = ranked(call, 0, 2), ranked(call, 1, 2)
    return (Shape((*(offsets or (UNKNOWN,) * 2), tokens[1] if tokens else UNKNOWN)),)


def _hashes(call: Call, tokens: tuple[Size, ...]) -> tuple[Shape, int]:
    """Return the shape of the n-gram hashes, `tokens` with a last axis, and the number of token ids in the history.

    The last axis has one hash for each head of each n-gram order from 2 to `max_ngram_size`. The history has
    `max_ngram_size` - 1 ids, which may be 0 or negative in an invalid model.
    """
    kept, heads = call.number("max_ngram_size", 0) - 1, call.number("n_head_per_ngram", 0)
    return Shape((*tokens, kept * heads if min(kept, heads) > 0 else UNKNOWN)), kept


def _ngram_hash_mapping(call: Call) -> Results:
    """Return the result shapes of NGramHashMapping for ids [batch,sequence].

    The results are the hashes, and the last ids [batch,ids] of each sequence.
    """
    dims = ranked(call, 0, 2) or (UNKNOWN,) * 2
    hashes, kept = _hashes(call, dims)
    return (hashes, Shape((dims[0], kept if kept > 0 else UNKNOWN)))


def _varlen_ngram_hash_mapping(call: Call) -> Results:
    """Return the result shapes of VarlenNGramHashMapping for packed tokens [total].

    The results are the hashes, two histories of ids [batch,ids], and captured ids [batch,capacity,ids]. Operand 3
    contains the bounds [batch+1] of the sequences.
    """
    (tokens,), ends = ranked(call, 0, 1) or (UNKNOWN,), ranked(call, 3, 1)
    hashes, kept = _hashes(call, (tokens,))
    batch = total(call.terms, ends[0], -1) if ends else UNKNOWN
    ids: Size = kept if kept > 0 else UNKNOWN
    capacity: Size = max(call.number("state_update_capacity", 0), 0)
    return (hashes, Shape((batch, ids)), Shape((batch, ids)), Shape((batch, capacity, ids)))


def _dynamic_time_warping(_: Call) -> Results:
    """Return the result shape of DynamicTimeWarping: [2,?], the two coordinates of each point of a path."""
    return (Shape((2, UNKNOWN)),)


def _bifurcation_detector(_: Call) -> Results:
    """Return the result shapes of BifurcationDetector: a vector of tokens, and a scalar, the position of a suffix."""
    return (unknowns(1), Shape(()))


def _dequantize_bfp(call: Call) -> Results:
    """Return the result shape of DequantizeBFP: operand 1 contains the shape; its length alone decides the rank."""
    length, wanted = call.length(1), call.content(1)
    if wanted is not None and wanted.axes is not None:
        return (Shape(tuple(map(as_size, wanted.axes))),)
    return NOTHING if length is None else (unknowns(length),)


SUMS: Mapping[int, int] = {TensorProto.INT8: TensorProto.INT32, TensorProto.UINT8: TensorProto.UINT32}


def _sum_type(types: Sequence[int], _: Attributes) -> int:
    """Return the type of a sum of 8-bit integers: int32 for int8, uint32 for uint8, else 0 (unknown)."""
    return SUMS.get(types[0], 0) if types else 0


OPERATORS: Mapping[tuple[str, str], Operator] = {
    ("", "Crop"): Operator(_crop, SAME),
    ("", "DynamicSlice"): Operator(since(BOUNDS_ARE_OPERANDS, slicing.slices), SAME),
    ("", "GivenTensorFill"): Operator(_given_tensor_fill, (like(0),)),
    (MICROSOFT, "BifurcationDetector"): Operator(_bifurcation_detector, (INT64,)),
    (MICROSOFT, "DequantizeBFP"): Operator(_dequantize_bfp, (type_attribute("dtype", FLOAT),)),
    (MICROSOFT, "DynamicTimeWarping"): Operator(_dynamic_time_warping, (INT32,)),
    (MICROSOFT, "ExpandDims"): Operator(_expand_dims, SAME, moves="Unsqueeze"),
    (MICROSOFT, "GatherBlockQuantized"): Operator(_gather_block_quantized, (like(2),)),
    (MICROSOFT, "GatherND"): Operator(indexing.gather_nd, SAME),
    (MICROSOFT, "GatherPacked"): Operator(
        _gather_packed, (type_attribute("output_dtype", fixed(TensorProto.BFLOAT16)),)
    ),
    (MICROSOFT, "GridSample"): Operator(windows.grid_sample, SAME),
    (MICROSOFT, "Irfft"): Operator(_irfft, SAME),
    (MICROSOFT, "IsAllFinite"): Operator(always(0), (BOOL,)),
    (MICROSOFT, "NGramHashMapping"): Operator(_ngram_hash_mapping, SAME),
    (MICROSOFT, "Pad"): Operator(since(BOUNDS_ARE_OPERANDS, slicing.pad), SAME),
    (MICROSOFT, "QLinearConcat"): Operator(_concat, (like(1),)),
    (MICROSOFT, "QLinearReduceMean"): Operator(reduce, SAME),
    (MICROSOFT, "Range"): Operator(generators.integer_range, SAME, moves="Range"),
    (MICROSOFT, "ReduceSumInteger"): Operator(reduce, (_sum_type,)),
    (MICROSOFT, "RelativePositionBias"): Operator(_relative_position_bias, SAME),
    (MICROSOFT, "RemovePadding"): Operator(_remove_padding, (like(0), INT32)),
    (MICROSOFT, "RestorePadding"): Operator(_restore_padding, SAME),
    (MICROSOFT, "Rfft"): Operator(_rfft, SAME),
    (MICROSOFT, "Tokenizer"): Operator(_tokenizer, (STRING,)),
    (MICROSOFT, "TorchEmbedding"): Operator(_embedding, SAME),
    (MICROSOFT, "UnfoldTensor"): Operator(_unfold_tensor, SAME),
    (MICROSOFT, "Unique"): Operator(_unique, (like(0), INT64)),
    (MICROSOFT, "VarlenNGramHashMapping"): Operator(_varlen_ngram_hash_mapping, (like(0), like(0), INT32, like(0))),
    (MICROSOFT, "WordConvEmbedding"): Operator(_word_embedding, (FLOAT,)),
}
