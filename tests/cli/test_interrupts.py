"""Ctrl-C and `kill`, at any time: no partial file, no process, no traceback is left; a line says what is written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import onnx
import pytest

from graphfix.formats.neutral import files, publish
from graphfix.runtimes import tosa
from tests.support.asking import listing
from tests.support.notation import model
from tests.support.places import ROOT
from tests.support.tiers import in_turn, of_ci

PHASES = ("reading the model", "planning", "writing the result", "proving", "running the first model")
"""What -v says when a phase begins, in order; before the last one ends, every one of them is over."""
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
NODES = 400
SOON = 20
"""Seconds after which a process counts as hung."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose runs take long: many products, and free sizes."""
    lines = [f"v{at + 1}[N,256] = MatMul(v{at}, w:const[256,256])" for at in range(NODES)]
    lines[0] = "v1[N,256] = Add(v0[N,256], b:const[256])"
    path = tmp_path_factory.mktemp("slow") / "slow.onnx"
    path.write_bytes(model("\n".join(lines)).SerializeToString())
    return path


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += map(int, (task / "children").read_text().split())
    return found


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


HAS_PROC = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc to find child processes in")


SIGNALS = [pytest.param(signal.SIGINT, 130, id="SIGINT"), pytest.param(signal.SIGTERM, 143, id="SIGTERM")]


@HAS_PROC
@pytest.mark.parametrize(
    ("phase", "number", "status"),
    # in the last phase, where another process runs, CI sends both
    in_turn(of_ci(PHASES[:-1]), SIGNALS) + in_turn(of_ci(PHASES[-1:]), SIGNALS, share=1),
)
def test_a_stopped_fix_leaves_nothing(tmp_path: Path, slow: Path, phase: str, number: int, status: int) -> None:
    scratch, folder = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    folder.mkdir()
    command = [sys.executable, "-m", "graphfix", "fix", str(slow), "-o", str(folder / "f.onnx"), "-v", "--runs", "5000"]
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path)))}
    begun = time.monotonic()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    ) as asked:
        assert asked.stderr is not None
        said = []
        for line in asked.stderr:
            said.append(line)
            if line.rstrip().endswith(phase):
                break
        if phase == PHASES[-1]:
            while not children(asked.pid) and time.monotonic() < begun + SOON:
                time.sleep(0.01)
            time.sleep(0.3)
        started = children(asked.pid)
        assert bool(started) >= (phase == PHASES[-1])
        if number == signal.SIGINT:
            os.killpg(asked.pid, number)  # as a terminal does: the process that runs the models gets it too
        else:
            asked.send_signal(number)
        out, rest = asked.communicate(timeout=SOON)
    assert (asked.returncode, out) == (status, "")
    assert "Traceback" not in "".join(said) + rest
    assert rest.splitlines()[-1] == f"graphfix: {WORDS[number]}; nothing written"
    assert listing(folder) == {}
    assert listing(scratch) == {}
    while any(map(is_there, started)) and time.monotonic() < begun + SOON:
        time.sleep(0.01)
    assert not any(map(is_there, started))


OWN = '''"""Wait."""

import time

from graphfix.api.rewriting import ANY

ON = ANY
CODE = "MY101"


def plan(node):
    for _ in range(600):  # CPython may see a signal only at the end of the call before which it came
        time.sleep(0.1)
    yield
'''


