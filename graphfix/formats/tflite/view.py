"""Build the view of a TFLite model from its records and the inferred facts."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from math import prod

from graphfix import operators as ops
from graphfix.formats.neutral.repeated import least_sizes
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, Operator, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import CUSTOM, TENSOR_TYPES
from graphfix.formats.tflite.file.tables import read_scales
from graphfix.formats.tflite.folding import Evaluator
from graphfix.formats.tflite.infer.analysis import Facts, trips
from graphfix.formats.tflite.infer.names import operator_name, unique_names
from graphfix.graph.edits import Refused
from graphfix.graph.view import LITERAL_LIMIT, Graph, Kind, Node, Repeats, Scalar, Value
from graphfix.operators.row import TFLITE
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape, Size

CUSTOM_DOMAIN = "tflite.custom"
_row = cache(ops.row)
BODY_OPTIONS = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "CALL_ONCE": ("init_subgraph_index",),
    "CALL": ("subgraph",),
    "STABLEHLO_COMPOSITE": ("decomposition_subgraph_index",),
}
"""For each operator that runs subgraphs, the options that contain their indices."""
PACKED: Mapping[str, str] = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
}
"""The element types whose elements can be read, with struct's format."""


@dataclass(slots=True)
class SubgraphView:
    """One subgraph: its record in the file, and its graph in the view."""

    index: int
    record: Subgraph
    graph: Graph
    facts: Facts
    values: list[Value]
    """The value of each tensor, by the tensor's index."""
    operators: list[Operator]
    """The records of the file's operators, by place."""
    made: list[Operator] = field(default_factory=list)
    """The records of new operators, by place as in `Graph.made`: the node at place -1 is the first."""
    tensors: dict[Value, int] = field(default_factory=dict)
    repeated: dict[Value, Repeats] = field(default_factory=dict)
    """For each constant that was examined, the axes along which its elements repeat."""

    def operator(self, place: int) -> Operator:
        """Return the record of the node at a place; a negative place is a new node."""
        return self.operators[place] if place >= 0 else self.made[-1 - place]

    def tensor(self, value: Value) -> Tensor:
        """Return the tensor's record of a value."""
        return self.record.tensors[self.tensors[value]]


def build(container: Container, facts: Sequence[Facts], evaluator: Evaluator) -> list[SubgraphView]:
    """Build the view of every subgraph; the caller of a subgraph comes before the subgraph.

    The main subgraph is the first.
    """
    views = [_subgraph_view(container, index, path, facts[index]) for index, path in _paths(container).items()]
    main = views[0]
    main.graph.read_known = lambda value: _known(evaluator, main, value)
    main.graph.read_trips = lambda node: trips(container, node, main.operator(node.index))
    return views


def _known(evaluator: Evaluator, view: SubgraphView, value: Value) -> tuple[Scalar, ...] | None:
    """Return the elements of a result that is known before the run; None if they are not known."""
    code, tensor = PACKED.get(value.dtype), view.tensors[value]
    if code is None or not evaluator.folds(tensor):
        return None
    try:
        data = evaluator.elements(tensor)
    except Refused:
        return None
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def _paths(container: Container) -> dict[int, str]:
    """Return the path of each subgraph: `main`, `main/WHILE#3.body` if an operator runs it, otherwise `subgraph 2`."""
    paths: dict[int, str] = {}

    def enter(index: int, path: str) -> None:
        if index in paths:
            return
        paths[index] = path
        for at, operator in enumerate(container.subgraphs[index].operators):
            name = operator_name(container, operator)
            for option in BODY_OPTIONS.get(name, ()):
                body = container.options(operator).get(option)
                if isinstance(body, int) and 0 <= body < len(container.subgraphs):
                    enter(body, f"{path}/{name}#{at}.{option.partition('_subgraph')[0]}")

    for index in range(len(container.subgraphs)):
        enter(index, "main" if index == 0 else f"subgraph {index}")
    return paths


def _subgraph_view(container: Container, index: int, path: str, facts: Facts) -> SubgraphView:
    """Build the view of one subgraph."""
    record = container.subgraphs[index]
    graph = Graph(path)
    producers = {tensor: at for at, operator in enumerate(record.operators) for tensor in operator.outputs}
    inputs = set(record.inputs)
    names = unique_names(record)
    values = []
    for at, tensor in enumerate(record.tensors):
        kind = _kind(container, tensor, is_result=at in producers, is_input=at in inputs)
        dtype = TENSOR_TYPES[tensor.type][0]
        values.append(Value(names[at], facts.shapes[at], dtype, kind, graph, facts.stale.get(at), producers.get(at)))
    view = SubgraphView(index, record, graph, facts, values, record.operators)
    view.tensors = {value: at for at, value in enumerate(values)}
    graph.inputs = [values[at] for at in record.inputs if at != ABSENT]
    graph.outputs = {values[at] for at in record.outputs if at != ABSENT}
    graph.read_literal = lambda value: literal(container, view, value)
    graph.read_content = lambda value: _content(container, view, value)
    graph.read_scales = lambda value: _scales(view, value)
    graph.read_quantization = lambda value: _quantization(container, view, value)
    graph.read_repeats = lambda value: _repeats(container, view, value)
    graph.without_rank = {values[at] for at in producers if at != ABSENT and not record.tensors[at].states_rank}
    graph.misstated = {values[at]: why for at, why in facts.misstated.items()}
    graph.metadata = () if index else tuple(name for name, _ in container.metadata)
    for at, operator in enumerate(record.operators):
        _node(container, view, at, operator)
    return view


