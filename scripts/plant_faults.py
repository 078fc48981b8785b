"""Plant faults in the package, one at a time, and count how many of them the plain tests catch.

    python scripts/plant_faults.py --record              run the plain tests once, and record which test runs which line
    python scripts/plant_faults.py [--faults N] [--seed S] [--jobs J] [--least SHARE]
    python scripts/plant_faults.py --at graphfix/shapes/dim.py:42     every fault of one line

A line of `graphfix/` or `rewrites/` is drawn (each has the same chance), then a kind of fault, then one fault of this
kind; `planting/kinds.py` lists the kinds, and what is skipped and why. The tests that run the line are run in a copy of
the repository, then other tests of the room, until one fails. Faults in functions are tried in forks of one process
first (`planting/forks.py`), which takes a second each. A test counts if it passes without the fault; a test that takes
longer than `--test-seconds` fails. Exit status: 1 if a smaller share than `--least` is caught.

Without a record the folders of tests that belong to the module are run, which takes minutes a fault. The record is kept
in `~/.cache/graphfix/` (`--file`), and follows lines that moved inside their module; record again after larger changes.

Two libraries were tried first. mutmut 3.8 chooses tests by a record as well, but plants faults inside functions only
(the catalogue, the tables of rules and the registries are none), puts all faults of a module into the module (start-up
tests and those of the house count its lines), and draws no sample. cosmic-ray 8.7 runs one command of tests for every
fault, so that each survivor costs the whole plain tier. Neither drops a guard, an entry of a table or a name of a set,
nor swaps arguments: the kinds that survived when faults were planted by hand. Lines are recorded by coverage.py.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from planting import chosen, record
from planting.kinds import Fault, faults, is_another
from planting.trial import Copy, Trial, caught_in_forks, tried

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphfix" / "planting.json"
WIDTH = 100


def modules(root: Path, packages: Iterable[str]) -> list[str]:
    """Return the modules of packages, by their paths from the root."""
    return sorted(path.relative_to(root).as_posix() for name in packages for path in (root / name).rglob("*.py"))


def drawn(root: Path, packages: Iterable[str], count: int, seed: int) -> list[tuple[str, Fault]]:
    """Draw so many faults, each of another line."""
    choose = random.Random(seed)  # noqa: S311 - a sample that can be drawn again
    by_line: dict[tuple[str, int], list[Fault]] = defaultdict(list)
    for module in modules(root, packages):
        for fault in faults((root / module).read_bytes()):
            by_line[module, fault.line].append(fault)
    lines = sorted(by_line)
    choose.shuffle(lines)
    found: list[tuple[str, Fault]] = []
    for module, line in lines:
        if len(found) == count:
            break
        given = by_line[module, line]
        kind = choose.choice(sorted({fault.kind for fault in given}))
        fault = choose.choice([fault for fault in given if fault.kind == kind])
        if is_another(fault, (root / module).read_bytes()):
            found.append((module, fault))
    return found


def at_line(root: Path, place: str) -> list[tuple[str, Fault]]:
    """Return every fault of one line, `MODULE:LINE`."""
    module, _, line = place.rpartition(":")
    source = (root / module).read_bytes()
    return [(module, fault) for fault in faults(source) if fault.line == int(line) and is_another(fault, source)]


def run_all(
    root: Path, asked: Sequence[tuple[str, Fault]], earlier_record: record.Record, options: argparse.Namespace
) -> list[Trial]:
    """Try faults, several at once, and print each as it is done."""
    with tempfile.TemporaryDirectory(prefix="planting") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        broken: set[str] = set()
        sound: set[str] = set()
        for job in range(options.jobs):
            (Path(folder) / str(job)).mkdir()
            copies.put(Copy(root, Path(folder) / str(job), options.test_seconds, broken, sound))

        def one(number: int, module: str, fault: Fault) -> Trial:
            copy = copies.get()
            try:
                trial = tried(copy, earlier_record, module, fault, options.limit)
            finally:
                copies.put(copy)
            print(row(number, trial, (root / module).read_bytes()), flush=True)
            return trial

        copy = copies.get()
        trials = caught_in_forks(copy, earlier_record, asked, options.jobs)
        copies.put(copy)
        for number, trial in trials.items():
            print(row(number + 1, trial, (root / trial.module).read_bytes()), flush=True)
        left = [number for number in range(len(asked)) if number not in trials]
        with ThreadPoolExecutor(options.jobs) as pool:
            trials |= zip(left, pool.map(lambda number: one(number + 1, *asked[number]), left), strict=True)
        for name in sorted(broken):
            print(f"fails without a fault, and was left out: {name}")
        return list(trials.values())


def row(number: int, trial: Trial, source: bytes) -> str:
    """Return the lines of one fault: place and kind, the text before and after, and what caught it."""
    fault = trial.fault
    how = f"{trial.seconds:.0f} s" if trial.seconds else trial.note
    head = f"{number:3} {trial.module}:{fault.line} {fault.kind} ({how})"
    start = source.rfind(b"\n", 0, fault.start) + 1
    end = source.find(b"\n", fault.end)
    texts = (source[start:end], source[start : fault.start] + fault.after.encode() + source[fault.end : end])
    before, after = (" ".join(text.decode().split()) for text in texts)
    end_of = f"caught by {trial.caught_by}" if trial.caught_by else f"SURVIVED {trial.note}".rstrip()
    return f"{head}\n      - {before[: WIDTH * 2]}\n      + {after[: WIDTH * 2]}\n      {end_of}"


def recorded(root: Path, packages: Iterable[str], file: Path, jobs: int, paths: Sequence[str]) -> int:
    """Run the plain tests once with coverage.py, a context a test, and keep the record; return pytest's exit status."""
    with tempfile.TemporaryDirectory(prefix="planting") as name:
        folder = Path(name)
        (folder / "planted_choice.py").write_bytes(Path(chosen.__file__).read_bytes())
        environment = {
            **os.environ,
            "COVERAGE_FILE": str(folder / "coverage"),
            chosen.SECONDS: str(folder / "seconds.json"),
            "PYTEST_ADDOPTS": "",
            "PYTHONPATH": os.pathsep.join([str(root), str(folder)]),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "planted_choice", "-n", str(jobs), "--cov-context=test"]
        command += [f"--cov={each}" for each in packages]
        status = subprocess.run([*command, *paths], cwd=root, env=environment, check=False).returncode
        earlier_record = record.kept(file) if paths else record.Record()
        record.keep(root, folder / "coverage", folder / "seconds.json", file, earlier_record)
        return status


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--record", action="store_true", help="run the plain tests, and record which test runs which line"
    )
    parser.add_argument("--faults", type=int, default=200, metavar="N", help="how many to plant (200)")
    parser.add_argument("--seed", type=int, default=0, help="which sample is drawn (0)")
    parser.add_argument("--at", action="append", metavar="MODULE:LINE", help="plant every fault of this line instead")
    parser.add_argument("--list", action="store_true", help="print the faults, and run nothing")
    parser.add_argument(
        "--least", type=float, default=0.95, metavar="SHARE", help="the least share to be caught (0.95)"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many to try at once (one a processor)"
    )
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for all tests of one fault (600)")
    parser.add_argument("--test-seconds", type=int, default=120, metavar="SECONDS", help="for one test (120)")
    parser.add_argument("--file", type=Path, default=CACHE, help="the record")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    parser.add_argument("--package", action="append", help="where faults are planted (graphfix, rewrites)")
    parser.add_argument(
        "tests", nargs="*", help="with --record: tests to add to the record, in place of a new one of all plain tests"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant faults, print what caught each, and return the exit status."""
    options = parsed(arguments)
    root, packages = options.root.resolve(), options.package or ["graphfix", "rewrites"]
    if options.record:
        return recorded(root, packages, options.file, options.jobs, options.tests)
    began = time.monotonic()
    if options.at:
        asked = [each for place in options.at for each in at_line(root, place)]
    else:
        asked = drawn(root, packages, options.faults, options.seed)
    if options.list:
        for number, (module, fault) in enumerate(asked, 1):
            print(row(number, Trial(module, fault, "", "is not run"), (root / module).read_bytes()))
        return 0
    earlier_record = record.kept(options.file)
    print(
        f"seed {options.seed}: {len(asked)} faults"
        + ("" if earlier_record.names else "; no record, so whole folders are run")
    )
    trials = run_all(root, asked, earlier_record, options)
    survived = [trial for trial in trials if not trial.caught_by]
    share = 1 - len(survived) / max(1, len(trials))
    for kind, count in sorted(Counter(trial.fault.kind for trial in survived).items()):
        print(f"{count} survived of kind: {kind}")
    print(f"{len(trials) - len(survived)} of {len(trials)} caught ({share:.1%}) in {time.monotonic() - began:.0f} s")
    return int(share < options.least)


if __name__ == "__main__":
    sys.exit(main())
