"""New nodes and constants for one scope: each is made once, stands before its first reader, and never serves another scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import FunctionProto, NodeProto, TensorProto, TypeProto

from graphfix.edits import Refused
from graphfix.formats.onnx.infer import Scope
from graphfix.formats.onnx.view import Holder, constant_tensor
from graphfix.graph import Graph, Kind, Node, Value
from graphfix.shapes import UNKNOWN, Shape

EXPAND_SINCE = 8
AXES_OPERAND_SINCE = 13
RESHAPE_OPERAND_SINCE = 5
INITIALIZER_ALONE_SINCE_IR = 4
"""Before this IR version every initializer must be a graph input too."""


@dataclass(slots=True, eq=False, repr=False)
class New:
    """A node that was made: where it stands, and its message."""

    anchor: int
    """It stands before the node of this original position."""
    place: int
    proto: NodeProto
    early: bool = False
    """It stands before all others that were made for that position: it was made after its readers."""


@dataclass(slots=True, eq=False, repr=False)
class Desk:
    """Where the edits of one scope are carried out."""

    graph: Graph
    holder: Holder
    scope: Scope
    ir_version: int
    fresh: Callable[[str], str]
    """A name that nothing in the file has."""
    made: dict[Value, New] = field(default_factory=dict)
    cache: dict[object, Value] = field(default_factory=dict)
    initializers: dict[Value, TensorProto] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    """The places of nodes that were taken out."""
    restated: set[Value] = field(default_factory=set)
    """Values that kept their name and got new dims."""
    copies: dict[Value, tuple[Value, tuple[int, ...]]] = field(default_factory=dict)
    """Constants that were copied to be lifted: from which value, by which axes."""

    @property
    def version(self) -> int:
        """The version of the standard operators in this scope. Raises Refused where they are not imported."""
        version = self.scope.versions.get("")
        if version is None:
            raise Refused("its scope does not import the standard operators that a new node would need")
        return version

    @property
    def holds_initializers(self) -> bool:
        """Whether a constant can be an initializer here: not in a function, nor where it would have to be an input."""
        return not isinstance(self.holder, FunctionProto) and self.ir_version >= INITIALIZER_ALONE_SINCE_IR

    def reuse(self, key: object, reader: int) -> Value | None:
        """What was made for this key, moved before `reader` if its first reader came later."""
        value = self.cache.get(key)
        if value is not None:
            self.reuse_before(value, reader)
        return value

    def anchor(self, node: Node) -> int:
        """The original position that a node has, or that it stands before."""
        if node.index >= 0:
            return node.index
        return min(self.made[result].anchor for result in node.results if result is not None)

    def reuse_before(self, value: Value, reader: int) -> None:
        """Move the node that made a value before `reader`, if it stands behind."""
        new = self.made.get(value)
        if new is not None and reader < new.anchor:
            new.anchor = reader

    def node(
        self, op: str, operands: Sequence[Value], result: str, shape: Shape, dtype: str, reader: int, **attributes: object
    ) -> Value:
        """Add a node with one result before `reader`."""
        kind: Kind = "constant" if op == "Constant" else "result"
        name = self.fresh(result)
        value = Value(name, shape, dtype, kind, self.graph)
        inputs = [operand.name for operand in operands]
        proto = self.holder.node.add(op_type=op, name=name, input=inputs, output=(name,))
        for key, given in attributes.items():
            proto.attribute.append(onnx.helper.make_attribute(key, given))
        self._enter(proto, op, "", tuple(operands), value, reader, attributes)
        return value

    def add(
        self, message: NodeProto, operands: tuple[Value | None, ...], value: Value, reader: int, attributes: dict[str, object]
    ) -> None:
        """Add a copy of a node."""
        proto = self.holder.node.add()
        proto.CopyFrom(message)
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        self._enter(proto, proto.op_type, domain, operands, value, reader, attributes)

    def _enter(
        self,
        proto: NodeProto,
        op: str,
        domain: str,
        operands: tuple[Value | None, ...],
        value: Value,
        reader: int,
        attributes: dict[str, object],
    ) -> None:
        """Enter a node that was made into the ledgers."""
        graph = self.graph
        place = -1 - len(graph.made)
        version = self.scope.versions.get(domain, 1)
        node = Node(op, domain, version, proto.name, place, graph, operands, (value,), attributes, None)
        graph.made.append(node)
        self.made[value] = New(reader, place, proto)
        graph.producers[value] = place
        for at, operand in enumerate(operands):
            if operand is not None:
                graph.note(node, at, operand)

    def integers(self, numbers: Sequence[int], reader: int) -> Value:
        """A vector of int64, made once in this scope."""
        key = ("integers", tuple(numbers))
        value = self.reuse(key, reader)
        if value is not None:
            return value
        stem = "shape_" + "x".join(str(number) for number in numbers)
        tensor = onnx.numpy_helper.from_array(np.asarray(numbers, np.int64))
        value = self.cache[key] = self.constant(stem, tensor, Shape((len(numbers),)), "int64", reader)
        return value

    def constant(self, stem: str, tensor: TensorProto, shape: Shape, dtype: str, reader: int) -> Value:
        """A copy of the tensor as an initializer, or as a Constant node where a scope can't have one."""
        if isinstance(self.holder, FunctionProto) or not self.holds_initializers:
            return self.node("Constant", (), stem, shape, dtype, reader, value=tensor)
        value = Value(self.fresh(stem), shape, dtype, "constant", self.graph)
        added = self.holder.initializer.add()
        added.CopyFrom(tensor)
        added.name = value.name
        self.initializers[value] = added
        return value

    def tensor(self, value: Value) -> TensorProto | None:
        """The tensor of a constant that was made here."""
        made = self.made.get(value)
        return self.initializers.get(value) if made is None else constant_tensor(made.proto)

    def lifted(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        """Unit axes by a node: Reshape where the shape is static and not empty, Unsqueeze otherwise."""
        key = ("lift", value, axes)
        found = self.reuse(key, reader)
        if found is not None:
            return found
        shape = with_axes(value.shape, axes)
        stem = f"{value.name}_lifted"
        if shape.static and 0 not in shape.dims and self.version >= RESHAPE_OPERAND_SINCE:
            target = self.integers([int(size) for size in shape.dims if isinstance(size, int)], reader)
            made = self.node("Reshape", (value, target), stem, shape, value.dtype, reader)
        elif self.version >= AXES_OPERAND_SINCE:
            made = self.node("Unsqueeze", (value, self.integers(axes, reader)), stem, shape, value.dtype, reader)
        else:
            made = self.node("Unsqueeze", (value,), stem, shape, value.dtype, reader, axes=list(axes))
        self.cache[key] = made
        return made

    def shape_of(self, value: Value, reader: int) -> Value:
        """The run-time shape of a value, as an int64 vector."""
        key = ("shape", value)
        found = self.reuse(key, reader)
        if found is None:
            rank = Shape((value.shape.rank if value.shape.ranked else UNKNOWN,))
            found = self.cache[key] = self.node("Shape", (value,), f"{value.name}_shape", rank, "int64", reader)
        return found

    def sizes(self, parts: Sequence[int | tuple[Value, int]], reader: int) -> Value:
        """A shape put together from numbers and axes of values."""
        key = ("sizes", tuple(parts))
        found = self.reuse(key, reader)
        if found is not None:
            return found
        pieces = []
        for part in parts:
            if isinstance(part, int):
                pieces.append(self.integers([part], reader))
                continue
            value, axis = part
            operands = (self.shape_of(value, reader), self.integers([axis], reader))
            stem = f"{value.name}_size_{axis}"
            pieces.append(self.node("Gather", operands, stem, Shape((1,)), "int64", reader, axis=0))
        made = self.node("Concat", pieces, "sizes", Shape((len(parts),)), "int64", reader, axis=0)
        self.cache[key] = made
        return made

    def expanded(self, value: Value, target: Value, shape: Shape, reader: int) -> Value:
        """An Expand node, made once for a value and a target."""
        key = ("expand", value, target)
        found = self.reuse(key, reader)
        if found is None:
            stem = f"{value.name}_stretched"
            found = self.cache[key] = self.node("Expand", (value, target), stem, shape, value.dtype, reader)
        return found

    def tiled(self, value: Value, shape: Shape, reader: int) -> Value:
        """A Tile with static repeats: what opset 6 and 7 have instead of Expand."""
        pairs = zip(value.shape.dims, shape.dims, strict=True)
        repeats = [1 if have == want else want for have, want in pairs]
        numbers = [repeat for repeat in repeats if isinstance(repeat, int)]
        if len(numbers) != len(repeats):
            raise Refused("opset 7 has no Expand, and a Tile needs sizes that are known")
        target = self.integers(numbers, reader)
        key = ("tile", value, target)
        found = self.reuse(key, reader)
        if found is None:
            stem = f"{value.name}_stretched"
            found = self.cache[key] = self.node("Tile", (value, target), stem, shape, value.dtype, reader)
        return found

    def order(self) -> None:
        """Put every node that was made before its first reader, take out those that are gone; file and view alike."""
        new_nodes = self._settled()
        old = self.graph.nodes
        last = len(old)
        keys = [(last if index in self.gone else index, 2, 0) for index in range(last)]
        keys += [(new.anchor, 0 if new.early else 1, -new.place) for new in new_nodes]
        following = iter(keys)
        self.holder.node.sort(key=lambda _: next(following))
        del self.holder.node[len(keys) - len(self.gone) :]
        everything = zip(keys, [*old, *self.graph.made], strict=True)
        ordered = sorted(everything, key=lambda pair: pair[0])
        self.graph.nodes = [node for _, node in ordered[: len(keys) - len(self.gone)]]

    def _settled(self) -> list[New]:
        """The new nodes in the order in which they were made, none behind a new node that reads it."""
        for new in reversed(self.made.values()):
            for operand in self.graph.at(new.place).operands:
                source = self.made.get(operand) if operand is not None else None
                if source is not None and source.anchor > new.anchor:
                    source.anchor = new.anchor
        return list(self.made.values())


def with_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with unit axes at these positions of the result: [4] at (0, 1) -> [1,1,4]."""
    rest = iter(shape.dims)
    rank = shape.rank + len(axes)
    return Shape(tuple(1 if axis in axes else next(rest) for axis in range(rank)))


def stated_type(value: Value, code: int) -> TypeProto:
    """The type of a value of known rank, as a value_info states it; a size without a symbol of the file stays open."""
    stated = TypeProto()
    stated.tensor_type.elem_type = code
    stated.tensor_type.shape.SetInParent()
    for size in value.shape.json or ():
        dim = stated.tensor_type.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        elif size is not None:
            dim.dim_param = size
    return stated
