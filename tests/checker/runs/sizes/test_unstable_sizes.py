"""Where the original differs from itself at the first sizes, as kernels that read past the end do, others are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import Interface, TensorSpec
from graphfix.checker.runs.original_runs import Sweep
from graphfix.checker.runs.sizes.free_sizes import Free

SPEC = TensorSpec("x", "tensor", np.dtype(np.float32), ("N", 2))
INTERFACE = Interface((SPEC,), (), (), (SPEC,))


@dataclass
class Session:
    """A model that returns the sum of its input, and another number each time where the input is too small."""

    least: int
    outputs: tuple[str, ...] = ("y",)
    runs: list[int] = field(default_factory=list)

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        x = np.asarray(feeds["x"])
        self.runs.append(len(x))
        return [x.sum() + (len(self.runs) if len(x) < self.least else 0)]


def swept(session: Session, runs: int = 4) -> list[tuple[int, bool]]:
    """The sizes that are run, and whether the output is compared there."""
    sweep = Sweep(session, lambda _: Limits(), INTERFACE, 0)
    answers = sweep.run(Free(("N",), frozenset({"N"}), {}, (SPEC,)), runs)
    return [(answer.case.sizes["N"], bool(answer.compared)) for answer in answers.accepted]


def test_the_first_sizes_stand_where_they_are_stable() -> None:
    assert swept(Session(0)) == [(3, True), (1, True), (2, True), (0, True)]


def test_larger_sizes_are_found_where_small_ones_differ() -> None:
    (first, compared), *_ = swept(Session(20))
    assert first >= 20
    assert compared


def test_a_model_that_is_random_is_left_soon() -> None:
    session = Session(1 << 20)
    (first, compared), *_ = swept(session, runs=1)
    assert (first, compared) == (3, False)
    assert len(session.runs) <= 2 * 17
