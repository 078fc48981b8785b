"""An ONNX model as the engine sees it: the container, its view, and the edits carried out on both."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.formats.neutral import editing, set_values
from graphfix.formats.neutral.editing import FreshNames
from graphfix.formats.neutral.equal_sizes import Member, Same, Sum, assumed
from graphfix.formats.onnx import validate
from graphfix.formats.onnx.edit import cleanup, stored_shapes
from graphfix.formats.onnx.edit.checks import check
from graphfix.formats.onnx.edit.inline import inline
from graphfix.formats.onnx.edit.new_nodes import NodeBuilder
from graphfix.formats.onnx.edit.nodes import carry_out
from graphfix.formats.onnx.edit.operands import lift, restate, stretch
from graphfix.formats.onnx.edit.state import State
from graphfix.formats.onnx.file.additions import Additions
from graphfix.formats.onnx.file.container import Container, read
from graphfix.formats.onnx.file.messages import Steps, note, steps
from graphfix.formats.onnx.infer.analysis import Facts, analyse
from graphfix.formats.onnx.infer.stored_names import StoredNames
from graphfix.formats.onnx.inputs import binding
from graphfix.formats.onnx.load_inference.suspects import is_suspect
from graphfix.formats.onnx.view import Views
from graphfix.formats.onnx.view_builder import build
from graphfix.graph.edits import EXPAND_LIMIT, Edit, Refused, StateShape, Upgrade
from graphfix.graph.protocols import Applier, described
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import GraphfixError, InputValue
from graphfix.results.claims import StoredShape, StoredSize
from graphfix.results.files.regular_files import file_path
from graphfix.results.onnx_messages import ModelProto
from graphfix.shapes.dim import Size

if TYPE_CHECKING:
    from graphfix.formats.onnx.load_inference.wrong_shapes import LoadInference

INLINED = "_inlfunc_"
"""A part of the names that onnxruntime gives to inlined nodes of functions, also in models that it saves."""


def load(source: Path | bytes | ModelProto, data_root: Sequence[Path] = (), folder: Path | None = None) -> OnnxModel:
    """Read a model, whose data files may also lie in `data_root`. Raises GraphfixError for other content.

    The locations of the data files are relative to the model's file, or to `folder` for a model that is not a file.
    """
    content = source.SerializeToString() if isinstance(source, ModelProto) else source
    return OnnxModel(read(content, data_root, folder))


class OnnxModel:
    """The Model protocol of `graphfix.graph.protocols` over an ONNX file."""

    format = "onnx"
    added = 0
    """A stretched constant is an Expand of it: runtimes fold it where they like."""

    def __init__(self, container: Container) -> None:
        """Infer the shapes and build the view. Raises GraphfixError for a model that breaks the format's rules."""
        nodes = validate.check(container)
        self.container, self.changed = container, False
        self.inferring = 0.0
        """Seconds that shape inference has taken."""
        self.expand_limit = EXPAND_LIMIT
        self.movement: Collection[str] | None = None
        self._ranges: dict[str, Size] = {}
        """By symbol, or by `input[axis]` where there is none: what a size of the inputs is."""
        self._stated: list[Sequence[str]] = []
        """The sizes that are stated to be equal, as they were said."""
        self._same: list[list[Member]] = []
        """The same, by axes of inputs."""
        self._values: list[str] = []
        """What inputs are, as they were set."""
        self._sums: Mapping[str, Sum] = {}
        """By label as in the ranges: what is a sum of others."""
        self._equal_names: frozenset[str] = frozenset()
        """The symbols that stand for others too: no stored shape gains one."""
        self._trust: bool | None = None
        """What is believed of stored shapes (`infer.analysis.analyse`)."""
        self._stored: StoredNames | None = None
        """The sizes that the file was read with."""
        self._narrowed: list[str] = []
        """The inputs that were int64 and are int32."""
        self._rebuild_view(nodes)

    def __repr__(self) -> str:
        """Return `<OnnxModel: m.onnx, 3 nodes>`, with the path that was loaded."""
        return described(self, self.container.path)

    @property
    def proto(self) -> ModelProto:
        """The file's messages as they are."""
        return self.container.proto

    def _rebuild_view(self, nodes: Steps | None = None) -> None:
        """Build the view anew from the messages as they are; `nodes` are the main graph's, read before."""
        started = time.perf_counter()
        self._facts: Facts = analyse(
            self.proto, self._ranges, nodes, self._sums, stored=self._stored, trust=self._trust
        )
        self._stored = self._facts.stored
        self.inferring += time.perf_counter() - started
        self._views: Views = build(self.proto, self._facts, self.container.is_cut, self.container.elements)
        for scope in self._facts.scopes():
            scope.steps = steps(())  # read, and as big as the view: the edits take their place in memory
        names = self._views.names
        self._fresh = FreshNames(names, INLINED if any(INLINED in name for name in names) else "")
        builders: dict[object, NodeBuilder] = {
            graph: NodeBuilder(graph, self._views.holders[graph], scope, self.proto.ir_version, self._fresh)
            for graph, scope in self._views.scopes.items()
        }
        self._state = State(self._views, builders)
        self._upgraded = False
        """Whether the file is upgraded, and the view still that of the older opset."""
        self._restated = False
        """Whether stored shapes are others than those that the view was built with."""
        self._written = False
        """Whether the edits of this view are in the file."""
        self._inference: LoadInference | None = None
        self._examined = False
        """Whether `_inference` is computed, which is done at the first edit."""

    def trust_stored(self, *, trust: bool) -> None:
        """Believe all stored sizes that the rules neither prove nor refute, or no stored shape; before any edit."""
        self._trust = trust
        self._rebuild_view()

    @property
    def believed(self) -> Sequence[StoredSize | StoredShape]:
        """The stored sizes and shapes that are believed."""
        return self._facts.believed

    @property
    def leaning(self) -> Sequence[tuple[str, str]]:
        """(graph, value) of all whose rank or sizes lean on a stored shape."""
        return [(scope.path, name) for scope in self._facts.scopes() for name in sorted(scope.leaning)]

    @property
    def graphs(self) -> Sequence[Graph]:
        """Every scope, an outer one before the bodies inside it."""
        return self._views.graphs

    @property
    def data_folder(self) -> Path | None:
        """The folder in which the model's external data lies; None for a model without external data."""
        home = self.container.home
        return home.folder if home is not None and self.container.has_external else None

    @property
    def outputs(self) -> Sequence[Value]:
        """The outputs of the main graph, in the order of the file."""
        by_name = {value.name: value for value in self.graphs[0].outputs}
        return [by_name[each.name] for each in self.container.skeleton.graph.output if each.name in by_name]

    @property
    def graph_names(self) -> Mapping[str, str]:
        """The name of the main graph: the other paths are made of names."""
        return {"main": self.proto.graph.name}

    def refresh(self) -> None:
        """Build the view anew where edits made more known than it says."""
        if self._restated:
            self._stored = None  # what was stored wrongly says nothing any more
        if self._upgraded or self._written or self._restated or self._state.renews:
            self._write_edits()
            self._rebuild_and_complete()
        self._state.movement = self.movement

    def renew(self) -> None:
        """Let the next `refresh` build the view anew, with the nodes that edits have made."""
        self._state.renews = self._state.renews or self.changed

    @property
    def assumes(self) -> Sequence[str]:
        """What is set or narrowed of the inputs, sizes that are stated to be equal, and what the view assumes."""
        narrowed = [f"the input {name!r} holds whole numbers of 32 bits" for name in self._narrowed]
        return [*self._values, *assumed(self._stated), *self._facts.assumes, *narrowed]

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused."""
        for edit in edits:
            if isinstance(edit, Upgrade):
                self._upgrade(edit.version)
            elif isinstance(edit, StateShape):
                stored_shapes.restate(self._views.scopes[edit.value.graph], edit.value, self._equal_names)
                self.changed = self._restated = True
        edits = [edit for edit in edits if not isinstance(edit, StateShape)]
        return self.applier(edits)(node.graph.at(node.index)) if edits else node

    def applier(self, edits: Sequence[Edit]) -> Applier:
        """What carries edits that are no upgrade out on nodes that look the same."""
        apply = editing.applier(self, self._state, edits, check, lift, stretch, restate, carry_out)
        inference = self._load_inference()
        if inference is None:
            return apply
        from graphfix.formats.onnx.load_inference.edit_checks import check_load

        def checked(node: Node) -> Node:
            check_load(inference, node, edits)  # by names, so for each of the nodes that look the same
            return apply(node)

        return checked

    def _load_inference(self) -> LoadInference | None:
        """Return the shapes that onnx infers wrongly at load; None for a model without suspect operators."""
        if not self._examined:
            self._examined = True
            suspects = [node for graph in self._views.graphs for node in graph.nodes if is_suspect(node)]
            if suspects:
                from graphfix.formats.onnx.load_inference.wrong_shapes import examine  # few models have any

                self._inference = examine(self.proto, self._views, suspects)
        return self._inference

    def _upgrade(self, version: int) -> None:
        """Convert the whole model to a newer opset, once. Raises Refused.

        At opset 8 the view stays until it is refreshed: the lifts that belong to it are planned on it.
        """
        from graphfix.formats.onnx.opset import to_8

        if version > to_8.TARGET:
            self._convert(version)
        elif not self._upgraded:
            why = to_8.blocker(self.proto)
            if why is not None:
                raise Refused(why)
            to_8.convert(self.proto)
            self._upgraded = True

    def _convert(self, version: int) -> None:
        """Convert the model node by node, and build the view anew. Raises Refused."""
        from graphfix.formats.onnx.opset import to_17

        if self.changed:
            self._write_edits()
            self._rebuild_view()
        copy = ModelProto()
        copy.CopyFrom(self.proto)
        dropped = to_17.convert(copy, self._facts, version, self._fresh, self.container.elements)
        self.proto.CopyFrom(copy)
        self._rebuild_view()
        self._state.dead.update({value: None for value in self._views.tensors if value.name in dropped})

    def bind(self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]], same: Same = ()) -> None:
        """Bind dims of the inputs; every stored shape is updated. Raises GraphfixError for an unknown name.

        Of sizes that are stated to be equal the file keeps its own names.
        """
        self._ranges.update({name: size for name, size in dims.items() if not isinstance(size, int)})
        self._stated += same
        self._same += binding.located(self.container, same)
        failed = self._danger is not None
        changed = binding.bind(self.container, dims, shapes, self._same)
        equal, self._sums = binding.equal_ranges(self.container, self._same, self._ranges)
        self._ranges |= equal
        self._equal_names = frozenset(map(str, equal.values()))
        if changed:
            self._rebuild_view()
            binding.update_shapes(self._facts.main)
            self.changed = True
        self._rebuild_view()
        if changed and not failed:
            self._check_bound()
        if self._ranges and binding.state_axes(self.proto, self._facts.main, self._fresh):
            self.changed = True
            self._rebuild_view()

    @property
    def _danger(self) -> str | None:
        """Why the file as it is may fail in onnxruntime because of a shape that is inferred wrongly at load."""
        inference = self._load_inference()
        return inference.danger if inference is not None else None

    def _check_bound(self) -> None:
        """Raise GraphfixError where the bound sizes let onnx's inference return a wrong one that counts."""
        why = self._danger
        if why is not None:
            where = self.container.path or "the model"
            raise GraphfixError(f"{where}: the sizes can't be bound: {why}; leave a size in front of it free")

    def set_inputs(self, values: Mapping[str, InputValue], *, drop: bool) -> None:
        """Let the readers of inputs read constants; every stored shape is updated. Raises GraphfixError."""
        from graphfix.formats.onnx.inputs import set_inputs

        self.bind({}, set_inputs.shapes_of(self.container, values))
        set_inputs.set_inputs(self.container, values, self._fresh)
        if drop:
            set_inputs.drop(self.container, values)
        self._values = [set_values.assumed(name, value) for name, value in values.items()]
        self.changed = True
        self._rebuild_view()
        binding.update_shapes(self._facts.main)
        self._rebuild_view()

    def narrow_inputs(self, kept: Collection[str]) -> Sequence[str]:
        """Declare the inputs of int64 but these as int32, before any edit; return their names."""
        from graphfix.formats.onnx.inputs import set_inputs

        if names := set_inputs.narrow(self.proto, kept, self._fresh):
            self._rebuild_view()
            self.changed = True
        self._narrowed += names
        return names

    @staticmethod
    def example(_: Value) -> None:
        """ONNX stores no size beside a free one."""
        return

    def note(self, key: str, text: str) -> None:
        """Add a line to the file's metadata."""
        self.changed = note(self.proto, key, text) or self.changed

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError where writing to `path` would replace one of the model's external data files."""
        self.container.refuse_output(path)

    def save(self, path: str | Path, *, final_name: str = "") -> Sequence[Path]:
        """Write the file; a verbatim copy where nothing changed. Return the data files that were made beside it.

        In another folder than the model's the data files are called after the file, or after `by_name`.
        """
        self.finish()
        return self.container.save(file_path("save", path), changed=self.changed, final_name=final_name)

    def tobytes(self) -> bytes:
        """The file as bytes, for models that fit into memory."""
        self.finish()
        return self.container.tobytes()

    def finish(self) -> Sequence[Graph]:
        """Write the edits into the file: order, shapes, without what nobody reads; return the view as it is then."""
        renews = self._state.renews and not self._written
        self._write_edits()
        if renews:
            self._rebuild_and_complete()
            self._written = True  # the new view has no edits
        return self._views.graphs

    def _write_edits(self) -> None:
        """Write the edits into the file, once."""
        done, self._written = self._written, True
        if done or not self.changed:
            return
        state = self._state
        cleanup.drop_dead(state)
        for graph, scope in self._views.scopes.items():
            stored_shapes.drop_underived(scope, graph)
        for builder in state.builders.values():
            cleanup.share_payloads(state, builder, self.container.is_cut)
            value_infos = stored_shapes.declare_shapes(builder, state.removed.get(builder.graph, ()), self._equal_names)
            messages = builder.graph is not self.graphs[0] or bool(state.decided)
            builder.arrange(value_infos, messages=messages)
            if not messages:
                self.container.additions = Additions(builder.records, value_infos)
        for graph, names in state.removed.items():
            stored_shapes.drop_claims(self._views.holders[graph], names)
        inline(self.container.skeleton, state.decided, self._fresh)

    def _rebuild_and_complete(self) -> None:
        """Build the view of the file as it is now, and complete the stored shapes where more is known."""
        renewals = self._state.renews
        hidden = self._inference is not None and any(self._inference.hidden.values())
        self._rebuild_view()
        if renewals and not hidden:  # a stated size may be what lets the inference return a wrong one
            binding.complete_shapes(self._facts.main)
