"""No operator broadcasts: all operands have one rank, and nodes or stored constants repeat the axes of size 1.

    Add(x[2,3,4], b[4])    ->  Add(x[2,3,4], Expand(b[1,1,4], [2,3,4]))

This is the default. Use it for compilers that support no implicit broadcast, neither of ranks nor of sizes.

## What it costs

An Expand in onnxruntime and a BROADCAST_TO in LiteRT are copies: `docs/targets.md` lists the time for real models. Free
sizes cost most, because then no constant can be stored in its full size. So bind them (`--dim`, `--shape`). If a tool
chain requires equal ranks only, use `ranks`.
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
