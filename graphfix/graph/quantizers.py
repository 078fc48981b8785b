"""Recognize nodes that quantize or dequantize as onnx and onnxruntime define it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeGuard

    from graphfix.graph.view import Node

DEQUANTIZE, QUANTIZE = "DequantizeLinear", "QuantizeLinear"
_DOMAINS = frozenset({"", "com.microsoft"})


def is_quantizer(node: Node | None, *operators: str) -> TypeGuard[Node]:
    """Return whether a node is one of these operators, has data and a scale, and returns one value.

    An operator of another domain with the same name does not count, because its definition is unknown. onnxruntime
    refuses a node without data or with several results, but graphfix reads such a file.
    """
    return (
        node is not None
        and node.op in operators
        and node.domain in _DOMAINS
        and len(node.operands) > 1
        and None not in node.operands[:2]
        and len(node.results) == 1
    )
