"""Changes of a file's constants: their fields, their bytes, where they are stored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from tests.support.pairs.onnx_parts import Edit, graphs, kind

Entry = tuple[int, int, TensorProto]
WEIGHTS = "weights.bin"
"""A file of known bytes in the folder of the pairs."""


KEYS: tuple[dict[str, str], ...] = (
    {}, {"offset": "0"}, {"length": "1"}, {"offset": "-1"}, {"offset": "4"}, {"offset": "99999"}, {"key": "value"},
    {"checksum": "00"}, {"offset": "x"}, {"offset": "0x0"}, {"offset": " 0"}, {"length": ""},
)  # fmt: skip
"""What stands beside the location of external data."""


def write_weights(folder: Path) -> None:
    """Write what external constants read: 4,096 bytes."""
    (folder / WEIGHTS).write_bytes(np.arange(1024, dtype=np.float32).tobytes())


def tensors(model: ModelProto) -> Iterator[Entry]:
    """(graph, place, tensor) of each initializer."""
    for at, graph in enumerate(graphs(model)):
        for place, tensor in enumerate(graph.initializer):
            yield at, place, tensor


def _put(at: int, place: int, made: TensorProto) -> Edit:
    return lambda m: graphs(m)[at].initializer[place].CopyFrom(made)


def _copy(tensor: TensorProto) -> TensorProto:
    return TensorProto.FromString(tensor.SerializeToString())


def array_of(tensor: TensorProto) -> np.ndarray | None:
    """The values of a tensor; None where it is not whole."""
    try:
        return numpy_helper.to_array(tensor)
    except Exception:  # noqa: BLE001 -- no array
        return None


@kind("constant: values")
def _values(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
        array = array_of(tensor)
        if array is None or not array.size:
            continue
        data = bytearray(tensor.raw_data)
        for bit in {0, 7, 31, len(data) * 8 - 1} if data else ():
            if bit < len(data) * 8:
                made, changed = _copy(tensor), bytearray(data)
                changed[bit // 8] ^= 1 << bit % 8
                made.raw_data = bytes(changed)
                yield _put(at, place, made)
        stretched = array[..., :1].repeat(array.shape[-1], -1) if array.ndim else array
        for other in (np.zeros_like(array), np.flip(array), stretched):
            if array.dtype != object:
                yield _put(at, place, numpy_helper.from_array(np.ascontiguousarray(other, array.dtype), tensor.name))


@kind("constant: dims")
def _dims(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
        dims = list(tensor.dims)
        count = int(np.prod(dims))
        for made_dims in (
            [count],
            [1, *dims],
            [*dims, 1],
            dims[::-1],
            dims[:-1],
            [-1],
            [-1, -count],
            [0],
            [*dims, 0],
            [],
            [2**40],
        ):
            if made_dims != dims:
                made = _copy(tensor)
                made.ClearField("dims")
                made.dims.extend(made_dims)
                yield _put(at, place, made)


@kind("constant: element type")
def _element(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
        for element in (0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 16, 17, 21, 22, 99):
            if element != tensor.data_type:
                made = _copy(tensor)
                made.data_type = element
                yield _put(at, place, made)
        array = array_of(tensor)
        for dtype in ("float32", "float64", "int32", "int64", "uint8", "bool") if array is not None else ():
            if array.dtype.kind in "fiub" and array.dtype != dtype:
                with np.errstate(invalid="ignore"):
                    cast = array.astype(dtype)
                yield _put(at, place, numpy_helper.from_array(cast, tensor.name))


_FIELDS = {1: "float_data", 2: "int32_data", 3: "int32_data", 6: "int32_data", 7: "int64_data", 9: "int32_data",
           11: "double_data", 12: "uint64_data", 13: "uint64_data", 5: "int32_data", 4: "int32_data"}  # fmt: skip


@kind("constant: typed, raw, or both")
def _typed(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
        array, field = array_of(tensor), _FIELDS.get(tensor.data_type)
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
    for at, place, tensor in tensors(model):
        for made_data in (tensor.raw_data[:-1], tensor.raw_data + b"\0", tensor.raw_data * 2, b""):
            made = _copy(tensor)
            made.raw_data = made_data
            yield _put(at, place, made)


@kind("constant: other fields")
def _other(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, tensor in tensors(model):
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
    locations = (
        WEIGHTS,
        f"./{WEIGHTS}",
        "missing.bin",
        f"../{WEIGHTS}",
        "/etc/hostname",
        "",
        f"x/../{WEIGHTS}",
        WEIGHTS + "\0",
    )
    for at, place, tensor in tensors(model):
        array = array_of(tensor) if not tensor.external_data else None
        length = array.nbytes if array is not None else 16
        for location in locations:
            for extra in ({"offset": "0", "length": str(length)}, *KEYS):
                made = TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, data_location=1)
                for key, value in {"location": location, **extra}.items():
                    made.external_data.add(key=key, value=value)
                yield _put(at, place, made)
                if extra and location == WEIGHTS:
                    twice = _copy(made)
                    twice.external_data.add(key="location", value=WEIGHTS)
                    yield _put(at, place, twice)
