"""Changes of where a file's constants stand: nodes, sparse tensors, inputs, unread ones, other sizes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper

from tests.support.pairs.onnx_initializers import array_of, tensors
from tests.support.pairs.onnx_parts import Edit, constants, graphs, kind, names


@kind("constant: moved to a node", then=True)
def _to_node(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
        yield lambda m, at=at, place=place: _move(m, at, place, "value")
        array = array_of(tensor)
        if array is not None and array.ndim < 2:
            plural = "s" if array.ndim else ""
            stem = {"f": "float", "i": "int", "O": "string"}.get(array.dtype.kind)
            if stem:
                yield lambda m, at=at, place=place, name=f"value_{stem}{plural}": _move(m, at, place, name)


def _move(model: ModelProto, at: int, place: int, name: str) -> None:
    graph = graphs(model)[at]
    tensor = graph.initializer.pop(place)
    node = helper.make_node("Constant", [], [tensor.name])
    attribute = node.attribute.add(name=name)
    if name == "value":
        attribute.CopyFrom(helper.make_attribute(name, tensor))
    else:
        value = numpy_helper.to_array(tensor).tolist()
        kind_ = getattr(type(attribute), name.split("_")[1].upper())
        attribute.CopyFrom(helper.make_attribute(name, value, attr_type=kind_))
    graph.node.insert(0, node)


@kind("constant: a node's moved to the initializers")
def _from_node(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for place, node in enumerate(graph.node):
            if node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].HasField("t"):
                yield lambda m, at=at, place=place: _from(graphs(m)[at], place)


def _from(graph: object, place: int) -> None:
    node = graph.node.pop(place)  # type: ignore[attr-defined]
    graph.initializer.add().CopyFrom(node.attribute[0].t)  # type: ignore[attr-defined]
    graph.initializer[-1].name = node.output[0]  # type: ignore[attr-defined]


@kind("constant: sparse")
def _sparse(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
        array = array_of(tensor)
        if array is None or array.dtype.kind not in "fi" or not array.ndim or not array.size:
            continue
        flat = np.flatnonzero(array)
        for indices in (flat, flat[::-1], flat + 1, flat[:-1], np.argwhere(array), -flat, np.append(flat, flat)):
            for dims in (array.shape, array.shape[:-1], (*array.shape, 2)):
                made = SparseTensorProto(dims=dims)
                made.values.CopyFrom(numpy_helper.from_array(array.reshape(-1)[flat], tensor.name))
                made.indices.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(indices, np.int64)))
                yield lambda m, at=at, place=place, made=made: _make_sparse(m, at, place, made)


def _make_sparse(model: ModelProto, at: int, place: int, made: SparseTensorProto) -> None:
    graphs(model)[at].initializer.pop(place)
    graphs(model)[at].sparse_initializer.append(made)


@kind("constant: also an input")
def _input(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, __, tensor in tensors(model):
        for dims in (tensor.dims, None, [1], ["N"]):
            info = helper.make_tensor_value_info(tensor.name, tensor.data_type, dims)
            yield lambda m, at=at, info=info: graphs(m)[at].input.append(info)


@kind("constant: given twice, dropped, shared")
def _twice(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
        yield lambda m, at=at, place=place: graphs(m)[at].initializer.pop(place)
        yield lambda m, at=at, tensor=tensor: graphs(m)[at].initializer.append(tensor)
        other = numpy_helper.from_array(np.zeros(1, np.float32), tensor.name)
        yield lambda m, at=at, other=other: graphs(m)[at].initializer.append(other)
        yield lambda m, at=at, other=other: graphs(m)[at].initializer.insert(0, other)


@kind("constant: a dead one added")
def _dead(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    made = [numpy_helper.from_array(np.ones(2, np.float32), name) for name in ("dead", "", *names(model.graph))]
    made += [
        TensorProto(name="dead"),
        TensorProto(name="dead", data_type=1),
        TensorProto(name="dead", data_type=0, dims=[0]),
    ]
    made += [
        TensorProto(name="dead", data_type=element, dims=[2], raw_data=b"12345678")
        for element in (1, 2, 7, 8, 9, 17, 22, 99)
    ]
    made += [TensorProto(name="dead", data_type=1, dims=dims, raw_data=b"1234") for dims in ([-1], [1], [2], [0], [])]
    made += [
        TensorProto(name="dead", data_type=8, dims=[1], raw_data=b"1234"),
        TensorProto(name="dead", data_type=7, dims=[1], float_data=[1]),
    ]
    outside = TensorProto(name="dead", data_type=1, dims=[1], data_location=1)
    outside.external_data.add(key="location", value="../outside.bin")
    for at, graph in enumerate(graphs(model)):
        for tensor in (*made, outside):
            yield lambda m, at=at, tensor=tensor: graphs(m)[at].initializer.append(tensor)
        for indices in ([0], [5], [-1], [0, 0]):
            sparse = SparseTensorProto(dims=[3])
            sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), "dead"))
            sparse.indices.CopyFrom(numpy_helper.from_array(np.array(indices, np.int64)))
            yield lambda m, at=at, sparse=sparse: graphs(m)[at].sparse_initializer.append(sparse)
        del graph


@kind("constant: stretched, or without an axis that repeats")
def _stretched(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for name, array in constants(graph).items():
            shapes = [np.expand_dims(array, 0), np.stack([array, array]), np.squeeze(array), array.reshape(-1)]
            shapes += [array[:1], array.repeat(2, -1)] if array.ndim else []
            for made in shapes:
                if made.shape != array.shape and made.dtype != object:
                    tensor = numpy_helper.from_array(np.ascontiguousarray(made), name)
                    yield lambda m, at=at, name=name, tensor=tensor: _replace(m, at, name, tensor)


def _replace(model: ModelProto, at: int, name: str, tensor: TensorProto) -> None:
    for it in graphs(model)[at].initializer:
        if it.name == name:
            it.CopyFrom(tensor)
