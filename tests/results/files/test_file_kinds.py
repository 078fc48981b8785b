"""A file that is not a model is refused by what it is, in one line, by every command and by the Python functions."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import graphfix
from graphfix.cli.commands import main
from graphfix.results import GraphfixError
from graphfix.results.files.file_kinds import KINDS, MOST_FIELDS, Content, foreign_kind
from models.builders.tflite.text import model as tflite_model
from tests.support.onnx.files import model, number
from tests.support.wrong_files import WRONG

COMMANDS: dict[str, Callable[[Path, Path, Path], Sequence[object]]] = {
    "fix": lambda wrong, _, out: ["fix", wrong, "-o", out],
    "fix --in-place": lambda wrong, *_: ["fix", wrong, "--in-place"],
    "fix --no-verify": lambda wrong, _, out: ["fix", wrong, "-o", out, "--no-verify"],
    "fix --diff": lambda wrong, *_: ["fix", wrong, "--diff"],
    "check": lambda wrong, *_: ["check", wrong],
    "show": lambda wrong, *_: ["show", wrong],
    "verify, the first": lambda wrong, right, _: ["verify", wrong, right],
    "verify, the second": lambda wrong, right, _: ["verify", right, wrong],
    "verify --proof-only": lambda wrong, right, _: ["verify", right, wrong, "--proof-only"],
    "batch": lambda wrong, _, out: ["batch", wrong, "-o", out],
}
LOADED: dict[str, Callable[[Path], object]] = {
    "load of a path": graphfix.load,
    "load of bytes": lambda path: graphfix.load(path.read_bytes()),
    "check": graphfix.check,
    "fix_file": lambda path: graphfix.fix_file(path, path.with_name("out")),
    "verify": lambda path: graphfix.verify(path, path),
    "show": lambda path: list(graphfix.show(path)),
}


@pytest.fixture
def right(tmp_path: Path) -> Path:
    """A model that is one."""
    path = tmp_path / "right.onnx"
    path.write_bytes(model().SerializeToString())
    return path


@pytest.mark.parametrize("name", WRONG)
def test_each_kind_is_named_with_advice(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(WRONG[name].data)
    with pytest.raises(GraphfixError) as refused:
        graphfix.check(tmp_path / name)
    assert str(refused.value) == f"{tmp_path / name}: {WRONG[name].message}"


def test_every_row_of_the_table_is_tried_but_for_rare_forms() -> None:
    tried = [kind.name for kind in KINDS if any(wrong.message.startswith(kind.name) for wrong in WRONG.values())]
    rest = [kind.name for kind in KINDS if kind.name not in tried]
    assert rest == ["a Core ML package (zip with Manifest.json)", "an empty zip archive", "a 7z archive"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["weights.pt", "page.onnx", "saved_model.pb"])
def test_every_command_says_so_in_one_line(
    tmp_path: Path, right: Path, capfd: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    wrong = tmp_path / name
    wrong.write_bytes(WRONG[name].data)
    words = [str(word) for word in COMMANDS[command](wrong, right, tmp_path / "out")]
    assert main(words) == 2
    assert capfd.readouterr().err == f"graphfix: {wrong}: {WRONG[name].message}\n"


@pytest.mark.parametrize("function", LOADED)
def test_the_python_functions_say_so(tmp_path: Path, function: str) -> None:
    wrong = tmp_path / "m.keras"
    wrong.write_bytes(WRONG["m.keras"].data)
    name = "<bytes>" if function == "load of bytes" else str(wrong)
    with pytest.raises(GraphfixError) as refused:
        LOADED[function](wrong)
    assert str(refused.value) == f"{name}: {WRONG['m.keras'].message}"


def test_the_content_counts_and_not_the_name(tmp_path: Path) -> None:
    for name, data in (("m.pt", model().SerializeToString()), ("m.zip", tflite_model("y[2,3] = ADD(x[2,3], b[3])"))):
        (tmp_path / name).write_bytes(data)
        assert graphfix.check(tmp_path / name).source == str(tmp_path / name)


def test_a_model_with_an_unknown_field_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(number(300 << 3) + b"\x01" + model().SerializeToString())
    assert graphfix.load(tmp_path / "m.onnx").format == "onnx"


def test_a_tflite_model_with_a_zip_archive_behind_it_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(tflite_model("y[2,3] = ADD(x[2,3], b[3])") + WRONG["face.task"].data)
    assert graphfix.check(tmp_path / "m.tflite").format == "tflite"


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("saved_model.pb", "a TensorFlow SavedModel (folder with saved_model.pb): convert it to TFLite or ONNX first"),
        ("Manifest.json", "a Core ML package (folder with Manifest.json): export the original model to ONNX first"),
        ("m.onnx", "a folder; give the path of a model, such as {folder}/m.onnx"),
        ("readme", "a folder; give the path of a model"),
    ],
)
def test_a_folder_is_named_by_what_is_in_it(tmp_path: Path, inside: str, message: str) -> None:
    (tmp_path / inside).write_bytes(b"x")
    for ask in (graphfix.load, graphfix.check, lambda path: graphfix.verify(path, path)):
        with pytest.raises(GraphfixError) as refused:
            ask(tmp_path)
        assert str(refused.value) == f"{tmp_path}: {message.format(folder=tmp_path)}"


@pytest.mark.parametrize("command", [["check"], ["batch", "-o", "out"]])
def test_a_folder_that_is_searched_is_named_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    (tmp_path / "saved_model.pb").touch()
    assert main([*command, str(tmp_path)]) == 2
    kind = "a TensorFlow SavedModel (folder with saved_model.pb): convert it to TFLite or ONNX first"
    assert capsys.readouterr().err == f"graphfix: {tmp_path}: {kind}\n"


def test_an_empty_file_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()
    for ask in (graphfix.load, lambda path: graphfix.verify(path, path)):
        with pytest.raises(GraphfixError) as refused:
            ask(tmp_path / "empty.onnx")
        assert str(refused.value) == f"{tmp_path / 'empty.onnx'}: the file is empty; get the file again"


def zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return made.getvalue()


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        (b"", "a zip archive without a model"),
        (b"\x93NUMPY\x01\x00", "a NumPy array (.npy)"),
        (b"\x7fELF\x02\x01\x01\x00", None),
    ],
)
def test_an_archive_is_what_begins_as_one(before: bytes, kind: str | None) -> None:
    """Python's zipfile finds an archive behind any bytes."""
    found = foreign_kind(Content(io.BytesIO(before + zipped("readme"))))
    assert (found and found.name) == kind


