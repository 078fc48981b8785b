"""Sizes that a caller asks for by name: what no input has is refused, before it is left out without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.proof.result import UnprovedError
from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Ports: TypeAlias = "Mapping[str, tuple[int | str, ...] | None]"
"""Inputs by name: for each axis its size, or the symbol of a free one; None where the rank is not known."""


def refuse_unknown(one: Ports, two: Ports, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> None:
    """Hold the sizes of symbols (or of `name[axis]`) and of whole inputs against the inputs of both files.

    Raises GraphfixError for a name that no input has and for a shape of another rank, UnprovedError for a shape that
    contradicts the declared one.
    """
    symbols = {dim: None for ports in (one, two) for dims in ports.values() for dim in dims or ()}
    places = {f"{name}[{axis}]" for name, dims in one.items() for axis in range(len(dims or ()))}
    for name in bindings:
        if name not in symbols and name not in places:
            known = ", ".join(dim for dim in symbols if isinstance(dim, str)) or "none"
            raise GraphfixError(f"no input has the dim '{name}'; the symbols are: {known}")
    for name, shape in shapes.items():
        if name not in one:
            raise GraphfixError(f"there is no input '{name}'; the inputs are: {', '.join(one) or 'none'}")
        dims = one[name]
        if dims is not None and len(dims) != len(shape):
            raise GraphfixError(f"input '{name}' has rank {len(dims)}; the shape {list(shape)} has {len(shape)}")
        if any(isinstance(dim, int) and dim != size for dim, size in zip(dims or (), shape, strict=False)):
            raise UnprovedError(
                f"no size fits: the input {name!r} is {list(dims or ())}, and {list(shape)} is asked for"
            )


def assumed(bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """Name the sizes under which alone a proof holds."""
    dims = [f"{name} = {size}, as asked for" for name, size in bindings.items()]
    return dims + [f"{name} is [{', '.join(map(str, shape))}], as asked for" for name, shape in shapes.items()]
