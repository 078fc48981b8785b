"""Time inference of fixed models beside their originals, in onnxruntime and LiteRT, with one thread.

    python scripts/bench_inference.py [--redundant] [--rounds N] [--models PATTERN ..] [--variants TARGET,..]
                                      [--reruns N] [--write docs/targets.md]

The models are those of models/zoo.toml, or those that match a PATTERN. With --redundant they are the models of
models/exported in which the target compact removes an explicit stretch or a product with ones. The runtimes have their
default options, except for the number of threads.

All variants of a model are loaded into one process. In each round every variant runs a few times, in another order each
round. The models are loaded again a few times. Each round's time is divided by the original's time, and the median of
these quotients counts. The original is loaded a second time as a further variant, so its quotient shows the noise of
the machine. Memory is the largest memory that a separate process needs to load and run the model. Operators are those
of the graph that onnxruntime optimized, or those of the TFLite file, with the number of parts that XNNPACK runs.

Free sizes are those of scripts/tosa_tables/zoo.py and models/exported/sizes.json. Other free sizes are 1, or the stored
size of a TFLite file. For Linux.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from inference_bench.cases import case_of, redundant, zoo
from inference_bench.models import Run, lines, load, peak
from inference_bench.table import AGAIN, ORIGINAL, Cell, Row, Times, difference, order, ratio, table, worst, write
from tosa_tables.zoo import Case

import graphfix
from graphfix.targets.registry import TARGETS

VARIANTS = ("ranks", "explicit", "compact", "onnxruntime")
BLOCK = 0.02
"""The seconds that all runs of one variant in a round should take, from which the number of runs is computed."""
MOST = 200
"""The largest number of runs of a variant in a round."""
LOADS = 4
"""How often the models are loaded. The addresses of a session's buffers change its time by a factor of up to 1.8."""
RUNTIMES = {".onnx": ("onnx", "onnxruntime"), ".tflite": ("tflite", "ai-edge-litert")}


def interleaved(loaded: Mapping[str, Run], rounds: int) -> Times:
    """Run the loaded models in turns, and return for each model the seconds of one run in each round."""
    for run in loaded.values():
        run()
    started = time.perf_counter()
    loaded[ORIGINAL]()
    runs = min(MOST, max(1, round(BLOCK / max(time.perf_counter() - started, 1e-9))))
    times: dict[str, list[float]] = {name: [] for name in loaded}
    for turn in range(rounds):
        for name in order([*loaded], turn):
            started = time.perf_counter()
            for _ in range(runs):
                loaded[name]()
            times[name].append((time.perf_counter() - started) / runs)
    return times


def measured(name: str, files: Mapping[str, Path], case: Case, rounds: int) -> Row:
    """Measure a model and its variants in `files`, and return the row of the table.

    A variant that does not run has a cell with the error. If the original does not run, the row contains only the
    error.
    """
    cells: dict[str, Cell] = {}
    operators: dict[str, Counter[str]] = {}
    for label, path in files.items():
        try:
            loaded = load(path, case)
            loaded.run()
            operators[label] = loaded.operators
        except Exception as error:  # noqa: BLE001 -- runtimes raise what they like, and the others are to be measured
            cells[label] = Cell(error=f"does not run: {_short(error)}")
    if ORIGINAL not in operators:
        return Row(name, 0, 1, error=cells[ORIGINAL].error)
    times = in_turn({**{label: files[label] for label in operators}, AGAIN: files[ORIGINAL]}, case, rounds)
    memory = {label: peak(files[label], case) for label in operators}
    for label in operators.keys() - {ORIGINAL}:
        changed = difference(operators[ORIGINAL], operators[label])
        cells[label] = Cell(ratio(times, label), memory[label] / memory[ORIGINAL], changed)
    return Row(name, 1000 * min(times[ORIGINAL]), ratio(times, AGAIN), cells)


