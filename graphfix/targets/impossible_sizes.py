"""Find sizes with which no runtime can run a model, before anything is converted.

    Reshape(x[1,192], [2,144])              192 elements do not fill [2,144]
    Concat(a[1,3,8], b[1,4,7], axis=1)      the sizes of axis 2 are 8 and 7
    MaxPool(x[1,8,1,16], 2x2)               a window of 2 is larger than the 1 of axis 2
    Add(a[2,3], b[4,3])                     the sizes do not broadcast

Only numbers are compared. Only the main graph is checked, because a body may never run. Nodes whose operands depend on
an unverified stored shape are skipped, because that shape may be out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import TypeAlias

from graphfix.graph.broadcast import MATRIX, align, product_axes
from graphfix.graph.protocols import Model
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Incompatible, Undecided, same

Question: TypeAlias = Callable[[Node], str | None]
"""A check that returns why the sizes of a node's operands are impossible, or None."""
SPATIAL = 2
"""The first axis over which an ONNX window slides."""
VALID = 1
"""The number of `Padding.VALID` in the TFLite schema."""
PIXELS = ((1, "h"), (2, "w"))
"""The axes of a TFLite image over which a window slides, with their letters in the names of options."""


def impossible(model: Model) -> str | None:
    """Return a text about the first node of the main graph whose sizes are impossible; None without such a node.

    The text contains the operator, the operands, and the reason.
    """
    main = model.graphs[0]
    unsure = {name for graph, name in model.leaning if graph == main.path}
    for node in main.nodes:
        if any(value is not None and (value.stale or value.name in unsure) for value in node.operands):
            continue
        why = _why(node)
        if why is not None:
            read = ", ".join(str(value) for value in node.operands if value is not None)
            return f"{node.op} '{node.label}' of {read}: {why}"
    return None


def _why(node: Node) -> str | None:
    """Return why the sizes of a node's operands are impossible, or None if they are possible or can't be decided."""
    ask = (_TFLITE if node.domain == TFLITE else _ONNX).get(node.op) if node.domain in ("", TFLITE) else None
    try:
        found = ask(node) if ask is not None else None
        if found is None:
            align(node)
    except Undecided:
        return None
    except Incompatible as why:
        return str(why)
    return found


def _text(sizes: Sequence[object]) -> str:
    return f"[{','.join(map(str, sizes))}]"


def _integers(value: Value | None) -> list[int] | None:
    """Return the elements of an integer tensor if all of them are known; None otherwise."""
    elements = value.elements if value is not None and value.shape.static else None
    if value is None or elements is None or len(elements) != prod(value.shape.numbers):
        return None
    return [int(each) for each in elements]


def _at(node: Node, index: int) -> Value | None:
    """Return an operand of the node, or None if the node has no operand of this index."""
    return node.operands[index] if index < len(node.operands) else None


# --- number of elements ---------------------------------------------------------------------------------------------


def _reshape(node: Node) -> str | None:
    """Return why the operand's elements do not fill the requested shape, or None."""
    target = _integers(_at(node, 1)) or listed(node, "shape") or listed(node, "new_shape")
    sizes = node.operand(0).ranked
    if target is None or not sizes.static:
        return None
    if 0 in target and node.domain == TFLITE:
        return None
    # With allowzero, a 0 is a size of the result. Without it, a 0 copies the operand's size.
    copies = not node.attributes.get("allowzero")
    kept = [sizes.numbers[at] if size == 0 and copies and at < sizes.rank else size for at, size in enumerate(target)]
    count, wanted = prod(sizes.numbers), prod(size for size in kept if size >= 0)
    fits = (wanted > 0 and count % wanted == 0) or count == 0 if -1 in kept else count == wanted
    return None if fits else f"{count} elements do not fill {_text(target)}"


def _squeeze(node: Node) -> str | None:
    """Return why an axis can't be removed (its size is not 1), or None."""
    sizes = node.operand(0).ranked.dims
    axes = _integers(_at(node, 1)) or listed(node, "axes") or listed(node, "squeeze_dims") or []
    for axis in axes:
        if -len(sizes) <= axis < len(sizes) and isinstance(sizes[axis], int) and sizes[axis] != 1:
            return f"axis {axis} has the size {sizes[axis]}, and only a size of 1 can go"
    return None


def _expand(node: Node) -> str | None:
    """Return why the operand can't be stretched to the requested shape, or None.

    In ONNX, the operand may also stretch a size 1 of the requested shape.
    """
    target, sizes = _integers(_at(node, 1)), node.operand(0).ranked.dims
    for size, wanted in zip(reversed(sizes), reversed(target or ()), strict=False):
        stretched = wanted == 1 and node.domain != TFLITE
        if isinstance(size, int) and size not in (1, wanted) and wanted >= 0 and not stretched:
            return f"the size {size} does not stretch to {wanted} of {_text(target or ())}"
    return None


