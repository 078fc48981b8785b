"""Generate pairs of ONNX files that differ a little, prove them, run what is proved: the table of docs/proof.md.

    python scripts/pairs.py [--share N] [--part K/M] [--kind TEXT] [--operator TEXT] [--refused] [--save FOLDER]

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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.pairs import onnx_pairs
from tests.support.pairs.onnx_judge import Judge
from tests.support.pairs.onnx_parts import KINDS
from tests.support.pairs.onnx_seeds import part


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--kind", default="")
    parser.add_argument("--operator", default="")
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--save", type=Path)
    return parser.parse_args()


def main() -> int:
    """Print the counts by kind, then what is wrong."""
    given = _arguments()
    inside = part(*map(int, given.part.split("/")))
    with tempfile.TemporaryDirectory() as folder, Judge(Path(folder)) as judge:
        seeds = onnx_pairs.every_seed(judge, lambda operator: given.operator in operator and inside(operator))
        kinds = [kind for kind in KINDS if given.kind in kind]
        tally = onnx_pairs.examine(seeds, judge, kinds, share=given.share, ask=given.refused)
    print(f"{len(seeds)} seeds of {len({it.operator for it in seeds})} operators")
    print(f"{len(tally.covered)} pairs of (operator, kind of change)")
    print(tally.counts.table())
    _print(tally.refused)
    _print(tally.wrong)
    if given.save:
        _save(tally.wrong, given.save)
    return int(bool(tally.wrong))


def _print(pairs: Sequence[onnx_pairs.Wrong]) -> None:
    for (kind, why), count in Counter((it.kind, it.why) for it in pairs).most_common():
        seed = next(it.seed for it in pairs if (it.kind, it.why) == (kind, why))
        print(f"{count} {kind}, as in {seed}: {why}")


def _save(pairs: Sequence[onnx_pairs.Wrong], folder: Path) -> None:
    for number, pair in enumerate(pairs):
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / "before.onnx").write_bytes(pair.before)
        (place / "after.onnx").write_bytes(pair.after)
        (place / "why.txt").write_text(f"{pair.seed}\n{pair.kind}\n{pair.why}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
