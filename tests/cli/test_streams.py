"""Models from stdin and pipes, a model to stdout, and names that are no files: never a hang, never a file named `-`."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from onnx import load as load_proto

from graphfix import GraphfixError, fix_file, load
from graphfix.cli import streams, terminal
from graphfix.results import Outcome
from models.builders.tflite.text import model as tflite_model
from tests.support.asking import ask, listing, refused
from tests.support.notation import model
from tests.support.small_models import with_data

TEXT = "y[2,3] = Add(x[2,3], b[3])"
PATIENCE = 60


def graphfix(folder: Path, *words: object, stdin: bytes | int | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run one command in a folder, with bytes in a pipe or a descriptor as its stdin."""
    said = [sys.executable, "-m", "graphfix", *map(str, words)]
    piped = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin or subprocess.DEVNULL}
    return subprocess.run(said, cwd=folder, capture_output=True, check=False, timeout=PATIENCE, **piped)  # type: ignore[call-overload]


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(TEXT).SerializeToString())
    return path


@pytest.mark.ci
@pytest.mark.parametrize("form", ["onnx", "tflite", "already explicit"])
def test_a_pipe_through_fix_gives_the_bytes_of_the_file_form(tmp_path: Path, form: str) -> None:
    texts = {"onnx": TEXT, "already explicit": "y[2,3] = Add(x[2,3], b[2,3])"}
    data = tflite_model("y[2,3] = ADD(x[2,3], b[3])") if form == "tflite" else model(texts[form]).SerializeToString()
    (tmp_path / "m").write_bytes(data)
    assert graphfix(tmp_path, "fix", "m", "-o", "f", "--no-verify").returncode == 0
    before = listing(tmp_path)
    piped = graphfix(tmp_path, "fix", "-", "-o", "-", "--no-verify", stdin=data)
    assert (piped.returncode, piped.stdout) == (0, (tmp_path / "f").read_bytes())
    assert piped.stderr.startswith(b"stdin -> stdout: ")
    assert listing(tmp_path) == before


@pytest.mark.ci
def test_a_verified_model_goes_to_stdout_and_its_report_names_the_streams(tmp_path: Path, onnx_file: Path) -> None:
    piped = graphfix(tmp_path, "fix", "-", "-o", "-", "--report", "r.json", stdin=onnx_file.read_bytes())
    assert piped.returncode == 0
    assert b"proved for all inputs and sizes" in piped.stderr
    (tmp_path / "f.onnx").write_bytes(piped.stdout)
    assert graphfix(tmp_path, "check", "f.onnx").returncode == 0
    said = json.loads((tmp_path / "r.json").read_text())
    assert (said["model"], said["output"], said["verdict"]["status"]) == ("stdin", "stdout", "proved")


