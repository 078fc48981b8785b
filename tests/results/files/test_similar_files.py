"""Files that look like those of another tool, and are of another kind, or may be a model."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from graphfix.results import GraphfixError
from graphfix.results.files.file_kinds import Content, folder_kind, foreign_kind, refuse_foreign


def kind_of(data: bytes) -> str | None:
    kind = foreign_kind(Content(io.BytesIO(data)))
    return None if kind is None else kind.name


def archive(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in names:
            file.writestr(name, "x")
    return made.getvalue()


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("data.pkl",), "a PyTorch file (zip with data.pkl)"),
        (("m/data.pkl", "m/version"), "a PyTorch file (zip with data.pkl)"),
        (("m/data.pkl", "n/version"), "a zip archive without a model"),
        (("data.pkl.txt",), "a zip archive without a model"),
        (("code/a.py", "constants.pkl"), "a TorchScript file (zip with code/ and constants.pkl)"),
        (("code/a.py",), "a zip archive without a model"),
        (("config.json", "metadata.json"), "a Keras file (zip with config.json and metadata.json)"),
        (("config.json",), "a zip archive without a model"),
        (("Manifest.json", "Data/m.mlmodel"), "a Core ML package (zip with Manifest.json)"),
        (("a.NPY",), "NumPy arrays (.npz, zip with .npy files)"),
        (("sub/m.ONNX", "other.txt"), "a zip archive with an ONNX model"),
        (("m.onnx.txt",), "a zip archive without a model"),
        ((), "an empty zip archive"),
    ],
)
def test_an_archive_is_what_its_members_say(names: tuple[str, ...], kind: str) -> None:
    assert kind_of(archive(*names)) == kind


def test_an_archive_that_is_cut_short_is_named_so() -> None:
    assert kind_of(archive("data.pkl")[:40]) == "a zip archive that is cut short or damaged"


VERSION, GRAPH = b"\x08\x01", b"\x3a\x02ab"
CORE_ML = b"\xc2\x0c\x02ab"
"""A field of bytes, of number 200."""


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (VERSION + CORE_ML, "a Core ML model (.mlmodel)"),
        (VERSION + b"\x12\x01a" + CORE_ML, "a Core ML model (.mlmodel)"),
        (VERSION + b"\x1d1234" + CORE_ML, "a Core ML model (.mlmodel)"),
        (VERSION + b"\x1912345678" + CORE_ML, "a Core ML model (.mlmodel)"),
        (VERSION + b"\x1d123" + CORE_ML, None),
        (VERSION + GRAPH + CORE_ML, None),
        (VERSION + CORE_ML[:-1], None),
        (CORE_ML, None),
        (b"\x0a\x01a" + CORE_ML, None),
        (VERSION + b"\xba\x0c\x02ab", None),
        (VERSION + b"\x82\x80\x02\x02ab", None),
        (VERSION + b"\x12\x02ab", "a TensorFlow SavedModel (saved_model.pb)"),
        (VERSION + b"\x12\x02ab" + GRAPH, None),
        (VERSION + b"\x12\x02ab\x1a\x01a", None),
        (b"\x08\x02" + b"\x12\x02ab", None),
        (b"\x10\x01\x4a\x02ab", "an ONNX tensor (test data)"),
        (b"\x10\x01\x22\x02ab", "an ONNX tensor (test data)"),
        (b"\x10\x01\x12\x02ab", None),
        (b"\x12\x02ab\x4a\x02ab", None),
        (b"\x10\x01\x4a\x02ab\x82\x01\x02ab", "an ONNX tensor (test data)"),
        (b"\x10\x01\x4a\x02ab\x8a\x01\x02ab", None),
        (b"\x10\x01\x4a\x02a", None),
    ],
)
def test_a_message_of_protobuf_is_what_its_fields_say(data: bytes, kind: str | None) -> None:
    assert kind_of(data) == kind


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'\x10\0\0\0\0\0\0\0{"a": 1}', "a safetensors file (weights without a graph)"),
        (b"\x10\0\0\0\0\0\0\0{ }", "a safetensors file (weights without a graph)"),
        (b'\x10\0\0\0\0\1\0\0{"a": 1}', None),
        (b"\x10\0\0\0\0\0\0\0[1]", None),
        (b'\x1c\0\0\0TFL3{"a": 1}', None),
        (b"\x1c\0\0\0TOSA", "a TOSA flatbuffer (identifier TOSA)"),
        (b"TOSA\0\0\0\0", None),
        (b"\0" * 257 + b"ustar", "a tar archive"),
        (b"\0" * 256 + b"ustar", None),
        (b"plain text\twith\nlines", "a text file"),
        (b"text and a byte \x01", None),
        (b"  \xef\xbb\xbf", None),
        (b"\xef\xbb\xbf  <html>", "an HTML page (a download that failed, perhaps)"),
        (b"   ", None),
    ],
)
def test_a_file_is_what_its_first_bytes_say(data: bytes, kind: str | None) -> None:
    assert kind_of(data) == kind


def test_a_folder_of_another_tool_is_named_and_any_other_says_what_is_in_it(tmp_path: Path) -> None:
    assert folder_kind(tmp_path) is None
    with pytest.raises(GraphfixError, match=r"a folder; give the path of a model$"):
        refuse_foreign(tmp_path)
    (tmp_path / "b.onnx").touch()
    (tmp_path / "A.TFLITE").touch()
    with pytest.raises(GraphfixError, match=r"give the path of a model, such as .*A\.TFLITE$"):
        refuse_foreign(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    assert folder_kind(tmp_path) == (
        "a TensorFlow SavedModel (folder with saved_model.pb): convert it to TFLite or ONNX first"
    )
    with pytest.raises(GraphfixError, match="a TensorFlow SavedModel"):
        refuse_foreign(tmp_path)
