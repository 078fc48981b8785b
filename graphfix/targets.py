"""Targets: named option sets; and the names that the command line offers, without importing what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TARGETS: Mapping[str, str] = MappingProxyType({"explicit": "explicit", "ranks": "keep"})
"""Target -> what it does with degenerate axes (`--broadcasts`)."""
BROADCASTS = ("keep", "two-sided", "explicit")
UNKNOWN = ("expand", "keep", "assume", "error")
RULES = ("upgrade-legacy-broadcast", "normalize-expand", "equalize-ranks", "materialize-broadcasts")
"""The rewrites in the order in which they run; a test compares them with `rewrites.ALL`."""
