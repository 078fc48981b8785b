"""The records for one dim (`Dim`) and one shape (`Shape`), with which `shapes` computes."""

from __future__ import annotations

from typing import TypeAlias

from graphfix.results.records import dataclass, field

Parts: TypeAlias = tuple[str, ...]


class Incompatible(Exception):  # noqa: N818  # named for what the shapes are
    """Raised if shapes can't broadcast for any sizes. The message contains all shapes."""


class Undecided(Exception):  # noqa: N818  # don't-know is an answer, not an error
    """Raised if a question can't be decided, with a reason that completes the sentence "left alone because"."""


@dataclass(frozen=True, slots=True)
class Dim:
    """A dim that is not a number: its name, and the inclusive range of its sizes.

    `==` compares the descriptions. Use `same` to find out whether two dims are provably equal sizes.
    """

    parts: Parts = ()
    """The name, as a sorted tuple of strings.

    - (): an anonymous unknown, not equal to any dim, not even to itself.
    - ("N",): the symbol N.
    - ("?a.0",): a named unknown, the size of one axis of one value.
    - several names: the broadcast of all of them.
    """
    lo: int = 0
    hi: int | None = None
    """The largest size; None for no limit. `hi < lo` is the invalid size."""
    one: Parts | None = field(default=(), compare=False)
    """When the dim is 1: never (None), or exactly when the size of this name is 1. () if nothing is known."""

    def __hash__(self) -> int:
        return hash(self.parts)  # the range rarely distinguishes dims, and large models hash 100,000s of them

    def __str__(self) -> str:
        if self.hi is not None and self.hi < self.lo:
            return "invalid"
        return self.parts[0] if is_symbol(self.parts) else "?"


Size: TypeAlias = int | Dim

UNKNOWN = Dim()
INVALID_SIZE = Dim((), 0, -1)


def symbol(name: str, lo: int = 0, hi: int | None = None) -> Dim:
    """Return the dim with the symbol `name`, or an anonymous one for a name such as "?".

    Dims of one name are equal sizes.
    """
    return Dim((name,) if names_a_size(name) else (), lo, hi)


def names_a_size(name: str) -> bool:
    """Return whether a name in a file is a symbol. "" is not, and "?" begins the names that graphfix creates."""
    return name != "" and not name.startswith("?")


@dataclass(frozen=True, slots=True)
class Shape:
    """The dims of a value, from left to right, as far as they are known.

    A dim whose range contains one number becomes that int. An invalid size makes the shape invalid. Raise ValueError
    for a negative int. A format in which -1 means unknown must use UNKNOWN instead.
    """

    axes: tuple[Size, ...] | None
    """The sizes of the axes; None if the shape is unranked or invalid. `dims` raises the reason instead."""
    parts: tuple[str, ...] = ()
    """The sorted names of an unranked shape. Two unranked shapes with equal names are equal. () is anonymous."""
    valid: bool = True
    static: bool = field(default=False, init=False, compare=False, repr=False)
    """Whether every size is a number."""
    has_names: bool = field(default=False, init=False, compare=False, repr=False)
    """Whether every size is a number or has a name."""

    def __post_init__(self) -> None:
        axes = self.axes or ()
        static = has_names = self.axes is not None
        for size in axes:
            if isinstance(size, int):
                if size < 0:
                    break
            elif size.hi is None or size.hi > size.lo:
                static, has_names = False, has_names and bool(size.parts)
            else:
                break
        else:  # nothing must be simplified in nearly all shapes
            self._tell(static=static, has_names=has_names)
            return
        if any(isinstance(size, int) and size < 0 for size in axes):
            raise ValueError(f"a dim is at least 0: {list(map(str, axes))}")
        axes = tuple(map(simplified, axes))
        valid = INVALID_SIZE not in axes
        object.__setattr__(self, "axes", axes if valid else None)
        object.__setattr__(self, "valid", valid)
        sizes = [size for size in axes if not isinstance(size, int)]
        self._tell(static=valid and not sizes, has_names=valid and all(size.parts for size in sizes))

    def _tell(self, *, static: bool, has_names: bool) -> None:
        """Store two properties that are read many times for every shape."""
        object.__setattr__(self, "static", static)
        object.__setattr__(self, "has_names", has_names)

    @property
    def ranked(self) -> bool:
        """Whether the number of axes is known. An invalid shape has no rank."""
        return self.axes is not None

    @property
    def dims(self) -> tuple[Size, ...]:
        """The sizes of the axes. Raise Undecided if the shape is unranked, and Incompatible if it is invalid."""
        if self.axes is not None:
            return self.axes
        if self.valid:
            raise Undecided("the rank is not known")
        raise Incompatible("[invalid] has no dims: what gave it did not broadcast")

    @property
    def rank(self) -> int:
        """The number of axes. Raise Undecided if the shape is unranked, and Incompatible if it is invalid."""
        return len(self.dims if self.axes is None else self.axes)

    @property
    def numbers(self) -> tuple[int, ...]:
        """All sizes as numbers. Raise Undecided if a size is not a number, and the exceptions of `dims`."""
        found = tuple([size for size in self.dims if isinstance(size, int)])
        if not self.static:
            raise Undecided(f"the sizes of {self} are not all known")
        return found

    @property
    def json(self) -> tuple[int | str | None, ...] | None:
        """The shape in a report: ints, symbols, and None for other sizes. None if there are no axes."""
        if self.axes is None:
            return None
        return tuple([size if isinstance(size, int) else _shown(size) for size in self.axes])

    def __hash__(self) -> int:
        # as for `Dim`: nearly all shapes differ in their axes, and shapes without axes differ in their names
        return hash(self.parts if self.axes is None else self.axes)

    def __str__(self) -> str:
        if self.axes is None:
            return "[*]" if self.valid else "[invalid]"
        return f"[{', '.join(map(str, self.axes))}]"


def _shown(size: Dim) -> str | None:
    """Return the symbol of a dim; None if it has none."""
    text = str(size)
    return None if text == "?" else text


UNRANKED = Shape(None)
INVALID = Shape(None, valid=False)


def simplified(size: Size) -> Size:
    """Return the size with a range of one number as that int, and with any empty range as INVALID_SIZE."""
    if isinstance(size, int) or size.hi is None or size.hi > size.lo:
        return size
    return size.lo if size.hi == size.lo else INVALID_SIZE


def same(a: Size, b: Size) -> bool:
    """Return whether two sizes are provably equal: equal ints, or equal names."""
    a, b = simplified(a), simplified(b)
    if isinstance(a, int) or isinstance(b, int):
        return a == b
    return a.parts == b.parts != ()


def never_one(a: Size) -> bool:
    """Return whether a size is provably not 1, so that it is never stretched."""
    lo, hi = bounds(a)
    return lo > 1 or (hi is not None and hi < 1) or (isinstance(a, Dim) and a.one is None)


def unit_name(size: Dim) -> Parts:
    """Return the name of the size that is 1 exactly when this one is: another name if one is known, else its name."""
    return size.one or size.parts


def bounds(size: Size) -> tuple[int, int | None]:
    """Return the smallest and the largest size that a dim can have, both included. None for no upper limit."""
    return (size, size) if isinstance(size, int) else (size.lo, size.hi)


def is_symbol(parts: Parts) -> bool:
    """Return whether a name is a symbol of the model, such as ("N",)."""
    return len(parts) == 1 and not parts[0].startswith("?")
