"""A payload that was left out when its file was read is the one that the tensor holds, whatever field it lies in."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from graphfix.checker.files.onnx import file, skeleton
from graphfix.checker.files.onnx.file import Source
from graphfix.results import GraphfixError

COUNT = 2000
"""Enough that a payload of one byte an element is left out."""
NUMBERS = {
    TensorProto.FLOAT: np.linspace(-4, 4, COUNT, dtype=np.float32),
    TensorProto.DOUBLE: np.linspace(-4, 4, COUNT),
    TensorProto.INT32: np.arange(COUNT) - 1000,
    TensorProto.INT64: (np.arange(COUNT) - 1000) << 33,
    TensorProto.INT8: np.arange(COUNT) % 256 - 128,
    TensorProto.UINT64: np.arange(COUNT) << 40,
    TensorProto.BOOL: np.arange(COUNT) % 3 == 0,
    TensorProto.FLOAT16: np.linspace(-4, 4, COUNT, dtype=np.float16),
}
TYPED = [pytest.param(kind, id=TensorProto.DataType.Name(kind)) for kind in NUMBERS]


def bytes_of(path: Path, tensor: TensorProto) -> tuple[TensorProto, bytes | None]:
    """Save a tensor in a model; return it as it is read, and the payload that the proof reads."""
    graph = helper.make_graph([], "g", [], [], [tensor])
    path.write_bytes(helper.make_model(graph).SerializeToString())
    with ExitStack() as stack:
        source = Source(path, stack)
        (read,) = source.read(()).graph.initializer
        payload = source.payload(read)
        return read, None if payload is None else payload.read(0, payload.length)


def both(path: Path, tensor: TensorProto, patch: pytest.MonkeyPatch) -> tuple[bytes | None, bytes | None]:
    """Return the payload of a file that is read as it is, and of one whose payloads are left out."""
    kept, expected = bytes_of(path, tensor)
    assert kept == tensor
    patch.setattr(file, "_WHOLE", 0)
    left, found = bytes_of(path, tensor)
    assert left.ByteSize() < 100
    return expected, found


@pytest.mark.parametrize("kind", TYPED)
def test_numbers_of_each_field_are_the_same_where_they_are_left_out(
    kind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor = helper.make_tensor("t", kind, [2, COUNT // 2], NUMBERS[kind])
    expected, found = both(tmp_path / "m.onnx", tensor, monkeypatch)
    assert found == expected == NUMBERS[kind].astype(helper.tensor_dtype_to_np_dtype(kind)).tobytes()


def test_texts_are_the_same_where_they_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = TensorProto(name="t", data_type=TensorProto.STRING, dims=[1], string_data=[b"a" * COUNT])
    expected, found = both(tmp_path / "m.onnx", tensor, monkeypatch)
    assert found == expected == repr([b"a" * COUNT]).encode()


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [(TensorProto.INT8, [300] * COUNT), (TensorProto.INT4, [7] * COUNT)],
    ids=["numbers too large", "half bytes"],
)
def test_elements_that_are_not_read_are_told_apart_from_others_and_from_a_payload(
    kind: int, numbers: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "_WHOLE", 0)
    dims = [COUNT] if kind == TensorProto.INT8 else [2 * COUNT]
    one, two = (
        bytes_of(tmp_path / "m.onnx", TensorProto(name="t", data_type=kind, dims=dims, int32_data=each))[1]
        for each in (numbers, [numbers[0] - 1, *numbers[1:]])
    )
    assert one is not None
    assert two is not None
    assert one != two
    assert one.startswith(b"typed")
    assert len(one) in (5 + COUNT, 5 + 2 * COUNT)


def test_a_file_is_read_without_its_payloads_unless_it_is_small_enough(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [COUNT], NUMBERS[TensorProto.FLOAT])
    model = helper.make_model(helper.make_graph([], "g", [], [], [tensor]))
    path.write_bytes(model.SerializeToString())
    size = path.stat().st_size
    assert [len(skeleton.read(path, full_below=most).graph.initializer[0].float_data) for most in (size - 1, size)] == [
        0,
        COUNT,
    ]
    for message in (skeleton.read(path), skeleton.parsed(path, skeleton.message(path))):
        assert not message.graph.initializer[0].float_data


@pytest.mark.parametrize(("wire", "size"), [(1, 8), (5, 4)], ids=["8 bytes", "4 bytes"])
def test_a_field_of_fixed_width_is_passed_over(wire: int, size: int, tmp_path: Path) -> None:
    """Field 999 is none of onnx's: readers keep or drop it, and go on behind it."""
    path = tmp_path / "m.onnx"
    model = helper.make_model(helper.make_graph([], "g", [], []), producer_name="behind")
    field = skeleton.varint_bytes(999 << 3 | wire) + b"\xff" * size
    path.write_bytes(field + model.SerializeToString())
    read = ModelProto()
    read.ParseFromString(skeleton.message(path))
    assert read.producer_name == "behind"


