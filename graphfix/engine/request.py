"""What a command asks for: its options, and the sizes that it binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.engine import targets
from graphfix.results import GraphfixError, Site

if TYPE_CHECKING:
    from graphfix.engine.policy import Policy
    from graphfix.graph.protocols import Model

Texts = Mapping[str, str]


def options(target: str, broadcasts: str | None, unknown: str, *, keep_fusions: bool) -> Policy:
    """What the user asks of the rewrites, where he says nothing what the target does. Raises GraphfixError."""
    from graphfix.engine.policy import Policy

    for given, known, what in (
        (target, tuple(targets.TARGETS), "target"),
        (broadcasts or "keep", targets.BROADCASTS, "broadcasts"),
        (unknown, targets.UNKNOWN, "unknown"),
    ):
        if given not in known:
            raise GraphfixError(f"{what} {given!r} is not one of {', '.join(known)}")
    chosen = targets.TARGETS[target]
    return Policy(broadcasts or chosen.broadcasts, unknown, keep_fusions)  # type: ignore[arg-type]  # checked above


def limit(model: Model, max_expand_bytes: int | None) -> None:
    """Say how big a constant may get when it is stretched. Raises GraphfixError."""
    if max_expand_bytes is not None and max_expand_bytes < 0:
        raise GraphfixError(f"a size is at least 0 bytes, not {max_expand_bytes}")
    if max_expand_bytes is not None:
        model.expand_limit = max_expand_bytes


def bind(model: Model, path: Path, dims: Texts, shapes: Texts, *, defaults: bool = False) -> None:
    """Bind free sizes: by name, by input, and by default what is free then. Raises GraphfixError."""
    from graphfix.engine import binding
    from graphfix.engine import defaults as free

    if dims or shapes:
        sizes = {name: binding.size(path, name, text) for name, text in dims.items()}
        model.bind(sizes, binding.sizes(path, shapes))
    if defaults and (known := free.defaults(model)):
        model.bind({}, known)


def settled(
    model: Model, path: Path, dims: Texts, shapes: Texts, *, defaults: bool
) -> tuple[Mapping[str, int], Mapping[str, Sequence[int]]]:
    """The sizes that both models are run at: those that the user gave, and the default ones where he asked for them."""
    from graphfix.engine import binding
    from graphfix.engine import defaults as free

    return ({}, free.settled_inputs(model)) if defaults else binding.settled(path, dims, shapes)


def demand_static(model: Model, path: Path, target: str) -> None:
    """Raise GraphfixError where a target needs sizes that are free, with the options that would bind them."""
    from graphfix.engine import defaults as free

    if targets.TARGETS[target].static and free.free_inputs(model):
        raise GraphfixError(f"{path}: target {target} needs sizes: {free.proposal(model)} (or --bind-defaults)")


def free_sites(model: Model, target: str) -> list[Site]:
    """A finding for each input with a free size, for a target that needs numbers."""
    from graphfix.engine import defaults as free

    if not targets.TARGETS[target].static:
        return []
    why = "the target needs sizes that are numbers: bind them (--dim, --shape, --bind-defaults)"
    return [
        Site("GF302", value.name, "input", "main", None, value.shape.json, None, "left", None, why)
        for value in free.free_inputs(model)
    ]
