"""Indexing maps as Linalg writes them, printed from the terms that the proof compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import Symbol, clashing
from graphfix.checker.proof.core.terms import whole
from graphfix.checker.proof.neutral.broadcast import PRODUCT_AXES, broadcast_of
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.iteration_space import Axes
    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import Core, View


@dataclass(frozen=True, slots=True)
class Note:
    """One node of one file."""

    graph: str
    """`main`, `main/NODE.BODY` for a body, `function DOMAIN.NAME` for a function."""
    label: str
    """Its name, or `Op#index` where the file has none."""
    description: str
    op: str
    names: tuple[tuple[str, ...], tuple[str, ...]]
    """Of its operands and of its results; nothing for one that is not given."""
    operands: tuple[View | None, ...]
    results: tuple[View | None, ...]
    parts: Mapping[str, tuple[object, str]]
    """What else a term of it is made of: by name the thing that is compared, and how it is printed."""
    isolated: Core | None
    """Its term where each operand is a separate value, if it broadcasts: the maps of this are the node's own."""


@dataclass(frozen=True, slots=True)
class Read:
    """How a node reads one operand."""

    operand: int
    value: str
    """`b[1,3]`"""
    sizes: Sizes
    map: str
    """`(d0, d1) -> (0, d1)`: where an element of the space finds its element of the operand."""
    of: str | None = None
    """The value that the operand is a view of, `b[3]`; None where it is no view."""
    through: str | None = None
    """That map after the view's: `(d0, d1) -> (d1)`, where an element of the space finds its element of `of`."""

    @property
    def whole(self) -> str:
        """Return the map to the value that the node reads in the end, whatever view of it the operand is."""
        return self.through or self.map


@dataclass(frozen=True, slots=True)
class Reads:
    """One node, and its operands' maps."""

    graph: str
    """`main`, `main/NODE.BODY` for a body, `function DOMAIN.NAME` for a function."""
    label: str
    """The node's name, or `Op#index` where the file has none."""
    op: str
    notation: str
    """`y[2,3] = Add(x[2,3], b[3])`"""
    reads: tuple[Read, ...] | None
    """None where there are no maps: a rank is not known, or the sizes can't be broadcast."""

    def document(self) -> Mapping[str, object]:
        """Return it as the JSON document shows it."""
        maps = [
            {"operand": read.operand, "value": read.value, "map": read.map, "of": read.of, "through": read.through}
            for read in self.reads or ()
        ]
        return {"graph": self.graph, "node": self.label, "notation": self.notation, "maps": maps}


def reads_of(note: Note) -> Reads:
    """Print a node and how it reads the operands that take part in its broadcast."""
    return Reads(note.graph, note.label, note.op, _notation(note), _reads(note))


def _reads(note: Note) -> tuple[Read, ...] | None:
    found = None if note.isolated is None else broadcast_of(note.isolated)
    if note.isolated is None or found is None or any(map(clashing, found[2])):
        return None
    exact = PRODUCT_AXES if note.isolated.key[0] == "product" else 0
    return tuple(_read(note, core, axes, found[2], exact) for core, axes in zip(found[0], found[1], strict=True))


def _read(note: Note, core: Core, axes: Axes, space: Sizes, exact: int) -> Read:
    """Print the map of one operand: `core` stands for it, and `axes` is for each axis of the space its own."""
    index = core.number
    view = note.operands[index]
    sizes = core.sizes or ()
    value, printed = _named(note.names[0][index], view), linalg(axes, sizes, space, exact)
    if view is None or view.axes is None or view.core.sizes is None or view == whole(view.core):
        return Read(index, value, sizes, printed)
    inner = view.axes
    through = tuple(None if axis is None else inner[axis] for axis in axes)
    source = f"{view.core.description}[{_listed(view.core.sizes)}]"
    return Read(index, value, sizes, printed, source, linalg(through, view.core.sizes, space, exact))


def linalg(axes: Axes, sizes: Sizes, space: Sizes, exact: int = 0) -> str:
    """Print the map of an operand of these sizes: `(d0, d1, d2) -> (0, d2)`.

    `axes` names for each axis of the space the operand's axis that follows it. An axis of size 1 under another size
    is read at 0 throughout; one that may be 1 under another size at run time is marked `?`. The last `exact` axes of
    the space are not broadcast.
    """
    followed = {axis: place for place, axis in enumerate(axes) if axis is not None}
    parts = []
    for axis, size in enumerate(sizes):
        place = followed.get(axis)
        if place is None:
            parts.append("0")
        elif place >= len(space) - exact:
            parts.append(f"d{place}")
        else:
            parts.append(_part(place, size, space[place]))
    return f"({', '.join(f'd{place}' for place in range(len(space)))}) -> ({', '.join(parts)})"


def _part(place: int, size: Size, broadcast: Size) -> str:
    if size == 1 != broadcast:
        return "0"
    return f"d{place}?" if isinstance(size, Symbol) and size != broadcast else f"d{place}"


def _notation(note: Note) -> str:
    """`y[2,3] = Add(x[2,3], b[3])`, as reports and `show` write a node."""
    operands, results = (
        ", ".join(_named(name, view) if name else "" for name, view in zip(names, views, strict=False))
        for names, views in ((note.names[0], note.operands), (note.names[1], note.results))
    )
    return f"{results} = {note.op}({operands})"


def _named(name: str, view: View | None) -> str:
    if view is None:
        return name
    return f"{name}[*]" if view.sizes is None else f"{name}[{_listed(view.sizes)}]"


def _listed(sizes: Sizes) -> str:
    return ",".join(map(repr, sizes))
