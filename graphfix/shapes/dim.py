"""What is known of one dim and of one shape: the records that `shapes` computes with."""

from __future__ import annotations

from typing import TypeAlias

from graphfix.results.records import dataclass, field

Parts: TypeAlias = tuple[str, ...]


class Incompatible(Exception):  # noqa: N818  # named for what the shapes are
    """Shapes that cannot broadcast whatever the sizes; the message names all of them."""


class Undecided(Exception):  # noqa: N818  # don't-know is an answer, not an error
    """Don't-know, with a reason that completes the sentence "left alone because"."""


@dataclass(frozen=True, slots=True)
class Dim:
    """A dim that is not a plain int: what names it, and the inclusive range of its sizes.

    `==` compares descriptions; `same` says whether two dims are provably one size.
    """

    parts: Parts = ()
    """Sorted names. () is an anonymous unknown, equal to nothing, not even to itself; ("N",) the symbol N;
    ("?a.0",) a named unknown, the size of one axis of one value; several are the broadcast of all of them."""
    lo: int = 0
    hi: int | None = None
    """None is unbounded; `hi < lo` is the invalid size."""
    one: Parts | None = field(default=(), compare=False)
    """Where it is 1: never (None), or wherever and only where a size of another name is; () says nothing."""

    def __hash__(self) -> int:
        return hash(self.parts)  # the range tells few dims apart, and big models hash 100,000s

    def __str__(self) -> str:
        if self.hi is not None and self.hi < self.lo:
            return "invalid"
        return self.parts[0] if is_symbol(self.parts) else "?"


Size: TypeAlias = int | Dim

UNKNOWN = Dim()
INVALID_SIZE = Dim((), 0, -1)


def symbol(name: str, lo: int = 0, hi: int | None = None) -> Dim:
    """Return the dim that `name` stands for; all dims of one name are one size."""
    return Dim((name,) if names_a_size(name) else (), lo, hi)


def names_a_size(name: str) -> bool:
    """Whether a name that a file has names a size: "" and "?" name none, and with "?" begin the names made here."""
    return name != "" and not name.startswith("?")


@dataclass(frozen=True, slots=True)
class Shape:
    """The dims of a value, leftmost first, or as much as is known of them.

    A dim whose range is one point becomes that int; an invalid size makes the shape invalid. Raises
    ValueError for a negative int: a format that writes -1 for unknown says UNKNOWN.
    """

    axes: tuple[Size, ...] | None
    """None when unranked or invalid: ask `dims`, which says why there are none."""
    parts: tuple[str, ...] = ()
    """What names an unranked shape, sorted: two unranked shapes of one name are equal; () is anonymous."""
    valid: bool = True
    static: bool = field(default=False, init=False, compare=False, repr=False)
    """Whether every size is known."""
    has_names: bool = field(default=False, init=False, compare=False, repr=False)
    """Whether every size is known or has a name."""

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
        else:  # nothing to simplify: nearly always
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
        """Note what is asked of every shape many times."""
        object.__setattr__(self, "static", static)
        object.__setattr__(self, "has_names", has_names)

    @property
    def ranked(self) -> bool:
        """Whether the number of axes is known (an invalid shape has none)."""
        return self.axes is not None

    @property
    def dims(self) -> tuple[Size, ...]:
        """The sizes of the axes; raises Undecided when unranked and Incompatible when invalid."""
        if self.axes is not None:
            return self.axes
        if self.valid:
            raise Undecided("the rank is not known")
        raise Incompatible("[invalid] has no dims: what gave it did not broadcast")

    @property
    def rank(self) -> int:
        """The number of axes; raises as `dims` does."""
        return len(self.dims if self.axes is None else self.axes)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every size as a number; raises Undecided where one is free, and as `dims` does."""
        found = tuple([size for size in self.dims if isinstance(size, int)])
        if not self.static:
            raise Undecided(f"the sizes of {self} are not all known")
        return found

    @property
    def json(self) -> tuple[int | str | None, ...] | None:
        """The shape as reports hold it: ints, symbols by name, else None; None when there are no axes."""
        if self.axes is None:
            return None
        return tuple([size if isinstance(size, int) else _shown(size) for size in self.axes])

    def __hash__(self) -> int:
        # as above: the axes tell nearly all shapes apart, and those without any are told apart by their names
        return hash(self.parts if self.axes is None else self.axes)

    def __str__(self) -> str:
        if self.axes is None:
            return "[*]" if self.valid else "[invalid]"
        return f"[{', '.join(map(str, self.axes))}]"


def _shown(size: Dim) -> str | None:
    text = str(size)
    return None if text == "?" else text


UNRANKED = Shape(None)
INVALID = Shape(None, valid=False)


def simplified(size: Size) -> Size:
    """Return a dim whose range is one point as that int, and every empty range as the one INVALID_SIZE."""
    if isinstance(size, int) or size.hi is None or size.hi > size.lo:
        return size
    return size.lo if size.hi == size.lo else INVALID_SIZE


def same(a: Size, b: Size) -> bool:
    """Whether two dims are provably one size: equal ints, or one name."""
    a, b = simplified(a), simplified(b)
    if isinstance(a, int) or isinstance(b, int):
        return a == b
    return a.parts == b.parts != ()


def never_one(a: Size) -> bool:
    """Whether a dim is provably not 1, so that nothing ever stretches it."""
    lo, hi = bounds(a)
    return lo > 1 or (hi is not None and hi < 1) or (isinstance(a, Dim) and a.one is None)


def unit_name(size: Dim) -> Parts:
    """Return the name of the size that is 1 wherever and only where this one is: its own where there is no other."""
    return size.one or size.parts


def bounds(size: Size) -> tuple[int, int | None]:
    """Return the least and the greatest size that a dim can take, both inclusive; None is unbounded."""
    return (size, size) if isinstance(size, int) else (size.lo, size.hi)


def is_symbol(parts: Parts) -> bool:
    """Whether a name is one that the model itself has, such as ("N",)."""
    return len(parts) == 1 and not parts[0].startswith("?")
