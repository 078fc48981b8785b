"""`compact`, but for what onnxruntime's fusions on a CPU match by shape: that stays as the pattern wants it.

    Div(x[2,3,8], sqrt2[]) ... Mul(.., half[])    a Gelu matches scalars: none becomes [1]
    Add(MatMul(x, w), b[8])                       a Gemm takes its bias with one axis

The patterns are data (`graphfix/targets/onnxruntime/fusions.py`): Gelu and its kin, LayerNormalization,
SkipLayerNormalization, Attention, Gemm. What is left for one of them is listed with its name.

## What it costs

Nothing is added. `docs/targets.md` has time, memory and the fusions that are won or lost on real models.
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
