"""Own shape rules, by operator: dims as terms and ranks where onnx's inference says nothing.

Sources: the ONNX operator specification; broadcasting operators follow their row of the catalogue. A rule answers one
shape a result, or None where it has nothing to say; it never guesses.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

from graphfix import operators
from graphfix.formats.onnx.infer.operands import Call
from graphfix.formats.onnx.infer.plain import RANK_KEPT, REDUCTIONS, SAME_SHAPE, SAME_SHAPE_MICROSOFT
from graphfix.operators import Row
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import UNKNOWN, Shape, Size, never_one, same

Results: TypeAlias = tuple[Shape | None, ...]
Rule: TypeAlias = Callable[[Call], Results]
NOTHING: Results = ()
AXES_AT = 3
"""The operand of Slice that names its axes."""


def unknowns(rank: int) -> Shape:
    """[?, ?, ...] of that rank."""
    return Shape((UNKNOWN,) * rank)


def first(call: Call) -> Results:
    """The result has the shape of operand 0."""
    return (call.shape(0),)


def rank_of_first(call: Call) -> Results:
    """The result has the rank of operand 0, its sizes are computed."""
    dims = call.ranked(0)
    return NOTHING if dims is None else (unknowns(len(dims)),)


def every_rank_of_first(call: Call) -> Results:
    """Every result has the rank of operand 0."""
    dims = call.ranked(0)
    return NOTHING if dims is None else (unknowns(len(dims)),) * 64


def always(*ranks: int) -> Rule:
    """Results of fixed ranks."""
    return lambda _: tuple(unknowns(rank) for rank in ranks)


def multidirectional(call: Call) -> Results:
    """Numpy's rule over the operands that the row names."""
    row = call.row
    if row is None:
        return NOTHING
    indices = range(len(call.inputs)) if row.variadic else [operand.index for operand in row.operands]
    parts = [shape for index in indices if (shape := call.shape(index)) is not None]
    return (shapes.broadcast(*parts),) if parts else NOTHING


def unidirectional(call: Call) -> Results:
    """The result has the shape of the operand that the others are broadcast onto."""
    row = call.row
    return (call.shape(row.onto),) if row is not None and row.onto is not None else NOTHING


def matmul(call: Call) -> Results:
    """numpy.matmul: batch axes broadcast, [.., M, K] x [.., K, N]; a rank-1 operand is promoted, its axis removed."""
    if call.row is None or len(call.row.operands) < 2:  # noqa: PLR2004 -- a product has two operands
        return NOTHING
    left, right = (call.ranked(operand.index) for operand in call.row.operands[:2])
    if not left or not right or call.attributes:  # FusedMatMul's transA/transBatchA: onnxruntime's own inference
        return NOTHING
    batch = shapes.broadcast(Shape(left[:-2]), Shape(right[:-2])).dims
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (Shape((*batch, *rows, *columns)),)


def gemm(call: Call) -> Results:
    """(M, N), by transA and transB."""
    left, right = call.ranked(0), call.ranked(1)
    if left is None or right is None or len(left) != 2 or len(right) != 2:  # noqa: PLR2004 -- matrices
        return NOTHING
    m = left[1 if call.number("transA", 0) else 0]
    n = right[0 if call.number("transB", 0) else 1]
    return (Shape((m, n)),)


def expand(call: Call) -> Results:
    """Two-directional with the shape operand; where that is computed, a size that is never 1 stays."""
    dims, target = call.ranked(0), call.content(1)
    shape = call.shape(0)
    if target is not None and shape is not None:
        return (shapes.broadcast(shape, target),)
    length = call.length(1)
    if dims is None or length is None:
        return NOTHING
    rank = max(len(dims), length)
    kept = [size if never_one(size) else UNKNOWN for size in dims]
    return (Shape((*[UNKNOWN] * (rank - len(dims)), *kept)),)


def unsqueeze(call: Call) -> Results:
    """Unit axes at the positions of the result that `axes` names."""
    dims, axes = call.ranked(0), call.ints(1, "axes")
    if dims is None or axes is None:
        length = call.length(1)
        return NOTHING if dims is None or length is None else (unknowns(len(dims) + length),)
    rank = len(dims) + len(axes)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) < len(axes):
        return NOTHING  # an axis twice, or one that is not there: the runtime's error
    rest = iter(dims)
    return (Shape(tuple(1 if axis in places else next(rest) for axis in range(rank))),)


def squeeze(call: Call) -> Results:
    """The named axes go."""
    dims, axes = call.ranked(0), call.ints(1, "axes")
    if dims is None or axes is None or not all(-len(dims) <= axis < len(dims) for axis in axes):
        return NOTHING
    gone = {axis % len(dims) for axis in axes}
    return (Shape(tuple(size for axis, size in enumerate(dims) if axis not in gone)),)


def transpose(call: Call) -> Results:
    """Axes permuted; reversed without `perm`."""
    dims, perm = call.ranked(0), call.attributes.get("perm")
    if dims is None:
        return NOTHING
    order = perm if isinstance(perm, tuple) else tuple(reversed(range(len(dims))))
    return (Shape(tuple(dims[axis] for axis in order)),) if sorted(order) == list(range(len(dims))) else NOTHING


def reshape(call: Call) -> Results:
    """The target's sizes: 0 copies (unless allowzero), one -1 takes what is left; else only the rank is known."""
    given = call.attributes.get("shape")
    target = given if isinstance(given, tuple) else call.vector(1)
    if target is None:
        length = call.length(1)
        return NOTHING if length is None else (unknowns(length),)
    source = call.ranked(0)
    copies = not call.number("allowzero", 0)
    sizes = [_copied(source, axis) if size == 0 and copies else size for axis, size in enumerate(target)]
    if -1 in sizes:
        sizes[sizes.index(-1)] = _rest(source, [size for size in sizes if size != -1])
    return NOTHING if any(isinstance(size, int) and size < 0 for size in sizes) else (Shape(tuple(sizes)),)


