"""How the operands of one broadcasting node meet: which take part, their aligned shapes, and the result's.

The indexing maps follow from it: axis j of an operand follows result axis j + (rank of the result - rank of the
operand). Source: the catalogue's rows; numpy's rule for right-aligned operators, numpy.matmul for batch axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from graphfix import operators
from graphfix.graph.view import Node, Value
from graphfix.shapes.shape import Incompatible, Shape, Size, Undecided, broadcast, never_one, same, stretches

MATRIX = 2
"""The axes of a matrix product's operand that are no batch axes."""


@dataclass(frozen=True, slots=True)
class Party:
    """One operand that takes part."""

    operand: operators.Operand
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
        return self.value.shape.dims[self.shape.rank :]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The operands that take part, and what they are aligned to."""

    parties: tuple[Party, ...]
    result: Shape
    rank: int
    """The rank that equalizing gives every operand."""
    others: tuple[tuple[int, Shape], ...]
    """(operand, shape) of everything that bounds a stretch, the parties themselves included."""

    def stretches(self, party: Party) -> tuple[str, ...]:
        """Per axis of the lifted operand: "no", "yes" or "maybe"."""
        return stretches([party.shape, self.result], 0) if self._onto else self._among(party)

    @property
    def _onto(self) -> bool:
        return not self.others

    def _among(self, party: Party) -> tuple[str, ...]:
        at = next(at for at, (index, _) in enumerate(self.others) if index == party.index)
        return stretches([shape for _, shape in self.others], at)


def taking_part(node: Node) -> Iterator[tuple[operators.Operand, Value]]:
    """The operands that the node's row names and that are there."""
    row = node.row
    if row is None or row.style in ("own", "legacy", "equal"):
        return
    for operand in row.taking_part(len(node.operands)):
        value = node.operands[operand.index]
        if value is not None:
            yield operand, value


def meeting(node: Node) -> list[Value]:
    """The operands that take part, and the one that they are broadcast onto."""
    values = [value for _, value in taking_part(node)]
    if values and node.row is not None and node.row.style == "unidirectional" and node.row.onto is not None:
        values.append(node.operand(node.row.onto))
    return values


def align(node: Node) -> Alignment | None:
    """How the operands meet, None where nothing is broadcast.

    Raises Undecided where a rank is not known, Incompatible where the sizes can't meet.
    """
    row = node.row
    pairs = list(taking_part(node))
    if row is None or not pairs:
        return None
    if row.style == "matmul":
        return _products(pairs)
    if row.style == "gemm":
        return _onto(pairs, _product(node, row.product), node)
    if row.style == "unidirectional" and row.onto is not None:
        pairs = [(operand, value) for operand, value in pairs if operand.index != row.onto]
        return _onto(pairs, node.operand(row.onto).ranked, node)
    parties = tuple(Party(operand, value, value.ranked) for operand, value in pairs)
    return _among(parties)


def over_limit(node: Node, alignment: Alignment) -> str | None:
    """Why the operands stay as they are where the result has more axes than the runtime broadcasts, else None."""
    limit = node.row.max_rank if node.row is not None else None
    if limit is None or alignment.rank <= limit:
        return None
    return f"the runtime broadcasts {node.op} up to rank {limit}, and the result has rank {alignment.rank}"


def _among(parties: tuple[Party, ...], matrix: int = 0) -> Alignment:
    result = broadcast(*(party.shape for party in parties))
    return Alignment(parties, result, result.rank + matrix, tuple((party.index, party.shape) for party in parties))


def _products(pairs: list[tuple[operators.Operand, Value]]) -> Alignment:
    """The batch axes meet; [.., M, K] x [K] has none on its right."""
    parties = tuple(Party(operand, value, Shape(value.ranked.dims[:-MATRIX])) for operand, value in pairs)
    vectors = all(party.value.shape.rank < MATRIX for party in parties)
    try:
        return _among(parties, 1 if vectors else MATRIX)
    except Incompatible:
        shapes = " and ".join(str(value.shape) for _, value in pairs)
        raise Incompatible(f"the batch axes of {shapes} do not broadcast") from None


def _product(node: Node, product: tuple[int, int] | None) -> Shape:
    """(M, N) of a Gemm."""
    left, right = (node.operand(index).ranked for index in product or (0, 1))
    if left.rank != MATRIX or right.rank != MATRIX:
        raise Incompatible(f"{left} and {right} are no matrices")
    return Shape(
        (left.dims[1 if node.attributes.get("transA") else 0], right.dims[0 if node.attributes.get("transB") else 1])
    )


def product_axes(node: Node) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where M and N of a Gemm come from: (operand, axis) twice."""
    left, right = (node.row.product if node.row is not None and node.row.product else None) or (0, 1)
    return (left, 1 if node.attributes.get("transA") else 0), (right, 0 if node.attributes.get("transB") else 1)


def _onto(pairs: list[tuple[operators.Operand, Value]], result: Shape, node: Node) -> Alignment:
    parties = tuple(Party(operand, value, value.ranked) for operand, value in pairs)
    for party in parties:
        whole = broadcast(party.shape, result)
        if whole.rank != result.rank or any(
            _grows(have, want) for have, want in zip(result.dims, whole.dims, strict=True)
        ):
            raise Undecided(f"{party.shape} of '{party.value.name}' does not broadcast onto {result} of {node.op}")
    return Alignment(parties, result, result.rank, ())


def _grows(have: Size, want: Size) -> bool:
    """Whether the size that is broadcast onto would itself be stretched, for certain."""
    return not same(have, want) and have == 1 and never_one(want)


def fused(party: Party, *, asked: bool) -> str | None:
    """The reason why a constant is left as it is where fusions are to be kept, None where there is none."""
    if not asked or party.value.kind != "constant" or party.value.shape.rank > 1:
        return None
    return "a runtime fuses the operator by this constant's shape (--keep-fusions)"


def exemption(party: Party, why: operators.Exempt | None) -> str | None:
    """The reason why the operand is left as it is on purpose, None where there is none."""
    if why is None:
        return None
    value = party.value
    sizes = value.shape.axes or ()
    numbers = [size for size in sizes if isinstance(size, int)]
    elements = prod(numbers) if value.shape.ranked and len(numbers) == len(sizes) else None
    return why.holds(len(sizes) if value.shape.ranked else -1, elements, value.kind == "constant")
