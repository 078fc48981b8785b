"""Compare graphfix's facts about onnx, onnxruntime and LiteRT with what the installed versions do.

    pip install --upgrade onnxruntime && python scripts/new_release.py
    python scripts/new_release.py --only facts operators

Prints a line for each fact that the installed version contradicts, below the name of the table that has it. Ends with 0
where every table is right for the installed versions, else with 1. docs/new-release.md says what to do about each line.
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
from graphfix.results.runtime_facts import FACTS, MEASURED, newer_than_measured, numbers
from tests.support.onnx.fusion_patterns import PATTERNS
from tests.support.onnx.fusions_asked import unlike_the_table
from tests.support.runtimes.catalogue_asked import NOT_ASKED, kernels, schemas, unreviewed
from tests.support.runtimes.questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


def versions() -> Iterator[str]:
    """Yield the packages that are newer than the measured versions, which `MEASURED` then has to list."""
    yield from newer_than_measured({package: metadata.version(package) for package in MEASURED})


def facts() -> Iterator[str]:
    """Yield the facts of `results.runtime_facts` that the installed version contradicts."""
    for fact in FACTS:
        version = metadata.version(fact.package)
        if QUESTIONS[fact.name]() != fact.holds(version):
            seen = "not seen" if fact.holds(version) else "seen"
            yield f"{fact.name}: {seen} in {fact.package} {version}: {fact.what} ({fact.evidence})"


def fusions() -> Iterator[str]:
    """Yield the operands whose change ends a fusion, or no longer does, against `operators/fusions.py`."""
    for name in PATTERNS:
        by_runtime, by_table = unlike_the_table(name)
        for said, operands in (("ends a fusion", by_runtime), ("ends no fusion", by_table)):
            yield from (f"{name}: {rewrite} of {node}, operand {at} {said}" for rewrite, node, at in sorted(operands))


def operators() -> Iterator[str]:
    """Yield operators that the catalogue does not know, and those that have a CPU kernel only now."""
    yield from (f"{domain or 'ai.onnx'}.{op}-{version}: not reviewed" for domain, op, version in unreviewed(schemas()))
    yield from (
        f"{domain}.{op}-{since}: has a kernel now" for domain, op, since in NOT_ASKED if kernels(domain, op, since)
    )


def definitions() -> Iterator[str]:
    """Yield the operators whose definition in the installed onnx is not that of `formats/onnx/schemas.txt`."""
    installed, newest = metadata.version("onnx"), MEASURED["onnx"][-1]
    if numbers(installed) < numbers(newest):
        yield f"not compared: the table is of onnx {newest}, and {installed} is installed"
        return

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
"""By the name on the command line, in the order in which they are asked; the fusions take a minute."""


def report(names: Sequence[str]) -> Iterator[str]:
    """Yield what is different, a line each, under a heading for each table."""
    for name in names:
        lines = list(TABLES[name]())
        yield f"{name}: {f'{len(lines)} different' if lines else 'as the tables say'}"
        yield from (f"  {line}" for line in lines)


def main(argv: list[str] | None = None) -> int:
    """Print what is different; return the exit status."""
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
