"""The operands that rows of TFLite's catalogue are given on the small scope, and how they meet, written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from typing import TypeAlias

from tests.support.small_scope.tflite.cases import DIMS, Case, Leaf, Meet, N, Shape, numpys, shapes, taken, together

Operands: TypeAlias = Sequence[Shape]
CONSTANT = (1, 2, 3)
"""The sizes of constants: LiteRT takes none without elements."""
PREDICATES = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL STABLEHLO_COMPARE".split())


# --- two operands by numpy's rule -----------------------------------------------------------------------------------


def case(
    op: str, dtype: str, leaves: Sequence[Leaf], result: Shape, meet: Meet, *, one: bool, attributes: str = ""
) -> Case:
    """One case, at the sizes at which its operands meet."""
    return Case(op, tuple(leaves), result, dtype, taken(leaves, meet, one=one), attributes)


def result_type(op: str, dtype: str) -> str:
    return "bool" if op in PREDICATES else dtype


def paired(
    op: str, dtype: str, pairs: Iterable[Operands], kinds: Operands | Sequence[str], one: bool
) -> Iterator[Case]:
    """Cases of two operands, of these kinds."""
    for pair in pairs:
        leaves = [Leaf(at, shape, dtype, kind) for at, (shape, kind) in enumerate(zip(pair, kinds, strict=True))]
        result = together(*pair)
        yield case(op, result_type(op, dtype), leaves, result, numpys, one=one)


def pairs(op: str, dtype: str, ranks: Sequence[int], one: bool) -> Iterator[Case]:
    """All pairs of shapes of these ranks."""
    yield from paired(op, dtype, product(shapes(*ranks), repeat=2), ("input", "input"), one)


def constants(op: str, dtype: str, one: bool) -> Iterator[Case]:
    """A constant on either side, and on both."""
    fixed, any_ = shapes(0, 1, 2, dims=CONSTANT), shapes(0, 1, 2)
    yield from paired(op, dtype, product(fixed, any_), ("constant", "input"), one)
    yield from paired(op, dtype, product(any_, fixed), ("input", "constant"), one)


# --- three operands -------------------------------------------------------------------------------------------------


def triples() -> Iterator[Operands]:
    """All of rank 0 and 1; every shape of rank 2 and 3 at each place, beside parts of it."""
    yield from product(shapes(0, 1), repeat=3)
    for shape in shapes(2, 3):
        even, odd = (tuple(1 if at % 2 == turn else dim for at, dim in enumerate(shape)) for turn in (0, 1))
        beside = [(even, odd), (odd, shape[1:]), (shape[1:], (N,) * len(shape)), ((N,), even), ((), ())]
        for place, others in product(range(3), beside):
            yield (*others[:place], shape, *others[place:])


def choices(dtype: str, given: Sequence[Operands], one: bool) -> Iterator[Case]:
    for shape in given:
        leaves = [Leaf(at, it, "bool" if at == 0 else dtype) for at, it in enumerate(shape)]
        yield case("SELECT_V2", dtype, leaves, together(*shape), numpys, one=one)


def constant_choices(dtype: str, one: bool) -> Iterator[Case]:
    for place in range(3):
        for shape in product(*(shapes(0, 1, dims=CONSTANT if at == place else DIMS) for at in range(3))):
            kinds = ["constant" if at == place else "input" for at in range(3)]
            leaves = [
                Leaf(at, it, "bool" if at == 0 else dtype, kind)
                for at, (it, kind) in enumerate(zip(shape, kinds, strict=True))
            ]
            yield case("SELECT_V2", dtype, leaves, together(*shape), numpys, one=one)


# --- rules of their own ---------------------------------------------------------------------------------------------


def predicates(dtype: str, one: bool) -> Iterator[Case]:
    """The predicate of a STABLEHLO_SELECT is a scalar or whole."""
    for shape in shapes(0, 1, 2, 3):
        for condition in {(), shape}:
            leaves = [Leaf(0, condition, "bool"), Leaf(1, shape, dtype), Leaf(2, shape, dtype)]
            yield case("STABLEHLO_SELECT", dtype, leaves, shape, numpys, one=one)


def onto_first(operands: Operands) -> Shape | None:
    """PRELU: the slope is stretched onto the input."""
    return operands[0] if numpys(operands) == operands[0] else None


def slopes(dtype: str, kind: str, ranks: Sequence[int], one: bool) -> Iterator[Case]:
    for shape, slope in product(shapes(*ranks), shapes(*ranks, dims=DIMS if kind == "input" else CONSTANT)):
        yield case("PRELU", dtype, [Leaf(0, shape, dtype), Leaf(1, slope, dtype, kind)], shape, onto_first, one=one)


def chosen_rows(operands: Operands) -> Shape | None:
    """SELECT: the condition is a scalar, whole, or follows axis 0."""
    condition, first, second = operands
    fits = condition in ((), first) or (len(first) > 1 and condition == first[:1])
    return first if first == second and fits else None


def old_choices(dtype: str, kinds: Sequence[str], one: bool) -> Iterator[Case]:
    for shape in shapes(0, 1, 2, 3):
        for condition in {(), shape, shape[:1], (N,), (N,) * len(shape)}:
            for other in {shape, (N,) * len(shape)}:
                both = (condition, shape, other)
                each = zip(both, ("bool", dtype, dtype), kinds, strict=True)
                leaves = [Leaf(at, *it) for at, it in enumerate(each)]
                if all(leaf.kind == "input" or set(leaf.shape) <= set(CONSTANT) for leaf in leaves):
                    yield case("SELECT", dtype, leaves, together(shape, other), chosen_rows, one=one)


def alike(operands: Operands) -> Shape | None:
    """The operands have one shape."""
    return operands[0] if len(set(operands)) == 1 else None


def equals(op: str, dtype: str, count: int, one: bool) -> Iterator[Case]:
    """Operands of one shape, N beside any size at any place."""
    for shape in shapes(0, 1, 2, 3):
        for free in {(False,) * count, *product((False, True), repeat=count)}:
            operands = [(N,) * len(shape) if it else shape for it in free]
            leaves = [Leaf(at, it, dtype) for at, it in enumerate(operands)]
            yield case(op, result_type(op, dtype), leaves, together(*operands), alike, one=one)


def unequals(op: str, dtype: str, one: bool) -> Iterator[Case]:
    """Operands that differ for certain: what they compute is not defined, fix and the proof meet them all the same."""
    for pair in product(shapes(0, 1, 2, dims=(1, 2, N)), repeat=2):
        leaves = [Leaf(at, shape, dtype) for at, shape in enumerate(pair)]
        if numpys([tuple(map(abs, shape)) for shape in pair]) is not None:
            yield case(op, result_type(op, dtype), leaves, pair[0], numpys, one=one)


def three(op: str, dtype: str, one: bool) -> Iterator[Case]:
    """The outer two operands are scalars or have the shape of the one between (STABLEHLO_CLAMP)."""
    for shape in shapes(0, 1, 2, 3):
        for low, high in product({(), shape}, repeat=2):
            leaves = [Leaf(at, it, dtype) for at, it in enumerate((low, shape, high))]
            yield case(op, dtype, leaves, shape, numpys, one=one)


# --- matrix products ------------------------------------------------------------------------------------------------


def product_of(turns: tuple[bool, bool], operands: Operands) -> Shape | None:
    """The batch axes meet by numpy's rule, the inner sizes are one."""
    left, right = operands
    rows, inner = left[-2:][:: -1 if turns[0] else 1]
    depth, columns = right[-2:][:: -1 if turns[1] else 1]
    batch = numpys([left[:-2], right[:-2]])
    return None if batch is None or inner != depth else (*batch, rows, columns)


