"""Count the interpreter instructions that loading and inferring a model takes.

    python scripts/bench_instructions.py [--tree LABEL=FOLDER]... MODEL_OR_FOLDER ...

Unlike the time, this number does not depend on how busy the machine is. Each checkout (without `--tree`, this checkout)
infers each model twice in one process, and the second time counts. Code in C counts as one call instruction. With two
checkouts, the quotients after / before follow, the largest first.
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
"""Models with more bytes are skipped, because most of their time is spent on reading the file."""


def instructions(path: Path) -> int:
    """Return the number of instructions of loading a model and inferring its shapes, in the second load.

    Run this in a process that imports the graphfix of the measured checkout.
    """
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
    """Return the number of instructions by model, counted in a process that imports the packages of `tree`.

    A model that graphfix refuses is skipped.
    """
    done = checkouts.python(tree, [__file__, "--child", *paths], PYTHONHASHSEED="0")
    done.check_returncode()
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _count_all(paths: Sequence[Path]) -> dict[str, int]:
    """Return the number of instructions by path, in this process. A model that graphfix refuses is skipped."""
    import graphfix

    found = {}
    for path in paths:
        try:
            found[str(path)] = instructions(path)
        except graphfix.GraphfixError:
            continue  # the model is invalid on purpose
    return found


def models(given: Sequence[str]) -> list[Path]:
    """Return the given files, and all models inside the given folders. Files larger than `LARGEST` are skipped."""
    paths = [Path(each).resolve() for each in given]
    inside = [file for path in paths if path.is_dir() for file in sorted(path.rglob("*")) if file.suffix in SUFFIXES]
    every = [*(path for path in paths if path.is_file()), *inside]
    return [path for path in every if path.stat().st_size <= LARGEST]


def table(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the lines of the table: each model, the largest quotient first, then the summary of all quotients.

    `found` contains the number of instructions of each model, by checkout. The quotients are of the last and the first
    checkout.
    """
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
    """Print the table, and return the exit status."""
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
