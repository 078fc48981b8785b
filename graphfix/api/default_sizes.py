"""Find the sizes that `--bind-defaults` uses: stored sizes, 1 for a batch, and the least sizes at which the model runs.

A free size behind the first axis has no value that fits every model. For example, a sequence may need a past, and an
image may be halved five times. The search therefore tries sizes in this order, until the shape rules see no
contradiction and the runtime runs the model:

1. The sizes that a TFLite file stores, if they fix every free size.
2. One power of two for all free sizes. If it runs, the sizes between it and the power before it are tried.
   Then each single size is set to 1 if the model still runs.
3. One size that is the sum of the others, for example a mask over past and present tokens.
4. One size of a list (`LADDER`) for all free sizes.
5. One size of a list (`ALONE`), with 1 for all others.
6. One power of two for all free sizes, the first axes included.

Sizes at which every output is NaN are used only if the next few candidates are not better. The search uses no random
numbers and no clock.
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
"""All sizes that are tried for all free sizes at once, in ascending order."""
SUMMED = (1, 2)
"""The size of the other free sizes while one size is tried as a sum of two."""
ALONE = (8, 16, 32, 64, 96, 128, 192, 256, 320, 512)
"""The sizes that are tried for one free size while all others are 1."""
LARGER = 6
"""The number of further candidates after the first one at which every output is NaN.

NaN may come from a spread over one element, which larger sizes avoid.
"""
Label: TypeAlias = object
"""The key of a free size: the names of its symbol, or an input name with an axis for a size without a name."""
Sizes: TypeAlias = dict[Label, int]


def bind_defaults(
    model: Model,
    load: Callable[[], Model],
    source: Path,
    values: Mapping[str, InputValue],
    data_root: Sequence[Path] = (),
) -> tuple[Model, list[str]]:
    """Bind the free sizes by default; return the model, and one line for each input that was bound.

    `load` returns a new model without default bindings, because a binding can't be undone. An input of unknown rank
    stays free, unless a TFLite file stores a scalar for it. If no sizes are found, all axes but the first stay free
    too. `data_root` lists folders, besides the model's own folder, in which its external data may lie.
    """
    free = [value.name for value in binding.free_inputs(model)]
    if not free:
        return model, []
    scalars = binding.stored_scalars(model)

    def with_scalars(made: Model) -> Model:
        if scalars:  # # a binding rebuilds the graph view, so it is only done if needed
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
    """Return, for each input of known rank, the number or the label of each axis."""
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
    """The search for sizes at which a model runs."""

    load: Callable[[], Model]
    labels: Mapping[str, Sequence[Label]]
    found_sizes: Sizes
    """The sizes that need no search: the stored sizes, and the size of a batch."""

    def sizes_of_inputs(self, shapes: Mapping[str, Sequence[int | None]]) -> Sizes:
        """Return the sizes of input shapes by label. Numbers that the file states, and None, are skipped."""
        return {
            label: size
            for name, sizes in shapes.items()
            for label, size in zip(self.labels[name], sizes, strict=True)
            if size is not None and not isinstance(label, int)
        }

    @property
    def _free(self) -> list[Label]:
        """All labels of the inputs, without duplicates, in the order of the file."""
        labels = (label for name in self.labels for label in self.labels[name] if not isinstance(label, int))
        return list(dict.fromkeys(labels))

    @property
    def open(self) -> list[Label]:
        """The labels that have no size yet."""
        return [label for label in self._free if label not in self.found_sizes]

    @property
    def sought(self) -> list[Label]:
        """The labels to search: the open ones, or, if stored sizes fix all of them, all but those of the first axes."""
        leading = {labels[0] for labels in self.labels.values() if labels}
        return self.open or [label for label in self._free if label not in leading]

    def found(self, source: Path, values: Mapping[str, InputValue], data_root: Sequence[Path]) -> Model | None:
        """Return the model bound to the first sizes at which it runs, or None if it runs at no candidate."""
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
        """Yield sizes for all labels, each with a list of lower sizes.

        The lower sizes, in ascending order, are tried if the model runs at the first ones.
        """
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
        """Return the found sizes, with `size` for each of these labels."""
        return {**self.found_sizes, **dict.fromkeys(labels, size)}

    def _lowered(self, model: Model, sizes: Sizes, lower: Sequence[Sizes], runs: Runs | None) -> Model:
        """Return the model at lower sizes if it runs there, or `model`.

        The first of `lower` at which it runs is used. Then each single size is set to 1 if the model still runs.
        """
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
        """Return the model bound to these sizes if a run at them ends as `taken` says, or None.

        If no runtime can load the model (`runs` is None), the shape rules alone decide.
        """
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
