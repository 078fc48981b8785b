"""Versions of operators: versions of one meaning are compared as one operator, whatever operator set a file imports."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.files.onnx.operators import schema, since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import AttributeProto
    from onnx.defs import OpSchema

OLDEST_COMPARED_SET = 8
"""Operator sets below this set are compared as this set, because making legacy broadcasts explicit upgrades a file."""
CURRENT_SET = 17
"""Nodes of older operator sets are read as nodes of this set.

The operators in WIDENED_SINCE only accept more up to this set.
"""
WIDENED_SINCE: Mapping[str, int] = {
    **dict.fromkeys(
        "ArgMax ArgMin Conv DepthToSpace Flatten Gather Identity If LRN Loop MatMul ReduceL1 ReduceL2 ReduceLogSum"
        " ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare Shape Size SpaceToDepth"
        " Transpose".split(), 1),
    "LpPool": 2,
    "Concat": 4,
    "Reshape": 5,
    **dict.fromkeys("Abs Cast Ceil Exp Floor LeakyRelu Log Neg Reciprocal Relu Sigmoid Sqrt Tanh Tile".split(), 6),
    **dict.fromkeys("Add AveragePool Div Equal GRU Gemm Greater LSTM Less Mul PRelu Pow RNN Sub".split(), 7),
    **dict.fromkeys("Expand Max MaxPool Mean Min Sum".split(), 8),
    **dict.fromkeys("Compress Erf IsNaN MaxUnpool MeanVarianceNormalization NonZero Scan Sign Where".split(), 9),
    **dict.fromkeys("DequantizeLinear Dropout Mod NonMaxSuppression QuantizeLinear Slice TopK".split(), 10),
    **dict.fromkeys("Clip CumSum GatherElements GatherND Pad ScatterElements ScatterND".split(), 11),
    **dict.fromkeys("GreaterOrEqual LessOrEqual".split(), 12),
    "BatchNormalization": 14,
}  # fmt: skip
"""For each operator, the version after which versions up to `CURRENT_SET` only accept more than before.

They accept more types, negative axes, and new attributes whose default is the old behavior.
"""
_SHOWN_BY_MAPS = frozenset({"broadcast", "axis"})
_DROPPED = frozenset({"consumed_inputs"})


@cache
def meaning(op: str, domain: str, version: int, given: frozenset[str]) -> int:
    """Return the version that represents the meaning of an operator with the attributes `given`.

    Versions up to set 17 that only accept more than an earlier version share one number. `version` is the operator set
    that the node's graph imports.
    """
    own = version_up_to_8(op, domain, version, given)
    if domain or not WIDENED_SINCE.get(op, CURRENT_SET + 1) <= own <= CURRENT_SET:
        return own
    operator_schema = schema(op, domain, version)
    return (
        since(op, domain, CURRENT_SET)
        if operator_schema is not None and given <= set(operator_schema.attributes)
        else own
    )


@cache
def version_up_to_8(op: str, domain: str, version: int, given: frozenset[str]) -> int:
    """Return the version of an operator's meaning, where versions below set 8 may count as set 8's version.

    They do if they only accept less than set 8, or if indexing maps express the difference (legacy broadcasts). Unlike
    `meaning`, this function does not treat an attribute that later became an operand as that operand. `given` are the
    names of the node's attributes.
    """
    own = since(op, domain, version)
    if domain or version >= OLDEST_COMPARED_SET:
        return own
    old, new = (schema(op, "", number) for number in (version, OLDEST_COMPARED_SET))
    if old is None or new is None:
        return own
    if not given <= set(old.attributes):
        return own  # The node has an attribute that its version does not define.
    if op in onnx_ops.LEGACY or op in onnx_ops.EQUAL_BEFORE_8 or op in onnx_ops.WIDENED:
        return int(new.since_version)
    if op in ("Gemm", "PRelu") or _only_hints(old, new, given):
        return int(new.since_version)
    return own


@cache
def _defaults(op: str, version: int) -> Mapping[str, AttributeProto]:
    """Return the defaults of an older version's attributes that differ from set 8's, or do not exist there."""
    old, new = (schema(op, "", number) for number in (version, OLDEST_COMPARED_SET))
    if old is None or new is None or old.since_version == new.since_version:
        return {}
    was = {name: given.default_value for name, given in old.attributes.items() if name not in _SHOWN_BY_MAPS}
    now = {name: given.default_value for name, given in new.attributes.items()}
    return {name: value for name, value in was.items() if value.type and value != now.get(name)}


def with_old_defaults(
    op: str, domain: str, version: int, attributes: Mapping[str, AttributeProto]
) -> Mapping[str, AttributeProto]:
    """Return the attributes of a node, with explicit defaults where operator set 8 changed them, as for Selu."""
    if domain or version >= OLDEST_COMPARED_SET:
        return attributes
    was = _defaults(op, version)
    return {**was, **attributes} if was else attributes


def _only_hints(old: OpSchema, new: OpSchema, given: frozenset[str]) -> bool:
    """Return whether operator set 8 only dropped the attribute `consumed_inputs`, a hint about memory.

    `given` are the names of the node's attributes. An absent attribute must have the same default in both sets.
    """
    hinted = "consumed_inputs" in old.attributes
    if not hinted or set(old.attributes) - _DROPPED != set(new.attributes) or len(old.inputs) != len(new.inputs):
        return False
    return all(
        attribute.default_value == old.attributes[name].default_value
        for name, attribute in new.attributes.items()
        if name not in given
    )


def compared_attributes(
    op: str, domain: str, version: int, attributes: Mapping[str, AttributeProto]
) -> dict[str, AttributeProto]:
    """Return the attributes that terms contain.

    Indexing maps express a legacy broadcast and a quantized axis, so terms do not contain these attributes. The memory
    hint `consumed_inputs` is dropped too.
    """
    name = (domain, op)
    if name in onnx_ops.QUANTIZING:
        return {key: given for key, given in attributes.items() if key != "axis"}
    if domain or version >= OLDEST_COMPARED_SET:
        return dict(attributes)
    kept = {key: given for key, given in attributes.items() if key not in _DROPPED}
    if version < onnx_ops.LEGACY_END and (op in onnx_ops.LEGACY or op == "Gemm"):
        return {key: given for key, given in kept.items() if key not in _SHOWN_BY_MAPS}
    return kept


def inference_mode(attributes: Mapping[str, AttributeProto]) -> bool:
    """Return whether a Dropout or BatchNormalization before set 7 does not train, because `is_test` is not 0."""
    return "is_test" in attributes and attributes["is_test"].i != 0
