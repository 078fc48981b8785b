"""Rules for ONNX operators that read their operands by indexing maps: broadcasts, quantization, products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.proof.core.sizes import all_known
from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.neutral import broadcast, neutral_elements
from graphfix.checker.proof.neutral.broadcast import matrix_sides, onto_sizes
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.operators.elementwise import (
    CUBE,
    DIFFERING_SHAPES_SINCE,
    POWERS_ARE_PRODUCTS,
    SQUARE,
    has_long_rows,
    is_computed_as_product,
)
from graphfix.checker.proof.onnx.operators.networks import has_both_batches
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.checker.proof.onnx.reading.versions import meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.iteration_space import Axes
    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.onnx.reading.operands import Call

MATRIX = 2
"""The rank of a matrix, and the number of operands of a binary operator."""
PER_AXIS_SINCE = 13
"""From this version on, a quantization may have a parameter for each element of an axis."""
BIASED = "FastGelu"
"""The unary operator with an optional operand 1, a bias, which differs from element to element."""
ITSELF = frozenset({"Max", "Or"})
"""Operators that return x unchanged for the operands x and x, in every bit: NaN and the sign of zero too."""
BYTES = frozenset(number for name, number in TensorProto.DataType.items() if name.startswith("FLOAT8"))
SQUARING = frozenset({"Mul", "Pow"})

# --- elementwise operators ------------------------------------------------------------------------------------------


def _unary(call: Call) -> ProofValue | None:
    """Return the term of an operator that computes each element from one element of operand 0.

    The other operands are parameters of all elements. Return None for a FastGelu with a bias, because the bias differs
    from element to element. A Cast of int32 to int64 returns an earlier int64 value if that contains the same numbers.
    """
    view = call.views[0]
    if view is None:
        return None
    if call.op == BIASED and call.operand(1) is not None:
        return None  # A bias follows the last axis of the data.
    if call.op == "Cast" and view.core in call.table.int64_cores and call.integer("to", 0) == TensorProto.INT64:
        return view._replace(core=call.table.int64_cores[view.core])
    result = broadcast.unary(call.table, (*call.mapped_key, tuple(call.views[1:])), view, call.description)
    if call.op == "Cast" and view.content is not None and len(view.content) == 1:
        call.table.integers_of_floats[result.core] = view.content[0]
    return result


def _each(call: Call) -> ProofValue | None:
    """Return the term of an elementwise operator of several operands.

    Return None if an operand is absent, or if the shapes differ where the operator set does not broadcast.
    """
    if call.version < onnx_ops.LEGACY_END and not call.domain and call.op in onnx_ops.LEGACY:
        return _legacy(call)
    taking = onnx_ops.EACH[call.domain, call.op]
    views = [call.operand(index) for index in taking] if taking else call.views
    given = [view for view in views if view is not None]
    if len(given) < len(views):
        return None
    alike = call.version < DIFFERING_SHAPES_SINCE and not call.domain and call.op in onnx_ops.EQUAL_BEFORE_8
    if alike and len({view.sizes for view in given}) > 1:
        return None
    if call.op in ITSELF and not call.domain and len(given) == MATRIX:
        found = broadcast.common_broadcast(call.table, *given)
        if found is not None and loads(call):
            return found
    if not call.domain and call.op in onnx_ops.LEGACY and len(given) == MATRIX:
        return _beside_neutral(call, *given) or _pair(call, *given)
    others = tuple(view for index, view in enumerate(call.views) if index not in taking) if taking else ()
    return broadcast.elementwise(call.table, (*call.mapped_key, others), given, call.description)


def _beside_neutral(call: Call, one: ProofValue, two: ProofValue) -> ProofValue | None:
    """Return the operand that the result equals, if the other operand is a neutral constant (x * 1), else None."""
    if dtype(one.core) is None or dtype(one.core) != dtype(two.core):
        return None
    found = neutral_elements.neutral_result(call.table.algebra, call.op.upper(), one, two)
    # The check of the node comes last, because most operands are not neutral constants.
    return found if found is not None and loads(call) else None


def _pair(call: Call, one: ProofValue, two: ProofValue) -> ProofValue:
    """Return the term of an operator of two operands. A power by a constant of one element, 2 or 3, is a product.

    onnxruntime computes such a power as a product, bit for bit, whatever the exponent's type. It does not do so if the
    exponent has several elements or more axes than the base, or if the base may have only one element.
    """
    key = (*call.mapped_key, ())
    if call.op not in SQUARING:
        return broadcast.elementwise(call.table, key, [one, two], call.description)
    if call.op == "Pow" and is_computed_as_product(call, one, two, CUBE) and has_long_rows(one):
        key = ("", "Mul", meaning("Mul", "", call.version, frozenset()), (), ())
        square = broadcast.elementwise(call.table, key, [one, one], call.description)
        return broadcast.elementwise(call.table, key, [square, one], call.description)
    if call.op == "Pow" and is_computed_as_product(call, one, two, SQUARE):
        key, two = ("", "Mul", meaning("Mul", "", call.version, frozenset()), (), ()), one
    result = broadcast.elementwise(call.table, key, [one, two], call.description)
    if one == two:
        call.table.product_ops.setdefault(result.core, call.op)
    if call.table.product_ops.get(result.core, call.op) != call.op:
        call.table.assumptions[POWERS_ARE_PRODUCTS] = None
    return result


def _legacy(call: Call) -> ProofValue | None:
    """Return the term of a broadcast before operator set 7; None if a rank is unknown or the shapes do not fit.

    If the attribute `broadcast` is 1, operand 1 follows the axes of operand 0 from `axis` on. Otherwise both operands
    must have one shape.
    """
    one, two = call.operand(0), call.operand(1)
    if one is None or two is None or one.sizes is None or two.sizes is None:
        return None
    if not call.integer("broadcast", 0):
        same = one.sizes == two.sizes or (not call.table.closed and len(one.sizes) == len(two.sizes))
        return _pair(call, one, two) if same else None
    rank, part = len(one.sizes), len(two.sizes)
    axis = call.integer("axis", rank - part)
    axis += rank if axis < 0 else 0
    behind = rank - axis - part
    if axis < 0 or behind < 0:
        return None
    if call.table.closed and any(size not in (1, own) for size, own in zip(two.sizes, one.sizes[axis:], strict=False)):
        # Operand 0 is never stretched. In the first file this is certain because the file runs. In the second file the
        # sizes must show it.
        return None
    padded = ProofValue(two.core, _padded(two.axes, axis, behind), (1,) * axis + two.sizes + (1,) * behind)
    return _pair(call, one, padded)


def _padded(axes: Axes | None, front: int, behind: int) -> Axes:
    """Return the map `axes` with `front` repeated axes in front and `behind` repeated axes behind."""
    return (None,) * front + (axes or ()) + (None,) * behind


# --- quantization -----------------------------------------------------------------------------------------------------


def _quantizing(call: Call) -> ProofValue | None:
    """Return the term of a QuantizeLinear or DequantizeLinear; None if maps can't express how it reads its operands.

    Scale and zero point follow one axis of operand 0, or apply to all of it. If they have one element, `axis` means
    nothing. The term contains the axis only in the maps of the parameters. So the term does not change if operand 0
    gets leading axes and `axis` changes with it.

    Return None for a block size, a parameter that is absent or has several axes, and a node that does not load.
    """
    data = call.views[0]
    parameters = all_known(call.views[1:])
    if data is None or call.integer("block_size", 0) or parameters is None:
        return None
    if data.sizes == () and dtype(data.core) in BYTES:
        return None  # onnxruntime returns a vector for a scalar of float8.
    if not call.domain and not loads(call):
        # Maps express the value of `axis`, but not that this version of the operator has no such attribute.
        return None
    if any(view.sizes is None or len(view.sizes) > 1 for view in parameters):
        return None
    if all(all(size == 1 for size in view.sizes or ()) for view in parameters):
        return broadcast.unary(
            call.table, (*call.mapped_key, tuple(view.core for view in parameters)), data, call.description
        )
    return _along(call, data, parameters)


def _along(call: Call, data: ProofValue, parameters: Sequence[ProofValue]) -> ProofValue | None:
    """Return the term of a quantization whose parameters follow one axis; None if they do not have its size.

    Nothing is stretched. `parameters` are the scale and the zero point.
    """
    if data.sizes is None or data.axes is None or (not call.domain and call.version < PER_AXIS_SINCE):
        return None
    axis = call.integer("axis", 1)
    axis += len(data.sizes) if axis < 0 else 0
    if not 0 <= axis < len(data.sizes) or any(view.sizes != (data.sizes[axis],) for view in parameters):
        return None
    uses = [(data.core, data.axes)]
    for view in parameters:
        follows = view.axes[0] if view.axes else None
        uses.append((view.core, tuple([follows if at == axis else None for at in range(len(data.sizes))])))
    return broadcast.aligned(call.table, call.mapped_key, uses, data.sizes, call.description)


# --- operators that broadcast onto operand 0 --------------------------------------------------------------------------


def _onto(call: Call) -> ProofValue | None:
    """Return the term of an operator that broadcasts its other operands onto operand 0.

    Return None if indexing maps can't express how it reads its operands.
    """
    data, indices = call.views[0], onnx_ops.ONTO[call.domain, call.op]
    if data is None:
        return None
    parts: Sequence[ProofValue] = [view for index in indices if (view := call.operand(index)) is not None]
    if call.domain and any(
        part.sizes is None or part.sizes[-MATRIX:] != (data.sizes or ())[-MATRIX:] for part in parts
    ):
        # com.microsoft's kernels also accept a skip operand without the batch axis or with a batch of 1. The last two
        # axes must be equal.
        return None
    if call.op == "PRelu" and call.version < onnx_ops.LEGACY_END:
        slopes = all_known(channels(data, part) for part in parts)
        if slopes is None:
            return None
        parts = slopes
    rest = tuple(view for index, view in enumerate(call.views) if index and index not in indices)
    given = tuple(call.operand(index) is not None for index in indices)
    # A runtime may choose a kernel by the number of results. Results without a name count.
    key = (
        (*call.mapped_key, rest, given)
        if len(call.result_names) == 1
        else (*call.mapped_key, rest, given, len(call.result_names))
    )
    keeps = bool(call.domain) or call.op == onnx_ops.ADDED
    return broadcast.onto(call.table, key, data, parts, call.description, keeps=keeps)


def channels(data: ProofValue, part: ProofValue) -> ProofValue | None:
    """Return the slope of a PRelu before operator set 7 with unit axes behind the axis that it follows.

    Such a slope is a scalar or follows axis 1, whatever the rank of operand 0 (`data`). Return None for a slope
    (`part`) of unknown rank or with more than one axis. If the rank of `data` is unknown or below 2, return the slope
    unchanged.
    """
    if part.sizes is None or len(part.sizes) > 1:
        return None
    if not part.sizes or data.sizes is None or len(data.sizes) < MATRIX:
        return part
    behind = len(data.sizes) - MATRIX
    return ProofValue(part.core, _padded(part.axes, 0, behind), part.sizes + (1,) * behind)


def onto_operator_sizes(call: Call, index: int) -> Dims:
    """Return the dims of result `index` of an operator that broadcasts its other operands onto operand 0."""
    return _statistics_sizes(call) if index else _onto_sizes(call)


def _onto_sizes(call: Call) -> Dims:
    """Return the dims of the first result: those of operand 0, with None for a size that another operand may change."""
    if call.op == onnx_ops.ADDED:
        return call.sizes(0)
    parts = [call.sizes(index) for index in onnx_ops.ONTO["", call.op] if call.operand(index) is not None]
    return onto_sizes(call.sizes(0), parts)


def _statistics_sizes(call: Call) -> Dims:
    """Return the dims of the mean or the inverse deviation of a LayerNormalization: normalized axes have size 1.

    Return None if the shape of operand 0 is unknown or the axis is out of range.
    """
    sizes, axis = call.sizes(0), call.integer("axis", -1)
    if call.op == "PRelu" or sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    kept = axis % len(sizes)
    if call.op == onnx_ops.ADDED and kept != len(sizes) - 1:
        # onnxruntime infers size 1 only for the first normalized axis, but its kernel returns size 1 for all of them.
        return None
    return (*sizes[:kept], *(1,) * (len(sizes) - kept))


# --- products of matrices ---------------------------------------------------------------------------------------------


def _product(call: Call) -> ProofValue | None:
    """Return the term of a matrix product; None if maps can't express how it reads its operands.

    That is so for transposed batches, and for scales or zero points with several elements.
    """
    indices = onnx_ops.PRODUCTS[call.domain, call.op]
    one, two = (call.operand(index) for index in indices)
    if one is None or two is None or call.integer("transBatchA", 0) or call.integer("transBatchB", 0):
        return None
    # An absent operand is also part of the term, so that the other operands keep their positions.
    others = tuple(view for index, view in enumerate(call.views) if index not in indices)
    if any(view is not None and view.sizes not in ((), (1,)) for view in others):
        # The operands are scales and zero points of columns. The shape that they need depends on the rank of the
        # matrix.
        return None
    outer = (-1 if call.integer("transA", 0) else -2, -2 if call.integer("transB", 0) else -1)
    if one.sizes and two.sizes:
        summed = (*matrix_sides(one.sizes, outer[0])[1], *matrix_sides(two.sizes, outer[1])[1])
        if not has_both_batches(call, one.sizes[:-MATRIX], two.sizes[:-MATRIX], summed):
            return call.table.result(("product exactly", *call.mapped_key, others, (one, two)), call.description, None)
    return broadcast.product(call.table, (*call.mapped_key, others), (one, two), call.description, outer=outer)


def _gemm(call: Call) -> ProofValue | None:
    """Return the term of a Gemm, with operand C broadcast to [rows, columns]; None if maps can't express that.

    A and B must be matrices, and C must have at most two axes. Before operator set 7, C must have the shape of the
    result unless `broadcast` is 1.
    """
    indices = onnx_ops.GEMMS[call.domain, call.op]
    a, b, c = (call.operand(index) for index in indices)
    if a is None or b is None or a.sizes is None or b.sizes is None or len(a.sizes) != MATRIX or len(b.sizes) != MATRIX:
        return None
    rest = tuple(view for index, view in enumerate(call.views) if index not in indices)
    space = (a.sizes[1 if call.integer("transA", 0) else 0], b.sizes[0 if call.integer("transB", 0) else 1])
    key = ("gemm", *call.mapped_key, a, b, rest)
    if c is None:
        return call.table.result((*key, (), (), space), call.description, space)
    if c.axes is None or c.sizes is None or len(c.sizes) > MATRIX:
        return None
    legacy = call.version < onnx_ops.LEGACY_END and not call.domain
    if legacy and c.sizes != space and call.flag("broadcast") is not True:
        return None
    missing = MATRIX - len(c.sizes)
    sizes = call.table.algebra.broadcast_shape(space, c.sizes)
    return call.table.result((*key, (c.core,), ((None,) * missing + c.axes,), sizes), call.description, space)


TERMS: Mapping[tuple[str, str], Callable[[Call], ProofValue | None]] = {
    **dict.fromkeys(onnx_ops.EACH, _each),
    **dict.fromkeys(onnx_ops.UNARY, _unary),
    **dict.fromkeys(onnx_ops.QUANTIZING, _quantizing),
    **dict.fromkeys(onnx_ops.ONTO, _onto),
    **dict.fromkeys(onnx_ops.PRODUCTS, _product),
    **dict.fromkeys(onnx_ops.GEMMS, _gemm),
}
"""The rules by domain and operator, for nodes that have operand 0."""
