"""Which of its routines onnxruntime raises to a power by, as far as the operands' shapes say it.

An exponent that is repeated along the innermost axis is looked at once: 2 and 3 are multiplied out. Any other power
goes to the routine `pow`, which is another number in the last bits, and where integers overflow.
Source: `Broadcaster` and `PowImpl` of onnxruntime; measured in tests/operators/test_elementwise.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof import constant_folding
from graphfix.checker.proof.sizes import broadcast_parts

if TYPE_CHECKING:
    from graphfix.checker.proof.sizes import Size
    from graphfix.checker.proof.terms import View

MULTIPLIED = (2, 3)
FAST, POW = "multiplied out", "pow"


def routine(base: View, exponent: View) -> object:
    """Name the routine; where sizes decide that are not known, say which: equal terms choose alike.

    The innermost axis is the last one, of as many as the shorter shape has, along which one of the two has another
    size than 1; of a scalar the last one of the other. Along it the exponent has to be 1, and the base not.
    """
    if base.sizes is None or exponent.sizes is None:
        return base, exponent
    power = constant_folding.literal(exponent)
    if not base.sizes or (power is not None and not any((power == number).any() for number in MULTIPLIED)):
        return POW
    pairs = zip(reversed(base.sizes), reversed(exponent.sizes or (1,)), strict=False)
    open_: list[tuple[frozenset[Size], frozenset[Size]]] = []
    behind: frozenset[Size] = frozenset()
    end: object = POW
    for of_base, of_exponent in pairs:
        raised = _not_one(of_exponent) - behind
        larger = _not_one(of_base) - raised - behind
        if _has_number(raised):
            break
        if raised or (larger and not _has_number(larger)):
            open_.append((larger, raised))
        if _has_number(larger):
            end = end if raised else FAST
            break
        behind |= raised | larger  # they are 1 wherever the next axis counts
    while open_ and end == POW and not open_[-1][0]:
        open_.pop()  # it is `pow` whether this axis is the innermost one or none is
    return (*open_, end) if open_ else end


def _has_number(sizes: frozenset[Size]) -> bool:
    return any(isinstance(size, int) for size in sizes)


def _not_one(size: Size) -> frozenset[Size]:
    return frozenset(part for part in broadcast_parts(size) if part != 1)
