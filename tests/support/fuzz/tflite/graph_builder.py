"""Graphs under construction for the fuzz of TFLite: values of known shape, stated in every way, and what reads them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest
from typing import Any

import numpy as np

from models.builders.grammar import read
from models.builders.tflite.text import Quantized, pack, tree

Concrete = tuple[int, ...]
Axis = int | str
"""A fixed size, or the name of one that varies from run to run; the file states no name, only that it is free."""
SIZES = (0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 5)
RANKS = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6)
LETTERS = "NMKL"
SMALL = 400
"""Elements that a value may have."""
FLOAT, INT, LONG, BOOL, WORD = "float32", "int32", "int64", "bool", "string"
SCALED = ("int8", "uint8", "int16")


@dataclass(frozen=True, slots=True)
class Known:
    """A value under construction: its shape is that of a run at the model's first sizes."""

    name: str
    shape: Concrete
    dtype: str
    free: tuple[bool, ...] | None
    """Which sizes may be others when the model runs; None where not even the rank is stated."""
    constant: bool = False

    @property
    def varies(self) -> bool:
        """Whether a size may be another one when the model runs."""
        return self.free is None or any(self.free)


@dataclass(frozen=True, slots=True)
class Draft:
    """A finished model as text; its comments say what a file does not.

    `# sizes N=2 M=1`: the sizes that the free ones have in the model's first run; `# shape x 2,N`: of an input whose
    rank is not stated; `# scales c 0.5,0.25 0,0 1`: the scales, zero points and axis of a tensor that has others than
    the text gives by itself; `# unnamed a b`: tensors of the main graph that have no name in the file.
    """

    text: str

    @property
    def sizes(self) -> dict[str, int]:
        """Letter -> size, 2 where no comment says otherwise."""
        words = [word for _, *words in self._comments("sizes") for word in words]
        commented = {name: int(size) for name, _, size in (word.partition("=") for word in words)}
        return dict.fromkeys(LETTERS, 2) | commented

    @property
    def inputs(self) -> list[tuple[str, tuple[Axis, ...], str]]:
        """(name, axes, element type)."""
        block = read(self.text, integers=INT)[0]
        hidden = {words[1]: words[2:] for words in self._comments("shape")}
        found = []
        for name in block.inputs:
            stated = re.search(rf"\b{name}(?::\w+)*\[([^\]]*)\]", self.text)
            dims = "".join(hidden[name]) if name in hidden else stated[1] if stated else ""
            axes = tuple(int(size) if size.isdigit() else size for size in dims.split(",") if size)
            found.append((name, axes, block.values[name].dtype))
        return found

    def _comments(self, about: str) -> list[list[str]]:
        lines = [line.strip().removeprefix("#").split() for line in self.text.splitlines() if "#" in line]
        return [words for words in lines if words and words[0] == about]

    def file(self) -> bytes:
        """The .tflite file."""
        scales = {
            name: Quantized(tuple(map(float, each.split(","))), tuple(map(int, zeros.split(","))), int(axis))
            for _, name, each, zeros, axis in self._comments("scales")
        }
        made: Any = tree(self.text, quantization=scales)
        unnamed = {word for words in self._comments("unnamed") for word in words[1:]}
        for tensor in made.subgraphs[0].tensors:
            if tensor.name in unnamed:
                tensor.name = ""
        return pack(made)


@dataclass(slots=True)
class Source:
    """What the rooms of one model share."""

    choose: random.Random
    sizes: dict[str, int]
    numbers: count[int] = field(default_factory=count)
    empties: bool = True
    """Whether stated sizes may be 0: XNNPACK takes none."""
    bodies: list[str] = field(default_factory=list)
    """The text of each subgraph but the main one."""

    def name(self, stem: str) -> str:
        """A new name."""
        return f"{stem}{next(self.numbers)}"

    def odds(self, chance: float) -> bool:
        """True so often."""
        return self.choose.random() < chance

    def size(self) -> int:
        """A random size."""
        return self.choose.choice(SIZES[not self.empties :])


