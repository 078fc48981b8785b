"""The small scope: every shape of rank 0 to 3 over the sizes 0, 1, 2, 3 and one symbol N, and how such operands meet.

Nothing of graphfix is used here: whether operands meet, and in which shape, is asked of numpy at N = 0, 1, 2 and 3.
No other N need be asked: a number that N meets is one of these, and 2 and 3 stand for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

SYMBOL = "N"
SIZES = (0, 1, 2, 3)
"""What N is."""
DIMS: tuple[int | str, ...] = (*SIZES, SYMBOL)
Shape: TypeAlias = tuple[int | str, ...]
Sizes: TypeAlias = tuple[int, ...]
Attributes: TypeAlias = tuple[tuple[str, int | str], ...]
Rule: TypeAlias = Callable[[Sequence[Sizes], Mapping[str, int | str]], Sizes]
"""The shape that operands of these sizes meet in, for a node with these attributes; ValueError where they do not."""


class Case(NamedTuple):
    """The operands of one node."""

    shapes: tuple[Shape, ...]
    attributes: Attributes = ()

    def at(self, size: int) -> list[Sizes]:
        """Give the operands' sizes where N is `size`."""
        return [sizes(shape, size) for shape in self.shapes]

    def meets(self, rule: Rule, size: int) -> Sizes | None:
        """Give the shape in which the operands meet where N is `size`, None where they do not."""
        try:
            return rule(self.at(size), dict(self.attributes))
        except ValueError:
            return None


def sizes(shape: Shape, size: int) -> Sizes:
    """Put a number for N."""
    return tuple(size if isinstance(dim, str) else dim for dim in shape)


def static(shape: Shape) -> bool:
    """Whether N is not in a shape."""
    return SYMBOL not in shape


@cache
def shapes(*ranks: int, dims: tuple[int | str, ...] = DIMS) -> tuple[Shape, ...]:
    """Give every shape of these ranks."""
    return tuple(shape for rank in ranks for shape in product(dims, repeat=rank))


ALL = shapes(0, 1, 2, 3)
UP_TO_2 = shapes(0, 1, 2)
"""The smaller scope, of the operators that another one of their family stands for."""


# --- how operands meet ----------------------------------------------------------------------------------------------


def by_numpy(operands: Sequence[Sizes], _: Mapping[str, int | str]) -> Sizes:
    """Numpy's rule."""
    return _broadcast(*operands)


@cache
def _broadcast(*operands: Sizes) -> Sizes:
    return tuple(np.broadcast_shapes(*operands))


def onto_first(operands: Sequence[Sizes], _: Mapping[str, int | str]) -> Sizes:
    """Every operand broadcasts onto operand 0, which is not stretched itself."""
    first = operands[0]
    if _broadcast(*operands) != first:
        raise ValueError(f"{operands} do not broadcast onto the first")
    return first


def by_matmul(operands: Sequence[Sizes], _: Mapping[str, int | str]) -> Sizes:
    """numpy.matmul's rule."""
    one, two = (np.empty(operand, np.int8) for operand in operands)
    return tuple(np.matmul(one, two).shape)


def by_gemm(operands: Sequence[Sizes], attributes: Mapping[str, int | str]) -> Sizes:
    """Operand 2 (if there is one) broadcasts onto the product of two matrices."""
    one, two = (np.empty(operand, np.int8) for operand in operands[:2])
    if one.ndim != 2 or two.ndim != 2:
        raise ValueError("no matrices")
    whole = np.matmul(one.T if attributes.get("transA") else one, two.T if attributes.get("transB") else two).shape
    return onto_first([whole, *operands[2:]], {})


def by_axis(operands: Sequence[Sizes], attributes: Mapping[str, int | str]) -> Sizes:
    """Operator sets 1 to 6: operand 1 is aligned at `axis` of operand 0 where `broadcast` is 1, else they are equal."""
    first, _ = operands
    if not attributes.get("broadcast") and operands[0] != operands[1]:
        raise ValueError("without the attribute they are equal")
    return onto_first([first, placed(operands, attributes)], {})


def placed(operands: Sequence[Sizes], attributes: Mapping[str, int | str]) -> Sizes:
    """Put the unit axes behind operand 1 that its `axis` asks for: [c] at axis 1 of [a,c,d] is [c,1]."""
    first, second = map(len, operands)
    axis = int(attributes.get("axis", first - second))
    behind = first - (axis + first if axis < 0 else axis) - second
    if not 0 <= behind <= first - second:
        raise ValueError("not within operand 0")
    return operands[1] + (1,) * behind


