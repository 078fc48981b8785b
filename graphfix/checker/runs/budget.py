"""The budget of time and memory for the runs of a large model, planned by the time of its first run."""

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
"""Bytes of a model with its data files; the runs of a smaller model have no budget."""
SECONDS: Final = 120.0
"""The budget for the runs of both models. If the first model runs once, the second model does in any case."""
_RUNS_OF_A_CASE: Final = 3
"""The first model runs twice on each set of sizes, the second model once."""
_SHORTEST: Final = 1e-3
"""The seconds that a run is taken to last at least."""
_LEAST: Final = 1.0
"""The least number of seconds that a started run is allowed."""
_LEAST_MEMORY: Final = 256 << 20
_TIMES_THE_MODEL: Final = 1024
_REPEATED: Final = 4
"""The first run is repeated if it takes at most the budget divided by this number."""


def _never(_: float) -> None:
    return


@dataclass(slots=True)
class Budget:
    """The time that is left for the runs of one pair of models, in seconds."""

    progress: Progress = field(repr=False)
    seconds: float = SECONDS
    clock: Callable[[], float] = monotonic
    stop_after: Callable[[float], None] = field(default=_never, repr=False)
    """Set the number of seconds after which a run of the original is stopped."""
    started: float = field(init=False)
    taken: list[float] = field(default_factory=list)
    """The seconds of each run of the original that succeeded."""
    planned: int | None = None
    """The number of sets of sizes to run; None before the first run."""
    total: int = 0
    """The number of sets of sizes that are wanted."""

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.seconds - (self.clock() - self.started)

    @property
    def allows_larger(self) -> bool:
        """Whether larger sizes are run too: all others were, in less than half of the time."""
        return self.planned is not None and self.planned >= self.total and self.left > self.seconds / 2

    def is_over(self, done: int) -> bool:
        """Return whether the second model is run no more, after `done` sets of sizes: it is run on one in any case."""
        return done > 0 and self.left <= 0

    def may_repeat(self) -> bool:
        """Return whether the original is run a second time on the same inputs."""
        return self.taken[-1] <= min(self.left, self.seconds / _REPEATED)

    def within(
        self, wanted: Sequence[tuple[str, Sizes]], done: Callable[[], int], left_out: list[Run]
    ) -> Iterator[tuple[str, Sizes]]:
        """Yield the wanted sets of sizes within the budget, the smallest set first.

        `done` returns the number of sets that the original has run. Sets beyond the budget are added to `left_out`.
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
        """Return whether there is time for one more set of sizes after `done` sets, in both models."""
        if self.planned is None:
            return True
        recent = max(self.taken[-1], _SHORTEST)
        return done < self.planned and self.left >= self.taken[0] + (done + _RUNS_OF_A_CASE) * recent

    def _plan(self, sizes: Mapping[str, int]) -> None:
        """Choose the number of sets of sizes to run, from the times of the runs at these first sizes."""
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
        """The reason why sets of sizes are left out."""
        budget = f"the budget of the runs is {self.seconds:g} s; --thorough lifts it"
        return f"not run: {self._about}, and {budget}" if self.taken else f"not run: {budget}"

    def timed(self, session: Session) -> Session:
        """Return the session of the original with every run timed, and stopped when no time is left."""
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
    """Return the session of the original; it adds the seconds of each run that succeeds to `taken`."""

    def run(feeds: Mapping[str, object]) -> list[object]:
        started = clock()
        values = session.run(feeds)
        taken.append(clock() - started)
        return values

    return SessionBy(session.outputs, run)


def allowance(size: int, *, thorough: bool) -> int | None:
    """Return the bytes of memory that it may take to load a model of `size` bytes, or to run it, beside its inputs'.

    None for no limit: of large models the whole is estimated (`memory_fault`), and `thorough` lifts all limits.
    Few bytes may ask for much memory: a Concat that is doubled 30 times has a result of 24 GiB.
    """
    return None if thorough or size >= LARGE else _LEAST_MEMORY + _TIMES_THE_MODEL * size


def memory_fault(needed: int, unused: int) -> str | None:
    """Return why a model that needs more bytes of memory than are unused is not run; None if they are enough."""
    if needed <= unused:
        return None
    have = f"its weights need about {needed >> 20} MiB of memory in onnxruntime, and {unused >> 20} MiB are unused"
    return f"both models load and are not run: {have}; --thorough runs them all the same"
