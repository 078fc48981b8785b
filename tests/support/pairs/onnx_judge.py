"""Prove a pair of ONNX files, and run it where it is proved: it is wrong where the first one runs and they differ."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import onnx

from graphfix.checker import proof
from graphfix.results import GraphfixError
from tests.support.pairs.onnx_initializers import write_weights
from tests.support.pairs.onnx_run import Feeds, Ran, Runner, same
from tests.support.proving import prove

AGAIN = 3
"""How often a difference is asked for again: some kernels read what nothing has written."""


def _valid(model: bytes) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:  # noqa: BLE001 -- its errors have no common base
        return False
    return True


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a pair."""

    loaded: bool = False
    """The first file loads and runs, twice to the same bits."""
    proved: bool = False
    run: bool = False
    """It was proved, and both were run."""
    wrong: str = ""
    reason: str = ""
    """Why it is not proved."""
    equal: bool = False
    """Not proved, and equal by the runs that were asked for."""


@dataclass
class Judge:
    """Proves and runs pairs in one folder."""

    folder: Path
    proves: Callable[[Path, Path], proof.Proof] = prove
    runner: Runner = field(init=False)

    def __post_init__(self) -> None:
        self.runner = Runner(self.folder)
        write_weights(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.close()

    def first(self, model: bytes, feeds: Sequence[Feeds], runtime: str = "") -> Ran | None:
        """Run a first file, twice in one session; None where it gives nothing, or not the same again.

        The reference runs much that no operator set allows: what it alone runs, onnx's checker has to take.
        """
        ran = self.runner.run(model, [*feeds, *feeds], runtime)
        if ran.runtime == "reference" and not _valid(model):
            return None
        once, again = ran.results[: len(feeds)], ran.results[len(feeds) :]
        both = zip(once, again, strict=True)
        if not ran.runs or not all(isinstance(a, str) or same(a, b) for a, b in both):
            return None
        return Ran(ran.runtime, once)

    def judge(
        self, before: bytes, after: bytes, feeds: Sequence[Feeds], first: Ran | None, *, ask: bool = False
    ) -> Judgement:
        """Judge a pair whose first file gave `first`; `ask` also runs what is not proved."""
        if first is None:
            return Judgement()
        proved, reason = self._proved(before, after)
        if not proved:
            equal = ask and not self.differs(after, feeds, first)
            return Judgement(loaded=True, reason=reason, equal=equal, wrong="" if reason[:5] != "raise" else reason)
        return Judgement(loaded=True, proved=True, run=True, wrong=self.wrong(before, after, feeds, first))

    def _proved(self, before: bytes, after: bytes) -> tuple[bool, str]:
        paths = self.folder / "before.onnx", self.folder / "after.onnx"
        for path, data in zip(paths, (before, after), strict=True):
            path.write_bytes(data)
        try:
            found = self.proves(*paths)
        except GraphfixError as error:
            return False, f"refused: {error}"
        except Exception:  # noqa: BLE001 -- a traceback is a fault too
            return False, f"raises {traceback.format_exc().strip().splitlines()[-1]}"
        return found.proved, str(found.reason)

    def wrong(self, before: bytes, after: bytes, feeds: Sequence[Feeds], first: Ran) -> str:
        """How the second file differs from the first, each time and not from itself; empty where it does not."""
        found = self.differs(after, feeds, first)
        for _ in range(AGAIN if found else 0):
            if self.differs(before, feeds, first):
                return ""  # the first file gives now this, now that
            found = found and self.differs(after, feeds, first)
        return found

    def differs(self, after: bytes, feeds: Sequence[Feeds], first: Ran) -> str:
        """How a file differs from what the first gave."""
        second = self.runner.run(after, feeds, first.runtime)
        if second.refused:
            return f"does not load: {second.refused}"
        for one, other in zip(first.results, second.results, strict=True):
            if isinstance(one, str):
                continue
            if isinstance(other, str):
                return f"fails: {other}"
            if not same(one, other):
                return "gives something else"
        return ""
