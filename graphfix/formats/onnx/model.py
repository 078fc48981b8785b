"""An ONNX model as the engine sees it: the container, its view, and the edits carried out on both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from onnx import ModelProto

from graphfix.formats.onnx import binding
from graphfix.formats.onnx.edit import cleanup
from graphfix.formats.onnx.edit.editor import Editor
from graphfix.formats.onnx.edit.inline import inline
from graphfix.formats.onnx.edit.new_nodes import Desk
from graphfix.formats.onnx.file.container import Container, read
from graphfix.formats.onnx.infer.analysis import Facts, analyse
from graphfix.formats.onnx.infer.scope import Step
from graphfix.formats.onnx.opset import to_8, to_17
from graphfix.formats.onnx.validate.wellformed import refuse_malformed
from graphfix.formats.onnx.view import Views, build
from graphfix.graph.edits import EXPAND_LIMIT, Edit, Refused, Upgrade
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import GraphfixError
from graphfix.shapes.shape import Size


def load(source: Path | bytes | ModelProto) -> OnnxModel:
    """Read a model. Raises GraphfixError for what is no ONNX model."""
    return OnnxModel(read(source.SerializeToString() if isinstance(source, ModelProto) else source))


class OnnxModel:
    """The Model protocol of `graphfix.graph.protocols` over an ONNX file."""

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
        return self._views.graphs

    def refresh(self) -> None:
        """Build the view anew where edits made more known than it says."""
        if self._upgraded or self._finished or self._editor.renews:
            self._settle()
            self._renew()

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
                self._upgrade(edit.version)
        rest = [edit for edit in edits if not isinstance(edit, Upgrade)]
        if rest:
            node = self._editor.apply(node, rest)
        self.changed = True
        return node

    def _upgrade(self, version: int) -> None:
        """State the whole model at a newer opset, once. Raises Refused.

        At opset 8 the view stays until it is refreshed: the lifts that belong to it are planned on it.
        """
        if version > to_8.TARGET:
            self._restate(version)
        elif not self._upgraded:
            why = to_8.hindrance(self.proto)
            if why is not None:
                raise Refused(why)
            to_8.restate(self.proto)
            self._upgraded = True

    def _restate(self, version: int) -> None:
        """State the model node by node, and build the view anew. Raises Refused."""
        if self.changed:
            self._settle()
            self._look()
        copy = ModelProto()
        copy.CopyFrom(self.proto)
        dropped = to_17.restate(copy, self._facts, version, self._fresh)
        self.proto.CopyFrom(copy)
        self._look()
        self._editor.unread.update({value: None for value in self._views.tensors if value.name in dropped})

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
        renews = self._editor.renews and not self._finished
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
        editor = self._editor
        cleanup.drop_unread(editor)
        for desk in self._desks.values():
            cleanup.share_payloads(editor, desk, self.container.is_cut)
            desk.arrange()
            cleanup.state_shapes(desk)
        for graph, names in editor.gone.items():
            cleanup.drop_claims(self._views.holders[graph], names)
        inline(self.proto, editor.decided, self._fresh)

    def _renew(self) -> None:
        """Look at the file as it is now; what is known of stored shapes by it is stated."""
        known = self._editor.renews
        self._look()
        if known:
            binding.fill(self._facts.main)

    def _fresh(self, stem: str) -> str:
        names = self._views.names
        name = stem
        while name in names:
            self._counters[stem] = self._counters.get(stem, 0) + 1
            name = f"{stem}_{self._counters[stem]}"
        names.add(name)
        return name


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
