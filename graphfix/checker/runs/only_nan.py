"""Outputs that are NaN throughout: whatever else ends in NaN would be equal too, so nothing of them was compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.checker.runs.difference import is_float

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def has_number(value: object) -> bool | None:
    """Whether an output shows anything but NaN; None for one of no elements."""
    if not isinstance(value, np.ndarray):
        return True
    if not value.size:
        return None
    return not is_float(value) or not (_nan(value.reshape(-1)[:1]) and _nan(value))


def _nan(value: np.ndarray[Any, Any]) -> bool:
    return bool(np.isnan(value.astype(np.float64)).all())


def only_nan(runs: Iterable[Mapping[str, bool | None]]) -> list[str]:
    """Return the outputs of which no run shows a number: by run and output, what `has_number` says."""
    seen: dict[str, bool] = {}
    for numbers in runs:
        for name, known in numbers.items():
            if known is not None:
                seen[name] = seen.get(name, False) or known
    return [name for name, known in seen.items() if not known]


def nothing_compared(names: Iterable[str]) -> str:
    """Say of outputs that nothing of them was compared."""
    return f"in every run NaN throughout, so that nothing was compared: {', '.join(names)}"
