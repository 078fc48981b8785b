"""Constants are compared where they lie: in pieces, all of their bytes, and none twice without need."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from onnx import TensorProto, helper

import graphfix
from graphfix.checker.files import constant_bytes
from graphfix.checker.files.constant_bytes import Opened, Payload, stored_bytes
from graphfix.checker.files.onnx import file, skeleton
from graphfix.checker.proof.neutral import constants
from graphfix.checker.proof.tflite import compare as tflite_compare
from graphfix.results import GraphfixError
from tests.support.proving import prove
from tests.support.written import Written

MODELS = Path(graphfix.__file__).parent.parent / "models"


@pytest.fixture(params=[1, 3, 8, 1 << 18])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Read this many bytes at a time."""
    for module in (constant_bytes, constants):
        monkeypatch.setattr(module, "PIECE", request.param)
    return int(request.param)


def opened(path: Path, data: bytes, stack: ExitStack) -> Opened:
    path.write_bytes(data)
    return Opened.at(path, stack)


@pytest.mark.usefixtures("piece")
def test_payloads_are_the_same_exactly_where_all_their_bytes_are(tmp_path: Path) -> None:
    data = bytes(range(20))
    with ExitStack() as stack:
        one, two = opened(tmp_path / "a", b"--" + data, stack), opened(tmp_path / "b", data + b"++", stack)
        ours, theirs = Payload(one, 2, 20), Payload(two, 0, 20)
        assert ours.same(theirs)
        assert ours.same(stored_bytes(data))
        assert stored_bytes(data).same(theirs)
        assert not ours.same(Payload(two, 0, 19))
        assert not ours.same(Payload(two, 1, 20))
        for at in range(20):
            other = bytes([*data[:at], data[at] ^ 128, *data[at + 1 :]])
            assert not ours.same(stored_bytes(other))
            assert not Payload(opened(tmp_path / f"c{at}", other, stack), 0, 20).same(theirs)


