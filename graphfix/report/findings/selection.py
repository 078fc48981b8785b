"""Select finding codes by codes and prefixes of codes; the longest matching prefix decides."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphfix.results.records import dataclass

ALL = "ALL"
"""The word that matches every code."""
OWN_CODE = r"(?!GF)[A-Z]{2,8}[0-9]{3}"
"""A regular expression for finding codes of the user's own rewrites."""
OWN_PREFIX = r"(?!GF)[A-Z]{2,8}[0-9]{0,3}"


@dataclass(frozen=True, slots=True)
class CodeSelection:
    """Selected and ignored codes; each is a code or a prefix: `GF102`, `GF1`, `ALL`."""

    select: Sequence[str] = ()
    """If empty, all codes are selected."""
    ignore: Sequence[str] = ()

    def takes(self, code: str) -> bool:
        """Return whether a finding of this code counts.

        If both sides have a match of the same length, the code is ignored.
        """
        return _longest(self.select or (ALL,), code) > _longest(self.ignore, code)


def may_be_own(prefix: str) -> bool:
    """Return whether a prefix can begin a code of the user's own rewrites: letters other than GF.., then digits."""
    return bool(re.fullmatch(OWN_PREFIX, prefix))


def names_a_code(prefix: str, codes: Sequence[str]) -> bool:
    """Return whether a prefix is `ALL` or begins one of the codes."""
    return prefix == ALL or (bool(prefix) and any(code.startswith(prefix) for code in codes))


def _longest(prefixes: Sequence[str], code: str) -> int:
    """Return the length of the longest prefix that matches the code; 0 for `ALL`, -1 without a match."""
    lengths = (0 if prefix == ALL else len(prefix) for prefix in prefixes if prefix == ALL or code.startswith(prefix))
    return max(lengths, default=-1)
