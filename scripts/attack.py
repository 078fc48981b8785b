"""Attack the proof with random pairs of models: run each pair that it proves, and report pairs that differ.

    python scripts/attack.py [--seed S] [--pairs N] [--family F ...] [--out FOLDER]

A family is one kind of model, and `--family list` prints all families. The second file of a pair is a copy of the first
file with a few mutations. Some mutations keep the computation and others change it. The generators of models in tests/
are not used. `--out` stores the files of each wrong pair. A pair is wrong if the proof raises an unexpected exception,
or if the pair is proved and the second file fails or returns other results. Exit status: 1 if a pair is wrong, else 0.
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
"""Texts by which assumptions of the proof are recognized under which the last bit of a result may differ."""
NOT_EMPTY = (" is 0", "size of 0")
"""Texts by which assumptions of the proof about sizes of 0 are recognized.

A pair that is proved with such an assumption is not run with a size of 0.
"""


def write(pair: Pair, folder: Path) -> tuple[Path, Path]:
    """Write both files of the pair and their external data into the folder, and return the paths of both files."""
    paths = folder / f"before{pair.suffix}", folder / f"after{pair.suffix}"
    for path, content in zip(paths, (pair.before, pair.after), strict=True):
        path.write_bytes(content)
    for name, content in pair.data.items():
        (folder / name).write_bytes(content)
    return paths


def examine(pair: Pair, folder: Path, runner: Runner) -> tuple[str, bool, str]:
    """Write the pair into `folder`, prove it, and run it if it is proved.

    Return three parts. The first is "proved", or the reason why the pair is not proved. The second is whether the first
    file ran. The third is the error that was found, and it is empty if there is no error. An unexpected exception of
    the proof is an error. A difference between the runs is not an error if the first file is not steady (`_is_steady`).
    """
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
    """Return whether the first file runs without a crash and returns the same bits in two runs."""
    other = folder / "steady"
    other.mkdir(exist_ok=True)
    write(replace(pair, after=pair.before), other)
    return runner.run(pair, str(other), near=False, empty=True)[1] == ""


def attack(family: str, seeds: range, out: Path | None, *, reasons: bool = False) -> Tally:
    """Examine the pair of each seed of one family, and return the counts.

    Each wrong pair is printed, and copied to a folder inside `out` unless `out` is None. `reasons` also prints why a
    pair that is equal by construction is not proved.
    """
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
    """Run the command line, and return the exit status."""
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
