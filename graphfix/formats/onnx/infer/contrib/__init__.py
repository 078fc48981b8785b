"""Shapes and element types of the operators that onnxruntime adds, and of ONNX's classical machine learning.

The modules of this package are imported only if a model has such an operator.
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
"""Operators of the standard domain that onnxruntime registers, and that ONNX does not define (any more)."""


def find(domain: str, op: str) -> Operator | None:
    """Return the rules of an operator; None if this package has no rules for the operator."""
    if domain not in DOMAINS and (domain or op not in IN_THE_STANDARD_DOMAIN):
        return None
    from graphfix.formats.onnx.infer.contrib.registry import OPERATORS  # few models have such operators

    return OPERATORS.get((domain, op))
