"""Time the proof of `graphfix verify --proof-only` against the rewrite that it checks, and measure its memory.

    python scripts/bench_proof.py [--format onnx|tflite] [--rows NAME,..] [--runs N] [--dir FOLDER] [--target T]
                                  [--graphfix COMMAND]

The models are those of bench.py. Fix and proof take turns on a warm cache, each in a process; both report their
seconds in the JSON document, and the median of their quotient counts: the proof may take as long as loading, inferring,
planning and writing together. Memory is the largest resident set of any proof. For 100,000 nodes the whole process
has its limit in onnx's own loads and saves of the first file, in the same turns. Exit status: 0 within the limits, 1
beyond one, 2 when a run failed. For Linux.
"""

from __future__ import annotations

# The standard library alone: the kernel counts what the parent holds at the fork into the child's peak.
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import GROWTH, LOAD_AND_SAVE, MIB, BenchError, chosen, main, model_of, timed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench import Row

MOST = 1.0
"""What the proof may take of the rewrite's time."""
MOST_MIB = 150
"""What it may hold, whatever the weights are: models of that many nodes hold more than weights."""
MOST_SAVES = {"nodes-100k": 6}
"""How many times onnx's own load and save of the first file the whole process may take, by row."""
MOST_OF_NODES = {"nodes-100k": 400}
"""What it may hold of so many nodes, in MiB."""
PHASES = ("load", "infer", "plan", "write")
_SECONDS = re.compile(r'"seconds": (\{[^{}]*\})')
_TAIL = 4096


@dataclass(frozen=True, slots=True)
class Measured:
    """The turns of one row: seconds of (rewrite, proof) each, and the proof's peak in bytes."""

    name: str
    turns: tuple[tuple[float, float], ...]
    total_seconds: tuple[float, ...]
    """Seconds of the proof's process."""
    saves: tuple[float, ...]
    """Seconds of onnx's load and save of the first file; empty where they are no limit."""
    peak: int
    mib: float | None

    @property
    def times(self) -> float | None:
        """The median of how many loads and saves the proof's process took; None where they are no limit."""
        pairs = zip(self.total_seconds, self.saves, strict=False)
        return statistics.median(total / save for total, save in pairs) if self.saves else None

    @property
    def quotient(self) -> float:
        """The median of what the proof took of the rewrite's time."""
        return statistics.median(proof / rewrite for rewrite, proof in self.turns)

    def broken(self) -> list[str]:
        """Say each limit that does not hold."""
        lines = []
        if self.quotient > MOST:
            lines.append(f"{self.name}: the proof took {self.quotient:.2f} of the rewrite's time, limit {MOST:g}")
        if self.times is not None and self.times > MOST_SAVES[self.name]:
            lines.append(f"{self.name}: {self.times:.1f} loads and saves of onnx, limit {MOST_SAVES[self.name]}")
        if self.mib is not None and self.peak > self.mib * MIB:
            lines.append(f"{self.name}: {self.peak / MIB:.0f} MiB, limit {self.mib:g} MiB")
        return lines


def asked(command: Sequence[str]) -> tuple[Mapping[str, float], float, int]:
    """Run a command; return the seconds of its JSON document, its own, and its peak resident set in bytes."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen([*command, "--json"], stdout=output, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        # The seconds are the end of a document that may be large: no more of it is held.
        output.seek(max(output.seek(0, os.SEEK_END) - _TAIL, 0))
        found = _SECONDS.search(output.read().decode(errors="replace"))
        errors.seek(0)
        if child.returncode or found is None:
            raise BenchError(f"{shlex.join(command)}: exit status {child.returncode}: {errors.read(300).decode()}")
    return json.loads(found[1]), seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(row: Row, program: Sequence[str], options: Sequence[str], runs: int, folder: Path) -> Measured:
    """Fix and prove the row's model in `runs` turns, after one that only warms the cache."""
    model = model_of(row, folder)
    fixed = folder / f"fixed.{row.format}"
    copied = folder / f"copied.{row.format}"
    save = [sys.executable, "-c", LOAD_AND_SAVE, str(model), str(copied)]
    turns, wholes, saves, peaks = [], [], [], []
    for _ in range(runs + 1):
        fixed.unlink(missing_ok=True)
        os.sync()
        rewrite, *_ = asked([*program, "fix", str(model), "-o", str(fixed), "--no-verify", "--exit-zero", *options])
        os.sync()
        proof, total_seconds, peak = asked([*program, "verify", str(model), str(fixed), "--proof-only"])
        turns.append((sum(rewrite[phase] for phase in PHASES), proof["proof"]))
        wholes.append(total_seconds)
        peaks.append(peak)
        if row.name in MOST_SAVES:
            saves.append(timed(save)[0])
            copied.unlink()
    fixed.unlink()
    mib = MOST_OF_NODES.get(row.name) if "nodes" in row.kind or "operators" in row.kind else MOST_MIB
    return Measured(row.name, tuple(turns[1:]), tuple(wholes[1:]), tuple(saves[1:]), max(peaks), mib)


HEAD = (
    f"{'row':14} {'rewrite s':>9} {'proof s':>8} {'quotient':>8} {'min-max':>12} {'limit':>5} {'MiB':>6} {'limit':>5}"
    f" {'x onnx':>6} {'limit':>5}"
)


def line(measured: Measured) -> str:
    """Return the table's line: what was measured, each beside its limit."""
    rewrite, proof = (statistics.median(each) for each in zip(*measured.turns, strict=True))
    quotients = [proof / rewrite for rewrite, proof in measured.turns]
    mib = "-" if measured.mib is None else f"{measured.mib:g}"
    times = ("-", "-") if measured.times is None else (f"{measured.times:.1f}", f"{MOST_SAVES[measured.name]}")
    return (
        f"{measured.name:14} {rewrite:9.3f} {proof:8.3f} {measured.quotient:8.2f}"
        f" {f'{min(quotients):.2f}-{max(quotients):.2f}':>12} {MOST:5g} {measured.peak / MIB:6.0f}"
        f" {mib:>5} {times[0]:>6} {times[1]:>5}"
        f"  {'FAIL' if measured.broken() else 'pass'}"
    )


def run(options: argparse.Namespace, folder: Path) -> list[str]:
    """Measure the chosen rows, print the table, and say each broken limit."""
    extra = ["--target", options.target] if options.target else []
    rows = chosen(options.rows, options.format)
    print(HEAD)
    all_measured = []
    for row in rows:
        all_measured.append(measure(row, shlex.split(options.graphfix), extra, options.runs, folder))
        print(line(all_measured[-1]), flush=True)
    return [line for each in all_measured for line in each.broken()] + growth(all_measured)


def growth(measured: Sequence[Measured]) -> list[str]:
    """Compare the processes of 100,000 nodes and of 10,000, where both were measured."""
    medians = {each.name: statistics.median(each.total_seconds) for each in measured}
    if not {"nodes-10k", "nodes-100k"} <= medians.keys():
        return []
    times = medians["nodes-100k"] / medians["nodes-10k"]
    print(f"time(100k nodes) = {times:.1f} x time(10k nodes), limit {GROWTH}")
    return [f"100k nodes took {times:.1f} x as long as 10k, limit {GROWTH}"] if times > GROWTH else []


if __name__ == "__main__":
    sys.exit(main(run, "Time the proof against the rewrite that it checks."))
