"""Find the first tensor, in the order of execution, that two models compute differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.runs.comparing.difference import Difference, difference
from graphfix.checker.task import Criterion
from graphfix.results.records import dataclass
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from graphfix.runtimes.session import Session

    Producers = Mapping[str, tuple[str, str]]
    ExposingOpener = Callable[[Sequence[str]], Session]

_FIRST_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor that differs, and the node of the first model that computes it (operator `op`, label `producer`)."""

    tensor: str
    op: str
    producer: str
    difference: Difference
    other_producer: str = ""
    """The second model's node that computes an inner tensor of this name by another operator; empty if none does."""

    def as_record(self) -> dict[str, object]:
        """Return the place as a dictionary for the verdict."""
        found = self.difference
        return {
            "tensor": self.tensor,
            "producer": self.producer,
            "index": list(found.index),
            "before": found.before,
            "after": found.after,
            "count": found.count,
            **({"other_producer": self.other_producer} if self.other_producer else {}),
        }


def first_place(
    models: tuple[Producers, Producers],
    ends: Collection[str],
    opened: tuple[ExposingOpener, ExposingOpener],
    feeds: Mapping[str, object],
    criterion: Criterion,
) -> Place | None:
    """Return the first tensor that differs: run both models with their common tensors as outputs, a group at a time.

    `models` maps, for each model, a tensor to (operator, label of the node), in the order of execution. `ends` are the
    outputs of the first model. `opened` loads each model with additional outputs.

    Within a group, a tensor with differences of class `value` has priority over one with differences of other classes
    only. Return None if no common tensor of the main graph differs, or if the runtime can't return these tensors.
    Tensors that differ between two runs of the first model are skipped.
    """
    producers, others = models
    common = [name for name in producers if name in others]
    mild: Place | None = None
    for chunk in _chunks(common):
        expose = [name for name in chunk if name not in ends]
        for name, found in _differences(chunk, expose, opened, feeds, criterion):
            other_op, other = others[name]
            is_renamed = name not in ends and other_op != producers[name][0]
            place = Place(name, *producers[name], found, other if is_renamed else "")
            if "value" in found.counts:
                return place
            mild = mild or place
        if mild is not None:
            return mild
    return None


def _differences(
    chunk: Sequence[str],
    expose: Sequence[str],
    opened: tuple[ExposingOpener, ExposingOpener],
    feeds: Mapping[str, object],
    criterion: Criterion,
) -> Iterator[tuple[str, Difference]]:
    """Yield (tensor, difference) for the tensors of `chunk` that differ.

    `expose` are those that are no model outputs.

    Yield nothing if a runtime can't return these tensors.
    """
    try:
        before, again = _values(opened[0], expose, feeds, 2)
        after = _values(opened[1], expose, feeds, 1)[0]
    except RefusedError:
        return  # this runtime can't return these tensors
    for name in chunk:
        if difference(before[name], again[name], Criterion()) is None:
            found = difference(*_one_shape(before[name], after[name]), criterion)
            if found is not None:
                yield name, found


def _values(
    opened: ExposingOpener, expose: Sequence[str], feeds: Mapping[str, object], times: int
) -> list[dict[str, object]]:
    """Load a model with additional outputs, run it `times` times, and return the outputs of each run by name."""
    session = opened(expose)
    return [dict(zip(session.outputs, session.run(feeds), strict=True)) for _ in range(times)]


def _one_shape(a: object, b: object) -> tuple[object, object]:
    """Return both tensors with equal shapes, the smaller one stretched: [4] and [1,1,4] may be the same operand.

    Return them unchanged if neither shape broadcasts to the other, or if one is no array.
    """
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape == b.shape:
        return a, b
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return a, b
    return (np.broadcast_to(a, shape), np.broadcast_to(b, shape)) if shape in (a.shape, b.shape) else (a, b)


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield consecutive groups of `names`, each twice as long as the last.

    Growing groups bound the number of loads, because the model is loaded once for each group.
    """
    start, size = 0, _FIRST_CHUNK
    while start < len(names):
        yield names[start : start + size]
        start, size = start + size, size * 2
