"""The sizes of results that no map has, as far as the proof's own rules know them.

Nobody else is asked: what a rule does not derive from the operands is not known, and is named by the term. Rules hold
where a runtime runs the node at all. Where runtimes disagree, or take what the specification does not, nothing is
known. Source: the operators' specifications, and what onnxruntime returned for random attributes and sizes
(`tests/checker/proof/test_shapes.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.files.onnx.operators import ADDED, ONTO, SAME_SHAPE
from graphfix.checker.proof.core.result import NO_SIZE_IS_0, NONE_WITHOUT_ELEMENTS
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, integer_type
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.broadcast import onto_sizes
from graphfix.checker.proof.neutral.integer_values import span, span_of
from graphfix.checker.proof.onnx import layout_shapes
from graphfix.checker.proof.onnx.layout_shapes import places
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.checker.proof.onnx.sequence_shapes import element

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.core.terms import View
    from graphfix.checker.proof.onnx.reading.operands import Call

EXACT_SPAN = 1 << 53
"""Up to here runtimes that count a range in float64 count it right."""
COUNTED_BY_FLOATS = "sizes that a Range of float32 counts to or from are below 2**23"
WHOLE = 1 << 23
"""Up to here float32 has the difference of any two whole numbers."""
TARGET_AS_OPERAND = 5
"""From this version on Reshape's target is an operand."""


def ruled(call: Call, index: int) -> Dims:
    """Return the dims of result `index` as far as they are known; None where not even the rank."""
    if call.domain:
        from graphfix.checker.proof.onnx import contrib  # most models have no operators of other domains

        return contrib.sizes(call, index)
    if call.op in SAME_SHAPE:
        return None if index else call.sizes(0)
    return _standard(call, index)


def _standard(call: Call, index: int) -> Dims:
    if ("", call.op) in ONTO:
        return _statistics(call) if index else _onto(call)
    if call.op in RULES or call.op in SEVERAL:
        return _by(RULES, SEVERAL, call, index)
    from graphfix.checker.proof.onnx.operators import networks  # most models have neither of these

    if call.op in networks.RULES or call.op in networks.SEVERAL:
        return _by(networks.RULES, networks.SEVERAL, call, index)
    from graphfix.checker.proof.onnx.operators import windows

    if call.op in windows.RULES or call.op in windows.SEVERAL:
        return _by(windows.RULES, windows.SEVERAL, call, index)
    return _of_a_state(call, index)


def _of_a_state(call: Call, index: int) -> Dims:
    """Return the dims by the rules of newer operators with a state, or of operators that onnxruntime adds."""
    from graphfix.checker.proof.onnx import contrib
    from graphfix.checker.proof.onnx.operators import states

    if call.op in states.SEVERAL:
        return states.SEVERAL[call.op](call, index)
    return contrib.sizes(call, index)


def _by(
    rules: Mapping[str, Callable[[Call], Dims]],
    several: Mapping[str, Callable[[Call, int], Dims]],
    call: Call,
    index: int,
) -> Dims:
    """Ask the rule of an operator, if there is one: those of one result know of no other."""
    if call.op in several:
        return several[call.op](call, index)
    rule = None if index else rules.get(call.op)
    return rule(call) if rule is not None else None


def _free(rank: int | None) -> Dims:
    return None if rank is None else (None,) * rank


def _of_length(sizes: Sizes | None) -> Dims:
    """Return the rank of what a vector of this shape is the shape of."""
    if sizes is None or len(sizes) != 1 or not isinstance(sizes[0], int) or sizes[0] > MOST_ELEMENTS:
        return None
    return _free(sizes[0])


def _onto(call: Call) -> Dims:
    if call.op == ADDED:
        return call.sizes(0)
    parts = [call.sizes(index) for index in ONTO["", call.op] if call.operand(index) is not None]
    return onto_sizes(call.sizes(0), parts)


