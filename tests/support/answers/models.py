"""What graphfix answers about a committed model: the files that it writes, and all that it prints and reports."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

from graphfix.cli import commands
from graphfix.targets import target as targets
from tests.support.answers import Answers, steady
from tests.support.places import MODELS, committed_models, model_id
from tests.support.tiers import COVER_DEPLOYED, COVER_EXPORTED

REPORTS = ("json", "md", "html", "sarif", "xml", "node_data.json")
PROVED = ("explicit", "tosa", "compact")
"""The targets whose results are proved to be equal."""


def listed() -> list[Path]:
    """Return the models of the table: those that are committed, and of the made ones those of plain `pytest`."""
    deployed = [next(MODELS.glob(f"deployed/{name}.*[xe]")) for name in sorted(COVER_DEPLOYED)]
    return [*committed_models(), *(MODELS / "exported" / name for name in sorted(COVER_EXPORTED)), *deployed]


def is_made(model: Path) -> bool:
    """Return whether a model is one that scripts/ make of other tools, larger than those written by hand."""
    return not {"exported", "deployed"}.isdisjoint(model.parts)


def targets_of(model: Path) -> tuple[str, ...]:
    """Return the targets that are asked about: all, or the one with most rewrites if other tools made the model."""
    return ("tosa",) if is_made(model) else tuple(targets.TARGETS)


def answers(model: Path, asked: Sequence[str] = ()) -> Answers:
    """Ask about a model for all of its targets, or for those of `asked`."""
    asked = asked or targets_of(model)
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["show"] = _said(model, folder, "show", "--maps")
        for target in asked:
            bound = ["--bind-defaults"] if targets.target_of(target).static else []
            made = folder / f"{target}{model.suffix}"
            said = _said(model, folder, "fix", "-o", str(made), "--no-verify", "--target", target, "--json", *bound)
            found[f"fix {target}"] = said
            found[f"file {target}"] = made.read_bytes() if made.exists() else b""
            found[f"check {target}"] = _said(model, folder, "check", "--target", target, "-v", *bound)
        for target in filter(PROVED.__contains__, asked):
            made = folder / f"{target}{model.suffix}"
            found[f"prove {target}"] = _said(model, folder, "verify", "--proof-only", str(made))
        written = [folder / f"report.{form}" for form in REPORTS]
        _said(model, folder, "check", *(f"--report={path}" for path in written))
        found["reports"] = "".join(
            steady(path.read_text("utf-8"), folder) for path in written if path.exists()
        ).encode()
    return found


def _said(model: Path, folder: Path, command: str, *options: str) -> bytes:
    """Return the exit status, stdout and stderr of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(MODELS), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status: object = commands.main([command, model_id(model), *options, "--isolated"])
        except SystemExit as end:
            status = end.code
    return steady(f"{status}\n{out.getvalue()}\n{err.getvalue()}", folder).encode()
