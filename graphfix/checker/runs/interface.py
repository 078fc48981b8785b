"""What two models must have in common before they can be run on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Dim = int | str
Kind = Literal["tensor", "sequence", "optional", "optional sequence", "map", "unknown"]


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output: its type, and its dims as sizes and labels (None: the rank is not known).

    A label is the declared symbol, or `name[axis]` where the model declares none.
    """

    name: str
    kind: Kind
    dtype: np.dtype[Any] | None
    """Of the elements (of a map: of its values): `object` for strings, None where it is not known."""
    dims: tuple[Dim, ...] | None
    quantization: tuple[object, ...] = ()
    """Scales, zero points and their axis, where the numbers stand for others."""
    alias: str = ""
    """What else a caller may call it."""


@dataclass(frozen=True, slots=True)
class Face:
    """The inputs that must be fed, those with a default, and the outputs."""

    inputs: tuple[Port, ...]
    defaults: tuple[Port, ...]
    outputs: tuple[Port, ...]
    declared: tuple[Port, ...]
    """Inputs with and without a default, in the file's order."""

    @property
    def unranked(self) -> bool:
        """Whether the rank of some input is not known."""
        return any(port.dims is None for port in self.inputs)

    def settled(self, other: Face, shapes: Mapping[str, Sequence[int]]) -> Face:
        """Take the dims of inputs of unknown rank from the given shapes, or from the other model."""
        theirs = {port.name: port.dims for port in other.inputs}
        given = {name: tuple(shape) for name, shape in shapes.items()}
        ports = (
            p if p.dims is not None else replace(p, dims=given.get(p.name, theirs.get(p.name))) for p in self.inputs
        )
        return replace(self, inputs=tuple(ports))

    def with_rank(self, rank: int) -> Face:
        """Give the inputs of unknown rank this rank, with free dims."""
        free = {p.name: tuple(f"{p.name}[{axis}]" for axis in range(rank)) for p in self.inputs}
        ports = (p if p.dims is not None else replace(p, dims=free[p.name]) for p in self.inputs)
        return replace(self, inputs=tuple(ports))


def disagreement(before: Face, after: Face) -> str | None:
    """Say why the two can't be equal by their faces alone, or None."""
    return (
        _names_differ("inputs", before.inputs, after.inputs)
        or _names_differ("outputs", before.outputs, after.outputs)
        or _types_differ("input", before.inputs, after.inputs)
        or _types_differ("output", before.outputs, after.outputs)
        or _shapes_differ(before.inputs, after.inputs)
    )


def assumed_defaults(before: Face, after: Face) -> tuple[str, ...]:
    """Name the defaults that only one of the models lets a caller override."""
    a, b = ({port.name for port in face.defaults} for face in (before, after))
    return tuple(
        f"the default of '{name}' is not overridden: it is an input of one model only" for name in sorted(a ^ b)
    )


def _names_differ(what: str, before: Sequence[Port], after: Sequence[Port]) -> str | None:
    a, b = [p.name for p in before], [p.name for p in after]
    if a == b:
        return None
    if sorted(a) == sorted(b):
        return f"the {what} stand in another order: {_listed(a)}; {_listed(b)}"
    gone, new = [n for n in a if n not in b], [n for n in b if n not in a]
    parts = [f"{_listed(names)} only in the {side}" for names, side in ((gone, "first"), (new, "second")) if names]
    return f"the {what} differ: {', '.join(parts)}"


def _types_differ(what: str, before: Iterable[Port], after: Iterable[Port]) -> str | None:
    for a, b in zip(before, after, strict=True):
        if (a.kind, a.dtype) != (b.kind, b.dtype) and "unknown" not in (a.kind, b.kind):
            return f"the {what} '{a.name}' is {_type_name(a)} in the first, {_type_name(b)} in the second"
        if a.quantization != b.quantization:
            return f"the {what} '{a.name}' has another quantization in the second: {b.quantization or 'none'}"
    return None


def _shapes_differ(before: Iterable[Port], after: Iterable[Port]) -> str | None:
    for a, b in zip(before, after, strict=True):
        if a.dims is None or b.dims is None:
            continue
        sizes = [(m, n) for m, n in zip(a.dims, b.dims, strict=False) if isinstance(m, int) and isinstance(n, int)]
        if len(a.dims) != len(b.dims) or any(m != n for m, n in sizes):
            return f"the input '{a.name}' is {_listed(a.dims)} in the first, {_listed(b.dims)} in the second"
    return None


def _type_name(port: Port) -> str:
    name = "untyped" if port.dtype is None else "string" if port.dtype == np.object_ else port.dtype.name
    return f"{port.kind} of {name}"


def _listed(items: Iterable[object]) -> str:
    return f"[{', '.join(str(item) for item in items)}]"