# --- several operands -----------------------------------------------------------------------------------------------


def _concat(node: Node) -> str | None:
    """Return why the operands can't be concatenated (their ranks or other axes differ), or None."""
    shapes = [value.ranked for value in node.operands if value is not None]
    ranks = {shape.rank for shape in shapes}
    if len(ranks) > 1:
        return f"the ranks are {' and '.join(map(str, sorted(ranks)))}"
    rank, joined = ranks.pop() if ranks else 0, node.attributes.get("axis")
    if not isinstance(joined, int):
        return None
    for axis in range(rank):
        sizes = dict.fromkeys(shape.dims[axis] for shape in shapes if isinstance(shape.dims[axis], int))
        if axis != joined % rank and len(sizes) > 1:
            return f"the sizes of axis {axis} are {' and '.join(map(str, sizes))}"
    return None


def _pack(node: Node) -> str | None:
    """Return why the operands can't be stacked (their shapes differ), or None."""
    shapes = [value.ranked for value in node.operands if value is not None and value.ranked.static]
    different = dict.fromkeys(str(shape) for shape in shapes)
    return f"the shapes are {' and '.join(different)}" if len(different) > 1 else None


def _split(node: Node) -> str | None:
    """Return why the sizes of the parts do not add up to the size of the axis, or None."""
    sizes, parts = node.operand(0).ranked.dims, _integers(_at(node, 1)) or listed(node, "split")
    axis = number(node, "axis", 0)
    if parts is None or not -len(sizes) <= axis < len(sizes) or not isinstance(sizes[axis], int):
        return None
    return None if sum(parts) == sizes[axis] else f"the parts {_text(parts)} are not the {sizes[axis]} of axis {axis}"


def _split_evenly(node: Node) -> str | None:
    """Return why the axis can't be split into equal parts, or None."""
    sizes, axes, count = node.operand(1).ranked.dims, _integers(_at(node, 0)), number(node, "num_splits", 1)
    axis = axes[0] if axes else len(sizes)
    size = sizes[axis] if -len(sizes) <= axis < len(sizes) else None
    if not isinstance(size, int) or count < 1 or size % count == 0:
        return None
    return f"the {size} of axis {axis} are not {count} equal parts"


# --- products -------------------------------------------------------------------------------------------------------


def _product(node: Node, left: tuple[int, int], right: tuple[int, int]) -> str | None:
    """Return why a product can't be computed because the two sizes that it sums over differ, or None.

    `left` and `right` are (operand, axis) of these sizes.
    """
    found = []
    for index, axis in (left, right):
        sizes = node.operand(index).ranked.dims
        if not sizes:
            return None
        found.append(sizes[axis if len(sizes) > 1 else 0])
    one, two = found
    if not (isinstance(one, int) and isinstance(two, int)) or same(one, two):
        return None
    return f"it sums over {one} of the one and {two} of the other"


def _matmul(node: Node) -> str | None:
    """Return why the inner sizes of a MatMul differ, or None."""
    return _product(node, (0, -1), (1, -2))


def _batch_matmul(node: Node) -> str | None:
    """Return why the inner sizes of a BATCH_MATMUL differ (`adj_x` and `adj_y` transpose the operands), or None."""
    turned = [bool(node.attributes.get(name)) for name in ("adj_x", "adj_y")]
    return _product(node, (0, -2 if turned[0] else -1), (1, -1 if turned[1] else -2))


def _gemm(node: Node) -> str | None:
    """Return why a Gemm can't be computed (an operand is not a matrix, or the inner sizes differ), or None."""
    (first, m), (second, n) = product_axes(node)
    if any(node.operand(index).ranked.rank != MATRIX for index in (first, second)):
        return "a Gemm takes matrices"
    return _product(node, (first, 1 - m), (second, 1 - n))


def _fully_connected(node: Node) -> str | None:
    """Return why the elements of the data can't be divided into rows for the weights, or None."""
    sizes, weights = node.operand(0).ranked, node.operand(1).ranked
    if not sizes.static or not weights.static or weights.rank != MATRIX or not weights.numbers[1]:
        return None
    count, columns = prod(sizes.numbers), weights.numbers[1]
    return None if count % columns == 0 else f"{count} elements are no rows of {columns}"


# --- windows, and the channels of convolutions ---------------------------------------------------------------------


def listed(node: Node, name: str) -> list[int] | None:
    """Return an attribute that is a list of integers, or None if it is missing or of another type."""
    found = node.attributes.get(name)
    return [int(each) for each in found] if isinstance(found, (list, tuple)) else None


def number(node: Node, name: str, default: int) -> int:
    """Return an integer attribute, or `default` if it is missing or of another type."""
    found = node.attributes.get(name, default)
    return found if isinstance(found, int) else default


