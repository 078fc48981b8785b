"""Rules of the operators that slide windows over [N, C, D1, D2 ...], sample it at points, or resize it.

Sources: the ONNX operator specification. For sizes that it leaves open (ceil_mode, auto_pad, output_shape) the rules
follow measured results of onnxruntime, which tests/formats/onnx/test_infer_random.py measures again. A rule that is not
certain returns only the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.elementwise import rank_of_first
from graphfix.formats.onnx.infer.operators.integers import BoundsRule, bounds_of_first
from graphfix.formats.onnx.infer.sizes import divided, unknowns
from graphfix.results.records import dataclass
from graphfix.shapes.dim import UNKNOWN, Shape, Size, same
from graphfix.shapes.terms import Terms, as_size, bounds

SOME_IMAGE = "no size that a window of a pool slides over is 0"
SPATIAL = 2
"""The first axis that windows slide over."""
PARTS = 2**20
"""A bound that is larger than the relative error of a size computed in float32."""
EXACT = 2**24
"""float32 represents every integer below this number."""
MOST_PARTS = 2**6
"""The denominator of a scale that float32 multiplies exactly with the sizes of images."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window of one axis: its size, and how it slides."""

    extent: int
    stride: int
    dilation: int
    before: int
    behind: int

    @property
    def reach(self) -> int:
        """Return the number of elements that the window spans."""
        return (self.extent - 1) * self.dilation + 1

    @property
    def valid(self) -> bool:
        """Return whether operators take all these numbers."""
        return self.extent > 0 and self.stride > 0 and self.dilation > 0


def windows(call: Call, extents: Sequence[Size]) -> list[Window] | None:
    """Return a window for each spatial axis, without the padding that auto_pad chooses; None if they are not known."""
    count = len(extents)
    strides = call.list("strides") or (1,) * count
    dilations = call.list("dilations") or (1,) * count
    pads = (call.list("pads") if padding(call) == "NOTSET" else None) or (0,) * (2 * count)
    if len(strides) != count or len(dilations) != count or len(pads) != 2 * count:
        return None
    found = [
        Window(extent, *rest)
        for extent, *rest in zip(extents, strides, dilations, pads[:count], pads[count:], strict=True)
        if isinstance(extent, int)
    ]
    return found if len(found) == count and all(window.valid for window in found) else None


def padding(call: Call) -> str:
    """Return the attribute auto_pad."""
    return call.text("auto_pad", "NOTSET")


def slid(call: Call, size: Size, window: Window) -> Size:
    """Return how often a window fits; with SAME the size is divided by the stride and rounded up."""
    mode, terms = padding(call), call.terms
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        return terms.ceildiv(size, window.stride) if window.dilation == 1 and size != 0 else UNKNOWN
    if mode not in ("NOTSET", "VALID"):
        return UNKNOWN
    most = window.before + window.behind - window.reach
    if isinstance(size, int) and size + most < 0:
        return UNKNOWN
    return as_size(terms.floordiv(size, window.stride, most + window.stride))


def pooled(call: Call, size: Size, window: Window) -> Size:
    """Return how often a pool's window fits: it may be larger than the image, and may reach over its end."""
    up, terms, most = call.flag("ceil_mode", 0), call.terms, window.before + window.behind - window.reach
    if padding(call) not in ("NOTSET", "VALID"):
        return slid(call, size, window) if up is False else UNKNOWN
    if up is None or (isinstance(size, int) and size + most < 0):
        return UNKNOWN
    stride = window.stride
    if up:  # a window that starts in the padding behind is not counted
        last = terms.floordiv(size, stride, window.before - 1)
        return as_size(terms.add(terms.minimum(terms.floordiv(size, stride, most + stride - 1), last), 1))
    return (size + most) // stride + 1 if isinstance(size, int) else _rounded_down(call, size, most, stride)


def _rounded_down(call: Call, size: Size, most: int, stride: int) -> Size:
    """Return how often a pool's window fits over a symbolic size."""
    terms = call.terms
    if 1 + most <= -stride:
        return terms.opaque("pool", size, most, stride, low=0)
    count = terms.floordiv(size, stride, most + stride)
    if 1 + most < 0:
        return as_size(terms.maximum(count, 1))
    if most < 0 and stride > 1 and not _some_image(call, size):
        call.scope.assumes[SOME_IMAGE] = None
    return as_size(count)


def _some_image(call: Call, size: Size) -> bool:
    """Return whether the image of a pool has elements.

    onnxruntime runs a pool without elements only if the batch is empty. A negative count is rounded up there, so
    that one window is left.
    """
    batch = (call.dims(0) or (0,))[0]
    return bounds(size)[0] > 0 or bounds(batch)[0] > 0


def _slid(
    call: Call, image: tuple[Size, ...], extents: Sequence[Size], channels: Size, rule: Callable[..., Size]
) -> Shape:
    found = windows(call, extents)
    if found is None or len(found) != len(image) - SPATIAL:
        return Shape((image[0], channels, *[UNKNOWN] * (len(image) - SPATIAL)))
    pairs = zip(image[SPATIAL:], found, strict=True)
    return Shape((image[0], channels, *[rule(call, size, window) for size, window in pairs]))


