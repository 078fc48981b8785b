"""Small TFLite models of many operators each: combinations of small shapes, of which one model holds hundreds.

A shape is a tuple of sizes, of which N is free. The cases of one model run at the same sizes of N, so that no operator
refuses what the others are run at. N is stated in two ways: `apart`, where each free axis of each input is a size of
its own, and `one`, where all of them are the length of one vector of indices that the operands are gathered by.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from models.builders.tflite.text import model

Shape: TypeAlias = tuple[int, ...]
Sizes: TypeAlias = tuple[int, ...]
"""What N is in the operands, by their place."""
N = -1
DIMS = (0, 1, 2, 3, N)
MOST = 400
"""Operators of one model."""
APART = {
    2: ((1, 1), (2, 2), (3, 3), (0, 0), (1, 2), (2, 1), (1, 3), (3, 1), (0, 1), (1, 0)),
    3: tuple(dict.fromkeys(tuple(1 if at == one else n for at in range(3)) for one in range(4) for n in (1, 2, 3, 0))),
}
"""By the number of operands the sizes that are tried: all alike, or one of the operands at 1."""
ONE = {count: tuple((n,) * count for n in (2, 1, 3, 0)) for count in APART}


def shapes(*ranks: int, dims: Sequence[int] = DIMS) -> list[Shape]:
    """All shapes of these ranks."""
    return [shape for rank in ranks for shape in product(dims, repeat=rank)]


def bound(shape: Sequence[int], size: int) -> Shape:
    """A shape whose free sizes are `size`."""
    return tuple(size if dim == N else dim for dim in shape)


def together(*operands: Shape) -> Shape:
    """What is known of the broadcast of shapes that meet: a number other than 1 wins, then N."""
    rank = max(map(len, operands))
    columns = zip(*((1,) * (rank - len(shape)) + shape for shape in operands), strict=True)
    return tuple(next((dim for dim in column if dim not in (1, N)), N if N in column else 1) for column in columns)


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input of a model."""

    name: str
    dtype: str
    shape: Shape
    place: int = 0
    content: Shape | None = None
    """The shape that its elements say."""

    def array(self, sizes: Sizes) -> np.ndarray:
        """What it is fed."""
        size = sizes[self.place]
        if self.content is not None:
            return np.array(bound(self.content, size), np.int32)
        return elements(self.name, bound(self.shape, size), self.dtype)


INDICES = TensorSpec("indices", "int32", (N,))
BESIDE = (TensorSpec("p", "float32", (2, 3)), TensorSpec("q", "float32", (3,)))


@dataclass(frozen=True, slots=True)
class Leaf:
    """One operand of a case."""

    place: int
    shape: Shape
    dtype: str = "float32"
    kind: str = "input"
    """`input`; `constant`; or a vector that says a shape: of `numbers`, the `shape` of an input, or itself `given`."""

    @property
    def name(self) -> str:
        dims = "_".join(map(str, self.shape)).replace("-1", "N")
        return f"{'abc'[self.place]}{'' if self.kind == 'input' else self.kind}_{dims}"

    @property
    def free(self) -> bool:
        return N in self.shape

    @property
    def _source(self) -> Leaf:
        return Leaf(self.place, self.shape, self.dtype)

    def specs(self, *, one: bool) -> Iterator[TensorSpec]:
        """The inputs that it is made from, in the order of its lines."""
        if self.kind == "given":
            yield TensorSpec(self.name, "int32", (len(self.shape),), self.place, self.shape)
        elif self.kind == "shape":
            yield from self._source.specs(one=one)
        elif self.kind == "input" and one and self.free:
            yield INDICES
            yield TensorSpec(f"t{self.name}", self.dtype, bound(self.shape, 3), self.place)
        elif self.kind == "input":
            yield TensorSpec(self.name, self.dtype, self.shape, self.place)

    def lines(self, *, one: bool) -> Iterator[str]:
        """The lines that make it of the inputs."""
        if self.kind == "constant":
            yield declared(self.name, self.dtype, self.shape, "const")
        elif self.kind == "numbers":
            yield f"{self.name}:const:int32[{len(self.shape)}]{{{','.join(map(str, self.shape))}}}"
        elif self.kind == "shape":
            yield from self._source.lines(one=one)
            yield f"{self.name}:int32[{len(self.shape)}] = SHAPE({self._source.name}, out_type=INT32)"
        elif self.kind == "input" and one and self.free:
            yield from self._gathered()

    def _gathered(self) -> Iterator[str]:
        """Elements of a table whose sizes are all known, chosen along each free axis by the one vector of indices."""
        sizes, name = list(bound(self.shape, 3)), f"t{self.name}"
        axes = [axis for axis, dim in enumerate(self.shape) if dim == N]
        for axis in axes:
            sizes[axis] = N
            made = self.name if axis == axes[-1] else f"{name}_at{axis}"
            yield f"{declared(made, self.dtype, sizes)} = GATHER({name}, indices, axis={axis})"
            name = made


