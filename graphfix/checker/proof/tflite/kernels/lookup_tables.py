"""Find the chains of operators that XNNPACK may replace by one lookup table.

A chain consists of element-wise operators. Its operand and its result have 8 bits; values between may be floats. When
the model is loaded, XNNPACK computes the chain once for all 256 numbers. A chain ends at a value that has two readers
or is an output. The result of the table has the shape of the chain's operand. So the rank of a constant of one element
in the chain is lost. If a float is NaN, MAXIMUM and MINIMUM in a table return another operand than without a table.

Source: XNNPACK's subgraph.c, `xnn_subgraph_fuse_unary_quantized_into_lut`; measured with LiteRT 2.3:
tests/checker/proof/tflite/kernels/test_lookup_tables.py.
"""

from __future__ import annotations

import struct
from math import inf, isnan
from operator import add, mul
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from graphfix.checker.proof.tflite.operators.table import EACH, UNARY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Subgraph, Tensor

BYTES: Final = frozenset({"int8", "uint8"})
_ELEMENTWISE: Final = EACH | UNARY | {"PRELU"}
_FINITE: Final = 1e38
"""A bound below the largest number of float32."""
_GROWING: Final[Mapping[str, Callable[[float, float], float]]] = {
    "ADD": add,
    "SUB": add,
    "MUL": mul,
    "SQUARE": lambda one, _: one * one,
    "SQUARED_DIFFERENCE": lambda one, other: (one + other) * (one + other),
    **dict.fromkeys(("CEIL", "FLOOR", "ROUND"), lambda one, _: one + 1.0),
}
"""The largest possible result of an operator, computed from the largest magnitudes of its operands."""
_BOUNDED: Final = frozenset(
    "ABS DEQUANTIZE LOGISTIC MAXIMUM MINIMUM NEG RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 SIGN TANH".split()
)
"""Operators whose result is not larger than the largest operand, or than 1."""
_FLOAT: Final = struct.Struct("<f")
_BYTE: Final = 256.0
Kinds: TypeAlias = "tuple[tuple[object, ...], ...]"
"""For each operator, its key and version; for operators of a chain, also the type of the result."""


class Chain(NamedTuple):
    """A chain of operators, with all properties by which XNNPACK decides to replace it by a table.

    `members` are the operators of the chain. `made_by` are the operators that compute its operands, and `read_by` those
    that read its result.
    """

    place: int
    """The position in the chain of the operator that this record is for."""
    members: Kinds
    made_by: Kinds
    read_by: Kinds
    is_output: bool
    """Whether the result of the last operator is an output of the subgraph."""
    is_finite: bool
    """Whether no element can become infinite or NaN in the chain."""

    def __str__(self) -> str:
        """Return the names of the chain's operators, as printed."""
        return ", ".join(str(kind[0][0]) for kind in self.members if isinstance(kind[0], tuple))


def chains(graph: Subgraph) -> Mapping[int, Chain]:
    """Return, by tensor, the chain that the tensor may be computed in. Most results of operators are in no chain.

    Chains of one operator are included. XNNPACK applies a fused activation as a second operator, so one operator of the
    file may be two operators of a chain.
    """
    if not any(tensor.dtype in BYTES for tensor in graph.tensors):
        return {}
    readers: dict[int, list[int]] = {}
    makers: dict[int, Operator] = {}
    for place, operator in enumerate(graph.operators):
        makers.update(dict.fromkeys(operator.outputs, operator))
        for operand in set(operator.inputs):
            readers.setdefault(operand, []).append(place)
    found: dict[int, Chain] = {}
    for place, operator in enumerate(graph.operators):
        if found.keys().isdisjoint(operator.outputs):
            members = _members(graph, place, readers)
            if members:
                chain = _chain(graph, members, readers, makers)
                found.update((member.outputs[0], chain._replace(place=at)) for at, member in enumerate(members))
    return found


