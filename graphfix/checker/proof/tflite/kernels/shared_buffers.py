"""Find values that LiteRT overwrites before their last use, because its memory planner shares a buffer wrongly.

LiteRT lets some operators write their result into an operand's buffer. LiteRT requires that the operand is read once,
and that the value that owns the buffer is read once. It does not check the values between these two. Such a value lies
in the owner's buffer. If it is read through a RESHAPE and again later, it is overwritten in between. The option
`preserve_all_tensors` turns the sharing off.

Source: LiteRT's arena_planner.cc, `IdentifyInPlaceTensors`; measured with LiteRT 2.3.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from graphfix.checker.proof.core.result import UnprovedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph, Tensor

SAME: Final = frozenset({"RESHAPE", "EXPAND_DIMS", "SQUEEZE", "BITCAST", "REDUCE_PRECISION"})
"""Operators whose result stays in the buffer of the first operand, unchanged."""
WRITING: Final = {"ADD": 2, "SUB": 2, "MUL": 2, "DIV": 2, "SOFTMAX": 1, "DYNAMIC_UPDATE_SLICE": 1}
"""Operators that may write their result into the buffer of an operand, and how many of the first operands qualify."""


def check_buffers(model: Model) -> None:
    """Raise UnprovedError if LiteRT may overwrite a value of a model before its last use."""
    for graph in model.subgraphs:
        buffers = _Buffers(graph)
        for place, operator in enumerate(graph.operators):
            for lost in buffers.overwritten(operator, place):
                raise UnprovedError(
                    f"LiteRT may write the result of {operator.name}#{place} into the buffer of "
                    f"{graph.tensors[lost].name!r} in the second file, where it is read again later"
                )


class _Buffers:
    """The readers and makers of a subgraph's values, to find which values may be in one buffer."""

    def __init__(self, graph: Subgraph) -> None:
        self.graph = graph
        self.readers: dict[int, list[int]] = {}
        """For each value, the positions of the operators that read it, once for each operand that is this value."""
        self.makers: dict[int, Operator] = {}
        for place, operator in enumerate(graph.operators):
            for operand in operator.inputs:
                self.readers.setdefault(operand, []).append(place)
            if operator.outputs:
                self.makers[operator.outputs[0]] = operator

    def overwritten(self, operator: Operator, place: int) -> Iterator[int]:
        """Yield the values that are lost because the operator at position `place` writes into an operand's buffer."""
        for operand in operator.inputs[: WRITING.get(operator.name, 0)] if operator.outputs else ():
            if self.may_share(operand, operator):
                yield from self.lost(operand, place)

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
        """Yield the values that are lost if the operator at position `place` writes into the buffer of `operand`.

        The value that owns the buffer is not lost, because LiteRT checks how often the owner is read.
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
        """Return the values in whose buffers a value may be."""
        maker = self.makers.get(value)
        if maker is None:
            return []
        count = 1 if maker.name in SAME else WRITING.get(maker.name, 0)
        return [each for each in maker.inputs[:count] if self.may_share(each, maker)]

    def _last_use(self, value: int, but: int) -> int:
        """Return the position of the last operator that reads a value, except the operator whose first result is `but`.

        Reads through operators of `SAME` are included. Returns -1 if no operator reads the value.
        """
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
    """Return whether two tensors may have equal numbers of elements. An unknown size may be any size."""
    shapes = [tensor.dims for tensor in (one, other)]
    numbers = [
        prod(size for size in dims if size is not None) for dims in shapes if dims is not None and None not in dims
    ]
    return len(numbers) < len(shapes) or numbers[0] == numbers[1]
