"""URLs with a query, such as signed ones: the name of their file, and their text without credentials."""

from __future__ import annotations

import re
from typing import Final

from graphfix.batch.local_search import SUFFIXES

QUERIED: Final = ("http://", "https://")
"""The prefixes of URLs that may have a query. In other URLs a `?` belongs to a name or a pattern."""
NAMING: Final = frozenset(
    "branch download file filename format id model name path raw ref rev revision version versionid".split()
)
"""Names of query fields, in lower case, whose values identify the file."""
HARMLESS: Final = NAMING | frozenset(
    "expires se sp sr sv x-amz-algorithm x-amz-date x-amz-expires x-amz-signedheaders".split()
)
"""Names of query fields whose values are shown.

They identify a file, or say how, until when and for what a URL was signed.

The values of all other fields may be credentials.
"""
_URL: Final = re.compile(r"(\w+://[^\s?]+)\?(\S*?)(?=[]:,;.)}>'\"]*(?:\s|$))")
"""A regular expression for a URL in a text: the part before `?`, and the query. Punctuation at the end is excluded."""
_FIELD: Final = re.compile(r"[^&;?]+")
_NAME: Final = re.compile(r"[\w.-]{1,32}")
_NESTED: Final = re.compile(r"[=?]|%(25)*3[DF]", re.IGNORECASE)
"""A regular expression for a value that contains a query itself."""


def split(url: str) -> tuple[str, str]:
    """Return the URL without its query, and the query with its `?`. A URL that may be a pattern has no query."""
    bare, mark, query = url.partition("?")
    return (bare, mark + query) if url.startswith(QUERIED) and _is_query(bare, query) else (url, "")


def file_name(url: str) -> str:
    """Return the last part of the path, which may be empty.

    If it is not the name of a model, the query fields that identify the file follow.
    """
    bare, query = split(url)
    if not query:
        return bare.rstrip("/").rpartition("/")[2]
    last = bare.rpartition("/")[2]
    if last.lower().endswith(SUFFIXES):
        return last
    said = "&".join(field for field in _FIELD.findall(query) if _field(field, NAMING) == field)
    return f"{last}?{said.replace('/', '%2F')}" if said else last


def shown(text: str) -> str:
    """Return a text in which the values of URLs' query fields are hidden, except those known to be harmless."""
    return _URL.sub(_masked, text)


def _is_query(bare: str, text: str) -> bool:
    """Return whether the text behind a `?` is a query and not a part of a pattern, as in `m?.onnx`."""
    if "=" in text or not bare.startswith(QUERIED):
        return "=" in text
    is_pattern = text.endswith(SUFFIXES) or not {"*", "["}.isdisjoint(text)
    return text not in {"", "/"} and (bare.lower().endswith(SUFFIXES) or not is_pattern)


def _masked(url: re.Match[str]) -> str:
    bare, query = url.groups()
    return f"{bare}?{_FIELD.sub(lambda field: _field(field[0], HARMLESS), query) if _is_query(bare, query) else query}"


def _field(field: str, harmless: frozenset[str]) -> str:
    """Return a field of a query, with its value only if its name is in `harmless`."""
    name, _, value = field.partition("=")
    if not _NAME.fullmatch(name) or not value.strip("="):  # a value alone, perhaps of base64
        return "***"
    return field if name.lower() in harmless and not _NESTED.search(value) else f"{name}=***"
