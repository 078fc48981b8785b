"""Tensors, constants and operators added to a subgraph of LiteRT's object API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_fields import array, twin
from tests.support.pairs.tflite_file import KINDS, Model

DTYPES = {
    KINDS.FLOAT32: np.float32, KINDS.INT32: np.int32, KINDS.INT64: np.int64, KINDS.INT8: np.int8,
    KINDS.UINT8: np.uint8, KINDS.INT16: np.int16, KINDS.BOOL: np.bool_, KINDS.FLOAT16: np.float16,
    KINDS.UINT32: np.uint32, KINDS.FLOAT64: np.float64, KINDS.UINT16: np.uint16,
}  # fmt: skip
KIND_OF = {np.dtype(dtype).name: kind for kind, dtype in DTYPES.items()}


@dataclass
class Draft:
    """A subgraph to which tensors, constants and operators are added, and from which all of it is taken away again."""

    model: Model
    graph: Model

    def constant(self, values: Any, dtype: str = "int32") -> int:  # noqa: ANN401 -- numbers
        held = np.asarray(values, dtype)
        made = schema.BufferT()
        made.data = np.frombuffer(held.tobytes(), np.uint8)
        self.model.buffers.append(made)
        tensor = self.tensor(held.shape, KIND_OF[held.dtype.name])
        self.graph.tensors[tensor].buffer = len(self.model.buffers) - 1
        return tensor

    def tensor(self, shape: Sequence[int], kind: int) -> int:
        made = schema.TensorT()
        made.name, made.shape, made.type, made.hasRank = b"new%d" % len(self.graph.tensors), array(shape), kind, True
        made.buffer = 0
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def like(self, at: int, shape: Sequence[int], *, free: bool = False) -> int:
        """A tensor of the type and scales of another."""
        made = self.tensor(shape, self.graph.tensors[at].type)
        self.graph.tensors[made].quantization = twin(self.graph.tensors[at].quantization)
        if free:
            self.graph.tensors[made].shapeSignature = array([-1] * len(shape))
        return made

    def operator(
        self, code: int, inputs: Sequence[int], outputs: Sequence[int], options: Model = None, version: int = 1
    ) -> Model:
        held = schema.OperatorCodeT()
        held.builtinCode, held.deprecatedBuiltinCode, held.version = code, min(code, 127), version
        self.model.operatorCodes.append(held)
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = len(self.model.operatorCodes) - 1, array(inputs), array(outputs)
        if options is not None:
            name = type(options).__name__.removesuffix("T")
            second = "2" if hasattr(schema.BuiltinOptions2, name) else ""
            setattr(made, f"builtinOptions{second}", options)
            setattr(made, f"builtinOptions{second}Type", getattr(getattr(schema, f"BuiltinOptions{second}"), name))
        return made


def options(name: str, **values: object) -> Model:
    """A table of builtin options."""
    made = getattr(schema, f"{name}T")()
    for field, value in values.items():
        setattr(made, field, value)
    return made
