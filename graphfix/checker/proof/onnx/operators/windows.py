"""Rules for the result sizes of convolutions and pools, which slide a window over the axes after batch and channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphfix.checker.proof.core.result import SOME_IMAGE
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.onnx.operators.entry import Operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

CONVOLUTIONS = frozenset({"Conv", "ConvInteger", "QLinearConv", "DeformConv", "FusedConv", "NhwcConv", "NhwcFusedConv"})
FRONT = 2
"""The number of axes in front of those over which a window slides: batch and channels."""
SAME = (b"SAME_UPPER", b"SAME_LOWER")


class Window(NamedTuple):
    """The window of one axis: sizes of the kernel, stride and dilation in elements, and the padding on both sides."""

    kernel: int
    stride: int
    dilation: int
    front: int
    """The number of padding elements in front of the axis; `behind` is the number after the axis."""
    behind: int

    @property
    def reach(self) -> int:
        """Return the number of elements from the first to the last element that the window reads, both included."""
        return (self.kernel - 1) * self.dilation + 1


def _windows(call: Call, kernel: tuple[int, ...] | None) -> list[Window] | None:
    """Return the window of each axis after the channels; None if an attribute has another length or is out of range.

    `kernel` is the length of the window on each axis, or None if it is unknown.
    """
    if not kernel:
        return None
    ones, zeros = (1,) * len(kernel), (0,) * 2 * len(kernel)
    strides, dilations = _stated(call, "strides", ones), _stated(call, "dilations", ones)
    pads = _stated(call, "pads", zeros) if _padding(call) == b"NOTSET" else zeros
    if not len(strides) == len(dilations) == len(kernel) or len(pads) != 2 * len(kernel):
        return None
    if min(*kernel, *strides, *dilations) < 1 or min(pads) < 0:
        return None
    return [Window(*each) for each in zip(kernel, strides, dilations, pads, pads[len(kernel) :], strict=False)]


def _stated(call: Call, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return the attribute `name`, a list of integers, or `default` if the node does not have it."""
    given = call.integers(name)
    return default if given is None else given


def _padding(call: Call) -> bytes:
    """Return the attribute `auto_pad`, which states how the padding is computed."""
    return call.text("auto_pad", b"NOTSET")


