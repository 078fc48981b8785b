"""Compare graphfix's facts about onnx, onnxruntime and LiteRT with the installed versions.

    pip install --upgrade onnxruntime && python scripts/new_release.py
    python scripts/new_release.py --only facts operators

Prints a line for each fact that the installed version contradicts, below the name of its table. The exit status is 0 if
all tables that can be compared are correct for the installed versions, else 1. docs/new-release.md explains the next
step for each line.
"""

from __future__ import annotations

import argparse
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import schemas_table

from graphfix.formats.onnx.schemas import TABLE
from graphfix.results.runtime_facts import FACTS, MEASURED, Fact, newer_than_measured, numbers
from tests.support.onnx.fusion_patterns import PATTERNS
from tests.support.onnx.fusions_asked import unlike_the_table
from tests.support.runtimes.catalogue_asked import NOT_ASKED, kernels, schemas, unlike_first_seen, unreviewed
from tests.support.runtimes.questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class NotComparedError(Exception):
    """A table cannot be compared with the installed versions; the text contains the reason."""


def versions() -> Iterator[str]:
    """Yield a line for each package whose installed version is newer than its versions in `MEASURED`."""
    yield from newer_than_measured({package: metadata.version(package) for package in MEASURED})


def facts() -> Iterator[str]:
    """Yield a line for each fact of `results.runtime_facts` that the installed version contradicts."""
    for fact in FACTS:
        yield from with_failure(fact.name, fact_lines(fact))


def fact_lines(fact: Fact) -> Iterator[str]:
    """Yield a line if the installed version contradicts the fact."""
    version = metadata.version(fact.package)
    if QUESTIONS[fact.name]() != fact.holds(version):
        seen = "not seen" if fact.holds(version) else "seen"
        yield f"{fact.name}: {seen} in {fact.package} {version}: {fact.what} ({fact.evidence})"


def fusions() -> Iterator[str]:
    """Yield a line for each operand on which onnxruntime and `operators/fusions.py` disagree.

    They disagree if only one of them states that a change of the operand's shape prevents a fusion.
    """
    for name in PATTERNS:
        yield from with_failure(name, fusion_lines(name))


def fusion_lines(name: str) -> Iterator[str]:
    """Yield a line for each operand of one pattern on which onnxruntime and the table disagree."""
    by_runtime, by_table = unlike_the_table(name)
    for said, operands in (("ends a fusion", by_runtime), ("ends no fusion", by_table)):
        yield from (f"{name}: {rewrite} of {node}, operand {at} {said}" for rewrite, node, at in sorted(operands))


def operators() -> Iterator[str]:
    """Yield a line for each operator that contradicts graphfix's tables of ONNX operators.

    Such an operator is not reviewed, or has a CPU kernel although the table lists it as an operator without a kernel,
    or contradicts `FIRST_SEEN`.
    """
    yield from (f"{domain or 'ai.onnx'}.{op}-{version}: not reviewed" for domain, op, version in unreviewed(schemas()))
    yield from (
        f"{domain or 'ai.onnx'}.{op}-{since}: has a kernel now"
        for domain, op, since in NOT_ASKED
        if kernels(domain, op, since)
    )
    for said, names in zip(
        ("does not exist", "exists before the version in FIRST_SEEN"), unlike_first_seen(), strict=True
    ):
        yield from (f"{domain or 'ai.onnx'}.{op}: {said}" for domain, op in sorted(names))


def definitions() -> Iterator[str]:
    """Yield a line for each operator whose definition in the installed onnx differs from `formats/onnx/schemas.txt`.

    Raise NotComparedError if the installed onnx is older than the table.
    """
    installed, newest = metadata.version("onnx"), MEASURED["onnx"][-1]
    if numbers(installed) < numbers(newest):
        raise NotComparedError(f"the table is of onnx {newest}, and {installed} is installed")

    def rows(text: str) -> dict[str, str]:
        return {each.partition("\n")[0]: each for each in text.split("\n\n")}

    before, now = rows(TABLE.read_text(encoding="utf-8")), rows(schemas_table.table())
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    yield from (f"{name}: run scripts/schemas_table.py, and read what changed" for name in changed)


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "versions": versions,
    "facts": facts,
    "operators": operators,
    "definitions": definitions,
    "fusions": fusions,
}
"""The comparisons by their name on the command line, in the order in which they run."""


def with_failure(name: str, lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines. If the comparison raises an exception, also yield a line with the exception's text.

    NotComparedError is raised again.
    """
    try:
        yield from lines
    except NotComparedError:
        raise
    except Exception as error:  # noqa: BLE001 -- a runtime that refuses a question is an answer, and others follow
        yield f"{name}: the comparison failed: {type(error).__name__}: {' '.join(str(error).split())}"


def report(names: Sequence[str]) -> Iterator[str]:
    """Yield a heading for each table, and below it a line for each difference."""
    for name in names:
        try:
            lines = list(with_failure(name, TABLES[name]()))
        except NotComparedError as error:
            yield f"{name}: not compared: {error}"
            continue
        yield f"{name}: {f'{len(lines)} different' if lines else 'as the tables say'}"
        yield from (f"  {line}" for line in lines)


def main(argv: list[str] | None = None) -> int:
    """Print the differences, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    print(", ".join(f"{package} {metadata.version(package)}" for package in MEASURED))
    different = False
    for line in report(parser.parse_args(argv).only):
        print(line, flush=True)
        different |= line.startswith("  ")
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
