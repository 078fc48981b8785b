"""Random sizes, operands and attributes of one call of an operator, and the call itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias, TypeVar

import ml_dtypes  # noqa: F401 -- names bfloat16, float8 and int4 for numpy.dtype
import numpy as np

Value = TypeVar("Value")
Array: TypeAlias = np.ndarray[Any, Any]
Key: TypeAlias = tuple[str, str]
"""(domain, operator)."""
MICROSOFT, NCHWC, ML, STANDARD = "com.microsoft", "com.microsoft.nchwc", "ai.onnx.ml", ""


@dataclass(frozen=True, slots=True)
class Call:
    """The operands, attributes and results of one node."""

    operands: Sequence[object]
    """Arrays; None stands for an absent operand. Lists and maps are operands of those types."""
    attributes: Mapping[str, object] = field(default_factory=dict)
    results: Sequence[bool] = (True,)
    """By result: whether it has a name."""
    constants: frozenset[int] = frozenset()
    """The operands that are initializers, because the kernel or its schema reads their values at load."""
    declared: Mapping[int, str] = field(default_factory=dict)
    """The element types of results that onnxruntime cannot infer and the model must declare."""
    version: int = 0
    """The operator set that the model imports for the operator's domain; 0 is the newest that the tests use."""


Draws: TypeAlias = "Callable[[Draw], Call]"


class Draw:
    """Draws from one source of random numbers; sizes are small, and 0 and 1 occur often."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._numbers = np.random.default_rng(random.getrandbits(32))

    def pick(self, *options: Value) -> Value:
        """One of the options."""
        return self.random.choice(options)

    def chance(self, probability: float = 0.5) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def maybe(self, value: Value, probability: float = 0.5) -> Value | None:
        """The value or None, which stands for an absent operand."""
        return value if self.chance(probability) else None

    def some(self, **attributes: object) -> dict[str, object]:
        """Each of the attributes with a probability of one half."""
        return {name: value for name, value in attributes.items() if self.chance()}

    def size(self, least: int = 0, most: int = 5) -> int:
        """A size: 1 with a probability of about 1/4, 0 of about 1/20 where it is allowed."""
        roll = self.random.random()
        if roll < 0.05 and least == 0:
            return 0
        if roll < 0.3 and least <= 1:
            return 1
        return self.random.randint(max(least, 1), most)

    def sizes(self, rank: int, least: int = 0, most: int = 5) -> list[int]:
        """So many sizes."""
        return [self.size(least, most) for _ in range(rank)]

    def shape(self, least: int = 0, most: int = 4) -> list[int]:
        """Sizes of a random rank in these bounds."""
        return self.sizes(self.random.randint(least, most))

    def numbers(self, shape: Sequence[int], kind: str = "float32") -> Array:
        """Values of both signs for floats, small ones for integers, words for strings."""
        if kind == "object":
            words = ["a", "b", "c d", ""]
            return np.array([self.random.choice(words) for _ in range(int(np.prod(shape)))], object).reshape(shape)
        if kind == "bool":
            return self._numbers.integers(0, 2, tuple(shape)).astype(bool)
        dtype = np.dtype(kind)
        if dtype.kind in "iu":
            return self._numbers.integers(0, 5, tuple(shape)).astype(dtype)
        if dtype in _NARROW:
            return self._numbers.integers(0, 7, tuple(shape)).astype(np.int8).astype(dtype)
        return self._numbers.standard_normal(tuple(shape)).astype(dtype)

    def like(self, *shape: int, kind: str = "float32") -> Array:
        """`numbers` of sizes that are given one by one."""
        return self.numbers(shape, kind)

    def positive(self, *shape: int, kind: str = "float32") -> Array:
        """Values of at least 0.1, as scales are."""
        return (np.abs(self._numbers.standard_normal(shape)) + 0.1).astype(np.dtype(kind))

    def integers(self, low: int, high: int, shape: Sequence[int], kind: str = "int64") -> Array:
        """Integers from `low` up to, but without, `high`."""
        return self._numbers.integers(low, max(high, low + 1), tuple(shape)).astype(kind)

    def broadcast(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to this one: leading axes may be absent, sizes may be 1."""
        cut = self.random.randint(0, len(shape)) if self.chance() else 0
        return [1 if self.chance(0.3) else size for size in shape[cut:]]

    def axis(self, rank: int) -> int:
        """A position among `rank` axes, counted from either end."""
        return self.random.randint(-rank, rank - 1) if rank else 0

    def named(self, required: int, optional: int) -> tuple[bool, ...]:
        """The first results have names, each of the optional ones may."""
        return (*(True,) * required, *(self.chance() for _ in range(optional)))


_NARROW = frozenset(map(np.dtype, ("int4", "uint4")))


def vector(*numbers: int, kind: str = "int64") -> Array:
    """A vector of integers."""
    return np.array(numbers, kind)


def scalar(number: float, kind: str = "float32") -> Array:
    """A tensor of rank 0."""
    return np.array(number, kind)