@pytest.mark.parametrize(
    ("names", "members"),
    [
        (["a/code/x", "a/y"], ["a/code/x", "a/y", "code/x", "y"]),
        (["a/code/x", "b/y"], ["a/code/x", "b/y"]),
        (["x"], ["x", ""]),
    ],
)
def test_names_in_an_archive_are_also_those_below_its_only_folder(names: list[str], members: list[str]) -> None:
    assert list(Content(io.BytesIO(zipped(*names))).members) == members
    assert not Content(io.BytesIO(zipped(*names)[:-1])).members


MANY = b"".join(number(at << 3) + b"\x01" for at in range(100, 100 + MOST_FIELDS))
"""As many fields as are read, each of a number of its own, in three bytes."""


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (b"\x08\x01", {1: 0}),
        (b"\x08\x01\x12\x02ab", {1: 0, 2: 2}),
        (b"\x08\x01\x12\x03ab", {}),
        (b"\x08", {}),
        (b"\x12\x00", {2: 2}),
        (b"\x09" + bytes(8), {1: 1}),
        (b"\x09" + bytes(7), {}),
        (b"\x0d" + bytes(4), {1: 5}),
        (b"\x0d" + bytes(3), {}),
        (b"\x0b\x01", {}),
        (b"\x00\x01", {}),
        (b"", {}),
        (b"\x08\x80\x01", {1: 0}),
        (b"\x08" + b"\x80" * 9 + b"\x01", {1: 0}),
        (b"\x08" + b"\x80" * 10 + b"\x01", {}),
        (b"\x08\x01\x0a\x00", {1: 0}),
        (b"\x3a\x00\x0b", {7: 2}),
        (b"\x3a\x02a", {}),
        (b"\x32\x00\x0b", {}),
        (b"\x4a\x01a" * (MOST_FIELDS + 1), {9: 2}),
        (b"\x4a\x01a" * (MOST_FIELDS - 1) + b"\x0b", {}),
        (MANY + b"\x0b", dict.fromkeys(range(100, 100 + MOST_FIELDS), 0)),
        (MANY[3:] + b"\x0b", {}),
    ],
)
def test_the_fields_of_a_message_are_read_as_far_as_they_are_fields(data: bytes, fields: dict[int, int]) -> None:
    assert Content(io.BytesIO(data)).fields == fields


def test_the_content_alone_says_what_a_file_is() -> None:
    found = {name: foreign_kind(Content(io.BytesIO(wrong.data))) for name, wrong in WRONG.items()}
    said = {name: kind and f"{kind.name}: {kind.advice}" for name, kind in found.items()}
    assert said == {name: wrong.message for name, wrong in WRONG.items()}


def said(*fields: int) -> bytes:
    """A message with these fields: 1 and 2 are numbers, all others are bytes."""
    return b"".join(number(at << 3) + b"\x01" if at < 3 else number(at << 3 | 2) + b"\x00" for at in fields)


TENSOR, CORE_ML, SAVED_MODEL = (
    "an ONNX tensor (test data)", "a Core ML model (.mlmodel)", "a TensorFlow SavedModel (saved_model.pb)"
)  # fmt: skip


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        *((said(2, at), TENSOR if at in (4, 5, 6, 7, 9, 10, 11) else None) for at in range(3, 17)),
        (said(2, 4, 16), TENSOR),
        (said(2, 4, 17), None),
        (said(2), None),
        (said(3, 4), None),
        (said(1, 2, 8, 9), TENSOR),
        (b"\x12\x00" + said(4), None),
        (said(1, 200), CORE_ML),
        (said(1, 199), None),
        (said(1, 4095), CORE_ML),
        (said(1, 4096), None),
        (said(1, 8, 200), CORE_ML),
        (said(1, 7, 200), None),
        (said(200), None),
        (b"\x0a\x00" + said(200), None),
        (b"\x08\x01\x12\x02ab", SAVED_MODEL),
        (b"\x08\x02\x12\x02ab", None),
        (b"\x08\x01\x12\x02ab" + said(3), None),
        (b"\x08\x01\x12\x03ab", None),
        (b"\x0a\x08\x0a\x01a\x12\x01Xa", "a frozen TensorFlow graph (GraphDef)"),
        (b"\x02\0\0\0\0\0\0\0{}", "a safetensors file (weights without a graph)"),
        (b"\x02\0\0\0\0\0\0\0{a", None),
        (b"\x02\0\0\0\0\0\1\0{}", None),
        (bytes(257) + b"ustar", "a tar archive"),
        (bytes(256) + b"ustar", None),
        (b"\x18\0\0\0TFL3" + bytes(249) + b"ustar", None),
        (bytes(4) + b"TOSA", "a TOSA flatbuffer (identifier TOSA)"),
        (bytes(3) + b"TOSA", None),
    ],
)
def test_a_message_is_what_its_fields_say(data: bytes, kind: str | None) -> None:
    found = foreign_kind(Content(io.BytesIO(data)))
    assert (found and found.name) == kind
