"""Read what the checker needs of a TFLite file: operators, shapes, small constants; never the weights.

Only files that LiteRT has loaded come here: it verifies every reference of a file first.
"""

from __future__ import annotations

import math
import mmap
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


_MOST_ELEMENTS = 1024
_TYPES = {
    schema.TensorType.FLOAT32: np.float32,
    schema.TensorType.INT32: np.int32,
    schema.TensorType.INT64: np.int64,
    schema.TensorType.INT16: np.int16,
    schema.TensorType.INT8: np.int8,
    schema.TensorType.UINT8: np.uint8,
}
_NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if name.isupper()}
_IF, _WHILE = "IF", "WHILE"


@dataclass(frozen=True, slots=True)
class Op:
    """One operator: its name (a custom one's own), the tensors by index, and the options that matter here."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    axis: int = 0
    bodies: tuple[int, ...] = ()
    """The subgraphs that an IF or WHILE runs."""
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """One subgraph; tensors are indices."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int | None, ...], ...]
    """None for a size that is free."""
    constants: Mapping[int, np.ndarray[Any, Any]] = field(repr=False)
    """The small ones, of the plain numeric types."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    ops: tuple[Op, ...]
    makers: Mapping[int, int] = field(repr=False)
    """Tensor -> the place of the operator that makes it."""

    def producers(self) -> dict[str, tuple[str, str]]:
        """Give tensor -> (operator, how a report names it), in the order of execution."""
        return {
            self.names[index]: (op.name, f"{op.name}#{at}") for at, op in enumerate(self.ops) for index in op.outputs
        }


def read(path: Path) -> tuple[Graph, ...]:
    """Read all subgraphs of a file that LiteRT has accepted."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        model = schema.Model.GetRootAs(data, 0)
        codes = [_code(model.OperatorCodes(i)) for i in range(model.OperatorCodesLength())]
        return tuple(_graph(model, model.Subgraphs(i), codes, data) for i in range(model.SubgraphsLength()))


def _graph(model: Any, graph: Any, codes: list[tuple[str, bool]], data: mmap.mmap) -> Graph:  # noqa: ANN401 - generated
    tensors = [graph.Tensors(i) for i in range(graph.TensorsLength())]
    ops = tuple(_op(graph.Operators(i), codes) for i in range(graph.OperatorsLength()))
    found = ((i, _constant(model, tensor, data)) for i, tensor in enumerate(tensors))
    return Graph(
        _unique([(tensor.Name() or b"").decode("utf-8", "replace") for tensor in tensors]),
        tuple(_shape(tensor) for tensor in tensors),
        {i: value for i, value in found if value is not None},
        _ints(graph, "Inputs"),
        _ints(graph, "Outputs"),
        ops,
        {index: at for at, op in enumerate(ops) for index in op.outputs},
    )


def _code(code: Any) -> tuple[str, bool]:  # noqa: ANN401 - generated
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    if number == schema.BuiltinOperator.CUSTOM:
        return (code.CustomCode() or b"").decode("utf-8", "replace"), True
    return _NAMES.get(number, f"builtin {number}"), False


def _op(op: Any, codes: list[tuple[str, bool]]) -> Op:  # noqa: ANN401 - generated
    name, custom = codes[op.OpcodeIndex()]
    kind = {"GATHER": schema.GatherOptions, _IF: schema.IfOptions, _WHILE: schema.WhileOptions}.get(name)
    table, options = op.BuiltinOptions(), None
    if kind is not None and table is not None:
        options = kind()
        options.Init(table.Bytes, table.Pos)
    bodies: tuple[int, ...] = ()
    if options is not None and name == _IF:
        bodies = (options.ThenSubgraphIndex(), options.ElseSubgraphIndex())
    if options is not None and name == _WHILE:
        bodies = (options.CondSubgraphIndex(), options.BodySubgraphIndex())
    axis = options.Axis() if options is not None and name == "GATHER" else 0
    return Op(name, _ints(op, "Inputs"), _ints(op, "Outputs"), axis, bodies, custom)


def _shape(tensor: Any) -> tuple[int | None, ...]:  # noqa: ANN401 - generated
    stored, signature = _ints(tensor, "Shape"), _ints(tensor, "ShapeSignature")
    return tuple(dim if dim >= 0 else None for dim in signature or stored)


def _constant(model: Any, tensor: Any, data: mmap.mmap) -> np.ndarray[Any, Any] | None:  # noqa: ANN401 - generated
    shape, dtype = _ints(tensor, "Shape"), _TYPES.get(tensor.Type())
    if dtype is None or math.prod(shape) > _MOST_ELEMENTS or not 0 < tensor.Buffer() < model.BuffersLength():
        return None
    buffer = model.Buffers(tensor.Buffer())
    size = math.prod(shape) * np.dtype(dtype).itemsize
    payload: bytes = b""
    if buffer.DataLength():
        payload = buffer.DataAsNumpy().tobytes()
    elif buffer.Offset() > 1:  # a file above 2 GB keeps its payloads behind the tables
        payload = data[buffer.Offset() : buffer.Offset() + buffer.Size()]
    return np.frombuffer(payload, dtype).reshape(shape) if payload and len(payload) == size else None


def _ints(table: Any, name: str) -> tuple[int, ...]:  # noqa: ANN401 - generated
    if getattr(table, f"{name}IsNone")():
        return ()
    return tuple(map(int, getattr(table, f"{name}AsNumpy")()))


def _unique(names: list[str]) -> tuple[str, ...]:
    """Name tensors as graphfix.runtimes.litert does: an empty or repeated name gives way to `t<index>`."""
    return tuple(_each(names))


def _each(names: list[str]) -> Iterator[str]:
    counts = Counter(names)
    taken = {name for name, count in counts.items() if name and count == 1}
    for index, name in enumerate(names):
        made = name if name in taken else f"t{index}"
        while name not in taken and made in taken:
            made += "_"
        yield made
