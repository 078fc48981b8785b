"""What `fix` writes of a model for a target: once a session, however many tests look at it."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import graphfix
from graphfix.checker.verdict import COPIED
from graphfix.results import Outcome
from graphfix.targets.target import target_of


class FixedFiles:
    """Fixed files in one folder, verified where a test asks for that; nobody may write to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: dict[tuple[Path, str, bool], tuple[Path, Outcome]] = {}

    def __call__(self, path: Path, target: str, *, verified: bool = False) -> tuple[Path, Outcome]:
        """The fixed file, of default sizes where the target asks for some, and the outcome. Raises GraphfixError."""
        known = self.done.get((path, target, True)) or self.done.get((path, target, verified))
        if known is None:
            out = self.folder / str(len(self.done)) / path.name
            out.parent.mkdir(exist_ok=True)
            bound = target_of(target).static
            # the whole sweep, although what is proved is run once where nobody asks
            known = out, graphfix.fix_file(path, out, target=target, check_result=verified, bind_defaults=bound, runs=4)
            self.done[path, target, verified] = known
        return known


def assert_runs_equal(
    path: Path, target: str, fixed: FixedFiles, name: str, exceptions: Container[tuple[str, str]]
) -> None:
    """Without optimizations the runs find no difference and compare something, but for (name, target) of a table."""
    _, outcome = fixed(path, target, verified=True)
    verdict = outcome.verdict
    assert verdict is not None
    if verdict.reason == COPIED:
        assert verdict.status == "proved"
        return  # a copy is not run
    statuses = {run.status for run in verdict.runs if run.optimizations == "off"}
    equal = verdict.status in {"proved", "equal"} and "equal" in statuses and "different" not in statuses
    assert equal == ((name, target) not in exceptions), (verdict.status, verdict.reason)
