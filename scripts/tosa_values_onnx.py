"""Write docs/tosa-values-onnx.md: every ONNX operator through torch-mlir, beside onnxruntime.

    python scripts/tosa_values_onnx.py              all rows of tosa_tables/values_onnx.toml (about 4 minutes)
    python scripts/tosa_values_onnx.py Gelu Cast    only these operators, printed

Ends with 1 where something is wrong and neither rewritten nor named. Needs the extra `tosa`.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_tables.values import NOT_FINITE, Case, main, spread, values_of

from models.builders.grammar import read
from tests.support.notation import model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROWS = Path(__file__).with_name("tosa_tables") / "values_onnx.toml"
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "tosa-values-onnx.md"
MARKS = ("<!-- table: made by scripts/tosa_values_onnx.py -->", "<!-- end of the table -->")
LATEST = 18
FLOATS = ("float16", "float32")


def cases() -> Iterator[Case]:
    """Every row, for each of its types."""
    for row in tomllib.loads(ROWS.read_text(encoding="utf-8"))["rows"]:
        for dtype in row.get("types", "").split() or [""]:
            yield _case(row, dtype)


def _case(row: Mapping[str, Any], dtype: str) -> Case:
    text = row["text"].replace("{t}", dtype)
    (block,) = read(text, integers="int64")
    inputs = [block.values[name] for name in block.inputs]
    given = row.get("given", {})
    feeds = {value.name: values_of(value, given, row.get("domain", ""), at) for at, value in enumerate(inputs)}
    floats = [value.name for value in inputs if value.dtype in FLOATS and value.name not in given]
    beyond = {
        name: spread(feed.shape, NOT_FINITE, place, feed.dtype.name) if name in floats else feed
        for place, (name, feed) in enumerate(feeds.items())
    }
    types = dtype or " ".join(dict.fromkeys(value.dtype for value in inputs))
    operator = row.get("operator") or text.partition("= ")[2].partition("(")[0]
    data = model(text, opset=row.get("opset", LATEST)).SerializeToString()
    last = (beyond,) if floats else ()
    return Case(operator, types, data, ".onnx", (feeds,), row.get("note", ""), last, row.get("tolerance", 0.0))


if __name__ == "__main__":
    sys.exit(main(cases(), DOCUMENT, MARKS, __doc__))
