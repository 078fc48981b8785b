"""The graph that an opset conversion works on: a node is converted where it stands, others are added beside it."""

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
    """One graph while its nodes are converted: what is known of its values, and what is added to it."""

    holder: Holder
    scope: GraphScope | None
    """None where nothing is known of its values."""
    ir_version: int
    version: int
    """The opset that its nodes are converted from."""
    fresh: Callable[[str], str]
    dropped: set[str]
    """The values that lost a reader; shared by all graphs of the model."""
    read_tensor: TensorReader
    """Returns the elements of a tensor, also if they lie in another file; None if they can't be read."""
    at: int = 0
    """The place of the node that is converted."""
    before: dict[int, list[NodeProto]] = field(default_factory=dict)
    """By place: the nodes to be added before the one there."""
    after: dict[int, list[NodeProto]] = field(default_factory=dict)
    constants: dict[tuple[str, bytes, tuple[int, ...]], str] = field(default_factory=dict)

    def dims(self, name: str) -> tuple[int | None, ...] | None:
        """Return the sizes of a value as far as they are numbers; None where its rank is not known."""
        axes = self.scope.shape(name).axes if self.scope is not None else None
        return None if axes is None else tuple(size if isinstance(size, int) else None for size in axes)

    def dtype(self, name: str) -> int:
        """Return the element type of a value, 0 where it is not known."""
        return self.scope.dtype(name) if self.scope is not None else 0

    def elements(self, name: str) -> Sequence[float] | None:
        """Return the elements of a constant of this graph, None for anything else."""
        holder = self.holder
        tensors = [constant_tensor(node) for node in holder.node if name in node.output]
        if isinstance(holder, GraphProto) and all(value.name != name for value in holder.input):
            tensors += [tensor for tensor in holder.initializer if tensor.name == name]
        arrays = (self.read_tensor(tensor) for tensor in tensors if tensor)
        return next((list(map(float, array.reshape(-1))) for array in arrays if array is not None), None)

    def constant(self, stem: str, array: NDArray[np.generic]) -> str:
        """Add a constant, made once in this graph; return its name."""
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
        """Note that a value has a reader less."""
        self.dropped.add(name)

    def add(self, node: NodeProto, *, behind: bool = False) -> None:
        """Add a node before the one that is converted, or behind it."""
        (self.after if behind else self.before).setdefault(self.at, []).append(node)

    def place(self) -> None:
        """Put what was added where it belongs."""
        nodes = self.holder.node
        keys = [3 * at + 1 for at in range(len(nodes))]
        for groups, shift in ((self.before, 0), (self.after, 2)):
            for at, group in groups.items():
                nodes.extend(group)
                keys += [3 * at + shift] * len(group)
        rearrange(nodes, keys)
