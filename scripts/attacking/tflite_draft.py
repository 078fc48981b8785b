"""A random TFLite model during its construction, as objects of the generated schema."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np

from attacking.pair import Feed, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPES = {
    "float32": schema.TensorType.FLOAT32,
    "int32": schema.TensorType.INT32,
    "int64": schema.TensorType.INT64,
    "int16": schema.TensorType.INT16,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
    "bool": schema.TensorType.BOOL,
    "resource": schema.TensorType.RESOURCE,
}
OPTIONS = {
    "ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions", "RESHAPE": "ReshapeOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions", "CONCATENATION": "ConcatenationOptions", "SOFTMAX": "SoftmaxOptions",
    "IF": "IfOptions", "WHILE": "WhileOptions", "CALL_ONCE": "CallOnceOptions", "VAR_HANDLE": "VarHandleOptions",
    "ASSIGN_VARIABLE": "AssignVariableOptions", "READ_VARIABLE": "ReadVariableOptions", "SUM": "ReducerOptions",
    "MEAN": "ReducerOptions", "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "CONV_2D": "Conv2DOptions", "MAX_POOL_2D": "Pool2DOptions", "TRANSPOSE": "TransposeOptions",
    "LESS": "LessOptions", "EXPAND_DIMS": "ExpandDimsOptions", "SQUEEZE": "SqueezeOptions",
    "SELECT_V2": "SelectV2Options", "BROADCAST_TO": "BroadcastToOptions", "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions", "SHAPE": "ShapeOptions", "STRIDED_SLICE": "StridedSliceOptions",
    "SLICE": "SliceOptions", "GATHER": "GatherOptions", "DEQUANTIZE": "DequantizeOptions",
    "QUANTIZE": "QuantizeOptions", "BATCH_MATMUL": "BatchMatMulOptions", "PACK": "PackOptions", "NEG": "NegOptions",
    "SQUARED_DIFFERENCE": "SquaredDifferenceOptions", "TILE": "TileOptions",
}  # fmt: skip
VERSIONS = {"BROADCAST_TO": 2, "SELECT_V2": 1, "BATCH_MATMUL": 1, "SHAPE": 1, "VAR_HANDLE": 1}
WIDE = {
    "ADD": 2,
    "SUB": 2,
    "MUL": 2,
    "RESHAPE": 1,
    "CONCATENATION": 2,
    "MAXIMUM": 2,
    "MINIMUM": 2,
    "QUANTIZE": 1,
    "DEQUANTIZE": 2,
    "TRANSPOSE": 2,
    "SUM": 2,
    "MEAN": 2,
    "FULLY_CONNECTED": 4,
    "CONV_2D": 3,
    "MAX_POOL_2D": 2,
    "SOFTMAX": 2,
    "BROADCAST_TO": 3,
    "SQUARED_DIFFERENCE": 2,
    "TILE": 2,
}
"""The version of each operator if one of its tensors is int8 or uint8; other operators have version 1."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The quantization of a tensor: its scale and its zero point."""

    scale: float
    zero: int = 0


