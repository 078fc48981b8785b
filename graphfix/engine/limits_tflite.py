"""What tosa-converter-for-tflite can't take of a node, or takes and gets wrong; tables: `operators.tosa_tflite`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from graphfix.engine import signs
from graphfix.graph.view import Node
from graphfix.operators import tosa_tflite


def form(node: Node) -> str | None:
    """Why the node stays as it is and will not convert, or will be wrong; None if nothing is known against it."""
    ask = _ASK.get(node.op)
    return tosa_tflite.UNSUPPORTED.get(node.op) or (ask(node) if ask is not None else None)


def _power(node: Node) -> str | None:
    return signs.power(node.operand(0))


def _comparison(node: Node) -> str | None:
    dtype = node.operand(0).dtype
    return f"the converter compares no {dtype}" if dtype in tosa_tflite.NARROW else None


_ASK: Mapping[str, Callable[[Node], str | None]] = MappingProxyType(
    {"POW": _power, **dict.fromkeys(tosa_tflite.COMPARISONS, _comparison)}
)
"""Operator -> its question."""
