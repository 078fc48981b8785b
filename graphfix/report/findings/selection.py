"""Which finding codes count: codes and prefixes of them, of which the longest that fits decides."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphfix.results.records import dataclass

ALL = "ALL"
"""The prefix of every code."""
OWN_CODE = r"(?!GF)[A-Z]{2,8}[0-9]{3}"
"""What a finding code of a rewrite of the user's own looks like."""
OWN_PREFIX = r"(?!GF)[A-Z]{2,8}[0-9]{0,3}"


@dataclass(frozen=True, slots=True)
class CodeSelection:
    """Codes that are asked for and codes that are not, each a code or its beginning: `GF102`, `GF1`, `ALL`."""

    select: Sequence[str] = ()
    """None: all."""
    ignore: Sequence[str] = ()

    def takes(self, code: str) -> bool:
        """Whether a finding of this code counts. Of an equally long prefix on both sides, the ignored one wins."""
        return _longest(self.select or (ALL,), code) > _longest(self.ignore, code)


def may_be_own(prefix: str) -> bool:
    """Whether codes of rewrites of the user's own may begin so: letters, but no GF, and digits."""
    return bool(re.fullmatch(OWN_PREFIX, prefix))


def names_a_code(prefix: str, codes: Sequence[str]) -> bool:
    """Whether any of the codes begins so."""
    return prefix == ALL or (bool(prefix) and any(code.startswith(prefix) for code in codes))


def _longest(prefixes: Sequence[str], code: str) -> int:
    """How long the longest of them is by which the code begins; -1 where there is none."""
    lengths = (0 if prefix == ALL else len(prefix) for prefix in prefixes if prefix == ALL or code.startswith(prefix))
    return max(lengths, default=-1)
