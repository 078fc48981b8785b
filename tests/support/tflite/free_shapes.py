"""The random models of `random_shapes` with sizes that are free, and shapes that are computed from them.

y[?,?] = TILE(x[2,3], t:const:int32[2]{2,1})

t:int32[2] = SHAPE(t_sizes[?,?], out_type=INT32)
y[?,?] = TILE(x[?,3], t)                            and x is [2,3], t_sizes is [2,1] in the run
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Sizes: TypeAlias = dict[str, list[int]]
"""By input."""
HELD = re.compile(r"(\w+):const:int32\[(\d?)\]\{(\d+(?:,\d+)*)\}")
"""A vector or a scalar of numbers that may be sizes."""
GIVEN = re.compile(r"(?<![\w:])(\w+)(?!:const)((?::\w+)?)\[(\d+(?:,\d+)*)\]")
"""An input, where it is named first: its name, type and sizes."""
MOST = 4096
"""The elements of an input from whose shape another one is computed, at the most."""


@dataclass(frozen=True)
class Freed:
    """A model's text with free sizes, and the sizes that the inputs had before."""

    text: str
    sizes: Sizes
    free: Mapping[str, tuple[int, ...]]
    """Which axes are free, by input."""

    def runs(self, choose: random.Random, count: int) -> Iterator[Sizes]:
        """The sizes of some runs: those of before, then some free axes at other ones, 0 and 1 among them."""
        yield self.sizes
        places = [(name, axis) for name, axes in self.free.items() for axis in axes]
        for _ in range(count if places else 0):
            sizes = {name: list(each) for name, each in self.sizes.items()}
            for name, axis in choose.sample(places, choose.randint(1, len(places))):
                sizes[name][axis] = choose.choice((0, 1, 1, 2, 3, 5))
            if max(map(math.prod, sizes.values())) <= MOST:
                yield sizes


def freed(text: str, choose: random.Random) -> Freed:
    """The text with some of the inputs' sizes free, and some of the shapes that it states computed."""
    if choose.random() < 0.5:
        text = _computed(text, choose)
    sizes: Sizes = {}
    free: dict[str, tuple[int, ...]] = {}
    some = choose.choice((0.5, 1.0))

    def opened(found: re.Match[str]) -> str:
        name, kind, dims = found.groups()
        sizes[name] = [int(size) for size in dims.split(",")]
        free[name] = tuple(axis for axis in range(len(sizes[name])) if choose.random() < some)
        shown = ["?" if axis in free[name] else str(size) for axis, size in enumerate(sizes[name])]
        return f"{name}{kind}[{','.join(shown)}]"

    lines = []
    for line in text.strip().splitlines():
        results, equals, call = line.partition(" = ")
        lines.append(results + equals + GIVEN.sub(opened, call))
    return Freed("\n".join(lines), sizes, free)


def _computed(text: str, choose: random.Random) -> str:
    """A SHAPE of another input for some of the vectors and scalars of numbers."""
    made = []

    def opened(found: re.Match[str]) -> str:
        name, count, numbers = found[1], found[2], found[3].split(",")
        if choose.random() < 0.3 or math.prod(map(int, numbers)) > MOST or len(numbers) != int(count or 1):
            return found[0]
        made.append(f"{name}_s:int32[{len(numbers)}] = SHAPE({name}_in[{found[3]}], out_type=INT32)")
        if not count:
            made.append(f"{name}_q:int32[] = SQUEEZE({name}_s, squeeze_dims=[0])")
        return f"{name}_s" if count else f"{name}_q"

    rest = HELD.sub(opened, text)
    return "\n".join([*made, rest])
