"""TFLite files as objects of LiteRT's object API: read, packed, and what a test asks of them."""

from __future__ import annotations

from typing import Any

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

Model = Any
"""A ModelT, or one of its tables: the object API has no types."""
CODES, KINDS = schema.BuiltinOperator, schema.TensorType
NAMES = {number: name for name, number in vars(CODES).items() if not name.startswith("_")}
BITS = {
    KINDS.FLOAT32: 32, KINDS.FLOAT16: 16, KINDS.INT32: 32, KINDS.UINT8: 8, KINDS.INT64: 64, KINDS.BOOL: 8,
    KINDS.INT16: 16, KINDS.COMPLEX64: 64, KINDS.INT8: 8, KINDS.FLOAT64: 64, KINDS.COMPLEX128: 128, KINDS.UINT64: 64,
    KINDS.UINT32: 32, KINDS.UINT16: 16, KINDS.INT4: 4, KINDS.BFLOAT16: 16, KINDS.INT2: 2, KINDS.UINT4: 4,
    KINDS.FLOAT8_E4M3FN: 8, KINDS.FLOAT8_E5M2: 8,
}  # fmt: skip
"""Bits of an element; strings, resources and variants have no one size."""


def unpacked(file: bytes) -> Model:
    """The ModelT of a file."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(file, 0))


def packed(model: Model, *, identifier: bytes | None = b"TFL3", defaults: bool = False) -> bytes:
    """The file of a ModelT; `defaults` writes fields out that have their default value."""
    builder = flatbuffers.Builder(1024)
    builder.ForceDefaults(defaults)
    builder.Finish(model.Pack(builder), identifier)
    return bytes(builder.Output())


def free_dims(file: bytes) -> bool:
    """Whether an input of the main subgraph has a free dim, as a file that can be read at all says."""
    try:
        model = unpacked(file)
        graph = model.subgraphs[0]
        return any(-1 in list(listed(graph.tensors[at].shapeSignature)) for at in listed(graph.inputs))
    except Exception:  # noqa: BLE001 -- a broken file has no sizes to try
        return False


def signature_keys(file: bytes) -> list[str]:
    """The keys of the file's signatures."""
    try:
        return [bytes(each.signatureKey).decode() for each in unpacked(file).signatureDefs or ()]
    except Exception:  # noqa: BLE001 -- a broken file has no signatures to try
        return []


def code_of(model: Model, operator: Model) -> int:
    """The builtin code of an operator."""
    code = model.operatorCodes[operator.opcodeIndex]
    return int(max(code.builtinCode, code.deprecatedBuiltinCode))


def listed(vector: Any) -> list[int]:  # noqa: ANN401 -- an array, None or 0 where it is empty
    return [] if vector is None or isinstance(vector, int) else [int(each) for each in vector]