def _copied(source: tuple[Size, ...] | None, axis: int) -> Size:
    return source[axis] if source is not None and axis < len(source) else UNKNOWN


def _rest(source: tuple[Size, ...] | None, others: list[Size]) -> Size:
    """The size of the -1 axis: named sizes on both sides cancel, the rest must be numbers that divide."""
    if source is None:
        return UNKNOWN
    remaining = list(source)
    divisor: list[int] = []
    for size in others:
        match = next((at for at, have in enumerate(remaining) if same(have, size)), None)
        if match is not None:
            remaining.pop(match)
        elif isinstance(size, int):
            divisor.append(size)
        else:
            return UNKNOWN
    named = [size for size in remaining if not isinstance(size, int)]
    whole, by = prod(size for size in remaining if isinstance(size, int)), prod(divisor)
    if by == 0 or whole % by:
        return UNKNOWN
    if not named:
        return whole // by
    return named[0] if len(named) == 1 and whole == by else UNKNOWN


def reduce(call: Call) -> Results:
    """With keepdims=1 the rank stays, also where the axes are computed."""
    dims = call.ranked(0)
    return (unknowns(len(dims)),) if dims is not None and call.number("keepdims", 1) else NOTHING


def slices(call: Call) -> Results:
    """Axes that are not sliced keep their size; older operator sets name the axes in an attribute."""
    dims, axes = call.ranked(0), call.ints(3, "axes")
    starts = call.length(1)
    if dims is None:
        return NOTHING
    if axes is None:
        named = len(call.inputs) > AXES_AT and bool(call.inputs[AXES_AT])
        axes = tuple(range(starts)) if starts is not None and not named else tuple(range(len(dims)))
    cut = {axis % len(dims) for axis in axes} if dims else set()
    return (Shape(tuple(UNKNOWN if axis in cut else size for axis, size in enumerate(dims))),)


def gather(call: Call) -> Results:
    """data[:axis] + indices + data[axis+1:]."""
    data, indices = call.ranked(0), call.ranked(1)
    if data is None or indices is None:
        return NOTHING
    axis = call.number("axis", 0) % max(len(data), 1)
    return (Shape((*data[:axis], *indices, *data[axis + 1 :])),)


def constant_of_shape(call: Call) -> Results:
    """The shape that the operand holds."""
    target = call.content(0)
    length = call.length(0)
    return (target,) if target is not None else NOTHING if length is None else (unknowns(length),)


def shape_of(call: Call) -> Results:
    """As many elements as the operand has axes from `start` to `end`."""
    dims = call.ranked(0)
    if dims is None:
        return (unknowns(1),)
    start, end = call.number("start", 0), call.number("end", len(dims))
    return (Shape((len(dims[start:end]),)),)


def tile(call: Call) -> Results:
    """Each size times its repeats; a size that is repeated once stays what it is."""
    dims, repeats = call.ranked(0), call.vector(1)
    if dims is None or repeats is None or len(repeats) != len(dims):
        return rank_of_first(call)
    return (Shape(tuple(shapes.mul(size, times) for size, times in zip(dims, repeats, strict=True))),)


def convolution(call: Call) -> Results:
    """Data, weight and result have one rank."""
    dims = call.ranked(0) or call.ranked(1)
    return NOTHING if dims is None else (unknowns(len(dims)),)


def concat(call: Call) -> Results:
    """All operands have the rank of the result."""
    dims = next((dims for index in range(len(call.inputs)) if (dims := call.ranked(index)) is not None), None)
    return NOTHING if dims is None else (unknowns(len(dims)),)


RULES: dict[tuple[str, str], Rule] = {
    **{("", op): first for op in SAME_SHAPE},
    **{("com.microsoft", op): first for op in SAME_SHAPE_MICROSOFT},
    **{("", op): reduce for op in REDUCTIONS},
    **{("", op): rank_of_first for op in RANK_KEPT},
    **{("", op): every_rank_of_first for op in ("Split", "TopK")},
    **{("", op): convolution for op in ("Conv", "ConvTranspose", "ConvInteger")},
    ("", "Expand"): expand,
    ("", "Slice"): slices,
    ("", "Shape"): shape_of,
    ("", "Size"): always(0),
    ("", "Tile"): tile,
    ("", "Unsqueeze"): unsqueeze,
    ("", "Squeeze"): squeeze,
    ("", "Transpose"): transpose,
    ("", "Reshape"): reshape,
    ("", "Range"): always(1),
    ("", "NonZero"): always(2),
    ("", "Flatten"): always(2),
    ("", "LSTM"): always(4, 3, 3),
    ("", "GRU"): always(4, 3),
    ("", "RNN"): always(4, 3),
    ("", "Gather"): gather,
    ("", "ConstantOfShape"): constant_of_shape,
    ("", "Concat"): concat,
}
BY_STYLE: dict[str, Rule] = {
    "multidirectional": multidirectional,
    "unidirectional": unidirectional,
    "matmul": matmul,
    "gemm": gemm,
}


SHAPES_ALONE = frozenset(
    {("", op) for op in SAME_SHAPE}
    | {("", "Constant")}
    | {(row.domain, row.op) for row in operators.rows() if row.style in BY_STYLE}
)
"""The operators whose results' shapes never follow from the values of an operand: only from shapes."""


def rule(domain: str, op: str, row: Row | None) -> Rule | None:
    """The rule of an operator: that of its name, else that of its row's style."""
    named = RULES.get((domain, op))
    return named if named is not None or row is None else BY_STYLE.get(row.style)