@pytest.mark.ci
@pytest.mark.parametrize("size", [1, 3, 8, 64, 1 << 18])
@given(data=st.data())
def test_an_axis_is_cut_exactly_where_nothing_changes_along_it(size: int, data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    values = data.draw(arrays.arrays(np.int16, shape, elements=st.integers(0, 1)))
    stretched = tuple(data.draw(st.sampled_from([1, 1, 2, 3])) if side == 1 else 1 for side in shape)
    values = np.ascontiguousarray(np.tile(values, stretched))
    assume(values.size > 1)
    axis = data.draw(st.sampled_from([axis for axis, side in enumerate(values.shape) if side > 1]))
    first = values.take([0], axis)
    even = bool((values == first).all())
    with pytest.MonkeyPatch.context() as patch:
        for module in (constant_bytes, constants):
            patch.setattr(module, "PIECE", size)
        found = constants.first_index(stored_bytes(values.tobytes()), values.shape, axis, 2)
    assert (found is not None) == even
    assert found is None or found.read(0, found.length) == first.tobytes()


def test_a_file_that_changes_or_ends_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    with ExitStack() as stack:
        file = opened(tmp_path / "data", bytes(100), stack)
        file.check()
        os.truncate(file.path, 50)
        with pytest.raises(GraphfixError, match=r"data: ended while it was read"):
            Payload(file, 0, 100).same(stored_bytes(bytes(100)))
        with pytest.raises(GraphfixError, match=r"data: changed while it was read"):
            file.check()


@pytest.mark.parametrize("suffix", ["onnx", "tflite"])
def test_a_model_that_is_written_to_during_the_proof_is_not_proved(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = MODELS / f"rfc_rank_expansion.{suffix}", tmp_path / "after"
    graphfix.fix_file(before, after, check_result=False)
    assert prove(before, after, tflite=suffix == "tflite").proved

    def touched(read: Callable[..., object]) -> Callable[..., object]:
        def reading(path: Path, *more: object, **named: object) -> object:
            found = read(path, *more, **named)
            if path == after:
                os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
            return found

        return reading

    module, name = (skeleton, "message") if suffix == "onnx" else (tflite_compare, "read")
    monkeypatch.setattr(module, name, touched(getattr(module, name)))
    with pytest.raises(GraphfixError, match="after: changed while it was read"):
        prove(before, after, tflite=suffix == "tflite")


def external(path: Path, dims: list[int], *, data: str = "weights", offset: int = 0) -> Path:
    """Write y = Add(x, w) with w in a file beside the model."""
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    length = 4 * int(np.prod(dims))
    for key, value in {"location": data, "offset": str(offset), "length": str(length)}.items():
        w.external_data.add(key=key, value=value)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", dims[-1]]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("end", "proved"), [(b"", True), (b"!", False)], ids=["of the same bytes", "of other bytes behind the tensor's"]
)
def test_a_tensor_with_keys_that_nobody_knows_lies_in_a_data_file_of_another_name(
    tmp_path: Path, end: bytes, proved: bool
) -> None:
    for name, data in (("one", b""), ("two", end)):
        path = external(tmp_path / name, [3], data=f"{name}.data")
        model = onnx.load(path, load_external_data=False)
        model.graph.initializer[0].external_data.add(key="prepacked_0", value="x")
        path.write_bytes(model.SerializeToString())
        (tmp_path / f"{name}.data").write_bytes(bytes(12) + data)
    assert prove(tmp_path / "one", tmp_path / "two").proved == proved


def test_weights_that_both_models_have_in_one_file_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 1 << 18
    (tmp_path / "weights").write_bytes(np.random.default_rng(0).bytes(4 * count))
    sizes: list[int] = []
    fill = Opened.fill

    def counted(file: Opened, buffer: bytearray, offset: int) -> None:
        sizes.append(len(buffer) if file.path.name in ("weights", "same", "copy") else 0)
        fill(file, buffer, offset)

    monkeypatch.setattr(Opened, "fill", counted)
    before = external(tmp_path / "a", [count])
    assert prove(before, external(tmp_path / "b", [1, count])).proved
    assert 0 < sum(sizes) < count
    os.link(tmp_path / "weights", tmp_path / "same")
    sizes.clear()
    assert prove(before, external(tmp_path / "c", [1, count], data="same")).proved
    assert sum(sizes) < count
    (tmp_path / "copy").write_bytes((tmp_path / "weights").read_bytes())
    sizes.clear()
    assert prove(before, external(tmp_path / "d", [1, count], data="copy")).proved
    assert sum(sizes) >= 8 * count


def test_another_range_of_the_same_file_is_another_constant(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(np.random.default_rng(0).bytes(1 << 16))
    before = external(tmp_path / "a", [4096])
    assert not prove(before, external(tmp_path / "b", [1, 4096], offset=4)).proved


def test_a_big_constant_that_was_written_out_stretched_is_the_same(written: Written) -> None:
    text = "g (float[2,300,500] x) => (float[2,300,500] y) { y = Add(x, w) }"
    row = np.random.default_rng(0).random((300, 1), np.float32)
    before = written(text, w=row)
    stretched = np.tile(row, (2, 1, 500))
    assert prove(before, written(text, w=stretched)).proved
    stretched[1, 299, 499] = np.nextafter(stretched[1, 299, 499], np.float32(2))
    assert not prove(before, written(text, w=stretched)).proved


def test_what_is_no_range_of_its_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(bytes(16))
    before = external(tmp_path / "a", [4])
    assert onnx.load(before).graph.initializer[0].dims == [4]
    for name, offset, why in (("b", -4, "states '-4' as a place"), ("c", 4, "weights: holds 12 bytes from 4 on")):
        with pytest.raises(GraphfixError, match=why):
            prove(before, external(tmp_path / name, [4], offset=offset))


def test_a_payload_in_several_pieces_is_not_read_by_its_biggest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "_WHOLE", 0)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])], "g", [], [helper.make_tensor_value_info("y", 1, [1025])]
    )
    front = helper.make_model(graph).SerializeToString()
    most = TensorProto(name="w", data_type=1, dims=[1025], float_data=range(1024)).SerializeToString()
    paths = [tmp_path / "before.onnx", tmp_path / "after.onnx"]
    for path, last in zip(paths, (1.0, 2.0), strict=True):  # protobuf joins what is there twice
        tensor = most + TensorProto(float_data=[last]).SerializeToString()
        weights = b"\x2a" + skeleton.varint_bytes(len(tensor)) + tensor
        path.write_bytes(front + b"\x3a" + skeleton.varint_bytes(len(weights)) + weights)
        assert onnx.load(path).graph.initializer[0].float_data[1024:] == [last]
    assert "not read" in str(prove(*paths).reason)
