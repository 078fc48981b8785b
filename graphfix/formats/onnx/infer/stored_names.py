"""Sizes that a file stores of inner values, as terms: what an exporter writes, such as `batch*heads` or `s0//2 + 1`.

Each is a hypothesis: proved where the rules compute the same term; refuted where they compute one that is another
number at every size that is tried; else open. What is not understood, a function or a name that no input has, is left
out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from graphfix.formats.onnx.file.messages import Dims
from graphfix.results.claims import StoredSize
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Dim, Parts, Shape, Size, same
from graphfix.shapes.name_table import LONGEST
from graphfix.shapes.terms import Terms, as_size

Places: TypeAlias = Mapping[str, tuple[str, int]]
"""By symbol: an input that has it, and the axis."""

OF_FUNCTION = "?function "
"""How the names begin of sizes of a function's operands on which its calls do not agree."""
MOST_POWER = 4
_NUMBER_IN_WORD = r"(?<!\w)\d+[A-Za-z_]"
"""Python warns of `2x` where it is parsed; no exporter means anything by it."""
_SMALL = (2, 3, 5, 7, 11, 13, 17, 19)
_APART = (137, 131, 127, 113, 109, 107, 103, 101)
_MANY_DIVISORS = 5040


@dataclass(frozen=True, slots=True)
class StoredNames:
    """What a file says of sizes, as it was read: later edits say nothing new."""

    places: Places
    dims: Mapping[str, Dims]
    """By value of the main graph that has a size to say; inputs are not among them."""

    @classmethod
    def of(cls, inputs: Mapping[str, Dims | None], claims: Mapping[str, Dims]) -> StoredNames:
        """What is declared of the inputs and stored of other values."""
        places: dict[str, tuple[str, int]] = {}
        for name, dims in inputs.items():
            for axis, size in enumerate(dims or ()):
                if isinstance(size, str):
                    places.setdefault(size, (name, axis))
        return cls(places, {name: dims for name, dims in claims.items() if name not in inputs and dims})


