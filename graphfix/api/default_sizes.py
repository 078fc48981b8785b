"""The sizes that `--bind-defaults` takes: stored ones, 1 for a batch, and else the least at which the model runs.

What is free behind a first axis has no size that fits every model: a sequence may have a past, an image is halved five
times. All of them get one size at which the shape rules see no contradiction and the runtime runs the model: powers of
two are tried first, then what lies between the first that is taken and the one before it; then each that can be 1 is
1. Where that fails, one of them is the sum of others (a mask over past and present), then all have any size of a list,
then one has it and the others are 1, and at last the first axes take part. Sizes that TFLite stores are tried before
all that. Sizes at which an output is nothing but NaN are taken only where none of the next few are better. Nothing is
random, and no clock is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from graphfix.engine import binding
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass
from graphfix.targets.impossible_sizes import impossible

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.runs.sizes.least_sizes import Runs, Taken
    from graphfix.graph.protocols import Model
    from graphfix.results import InputValue

POWERS = (1, 2, 4, 8, 16, 32, 64)
LADDER = (*range(1, 17), 20, *range(24, 65, 8), *range(80, 129, 16), *range(160, 257, 32), 320, 384, 512)
"""All sizes that are tried."""
SUMMED = (1, 2)
"""What the others are where one size is the sum of two."""
ALONE = (8, 16, 32, 64, 96, 128, 192, 256, 320, 512)
"""What one size is where the others are 1."""
LARGER = 6
"""How many more are tried where an output is nothing but NaN at the first that run, as the spread of one element is."""
Label: TypeAlias = object
"""What names a free size: a symbol, or an input and its axis."""
Sizes: TypeAlias = dict[Label, int]


def bind_defaults(
    model: Model,
    load: Callable[[], Model],
    source: Path,
    values: Mapping[str, InputValue],
    data_root: Sequence[Path] = (),
) -> tuple[Model, list[str]]:
    """Bind what is free by default; return the model, and a line for each input that was bound.

    `load` returns the model anew, nothing bound by default: a binding can't be taken back. An input of unknown rank
    stays free unless a TFLite file stores a scalar, and so does all behind the first axes where no sizes are found.
    `data_root` lists folders, besides the model's own, in which its external data may lie.
    """
    free = [value.name for value in binding.free_inputs(model)]
    if not free:
        return model, []
    scalars = binding.stored_scalars(model)

    def with_scalars(made: Model) -> Model:
        if scalars:  # a binding builds the view anew
            made.bind({}, scalars, ())
        return made

    with_scalars(model)
    first, ranked = binding.defaults(model), all(value.shape.ranked for value in model.graphs[0].inputs)
    search = _Search(lambda: with_scalars(load()), _labels(model), {})
    search.found_sizes.update(search.sizes_of_inputs(first))
    found = search.found(source, values, data_root) if ranked and search.sought else None
    if found is None:
        model.bind({}, first, ())
    if ranked and not search.sought and impossible(model) is not None:
        found = search.found(source, values, data_root)
    model = found if found is not None else model
    bound = [value for value in model.graphs[0].inputs if value.name in free and value.shape.ranked]
    return model, [f"{value.name} is {str(value.shape).replace(', ', ',')}, by default" for value in bound]


def _labels(model: Model) -> dict[str, list[Label]]:
    """By input: a number, or what names the free size of an axis."""
    return {
        value.name: [
            size if isinstance(size, int) else size.parts or (value.name, axis)
            for axis, size in enumerate(value.shape.dims)
        ]
        for value in model.graphs[0].inputs
        if value.shape.ranked
    }


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for sizes at which a model runs."""

    load: Callable[[], Model]
    labels: Mapping[str, Sequence[Label]]
    found_sizes: Sizes
    """The sizes that need no search: stored ones, and a batch's."""

    def sizes_of_inputs(self, shapes: Mapping[str, Sequence[int | None]]) -> Sizes:
        """The sizes of shapes, by what names them."""
        return {
            label: size
            for name, sizes in shapes.items()
            for label, size in zip(self.labels[name], sizes, strict=True)
            if size is not None and not isinstance(label, int)
        }

    @property
    def _free(self) -> list[Label]:
        """All that is free, in order."""
        labels = (label for name in self.labels for label in self.labels[name] if not isinstance(label, int))
        return list(dict.fromkeys(labels))

    @property
    def open(self) -> list[Label]:
        """What is free and not known."""
        return [label for label in self._free if label not in self.found_sizes]

    @property
    def sought(self) -> list[Label]:
        """What is open; where that is nothing, because stored sizes are known, all but the first axes."""
        leading = {labels[0] for labels in self.labels.values() if labels}
        return self.open or [label for label in self._free if label not in leading]

    def found(self, source: Path, values: Mapping[str, InputValue], data_root: Sequence[Path]) -> Model | None:
        """The model bound to the first sizes that it takes; None where it takes none of those that are tried."""
        from graphfix.checker.runs.sizes.least_sizes import running

        with running(source, values, data_root) as runs:
            nothing_but_nan, left = None, LARGER
            for sizes, lower in self._candidates():
                model = self._bound(sizes, runs)
                if model is not None:
                    return self._lowered(model, sizes, lower, runs)
                nothing_but_nan = nothing_but_nan or self._bound(sizes, runs, "NaN")
                left -= nothing_but_nan is not None
                if left < 0:
                    break
        return nothing_but_nan

    def _candidates(self) -> Iterator[tuple[Sizes, Sequence[Sizes]]]:
        """All sizes, and those to be tried where they are taken, the least first."""
        pool = self.sought
        if not self.open:
            yield self.found_sizes, ()
        for before, size in zip((0, *POWERS), POWERS, strict=False) if pool else ():
            yield self._all(pool, size), [self._all(pool, less) for less in LADDER if before < less < size]
        several = pool if len(pool) > 1 else []
        for size in SUMMED:
            for label in several:
                for total in dict.fromkeys((2 * size, size + 1)):
                    yield {**self._all(pool, size), label: total}, ()
        yield from ((self._all(pool, size), ()) for size in LADDER if pool and size not in POWERS)
        for label in several:
            yield from (({**self._all(pool, 1), label: size}, ()) for size in ALONE)
        if self._free != pool:
            yield from ((self._all(self._free, size), ()) for size in POWERS)

    def _all(self, labels: Sequence[Label], size: int) -> Sizes:
        return {**self.found_sizes, **dict.fromkeys(labels, size)}

    def _lowered(self, model: Model, sizes: Sizes, lower: Sequence[Sizes], runs: Runs | None) -> Model:
        """The model at the first lower sizes that it takes, and then with each that it can have at 1."""
        for less in lower:
            other = self._bound(less, runs)
            if other is not None:
                model, sizes = other, less
                break
        if sizes is self.found_sizes:
            return model
        sought = [label for label in self.sought if sizes[label] > 1]
        for label in sought if len(sought) > 1 and len({sizes[label] for label in sought}) == 1 else ():
            other = self._bound({**sizes, label: 1}, runs)
            if other is not None:
                model, sizes = other, {**sizes, label: 1}
        return model

    def _bound(self, sizes: Sizes, runs: Runs | None, taken: Taken = "yes") -> Model | None:
        """The model bound to sizes that it takes so; where no runtime loads it, by the shape rules alone."""
        shapes = {
            name: [label if isinstance(label, int) else sizes[label] for label in labels]
            for name, labels in self.labels.items()
        }
        if runs is not None and runs.takes(shapes) != taken:
            return None
        model = self.load()
        try:
            model.bind({}, shapes, ())
        except GraphfixError:
            return None
        return model if impossible(model) is None else None