def _kind(container: Container, tensor: Tensor, *, is_result: bool, is_input: bool) -> Kind:
    """Return the kind of a tensor's value: "result", "constant" or "input".

    An operator computes a result. A constant has elements in a file, or has no elements. Every other tensor is an
    input, and so is a variable.
    """
    if is_result:
        return "result"
    if is_input or tensor.variable:
        return "input"
    empty = 0 in tensor.shape and -1 not in (tensor.signature or ())
    return "constant" if container.holds(tensor.buffer) or tensor.external or empty else "input"


def _node(container: Container, view: SubgraphView, at: int, operator: Operator) -> None:
    """Add an operator of the file to the graph, as a node."""
    code = container.codes[operator.code]
    custom = code.builtin == CUSTOM
    op = operator_name(container, operator)
    domain = CUSTOM_DOMAIN if custom else TFLITE
    values, graph = view.values, view.graph
    operands = tuple([values[tensor] if tensor != ABSENT else None for tensor in operator.inputs])
    results = tuple([values[tensor] if tensor != ABSENT else None for tensor in operator.outputs])
    row = _row(domain, op, code.version)
    attributes = container.options(operator)
    graph.nodes.append(Node(op, domain, code.version, "", at, graph, operands, results, attributes, row))
    for operand in operands:
        if operand is not None:
            graph.note(at, operand)


def literal(container: Container, view: SubgraphView, value: Value) -> tuple[Scalar, ...] | None:
    """Return the elements of a small constant in row-major order.

    Return None for a constant with too many elements, and for an element type that `struct` can't read.
    """
    tensor = view.tensor(value)
    count = prod(tensor.shape)
    code = PACKED.get(value.dtype)
    if code is None or count > LITERAL_LIMIT or tensor.sparse or tensor.external:
        return None
    data = container.data(tensor.buffer)
    return struct.unpack(f"<{count}{code}", data) if len(data) == struct.calcsize(f"<{count}{code}") else None


def _scales(view: SubgraphView, value: Value) -> int:
    """Return the number of scales by which a value is quantized; 0 if it is not quantized."""
    quantization = view.tensor(value).quantization
    return 0 if quantization is None else quantization.scales


def _quantization(container: Container, view: SubgraphView, value: Value) -> tuple[float, int] | None:
    """Return the scale and the zero point of a value that has exactly one of each; otherwise None."""
    bits, zeros, *_ = read_scales(container.flat, view.tensor(value).quantization) or ((), ())
    if not (isinstance(bits, tuple) and isinstance(zeros, tuple)) or (len(bits), len(zeros)) != (1, 1):
        return None
    (scale,) = struct.unpack("<f", struct.pack("<i", bits[0]))
    return scale, zeros[0]


def _repeats(container: Container, view: SubgraphView, value: Value) -> Repeats | None:
    """Return the axes along which the elements of a constant repeat; None if its bytes are not plain elements."""
    tensor, code = view.tensor(value), PACKED.get(value.dtype)
    if value in view.repeated or code is None or tensor.sparse or tensor.external or not value.shape.static:
        return view.repeated.get(value)
    data, item, sizes = container.data(tensor.buffer), struct.calcsize(code), value.shape.numbers
    if len(data) != prod(sizes) * item:
        return None
    least = Shape(least_sizes(data, sizes, item))
    one = bool(data) and set(least.dims) <= {1}
    view.repeated[value] = Repeats(least, struct.unpack(f"<{code}", data[:item])[0] if one else None)
    return view.repeated[value]


def _content(container: Container, view: SubgraphView, value: Value) -> Shape | None:
    """Return the shape that an integer vector contains; None if it is not known, or if an element is negative.

    Inference does not know the constants of edits, so they are read here.
    """
    tensor = view.tensors.get(value)
    sizes: Sequence[Size] | None = view.facts.contents.get(tensor) if tensor is not None else None
    if sizes is None and tensor is not None and value.kind == "constant" and value.dtype in ("int32", "int64"):
        elements = literal(container, view, value) if value.shape.ranked and value.shape.rank == 1 else None
        sizes = tuple(map(int, elements)) if elements is not None else None
    if sizes is None or any(isinstance(size, int) and size < 0 for size in sizes):
        return None
    return Shape(tuple(sizes))
