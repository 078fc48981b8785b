"""The frozen view of an ONNX model, built from its skeleton and what was inferred of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import prod
from typing import TYPE_CHECKING

from graphfix import operators
from graphfix.formats.onnx.file.messages import Holder, Step, body_of, is_standard
from graphfix.formats.onnx.file.proto import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto
from graphfix.formats.onnx.file.tensors import elements_of
from graphfix.formats.onnx.infer.analysis import Facts
from graphfix.formats.onnx.infer.operands import attributes_of, held_by
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.formats.onnx.integer_bounds import IntegerBounds
from graphfix.formats.onnx.integer_bounds_rules import Bounds
from graphfix.formats.repeated import least_sizes
from graphfix.graph.view import LITERAL_LIMIT, NO_ATTRIBUTES, Graph, Kind, Node, Repeats, Scalar, Trips, Value
from graphfix.results.records import dataclass, field
from graphfix.shapes.shape import Shape

if TYPE_CHECKING:  # numpy, and what needs it, is imported where a model asks for it
    from graphfix.formats.onnx.folding import Array, Evaluator

_row = cache(operators.row)
NUMPY_NAMES = {"float": "float32", "double": "float64", "undefined": "?"}
ONNX_NAMES = {numpy: name for name, numpy in NUMPY_NAMES.items()}


@cache
def dtype_name(code: int) -> str:
    """An element type by numpy's name."""
    if code not in TensorProto.DataType.values():
        return "?"  # of a Cast to a type that is none
    name: str = TensorProto.DataType.Name(TensorProto.DataType.ValueType(code)).lower()
    return NUMPY_NAMES.get(name, name)


def onnx_type(dtype: str) -> int:
    """The number in the file of an element type by numpy's name."""
    code: int = TensorProto.DataType.Value(ONNX_NAMES.get(dtype, dtype).upper())
    return code


@dataclass(slots=True)
class Views:
    """The graphs of a model, and where each of their parts stands in the file."""

    graphs: list[Graph] = field(default_factory=list)
    holders: dict[Graph, Holder] = field(default_factory=dict)
    scopes: dict[Graph, GraphScope] = field(default_factory=dict)
    protos: dict[Graph, list[NodeProto]] = field(default_factory=dict)
    """By place."""
    tensors: dict[Value, TensorProto] = field(default_factory=dict)
    """The constants: an initializer, or the tensor of a Constant node."""
    is_cut: Callable[[TensorProto], bool] = lambda _: False
    """Whether a tensor's payload is not in the skeleton."""
    names: set[str] = field(default_factory=set)
    """Every name of a value or node anywhere in the file."""
    elements: Callable[[TensorProto], Array | None] = lambda _: None
    """Reads a tensor wherever its payload lies."""
    repeated: dict[Value, Repeats] = field(default_factory=dict)
    """What was found of constants that say something more than once."""
    bounds: IntegerBounds = field(init=False)
    _evaluator: Evaluator | None = None

    def __post_init__(self) -> None:
        self.bounds = IntegerBounds(self._least_and_largest)

    @property
    def evaluator(self) -> Evaluator:
        """What nodes of constants compute."""
        from graphfix.formats.onnx.folding import Evaluator

        if self._evaluator is None:
            self._evaluator = Evaluator(lambda node: self.protos[node.graph][node.index], self.at_hand)
        return self._evaluator

    def at_hand(self, value: Value) -> TensorProto | None:
        """The tensor of a constant, if its payload is in the skeleton."""
        tensor = self.tensors.get(value)
        cut = tensor is None or tensor.data_location == TensorProto.EXTERNAL or self.is_cut(tensor)
        return None if cut else tensor

    def known(self, value: Value) -> tuple[Scalar, ...] | None:
        """The elements of a value that follows from constants, None where they are not known."""
        return self.evaluator.elements(value)

    def trips(self, node: Node) -> Trips | None:
        """How often a Loop of the file runs, as far as that is known."""
        scope = self.scopes[node.graph].children.get((node.index, "body"))
        graph = next((graph for graph, other in self.scopes.items() if other is scope), None)
        if node.op not in ("Loop", "Scan") or node.domain or graph is None:
            return None
        from graphfix.formats.onnx.trips import Body, trips

        return trips(node, Body(body_of(self.protos[node.graph][node.index], "body"), graph, self.evaluator))

    def repeats(self, value: Value) -> Repeats | None:
        """The axes along which nothing changes in a constant that a tensor holds."""
        if value not in self.repeated and value in self.tensors and value.shape.static:
            array, sizes = self.elements(self.tensors[value]), value.shape.numbers
            if array is None or array.dtype.hasobject or array.shape != sizes:
                return None
            least = Shape(least_sizes(bytes_of(array), sizes, array.itemsize))
            one = bool(array.size) and set(least.dims) <= {1}
            self.repeated[value] = Repeats(least, array.reshape(-1)[0].item() if one else None)
        return self.repeated.get(value)

    def _least_and_largest(self, value: Value) -> Bounds | None:
        """The bounds of the whole numbers that a constant of any size holds, None where they can't be read."""
        literal = value.literal
        if literal is not None:
            return (int(min(literal)), int(max(literal))) if literal else (0, 0)
        tensor = self.tensors.get(value)
        array = self.elements(tensor) if tensor is not None else None
        if array is None:
            return None
        return (int(array.min()), int(array.max())) if array.size else (0, 0)


