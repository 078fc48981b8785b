"""Indexing maps in the notation of MLIR's Linalg, printed from the terms that the proof compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import Symbol, has_clash
from graphfix.checker.proof.core.terms import value_of
from graphfix.checker.proof.neutral.broadcast import PRODUCT_AXES, broadcast_of
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.iteration_space import Axes
    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import Core, ProofValue


@dataclass(frozen=True, slots=True)
class Note:
    """One node of one file, with everything that is printed about it."""

    graph: str
    """`main`, `main/NODE.BODY` for a body, or `function DOMAIN.NAME` for a function."""
    label: str
    """The node's name, or `Op#index` if the node has no name in the file."""
    description: str
    op: str
    names: tuple[tuple[str, ...], tuple[str, ...]]
    """The names of the operands, and the names of the results; an empty name for one that is omitted."""
    operands: tuple[ProofValue | None, ...]
    results: tuple[ProofValue | None, ...]
    parts: Mapping[str, tuple[object, str]]
    """The other parts of the node's term, by name: an object that is compared, and its printed form."""
    isolated: Core | None
    """The node's term with each operand as a separate value; its maps are the node's own.

    None if it does not broadcast.
    """


@dataclass(frozen=True, slots=True)
class Read:
    """How a node reads one operand: the operand's index, its printed value, its sizes and its indexing map."""

    operand: int
    value: str
    """The operand as printed: `b[1,3]`."""
    sizes: Sizes
    map: str
    """The map from a point of the iteration space to an element of the operand: `(d0, d1) -> (0, d1)`."""
    of: str | None = None
    """The core that the operand reads by a map, printed: `b[3]`. None if the operand is a whole core."""
    through: str | None = None
    """The map from a point of the iteration space to an element of `of`: `(d0, d1) -> (d1)`. None if `of` is None."""

    @property
    def is_identity(self) -> str:
        """The map from the iteration space to the core: `through` if the operand is not a whole core, or else `map`."""
        return self.through or self.map


@dataclass(frozen=True, slots=True)
class Reads:
    """One node, and the indexing maps of the operands that take part in its broadcast."""

    graph: str
    """`main`, `main/NODE.BODY` for a body, or `function DOMAIN.NAME` for a function."""
    label: str
    """The node's name, or `Op#index` if the node has no name in the file."""
    op: str
    notation: str
    """The node as reports print it: `y[2,3] = Add(x[2,3], b[3])`."""
    reads: tuple[Read, ...] | None
    """How the node reads each broadcast operand.

    None if it does not broadcast, a rank is unknown, or sizes do not fit.
    """

    def document(self) -> Mapping[str, object]:
        """Return the node and its maps as a mapping for the JSON document."""
        maps = [
            {"operand": read.operand, "value": read.value, "map": read.map, "of": read.of, "through": read.through}
            for read in self.reads or ()
        ]
        return {"graph": self.graph, "node": self.label, "notation": self.notation, "maps": maps}


def reads_of(note: Note) -> Reads:
    """Return a node in the notation of reports, and how it reads the operands that take part in its broadcast."""
    return Reads(note.graph, note.label, note.op, _notation(note), _reads(note))


def _reads(note: Note) -> tuple[Read, ...] | None:
    """Return how a node reads each operand of its broadcast; None if it does not broadcast or its sizes do not fit."""
    found = None if note.isolated is None else broadcast_of(note.isolated)
    if note.isolated is None or found is None or any(map(has_clash, found[2])):
        return None
    exact = PRODUCT_AXES if note.isolated.key[0] == "product" else 0
    return tuple(_read(note, core, axes, found[2], exact) for core, axes in zip(found[0], found[1], strict=True))


def _read(note: Note, core: Core, axes: Axes, space: Sizes, exact: int) -> Read:
    """Return how the node of `note` reads one operand.

    `core` represents the operand, and its number is the operand's index. `axes` contains for each axis of `space` the
    operand's axis that follows it, or None. The last `exact` axes of the space are not broadcast.
    """
    index = core.number
    view = note.operands[index]
    sizes = core.sizes or ()
    value, printed = _named(note.names[0][index], view), linalg(axes, sizes, space, exact)
    if view is None or view.axes is None or view.core.sizes is None or view == value_of(view.core):
        return Read(index, value, sizes, printed)
    inner = view.axes
    through = tuple(None if axis is None else inner[axis] for axis in axes)
    source = f"{view.core.description}[{_listed(view.core.sizes)}]"
    return Read(index, value, sizes, printed, source, linalg(through, view.core.sizes, space, exact))


def linalg(axes: Axes, sizes: Sizes, space: Sizes, exact: int = 0) -> str:
    """Return the indexing map of an operand of these sizes, printed: `(d0, d1, d2) -> (0, d2)`.

    `axes` contains for each axis of `space` the operand's axis that follows it, or None. An operand's axis of size 1
    under another size, or under no axis, is read at 0. An axis that may have size 1 under another size at run time is
    marked `?`. The last `exact` axes of the space are not broadcast.
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
    """Return the printed coordinate at which an operand's axis is read: `0`, `d1` or `d1?`.

    `d1?` means that the operand's size may be 1 under another size.

    `place` is the axis of the iteration space. `size` and `broadcast` are the sizes of the operand and the space there.
    """
    if size == 1 != broadcast:
        return "0"
    return f"d{place}?" if isinstance(size, Symbol) and size != broadcast else f"d{place}"


def _notation(note: Note) -> str:
    """Return a node as reports and `graphfix show` print it: `y[2,3] = Add(x[2,3], b[3])`."""
    operands, results = (
        ", ".join(_named(name, view) if name else "" for name, view in zip(names, views, strict=False))
        for names, views in ((note.names[0], note.operands), (note.names[1], note.results))
    )
    return f"{results} = {note.op}({operands})"


def _named(name: str, view: ProofValue | None) -> str:
    """Return a value as `name[sizes]`; `name[*]` if the rank is unknown, and `name` alone if there is no value."""
    if view is None:
        return name
    return f"{name}[*]" if view.sizes is None else f"{name}[{_listed(view.sizes)}]"


def _listed(sizes: Sizes) -> str:
    return ",".join(map(repr, sizes))
