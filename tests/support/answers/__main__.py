"""Write the tables of answers again, or the texts that they are digests of."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tests.support.answers import Answers, keep, models, operators
from tests.support.places import model_id


def rows(table: str, wanted: str) -> Iterator[tuple[str, Answers]]:
    """Yield the rows of a table whose name has a text."""
    if table == "models":
        yield from ((model_id(path), models.answers(path)) for path in models.listed() if wanted in model_id(path))
    else:
        every = sorted((*operators.listed("onnx"), *operators.listed("tflite")), key=lambda each: each.name)
        yield from ((each.name, operators.answers(each)) for each in every if wanted in each.name)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.answers", description=__doc__)
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="write the texts there, and leave the tables")
    parser.add_argument("row", nargs="?", default="", help="with --texts: only the rows whose name has this text")
    given = parser.parse_args()
    for table in ("models", "operators"):
        if given.texts is None:
            keep(table, rows(table, ""))
            continue
        for row, answers in rows(table, given.row):
            folder = given.texts / table / row
            folder.mkdir(parents=True, exist_ok=True)
            for question, answer in answers.items():
                (folder / question).write_bytes(answer)


if __name__ == "__main__":
    main()
