"""Generate pairs of files with a small difference, prove them, and run the proved pairs: the tables of docs/proof.md.

    python scripts/pairs.py onnx|tflite [--share N] [--part K/M] [--kind TEXT] [--operator TEXT] [--refused]
                            [--save FOLDER]

`--share` keeps one in N combinations of an operator and a kind of change. `--part` keeps part K of M parts of the
operators, counted from 0. `--kind` and `--operator` keep those whose name contains the text. `--refused` also runs
pairs that are not proved, and lists those that are equal. `--save` writes the wrong pairs into a folder. Exit status: 1
if a pair is wrong, else 0.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.pairs.counts import Counts

FOLDS = 6
"""The number of sets of constant operands for each TFLite operator."""


class Judged(NamedTuple):
    """A pair that is wrong because it is proved and differs, or a pair that is equal in the runs and not proved."""

    kind: str
    seed: str
    why: str
    before: bytes
    after: bytes


class Examined(NamedTuple):
    """The results of all pairs: how many combinations of operator and kind of change, counts, and notable pairs.

    `refused` are pairs that are equal in the runs and not proved. `wrong` are pairs that are proved and differ.
    """

    covered: int
    counts: Counts
    refused: Sequence[Judged]
    wrong: Sequence[Judged]


def _arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=("onnx", "tflite"))
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--kind", default="")
    parser.add_argument("--operator", default="")
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--save", type=Path)
    return parser.parse_args()


def _onnx(given: argparse.Namespace, folder: Path) -> Examined:
    """Examine the ONNX pairs that the options select."""
    from tests.support.pairs import onnx_pairs
    from tests.support.pairs.onnx_judge import Judge
    from tests.support.pairs.onnx_parts import KINDS
    from tests.support.pairs.onnx_seeds import part

    inside = part(*map(int, given.part.split("/")))
    with Judge(folder) as judge:
        seeds = onnx_pairs.every_seed(judge, lambda operator: given.operator in operator and inside(operator))
        kinds = [kind for kind in KINDS if given.kind in kind]
        tally = onnx_pairs.examine(seeds, judge, kinds, share=given.share, ask=given.refused)
    refused, wrong = (
        [Judged(it.kind, str(it.seed), it.why, it.before, it.after) for it in found]
        for found in (tally.refused, tally.wrong)
    )
    return Examined(len(tally.covered), tally.counts, refused, wrong)


def _tflite(given: argparse.Namespace, folder: Path) -> Examined:
    """Examine the TFLite pairs that the options select. Part 0 also includes operators on constants."""
    from tests.support.pairs import tflite_pairs
    from tests.support.pairs.tflite_seeds import seeds

    part, parts = map(int, given.part.split("/"))
    every = sorted({seed.operator for seed in seeds()})[part::parts]
    chosen = [operator for operator in every if given.operator in operator]
    made = tflite_pairs.pairs(seeds(*chosen) if chosen else (), 1, share=given.share, kinds=given.kind)
    computed = tflite_pairs.folds(FOLDS, share=given.share) if part == 0 else ()
    folds = (pair for pair in computed if given.kind in pair.kind and given.operator in pair.operator)
    tally = tflite_pairs.examine(chain(made, folds), folder, ask=given.refused)
    refused, wrong = (
        [
            Judged(it.pair.kind, f"{it.pair.operator} ({it.pair.seed})", it.why, it.pair.before, it.pair.after)
            for it in found
        ]
        for found in (tally.refused, tally.wrong)
    )
    return Examined(len(tally.covered), tally.counts, refused, wrong)


def main() -> int:
    """Print the counts by kind and the notable pairs, save the wrong pairs, and return the exit status."""
    given = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        examined = (_onnx if given.format == "onnx" else _tflite)(given, Path(folder))
    print(f"{examined.covered} pairs of (operator, kind of change)")
    print(examined.counts.table())
    _print(examined.refused)
    _print(examined.wrong)
    if given.save:
        _save(examined.wrong, given.save, given.format)
    return int(bool(examined.wrong))


def _print(pairs: Sequence[Judged]) -> None:
    """Print how many pairs have the same kind and reason, with one example each."""
    for (kind, why), count in Counter((it.kind, it.why) for it in pairs).most_common():
        seed = next(it.seed for it in pairs if (it.kind, it.why) == (kind, why))
        print(f"{count} {kind}, as in {seed}: {why}")


def _save(pairs: Sequence[Judged], folder: Path, suffix: str) -> None:
    """Write both files and the reason of each pair into a numbered folder."""
    for number, pair in enumerate(pairs):
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"before.{suffix}").write_bytes(pair.before)
        (place / f"after.{suffix}").write_bytes(pair.after)
        (place / "why.txt").write_text(f"{pair.seed}\n{pair.kind}\n{pair.why}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
