"""The parts of a TFLite file that a text only implies: payloads, builtin options, operator versions."""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from models.builders.grammar import Element, Value

_PACKED_BITS = {"int4": 4, "uint4": 4, "int2": 2}
_RAW = {"float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def payload(dtype: str, elements: Sequence[Element]) -> bytes:
    """Return the bytes of a constant; sub-byte types are packed from the low bits, float8 elements are their bits."""
    if dtype == "string":
        return _strings([str(element).encode() for element in elements])
    if dtype in _PACKED_BITS:
        return _packed([int(element) for element in elements], _PACKED_BITS[dtype])
    if dtype == "bfloat16":
        return (np.array(elements, np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    return np.array(elements, np.dtype(_RAW.get(dtype, dtype)).newbyteorder("<")).tobytes()


def _strings(texts: Sequence[bytes]) -> bytes:
    """Count, then the offset of each text and of the end, then the texts: how TFLite stores a string tensor."""
    first = 4 * (len(texts) + 2)
    offsets = np.cumsum([first, *map(len, texts)])
    return struct.pack(f"<{len(offsets) + 1}i", len(texts), *offsets) + b"".join(texts)


def _packed(numbers: Sequence[int], bits: int) -> bytes:
    each = 8 // bits
    filled = [*numbers, *[0] * (-len(numbers) % each)]
    mask = 2**bits - 1
    return bytes(
        sum((number & mask) << bits * place for place, number in enumerate(filled[at : at + each]))
        for at in range(0, len(filled), each)
    )


def _numbers(dtype: str, count: int) -> list[Element]:
    """Return the elements of a constant that a text leaves open: never zero, neither sorted nor all alike."""
    if dtype == "string":
        return ["ab"[at % 2] + str(at % 3) for at in range(count)]
    if dtype == "bool":
        return [at % 3 != 1 for at in range(count)]
    if dtype == "int2":
        return [1 - 2 * (at % 2) for at in range(count)]
    if dtype.startswith(("float", "bfloat", "complex")) and dtype not in _RAW:
        return [(at % 7 + 1) * (0.375 if at % 2 else -0.375) for at in range(count)]
    return [at % 5 + 1 for at in range(count)]


def dims_of(value: Value) -> tuple[int, ...] | None:
    """Return the sizes, -1 for a free one; None for an unranked value."""
    if not value.has_dims:
        raise ValueError(f"{value.name!r}: no dims; write [*] for a tensor without a shape")
    return None if value.dims is None else tuple(size if isinstance(size, int) else -1 for size in value.dims)


def elements_of(value: Value) -> Sequence[Element] | None:
    """Return the elements of a constant; those that its text leaves open are made up."""
    dims = dims_of(value)
    if value.elements is None:
        return _numbers(value.dtype, math.prod(dims or ())) if value.kind == "constant" else None
    if dims is None or len(value.elements) != math.prod(dims):
        raise ValueError(f"{value.name!r}: {len(value.elements)} elements do not fill {dims}")
    return value.elements


# --- builtin options --------------------------------------------------------------------------------------------------

_NAMED_OTHERWISE = {
    "MaximumMinimumOptions": "MAXIMUM MINIMUM",
    "ReducerOptions": "SUM MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD",
    "Pool2DOptions": "AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D",
    "L2NormOptions": "L2_NORMALIZATION",
    "Conv3DOptions": "CONV_3D_TRANSPOSE",
    "SequenceRNNOptions": "UNIDIRECTIONAL_SEQUENCE_RNN",
    "RandomOptions": "RANDOM_UNIFORM RANDOM_STANDARD_NORMAL MULTINOMIAL",
}
_OPTIONS = {op: name for name, ops in _NAMED_OTHERWISE.items() for op in ops.split()}
_OPTIONS |= {
    op: name
    for union in (schema.BuiltinOptions, schema.BuiltinOptions2)
    for name in vars(union)
    for op in vars(schema.BuiltinOperator)
    if name.removesuffix("Options").lower() == op.replace("_", "").lower()
}
_ENUMS = (schema.ActivationFunctionType, schema.Padding, schema.TensorType, schema.MirrorPadMode)


def set_options(operator: Any, op: str, attributes: Mapping[str, str], subgraphs: Sequence[str]) -> None:  # noqa: ANN401 -- the object API has no types
    """Set the builtin options of an OperatorT; raise ValueError for an attribute it has not.

    Attributes are the schema's names (`adj_y`, `keep_dims`); their values Python literals, names of the
    schema's enumerations (RELU, SAME, INT32), or of subgraphs (`then=yes` is `then_subgraph_index`).
    """
    name = _OPTIONS.get(op)
    if name is None:
        if attributes:
            raise ValueError(f"{op} has no builtin options for {sorted(attributes)}")
        return
    options = getattr(schema, f"{name}T")()
    for key, text in attributes.items():
        setattr(options, _field(options, key), _literal(text, subgraphs))
    second = "2" if name in vars(schema.BuiltinOptions2) else ""
    setattr(operator, f"builtinOptions{second}Type", getattr(getattr(schema, f"BuiltinOptions{second}"), name))
    setattr(operator, f"builtinOptions{second}", options)


def _field(options: object, key: str) -> str:
    head, *rest = key.split("_")
    camel = head + "".join(part.capitalize() for part in rest)
    for field in (camel, f"{camel}SubgraphIndex"):
        if field in vars(options):
            return field
    raise ValueError(f"{type(options).__name__} has no {key}: it has {sorted(vars(options))}")


def _literal(text: str, subgraphs: Sequence[str]) -> object:
    if text in subgraphs:
        return subgraphs.index(text)
    for enum in _ENUMS:
        if text in vars(enum):
            return getattr(enum, text)
    return ast.literal_eval(text)


# --- operator versions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """What an operator's version depends on: element types, ranks and shapes of its operands."""

    dtypes: tuple[str, ...]
    """Of the operands that are given; empty for an operator without operands."""
    dims: tuple[tuple[int, ...], ...]
    quantized: bool
    """Whether operand 0 has scales."""
    per_channel: bool
    ratio: float
    """The product of the scales of operands 0 and 1 over the result's; 0 where one has none."""
    attributes: Mapping[str, str]

    def is_of(self, *dtypes: str) -> bool:
        """Whether operand 0 has one of these element types."""
        return self.dtypes[:1] != () and self.dtypes[0] in dtypes

    def has(self, attribute: str) -> bool:
        """Whether a switch is given and on."""
        return self.attributes.get(attribute) in ("True", "1")

    @property
    def high(self) -> bool:
        """Whether operands of unequal shapes reach a rank above 4."""
        return len(set(self.dims)) > 1 and max(map(len, self.dims)) > 4


def _is(*dtypes: str) -> Callable[[Call], bool]:
    return lambda call: call.is_of(*dtypes)


def _high(call: Call) -> bool:
    return call.high


def _general_int16(call: Call) -> bool:
    return call.is_of("int16") and not call.has("pot_scale_int16")


def _plain_int16(call: Call) -> bool:
    return call.is_of("int16") and not call.quantized


_INT8 = (_is("int8"), 2)
_Rules = tuple[tuple[Callable[[Call], bool], int], ...]

# What TFLite's converter writes (its tools/versioning/op_version.cc): the first rule that holds, else version 1.
_VERSIONS: dict[str, _Rules] = {
    "ADD": ((_is("float16"), 6), (_plain_int16, 5), (_is("int64"), 4), (_general_int16, 3), _INT8),
    "SUB": ((_general_int16, 5), (_is("int64"), 4), (_high, 3), _INT8),
    "MUL": (
        (_is("float16"), 8),
        (_plain_int16, 7),
        (_is("uint32"), 7),
        (_is("complex64"), 6),
        (_is("int64"), 5),
        (_is("int16"), 4),
        (lambda call: call.ratio >= 1, 3),
        _INT8,
    ),
    "DIV": ((_high, 2),),
    "MAXIMUM": ((_is("int16"), 4), (_high, 3), _INT8),
    "MINIMUM": ((_is("int16"), 4), (_high, 3), _INT8),
    "FLOOR_DIV": ((_is("int8", "int16"), 3), (_is("float32"), 2)),
    "FLOOR_MOD": ((_is("int8", "int16"), 2),),
    "SQUARED_DIFFERENCE": (_INT8,),
    "LESS": ((_is("int16"), 3), _INT8),
    "LESS_EQUAL": (_INT8,),
    "GREATER": (_INT8,),
    "GREATER_EQUAL": ((_is("int16"), 3), _INT8),
    "EQUAL": ((_is("int16"), 5), (_is("string"), 3), _INT8),
    "NOT_EQUAL": ((_is("int16"), 4), (_is("string"), 3), _INT8),
    "SELECT": ((lambda call: 5 in map(len, call.dims), 3),),
    "BATCH_MATMUL": (
        (_is("int16"), 3),
        _INT8,
        (lambda call: "int8" in call.dtypes and call.has("asymmetric_quantize_inputs"), 4),
    ),
    "BROADCAST_TO": (
        (_is("int8", "int16"), 3),
        (_is("float8_e4m3fn", "float8_e5m2"), 4),
        (lambda _: True, 2),
    ),
    "TILE": ((_is("int8"), 3), (_is("string"), 2)),
    "DEQUANTIZE": ((_is("float16", "int16"), 3), (lambda call: call.is_of("int8") and call.per_channel, 5), _INT8),
    "GATHER": ((_is("int16"), 4), (_is("bool"), 3), _INT8),
    "PACK": ((_is("int16"), 3), _INT8),
    "CONCATENATION": ((_is("int16"), 3), _INT8),
    "RELU": ((_is("int16"), 3), _INT8),
    "TRANSPOSE": ((lambda call: any(len(dims) > 4 for dims in call.dims), 4), (_is("bool"), 3), _INT8),
}


def operator_version(op: str, call: Call) -> int:
    """Return the version that TFLite's converter writes for an operator; 1 where no rule says otherwise."""
    return next((version for holds, version in _VERSIONS.get(op, ()) if holds(call)), 1)
