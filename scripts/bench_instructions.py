"""Count the interpreter's instructions that inference takes: the same number on each run, however busy the machine is.

    python scripts/bench_instructions.py [--tree LABEL=FOLDER]... MODEL_OR_FOLDER ...

Each tree (a checkout; this one without) infers each model twice in one process, and the second time counts: what runs
in C counts as the call of it. With two trees the quotients after / before follow, the largest first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import checkouts

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = (".onnx", ".tflite")
LARGEST = 1 << 27
"""Bytes of a model that is left out: what takes time there is reading it."""


def instructions(path: Path) -> int:
    """Return how many instructions loading and inferring a model takes. Runs with the graphfix that is on the path."""
    import graphfix

    count = 0

    def inside(_: FrameType, event: str, __: object) -> Any:  # noqa: ANN401 -- as sys.settrace has it
        nonlocal count
        count += event == "opcode"
        return inside

    def enter(frame: FrameType, _: str, __: object) -> Any:  # noqa: ANN401 -- as above
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return inside

    _warm_up = graphfix.load(path).graphs
    sys.settrace(enter)
    try:
        _ = graphfix.load(path).graphs
    finally:
        sys.settrace(None)
    return count


def counted(tree: Path, paths: Sequence[Path]) -> dict[str, int]:
    """Count in a process that has a checkout's packages; a model that it refuses is left out."""
    done = checkouts.python(tree, [__file__, "--child", *paths], PYTHONHASHSEED="0")
    done.check_returncode()
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _count_all(paths: Sequence[Path]) -> dict[str, int]:
    import graphfix

    found = {}
    for path in paths:
        try:
            found[str(path)] = instructions(path)
        except graphfix.GraphfixError:
            continue  # a model that is broken on purpose
    return found


def models(given: Sequence[str]) -> list[Path]:
    """Return the files, and those in the folders."""
    paths = [Path(each).resolve() for each in given]
    inside = [file for path in paths if path.is_dir() for file in sorted(path.rglob("*")) if file.suffix in SUFFIXES]
    every = [*(path for path in paths if path.is_file()), *inside]
    return [path for path in every if path.stat().st_size <= LARGEST]


def table(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the lines: each model, the largest quotient first, then the median, the sum and the largest."""
    labels = [*found]
    both = [name for name in found[labels[0]] if name in found[labels[-1]]]
    quotients = {name: found[labels[-1]][name] / found[labels[0]][name] for name in both}
    lines = [f"| model | {' | '.join(labels)} | after / before |", f"|{' --- |' * (len(labels) + 2)}"]
    for name in sorted(both, key=lambda each: -quotients[each]):
        counts = " | ".join(f"{found[label][name]:,}" for label in labels)
        lines.append(f"| {Path(name).name} | {counts} | {quotients[name]:.2f} |")
    sums = [sum(found[label][name] for name in both) for label in (labels[0], labels[-1])]
    middle = statistics.median(quotients.values())
    lines.append(
        f"{len(both)} models: median {middle:.2f}, sum {sums[1] / sums[0]:.2f}, largest {max(quotients.values()):.2f}"
    )
    return lines


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL_OR_FOLDER")
    checkouts.add_option(parser)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    paths = models(given.models)
    if given.child:
        print(json.dumps(_count_all(paths)))
        return 0
    trees = checkouts.chosen(given.tree)
    print("\n".join(table({label: counted(tree, paths) for label, tree in trees.items()})))
    return 0


if __name__ == "__main__":
    sys.exit(main())
