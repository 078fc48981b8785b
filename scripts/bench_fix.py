"""Time a default `graphfix fix` as a whole process beside one inference of the model, and check the limits.

    python scripts/bench_fix.py [MODEL..] [--turns N] [--target T] [--tree LABEL=FOLDER ..] [--options LABEL=TEXT ..]

Without MODEL, the models are those of the zoo up to 60 MB. For each model the columns are, in seconds:

- inference: one run of the original with the runtime's default kernels (onnxruntime with its default options, LiteRT
  with XNNPACK), on zeros, at the sizes of the first equal run in the verdict; the median of several runs
- verify: `verify ORIGINAL COPY` of two equal files, which runs no model, so this is the cost of a process
- `fix`: one column for each checkout (`--tree`), and one for each set of further options of the first checkout
  (`--options`)

All processes of a model take turns, and the median counts. Exit status: 0 if the first checkout's column is within the
limits, 1 if it is beyond a limit or if a command failed. Run this on a quiet machine.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import checkouts
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ZOO = checkouts.HERE / "models" / "zoo"
LARGEST = 60 << 20
MEDIANS = {".onnx": 0.6, ".tflite": 0.8}
"""The limit of the median over all models, by format, in seconds."""
MOST_SECONDS = 3.0
MOST_INFERENCES, OVERHEAD = 4, 1.0
"""A fix may take at most `MOST_INFERENCES` inferences plus `OVERHEAD` seconds."""
ENOUGH = 0.5
"""The least total seconds for which an inference is repeated."""


@dataclass(frozen=True)
class Column:
    """One way to run `fix`: with which checkout, and with which further options."""

    label: str
    tree: Path
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """The measured times of one model, in seconds."""

    model: Path
    inference: float | None
    """None if the runtime lacks a kernel."""
    verify: float
    fixes: tuple[float, ...]

    @property
    def limit(self) -> float:
        """Return the largest number of seconds that a fix of the model may take."""
        return (
            MOST_SECONDS if self.inference is None else min(MOST_SECONDS, MOST_INFERENCES * self.inference + OVERHEAD)
        )


def graphfix(tree: Path, arguments: Sequence[object]) -> tuple[float, str]:
    """Run a command of graphfix with the packages of `tree`; return its seconds and its output.

    Exit with a message if the exit status is neither 0 nor 4.
    """
    started = time.perf_counter()
    done = checkouts.python(tree, ["-m", "graphfix", *arguments])
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 4):
        sys.exit(f"graphfix {' '.join(map(str, arguments))}: exit status {done.returncode}: {done.stderr.strip()}")
    return seconds, done.stdout


def inference(model: Path, sizes: Mapping[str, int]) -> float | None:
    """Return the median seconds of one run on zeros, or None if the runtime lacks a kernel.

    `sizes` contains each free size, by its name or by input and axis, as in `x[0]`.
    """
    try:
        run = (_tflite if model.suffix == ".tflite" else _onnx)(model, sizes)
    except RuntimeError as error:
        if "unresolved custom op" in str(error):
            return None
        raise
    run()
    taken: list[float] = []
    while sum(taken) < ENOUGH or len(taken) < 3:
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _onnx(model: Path, sizes: Mapping[str, int]) -> Callable[[], object]:
    """Load the model in onnxruntime, and return a function that runs it on zeros."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feeds = {}
    for spec in session.get_inputs():
        labels = [f"{spec.name}[{axis}]" for axis in range(len(spec.shape))]
        shape = [
            dim if isinstance(dim, int) else sizes[dim if dim in sizes else label]
            for dim, label in zip(spec.shape, labels, strict=True)
        ]
        kind = spec.type.removeprefix("tensor(").removesuffix(")")
        feeds[spec.name] = np.zeros(shape, {"float": "float32", "double": "float64"}.get(kind, kind))
    return lambda: session.run(None, feeds)


def _tflite(model: Path, sizes: Mapping[str, int]) -> Callable[[], object]:
    """Load the model in LiteRT, and return a function that runs it."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter: Any = Interpreter(model_path=str(model))
    for spec in interpreter.get_input_details():
        free = spec["shape_signature"]
        shape = [sizes.get(f"{spec['name']}[{axis}]", 1) if size < 0 else size for axis, size in enumerate(free)]
        interpreter.resize_tensor_input(spec["index"], shape)
    interpreter.allocate_tensors()
    return interpreter.invoke


def measure(model: Path, columns: Sequence[Column], turns: int, target: str, folder: Path) -> Row:
    """Measure one model: `turns` times a verification and a fix for each column, then the inference."""
    output, copy = folder / f"fixed{model.suffix}", folder / f"copy{model.suffix}"
    shutil.copyfile(model, copy)
    verified: list[float] = []
    taken: list[list[float]] = [[] for _ in columns]
    sizes: Mapping[str, int] = {}
    for turn in range(turns):
        verified.append(graphfix(columns[0].tree, ["verify", model, copy])[0])
        for at in range(len(columns)) if turn % 2 == 0 else reversed(range(len(columns))):
            column = columns[at]
            asked = ["fix", model, "-o", output, "--target", target, "--json", *column.options]
            seconds, printed = graphfix(column.tree, asked)
            taken[at].append(seconds)
            if at == 0:
                runs = (json.loads(printed).get("verdict") or {}).get("runs") or []
                sizes = next((run["bindings"] for run in runs if run["status"] == "equal"), {})
            output.unlink()
    once = inference(model, sizes)
    return Row(model, once, statistics.median(verified), tuple(map(statistics.median, taken)))


def chosen(options: Namespace) -> list[Column]:
    """Return the columns that the options request: one for each checkout, and one for each `--options`."""
    trees = [Column(label, tree) for label, tree in checkouts.chosen(options.tree).items()]
    pairs = [each.split("=", 1) for each in options.options or []]
    return [*trees, *(Column(label, trees[0].tree, tuple(text.split())) for label, text in pairs)]


def main() -> int:
    """Measure the models of the command line, print the table, and return the exit status."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--target", default="explicit")
    parser.add_argument("--options", action="append", metavar="LABEL=TEXT")
    checkouts.add_option(parser)
    options = parser.parse_args()
    found = sorted(each for each in ZOO.rglob("*.*") if each.suffix in MEDIANS and each.stat().st_size <= LARGEST)
    columns = chosen(options)
    print(f"| model | inference | verify | {' | '.join(each.label for each in columns)} | limit |")
    print(f"| --- |{' ---: |' * (3 + len(columns))}")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        for model in options.models or found:
            row = measure(model.resolve(), columns, options.turns, options.target, Path(folder))
            rows.append(row)
            fixes = " | ".join(f"{each:.2f}" for each in row.fixes)
            once = "no kernel" if row.inference is None else f"{row.inference:.3f}"
            beyond = " !" if row.fixes[0] > row.limit else ""
            print(f"| {model.name} | {once} | {row.verify:.2f} | {fixes} | {row.limit:.2f}{beyond} |", flush=True)
    beyond_median = False
    for suffix, limit in MEDIANS.items():
        of_format = [row for row in rows if row.model.suffix == suffix]
        if of_format:
            medians = [statistics.median(each) for each in zip(*(row.fixes for row in of_format), strict=True)]
            shown = " | ".join(f"{each:.2f}" for each in medians)
            print(f"| median of {suffix[1:]} ({len(of_format)}) | | | {shown} | {limit:.2f} |")
            beyond_median = beyond_median or medians[0] > limit
    return int(beyond_median or any(row.fixes[0] > row.limit for row in rows))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(str(error))