def _too_large(axis: int, size: object, extent: object, dilation: int, padding: int = 0) -> str | None:
    """Return why a window is larger than its padded axis, or None.

    `size` is the size of the axis and `extent` the size of the window; each may be unknown, and then the result is
    None.
    """
    reach = (extent - 1) * dilation + 1 if isinstance(extent, int) else 0
    if not isinstance(size, int) or size + padding >= reach:
        return None
    padded = f" and {padding} of padding" if padding else ""
    return f"a window of {reach} is larger than the {size} of axis {axis}{padded}"


def _slid(node: Node, extents: Sequence[object]) -> str | None:
    """Return why an ONNX window does not fit into the axes that it slides over, or None.

    These are the axes after batch and channels. `extents` are the sizes of the window.
    """
    sizes, count = node.operand(0).ranked.dims[SPATIAL:], len(extents)
    mode = node.attributes.get("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "VALID") or len(sizes) != count:
        return None
    pads = (listed(node, "pads") if mode == "NOTSET" else None) or [0] * (2 * count)
    dilations = listed(node, "dilations") or [1] * count
    if len(pads) != 2 * count or len(dilations) != count:
        return None
    reasons = (
        _too_large(at + SPATIAL, size, extent, dilations[at], pads[at] + pads[at + count])
        for at, (size, extent) in enumerate(zip(sizes, extents, strict=True))
    )
    return next(filter(None, reasons), None)


def convolution(weights: int) -> Question:
    """Return the check of a convolution whose operand `weights` (an index) has the shape [M,C/group,..]."""

    def ask(node: Node) -> str | None:
        image, kernel = node.operand(0).ranked.dims, node.operand(weights).ranked.dims
        if len(image) != len(kernel):
            return f"an image of rank {len(image)} and weights of rank {len(kernel)}"
        channels, taken, groups = image[1], kernel[1], number(node, "group", 1)
        if isinstance(channels, int) and isinstance(taken, int) and channels != taken * groups:
            return f"{channels} channels, and the weights take {taken * groups}"
        return _slid(node, kernel[SPATIAL:])

    return ask


def pool(node: Node) -> str | None:
    """Return why an ONNX pooling window (attribute kernel_shape) does not fit into its operand, or None."""
    return _slid(node, listed(node, "kernel_shape") or ())


def _tflite_windows(node: Node, extents: Mapping[int, object]) -> str | None:
    """Return why a TFLite window does not fit into the image without padding, or None.

    `extents` maps the axes of the image (1 and 2) to the sizes of the window.
    """
    sizes = node.operand(0).ranked.dims
    if node.attributes.get("padding") != VALID or len(sizes) != max(extents) + 2:
        return None
    dilations = {axis: number(node, f"dilation_{name}_factor", 1) for axis, name in PIXELS}
    reasons = (_too_large(axis, sizes[axis], extents[axis], dilation) for axis, dilation in dilations.items())
    return next(filter(None, reasons), None)


def tflite_convolution(node: Node) -> str | None:
    """Return why a filter [O,h,w,I] does not fit into the image, or None."""
    kernel = node.operand(1).ranked.dims
    return _tflite_windows(node, {1: kernel[1], 2: kernel[2]}) if len(kernel) > max(dict(PIXELS)) else None


def tflite_pool(node: Node) -> str | None:
    """Return why a TFLite pooling window (its size is in the options) does not fit into the image, or None."""
    return _tflite_windows(node, {1: number(node, "filter_height", 1), 2: number(node, "filter_width", 1)})


# --- by operator ---------------------------------------------------------------------------------------------------

_ONNX: Mapping[str, Question] = MappingProxyType(
    {
        "Reshape": _reshape,
        "Squeeze": _squeeze,
        "Expand": _expand,
        "Concat": _concat,
        "Split": _split,
        "MatMul": _matmul,
        "Gemm": _gemm,
        "Conv": convolution(1),
        "ConvInteger": convolution(1),
        "QLinearConv": convolution(3),
        "MaxPool": pool,
        "AveragePool": pool,
        "LpPool": pool,
    }
)
_TFLITE: Mapping[str, Question] = MappingProxyType(
    {
        "RESHAPE": _reshape,
        "SQUEEZE": _squeeze,
        "BROADCAST_TO": _expand,
        "CONCATENATION": _concat,
        "PACK": _pack,
        "SPLIT": _split_evenly,
        "BATCH_MATMUL": _batch_matmul,
        "FULLY_CONNECTED": _fully_connected,
        "CONV_2D": tflite_convolution,
        "DEPTHWISE_CONV_2D": tflite_convolution,
        "MAX_POOL_2D": tflite_pool,
        "AVERAGE_POOL_2D": tflite_pool,
        "L2_POOL_2D": tflite_pool,
    }
)
"""Operator -> its check. In addition, every operator is checked for operands that do not broadcast."""
