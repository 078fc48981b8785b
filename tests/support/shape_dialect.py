"""The functions of the documents' shape algebra that graphfix does not need, and shapes read from text.

Source: MLIR's shape dialect and the Broadcastable trait. With these functions tests/shapes compares the algebra of
`graphfix.shapes` with the documents as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.shapes.dim import (
    INVALID,
    INVALID_SIZE,
    UNKNOWN,
    UNRANKED,
    Dim,
    Incompatible,
    Shape,
    Size,
    bounds,
    simplified,
    symbol,
)
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


def add(a: Size, b: Size) -> Size:
    """Add two sizes; an unknown one stays unknown, its range follows; an invalid one makes INVALID_SIZE."""
    a, b = simplified(a), simplified(b)
    if INVALID_SIZE in (a, b):
        return INVALID_SIZE
    if 0 in (a, b):
        return b if a == 0 else a
    (a_lo, a_hi), (b_lo, b_hi) = bounds(a), bounds(b)
    return simplified(Dim((), a_lo + b_lo, None if a_hi is None or b_hi is None else a_hi + b_hi))


def parse(text: str) -> Shape:
    """Read what `str` writes: `[*]`, `[]`, `[2, ?]`, `[N, 4]`, `[invalid]`; raises ValueError for others."""
    body = text.strip()
    if not (body.startswith("[") and body.endswith("]")):
        raise ValueError(f"{text!r} is not a shape: write it as [2, N, ?]")
    body = body[1:-1].strip()
    whole = {"*": UNRANKED, "invalid": INVALID, "": of()}
    if body in whole:
        return whole[body]
    return of(*(_parse_dim(dim.strip(), text) for dim in body.split(",")))


def _parse_dim(dim: str, text: str) -> Size:
    if dim.isascii() and dim.isdecimal():
        return int(dim)
    if dim == "?":
        return UNKNOWN
    number = dim.lstrip("+-")
    is_number = number[:1].isdecimal() and number.replace("_", "").isdecimal()
    if is_number or dim in {"", "*", "invalid"} or dim.startswith("?") or set(dim) & set("[]"):
        raise ValueError(f"{text!r} is not a shape: {dim!r} is neither a size, a name nor ?")
    return symbol(dim)


def mul(a: Size, b: Size) -> Size:
    """Multiply two sizes; an unknown one stays unknown, its range follows; an invalid one makes INVALID_SIZE.

    0 times anything valid is 0.
    """
    a, b = simplified(a), simplified(b)
    if INVALID_SIZE in (a, b):
        return INVALID_SIZE
    if 0 in (a, b):
        return 0
    if 1 in (a, b):
        return b if a == 1 else a
    (a_lo, a_hi), (b_lo, b_hi) = bounds(a), bounds(b)
    return simplified(Dim((), a_lo * b_lo, None if a_hi is None or b_hi is None else a_hi * b_hi))


def num_elements(shape: Shape) -> Size:
    """Multiply the sizes, exactly (no 64-bit wrap-around); [] has 1, a 0 makes 0 of any others."""
    if not shape.valid:
        return INVALID_SIZE
    count: Size = 1 if shape.ranked else UNKNOWN
    for size in shape.axes or ():
        count = mul(count, size)
    return count


def of(*dims: Size) -> Shape:
    """Return the ranked shape with these dims."""
    return Shape(dims)
