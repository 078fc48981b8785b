"""Make new nodes and constants for one graph. Each is made once and is placed before its first reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from graphfix.formats.neutral.insertion import Order, rearrange
from graphfix.formats.onnx.edit.records import records, write
from graphfix.formats.onnx.file.messages import Holder, holds_initializers
from graphfix.formats.onnx.file.tensors import tensor_of
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.formats.onnx.view import onnx_type
from graphfix.graph.edits import New, Numbers, Refused
from graphfix.graph.view import NO_ATTRIBUTES, Graph, Kind, Node, Value
from graphfix.results.onnx_messages import FunctionProto, NodeProto, TensorProto
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import UNKNOWN, UNRANKED, Shape
from graphfix.shapes.shape import broadcast, with_axes

EXPAND_SINCE = 8
AXES_OPERAND_SINCE = 13
RESHAPE_OPERAND_SINCE = 5
INTEGER_CONSTANT_SINCE = 9
"""Before this opset a Constant node contains floating-point numbers only."""


@dataclass(slots=True, eq=False, repr=False)
class DerivedShapes:
    """Shapes that are computed from other shapes, each once, so that equal derived shapes are one object.

    Shapes are looked up by their identity. A lookup by their sizes would take five times as long.
    """

    _known: dict[tuple[object, ...], tuple[Shape, ...]] = field(default_factory=dict)
    """The last shape of each tuple is the computed one.

    The others are stored so that their identities stay valid keys.
    """

    def lifted(self, shape: Shape, axes: tuple[int, ...]) -> Shape:
        """Return the shape with unit axes at the positions `axes` of the result."""
        found = self._known.get((id(shape), axes))
        if found is None:
            found = self._known[id(shape), axes] = shape, with_axes(shape, axes)
        return found[-1]

    def broadcast(self, shape: Shape, other: Shape) -> Shape:
        """Return the broadcast of both shapes.

        The object `shape` itself is returned if the result is static and equal to it.
        """
        found = self._known.get((id(shape), id(other)))
        if found is None:
            made = broadcast(shape, other)
            made = shape if made.static and made == shape else made
            found = self._known[id(shape), id(other)] = shape, other, made
        return found[-1]

    def vector(self, shape: Shape) -> Shape:
        """Return the shape of the vector that contains the sizes of `shape`: `[2,3,4]` -> `[3]`."""
        found = self._known.get((id(shape),))
        if found is None:
            found = self._known[id(shape),] = shape, Shape((shape.rank if shape.ranked else UNKNOWN,))
        return found[-1]


@dataclass(slots=True, eq=False, repr=False)
class NodeBuilder:
    """Adds nodes and constants to one graph.

    A new node is first added to the view only. `arrange` writes its message once no edit changes its operands any more.
    """

    graph: Graph
    holder: Holder
    scope: GraphScope
    ir_version: int
    fresh: Callable[[str], str]
    """Returns a name that nothing in the file has, made from a stem."""
    templates: dict[int, NodeProto] = field(default_factory=dict)
    """For each new node that is a copy of a node of the file, by the new node's index: the message that is copied."""
    initializers: dict[Value, TensorProto] = field(default_factory=dict)
    reshaped: set[Value] = field(default_factory=set)
    """Values that kept their name and got a new shape."""
    copies: dict[Value, tuple[Value, tuple[int, ...]]] = field(default_factory=dict)
    """For each lifted copy of a constant: the original value and the axes of the lift."""
    derived: DerivedShapes = field(default_factory=DerivedShapes)
    vectors: dict[int, tuple[Shape, object]] = field(default_factory=dict)
    """By `id` of a shape: the shape, which must stay alive, and the key of the int64 vector of its sizes."""
    order: Order = field(init=False)

    def __post_init__(self) -> None:
        self.order = Order(self.graph)

    @property
    def version(self) -> int:
        """The opset version of the standard operators in this scope.

        Raises Refused if the scope does not import them.
        """
        version = self.scope.versions.get("")
        if version is None:
            raise Refused("its scope does not import the standard operators that a new node would need")
        return version

    @property
    def holds_initializers(self) -> bool:
        """Whether a constant can be an initializer of this graph."""
        return holds_initializers(self.holder, self.ir_version)

    @property
    def holds_integers(self) -> bool:
        """Whether an int64 constant can be written without a Cast.

        It can be an initializer, or a Constant node of opset 9 or later.
        """
        return self.holds_initializers or self.version >= INTEGER_CONSTANT_SINCE

    def node(
        self,
        op: str,
        operands: tuple[Value, ...],
        result: str,
        shape: Shape,
        dtype: str,
        reader: int,
        attributes: Mapping[str, object] = NO_ATTRIBUTES,
        domain: str = "",
        kind: Kind = "result",
    ) -> Value:
        """Add a node with one result before the file's node with index `reader`. Return the result.

        `result` is the stem of the result's name. The node gets the same name.
        """
        graph, anchors = self.graph, self.order.anchors
        name, place = self.fresh(result), -1 - len(anchors)
        value = Value(name, shape, dtype, kind, graph, None, place)
        version = self.scope.versions.get(domain, 1)
        # `Order.enter` is repeated in line here, because the calls would add 1% to the time for a big model.
        graph.made.append(Node(op, domain, version, name, place, graph, operands, (value,), attributes, None))
        anchors.append(reader)
        for operand in operands:
            graph.note(place, operand)
        return value

    def copy(
        self,
        node: Node,
        template: NodeProto,
        operands: tuple[Value | None, ...],
        result: str,
        dtype: str,
        reader: int,
        attributes: Mapping[str, object],
    ) -> Value:
        """Add a copy of `node` that reads other operands, before the file's node with index `reader`.

        Return its result.

        `template` is the message from which the copy is written. The result has the shape of operand 0.
        """
        name, place = self.fresh(node.name or node.op), self.order.next_place
        shape = operands[0].shape if operands[0] is not None else UNRANKED
        value = Value(self.fresh(result), shape, dtype, "result", self.graph, None, place)
        self.templates[place] = template
        version = self.scope.versions.get(node.domain, 1)
        made = Node(node.op, node.domain, version, name, place, self.graph, operands, (value,), attributes, None)
        self.order.enter(made, reader)
        return value

    def new(self, new: New, operands: tuple[Value, ...], node: Node) -> Value:
        """Add the planned node `new`, which reads `operands`, before `node`. Return its result."""
        stem = f"{node.results[0].name if node.results[0] is not None else node.label}_{new.op.lower()}"
        attributes = dict(new.attributes)
        return self.node(new.op, operands, stem, new.shape, new.dtype, node.index, attributes, new.domain)

    def under_the_name(self, value: Value, new: New, operands: tuple[Value, ...], node: Node) -> Value:
        """Add the planned node `new` before `node`, with a result that has the name of `value`. Return the result."""
        name, place = self.fresh(f"{node.label}_{new.op.lower()}"), self.order.next_place
        result = Value(value.name, new.shape, new.dtype, "result", self.graph, None, place)
        version, attributes = self.scope.versions.get(new.domain, 1), dict(new.attributes)
        made = Node(new.op, new.domain, version, name, place, self.graph, operands, (result,), attributes, None)
        self.order.enter(made, node.index)
        return result

    def integers(self, elements: Sequence[int], reader: int) -> Value:
        """Return an int64 vector with these elements. It is made once in this graph.

        If opset and scope allow no int64 constant, the vector is a Cast of a float64 constant.
        """
        key = ("integers", tuple(elements))
        value = self.order.reuse(key, reader)
        if value is not None:
            return value
        stem = "shape_" + "x".join(str(element) for element in elements)
        shape = Shape((len(elements),))
        if self.holds_integers:
            value = self.constant(stem, tensor_of(elements, TensorProto.INT64, shape.numbers), shape, "int64", reader)
        else:
            # A double represents every size up to 2**53 exactly.
            exact = tensor_of(elements, TensorProto.DOUBLE, shape.numbers)
            value = self.constant(stem, exact, shape, "float64", reader)
            value = self.node("Cast", (value,), stem, shape, "int64", reader, {"to": int(TensorProto.INT64)})
        # The elements are recorded, because later rewrites read them.
        self.scope.elements[value.name] = tuple(elements)
        self.order.made[key] = value
        return value

    def sizes_of(self, shape: Shape, reader: int) -> Value:
        """Return the sizes of a static shape as an int64 vector, which is made once in this graph."""
        found = self.vectors.get(id(shape))
        if found is None:
            found = self.vectors[id(shape)] = shape, ("integers", shape.numbers)
        return self.order.reuse(found[1], reader) or self.integers(shape.numbers, reader)

    def new_constant(self, new: Numbers, node: Node) -> Value:
        """Return the value of a planned constant. It is made once in this graph."""
        reader = node.index
        # `repr` distinguishes 0, False and -0.0, which are equal in Python.
        key = ("new constant", new.dtype, new.dims, repr(new.elements))
        value = self.order.reuse(key, reader)
        if value is None:
            sizes = "x".join(map(str, new.elements))
            stem = f"shape_{sizes}" if new.dtype == "int64" else f"{node.label}_constant"
            from onnx.helper import make_tensor  # `make_tensor` supports every element type.

            tensor = make_tensor(stem, onnx_type(new.dtype), new.dims, new.elements)
            value = self.order.made[key] = self.constant(stem, tensor, Shape(new.dims), new.dtype, reader)
        return value

    def constant(self, stem: str, tensor: TensorProto, shape: Shape, dtype: str, reader: int) -> Value:
        """Add a copy of the tensor as an initializer, or as a Constant node if the scope can't have initializers.

        Return the new value. `stem` is the stem of its name.
        """
        if not holds_initializers(self.holder, self.ir_version):
            return self.node("Constant", (), stem, shape, dtype, reader, {"value": tensor}, kind="constant")
        value = Value(self.fresh(stem), shape, dtype, "constant", self.graph)
        added = self.holder.initializer.add()
        added.CopyFrom(tensor)
        added.name = value.name
        self.initializers[value] = added
        return value

    def keep(self, value: Value, tensor: TensorProto) -> TensorProto:
        """Add a copy of the tensor as the initializer of an existing value, and return the copy.

        The name of the copy is that of `tensor`. Raises Refused in a function, which can't have initializers.
        """
        if isinstance(self.holder, FunctionProto):
            raise Refused("a function holds no initializers")
        added: TensorProto = self.holder.initializer.add()
        added.CopyFrom(tensor)
        self.initializers[value] = added
        return added

    def tensor(self, value: Value) -> TensorProto | None:
        """Return the tensor of a constant that this builder made; None for any other value."""
        node = value.producer
        tensor = self.initializers.get(value) if node is None else node.attributes.get("value")
        return tensor if isinstance(tensor, TensorProto) else None

    def lifted(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        """Return the value with unit axes at the positions `axes` of the result, added by a node.

        The node is a Reshape if the shape is static and has no 0 and the opset allows it, and otherwise an Unsqueeze.
        It is made once in this graph.
        """
        key = ("lift", value, axes)
        found = self.order.reuse(key, reader)
        if found is not None:
            return found
        shape = self.derived.lifted(value.shape, axes)
        stem = f"{value.name}_lifted"
        if shape.static and 0 not in shape.dims and self.version >= RESHAPE_OPERAND_SINCE and self.holds_integers:
            target = self.sizes_of(shape, reader)
            made = self.node("Reshape", (value, target), stem, shape, value.dtype, reader)
        elif self.version >= AXES_OPERAND_SINCE:
            made = self.node("Unsqueeze", (value, self.integers(axes, reader)), stem, shape, value.dtype, reader)
        else:
            made = self.node("Unsqueeze", (value,), stem, shape, value.dtype, reader, {"axes": list(axes)})
        self.order.made[key] = made
        return made

    def shape_of(self, value: Value, reader: int) -> Value:
        """Return the run-time shape of a value as an int64 vector. Its Shape node is made once in this graph."""
        found = self.order.reuse(value, reader)
        if found is None:
            shape = self.derived.vector(value.shape)
            found = self.node("Shape", (value,), f"{value.name}_shape", shape, "int64", reader)
            self.order.made[value] = found
        return found

    def sizes(self, parts: Sequence[int | tuple[Value, int]], reader: int) -> Value:
        """Return an int64 vector that a Concat makes from `parts`.

        A part is a number, or a run-time size as a pair (value, axis).
        """

        def make() -> Value:
            pieces = [
                self.integers([part], reader) if isinstance(part, int) else self._size(*part, reader) for part in parts
            ]
            return self.node("Concat", tuple(pieces), "sizes", Shape((len(parts),)), "int64", reader, {"axis": 0})

        return self.order.once(("sizes", tuple(parts)), reader, make)

    def _size(self, value: Value, axis: int, reader: int) -> Value:
        operands = (self.shape_of(value, reader), self.integers([axis], reader))
        stem = f"{value.name}_size_{axis}"
        return self.node("Gather", operands, stem, Shape((1,)), "int64", reader, {"axis": 0})

    def expanded(self, value: Value, target: Value, shape: Shape, reader: int) -> Value:
        """Return an Expand of `value` to the sizes in `target`. It is made once for each value and target."""
        key = value, target
        found = self.order.reuse(key, reader)
        if found is None:
            stem = f"{value.name}_stretched"
            found = self.order.made[key] = self.node("Expand", (value, target), stem, shape, value.dtype, reader)
        return found

    def tiled(self, value: Value, shape: Shape, reader: int) -> Value:
        """Return a Tile of `value` to the shape `shape`, for opset 6 and 7, which have no Expand.

        Raises Refused if a repeated size is not constant.
        """
        pairs = zip(value.shape.dims, shape.dims, strict=True)
        repeats = Shape(tuple([1 if have == want else want for have, want in pairs]))
        if not repeats.static:
            raise Refused("opset 7 has no Expand, and a Tile needs sizes that are known")
        target = self.integers(repeats.numbers, reader)
        stem = f"{value.name}_stretched"
        return self.order.once(
            ("tile", value, target),
            reader,
            lambda: self.node("Tile", (value, target), stem, shape, value.dtype, reader),
        )

    def records(self) -> Iterator[bytes | None]:
        """Yield every node in the order of `arrange`: the serialized new nodes, or None for a node of the file."""
        return records(self.graph.nodes, self.templates)

    def arrange(self, value_infos: bytes, *, messages: bool) -> None:
        """Put every new node before its first reader, and drop removed nodes, in the file's messages and in the view.

        If `messages` is False, new nodes and `value_infos` (serialized) are not added to the graph's message. The
        caller then writes them from `records`.
        """
        nodes, count = self.holder.node, len(self.holder.node)
        self.order.arrange()
        if messages:
            write(self.holder, self.graph.made, self.templates, self.order.keys(count), value_infos)
            del nodes[len(self.graph.nodes) :]
        elif any(place >= 0 for place in self.order.gone):
            rearrange(nodes, self.order.keys(count)[:count])
            del nodes[sum(node.index >= 0 for node in self.graph.nodes) :]