@dataclass(slots=True)
class Hypotheses:
    """The stored sizes as terms over the sizes that the inputs have."""

    stored: StoredNames
    terms: Terms
    symbols: Mapping[str, Size]
    """What the symbols of the inputs are, as far as they are known."""
    believed: list[StoredSize] = field(default_factory=list)
    shapes: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    """By value: the believed stored shape of a result of an operator without a rule; None for an unparsed size."""
    _found: dict[str, Size | None] = field(default_factory=dict)
    _refuted: dict[tuple[Parts, str], bool] = field(default_factory=dict)
    _labels: dict[str, Parts] = field(default_factory=dict)
    """By name that is no arithmetic over the inputs' sizes: the first of these sizes that it is stored for."""
    _ambiguous: set[str] = field(default_factory=set)
    """The names that are stored for several of these sizes."""
    _chosen: list[dict[Parts, int]] = field(default_factory=list)

    @classmethod
    def over(cls, stored: StoredNames, terms: Terms, inputs: Mapping[str, Shape | None]) -> Hypotheses:
        """The hypotheses over the shapes of the inputs as they are now: some sizes may be bound."""
        symbols: dict[str, Size] = {}
        for text, (name, axis) in stored.places.items():
            shape = inputs.get(name)
            if shape is not None and shape.axes is not None and axis < len(shape.axes):
                symbols[text] = shape.axes[axis]
        return cls(stored, terms, symbols)

    def size(self, stored: str | int | None) -> Size | None:
        """The term of a stored size; None where it is not understood."""
        if not isinstance(stored, str):
            return stored
        if stored not in self._found:
            self._found[stored] = self._parsed(stored)
        return self._found[stored]

    def refuted(self, computed: Size, stored: Size) -> bool:
        """Whether both are known, and are two numbers at every size that is tried.

        What is stored of further sizes of inputs is no contradiction, but relates them: `total` for `past + seq`.
        """
        if isinstance(computed, int) or isinstance(stored, int) or same(computed, stored):
            return False  # a number is compared with the stored ones; a name says less than it
        if self._is_input_size(computed) and self._is_input_size(stored):
            return True  # the size of one input is no name for that of another
        if not self._sizes_in(stored) <= self._sizes_in(computed):
            return False
        return all(have is not None and have != said for have, said in self._tried(computed, stored))

    def is_open(self, computed: Size, stored: Size) -> bool:
        """Whether the rules neither prove nor refute what is stored.

        Either they do not know the size, or it is the stored one at sizes that are tried: min(16, N) for N. A number
        has to be it at all of them: what was exported at one size is no evidence.
        """
        if isinstance(computed, int) or same(computed, stored):
            return False
        agree = [have is None or have == said for have, said in self._tried(computed, stored)]
        return all(agree) if isinstance(stored, int) else any(agree)

    def believe(self, name: str, shape: Shape) -> Shape | None:
        """Take the stored sizes of a value that are open in the place of those that are known; None where none is."""
        stored, axes = self.stored.dims.get(name, ()), shape.axes
        if axes is None or len(stored) != len(axes):
            return None
        said = {axis: size for axis, text in enumerate(stored) if (size := self.size(text)) is not None}
        found = {axis: size for axis, size in said.items() if self.is_open(axes[axis], size)}
        if not found:
            return None
        self.believed += [StoredSize(name, axis, str(stored[axis])) for axis in found]
        return Shape(tuple([found.get(axis, size) for axis, size in enumerate(axes)]))

    def shape(self, name: str, stored: Dims) -> Sequence[Size]:
        """Believe the stored shape of a result of an operator without a rule; return it with unparsed sizes unknown."""
        sizes = [self.size(text) for text in stored]
        known_sizes = [None if size is None else str(text) for text, size in zip(stored, sizes, strict=True)]
        self.shapes[name] = tuple(known_sizes)
        return [Dim() if size is None else size for size in sizes]

    def varies(self, computed: Size, stored: int) -> bool:
        """Whether a number is stored where the size follows from free sizes of inputs and is another one for some.

        In a function the sizes of its operands do: its calls do not agree on them.
        """
        if isinstance(computed, int):
            return False
        if computed.parts and computed.parts[0].startswith(OF_FUNCTION):
            return True
        return any(have is not None and have != said for have, said in self._tried(computed, stored))

    def is_refuted(self, computed: Size, stored: str) -> bool:
        """Whether a stored name is refuted by the computed size.

        So is the name of a free size of an input by a number, and a name that stands for two sizes.
        """
        if isinstance(computed, int):
            return isinstance(self.symbols.get(stored), Dim)
        if stored in self._ambiguous:
            return bool(computed.parts)
        key = computed.parts, stored
        if key not in self._refuted:
            said = self.size(stored)
            self._refuted[key] = said is not None and self.refuted(computed, said)
        return self._refuted[key]

    def enter_labels(self, computed: Sequence[Size], stored: Dims) -> None:
        """Note for which inputs' sizes the names stand that no input has: one that stands for two says nothing.

        Sizes that are computed are not compared: onnx's inference gives one name to those that an operator needs equal.
        """
        for size, said in zip(computed, stored, strict=False):
            if not isinstance(said, str) or isinstance(size, int) or self.size(said) is not None:
                continue
            if self._is_input_size(size) and self._labels.setdefault(said, size.parts) != size.parts:
                self._ambiguous.add(said)

    def _is_input_size(self, size: Dim) -> bool:
        """Whether a size is that of an input's axis, and no arithmetic."""
        return any(isinstance(each, Dim) and each.parts == size.parts for each in self.symbols.values())

    def _samples(self) -> Sequence[Mapping[Parts, int]]:
        """The sizes that are tried.

        Small ones, for what holds below a bound; great ones in the other order, for the greater of two sizes; ones with
        many divisors, for what holds where a division has no rest.
        """
        if self._chosen:
            return self._chosen
        sizes = {size.parts: size for size in self.symbols.values() if isinstance(size, Dim) and size.parts}
        for factor, numbers in ((1, _SMALL), (1, _APART), (_MANY_DIVISORS, _SMALL)):
            tried = {
                parts: _within(size, factor * (numbers[at % len(numbers)] + at // len(numbers)))
                for at, (parts, size) in enumerate(sizes.items())
            }
            self._chosen.append(tried)
        return self._chosen

    def _sizes_in(self, size: Size) -> set[Parts]:
        """The sizes of inputs that a term is made of."""
        sample = self._samples()[0]
        return {
            parts
            for parts in sample
            if self.terms.number(size, {each: sample[each] for each in sample if each != parts}) is None
        }

    def _tried(self, computed: Size, stored: Size) -> Iterator[tuple[int | None, int | None]]:
        """Yield what both are at the sizes that are tried; the first is None where it is made of an unknown size."""
        for sample in self._samples():
            yield self.terms.number(computed, sample), self.terms.number(stored, sample)

    def _parsed(self, text: str) -> Size | None:
        if text in self.symbols:
            return self.symbols[text]
        if len(text) > LONGEST or re.search(_NUMBER_IN_WORD, text):
            return None
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None  # a label, which says nothing
        found = self._term(tree.body)
        return as_size(found) if isinstance(found, int) or (found is not None and found.parts) else None

    def _term(self, node: ast.expr) -> Size | None:
        """The term of an expression; None where a part of it is not understood."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.Name):
            return self.symbols.get(node.id)
        if isinstance(node, ast.UnaryOp):
            inner = self._term(node.operand)
            return None if inner is None or not isinstance(node.op, ast.USub) else self.terms.mul(inner, -1)
        if isinstance(node, ast.BinOp):
            return self._of_two(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._called(node.func.id, node.args)
        return None

    def _of_two(self, node: ast.BinOp) -> Size | None:
        one, two = self._term(node.left), self._term(node.right)
        if one is None or two is None:
            return None
        if isinstance(node.op, ast.Pow):
            return self.terms.mul(*[one] * two) if isinstance(two, int) and 0 < two <= MOST_POWER else None
        operations: dict[type[ast.operator], Callable[[Size, Size], Size]] = {
            ast.Add: self.terms.add,
            ast.Sub: self.terms.sub,
            ast.Mult: self.terms.mul,
            ast.FloorDiv: self.terms.floordiv,
            ast.Mod: self.terms.mod,
            ast.Div: self.terms.quotient,
        }
        operation = operations.get(type(node.op))
        divides = isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Div)
        return None if operation is None or (divides and two == 0) else operation(one, two)

    def _called(self, name: str, operands: Sequence[ast.expr]) -> Size | None:
        if name in ("floor", "ceiling", "ceil"):
            return self._rounded(name, operands[0]) if len(operands) == 1 else None
        sizes = [size for each in operands if (size := self._term(each)) is not None]
        if len(sizes) < len(operands) or not sizes:
            return None
        if name in ("Max", "Min"):
            return reduce(self.terms.maximum if name == "Max" else self.terms.minimum, sizes)
        if name in ("Mod", "FloorDiv") and len(sizes) == len("ab") and sizes[1] != 0:
            return (self.terms.mod if name == "Mod" else self.terms.floordiv)(sizes[0], sizes[1])
        return None

    def _rounded(self, name: str, node: ast.expr) -> Size | None:
        """A quotient rounded down or up; of what is whole nothing is rounded."""
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            return self._term(node)
        one, two = self._term(node.left), self._term(node.right)
        if one is None or not isinstance(two, int) or two <= 0:
            return None
        return self.terms.floordiv(one, two) if name == "floor" else self.terms.ceildiv(one, two)


def _within(size: Dim, number: int) -> int:
    """A number in the range that a size has."""
    return size.lo + number if size.hi is None else size.lo + number % (size.hi - size.lo + 1)
