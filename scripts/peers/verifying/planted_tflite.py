"""Faults that are planted into TFLite models: see peers.verifying.planted_onnx."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

FEWEST_WEIGHTS = 16
_NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if not name.startswith("_")}
_TYPES = {
    schema.TensorType.FLOAT32: np.float32,
    schema.TensorType.FLOAT16: np.float16,
    schema.TensorType.INT32: np.int32,
}


@dataclass(frozen=True, slots=True)
class File:
    """The object API's tree of a file."""

    model: schema.ModelT

    @classmethod
    def of(cls, data: bytes) -> File:
        """Read a file."""
        return cls(schema.ModelT.InitFromPackedBuf(data, 0))

    def operators(self) -> list[schema.OperatorT]:
        """Return the operators of the first graph."""
        return list(self.model.subgraphs[0].operators)

    def op(self, operator: schema.OperatorT) -> str:
        """Return an operator's type."""
        code = self.model.operatorCodes[operator.opcodeIndex]
        return str(_NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)])

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the stored shape of a tensor."""
        shape = self.model.subgraphs[0].tensors[index].shape
        return () if shape is None else tuple(map(int, shape))

    def value(self, index: int) -> np.ndarray | None:
        """Return the elements of a constant."""
        tensor = self.model.subgraphs[0].tensors[index]
        data = self.model.buffers[tensor.buffer].data
        if data is None or not len(data) or tensor.type not in _TYPES or tensor.sparsity:
            return None
        return np.frombuffer(bytes(data), _TYPES[tensor.type]).copy()

    def set(self, index: int, value: np.ndarray) -> None:
        """Store other elements for all readers of a constant."""
        buffer = self.model.subgraphs[0].tensors[index].buffer
        self.model.buffers[buffer].data = np.frombuffer(value.tobytes(), np.uint8)

    def code(self, name: str) -> int:
        """Return the index of the code of an operator, which is added."""
        code = schema.OperatorCodeT()
        number = getattr(schema.BuiltinOperator, name)
        code.builtinCode, code.deprecatedBuiltinCode, code.version = number, number, 1
        self.model.operatorCodes.append(code)
        return len(self.model.operatorCodes) - 1

    def packed(self) -> bytes:
        """Return the file's bytes."""
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


Place = Callable[[File, schema.OperatorT], bool]


def _of(*ops: str) -> Callable[[Place], Place]:
    """Let a fault fit operators of these types alone."""

    def only(place: Place) -> Place:
        return lambda file, operator: file.op(operator) in ops and place(file, operator)

    return only


def _source(file: File, index: int) -> int:
    """Return the constant behind a DEQUANTIZE, as float16 weights are stored, or the tensor itself."""
    return next(
        (int(each.inputs[0]) for each in file.operators() if index in each.outputs and file.op(each) == "DEQUANTIZE"),
        index,
    )


def _weights(file: File, operator: schema.OperatorT) -> tuple[int, np.ndarray | None]:
    index = _source(file, int(operator.inputs[1]))
    value = file.value(index)
    return index, value if value is not None and value.size >= FEWEST_WEIGHTS else None


@_of("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
def _weight(file: File, operator: schema.OperatorT) -> bool:
    index, value = _weights(file, operator)
    if value is None:
        return False
    value[np.abs(value).argmax()] *= -1
    file.set(index, value)
    return True


@_of("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
def _scale(file: File, operator: schema.OperatorT) -> bool:
    """All weights of one operator are 2 % larger."""
    index, value = _weights(file, operator)
    if value is None:
        return False
    file.set(index, (value * 1.02).astype(value.dtype))
    return True


@_of("STRIDED_SLICE", "GATHER")
def _index(file: File, operator: schema.OperatorT) -> bool:
    """A GATHER takes its neighbour first; a STRIDED_SLICE begins and ends one element earlier."""
    positions = (1,) if file.op(operator) == "GATHER" else (1, 2)
    values = [file.value(int(operator.inputs[position])) for position in positions]
    found = [value for value in values if value is not None]
    if len(found) < len(positions):
        return False
    axis = next((axis for axis, begin in enumerate(found[0]) if begin > 0), None)
    if axis is None:
        return False
    for position, value in zip(positions, found, strict=True):
        value[axis] -= 1
        file.set(int(operator.inputs[position]), value)
    return True


@_of("TRANSPOSE")
def _axes(file: File, operator: schema.OperatorT) -> bool:
    """Two axes of equal size are swapped."""
    order = file.value(int(operator.inputs[1]))
    shape = file.shape(int(operator.outputs[0]))
    if order is None:
        return False
    for axis in range(len(shape) - 1):
        if shape[axis] == shape[axis + 1] > 1:
            order[axis], order[axis + 1] = order[axis + 1], order[axis]
            file.set(int(operator.inputs[1]), order)
            return True
    return False


@_of("ADD")
def _operator(file: File, operator: schema.OperatorT) -> bool:
    options = schema.SubOptionsT()
    options.fusedActivationFunction = operator.builtinOptions.fusedActivationFunction
    operator.builtinOptions, operator.builtinOptionsType = options, schema.BuiltinOptions.SubOptions
    operator.opcodeIndex = file.code("SUB")
    return True


@_of("SUB", "DIV")
def _order(_: File, operator: schema.OperatorT) -> bool:
    operator.inputs = np.array([operator.inputs[1], operator.inputs[0]], np.int32)
    return True


@_of("PRELU", "ADD", "MUL", "SUB")
def _axis(file: File, operator: schema.OperatorT) -> bool:
    """`PRELU(x[1,n,n,n], a[1,1,n])` reads `a[1,n,1]`."""
    first, second = map(int, operator.inputs)
    shape, under = file.shape(second), file.shape(first)
    fits = len(shape) > 1 and len(under) > 1 and shape[-1] == under[-2] == under[-1] > 1 == shape[-2]
    if not fits or file.value(_source(file, second)) is None:
        return False
    for index in {second, _source(file, second)}:
        file.model.subgraphs[0].tensors[index].shape = np.array([*shape[:-2], shape[-1], 1], np.int32)
    return True


@_of("PAD")
def _side(file: File, operator: schema.OperatorT) -> bool:
    """What is padded behind is padded in front."""
    value = file.value(int(operator.inputs[1]))
    if value is None:
        return False
    pairs = value.reshape(-1, 2)
    if (pairs[:, 0] == pairs[:, 1]).all():
        return False
    file.set(int(operator.inputs[1]), pairs[:, ::-1])
    return True


KINDS: Mapping[str, Place] = {
    "weight": _weight,
    "scale": _scale,
    "index": _index,
    "axes": _axes,
    "operator": _operator,
    "order": _order,
    "axis": _axis,
    "side": _side,
}
"""By the names of peers.verifying.faults.KINDS."""


def places(data: bytes, kind: str) -> Iterator[bytes]:
    """Yield the file with one fault of a kind, at one place after the other."""
    for number in range(len(File.of(data).operators())):
        file = File.of(data)
        if KINDS[kind](file, file.operators()[number]):
            yield file.packed()
