"""Generate pairs of TFLite files that differ a little, prove them, run what is proved: the table of docs/proof.md.

    python scripts/pairs_tflite.py [--each N] [--folds N] [--share N] [--part K/M] [--kind TEXT] [--operator NAME]
                                   [--refused] [--save FOLDER]

`--each` first files of an operator and kind of change, `--folds` sets of operands of an operator on constants.
`--share` keeps one (operator, kind) in so many, `--part` the Kth of M parts of the operators. `--refused` runs what is
not proved too, and lists what is equal all the same. `--save` writes the wrong pairs into a folder. Exit status: 1
where a pair is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.pairs import tflite_pairs
from tests.support.pairs.tflite_seeds import seeds


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--folds", type=int, default=6)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--kind", default="")
    parser.add_argument("--operator", default="")
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--save", type=Path)
    return parser.parse_args()


def _pairs(given: argparse.Namespace) -> Iterator[tflite_pairs.Pair]:
    part, parts = map(int, given.part.split("/"))
    every = sorted({seed.operator for seed in seeds()})[part::parts]
    chosen = [operator for operator in every if given.operator in ("", operator)]
    made = tflite_pairs.pairs(seeds(*chosen) if chosen else (), given.each, share=given.share, kinds=given.kind)
    computed = tflite_pairs.folds(given.folds, share=given.share) if given.folds and part == 0 else ()
    return chain(made, (pair for pair in computed if given.kind in pair.kind and given.operator in ("", pair.operator)))


def main() -> int:
    """Print the counts by kind, then what is wrong."""
    given = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        tally = tflite_pairs.examine(_pairs(given), Path(folder), ask=given.refused)
    print(f"{len(tally.covered)} pairs of (operator, kind of change)")
    print(tally.counts.table())
    _print(tally.refused)
    _print(tally.wrong)
    if given.save:
        _save(tally.wrong, given.save)
    return int(bool(tally.wrong))


def _print(found: Sequence[tflite_pairs.Found]) -> None:
    for (kind, why), count in Counter((it.pair.kind, it.why) for it in found).most_common():
        pair = next(it.pair for it in found if (it.pair.kind, it.why) == (kind, why))
        print(f"{count} {kind}, as in {pair.operator} ({pair.seed}): {why}")


def _save(found: Sequence[tflite_pairs.Found], folder: Path) -> None:
    for number, each in enumerate(found):
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / "before.tflite").write_bytes(each.pair.before)
        (place / "after.tflite").write_bytes(each.pair.after)
        (place / "why.txt").write_text(f"{each.pair.seed}\n{each.pair.kind}\n{each.why}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
