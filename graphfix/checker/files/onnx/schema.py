"""onnx's own definitions of operators, by operator set."""

from __future__ import annotations

import onnx

_VERSIONS = 1 << 31
"""onnx counts operator sets below it."""


def schema(op: str, domain: str, version: int) -> onnx.defs.OpSchema | None:
    """Return onnx's definition of an operator in an operator set; None where it has none."""
    if not (isinstance(op, str) and isinstance(domain, str) and 0 < version < _VERSIONS):
        return None  # a name that is no UTF-8 comes as bytes
    try:
        return onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None


def since(op: str, domain: str, version: int) -> int:
    """Return the version of an operator's meaning in an operator set; the set's version where onnx does not know."""
    known = schema(op, domain, version)
    return version if known is None else int(known.since_version)