def by_channel(operands: Sequence[Sizes], _: Mapping[str, int | str]) -> Sizes:
    """Operator sets 1 to 6, PRelu: a slope of one axis follows axis 1."""
    first, slope = operands
    return onto_first([first, slope + (1,) * (len(first) - 2) if len(slope) == 1 and len(first) > 1 else slope], {})


def by_skip(operands: Sequence[Sizes], _: Mapping[str, int | str]) -> Sizes:
    """Onnxruntime's rule for a skip under (B,S,H): it is (B,S,H), (1,S,H) or (S,H)."""
    first, skip = operands
    if skip not in (first, (1, *first[1:]), first[1:]):
        raise ValueError("refused by onnxruntime")
    return first


# --- scopes ---------------------------------------------------------------------------------------------------------


def fitting(rule: Rule, cases: Iterable[Case]) -> list[Case]:
    """Keep the cases whose operands meet for some N."""
    return [case for case in cases if any(case.meets(rule, size) is not None for size in SIZES)]


def pairs(chosen: Sequence[Shape], others: Sequence[Shape] | None = None) -> Iterator[Case]:
    """Give every pair of two lists."""
    return (Case(pair) for pair in product(chosen, others or chosen))


@cache
def triples(rule: Rule, full: bool) -> list[Case]:
    """Every triple of rank 0 and 1 over 0, 1, 2 and N, and of rank 0 to 2 over 1, 2 and N; in the full scope more.

    That is every pair of the 156 shapes, with a third one that meets both; the three are turned from pair to pair, so
    that each shape stands in each place.
    """
    small = shapes(0, 1, dims=(0, 1, 2, SYMBOL))
    square = shapes(0, 1, 2, dims=(1, 2, SYMBOL))
    found = dict.fromkeys(Case(three) for chosen in (small, square) for three in product(chosen, repeat=3))
    if full:
        found |= dict.fromkeys(_turned(fitting(rule, pairs(ALL))))
    else:
        found |= dict.fromkeys(Case((shape, *(shape[1:],) * 2)) for shape in UP_TO_2)
    return fitting(rule, found)


def _turned(two: Sequence[Case]) -> Iterator[Case]:
    """Add to each pair a third shape, the next of all that meets both at a size at which they meet."""
    at = 0
    for index, case in enumerate(two):
        for further in range(len(ALL)):
            three = Case((*case.shapes, ALL[(at + further) % len(ALL)]))
            if _fits(case, three):
                at += further + 1
                turn = index % 3
                yield Case(three.shapes[turn:] + three.shapes[:turn])
                break


def _fits(two: Case, three: Case) -> bool:
    """Whether the third shape leaves some size at which the two meet."""
    return any(two.meets(by_numpy, size) is not None and three.meets(by_numpy, size) is not None for size in SIZES)


@cache
def products(full: bool) -> list[Case]:
    """Vectors and matrices, stacked once, of any sizes; in the full scope also stacks of every two of the 156 batches.

    The smaller one has matrices of 2 by 3 and 3 by 2, and batches of rank 0 to 2.
    """
    if full:
        factors, batches = shapes(1, 2, 3), ALL
    else:
        factors, batches = shapes(1, 2), UP_TO_2
    stacked = fitting(by_numpy, pairs(batches))
    cases = [*pairs(factors), *(Case(((*one, 2, 3), (*two, 3, 2))) for (one, two), _ in stacked)]
    return fitting(by_matmul, cases)


@cache
def gemms(full: bool) -> list[Case]:
    """Every two matrices whose inner size is 0, 2 or N, with every C; transposed or not in turn."""
    inner: Shape = (0, 2, SYMBOL)
    outer: Shape = DIMS if full else (1, 2, SYMBOL)
    found: list[Case] = []
    for index, (rows, columns, one, two, c) in enumerate(product(outer, outer, inner, inner, UP_TO_2)):
        flags = tuple((name, 1) for bit, name in enumerate(("transA", "transB")) if index >> bit & 1)
        a: Shape = (one, rows) if index & 1 else (rows, one)
        b: Shape = (columns, two) if index & 2 else (two, columns)
        found.append(Case((a, b, c), flags))
    return fitting(by_gemm, found)


@cache
def aligned(full: bool) -> list[Case]:
    """Every pair with every `axis` that places operand 1 within operand 0, also one that counts from the end."""
    chosen = ALL if full else UP_TO_2
    found = [Case(pair) for pair in product(chosen, chosen) if len(pair[0]) == len(pair[1])]
    for first, second in product(chosen, chosen):
        if len(second) <= len(first):
            axes = range(-len(first), len(first) - len(second) + 1)
            found += [
                Case((first, second), (("broadcast", 1), *at)) for at in [(), *((("axis", axis),) for axis in axes)]
            ]
    return fitting(by_axis, found)
