"""The graphs of an ONNX model's view, with the messages, tensors and scopes of the file that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from graphfix.formats.neutral.repeated import least_sizes
from graphfix.formats.onnx.constants.integer_bounds import IntegerBounds
from graphfix.formats.onnx.file.attributes import held_by
from graphfix.formats.onnx.file.messages import Holder, body_of, is_standard
from graphfix.formats.onnx.infer.operators.integers import Bounds
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.graph.view import Graph, Node, Repeats, Scalar, Trips, Value
from graphfix.results.onnx_messages import NodeProto, TensorProto
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape

if TYPE_CHECKING:  # numpy, and modules that need it, are imported only if a model needs them.
    from graphfix.formats.onnx.constants.folding import Array, Evaluator

NUMPY_NAMES = {"float": "float32", "double": "float64", "undefined": "?"}
ONNX_NAMES = {numpy: name for name, numpy in NUMPY_NAMES.items()}


@cache
def dtype_name(code: int) -> str:
    """Return numpy's name of an element type, `float32` for 1; `?` if the number is not an element type."""
    if code not in TensorProto.DataType.values():
        return "?"  # For example a Cast to an unknown type.
    name: str = TensorProto.DataType.Name(TensorProto.DataType.ValueType(code)).lower()
    return NUMPY_NAMES.get(name, name)


def onnx_type(dtype: str) -> int:
    """Return the number in ONNX files of an element type, given by numpy's name."""
    code: int = TensorProto.DataType.Value(ONNX_NAMES.get(dtype, dtype).upper())
    return code