def declared(name: str, dtype: str, shape: Sequence[int], *flags: str) -> str:
    """A value as a text describes it."""
    return f"{':'.join((name, *flags, dtype))}[{','.join(map(str, shape))}]"


@dataclass(frozen=True, slots=True)
class Case:
    """One operator."""

    op: str
    operands: tuple[Leaf, ...]
    result: Shape
    """What is declared of the result's shape."""
    dtype: str
    takes: frozenset[Sizes]
    """The sizes of N at which its operands meet."""
    attributes: str = ""

    @property
    def free(self) -> bool:
        return any(operand.free for operand in self.operands)

    def line(self, name: str) -> str:
        given = ", ".join([*(operand.name for operand in self.operands), *filter(None, [self.attributes])])
        return f"{declared(name, self.dtype, self.result)} = {self.op}({given})"


Meet: TypeAlias = Callable[[Sequence[Shape]], "Shape | None"]


def numpys(operands: Sequence[Shape]) -> Shape | None:
    """Give the shape that operands broadcast to by numpy's rule, None where they do not meet."""
    try:
        return np.broadcast_shapes(*operands)
    except ValueError:
        return None


def taken(operands: Sequence[Leaf], meet: Meet, *, one: bool) -> frozenset[Sizes]:
    """The sizes at which operands meet; one of them is enough where nothing is free."""
    offered = (ONE if one else APART)[max(len(operands), 2)]
    met = [
        sizes
        for sizes in offered
        if meet([bound(leaf.shape, size) for leaf, size in zip(operands, sizes, strict=False)]) is not None
    ]
    return frozenset(met if any(leaf.free for leaf in operands) else met[:1])


@dataclass(frozen=True, slots=True)
class Model:
    """Cases that run at the same sizes."""

    cases: tuple[Case, ...]
    sizes: tuple[Sizes, ...]
    one: bool

    @property
    def specs(self) -> tuple[TensorSpec, ...]:
        """The inputs in the order of the text."""
        return tuple(dict.fromkeys([*BESIDE, *(spec for leaf in self._leaves for spec in leaf.specs(one=self.one))]))

    @property
    def _leaves(self) -> Iterable[Leaf]:
        return dict.fromkeys(leaf for case in self.cases for leaf in case.operands)

    def file(self) -> bytes:
        """The .tflite file: result `r0` is that of case 0; a broadcast beside them is there for fix to rewrite."""
        lines = [declared(spec.name, spec.dtype, spec.shape) for spec in self.specs]
        lines += dict.fromkeys(line for leaf in self._leaves for line in leaf.lines(one=self.one))
        lines += [case.line(f"r{at}") for at, case in enumerate(self.cases)]
        return model("\n".join([*lines, "beside[2,3] = SUB(p, q)"]))

    def feeds(self, sizes: Sizes) -> tuple[np.ndarray, ...]:
        """The inputs at certain sizes of N."""
        return tuple(
            np.array([0, 2, 1][: sizes[0]], np.int32) if spec is INDICES else spec.array(sizes) for spec in self.specs
        )


def elements(name: str, shape: Shape, dtype: str) -> np.ndarray:
    """Seeded numbers that nothing of the catalogue refuses: no zero to divide by, no negative exponent of an int."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype == "float32":  # half of them whole: LiteRT raises to such powers in another way
        some = random.uniform(0.25, 4, shape)
        return np.where(random.random(shape) < 0.5, np.ceil(some), some).astype(dtype)
    some = random.integers(1, 6, shape)
    if dtype == "int32" and name.startswith(("a", "ta")):  # a power of this overflows
        some = np.where(some == 5, 1000, some)
    return some.astype(dtype)


def models(cases: Iterable[Case], *, one: bool) -> Iterator[Model]:
    """Put cases that run at the same sizes into one model, as many as it holds."""
    groups: dict[frozenset[Sizes], list[Case]] = {}
    for case in cases:
        groups.setdefault(case.takes, []).append(case)
    for sizes, group in groups.items():
        for start in range(0, len(group), MOST):
            yield Model(tuple(group[start : start + MOST]), tuple(sorted(sizes)), one)
