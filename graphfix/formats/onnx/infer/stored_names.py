"""Read the sizes that a file stores for inner values as terms, such as `batch*heads` or `s0//2 + 1` of an exporter.

Each stored size is a hypothesis. It is proved if the rules compute the same term. It is refuted if the rules compute a
term that has another value at every sample. Otherwise it is open. A text that can't be parsed, a function, or a name
that no input has, is ignored.
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
"""The prefix of the names of sizes of a function's operands on which its calls differ."""
MOST_POWER = 4
_NUMBER_IN_WORD = r"(?<!\w)\d+[A-Za-z_]"
"""Matches a text such as `2x`, of which Python's parser warns. No exporter writes sizes in this way."""
_SMALL = (2, 3, 5, 7, 11, 13, 17, 19)
_APART = (137, 131, 127, 113, 109, 107, 103, 101)
_MANY_DIVISORS = 5040


@dataclass(frozen=True, slots=True)
class StoredNames:
    """The sizes that a file states, as they were read. Later edits do not change them."""

    places: Places
    dims: Mapping[str, Dims]
    """By value of the main graph: its stored dims. Inputs are not included."""

    @classmethod
    def of(cls, inputs: Mapping[str, Dims | None], claims: Mapping[str, Dims]) -> StoredNames:
        """Return the record of the declared dims of inputs and of the stored dims of other values."""
        places: dict[str, tuple[str, int]] = {}
        for name, dims in inputs.items():
            for axis, size in enumerate(dims or ()):
                if isinstance(size, str):
                    places.setdefault(size, (name, axis))
        return cls(places, {name: dims for name, dims in claims.items() if name not in inputs and dims})


