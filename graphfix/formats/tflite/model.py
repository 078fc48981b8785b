"""A TFLite model as the engine sees it: the container, its view, and the edits carried out on both."""

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
    """Read a model. Raises GraphfixError for what is no TFLite model."""
    return TfliteModel(read(source))


class TfliteModel:
    """The Model protocol of `graphfix.graph.protocols` over a TFLite file."""

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
        """The sizes that are stated to be equal."""
        self._equal: Mapping[str, str] = {}
        """By label: the one that stands for all that are equal."""
        self._values: list[str] = []
        """What inputs are, as they were set."""
        self._sums: Mapping[str, Sum] = {}
        """By label: what is a sum of others."""
        self._own_facts = False
        """Whether no stored shape of a result is believed (`trust_stored`)."""
        self._folds = False
        """Whether broadcasts were made implicit: stored shapes may look like some then."""
        self._notes: list[str] = []
        """What a binding could not ask of LiteRT."""
        self._idle: set[int] = set()
        """The subgraphs that edits left without anything that runs them."""
        self._evaluates_edits = False
        """Whether edits wrote nodes whose results can be computed: trips of a loop, nodes that read only constants."""
        self._fixed: list[str] = []
        """The inputs that edits before the view was last built have fixed."""
        self._rebuild_view()

    def __repr__(self) -> str:
        """Return `<TfliteModel: m.tflite, 3 nodes>`, with the path that was loaded."""
        return described(self, self.container.path)

    def _rebuild_view(self) -> None:
        """Build the view anew from the records as they are."""
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
        """Whether stored shapes are others than those that the view was built with."""
        self._written = False
        """Whether the edits of this view are in the file."""

    @property
    def graphs(self) -> Sequence[Graph]:
        """Every subgraph, one that is run by an operator behind the one that has it."""
        return [view.graph for view in self._views]

    @property
    def data_folder(self) -> Path | None:
        """The folder in which the buffers of other files lie; None for a model without such buffers."""
        path = self.container.path
        return path.parent if path is not None and self.container.parts.external else None

    @property
    def outputs(self) -> Sequence[Value]:
        """The outputs of the main subgraph, in the order of the file."""
        view = self._views[0]
        return [view.values[tensor] for tensor in view.record.outputs]

    @property
    def graph_names(self) -> Mapping[str, str]:
        """The name of each subgraph; its number for one without, as viewers show it."""
        counted = {0: "main"}
        return {
            view.graph.path: view.record.name or counted.get(view.index, f"subgraph_{view.index}")
            for view in self._views
        }

    def refresh(self) -> None:
        """Build the view anew if `finish` has changed the records since it was built."""
        tensors = self.container.subgraphs[0].tensors
        read = {id(tensors[at]) for one in self._state.decided for at in one.read}
        if self._state.decided or self._state.renews or self._restated:
            self._evaluates_edits = self._evaluates_edits or self._state.renews
            self.finish()
        if self._written:
            self._rebuild_view()
        # what computed a condition is read by nobody any more
        tensors = self.container.subgraphs[0].tensors if read else []
        self._state.dead.update(
            (self._views[0].values[at], None) for at, tensor in enumerate(tensors) if id(tensor) in read
        )
        self._state.expand_limit = self.expand_limit
        self._state.movement = self.movement

    def renew(self) -> None:
        """Let the next `refresh` build the view anew, with the nodes that edits have made."""
        self._state.renews = self._state.renews or self.changed

    @property
    def added(self) -> int:
        """Bytes of constants that edits have added."""
        return self._state.added

    @property
    def assumes(self) -> Sequence[str]:
        """Values that are set, sizes that are stated to be equal, stored shapes, and what stretched operands follow."""
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
        """(graph, value) of all whose shape is stored and follows from nothing, or follows from such a one."""
        return [(view.graph.path, view.values[tensor].name) for view in self._views for tensor in view.facts.leaning]

    believed: Sequence[StoredSize | StoredShape] = ()
    """No name of a size is stored; LiteRT's allocation says whether a stored shape is the value's."""

    def trust_stored(self, *, trust: bool) -> None:
        """Believe the stored shapes that follow from nothing, as without this call, or none; before any edit."""
        self._own_facts = not trust
        self._rebuild_view()

    def narrow_inputs(self, _: Collection[str]) -> Sequence[str]:
        """Raise GraphfixError: nothing makes an int64 of TFLite an int32."""
        why = "a TFLite model is converted with int32 inputs to begin with; leave it out"
        raise GraphfixError(f"{self.container.source.name}: --narrow-inputs is for ONNX: {why}")

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused."""
        node = self.applier(edits)(node.graph.at(node.index))
        for edit in edits:
            self._state_in_file(edit)
        self._folds = self._folds or any(isinstance(edit, (Bypass, Restate)) for edit in edits)
        return node

    def _state_in_file(self, edit: Edit) -> None:
        """Carry out an edit that changes a statement of the file, not its operators."""
        match edit:
            case DropMetadata(name):
                self.container.parts.drop_metadata(name)
                self._views[0].graph.metadata = tuple(entry_name for entry_name, _ in self.container.metadata)
            case StateShape(value):
                state_shape(self._state.builders[value.graph].subgraph, value)
                self._restated = True

    def applier(self, edits: Sequence[Edit]) -> Applier:
        """What carries lifts and stretches out on nodes that look the same."""
        return editing.applier(self, self._state, edits, check, lift, stretch, restate, carry_out)

    def bind(self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]], same: Same = ()) -> None:
        """Bind free dims of the inputs; every stored shape is updated. Raises GraphfixError for an unknown name."""
        self._same += same
        self._ranges.update({name: size for name, size in dims.items() if not isinstance(size, int)})
        if binding.bind(self.container, dims, shapes, self._notes, self._same):
            self.changed = True
        self._equal, ranges, self._sums = binding.equal_labels(self.container, self._same, self._ranges)
        self._ranges |= ranges
        self._rebuild_view()

    def set_inputs(self, values: Mapping[str, InputValue], *, drop: bool) -> None:
        """Let the readers of inputs read constants; every stored shape is updated. Raises GraphfixError."""
        self.bind({}, set_inputs.shapes_of(self.container, values))
        set_inputs.set_inputs(self.container, values)
        if drop:
            set_inputs.drop(self.container, values)
        self._values = [set_values.assumed(name, value) for name, value in values.items()]
        self.changed = True
        binding.update(self.container, self._notes)
        self._rebuild_view()

    def example(self, value: Value) -> Sequence[int] | None:
        """The stored dims of an input of the main subgraph: 1 most often where a size is free."""
        return self._views[0].tensor(value).shape

    def note(self, key: str, text: str) -> None:
        """Add a line to the file's metadata; nothing changes where it is there already."""
        before = tuple(self.container.metadata)
        self.container.note(key, text)
        self.changed = self.changed or tuple(self.container.metadata) != before

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError where writing to `path` would replace a file that the model itself needs."""
        self.container.refuse_output(path)

    def save(self, path: str | Path, *, final_name: str = "") -> Sequence[Path]:  # noqa: ARG002 - no file is named after it
        """Write the file; a verbatim copy where nothing changed."""
        self.finish()
        return self.container.save(file_path("save", path), changed=self.changed)

    def tobytes(self) -> bytes:
        """The file as bytes, for models that fit into memory."""
        self.finish()
        return self.container.tobytes(changed=self.changed)

    def finish(self) -> Sequence[Graph]:
        """Put what was made into order, and drop what nobody reads any more. Returns the view as it is then."""
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