def test_a_file_of_one_byte_is_walked_through_and_cut_short(tmp_path: Path) -> None:
    """Nothing is read as it is unless it is asked for."""
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x08")
    for reads in (skeleton.read, skeleton.message):
        with pytest.raises(GraphfixError) as raised:
            reads(path)
        assert "damaged" not in str(raised.value)


def stored(folder: Path, location: str, data: bytes, **more: str) -> bytes:
    """Return how a tensor is stored whose elements lie in a file of this name."""
    (folder / location).write_bytes(data)
    tensor = TensorProto(name=location, doc_string=location, data_type=1, dims=[1], data_location=TensorProto.EXTERNAL)
    for key, value in {**more, "location": location}.items():
        tensor.external_data.add(key=key, value=value)
    with ExitStack() as stack:
        return Source(folder / "m.onnx", stack).stored(tensor)


def test_what_is_stored_in_a_file_is_told_by_the_bytes_of_the_whole_file(tmp_path: Path) -> None:
    one = stored(tmp_path, "one", bytes(8), length="4")
    assert one == stored(tmp_path, "two", bytes(8), length="4")
    assert one != stored(tmp_path, "other", bytes(7) + b"!", length="4")
    assert one != stored(tmp_path, "longer", bytes(9), length="4")
    assert one != stored(tmp_path, "three", bytes(8), length="8")
    assert b"one" not in one


def test_a_location_that_not_every_runtime_accepts_is_told_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    odd = stored(tmp_path, "folder/../one", bytes(4))
    assert odd != stored(tmp_path, "folder/../two", bytes(4))
    assert b"folder/../one" in odd


def test_what_is_stored_in_the_model_is_told_without_its_name(tmp_path: Path) -> None:
    one, two, other = (
        TensorProto(name=name, doc_string=name, data_type=1, dims=[1], raw_data=data)
        for name, data in (("one", bytes(4)), ("two", bytes(4)), ("one", b"abcd"))
    )
    with ExitStack() as stack:
        source = Source(tmp_path / "m.onnx", stack)
        assert source.stored(one) == source.stored(two) != source.stored(other)
    assert (one.name, one.doc_string) == ("one", "one")


@pytest.mark.parametrize("whole", [0, 1 << 25], ids=["left out", "read"])
@pytest.mark.parametrize(("count", "fits"), [(COUNT, True), (COUNT - 1, False), (COUNT + 1, False)])
def test_raw_data_has_to_fit_the_shape(
    count: int, fits: bool, whole: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "_WHOLE", whole)
    path = tmp_path / "m.onnx"
    tensor = TensorProto(name="t", data_type=1, dims=[count], raw_data=bytes(4 * COUNT))
    path.write_bytes(helper.make_model(helper.make_graph([], "g", [], [], [tensor])).SerializeToString())
    with ExitStack() as stack:
        source = Source(path, stack)
        (read,) = source.read(()).graph.initializer
        assert (source.fault(read) is None) == fits


def test_the_words_that_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(helper.make_model(helper.make_graph([], "graph", [], [])).SerializeToString())
    with ExitStack() as stack:
        source = Source(path, stack)
        source.read([b"graph", b"Loop"])
        assert source.words == {b"graph"}


def test_external_data_has_to_be_as_long_as_the_elements(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(16))
    for length, fits in (("8", True), ("4", False), ("12", False)):
        tensor = TensorProto(name="t", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": "data", "offset": "4", "length": length}.items():
            tensor.external_data.add(key=key, value=value)
        with ExitStack() as stack:
            found = Source(tmp_path / "m.onnx", stack).fault(tensor)
        assert found == (None if fits else "has more or fewer bytes in its file than its type and shape ask for")