def _members(graph: Subgraph, place: int, readers: Mapping[int, list[int]]) -> list[Operator]:
    """Return the operators of the chain that begins at position `place`; [] if no chain begins there."""
    operands = _operands(graph, graph.operators[place])
    if len(operands) != 1 or min(operands) < 0 or graph.tensors[min(operands)].dtype not in BYTES:
        return []
    members = list(_from(graph, place, operands, readers))
    while members and graph.tensors[members[-1].outputs[0]].dtype not in BYTES:
        members.pop()
    return members


def _chain(
    graph: Subgraph, members: Sequence[Operator], readers: Mapping[int, list[int]], makers: Mapping[int, Operator]
) -> Chain:
    """Return the record of a chain for its first operator.

    It includes the operators directly before and behind the chain.
    """
    kinds = tuple((*_kind(each), graph.tensors[each.outputs[0]].dtype) for each in members)
    last = members[-1].outputs[0]
    made_by = tuple(_kind(makers[at]) for at in _operands(graph, members[0]) if at in makers)
    read_by = tuple(_kind(graph.operators[at]) for at in readers.get(last, ()))
    return Chain(0, kinds, made_by, read_by, last in graph.outputs, _is_finite(graph, members))


def _is_finite(graph: Subgraph, members: Sequence[Operator]) -> bool:
    """Return whether no element can become infinite or NaN in a chain, by the largest magnitude of each result."""
    largest = max(_largest(graph.tensors[at]) for at in _operands(graph, members[0]))
    for operator in members:
        tensors = [graph.tensors[at] for at in operator.inputs if at >= 0]
        constant = max((_largest(tensor) for tensor in tensors if is_unit_constant(tensor)), default=largest)
        result = graph.tensors[operator.outputs[0]]
        if result.dtype in BYTES:
            largest = _largest(result)
        elif operator.name in _GROWING:
            largest = _GROWING[operator.name](largest, constant)
        elif operator.name in _BOUNDED:
            largest = max(largest, constant, 1.0)
        else:
            return False
        if not largest < _FINITE:
            return False
    return True


def _largest(tensor: Tensor) -> float:
    """Return a bound on the magnitudes in a tensor of 8 bits, or the magnitude of a float32 constant of one element.

    The result is infinity for all other tensors.
    """
    if tensor.dtype in BYTES:
        scale = (1.0, 0) if tensor.quantization is None else tensor.quantization.scale
        return inf if scale is None else _BYTE * abs(scale[0])
    if tensor.dtype != "float32" or tensor.payload is None or tensor.payload.length != _FLOAT.size:
        return inf
    number = abs(float(_FLOAT.unpack(tensor.payload.read(0, _FLOAT.size))[0]))
    return inf if isnan(number) else number


def _from(graph: Subgraph, place: int, operands: set[int], readers: Mapping[int, list[int]]) -> Iterator[Operator]:
    """Yield the operators of a chain, beginning with the operator at `place`.

    Each operator reads only `operands`, results of the chain, and constants of one element.
    """
    inside = set(operands)
    while True:
        operator = graph.operators[place]
        if operator.name not in _ELEMENTWISE or len(operator.outputs) != 1:
            return
        if not _operands(graph, operator) <= inside:
            return
        yield operator
        result = operator.outputs[0]
        if result in graph.outputs or len(readers.get(result, ())) != 1:
            return
        inside.add(result)
        place = readers[result][0]


def _operands(graph: Subgraph, operator: Operator) -> set[int]:
    """Return the operands that are not constants of one element."""
    return {at for at in operator.inputs if at < 0 or not is_unit_constant(graph.tensors[at])}


def is_unit_constant(tensor: Tensor) -> bool:
    """Return whether a tensor is a constant of the file with one element."""
    return tensor.payload is not None and all(size == 1 for size in tensor.stored)


def _kind(operator: Operator) -> tuple[object, ...]:
    """Return the key and the version of an operator."""
    return operator.key, operator.version