@pytest.mark.ci
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_stops_in_a_rewrite_of_one_s_own_and_whoever_reads_may_be_gone(
    tmp_path: Path, number: int, status: int
) -> None:
    (tmp_path / "wait.py").write_text(OWN)
    for name, line in (("a", "y[2] = Neg(x[2])"), ("b", "y[2] = Add(x[2], b[2])")):
        (tmp_path / f"{name}.onnx").write_bytes(model(line).SerializeToString())
    (tmp_path / "graphfix.toml").write_text('[[overrides]]\nfiles = ["b.onnx"]\nrewrites = ["wait.py"]\n')
    outer = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment = {**outer, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path)))}
    read, write = os.pipe()
    command = [sys.executable, "-m", "graphfix", "check", "a.onnx", "b.onnx", "-v"]
    with subprocess.Popen(
        command, stdout=write, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as asked:
        os.close(write)
        os.close(read)
        assert asked.stderr is not None
        planning = (line for line in asked.stderr if line.rstrip().endswith("planning"))
        assert all(next(planning, "") for _ in range(2))
        asked.send_signal(number)
        _, rest = asked.communicate(timeout=SOON)
    assert (asked.returncode, rest) == (status, f"graphfix: {WORDS[number]}; nothing written\n")


GRAPHFIX = """
import sys
sys.argv[0] = "graphfix"
from graphfix.__main__ import run
run()
"""
"""Starts graphfix in an interpreter that has changed something before."""
HUNG = """
import importlib, os, sys, time
place, name = os.environ["HANG_IN"].split(":")
def hang(*arguments, **options):
    print("it hangs", file=sys.stderr, flush=True)
    for _ in range(600):
        time.sleep(0.1)
owner = importlib.import_module(place)
*classes, name = name.split(".")
for each in classes:
    owner = getattr(owner, each)
setattr(owner, name, hang)
"""
"""A graphfix in which one function hangs, the phase that an interrupt meets."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model with its data in another file, which is fixed in a folder that holds nothing else."""
    proto = model("y[2,300] = Add(x[2,300], w:const[300])")
    onnx.save_model(proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    (tmp_path / "t.onnx").write_bytes(model("y[2,3] = Add(x[2,3], b[3])").SerializeToString())
    (tmp_path / "open.onnx").write_bytes(model("y[?,?] = Add(x0[M,N], x1[P,Q])").SerializeToString())
    (tmp_path / "u.onnx").write_bytes(
        model("c[2,3] = Add(x[2,3], b[3])\ny[2,3] = Identity(c[2,3])").SerializeToString()
    )
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "z.onnx").write_bytes((tmp_path / "t.onnx").read_bytes())
    (tmp_path / "scratch").mkdir()
    return tmp_path


def interrupted(
    folder: Path, place: str, words: Sequence[str], *, number: int = signal.SIGINT, program: str = HUNG
) -> tuple[int, str, dict[str, str]]:
    """Interrupt a command, as a terminal does, when it hangs in a place; return its status, stderr and new files."""
    before = listing(folder)
    environment = {
        **os.environ,
        "HANG_IN": place,
        "TMPDIR": str(folder / "scratch"),
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path))),
    }
    command = [sys.executable, "-P", "-c", program + GRAPHFIX, *words]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as asked:
        assert asked.stderr is not None
        assert "it hangs" in next((line for line in asked.stderr if "it hangs" in line), "it ended before")
        started = children(asked.pid)
        os.killpg(asked.pid, number)
        _, rest = asked.communicate(timeout=SOON)
    end = time.monotonic() + SOON
    while any(map(is_there, started)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(is_there, started))
    after = listing(folder)
    return asked.returncode, rest, {name: what for name, what in after.items() if before.get(name) != what}


FIX = ["fix", "m.onnx", "-o", "f.onnx", "--report", "r.json"]
NOTHING = "interrupted; nothing written"


