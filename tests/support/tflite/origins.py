"""Tells whether the operand of an edited TFLite operator is what it was, in another shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.support.tflite.tree import Tree, differing, operator_name

if TYPE_CHECKING:
    from collections.abc import Iterator

MOVES = frozenset({"RESHAPE", "EXPAND_DIMS", "TILE", "BROADCAST_TO"})
"""What stands between an operand as it was and as it is: operators whose operand 0 is moved, no element computed."""


@dataclass
class Origins:
    """Where the operands of one subgraph come from."""

    old: Tree
    new: Tree
    index: int
    past: dict[int, int]
    """Result and operand of the broadcasts that are gone."""

    def __post_init__(self) -> None:
        self.before, self.after = self.old.subgraphs[self.index], self.new.subgraphs[self.index]
        self.makers = {tensor: each for each in self.after.operators for tensor in each.outputs}

    def bypassed(self, tensor: int) -> int:
        """What the broadcasts that are gone read."""
        while tensor in self.past:
            tensor = self.past[tensor]
        return int(tensor)

    def operand(self, index: int, before: int, after: int, *, named: bool) -> Iterator[str]:
        """What is wrong with an operand: nothing where it is the same, or named and made from the same."""
        if self.bypassed(before) == after:
            return
        why = self.differing(self.bypassed(before), after) if named else "another tensor, and no site says so"
        if why is not None:
            yield f" operand {index}: {why}"

    def differing(self, before: int, after: int) -> str | None:
        """Why the tensor `after` is not `before` in another shape; None where it is."""
        tensor, dequantized = after, False
        while tensor >= len(self.before.tensors) and tensor in self.makers:
            maker = self.makers[tensor]
            name = operator_name(self.new, maker)
            if name not in MOVES | {"DEQUANTIZE"}:
                return f"it is computed by {name}"
            dequantized |= name == "DEQUANTIZE"
            if (why := self._marks(before, tensor)) is not None:
                return why
            tensor = maker.inputs[0]
        if dequantized:
            return self._dequantized(before, tensor)
        if tensor == before or tensor == self.bypassed(before):
            return None
        return self._constant(before, tensor)

    def _dequantized(self, before: int, after: int) -> str | None:
        maker = next((each for each in self.before.operators if before in each.outputs), None)
        if maker is None or operator_name(self.old, maker) != "DEQUANTIZE":
            return "what was no DEQUANTIZE is one"
        return None if maker.inputs[0] == after else self._constant(maker.inputs[0], after)

    def _marks(self, before: int, after: int) -> str | None:
        """Type, scales and zero points; those of an axis follow it."""
        mine, theirs = self.after.tensors[before], self.after.tensors[after]
        if mine.type != theirs.type:
            return "it has another element type"
        if list(differing(mine.quantization, theirs.quantization, frozenset({"quantizedDimension"}))):
            return "it has other scales"
        scales = [] if mine.quantization is None else mine.quantization.scale
        if scales is None or len(scales) < 2:
            return None
        axis, moved = mine.quantization.quantizedDimension, theirs.quantization.quantizedDimension
        return None if mine.shape[axis] == theirs.shape[moved] == len(scales) else "its scales follow another axis"

    def _constant(self, before: int, after: int) -> str | None:
        """A second tensor on the constant's buffer, or a new buffer with the constant stretched."""
        mine, theirs = self.before.tensors[before], self.after.tensors[after]
        if after < len(self.before.tensors):
            return "another tensor of the old file"
        if (why := self._marks(before, after)) is not None:
            return why
        if mine.buffer == theirs.buffer != 0:
            return None if np.prod(_dims(mine)) == np.prod(_dims(theirs)) else "the buffer has another size"
        data, stretched = (self.new.buffers[each.buffer].data for each in (mine, theirs))
        if data is None or stretched is None:
            return "it is no constant"
        items = np.frombuffer(bytes(bytearray(data)), f"V{len(data) // max(1, int(np.prod(_dims(mine))))}")
        whole = np.broadcast_to(items.reshape(_dims(mine)), _dims(theirs))
        return None if whole.tobytes() == bytes(bytearray(stretched)) else "its elements are others"


def _dims(tensor: Tree) -> tuple[int, ...]:
    return () if tensor.shape is None else tuple(int(size) for size in tensor.shape)
