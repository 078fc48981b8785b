"""Ask what became of a model: a process of graphfix's environment runs the original and every result beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from peers.asking import AskingError, ask
from peers.record import Quality


def judged(
    model: Path, name: str, results: Mapping[str, Path], python: Path, limit: float
) -> tuple[Quality, dict[str, Quality]]:
    """Return the original's quality, and each result's; `name` is what the zoo calls the model.

    `limit` is in seconds, for one result. What ends the process of one result is said of that result.
    """
    asked = {"model": str(model), "name": name, "limit": limit}
    try:
        said = ask(python, "peers.judge", {**asked, "results": {each: str(path) for each, path in results.items()}})
    except AskingError as error:
        nothing = Quality(False, reason=f"not judged: {error}")
        return nothing, dict.fromkeys(results, nothing)
    return Quality(**said["original"]), {each: Quality(**found) for each, found in said["results"].items()}
