"""Nodes inserted between a value and its reader that change nothing, or are out of their contract."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

from tests.support.pairs.onnx_parts import Edit, graphs, kind, readers, tensor_of, version_of

Type = tuple[int, tuple[int | None, ...] | None]
"""Element type (0 unknown) and sizes."""
Form = tuple[list[NodeProto], list[TensorProto]]
SLICE_OPERANDS, PAD_OPERANDS = 10, 11
OLD_AXES = 13
"""The operator set since which Squeeze, Unsqueeze and ReduceSum read their axes."""


def types(graph: GraphProto) -> dict[str, Type]:
    """What a graph declares of its values."""
    found: dict[str, Type] = {name: (0, None) for node in graph.node for name in node.output}
    for value in [*graph.value_info, *graph.output, *graph.input]:
        tensor = tensor_of(value)
        if tensor is not None:
            sizes = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)
            found[value.name] = (tensor.elem_type, sizes if tensor.HasField("shape") else None)
    for tensor in graph.initializer:
        found[tensor.name] = (tensor.data_type, tuple(tensor.dims))
    return found


class Maker:
    """Makes nodes with fresh names from one value to another."""

    def __init__(self, source: str, result: str, version: int) -> None:
        self.source, self.result, self.version = source, result, version
        self.constants: list[TensorProto] = []

    def constant(self, value: object, dtype: str = "int64") -> str:
        name = f"{self.result}_c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def node(self, op: str, operands: Sequence[str], result: str = "", **attributes: object) -> NodeProto:
        made = helper.make_node(op, operands, [result or self.result])
        for name, value in attributes.items():
            ints = AttributeProto.INTS if isinstance(value, list) else None
            made.attribute.append(helper.make_attribute(name, value, attr_type=ints))
        return made

    def axes(self, op: str, operand: str, axes: object, result: str = "") -> NodeProto:
        if self.version < OLD_AXES:
            return self.node(op, [operand], result, axes=np.ravel(axes).tolist())
        return self.node(op, [operand, self.constant(axes)], result)

    def one(self, *nodes: NodeProto) -> Form:
        made = [*nodes], self.constants
        self.constants = []
        return made


def forms(source: str, result: str, type_: Type, version: int) -> Iterator[Form]:
    """Nodes that give `result` what `source` is, if they are understood, or that are near to it."""
    m, (element, sizes) = Maker(source, result, version), type_
    middle = f"{result}_m"
    yield m.one(m.node("Identity", [source]))
    yield m.one(m.node("Dropout", [source]))
    yield m.one(m.node("Identity", [source], middle), m.node("Identity", [middle]))
    for to in {element, 1, 7, 10}:
        yield m.one(m.node("Cast", [source], to=to))
    yield m.one(m.node("CastLike", [source, source]))
    for axes in ([0], [0, 0], [-1], [0, 1], [9], [], 0, [[0]]):
        yield m.one(m.axes("Unsqueeze", source, axes, middle), m.axes("Squeeze", middle, axes))
        yield m.one(m.axes("Unsqueeze", source, axes))
        yield m.one(m.axes("Squeeze", source, axes))
    yield m.one(m.node("Shape", [source], middle), m.node("Reshape", [source, middle]))
    yield m.one(m.node("Shape", [source], middle), m.node("Expand", [source, middle]))
    yield m.one(m.node("Sum", [source]))
    yield m.one(m.node("Max", [source]))
    yield m.one(m.node("Transpose", [source], middle), m.node("Transpose", [middle]))
    yield m.one(m.node("Concat", [source], axis=0))
    yield m.one(m.node("Concat", [source], axis=-1))
    yield m.one(m.node("Split", [source], axis=0))
    for axis in (0, 1, -1):
        yield m.one(m.node("Flatten", [source], axis=axis))
    yield m.one(m.node("Reshape", [source, m.constant([0, -1])]))
    if sizes is not None and None not in sizes:
        yield from _sized_forms(m, [int(it or 0) for it in sizes])


def _sized_forms(m: Maker, sizes: list[int]) -> Iterator[Form]:
    yield from _reshaped(m, sizes)
    yield from _repeated(m, sizes)
    yield from _sliced(m, sizes)
    if sizes:
        yield from _along_an_axis(m, sizes)


def _reshaped(m: Maker, sizes: list[int]) -> Iterator[Form]:
    source, middle = m.source, f"{m.result}_m"
    for target in _targets(sizes):
        for dtype in ("int64", "int32") if target is sizes else ("int64",):
            yield m.one(m.node("Reshape", [source, m.constant(target, dtype)]))
    yield m.one(m.node("Reshape", [source, m.constant(sizes)], allowzero=1))
    yield m.one(m.node("Reshape", [source, m.constant([-1])], middle), m.node("Reshape", [middle, m.constant(sizes)]))


def _repeated(m: Maker, sizes: list[int]) -> Iterator[Form]:
    rank, source, middle = len(sizes), m.source, f"{m.result}_m"
    for target in (sizes, [1] * rank, [1], [], [1, *sizes], [2, *sizes], [-1] * rank, [0] * rank):
        expand = m.node("Expand", [source, m.constant(target)], middle)
        yield m.one(m.node("Expand", [source, m.constant(target)]))
        yield m.one(expand, m.node("Reshape", [middle, m.constant(sizes)]))
    for repeats in ([1] * rank, [1] * (rank + 1), [1] * max(rank - 1, 0), [2] * rank, [0] * rank):
        yield m.one(m.node("Tile", [source, m.constant(repeats)]))
    for perm in ([*range(rank)], [*range(rank)][::-1], [0] * rank, [it - rank for it in range(rank)], [0]):
        yield m.one(m.node("Transpose", [source], perm=perm))


def _sliced(m: Maker, sizes: list[int]) -> Iterator[Form]:
    rank, source = len(sizes), m.source
    for starts, ends in (([0] * rank, sizes), ([0], [2**63 - 1]), ([0], [-1]), ([1], [9]), ([0, 0], [9, 9]), (0, 9)):
        axes = np.arange(np.size(starts)).tolist() if np.ndim(starts) else 0
        for given in (axes, [0] * np.size(starts)) if m.version >= SLICE_OPERANDS else ():
            read = [m.constant(starts), m.constant(ends)]
            yield m.one(m.node("Slice", [source, *read, m.constant(given)]))
            read = [m.constant(starts), m.constant(ends)]
            yield m.one(m.node("Slice", [source, *read, m.constant(given, "int32")]))
    for pads in ([0] * 2 * rank, [0] * rank, [1] + [0] * (2 * rank - 1)):
        old = m.version < PAD_OPERANDS
        yield m.one(m.node("Pad", [source], pads=pads) if old else m.node("Pad", [source, m.constant(pads)]))


def _along_an_axis(m: Maker, sizes: list[int]) -> Iterator[Form]:
    source = m.source
    yield m.one(m.node("Gather", [source, m.constant(np.arange(sizes[0]))], axis=0))
    old = m.version < OLD_AXES
    split = m.node("Split", [source], split=sizes[:1]) if old else m.node("Split", [source, m.constant(sizes[:1])])
    yield m.one(split)
    for op in ("ReduceSum", "ReduceMax", "ReduceMean"):
        for axis in range(-1, len(sizes)):
            yield m.one(m.axes(op, source, [axis]))
            yield m.one(m.node(op, [source], keepdims=1))


def _targets(sizes: list[int]) -> Iterator[list[int]]:
    rank = len(sizes)
    yield sizes
    yield from ([0] * rank, [-1], [-1] * rank, [-2] * rank, [1, *sizes], [*sizes, 1], [0] * (rank + 1), sizes[::-1])
    for at in range(rank):
        yield [*sizes[:at], -1, *sizes[at + 1 :]]
        yield [*sizes[:at], 0, *sizes[at + 1 :]]
        yield [*sizes[:at], *sizes[at + 1 :]]
        yield [*sizes[:at], -1, *[0] * (rank - at - 1)]


def insert(model: ModelProto, at: int, form: Form, place: int) -> None:
    """Put the nodes of a form into a graph, before a node, and its constants among the initializers."""
    graph = graphs(model)[at]
    for node in form[0][::-1]:
        graph.node.insert(place, node)
    graph.initializer.extend(form[1])


@kind("operand through a node", then=True)
def _operand(model: ModelProto, choose: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        known = types(graph)
        for place, operand, name in readers(graph):
            for form in forms(name, "through", known.get(name, (0, None)), version_of(model)):
                yield lambda m, at=at, place=place, operand=operand, form=form: _through(m, at, place, operand, form)
    del choose


def _through(model: ModelProto, at: int, place: int, operand: int, form: Form) -> None:
    graphs(model)[at].node[place].input[operand] = "through"
    insert(model, at, form, place)


@kind("result through a node", then=True)
def _result(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        known = types(graph) | _inferred(model, at)
        for place, node in enumerate(graph.node):
            for number, name in enumerate(node.output):
                if name:
                    for form in forms("inner", name, known.get(name, (0, None)), version_of(model)):
                        yield lambda m, at=at, place=place, number=number, form=form: _inner(m, at, place, number, form)


def _inner(model: ModelProto, at: int, place: int, number: int, form: Form) -> None:
    graphs(model)[at].node[place].output[number] = "inner"
    insert(model, at, form, place + 1)


def _inferred(model: ModelProto, at: int) -> dict[str, Type]:
    """What onnx's inference says, right or wrong: a target that is written down may be told by it."""
    bare = ModelProto.FromString(model.SerializeToString())
    for value in bare.graph.output:
        if tensor_of(value) is not None:
            value.type.tensor_type.ClearField("shape")
    try:
        made = infer_shapes(bare, data_prop=True)
    except Exception:  # noqa: BLE001 -- it infers nothing then
        return {}
    return types(made.graph) if at == 0 else {}


@kind("constant operand: stretched to what it meets", then=True)
def _meets(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    """An operand of a broadcast is expanded to the sizes that the other one is told to have."""
    graph = model.graph
    known = types(graph) | _inferred(model, 0)
    for place, node in enumerate(graph.node):
        for operand, name in enumerate(node.input[:2]):
            other = node.input[1 - operand] if len(node.input) > 1 else ""
            sizes = known.get(other, (0, None))[1]
            if other and name:
                m = Maker(name, "through", version_of(model))
                shape = m.node("Shape", [other], "its_shape")
                yield _stretch(place, operand, m.one(shape, m.node("Expand", [name, "its_shape"])))
                if sizes is not None and None not in sizes:
                    yield _stretch(place, operand, m.one(m.node("Expand", [name, m.constant(sizes)])))
                if sizes:
                    yield _stretch(place, operand, m.one(m.node("Expand", [name, m.constant([1] * len(sizes))])))


def _stretch(place: int, operand: int, form: Form) -> Edit:
    return lambda m: _through(m, 0, place, operand, form)
