"""Build the frozen view of an ONNX model from the file's skeleton and the inferred shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from graphfix import operators
from graphfix.formats.onnx.file.attributes import attributes_of
from graphfix.formats.onnx.file.messages import Holder, Step, body_of
from graphfix.formats.onnx.file.tensors import elements_of
from graphfix.formats.onnx.infer.analysis import Facts
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.formats.onnx.view import SCALARS, Views, constant_tensor, dtype_name, scalars
from graphfix.graph.view import LITERAL_LIMIT, NO_ATTRIBUTES, Graph, Kind, Node, Scalar, Value
from graphfix.operators.row import Row
from graphfix.results.onnx_messages import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:  # numpy is imported only if a model needs it.
    from graphfix.formats.onnx.constants.folding import Array

PLAIN: tuple[Kind, Mapping[str, object]] = "result", NO_ATTRIBUTES
"""The kind of the results, and the attributes, of a node without attributes."""


def build(
    proto: ModelProto,
    facts: Facts,
    is_cut: Callable[[TensorProto], bool],
    elements: Callable[[TensorProto], Array | None] = lambda _: None,
) -> Views:
    """Return the view of every graph of a model. `facts` contains the inferred shapes and types."""
    views = Views(is_cut=is_cut, elements=elements)
    bodies = {(function.domain, function.name): function for function in proto.functions}
    _Builder(views, facts.main, proto.graph).build()
    for key, scope in facts.functions.items():
        _Builder(views, scope, bodies[key]).build()
    for function in proto.functions:
        views.names.update(name for node in function.node for name in (*node.input, *node.output, node.name))
    return views


@dataclass(slots=True)
class _Builder:
    """Builds the view of one graph. `around` is the builder of the graph around a body."""

    views: Views
    scope: GraphScope
    holder: Holder
    around: _Builder | None = None
    graph: Graph = field(init=False)
    values: dict[str, Value] = field(default_factory=dict)

    def build(self) -> None:
        """Build the view of one graph and of the bodies inside it, and add them to `views`."""
        self.graph = Graph(self.scope.path, self.around.graph if self.around is not None else None)
        self.graph.read_literal = self._literal
        self.graph.read_content = lambda value: self.scope.content(value.name)
        views = self.views
        self.graph.read_known = views.literal_of
        self.graph.read_bounds = views.bounds.of
        self.graph.read_trips = views.trips
        self.graph.read_repeats = views.repeats
        views.graphs.append(self.graph)
        views.holders[self.graph] = self.holder
        views.scopes[self.graph] = self.scope
        if isinstance(self.holder, FunctionProto):
            self.graph.inputs = [self._value(name, "input") for name in self.holder.input]
        else:
            self._named(self.holder)
        views.protos[self.graph] = self.scope.steps.messages
        views.names.update(self.scope.steps.names)
        self._nodes()
        self.graph.misstated = {
            value: wrong.why
            for name, wrong in self.scope.misstated.items()
            if (value := self.values.get(name)) is not None
        }
        outputs = self.holder.output if isinstance(self.holder, FunctionProto) else [v.name for v in self.holder.output]
        self.graph.outputs = {value for name in outputs if (value := self.find(name)) is not None}
        views.names.update(self.values)
        views.names.discard("")

    def _named(self, graph: GraphProto) -> None:
        """Make the values of a graph's initializers and inputs.

        An initializer that is also an input can be overridden.
        """
        inputs = {value.name for value in graph.input}
        for tensor in graph.initializer:
            value = self._value(tensor.name, "overridable" if tensor.name in inputs else "constant")
            if value.kind == "constant":
                self.views.tensors[value] = tensor
        for sparse in graph.sparse_initializer:
            self._value(sparse.values.name, "overridable" if sparse.values.name in inputs else "constant")
        for info in graph.input:
            if info.name not in self.values:
                self.graph.inputs.append(self._value(info.name, "input"))

    def _value(self, name: str, kind: Kind, place: int | None = None) -> Value:
        """Make the value of a name with its inferred shape and type, add it to `values`, and return it."""
        scope = self.scope
        value_type = scope.types.get(name) or scope.type_of(name)
        stale = scope.stale.get(name) if scope.stale else None
        dtype = dtype_name(value_type.dtype or scope.dtype(name))
        value = self.values[name] = Value(name, value_type.shape, dtype, kind, self.graph, stale, place)
        return value

    def _nodes(self) -> None:
        """Make the nodes of the graph, each before its bodies.

        The names that were read of a node are dropped to free memory for the view.
        """
        steps, graph, value_of = self.scope.steps, self.graph, self.values.get
        rows = {operator: self._row(*operator) for operator in set(steps.operators)}
        bodies = self._bodies()
        for index, (operator, name, inputs, outputs, bare) in enumerate(steps.rows()):
            operands = tuple(map(value_of, inputs))
            if not all(operands):
                operands = tuple(map(self._operand, inputs))
            kind, attributes = PLAIN if bare else _held(steps[index])
            if len(outputs) == 1 and outputs[0]:
                results: tuple[Value | None, ...] = (self._value(outputs[0], kind, index),)
            else:
                results = tuple([self._value(made, kind, index) if made else None for made in outputs])
            version, row = rows[operator]
            domain, op = operator
            node = Node(op, domain, version, name, index, graph, operands, results, attributes, row)
            graph.nodes.append(node)
            self._note(node)
            if not bare:
                self._inside(node, steps[index], bodies.get(index, ()))
            steps.forget(index)

    def _row(self, domain: str, op: str) -> tuple[int, Row | None]:
        """Return the imported version of an operator set, and the row of an operator in graphfix's catalogue."""
        version = self.scope.versions.get(domain, 1)
        return version, operators.row(domain, op, version)

    def _note(self, node: Node) -> None:
        """Record the node as a reader of its operands."""
        index, graph = node.index, node.graph
        for operand in node.operands:
            if operand is None:
                continue
            if operand.noted is None and operand.graph is graph:
                operand.noted = index  # The usual case, handled without a call.
            else:
                graph.note(index, operand)

    def _inside(self, node: Node, step: Step, bodies: Sequence[tuple[str, GraphScope]]) -> None:
        """Record the tensor of a Constant node, and build the bodies of a node."""
        tensor = constant_tensor(step.message) if step.op == "Constant" else None
        if tensor is not None:
            self.views.tensors.update(dict.fromkeys((result for result in node.results if result is not None), tensor))
        for attribute, child in bodies:
            _Builder(self.views, child, body_of(step.message, attribute), self).build()

    def _bodies(self) -> Mapping[int, Sequence[tuple[str, GraphScope]]]:
        """Return the bodies of each node by the node's index: (name of the attribute, scope of the body)."""
        found: dict[int, list[tuple[str, GraphScope]]] = {}
        for (index, attribute), child in self.scope.children.items():
            found.setdefault(index, []).append((attribute, child))
        return found

    def _operand(self, name: str) -> Value | None:
        """Return the visible value of an operand; None if the operand is absent.

        An undefined name becomes a new value.
        """
        if not name:
            return None
        return self.find(name) or self._value(name, "result")

    def find(self, name: str) -> Value | None:
        """Return the visible value with this name, in this graph or in a graph around it; else None."""
        value = self.values.get(name)
        if value is not None:
            return value
        at = self.around
        while at is not None:
            if name in at.values:
                return at.values[name]
            at = at.around
        return None

    def _literal(self, value: Value) -> tuple[Scalar, ...] | None:
        """Return the elements of a small constant; None if it is larger than LITERAL_LIMIT or not in memory."""
        tensor = self.views.tensors.get(value)
        if tensor is None:
            return scalars(value, self.views)
        if prod(tensor.dims) > LITERAL_LIMIT or self.views.at_hand(value) is None:
            return None
        return elements_of(tensor)


def _held(step: Step) -> tuple[Kind, Mapping[str, object]]:
    """Return the kind of the results, and the attributes, of a node that has attributes."""
    constant = step.op == "Constant" and (_scalar_constant(step.message) or constant_tensor(step.message) is not None)
    return "constant" if constant else "result", _attributes(step)


def _scalar_constant(proto: NodeProto) -> bool:
    return any(attribute.name in SCALARS for attribute in proto.attribute)


def _attributes(step: Step) -> Mapping[str, object]:
    found, every = attributes_of(step), step.message.attribute
    return found if len(found) == len(every) else {**found, **{each.name: found.get(each.name) for each in every}}
