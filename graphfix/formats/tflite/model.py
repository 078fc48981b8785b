"""A TFLite model as the engine sees it: the container, its view, and the edits carried out on both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from graphfix.formats.tflite import binding
from graphfix.formats.tflite.edit.editor import Editor
from graphfix.formats.tflite.edit.fixed_inputs import pinned
from graphfix.formats.tflite.edit.new_nodes import Desk
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.file.records import ABSENT, NEW, Subgraph
from graphfix.formats.tflite.folding import Evaluator
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.view import Scope, build
from graphfix.graph.edits import EXPAND_LIMIT, Edit
from graphfix.graph.view import Graph, Node, Value
from graphfix.shapes.shape import Size

IDLE = frozenset(
    "SHAPE BROADCAST_ARGS DEQUANTIZE PACK STRIDED_SLICE SLICE GATHER CONCATENATION CAST RESHAPE EXPAND_DIMS SQUEEZE"
    " REDUCE_PROD RANGE MUL ADD SUB MAXIMUM MINIMUM FILL RFFT2D".split()
)
"""Operators without a side effect that only served what was edited; others stay, read or not."""


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
        self._ranges: dict[str, Size] = {}
        self._notes: list[str] = []
        """What a binding could not ask of LiteRT."""
        self._pins: list[str] = []
        self._look()

    def _look(self) -> None:
        """Build the view anew from the records as they are."""
        started = time.perf_counter()
        facts = analyse(self.container, self._ranges)
        self.inferring += time.perf_counter() - started
        self._leans = [text for each in facts for text in each.assumes]
        evaluator = Evaluator(self.container)
        self._scopes: list[Scope] = build(self.container, facts, evaluator)
        buffers: dict[bytes, int] = {}
        desks: dict[object, Desk] = {
            scope.graph: Desk(self.container, scope, buffers, {value.name for value in scope.values})
            for scope in self._scopes
        }
        self._state = State(self.container, desks, self.expand_limit, evaluator)
        self._editor = Editor(self._state)
        self._finished = False

    @property
    def graphs(self) -> Sequence[Graph]:
        """Every subgraph, one that is run by an operator behind the one that has it."""
        return [scope.graph for scope in self._scopes]

    def refresh(self) -> None:
        """Build the view anew where the model was finished since."""
        if self._finished:
            self._look()
        self._state.expand_limit = self.expand_limit

    @property
    def added(self) -> int:
        """Bytes of constants that edits have added."""
        return self._state.added

    @property
    def assumes(self) -> Sequence[str]:
        """The stored shapes that the view leans on, and the sizes of inputs that stretched operands follow."""
        return [*self._notes, *self._leans, *self._pins, *pinned(self._scopes[0].graph, self._state.pinned)]

    @property
    def stale(self) -> Sequence[tuple[str, str, str]]:
        """(graph, value, why) of every stored shape that the computed one contradicts."""
        return [
            (scope.graph.path, scope.values[tensor].name, why)
            for scope in self._scopes
            for tensor, why in scope.facts.stale.items()
        ]

    @property
    def free(self) -> Sequence[str]:
        """The free dims of the inputs, `x[0]` ..."""
        return binding.free(self.container)

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused."""
        node = self._editor.apply(node, edits)
        self.changed = True
        return node

    def bind(self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]]) -> None:
        """Bind free dims of the inputs; every stored shape is restated. Raises GraphfixError for an unknown name."""
        self._ranges.update({name: size for name, size in dims.items() if not isinstance(size, int)})
        if binding.bind(self.container, dims, shapes, self._notes):
            self.changed = True
        self._look()

    def example(self, value: Value) -> Sequence[int] | None:
        """The stored dims of an input of the main subgraph: 1 most often where a size is free."""
        return self._scopes[0].tensor(value).shape

    def note(self, key: str, text: str) -> None:
        """Add a line to the file's metadata; nothing changes where it is there already."""
        before = tuple(self.container.metadata)
        self.container.note(key, text)
        self.changed = self.changed or tuple(self.container.metadata) != before

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError where writing to `path` would replace a file that the model itself needs."""
        self.container.refuse_output(path)

    def save(self, path: str | Path) -> Sequence[Path]:
        """Write the file; a verbatim copy where nothing changed."""
        self.finish()
        return self.container.save(Path(path), changed=self.changed)

    def tobytes(self) -> bytes:
        """The file as bytes, for models that fit into memory."""
        self.finish()
        return self.container.tobytes(changed=self.changed)

    def finish(self) -> Sequence[Graph]:
        """Settle what was made: order, and what nobody reads any more. Answer the view as it is then."""
        graphs = [scope.graph for scope in self._scopes]
        if self._finished:
            return graphs
        self._finished = True
        if not self.changed:
            return graphs
        self._pins += pinned(self._scopes[0].graph, self._state.pinned)
        self._state.pinned.clear()
        self._drop_unread()
        for scope in self._scopes:
            _arrange(scope, self._state.desks[scope.graph])
            _compact(scope.record)
        _drop_codes(self.container)
        _drop_buffers(self.container)
        return graphs

    def _drop_unread(self) -> None:
        """Remove the operators that only served what was edited."""
        pending = list(self._state.unread)
        while pending:
            value = pending.pop()
            node = value.producer
            if node is not None and self._is_idle(node):
                pending += [operand for operand in node.operands if operand is not None]
                self._state.remove(node)

    def _is_idle(self, node: Node) -> bool:
        gone = self._state.desks[node.graph].order.gone
        return (
            (node.op in IDLE or self._state.is_known(node))
            and node.index not in gone
            and (node.index < 0 or self.container.inserts_refused is None)
            and not any(result in result.graph.outputs or result.is_read for result in node.results if result)
        )


def _arrange(scope: Scope, desk: Desk) -> None:
    """Put every new operator before its first reader, take out those that are gone; file and view alike."""
    desk.order.settle()
    nodes = [*scope.graph.nodes, *scope.graph.made]
    operators = [*scope.operators, *scope.made]
    keys = desk.order.keys()
    kept = len(nodes) - len(desk.order.gone)
    turns = sorted(range(len(nodes)), key=keys.__getitem__)[:kept]
    scope.graph.nodes = [nodes[at] for at in turns]
    scope.record.operators = [operators[at] for at in turns]


def _compact(subgraph: Subgraph) -> None:
    """Drop the new tensors that no operator names: a constant that was lifted first and then stretched."""
    named = {tensor for operator in subgraph.operators for tensor in (*operator.inputs, *operator.outputs)}
    kept = [at for at, tensor in enumerate(subgraph.tensors) if tensor.place != NEW or at in named]
    if len(kept) == len(subgraph.tensors):
        return
    moved = {old: new for new, old in enumerate(kept)}
    moved[ABSENT] = ABSENT
    subgraph.tensors = [subgraph.tensors[at] for at in kept]
    for operator in subgraph.operators:
        operator.inputs = tuple(moved[tensor] for tensor in operator.inputs)
        operator.outputs = tuple(moved[tensor] for tensor in operator.outputs)


def _drop_codes(container: Container) -> None:
    """Drop the operator codes that lost their last operator: LiteRT refuses a file for one without a kernel.

    Operators that no edit names keep their index: new codes move into the freed slots, those at the end go, and any
    other says the last code once more. What no operator of the file had stays.
    """
    codes = container.codes
    operators = [operator for subgraph in container.subgraphs for operator in subgraph.operators]
    used = {operator.code for operator in operators}
    free = set(range(len(codes))) - used - container.parts.unused_codes
    new = sorted((at for at in used if codes[at].place == NEW), reverse=True)
    moved = {at: slot for slot, at in zip(sorted(free), new, strict=False) if slot < at}
    for at, slot in moved.items():
        codes[slot] = codes[at]
    for operator in operators:
        operator.code = moved.get(operator.code, operator.code)
    free = (free - set(moved.values())) | set(moved)
    del codes[1 + max(set(range(len(codes))) - free, default=-1) :]
    for slot in free & set(range(len(codes))):
        codes[slot] = codes[-1]


def _drop_buffers(container: Container) -> None:
    """Drop the new buffers that nothing names any more."""
    named = {tensor.buffer for subgraph in container.subgraphs for tensor in subgraph.tensors}
    named.update(buffer for _, buffer in container.metadata)
    kept = [at for at, buffer in enumerate(container.buffers) if buffer.data is None or at in named]
    if len(kept) == len(container.buffers):
        return
    moved = {old: new for new, old in enumerate(kept)}
    container.buffers[:] = [container.buffers[at] for at in kept]
    for subgraph in container.subgraphs:
        for tensor in subgraph.tensors:
            tensor.buffer = moved[tensor.buffer]
    container.metadata[:] = [(name, moved[buffer]) for name, buffer in container.metadata]
