"""The JSON document of `fix`, `check`, `verify` and `tosa`.

New keys keep the number `schema`; a removed key raises it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from graphfix.report.text import Entry, Failure
from graphfix.results.sites import Sites
from graphfix.version import VERSION

SCHEMA = 1
FIELDS = (
    "output format target changed dry_run sites_left check_options reused rewrites sites suppressed verdict assumes"
    " open_sizes notes own_codes seconds conversion".split()
)
"""The fields of an outcome that the document contains, in its order."""


def document(entry: Entry) -> dict[str, Any]:
    """Return the document of one model.

    Dims are ints, strings for symbols, None if unknown; an unknown shape is None.
    """
    head = {"schema": SCHEMA, "graphfix": VERSION, "command": entry.command, "model": entry.source}
    if isinstance(entry, Failure):
        return {**head, "error": entry.error, "kind": entry.kind}
    return head | {name: _plain(getattr(entry, name)) for name in FIELDS}


def json_text(entries: Sequence[Entry]) -> str:
    """Return the document of one model, or `{"schema": 1, "models": [...]}` for several models."""
    documents = [document(entry) for entry in entries]
    document_ = documents[0] if len(documents) == 1 else {"schema": SCHEMA, "models": documents}
    return json.dumps(document_, indent=2, allow_nan=False, default=str) + "\n"


def _plain(value: object) -> object:
    """Return a value as JSON can store it: records become objects, NaN and infinities become strings."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, Sites)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    return value