@pytest.mark.ci
def test_what_is_left_in_a_model_that_went_to_stdout_is_listed_by_check_of_stdin(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(model("y[?,?] = Add(x0[M,N], x1[P,Q])").SerializeToString())
    (tmp_path / "stdout").write_bytes(b"another file")
    fixed = graphfix(tmp_path, "fix", "m.onnx", "-o", "-", "--unknown", "keep", "--no-verify")
    assert fixed.returncode == 4
    last = fixed.stderr.decode().splitlines()[-1]
    said = "graphfix check - --unknown keep lists them when it gets this model by stdin; --exit-zero accepts them"
    assert last == f"2 sites left for target explicit: {said}"
    checked = graphfix(tmp_path, "check", "-", "--unknown", "keep", stdin=fixed.stdout)
    assert checked.returncode == 1
    assert b", 2 left" in checked.stdout.splitlines()[0]
    file = graphfix(tmp_path, "fix", "m.onnx", "-o", "stdout", "--unknown", "keep", "--no-verify")
    assert b": graphfix check stdout --unknown keep lists them; --exit-zero" in file.stdout


@pytest.mark.parametrize(
    ("closed", "message"), [("<&-", "-: stdin is closed"), (">&-", "-o -: stdout is a terminal or ")]
)
def test_a_stream_that_is_closed_is_refused(onnx_file: Path, closed: str, message: str) -> None:
    words = "check -" if closed == "<&-" else "fix m.onnx -o - --no-verify"
    script = f"'{sys.executable}' -m graphfix {words} {closed}"
    answer = subprocess.run(
        ["bash", "-c", script], cwd=onnx_file.parent, capture_output=True, check=False, timeout=PATIENCE
    )
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.decode().startswith(f"graphfix: {message}")


@pytest.mark.ci
def test_nothing_goes_to_stdout_where_nothing_may_be_written(tmp_path: Path, onnx_file: Path) -> None:
    piped = graphfix(tmp_path, "fix", onnx_file, "-o", "-", "--dim", "nothing=3")
    assert (piped.returncode, piped.stdout) == (2, b"")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["check", "-"], 1, b"stdin: 2 findings for target explicit"),
        (["show", "-"], 0, b"L   y[2,3] = Add(x[2,3], b[3])"),
        (["fix", "-", "-o", "out", "--no-verify"], 0, b"stdin -> out: 1 operand made explicit"),
        (["verify", "-", "m.onnx", "--proof-only"], 0, b"stdin, m.onnx: proved"),
        (["verify", "m.onnx", "-", "--proof-only"], 0, b"m.onnx, stdin: proved"),
    ],
    ids=["check", "show", "fix", "verify, first", "verify, second"],
)
def test_stdin_is_a_model_of_each_command(
    tmp_path: Path, onnx_file: Path, words: Sequence[str], status: int, said: bytes
) -> None:
    answer = graphfix(tmp_path, *words, stdin=onnx_file.read_bytes())
    assert (answer.returncode, answer.stderr) == (status, b"")
    assert said in answer.stdout


@pytest.mark.ci
@pytest.mark.parametrize("name", ["./-", ".//-", "../folder/-"])
def test_a_name_with_a_folder_is_the_file_of_that_name_and_not_stdin(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "-").write_bytes(model(TEXT).SerializeToString())
    for words, status in (
        (["check", name], 1),
        (["show", name], 0),
        (["fix", name, "-o", "f.onnx", "--no-verify"], 0),
        (["verify", name, name, "--proof-only"], 0),
    ):
        answer = graphfix(folder, *words, stdin=b"no model")
        assert (answer.returncode, answer.stderr) == (status, b""), words