@dataclass(slots=True)
class Views:
    """The graphs of a model's view, and the parts of the file that belong to each graph."""

    graphs: list[Graph] = field(default_factory=list)
    holders: dict[Graph, Holder] = field(default_factory=dict)
    scopes: dict[Graph, GraphScope] = field(default_factory=dict)
    protos: dict[Graph, list[NodeProto]] = field(default_factory=dict)
    """The messages of each graph's nodes, by the node's index."""
    tensors: dict[Value, TensorProto] = field(default_factory=dict)
    """The tensor of each constant: an initializer, or the tensor of a Constant node."""
    is_cut: Callable[[TensorProto], bool] = lambda _: False
    """Returns whether the payload of a tensor is not in the skeleton."""
    names: set[str] = field(default_factory=set)
    """The name of every value and node anywhere in the file."""
    elements: Callable[[TensorProto], Array | None] = lambda _: None
    """Returns the elements of a tensor, wherever its payload lies; None if they can't be read."""
    repeated: dict[Value, Repeats] = field(default_factory=dict)
    """The cached results of `repeats`."""
    bounds: IntegerBounds = field(init=False)
    _evaluator: Evaluator | None = None
    _bodies: dict[tuple[Graph, int], list[Graph]] | None = None
    _weights: dict[Graph, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bounds = IntegerBounds(self._least_and_largest)

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator of nodes whose operands are constant."""
        from graphfix.formats.onnx.constants.folding import Evaluator

        if self._evaluator is None:
            self._evaluator = Evaluator(lambda node: self.protos[node.graph][node.index], self.at_hand)
        return self._evaluator

    def at_hand(self, value: Value) -> TensorProto | None:
        """Return the tensor of a constant if its payload is in the skeleton; else None."""
        tensor = self.tensors.get(value)
        cut = tensor is None or tensor.data_location == TensorProto.EXTERNAL or self.is_cut(tensor)
        return None if cut else tensor

    def literal_of(self, value: Value) -> tuple[Scalar, ...] | None:
        """Return the elements of a value that follows from constants; None if they are unknown before the run."""
        return self.evaluator.elements(value)

    def trips(self, node: Node) -> Trips | None:
        """Return the trip count of a Loop or Scan of the file; None if it is unknown before the run."""
        bodies = self._bodies_of(node)
        if node.op not in ("Loop", "Scan") or node.domain or len(bodies) != 1:
            return None
        from graphfix.formats.onnx.constants.trips import Body, trips

        (graph,) = bodies
        message = body_of(self.protos[node.graph][node.index], "body")
        return trips(node, Body(message, graph, self.evaluator, self._weight(graph)))

    def _weight(self, graph: Graph) -> int:
        """Return the number of nodes of a body in which inner loops are unrolled, as unrolling the outer loop does.

        Three nested loops of 100 trips each have a million nodes.
        """
        if graph not in self._weights:
            plain = sum(node.op != "Constant" for node in graph.nodes)
            self._weights[graph] = plain + sum(map(self._weight_inside, graph.nodes))
        return self._weights[graph]

    def _weight_inside(self, node: Node) -> int:
        """Return the number of nodes in the bodies of a node, multiplied by the trip count if the node is a loop."""
        inside = sum(map(self._weight, self._bodies_of(node)))
        if not inside or node.domain or node.op not in ("Loop", "Scan"):
            return inside
        from graphfix.formats.onnx.constants.trips import UNKNOWN_TRIPS

        trips = self.trips(node)
        return inside * (UNKNOWN_TRIPS if trips is None else max(1, trips.number))

    def _bodies_of(self, node: Node) -> Sequence[Graph]:
        """Return the bodies of a node of the file."""
        return self.bodies.get((node.graph, node.index), ())

    @property
    def bodies(self) -> Mapping[tuple[Graph, int], list[Graph]]:
        """The bodies of each node, by its graph and its index."""
        if self._bodies is None:
            self._bodies = {}
            graphs = {scope: graph for graph, scope in self.scopes.items()}
            for graph, scope in self.scopes.items():
                for (index, _), child in scope.children.items():
                    self._bodies.setdefault((graph, index), []).append(graphs[child])
        return self._bodies

    def repeats(self, value: Value) -> Repeats | None:
        """Return the axes along which a constant does not change; None if the value has no tensor that can be read."""
        if value not in self.repeated and value in self.tensors and value.shape.static:
            array, sizes = self.elements(self.tensors[value]), value.shape.numbers
            if array is None or array.dtype.hasobject or array.shape != sizes:
                return None
            least = Shape(least_sizes(bytes_of(array), sizes, array.itemsize))
            one = bool(array.size) and set(least.dims) <= {1}
            self.repeated[value] = Repeats(least, array.reshape(-1)[0].item() if one else None)
        return self.repeated.get(value)

    def _least_and_largest(self, value: Value) -> Bounds | None:
        """Return the smallest and the largest element of an integer constant of any size; None if they can't be read.

        Both are 0 for a constant without elements.
        """
        literal = value.literal
        if literal is not None:
            return (int(min(literal)), int(max(literal))) if literal else (0, 0)
        tensor = self.tensors.get(value)
        array = self.elements(tensor) if tensor is not None else None
        if array is None:
            return None
        return (int(array.min()), int(array.max())) if array.size else (0, 0)


def bytes_of(array: Array) -> memoryview:
    """Return the bytes of an array's elements in row-major order, without a copy, because weights may be large."""
    return array.reshape(-1).view("uint8").data


def constant_tensor(proto: NodeProto) -> TensorProto | None:
    """Return the tensor of a Constant node; None for another node.

    None is also returned if the Constant node stores its value in another attribute than `value`.
    """
    if proto.op_type != "Constant" or not is_standard(proto.domain):
        return None
    tensors = (attribute.t for attribute in proto.attribute if attribute.name == "value" and attribute.HasField("t"))
    return next(tensors, None)


SCALARS = ("value_float", "value_int", "value_floats", "value_ints")
"""The attributes in which a Constant node stores numbers instead of a tensor."""


def scalars(value: Value, views: Views) -> tuple[Scalar, ...] | None:
    """Return the elements of a Constant node that stores numbers instead of a tensor; None for any other value."""
    place = value.place
    for attribute in views.protos[value.graph][place].attribute if place is not None and place >= 0 else ():
        if attribute.name in SCALARS and not attribute.ref_attr_name:
            return held_by(attribute)
    return None