def pool(call: Call) -> Results:
    """Return the result shape of MaxPool and others, by the attribute kernel_shape.

    MaxPool's indices have the same shape.
    """
    image, extents = call.dims(0), call.list("kernel_shape")
    if image is None or len(image) < SPATIAL or extents is None:
        return NOTHING if image is None else (unknowns(len(image)),) * 2
    return (_slid(call, image, extents, image[1], pooled),) * 2


def global_pool(call: Call) -> Results:
    """Return `[N,C,1,1 ..]`."""
    image = call.dims(0)
    if image is None or len(image) < SPATIAL:
        return NOTHING
    return (Shape((*image[:SPATIAL], *[1] * (len(image) - SPATIAL))),)


def quantized_convolution(call: Call) -> Results:
    """Return the result shape of QLinearConv: the rule of Conv with the weight as operand 3."""
    return convolution(call.reading((0, 3)))


def convolution(call: Call) -> Results:
    """Return the result shape of a convolution of `[N,C,..]` with a weight `[O,C/group,..]`."""
    image, weight = call.dims(0), call.dims(1)
    if image is None or weight is None:
        known_dims = image or weight
        return NOTHING if known_dims is None else (unknowns(len(known_dims)),)
    if len(image) != len(weight) or len(image) < SPATIAL:
        return (unknowns(len(image)),)
    return (_slid(call, image, weight[SPATIAL:], weight[0], slid),)


def transposed(call: Call) -> Results:
    """Return the result shape of ConvTranspose of `[N,C,..]` with a weight `[C,O/group,..]`."""
    image, weight = call.dims(0), call.dims(1)
    if image is None or weight is None:
        known_dims = image or weight
        return NOTHING if known_dims is None else (unknowns(len(known_dims)),)
    if len(image) != len(weight) or len(image) < SPATIAL:
        return (unknowns(len(image)),)
    group = call.number("group", 1)
    channels = call.terms.mul(weight[1], group) if group > 0 else UNKNOWN
    return (Shape((image[0], channels, *_spread(call, image[SPATIAL:], weight[SPATIAL:]))),)


def _spread(call: Call, sizes: Sequence[Size], extents: Sequence[Size]) -> Sequence[Size]:
    """Return the attribute output_shape, or the sizes that windows laid side by side cover."""
    unknown = [UNKNOWN] * len(sizes)
    wanted, more = call.list("output_shape"), call.list("output_padding") or (0,) * len(sizes)
    if wanted is not None:
        return wanted if len(wanted) == len(sizes) and min(wanted, default=0) > 0 else unknown
    found = windows(call, extents)
    if found is None or len(more) != len(sizes) or padding(call) not in ("NOTSET", "VALID"):
        return unknown
    return [_covered(call.terms, *each) for each in zip(sizes, found, more, strict=True)]


def _covered(terms: Terms, size: Size, window: Window, more: int) -> Size:
    if size == 0 or more < 0:
        return UNKNOWN
    added = window.reach + more - window.before - window.behind - window.stride
    covered = as_size(terms.add(terms.mul(size, window.stride), added))
    return UNKNOWN if covered == 0 else covered


def roi_align(call: Call) -> Results:
    """Return `[R,C,h,w]` for RoiAlign of `[N,C,..]` with boxes `[R,4]`; operand 2 `[R]` has the image of each box."""
    image, boxes, sampling = call.dims(0), call.dims(1), call.dims(2)
    height, width = call.number("output_height", 1), call.number("output_width", 1)
    if image is None or len(image) <= SPATIAL or not boxes or not sampling or min(height, width) < 0:
        return (unknowns(4),)
    return (Shape((boxes[0] if same(boxes[0], sampling[0]) else UNKNOWN, image[1], height, width)),)


def roi_pool(call: Call) -> Results:
    """Return `[R,C,h,w]` for MaxRoiPool of `[N,C,..]` with boxes `[R,5]`; `h` and `w` are an attribute."""
    image, boxes, sizes = call.dims(0), call.dims(1), call.list("pooled_shape")
    if image is None or len(image) <= SPATIAL or not boxes or sizes is None or min(sizes, default=0) < 0:
        return NOTHING
    return (Shape((boxes[0], image[1], *sizes)),)


def grid_sample(call: Call) -> Results:
    """Return the result shape of GridSample: `[N,C,..]` at the points of a grid `[N,..,axes]`."""
    image, grid = call.dims(0), call.dims(1)
    if image is None or grid is None or len(image) != len(grid):
        known_dims = image or grid
        return NOTHING if known_dims is None else (unknowns(len(known_dims)),)
    return (Shape((*image[:2], *grid[1:-1])),)


def affine_grid(call: Call) -> Results:
    """Return points `[N,H,W,2]` or `[N,D,H,W,3]` for the size `[N,C,(D,)H,W]` that operand 1 contains."""
    sizes, length = call.elements(1), call.length(1)
    if sizes is None or len(sizes) not in (4, 5):  # two or three spatial axes
        return (unknowns(length),) if length in (4, 5) else NOTHING
    return (Shape((*map(as_size, (sizes[0], *sizes[2:])), len(sizes) - 2)),)


