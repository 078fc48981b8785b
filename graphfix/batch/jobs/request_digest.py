"""Compute a digest of a request. Requests that give the same result for the same bytes have the same digest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from graphfix.api.own_rewrites import GROUP
from graphfix.batch.jobs.job import Command
from graphfix.batch.stores.store import digest_of
from graphfix.engine.request import Request
from graphfix.results import GraphfixError
from graphfix.results.error_texts import shown

SPARED = frozenset({"data_roots", "target_file", "in_place", "report", "excerpt", "progress"})
"""Fields that do not change the result.

`goal` contains the content of a target file; the excerpt is compared separately.
"""


def digest(command: Command, request: Request) -> str:
    """Return the digest of a command and a request, including the content of the files that the request names.

    Raises GraphfixError for a rewrite that is a Python object.
    """
    said = {name: form(getattr(request, name)) for name, form in FORMS.items()}
    text = json.dumps([command, said], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    """Return the value of a field as JSON; sets are sorted."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__}: no digest of it is known")


def _names(value: object) -> object:
    """Return the names of folders. Their data files need no digest here: they are part of the model's own digests."""
    given = (value,) if isinstance(value, (str, os.PathLike)) else value
    return [str(each) for each in given]  # type: ignore[attr-defined]  # a sequence of paths


def _files(value: object) -> object:
    """Return the digests of the content of a path, or of several paths; of a folder, those of all files below it."""
    if value is None:
        return None
    paths = (value,) if isinstance(value, (str, os.PathLike)) else value
    return [_content(Path(path)) for path in paths]  # type: ignore[attr-defined]  # a sequence of paths


def _content(path: Path) -> object:
    """Return the digests of a file, or of all files below a folder; None if it can't be read.

    The job reports the error later.
    """
    try:
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        return [[file.relative_to(path).as_posix(), digest_of(file, "").sha256] for file in files]
    except (OSError, ValueError):
        return None


def _rewrites(value: Iterable[object]) -> object:
    return [_rewrite(each) for each in value]


def _rewrite(given: object) -> object:
    """Return the digest of a Python file, or for an installed rewrite that of its module and the version."""
    if not isinstance(given, (str, os.PathLike)):
        raise GraphfixError(f"{shown(given)}: a batch takes rewrites as files or by their installed names")
    text = str(given)
    if text.endswith(".py"):
        return _content(Path(text))
    return [text, *(_installed(entry) for entry in entry_points(group=GROUP) if entry.name == text)]


def _installed(entry: EntryPoint) -> object:
    try:
        spec = find_spec(entry.module)
    except (ImportError, ValueError):
        spec = None
    content = _content(Path(spec.origin)) if spec is not None and spec.origin is not None else None
    return [entry.value, entry.dist.version if entry.dist is not None else None, content]


FORMS: Mapping[str, Callable[..., object]] = MappingProxyType(
    {
        **dict.fromkeys((each.name for each in fields(Request) if each.name not in SPARED), _plain),
        "data_root": _names,
        "inputs": _files,
        "run_on": _files,
        "rewrites": _rewrites,
    }
)
"""By field of a request: the function that returns what goes into the digest."""
