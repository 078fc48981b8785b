"""The edits of a plan, carried out on a TFLite model: operands are edited, tensors and operators are only added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from graphfix.edits import Assume, Edit, Fold, Leave, Lift, Refused, Spell, Stretch, Upgrade, with_axes
from graphfix.formats.tflite.constants import item_bytes, repeated
from graphfix.formats.tflite.emit import TILE, Desk, broadcast_to_version, numbers, repeats_of, tile_version
from graphfix.formats.tflite.file import Container
from graphfix.formats.tflite.records import Operator, Options
from graphfix.formats.tflite.schema import CODES, TENSOR_TYPES
from graphfix.graph import Node, Value, settle
from graphfix.shapes import Shape, broadcast, cstr_broadcastable, same

DEQUANTIZE = "DEQUANTIZE"
UNSHAPED = frozenset({"resource", "variant"})
WHOLE_BYTE = 8
NOT_TILED = frozenset({"complex128"})
"""What BROADCAST_TO repeats and TILE does not."""
LARGEST_TOTAL = 2
"""All materialized constants together take at most this many times the file's size."""


@dataclass(slots=True, eq=False, repr=False)
class Editor:
    """Carries edits out on the views and records of one model."""

    container: Container
    desks: dict[object, Desk]
    """By graph."""
    expand_limit: int
    """Bytes that one materialized constant may take; above it a stretch is an operator."""
    added: int = 0
    """Bytes of constants that edits have added."""
    unread: dict[Value, None] = field(default_factory=dict)
    """Values that lost a reader: those that nobody reads in the end go."""
    pinned: dict[Node, None] = field(default_factory=dict)
    """Nodes with an operand that was stretched to stored sizes: it follows no other ones."""

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused before anything is changed."""
        node = node.graph.at(node.index)
        for edit in edits:
            self._check(node, edit)
        before = node
        for edit in edits:
            node = self._carry_out(before, node, edit)
        return node

    def _carry_out(self, before: Node, node: Node, edit: Edit) -> Node:
        match edit:
            case Lift():
                return self.put(node, edit.operand, self._lift(node.operand(edit.operand), edit.axes, node.index))
            case Stretch():
                return self.put(node, edit.operand, self._stretch(before, node.operand(edit.operand), edit))
            case Fold():
                self._bypass(node)
            case Spell():
                return self._spell(node, edit.to)
            case Upgrade():
                raise Refused("TFLite has no operator sets")
            case Leave() | Assume():
                pass
        return node

    # --- what can't be done -------------------------------------------------------------------------------------

    def _check(self, node: Node, edit: Edit) -> None:
        desk = self.desks[node.graph]
        index, operator = desk.scope.index, desk.scope.operator(node.index)
        container = self.container
        why = container.hindrance or container.subgraph_hindrance(index) or container.operator_hindrance(operator)
        if why is not None:
            raise Refused(why)
        match edit:
            case Lift():
                self._check_lift(desk, node.operand(edit.operand))
            case Stretch():
                self._check_stretch(desk, node, edit)
            case Fold():
                self._check_bypass(node)
            case Spell():
                self._check_repeated(node.operand(0))

    def _check_bypass(self, node: Node) -> None:
        if any(result in node.graph.outputs for result in node.results):
            raise Refused("its result is an output of the graph")
        self._check_insertion()
        value = node.operand(0)
        readers = {reader.op for result in node.results if result is not None for reader, _ in result.reads}
        if value.kind == "constant" and 0 in (value.shape.axes or ()):
            raise Refused(f"LiteRT refuses the constant '{value.name}', which has no elements, where it takes its copy")
        if value.kind == "constant" and DEQUANTIZE in readers:
            raise Refused("XNNPACK leaves the result of a DEQUANTIZE unset that reads a constant")

    def _check_insertion(self) -> None:
        if self.container.inserts_refused is not None:
            raise Refused(self.container.inserts_refused)

    def _check_lift(self, desk: Desk, value: Value) -> None:
        """A second tensor on the constant's buffer, or a node behind a result."""
        record = desk.scope.tensor(value)
        why = self.container.tensor_hindrance(record)
        if why is not None:
            raise Refused(why)
        if value.dtype in UNSHAPED:
            raise Refused(f"a {value.dtype} has no shape to change")
        if record.sparse:
            raise Refused(f"the sparse constant '{value.name}' states its axes itself")
        scales = record.quantization
        if scales is not None and scales.scales > 1 and not 0 <= scales.dimension < len(record.shape):
            raise Refused(f"'{value.name}' has {scales.scales} scales, and no axis that they could follow")
        if value.kind != "constant":
            self._check_insertion()

    def _check_stretch(self, desk: Desk, node: Node, edit: Stretch) -> None:
        value = node.operand(edit.operand)
        if not (value.shape.ranked and edit.to.ranked):
            raise Refused(
                "the rank of an operand is not known, and BROADCAST_ARGS ends the process where shapes differ"
            )
        self._check_repeated(value)
        self._check_lift(desk, value)
        if self._source(desk, value, edit.to) is not None and value.kind == "constant":
            return
        self._check_insertion()
        if edit.to.static and value.shape.static:
            return
        if value.dtype == "string":
            raise Refused("BROADCAST_TO takes no strings, and a TILE needs sizes that are known")
        if not edit.to.static:
            self._check_sizes(node, value, edit)

    @staticmethod
    def _check_repeated(value: Value) -> None:
        bits = next((bits for name, bits in TENSOR_TYPES.values() if name == value.dtype), None)
        if value.dtype in UNSHAPED or (bits is not None and bits < WHOLE_BYTE) or value.dtype.startswith("float8"):
            raise Refused(f"no operator repeats a tensor of {value.dtype}: TILE refuses it, BROADCAST_TO gives zeros")

    def _check_sizes(self, node: Node, value: Value, edit: Stretch) -> None:
        """BROADCAST_ARGS ends the process where two shapes do not meet: it is only made where they do for certain."""
        shape = value.shape
        for by in edit.by:
            if not isinstance(by, int):
                continue
            other = node.operand(by).shape
            whole = broadcast(shape, other)
            if not _is(whole, other) and cstr_broadcastable(shape, other) is not True:
                raise Refused(
                    f"whether {shape} and {other} meet is known only at run time, "
                    "and BROADCAST_ARGS ends the process where they do not"
                )
            shape = whole

    # --- operands -----------------------------------------------------------------------------------------------

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Let the node read `value` as operand `index`."""
        node = node.graph.at(node.index)
        old = node.operands[index]
        if old is value:
            return node
        scope = self.desks[node.graph].scope
        record = scope.operator(node.index)
        tensor = scope.tensors[value]
        record.inputs = (*record.inputs[:index], tensor, *record.inputs[index + 1 :])
        record.changed = scope.record.changed = True
        new = node.reading((*node.operands[:index], value, *node.operands[index + 1 :]))
        settle(new)
        if old is not None:
            self.unread[old] = None
        new.graph.note(new.index, value)
        return new

    def _lift(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        desk = self.desks[value.graph]
        if value.kind == "constant":
            return desk.lifted_constant(value, axes)
        source = self._dequantized(value)
        if source is not None:
            return self._again(value, self._lift(source, axes, reader), with_axes(value.shape, axes), axes, reader)
        return desk.lifted(value, axes, reader)

    def _stretch(self, before: Node, value: Value, edit: Stretch) -> Value:
        desk, reader = self.desks[before.graph], before.index
        made = self._constant(desk, value, edit.to, reader)
        if made is not None:
            self.pinned[before] = None
            return made
        if edit.to.static:
            self.pinned[before] = None
            if value.shape.static and value.dtype not in NOT_TILED:
                return desk.tiled(value, edit.to, reader)
            return desk.expanded(value, desk.integers(numbers(edit.to)), broadcast(value.shape, edit.to), reader)
        for by in edit.by:
            if isinstance(by, int):
                other = before.operand(by)
                shape = broadcast(value.shape, other.shape)
                target = desk.shape_of(other, reader)
                if not _is(shape, other.shape):
                    target = desk.merged(desk.shape_of(value, reader), target, shape.rank, reader)
            else:
                parts = [size if isinstance(size, int) else (before.operand(size[0]), size[1]) for size in by]
                target, shape = desk.sizes(parts, reader), broadcast(value.shape, edit.to)
            value = desk.expanded(value, target, shape, reader)
        return value

    def _source(self, desk: Desk, value: Value, to: Shape) -> Value | None:
        """The constant to write out in full, where there is one and the limits allow it."""
        source = value if value.kind == "constant" else self._dequantized(value)
        if source is None or not to.static or not source.shape.static or source.dtype == "string":
            return None
        if source is not value and 0 in to.dims:  # a DEQUANTIZE of several scales ends the process where it is empty
            return None
        if ("stretch", source, to) in desk.order.made:
            return source
        record = desk.scope.tensor(source)
        item = item_bytes(record)
        size, total = prod(numbers(to)) * item, LARGEST_TOTAL * len(self.container.source.data)
        if record.sparse or record.external or size > self.expand_limit or self.added + size > total:
            return None
        return source if self.container.size(record.buffer) == prod(numbers(source.shape)) * item else None

    def _constant(self, desk: Desk, value: Value, to: Shape, reader: int) -> Value | None:
        source = self._source(desk, value, to)
        if source is None:
            return None
        made = desk.order.made.get(("stretch", source, to))
        if made is None:
            record = desk.scope.tensor(source)
            data = repeated(self.container.data(record.buffer), numbers(source.shape), numbers(to), item_bytes(record))
            self.added += len(data)
            made = desk.materialized(source, to, data)
        return made if source is value else self._again(value, made, to, (), reader)

    @staticmethod
    def _dequantized(value: Value) -> Value | None:
        """The constant that a DEQUANTIZE reads whose result this is: it is edited there."""
        producer = value.producer
        if producer is None or producer.op != DEQUANTIZE:
            return None
        source = producer.operand(0)
        return source if source.kind == "constant" else None

    def _again(self, value: Value, source: Value, shape: Shape, axes: tuple[int, ...], reader: int) -> Value:
        """The DEQUANTIZE whose result `value` is once more, on the edited constant."""
        desk = self.desks[value.graph]
        key = ("again", value, source)
        found = desk.order.reuse(key, reader)
        if found is None and value.place is not None:
            record = desk.like(value, f"{value.name}_{'lifted' if axes else 'stretched'}", shape, axes)
            made = desk.value(record, shape, value.dtype, "result")
            found = desk.order.made[key] = desk.copy(value.place, DEQUANTIZE, (source,), made, reader)
        if found is None:
            raise Refused(f"'{value.name}' has no producer")
        return found

    # --- whole nodes --------------------------------------------------------------------------------------------

    def _bypass(self, node: Node) -> None:
        """Let everyone who reads the node's result read its operand 0, and take the node out."""
        source, result = node.operand(0), node.results[0]
        for reader, at in result.reads if result is not None else ():
            self.put(reader, at, source)
        self.remove(node.graph.at(node.index))

    def remove(self, node: Node) -> None:
        """Take a node out that nobody reads any more."""
        self.unread.update(dict.fromkeys(value for value in node.operands if value is not None))
        settle(node.reading(()))
        desk = self.desks[node.graph]
        desk.order.gone.add(node.index)
        desk.scope.record.changed = True

    def _spell(self, node: Node, to: Shape) -> Node:
        """State the node as a stretch of its operand 0 to a static shape: TILE, or BROADCAST_TO."""
        desk = self.desks[node.graph]
        value = node.operand(0)
        tiled = value.shape.static and value.dtype not in NOT_TILED
        op = "TILE" if tiled else "BROADCAST_TO"
        version = tile_version(value.dtype) if tiled else broadcast_to_version(value.dtype)
        target = desk.integers(repeats_of(value.shape, to) if tiled else numbers(to))
        record: Operator = desk.scope.operator(node.index)
        record.code = self.container.code(CODES[op], version)
        record.options = Options(TILE if tiled else 0)
        record.inputs = (desk.scope.tensors[value], desk.scope.tensors[target])
        record.changed = desk.scope.record.changed = True
        self.unread.update(dict.fromkeys(operand for operand in node.operands[1:] if operand is not None))
        new = replace(node, op=op, version=version, operands=(value, target), attributes={})
        settle(new)
        new.graph.note(new.index, target)
        return new


def _is(one: Shape, other: Shape) -> bool:
    return one.rank == other.rank and all(same(a, b) for a, b in zip(one.dims, other.dims, strict=True))
