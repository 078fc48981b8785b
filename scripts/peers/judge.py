"""Run a model and what tools made of it, and say what differs (a process of its own, asked by quality.py).

    python -P -m peers.judge < ASKED

Each result is run in a fork, so that what ends it, or takes too long, is said of it alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from peers import forks, onnx_runs, tflite_runs
from peers.broadcasts import Counted
from peers.record import Quality

Feeds = Mapping[str, Any]
LONGEST = 160
_PREAMBLE = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |Load model from \S+ failed:|/onnxruntime_src/\S+ (?=\S)"
)


class Format(Protocol):
    """What a format's module knows: what to feed, what comes out, and what is broadcast on the way."""

    def feeds(self, model: Path, name: str) -> Feeds:
        """Make seeded inputs for the original."""

    def outputs(self, model: Path, feeds: Feeds) -> Mapping[str, Any]:
        """Run without optimizations."""

    def counted(self, model: Path, feeds: Feeds) -> tuple[int, Counted]:
        """Count the nodes, and what they broadcast."""


@dataclass(frozen=True)
class Original:
    """The original's inputs and outputs; or why it does not run."""

    feeds: Feeds
    outputs: Mapping[str, Any] | None
    reason: str = ""


def quality(runs: Format, model: Path, original: Original) -> Quality:
    """Run one result and compare it."""
    if original.outputs is None:
        return Quality(False, reason=original.reason)
    try:
        found = runs.outputs(model, original.feeds)
    except Exception as error:  # noqa: BLE001 -- a runtime's errors have no common class
        return Quality(False, reason=_line(error))
    differs = difference(original.outputs, found)
    try:
        nodes, left = runs.counted(model, original.feeds)
    except Exception as error:  # noqa: BLE001
        return Quality(True, not differs, reason=differs or f"not observed: {_line(error)}")
    return Quality(True, not differs, left.ranks, left.stretched, nodes, differs, left.operators)


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Say the first output that is not the same, bit by bit; NaN is NaN."""
    if before.keys() != after.keys():
        return f"other outputs: {', '.join(sorted(before.keys() ^ after.keys()))}"
    for name, value in before.items():
        mine, other = np.asarray(value), np.asarray(after[name])
        if mine.shape != other.shape or mine.dtype != other.dtype:
            return f"{name}: {mine.dtype}{list(mine.shape)} became {other.dtype}{list(other.shape)}"
        if not same(mine, other):
            return f"{name}: {_amount(mine, other)}"
    return ""


def same(mine: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of one shape hold the same bits; NaN is NaN."""
    if mine.tobytes() == other.tobytes() and mine.dtype != np.object_:
        return True
    if mine.dtype.kind not in "fc":
        return bool((mine == other).all()) if mine.dtype == np.object_ else False
    numbers = ~(np.isnan(mine) & np.isnan(other))
    return mine[numbers].tobytes() == other[numbers].tobytes()


def _amount(mine: np.ndarray, other: np.ndarray) -> str:
    if mine.dtype.kind not in "iuf":
        return "other values"
    both = mine.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        most = np.nanmax(np.abs(both[0] - both[1]), initial=0)
    return f"differs by up to {most:.1e}"


def _line(error: Exception) -> str:
    words = _PREAMBLE.sub("", str(error))
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:LONGEST]


def in_fork(work: Callable[[], Quality], limit: float) -> Quality:
    """Judge in a fork; say what ended it where it does not answer."""
    try:
        return Quality(**forks.in_fork(lambda: asdict(work()), limit))
    except forks.ForkError as error:
        return Quality(False, reason=f"its run {error}")


def _original(runs: Format, model: Path, name: str) -> Original:
    try:
        feeds = runs.feeds(model, name)
        return Original(feeds, runs.outputs(model, feeds))
    except Exception as error:  # noqa: BLE001
        return Original({}, None, f"the original does not run: {_line(error)}")


def main(text: str) -> str:
    """Judge what the text asks, and return the answer; both are JSON."""
    asked = json.loads(text)
    model, limit = Path(asked["model"]), asked["limit"]
    runs: Format = onnx_runs if model.suffix == ".onnx" else tflite_runs
    original = _original(runs, model, asked["name"])
    own = in_fork(lambda: quality(runs, model, original), limit)
    found = {
        name: in_fork(lambda path=path: quality(runs, Path(path), original), limit)
        for name, path in asked["results"].items()
    }
    return json.dumps({"original": asdict(own), "results": {name: asdict(each) for name, each in found.items()}})


if __name__ == "__main__":
    sys.stdout.write(main(sys.stdin.read()))
