"""`compact`, except for operands whose shapes onnxruntime's fusions on a CPU compare: those keep their shapes.

    Div(x[2,3,8], sqrt2[]) ... Mul(.., half[])    a Gelu matches scalars: none becomes [1]
    Add(MatMul(x, w), b[8])                       the bias of a Gemm must have one axis

The patterns of the fusions are data (`graphfix/targets/onnxruntime/fusions.py`): Gelu and its variants,
LayerNormalization, SkipLayerNormalization, Attention, Gemm. Each operand that is left unchanged for a fusion is
reported with the fusion's name.

## What it costs

Nothing is added. `docs/targets.md` lists time, memory and the fusions that are gained or lost on real models.
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target

ROW = Target(
    broadcasts="keep",
    rewrites=run_for("compact"),
    keep_fusions=True,
    evidence=("docs/targets.md: time, memory and fusions against the original",),
)
