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
    """A tensor that differs, and the node of the first model that makes it."""

    tensor: str
    op: str
    producer: str
    difference: Difference
    other_producer: str = ""
    """The node of the second model that makes an inner tensor of this name by another operator; empty for none."""

    def as_record(self) -> dict[str, object]:
        """Return the form that a verdict shows."""
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
    """Run both models with their common tensors as outputs, some at a time, and compare in order.

    `models` has tensor -> (operator, how a report names the node) in the order of execution, `ends` the
    outputs of the first model. `opened` loads each model with further outputs. A tensor that differs in
    more than NaN payloads and signs of zero comes before one that does not. None where no common tensor of
    the main graph differs (or none can be shown). Tensors in which two runs of the first model
    differ are passed over.
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
    try:
        before, again = _values(opened[0], expose, feeds, 2)
        after = _values(opened[1], expose, feeds, 1)[0]
    except RefusedError:
        return  # these tensors can't be shown by this runtime
    for name in chunk:
        if difference(before[name], again[name], Criterion()) is None:
            found = difference(*_one_shape(before[name], after[name]), criterion)
            if found is not None:
                yield name, found


def _values(
    opened: ExposingOpener, expose: Sequence[str], feeds: Mapping[str, object], times: int
) -> list[dict[str, object]]:
    session = opened(expose)
    return [dict(zip(session.outputs, session.run(feeds), strict=True)) for _ in range(times)]


def _one_shape(a: object, b: object) -> tuple[object, object]:
    """Return both tensors with the smaller one stretched, since [4] and [1,1,4] may be one operand."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape == b.shape:
        return a, b
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return a, b
    return (np.broadcast_to(a, shape), np.broadcast_to(b, shape)) if shape in (a.shape, b.shape) else (a, b)


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield pieces of a list, each twice as long as the last, so that a long model is not loaded thousands of times."""
    start, size = 0, _FIRST_CHUNK
    while start < len(names):
        yield names[start : start + size]
        start, size = start + size, size * 2
