"""Free sizes of a model's inputs: list them, bind them by the options of a request, and choose default sizes.

The options are `--dim`, `--shape`, `--same`, `--set` and `--bind-defaults`.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.results import GraphfixError, InputValue, Site, Verdict
from graphfix.results.records import dataclass, field
from graphfix.targets.target import Target

if TYPE_CHECKING:
    from graphfix.engine.request import Dims, Request
    from graphfix.graph.protocols import Model
    from graphfix.graph.view import Value
    from graphfix.shapes.dim import Parts, Size

BY_DEFAULT, AS_ASKED = ", by default", ", as asked for"
"""The ends of sentences about assumed sizes. They say whether a default or the user bound the sizes."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes that a request binds, by symbol and by input, and the inputs that it makes constants.

    In a shape, None is a size that stays free.
    """

    dims: Mapping[str, Size]
    shapes: Mapping[str, Sequence[int | None]]
    same: Sequence[Sequence[str]] = ()
    """Groups of equal sizes; the members of a group are symbols or `input[axis]`."""
    values: Mapping[str, InputValue] = field(default_factory=dict)
    by_default: tuple[str, ...] = ()
    """A sentence for each input whose sizes are defaults."""

    @property
    def fixed_dims(self) -> dict[str, int]:
        """Return the symbols that are bound to a number. A symbol with a range stays free and is left out."""
        return {name: size for name, size in self.dims.items() if isinstance(size, int)}

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """Return the least and the greatest size of each symbol that stays free within a range."""
        narrowed = {name: (size.lo, size.hi) for name, size in self.dims.items() if not isinstance(size, int)}
        return {name: (low, high) for name, (low, high) in narrowed.items() if high is not None}

    @property
    def fixed_shapes(self) -> dict[str, list[int]]:
        """Return the shapes of the inputs whose sizes are all numbers."""
        numbers = {name: [size for size in sizes if size is not None] for name, sizes in self.shapes.items()}
        return {name: sizes for name, sizes in numbers.items() if len(sizes) == len(self.shapes[name])}


def bind(model: Model, path: Path, request: Request) -> Sizes:
    """Bind the free sizes and the constant inputs of a request in `model`, and return them.

    `path` is the model's file, for error messages. Raises GraphfixError for an unknown name or a contradiction.
    """
    sizes = requested(path, request)
    if request.trust_stored is not None:
        model.trust_stored(trust=request.trust_stored)
    if sizes.dims or sizes.shapes or sizes.same:
        model.bind(sizes.dims, sizes.shapes, sizes.same)
    if sizes.values:
        model.set_inputs(sizes.values, drop=request.drop_set_inputs)
    elif request.drop_set_inputs:
        raise GraphfixError(f"{path}: --drop-set-inputs: no input is set; add --set NAME=VALUE")
    if request.narrow_inputs:
        model.narrow_inputs(sizes.values)
    return sizes


def static_shapes(model: Model, sizes: Sizes, by_default: Sequence[str], free: Collection[str]) -> Sizes:
    """Return `sizes` with the shapes of a model whose free dims were bound by default.

    `free` are the names of the inputs that had a free size before; only these inputs are listed. `by_default` are the
    sentences about the defaults.
    """
    inputs = [value for value in model.graphs[0].inputs if value.shape.static and value.name in free]
    shapes = {value.name: list(value.shape.numbers) for value in inputs if value.name not in sizes.values}
    return replace(sizes, dims={}, shapes=shapes, by_default=tuple(by_default))


def with_defaults_named(verdict: Verdict, sizes: Sizes) -> Verdict:
    """Return the verdict with `, by default` instead of `, as asked for` behind sizes that were bound by default."""
    defaults = {line.removesuffix(BY_DEFAULT).replace(", ", ",") for line in sizes.by_default}

    def input_name(text: str) -> str:
        claim = text.removesuffix(AS_ASKED)
        return f"{claim}{BY_DEFAULT}" if claim != text and claim.replace(", ", ",") in defaults else text

    proof = verdict.proof and {**verdict.proof, "assumes": [input_name(text) for text in verdict.proof["assumes"]]}
    return replace(verdict, assumes=tuple(map(input_name, verdict.assumes)), proof=proof)


# --- the sizes of a request -----------------------------------------------------------------------------------------


def requested(path: Path, request: Request) -> Sizes:
    """Return the sizes of a request. Raises GraphfixError, with the model's path, for texts that can't be parsed."""
    if request.fault is not None:
        raise GraphfixError(f"{path}: {request.fault}")
    return Sizes(dims_of(request.dims), request.shapes, request.same, request.constants)


def dims_of(dims: Dims) -> dict[str, Size]:
    """Return the size of each symbol: a number, or for a range a symbolic size within that range."""
    return {name: size if isinstance(size, int) else _range(name, *size) for name, size in dims.items()}


def _range(name: str, least: int, most: int) -> Size:
    from graphfix.shapes.dim import symbol

    return symbol(name, least, most)


# --- what is free, and what it is by default ------------------------------------------------------------------------


def free_inputs(model: Model) -> list[Value]:
    """Return the inputs that have an unknown rank or a size that is not a number."""
    return [value for value in model.graphs[0].inputs if not value.shape.static]


def defaults(model: Model) -> dict[str, list[int | None]]:
    """Return the default sizes of each ranked input that has a free size; None for a size without a default.

    A size that the file stores beside the free one (TFLite) is the default. Otherwise the first axis, usually the
    batch, gets 1. A symbol that occurs several times has one default everywhere: the one of its first place. For the
    sizes that stay None, `api.default_sizes` searches numbers at which the model runs.
    """
    chosen_sizes: dict[Parts, int] = {}
    return {
        value.name: list(_by_default(model, value, chosen_sizes)) for value in free_inputs(model) if value.shape.ranked
    }


def stored_scalars(model: Model) -> dict[str, tuple[int, ...]]:
    """Return the shape `()` for each input of unknown rank that the file stores as a scalar.

    Old converters to TFLite write a scalar like a tensor of unknown rank. LiteRT allocates such an input as a scalar.
    """
    values = (value for value in free_inputs(model) if not value.shape.ranked)
    return {value.name: () for value in values if model.example(value) is not None}


def _by_default(model: Model, value: Value, chosen_sizes: dict[Parts, int]) -> Iterator[int | None]:
    example = model.example(value)
    for axis, size in enumerate(value.shape.dims):
        if isinstance(size, int):
            yield size
            continue
        number = chosen_sizes.get(size.parts, example[axis] if example is not None else 1 if axis == 0 else None)
        if size.parts and number is not None:
            chosen_sizes[size.parts] = number
        yield number


def demand_static(model: Model, path: Path, request: Request) -> None:
    """Raise GraphfixError if the target requires numbers and the model has free sizes.

    The error lists options that bind them.
    """
    if request.goal.static and free_inputs(model):
        more = "--bind-defaults found none at which the model runs" if request.bind_defaults else "or --bind-defaults"
        raise GraphfixError(f"{path}: target {request.goal.name} needs sizes: {proposal(model)} ({more})")


def free_sites(model: Model, target: Target) -> list[Site]:
    """Return a finding (GF302) for each input with a free size, if the target requires numbers; else an empty list."""
    if not target.static:
        return []
    why = "the target needs sizes that are numbers: bind them (--dim, --shape, --bind-defaults)"
    return [
        Site("GF302", value.name, "input", "main", None, value.shape.json, None, "left", None, why)
        for value in free_inputs(model)
    ]


def proposal(model: Model) -> str:
    """Return the free inputs and the options that would bind them, or "" if no size is free.

    Example: `x[N,3,?,?]; bind: --shape 'x=1,3,<size>,<size>'`.
    """
    values = free_inputs(model)
    if not values:
        return ""
    sizes: dict[str, Sequence[int | None]] = {**defaults(model), **stored_scalars(model)}
    options = [f"--shape {shlex.quote(f'{value.name}={_text(value, sizes)}')}" for value in values]
    return f"{', '.join(map(str, values))}; bind: {' '.join(options)}"


def _text(value: Value, sizes: Mapping[str, Sequence[int | None]]) -> str:
    if not value.shape.ranked:
        return "" if value.name in sizes else "<sizes>"
    pairs = zip(value.shape.dims, sizes[value.name], strict=True)
    return ",".join(str(number) if number is not None else _placeholder(size) for size, number in pairs)


def _placeholder(size: Size) -> str:
    return "<size>" if str(size) == "?" else f"<{size}>"
