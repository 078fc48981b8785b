"""Align the operands of one broadcasting node: which operands are broadcast, to which shape, and how.

The indexing maps follow from the aligned shapes. Axis j of an operand follows axis j + (rank of the result - rank of
the operand) of the result. Source: the rows of the catalogue; numpy's rule for right-aligned operators, numpy.matmul
for batch axes.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix import operators
from graphfix.graph.edits import AxisOf
from graphfix.graph.quantizers import DEQUANTIZE, is_quantizer
from graphfix.graph.view import Node, Value, optional_operand
from graphfix.operators.row import TFLITE, Exempt, Operand, Seen
from graphfix.results.records import dataclass
from graphfix.shapes.axis import Certainty
from graphfix.shapes.dim import Incompatible, Shape, Size, Undecided, never_one, same
from graphfix.shapes.shape import broadcast, same_shape, stretches

MATRIX = 2
"""The number of axes of a matrix product's operand that are not batch axes."""
MOST_AXES = 64
"""The greatest rank of a broadcast: both formats infer the elements of a vector (here a shape) up to this length."""
By = tuple[int | tuple[int | AxisOf, ...], ...]
"""The shapes by which an operand is stretched, as in `edits.Stretch.by`."""


@dataclass(frozen=True, slots=True)
class BroadcastOperand:
    """One operand that is broadcast."""

    operand: Operand
    value: Value
    shape: Shape
    """The axes that are aligned: all of them, or only the batch axes of a matrix product's operand."""

    @property
    def index(self) -> int:
        """Return the operand's index in the node."""
        return self.operand.index

    @property
    def matrix(self) -> tuple[Size, ...]:
        """Return the sizes of the axes that are not aligned: the last two in a matrix product, otherwise none."""
        return self.value.shape.dims[self.shape.rank :] if self.shape.ranked else ()


@dataclass(frozen=True, slots=True)
class Alignment:
    """The operands of a node that are broadcast, and the shape to which they are aligned."""

    operands: tuple[BroadcastOperand, ...]
    result: Shape
    """The shape of the aligned axes in the result; its rank is unknown if an operand's is."""
    rank: int
    """The rank that every operand has after it is lifted; 0 if the rank of the result is unknown."""
    others: tuple[tuple[int, Shape], ...]
    """(operand, shape) of everything that an operand may be stretched by, the operands themselves included.

    It is () if only `onto` determines the result's shape.
    """
    onto: By = ()
    """The source of the result's shape, if this shape is not the broadcast of the operands."""

    def stretches(self, operand: BroadcastOperand) -> tuple[Certainty, ...]:
        """Return, for each axis of the result, whether it repeats the operand: "yes", "no" or "maybe".

        If the rank is unknown, return one answer for all axes.
        """
        if not self.result.ranked:
            return ("maybe" if self.run_time_shape(operand)[0] else "no",)
        if not self.others:
            return stretches([operand.shape, self.result], 0)
        at = next(at for at, (index, _) in enumerate(self.others) if index == operand.index)
        return stretches([shape for _, shape in self.others], at)

    def is_implicit(self, operand: BroadcastOperand) -> bool:
        """Return whether the operator lifts the operand, or may stretch it."""
        return operand.value.shape.rank < self.rank or any(axis != "no" for axis in self.stretches(operand))

    def run_time_shape(self, operand: BroadcastOperand) -> tuple[By, Shape]:
        """Return the shapes that stretch the operand during the run, and the operand's shape afterwards.

        If one other operand determines the result's shape, only this operand is returned; otherwise several may be
        needed.
        """
        if operand.matrix:
            return tuple(self._batches(operand)), Shape(self.result.dims + operand.matrix)
        if self.onto:
            return self.onto, self.result
        ranked = self.result.ranked
        others = [(at, shape) for at, shape in self.others if at != operand.index and not (ranked and shape.axes == ())]
        for index, shape in others if ranked else ():
            if same_shape(broadcast(operand.shape, shape), self.result):
                return (index,), self.result
        chosen: list[int] = []
        reached = operand.shape
        for index, shape in others:
            further = broadcast(reached, shape)
            if not same_shape(further, reached) or (ranked and not _never_stretches(shape, operand.shape)):
                chosen.append(index)
                reached = further
        return tuple(chosen), reached

    def _batches(self, operand: BroadcastOperand) -> Iterator[tuple[int | AxisOf, ...]]:
        """Yield the shapes to stretch a matrix product's operand to, axis by axis: batch axes, then the matrix.

        A size is a number, or (operand, axis) that is read during the run: an operand that has the result's size there.
        If no operand has it, there is one shape for each other operand, with the sizes of that operand.
        """
        batch = operand.shape.rank
        matrix = [
            size if isinstance(size, int) else (operand.index, batch + axis) for axis, size in enumerate(operand.matrix)
        ]
        batch_sizes = [self._batch(axis) for axis in range(self.result.rank)]
        known_parts = [part for part in batch_sizes if part is not None]
        if len(known_parts) == len(batch_sizes):
            yield (*known_parts, *matrix)
            return
        for index, shape in self.others:
            if index != operand.index:
                first = self.result.rank - shape.rank
                parts = [
                    _part(index, shape, axis - first) if part is None else part for axis, part in enumerate(batch_sizes)
                ]
                yield (*parts, *matrix)

    def _batch(self, axis: int) -> int | AxisOf | None:
        """Return the result's size of a batch axis: a number, or (operand, axis) of an operand that has it.

        Return None if no operand has this size, because it is a broadcast of several sizes.
        """
        size = self.result.dims[axis]
        if isinstance(size, int):
            return size
        places = [(index, axis - (self.result.rank - shape.rank), shape) for index, shape in self.others]
        found = ((index, at) for index, at, shape in places if at >= 0 and same(shape.dims[at], size))
        return next(found, None)


