"""URLs with a query, as stores sign them: the file's name, and what of them is shown: nothing that gives access."""

from __future__ import annotations

import re
from typing import Final

from graphfix.batch.local_search import SUFFIXES

QUERIED: Final = ("http://", "https://")
"""How URLs begin that may have a query: elsewhere a `?` is a letter of a name, or of a pattern."""
NAMING: Final = frozenset(
    "branch download file filename format id model name path raw ref rev revision version versionid".split()
)
"""Names in a query, in small letters, whose values say which file is meant."""
HARMLESS: Final = NAMING | frozenset(
    "expires se sp sr sv x-amz-algorithm x-amz-date x-amz-expires x-amz-signedheaders".split()
)
"""All whose values are shown: also those that say how, until when and for what a URL was signed. Others give access."""
_URL: Final = re.compile(r"(\w+://[^\s?]+)\?(\S*?)(?=[]:,;.)}>'\"]*(?:\s|$))")
"""A URL in a text, before and after its `?`; what ends a word may stand behind it."""
_FIELD: Final = re.compile(r"[^&;?]+")
_NAME: Final = re.compile(r"[\w.-]{1,32}")
_NESTED: Final = re.compile(r"[=?]|%(25)*3[DF]", re.IGNORECASE)
"""In a value: it has a query of its own."""


def split(url: str) -> tuple[str, str]:
    """The URL without its query, and the query from its `?` on; what may be a pattern has none."""
    bare, mark, query = url.partition("?")
    return (bare, mark + query) if url.startswith(QUERIED) and _is_query(bare, query) else (url, "")


def file_name(url: str) -> str:
    """The last part of the path, with what the query says of the file where that part names no model; may be empty."""
    bare, query = split(url)
    if not query:
        return bare.rstrip("/").rpartition("/")[2]
    last = bare.rpartition("/")[2]
    if last.lower().endswith(SUFFIXES):
        return last
    said = "&".join(field for field in _FIELD.findall(query) if _field(field, NAMING) == field)
    return f"{last}?{said.replace('/', '%2F')}" if said else last


def shown(text: str) -> str:
    """The text, in which each URL keeps the names of its query, and of the values those that are known as harmless."""
    return _URL.sub(_masked, text)


def _is_query(bare: str, text: str) -> bool:
    """Whether what follows a `?` is no more of a pattern, as in `m?.onnx`."""
    if "=" in text or not bare.startswith(QUERIED):
        return "=" in text
    is_pattern = text.endswith(SUFFIXES) or not {"*", "["}.isdisjoint(text)
    return text not in {"", "/"} and (bare.lower().endswith(SUFFIXES) or not is_pattern)


def _masked(url: re.Match[str]) -> str:
    bare, query = url.groups()
    return f"{bare}?{_FIELD.sub(lambda field: _field(field[0], HARMLESS), query) if _is_query(bare, query) else query}"


def _field(field: str, harmless: frozenset[str]) -> str:
    """The field of a query, with its value only where its name is one of these."""
    name, _, value = field.partition("=")
    if not _NAME.fullmatch(name) or not value.strip("="):  # a value alone, perhaps of base64
        return "***"
    return field if name.lower() in harmless and not _NESTED.search(value) else f"{name}=***"