def in_turn(files: Mapping[str, Path], case: Case, rounds: int) -> Times:
    """Load all files a few times, in another order each time, and return the seconds of all rounds."""
    times: dict[str, list[float]] = {label: [] for label in files}
    for turn in range(min(LOADS, rounds)):
        names = order([*files], turn)
        runs = {label: load(files[label], case, count=False).run for label in names}
        for label, each in interleaved(runs, -(-rounds // LOADS)).items():
            times[label] += each
    return times


def _short(error: Exception) -> str:
    """Return the first 80 characters of an error's text on one line, or the exception's name if the text is empty."""
    return " ".join(str(error).split())[:80] or type(error).__name__


def variants_of(path: Path, targets: Sequence[str], folder: Path) -> tuple[dict[str, Path], dict[str, str], str]:
    """Fix the model for each target, and save the results in `folder`.

    Return three parts. The first contains the path of the original and of each result, by label. The second contains
    the error of each target that failed. The third is a text that lists the rewrites by which target compact changed
    the model.
    """
    files, errors, gone = {ORIGINAL: path}, {}, "-"
    for target in targets:
        try:
            model = graphfix.load(path)
            outcome = graphfix.fix(model, target=target)
            files[target] = folder / f"{target}{path.suffix}"
            model.save(files[target])
        except Exception as error:  # noqa: BLE001 -- a model that a target breaks is a cell of the table
            errors[target] = f"not fixed: {_short(error)}"
            continue
        if target == "compact":
            gone = ", ".join(f"{count} {rule}" for rule, count in outcome.rewrites.items() if count) or "nothing"
    return files, errors, gone


def bench(path: Path, targets: Sequence[str], rounds: int) -> Row:
    """Fix and measure one model, and return the row of the table."""
    name = "/".join(path.parts[-2:])
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        files, errors, gone = variants_of(path, targets, Path(folder))
        row = measured(name, files, case_of(path), rounds)
    cells = {**row.cells, **{target: Cell(error=text) for target, text in errors.items()}}
    return replace(row, cells=cells, redundant=gone)


def targets(text: str) -> list[str]:
    """Return the targets of a list that is separated by commas. Raise ArgumentTypeError for an unknown target."""
    names = text.split(",")
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no target '{', '.join(unknown)}'; there are {', '.join(TARGETS)}")
    return names


def setting(suffix: str, rounds: int) -> str:
    """Return the line above the table: the processor, the version of the runtime, and the number of rounds."""
    runtime = RUNTIMES[suffix][1]
    machine = next(
        (line.partition(":")[2].strip() for line in lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    version = importlib.metadata.version(runtime)
    return f"{machine}; {runtime} {version}, one thread; graphfix {graphfix.__version__}; {rounds} rounds.\n"


def main() -> int:
    """Measure all models, print the tables, and write them to the file of `--write`. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redundant", action="store_true", help="exported models that hold stretches for nothing")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--models", metavar="PATTERN", nargs="+", default=[], help="nmp*.onnx, magika/*, or a path")
    chosen = ",".join(VARIANTS)
    parser.add_argument("--variants", type=targets, default=chosen, metavar="TARGET,..", help=f"default {chosen}")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the markers of this file")
    parser.add_argument("--reruns", type=int, default=1, metavar="N", help="measure N times; the last table is written")
    options = parser.parse_args()
    variants = options.variants
    paths = [*(redundant if options.redundant else zoo)(options.models)]
    for rerun in range(options.reruns):
        for suffix, (format_, _) in RUNTIMES.items():
            kind = f"{format_} redundant" if options.redundant else format_
            rows = [_told(bench(path, variants, options.rounds)) for path in paths if path.suffix == suffix]
            if rows:
                text = "\n".join([setting(suffix, options.rounds), *table(rows, variants)])
                print(text)
                print(f"run {rerun + 1}, {kind}: worst: {worst(rows, variants)}", flush=True)
                if options.write is not None:
                    write(options.write, kind, text)
    return 0


def _told(row: Row) -> Row:
    """Print a line about the row on stderr, and return the row."""
    times = {name: cell.error or f"{cell.time:.3f}" for name, cell in row.cells.items()}
    print(f"{row.model}: {row.error or f'{row.milliseconds:.2f} ms, noise {row.noise:.3f}, {times}'}", file=sys.stderr)
    return row


if __name__ == "__main__":
    sys.exit(main())
