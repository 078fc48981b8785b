"""Shape rules of the operators that slide windows over images, resize them or move blocks.

Source: the Prepare functions of LiteRT's kernels. SAME: the input's size divided by the stride, rounded up; VALID: the
same of the input without the last window's overhang. Where a rule returns UNKNOWN, the declared size is taken.
"""

from __future__ import annotations

from graphfix.formats.tflite.infer.operands import Call, Results, Rule
from graphfix.shapes.shape import UNKNOWN, Shape, Size
from graphfix.shapes.terms import as_size

VALID = 1
"""`Padding.VALID` of the schema; SAME is 0."""
WINDOWS_FIT = "no window is larger than the free size that it slides over"
IMAGE = 4
"""[batch, height, width, channels]."""


def window(call: Call, size: Size, extent: Size, stride: int, dilation: int = 1) -> Size | None:
    """What a window of that extent leaves of one axis; None where it does not fit in it."""
    if stride < 1 or dilation < 1:
        return UNKNOWN
    terms = call.terms
    if call.number("padding") != VALID:
        return size if stride == 1 else as_size(terms.ceildiv(size, stride))
    if not isinstance(extent, int):
        return UNKNOWN
    reach = (extent - 1) * dilation + 1
    if isinstance(size, int) and size < reach:
        return None
    if not isinstance(size, int) and size.lo < reach:
        call.scope.assumes[WINDOWS_FIT] = None
    return as_size(terms.floordiv(size, stride, stride - reach))


def convolution(call: Call) -> Results:
    """[B,H,W,C] by a filter [O,h,w,I]: the batch is the input's, the channels the filter's."""
    return _windows(call, channels_at=0)


def depthwise(call: Call) -> Results:
    """[B,H,W,C] by a filter [1,h,w,O]."""
    return _windows(call, channels_at=3)


def _windows(call: Call, channels_at: int) -> Results:
    image, kernel = call.dims(0), call.dims(1)
    if image is None or kernel is None or len(image) != IMAGE or len(kernel) != IMAGE:
        return ()
    batch, height, width, _ = image
    rows = window(call, height, kernel[1], call.number("stride_h"), call.number("dilation_h_factor", 1))
    columns = window(call, width, kernel[2], call.number("stride_w"), call.number("dilation_w_factor", 1))
    return (_left(batch, rows, columns, kernel[channels_at]),)


def _left(batch: Size, rows: Size | None, columns: Size | None, channels: Size) -> Shape:
    """The image that windows leave; where one does not fit in its axis, LiteRT's sizes of both are another matter."""
    if rows is None or columns is None:
        rows = columns = UNKNOWN
    return Shape((batch, rows, columns, channels))


def pool(call: Call) -> Results:
    """[B,H,W,C] by a window of the options."""
    image = call.dims(0)
    if image is None or len(image) != IMAGE:
        return ()
    batch, height, width, channels = image
    rows = window(call, height, call.number("filter_height"), call.number("stride_h"))
    columns = window(call, width, call.number("filter_width"), call.number("stride_w"))
    return (_left(batch, rows, columns, channels),)


def volume(call: Call) -> Results:
    """CONV_3D: [B,D,H,W,C] by a filter [d,h,w,I,O]; the sizes between are what the file declares."""
    image, kernel = call.dims(0), call.dims(1)
    if image is None or kernel is None or len(image) != len(kernel):
        return ()
    return (Shape((image[0], *[UNKNOWN] * (len(image) - 2), kernel[-1])),)


def shape_held_by(index: int) -> Rule:
    """The result has the shape that operand `index` holds."""

    def rule(call: Call) -> Results:
        elements = call.elements(index)
        if elements is not None:
            return (Shape(tuple(map(as_size, elements))),)
        length = call.length(index)
        return () if length is None else (Shape((UNKNOWN,) * length),)

    return rule


