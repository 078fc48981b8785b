"""No operator broadcasts: operands have one rank, and axes of size 1 are stretched by nodes or in written constants.

    Add(x[2,3,4], b[4])    ->  Add(x[2,3,4], Expand(b[1,1,4], [2,3,4]))

The default. For compilers that have no implicit broadcast of either kind.

## What it costs

An Expand in onnxruntime and a BROADCAST_TO in LiteRT are copies: `docs/targets.md` has the time of real models. Sizes
that are free cost most, for then nothing can be written out beforehand: bind them (`--dim`, `--shape`). Where a tool
chain minds ranks alone, take `ranks`.
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target

ROW = Target(
    broadcasts="explicit",
    rewrites=run_for("explicit"),
    evidence=(
        "docs/targets.md: the time that it costs in onnxruntime and LiteRT",
        "docs/proof.md: what is proved of each rewrite",
    ),
)