NO_NAME = "an empty name; give a file or a folder"
EMPTY_NAMES = [
    (["check", "m.onnx", "--data-root", ""], "--data-root"),
    (["check", "m.onnx", "--baseline", ""], "--baseline"),
    (["check", "m.onnx", "--target-file", ""], "--target-file"),
    (["check", "m.onnx", "--config", ""], "--config"),
    (["verify", "m.onnx", "m.onnx", "--inputs", ""], "--inputs"),
    (["config", ""], "PATH"),
    (["batch", "", "-o", "out"], "SOURCE"),
    (["batch", "m.onnx", "-o", ""], "-o/--output"),
]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fix", "m.onnx", "-o", "./-"], "-: this name is stdout on a command line; choose another name"),
        (["check", ""], "argument PATH: an empty name; give a file; see graphfix check --help"),
        *((words, f"argument {name}: {NO_NAME}; see graphfix {words[0]} --help") for words, name in EMPTY_NAMES),
        (["fix", "m.onnx", "-o", ""], "argument -o/--output: an empty name; give a file; see graphfix fix --help"),
        (
            ["check", "m.onnx", "--report", ""],
            "argument --report: an empty name; give a file; see graphfix check --help",
        ),
    ],
    ids=str,
)
def test_a_file_that_is_not_named_is_refused(
    onnx_file: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(onnx_file.parent)
    assert refused(capsys, onnx_file.parent, *words).endswith(said)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_as_stdin_is_refused_before_it_is_read(tmp_path: Path, device: str) -> None:
    with Path(device).open("rb") as file:
        answer = graphfix(tmp_path, "check", "-", stdin=file.fileno())
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr == (b"graphfix: -: stdin is a device; send a model into it: graphfix show - < model.onnx\n")


@pytest.mark.ci
@pytest.mark.parametrize("source", ["a pipe", "a file"])
def test_dev_stdin_is_read_once_and_never_hangs(tmp_path: Path, onnx_file: Path, source: str) -> None:
    with onnx_file.open("rb") as file:
        stdin = onnx_file.read_bytes() if source == "a pipe" else file.fileno()
        answer = graphfix(tmp_path, "fix", "/dev/stdin", "-o", "f.onnx", stdin=stdin)
    assert (answer.returncode, answer.stderr) == (0, b"")
    assert answer.stdout.startswith(b"/dev/stdin -> f.onnx: ")


@pytest.mark.ci
def test_a_pipe_of_a_shell_is_read_as_a_file(onnx_file: Path) -> None:
    script = f"'{sys.executable}' -m graphfix verify --proof-only <(cat m.onnx) <(cat m.onnx)"
    answer = subprocess.run(
        ["bash", "-c", script], cwd=onnx_file.parent, capture_output=True, check=False, timeout=PATIENCE
    )
    assert (answer.returncode, answer.stderr) == (0, b"")
    assert b": proved for all inputs and sizes" in answer.stdout


@pytest.mark.ci
def test_a_named_pipe_is_read_where_someone_writes_and_refused_after_a_while_elsewhere(
    tmp_path: Path, onnx_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"cat '{onnx_file}' > '{pipe}'"]):
        assert graphfix(tmp_path, "check", "pipe").stdout.startswith(b"pipe: 2 findings")
    monkeypatch.setattr("graphfix.cli.streams.WAIT", 0.1)
    for words in (["check", pipe], ["verify", pipe, onnx_file], ["verify", onnx_file, pipe]):
        assert "nothing was written into this pipe" in refused(capsys, tmp_path, *words)


