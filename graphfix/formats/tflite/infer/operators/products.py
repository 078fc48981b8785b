"""Shape rules of operators that multiply by weights or slide windows: matrix products, convolutions and pools.

Source: the Prepare functions of LiteRT's kernels. With padding SAME, a result's size is the input's size divided by the
stride, rounded up. With VALID, it is the number of windows that fit into the input. If a rule returns UNKNOWN, the
declared size is used.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.tflite.infer.call import Call, Results
from graphfix.formats.tflite.infer.operators.definition import Definition
from graphfix.formats.tflite.infer.operators.layout import remaining
from graphfix.formats.tflite.infer.operators.sizes import shape_held_by
from graphfix.shapes import shape as shapes
from graphfix.shapes.dim import UNKNOWN, Shape, Size
from graphfix.shapes.terms import as_size

VALID = 1
"""`Padding.VALID` of the schema; SAME is 0."""
WINDOWS_FIT = "no window is larger than the free size that it slides over"
IMAGE = 4
"""The rank of an image: [batch, height, width, channels]."""


def matmul(call: Call) -> Results:
    """Return the result's shape [..,M,N] for [..,M,K] x [..,K,N]; batch axes are broadcast.

    The options adj_x and adj_y mean that the operand is stored transposed, as [K,M] or [N,K].
    """
    left, right = call.dims(0), call.dims(1)
    if left is None or right is None or min(len(left), len(right)) < 2:  # noqa: PLR2004 -- matrices
        return ()
    batch = shapes.broadcast(Shape(left[:-2]), Shape(right[:-2])).dims
    rows = left[-1] if call.option("adj_x") else left[-2]
    columns = right[-2] if call.option("adj_y") else right[-1]
    return (Shape((*batch, rows, columns)),)


def fully_connected(call: Call) -> Results:
    """Return the result's shape [..,O] for an operand [..,K] and weights [O,K].

    Without the option keep_num_dims, all leading axes are merged into one.
    """
    dims, weights = call.dims(0), call.dims(1)
    if dims is None or weights is None or len(weights) != 2:  # noqa: PLR2004 -- a matrix
        return ()
    units, depth = weights
    if call.option("keep_num_dims"):
        return (Shape((*dims[:-1], units)),)
    batch = remaining(call, dims, [depth]) if depth != 0 else UNKNOWN
    return (Shape((batch, units)),)


def convolution(call: Call) -> Results:
    """Return the result's shape of CONV_2D for [B,H,W,C] and a filter [O,h,w,I]; it has batch B and O channels."""
    return _windows(call, channels_at=0)


def depthwise(call: Call) -> Results:
    """Return the result's shape of DEPTHWISE_CONV_2D for [B,H,W,C] and a filter [1,h,w,O]; it has O channels."""
    return _windows(call, channels_at=3)


def _windows(call: Call, channels_at: int) -> Results:
    """Return the shape of a convolution's result; `channels_at` is the filter's axis with the result's channels."""
    image, kernel = call.dims(0), call.dims(1)
    if image is None or kernel is None or len(image) != IMAGE or len(kernel) != IMAGE:
        return ()
    batch, height, width, _ = image
    rows = window(call, height, kernel[1], call.number("stride_h"), call.number("dilation_h_factor"))
    columns = window(call, width, kernel[2], call.number("stride_w"), call.number("dilation_w_factor"))
    return (_image(batch, rows, columns, kernel[channels_at]),)


def _image(batch: Size, rows: Size | None, columns: Size | None, channels: Size) -> Shape:
    """Return the shape of the resulting image; height and width are UNKNOWN if a window does not fit (None).

    If a window does not fit, LiteRT computes both sizes in another way.
    """
    if rows is None or columns is None:
        rows = columns = UNKNOWN
    return Shape((batch, rows, columns, channels))


def window(call: Call, size: Size, extent: Size, stride: int, dilation: int = 1) -> Size | None:
    """Return the number of positions of a window along one axis; None if the window does not fit.

    `size` is the input's size, and `extent` is the window's. If a free size may be too small for the window, the
    assumption that it is not is noted.
    """
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


def pool(call: Call) -> Results:
    """Return the result's shape of a pool for [B,H,W,C] and the window of the options."""
    image = call.dims(0)
    if image is None or len(image) != IMAGE:
        return ()
    batch, height, width, channels = image
    rows = window(call, height, call.number("filter_height"), call.number("stride_h"))
    columns = window(call, width, call.number("filter_width"), call.number("stride_w"))
    return (_image(batch, rows, columns, channels),)


def volume(call: Call) -> Results:
    """Return the result's shape of CONV_3D, for [B,D,H,W,C] and a filter [d,h,w,I,O].

    The result's depth, height and width are UNKNOWN, so the file's declared sizes are used.
    """
    image, kernel = call.dims(0), call.dims(1)
    if image is None or kernel is None or len(image) != len(kernel):
        return ()
    return (Shape((image[0], *[UNKNOWN] * (len(image) - 2), kernel[-1])),)


OPERATORS: Mapping[str, Definition] = {
    "FULLY_CONNECTED": Definition(fully_connected),
    "CONV_2D": Definition(convolution),
    "DEPTHWISE_CONV_2D": Definition(depthwise),
    "CONV_3D": Definition(volume),
    **dict.fromkeys(("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE"), Definition(shape_held_by(0), shape_operands=(0,))),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), Definition(pool)),
}