class Subgraph:
    """A subgraph under construction, in which a tensor is identified by its index."""

    def __init__(self, model: TfliteDraft, name: str) -> None:
        self.model = model
        self.graph = schema.SubGraphT()
        self.graph.name = name.encode()
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []

    def tensor(self, kind: str, shape: Shape, scale: Scale | None = None, data: bytes | None = None) -> int:
        """Add a tensor and return its index. A tensor with `data` is a constant.

        A size that is not constant (a text) is stored as 1 in the shape, and as -1 in the shape signature.
        """
        made = schema.TensorT()
        made.name = f"t{len(self.graph.tensors)}".encode()
        made.type = TYPES[kind]
        made.hasRank = True
        made.shape = [dim if isinstance(dim, int) else 1 for dim in shape]
        if any(isinstance(dim, str) for dim in shape):
            made.shapeSignature = [dim if isinstance(dim, int) else -1 for dim in shape]
        if scale is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale, made.quantization.zeroPoint = [scale.scale], [scale.zero]
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data, np.uint8)
            self.model.file.buffers.append(buffer)
            made.buffer = len(self.model.file.buffers) - 1
        else:
            made.buffer = 0
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def constant(self, array: np.ndarray | Sequence[int], scale: Scale | None = None) -> int:
        """Add a constant and return its index. A list of numbers becomes int32."""
        as_array = np.asarray(array, np.int32) if isinstance(array, list) else array
        return self.tensor(as_array.dtype.name, as_array.shape, scale, as_array.tobytes())

    def input(self, kind: str, shape: Shape, scale: Scale | None = None) -> int:
        """Add an input of the subgraph and return its index."""
        at = self.tensor(kind, shape, scale)
        self.graph.inputs.append(at)
        return at

    def node(self, operator: str, operands: Sequence[int], results: Sequence[int], **fields: Any) -> Any:  # noqa: ANN401 - of the schema
        """Append an operator and return the schema's object. `fields` are the fields of the operator's options."""
        self.graph.operators.append(self.model.operator(operator, operands, results, self, **fields))
        return self.graph.operators[-1]

    def like(
        self,
        operator: str,
        operands: Sequence[int],
        shape: Shape | None = None,
        kind: str | None = None,
        **fields: Any,  # noqa: ANN401 - fields of the schema
    ) -> int:
        """Append an operator with one result, and return the index of the result.

        The type and the shape of the result are those of the first operand, unless `kind` or `shape` is specified. The
        result has the first operand's quantization unless `kind` is specified.
        """
        first = self.graph.tensors[operands[0]]
        quantization = first.quantization
        scale = (
            None
            if quantization is None or kind is not None
            else Scale(quantization.scale[0], int(quantization.zeroPoint[0]))
        )
        name = kind or self.kind(operands[0])
        result = self.tensor(name, self.shape(operands[0]) if shape is None else shape, scale)
        self.node(operator, operands, [result], **fields)
        return result

    def kind(self, at: int) -> str:
        """Return the name of the type of tensor `at`, such as `int8` or `resource`."""
        return next(name for name, number in TYPES.items() if number == self.graph.tensors[at].type)

    def shape(self, at: int) -> Shape:
        """Return the shape of tensor `at`, with `N` for each size that is not constant."""
        tensor = self.graph.tensors[at]
        signature = tensor.shapeSignature if tensor.shapeSignature is not None else tensor.shape
        return tuple("N" if dim == -1 else int(dim) for dim in signature)


class TfliteDraft:
    """A model under construction, with its source of random numbers. `main` is its first subgraph."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.file = schema.ModelT()
        self.file.version = 3
        self.file.buffers = [schema.BufferT()]
        self.file.subgraphs, self.file.operatorCodes = [], []
        self.signature: str | None = None
        self.graphs: list[Subgraph] = []
        self.main = self.subgraph("main")

    def subgraph(self, name: str) -> Subgraph:
        """Add an empty subgraph and return it."""
        made = Subgraph(self, name)
        self.graphs.append(made)
        self.file.subgraphs.append(made.graph)
        return made

    def operator(
        self,
        name: str,
        operands: Sequence[int],
        results: Sequence[int],
        graph: Subgraph,
        **fields: Any,  # noqa: ANN401 - fields of the schema
    ) -> Any:  # noqa: ANN401 - of the schema
        """Return an operator of the schema, with its operator code and its options.

        The operator is not appended to the subgraph.
        """
        made = schema.OperatorT()
        narrow = any(graph.kind(at) in ("int8", "uint8") for at in (*operands, *results) if at >= 0)
        made.opcodeIndex = self._code(name, WIDE.get(name, 1) if narrow else VERSIONS.get(name, 1))
        made.inputs, made.outputs = list(operands), list(results)
        if name in OPTIONS:
            made.builtinOptionsType = getattr(schema.BuiltinOptions, OPTIONS[name])
            made.builtinOptions = getattr(schema, OPTIONS[name] + "T")()
            for field, value in fields.items():
                setattr(made.builtinOptions, field, value)
        return made

    def _code(self, name: str, version: int) -> int:
        """Return the index of the operator code of this operator and version, which is added if it is absent."""
        number = getattr(schema.BuiltinOperator, name)
        for at, code_entry in enumerate(self.file.operatorCodes):
            if (code_entry.builtinCode, code_entry.version) == (number, version):
                return at
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), version
        self.file.operatorCodes.append(code)
        return len(self.file.operatorCodes) - 1

    def name(self, operator: Any) -> str:  # noqa: ANN401 - of the schema
        """Return the name of an operator, such as `ADD`."""
        number = self.file.operatorCodes[operator.opcodeIndex].builtinCode
        return next(name for name, value in vars(schema.BuiltinOperator).items() if value == number)

    def feeds(self) -> tuple[Feed, ...]:
        """Return the inputs of the main graph as feeds."""
        return tuple(Feed(f"t{at}", self.main.kind(at), self.main.shape(at)) for at in self.main.graph.inputs)

    def packed(self) -> bytes:
        """Return the content of the model's file."""
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.file.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def twin(self) -> TfliteDraft:
        """Return a copy of the draft that shares only the source of random numbers with the original."""
        rng, self.rng = self.rng, random.Random()  # noqa: S311 - not for secrets
        made = copy.deepcopy(self)
        made.rng = self.rng = rng
        return made
