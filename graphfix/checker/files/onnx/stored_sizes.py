"""Compute the sizes that a file stores for values inside the graph, as arithmetic over the sizes of its inputs.

Exporters write the sizes as Python expressions: `s0//2 + 1`, `Max(1, batch*heads)`, `floor(s0/2)`. An expression is
computed over numbers in the runs, and over terms in the proof. An expression that is not understood has no result.
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
"""A number directly before a letter, such as `2x`. Python's parser prints a warning for some of these."""


class Operations(Protocol[S]):
    """Arithmetic on sizes. A method returns None if it can't express the result."""

    def add(self, *sizes: S | int) -> S | int | None:
        """Return the sum."""

    def sub(self, one: S | int, two: S | int) -> S | int | None:
        """Return `one - two`."""

    def mul(self, *sizes: S | int) -> S | int | None:
        """Return the product."""

    def quotient(self, one: S | int, two: S | int) -> S | int | None:
        """Return `one / two` if the division leaves no remainder, else None."""

    def floordiv(self, size: S | int, by: int) -> S | int | None:
        """Return `size / by` rounded down. `by` is above 0."""

    def ceildiv(self, size: S | int, by: int) -> S | int | None:
        """Return `size / by` rounded up. `by` is above 0."""

    def mod(self, size: S | int, by: int) -> S | int | None:
        """Return the remainder `size - by * floor(size / by)`. `by` is above 0."""

    def greater(self, one: S | int, two: S | int) -> S | int | None:
        """Return the greater one of two sizes."""

    def lesser(self, one: S | int, two: S | int) -> S | int | None:
        """Return the lesser one of two sizes."""


class Numbers:
    """Arithmetic on sizes that are all numbers, as in the runs."""

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
        """Return `one / two` if the division leaves no remainder; None if it does, or if `two` is 0."""
        return one // two if two and one % two == 0 else None

    @staticmethod
    def ceildiv(size: int, by: int) -> int:
        """Return `size / by` rounded up."""
        return -(-size // by)


def computed(text: str, sizes: Mapping[str, S | int], operations: Operations[S]) -> S | int | None:
    """Return the value of a stored size expression, such as `s0//2 + 1`; None if it is not understood.

    `sizes` contains the size of each symbol. The text may also be a key of `sizes` itself. `operations` is the
    arithmetic on these sizes.
    """
    if text in sizes:
        return sizes[text]
    if len(text) > _LONGEST or _ODD_NUMBER.search(text):
        return None
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # The text is a name and not an expression.
    try:
        return _Reader(sizes, operations).read(parsed)
    except RecursionError:  # A sum is nested as deep as it has parts, so a long sum exceeds Python's recursion limit.
        return None


@dataclass(frozen=True, slots=True)
class _Reader(Generic[S]):
    """The evaluator of a parsed size expression.

    `sizes` contains the symbols' sizes, and `by` is the arithmetic on sizes.
    """

    sizes: Mapping[str, S | int]
    by: Operations[S]

    def read(self, node: ast.expr) -> S | int | None:
        """Return the size that an expression computes; None if the expression is not understood."""
        match node:
            case ast.Constant(value=number):
                return number if type(number) is int else None
            case ast.Name(id=name):
                return self.sizes.get(name)
            case _:
                return self._composed(node)

    def _composed(self, node: ast.expr) -> S | int | None:
        """Return the size that an operation or function call computes; None if it is not understood."""
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
        """Return the sizes of all expressions in `nodes`; an empty list if one of them is not understood."""
        found = [size for node in nodes if (size := self.read(node)) is not None]
        return found if len(found) == len(nodes) else []

    def _rounded(self, name: str, node: ast.expr) -> S | int | None:
        """Return a size of `floor(a/b)` or `ceiling(a/b)`.

        For any other argument, return the size of the argument, because a size is an integer already.
        """
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            return self.read(node)
        return self._of("FloorDiv" if name == "floor" else "ceiling", self.all((node.left, node.right)))

    def _of(self, name: str, sizes: Sequence[S | int]) -> S | int | None:
        """Return the result of the operation `name` on these sizes; None if the result can't be expressed."""
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
        """Return the greatest (`Max`) or the least (`Min`) of the sizes; None if two sizes can't be compared."""
        for size in others:
            found = self.by.greater(best, size) if name == "Max" else self.by.lesser(best, size)
            if found is None:
                return None
            best = found
        return best

    def _divided(self, name: str, sizes: Sequence[S | int]) -> S | int | None:
        """Return the result of a division or a remainder; None for other operations, or if it can't be expressed."""
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
    """Yield (symbol, input, axis) for each symbol of the graph's inputs.

    Input and axis are the first that have the symbol.
    """
    seen = set[str]()
    for info in graph.input:
        for axis, text in enumerate(stored_dims(info)):
            if isinstance(text, str) and text not in seen:
                seen.add(text)
                yield text, info.name, axis


def stored_dims(info: ValueInfoProto) -> tuple[int | str | None, ...]:
    """Return the sizes that the file stores for a value: a number, an expression as text, or None for an unknown size.

    Returns () if the file stores no shape, or if the value is not a tensor.
    """
    dims = info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ()
    return tuple(
        (dim.dim_value if dim.dim_value >= 0 else None)
        if dim.HasField("dim_value")
        else (dim.dim_param if dim.dim_param not in ("", "?") else None)
        for dim in dims
    )
