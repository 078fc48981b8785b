"""Measure the CPU time of short commands, and of `fix` on a small model, beside the least possible time.

    python scripts/bench_startup.py [--rounds 41]

Commands such as `--help` are compared with `python -c pass` of the same environment, and the table shows the difference
in ms. `fix --no-verify` is compared with its floor, and the table shows the quotient. The floor for an ONNX file is
onnx's own load and save. The floor for a TFLite file is Python that copies the file, because that format needs no
library. Each round runs a floor and then the commands beside it, so other load on the machine affects both. The figures
are the median and the least of the sums of user time and system time. Bytecode is compiled first. numpy's BLAS starts
no threads in any process, because waiting threads would count as CPU time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
COMMANDS: Mapping[str, Sequence[str]] = {
    "--help": ["--help"],
    "--version": ["--version"],
    "a usage error": ["fix", "--no-such-option"],
    "fix --help": ["fix", "--help"],
    "check --help": ["check", "--help"],
}
ALONE = ["-c", "pass"]
LOADS_AND_SAVES = "import sys, onnx; onnx.save(onnx.load(sys.argv[1]), sys.argv[2])"
COPIES = "import sys; open(sys.argv[2], 'wb').write(open(sys.argv[1], 'rb').read())"
FIXES: Mapping[str, tuple[str, str]] = {
    "fix of an ONNX file": ("models/encoder.onnx", LOADS_AND_SAVES),
    "fix of a TFLite file": ("models/prelu.tflite", COPIES),
}
"""By name: a model, and the Python code that is its floor."""


def measured(rounds: int, commands: Mapping[str, Sequence[str]] = COMMANDS) -> dict[str, list[float]]:
    """Return for each command, for each round, the ms of CPU that it takes more than the interpreter alone."""
    above: dict[str, list[float]] = {name: [] for name in commands}
    for name, took, alone in _rounds(rounds, commands):
        above[name].append(took - alone)
    return above


def multiples(rounds: int, commands: Mapping[str, Sequence[str]] = COMMANDS) -> dict[str, list[float]]:
    """Return for each command, for each round, the additional time as a multiple of the interpreter's own time.

    Unlike milliseconds, the multiple does not depend on the machine, or on other load.
    """
    found: dict[str, list[float]] = {name: [] for name in commands}
    for name, took, alone in _rounds(rounds, commands):
        found[name].append((took - alone) / alone)
    return found


def _rounds(rounds: int, commands: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, float, float]]:
    """Yield for each round and command its name, its ms of CPU, and the ms of the interpreter alone."""
    with _compiled() as environment:
        for argv in commands.values():
            _milliseconds(_process(argv), environment)
        for _ in range(rounds):
            alone = _milliseconds(ALONE, environment)
            for name, argv in commands.items():
                yield name, _milliseconds(_process(argv), environment), alone


def ratios(rounds: int, fixes: Mapping[str, tuple[str, str]] = FIXES) -> dict[str, list[float]]:
    """Return for each fix, for each round, the time of the `fix` divided by the time of its floor."""
    found: dict[str, list[float]] = {name: [] for name in fixes}
    with _compiled() as environment, tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for name, (model, floor) in fixes.items():
                files = [str(ROOT / model), str(Path(folder) / Path(model).name)]
                least = _milliseconds(["-P", "-c", floor, *files], environment, works=True)
                argv = _process(["fix", files[0], "-o", files[1], "--no-verify", "--exit-zero"])
                ratio = _milliseconds(argv, environment, works=True) / least
                found[name] += [ratio] * (number > 0)  # the first round only compiles bytecode
    return found


@contextlib.contextmanager
def _compiled() -> Iterator[Mapping[str, str]]:
    """Yield the environment variables of a process, with a bytecode folder that is deleted when the context ends."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONPATH": str(ROOT)}
        environment |= {"OPENBLAS_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        yield environment


def _process(argv: Sequence[str]) -> list[str]:
    """Return Python's arguments that run graphfix with the arguments `argv`."""
    return ["-P", "-m", "graphfix", *argv]


def _milliseconds(arguments: Sequence[str], environment: Mapping[str, str], *, works: bool = False) -> float:
    """Run Python with these arguments, and return its ms of CPU.

    With `works`, raise CalledProcessError if the process fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=works, cwd=os.sep)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Print the tables."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=41)
    rounds = asked.parse_args().rounds
    print(f"ms of CPU above `python -c pass`, {rounds} rounds: median, least")
    for name, above in measured(rounds).items():
        print(f"{name:20} {median(above):6.1f} {min(above):6.1f}")
    print(f"CPU time, times that of the floor, {rounds} rounds: median, least")
    for name, found in ratios(rounds).items():
        print(f"{name:20} {median(found):6.2f} {min(found):6.2f}")


if __name__ == "__main__":
    main()
