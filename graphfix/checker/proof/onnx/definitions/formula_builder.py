"""Build the nodes of an operator's formula, as ONNX's specification defines it."""

from __future__ import annotations

from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from onnx import NodeProto, TensorProto, helper

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.onnx.reading.operands import Call


@dataclass(slots=True)
class Formula:
    """The nodes of a formula, and a counter that numbers the names of their results."""

    nodes: list[NodeProto] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def add(self, op: str, *operands: str, **attributes: Any) -> str:  # noqa: ANN401 - as make_node takes them
        """Add a node and return the name of its result. `operands` are names."""
        name = f"{op} {next(self.numbers)}"
        self.nodes.append(helper.make_node(op, list(operands), [name], "", **attributes))
        return name

    def integers(self, *numbers: int) -> str:
        """Add a constant int64 vector and return its name."""
        return self.add("Constant", value=helper.make_tensor("", TensorProto.INT64, [len(numbers)], numbers))

    def floats(self, number: float, *sizes: int) -> str:
        """Add a float32 constant of shape `sizes` in which every element is `number`, and return its name."""
        return self.add("Constant", value=helper.make_tensor("", TensorProto.FLOAT, sizes, [number] * prod(sizes)))

    def part(self, name: str, axis: int, start: int, end: int) -> str:
        """Add a Slice from `start` to before `end` along an axis, and return the name of its result."""
        return self.add("Slice", name, self.integers(start), self.integers(end), self.integers(axis))

    def shaped(self, name: str, *sizes: int) -> str:
        """Add a Reshape to `sizes` and return the name of its result."""
        return self.add("Reshape", name, self.integers(*sizes))


def float_sizes(call: Call, at: int) -> list[int] | None:
    """Return the sizes of operand `at`; None unless it is float32 and all its sizes are numbers above 0."""
    view = call.operand(at)
    found = None if view is None or dtype(view.core) != TensorProto.FLOAT else numbers(view.sizes)
    return list(found) if found is not None and 0 not in found else None


Found: TypeAlias = "tuple[Formula, list[str], dict[str, ProofValue]]"
"""A formula, the names of the operator's results in it, and the values that it reads, by name."""
