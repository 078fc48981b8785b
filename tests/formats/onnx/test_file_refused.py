"""What is no ONNX model, or only a part of one, is refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto

from graphfix.formats.onnx.file.container import read
from graphfix.formats.onnx.file.external import tensors
from graphfix.results import GraphfixError
from tests.support.onnx.files import NAME, VALUES, constant, field, floats, model, model_of


def refused(source: Path | bytes, reason: str) -> None:
    with pytest.raises(GraphfixError, match=reason) as caught:
        read(source)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("<bytes>: " if isinstance(source, bytes) else f"{source}: ")


def test_a_truncated_model_is_refused_wherever_it_is_cut() -> None:
    # The trailing records repeat: a cut between two opset_imports leaves a model that states all it must.
    original = model(floats("big", 1100), floats("tiny", 3), nodes=[constant(floats("c", 1100))]).SerializeToString()
    for stop in range(1, len(original)):
        refused(original[:stop], "cut short")
    assert read(original).tobytes() == original


def test_a_truncation_that_leaves_a_complete_model_is_a_model() -> None:
    # By the rule of `read`: metadata_props stand behind all that a model must state.
    whole = model(floats("big"))
    original = whole.SerializeToString()
    whole.metadata_props.add(key="k", value="v")
    assert read(whole.SerializeToString()[: len(original)]).tobytes() == original
    refused(whole.SerializeToString()[:-1], "cut short")


@pytest.mark.ci
@given(st.binary(min_size=1, max_size=300))
@settings(max_examples=400)
def test_random_bytes_are_refused_in_one_line(data: bytes) -> None:
    refused(data, "no ONNX model")


@pytest.mark.ci
@given(st.integers(0, 10**6), st.integers(0, 255))
@settings(max_examples=400)
def test_a_damaged_byte_is_refused_or_comes_out_as_protobuf_reads_it(at: int, byte: int) -> None:
    data = bytearray(model(floats("big", 1100), nodes=[constant(floats("c", 1100))]).SerializeToString())
    data[at % len(data)] = byte
    try:
        container = read(bytes(data))
    except GraphfixError:
        return
    written = container.tobytes()
    try:
        expected = ModelProto.FromString(bytes(data))
    except DecodeError:
        # The damage is in packed numbers, which are not looked at: they are kept as they are.
        with pytest.raises(DecodeError):
            ModelProto.FromString(written)
        return
    assert ModelProto.FromString(written).SerializeToString() == expected.SerializeToString()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no bytes"),
        (b"\x08\x08" + field(8, b"\x10\x11"), "no graph"),
        (field(7, field(2, b"g")) + field(8, b"\x10\x11"), "no ir_version"),
        (b"\x08\x08" + field(7, field(2, b"g")), "no opset_import"),
        (model().SerializeToString() + b"\x0b", "no ONNX model"),
        (model().SerializeToString() + b"\x0c", "no ONNX model"),
        (model().SerializeToString() + b"\x0b\x14", "no ONNX model"),
        (b"\x80" * 11, "no ONNX model"),
        (model_of(field(4, VALUES + b"x") + NAME), "not whole"),
        (model_of(field(10, VALUES + b"1234") + NAME), "not whole"),
        (model_of(field(7, b"\x80" * 5000) + NAME), "not whole"),
        (field(7, b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + b"x" * 5000), "no ONNX model"),
    ],
    ids=[
        "empty",
        "no graph",
        "no ir",
        "no opset",
        "open group",
        "closed group",
        "wrong group",
        "number",
        "floats",
        "doubles",
        "ints",
        "length",
    ],
)
def test_what_protobuf_or_onnx_does_not_take_for_a_model_is_refused(data: bytes, reason: str) -> None:
    refused(data, reason)


def test_a_model_before_ir_version_3_needs_no_opset() -> None:
    made = model(floats("a"))
    made.ir_version = 2
    del made.opset_import[:]
    assert read(made.SerializeToString()).tobytes() == made.SerializeToString()


def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()
    refused(tmp_path / "empty.onnx", "the file is empty")
    (tmp_path / "pointer.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    refused(tmp_path / "pointer.onnx", "git lfs pull")
    refused(tmp_path, "a folder; give the path of a model")
    refused(tmp_path / "missing.onnx", "no such file")
    refused(Path("/dev/null"), "this is a device")
    with pytest.raises(GraphfixError, match="null"):
        read(tmp_path / "nul\0.onnx")


def test_random_bytes_in_a_file_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "noise.onnx"
    path.write_bytes(np.random.default_rng(1).bytes(20_000))
    refused(path, "no ONNX model")


def test_a_deep_model_is_read_and_a_deeper_one_than_protobuf_takes_is_refused() -> None:
    def nested(levels: int) -> bytes:
        made = field(5, field(9, VALUES) + field(8, b"deep"))
        for _ in range(levels):
            made = field(1, field(4, b"If") + field(5, field(1, b"then_branch") + field(6, made)))
        return b"\x08\x08" + field(7, made) + field(8, b"\x10\x11")

    container = read(nested(30))
    assert [t.name for t in tensors(container.proto) if container.is_cut(t)] == ["deep"]
    assert container.tobytes() == ModelProto.FromString(nested(30)).SerializeToString()
    refused(nested(40), "no ONNX model")
    refused(nested(400), "no ONNX model")
