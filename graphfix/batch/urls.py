"""URLs with a query, as stores sign them: the file's name is without it, and nobody is shown what gives access."""

from __future__ import annotations

import re
from typing import Final

QUERIED: Final = ("http://", "https://")
"""How URLs begin that may have a query: elsewhere a `?` is a letter of a name, or of a pattern."""
_SECRET: Final = re.compile(
    r"([?&][^=&?\s]*(?:sig|token|key|secret|credential|passw|pwd|auth|access|session|code)[^=&?\s]*=)[^&\s'\"<>]+",
    re.IGNORECASE,
)


def split(url: str) -> tuple[str, str]:
    """The URL without its query, and the query from its `?` on; one that says nothing of the kind `a=b` is none."""
    bare, mark, query = url.partition("?")
    return (bare, mark + query) if url.startswith(QUERIED) and "=" in query else (url, "")


def file_name(url: str) -> str:
    """The last part of the path."""
    return split(url)[0].rstrip("/").rpartition("/")[2]


def shown(text: str) -> str:
    """The text, in which each URL keeps the names of its query, and of the values those that give no access."""
    return _SECRET.sub(r"\1***", text)