def _statistics(call: Call) -> Dims:
    """Return the shape of the mean and the deviation that a LayerNormalization returns: normalized axes have size 1."""
    sizes, axis = call.sizes(0), call.integer("axis", -1)
    if call.op == "PRelu" or sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    kept = axis % len(sizes)
    if call.op == ADDED and kept != len(sizes) - 1:
        return None  # onnxruntime infers 1 for the first of the normalized axes alone, and computes 1 for all of them
    return (*sizes[:kept], *(1,) * (len(sizes) - kept))


def _transpose(call: Call) -> Dims:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    given = call.integers("perm")
    order = tuple(reversed(range(len(sizes)))) if given is None else given
    return tuple(sizes[axis] for axis in order) if sorted(order) == list(range(len(sizes))) else None


def _concat(call: Call) -> Dims:
    return layout_shapes.joined(call, [view.sizes for view in call.views if view is not None])


def _reduce(call: Call) -> Dims:
    sizes, keep, idle = call.sizes(0), call.flag("keepdims", default=True), call.flag("noop_with_empty_axes")
    if sizes is None or keep is None or idle is None:
        return None
    rank, axes = len(sizes), call.integers("axes")
    if axes is None and call.operand(1) is not None:
        axes = numbers(call.vector(1))
        if axes is None:
            return _free(rank) if keep else None
    if not axes and idle:
        return sizes
    axes = axes or tuple(range(rank))
    if not axes:
        return sizes
    if places(axes, rank) is None:
        return None
    return _reduced(call, sizes, axes, keep=keep)


def _reduced(call: Call, sizes: Sizes, axes: Sequence[int], *, keep: bool) -> Dims:
    """Leave out axes: where there are no elements onnxruntime keeps those that are counted from the end."""
    if 0 in sizes:
        return _free(len(sizes)) if keep else None
    if min(axes) < 0 and numbers(sizes) is None:
        call.table.assumes[NONE_WITHOUT_ELEMENTS] = None
    gone = {axis % len(sizes) for axis in axes}
    return tuple(1 if axis in gone else size for axis, size in enumerate(sizes) if keep or axis not in gone)


def _arg(call: Call) -> Dims:
    sizes, axis, keep = call.sizes(0), call.integer("axis", 0), call.flag("keepdims", default=True)
    if not sizes or keep is None or not -len(sizes) <= axis < len(sizes):
        return None
    return _reduced(call, sizes, (axis,), keep=keep)


def _gather(call: Call) -> Dims:
    data, indices, axis = call.sizes(0), call.sizes(1), call.integer("axis", 0)
    if not data or indices is None or not -len(data) <= axis < len(data):
        return None
    axis %= len(data)
    return (*data[:axis], *indices, *data[axis + 1 :])


def _gather_nd(call: Call) -> Dims:
    data, indices, batch = call.sizes(0), call.sizes(1), call.integer("batch_dims", 0)
    if data is None or not indices or not isinstance(indices[-1], int):
        return None
    taken = batch + indices[-1]
    return (*indices[:-1], *data[taken:]) if 0 <= batch < len(indices) and 0 < taken <= len(data) else None


def _reshape(call: Call) -> Dims:
    """Sizes that the target has, and the rank."""
    if call.since < TARGET_AS_OPERAND:
        return None
    target, copies = call.partial_target(1), call.flag("allowzero")
    if target is None or copies is None:
        return _of_length(call.sizes(1))
    own = call.sizes(0) or ()
    dims = tuple(
        own[axis] if size == 0 and not copies and axis < len(own) else _target_size(call, axis, size)
        for axis, size in enumerate(target)
    )
    return _closed(call, own, target, dims)