@pytest.mark.parametrize("option", ["--inputs", "--baseline", "--target-file", "--config", "--report"])
def test_a_pipe_in_place_of_another_file_does_not_hang(
    tmp_path: Path, onnx_file: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    words = ["verify", onnx_file] if option == "--inputs" else ["check"]
    assert "pipe: " in refused(capsys, tmp_path, *words, onnx_file, option, tmp_path / "pipe")


def test_a_pipe_in_place_of_a_rewrite_is_called_a_pipe(
    tmp_path: Path, onnx_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "own.py")
    line = refused(capsys, tmp_path, "check", onnx_file, "--rewrites", tmp_path / "own.py")
    assert line.endswith("own.py: this is a pipe; give the path of a Python file that is a rewrite")


@pytest.mark.parametrize("exit_zero", [False, True])
def test_quiet_says_nothing_of_sites_that_are_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, exit_zero: bool
) -> None:
    (tmp_path / "m.onnx").write_bytes(model("y[?,?] = Add(x0[M,N], x1[P,Q])").SerializeToString())
    words = ["fix", tmp_path / "m.onnx", "-o", tmp_path / "f.onnx", "--unknown", "keep", "--no-verify", "-q"]
    answer = ask(capsys, *words, *["--exit-zero"] * exit_zero)
    assert (answer.status, answer.out, answer.err) == (0 if exit_zero else 4, "", "")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["check", "-"], b"", "stdin: nothing came through the pipe; send a model into it"),
        (["check", "-"], b"<html>", "stdin: an HTML page (a download that failed, perhaps): get the file again"),
        (["check", "-", "-"], b"x", "-: stdin is one model; name a file for the other one"),
        (["verify", "-", "-"], b"x", "-: stdin is one model; name a file for the other one"),
        (["fix", "-", "--in-place"], b"x", "-: a stream can't be replaced; give -o OUT without --in-place"),
        (
            ["fix", "m.onnx", "-o", "-", "--json"],
            b"",
            "-o -: stdout takes the model or the document of --json, not both; use --report FILE.json",
        ),
        (["tosa", "m.onnx", "-o", "-"], b"", "-o -: tosa writes two files; name the first one: -o OUT.tosa"),
        (["check", "/dev/null"], b"", "/dev/null: this is a device; give the path of a model"),
        (["verify", "/dev/null", "m.onnx"], b"", "/dev/null: this is a device; give the path of a model"),
        (
            ["fix", "m.onnx", "-o", "/dev/stdout", "--no-verify"],
            b"",
            "/dev/stdout: this is an open file of the process; choose another name",
        ),
    ],
    ids=str,
)
def test_a_stream_that_cannot_be_is_refused_in_one_line(
    tmp_path: Path, onnx_file: Path, words: Sequence[str], stdin: bytes, message: str
) -> None:
    answer = graphfix(onnx_file.parent, *words, stdin=stdin)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.decode() == f"graphfix: {message}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    "words",
    [
        ["check", "m.onnx", "--report", "-"],
        ["fix", "m.onnx", "-o", "f.onnx", "--report", "-"],
        ["check", "m.onnx", "--write-baseline", "-"],
        ["batch", "m.onnx", "-o", "-"],
        ["batch", "-", "-o", "out"],
    ],
    ids=" ".join,
)
def test_nothing_writes_a_file_named_as_a_stream(
    tmp_path: Path,
    onnx_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(onnx_file.parent)
    assert "'-'" in refused(capsys, tmp_path, *words)


def test_the_python_functions_write_no_file_named_as_a_stream(onnx_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(onnx_file.parent)
    with pytest.raises(GraphfixError, match="this name is stdout on a command line"):
        fix_file(onnx_file, "-")
    for source in (onnx_file.read_bytes(), tflite_model(TEXT.replace("Add", "ADD"))):
        with pytest.raises(GraphfixError, match="this name is stdout on a command line"):
            load(source).save("-")
    assert [path.name for path in onnx_file.parent.iterdir()] == [onnx_file.name]


@pytest.mark.ci
@pytest.mark.parametrize("command", [["check"], ["show"], ["fix", "-o", "f.onnx"], ["verify", "d.onnx"]], ids=" ".join)
def test_a_piped_model_with_data_in_other_files_is_refused(tmp_path: Path, command: list[str]) -> None:
    data = with_data(tmp_path / "d.onnx", "d.data", 2.0)
    answer = graphfix(tmp_path, *command, "-", stdin=data.read_bytes())
    assert answer.returncode == 2
    assert answer.stderr.startswith(b"graphfix: stdin: its data is in other files (")
    assert answer.stderr.endswith(b"); a stream has no folder: name a file\n")


@pytest.mark.ci
def test_a_model_with_data_in_other_files_does_not_go_to_stdout(tmp_path: Path) -> None:
    answer = graphfix(tmp_path, "fix", with_data(tmp_path / "d.onnx", "d.data", 2.0), "-o", "-")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.endswith(b"); stdout takes one file: say -o OUT\n")


@pytest.mark.ci
@pytest.mark.parametrize("location", ["../secret/w.bin", "an absolute name"])
def test_a_model_with_data_in_an_allowed_folder_does_not_go_to_stdout(tmp_path: Path, location: str) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    folder.mkdir()
    path = with_data(folder / "d.onnx", "w.bin", 2.0)
    secret.mkdir()
    (folder / "w.bin").rename(secret / "w.bin")
    proto = load_proto(path, load_external_data=False)
    where = str(secret / "w.bin") if location == "an absolute name" else location
    (entry,) = [each for each in proto.graph.initializer[-1].external_data if each.key == "location"]
    entry.value = where
    path.write_bytes(proto.SerializeToString())
    answer = graphfix(tmp_path, "fix", path, "-o", "-", "--data-root", secret, "--no-verify")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert answer.stderr.endswith(f" ({where}); stdout takes one file: say -o OUT\n".encode())
    assert graphfix(tmp_path, "fix", path, "-o", "out.onnx", "--data-root", secret, "--no-verify").returncode == 0


# --- without another process ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(5, "Input/output error"), "input/output error"),
        (OSError("No more bytes"), "no more bytes"),
    ],
)
def test_a_stream_that_can_not_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, why: str
) -> None:
    def broken(_: Path) -> None:
        raise error

    monkeypatch.setattr(streams, "_stream", broken)
    options = Namespace(command="check", color="never", quiet=True, verbose=False)
    with pytest.raises(GraphfixError, match=f"^stdin: can't be read: {why}; name a file$"):
        streams._copied(options, streams.Streams(tmp_path), Path("-"))


