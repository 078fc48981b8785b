"""The graphs of a TFLite model for the runs: names as LiteRT reports them, shapes, and small constants."""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.names import unique_names
from graphfix.checker.files.tflite.records import Operator, Subgraph, Tensor
from graphfix.checker.files.tflite.schema import UnsupportedFieldError
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_MOST_ELEMENTS = 1024
_NUMERIC = frozenset({"float32", "int32", "int64", "int16", "int8", "uint8"})
_QUANTIZED = frozenset({"int8", "uint8", "int16"})
_CONTROL_FLOW = frozenset({"IF", "WHILE"})


@dataclass(frozen=True, slots=True)
class Op:
    """An operator: its name (for a custom operator, the name in the file), tensors by index, and some options.

    `axis` is the axis of a GATHER, and 0 for other operators.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    axis: int = 0
    bodies: tuple[int, ...] = ()
    """The indices of the subgraphs that an IF or WHILE runs."""
    strides: tuple[int, int] = (1, 1)
    """The strides along height and width, as in TRANSPOSE_CONV. Operators without these options have (0, 0)."""
    padded: bool = False
    """Whether the padding is SAME. Also True for operators without this option."""


class Levels(NamedTuple):
    """The real numbers that a quantized tensor can represent, for a tensor with one scale."""

    step: float
    """The difference between neighbouring numbers: the scale.

    `low` and `high` are the least and the greatest number.
    """
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Graph:
    """A subgraph. Tensors are indices."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int | None, ...], ...]
    """For each tensor, its sizes; None for a free size. A tensor of unknown rank has the shape ()."""
    constants: Mapping[int, np.ndarray[Any, Any]] = field(repr=False)
    """The constants of up to 1024 elements of the plain numeric types, by tensor."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    ops: tuple[Op, ...]
    makers: Mapping[int, int] = field(repr=False)
    """For each tensor that an operator computes, the position of that operator in `ops`."""
    levels: Mapping[int, Levels] = field(default_factory=dict, repr=False)
    """For each quantized tensor with one scale, the numbers that it can represent."""

    def producers(self) -> dict[str, tuple[str, str]]:
        """Return (operator, label in reports) by the name of each computed tensor, in the order of execution."""
        return {
            self.names[index]: (op.name, f"{op.name}#{at}") for at, op in enumerate(self.ops) for index in op.outputs
        }


def read_graphs(path: Path) -> tuple[Graph, ...]:
    """Read all subgraphs of a file. Fields that the schema does not define are ignored. Raises GraphfixError."""
    try:
        with ExitStack() as stack:
            model, _ = read(path, stack, lenient=True)
            return tuple(map(_graph, model.subgraphs))
    except UnsupportedFieldError as error:
        raise GraphfixError(f"{path}: can't be read: {error}; convert the model again") from None


def _graph(graph: Subgraph) -> Graph:
    ops = tuple(map(_op, graph.operators))
    constants = ((index, _constant(tensor)) for index, tensor in enumerate(graph.tensors))
    levels = ((index, _levels(tensor)) for index, tensor in enumerate(graph.tensors))
    return Graph(
        names=tuple(unique_names(graph)),
        shapes=tuple(tensor.dims or () for tensor in graph.tensors),
        constants={index: value for index, value in constants if value is not None},
        inputs=graph.inputs,
        outputs=graph.outputs,
        ops=ops,
        makers={index: at for at, op in enumerate(ops) for index in op.outputs},
        levels={index: value for index, value in levels if value is not None},
    )


def _op(op: Operator) -> Op:
    """Return an operator with the options that the runs need."""
    axis = op.options.get("axis") if op.name == "GATHER" else 0
    bodies = tuple(at for _, at in op.bodies) if op.name in _CONTROL_FLOW else ()
    name = op.name.removeprefix("custom ")
    rows, columns = (op.options.get(key, 0) for key in ("strideH", "strideW"))
    strides = (rows, columns) if isinstance(rows, int) and isinstance(columns, int) else (1, 1)
    padded = not op.options.get("padding")
    return Op(name, op.inputs, op.outputs, axis if isinstance(axis, int) else 0, bodies, strides, padded)


def _constant(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """Return the elements of a small numeric constant in its stored shape; None for any other tensor."""
    payload, count = tensor.payload, math.prod(tensor.stored)
    if payload is None or tensor.dtype not in _NUMERIC or count > _MOST_ELEMENTS:
        return None
    dtype = np.dtype(tensor.dtype)
    if not payload.length or payload.length != count * dtype.itemsize:
        return None
    return np.frombuffer(payload.read(0, payload.length), dtype).reshape(tensor.stored)


def _levels(tensor: Tensor) -> Levels | None:
    """Return the numbers that a quantized tensor can represent; None if the tensor does not have exactly one scale."""
    found = None if tensor.quantization is None else tensor.quantization.scale
    if found is None or tensor.dtype not in _QUANTIZED:
        return None
    scale, zero = found
    limits = np.iinfo(tensor.dtype)
    return Levels(scale, (int(limits.min) - zero) * scale, (int(limits.max) - zero) * scale)


def ancestors(graph: Graph, tensors: Sequence[int]) -> set[int]:
    """Return the positions of all operators that the given tensors are computed by, directly or indirectly."""
    left, found = list(tensors), set[int]()
    while left:
        maker = graph.makers.get(left.pop())
        if maker is not None and maker not in found:
            found.add(maker)
            left.extend(graph.ops[maker].inputs)
    return found
