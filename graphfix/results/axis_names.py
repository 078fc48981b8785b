"""Check names of input axes such as `x[0]`, which `--dim` can't bind; the rewriter and the checker both call it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Declared: TypeAlias = Mapping[str, Sequence[int | str | None] | None]
"""By input: for each axis its size or its symbol; None or a negative number for a free axis without a symbol."""


def axis_fault(name: str, inputs: Declared) -> str | None:
    """Return the reason why `--dim name=4` can't bind the axis that `name` means, with advice.

    Returns None if `name` is not of the form `input[axis]`, names no input, or names a free axis without a symbol.
    """
    match = re.fullmatch(r"(.+)\[(\d+)\]", name, re.DOTALL)
    sizes = inputs.get(match[1]) if match is not None else None
    if match is None or sizes is None:
        return None
    axis = int(match[2]) if len(match[2]) < 10 else len(sizes)  # noqa: PLR2004 -- Python reads no number of any length
    if axis >= len(sizes):
        return f"'{match[1]}' has {len(sizes)} axes, numbered from 0"
    size = sizes[axis]
    if isinstance(size, str):
        return f"axis {axis} of '{match[1]}' has the name {size}: say --dim {size}=<size>"
    if size is None or size < 0:
        return None
    return f"axis {axis} of '{match[1]}' is static: its size is {size} in the file; leave this option out"
