"""Write docs/tosa-values-tflite.md: every TFLite operator through tosa-converter-for-tflite, beside LiteRT.

    python scripts/tosa_values_tflite.py              all rows of tosa_tables/values_tflite.toml (about 2 minutes)
    python scripts/tosa_values_tflite.py GELU CAST    only these operators, printed

Ends with 1 where something is wrong and neither rewritten nor named. Needs the extra `tosa`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_tables.values import NOT_FINITE, Case, main, spread, values_of

from models.builders.grammar import read
from models.builders.tflite.text import Quantized, model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROWS = Path(__file__).with_name("tosa_tables") / "values_tflite.toml"
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "tosa-values-tflite.md"
MARKS = ("<!-- table: made by scripts/tosa_values_tflite.py -->", "<!-- end of the table -->")
QUANTIZED = frozenset({"int8", "uint8", "int16"})


def cases() -> Iterator[Case]:
    """Every row, for each of its types."""
    for row in tomllib.loads(ROWS.read_text(encoding="utf-8"))["rows"]:
        for dtype in row.get("types", "").split() or [""]:
            yield _case(row, dtype)


def _case(row: Mapping[str, Any], dtype: str) -> Case:
    text = row["text"].replace("{t}", dtype)
    (block, *_) = read(text, integers="int32")
    inputs = [block.values[name] for name in block.inputs]
    given = row.get("given", {})
    feeds = {value.name: values_of(value, given, row.get("domain", ""), at) for at, value in enumerate(inputs)}
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


if __name__ == "__main__":
    sys.exit(main(cases(), DOCUMENT, MARKS, __doc__))
