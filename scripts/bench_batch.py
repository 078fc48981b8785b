"""Time a batch of 200 models on one process and on two processes, and compare the throughput.

    python scripts/bench_batch.py [--models 200] [--rounds 3] [--jobs 2]

The models are copies of those in models/ that `fix` changes, ONNX and TFLite in turn. Each model is fixed and verified
by the whole command in a separate process. Rounds on one process and on several processes take turns, so other load on
the machine affects both. The shortest round of each counts. Bytecode is compiled first. Exit status: 0 if two processes
have at least 1.7 times the throughput of one process, else 1. For N processes the limit is 0.85 times N.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, cycle, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ZOO = ROOT / "models" / "zoo"
LEAST = 0.85
"""The limit, as a part of the ideal throughput of N independent processes. For two processes it is 1.7 of 2."""
LARGEST = 4 << 20
"""The largest size of a model in bytes. Copying larger models would take longer than the work."""


class Round(NamedTuple):
    """The time of one batch: seconds of wall-clock time, and seconds of CPU of all its processes."""

    seconds: float
    cpu: float


def batch(folder: Path, output: Path, jobs: int, environment: Mapping[str, str], *more: str) -> Round:
    """Run `graphfix batch` on `folder` with `jobs` processes and a new output folder, and return the time.

    Exit with a message if the batch does not end with its summary.
    """
    shutil.rmtree(output, ignore_errors=True)
    command = [
        sys.executable,
        "-P",
        "-m",
        "graphfix",
        "batch",
        str(folder),
        "-o",
        str(output),
        "--jobs",
        str(jobs),
        *more,
    ]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout.endswith(" models a second\n"):
        raise SystemExit(f"the batch ended with {done.returncode}: {done.stderr}")
    return Round(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def fixed(folder: Path, number: int, environment: Mapping[str, str]) -> list[Path]:
    """Return the paths of about `number` models of models/ that `fix` writes, ONNX and TFLite in turn.

    The models are copied to `folder`, and a batch finds out which of them `fix` writes. The result contains the paths
    of the copies.
    """
    every = [path for path in (ROOT / "models").rglob("*") if path.suffix in (".onnx", ".tflite")]
    few = sorted(path for path in every if not path.is_relative_to(ZOO) and path.stat().st_size <= LARGEST)
    random.Random(0).shuffle(few)  # noqa: S311 -- the same models each time
    by_format = ([path for path in few if path.suffix == suffix] for suffix in (".onnx", ".tflite"))
    taken = islice((path for path in chain.from_iterable(zip_longest(*by_format)) if path), number + number // 5)
    for at, path in enumerate(taken):
        shutil.copyfile(path, folder / f"{at:06}{path.suffix}")
    report = folder / "report.json"
    batch(folder, folder.with_name("first"), os.cpu_count() or 1, environment, "--report", str(report))
    models = json.loads(report.read_text(encoding="utf-8"))["models"]
    return [Path(each["model"]) for each in models if each.get("output")]


def copied(models: Sequence[Path], folder: Path, number: int) -> None:
    """Create `folder` with `number` copies of the models; a model is copied several times if there are fewer models."""
    folder.mkdir()
    for at, path in enumerate(islice(cycle(models), number)):
        shutil.copyfile(path, folder / f"{at:06}{path.suffix}")


def rounds(folder: Path, number: int, jobs: int, environment: Mapping[str, str]) -> Iterator[tuple[Round, Round]]:
    """Yield the times of a batch on one process and of a batch on `jobs` processes, `number` times."""
    output = folder.with_name("out")
    for _ in range(number):
        yield batch(folder, output, 1, environment), batch(folder, output, jobs, environment)


def main() -> int:
    """Print a line for each round and a summary of the shortest rounds, and return the exit status."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--models", type=int, default=200)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--jobs", type=int, default=2)
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(work / "compiled")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        (work / "given").mkdir()
        models = fixed(work / "given", options.models, environment)
        copied(models, work / "models", options.models)
        taken = []
        for one, several in rounds(work / "models", options.rounds, options.jobs, environment):
            print(f"1 process {one.seconds:.1f} s, {options.jobs} processes {several.seconds:.1f} s", flush=True)
            taken.append((one, several))
    one, several = (min(each) for each in zip(*taken, strict=True))
    ratio = one.seconds / several.seconds
    least = LEAST * options.jobs
    different = min(len(models), options.models)
    print(f"{options.models} models, {different} of them different; the least of {options.rounds} rounds each")
    for jobs, best in ((1, one), (options.jobs, several)):
        each = 1000 / options.models
        print(
            f"{jobs} process{'es' * (jobs > 1)}: {options.models / best.seconds:.2f} models a second, "
            f"{each * best.seconds:.0f} ms and {each * best.cpu:.0f} ms of CPU a model"
        )
    print(f"throughput x {ratio:.2f}; at least {least:.2f} is asked")
    return 0 if ratio >= least else 1


if __name__ == "__main__":
    sys.exit(main())
