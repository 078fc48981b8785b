"""Operands have one rank. Axes of size 1 stay, and the operator itself repeats them.

    Add(x[2,3,4], b[4])    ->  Add(x[2,3,4], b[1,1,4])

For tool chains that align axes by their position: converters to TOSA and their dialects, GPU and NPU drivers. A
constant is stored with more axes, which costs no time. A computed value is lifted by a Reshape, which returns a view of
the same bytes.

## What it costs

Some fusions of onnxruntime compare the shape of a scalar, so lifting the scalar can prevent them. `--keep-fusions`
leaves such scalars unchanged.
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target

ISSUES = "https://github.com/google-ai-edge/LiteRT/issues"
ROW = Target(
    broadcasts="keep",
    rewrites=run_for("explicit"),
    evidence=(
        "docs/targets.md: the time that it costs in onnxruntime and LiteRT",
        f"{ISSUES}/8980: a runtime that aligns operands of other ranks from the left, without a word",
    ),
)