def _part(index: int, shape: Shape, axis: int) -> int | AxisOf:
    """Return the size of an operand's axis, a number or (operand, axis); 1 for an axis in front of the operand."""
    size = shape.dims[axis] if axis >= 0 else 1
    return size if isinstance(size, int) else (index, axis)


def _never_stretches(other: Shape, shape: Shape) -> bool:
    """Return whether `other` can't stretch `shape`.

    This holds if each size of `other` is 1 or equal to the size of `shape`, or if that size of `shape` is never 1.
    """
    ours = (1,) * (other.rank - shape.rank) + shape.dims[max(shape.rank - other.rank, 0) :]
    return all(size == 1 or same(size, mine) or never_one(mine) for size, mine in zip(other.dims, ours, strict=True))


def has_ranks(node: Node) -> bool:
    """Return whether the ranks of all operands that are broadcast are known.

    The rank of an operand that they are broadcast onto must be known too.
    """
    values = [value for _, value in taking_part(node)]
    if values and node.row is not None and node.row.style == "unidirectional" and node.row.onto is not None:
        values.append(node.operand(node.row.onto))
    return all(value.shape.ranked for value in values)


def taking_part(node: Node) -> Iterator[tuple[Operand, Value]]:
    """Yield the operands that are broadcast, as the node's catalogue row lists them, without absent operands.

    Yield nothing if the operand that they are broadcast onto is absent.
    """
    row = node.row
    if row is None or row.style in ("own", "legacy", "equal"):
        return
    if row.onto is not None and optional_operand(node, row.onto) is None:
        return
    for operand in row.taking_part(len(node.operands)):
        value = node.operands[operand.index]
        if value is not None:
            yield operand, value


def align(node: Node) -> Alignment | None:
    """Return how the operands of a node are broadcast; None if no operand is broadcast.

    Raises Undecided if a rank is unknown, Incompatible if the sizes do not broadcast.
    """
    row = node.row
    pairs = list(taking_part(node))
    if row is None or not pairs:
        return None
    if row.style == "matmul":
        return _products(node, pairs)
    if row.style == "gemm":
        return _onto(pairs, _product(node), node, (product_axes(node),))
    if row.style == "unidirectional" and row.onto is not None:
        pairs = [(operand, value) for operand, value in pairs if operand.index != row.onto]
        return _onto(pairs, node.operand(row.onto).ranked, node, (row.onto,))
    return _among(tuple(BroadcastOperand(operand, value, value.ranked) for operand, value in pairs))