def test_the_answer_goes_to_stderr_only_where_a_model_goes_to_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for output, has_model, said in (
        (tmp_path / "f.onnx", True, ("", "table\n")),
        (tmp_path / "f.onnx", False, ("table\n", "")),
        (None, True, ("table\n", "")),
    ):
        with streams.Streams(tmp_path, output=output).table(has_model=has_model):
            sys.stdout.write("table\n")
        assert capsys.readouterr() == said


def test_what_can_not_be_written_to_a_full_stdout_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = (tmp_path / "full").open("w")

    def flush() -> None:
        raise OSError(28, "No space left on device")

    with full:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=flush, fileno=full.fileno))
        terminal.drop_stdout()
        os.write(full.fileno(), b"the rest")
    with (tmp_path / "good").open("w") as good:
        good.write("all of it")
        monkeypatch.setattr(sys, "stdout", good)
        terminal.drop_stdout()
        assert (tmp_path / "good").read_text() == "all of it"
        os.write(good.fileno(), b", more")
    assert (tmp_path / "good").read_text() == "all of it, more"
    assert (tmp_path / "full").read_text() == ""


ONE, TWO, STREAM = Path("m.onnx"), Path("n.onnx"), Path("-")
ODD = {
    "stdin twice": ([STREAM, STREAM], {}, "-: stdin is one model; name a file for the other one"),
    "in place": ([STREAM], {"in_place": True}, "-: a stream can't be replaced; give -o OUT without --in-place"),
    "two files of tosa": (
        [ONE],
        {"output": STREAM, "command": "tosa"},
        "-o -: tosa writes two files; name the first one: -o OUT.tosa",
    ),
    "a model and a document": (
        [ONE],
        {"output": STREAM, "json": True},
        "-o -: stdout takes the model or the document of --json, not both; use --report FILE.json",
    ),
    "a terminal": ([ONE], {"output": STREAM}, "-o -: stdout is a terminal or closed; send it to a file or a pipe"),
}


def options_of(**said: object) -> Namespace:
    return Namespace(**{"command": "fix", "json": False, "in_place": False, "output": None, **said})


@pytest.mark.parametrize("name", ODD)
def test_options_that_do_not_go_with_a_stream_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    models, said, message = ODD[name]
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(GraphfixError) as refusal, streams.opened(options_of(models=models, **said), "models"):
        pass
    assert str(refusal.value) == message


@pytest.mark.parametrize("closed", ["stdout", "__stdout__"])
def test_no_model_goes_to_a_stdout_that_is_closed(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, closed, None)
    message = "stdout is a terminal or closed"
    with pytest.raises(GraphfixError, match=message), streams.opened(options_of(model=ONE, output=STREAM), "model"):
        pass


@pytest.mark.parametrize(
    ("models", "said", "output"),
    [
        ([STREAM, ONE], {}, False),
        ([STREAM], {"command": "tosa"}, False),
        ([STREAM], {"json": True}, False),
        ([STREAM], {}, True),
    ],
)
def test_options_that_go_with_a_stream_are_not_refused(
    models: list[Path], said: dict[str, object], output: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: not output))
    streams._refuse_options(options_of(**said), models, output=output)