def resize(call: Call) -> Results:
    """[B,H,W,C] to the height and width that operand 1 holds."""
    image, sizes = call.dims(0), call.elements(1)
    if image is None or len(image) != IMAGE:
        return ()
    height, width = map(as_size, sizes) if sizes is not None and len(sizes) == 2 else (UNKNOWN, UNKNOWN)  # noqa: PLR2004 -- height, width
    return (Shape((image[0], height, width, image[3])),)


def pad(call: Call) -> Results:
    """Each size and what operand 1, [rank,2], adds before and behind it."""
    dims, paddings = call.dims(0), call.elements(1)
    if dims is None:
        return ()
    if paddings is None or len(paddings) != 2 * len(dims):
        return (Shape((UNKNOWN,) * len(dims)),)
    terms = call.terms
    pairs = zip(dims, paddings[::2], paddings[1::2], strict=True)
    return (Shape(tuple([as_size(terms.add(size, before, behind)) for size, before, behind in pairs])),)


def space_to_depth(call: Call) -> Results:
    """Blocks of block_size x block_size become channels."""
    dims, block = call.dims(0), call.number("block_size")
    if dims is None or len(dims) != IMAGE or block < 1:
        return ()
    batch, height, width, channels = dims
    terms = call.terms
    rows, columns = terms.floordiv(height, block), terms.floordiv(width, block)
    return (Shape((batch, rows, columns, terms.mul(channels, block * block))),)


def depth_to_space(call: Call) -> Results:
    """Channels become blocks of block_size x block_size."""
    dims, block = call.dims(0), call.number("block_size")
    if dims is None or len(dims) != IMAGE or block < 1:
        return ()
    batch, height, width, channels = dims
    terms = call.terms
    return (Shape((batch, terms.mul(height, block), terms.mul(width, block), terms.floordiv(channels, block * block))),)


def space_to_batch(call: Call) -> Results:
    """Padded spatial axes are cut into blocks, which go to the batch."""
    dims, blocks, paddings = call.dims(0), call.ints(1), call.elements(2)
    if dims is None:
        return ()
    if blocks is None or paddings is None or len(paddings) != 2 * len(blocks) or not 0 < len(blocks) < len(dims):
        return (Shape((UNKNOWN,) * len(dims)),)
    terms = call.terms
    spatial = zip(dims[1:], blocks, paddings[::2], paddings[1::2], strict=False)
    cut = [as_size(terms.floordiv(terms.add(size, *around), block)) for size, block, *around in spatial]
    return (Shape((as_size(terms.mul(dims[0], *blocks)), *cut, *dims[1 + len(blocks) :])),)


def batch_to_space(call: Call) -> Results:
    """Blocks come back from the batch, and the crops go."""
    dims, blocks, crops = call.dims(0), call.ints(1), call.elements(2)
    if dims is None:
        return ()
    if blocks is None or crops is None or len(crops) != 2 * len(blocks) or not 0 < len(blocks) < len(dims):
        return (Shape((UNKNOWN,) * len(dims)),)
    terms = call.terms
    batch = dims[0]
    for block in blocks:
        batch = terms.floordiv(batch, block)
    spatial = zip(dims[1:], blocks, crops[::2], crops[1::2], strict=False)
    grown = [
        as_size(terms.sub(terms.mul(size, block), terms.add(before, behind))) for size, block, before, behind in spatial
    ]
    return (Shape((as_size(batch), *grown, *dims[1 + len(blocks) :])),)


def spectrum(call: Call) -> Results:
    """RFFT2D: the last two sizes are fft_length, the last one halved and one more."""
    dims, length = call.dims(0), call.elements(1)
    if dims is None or len(dims) < 2:  # noqa: PLR2004 -- two axes are transformed
        return ()
    if length is None or len(length) != 2:  # noqa: PLR2004 -- as above
        return (Shape((*dims[:-2], UNKNOWN, UNKNOWN)),)
    terms = call.terms
    return (Shape((*dims[:-2], as_size(length[0]), as_size(terms.add(terms.floordiv(length[1], 2), 1)))),)