def align_at_run_time(node: Node) -> Alignment | None:
    """Return how the operands of a node are broadcast if a rank is unknown; None if all operands surely have one shape.

    An operand is then stretched during the run by the shapes of the other operands. Raises Undecided for a matrix
    product.
    """
    result = _among_unranked(node)
    shapes = [operand.shape for operand in result.operands]
    return None if result.result.parts and all(shape == result.result for shape in shapes) else result


RUN_TIME_SHAPES = frozenset({("", "Shape"), (TFLITE, "SHAPE"), (TFLITE, "BROADCAST_ARGS")})
"""The operators that compute the target shape of a stretch whose rank is unknown."""


def is_run_time_form(node: Node) -> bool:
    """Return whether a node stretches an operand to another value's shape during the run, and its rank is unknown.

    `--unknown expand` writes such nodes where `align_at_run_time` applies. There is no other form for an unknown rank.
    """
    form = operators.stretch_form(node.domain, node.op)
    result = node.results[0] if node.results else None
    if form is None or form.by != "shape" or result is None or result.shape.ranked or None in node.operands[:2]:
        return False
    target = node.operand(1).producer
    return target is not None and (target.domain, target.op) in RUN_TIME_SHAPES


def align_anyhow(node: Node) -> Alignment | None:
    """Return how the operands of a node are broadcast, with or without known ranks. Raises Undecided, Incompatible."""
    return align(node) if has_ranks(node) else _among_unranked(node)


def _among_unranked(node: Node) -> Alignment:
    """Return how operands are broadcast by shapes that are only known during the run; the rank of the alignment is 0.

    Raises Undecided for other operators than right-aligned ones.
    """
    row = node.row
    pairs = list(taking_part(node))
    if row is None or row.style not in ("multidirectional", "unidirectional"):
        for _, value in pairs:
            _ = value.ranked  # This raises Undecided with the name of the operand whose rank is unknown.
        raise Undecided(f"the ranks of what {node.op} '{node.label}' reads are not known")
    others = tuple((operand.index, value.shape) for operand, value in pairs)
    if row.onto is not None:
        others = ((row.onto, node.operand(row.onto).shape),)
        pairs = [(operand, value) for operand, value in pairs if operand.index != row.onto]
    result = broadcast(*(value.shape for _, value in pairs), *(shape for _, shape in others))
    return Alignment(
        tuple(BroadcastOperand(operand, value, value.shape) for operand, value in pairs), result, 0, others
    )


def over_limit(node: Node, alignment: Alignment) -> str | None:
    """Return why the operands are left alone: the result has more axes than the runtime broadcasts. Otherwise None."""
    if alignment.rank > MOST_AXES:
        return f"the result has rank {alignment.rank}, and the elements of a shape are known up to rank {MOST_AXES}"
    limit = node.row.max_rank if node.row is not None else None
    if limit is None or alignment.rank <= limit:
        return None
    return f"the runtime broadcasts {node.op} up to rank {limit}, and the result has rank {alignment.rank}"


def _among(operands: tuple[BroadcastOperand, ...], matrix: int = 0) -> Alignment:
    """Return the alignment of operands to their broadcast; `matrix` is the number of axes behind the aligned ones."""
    result = broadcast(*(operand.shape for operand in operands))
    others = tuple((operand.index, operand.shape) for operand in operands)
    return Alignment(operands, result, result.rank + matrix, others)


def _products(node: Node, pairs: list[tuple[Operand, Value]]) -> Alignment:
    """Return the alignment of a matrix product's batch axes; a vector operand [K] has no batch axes.

    Raises Undecided if the summed size is 0 in ONNX and the batch axes differ, and Incompatible if they do not
    broadcast.
    """
    operands = tuple(BroadcastOperand(operand, value, Shape(value.ranked.dims[:-MATRIX])) for operand, value in pairs)
    vectors = all(operand.value.shape.rank < MATRIX for operand in operands)
    try:
        found = _among(operands, 1 if vectors else MATRIX)
    except Incompatible:
        shapes = " and ".join(str(value.shape) for _, value in pairs)
        raise Incompatible(f"the batch axes of {shapes} do not broadcast") from None
    differ = any(len(operand.matrix) == MATRIX and operand.shape != found.result for operand in operands)
    if differ and _sums_nothing(node, pairs):
        raise Undecided("over a summed size of 0 onnxruntime keeps the batch of operand 0, which a lift changes")
    return found


