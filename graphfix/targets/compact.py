"""The inverse of `explicit`: removes nodes and axes that an operator's own broadcasting makes redundant.

    Add(x[2,3,4], Expand(b[4], Shape(x)))  ->  Add(x[2,3,4], b[4])
    Add(x[2,3,4], b[1,1,4])                ->  Add(x[2,3,4], b[4])
    Mul(x[N,4], ones[N,4])                 ->  x[N,4]

Nodes that only computed operands of a removed node are removed, too. Use this target for runtimes, which broadcast
without a copy, and for optimizers that match short forms. `compact` after `explicit` results in the same operators as
`compact` alone. A node stays if graphfix can't show that it is redundant: `graphfix explain fold-broadcasts`.

## What it costs

Nothing is added. Operands may have different ranks afterwards, so do not use this target before a tool chain that
requires equal ranks.
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target

ROW = Target(
    broadcasts="keep",
    rewrites=run_for("compact"),
    evidence=("docs/targets.md: time, memory and operators against the original",),
)
