"""The edits of a plan, carried out on an ONNX model: operands are edited, nodes are never rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnx import NodeProto, TensorProto

from graphfix.formats.onnx.edit import nodes
from graphfix.formats.onnx.edit.new_nodes import EXPAND_SINCE, Desk, numbers
from graphfix.formats.onnx.edit.quantized import DEQUANTIZE, QUANTIZE, check_quantized, set_axis
from graphfix.formats.onnx.view import Views
from graphfix.graph.edits import (
    Assume,
    Canonicalize,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Leave,
    Lift,
    Refused,
    Replace,
    Stretch,
    Upgrade,
    with_axes,
)
from graphfix.graph.view import Graph, Node, Value, settle
from graphfix.shapes.shape import Shape, broadcast


@dataclass(slots=True, eq=False, repr=False)
class Editor:
    """Carries edits out on the views and messages of one model."""

    views: Views
    desks: dict[object, Desk]
    """By graph."""
    unread: dict[Value, None] = field(default_factory=dict)
    """Values that lost a reader: those that nobody reads in the end go."""
    gone: dict[Graph, set[str]] = field(default_factory=dict)
    """Results of nodes that were taken out: nothing is to be said of them any more."""
    decided: list[nodes.Decided] = field(default_factory=list)
    """Branches to be put in the place of their nodes, an outer one before those inside it."""
    renews: bool = False
    """Whether more may be known of the model after what was done: the view is to be built anew."""

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused before anything is changed."""
        node = self.current(node)
        for edit in edits:
            self._check(node, edit)
        before = node
        for edit in edits:
            node = self._carry_out(before, node, edit)
        return node

    def _carry_out(self, before: Node, node: Node, edit: Edit) -> Node:
        match edit:
            case Lift():
                value = self.lift(node.operand(edit.operand), edit.axes, node)
                return self.put(self.current(node), edit.operand, value)
            case Stretch():
                value = self._stretch(before, node.operand(edit.operand), edit)
                return self.put(self.current(node), edit.operand, value)
            case Leave() | Assume() | Upgrade():  # an upgrade is the model's
                return node
            case _:
                return nodes.carry_out(self, node, edit)

    @staticmethod
    def current(node: Node) -> Node:
        """The node as it is now."""
        return node.graph.at(node.index)

    def message(self, node: Node) -> NodeProto:
        """The node in the file, or what a made one is a copy of."""
        if node.index >= 0:
            return self.views.protos[node.graph][node.index]
        return self.desks[node.graph].templates[node.index]

    def _check(self, node: Node, edit: Edit) -> None:
        desk = self.desks[node.graph]
        if isinstance(edit, Lift):
            _ = desk.version  # refuses where no standard operator can be added
            check_quantized(node.operand(edit.operand), None)
        elif isinstance(edit, Stretch):
            value = node.operand(edit.operand)
            check_quantized(value, edit.to)
            if desk.version < EXPAND_SINCE and not (edit.to.static and value.shape.static):
                raise Refused(f"opset {desk.version} has no Expand, and a Tile needs sizes that are known")
        elif isinstance(edit, Canonicalize) and desk.version < EXPAND_SINCE:
            raise Refused(f"opset {desk.version} has no Expand")
        elif isinstance(edit, (Evaluate, Replace, Inline)):
            nodes.check(self, node, edit)
        elif isinstance(edit, Fold) and any(result in node.graph.outputs for result in node.results):
            raise Refused("its result is an output of the graph")

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Let the node read `value` as operand `index`."""
        old = node.operands[index]
        if old is value:
            return node
        if node.index >= 0:
            self.message(node).input[index] = value.name
        new = node.reading((*node.operands[:index], value, *node.operands[index + 1 :]))
        settle(new)
        maker = value.producer
        if old is not None and (maker is None or old not in maker.operands):
            self.unread[old] = None
        new.graph.note(new.index, value)
        return new

    def _restate(self, value: Value, shape: Shape) -> Value:
        """Give a value that keeps its name its new shape; whoever read it reads it still."""
        return self.renew(value, replace(value, shape=shape))

    def renew(self, value: Value, new: Value) -> Value:
        """Put a value in the place of one with its name; whoever read that one reads it."""
        graph = value.graph
        for reader, _ in value.reads:
            settle(reader.reading(tuple(new if it is value else it for it in reader.operands)))
        graph.restate(value, new)
        if value in graph.outputs:
            graph.outputs.remove(value)
            graph.outputs.add(new)
        producer = value.producer
        if producer is not None:
            settle(replace(producer, results=tuple(new if it is value else it for it in producer.results)))
        self.unread.pop(value, None)
        self.desks[graph].restated.discard(value)
        self.desks[graph].restated.add(new)
        return new

    # --- lift ---------------------------------------------------------------------------------------------------

    def lift(self, value: Value, axes: tuple[int, ...], reader: Node, *, alone: bool = True) -> Value:
        """The value with unit axes at the positions `axes`, for `reader`; in place only where `alone`."""
        tensor = self.views.tensors.get(value)
        if tensor is not None and value.kind == "constant":
            return self._lift_constant(value, tensor, axes, reader, alone=alone)
        producer = value.producer
        if producer is not None and producer.op == DEQUANTIZE:
            return self._through(producer, axes, None, reader)
        return self.desks[reader.graph].lifted(value, axes, reader.index)

    def _lift_constant(
        self, value: Value, tensor: TensorProto, axes: tuple[int, ...], reader: Node, *, alone: bool
    ) -> Value:
        home = self.desks[value.graph]
        key = ("constant", value, axes)
        found = home.order.reuse(key, reader.index) if value.graph is reader.graph else home.order.made.get(key)
        if found is not None:
            return found
        shape = with_axes(value.shape, axes)
        if alone and self._only_reader(value):
            tensor.dims[:] = numbers(shape)
            new = self._restate(value, shape)
            self.views.tensors[new] = self.views.tensors.pop(value)
            return new
        if value.graph is not reader.graph and not home.holds_initializers:
            return self.desks[reader.graph].lifted(value, axes, reader.index)
        copy = TensorProto()
        copy.CopyFrom(tensor)
        copy.dims[:] = numbers(shape)
        made = home.constant(f"{value.name}_lifted", copy, shape, value.dtype, reader.index)
        held = home.tensor(made)
        if held is not None:
            self.views.tensors[made] = held
        home.order.made[key] = made
        home.copies[made] = (value, axes)
        return made

    @staticmethod
    def _only_reader(value: Value) -> bool:
        return len(value.reads) == 1 and value not in value.graph.outputs

    # --- stretch ------------------------------------------------------------------------------------------------

    def _stretch(self, before: Node, value: Value, edit: Stretch) -> Value:
        producer = value.producer
        if producer is not None and producer.op == DEQUANTIZE:
            return self._through(producer, (), (before, edit), before)
        return self._expanded(before, value, edit)

    def _expanded(self, before: Node, value: Value, edit: Stretch) -> Value:
        """Expand `value` by the run-time sizes of the node's operands as they were before its edits."""
        desk = self.desks[before.graph]
        reader = before.index
        if edit.to.static and value.shape.ranked:
            if desk.version < EXPAND_SINCE:
                return desk.tiled(value, edit.to, reader)
            # a size that is not known stays as it is where the target says 1
            return desk.expanded(
                value, desk.integers(numbers(edit.to), reader), broadcast(value.shape, edit.to), reader
            )
        for by in edit.by:
            if isinstance(by, int):
                other = before.operand(by)
                value = self._ranks_alike(value, other, before)
                shape = broadcast(value.shape, other.shape)
                if shape == value.shape and shape.static:
                    continue  # the rank was all that differed
                target = desk.shape_of(other, reader)
            else:
                parts = [size if isinstance(size, int) else (before.operand(size[0]), size[1]) for size in by]
                target, shape = desk.sizes(parts, reader), broadcast(value.shape, edit.to)
            value = desk.expanded(value, target, shape, reader)
        return value

    def _ranks_alike(self, value: Value, other: Value, before: Node) -> Value:
        """The value at the rank of what expands it, where both are known: no Expand changes a rank here."""
        missing = other.shape.rank - value.shape.rank if value.shape.ranked and other.shape.ranked else 0
        return self.lift(value, tuple(range(missing)), before, alone=False) if missing > 0 else value

    # --- quantized operands -------------------------------------------------------------------------------------

    def _through(
        self, dequantize: Node, axes: tuple[int, ...], stretch: tuple[Node, Stretch] | None, reader: Node
    ) -> Value:
        """Edit in front of a DequantizeLinear (and of the QuantizeLinear that feeds it): it stays at its operator."""
        chain = [dequantize]
        source = dequantize.operand(0)
        if source.producer is not None and source.producer.op == QUANTIZE:
            chain.append(source.producer)
            source = source.producer.operand(0)
        alone = all(self._alone(node, reader) for node in chain) and (stretch is None or stretch[1].to.static)
        if stretch is None:
            source = self.lift(
                source, axes, reader, alone=alone and not (source.producer and source.producer.op == DEQUANTIZE)
            )
        else:
            source = self._expanded(stretch[0], source, stretch[1])
        for node in reversed(chain):
            again = self._moved if alone else self._again
            source = again(self.current(node), source, axes, reader)
        return source

    def _alone(self, node: Node, reader: Node) -> bool:
        """Whether only the planned node depends on a quantize or dequantize node of the file."""
        result = node.results[0]
        return result is not None and node.graph is reader.graph and node.index >= 0 and self._only_reader(result)

    def _moved(self, node: Node, source: Value, axes: tuple[int, ...], reader: Node) -> Value:
        """The node itself, on the edited operand; it stands where it stood, so what was made for it moves before it."""
        proto = self.message(node)
        proto.input[0] = source.name
        attributes = set_axis(proto, node, axes)
        operands = (source, *node.operands[1:])
        self.desks[node.graph].order.reuse_before(source, min(node.index, reader.index))
        new = replace(node, operands=operands, attributes=attributes)
        settle(new)
        self.unread[node.operand(0)] = None
        new.graph.note(new.index, source)
        old = new.results[0]
        if old is None:
            raise Refused(f"{node.op} '{node.label}' has no result")
        return self._restate(old, source.shape)

    def _again(self, node: Node, source: Value, axes: tuple[int, ...], reader: Node) -> Value:
        """The same quantize or dequantize node once more, on the edited operand."""
        desk = self.desks[reader.graph]
        old = node.results[0]
        key = ("again", old, source)
        found = desk.order.reuse(key, reader.index)
        if found is not None:
            return found
        if old is None:
            raise Refused(f"{node.op} '{node.label}' has no result")
        template = NodeProto()
        template.CopyFrom(self.message(node))
        attributes = set_axis(template, node, axes)
        stem = f"{old.name}_{'lifted' if axes else 'stretched'}"
        value = desk.copy(node, template, (source, *node.operands[1:]), stem, old.dtype, reader.index, attributes)
        desk.order.made[key] = value
        return value

    # --- whole nodes --------------------------------------------------------------------------------------------

    def remove(self, node: Node) -> None:
        """Take a node out that nobody reads any more."""
        self.unread.update(dict.fromkeys(value for value in node.operands if value is not None))
        self.gone.setdefault(node.graph, set()).update(value.name for value in node.results if value is not None)
        settle(node.reading(()))
        self.desks[node.graph].order.gone.add(node.index)
