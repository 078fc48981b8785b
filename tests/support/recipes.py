"""The recipes of docs/ci.md: its blocks, by the file that their first line names."""

from __future__ import annotations

import re
from functools import cache

from tests.support.places import ROOT

PAGE = ROOT / "docs" / "ci.md"
_BLOCK = re.compile(r"^```(?:yaml|sh)\n# (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
WORKFLOWS = ".github/workflows/"


@cache
def recipes() -> dict[str, str]:
    """What each file holds."""
    return {match["name"]: match["text"] for match in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))}
