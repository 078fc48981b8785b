"""The JSON document of `fix`, `check`, `verify` and `tosa`: additions are free, a removal is a new `schema`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from graphfix.report.text import Entry, Failure
from graphfix.results import VERSION

SCHEMA = 1


def document(entry: Entry) -> dict[str, Any]:
    """Describe one model. Dims are ints, strings for symbols, None for unknown; an unranked shape is None."""
    head = {"schema": SCHEMA, "graphfix": VERSION, "command": entry.command, "model": entry.source}
    if isinstance(entry, Failure):
        return {**head, "error": entry.error, "kind": entry.kind}
    return {
        **head,
        "output": entry.output,
        "format": entry.format,
        "target": entry.target,
        "changed": entry.changed,
        "dry_run": entry.dry_run,
        "sites_left": entry.sites_left,
        "check_options": list(entry.check_options),
        "reused": entry.reused,
        "rewrites": dict(entry.rewrites),
        "sites": _plain([*entry.sites]),
        "suppressed": entry.suppressed,
        "verdict": _plain(entry.verdict),
        "assumes": list(entry.assumes),
        "open_sizes": _plain(entry.open_sizes),
        "notes": list(entry.notes),
        "own_codes": dict(entry.own_codes),
        "seconds": dict(entry.seconds),
        "conversion": _plain(entry.conversion),
    }


def json_text(entries: Sequence[Entry]) -> str:
    """One model's document, or `{"schema": 1, "models": [...]}` for several."""
    documents = [document(entry) for entry in entries]
    whole = documents[0] if len(documents) == 1 else {"schema": SCHEMA, "models": documents}
    return json.dumps(whole, indent=2, allow_nan=False, default=str) + "\n"


def _plain(value: object) -> object:
    """Turn records into objects; JSON has no NaN and no infinity: they become strings."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    return value
