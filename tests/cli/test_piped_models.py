"""Models from stdin and from named pipes, and a model to stdout, in this process: `-` on the command line."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest

from graphfix.cli import commands, streams
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, Outcome
from tests.support.notation import model
from tests.support.small_models import with_data

DATA = model("y[2,3] = Add(x[2,3], b[3])").SerializeToString()
DASH = Path("-")


class Stdin(io.TextIOWrapper):
    """Stdin as a command finds it, of a file or a pipe."""

    terminal = False

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stdin:
    """Stdin, at the beginning of a model."""
    (tmp_path / "sent").write_bytes(DATA)
    made = Stdin((tmp_path / "sent").open("rb"))
    monkeypatch.setattr(sys, "stdin", made)
    monkeypatch.setattr(sys, "__stdin__", made)
    return made


def options(**given: Any) -> Namespace:  # noqa: ANN401
    plain = {"command": "fix", "json": False, "quiet": True, "verbose": False, "color": "never", "output": None}
    return Namespace(**plain | given)


@pytest.mark.usefixtures("stdin")
def test_stdin_becomes_a_file_that_is_gone_at_the_end() -> None:
    asked = options(model=DASH)
    with streams.opened(asked, "model") as opened:
        copy = asked.model
        assert copy.read_bytes() == DATA
        assert opened.inputs == [copy]
        assert opened.names == {str(copy): "stdin"}
        assert opened.output is None
    assert not copy.parent.parent.exists()


@pytest.mark.usefixtures("stdin")
def test_among_several_models_the_stream_alone_is_copied(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"another")
    asked = options(models=[tmp_path / "m.onnx", DASH])
    with streams.opened(asked, "models"):
        assert asked.models[0] == tmp_path / "m.onnx"
        assert asked.models[1].read_bytes() == DATA


def test_without_a_stream_nothing_changes(tmp_path: Path) -> None:
    asked = options(model=tmp_path / "m.onnx", output=tmp_path / "f.onnx")
    with streams.opened(asked, "model") as opened:
        assert (asked.model, asked.output, opened.folder) == (tmp_path / "m.onnx", tmp_path / "f.onnx", None)


def test_a_named_pipe_is_read_as_it_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(DATA * 2000,))  # more than a pipe holds
    writer.start()
    asked = options(model=pipe)
    with streams.opened(asked, "model") as opened:
        assert asked.model.read_bytes() == DATA * 2000
        assert asked.model.name == "pipe.onnx"
        assert opened.names == {str(asked.model): str(pipe)}
    writer.join()


def test_a_named_pipe_that_nobody_writes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "WAIT", 0.01)
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(GraphfixError, match=r"pipe: nothing was written into this pipe for 0 s; start its writer"),
        streams.opened(options(model=tmp_path / "pipe"), "model"),
    ):
        pass


@pytest.mark.usefixtures("stdin")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": [DASH, DASH]}, "-: stdin is one model; name a file for the other one"),
        ({"model": DASH, "in_place": True}, "-: a stream can't be replaced; give -o OUT without --in-place"),
        ({"model": Path("m.onnx"), "output": DASH, "json": True}, "-o -: stdout takes the model or the document"),
        ({"model": Path("m.onnx"), "output": DASH, "command": "tosa"}, "-o -: tosa writes two files"),
        ({"model": DASH, "command": "check", "json": True}, None),
        ({"model": DASH, "command": "tosa", "output": Path("m.tosa")}, None),
        ({"model": [DASH, Path("m.onnx")]}, None),
    ],
    ids=["twice", "in place", "json", "two files", "json of a check", "tosa", "one of two"],
)
def test_options_that_a_stream_can_not_have_are_refused(given: dict[str, Any], said: str | None) -> None:
    if said is None:
        with streams.opened(options(**given), "model") as opened:
            assert len(opened.inputs) == 1
        return
    with pytest.raises(GraphfixError) as raised, streams.opened(options(**given), "model"):
        pass
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("terminal", "-: stdin is a terminal; send a model into it: graphfix show - < model.onnx"),
        ("closed", "-: stdin is closed; send a model into it"),
        ("closed at the start", "-: stdin is closed; send a model into it"),
        ("device", "-: stdin is a device; send a model into it: graphfix show - < model.onnx"),
        ("empty", "stdin: nothing came through the pipe; send a model into it"),
    ],
)
def test_a_stdin_that_holds_no_model_is_refused(
    stdin: Stdin, kind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "terminal":
        stdin.terminal = True
    elif kind == "empty":
        stdin.buffer.read()
    elif kind == "device":
        os.dup2(os.open(os.devnull, os.O_RDONLY), stdin.fileno())
    else:
        monkeypatch.setattr(sys, "stdin" if kind == "closed" else "__stdin__", None)
    with pytest.raises(GraphfixError) as raised, streams.opened(options(model=DASH), "model"):
        pass
    assert str(raised.value) == said


@pytest.mark.parametrize("kind", ["terminal", "closed", "closed at the start"])
def test_a_stdout_that_takes_no_model_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = Stdin(io.BytesIO())
    stdout.terminal = kind == "terminal"
    monkeypatch.setattr(sys, "stdout", None if kind == "closed" else stdout)
    monkeypatch.setattr(sys, "__stdout__", None if kind == "closed at the start" else stdout)
    with (
        pytest.raises(GraphfixError, match="stdout is a terminal or closed; send it to a file or a pipe"),
        streams.opened(options(model=Path("m.onnx"), output=DASH), "model"),
    ):
        pass


@pytest.mark.usefixtures("stdin")
def test_a_model_goes_from_stdin_to_stdout_and_what_is_said_to_stderr(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "m.onnx").write_bytes(DATA)
    file = tmp_path / "f.onnx"
    assert commands.main(["fix", str(tmp_path / "m.onnx"), "-o", str(file), "--no-verify"]) == 0
    capsysbinary.readouterr()
    assert commands.main(["fix", "-", "-o", "-", "--no-verify"]) == 0
    said = capsysbinary.readouterr()
    assert said.out == file.read_bytes()
    assert said.err.startswith(b"stdin -> stdout: ")


@pytest.mark.usefixtures("stdin")
def test_an_error_names_the_stream_and_not_its_copy(capsys: pytest.CaptureFixture[str], stdin: Stdin) -> None:
    stdin.buffer.read(5)
    assert commands.main(["check", "-"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("graphfix: stdin: ")
    assert "graphfix-" not in said


def test_data_in_other_files_is_refused_of_a_stream(
    tmp_path: Path, stdin: Stdin, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_data(tmp_path / "m.onnx", "m.data", 1.0)
    (tmp_path / "sent").write_bytes(path.read_bytes())
    stdin.buffer.seek(0)
    assert commands.main(["check", "-"]) == 2
    assert "stdin: its data is in other files (" in (said := capsys.readouterr().err)
    assert "a stream has no folder: name a file" in said
    assert commands.main(["fix", str(path), "-o", "-", "--no-verify"]) == 2
    assert "stdout takes one file: say -o OUT" in capsys.readouterr().err


def test_nothing_is_said_where_nothing_was_written(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    streams.Streams(output=tmp_path / "none").publish()
    streams.Streams().publish()
    assert capsysbinary.readouterr() == (b"", b"")
    (tmp_path / "made").write_bytes(b"model")
    streams.Streams(output=tmp_path / "made").publish()
    assert capsysbinary.readouterr() == (b"model", b"")


@pytest.mark.parametrize(("has_model", "there"), [(True, "err"), (False, "out")])
def test_what_is_printed_makes_room_for_a_model_on_stdout(
    tmp_path: Path, has_model: bool, there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with streams.Streams(output=tmp_path / "stdout").table(has_model=has_model):
        sys.stdout.write("text")
    assert getattr(capsys.readouterr(), there) == "text"
    with streams.Streams().table(has_model=True):
        sys.stdout.write("text")
    assert capsys.readouterr().out == "text"


@pytest.mark.usefixtures("stdin")
def test_several_streams_of_one_name_are_several_files(tmp_path: Path) -> None:
    pipes = [tmp_path / name / "m.onnx" for name in ("one", "two")]
    writers = []
    for pipe in pipes:
        pipe.parent.mkdir()
        os.mkfifo(pipe)
        writers.append(threading.Thread(target=pipe.write_bytes, args=(pipe.parent.name.encode(),)))
        writers[-1].start()
    asked = options(model=pipes[0], after=[DASH, pipes[1]])
    with streams.opened(asked, "model", "after") as opened:
        assert [path.read_bytes() for path in (asked.model, *asked.after)] == [b"one", DATA, b"two"]
        assert opened.inputs == [asked.model, *asked.after]
        assert list(opened.names.values()) == [str(pipes[0]), "stdin", str(pipes[1])]
    for writer in writers:
        writer.join()


def test_a_pipe_that_is_open_already_is_waited_for_and_an_open_file_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "WAIT", 0.0)
    ours, theirs = os.pipe()

    def write() -> None:
        time.sleep(0.05)
        os.write(theirs, DATA)
        os.close(theirs)

    writer = threading.Thread(target=write)
    writer.start()
    asked = options(model=Path(f"/dev/fd/{ours}"))
    with streams.opened(asked, "model"):
        assert asked.model.read_bytes() == DATA
    writer.join()
    os.close(ours)
    (tmp_path / "m.onnx").write_bytes(DATA)
    with (tmp_path / "m.onnx").open("rb") as file:
        asked = options(model=Path(f"/dev/fd/{file.fileno()}"))
        with streams.opened(asked, "model") as opened:
            assert asked.model.read_bytes() == DATA
            assert list(opened.names.values()) == [f"/dev/fd/{file.fileno()}"]


@pytest.mark.parametrize("name", ["none.onnx", "no\0name", "n" * 5000, ".", "m.onnx"], ids=lambda name: name[:9])
def test_what_is_no_stream_is_left_to_its_reader(tmp_path: Path, name: str) -> None:
    (tmp_path / "m.onnx").write_bytes(DATA)
    asked = options(model=tmp_path / name)
    with streams.opened(asked, "model") as opened:
        assert (asked.model, opened.folder) == (tmp_path / name, None)


@pytest.mark.parametrize("missing", ["os.set_blocking", "select.poll"])
def test_where_a_pipe_can_not_be_waited_for_stdin_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.delattr(missing)
    with (
        pytest.raises(GraphfixError, match=r"pipe: a named pipe can't be read on this system; send the model into"),
        streams.opened(options(model=tmp_path / "pipe"), "model"),
    ):
        pass


def test_data_in_an_allowed_folder_is_found_before_a_model_goes_to_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "zoo").mkdir()
    path = with_data(tmp_path / "zoo/m.onnx", "m.data", 1.0)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "zoo/m.data").rename(tmp_path / "elsewhere/m.data")
    proto = onnx.load(path, load_external_data=False)
    (location,) = [each for each in proto.graph.initializer[0].external_data if each.key == "location"]
    location.value = "../elsewhere/m.data"
    path.write_bytes(proto.SerializeToString())
    words = ["fix", str(path), "-o", "-", "--no-verify"]
    assert commands.main([*words, "--data-root", str(tmp_path / "elsewhere")]) == 2
    assert "its data is in other files (../elsewhere/m.data); stdout takes one file" in capsys.readouterr().err
    assert commands.main(words) == 2
    assert "stdout takes one file" not in capsys.readouterr().err


def test_other_functions_are_asked_as_they_are_where_there_is_no_stream(tmp_path: Path) -> None:
    assert streams.Streams().refusing_data_files(len, []) is len
    assert streams.Streams(tmp_path).refusing_data_files(len, [])([1, 2]) == 2


def test_entries_have_the_names_that_the_user_gave() -> None:
    names = streams.Streams(names={"/made/0/stdin": "stdin", "/made/stdout": "stdout"})
    failed = names.renamed_entry(Failure("fix", "/made/0/stdin", "/made/0/stdin: no model", "error"))
    assert failed == Failure("fix", "stdin", "stdin: no model", "error")
    fixed = names.renamed_entry(Outcome("fix", "/made/0/stdin", "onnx", output="/made/stdout"))
    assert fixed == Outcome("fix", "stdin", "onnx", output="stdout")
    assert names.renamed_entry(replace(fixed, output=None)) == replace(fixed, output=None)
