"""Attack the proof with random pairs of whole models: run each proved pair, and save the pairs that differ.

    python scripts/attack.py [--seed S] [--pairs N] [--family F ...] [--out FOLDER]

A family is one kind of model: `--family list` prints all. The second file of a pair is the first one with one to three
mutations. Nothing of the tests' generators is used. Exit status: 1 if a proved pair is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacking import onnx_pairs, tflite_pairs
from attacking.pair import Pair, Tally
from attacking.runs import Runner

import graphfix

MADE_BY = {
    **dict.fromkeys(onnx_pairs.FAMILIES, onnx_pairs.pair),
    **dict.fromkeys(tflite_pairs.FAMILIES, tflite_pairs.pair),
}
ROUNDED = ("returns the same last bit", "sums of 8 bits are rounded")
"""Assumptions of the proof after which the last bit may differ."""
NOT_EMPTY = (" is 0", "size of 0")
"""Assumptions of the proof about sizes of 0."""


def write(pair: Pair, folder: Path) -> tuple[Path, Path]:
    """Write both files and their data."""
    paths = folder / f"before{pair.suffix}", folder / f"after{pair.suffix}"
    for path, content in zip(paths, (pair.before, pair.after), strict=True):
        path.write_bytes(content)
    for name, content in pair.data.items():
        (folder / name).write_bytes(content)
    return paths


def examine(pair: Pair, folder: Path, runner: Runner) -> tuple[str, bool, str]:
    """Return the proof's answer, whether the pair was run, and what is wrong with it."""
    before, after = write(pair, folder)
    try:
        verdict = graphfix.verify(before, after, proof="only", **pair.options)
    except graphfix.GraphfixError as error:
        return f"refused: {error}", False, ""
    except Exception as error:  # noqa: BLE001 - a traceback is a finding
        return "traceback", False, f"a traceback: {type(error).__name__}: {error}"
    if verdict.status != "proved":
        return str((verdict.proof or {}).get("reason", verdict.status)), False, ""
    near = any(word in text for text in verdict.assumes for word in ROUNDED)
    empty = not any(word in text for text in verdict.assumes for word in NOT_EMPTY)
    ran, why = runner.run(pair, str(folder), near=near, empty=empty)
    if why and not _is_steady(pair, folder, runner):
        return "proved", False, ""
    return "proved", ran, why


def _is_steady(pair: Pair, folder: Path, runner: Runner) -> bool:
    """Return whether the first file neither crashes nor changes its results from run to run."""
    other = folder / "steady"
    other.mkdir(exist_ok=True)
    write(replace(pair, after=pair.before), other)
    return runner.run(pair, str(other), near=False, empty=True)[1] == ""


def attack(family: str, seeds: range, out: Path | None, *, reasons: bool = False) -> Tally:
    """Examine the pairs of a family."""
    tally, runner = Tally(), Runner()
    with tempfile.TemporaryDirectory() as name:
        for seed in seeds:
            pair = MADE_BY[family](seed, family)
            folder = Path(name) / "pair"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            status, ran, why = examine(pair, folder, runner)
            proved = status == "proved"
            tally.pairs += 1
            tally.proved += proved
            tally.run += ran
            tally.equal += pair.equal
            tally.equal_proved += pair.equal and proved
            if pair.equal and not proved and reasons:
                print(f"  {family} {seed} {'+'.join(pair.changes)}: {status}"[:300])
            if why:
                tally.wrong += 1
                print(f"  WRONG {family} {seed} {'+'.join(pair.changes)} {pair.options or ''}: {why}", flush=True)
                if out is not None:
                    shutil.copytree(folder, out / f"{family}-{seed}", dirs_exist_ok=True)
    runner.close()
    return tally


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--family", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--reasons", action="store_true", help="print why equal pairs are not proved")
    given = parser.parse_args()
    if given.family == ["list"]:
        print(*MADE_BY, sep="\n")
        return 0
    print(f"{'family':20} {'pairs':>6} {'proved':>6} {'run':>6} {'wrong':>6} {'equal':>6} {'proved':>6} {'pairs/s':>7}")
    wrong = 0
    for family in given.family or MADE_BY:
        start = time.perf_counter()
        tally = attack(family, range(given.seed, given.seed + given.pairs), given.out, reasons=given.reasons)
        rate = tally.pairs / (time.perf_counter() - start)
        counts = (tally.pairs, tally.proved, tally.run, tally.wrong, tally.equal, tally.equal_proved)
        print(f"{family:20} " + " ".join(f"{count:6}" for count in counts) + f" {rate:7.1f}", flush=True)
        wrong += tally.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
