"""Time the proof of `graphfix verify --proof-only` against the rewrite that it checks, and measure its memory.

    python scripts/bench_proof.py [--format onnx|tflite] [--rows NAME,..] [--runs N] [--dir FOLDER] [--target T]
                                  [--graphfix COMMAND]

The models are those of bench.py. Fix and proof take turns, each in a process, with cached files. Both report their
seconds in the JSON document. The limit is on the median of the quotient: the proof may take as long as loading,
inferring, planning and writing together. Memory is the largest resident set of any proof. For 100,000 nodes, the whole
process also has a limit: a number of loads and saves of the first file by onnx, in the same turns. Exit status: 0
within the limits, 1 beyond a limit, 2 if a run failed. For Linux.
"""

from __future__ import annotations

# Import only the standard library, because the kernel counts the parent's memory at the fork as part of the child's
# peak.
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
"""The limit of the proof's time, as a multiple of the rewrite's time."""
MOST_MIB = 150
"""The limit of the proof's memory in MiB for models of few nodes, whatever the size of the weights."""
MOST_SAVES = {"nodes-100k": 6}
"""By row, the limit of the whole process's time, as a multiple of onnx's own load and save of the first file."""
MOST_OF_NODES = {"nodes-100k": 400}
"""By row, the limit of the proof's memory in MiB for a model of many nodes."""
PHASES = ("load", "infer", "plan", "write")
_SECONDS = re.compile(r'"seconds": (\{[^{}]*\})')
_TAIL = 4096


@dataclass(frozen=True, slots=True)
class Measured:
    """The turns of one row: the seconds of the rewrite and of the proof in each turn, and the proof's peak in bytes.

    `mib` is the limit of the peak in MiB, or None if there is no limit.
    """

    name: str
    turns: tuple[tuple[float, float], ...]
    total_seconds: tuple[float, ...]
    """Seconds of the whole process of each proof."""
    saves: tuple[float, ...]
    """Seconds of onnx's load and save of the first file; empty if the row's limit does not use this time."""
    peak: int
    mib: float | None

    @property
    def times(self) -> float | None:
        """Return the median of the process's time divided by the time of a load and save, or None.

        The result is None if the row has no limit for this quotient.
        """
        pairs = zip(self.total_seconds, self.saves, strict=False)
        return statistics.median(total / save for total, save in pairs) if self.saves else None

    @property
    def quotient(self) -> float:
        """Return the median of the proof's time divided by the rewrite's time."""
        return statistics.median(proof / rewrite for rewrite, proof in self.turns)

    def broken(self) -> list[str]:
        """Return one line for each limit that is exceeded."""
        lines = []
        if self.quotient > MOST:
            lines.append(f"{self.name}: the proof took {self.quotient:.2f} of the rewrite's time, limit {MOST:g}")
        if self.times is not None and self.times > MOST_SAVES[self.name]:
            lines.append(f"{self.name}: {self.times:.1f} loads and saves of onnx, limit {MOST_SAVES[self.name]}")
        if self.mib is not None and self.peak > self.mib * MIB:
            lines.append(f"{self.name}: {self.peak / MIB:.0f} MiB, limit {self.mib:g} MiB")
        return lines


def asked(command: Sequence[str]) -> tuple[Mapping[str, float], float, int]:
    """Run a command with `--json`; return the seconds in its document, the process's seconds, and its peak in bytes.

    The first part contains the seconds by phase. Raise BenchError if the command fails or reports no seconds.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen([*command, "--json"], stdout=output, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        # The seconds are at the end of the document, which may be large, so only the end is read.
        output.seek(max(output.seek(0, os.SEEK_END) - _TAIL, 0))
        found = _SECONDS.search(output.read().decode(errors="replace"))
        errors.seek(0)
        if child.returncode or found is None:
            raise BenchError(f"{shlex.join(command)}: exit status {child.returncode}: {errors.read(300).decode()}")
    return json.loads(found[1]), seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(row: Row, program: Sequence[str], options: Sequence[str], runs: int, folder: Path) -> Measured:
    """Fix and prove the row's model in `runs` turns, after one turn that only fills the cache."""
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
    """Return the row's line of the table: each measured figure beside its limit."""
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
    """Measure the selected rows, print the table, and return one line for each exceeded limit."""
    extra = ["--target", options.target] if options.target else []
    rows = chosen(options.rows, options.format)
    print(HEAD)
    all_measured = []
    for row in rows:
        all_measured.append(measure(row, shlex.split(options.graphfix), extra, options.runs, folder))
        print(line(all_measured[-1]), flush=True)
    return [line for each in all_measured for line in each.broken()] + growth(all_measured)


def growth(measured: Sequence[Measured]) -> list[str]:
    """Compare the seconds of the proof's process for 100,000 nodes with those for 10,000 nodes.

    Print the quotient of both medians, and return a line if the quotient exceeds the limit. Return an empty list
    without any output if one of both rows was not measured.
    """
    medians = {each.name: statistics.median(each.total_seconds) for each in measured}
    if not {"nodes-10k", "nodes-100k"} <= medians.keys():
        return []
    times = medians["nodes-100k"] / medians["nodes-10k"]
    print(f"time(100k nodes) = {times:.1f} x time(10k nodes), limit {GROWTH}")
    return [f"100k nodes took {times:.1f} x as long as 10k, limit {GROWTH}"] if times > GROWTH else []


if __name__ == "__main__":
    sys.exit(main(run, "Time the proof against the rewrite that it checks."))
