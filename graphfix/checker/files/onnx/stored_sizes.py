"""What a file stores of sizes inside it, read as arithmetic over the sizes of its inputs.

Exporters write it as Python does: `s0//2 + 1`, `Max(1, batch*heads)`, `floor(s0/2)`. It is computed over whatever
sizes are: numbers in a run, terms in a proof. What is not understood is none.
"""

from __future__ import annotations

import ast
import operator
import re
from math import prod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnx import GraphProto, ValueInfoProto

S = TypeVar("S")
_LONGEST = 1000
_HIGHEST_POWER = 8
_ODD_NUMBER = re.compile(r"\b\d+[A-Za-z_]")
"""Python's parser warns of `2x`."""


class Operations(Protocol[S]):
    """Arithmetic of sizes; None for what it does not follow."""

    def add(self, *sizes: S | int) -> S | int | None:
        """Return the sum."""

    def sub(self, one: S | int, two: S | int) -> S | int | None:
        """Return the difference."""

    def mul(self, *sizes: S | int) -> S | int | None:
        """Return the product."""

    def quotient(self, one: S | int, two: S | int) -> S | int | None:
        """Return the quotient without a rest."""

    def floordiv(self, size: S | int, by: int) -> S | int | None:
        """Return the quotient rounded down, by a number above 0."""

    def ceildiv(self, size: S | int, by: int) -> S | int | None:
        """Return the quotient rounded up."""

    def mod(self, size: S | int, by: int) -> S | int | None:
        """Return the rest of the quotient rounded down."""

    def greater(self, one: S | int, two: S | int) -> S | int | None:
        """Return the greater of two."""

    def lesser(self, one: S | int, two: S | int) -> S | int | None:
        """Return the lesser of two."""


class Numbers:
    """The arithmetic of a run."""

    sub = staticmethod(operator.sub)
    floordiv = staticmethod(operator.floordiv)
    mod = staticmethod(operator.mod)
    greater = staticmethod(max)
    lesser = staticmethod(min)

    @staticmethod
    def add(*sizes: int) -> int:
        """Return the sum."""
        return sum(sizes)

    @staticmethod
    def mul(*sizes: int) -> int:
        """Return the product."""
        return prod(sizes)

    @staticmethod
    def quotient(one: int, two: int) -> int | None:
        """Return the quotient without a rest; None where there is one."""
        return one // two if two and one % two == 0 else None

    @staticmethod
    def ceildiv(size: int, by: int) -> int:
        """Return the quotient rounded up."""
        return -(-size // by)


def computed(text: str, sizes: Mapping[str, S | int], operations: Operations[S]) -> S | int | None:
    """Return what a stored text says where symbols have these sizes; None where it is not understood."""
    if text in sizes:
        return sizes[text]
    if len(text) > _LONGEST or _ODD_NUMBER.search(text):
        return None
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the text names something else
    try:
        return _Reader(sizes, operations).read(parsed)
    except RecursionError:  # a long sum is as deep as it has terms
        return None


@dataclass(frozen=True, slots=True)
class _Reader(Generic[S]):
    sizes: Mapping[str, S | int]
    by: Operations[S]

    def read(self, node: ast.expr) -> S | int | None:
        match node:
            case ast.Constant(value=number):
                return number if type(number) is int else None
            case ast.Name(id=name):
                return self.sizes.get(name)
            case _:
                return self._composed(node)

    def _composed(self, node: ast.expr) -> S | int | None:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self._of("negative", self.all((inner,)))
            case ast.BinOp(left=one, op=sign, right=two):
                return self._of(type(sign).__name__, self.all((one, two)))
            case ast.Call(func=ast.Name(id="floor" | "ceiling" | "ceil" as name), args=[whole], keywords=[]):
                return self._rounded(name, whole)
            case ast.Call(func=ast.Name(id="Max" | "Min" | "Mod" | "FloorDiv" as name), args=parts, keywords=[]):
                return self._of(name, self.all(parts))
            case _:
                return None

    def all(self, nodes: Sequence[ast.expr]) -> list[S | int]:
        """Read all; none where one is not understood."""
        found = [size for node in nodes if (size := self.read(node)) is not None]
        return found if len(found) == len(nodes) else []

    def _rounded(self, name: str, node: ast.expr) -> S | int | None:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            return self.read(node)
        return self._of("FloorDiv" if name == "floor" else "ceiling", self.all((node.left, node.right)))

    def _of(self, name: str, sizes: Sequence[S | int]) -> S | int | None:
        match name, sizes:
            case "negative", [size]:
                return self.by.mul(size, -1)
            case "Sub", [one, two]:
                return self.by.sub(one, two)
            case "Add" | "Mult", [_, _]:
                return self.by.add(*sizes) if name == "Add" else self.by.mul(*sizes)
            case "Pow", [base, int(power)] if 0 < power <= _HIGHEST_POWER:
                return self.by.mul(*[base] * power)
            case "Max" | "Min", [first, *others]:
                return self._best(name, first, others)
            case _:
                return self._divided(name, sizes)

    def _best(self, name: str, best: S | int, others: Sequence[S | int]) -> S | int | None:
        """Return the greatest or the least."""
        for size in others:
            found = self.by.greater(best, size) if name == "Max" else self.by.lesser(best, size)
            if found is None:
                return None
            best = found
        return best

    def _divided(self, name: str, sizes: Sequence[S | int]) -> S | int | None:
        match name, sizes:
            case "Div", [one, two] if two != 0:
                return self.by.quotient(one, two)
            case "FloorDiv", [one, int(by)] if by > 0:
                return self.by.floordiv(one, by)
            case "ceiling", [one, int(by)] if by > 0:
                return self.by.ceildiv(one, by)
            case "Mod", [one, int(by)] if by > 0:
                return self.by.mod(one, by)
            case "FloorDiv", [one, two] if two != 0:
                return self.by.quotient(one, two)
            case _:
                return None


def symbols(graph: GraphProto) -> Iterator[tuple[str, str, int]]:
    """Yield each symbol of the inputs with the first input and axis that has it."""
    seen = set[str]()
    for info in graph.input:
        for axis, text in enumerate(stored_dims(info)):
            if isinstance(text, str) and text not in seen:
                seen.add(text)
                yield text, info.name, axis


def stored_dims(info: ValueInfoProto) -> tuple[int | str | None, ...]:
    """Return what is stored of the sizes of a value; () where nothing is."""
    dims = info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ()
    return tuple(
        (dim.dim_value if dim.dim_value >= 0 else None)
        if dim.HasField("dim_value")
        else (dim.dim_param if dim.dim_param not in ("", "?") else None)
        for dim in dims
    )
