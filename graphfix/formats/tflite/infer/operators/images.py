"""Shape rules of operators that resize or pad images, move blocks between space and depth or batch, and of RFFT2D.

Source: the Prepare functions of LiteRT's kernels. If a rule returns UNKNOWN for a size, the declared size is used.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.tflite.infer.call import Call, Results
from graphfix.formats.tflite.infer.operators.definition import Definition
from graphfix.formats.tflite.infer.operators.products import IMAGE
from graphfix.shapes.dim import UNKNOWN, Shape
from graphfix.shapes.terms import as_size


def resize(call: Call) -> Results:
    """Return the result's shape [B,height,width,C] for an image [B,H,W,C]; operand 1 contains [height, width]."""
    image, sizes = call.dims(0), call.elements(1)
    if image is None or len(image) != IMAGE:
        return ()
    height, width = map(as_size, sizes) if sizes is not None and len(sizes) == 2 else (UNKNOWN, UNKNOWN)  # noqa: PLR2004 -- height, width
    return (Shape((image[0], height, width, image[3])),)


def pad(call: Call) -> Results:
    """Return the result's shape: each size plus the paddings before and behind it, from operand 1 of shape [rank,2]."""
    dims, paddings = call.dims(0), call.elements(1)
    if dims is None:
        return ()
    if paddings is None or len(paddings) != 2 * len(dims):
        return (Shape((UNKNOWN,) * len(dims)),)
    terms = call.terms
    pairs = zip(dims, paddings[::2], paddings[1::2], strict=True)
    return (Shape(tuple([as_size(terms.add(size, before, behind)) for size, before, behind in pairs])),)


def space_to_depth(call: Call) -> Results:
    """Return the result's shape [B,H/n,W/n,C*n*n] for an image [B,H,W,C]; n is the option `block_size`."""
    dims, block = call.dims(0), call.number("block_size")
    if dims is None or len(dims) != IMAGE or block < 1:
        return ()
    batch, height, width, channels = dims
    terms = call.terms
    rows, columns = terms.floordiv(height, block), terms.floordiv(width, block)
    return (Shape((batch, rows, columns, terms.mul(channels, block * block))),)


def depth_to_space(call: Call) -> Results:
    """Return the result's shape [B,H*n,W*n,C/(n*n)] for an image [B,H,W,C]; n is the option `block_size`."""
    dims, block = call.dims(0), call.number("block_size")
    if dims is None or len(dims) != IMAGE or block < 1:
        return ()
    batch, height, width, channels = dims
    terms = call.terms
    return (Shape((batch, terms.mul(height, block), terms.mul(width, block), terms.floordiv(channels, block * block))),)


def space_to_batch(call: Call) -> Results:
    """Return the result's shape after padded spatial axes are cut into blocks, which are moved to the batch."""
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
    """Return the result's shape after blocks are moved from the batch to the spatial axes, which are then cropped."""
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
    """Return the result's shape of RFFT2D: [.., a, b // 2 + 1] if operand 1, fft_length, contains [a, b]."""
    dims, length = call.dims(0), call.elements(1)
    if dims is None or len(dims) < 2:  # noqa: PLR2004 -- two axes are transformed
        return ()
    if length is None or len(length) != 2:  # noqa: PLR2004 -- as above
        return (Shape((*dims[:-2], UNKNOWN, UNKNOWN)),)
    terms = call.terms
    return (Shape((*dims[:-2], as_size(length[0]), as_size(terms.add(terms.floordiv(length[1], 2), 1)))),)


OPERATORS: Mapping[str, Definition] = {
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), Definition(resize, shape_operands=(1,))),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), Definition(pad, shape_operands=(1,))),
    "SPACE_TO_DEPTH": Definition(space_to_depth),
    "DEPTH_TO_SPACE": Definition(depth_to_space),
    "SPACE_TO_BATCH_ND": Definition(space_to_batch, shape_operands=(1, 2)),
    "BATCH_TO_SPACE_ND": Definition(batch_to_space, shape_operands=(1, 2)),
    "RFFT2D": Definition(spectrum, shape_operands=(1,)),
}
