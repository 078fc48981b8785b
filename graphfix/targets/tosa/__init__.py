"""For converters to TOSA: operands of one rank, inputs bound to numbers, operators that convert correctly.

    Add(x[2,3,4], b[4])                    ->  Add(x[2,3,4], b[1,1,4])
    PRELU(x[1,8,8,4], alpha[4])            ->  PRELU(x[1,8,8,4], alpha[1,1,4])
    BATCH_MATMUL(x[2,3,4], y[4,5])         ->  BATCH_MATMUL(x[2,3,4], TILE(y[1,4,5], [2,1,1]))

An operator that a converter refuses or converts wrongly is replaced by other operators. `graphfix check --target tosa`
reports the operators that no rewrite can replace, before any converter runs. `graphfix tosa` rewrites, verifies,
converts, validates and runs.

## What it costs

A converter would do the same work, so there is no extra cost unless the page of a rewrite mentions it (`graphfix
explain RULE`).
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target
from graphfix.targets.tosa.either_format import MAX_RANK

ROW = Target(
    broadcasts="keep",
    rewrites=run_for("explicit", "tosa"),
    static=True,
    max_rank=MAX_RANK,
    elements=True,
    questions="tosa",
    evidence=(
        "https://www.mlplatform.org/tosa/tosa_spec.html: level 8k, MAX_RANK 6, no free sizes",
        "docs/before-tosa.md: real models, converted and run",
        "docs/tosa-values-tflite.md, docs/tosa-values-onnx.md: what the converters make of each operator",
    ),
)
