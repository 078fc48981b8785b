"""Generate pairs of files that differ a little, prove them, run what is proved: the tables of docs/proof.md.

    python scripts/pairs.py onnx|tflite [--share N] [--part K/M] [--kind TEXT] [--operator TEXT] [--refused]
                            [--save FOLDER]

`--share` keeps one (operator, kind of change) in so many, `--part` the Kth of M parts of the operators; `--kind` and
`--operator` those whose name has the text. `--refused` runs what is not proved too, and lists what is equal all the
same. `--save` writes the wrong pairs into a folder. Exit status: 1 where a pair is wrong.
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
"""Sets of operands of each TFLite operator on constants."""


class Judged(NamedTuple):
    """A pair that is wrong, or equal by the runs and not proved."""

    kind: str
    seed: str
    why: str
    before: bytes
    after: bytes


class Examined(NamedTuple):
    """What became of all pairs."""

    covered: int
    counts: Counts
    refused: Sequence[Judged]
    wrong: Sequence[Judged]


def _arguments() -> argparse.Namespace:
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
    """Print the counts by kind, then what is wrong."""
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
    for (kind, why), count in Counter((it.kind, it.why) for it in pairs).most_common():
        seed = next(it.seed for it in pairs if (it.kind, it.why) == (kind, why))
        print(f"{count} {kind}, as in {seed}: {why}")


def _save(pairs: Sequence[Judged], folder: Path, suffix: str) -> None:
    for number, pair in enumerate(pairs):
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"before.{suffix}").write_bytes(pair.before)
        (place / f"after.{suffix}").write_bytes(pair.after)
        (place / "why.txt").write_text(f"{pair.seed}\n{pair.kind}\n{pair.why}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
