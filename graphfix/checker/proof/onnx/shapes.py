"""Rules for the shapes of results that no map has."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.proof.integer_values import span
from graphfix.checker.proof.onnx.table import SAME_SHAPE
from graphfix.checker.proof.sizes import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.sizes import Size

Dims: TypeAlias = "tuple[Size | None, ...] | None"


def ruled(call: Call, index: int) -> Dims:
    """Return the dims of result `index` as far as the operator's own rule knows them; None where not even the rank."""
    if call.domain or (index and call.op != "Split"):
        return None
    if call.op in SAME_SHAPE:
        return call.sizes(0)
    rule = RULES.get(call.op)
    return rule(call) if rule is not None else None


def _free(rank: int | None) -> Dims:
    return None if rank is None else (None,) * rank


def _same_rank(call: Call) -> Dims:
    return _free(call.rank(0))


def _transpose(call: Call) -> Dims:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    order = call.integers("perm") or tuple(reversed(range(len(sizes))))
    return tuple(sizes[axis] for axis in order) if sorted(order) == list(range(len(sizes))) else None


def _concat(call: Call) -> Dims:
    shapes = [view.sizes for view in call.views if view is not None]
    known = next((sizes for sizes in shapes if sizes is not None), None)
    axis = call.integer("axis", 1)
    if known is None or not -len(known) <= axis < len(known) or None in shapes:
        return None if known is None else _free(len(known))
    axis %= len(known)
    parts = [sizes[axis] for sizes in shapes if sizes is not None and len(sizes) == len(known)]
    if len(parts) < len(shapes):
        return None
    lengths = numbers(parts)
    return (*known[:axis], None if lengths is None else sum(lengths), *known[axis + 1 :])


def _reduce(call: Call) -> Dims:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    rank, keep = len(sizes), call.integer("keepdims", 1)
    axes = call.integers("axes")
    if axes is None and call.operand(1) is not None:
        axes = numbers(call.content(1))
        if axes is None:
            return _free(rank) if keep else None
    if not axes:
        if call.integer("noop_with_empty_axes", 0):
            return sizes
        return (1,) * rank if keep else ()
    gone = {axis % rank for axis in axes if rank}
    return tuple(1 if axis in gone else size for axis, size in enumerate(sizes) if keep or axis not in gone)


def _arg(call: Call) -> Dims:
    sizes = call.sizes(0)
    if not sizes:
        return None
    at, keep = call.integer("axis", 0) % len(sizes), call.integer("keepdims", 1)
    return tuple(1 if axis == at else size for axis, size in enumerate(sizes) if keep or axis != at)


def _gather(call: Call) -> Dims:
    data, indices = call.sizes(0), call.sizes(1)
    if not data or indices is None:
        return None
    axis = call.integer("axis", 0) % len(data)
    return (*data[:axis], *indices, *data[axis + 1 :])


def _gather_nd(call: Call) -> Dims:
    data, indices = call.sizes(0), call.sizes(1)
    if data is None or not indices or not isinstance(indices[-1], int):
        return None
    return _free(len(data) + len(indices) - 1 - indices[-1] - call.integer("batch_dims", 0))


def _reshape(call: Call) -> Dims:
    """Sizes that the target has as numbers, and the rank."""
    if call.since < 5:  # noqa: PLR2004 - until then the target is an attribute
        return None
    length, content = call.sizes(1), call.content(1)
    if content is not None:
        return _closed(call, content, tuple(_target_size(call, axis, size) for axis, size in enumerate(content)))
    return _free(length[0]) if length and isinstance(length[0], int) else None


def _target_size(call: Call, axis: int, size: Size) -> Size | None:
    """A term says the size unless it may be a 0 that stands for another size of the operand."""
    own = call.sizes(0) or ()
    if isinstance(size, int):
        return size if size > 0 else None
    if not (call.integer("allowzero", 0) or (axis < len(own) and own[axis] == size)):
        call.table.assumes["no size that a Reshape is given as a term is 0, which would stand for another"] = None
    return size


def _closed(call: Call, target: Sequence[Size], dims: tuple[Size | None, ...]) -> Dims:
    """Compute the size that a -1 leaves open, where all the others are numbers; a 0 copies."""
    own = call.sizes(0) or ()
    copies = not call.integer("allowzero", 0)
    full = [own[at] if size == 0 and copies and at < len(own) else dims[at] for at, size in enumerate(target)]
    known = [size for size in full if isinstance(size, int) and size > 0]
    whole = numbers(own)
    if len(known) != len(full) - 1 or -1 not in target or not whole:
        return tuple(full)
    return tuple(prod(whole) // prod(known) if size == -1 else full[at] for at, size in enumerate(target))


def _range(call: Call) -> Dims:
    ends = [call.content(index) for index in range(3)]
    known = [end[0] for end in ends if end and isinstance(end[0], int)]
    return (span(*known) if len(known) == len(ends) else None,)


def _pool(call: Call) -> Dims:
    sizes = call.sizes(0)
    return None if sizes is None else (*sizes[:2], *(None,) * (len(sizes) - 2))


def _global_pool(call: Call) -> Dims:
    sizes = call.sizes(0)
    return None if sizes is None else (*sizes[:2], *(1,) * (len(sizes) - 2))


def _by_target(call: Call) -> Dims:
    """ConstantOfShape: the operand is the result's shape."""
    target = call.operand(0)
    if target is None:
        return None
    if target.content is not None:
        return target.content
    return _free(target.sizes[0]) if target.sizes and isinstance(target.sizes[0], int) else None


def _squeeze(call: Call) -> Dims:
    rank, axes = call.rank(0), call.axes()
    return None if rank is None or not axes else _free(rank - len({axis % rank for axis in axes if rank}))


def _unsqueeze(call: Call) -> Dims:
    rank, axes = call.rank(0), call.axes()
    return None if rank is None or axes is None else _free(rank + len(axes))


def _compress(call: Call) -> Dims:
    return (None,) if "axis" not in call.attributes else _same_rank(call)


def _conv(call: Call) -> Dims:
    data, weight = call.sizes(0), call.sizes(1)
    if data is None or weight is None or not weight:
        return _same_rank(call)
    return (data[0], weight[0], *(None,) * (len(data) - 2)) if len(data) > 1 else None


def _one_hot(call: Call) -> Dims:
    rank = call.rank(0)
    return None if rank is None else _free(rank + 1)


RULES: Mapping[str, Callable[[Call], Dims]] = {
    "Transpose": _transpose, "Concat": _concat, "ArgMax": _arg, "ArgMin": _arg, "Gather": _gather,
    "GatherND": _gather_nd, "Reshape": _reshape, "ConstantOfShape": _by_target, "Conv": _conv, "OneHot": _one_hot,
    "Compress": _compress, "Size": lambda _: (), "Range": _range, "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze, "Tile": _same_rank,
    "GatherElements": lambda call: call.sizes(1),
    **dict.fromkeys(("NonZero", "Flatten", "Gemm"), lambda _: (None, None)),
    **dict.fromkeys(
        "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp"
        " ReduceSumSquare".split(), _reduce),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _global_pool),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool),
    **dict.fromkeys(
        "Slice Pad Split ConvTranspose Resize Upsample"
        " TopK DepthToSpace SpaceToDepth QLinearConv ConvInteger".split(), _same_rank),
}  # fmt: skip
"""Rules of the standard operators; a size that is None is not known."""
