"""What a told size is in a run: the text of its name, computed with the sizes that the run had.

The view writes `?=floor(({N}+1)/2)`, names in braces; the proof `floor((N+1)/2)`. Nothing here asks the arithmetic
that made the names: a term that says one thing and means another is found out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from graphfix.shapes.dim import Dim, Size

TERM = "?="
"""What the name of a computed size of the view begins with."""
Shapes = Mapping[str, Sequence[int]]
"""By value, at run time."""


def is_term(size: Size) -> bool:
    """Whether the view tells a size as a computed one."""
    return isinstance(size, Dim) and any(part.startswith(TERM) for part in size.parts)


class UnreadableError(Exception):
    """A name that says nothing of a run: that of a value that was not observed."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The sizes of one run."""

    shapes: Shapes
    symbol: Callable[[str], int | None]
    """The size of a symbol of the model; None for what is none."""

    def size(self, size: Size) -> int:
        """What a told size of the view is; raises UnreadableError."""
        return size if isinstance(size, int) else self._broadcast(size.parts)

    def _broadcast(self, parts: Sequence[str]) -> int:
        if not parts:
            raise UnreadableError
        sizes = {self._named(part) for part in parts} - {1} or {1}
        if len(sizes) > 1:
            raise UnreadableError  # they did not broadcast: the name is of a value that the run did not make
        return sizes.pop()

    def _named(self, name: str) -> int:
        if name.startswith(TERM):
            return self._term(name.removeprefix(TERM))
        value, _, axis = name.removeprefix("?").rpartition(".")
        known = self.symbol(name) if not name.startswith("?") else None
        if known is None and value in self.shapes and axis.isdigit() and int(axis) < len(self.shapes[value]):
            known = self.shapes[value][int(axis)]
        if known is None:
            raise UnreadableError
        return known

    def _term(self, text: str) -> int:
        flat, names = braced(text)
        return computed(flat.format(*[f"({self._broadcast(top_level(name))})" for name in names]))


def braced(text: str) -> tuple[str, list[str]]:
    """A text with `{}` in the place of each outermost {name}, and those names."""
    flat, names, depth = "", [""], 0
    for mark in text:
        depth -= mark == "}"
        if depth:
            names[-1] += mark
        elif mark in "{}":
            flat += mark
            names += [""] * (mark == "}")
        else:
            flat += mark
        depth += mark == "{"
    return flat, names[:-1]


def top_level(name: str) -> list[str]:
    """The parts of a name: a|b, but not where the bar stands in braces."""
    parts, depth = [""], 0
    for mark in name:
        depth += (mark == "{") - (mark == "}")
        if mark == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += mark
    return parts


FUNCTION = re.compile(r"(floor|max|floordiv|slice|times) ?([\d/]*)\((.*)\)")


def computed(text: str) -> int:
    """The number that arithmetic on numbers says: a polynomial, or one function of polynomials."""
    found = FUNCTION.fullmatch(text)
    return whole(text) if found is None else FUNCTIONS[found[1]](found[3], found[2])


def _floor(text: str, _: str) -> int:
    dividend, _, by = text.rpartition("/")
    return whole(dividend) // int(by)


def _floordiv(text: str, _: str) -> int:
    dividend, by = map(whole, text.split(", "))
    return dividend // by if by else unreadable()


def _slice(text: str, _: str) -> int:
    size, start, end, step = map(whole, text.split(", "))
    return len(range(*slice(start, end, step).indices(size))) if step > 0 else unreadable()


FUNCTIONS: Mapping[str, Callable[[str, str], int]] = {
    "floor": _floor,
    "max": lambda text, _: max(map(whole, text.split(", "))),
    "floordiv": _floordiv,
    "slice": _slice,
    "times": lambda text, ratio: int(np.float32(whole(text)) * np.float32(Fraction(ratio))),
}


def unreadable() -> int:
    """No number."""
    raise UnreadableError


def whole(text: str) -> int:
    """The number that sums and products of numbers make."""
    if not re.fullmatch(r"[-+*() \d]+", text):
        raise UnreadableError
    return int(eval(text))  # noqa: S307 -- numbers and signs


def contradicted(told: Dim, real: int, observed: Observed) -> str:
    """What a named size says of itself and is not so in a run: its range, its term, where it is 1."""
    if not told.lo <= real <= (real if told.hi is None else told.hi):
        return f"{told.parts} is {real}, out of {told.lo} to {told.hi}"
    if told.one is None and real == 1:
        return f"{told.parts} is 1, and is said never to be"
    try:
        if observed.size(told) != real:
            return f"{told.parts} is {real}, not {observed.size(told)}"
        if told.one and (observed.size(Dim(told.one)) == 1) != (real == 1):
            return f"{told.parts} is {real}, and is said to be 1 where {told.one} is"
    except UnreadableError:
        pass
    return ""


PROOFS = re.compile(r"[A-Za-z_]\w*")


def of_proof(text: str, symbol: Callable[[str], int | None]) -> int | None:
    """What a size is that the proof prints; None where it has names of which nothing is known."""
    names = set(PROOFS.findall(text)) - {"max", "floor"}
    sizes = {name: symbol(name) for name in names}
    if not re.fullmatch(r"[-+*/(), \w]+", text) or None in sizes.values():
        return None
    known = {name: size for name, size in sizes.items() if size is not None}
    rounded = re.sub(r"/(\d+)\)", r"//\1)", text).replace("floor", "")
    return int(eval(rounded, {"max": max, **known}))  # noqa: S307 -- numbers, names and signs, by the pattern
