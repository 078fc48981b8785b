"""A TFLite model for the engine: the container, its view, and the edits, which change both."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from graphfix.formats.neutral import editing, set_values
from graphfix.formats.neutral.editing import FreshNames
from graphfix.formats.neutral.equal_sizes import Same, Sum, assumed
from graphfix.formats.tflite import binding, set_inputs
from graphfix.formats.tflite.edit import cleanup
from graphfix.formats.tflite.edit.checks import check
from graphfix.formats.tflite.edit.cleanup import state_shape, state_sizes
from graphfix.formats.tflite.edit.inline import inline
from graphfix.formats.tflite.edit.new_nodes import NodeBuilder
from graphfix.formats.tflite.edit.nodes import carry_out
from graphfix.formats.tflite.edit.operands import lift, restate, stretch
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.folding import Evaluator
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.view import SubgraphView, build
from graphfix.graph.edits import EXPAND_LIMIT, Bypass, DropMetadata, Edit, Restate, StateShape
from graphfix.graph.protocols import Applier, described
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import GraphfixError, InputValue
from graphfix.results.claims import StoredShape, StoredSize
from graphfix.results.files.regular_files import file_path
from graphfix.shapes.dim import Size


def load(source: Path | bytes) -> TfliteModel:
    """Read a TFLite model. Raises GraphfixError if the source is not a TFLite model."""
    return TfliteModel(read(source))


class TfliteModel:
    """A TFLite file as the engine's model; implements the protocol `graphfix.graph.protocols.Model`."""

    format = "tflite"

    def __init__(self, container: Container) -> None:
        """Infer the shapes and build the view."""
        self.container = container
        self.changed = False
        self.inferring = 0.0
        """Seconds that shape inference has taken."""
        self.expand_limit = EXPAND_LIMIT
        self.movement: Collection[str] | None = None
        self._ranges: dict[str, Size] = {}
        self._same: list[Sequence[str]] = []
        """The statements that sizes are equal (`--same`)."""
        self._equal: Mapping[str, str] = {}
        """For each label of a free size, the label that represents all sizes equal to it."""
        self._values: list[str] = []
        """A text for each input that was set to a value."""
        self._sums: Mapping[str, Sum] = {}
        """For each label of a free size that is a sum of other sizes, the sum."""
        self._own_facts = False
        """Whether no stored shape of a result is assumed (see `trust_stored`)."""
        self._folds = False
        """Whether an edit made a broadcast implicit, so that stored shapes may look stretched on purpose."""
        self._notes: list[str] = []
        """The reasons why LiteRT could not compute shapes for a binding."""
        self._idle: set[int] = set()
        """The subgraphs that no operator runs any more after edits."""
        self._evaluates_edits = False
        """Whether edits wrote nodes whose results can be computed: trips of a loop, nodes that read only constants."""
        self._fixed: list[str] = []
        """A line for each input that can't be resized any more, because of edits before the present view was built."""
        self._rebuild_view()

    def __repr__(self) -> str:
        """Return `<TfliteModel: m.tflite, 3 nodes>`, with the path that was loaded."""
        return described(self, self.container.path)

    def _rebuild_view(self) -> None:
        """Infer the shapes again, and build a new view from the records as they are now."""
        started = time.perf_counter()
        facts = analyse(self.container, self._ranges, self._equal, self._sums, own_only=self._own_facts)
        self.inferring += time.perf_counter() - started
        self._assumed = list(dict.fromkeys(text for each in facts for text in each.assumes))
        evaluator = Evaluator(self.container, self.container.tobytes() if self._evaluates_edits else None)
        self._views: list[SubgraphView] = build(self.container, facts, evaluator)
        buffers: dict[bytes, int] = {}
        builders: dict[object, NodeBuilder] = {
            view.graph: NodeBuilder(self.container, view, buffers, FreshNames({value.name for value in view.values}))
            for view in self._views
        }
        self._state = State(self.container, builders, self.expand_limit, evaluator, self.movement)
        self._restated = False
        """Whether stored shapes differ from those that the view was built with."""
        self._written = False
        """Whether the edits on this view are in the records of the file."""

    @property
    def graphs(self) -> Sequence[Graph]:
        """Return the graph of every subgraph; the subgraph of a caller comes before the subgraph that it runs."""
        return [view.graph for view in self._views]

    @property
    def data_folder(self) -> Path | None:
        """Return the folder that contains the model's buffers in other files; None if there are no such buffers."""
        path = self.container.path
        return path.parent if path is not None and self.container.parts.external else None

    @property
    def outputs(self) -> Sequence[Value]:
        """Return the outputs of the main subgraph, in the order of the file."""
        view = self._views[0]
        return [view.values[tensor] for tensor in view.record.outputs]

    @property
    def graph_names(self) -> Mapping[str, str]:
        """Return the name of each subgraph by its path; a subgraph without a name is called by its number.

        Example: `subgraph_1`, as viewers show it. The main subgraph without a name is `main`.
        """
        counted = {0: "main"}
        return {
            view.graph.path: view.record.name or counted.get(view.index, f"subgraph_{view.index}")
            for view in self._views
        }

    def refresh(self) -> None:
        """Build a new view if edits have changed the records since the last view, or must now be written into them."""
        tensors = self.container.subgraphs[0].tensors
        read = {id(tensors[at]) for one in self._state.decided for at in one.read}
        if self._state.decided or self._state.renews or self._restated:
            self._evaluates_edits = self._evaluates_edits or self._state.renews
            self.finish()
        if self._written:
            self._rebuild_view()
        # The nodes that computed an inlined condition may have no reader any more.
        tensors = self.container.subgraphs[0].tensors if read else []
        self._state.dead.update(
            (self._views[0].values[at], None) for at, tensor in enumerate(tensors) if id(tensor) in read
        )
        self._state.expand_limit = self.expand_limit
        self._state.movement = self.movement

    def renew(self) -> None:
        """Make the next `refresh` build a new view, with the nodes that edits have added."""
        self._state.renews = self._state.renews or self.changed

    @property
    def added(self) -> int:
        """Return the bytes of the constants that edits have added."""
        return self._state.added

    @property
    def assumes(self) -> Sequence[str]:
        """Return all assumptions, as texts.

        They are values that were set, sizes that are stated to be equal, stored shapes, and inputs that can't be
        resized any more.
        """
        return [
            *self._values,
            *assumed(self._same),
            *self._notes,
            *self._assumed,
            *self._fixed,
            *self._state.fixed_inputs(self._views[0].graph),
        ]

    @property
    def leaning(self) -> Sequence[tuple[str, str]]:
        """Return (graph, value) of all values whose shape is an assumed stored shape, or follows from one."""
        return [(view.graph.path, view.values[tensor].name) for view in self._views for tensor in view.facts.leaning]

    believed: Sequence[StoredSize | StoredShape] = ()
    """Always empty: TFLite stores no names of sizes, and LiteRT's allocation shows whether a stored shape is right."""

    def trust_stored(self, *, trust: bool) -> None:
        """Set whether the stored shape of a result is assumed if nothing else determines its shape.

        It is, if this method is never called. The method must be called before any edit.
        """
        self._own_facts = not trust
        self._rebuild_view()

    def narrow_inputs(self, _: Collection[str]) -> Sequence[str]:
        """Raise GraphfixError, because int64 inputs of a TFLite model can't be changed to int32."""
        why = "a TFLite model is converted with int32 inputs to begin with; leave it out"
        raise GraphfixError(f"{self.container.source.name}: --narrow-inputs is for ONNX: {why}")

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry out all edits of one node, or none of them; return the node as it is now. Raises Refused."""
        node = self.applier(edits)(node.graph.at(node.index))
        for edit in edits:
            self._state_in_file(edit)
        self._folds = self._folds or any(isinstance(edit, (Bypass, Restate)) for edit in edits)
        return node

    def _state_in_file(self, edit: Edit) -> None:
        """Carry out an edit that changes metadata or a stored shape; ignore any other edit."""
        match edit:
            case DropMetadata(name):
                self.container.parts.drop_metadata(name)
                self._views[0].graph.metadata = tuple(entry_name for entry_name, _ in self.container.metadata)
            case StateShape(value):
                state_shape(self._state.builders[value.graph].subgraph, value)
                self._restated = True

    def applier(self, edits: Sequence[Edit]) -> Applier:
        """Return a function that carries out these edits on a node; it can be called for each node that looks alike."""
        return editing.applier(self, self._state, edits, check, lift, stretch, restate, carry_out)

    def bind(self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]], same: Same = ()) -> None:
        """Bind free sizes of the inputs, and update every stored shape.

        `dims` maps labels such as `x[0]` to numbers or ranges, and `shapes` maps inputs to sizes. `same` lists labels
        of equal sizes. Raises GraphfixError for an unknown name, or a size that contradicts the file.
        """
        self._same += same
        self._ranges.update({name: size for name, size in dims.items() if not isinstance(size, int)})
        if binding.bind(self.container, dims, shapes, self._notes, self._same):
            self.changed = True
        self._equal, ranges, self._sums = binding.equal_labels(self.container, self._same, self._ranges)
        self._ranges |= ranges
        self._rebuild_view()

    def set_inputs(self, values: Mapping[str, InputValue], *, drop: bool) -> None:
        """Replace inputs by constants, and update every stored shape; with `drop`, they are no longer inputs.

        Raises GraphfixError for an unknown name, and for a value that does not fit.
        """
        self.bind({}, set_inputs.shapes_of(self.container, values))
        set_inputs.set_inputs(self.container, values)
        if drop:
            set_inputs.drop(self.container, values)
        self._values = [set_values.assumed(name, value) for name, value in values.items()]
        self.changed = True
        binding.update(self.container, self._notes)
        self._rebuild_view()

    def example(self, value: Value) -> Sequence[int] | None:
        """Return the stored sizes of an input of the main subgraph; a free size is usually stored as 1."""
        return self._views[0].tensor(value).shape

    def note(self, key: str, text: str) -> None:
        """Add a line to the file's metadata; a line that is already there is not added again."""
        before = tuple(self.container.metadata)
        self.container.note(key, text)
        self.changed = self.changed or tuple(self.container.metadata) != before

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError if writing to `path` would replace a file that the model needs."""
        self.container.refuse_output(path)

    def save(self, path: str | Path, *, final_name: str = "") -> Sequence[Path]:  # noqa: ARG002 - no file is named after it
        """Write the file; if nothing was changed, it is a verbatim copy. Return (), as no other files are written."""
        self.finish()
        return self.container.save(file_path("save", path), changed=self.changed)

    def tobytes(self) -> bytes:
        """Return the file as bytes, for models that fit into memory."""
        self.finish()
        return self.container.tobytes(changed=self.changed)

    def finish(self) -> Sequence[Graph]:
        """Write all edits into the records, and return the view's graphs.

        New operators are put in order, dead operators and unused parts are dropped, and bodies are inlined.
        """
        graphs = [view.graph for view in self._views]
        if self._written:
            return graphs
        self._written = True
        if not self.changed:
            return graphs
        state = self._state
        self._fixed += state.fixed_inputs(self._views[0].graph)
        state.fixed.clear()
        cleanup.drop_dead(state)
        if not self._folds:
            state_sizes(state)
        for view in self._views:
            state.builders[view.graph].arrange()
        inline(self.container, state.decided, self._idle)
        if any(one.trips is not None for one in state.decided):
            binding.state_free(self.container)
            self._evaluates_edits = True
        for view in self._views:
            cleanup.drop_tensors(view.record)
        cleanup.drop_codes(self.container)
        cleanup.drop_buffers(self.container)
        return graphs
