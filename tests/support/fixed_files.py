"""What `fix` writes of a model for a target: once a session, however many tests look at it."""

from __future__ import annotations

from pathlib import Path

import graphfix
from graphfix.engine.targets import TARGETS
from graphfix.results import Outcome


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
            bound = TARGETS[target].static
            known = out, graphfix.fix_file(path, out, target=target, check_result=verified, bind_defaults=bound)
            self.done[path, target, verified] = known
        return known