def matrices() -> Iterator[Operands]:
    """All matrices that fit; all pairs of up to two batch axes, and matrices with N in them beside one."""
    for rows, inner, depth, columns in product(DIMS, repeat=4):
        if inner == depth or N in (inner, depth):
            yield (rows, inner), (depth, columns)
    for left, right in product(shapes(0, 1, 2), repeat=2):
        yield (*left, 2, 3), (*right, 3, 2)
    for left, right in product(shapes(0, 1), repeat=2):
        for one, other in (((N, 3), (3, N)), ((2, N), (N, 1)), ((1, N), (2, 3))):
            yield (*left, *one), (*right, *other)


def products(dtype: str, turns: tuple[bool, bool], kinds: Sequence[str], one: bool) -> Iterator[Case]:
    for operands in matrices():
        given = [shape[:-2] + shape[-2:][:: -1 if turn else 1] for shape, turn in zip(operands, turns, strict=True)]
        leaves = [Leaf(at, shape, dtype, kind) for at, (shape, kind) in enumerate(zip(given, kinds, strict=True))]
        if not all(leaf.kind == "input" or set(leaf.shape) <= set(CONSTANT) for leaf in leaves):
            continue
        result = (*together(*(shape[:-2] for shape in operands)), operands[0][-2], operands[1][-1])
        flags = ", ".join(f"{name}=True" for name, turn in zip(("adj_x", "adj_y"), turns, strict=True) if turn)
        yield case("BATCH_MATMUL", dtype, leaves, result, partial(product_of, turns), one=one, attributes=flags)