def _sums_nothing(node: Node, pairs: list[tuple[Operand, Value]]) -> bool:
    """Return whether an ONNX matrix product sums over an axis of size 0, by the shape of either operand."""
    summed = (-2 if node.attributes.get("transA") else -1, -1 if node.attributes.get("transB") else -2)
    sizes = [value.ranked.dims[-MATRIX:] for _, value in pairs]
    return node.domain != TFLITE and any(
        dims[at if len(dims) == MATRIX else 0] == 0 for dims, at in zip(sizes, summed, strict=True) if dims
    )


def _product(node: Node) -> Shape:
    """Return the shape (M, N) of a Gemm's product. Raises Incompatible if an operand is not a matrix."""
    (first, m), (second, n) = product_axes(node)
    left, right = node.operand(first).ranked, node.operand(second).ranked
    if left.rank != MATRIX or right.rank != MATRIX:
        raise Incompatible(f"{left} and {right} are no matrices")
    return Shape((left.dims[m], right.dims[n]))


def product_axes(node: Node) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return which axes of a Gemm's operands are M and N: (operand, axis) for each."""
    left, right = (node.row.product if node.row is not None and node.row.product else None) or (0, 1)
    return (left, 1 if node.attributes.get("transA") else 0), (right, 0 if node.attributes.get("transB") else 1)


def _onto(pairs: list[tuple[Operand, Value]], result: Shape, node: Node, onto: By) -> Alignment:
    """Return the alignment of operands that are broadcast onto a shape (`result`); `onto` is the source of this shape.

    Raises Undecided if an operand does not fit.
    """
    operands = tuple(BroadcastOperand(operand, value, value.ranked) for operand, value in pairs)
    for operand in operands:
        joint = broadcast(operand.shape, result)
        if joint.rank != result.rank or any(
            _grows(have, want) for have, want in zip(result.dims, joint.dims, strict=True)
        ):
            raise Undecided(f"{operand.shape} of '{operand.value.name}' does not broadcast onto {result} of {node.op}")
    return Alignment(operands, result, result.rank, (), onto)


def _grows(have: Size, want: Size) -> bool:
    """Return whether a size `have`, which others are broadcast onto, would surely be stretched to `want`."""
    return not same(have, want) and have == 1 and never_one(want)


def exemption(alignment: Alignment, operand: BroadcastOperand, why: Exempt | None) -> str | None:
    """Return the reason why the operand is exempt by its catalogue row (`why`), or None if it is not.

    An exempt operand is left alone on purpose.
    """
    if why is None:
        return None
    shape = operand.value.shape
    shapes = [each.value.shape for each in alignment.operands]
    ranks = {each.rank if each.ranked else None for each in shapes}
    one = may_be_one(shape)
    return why.holds(
        Seen(
            shape.rank if shape.ranked else -1,
            constant=operand.value.kind == "constant",
            blocks=in_blocks(operand.value),
            one=one,
            one_each=all(map(may_be_one, shapes)) and (None in ranks or len(ranks) > 1),
            under_ones=one and _ends_in_ones(alignment.result, shape),
        )
    )


def in_blocks(value: Value) -> bool:
    """Return whether a value is the result of a DequantizeLinear of a constant that is quantized in blocks."""
    producer = value.producer
    if not is_quantizer(producer, DEQUANTIZE) or not producer.attributes.get("block_size"):
        return False
    return producer.operand(0).kind == "constant"


def _ends_in_ones(shape: Shape, under: Shape) -> bool:
    """Return whether the last axes of `shape`, as many as `under` has, are 1, while other axes of `shape` are not.

    `under` must have fewer axes. If `under` is a scalar, the last axis of `shape` must be 1.
    """
    if not (shape.ranked and under.ranked):
        return False
    ones = [same(size, 1) for size in shape.dims]
    return under.rank < shape.rank and all(ones[-max(under.rank, 1) :]) and not all(ones)


def may_be_one(shape: Shape) -> bool:
    """Return whether a value may have one element: no size is surely different from 1."""
    return not shape.ranked or not any(map(never_one, shape.dims))
