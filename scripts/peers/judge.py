"""Run a model and the results of tools for the model, and compare the outputs.

quality.py starts this module as a separate process.

    python -P -m peers.judge < ASKED

Each result is run in a fork, so that a crash or a timeout concerns only this result.
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
    """The functions that a format's module must define: make inputs, run a model, and count broadcasts in a run."""

    def feeds(self, model: Path, name: str) -> Feeds:
        """Return inputs for the original, from fixed seeds. `name` is the model's name in the zoo."""

    def outputs(self, model: Path, feeds: Feeds) -> Mapping[str, Any]:
        """Run the model without optimizations, and return its outputs by name."""

    def counted(self, model: Path, feeds: Feeds) -> tuple[int, Counted]:
        """Run the model, and return the number of its nodes and the counts of the broadcast operands."""


@dataclass(frozen=True)
class Original:
    """The inputs and outputs of the original model. If it does not run, `outputs` is None and `reason` is the error."""

    feeds: Feeds
    outputs: Mapping[str, Any] | None
    reason: str = ""


def quality(runs: Format, model: Path, original: Original) -> Quality:
    """Run one result on the original's inputs, compare its outputs, and count the broadcasts that are left."""
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
    """Return how the first unequal output differs, or an empty text if all outputs have the same bits.

    All NaN are equal to each other.
    """
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
    """Return whether two arrays with the same shape and type contain the same bits. All NaN are equal to each other."""
    if mine.tobytes() == other.tobytes() and mine.dtype != np.object_:
        return True
    if mine.dtype.kind not in "fc":
        return bool((mine == other).all()) if mine.dtype == np.object_ else False
    numbers = ~(np.isnan(mine) & np.isnan(other))
    return mine[numbers].tobytes() == other[numbers].tobytes()


def _amount(mine: np.ndarray, other: np.ndarray) -> str:
    """Return the largest difference of two arrays as a text."""
    if mine.dtype.kind not in "iuf":
        return "other values"
    both = mine.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        most = np.nanmax(np.abs(both[0] - both[1]), initial=0)
    return f"differs by up to {most:.1e}"


def _line(error: Exception) -> str:
    """Return the first line of an exception's text, without the parts that onnxruntime adds to each message."""
    words = _PREAMBLE.sub("", str(error))
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:LONGEST]


def in_fork(work: Callable[[], Quality], limit: float) -> Quality:
    """Return the quality that `work` computes in a fork. If the fork fails, the quality contains the reason."""
    try:
        return Quality(**forks.in_fork(lambda: asdict(work()), limit))
    except forks.ForkError as error:
        return Quality(False, reason=f"its run {error}")


def _original(runs: Format, model: Path, name: str) -> Original:
    """Return the inputs and outputs of the original, or the reason why it does not run."""
    try:
        feeds = runs.feeds(model, name)
        return Original(feeds, runs.outputs(model, feeds))
    except Exception as error:  # noqa: BLE001
        return Original({}, None, f"the original does not run: {_line(error)}")


def main(text: str) -> str:
    """Compare all results that the request lists, and return their quality. The request and the answer are JSON."""
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
