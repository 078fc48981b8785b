"""The element types of a node's results, from the operators' schemas and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeAlias

from graphfix.formats.onnx.file.attributes import attributes
from graphfix.formats.onnx.infer import contrib
from graphfix.formats.onnx.schemas import schema
from graphfix.results.onnx_messages import AttributeProto, NodeProto, TensorProto

Rule: TypeAlias = tuple[int, tuple[int, ...]]
"""The type of a result; 0 if it is the type of one of these operands."""
_CODES: Mapping[str, int] = {f"tensor({name.lower()})": code for name, code in TensorProto.DataType.items()}
BY_ATTRIBUTE: Mapping[str, tuple[str, int]] = {
    "Cast": ("to", 0),
    "BitCast": ("to", 0),
    "RandomNormal": ("dtype", TensorProto.FLOAT),
    "RandomUniform": ("dtype", TensorProto.FLOAT),
    "RandomNormalLike": ("dtype", 0),
    "RandomUniformLike": ("dtype", 0),
    "EyeLike": ("dtype", 0),
    "Bernoulli": ("dtype", 0),
    "Multinomial": ("dtype", TensorProto.INT32),
    "HannWindow": ("output_datatype", TensorProto.FLOAT),
    "HammingWindow": ("output_datatype", TensorProto.FLOAT),
    "BlackmanWindow": ("output_datatype", TensorProto.FLOAT),
    "MelWeightMatrix": ("output_datatype", TensorProto.FLOAT),
    "DequantizeLinear": ("output_dtype", 0),
}
"""By standard operator: the attribute that states the type of the first result, and the type without the attribute.

The type 0 is that of an operand, by the schema.
"""
LIKE: Mapping[str, int] = {
    "DequantizeLinear": 1,
    "RandomNormalLike": 0,
    "RandomUniformLike": 0,
    "EyeLike": 0,
    "Bernoulli": 0,
}
"""The operand whose type such a result has if no attribute states one."""
ZERO_POINT = 2
"""The operand of QuantizeLinear whose type the result has."""


@cache
def _schema(op: str, domain: str, version: int) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return one rule for each result, and the type variable of each operand.

    The last rule holds for all further results.
    """
    operator_schema = schema(op, domain, version)
    if operator_schema is None:
        return (), ()
    rules: list[Rule] = []
    variables = tuple([given.variable for given in operator_schema.inputs])
    for result in operator_schema.outputs:
        only = _CODES.get(result.types[0], 0) if len(result.types) == 1 else 0
        like = tuple(at for at, variable in enumerate(variables) if variable == result.variable)
        rules.append((only, like))
    return tuple(rules), variables


def of_results(op: str, domain: str, version: int, operands: Sequence[int], node: NodeProto | None) -> list[int]:
    """Return the element type of each result; 0 if it is unknown.

    `operands` are the types of the operands. `node` is None if it has no attributes. The last entry holds for all
    further results.
    """
    added = contrib.find(domain, op)
    if added is not None:
        given = {} if node is None else attributes(node)
        return [rule(operands, given) for rule in added.types]
    rules, variables = _schema(op, domain, version)
    found = [code or _like(like, operands, len(variables)) for code, like in rules]
    if found and not domain and op in _SPECIAL:
        found = _special(op, operands, node, found)
    return found


def _like(like: Sequence[int], operands: Sequence[int], count: int) -> int:
    last = count - 1
    for at in like:
        for code in operands[at:] if at == last else operands[at : at + 1]:
            if code:
                return code
    return 0


def _special(op: str, operands: Sequence[int], node: NodeProto | None, found: list[int]) -> list[int]:
    given = {attribute.name: attribute for attribute in node.attribute} if node is not None else {}
    if op == "ConstantOfShape":
        value = given.get("value")
        return [TensorProto.FLOAT if value is None else value.t.data_type]
    if op == "LayerNormalization":
        stash = given.get("stash_type")
        return [found[0], *[TensorProto.FLOAT if stash is None else stash.i] * 2]
    if op == "LinearAttention":  # without a past state, present has the type of the operands
        return [found[0], found[1] or found[0]]
    if op == "QuantizeLinear":
        return [_quantized(operands, given.get("output_dtype"))]
    name, default = BY_ATTRIBUTE[op]
    said = given.get(name)
    code = default if said is None else _code(said)
    at = LIKE.get(op)
    if not code and at is not None:
        code = operands[at] if at < len(operands) else 0
    return [code or (found[0] if op not in ("Cast", "BitCast") else 0), *found[1:]]


def _quantized(operands: Sequence[int], said: AttributeProto | None) -> int:
    if len(operands) > ZERO_POINT and operands[ZERO_POINT]:
        return operands[ZERO_POINT]
    return said.i if said is not None and said.i else TensorProto.UINT8


def _code(said: AttributeProto) -> int:
    """Return the type that an attribute states. Before opset 6 the attribute of Cast is a text."""
    if said.type != AttributeProto.STRING:
        return int(said.i)
    name = said.s.decode("utf-8", "replace").upper()
    return int(TensorProto.DataType.Value(name)) if name in TensorProto.DataType.keys() else 0  # noqa: SIM118


_SPECIAL = frozenset({*BY_ATTRIBUTE, "ConstantOfShape", "LayerNormalization", "LinearAttention", "QuantizeLinear"})
