"""The graph on which an opset conversion works: a node is changed in place, and other nodes are added beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from graphfix.formats.neutral.insertion import rearrange
from graphfix.formats.onnx.file.messages import Holder, holds_initializers
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.formats.onnx.view import constant_tensor
from graphfix.results.onnx_messages import GraphProto, NodeProto, TensorProto
from graphfix.results.records import dataclass, field

TensorReader: TypeAlias = Callable[[TensorProto], NDArray[Any] | None]


@dataclass(slots=True)
class ConvertedGraph:
    """One graph while its nodes are converted, with the inferred facts of its values and the nodes to be added."""

    holder: Holder
    scope: GraphScope | None
    """The inferred facts of its values; None if there are no facts."""
    ir_version: int
    version: int
    """The opset from which its nodes are converted."""
    fresh: Callable[[str], str]
    dropped: set[str]
    """The names of values that lost a reader. All graphs of the model share this set."""
    read_tensor: TensorReader
    """Returns the elements of a tensor, also if they lie in another file; None if they can't be read."""
    at: int = 0
    """The index of the node that is being converted."""
    before: dict[int, list[NodeProto]] = field(default_factory=dict)
    """For each node's index, the nodes to be added before it."""
    after: dict[int, list[NodeProto]] = field(default_factory=dict)
    constants: dict[tuple[str, bytes, tuple[int, ...]], str] = field(default_factory=dict)

    def dims(self, name: str) -> tuple[int | None, ...] | None:
        """Return the sizes of a value, with None for a size that is not a number; None if its rank is unknown."""
        axes = self.scope.shape(name).axes if self.scope is not None else None
        return None if axes is None else tuple(size if isinstance(size, int) else None for size in axes)

    def dtype(self, name: str) -> int:
        """Return the element type of a value, by its number in ONNX files; 0 if it is unknown."""
        return self.scope.dtype(name) if self.scope is not None else 0

    def elements(self, name: str) -> Sequence[float] | None:
        """Return the elements of a constant of this graph as floats; None for any other value."""
        holder = self.holder
        tensors = [constant_tensor(node) for node in holder.node if name in node.output]
        if isinstance(holder, GraphProto) and all(value.name != name for value in holder.input):
            tensors += [tensor for tensor in holder.initializer if tensor.name == name]
        arrays = (self.read_tensor(tensor) for tensor in tensors if tensor)
        return next((list(map(float, array.reshape(-1))) for array in arrays if array is not None), None)

    def constant(self, stem: str, array: NDArray[np.generic]) -> str:
        """Add a constant and return its name. An equal constant is made once in this graph."""
        key = (array.dtype.name, array.tobytes(), array.shape)
        if key not in self.constants:
            tensor = onnx.numpy_helper.from_array(array, self.fresh(stem))
            name = self.constants[key] = tensor.name
            if holds_initializers(self.holder, self.ir_version):
                self.holder.initializer.append(tensor)
            else:
                made = onnx.helper.make_node("Constant", [], [name], name=name, value=tensor)
                self.before.setdefault(0, []).insert(0, made)
        return self.constants[key]

    def drop(self, name: str) -> None:
        """Record that a value lost a reader."""
        self.dropped.add(name)

    def add(self, node: NodeProto, *, behind: bool = False) -> None:
        """Add a node before the node that is being converted, or behind it if `behind` is True."""
        (self.after if behind else self.before).setdefault(self.at, []).append(node)

    def place(self) -> None:
        """Put the added nodes at their places in the graph."""
        nodes = self.holder.node
        keys = [3 * at + 1 for at in range(len(nodes))]
        for groups, shift in ((self.before, 0), (self.after, 2)):
            for at, group in groups.items():
                nodes.extend(group)
                keys += [3 * at + shift] * len(group)
        rearrange(nodes, keys)
