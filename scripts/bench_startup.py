"""What it costs to ask graphfix about itself: CPU time above `python -c pass` of the same environment, in ms.

    python scripts/bench_startup.py [--rounds 41]

Each round runs the interpreter alone and then every command, so that what else the machine does meets all of them; the
figures are user and system time, the median and the least of the differences. Bytecode is compiled first.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
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


def measured(rounds: int, commands: Mapping[str, Sequence[str]] = COMMANDS) -> dict[str, list[float]]:
    """By command: in each round, by how many ms it took more than the interpreter alone."""
    above: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONPATH": str(ROOT)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for argv in commands.values():
            _milliseconds(_process(argv), environment)
        for _ in range(rounds):
            alone = _milliseconds(ALONE, environment)
            for name, argv in commands.items():
                above[name].append(_milliseconds(_process(argv), environment) - alone)
    return above


def _process(argv: Sequence[str]) -> list[str]:
    return ["-P", "-m", "graphfix", *argv]


def _milliseconds(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Print a table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=41)
    rounds = asked.parse_args().rounds
    print(f"ms of CPU above `python -c pass`, {rounds} rounds: median, least")
    for name, above in measured(rounds).items():
        print(f"{name:16} {median(above):6.1f} {min(above):6.1f}")


if __name__ == "__main__":
    main()
