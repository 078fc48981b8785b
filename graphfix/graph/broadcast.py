"""How the operands of one broadcasting node broadcast: which take part, their aligned shapes, and the result's.

The indexing maps follow from it: axis j of an operand follows result axis j + (rank of the result - rank of the
operand). Source: the catalogue's rows; numpy's rule for right-aligned operators, numpy.matmul for batch axes.
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
"""The axes of a matrix product's operand that are no batch axes."""
MOST_AXES = 64
"""The readers of both formats follow the elements of a vector up to this number, so no shape of more axes."""
By = tuple[int | tuple[int | AxisOf, ...], ...]
"""What stretches an operand, as `edits.Stretch` says it."""


@dataclass(frozen=True, slots=True)
class BroadcastOperand:
    """One operand that takes part."""

    operand: Operand
    value: Value
    shape: Shape
    """The axes that are aligned: all of them, or a matrix product's batch axes."""

    @property
    def index(self) -> int:
        """Which operand of the node."""
        return self.operand.index

    @property
    def matrix(self) -> tuple[Size, ...]:
        """The axes that are not aligned: none, or the last two of a matrix product's operand."""
        return self.value.shape.dims[self.shape.rank :] if self.shape.ranked else ()


@dataclass(frozen=True, slots=True)
class Alignment:
    """The operands that take part, and what they are aligned to."""

    operands: tuple[BroadcastOperand, ...]
    result: Shape
    """Of the aligned axes; unranked where an operand is."""
    rank: int
    """The rank that equalizing gives every operand; 0 where the result has none."""
    others: tuple[tuple[int, Shape], ...]
    """(operand, shape) of everything that bounds a stretch, the operands themselves included; () for one that follows
    from `onto` alone."""
    onto: By = ()
    """What says the result's shape where that is not the operands' broadcast."""

    def stretches(self, operand: BroadcastOperand) -> tuple[Certainty, ...]:
        """Whether each axis of the result repeats the operand; one answer for all of them where there is no rank."""
        if not self.result.ranked:
            return ("maybe" if self.run_time_shape(operand)[0] else "no",)
        if not self.others:
            return stretches([operand.shape, self.result], 0)
        at = next(at for at, (index, _) in enumerate(self.others) if index == operand.index)
        return stretches([shape for _, shape in self.others], at)

    def is_implicit(self, operand: BroadcastOperand) -> bool:
        """Whether the operator lifts the operand, or may stretch it."""
        return operand.value.shape.rank < self.rank or any(axis != "no" for axis in self.stretches(operand))

    def run_time_shape(self, operand: BroadcastOperand) -> tuple[By, Shape]:
        """What stretches the operand when the model runs, and its shape then: one that says all, else several."""
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
        """Whole shapes, axis by axis: the batch axes of whichever operand has the result's size, then the matrix.

        Where none has it, those of each other operand in turn.
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
        """Where the size of a batch axis of the result stands; None where that is a broadcast that nothing has."""
        size = self.result.dims[axis]
        if isinstance(size, int):
            return size
        places = [(index, axis - (self.result.rank - shape.rank), shape) for index, shape in self.others]
        found = ((index, at) for index, at, shape in places if at >= 0 and same(shape.dims[at], size))
        return next(found, None)


def _part(index: int, shape: Shape, axis: int) -> int | AxisOf:
    """The size of an operand's axis, 1 in front of it."""
    size = shape.dims[axis] if axis >= 0 else 1
    return size if isinstance(size, int) else (index, axis)


def _never_stretches(other: Shape, shape: Shape) -> bool:
    """Whether `other` can't stretch `shape`: its axes are 1, or the same, or ours are never 1."""
    ours = (1,) * (other.rank - shape.rank) + shape.dims[max(shape.rank - other.rank, 0) :]
    return all(size == 1 or same(size, mine) or never_one(mine) for size, mine in zip(other.dims, ours, strict=True))


def has_ranks(node: Node) -> bool:
    """Whether the ranks of the operands that take part, and of the one that they are broadcast onto, are known."""
    values = [value for _, value in taking_part(node)]
    if values and node.row is not None and node.row.style == "unidirectional" and node.row.onto is not None:
        values.append(node.operand(node.row.onto))
    return all(value.shape.ranked for value in values)