@dataclass(slots=True)
class GraphBuilder:
    """A subgraph under construction: it sees nothing of the others."""

    source: Source
    main: bool = True
    lines: list[str] = field(default_factory=list)
    values: list[Known] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    """The results of its operators."""

    def add(
        self,
        op: str,
        operands: Sequence[Known],
        shape: Concrete,
        dtype: str,
        *,
        free: tuple[bool, ...] | None = (),
        kept: bool = True,
        **attributes: object,
    ) -> Known:
        """An operator with one result, all of whose sizes vary where `free` leaves it open and an operand's does."""
        if free == () and shape:
            free = (any(operand.varies for operand in operands),) * len(shape)
        if any(operand.free is None for operand in operands):
            free = None
        result = Known(self.source.name(op[0].lower()), shape, dtype, free)
        stated = [operand.name for operand in operands] + [f"{key}={value}" for key, value in attributes.items()]
        # XNNPACK unpacks constants early and takes the stored sizes: they are what they are there
        exact = op == "DEQUANTIZE" and operands[0].constant
        self.lines.append(f"{self.described(result, exact=exact)} = {op}({', '.join(stated)})")
        self.made.append(result.name)
        if kept:
            self.values.append(result)
        return result

    def described(self, value: Known, *, exact: bool = False) -> str:
        """A value as the text describes it, some sizes stated looser than they are."""
        odds = self.source.odds
        if value.free is None:
            return f"{value.name}:{value.dtype}[*]"
        loose = odds(0.06) and not exact
        sizes = [
            "?" if free or (loose and odds(0.6)) else str(size)
            for size, free in zip(value.shape, value.free, strict=True)
        ]
        return f"{value.name}:{value.dtype}[{','.join(sizes)}]"

    # --- leaves -------------------------------------------------------------------------------------------------

    def constant(self, shape: Concrete, dtype: str, elements: Sequence[int] | None = None) -> Known:
        """A constant, in the elements that the text gives by itself or in these."""
        known = Known(self.source.name("c"), shape, dtype, (False,) * len(shape), constant=True)
        listed = "" if elements is None else f"{{{', '.join(map(str, elements))}}}"
        dims = ",".join(map(str, shape))
        self.lines.append(f"{known.name}:const:{dtype}[{dims}]{listed}")
        return known

    def scale_each(self, constant: Known, axis: int) -> None:
        """Let each index of an axis have its own scale."""
        count = constant.shape[axis]
        scales = ",".join(str(0.25 * (1 + at)) for at in range(count))
        self.lines.append(f"# scales {constant.name} {scales} {','.join('0' * count)} {axis}")

    def otherwise(self, shape: Concrete, dtype: str) -> Known:
        """A new value with a scale that no other has: few operators take such operands together."""
        known = self.input(shape, dtype) if self.main and self.source.odds(0.5) else self.constant(shape, dtype)
        self.lines.append(f"# scales {known.name} 0.25 {0 if dtype == 'int16' else 7} 0")
        return known

    def vector(self, numbers: Sequence[int]) -> Known:
        """A constant of int32."""
        return self.constant((len(numbers),), INT, numbers)

    def number(self, number: int) -> Known:
        """A scalar constant of int32."""
        return self.constant((), INT, [number])

    def leaf(self, shape: Concrete, dtype: str) -> Known:
        """A new input of the model or a new constant, half precision behind a DEQUANTIZE now and then."""
        odds = self.source.odds
        if self.main and odds(0.6):
            known = self.input(shape, dtype)
        elif dtype == FLOAT and odds(0.2):
            stored = self.constant(shape, self.source.choose.choice(("float16", "int8")))
            if stored.dtype == "int8" and max(shape, default=0) > 1 and odds(0.6):
                self.scale_each(stored, shape.index(max(shape)))
            known = self.add("DEQUANTIZE", [stored], shape, FLOAT)
            self.made.remove(known.name)  # XNNPACK leaves it unset where it is an output
            return known
        else:
            known = self.constant(shape, dtype)
        self.values.append(known)
        return known

    def input(self, shape: Concrete, dtype: str) -> Known:
        """An input, each axis stated by its size or free; or not even its rank."""
        axes = tuple(map(self._axis, shape))
        free = None if self.source.odds(0.04) else tuple(isinstance(axis, str) for axis in axes)
        known = Known(self.source.name("x"), shape, dtype, free)
        dims = ",".join(map(str, axes))
        self.lines.append(f"{known.name}:{dtype}[{'*' if free is None else dims}]")
        if free is None:
            self.lines.append(f"# shape {known.name} {dims}")
        return known

    def _axis(self, size: int) -> Axis:
        names = [name for name, of in self.source.sizes.items() if of == size]
        return self.source.choose.choice(names) if names and self.source.odds(0.45) else size

    # --- operands -----------------------------------------------------------------------------------------------

    def any(self, *dtypes: str) -> Known:
        """A value of one of these types, or a new one."""
        found = [value for value in self.values if value.dtype in dtypes]
        if found and self.source.odds(0.75):
            return self.source.choose.choice(found[-4:])
        return self.leaf(self.shape(), self.source.choose.choice(dtypes))

    def shape(self) -> Concrete:
        """A random shape."""
        choose = self.source.choose
        shape = tuple(self.source.size() for _ in range(choose.choice(RANKS)))
        return shape if np.prod(shape) <= SMALL else shape[:3]

    def partner(self, of: Concrete, dtype: str) -> Known:
        """A value that broadcasts with a shape: one that is there, or a new one that is part of it."""
        found = [value for value in self.values if value.dtype == dtype and fits(value.shape, of)]
        if found and self.source.odds(0.6):
            return self.source.choose.choice(found)
        return self.leaf(self.part(of), dtype)

    def part(self, of: Concrete) -> Concrete:
        """Some last axes of a shape, some of them 1; or one more axis in front."""
        odds, choose = self.source.odds, self.source.choose
        cut = choose.randrange(len(of) + 1) if odds(0.5) else 0
        kept = tuple(map(self._thinner, of[cut:]))
        return (choose.choice((1, 2)), *kept) if len(kept) < 6 and odds(0.15) else kept

    def _thinner(self, size: int) -> int:
        if self.source.odds(0.25):
            return 1
        return self.source.size() if size == 1 and self.source.odds(0.3) else size

    def outputs(self) -> list[str]:
        """What nothing reads, and some of what is read."""
        read = " ".join(line.partition(" = ")[2] for line in self.lines)
        words = set(read.replace("(", " ").replace(",", " ").replace(")", " ").split())
        return [name for name in self.made if name not in words or self.source.odds(0.1)]


def fits(one: Concrete, other: Concrete) -> bool:
    """Whether two shapes broadcast, to something small."""
    whole = together(one, other)
    return whole is not None and bool(np.prod(whole) <= SMALL)


def together(one: Concrete, other: Concrete) -> Concrete | None:
    """What two shapes broadcast to by numpy's rule, None where they do not."""
    pairs = [*zip_longest(one[::-1], other[::-1], fillvalue=1)][::-1]
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    return tuple(b if a == 1 else a for a, b in pairs)


def aligned(operands: Sequence[Known]) -> tuple[bool, ...] | None:
    """Which sizes of a broadcast vary; None where a rank is not known."""
    flags = [operand.free for operand in operands]
    known = [free[::-1] for free in flags if free is not None]
    if len(known) < len(flags):
        return None
    return tuple(any(column) for column in zip_longest(*known, fillvalue=False))[::-1]
