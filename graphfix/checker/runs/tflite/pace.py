"""How much of a brief run LiteRT's slower kernel sets take part in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal

from graphfix.checker.runs.budget import timed
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.runtimes.session import Session

ORDER: Final = ("xnnpack", "builtin", "reference")
"""The kernel sets in brief runs, the fastest first: its time tells what those behind it may take."""
_TIMES: Final = {"builtin": 3.0, "reference": 5.0}
"""How many times as long a kernel set takes as the one before it: medians of real models are 2 and 5."""
_SHORT: Final = 0.1
"""Seconds that a run may take in any case."""
_MOST: Final = {"builtin": (0.3, 2.0), "reference": (0.2, 0.25)}
"""A run on a kernel set may take so many seconds, and beside these so many times as long as the first one took."""


@dataclass(slots=True)
class Pace:
    """The runs of the original that were made so far, one on each kernel set."""

    taken: list[float] = field(default_factory=list)
    """The seconds of each run."""

    def timed(self, session: Session) -> Session:
        """Return the session of the original with its runs timed."""
        return timed(session, self.taken)

    def share(self, kernels: str, sizes: Mapping[str, int]) -> Literal["same", "least", "none"]:
        """Return whether a kernel set runs the sizes of the set before it, the least sizes, or nothing."""
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
