"""The budget of time and memory for the runs of a large model.

The time of the first run decides how many runs follow.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from graphfix.results import Run
from graphfix.results.progress import Notice, Progress
from graphfix.results.records import dataclass, field
from graphfix.runtimes.session import RefusedError, SessionBy
from graphfix.runtimes.sessions import LONGEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from graphfix.checker.runs.sizes.free_sizes import Sizes
    from graphfix.runtimes.session import Session

LARGE: Final = 1 << 30
"""Size of a model with its data files, in bytes (1 GiB). The runs of a smaller model have no time budget."""
SECONDS: Final = 120.0
"""The time budget for the runs of both models, in seconds.

If the first model runs once, the second model runs once, too.
"""
_RUNS_OF_A_CASE: Final = 3
"""Runs for each set of sizes: two runs of the first model and one run of the second."""
_SHORTEST: Final = 1e-3
"""The shortest time, in seconds, that the plan assumes for a run."""
_LEAST: Final = 1.0
"""Every started run may last this number of seconds, even if less time remains."""
_LEAST_MEMORY: Final = 256 << 20
_TIMES_THE_MODEL: Final = 1024
_REPEATED: Final = 4
"""The first run is repeated if its time is at most the budget divided by this number."""


def _never(_: float) -> None:
    return


@dataclass(slots=True)
class Budget:
    """The time budget for the runs of one pair of models, in seconds. `left` is the time that remains."""

    progress: Progress = field(repr=False)
    seconds: float = SECONDS
    clock: Callable[[], float] = monotonic
    stop_after: Callable[[float], None] = field(default=_never, repr=False)
    """Called with the number of seconds after which a run of the original is stopped."""
    started: float = field(init=False)
    taken: list[float] = field(default_factory=list)
    """The duration of each successful run of the original, in seconds."""
    planned: int | None = None
    """The number of sets of sizes to run; None before the first run."""
    total: int = 0
    """The number of sets of sizes that were requested."""

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def left(self) -> float:
        """The seconds that remain of the budget; negative if the budget is exceeded."""
        return self.seconds - (self.clock() - self.started)

    @property
    def allows_larger(self) -> bool:
        """Whether larger sizes are run, too: all requested sets are planned, and more than half of the time remains."""
        return self.planned is not None and self.planned >= self.total and self.left > self.seconds / 2

    def is_over(self, done: int) -> bool:
        """Return whether the second model is not run on further sets, after runs on `done` sets of sizes.

        If `done` is 0, return False, because the second model runs at least once.
        """
        return done > 0 and self.left <= 0

    def may_repeat(self) -> bool:
        """Return whether the original may run a second time on the same inputs.

        It may if the last run took at most the remaining time and at most a quarter of the budget.
        """
        return self.taken[-1] <= min(self.left, self.seconds / _REPEATED)

    def within(
        self, wanted: Sequence[tuple[str, Sizes]], done: Callable[[], int], left_out: list[Run]
    ) -> Iterator[tuple[str, Sizes]]:
        """Yield the pairs (kind, sizes) of `wanted` that the budget allows.

        Pairs of the kind "1" (all sizes are 1) are first.

        `done` returns the number of sets that the original has run. Each set that the budget does not allow is appended
        to `left_out` as an undecided run.
        """
        self.total = len(wanted)
        ordered = sorted(wanted, key=lambda each: each[0] != "1")
        for kind, sizes in ordered:
            if self.allows_another(done()):
                yield kind, sizes
            else:
                left_out.append(Run(dict(sizes), "off", "undecided", reason=self.why))
            if self.planned is None and done():
                self._plan(sizes)

    def allows_another(self, done: int) -> bool:
        """Return whether the remaining time is enough for one more set of sizes in both models, after `done` sets.

        Return True if no plan exists yet.
        """
        if self.planned is None:
            return True
        recent = max(self.taken[-1], _SHORTEST)
        return done < self.planned and self.left >= self.taken[0] + (done + _RUNS_OF_A_CASE) * recent

    def _plan(self, sizes: Mapping[str, int]) -> None:
        """Set `planned`, the number of sets of sizes to run, from the times of the runs on the first set `sizes`.

        Report it to the user if fewer sets are planned than requested.
        """
        cold, warm = self.taken[0], self.taken[-1]
        more = int(max(self.left - cold - warm, 0.0) // (_RUNS_OF_A_CASE * max(warm, _SHORTEST)))
        self.planned = 1 + more
        if self.planned < self.total:
            at = ", ".join(f"{label}={size}" for label, size in sizes.items()) or "the sizes of the model"
            what = f"run once at {at}" if not more else f"run on {self.planned} of {self.total} sets of sizes"
            self.progress(Notice(f"{self._about}: {what}; --thorough runs all"))

    @property
    def _about(self) -> str:
        return f"one run of the original takes about {max(self.taken[0], 1):.0f} s"

    @property
    def why(self) -> str:
        """The reason why sets of sizes are not run, as a report prints it."""
        budget = f"the budget of the runs is {self.seconds:g} s; --thorough lifts it"
        return f"not run: {self._about}, and {budget}" if self.taken else f"not run: {budget}"

    def timed(self, session: Session) -> Session:
        """Return a session of the original that times every run and stops a run when no time remains.

        A run without remaining time raises RefusedError.
        """
        inner = timed(session, self.taken, self.clock)

        def run(feeds: Mapping[str, object]) -> list[object]:
            if self.left <= 0:
                raise RefusedError(self.why.removeprefix("not run: "))
            self.stop_after(max(self.left, _LEAST))
            try:
                return inner.run(feeds)
            except RefusedError as error:
                if error.aborted and self.left <= 0:
                    raise RefusedError(self.why.removeprefix("not run: "), aborted=True) from None
                raise
            finally:
                self.stop_after(LONGEST_SECONDS)

        return SessionBy(session.outputs, run)


def timed(session: Session, taken: list[float], clock: Callable[[], float] = monotonic) -> Session:
    """Return a session that runs `session` and appends the duration of each successful run to `taken`, in seconds."""

    def run(feeds: Mapping[str, object]) -> list[object]:
        started = clock()
        values = session.run(feeds)
        taken.append(clock() - started)
        return values

    return SessionBy(session.outputs, run)


def allowance(size: int, *, thorough: bool) -> int | None:
    """Return the bytes of memory that loading or running a model of `size` bytes may use, in addition to its inputs.

    Return None for no limit: with `thorough`, or for a large model, whose need is estimated before the load
    (`memory_fault`). A limit is necessary because a small file may need much memory: if a Concat doubles its operand 30
    times, the result has 24 GiB.
    """
    return None if thorough or size >= LARGE else _LEAST_MEMORY + _TIMES_THE_MODEL * size


def memory_fault(needed: int, unused: int) -> str | None:
    """Return why a model is not run: it needs more bytes of memory (`needed`) than are unused.

    None if the memory is enough.
    """
    if needed <= unused:
        return None
    have = f"its weights need about {needed >> 20} MiB of memory in onnxruntime, and {unused >> 20} MiB are unused"
    return f"both models load and are not run: {have}; --thorough runs them all the same"
