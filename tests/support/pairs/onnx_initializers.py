"""Changes of a file's constants: their fields, their bytes, where they are stored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from onnx import ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper

from tests.support.pairs.onnx_parts import Edit, constants, graphs, kind, names

Entry = tuple[int, int, TensorProto]
WEIGHTS = "weights.bin"
"""A file of known bytes in the folder of the pairs."""


def write_weights(folder: Path) -> None:
    """Write what external constants read: 4,096 bytes."""
    (folder / WEIGHTS).write_bytes(np.arange(1024, dtype=np.float32).tobytes())


def _tensors(model: ModelProto) -> Iterator[Entry]:
    for at, graph in enumerate(graphs(model)):
        for place, tensor in enumerate(graph.initializer):
            yield at, place, tensor


def _put(at: int, place: int, made: TensorProto) -> Edit:
    return lambda m: graphs(m)[at].initializer[place].CopyFrom(made)


def _copy(tensor: TensorProto) -> TensorProto:
    return TensorProto.FromString(tensor.SerializeToString())


def _array(tensor: TensorProto) -> np.ndarray | None:
    try:
        return numpy_helper.to_array(tensor)
    except Exception:  # noqa: BLE001 -- no array
        return None


@kind("constant: values")
def _values(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        array = _array(tensor)
        if array is None or not array.size:
            continue
        data = bytearray(tensor.raw_data)
        for bit in {0, 7, 31, len(data) * 8 - 1} if data else ():
            if bit < len(data) * 8:
                made, changed = _copy(tensor), bytearray(data)
                changed[bit // 8] ^= 1 << bit % 8
                made.raw_data = bytes(changed)
                yield _put(at, place, made)
        for other in (array * 0, np.flip(array), array[..., :1].repeat(array.shape[-1], -1) if array.ndim else array):
            if array.dtype != object:
                yield _put(at, place, numpy_helper.from_array(np.ascontiguousarray(other, array.dtype), tensor.name))


@kind("constant: dims")
def _dims(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        dims = list(tensor.dims)
        count = int(np.prod(dims))
        for made_dims in ([count], [1, *dims], [*dims, 1], dims[::-1], dims[:-1], [-1], [-1, -count], [0], [*dims, 0], [], [2**40]):
            if made_dims != dims:
                made = _copy(tensor)
                made.ClearField("dims")
                made.dims.extend(made_dims)
                yield _put(at, place, made)


@kind("constant: element type")
def _element(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        for element in (0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 16, 17, 21, 22, 99):
            if element != tensor.data_type:
                made = _copy(tensor)
                made.data_type = element
                yield _put(at, place, made)
        array = _array(tensor)
        for dtype in ("float32", "float64", "int32", "int64", "uint8", "bool") if array is not None else ():
            if array.dtype.kind in "fiub" and array.dtype != dtype:
                yield _put(at, place, numpy_helper.from_array(array.astype(dtype), tensor.name))


_FIELDS = {1: "float_data", 2: "int32_data", 3: "int32_data", 6: "int32_data", 7: "int64_data", 9: "int32_data",
           11: "double_data", 12: "uint64_data", 13: "uint64_data", 5: "int32_data", 4: "int32_data"}  # fmt: skip


@kind("constant: typed, raw, or both")
def _typed(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        array, field = _array(tensor), _FIELDS.get(tensor.data_type)
        if array is None or field is None or not tensor.HasField("raw_data"):
            continue
        values = (array.astype(np.int32) if field == "int32_data" else array).reshape(-1).tolist()
        wrong = [value + 256 for value in values] if field == "int32_data" else values + values[:1]
        for keep_raw in (False, True):
            for chosen in (values, wrong, values[:-1], []):
                made = _copy(tensor)
                if not keep_raw:
                    made.ClearField("raw_data")
                getattr(made, field).extend(chosen)
                yield _put(at, place, made)
        for other in ("float_data", "int64_data", "string_data"):
            made = _copy(tensor)
            getattr(made, other).append(b"1" if other == "string_data" else 1)
            yield _put(at, place, made)


@kind("constant: bytes more or fewer")
def _bytes(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        for made_data in (tensor.raw_data[:-1], tensor.raw_data + b"\0", tensor.raw_data * 2, b""):
            made = _copy(tensor)
            made.raw_data = made_data
            yield _put(at, place, made)


@kind("constant: other fields")
def _other(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        for change in (
            lambda t: t.segment.SetInParent(), lambda t: setattr(t.segment, "end", 1),
            lambda t: setattr(t, "doc_string", "x"), lambda t: t.metadata_props.add(key="k", value="v"),
            lambda t: setattr(t, "data_location", 1), lambda t: t.external_data.add(key="location", value=WEIGHTS),
            lambda t: setattr(t, "name", ""), lambda t: setattr(t, "name", "other"),
        ):  # fmt: skip
            made = _copy(tensor)
            change(made)
            yield _put(at, place, made)


@kind("constant: in another file")
def _external(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    """The bytes of the tensor are not those of the file, unless it is made of them: a seed is."""
    locations = (WEIGHTS, f"./{WEIGHTS}", "missing.bin", f"../{WEIGHTS}", "/etc/hostname", "", f"x/../{WEIGHTS}", WEIGHTS + "\0")
    for at, place, tensor in _tensors(model):
        array = _array(tensor) if not tensor.external_data else None
        length = array.nbytes if array is not None else 16
        for location in locations:
            for extra in ({}, {"offset": "0"}, {"offset": "0", "length": str(length)}, {"length": "1"}, {"offset": "-1"},
                          {"offset": "4"}, {"offset": "99999"}, {"key": "value"}, {"checksum": "00"}, {"offset": "x"},
                          {"offset": "0x0"}, {"offset": " 0"}, {"length": ""}):  # fmt: skip
                made = TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, data_location=1)
                for key, value in {"location": location, **extra}.items():
                    made.external_data.add(key=key, value=value)
                yield _put(at, place, made)
                if extra and location == WEIGHTS:
                    twice = _copy(made)
                    twice.external_data.add(key="location", value=WEIGHTS)
                    yield _put(at, place, twice)


@kind("constant: moved to a node", then=True)
def _to_node(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        yield lambda m, at=at, place=place: _move(m, at, place, "value")
        array = _array(tensor)
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
    for at, place, tensor in _tensors(model):
        array = _array(tensor)
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
    for at, __, tensor in _tensors(model):
        for dims in (tensor.dims, None, [1], ["N"]):
            info = helper.make_tensor_value_info(tensor.name, tensor.data_type, dims)
            yield lambda m, at=at, info=info: graphs(m)[at].input.append(info)


@kind("constant: given twice, dropped, shared")
def _twice(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in _tensors(model):
        yield lambda m, at=at, place=place: graphs(m)[at].initializer.pop(place)
        yield lambda m, at=at, tensor=tensor: graphs(m)[at].initializer.append(tensor)
        other = numpy_helper.from_array(np.zeros(1, np.float32), tensor.name)
        yield lambda m, at=at, other=other: graphs(m)[at].initializer.append(other)
        yield lambda m, at=at, other=other: graphs(m)[at].initializer.insert(0, other)


@kind("constant: a dead one added")
def _dead(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    made = [numpy_helper.from_array(np.ones(2, np.float32), name) for name in ("dead", "", *names(model.graph))]
    made += [TensorProto(name="dead"), TensorProto(name="dead", data_type=1), TensorProto(name="dead", data_type=0, dims=[0])]
    made += [TensorProto(name="dead", data_type=element, dims=[2], raw_data=b"12345678") for element in (1, 2, 7, 8, 9, 17, 22, 99)]
    made += [TensorProto(name="dead", data_type=1, dims=dims, raw_data=b"1234") for dims in ([-1], [1], [2], [0], [])]
    made += [TensorProto(name="dead", data_type=8, dims=[1], raw_data=b"1234"), TensorProto(name="dead", data_type=7, dims=[1], float_data=[1])]
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
