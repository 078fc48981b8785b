"""Decide which of LiteRT's slower kernel sets take part in brief runs, and at which sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal

from graphfix.checker.runs.budget import timed
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.runtimes.session import Session

ORDER: Final = ("xnnpack", "builtin", "reference")
"""The kernel sets in brief runs, the fastest first. The time of one is used to estimate the time of the next."""
_TIMES: Final = {"builtin": 3.0, "reference": 5.0}
"""The assumed time of a kernel set, as a multiple of the time of the set before it. Medians of real models: 2 and 5."""
_SHORT: Final = 0.1
"""A run of at most this number of seconds is always made."""
_MOST: Final = {"builtin": (0.3, 2.0), "reference": (0.2, 0.25)}
"""(seconds, factor) of a kernel set: a run may last `seconds` + `factor` * the time of the first run."""


@dataclass(slots=True)
class Pace:
    """The times of the original's brief runs, one for each kernel set that was run."""

    taken: list[float] = field(default_factory=list)
    """The duration of each run in seconds."""

    def timed(self, session: Session) -> Session:
        """Return the session of the original with the durations of its runs recorded."""
        return timed(session, self.taken)

    def share(self, kernels: str, sizes: Mapping[str, int]) -> Literal["same", "least", "none"]:
        """Return which sizes a kernel set runs: "same" (those of the set before it), "least" (the smallest), or "none".

        `sizes` are those of the set before it.
        """
        if not self.taken:
            return "same"
        seconds, times = _MOST[kernels]
        most = seconds + times * self.taken[0]
        expected = _TIMES[kernels] * self.taken[-1]
        if expected <= _SHORT:
            return "same"
        fewer = math.prod(max(size, 1) for size in sizes.values())
        if fewer > 1 and expected / fewer <= most:
            return "least"
        return "same" if expected <= most else "none"
