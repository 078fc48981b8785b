"""An ONNX model as the engine uses it: the file's messages, the view, and the edits, which change both."""

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
    """Read a model.

    Its data files may also lie in `data_root`. Raises GraphfixError if the source is not an ONNX model.

    The locations of the data files are relative to the model's file, or to `folder` for a model that is not a file.
    """
    content = source.SerializeToString() if isinstance(source, ModelProto) else source
    return OnnxModel(read(content, data_root, folder))


class OnnxModel:
    """An ONNX file that implements the Model protocol of `graphfix.graph.protocols`."""

    format = "onnx"
    added = 0
    """Bytes of constants that edits added.

    Always 0, because a constant is stretched by an Expand, which runtimes may fold.
    """

    def __init__(self, container: Container) -> None:
        """Check the model, infer its shapes and build the view.

        Raises GraphfixError for a model that breaks the rules of the format.
        """
        nodes = validate.check(container)
        self.container, self.changed = container, False
        self.inferring = 0.0
        """The seconds that shape inference has taken."""
        self.expand_limit = EXPAND_LIMIT
        self.movement: Collection[str] | None = None
        self._ranges: dict[str, Size] = {}
        """The size of an input's axis: a range, or the symbol of an equal size.

        The key is a symbol, or `input[axis]`.
        """
        self._stated: list[Sequence[str]] = []
        """The sizes that are stated to be equal, as the user wrote them."""
        self._same: list[list[Member]] = []
        """The sizes that are stated to be equal, with an axis of an input in place of each symbol."""
        self._values: list[str] = []
        """Sentences for the report about the values that inputs are set to."""
        self._sums: Mapping[str, Sum] = {}
        """The sizes of inputs that are equal to a sum of other sizes. The key is a symbol, or `input[axis]`."""
        self._equal_names: frozenset[str] = frozenset()
        """Symbols that stand for several equal sizes. They are not written into stored shapes."""
        self._trust: bool | None = None
        """Which stored shapes are trusted: the argument `trust` of `infer.analysis.analyse`."""
        self._stored: StoredNames | None = None
        """The sizes that the file had when it was read."""
        self._narrowed: list[str] = []
        """The names of the inputs that were changed from int64 to int32."""
        self._rebuild_view(nodes)

    def __repr__(self) -> str:
        """Return `<OnnxModel: m.onnx, 3 nodes>`, with the path that was loaded."""
        return described(self, self.container.path)

    @property
    def proto(self) -> ModelProto:
        """The file's messages in their present state."""
        return self.container.proto

    def _rebuild_view(self, nodes: Steps | None = None) -> None:
        """Build the view again from the present messages.

        `nodes` are the nodes of the main graph, if they are already read.
        """
        started = time.perf_counter()
        self._facts: Facts = analyse(
            self.proto, self._ranges, nodes, self._sums, stored=self._stored, trust=self._trust
        )
        self._stored = self._facts.stored
        self.inferring += time.perf_counter() - started
        self._views: Views = build(self.proto, self._facts, self.container.is_cut, self.container.elements)
        for scope in self._facts.scopes():
            # The steps are no longer needed and are as big as the view. Dropping them frees memory for the edits.
            scope.steps = steps(())
        names = self._views.names
        self._fresh = FreshNames(names, INLINED if any(INLINED in name for name in names) else "")
        builders: dict[object, NodeBuilder] = {
            graph: NodeBuilder(graph, self._views.holders[graph], scope, self.proto.ir_version, self._fresh)
            for graph, scope in self._views.scopes.items()
        }
        self._state = State(self._views, builders)
        self._upgraded = False
        """Whether the file is upgraded while the view is still that of the older opset."""
        self._restated = False
        """Whether stored shapes were corrected since the view was built."""
        self._written = False
        """Whether the edits of this view are written into the file."""
        self._inference: LoadInference | None = None
        self._examined = False
        """Whether `_inference` is computed. This happens when it is first needed."""

    def trust_stored(self, *, trust: bool) -> None:
        """Trust all stored sizes that the rules neither prove nor refute, or (`trust=False`) trust no stored shape.

        It must be called before any edit.
        """
        self._trust = trust
        self._rebuild_view()

    @property
    def believed(self) -> Sequence[StoredSize | StoredShape]:
        """The stored sizes and shapes that are trusted."""
        return self._facts.believed

    @property
    def leaning(self) -> Sequence[tuple[str, str]]:
        """Pairs (graph path, value name) of values whose rank or sizes depend on a stored shape."""
        return [(scope.path, name) for scope in self._facts.scopes() for name in sorted(scope.leaning)]

    @property
    def graphs(self) -> Sequence[Graph]:
        """Every graph of the model, an outer one before the bodies inside it."""
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
        """The file's name for the main graph. The paths of other graphs already contain their names."""
        return {"main": self.proto.graph.name}

    def refresh(self) -> None:
        """Build the view again if edits made more facts constant, or changed the file in another way than the view.

        Pending edits are written to the file first.
        """
        if self._restated:
            self._stored = None  # The stored sizes that were wrong must not be used any more.
        if self._upgraded or self._written or self._restated or self._state.renews:
            self._write_edits()
            self._rebuild_and_complete()
        self._state.movement = self.movement

    def renew(self) -> None:
        """Request that the next `refresh` builds the view again, with the nodes that edits have made."""
        self._state.renews = self._state.renews or self.changed

    @property
    def assumes(self) -> Sequence[str]:
        """The assumptions as sentences for the report.

        They are set values, sizes stated to be equal, assumptions of the view, and narrowed inputs.
        """
        narrowed = [f"the input {name!r} holds whole numbers of 32 bits" for name in self._narrowed]
        return [*self._values, *assumed(self._stated), *self._facts.assumes, *narrowed]

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry out all edits of one node, and return the node as it is now.

        If one of the edits can't be carried out, Refused is raised and no edit is carried out.
        """
        for edit in edits:
            if isinstance(edit, Upgrade):
                self._upgrade(edit.version)
            elif isinstance(edit, StateShape):
                stored_shapes.restate(self._views.scopes[edit.value.graph], edit.value, self._equal_names)
                self.changed = self._restated = True
        edits = [edit for edit in edits if not isinstance(edit, StateShape)]
        return self.applier(edits)(node.graph.at(node.index)) if edits else node

    def applier(self, edits: Sequence[Edit]) -> Applier:
        """Return a function that carries these edits out on any node with the same plan.

        The edits must not contain an Upgrade or a StateShape.
        """
        apply = editing.applier(self, self._state, edits, check, lift, stretch, restate, carry_out)
        inference = self._load_inference()
        if inference is None:
            return apply
        from graphfix.formats.onnx.load_inference.edit_checks import check_load

        def checked(node: Node) -> Node:
            # The check uses names, so it is done for each node, even if nodes look the same.
            check_load(inference, node, edits)
            return apply(node)

        return checked

    def _load_inference(self) -> LoadInference | None:
        """Return the shapes that onnx infers wrongly at load; None for a model without suspect operators."""
        if not self._examined:
            self._examined = True
            suspects = [node for graph in self._views.graphs for node in graph.nodes if is_suspect(node)]
            if suspects:
                # Imported here, because few models have suspect operators.
                from graphfix.formats.onnx.load_inference.wrong_shapes import examine

                self._inference = examine(self.proto, self._views, suspects)
        return self._inference

    def _upgrade(self, version: int) -> None:
        """Convert the whole model to a newer opset, once. Raises Refused if it can't be converted.

        After a conversion to opset 8 the view stays until the next `refresh`, because lifts that belong to the
        conversion are planned on it.
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
        """Convert the model node by node, and build the view again. Raises Refused if it can't be converted."""
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
        """Bind sizes of the inputs, and update every stored shape.

        Sizes that are stated to be equal (`same`) keep their own symbols in the file. Raises GraphfixError for an
        unknown name, and for sizes that contradict the file.
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
        """The reason why onnxruntime may fail on the file as it is, or None.

        A reason is a shape that onnx infers wrongly at load. None if no such shape can make onnxruntime fail.
        """
        inference = self._load_inference()
        return inference.danger if inference is not None else None

    def _check_bound(self) -> None:
        """Raise GraphfixError if the bound sizes make onnx infer a wrong shape that matters."""
        why = self._danger
        if why is not None:
            where = self.container.path or "the model"
            raise GraphfixError(f"{where}: the sizes can't be bound: {why}; leave a size in front of it free")

    def set_inputs(self, values: Mapping[str, InputValue], *, drop: bool) -> None:
        """Make the readers of inputs read constants, and update every stored shape.

        With `drop`, the inputs are removed.

        Raises GraphfixError for an unknown name, and for a value that does not fit.
        """
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
        """Declare all int64 inputs except `kept` as int32, before any edit. Return their names."""
        from graphfix.formats.onnx.inputs import set_inputs

        if names := set_inputs.narrow(self.proto, kept, self._fresh):
            self._rebuild_view()
            self.changed = True
        self._narrowed += names
        return names

    @staticmethod
    def example(_: Value) -> None:
        """Return None. An ONNX file stores no example size for a free size."""
        return

    def note(self, key: str, text: str) -> None:
        """Append a text to an entry of the file's metadata."""
        self.changed = note(self.proto, key, text) or self.changed

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError if writing to `path` would replace one of the model's external data files."""
        self.container.refuse_output(path)

    def save(self, path: str | Path, *, final_name: str = "") -> Sequence[Path]:
        """Write the model, or an identical copy if nothing changed. Return the data files that were made beside it.

        In another folder than the model's, data files are copied. They are named after the file, or after `final_name`,
        the name that the file gets later.
        """
        self.finish()
        return self.container.save(file_path("save", path), changed=self.changed, final_name=final_name)

    def tobytes(self) -> bytes:
        """Return the file as bytes, for models that fit into memory."""
        self.finish()
        return self.container.tobytes()

    def finish(self) -> Sequence[Graph]:
        """Write the edits into the file, without unused nodes, and return the graphs of the view as they are then."""
        renews = self._state.renews and not self._written
        self._write_edits()
        if renews:
            self._rebuild_and_complete()
            self._written = True  # The new view has no pending edits.
        return self._views.graphs

    def _write_edits(self) -> None:
        """Write the edits of the present view into the file. A second call does nothing."""
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
        """Build the view of the present file, and complete the stored shapes if more sizes are known."""
        renewals = self._state.renews
        hidden = self._inference is not None and any(self._inference.hidden.values())
        self._rebuild_view()
        if renewals and not hidden:  # A stated size may make onnx infer a wrong shape.
            binding.complete_shapes(self._facts.main)
