"""Which operator a node names, whatever operator set says it: versions of one meaning are one operator."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from graphfix.verify.proof import onnx_ops
from graphfix.verify.proof.onnx_file import schema, since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import AttributeProto
    from onnx.defs import OpSchema

UPGRADED = 8
"""Operator sets below 7 are stated at this one when legacy broadcasts are made explicit."""
_TOLD_BY_MAPS = frozenset({"broadcast", "axis"})
_NO_MORE = frozenset({"consumed_inputs"})


@cache
def meaning(op: str, domain: str, version: int, stated: frozenset[str]) -> int:
    """Give the version by which the meaning of an operator with these attributes is named."""
    own = since(op, domain, version)
    if domain or version >= UPGRADED:
        return own
    old, new = (schema(op, "", number) for number in (version, UPGRADED))
    if old is None or new is None:
        return own
    if not stated <= set(old.attributes):
        return own  # an attribute that its version does not know
    if op in onnx_ops.LEGACY or op in onnx_ops.EQUAL_BEFORE_8 or op in onnx_ops.WIDENED:
        return int(new.since_version)
    if op in onnx_ops.TEST_MODE or op in ("Gemm", "PRelu") or _only_hints(old, new, stated):
        return int(new.since_version)
    return own


def _only_hints(old: OpSchema, new: OpSchema, stated: frozenset[str]) -> bool:
    """Whether nothing changed up to operator set 8 but that a memory hint of operator set 1 went.

    An attribute that is not stated has another default in some versions: Selu's, and Clip's.
    """
    hinted = "consumed_inputs" in old.attributes
    if not hinted or set(old.attributes) - _NO_MORE != set(new.attributes) or len(old.inputs) != len(new.inputs):
        return False
    return all(
        given.default_value == old.attributes[name].default_value
        for name, given in new.attributes.items()
        if name not in stated
    )


def telling(
    op: str, domain: str, version: int, attributes: Mapping[str, AttributeProto], outputs: int
) -> dict[str, AttributeProto]:
    """Give the attributes that no map tells: those of a legacy broadcast and of a quantized axis are left out."""
    name = (domain, op)
    if name in onnx_ops.QUANTIZING:
        return {key: given for key, given in attributes.items() if key != "axis"}
    if domain or version >= UPGRADED:
        return dict(attributes)
    kept = {key: given for key, given in attributes.items() if key not in _NO_MORE}
    if version < onnx_ops.LEGACY_END and (op in onnx_ops.LEGACY or op == "Gemm"):
        return {key: given for key, given in kept.items() if key not in _TOLD_BY_MAPS}
    if version < onnx_ops.LEGACY_END and op in onnx_ops.TEST_MODE and (outputs == 1 or _testing(kept)):
        kept.pop("is_test", None)
    return kept


def _testing(attributes: Mapping[str, AttributeProto]) -> bool:
    return "is_test" in attributes and attributes["is_test"].i != 0
