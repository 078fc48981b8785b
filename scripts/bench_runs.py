"""Time how much the checks of claimed sizes add to the runs of `fix`.

    python scripts/bench_runs.py MODEL.. [--turns N]

A claim is a size in the view that the runs of the original model can confirm. Each model is fixed once. Then the runs,
without the proof, take turns with and without the claims. The median of the CPU seconds counts, of this process and of
the runtimes' processes. Exit status: 0 if all models together take at most a tenth more with claims, else 1. For Linux.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import graphfix
from graphfix import checker
from graphfix.checker.files.pair import Pair
from graphfix.checker.task import Criterion, Task
from graphfix.engine.extracts.claims import claims_of

MOST = 1.1
"""The limit of the time with claims, as a multiple of the time without claims."""


def seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(task: Task) -> float:
    """Verify the pair of the task, and return the CPU seconds. A verdict other than "equal" is printed on stderr."""
    started = seconds()
    verdict = checker.verify(task)
    if verdict.status != "equal":
        print(f"{task.pair.before}: {verdict.status}: {verdict.reason}", file=sys.stderr)
    return seconds() - started


def measure(model: Path, turns: int, folder: Path) -> tuple[float, float, int]:
    """Return the median seconds of the runs without claims and with claims, and the number of claims.

    The model is fixed first, and its runs take turns without and with the claims.
    """
    fixed = folder / f"fixed{model.suffix}"
    graphfix.fix_file(model, fixed, check_result=False)
    claims = claims_of(graphfix.load(model))
    without = Task(
        Pair(model, fixed, tflite=model.suffix == ".tflite"), None, 4, 0, Criterion(), "without", lambda _: None
    )
    tasks = (without, replace(without, claims=claims))
    timed(without)  # fills the cache
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            taken[which].append(timed(tasks[which]))
    fixed.unlink()
    return statistics.median(taken[0]), statistics.median(taken[1]), claims.count


def main() -> int:
    """Measure the models of the command line, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    total = [0.0, 0.0]
    print("| model | claims | runs | witnessed | ratio |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        for model in options.models:
            plain, witnessed, claims = measure(model, options.turns, Path(folder))
            total = [total[0] + plain, total[1] + witnessed]
            print(f"| {model} | {claims} | {plain:.2f} s | {witnessed:.2f} s | {witnessed / plain:.3f} |", flush=True)
    print(f"| together | | {total[0]:.2f} s | {total[1]:.2f} s | {total[1] / total[0]:.3f} |")
    return int(total[1] > MOST * total[0])


if __name__ == "__main__":
    sys.exit(main())