# --- stretches that are spelled out ---------------------------------------------------------------------------------


def one_way(operands: Operands) -> Shape | None:
    """BROADCAST_TO: onto exactly the shape that operand 1 says."""
    return operands[1] if numpys(operands) == operands[1] else None


def one_way_filled(operands: Operands) -> Shape | None:
    """The same, where LiteRT can tell a result that is sized at run time: it gives none without elements."""
    return None if not operands[1] or 0 in operands[1] else one_way(operands)


def onto_shapes(dtype: str, kind: str, one: bool) -> Iterator[Case]:
    """Every shape onto every shape that is a constant, that of an input, or what an input says."""
    for shape, target in product(shapes(0, 1, 2, 3), repeat=2):
        if kind == "numbers" and N in target:
            continue
        result = (N,) * len(target) if kind == "given" else target
        leaves = [Leaf(0, shape, dtype), Leaf(1, target, "float32", kind)]
        meet = one_way_filled if kind == "given" else one_way
        yield case("BROADCAST_TO", dtype, leaves, result, meet, one=one)


def repeated(operands: Operands) -> Shape | None:
    """TILE: each size by its factor."""
    return tuple(size * times for size, times in zip(*operands, strict=True))


def _tiled(size: int, times: int) -> int:
    return N if size == N and times else size * times if times else 0


def tiles(dtype: str, one: bool) -> Iterator[Case]:
    """Every shape by every factor of 0 to 3 an axis."""
    for shape in shapes(1, 2, 3):
        for repeats in product((0, 1, 2, 3), repeat=len(shape)):
            result = tuple(map(_tiled, shape, repeats))
            leaves = [Leaf(0, shape, dtype), Leaf(1, repeats, kind="numbers")]
            yield case("TILE", dtype, leaves, result, repeated, one=one)


def along(axes: Sequence[int], target: Shape, operands: Operands) -> Shape | None:
    """STABLEHLO_BROADCAST_IN_DIM: each axis follows the axis of the result that is named."""
    fits = all(size in (1, target[axis]) for size, axis in zip(operands[0], axes, strict=True))
    return target if fits else None


def in_dims(dtype: str, one: bool) -> Iterator[Case]:
    """Every shape along every choice of axes, in order, of each result whose sizes it fits."""
    for target in shapes(0, 1, 2, 3, dims=(1, 2, 3)):
        for rank in range(len(target) + 1):
            for axes in combinations(range(len(target)), rank):
                for shape in product(*(sorted({1, target[axis], N}) for axis in axes)):
                    attribute = f"broadcast_dimensions={list(axes)}"
                    meet = partial(along, axes, target)
                    yield case(
                        "STABLEHLO_BROADCAST_IN_DIM",
                        dtype,
                        [Leaf(0, shape, dtype)],
                        target,
                        meet,
                        one=one,
                        attributes=attribute,
                    )
