"""What a process costs beside the least that it could: CPU time of questions and of `fix` of a small model.

    python scripts/bench_startup.py [--rounds 41]

Questions about the command line stand above `python -c pass` of the same environment, in ms. `fix --no-verify` stands
beside its floor, as a ratio: for an ONNX file onnx's own load and save, for a TFLite file, whose format asks for no
library, Python that copies it. Each round runs a floor and then what stands beside it, so that what else the machine
does meets both; the figures are user and system time, the median and the least. Bytecode is compiled first, and
numpy's BLAS starts no threads in any of them: they spin while it is imported, and the system counts that.
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
"""By name: a model, and its floor."""


def measured(rounds: int, commands: Mapping[str, Sequence[str]] = COMMANDS) -> dict[str, list[float]]:
    """By command: in each round, by how many ms it took more than the interpreter alone."""
    above: dict[str, list[float]] = {name: [] for name in commands}
    for name, took, alone in _rounds(rounds, commands):
        above[name].append(took - alone)
    return above


def multiples(rounds: int, commands: Mapping[str, Sequence[str]] = COMMANDS) -> dict[str, list[float]]:
    """Return by command, for each round, the additional time as a multiple of the interpreter's own.

    Unlike milliseconds it does not depend on the machine, or on what else runs on its cores.
    """
    found: dict[str, list[float]] = {name: [] for name in commands}
    for name, took, alone in _rounds(rounds, commands):
        found[name].append((took - alone) / alone)
    return found


def _rounds(rounds: int, commands: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, float, float]]:
    """Yield for each round and command its name, its ms of CPU, and those of the interpreter alone."""
    with _compiled() as environment:
        for argv in commands.values():
            _milliseconds(_process(argv), environment)
        for _ in range(rounds):
            alone = _milliseconds(ALONE, environment)
            for name, argv in commands.items():
                yield name, _milliseconds(_process(argv), environment), alone


def ratios(rounds: int, fixes: Mapping[str, tuple[str, str]] = FIXES) -> dict[str, list[float]]:
    """By name: in each round, how many times as long as its floor a `fix` took."""
    found: dict[str, list[float]] = {name: [] for name in fixes}
    with _compiled() as environment, tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for name, (model, floor) in fixes.items():
                files = [str(ROOT / model), str(Path(folder) / Path(model).name)]
                least = _milliseconds(["-P", "-c", floor, *files], environment, works=True)
                argv = _process(["fix", files[0], "-o", files[1], "--no-verify", "--exit-zero"])
                ratio = _milliseconds(argv, environment, works=True) / least
                found[name] += [ratio] * (number > 0)  # the first one compiles
    return found


@contextlib.contextmanager
def _compiled() -> Iterator[Mapping[str, str]]:
    """An environment of processes, with bytecode that lasts as long as the context."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONPATH": str(ROOT)}
        environment |= {"OPENBLAS_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        yield environment


def _process(argv: Sequence[str]) -> list[str]:
    return ["-P", "-m", "graphfix", *argv]


def _milliseconds(arguments: Sequence[str], environment: Mapping[str, str], *, works: bool = False) -> float:
    """What a process takes; one that `works` raises where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=works, cwd=os.sep)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Print a table."""
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
