"""Write docs/tosa-values-tflite.md: every TFLite operator through tosa-converter-for-tflite, beside LiteRT.

    python scripts/tosa_values_tflite.py              all rows of tosa_values_tflite.toml (about 2 minutes)
    python scripts/tosa_values_tflite.py GELU CAST    only these operators, printed

Ends with 1 where something is wrong and neither rewritten nor named. Needs the extra `tosa`.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_values import DOMAINS, NEAR, NOT_FINITE, POSITIVE, WRONG, Array, Case, Result, audit, spread

from graphfix.runtimes import tosa
from models.builders.grammar import read
from models.builders.tflite.text import Quantized, model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from models.builders.grammar import Value

ROWS = Path(__file__).with_suffix(".toml")
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "tosa-values-tflite.md"
BEGIN, END = "<!-- table: made by scripts/tosa_values_tflite.py -->", "<!-- end of the table -->"
HEADS = ("operator", "types", "form", "what becomes of it")
NARROWED = {"near": NEAR, "positive": POSITIVE}
QUANTIZED = frozenset({"int8", "uint8", "int16"})


def main() -> int:
    """Try the rows; say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    operators = parser.parse_args().operators
    results = audit(case for case in cases() if not operators or case.operator in operators)
    if operators:
        print("\n".join(map(line, results)))
    else:
        _write(results)
    wrong = [result for result in results if result.status in WRONG]
    print("\n".join(map(line, wrong)), file=sys.stderr)
    print(dict(Counter(result.status for result in results)), file=sys.stderr)
    return 1 if wrong else 0


def cases() -> Iterator[Case]:
    """Every row, for each of its types."""
    for row in tomllib.loads(ROWS.read_text(encoding="utf-8"))["rows"]:
        for dtype in row.get("types", "").split() or [""]:
            yield _case(row, dtype)


def line(result: Result) -> str:
    """A row of the table."""
    cells = (result.case.operator, result.case.types, result.case.note, _became(result))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _case(row: Mapping[str, Any], dtype: str) -> Case:
    text = row["text"].replace("{t}", dtype)
    (block, *_) = read(text, integers="int32")
    inputs = [block.values[name] for name in block.inputs]
    given = row.get("given", {})
    feeds = {value.name: _values(value, given, row.get("domain", ""), at) for at, value in enumerate(inputs)}
    floats = [value.name for value in inputs if value.dtype == "float32" and value.name not in given]
    beyond = {
        name: spread(feed.shape, NOT_FINITE, place, "float32") if name in floats else feed
        for place, (name, feed) in enumerate(feeds.items())
    }
    scales = {
        name: Quantized(*scale) if scale else None
        for name, scale in row.get("quantization", {}).items()
        if name in block.values and (not scale or block.values[name].dtype in {*QUANTIZED, "int32"})
    }
    types = dtype or " ".join(dict.fromkeys(value.dtype for value in inputs))
    operator = row.get("operator") or text.partition("= ")[2].partition("(")[0]
    last = (beyond,) if floats else ()
    data = model(text, quantization=scales)
    return Case(operator, types, data, ".tflite", (feeds,), row.get("note", ""), last, row.get("tolerance", 0.0))


def _values(value: Value, given: Mapping[str, Sequence[float]], domain: str, place: int) -> Array:
    dims = tuple(size for size in value.dims or () if isinstance(size, int))
    if value.name in given:
        return spread(dims, given[value.name], 0, value.dtype)
    narrowed = NARROWED.get(domain) if value.dtype == "float32" else None
    return spread(dims, narrowed or DOMAINS[value.dtype], place, value.dtype)


def _became(result: Result) -> str:
    text = {"agrees": "agrees", "rewritten": f"rewritten ({', '.join(result.rewrites)}): agrees"}.get(result.status, "")
    beyond = f"; NaN, infinities: {result.not_finite}" if result.not_finite else ""
    return (text or f"{result.status}: {result.reason}") + beyond


def _write(results: Sequence[Result]) -> None:
    lines = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}", *map(line, results)]
    lines += ["", ", ".join(f"{name} {version}" for name, version in tosa.versions().items()) + "."]
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    table = "\n".join(lines)
    DOCUMENT.write_text(f"{head}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
