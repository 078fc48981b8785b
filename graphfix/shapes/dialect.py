"""The rest of the documents' algebra: what the shape dialect and the Broadcastable trait have, and no rewrite asks for.

Source: MLIR's shape dialect and the Broadcastable trait. It stands here so that the algebra can be held against them
as a whole (tests/shapes).
"""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.shapes.dim import INVALID, UNRANKED, Incompatible, Shape
from graphfix.shapes.shape import Witness, broadcast, cstr_eq, join, listed, ranges


def infer_result(*shapes: Shape) -> Shape | None:
    """Return the result shape as the Broadcastable trait does: unranked operands are dropped, None if all are.

    No bound on the real rank when an operand was dropped; `broadcast` is one. Raises Incompatible.
    """
    known = [shape for shape in shapes if shape.ranked or not shape.valid]
    return broadcast(*known) if known else None


def verify_result(inputs: Iterable[Shape], result: Shape, strict: bool = False) -> None:
    """Check a declared result shape against the operands; raises Incompatible when it contradicts them.

    A declared size where the inferred one is unknown is a cast and accepted, unless `strict`: the
    trait's formal Verify refuses it.
    """
    inputs = tuple(inputs)
    inferred = infer_result(*inputs)
    if inferred is None or (inferred.valid and result.valid and not result.ranked):
        return
    if cstr_eq(inferred, result) is not False and not (strict and _casts(inferred, result)):
        return
    why = f"contradicts the inferred {inferred}{ranges([*inputs, result])}"
    raise Incompatible(f"the declared result {result} of {listed(inputs)} {why}")


def _casts(inferred: Shape, declared: Shape) -> bool:
    pairs = zip(inferred.dims, declared.dims, strict=True)
    return any(isinstance(there, int) and here != there for here, there in pairs)


def any_(*shapes: Shape) -> Shape:
    """Return one of several equally good shapes (shape.any): their join, or the first where they contradict."""
    joined = join(*shapes)
    return joined if joined.valid or not all(shape.valid for shape in shapes) else shapes[0]


def split_at(shape: Shape, index: int) -> tuple[Shape, Shape]:
    """Cut a shape in two before axis `index`, from the end if negative; raises IndexError beyond the rank."""
    if shape.axes is None:
        half = UNRANKED if shape.valid else INVALID
        return half, half
    rank = len(shape.axes)
    if not -rank <= index <= rank:
        raise IndexError(f"{shape} cannot be split at {index}: the index goes from {-rank} to {rank}")
    cut = index + rank if index < 0 else index
    return Shape(shape.axes[:cut]), Shape(shape.axes[cut:])


def concat(*shapes: Shape) -> Shape:
    """Put shapes one behind the other; an invalid one makes INVALID, else an unranked one UNRANKED."""
    if not all(shape.valid for shape in shapes):
        return INVALID
    if not all(shape.ranked for shape in shapes):
        return UNRANKED
    return Shape(tuple(size for shape in shapes for size in shape.dims))


def assuming_all(*witnesses: Witness) -> Witness:
    """Join witnesses (shape.assuming_all): one False fails all, else one None leaves all to the run."""
    if False in witnesses:
        return False
    return None if None in witnesses else True


def equalize_ranks(*shapes: Shape) -> tuple[Shape, ...]:
    """Lift all operands to the greatest rank by 1s in front; raises as `Shape.dims` does."""
    rank = max((shape.rank for shape in shapes), default=0)
    return tuple(s if s.rank == rank else Shape((1,) * (rank - s.rank) + s.dims) for s in shapes)