def test_a_file_stands_for_stdout_until_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(buffer=BytesIO(), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdout", stream)
    options = options_of(model=tmp_path / "m.onnx", more=[ONE, TWO], output=STREAM)
    with streams.opened(options, "model", "more") as opened:
        assert opened.output == options.output
        assert opened.folder == options.output.parent
        assert (options.model, options.more, opened.inputs) == (tmp_path / "m.onnx", [ONE, TWO], [])
        opened.publish()
        assert stream.buffer.getvalue() == b""
        options.output.write_bytes(b"made")
        opened.publish()
        assert stream.buffer.getvalue() == b"made"
        entry = opened.renamed_entry(Outcome("fix", "m.onnx", "onnx", output=str(options.output)))
        assert isinstance(entry, Outcome)
        assert (entry.source, entry.output) == ("m.onnx", "stdout")
    assert not options.output.parent.exists()


def test_without_a_stream_there_is_no_folder_and_nothing_is_asked_of_the_models() -> None:
    options = options_of(models=[ONE, TWO], output=Path("f.onnx"))
    with streams.opened(options, "models") as opened:
        assert (opened.folder, opened.output, options.models) == (None, None, [ONE, TWO])
        opened.publish()
        assert opened.refusing_data_files(len, options.models) is len


def test_a_message_names_the_stream_and_not_the_file_that_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        with streams.opened(options, "model"):
            raise GraphfixError(f"{options.output}: it is bad")

    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: False))
    options = options_of(model=ONE, output=STREAM)
    with pytest.raises(GraphfixError, match=r"^stdout: it is bad$"):
        failing()
    assert not options.output.parent.exists()


def test_a_stream_alone_is_copied_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_stream", lambda _: io.BytesIO(b"a model"))
    options = Namespace(command="check", color="never", quiet=True, verbose=False)
    of_a_file, piped = tmp_path / "m.onnx", streams.Streams(tmp_path)
    of_a_file.write_bytes(b"another")
    assert streams._copied(options, piped, of_a_file) is of_a_file
    copies = [streams._copied(options, piped, Path("-")) for _ in range(2)]
    assert copies == [tmp_path / "0" / "stdin", tmp_path / "1" / "stdin"] == piped.inputs
    assert {copy.read_bytes() for copy in copies} == {b"a model"}
    assert piped.names == {str(copy): "stdin" for copy in copies}


def test_a_stream_that_is_empty_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_stream", lambda _: io.BytesIO())
    options = Namespace(command="check", color="never", quiet=True, verbose=False)
    with pytest.raises(GraphfixError, match=r"^stdin: nothing came through the pipe; send a model into it$"):
        streams._copied(options, streams.Streams(tmp_path), Path("-"))


@pytest.mark.parametrize(
    ("given", "paths", "said"),
    [
        ({}, ["-", "m.onnx"], None),
        ({}, ["-", "-"], "-: stdin is one model"),
        ({"in_place": True}, ["-"], "-: a stream can't be replaced"),
        ({"command": "tosa"}, ["-"], None),
        ({"command": "tosa", "output": True}, ["m.onnx"], "-o -: tosa writes two files"),
        ({"json": True}, ["-"], None),
        ({"json": True, "output": True}, ["m.onnx"], "-o -: stdout takes the model or the document"),
        ({"terminal": True}, ["-"], None),
        ({"terminal": True, "output": True}, ["-"], "-o -: stdout is a terminal or closed"),
        ({"output": True}, ["-"], None),
    ],
)
def test_what_does_not_go_with_a_stream_is_refused(
    given: dict[str, Any], paths: list[str], said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: given.get("terminal", False)))
    options = Namespace(**{"command": "fix", "json": False, **given})
    asked = lambda: streams._refuse_options(options, [Path(path) for path in paths], output=given.get("output", False))  # noqa: E731
    if said is None:
        asked()
        return
    with pytest.raises(GraphfixError) as raised:
        asked()
    assert str(raised.value).startswith(said)


def test_a_pipe_is_a_stream_and_what_is_no_file_is_left_to_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"a model")
    assert streams._is_stream(Path("-"))
    assert streams._is_stream(tmp_path / "pipe")
    for name in ("file", "none", "no\0name", "."):
        assert not streams._is_stream(tmp_path / name), name
