"""Write the before/after tables of docs/before-tosa.md: every real model through the TOSA tools, as it is and fixed.

    python scripts/tosa_table.py                  all models, the tables into docs/before-tosa.md (about 15 minutes)
    python scripts/tosa_table.py nmp silero       only the models whose path holds one of the words, printed

The zoo and models/exported, two models at a time, each in a process of its own with a limit of time. Needs the zoo
(scripts/fetch_zoo.py) and the extra `tosa`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tosa_tables.measure import AGREES, VALID, Row
from tosa_tables.zoo import ZOO

from graphfix.formats.tflite.signature import keys
from graphfix.runtimes import tosa

HERE = Path(__file__).resolve().parent
EXPORTED = HERE.parent / "models" / "exported"
DOCUMENT = HERE.parent / "docs" / "before-tosa.md"
BEGIN, END = "<!-- table: made by scripts/tosa_table.py -->", "<!-- end of the table -->"
LONGEST_SECONDS = 600
HEADS = ("model", "as it is", "fixed", "TOSA", "operators", "`.tosa` bytes", "worst, of the range", "named", "s")
COUNTS = (
    "",
    "models",
    "valid as they are",
    "fixed: proved",
    "bounded",
    "equal",
    "valid TOSA",
    "agree",
    "clean",
    "of these agree",
)


class Model(NamedTuple):
    """What is a row."""

    path: Path
    signature: str | None = None


Rows: TypeAlias = Mapping[Model, Row]


def main() -> int:
    """Make the rows; say on stderr which model is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    words = parser.parse_args().words
    every = [path for suffix in ("tflite", "onnx") for path in sorted(ZOO.glob(f"*/*.{suffix}"))]
    every += [path for suffix in ("tflite", "onnx") for path in sorted(EXPORTED.glob(f"*.{suffix}"))]
    asked = [path for path in every if not words or any(word in str(path) for word in words)]
    models = [Model(path, name) for path in asked for name in _signatures(path)]
    with ThreadPoolExecutor(2) as pool:
        rows = dict(zip(models, pool.map(_row, models), strict=True))
    text = "\n".join(_text(rows))
    if words:
        print(text)
    else:
        head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
        DOCUMENT.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


def _signatures(path: Path) -> list[str | None]:
    """The signatures of a TFLite model that is several functions: each is a model for TOSA."""
    found = keys(path) if path.suffix == ".tflite" else {}
    return list(found) if len(set(found.values())) > 1 else [None]


def _row(model: Model) -> Row:
    print(model.path.name, model.signature or "", file=sys.stderr)
    command = [
        sys.executable,
        "-m",
        "tosa_tables.measure",
        model.path.resolve(),
        *([model.signature] if model.signature else []),
    ]
    try:
        ended = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Row("", f"no: longer than {LONGEST_SECONDS} s")
    if ended.returncode:
        return Row("", f"no: {(ended.stderr.strip().splitlines() or [''])[-1]}")
    found = json.loads(ended.stdout)
    return Row(**{**found, "operator_names": tuple(found["operator_names"])})


def _text(rows: Rows) -> list[str]:
    """First what was counted, then a table for each source."""
    lines = [f"| {' | '.join(COUNTS)} |", f"|{' --- |' * len(COUNTS)}"]
    sources = (("the zoo", ZOO), ("exported", EXPORTED))
    for name, folder in sources:
        for suffix in (".tflite", ".onnx"):
            some = [row for (path, _), row in rows.items() if path.is_relative_to(folder) and path.suffix == suffix]
            lines.append(f"| {' | '.join((f'{name}, {suffix[1:]}', *map(str, _counted(some))))} |")
    for name, folder in sources:
        lines += ["", f"### {name.capitalize()}", "", f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
        own = [(model, row) for model, row in rows.items() if model.path.is_relative_to(folder)]
        lines += [f"| {' | '.join(_cells(model, row))} |" for model, row in own]
    return [*lines, "", ", ".join(f"{name} {version}" for name, version in tosa.versions().items()) + "."]


def _counted(rows: Sequence[Row]) -> list[int]:
    clean = [row for row in rows if not row.operator_names and row.became]
    agree = [row for row in rows if row.became.startswith(AGREES)]
    valid = [row for row in rows if row.operators is not None]
    fixed = [sum(row.fixed == status for row in rows) for status in ("proved", "bounded", "equal")]
    as_they_are = sum(row.as_it_is == VALID for row in rows)
    return [len(rows), as_they_are, *fixed, len(valid), len(agree), len(clean), sum(row in agree for row in clean)]


def _cells(model: Model, row: Row) -> list[str]:
    path = model.path
    name = str(path.relative_to(ZOO)) if path.is_relative_to(ZOO) else path.name
    name += f" ({model.signature})" if model.signature else ""
    numbers = ["" if number is None else str(number) for number in (row.operators, row.bytes)]
    operators = ", ".join(row.operator_names[:4]) + (", ..." if len(row.operator_names) > 4 else "")
    cells = [name, row.as_it_is, row.fixed, row.became, *numbers, row.worst, operators, f"{row.seconds:.0f}"]
    return [cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells]


if __name__ == "__main__":
    sys.exit(main())
