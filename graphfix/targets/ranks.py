"""Operands have one rank; axes of size 1 stay, and the operator stretches them.

    Add(x[2,3,4], b[4])    ->  Add(x[2,3,4], b[1,1,4])

For tool chains that align axes by their place: converters to TOSA and their dialects, GPU and NPU drivers. A constant
is stored with more axes, and takes no time; a value that is computed is lifted by a Reshape, which is a view of the
same bytes.

## What it costs

A scalar that is lifted can end a fusion of onnxruntime that matches it by its shape: `--keep-fusions` leaves those.
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
