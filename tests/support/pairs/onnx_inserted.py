"""Nodes inserted between a value and its reader that change nothing, or are out of their contract."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

from tests.support.pairs.onnx_parts import Edit, constants, graphs, kind, readers, tensor_of, version_of

Type = tuple[int, tuple[int | None, ...] | None]
"""Element type (0 unknown) and sizes."""
Form = tuple[list[NodeProto], list[TensorProto]]
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


class _Maker:
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
    m, (element, sizes) = _Maker(source, result, version), type_
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


def _sized_forms(m: _Maker, sizes: list[int]) -> Iterator[Form]:
    rank, source, middle = len(sizes), m.source, f"{m.result}_m"
    for target in _targets(sizes):
        for dtype in ("int64", "int32") if target is sizes else ("int64",):
            yield m.one(m.node("Reshape", [source, m.constant(target, dtype)]))
    yield m.one(m.node("Reshape", [source, m.constant(sizes)], allowzero=1))
    yield m.one(m.node("Reshape", [source, m.constant([-1])], middle), m.node("Reshape", [middle, m.constant(sizes)]))
    for target in (sizes, [1] * rank, [1], [], [1, *sizes], [2, *sizes], [-1] * rank, [0] * rank):
        yield m.one(m.node("Expand", [source, m.constant(target)]))
        yield m.one(m.node("Expand", [source, m.constant(target)], middle), m.node("Reshape", [middle, m.constant(sizes)]))
    for repeats in ([1] * rank, [1] * (rank + 1), [1] * max(rank - 1, 0), [2] * rank, [0] * rank):
        yield m.one(m.node("Tile", [source, m.constant(repeats)]))
    for perm in ([*range(rank)], [*range(rank)][::-1], [0] * rank, [it - rank for it in range(rank)], [0]):
        yield m.one(m.node("Transpose", [source], perm=perm))
    for starts, ends in (([0] * rank, sizes), ([0], [2**63 - 1]), ([0], [-1]), ([1], [9]), ([0, 0], [9, 9]), (0, 9)):
        axes = np.arange(np.size(starts)).tolist() if np.ndim(starts) else 0
        for given in (axes, [0] * np.size(starts)):
            if m.version > 9:
                read = [m.constant(starts), m.constant(ends), m.constant(given)]
                yield m.one(m.node("Slice", [source, *read]))
                yield m.one(m.node("Slice", [source, read[0], m.constant(ends, "int64"), m.constant(given, "int32")]))
    for pads in ([0] * 2 * rank, [0] * rank, [1] + [0] * (2 * rank - 1)):
        yield m.one(m.node("Pad", [source, m.constant(pads)]) if m.version > 10 else m.node("Pad", [source], pads=pads))
    if rank:
        every = m.constant(np.arange(sizes[0]))
        yield m.one(m.node("Gather", [source, every], axis=0))
        split = m.constant([sizes[0]])
        yield m.one(m.node("Split", [source, split], axis=0) if m.version > 12 else m.node("Split", [source], split=sizes[:1]))
        for op in ("ReduceSum", "ReduceMax", "ReduceMean"):
            for axis in range(-1, rank):
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
                m = _Maker(name, "through", version_of(model))
                shape = m.node("Shape", [other], "its_shape")
                yield _stretch(place, operand, m.one(shape, m.node("Expand", [name, "its_shape"])))
                if sizes is not None and None not in sizes:
                    yield _stretch(place, operand, m.one(m.node("Expand", [name, m.constant(sizes)])))
                if sizes:
                    yield _stretch(place, operand, m.one(m.node("Expand", [name, m.constant([1] * len(sizes))])))


def _stretch(place: int, operand: int, form: Form) -> Edit:
    return lambda m: _through(m, 0, place, operand, form)


@kind("constant: computed by nodes", then=True)
def _computed(model: ModelProto, choose: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for name, array in constants(graph).items():
            if array.size <= 64 and array.dtype != object:
                for form in _ways(array, name, version_of(model)):
                    yield lambda m, at=at, name=name, form=form: _compute(m, at, name, form)
    del choose


def _compute(model: ModelProto, at: int, name: str, form: Form) -> None:
    listed = graphs(model)[at].initializer
    for place, tensor in enumerate(listed):
        if tensor.name == name:
            listed.pop(place)
            break
    insert(model, at, form, 0)


def _ways(array: np.ndarray, name: str, version: int) -> Iterator[Form]:
    """Nodes that compute a constant, or would if they were in contract."""
    m, dtype = _Maker("", name, version), str(array.dtype)
    element = helper.np_dtype_to_tensor_dtype(array.dtype)
    whole = m.constant(array, dtype)
    yield m.one(m.node("Identity", [whole]))
    for other in ("float32", "float64", "int32", "int64", "uint8", "bool"):
        if array.dtype.kind in "fiub":
            yield m.one(m.node("Cast", [m.constant(np.nan_to_num(array).astype(other), other)], to=element))
    if array.dtype.kind in "fiu" and array.dtype.itemsize < 16:
        yield from _arithmetic(m, array, dtype)
        yield from _filled(m, array, dtype, element)
    for shape in (array.shape, (-1,), (1, *array.shape)):
        yield m.one(m.node("Reshape", [m.constant(array.reshape(-1), dtype), m.constant(shape)]))
    yield m.one(m.node("Transpose", [m.constant(array.T, dtype)]))
    yield m.one(m.axes("Squeeze", m.constant(array[None], dtype), [0]))
    if array.ndim:
        yield m.one(m.axes("Unsqueeze", m.constant(array[0], dtype), [0]))
        yield m.one(m.node("Concat", [m.constant(array[:1], dtype), m.constant(array[1:], dtype)], axis=0))
        yield m.one(m.node("Gather", [m.constant(np.flip(array, 0), dtype), m.constant(np.arange(len(array))[::-1])], axis=0))
        longer = np.concatenate([array, array[:1]])
        yield from _cut(m, array, longer, dtype)
        first = "Split"
        if version >= OLD_AXES:
            yield m.one(helper.make_node(first, [m.constant(longer, dtype), m.constant([len(array), 1])], [name, "rest"], axis=0))
    if array.ndim == 1 and array.dtype == np.int64:
        yield from _of_sizes(m, array)


def _arithmetic(m: _Maker, array: np.ndarray, dtype: str) -> Iterator[Form]:
    one = np.ones((), dtype)
    with np.errstate(all="ignore"):
        yield m.one(m.node("Add", [m.constant(array - one, dtype), m.constant(one, dtype)]))
        yield m.one(m.node("Sub", [m.constant(array + one, dtype), m.constant(one, dtype)]))
        yield m.one(m.node("Mul", [m.constant(array, dtype), m.constant(one, dtype)]))
        yield m.one(m.node("Div", [m.constant(array, dtype), m.constant(one, dtype)]))
        for op in ("Max", "Min"):
            yield m.one(m.node(op, [m.constant(array, dtype), m.constant(array, dtype)]))
        if dtype[0] != "u":
            yield m.one(m.node("Neg", [m.constant(-array, dtype)]))
    where = [m.constant(np.ones(array.shape), "bool"), m.constant(array, dtype), m.constant(array * 0, dtype)]
    yield m.one(m.node("Where", where))
    if array.ndim:
        yield m.one(m.axes("ReduceSum", m.constant(array[None], dtype), [0], "summed"), m.axes("Squeeze", "summed", [0]))


def _filled(m: _Maker, array: np.ndarray, dtype: str, element: int) -> Iterator[Form]:
    if array.size and (array == array.flat[0]).all():
        value = numpy_helper.from_array(array.reshape(-1)[:1])
        yield m.one(m.node("ConstantOfShape", [m.constant(array.shape)], value=value))
        yield m.one(m.node("Expand", [m.constant(array.flat[0], dtype), m.constant(array.shape)]))
        yield m.one(m.node("Tile", [m.constant(array.reshape(-1)[:1].reshape([1] * array.ndim), dtype), m.constant(array.shape)]))
    if array.ndim == 1 and len(array) > 1 and (np.diff(array) == array[1] - array[0]).all() and array[1] != array[0]:
        step = array[1] - array[0]
        yield m.one(m.node("Range", [m.constant(it, dtype) for it in (array[0], array[-1] + step, step)]))
        yield m.one(m.node("Range", [m.constant([it], dtype) for it in (array[0], array[-1] + step, step)]))
    del element


def _cut(m: _Maker, array: np.ndarray, longer: np.ndarray, dtype: str) -> Iterator[Form]:
    if m.version < 10:
        yield m.one(m.node("Slice", [m.constant(longer, dtype)], starts=[0], ends=[len(array)]))
        return
    for starts, ends, axes in (([0], [-1], [0]), ([0], [-1], [-array.ndim]), ([0, 0], [-1, -1], [0, 0]), (0, -1, 0)):
        for kinds in (("int64",) * 3, ("int32",) * 3, ("int64", "int32", "int64")):
            read = [m.constant(it, dt) for it, dt in zip((starts, ends, axes), kinds, strict=True)]
            yield m.one(m.node("Slice", [m.constant(longer, dtype), *read]))


def _of_sizes(m: _Maker, array: np.ndarray) -> Iterator[Form]:
    if (array >= 0).all() and array.prod() < 1000:
        made = m.node("ConstantOfShape", [m.constant(array)], "filled")
        yield m.one(made, m.node("Shape", ["filled"]))
        yield m.one(m.node("ConstantOfShape", [m.constant([*array, 3])], "filled"), m.node("Shape", ["filled"], start=0, end=-1))
    yield m.one(m.node("NonZero", [m.constant([1] * len(array))], "found"), m.node("Gather", [m.constant(array), "found"]))
