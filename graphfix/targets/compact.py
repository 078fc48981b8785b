"""The other way: what an operator's own broadcasting makes redundant goes, and what only fed it.

    Add(x[2,3,4], Expand(b[4], Shape(x)))  ->  Add(x[2,3,4], b[4])
    Add(x[2,3,4], b[1,1,4])                ->  Add(x[2,3,4], b[4])
    Mul(x[N,4], ones[N,4])                 ->  x[N,4]

For runtimes, which broadcast without a copy, and for optimizers that match short forms. `compact` after `explicit` has
the operators of `compact` alone. What can't be shown to be redundant stays: `graphfix explain fold-broadcasts`.

## What it costs

Nothing is added. Operands of different ranks come back: do not put it in front of a tool chain that minds them.
"""

from __future__ import annotations

from graphfix.targets.registry import run_for
from graphfix.targets.target import Target

ROW = Target(
    broadcasts="keep",
    rewrites=run_for("compact"),
    evidence=("docs/targets.md: time, memory and operators against the original",),
)