def _target_size(call: Call, axis: int, size: Size | None) -> Size | None:
    """Return the size that an element of a Reshape's target means; None for -1, and for a 0 that copies a size.

    A term may be such a 0: the proof then assumes that no size is 0.
    """
    own = call.sizes(0) or ()
    allows_zero = bool(call.integer("allowzero", 0))
    if size is None or isinstance(size, int):
        return size if size is not None and (size > 0 or (size == 0 and allows_zero)) else None
    if not allows_zero and axis < len(own) and not _zero_with(call, own[axis], size):
        call.table.assumes[NO_SIZE_IS_0] = None
    return size


def _zero_with(call: Call, own: Size, size: Size) -> bool:
    """Whether the operand's size is 0 wherever the target's is."""
    return own == size or call.table.arithmetic.quotient(own, size) is not None


def _closed(call: Call, own: Sizes, target: Sequence[Size | None], dims: tuple[Size | None, ...]) -> Dims:
    """Compute the size that a -1 leaves open, where all the others are known."""
    known = [size for size in dims if size is not None and size != 0]
    if len(known) != len(dims) - 1 or target.count(-1) != 1 or not own:
        return dims
    if call.integer("allowzero", 0) and numbers(known) is None:
        call.table.assumes[NO_SIZE_IS_0] = None
    left = call.table.arithmetic.left_open(own, known)
    return tuple(left if size == -1 else dims[at] for at, size in enumerate(target))


def _range(call: Call) -> Dims:
    """Of integers that are known; of floats runtimes round differently, but for whole ones that are counted by 1."""
    ends = [call.content(index) for index in range(3)]
    known = [end[0] for end in ends if end and (not isinstance(end[0], int) or abs(end[0]) < EXACT_SPAN)]
    kinds = {None if view is None else integer_type(view) for view in call.views}
    if len(known) < len(ends) or len(kinds) != 1:
        known = _counted(call)
    if len(known) < len(ends) or not isinstance(known[2], int):
        return (None,)
    plain = numbers(known)
    return (span(*plain) if plain is not None else span_of(call.table.arithmetic, known[0], known[1], known[2]),)


def _counted(call: Call) -> list[Size]:
    """Return the bounds and the step of a range of float32, where they are whole: a constant, or a size."""
    views = [view for view in call.views if view is not None and dtype(view.core) == TensorProto.FLOAT]
    known = [_whole(call, view) for view in views]
    found = [number for number in known if number is not None and (not isinstance(number, int) or abs(number) <= WHOLE)]
    if not found or len(found) < len(call.views) or found[-1] not in (1, -1) or numbers(found) is not None:
        return []
    call.table.assumes[COUNTED_BY_FLOATS] = None
    return found


def _whole(call: Call, view: View) -> Size | None:
    array = constant_folding.literal(view)
    if array is None:
        return call.table.counts.get(view.core)
    return int(array.item()) if array.size == 1 and float(array.item()).is_integer() else None


def _by_target(call: Call) -> Dims:
    """ConstantOfShape: the operand is the result's shape."""
    sizes = call.partial_target(0) if call.views else None
    if sizes is None:
        return _of_length(call.sizes(0))
    return tuple([None if isinstance(size, int) and size < 0 else size for size in sizes])


def _non_zero(call: Call) -> Dims:
    return (call.rank(0) or None, None)


RULES: Mapping[str, Callable[[Call], Dims]] = {
    "Transpose": _transpose, "Concat": _concat, "ArgMax": _arg, "ArgMin": _arg, "Gather": _gather,
    "GatherND": _gather_nd, "Reshape": _reshape, "ConstantOfShape": _by_target, "Size": lambda _: (),
    "Range": _range, "GatherElements": lambda call: call.sizes(1), "NonZero": _non_zero, "SequenceAt": element,
    **dict.fromkeys(
        "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp"
        " ReduceSumSquare".split(), _reduce),
    # A scalar of float8 is a vector for onnxruntime.
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), lambda call: call.sizes(0) or None),
    **layout_shapes.RULES,
}  # fmt: skip
"""Rules of the standard operators for their first result; a size that is None is not known."""
SEVERAL = layout_shapes.SEVERAL
"""Rules of operators that have several results."""
