"""Fix models for both targets and tell which of the results are not proved, by reason: the table of docs/proof.md.

    python scripts/proof_table.py MODEL_OR_FOLDER...

Folders are searched for .onnx and .tflite files. Exit status: 0 where everything is proved, 1 otherwise.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphfix import api
from graphfix.results import GraphfixError
from graphfix.verify import verify

SUFFIXES = (".onnx", ".tflite")
TARGETS = ("explicit", "ranks")


def models(paths: Sequence[Path]) -> Iterator[Path]:
    """Give the files, and those of the folders, in order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
        else:
            yield path


def main() -> int:
    """Print a line a target, then one a result that is not proved."""
    parser = argparse.ArgumentParser(description="which fixed models are not proved")
    parser.add_argument("paths", metavar="MODEL_OR_FOLDER", type=Path, nargs="+")
    counts: Counter[tuple[str, str]] = Counter()
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for index, path in enumerate(models(parser.parse_args().paths)):
            for target in TARGETS:
                after = Path(folder) / f"{index}-{target}{path.suffix}"
                try:
                    api.fix_file(path, after, target=target, check_result=False)
                except GraphfixError:
                    counts[target, "refused"] += 1
                    continue
                verdict = verify(path, after, proof="only")
                counts[target, verdict.status] += 1
                if verdict.status != "proved" and verdict.proof is not None:
                    left.append(f"| {path.name} | {target} | {verdict.proof['reason']} |")
                after.unlink()
    print("| target | proved | not proved | refused by fix |\n| --- | --- | --- | --- |")
    for target in TARGETS:
        print("|", target, *(f"| {counts[target, status]}" for status in ("proved", "undecided", "refused")), "|")
    if left:
        print("\n| model | target | reason |\n| --- | --- | --- |", *left, sep="\n")
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
