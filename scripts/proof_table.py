"""Fix models for every target and list which results are not proved, by reason: the tables of docs/proof.md.

    python scripts/proof_table.py [--target TARGET]... MODEL_OR_FOLDER...

Folders are searched for .onnx and .tflite files. Target `tosa` needs sizes: those of tosa_tables/zoo.py for the models
that it names, the default ones for others. Exit status: 0 where everything is proved, 1 otherwise.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tosa_tables.zoo import ONNX, ZOO

import graphfix
from graphfix import GraphfixError, Verdict
from graphfix.engine.option_texts import parse_fields
from graphfix.engine.request import Shapes
from graphfix.targets import target as targets

SUFFIXES = (".onnx", ".tflite")


def models(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the files, and those of the folders, in order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
        else:
            yield path


def shapes_of(path: Path) -> Shapes:
    """Return the sizes that a real model is bound to; none where the default ones do."""
    resolved = path.resolve()
    name = "/".join(resolved.parts[-2:]) if ZOO.resolve() in resolved.parents else ""
    return parse_fields({"shapes": ONNX[name].shapes})["shapes"] if name in ONNX else {}


Sizes = Mapping[str, Sequence[int]]
"""By input."""


def fixed(path: Path, after: Path, target: str) -> Sizes:
    """Fix a model, and return the sizes that it was fixed for. Raises GraphfixError."""
    static = targets.target_of(target).static
    shapes = shapes_of(path) if static else {}
    graphfix.fix_file(
        path, after, target=target, shapes=shapes, bind_defaults=static and not shapes, check_result=False
    )
    if not static:
        return {}
    return {value.name: value.shape.dims for value in graphfix.load(after).graphs[0].inputs if value.shape.static}


def proved(path: Path, after: Path, target: str) -> Verdict:
    """Fix a model, and prove the result at the sizes that it was fixed for. Raises GraphfixError."""
    return graphfix.verify(path, after, shapes=fixed(path, after, target), proof="only")


def main() -> int:
    """Print a line a target, then one a result that is not proved."""
    parser = argparse.ArgumentParser(description="which fixed models are not proved")
    parser.add_argument("--target", action="append", choices=tuple(targets.TARGETS), help="all of them by default")
    parser.add_argument("paths", metavar="MODEL_OR_FOLDER", type=Path, nargs="+")
    given = parser.parse_args()
    wanted = given.target or tuple(targets.TARGETS)
    counts: Counter[tuple[str, str]] = Counter()
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for index, path in enumerate(models(given.paths)):
            for target in wanted:
                after = Path(folder) / f"{index}-{target}{path.suffix}"
                try:
                    verdict = proved(path, after, target)
                except GraphfixError:
                    counts[target, "refused"] += 1
                    continue
                counts[target, verdict.status] += 1
                if verdict.status != "proved" and verdict.proof is not None:
                    left.append(f"| {path.name} | {target} | {verdict.proof['reason']} |")
                after.unlink()
    print("| target | proved | not proved | refused by fix |\n| --- | --- | --- | --- |")
    for target in wanted:
        print("|", target, *(f"| {counts[target, status]}" for status in ("proved", "undecided", "refused")), "|")
    if left:
        print("\n| model | target | reason |\n| --- | --- | --- |", *left, sep="\n")
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
