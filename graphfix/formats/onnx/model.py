"""An ONNX model as the engine sees it: the container, its view, and the edits carried out on both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from onnx import ModelProto

from graphfix.formats.editing import FreshNames
from graphfix.formats.onnx import binding, validate
from graphfix.formats.onnx.edit import cleanup
from graphfix.formats.onnx.edit.editor import Editor
from graphfix.formats.onnx.edit.inline import inline
from graphfix.formats.onnx.edit.new_nodes import NodeBuilder
from graphfix.formats.onnx.edit.state import State
from graphfix.formats.onnx.file.container import Container, read
from graphfix.formats.onnx.infer.analysis import Facts, analyse
from graphfix.formats.onnx.infer.scope import Step
from graphfix.formats.onnx.opset import to_8, to_17
from graphfix.formats.onnx.view import Views, build
from graphfix.graph.edits import EXPAND_LIMIT, Edit, Refused, Upgrade
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import GraphfixError
from graphfix.shapes.shape import Size


def load(source: Path | bytes | ModelProto) -> OnnxModel:
    """Read a model. Raises GraphfixError for what is no ONNX model."""
    return OnnxModel(read(source.SerializeToString() if isinstance(source, ModelProto) else source))


class OnnxModel:
    """The Model protocol of `graphfix.graph.edits` over an ONNX file."""

    format = "onnx"
    added = 0
    """A stretched constant is an Expand of it: runtimes fold it where they like."""

    def __init__(self, container: Container) -> None:
        """Infer the shapes and build the view. Raises GraphfixError for a model that breaks the format's rules."""
        nodes = validate.check(container)
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
        self._fresh = FreshNames(self._views.names)
        builders: dict[object, NodeBuilder] = {
            graph: NodeBuilder(graph, self._views.holders[graph], scope, self.proto.ir_version, self._fresh)
            for graph, scope in self._views.scopes.items()
        }
        self._state = State(self._views, builders)
        self._editor = Editor(self._state)
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
        if self._upgraded or self._finished or self._state.renews:
            self._settle()
            self._renew()
        return self._views.graphs

    @property
    def assumes(self) -> Sequence[str]:
        """The shared symbols and stored ranks that the view assumes."""
        return self._facts.assumes

    @property
    def stale(self) -> Sequence[tuple[str, str, str]]:
        """(graph, value, why) of every stored shape that the computed one contradicts."""
        return [(scope.path, name, why) for scope in self._facts.scopes() for name, why in scope.stale.items()]

    @property
    def free(self) -> Sequence[str]:
        """The symbols of the inputs that are not bound."""
        return binding.free(self.proto.graph)

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused."""
        for edit in edits:
            if isinstance(edit, Upgrade) and edit.version > to_8.TARGET:
                self._restate(edit.version)
                return node
            if isinstance(edit, Upgrade):
                self._upgrade()
        node = self._editor.apply(node, edits)
        self.changed = True
        return node

    def _restate(self, version: int) -> None:
        """State the whole model at a newer opset; the view is built anew. Raises Refused."""
        if self.changed:
            self._settle()
            self._look()
        copy = ModelProto()
        copy.CopyFrom(self.proto)
        dropped = to_17.restate(copy, self._facts, version, self._fresh)
        self.proto.CopyFrom(copy)
        self.changed = True
        self._look()
        self._state.dead.update({value: None for value in self._views.tensors if value.name in dropped})

    def _upgrade(self) -> None:
        """State the whole model at the newer opset, once. Raises Refused."""
        if self._upgraded:
            return
        why = to_8.blocker(self.proto)
        if why is not None:
            raise Refused(why)
        to_8.restate(self.proto)
        self._upgraded = True

    def bind(self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]]) -> None:
        """Bind dims of the inputs; every stored shape is updated. Raises GraphfixError for an unknown name."""
        self._ranges.update({name: size for name, size in dims.items() if not isinstance(size, int)})
        if binding.bind(self.container, dims, shapes):
            self._look()
            binding.update_shapes(self._facts.main)
            self.changed = True
        self._look()

    @staticmethod
    def example(_: Value) -> None:
        """ONNX stores no size beside a free one."""
        return

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
        renews = self._state.renews and not self._finished
        self._settle()
        if renews:
            self._renew()
            self._finished = True
        return self._views.graphs

    def _settle(self) -> None:
        """Bring the file to what the edits say, once."""
        if self._finished:
            return
        self._finished = True
        if not self.changed:
            return
        state = self._state
        cleanup.drop_dead(state)
        for builder in state.builders.values():
            cleanup.share_payloads(state, builder, self.container.is_cut)
            builder.arrange()
            cleanup.declare_shapes(builder)
        for graph, names in state.removed.items():
            cleanup.drop_claims(self._views.holders[graph], names)
        inline(self.proto, state.decided, self._fresh)

    def _renew(self) -> None:
        """Look at the file as it is now; what is known of stored shapes by it is stated."""
        known = self._state.renews
        self._look()
        if known:
            binding.complete_shapes(self._facts.main)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
