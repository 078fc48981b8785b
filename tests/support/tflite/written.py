"""Small TFLite models for the checker, made with LiteRT's object API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {
    "float32": schema.TensorType.FLOAT32,
    "int32": schema.TensorType.INT32,
    "int64": schema.TensorType.INT64,
    "int8": schema.TensorType.INT8,
    "bool": schema.TensorType.BOOL,
    "complex64": schema.TensorType.COMPLEX64,
    "string": schema.TensorType.STRING,
    "resource": schema.TensorType.RESOURCE,
}


@dataclass
class T:
    """A tensor: -1 is a free size, stored as 1; `data` makes a constant."""

    name: str
    shape: Sequence[int] = ()
    dtype: str = "float32"
    data: Any = None
    scale: float | None = None
    zero_point: int = 0


@dataclass
class Op:
    """An operator by its builtin's name, or a custom one's own; tensors by name."""

    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    options: dict[str, Any] = field(default_factory=dict)
    version: int = 1
    custom_options: bytes = b""


@dataclass
class G:
    """A subgraph."""

    tensors: Sequence[T]
    ops: Sequence[Op]
    inputs: Sequence[str]
    outputs: Sequence[str]


OPTIONS = {
    "MAXIMUM": "MaximumMinimum",
    "MINIMUM": "MaximumMinimum",
    "ADD": "Add",
    "MUL": "Mul",
    "SUB": "Sub",
    "GATHER": "Gather",
    "RESHAPE": "Reshape",
    "RANDOM_UNIFORM": "Random",
    "FULLY_CONNECTED": "FullyConnected",
    "BATCH_MATMUL": "BatchMatMul",
    "CAST": "Cast",
    "IF": "If",
    "VAR_HANDLE": "VarHandle",
    "SHAPE": "Shape",
    "CALL": "Call",
    "CALL_ONCE": "CallOnce",
    "WHILE": "While",
    "STRIDED_SLICE": "StridedSlice",
    "SPLIT": "Split",
    "SQUEEZE": "Squeeze",
    "PACK": "Pack",
    "REDUCE_PROD": "Reducer",
    "CONV_2D": "Conv2D",
    "AVERAGE_POOL_2D": "Pool2D",
}


def tflite(*graphs: G, signatures: Sequence[tuple[str, int, dict[str, str], dict[str, str]]] = ()) -> bytes:
    """Pack subgraphs; a signature is (key, subgraph, {name: tensor} of the inputs, and of the outputs)."""
    model = schema.ModelT()
    model.version, model.buffers, model.operatorCodes, model.subgraphs = 3, [schema.BufferT()], [], []
    codes: dict[tuple[str, int], int] = {}
    for graph in graphs:
        made = schema.SubGraphT()
        made.tensors = [_tensor(model, tensor) for tensor in graph.tensors]
        at = {tensor.name: index for index, tensor in enumerate(graph.tensors)}
        made.operators = [_operator(model, op, at, codes) for op in graph.ops]
        made.inputs, made.outputs = [at[n] for n in graph.inputs], [at[n] for n in graph.outputs]
        model.subgraphs.append(made)
    model.signatureDefs = [_signature(graphs, *signature) for signature in signatures]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(model: schema.ModelT, tensor: T) -> schema.TensorT:
    made = schema.TensorT()
    made.name, made.type, made.hasRank = tensor.name.encode(), TYPES[tensor.dtype], True
    made.shape = [max(size, 1) if size < 0 else size for size in tensor.shape]
    made.shapeSignature = list(tensor.shape) if any(size < 0 for size in tensor.shape) else None
    if tensor.data is not None:
        buffer = schema.BufferT()
        array = np.asarray(tensor.data, tensor.dtype)
        buffer.data = np.frombuffer(array.tobytes(), np.uint8)
        made.shape = list(array.shape)
        model.buffers.append(buffer)
        made.buffer = len(model.buffers) - 1
    if tensor.scale is not None:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale, made.quantization.zeroPoint = [tensor.scale], [tensor.zero_point]
    return made


def _operator(model: schema.ModelT, op: Op, at: dict[str, int], codes: dict[tuple[str, int], int]) -> schema.OperatorT:
    if (op.name, op.version) not in codes:
        code = schema.OperatorCodeT()
        number = getattr(schema.BuiltinOperator, op.name, None)
        code.version, code.builtinCode = op.version, schema.BuiltinOperator.CUSTOM if number is None else number
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.customCode = op.name.encode() if number is None else None
        codes[op.name, op.version] = len(model.operatorCodes)
        model.operatorCodes.append(code)
    made = schema.OperatorT()
    made.opcodeIndex = codes[op.name, op.version]
    made.inputs, made.outputs = [at[name] for name in op.inputs], [at[name] for name in op.outputs]
    if op.custom_options:
        made.customOptions = np.frombuffer(op.custom_options, np.uint8)
    if op.name in OPTIONS:
        kind = f"{OPTIONS[op.name]}Options"
        made.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        made.builtinOptions = getattr(schema, f"{kind}T")()
        for name, value in op.options.items():
            setattr(made.builtinOptions, name, value)
    return made


def _signature(
    graphs: Sequence[G], key: str, subgraph: int, inputs: dict[str, str], outputs: dict[str, str]
) -> schema.SignatureDefT:
    made = schema.SignatureDefT()
    made.signatureKey, made.subgraphIndex = key.encode(), subgraph
    names = [tensor.name for tensor in graphs[subgraph].tensors]
    made.inputs, made.outputs = ([_entry(n, names.index(t)) for n, t in side.items()] for side in (inputs, outputs))
    return made


def _entry(name: str, index: int) -> schema.TensorMapT:
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name.encode(), index
    return made
