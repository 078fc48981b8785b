"""graphfix in a process in which everything is taken away that macOS or Windows lacks: another way, or one line."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import linux_assumptions
import onnx
import onnx.parser
import pytest

from graphfix.batch import sources
from graphfix.results import GraphfixError
from tests.support.places import MODELS, ROOT

SHIM = ROOT / "tests" / "support" / "other_system"
MODULES = ("errno", "fcntl", "grp", "mmap", "os", "pwd", "resource", "select", "signal", "socket", "termios", "time")
ADD = MODELS / "rfc_rank_expansion.onnx"
ADD_TFLITE = MODELS / "rfc_rank_expansion.tflite"


def taken_away(system: str) -> dict[str, list[str]]:
    """Return by module the names that a system lacks, but for those with which LiteRT's build loads libraries."""
    taken = {
        **{module: linux_assumptions.lacking(module) for module in MODULES},
        "psutil": linux_assumptions.PSUTIL,
    }
    found = {
        module: [name for name, on in names.items() if system in on and not name.startswith("RTLD_")]
        for module, names in taken.items()
    }
    return {module: names for module, names in found.items() if names}


def run(system: str, folder: Path, *command: object, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, without what the system lacks."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(SHIM), str(ROOT))),
        "GRAPHFIX_TAKEN_AWAY": json.dumps(taken_away(system)),
    }
    return subprocess.run(
        [sys.executable, "-P", *map(str, command)],
        cwd=folder, env=environment, input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip


def graphfix(system: str, folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    return run(system, folder, "-m", "graphfix", *command)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("system", "gone", "left"),
    [
        (
            "Windows",
            "os.fork signal.SIGALRM signal.SIGKILL select.poll os.set_blocking mmap.MADV_DONTNEED os.sysconf",
            "os.kill",
        ),
        ("macOS", "os.sched_getaffinity os.copy_file_range psutil.RLIMIT_DATA", "os.fork signal.SIGALRM select.poll"),
    ],
)
def test_the_names_are_gone_in_the_process(system: str, gone: str, left: str, tmp_path: Path) -> None:
    """Otherwise the other tests would show nothing."""
    names = [*gone.split(), *left.split()]
    program = (
        f"import mmap, os, psutil, select, signal\nfor n in {names}:\n m, a = n.split('.')\n print(hasattr(eval(m), a))"
    )
    done = run(system, tmp_path, "-c", program)
    assert done.stdout.split() == ["False"] * len(gone.split()) + ["True"] * len(left.split()), done.stderr
    for program in (
        "open('/proc/self/cgroup')",
        "import os; os.listdir('/sys')",
        *(["import fcntl"] * (system == "Windows")),
    ):
        assert run(system, tmp_path, "-c", program).returncode == 1


@pytest.mark.parametrize(
    ("model", "system"),
    [
        pytest.param(ADD, "Windows", marks=pytest.mark.ci),
        pytest.param(ADD_TFLITE, "Windows", marks=pytest.mark.ci),
        pytest.param(ADD_TFLITE, "macOS", marks=pytest.mark.ci),
        pytest.param(ADD, "macOS", marks=pytest.mark.full),  # which lacks less than Windows
    ],
)
def test_a_model_is_checked_fixed_verified_and_shown(system: str, model: Path, tmp_path: Path) -> None:
    found = graphfix(system, tmp_path, "check", model)
    assert (found.returncode, found.stderr) == (1, "")
    assert "GF101" in found.stdout
    out = tmp_path / f"out{model.suffix}"
    fixed = graphfix(system, tmp_path, "fix", model, "-o", out, "--report", "r.json", "--report", "r.html")
    assert (fixed.returncode, fixed.stderr) == (0, "")
    assert "proved for all inputs and sizes" in fixed.stdout
    assert "bit-equal" in fixed.stdout
    assert graphfix(system, tmp_path, "verify", model, out).returncode == 0
    assert "operands: none is lifted or stretched" in graphfix(system, tmp_path, "show", out).stdout


@pytest.mark.ci
@pytest.mark.parametrize("model", [ADD, ADD_TFLITE], ids=lambda path: path.suffix[1:])
def test_a_model_is_fixed_and_proved_without_a_runtime(model: Path, tmp_path: Path) -> None:
    names = str(model), f"out{model.suffix}"
    program = (
        "import sys; sys.modules.update({'onnxruntime': None, 'ai_edge_litert': None}); import graphfix; "
        f"graphfix.fix_file(*{names}, check_result=False); print(graphfix.verify(*{names}, proof='only').status)"
    )
    done = run("Windows", tmp_path, "-c", program)
    assert done.stdout == "proved\n", done.stderr


@pytest.mark.ci
def test_large_weights_are_copied_without_calls_of_the_kernel(tmp_path: Path) -> None:
    weights = "float[600,600] w = {" + ",".join(["1.5"] * 360_000) + "}"
    graph = f"g (float[2,600] x, float[600] b) => (float[2,600] y) <{weights}> {{ m = MatMul (x, w) y = Add (m, b) }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    onnx.save(made, tmp_path / "large.onnx")
    done = graphfix("Windows", tmp_path, "fix", "large.onnx", "-o", "out.onnx")
    assert (done.returncode, done.stderr) == (0, "")
    assert onnx.load(tmp_path / "out.onnx").graph.initializer[0] == made.graph.initializer[0]


@pytest.mark.ci
def test_a_batch_is_refused_on_windows_and_done_on_macos(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "m.onnx").write_bytes(ADD.read_bytes())
    refused = graphfix("Windows", tmp_path, "batch", "in", "-o", "out")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "graphfix: a batch needs Linux, macOS or another POSIX system: do the models one by one here\n"
    )
    done = graphfix("macOS", tmp_path, "batch", "in", "-o", "out", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "m.onnx").is_file()


def test_a_named_pipe_is_refused_on_windows(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    refused = graphfix("Windows", tmp_path, "check", "pipe.onnx")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "a named pipe can't be read on this system; send the model into stdin" in refused.stderr


@pytest.mark.ci
def test_an_inference_that_does_not_end_is_stopped_without_signals() -> None:
    """The worker imports no site packages, so the names are deleted in the process that runs it."""
    worker = ROOT / "graphfix" / "runtimes" / "onnx" / "shape_inference_worker.py"
    endless = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] o, float[2] p) => (float y) '
        '{ y = Einsum <equation = "a2,a2->a2"> (o, p) }'
    )
    program = (
        "import pickle, runpy, signal, sys\n"
        "del signal.SIGALRM, signal.setitimer, signal.alarm\n"
        f"sys.argv = ['worker', {str(Path(onnx.__file__).parent)!r}]\n"
        f"runpy.run_path({str(worker)!r}, run_name='__main__')\n"
    )
    question = pickle.dumps((endless.SerializeToString(), 1.0, False, False))
    done = subprocess.run([sys.executable, "-c", program], input=question, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Timeout" in done.stderr


def test_names_that_differ_by_case_are_one_file_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [("a/Model.onnx", "Model.onnx"), ("b/model.onnx", "model.onnx")]
    sources._refuse_one_output(found, "fix")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(GraphfixError, match=r"that of a/Model\.onnx too"):
        sources._refuse_one_output(found, "fix")