def taking_part(node: Node) -> Iterator[tuple[Operand, Value]]:
    """The operands that the node's row names and that are there; none if what they broadcast onto is not there."""
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
    """How the operands broadcast, None where nothing is broadcast.

    Raises Undecided where a rank is not known, Incompatible where the sizes do not broadcast.
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
    """How the operands broadcast where a rank is not known: whoever is stretched is so by the shapes of the others.

    None where all have one shape, whatever it is. Raises Undecided for a matrix product.
    """
    result = _among_unranked(node)
    shapes = [operand.shape for operand in result.operands]
    return None if result.result.parts and all(shape == result.result for shape in shapes) else result


RUN_TIME_SHAPES = frozenset({("", "Shape"), (TFLITE, "SHAPE"), (TFLITE, "BROADCAST_ARGS")})
"""The operators that compute the target shape of the run-time form."""


def is_run_time_form(node: Node) -> bool:
    """Return whether a node stretches an operand to another value's run-time shape, and the result's rank is unknown.

    `--unknown expand` writes this form where `align_at_run_time` applies. No form without an unknown rank exists.
    """
    form = operators.stretch_form(node.domain, node.op)
    result = node.results[0] if node.results else None
    if form is None or form.by != "shape" or result is None or result.shape.ranked or None in node.operands[:2]:
        return False
    target = node.operand(1).producer
    return target is not None and (target.domain, target.op) in RUN_TIME_SHAPES


def align_anyhow(node: Node) -> Alignment | None:
    """How the operands broadcast, whether ranks are known or not. Raises Undecided, Incompatible."""
    return align(node) if has_ranks(node) else _among_unranked(node)


def _among_unranked(node: Node) -> Alignment:
    row = node.row
    pairs = list(taking_part(node))
    if row is None or row.style not in ("multidirectional", "unidirectional"):
        for _, value in pairs:
            _ = value.ranked  # raises with the name of the operand whose rank is not known
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
    """Why the operands stay as they are where the result has more axes than the runtime broadcasts, else None."""
    if alignment.rank > MOST_AXES:
        return f"the result has rank {alignment.rank}, and the elements of a shape are known up to rank {MOST_AXES}"
    limit = node.row.max_rank if node.row is not None else None
    if limit is None or alignment.rank <= limit:
        return None
    return f"the runtime broadcasts {node.op} up to rank {limit}, and the result has rank {alignment.rank}"


def _among(operands: tuple[BroadcastOperand, ...], matrix: int = 0) -> Alignment:
    result = broadcast(*(operand.shape for operand in operands))
    others = tuple((operand.index, operand.shape) for operand in operands)
    return Alignment(operands, result, result.rank + matrix, others)


def _products(node: Node, pairs: list[tuple[Operand, Value]]) -> Alignment:
    """The batch axes broadcast; [.., M, K] x [K] has none on its right."""
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
    """Return whether a product of ONNX sums over a size that is 0, as either operand tells."""
    summed = (-2 if node.attributes.get("transA") else -1, -1 if node.attributes.get("transB") else -2)
    sizes = [value.ranked.dims[-MATRIX:] for _, value in pairs]
    return node.domain != TFLITE and any(
        dims[at if len(dims) == MATRIX else 0] == 0 for dims, at in zip(sizes, summed, strict=True) if dims
    )


def _product(node: Node) -> Shape:
    """(M, N) of a Gemm."""
    (first, m), (second, n) = product_axes(node)
    left, right = node.operand(first).ranked, node.operand(second).ranked
    if left.rank != MATRIX or right.rank != MATRIX:
        raise Incompatible(f"{left} and {right} are no matrices")
    return Shape((left.dims[m], right.dims[n]))


def product_axes(node: Node) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where M and N of a Gemm come from: (operand, axis) twice."""
    left, right = (node.row.product if node.row is not None and node.row.product else None) or (0, 1)
    return (left, 1 if node.attributes.get("transA") else 0), (right, 0 if node.attributes.get("transB") else 1)


def _onto(pairs: list[tuple[Operand, Value]], result: Shape, node: Node, onto: By) -> Alignment:
    operands = tuple(BroadcastOperand(operand, value, value.ranked) for operand, value in pairs)
    for operand in operands:
        joint = broadcast(operand.shape, result)
        if joint.rank != result.rank or any(
            _grows(have, want) for have, want in zip(result.dims, joint.dims, strict=True)
        ):
            raise Undecided(f"{operand.shape} of '{operand.value.name}' does not broadcast onto {result} of {node.op}")
    return Alignment(operands, result, result.rank, (), onto)


def _grows(have: Size, want: Size) -> bool:
    """Whether the size that is broadcast onto would itself be stretched, for certain."""
    return not same(have, want) and have == 1 and never_one(want)


def exemption(alignment: Alignment, operand: BroadcastOperand, why: Exempt | None) -> str | None:
    """The reason why the operand is left as it is on purpose, None where there is none."""
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
    """Whether the axes that a shorter shape stands under, or the last one over a scalar, are 1, and not all are."""
    if not (shape.ranked and under.ranked):
        return False
    ones = [same(size, 1) for size in shape.dims]
    return under.rank < shape.rank and all(ones[-max(under.rank, 1) :]) and not all(ones)


def may_be_one(shape: Shape) -> bool:
    """Whether a value may have one element: what is not known to be another number may be it."""
    return not shape.ranked or not any(map(never_one, shape.dims))