def build(
    proto: ModelProto,
    facts: Facts,
    is_cut: Callable[[TensorProto], bool],
    elements: Callable[[TensorProto], Array | None] = lambda _: None,
) -> Views:
    """Build the view of every scope."""
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
    views: Views
    scope: GraphScope
    holder: Holder
    around: _Builder | None = None
    graph: Graph = field(init=False)
    values: dict[str, Value] = field(default_factory=dict)

    def build(self) -> None:
        self.graph = Graph(self.scope.path, self.around.graph if self.around is not None else None)
        self.graph.read_literal = self._literal
        self.graph.read_content = lambda value: self.scope.content(value.name)
        views = self.views
        self.graph.read_known = views.known
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
        at: dict[int, list[tuple[str, GraphScope]]] = {}
        for (index, attribute), child in self.scope.children.items():
            at.setdefault(index, []).append((attribute, child))
        views.protos[self.graph] = [step.message for step in self.scope.steps]
        views.names.update([step.name for step in self.scope.steps])
        for index, step in enumerate(self.scope.steps):
            self._node(index, step)
            step.forget()
            for attribute, child in at.get(index, ()):
                body = body_of(step.message, attribute)
                _Builder(views, child, body, self).build()
        outputs = self.holder.output if isinstance(self.holder, FunctionProto) else [v.name for v in self.holder.output]
        self.graph.outputs = {value for name in outputs if (value := self.find(name)) is not None}
        views.names.update(self.values)
        views.names.discard("")

    def _named(self, graph: GraphProto) -> None:
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
        scope = self.scope
        shape = scope.shapes.get(name) or scope.shape(name)
        code = scope.dtypes.get(name) or scope.dtype(name)
        stale = scope.stale.get(name) if scope.stale else None
        value = self.values[name] = Value(name, shape, dtype_name(code), kind, self.graph, stale, place)
        return value

    def _node(self, index: int, step: Step) -> None:
        proto, op, domain = step.message, step.op, step.domain
        version = self.scope.versions.get(domain, 1)
        tensor = constant_tensor(proto) if op == "Constant" else None
        kind: Kind = "constant" if tensor is not None or (op == "Constant" and _scalar_constant(proto)) else "result"
        operands = tuple(map(self.values.get, step.inputs))
        if not all(operands):
            operands = tuple(map(self._operand, step.inputs))
        results = tuple([self._value(made, kind, index) if made else None for made in step.outputs])
        attributes = NO_ATTRIBUTES if step.bare else _attributes(step)
        name, graph = step.name, self.graph
        node = Node(op, domain, version, name, index, graph, operands, results, attributes, _row(domain, op, version))
        graph.nodes.append(node)
        for operand in operands:
            if operand is not None:
                graph.note(index, operand)
        if tensor is not None:
            self.views.tensors.update(dict.fromkeys((result for result in results if result is not None), tensor))

    def _operand(self, name: str) -> Value | None:
        if not name:
            return None
        return self.find(name) or self._value(name, "result")

    def find(self, name: str) -> Value | None:
        """The visible value of that name."""
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
        tensor = self.views.tensors.get(value)
        if tensor is None:
            return _scalars(value, self.views)
        if prod(tensor.dims) > LITERAL_LIMIT or self.views.at_hand(value) is None:
            return None
        return elements_of(tensor)


def bytes_of(array: Array) -> memoryview:
    """The bytes of an array's elements, in order and without a copy: weights may be large."""
    return array.reshape(-1).view("uint8").data


def constant_tensor(proto: NodeProto) -> TensorProto | None:
    """The tensor of a Constant node that holds one."""
    if proto.op_type != "Constant" or not is_standard(proto.domain):
        return None
    held = (attribute.t for attribute in proto.attribute if attribute.name == "value" and attribute.HasField("t"))
    return next(held, None)


SCALARS = ("value_float", "value_int", "value_floats", "value_ints")


def _scalar_constant(proto: NodeProto) -> bool:
    return proto.op_type == "Constant" and any(attribute.name in SCALARS for attribute in proto.attribute)


def _scalars(value: Value, views: Views) -> tuple[Scalar, ...] | None:
    """The elements of a Constant node that holds numbers instead of a tensor."""
    place = value.place
    for attribute in views.protos[value.graph][place].attribute if place is not None and place >= 0 else ():
        if attribute.name in SCALARS and not attribute.ref_attr_name:
            return held_by(attribute)
    return None


def _attributes(step: Step) -> Mapping[str, object]:
    found, every = attributes_of(step), step.message.attribute
    return found if len(found) == len(every) else {**found, **{each.name: found.get(each.name) for each in every}}