@dataclass(slots=True)
class Hypotheses:
    """The stored sizes as terms over the sizes of the inputs."""

    stored: StoredNames
    terms: Terms
    symbols: Mapping[str, Size]
    """The sizes of the symbols of the inputs, as far as they are known."""
    believed: list[StoredSize] = field(default_factory=list)
    shapes: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    """By value: the trusted stored shape of a result of an operator without a rule; None for an unparsed size."""
    _found: dict[str, Size | None] = field(default_factory=dict)
    _refuted: dict[tuple[Parts, str], bool] = field(default_factory=dict)
    _labels: dict[str, Parts] = field(default_factory=dict)
    """By a name that is no expression over the inputs' sizes: the first input size for which it is stored."""
    _ambiguous: set[str] = field(default_factory=set)
    """The names that are stored for several input sizes."""
    _chosen: list[dict[Parts, int]] = field(default_factory=list)

    @classmethod
    def over(cls, stored: StoredNames, terms: Terms, inputs: Mapping[str, Shape | None]) -> Hypotheses:
        """Return the hypotheses over the current shapes of the inputs, in which some sizes may be bound."""
        symbols: dict[str, Size] = {}
        for text, (name, axis) in stored.places.items():
            shape = inputs.get(name)
            if shape is not None and shape.axes is not None and axis < len(shape.axes):
                symbols[text] = shape.axes[axis]
        return cls(stored, terms, symbols)

    def size(self, stored: str | int | None) -> Size | None:
        """Return the term of a stored size; None if it can't be parsed."""
        if not isinstance(stored, str):
            return stored
        if stored not in self._found:
            self._found[stored] = self._parsed(stored)
        return self._found[stored]

    def refuted(self, computed: Size, stored: Size) -> bool:
        """Return whether the computed and the stored term have different values at every sample.

        A stored term with an input size that the computed term lacks is not refuted, because it relates the two:
        `total` may be `past + seq`.
        """
        if isinstance(computed, int) or isinstance(stored, int) or same(computed, stored):
            # # A computed number is compared with stored numbers elsewhere; a stored name gives less information than
            # it.
            return False
        if self._is_input_size(computed) and self._is_input_size(stored):
            return True  # # the size of one input is not a name for the size of another input
        if not self._sizes_in(stored) <= self._sizes_in(computed):
            return False
        return all(have is not None and have != said for have, said in self._tried(computed, stored))

    def is_open(self, computed: Size, stored: Size) -> bool:
        """Return whether the rules neither prove nor refute a stored size.

        The size is open if the rules do not know it, or if it has the stored value at a sample: min(16, N) and N. A
        stored number must agree at all samples, because a model that was exported at one size is no evidence for other
        sizes.
        """
        if isinstance(computed, int) or same(computed, stored):
            return False
        agree = [have is None or have == said for have, said in self._tried(computed, stored)]
        return all(agree) if isinstance(stored, int) else any(agree)

    def believe(self, name: str, shape: Shape) -> Shape | None:
        """Return the shape with its open sizes replaced by the stored ones; None if no size is open."""
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
        """Trust the stored shape of a result of an operator without a rule; return its sizes.

        Unparsed sizes are unknown.
        """
        sizes = [self.size(text) for text in stored]
        known_sizes = [None if size is None else str(text) for text, size in zip(stored, sizes, strict=True)]
        self.shapes[name] = tuple(known_sizes)
        return [Dim() if size is None else size for size in sizes]

    def varies(self, computed: Size, stored: int) -> bool:
        """Return whether a number is stored for a size that depends on free sizes and has another value at a sample.

        In a function the sizes of its operands vary too if its calls differ on them.
        """
        if isinstance(computed, int):
            return False
        if computed.parts and computed.parts[0].startswith(OF_FUNCTION):
            return True
        return any(have is not None and have != said for have, said in self._tried(computed, stored))

    def is_refuted(self, computed: Size, stored: str) -> bool:
        """Return whether the computed size refutes a stored name.

        A name of a free input size is also refuted by a computed number, and a name that is stored for two input sizes
        is refuted by each named size.
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
        """Record which input sizes have a stored name that no input declares.

        A name for two input sizes becomes ambiguous.

        Computed sizes are not compared: onnx's inference gives one name to sizes that an operator needs equal.
        """
        for size, said in zip(computed, stored, strict=False):
            if not isinstance(said, str) or isinstance(size, int) or self.size(said) is not None:
                continue
            if self._is_input_size(size) and self._labels.setdefault(said, size.parts) != size.parts:
                self._ambiguous.add(said)

    def _is_input_size(self, size: Dim) -> bool:
        """Return whether a size is that of an input's axis, and not a result of arithmetic."""
        return any(isinstance(each, Dim) and each.parts == size.parts for each in self.symbols.values())

    def _samples(self) -> Sequence[Mapping[Parts, int]]:
        """Return the sets of input sizes at which terms are compared.

        The first set has small sizes, for facts that hold below a bound. The second has larger sizes in descending
        order, so that the greater of two sizes changes. The third has sizes with many divisors, for facts that hold if
        a division leaves no remainder.
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
        """Return the input sizes that occur in a term."""
        sample = self._samples()[0]
        return {
            parts
            for parts in sample
            if self.terms.number(size, {each: sample[each] for each in sample if each != parts}) is None
        }

    def _tried(self, computed: Size, stored: Size) -> Iterator[tuple[int | None, int | None]]:
        """Yield the values of both terms at each sample. The first one is None if it contains an unknown size."""
        for sample in self._samples():
            yield self.terms.number(computed, sample), self.terms.number(stored, sample)

    def _parsed(self, text: str) -> Size | None:
        """Return the term of a text; None if it is not an expression over the inputs' sizes."""
        if text in self.symbols:
            return self.symbols[text]
        if len(text) > LONGEST or re.search(_NUMBER_IN_WORD, text):
            return None
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None  # # a label, which gives no size
        found = self._term(tree.body)
        return as_size(found) if isinstance(found, int) or (found is not None and found.parts) else None

    def _term(self, node: ast.expr) -> Size | None:
        """Return the term of an expression; None if a part of it can't be parsed."""
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
        """Return the term of a binary operation, or None. Powers are expanded up to `MOST_POWER`."""
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
        """Return the term of a call of floor, ceiling, Max, Min, Mod or FloorDiv, or None."""
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
        """Return a quotient rounded down or up.

        An argument that is not a quotient is an integer and is returned unchanged.
        """
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            return self._term(node)
        one, two = self._term(node.left), self._term(node.right)
        if one is None or not isinstance(two, int) or two <= 0:
            return None
        return self.terms.floordiv(one, two) if name == "floor" else self.terms.ceildiv(one, two)


def _within(size: Dim, number: int) -> int:
    """Return a number in the range of a size."""
    return size.lo + number if size.hi is None else size.lo + number % (size.hi - size.lo + 1)