def image_of_columns(call: Call) -> Results:
    """Return the image `[N,C,..]` of Col2Im from blocks `[N,C*block,L]`.

    Operand 1 has the sizes of the image, and operand 2 those of a block.
    """
    columns, image, block = call.dims(0), call.content(1), call.ints(2, "")
    length = call.length(1)
    sizes = image.axes if image is not None and image.axes is not None else None
    if sizes is None:
        return NOTHING if length is None else (unknowns(SPATIAL + length),)
    if columns is None or len(columns) != SPATIAL + 1:
        return (unknowns(SPATIAL + len(sizes)),)
    channels = divided(call.terms, columns[1], prod(block)) if block and min(block) > 0 else UNKNOWN
    return (Shape((columns[0], channels, *map(as_size, sizes))),)


# --- resizing ---------------------------------------------------------------------------------------------------------


def upsample(call: Call) -> Results:
    """Return the result shape of Upsample: each size times its scale, an attribute or (from opset 9) operand 1."""
    dims, scales = call.dims(0), call.attributes.get("scales") if call.version < 9 else call.floats(1)  # noqa: PLR2004
    if dims is None:
        return NOTHING
    return (_scaled(call.terms, dims, scales if isinstance(scales, tuple) else None, range(len(dims))),)


def resize(call: Call) -> Results:
    """Return the result shape of Resize: the sizes in operand 3, or each size times its scale.

    The scales are operand 1 before opset 11, and operand 2 from then on.
    """
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    axes = [axis + len(dims) * (axis < 0) for axis in call.list("axes") or range(len(dims))]
    if not _places(axes, len(dims)):
        return (unknowns(len(dims)),)
    if call.has(3):
        if call.text("keep_aspect_ratio_policy", "stretch") != "stretch":
            return (unknowns(len(dims)),)
        return (_sized(dims, call.elements(3), axes),)
    if call.text("coordinate_transformation_mode") == "tf_crop_and_resize":
        return (unknowns(len(dims)),)
    return (_scaled(call.terms, dims, call.floats(1 if call.version < 11 else 2), axes),)  # noqa: PLR2004 -- see above


def _places(axes: Sequence[int], rank: int) -> bool:
    return len(set(axes)) == len(axes) and all(0 <= axis < rank for axis in axes)


def _sized(dims: tuple[Size, ...], sizes: Sequence[Size] | None, axes: Sequence[int]) -> Shape:
    result = list(dims)
    known_sizes = sizes if sizes is not None and len(sizes) == len(axes) else [UNKNOWN] * len(axes)
    for axis, size in zip(axes, known_sizes, strict=True):
        result[axis] = as_size(size)
    return Shape(tuple(result))


def _scaled(terms: Terms, dims: tuple[Size, ...], scales: tuple[float, ...] | None, axes: Sequence[int]) -> Shape:
    result = list(dims)
    known_scales = scales if scales is not None and len(scales) == len(axes) else [0.0] * len(axes)
    for axis, scale in zip(axes, known_scales, strict=True):
        result[axis] = times(terms, dims[axis], scale)
    return Shape(tuple(result))


def times(terms: Terms, size: Size, scale: float) -> Size:
    """Return the product of a size and a scale, rounded down.

    The product of a number is unknown if float32 and exact arithmetic may round it differently. That of a term is a
    quotient if the scale is exact in float32, and a new name for the product otherwise. A symbolic size is assumed to
    be below 2**24, because float32 represents every integer below it.
    """
    if not 0 < scale < EXACT:
        return UNKNOWN
    from fractions import Fraction  # few models have such a scale

    if not isinstance(size, int):
        ratio = Fraction(scale)
        if ratio.numerator < EXACT and ratio.denominator <= MOST_PARTS:  # a power of 2: float32 rounds nothing
            return as_size(terms.floordiv(terms.mul(size, ratio.numerator), ratio.denominator))
        return terms.opaque(f"times {ratio}", size, low=0)
    if size * scale >= EXACT:
        return UNKNOWN
    exact = size * Fraction(scale)
    if exact.denominator == 1:
        return int(exact)
    rounding = Fraction(1, PARTS)
    low, high = int(exact * (1 - rounding)), int(exact * (1 + rounding))
    return low if low == high else UNKNOWN


SHAPES: Mapping[str, Rule] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), global_pool),
    **dict.fromkeys(("Conv", "ConvInteger", "DeformConv"), convolution),
    "AffineGrid": affine_grid,
    "Col2Im": image_of_columns,
    "ConvTranspose": transposed,
    "GridSample": grid_sample,
    "MaxRoiPool": roi_pool,
    "MaxUnpool": rank_of_first,
    "QLinearConv": quantized_convolution,
    "Resize": resize,
    "RoiAlign": roi_align,
    "Upsample": upsample,
}
BOUNDS: Mapping[str, BoundsRule] = {"MaxPool": bounds_of_first}
