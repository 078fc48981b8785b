"""Find the values that LiteRT overwrites before their last use, since its memory planner shares a buffer wrongly.

LiteRT lets some operators write their result into an operand's buffer. It does so only if the operand is read once, and
if the value that owns the buffer is read once. It does not look at the values between these two: a value that is in
another value's buffer, and is read through a RESHAPE and again later, is overwritten. `preserve_all_tensors` turns the
sharing off. Source: LiteRT's arena_planner.cc, `IdentifyInPlaceTensors`; measured with LiteRT 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphfix.checker.proof.result import UnprovedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph, Tensor

SAME: Final = frozenset({"RESHAPE", "EXPAND_DIMS", "SQUEEZE", "BITCAST", "REDUCE_PRECISION"})
"""Operators whose result is in the buffer of the first operand, unchanged."""
WRITING: Final = {"ADD": 2, "SUB": 2, "MUL": 2, "DIV": 2, "SOFTMAX": 1, "DYNAMIC_UPDATE_SLICE": 1}
"""Operators that write their result into the buffer of one of their first operands, and how many of them qualify."""


def check_buffers(model: Model) -> None:
    """Raise UnprovedError if LiteRT may overwrite a value of a model before its last use."""
    for graph in model.subgraphs:
        for name, by in overwritten(graph):
            raise UnprovedError(
                f"LiteRT may write the result of {by} into the buffer of {name!r} in the second file, where it is "
                "read again later"
            )


class Overwritten(NamedTuple):
    """A value that is overwritten before its last use."""

    name: str
    by: str
    """The operator that writes into its buffer, with its place."""


def overwritten(graph: Subgraph) -> Iterator[Overwritten]:
    """Yield the values of a subgraph that LiteRT may overwrite, each with the operator that does it."""
    buffers = _Buffers(graph)
    for place, operator in enumerate(graph.operators):
        if operator.name not in WRITING or not operator.outputs:
            continue
        for operand in operator.inputs[: WRITING[operator.name]]:
            if buffers.may_share(operand, operator):
                yield from (
                    Overwritten(graph.tensors[lost].name, f"{operator.name}#{place}")
                    for lost in buffers.lost(operand, place)
                )


class _Buffers:
    """Which values of a subgraph may be in one buffer."""

    def __init__(self, graph: Subgraph) -> None:
        self.graph = graph
        self.readers: dict[int, list[int]] = {}
        """By value: the places of the operators that read it, once for each operand."""
        self.makers: dict[int, Operator] = {}
        for place, operator in enumerate(graph.operators):
            for operand in operator.inputs:
                self.readers.setdefault(operand, []).append(place)
            if operator.outputs:
                self.makers[operator.outputs[0]] = operator

    def may_share(self, operand: int, operator: Operator) -> bool:
        """Return whether the first result of an operator may be in the buffer of an operand."""
        result = operator.outputs[0]
        if operand not in self.makers or operand in self.graph.inputs or result in self.graph.outputs:
            return False
        if operator.name in SAME:
            return True
        if len(self.readers.get(operand, ())) > 1 or operand in self.graph.outputs:
            return False
        return _may_be_as_large(self.graph.tensors[operand], self.graph.tensors[result])

    def lost(self, operand: int, place: int) -> Iterator[int]:
        """Yield the values that are lost if the operator at a place writes into an operand's buffer.

        A value in a buffer of its own is kept: it is read twice, and LiteRT looks at that.
        """
        seen, pending = set[int](), self._sources(operand)
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            sources = self._sources(value)
            pending += sources
            if sources and self._last_use(value, operand) > place:
                yield value

    def _sources(self, value: int) -> list[int]:
        """Return the values in whose buffer a value may be."""
        maker = self.makers.get(value)
        if maker is None:
            return []
        count = 1 if maker.name in SAME else WRITING.get(maker.name, 0)
        return [each for each in maker.inputs[:count] if self.may_share(each, maker)]

    def _last_use(self, value: int, but: int) -> int:
        """Return the place of the last operator that reads a value, through operators of `SAME` too, except `but`."""
        last, pending = -1, [value]
        while pending:
            each = pending.pop()
            for place in self.readers.get(each, ()):
                reader = self.graph.operators[place]
                if reader.outputs and reader.outputs[0] == but:
                    continue
                last = max(last, place)
                if reader.name in SAME and reader.outputs and reader.outputs[0] not in self.graph.outputs:
                    pending.append(reader.outputs[0])
        return last


def _may_be_as_large(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors may have as many bytes."""
    sizes = [_number(tensor) for tensor in (one, other)]
    return None in sizes or sizes[0] == sizes[1]


def _number(tensor: Tensor) -> int | None:
    """Return how many elements a tensor has; None where a size is free."""
    if tensor.dims is None or None in tensor.dims:
        return None
    number = 1
    for size in tensor.dims:
        number *= size or 0
    return number
