"""Find the store for a path or a URL: a local folder, or one that fsspec reads. Both have one interface."""

from __future__ import annotations

import os
from pathlib import Path

from graphfix.batch.stores import urls
from graphfix.batch.stores.local import Local
from graphfix.batch.stores.store import Store

HERE = ("file://", "local://")
"""The prefixes of URLs that are local paths."""


def is_url(text: str) -> bool:
    """Return whether a text is a URL of a place without a local path."""
    return "://" in text and not text.startswith(HERE)


def store(folder: str) -> Store:
    """Return the store of a folder, which need not exist.

    Raises GraphfixError for a URL that no installed package reads.
    """
    if not is_url(folder):
        return Local(local_path(folder))
    from graphfix.batch.stores import remote  # fsspec is an extra

    return remote.opened(folder)


def local_path(text: str) -> Path:
    """Return the path of a text, which may be a `file://` URL."""
    for start in HERE:
        text = text.removeprefix(start)
    return Path(text)


def one_name(place: str) -> str:
    """Return a name that is equal for all links to a file, and for all protocols of a store."""
    if not is_url(place):
        return os.path.realpath(local_path(place))
    from graphfix.batch.stores import remote

    protocol, separator, rest = place.partition("://")
    return f"{remote.kind(protocol)}{separator}{rest}"


def parted(source: str) -> tuple[Store, str]:
    """Return the store of a file's folder, and the file's name with its query. Raises GraphfixError as `store` does."""
    if is_url(source):
        bare, query = urls.split(source)
        folder, name = bare[: bare.rindex("/")], bare[bare.rindex("/") + 1 :]
        return store(f"{folder}/" if folder.endswith(":/") else folder), name + query
    path = local_path(source)
    return Local(path.parent), path.name