def _window_count(call: Call, size: Size, window: Window) -> Size | None:
    """Return the number of positions of the window along an axis of `size`.

    Return None if it is unknown, or if runtimes and the specification disagree.
    """
    if not isinstance(size, int):
        return _term_places(call, size, window)
    if size < 1:
        return None
    rounds_up, padding = call.flag("ceil_mode"), _padding(call)
    if rounds_up is None or padding not in (b"NOTSET", b"VALID", *SAME):
        return None
    if padding in SAME:
        return None if rounds_up or window.dilation > 1 else -(-size // window.stride)
    rest = size + window.front + window.behind - window.reach
    if rest < 0:
        return None
    return _rounded_up(size, window, rest, padding) if rounds_up else rest // window.stride + 1


def _rounded_up(size: int, window: Window, rest: int, padding: bytes) -> int | None:
    """Return the number of windows of a pool with `ceil_mode`; None if runtimes and the specification disagree.

    `rest` is the number of elements after the first window on the padded axis. The last window may reach beyond the end
    of that axis. If it would start after the last element, onnxruntime drops it, but onnx's inference counts it. For
    VALID the specification has another formula, which results in the same number only if no window reaches beyond the
    end.
    """
    steps = -(-rest // window.stride)
    if steps * window.stride >= size + window.front or (padding == b"VALID" and rest % window.stride):
        return None
    return steps + 1


def _term_places(call: Call, size: Size, window: Window) -> Size | None:
    """Return the number of windows along an axis whose size is a term; None if it is unknown or runtimes disagree.

    If the window may not fit at all, a convolution fails, and runtimes disagree about pools.
    """
    padding, arithmetic = _padding(call), call.table.arithmetic
    if call.flag("ceil_mode") is not False or padding not in (b"NOTSET", b"VALID", *SAME):
        return None
    if padding in SAME:
        return None if window.dilation > 1 else arithmetic.ceildiv(size, window.stride)
    added = window.front + window.behind - window.reach
    if call.op not in CONVOLUTIONS and not _pools_of_nothing(call, size, added, window.stride):
        return None
    room = arithmetic.add(size, added)
    steps = None if room is None else arithmetic.floordiv(room, window.stride)
    return None if steps is None else arithmetic.add(steps, 1)


def _pools_of_nothing(call: Call, size: Size, added: int, stride: int) -> bool:
    """Return whether runtimes count the windows of a pool equally if a size is 0.

    onnxruntime executes such a pool only for an empty batch. It rounds a negative quotient up, so that one window
    remains. If this may happen, the proof assumes that no size is 0. `added` is the padding minus the window's reach.
    """
    batch = (call.sizes(0) or (0,))[0]
    if added < 0 and stride > 1 and call.table.arithmetic.least(size) < 1 and not (isinstance(batch, int) and batch):
        call.table.assumptions[SOME_IMAGE] = None
    return 1 + added >= 0


def _behind(call: Call, sizes: Sizes, kernel: tuple[int, ...] | None) -> tuple[Size | None, ...]:
    """Return the sizes of the result after the channels; None for each unknown size.

    `sizes` is the shape of the data.
    """
    windows = _windows(call, kernel)
    if windows is None or len(windows) != len(sizes) - FRONT:
        return (None,) * (len(sizes) - FRONT)
    return tuple(_window_count(call, size, window) for size, window in zip(sizes[FRONT:], windows, strict=True))


def _pool(call: Call, index: int) -> Dims:
    """Return the dims of result `index` of a pool.

    Result 1 of MaxPool contains indices and has the shape of result 0.
    """
    return None if index > 1 else pooled(call, call.sizes(0))


def pooled(call: Call, sizes: Sizes | None) -> Dims:
    """Return the shape of a pool of data[batch,channels,...]; None if the shape of the data, `sizes`, is unknown."""
    if sizes is None or len(sizes) <= FRONT:
        return None
    return (*sizes[:FRONT], *_behind(call, sizes, call.integers("kernel_shape")))


def globally_pooled(sizes: Sizes | None) -> Dims:
    """Return the shape of a global pool of data[batch,channels,...]: [batch,channels,1,...].

    `sizes` is the data's shape.
    """
    return None if sizes is None or len(sizes) <= FRONT else (*sizes[:FRONT], *(1,) * (len(sizes) - FRONT))


def _convolution(weight: int) -> Callable[[Call], Dims]:
    """Return the rule for the sizes of a convolution whose filters are operand `weight`."""
    return lambda call: convolved(call, call.sizes(0), call.sizes(weight))


def convolved(call: Call, data: Sizes | None, filters: Sizes | None) -> Dims:
    """Return the shape of a convolution of data[batch,channels,...] by filters[made,channels,...]: [batch,made,...].

    `data` and `filters` are shapes. A size is None if it is unknown.
    """
    if data is None or len(data) <= FRONT:
        return None
    if filters is None or len(filters) != len(data):
        return (data[0], *(None,) * (len(data) - 1))
    return (data[0], filters[0], *_behind(call, data, numbers(filters[FRONT:])))


def transposed_convolution(call: Call, data: Sizes | None) -> Dims:
    """Return the dims of a ConvTranspose of data[batch,channels,...]; `data` is the shape of operand 0.

    Sizes after the channels are known only for stated padding. Runtimes disagree about automatic padding and about the
    attribute `output_shape`.
    """
    filters, groups = call.sizes(1), call.integer("group", 1)
    if data is None or len(data) <= FRONT:
        return None
    unknown = (None,) * (len(data) - FRONT)
    if filters is None or len(filters) != len(data) or groups < 1:
        return (data[0], None, *unknown)
    channels = call.table.arithmetic.mul(filters[1], groups)
    windows = _windows(call, numbers(filters[FRONT:]))
    added = call.integers("output_padding") or (0,) * len(unknown)
    if (
        windows is None
        or len(added) != len(unknown)
        or min(added) < 0
        or "output_shape" in call.attributes
        or _padding(call) not in (b"NOTSET", b"VALID")
    ):
        return (data[0], channels, *unknown)
    spread = zip(data[FRONT:], windows, added, strict=True)
    return (data[0], channels, *(_spread(call, size, window, more) for size, window, more in spread))


def _spread(call: Call, size: Size, window: Window, added: int) -> Size | None:
    """Return the size that the windows of a transposed convolution cover along one axis; None if it is unknown.

    `added` is the attribute `output_padding`. Return None also for a result below 1, for which runtimes fail.
    """
    arithmetic, more = call.table.arithmetic, window.reach + added - window.front - window.behind - window.stride
    spread = arithmetic.mul(size, window.stride)
    made = None if spread is None or size == 0 else arithmetic.add(spread, more)
    return None if isinstance(made, int) and made < 1 else made


OPERATORS: Operators = {
    **dict.fromkeys(("Conv", "ConvInteger", "DeformConv"), Operator(sizes=_convolution(1))),
    "QLinearConv": Operator(sizes=_convolution(3)),
    "ConvTranspose": Operator(sizes=lambda call: transposed_convolution(call, call.sizes(0))),
    **dict.fromkeys(
        ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"),
        Operator(sizes=lambda call: globally_pooled(call.sizes(0))),
    ),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), Operator(each_size=_pool)),
}
