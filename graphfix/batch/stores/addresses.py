"""Where models lie and results go: a folder here, or one that fsspec reaches by a URL; one interface for both."""

from __future__ import annotations

import os
from pathlib import Path

from graphfix.batch.stores import urls
from graphfix.batch.stores.local import Local
from graphfix.batch.stores.store import Store

HERE = ("file://", "local://")
"""How a URL begins that is a path of this machine."""


def is_url(text: str) -> bool:
    """Whether this names a place that is not reached by a path."""
    return "://" in text and not text.startswith(HERE)


def store(folder: str) -> Store:
    """The store of a folder, which need not be there yet. Raises GraphfixError for a URL that nothing here reads."""
    if not is_url(folder):
        return Local(local_path(folder))
    from graphfix.batch.stores import remote  # fsspec is an extra

    return remote.opened(folder)


def local_path(text: str) -> Path:
    """The path that a text or a URL of this machine says."""
    for start in HERE:
        text = text.removeprefix(start)
    return Path(text)


def one_name(place: str) -> str:
    """The name by which places are compared: all links to a file lead to it, and all protocols of a store."""
    if not is_url(place):
        return os.path.realpath(local_path(place))
    from graphfix.batch.stores import remote

    protocol, separator, rest = place.partition("://")
    return f"{remote.kind(protocol)}{separator}{rest}"


def parted(source: str) -> tuple[Store, str]:
    """The store of the folder that a file is in, and the file's name there, with its query.

    Raises GraphfixError as `store` does.
    """
    if is_url(source):
        bare, query = urls.split(source)
        folder, name = bare[: bare.rindex("/")], bare[bare.rindex("/") + 1 :]
        return store(f"{folder}/" if folder.endswith(":/") else folder), name + query
    path = local_path(source)
    return Local(path.parent), path.name
