"""Shapes and element types of the operators that onnxruntime adds, and of ONNX's classical machine learning.

The modules of this room are imported when a model has such an operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.formats.onnx.infer.contrib.operator import Operator

DOMAINS = frozenset(("ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"))
IN_THE_STANDARD_DOMAIN = frozenset(
    """
    Affine Crop DynamicSlice GRUUnit GivenTensorFill ImageScaler MemcpyFromHost MemcpyToHost ParametricSoftplus Scale
    ScaledTanh SimplifiedLayerNormalization
    """.split()
)
"""What onnxruntime registers there and ONNX does not define (any more)."""


def find(domain: str, op: str) -> Operator | None:
    """Return what is known of an operator of this room, None for all others."""
    if domain not in DOMAINS and (domain or op not in IN_THE_STANDARD_DOMAIN):
        return None
    from graphfix.formats.onnx.infer.contrib.registry import OPERATORS  # few models have such operators

    return OPERATORS.get((domain, op))
