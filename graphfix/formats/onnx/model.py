"""An ONNX model as the engine sees it: the container, its view, and the edits carried out on both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, TypeProto, ValueInfoProto

from graphfix.edits import EXPAND_LIMIT, Edit, Refused, Upgrade
from graphfix.formats.onnx import binding, upgrade
from graphfix.formats.onnx.edit import Editor
from graphfix.formats.onnx.emit import Desk
from graphfix.formats.onnx.facts import Facts, analyse
from graphfix.formats.onnx.file import Container, read
from graphfix.formats.onnx.scope import Step
from graphfix.formats.onnx.view import Views, build, onnx_type
from graphfix.formats.onnx.wellformed import refuse_malformed
from graphfix.graph import Graph, Node, Value
from graphfix.results import GraphfixError
from graphfix.shapes import Size

SIZES = "int64"
"""Shape arithmetic: what a new node computes of it, every tool infers."""
NO_TYPE = "?"
"""An element type that is not known: it can't be stated."""


def load(source: Path | bytes | ModelProto) -> OnnxModel:
    """Read a model. Raises GraphfixError for what is no ONNX model."""
    return OnnxModel(read(source.SerializeToString() if isinstance(source, ModelProto) else source))


class OnnxModel:
    """The Model protocol of `graphfix.edits` over an ONNX file."""

    format = "onnx"
    added = 0
    """A stretched constant is an Expand of it: runtimes fold it where they like."""

    def __init__(self, container: Container) -> None:
        """Infer the shapes and build the view. Raises GraphfixError for a model that breaks the format's rules."""
        nodes = refuse_malformed(container)
        self.container = container
        self.proto = container.proto
        self.changed = False
        self.inferring = 0.0
        """Seconds that shape inference has taken."""
        self.expand_limit = EXPAND_LIMIT
        self._ranges: dict[str, Size] = {}
        self._upgraded = False
        self._finished = False
        self._look(nodes)

    def _look(self, nodes: Sequence[Step] | None = None) -> None:
        """Build the view anew from the messages as they are; `nodes` are the main graph's, read before."""
        started = time.perf_counter()
        self._facts: Facts = self._analysed(nodes)
        self.inferring += time.perf_counter() - started
        self._views: Views = build(self.proto, self._facts, self.container.is_cut)
        for scope in self._facts.scopes():
            scope.steps = ()  # read, and as big as the view: the edits take their place in memory
        self._counters: dict[str, int] = {}
        self._desks: dict[object, Desk] = {
            graph: Desk(graph, self._views.holders[graph], scope, self.proto.ir_version, self._fresh)
            for graph, scope in self._views.scopes.items()
        }
        self._editor = Editor(self._views, self._desks)
        self._upgraded = self._finished = False

    def _analysed(self, nodes: Sequence[Step] | None) -> Facts:
        try:
            return analyse(self.proto, self._ranges, nodes)
        except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
            where = self.container.path or "the model"
            raise GraphfixError(f"{where}: onnx can't infer its shapes: {_first_line(error)}") from None

    @property
    def graphs(self) -> Sequence[Graph]:
        """Every scope, an outer one before the bodies inside it."""
        if self._upgraded or self._finished:
            self.finish()
            self._look()
        return self._views.graphs

    @property
    def assumes(self) -> Sequence[str]:
        """The shared symbols and stored ranks that the view leans on."""
        return self._facts.assumes

    @property
    def stale(self) -> Sequence[tuple[str, str, str]]:
        """(graph, value, why) of every stored shape that the computed one contradicts."""
        return [(scope.path, name, why) for scope in self._facts.scopes() for name, why in scope.stale.items()]

    @property
    def free(self) -> Sequence[str]:
        """The symbols of the inputs that are not bound."""
        return binding.symbols(self.proto.graph)

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused."""
        for edit in edits:
            if isinstance(edit, Upgrade):
                self._upgrade()
        node = self._editor.apply(node, edits)
        self.changed = True
        return node

    def _upgrade(self) -> None:
        """State the whole model at the newer opset, once. Raises Refused."""
        if self._upgraded:
            return
        why = upgrade.hindrance(self.proto)
        if why is not None:
            raise Refused(why)
        upgrade.restate(self.proto)
        self._upgraded = True

    def bind(self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]]) -> None:
        """Bind dims of the inputs; every stored shape is restated. Raises GraphfixError for an unknown name."""
        self._ranges.update({name: size for name, size in dims.items() if not isinstance(size, int)})
        numbers = {name: size for name, size in dims.items() if isinstance(size, int)}
        where = str(self.container.path or "the model")
        before = [value.SerializeToString() for value in self.proto.graph.input]
        bound = binding.bind(self.proto.graph, where, dims, numbers, shapes)
        if bound or before != [value.SerializeToString() for value in self.proto.graph.input]:
            binding.rename(self.proto, bound)
            self._look()
            binding.restate(self._facts.main)
            self.changed = True
        self._look()

    def note(self, key: str, text: str) -> None:
        """Add a line to the file's metadata."""
        entry = next((entry for entry in self.proto.metadata_props if entry.key == key), None)
        if entry is None:
            entry = self.proto.metadata_props.add(key=key)
        if text not in entry.value.split("; "):
            entry.value = f"{entry.value}; {text}" if entry.value else text
            self.changed = True

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError where writing to `path` would replace one of the model's external data files."""
        self.container.refuse_output(path)

    def save(self, path: str | Path) -> Sequence[Path]:
        """Write the file; a verbatim copy where nothing changed. Give the data files that were made beside it."""
        self.finish()
        return self.container.save(Path(path), changed=self.changed)

    def tobytes(self) -> bytes:
        """The file as bytes, for models that fit into memory."""
        self.finish()
        return self.container.tobytes()

    def finish(self) -> Sequence[Graph]:
        """Settle what was made: order, names of shapes, what nobody reads any more. Answer the view as it is then."""
        if self._finished:
            return self._views.graphs
        self._finished = True
        if not self.changed:
            return self._views.graphs
        self._drop_unread()
        for desk in self._desks.values():
            self._share_payloads(desk)
            desk.arrange()
            self._state_shapes(desk)
        return self._views.graphs

    def _fresh(self, stem: str) -> str:
        names = self._views.names
        name = stem
        while name in names:
            self._counters[stem] = self._counters.get(stem, 0) + 1
            name = f"{stem}_{self._counters[stem]}"
        names.add(name)
        return name

    def _drop_unread(self) -> None:
        """Remove the constants and nodes that only served what was edited."""
        pending = list(self._editor.unread)
        dropped: dict[Graph, set[str]] = {}
        while pending:
            value = pending.pop()
            if value in value.graph.outputs or value.is_read:
                continue
            node = value.producer
            if node is None:
                if value.kind == "constant":
                    dropped.setdefault(value.graph, set()).add(value.name)
            elif self._is_idle(node):
                pending += [operand for operand in node.operands if operand is not None]
                self._editor.remove(node)
        for graph, names in dropped.items():
            holder = self._views.holders[graph]
            if isinstance(holder, GraphProto):
                _remove_initializers(holder, names)

    def _is_idle(self, node: Node) -> bool:
        desk = self._desks[node.graph]
        return (
            node.index >= 0
            and node.index not in desk.order.gone
            and not any(result in result.graph.outputs or result.is_read for result in node.results if result)
            and not any(
                attribute.HasField("g") or attribute.graphs for attribute in self._editor.message(node).attribute
            )
        )

    def _share_payloads(self, desk: Desk) -> None:
        """A big constant that keeps other readers is not written twice: its lifted copy becomes a Reshape of it."""
        names: set[str] = set()
        for made, (source, axes) in desk.copies.items():
            tensor = desk.initializers.get(made)
            still_read = source in source.graph.outputs or source.is_read
            if tensor is None or not still_read or not self.container.is_cut(tensor):
                continue
            readers = made.reads
            if any(reader.graph is not desk.graph for reader, _ in readers):
                continue
            names.add(made.name)
            lifted = desk.lifted(source, axes, min(desk.order.anchor(reader) for reader, _ in readers))
            if lifted.place is not None:
                desk.order.early.add(lifted.place)
            for reader, at in readers:
                self._editor.put(self._editor.current(reader), at, lifted)
        if names and isinstance(desk.holder, GraphProto):
            _remove_initializers(desk.holder, names)

    def _state_shapes(self, desk: Desk) -> None:
        holder = desk.holder
        if isinstance(holder, FunctionProto):
            return
        stored = {info.name: info for info in holder.value_info}
        types: dict[object, ValueInfoProto] = {}
        made = [result for node in desk.graph.made for result in node.results if result is not None]
        values = [value for value in made if value.kind == "result" and value.dtype not in (SIZES, NO_TYPE)]
        for value in [*values, *(value for value in desk.restated if value.name in stored)]:
            if value.shape.axes is not None:
                info = types.get((value.dtype, value.shape))
                if info is None:
                    info = ValueInfoProto(type=_stated_type(value, onnx_type(value)))
                    types[value.dtype, value.shape] = info
                if value.name in stored:
                    stored[value.name].type.CopyFrom(info.type)
                else:
                    info.name = value.name
                    holder.value_info.append(info)  # a copy
        notes = {note.tensor_name: note for note in holder.quantization_annotation}
        for value, source in [*_sources(desk)] if notes else []:
            if source.name in notes and value.name not in notes:
                copy = holder.quantization_annotation.add()
                copy.CopyFrom(notes[source.name])
                copy.tensor_name = value.name
                notes[value.name] = copy


def _sources(desk: Desk) -> list[tuple[Value, Value]]:
    """(new value, the value that it is a lift or stretch of)."""
    pairs = [(made, source) for made, (source, _) in desk.copies.items()]
    for node in desk.graph.made:
        value, first = node.results[0], node.operands[0] if node.operands else None
        if value is not None and first is not None and node.op in ("Reshape", "Unsqueeze", "Expand", "Tile"):
            pairs.append((value, first))
    return pairs


def _remove_initializers(graph: GraphProto, names: set[str]) -> None:
    """Drop initializers by name: the others keep their order."""
    keys = [tensor.name in names for tensor in graph.initializer]
    following = iter(keys)
    graph.initializer.sort(key=lambda _: next(following))
    del graph.initializer[len(keys) - sum(keys) :]
    if any(info.name in names for info in graph.value_info):
        kept = [info for info in graph.value_info if info.name not in names]
        del graph.value_info[:]
        graph.value_info.extend(kept)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _stated_type(value: Value, code: int) -> TypeProto:
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
