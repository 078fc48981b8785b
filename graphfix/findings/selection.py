"""Which finding codes count: codes and prefixes of them, of which the longest that fits decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALL = "ALL"
"""The prefix of every code."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Codes that are asked for and codes that are not, each a code or its beginning: `GF102`, `GF1`, `ALL`."""

    select: Sequence[str] = ()
    """None: all."""
    ignore: Sequence[str] = ()

    def takes(self, code: str) -> bool:
        """Whether a finding of this code counts. Of an equally long prefix on both sides, the ignored one wins."""
        return _longest(self.select or (ALL,), code) > _longest(self.ignore, code)


def names_a_code(prefix: str, known: Sequence[str]) -> bool:
    """Whether any of the codes begins so."""
    return prefix == ALL or (bool(prefix) and any(code.startswith(prefix) for code in known))


def _longest(prefixes: Sequence[str], code: str) -> int:
    """How long the longest of them is by which the code begins; -1 where there is none."""
    lengths = (0 if prefix == ALL else len(prefix) for prefix in prefixes if prefix == ALL or code.startswith(prefix))
    return max(lengths, default=-1)