@pytest.mark.ci
@HAS_PROC
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("graphfix.cli.standard_streams:repair", FIX),
        ("graphfix.cli.parser:said", FIX),
        ("graphfix.cli.configuration.settings:in_force", FIX),
        ("graphfix.formats:load", FIX),
        ("graphfix.engine.run:run", FIX),
        ("graphfix.formats.neutral.files:_write_pieces", FIX),
        ("graphfix.checker:verify", FIX),
        ("graphfix.formats.neutral.publish:publish", FIX),
        ("graphfix.formats.neutral.files:Staging.commit", [*FIX, "--no-verify"]),
        ("graphfix.formats.neutral.publish:publish", ["fix", "t.onnx", "--in-place"]),
        ("graphfix.formats:load", ["check", "m.onnx", "t.onnx", "--write-baseline", "b.json"]),
        ("graphfix.engine.extracts.listing:listing", ["show", "m.onnx"]),
        ("graphfix.checker.proof:prove", ["verify", "t.onnx", "u.onnx"]),
        ("graphfix.runtimes.process:Child.run", ["verify", "t.onnx", "u.onnx", "--runs", "4"]),
        ("graphfix.runtimes.process:Child.finish", ["verify", "t.onnx", "u.onnx"]),
        ("graphfix.api:explain", ["explain", "GF101"]),
        ("graphfix.runtimes.doctor:examine", ["doctor"]),
        ("graphfix.cli.configuration.command:answer", ["config"]),
        ("graphfix.cli.running:completion_script", ["completion", "bash"]),
        ("graphfix.batch.sources:models", ["batch", "zoo", "-o", "out"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_an_interrupted_command_says_that_nothing_is_written(folder: Path, place: str, words: Sequence[str]) -> None:
    assert interrupted(folder, place, words) == (130, f"graphfix: {NOTHING}\n", {})


@pytest.mark.ci
@HAS_PROC
@pytest.mark.parametrize(
    ("place", "words", "account", "files"),
    [
        ("graphfix.report.forms.registry:write", FIX, "f.onnx is written, r.json is not", {"f.onnx"}),
        (
            "graphfix.report.forms.registry:write",
            ["fix", "t.onnx", "--in-place", "--report", "r.json"],
            "t.onnx is written, r.json is not",
            {"t.onnx"},
        ),
        (
            "graphfix.api.pipeline:check",
            ["fix", "open.onnx", "-o", "f.onnx", "--unknown", "keep"],
            "f.onnx is written",
            {"f.onnx"},
        ),
        (
            "graphfix.report.forms.registry:write",
            ["check", "t.onnx", "--write-baseline", "b.json", "--report", "r.json"],
            "b.json is written, r.json is not",
            {"b.json"},
        ),
    ],
)
def test_an_interrupted_command_names_the_files_that_it_has_written(
    folder: Path, place: str, words: Sequence[str], account: str, files: set[str]
) -> None:
    status, err, new = interrupted(folder, place, words)
    assert (status, err) == (130, f"graphfix: interrupted; {account}\n")
    assert set(new) == files


@pytest.mark.ci
@HAS_PROC
def test_a_batch_that_is_interrupted_while_it_writes_its_report_keeps_its_models(folder: Path) -> None:
    status, err, new = interrupted(
        folder, "graphfix.report.forms.registry:write", ["batch", "zoo", "-o", "out", "--report", "r.json"]
    )
    account = "1 of 1 model finished, what is finished stays; the same command does the rest"
    assert (status, err) == (130, f"graphfix: interrupted; {account}\n")
    assert "out/z.onnx" in new
    assert "r.json" not in new


@pytest.mark.ci
@HAS_PROC
@pytest.mark.skipif(shutil.which("tosa-opt") is None and not tosa.versions(), reason="needs the TOSA tools")
def test_of_tosa_s_two_files_none_stays_alone(folder: Path) -> None:
    words = ["tosa", "t.onnx", "-o", "t.tosa", "--no-verify"]
    assert interrupted(folder, "graphfix.tosa.convert:convert", words) == (130, f"graphfix: {NOTHING}\n", {})


def test_the_first_of_two_files_goes_where_an_interrupt_comes_before_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(tmp_path / f"made{number}", tmp_path / f"name{number}") for number in range(2)]
    for made, _ in pairs:
        made.write_text("a draft")
    rename = publish.rename

    def interrupted(made: Path, output: Path) -> None:
        if output == pairs[1][1]:
            raise KeyboardInterrupt
        rename(made, output)

    monkeypatch.setattr(publish, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        publish.publish_pair(*pairs)
    assert [path.name for path in tmp_path.iterdir()] == ["made1"]


def test_the_data_of_a_published_model_stays_where_an_interrupt_comes_behind_its_renaming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = publish.rename

    def interrupted(made: Path, output: Path) -> None:
        rename(made, output)
        raise KeyboardInterrupt

    monkeypatch.setattr(publish, "rename", interrupted)
    output, data = tmp_path / "f.onnx", tmp_path / "f.onnx.data"

    def published() -> None:
        with publish.scratch(output) as made:
            made[0].write_text("a model")
            data.write_text("its data")
            made.append(data)
            publish.publish(made, output)

    with pytest.raises(KeyboardInterrupt):
        published()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.onnx", "f.onnx.data"]


def test_a_staged_model_keeps_its_data_where_an_interrupt_comes_behind_the_last_renaming(tmp_path: Path) -> None:
    def staged() -> None:
        with files.staged(tmp_path / "m.onnx") as staging:
            for name in ("m.data", "m.onnx"):
                staging.write(tmp_path / name, files.Source(name, memoryview(b"")), [memoryview(b"x")])
            staging.commit()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        staged()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.data", "m.onnx"]


@pytest.mark.ci
@HAS_PROC
def test_an_interrupted_pipe_says_that_the_model_on_stdout_is_not_complete(folder: Path) -> None:
    status, err, new = interrupted(folder, "shutil:copyfileobj", ["fix", "t.onnx", "-o", "-", "--no-verify"])
    assert (status, err.splitlines()[-1], new) == (
        130,
        "graphfix: interrupted; the model on stdout is not complete",
        {},
    )


@HAS_PROC
def test_an_interrupt_while_stdin_sends_nothing_is_one_line(folder: Path) -> None:
    status, err, new = interrupted(folder, "graphfix.cli.streams:_stream", ["check", "-"])
    assert (status, err, new) == (130, f"graphfix: {NOTHING}\n", {})


NATIVE = """
import sys, time
from importlib.machinery import ExtensionFileLoader
CODES = (ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__)
class Slow:
    def find_spec(self, name, path=None, target=None):
        frame = sys._getframe()
        while frame is not None and frame.f_code not in CODES:
            frame = frame.f_back
        if frame is not None and name.startswith("numpy"):
            sys.meta_path.remove(self)
            print("it hangs", file=sys.stderr, flush=True)
            for _ in range(10):
                time.sleep(0.05)
            print("it went on", file=sys.stderr, flush=True)
sys.meta_path.insert(0, Slow())
"""
"""A graphfix in which a module that numpy's native code imports takes half a second."""


@pytest.mark.ci
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_import_ends_before_a_command_stops(folder: Path, number: signal.Signals, status: int) -> None:
    assert interrupted(folder, "", FIX, number=number, program=NATIVE) == (
        status,
        f"it went on\ngraphfix: {WORDS[number]}; nothing written\n",
        {},
    )


def test_a_rewrite_of_one_s_own_whose_import_hangs_is_stopped(tmp_path: Path) -> None:
    begun = (
        "import sys, time\nprint('it hangs', file=sys.stderr, flush=True)\nfor _ in range(600):\n    time.sleep(0.1)\n"
    )
    (tmp_path / "m.onnx").write_bytes(model("y[2] = Neg(x[2])").SerializeToString())
    (tmp_path / "own.py").write_text(begun)
    said = interrupted(tmp_path, "", ["check", "m.onnx", "--rewrites", "own.py"], program="")
    assert said == (130, f"graphfix: {NOTHING}\n", {})
