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
    """ExpandDims: insert a unit axis; operand 1 holds its position in the result."""
    dims, axis = call.dims(0), call.scalar(1)
    if dims is None:
        return NOTHING
    at = normalized_axes((axis,), len(dims) + 1) if isinstance(axis, int) else None
    return (unknowns(len(dims) + 1),) if at is None else (Shape((*dims[: at[0]], 1, *dims[at[0] :])),)


def _unfold_tensor(call: Call) -> Results:
    """UnfoldTensor: windows of `size` elements along an axis, `step` apart; their elements are a new last axis."""
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
    """QLinearConcat: scale and zero point of the result, then (tensor, scale, zero point) for each tensor."""
    return joining.concat(call.reading(range(2, len(call.inputs), 3)))


def _unique(call: Call) -> Results:
    """Unique of a vector [n]: the distinct elements, an index into these for each element, and their counts."""
    return (unknowns(1), call.shape(0), unknowns(1))


def _gather_block_quantized(call: Call) -> Results:
    """GatherBlockQuantized: a uint8 holds 8 / bits elements of the last axis; other types hold one element."""
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
    """GatherPacked: a row of `K` elements for each index."""
    indices = call.dims(1)
    return NOTHING if indices is None else (Shape((*indices, positive(call, "K"))),)


def _embedding(call: Call) -> Results:
    """TorchEmbedding: a row of the table [N,M] for each index."""
    table, indices = ranked(call, 0, 2), call.dims(1)
    return NOTHING if indices is None else (Shape((*indices, table[1] if table else UNKNOWN)),)


def _word_embedding(call: Call) -> Results:
    """WordConvEmbedding: characters [words,letters] and filters [count,..] to [words,count]."""
    words, filters = ranked(call, 0, 2), call.dims(1)
    return (Shape((words[0] if words else UNKNOWN, filters[0] if filters else UNKNOWN)),)


def _tokenizer(call: Call) -> Results:
    """Tokenizer: [C] or [N,C] strings get a last axis of tokens. Without strings onnxruntime adds no axis."""
    dims = call.dims(0)
    filled = dims is not None and all(bounds(size)[0] > 0 for size in dims)
    return (Shape((*dims, UNKNOWN)),) if dims is not None and filled else NOTHING


def _crop(call: Call) -> Results:
    """Crop: [N,C,H,W] without the borders (left, top, right, bottom), or cut to the sizes in `scale`."""
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
    """GivenTensorFill: the attribute `shape`, followed by `extra_shape`."""
    wanted, more = call.list("shape"), call.list("extra_shape") or ()
    if call.has(0) or wanted is None or min((*wanted, *more), default=0) < 0:
        return NOTHING
    return (Shape((*wanted, *more)),)


def _rfft(call: Call) -> Results:
    """Rfft: [..,n] to [..,n/2+1,2]."""
    dims = call.dims(0)
    return (Shape((*dims[:-1], total(call.terms, call.terms.floordiv(dims[-1], 2), 1), 2)),) if dims else NOTHING


def _irfft(call: Call) -> Results:
    """Irfft: [..,m,2] to [..,2*(m-1)]."""
    dims = call.dims(0)
    if dims is None or len(dims) < 2:  # noqa: PLR2004 -- the last axis holds the two parts of a number
        return NOTHING
    return (Shape((*dims[:-2], total(call.terms, call.terms.mul(dims[-2], 2), -2))),)


def _relative_position_bias(call: Call) -> Results:
    """RelativePositionBias: [1,heads,query,key] of a table [buckets,heads], where operands 1 and 2 hold lengths."""
    table = ranked(call, 0, 2)
    return (Shape((1, table[1] if table else UNKNOWN, scalar(call, 1), scalar(call, 2))),)


def _remove_padding(call: Call) -> Results:
    """[batch,sequence,hidden] to the tokens [?,hidden], their offsets, sums of lengths, and the greatest length."""
    dims = ranked(call, 0, 3)
    batch, sequence, hidden = dims or (UNKNOWN,) * 3
    return (Shape((UNKNOWN, hidden)), Shape((batch, sequence)), Shape((total(call.terms, batch, 1),)), Shape((1,)))


def _restore_padding(call: Call) -> Results:
    """Tokens [?,hidden] at offsets [batch,sequence]: [batch,sequence,hidden]."""
    tokens, offsets = ranked(call, 0, 2), ranked(call, 1, 2)
    return (Shape((*(offsets or (UNKNOWN,) * 2), tokens[1] if tokens else UNKNOWN)),)


def _hashes(call: Call, tokens: tuple[Size, ...]) -> tuple[Shape, int]:
    """Return the shape of the hashes, and the number of kept ids.

    There is one hash for each head of each order from 2 to `max_ngram_size`.
    """
    kept, heads = call.number("max_ngram_size", 0) - 1, call.number("n_head_per_ngram", 0)
    return Shape((*tokens, kept * heads if min(kept, heads) > 0 else UNKNOWN)), kept


def _ngram_hash_mapping(call: Call) -> Results:
    """NGramHashMapping of [batch,sequence], and the last ids of it."""
    dims = ranked(call, 0, 2) or (UNKNOWN,) * 2
    hashes, kept = _hashes(call, dims)
    return (hashes, Shape((dims[0], kept if kept > 0 else UNKNOWN)))


def _varlen_ngram_hash_mapping(call: Call) -> Results:
    """VarlenNGramHashMapping of packed tokens [total]; operand 3 holds the bounds [batch+1] of its sequences."""
    (tokens,), ends = ranked(call, 0, 1) or (UNKNOWN,), ranked(call, 3, 1)
    hashes, kept = _hashes(call, (tokens,))
    batch = total(call.terms, ends[0], -1) if ends else UNKNOWN
    ids: Size = kept if kept > 0 else UNKNOWN
    capacity: Size = max(call.number("state_update_capacity", 0), 0)
    return (hashes, Shape((batch, ids)), Shape((batch, ids)), Shape((batch, capacity, ids)))


def _dynamic_time_warping(_: Call) -> Results:
    """DynamicTimeWarping: the points of a path."""
    return (Shape((2, UNKNOWN)),)


def _bifurcation_detector(_: Call) -> Results:
    """BifurcationDetector: tokens, and the place of a suffix among them."""
    return (unknowns(1), Shape(()))


def _dequantize_bfp(call: Call) -> Results:
    """DequantizeBFP: operand 1 holds the shape."""
    length, wanted = call.length(1), call.content(1)
    if wanted is not None and wanted.axes is not None:
        return (Shape(tuple(map(as_size, wanted.axes))),)
    return NOTHING if length is None else (unknowns(length),)


SUMS: Mapping[int, int] = {TensorProto.INT8: TensorProto.INT32, TensorProto.UINT8: TensorProto.UINT32}


def _sum_type(types: Sequence[int], _: Attributes) -> int:
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
