"""What the proof's terms for sizes come to, once the declared sizes are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core import polynomials as poly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Size


def value(size: Size, declared: Mapping[str, int]) -> int | None:
    """Compute a term by Python's own arithmetic; None for one that holds more than declared sizes."""
    if isinstance(size, int):
        return size
    kind = size.key[0]
    if kind == "declared":
        return declared.get(str(size.key[1]))
    if kind not in (poly.SUM, poly.FLOOR, poly.POSITIVE):
        return None
    whole = poly.polynomial(size) if kind == poly.SUM else poly.polynomial_of(size)
    total = 0
    for factors, number in whole:
        product = number
        for factor in factors:
            found = value(factor, declared)
            if found is None:
                return None
            product *= found
        total += product
    if kind == poly.SUM:
        return total
    return max(total, 0) if kind == poly.POSITIVE else total // poly.divisor(size)
