"""A TFLite file as the proof reads it: tensors and operators as plain values, payloads as ranges of the file."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from graphfix.results import GraphfixError
from graphfix.verify.proof.constants import Payload

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack
    from pathlib import Path
    from typing import BinaryIO

NAMES: Mapping[int, str] = {code: name for name, code in vars(schema.BuiltinOperator).items() if name.isupper()}
TYPES: Mapping[int, str] = {code: name.lower() for name, code in vars(schema.TensorType).items() if name.isupper()}
WIDTHS: Mapping[str, int] = {
    "float32": 4, "float16": 2, "int32": 4, "uint8": 1, "int64": 8, "bool": 1, "int16": 2, "complex64": 8, "int8": 1,
    "float64": 8, "complex128": 16, "uint64": 8, "uint32": 4, "uint16": 2, "bfloat16": 2,
}  # fmt: skip
"""Bytes of an element; strings and types of less than a byte are compared as they are stored."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """The parameters of a tensor; the axis counts where there is a scale for each of its indices."""

    key: tuple[object, ...]
    """All but the axis."""
    axis: int | None
    """None for parameters that serve the whole tensor."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor."""

    name: str
    dtype: str
    dims: tuple[int | None, ...] | None
    """The declared shape, None for a free size; None where the rank is not stated."""
    stored: tuple[int, ...]
    quantization: Quantization | None
    variable: bool
    payload: Payload | None = field(repr=False)
    odd: tuple[object, ...] = ()
    """What makes a constant another than its bytes say: sparsity, an external buffer."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator; tensors by index, -1 for an operand that is not given."""

    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, object]
    key: tuple[object, ...]
    """All that the operator's table says but for its tensors and bodies."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """One subgraph."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """One file."""

    subgraphs: tuple[Subgraph, ...]
    signatures: tuple[tuple[str, int, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]], ...]
    """(key, subgraph, inputs and outputs as (name, tensor))."""


def read(path: Path, stack: ExitStack) -> Model:
    """Read a file. Raises GraphfixError for what is no TFLite model."""
    try:
        file = stack.enter_context(path.open("rb"))
        data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return _model(schema.Model.GetRootAs(data, 0), data, file)
    except OSError as error:
        raise GraphfixError(f"{path}: can't be read: {error.strerror}") from None
    except (struct.error, IndexError, ValueError, TypeError, AttributeError) as error:
        raise GraphfixError(f"{path}: no TFLite model: {error}; check the file") from None


def _model(model: Any, data: mmap.mmap, file: BinaryIO) -> Model:  # noqa: ANN401 - generated, without types
    codes = [_code(model.OperatorCodes(i)) for i in range(model.OperatorCodesLength())]
    buffers = _Buffers(model, data, file, {})
    graphs = tuple(_subgraph(model.Subgraphs(i), codes, buffers) for i in range(model.SubgraphsLength()))
    for graph in graphs:
        _refuse_indices(graph)
    return Model(graphs, tuple(_signature(model.SignatureDefs(i)) for i in range(model.SignatureDefsLength())))


def _refuse_indices(graph: Subgraph) -> None:
    """Every tensor that is named is there; an operand, and nothing else, may be -1. Raises ValueError."""
    count = len(graph.tensors)
    ends = (*graph.inputs, *graph.outputs, *(at for operator in graph.operators for at in operator.outputs))
    operands = (at for operator in graph.operators for at in operator.inputs if at != -1)
    for at in (*ends, *operands):
        if not 0 <= at < count:
            raise ValueError(f"tensor {at} is named, and its subgraph has {count}")


def _code(code: Any) -> tuple[str, int]:  # noqa: ANN401 - generated, without types
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    if number == schema.BuiltinOperator.CUSTOM:
        return f"custom {(code.CustomCode() or b'').decode('utf-8', 'replace')}", code.Version()
    return NAMES.get(number, f"builtin {number}"), code.Version()


@dataclass(frozen=True, slots=True)
class _Buffers:
    model: Any
    data: mmap.mmap
    file: BinaryIO
    known: dict[int, Payload | None]

    def payload(self, index: int) -> Payload | None:
        """Give the range of a buffer; None for one without bytes."""
        if index not in self.known:
            self.known[index] = self._read(self.model.Buffers(index)) if index else None
        return self.known[index]

    def _read(self, buffer: Any) -> Payload | None:  # noqa: ANN401 - generated, without types
        if buffer.Offset() > 1:
            return self._range(buffer.Offset(), buffer.Size())
        length = buffer.DataLength()
        if not length:
            return None
        table = buffer._tab  # noqa: SLF001 - where a vector begins is told nowhere else
        return self._range(table.Vector(table.Offset(4)), length)

    def _range(self, start: int, length: int) -> Payload:
        if not 0 <= start <= start + length <= len(self.data):
            raise ValueError(f"a buffer of {length} bytes at {start} is not within the file")
        return Payload(self.file, start, length)


def _subgraph(graph: Any, codes: list[tuple[str, int]], buffers: _Buffers) -> Subgraph:  # noqa: ANN401 - generated
    return Subgraph(
        tuple(_tensor(graph.Tensors(i), buffers) for i in range(graph.TensorsLength())),
        tuple(_operator(graph.Operators(i), codes) for i in range(graph.OperatorsLength())),
        _ints(graph, "Inputs"),
        _ints(graph, "Outputs"),
    )


def _tensor(tensor: Any, buffers: _Buffers) -> Tensor:  # noqa: ANN401 - generated, without types
    stored, signature = _ints(tensor, "Shape"), _ints(tensor, "ShapeSignature")
    payload = buffers.payload(tensor.Buffer())
    ranked = bool(stored or signature or tensor.HasRank() or payload is not None)
    dims = tuple(None if dim < 0 else dim for dim in signature or stored) if ranked else None
    sparsity = tensor.Sparsity()
    odd: tuple[object, ...] = ()
    if sparsity is not None:
        odd += ("sparse", _plain(schema.SparsityParametersT.InitFromObj(sparsity)))
    if tensor.ExternalBuffer():
        odd += ("external", tensor.ExternalBuffer())
    return Tensor(
        (tensor.Name() or b"").decode("utf-8", "replace"),
        TYPES.get(tensor.Type(), str(tensor.Type())),
        dims,
        stored,
        _quantization(tensor.Quantization()),
        tensor.IsVariable(),
        payload,
        odd,
    )


def _quantization(table: Any) -> Quantization | None:  # noqa: ANN401 - generated, without types
    if table is None or not (table.ScaleLength() or table.DetailsType()):
        return None
    details = _plain(schema.QuantizationDetailsCreator(table.DetailsType(), table.Details()))
    scales = table.ScaleAsNumpy().tobytes() if table.ScaleLength() else b""
    zeros = tuple(table.ZeroPointAsNumpy().tolist()) if table.ZeroPointLength() else ()
    several = table.ScaleLength() > 1 or table.DetailsType()
    return Quantization((scales, zeros, details), table.QuantizedDimension() if several else None)


def _operator(op: Any, codes: list[tuple[str, int]]) -> Operator:  # noqa: ANN401 - generated, without types
    name, version = codes[op.OpcodeIndex()]
    one = schema.BuiltinOptionsCreator(op.BuiltinOptionsType(), op.BuiltinOptions())
    two = schema.BuiltinOptions2Creator(op.BuiltinOptions2Type(), op.BuiltinOptions2())
    options = {**(vars(one) if one is not None else {}), **(vars(two) if two is not None else {})}
    plain = {key: _plain(value) for key, value in options.items()}
    told = tuple((key, value) for key, value in plain.items() if not key.endswith("ubgraphIndex"))
    custom = op.CustomOptionsAsNumpy().tobytes() if op.CustomOptionsLength() else b""
    if op.LargeCustomOptionsSize():
        start = op.LargeCustomOptionsOffset()
        custom += bytes(op._tab.Bytes[start : start + op.LargeCustomOptionsSize()])  # noqa: SLF001 - the file's bytes
    key = (name, op.BuiltinOptionsType(), op.BuiltinOptions2Type(), told, custom)
    return Operator(name, version, _ints(op, "Inputs"), _ints(op, "Outputs"), plain, key)


def _signature(
    signature: Any,  # noqa: ANN401 - generated, without types
) -> tuple[str, int, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
    def named(get: Any, count: int) -> tuple[tuple[str, int], ...]:  # noqa: ANN401 - generated, without types
        return tuple((get(i).Name().decode("utf-8", "replace"), get(i).TensorIndex()) for i in range(count))

    return (
        (signature.SignatureKey() or b"").decode("utf-8", "replace"),
        signature.SubgraphIndex(),
        named(signature.Inputs, signature.InputsLength()),
        named(signature.Outputs, signature.OutputsLength()),
    )


def _plain(value: Any) -> object:  # noqa: ANN401 - any field of any table
    """Give a comparable form of a table of the object API."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if hasattr(value, "__dict__"):
        return type(value).__name__, tuple((key, _plain(each)) for key, each in vars(value).items())
    return value.hex() if isinstance(value, float) else value


def _ints(table: Any, name: str) -> tuple[int, ...]:  # noqa: ANN401 - generated, without types
    found = getattr(table, f"{name}AsNumpy")()
    return () if isinstance(found, int) else tuple(found.tolist())
