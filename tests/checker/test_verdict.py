"""When the proof is asked, what it decides beside the runs, and what a proof alone imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, cast

import pytest

import graphfix as package
from graphfix import api, checker
from graphfix.checker.files.pair import Pair
from graphfix.checker.proof import STORED_SHAPES, Proof
from graphfix.checker.runs.early import MODULES
from graphfix.checker.runs.tflite import allocated_shapes
from graphfix.checker.task import Criterion, Task
from graphfix.checker.verdict import _discharged
from graphfix.cli import commands
from graphfix.results import GraphfixError, Run, Verdict
from graphfix.runtimes.process import Child
from tests.support.checked import verify
from tests.support.written import Written

ROOT = Path(package.__file__).parent.parent
MODELS = ROOT / "models"


@pytest.mark.ci
@pytest.mark.parametrize("name", ["matmul.onnx", "quantized/per_channel.tflite"])
def test_a_proof_alone_imports_no_runtime_and_nothing_of_the_rewriter(name: str, tmp_path: Path) -> None:
    after = tmp_path / Path(name).name
    api.fix_file(MODELS / name, after, check_result=False)
    code = (
        "import sys, pathlib; from tests.support.checked import verify\n"
        "v = verify(*map(pathlib.Path, sys.argv[1:3]), proof='only'); assert v.status == 'proved', v\n"
        "print(*sys.modules, sep=chr(10))"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code, str(MODELS / name), str(after)],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    names = set(asked.stdout.split())
    assert names.isdisjoint({"onnxruntime", "ai_edge_litert.interpreter", "rewrites"})
    ours = {each for each in names if each.startswith("graphfix.") and not each.startswith("graphfix.checker.")}
    ours -= {each for each in ours if each.startswith("graphfix.results.")}
    inference = {f"graphfix.runtimes.onnx{name}" for name in ("", ".shape_inference", ".shape_inference_worker")}
    assert ours <= {"graphfix.version", "graphfix.results", "graphfix.checker", "graphfix.runtimes"} | inference


@pytest.mark.ci
@pytest.mark.parametrize("name", ["encoder.onnx", "quantized/per_channel.tflite"])
def test_a_proof_alone_needs_no_runtime_installed(name: str, tmp_path: Path) -> None:
    after = tmp_path / Path(name).name
    api.fix_file(MODELS / name, after, check_result=False)
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['onnxruntime', 'ai_edge_litert']))\n"  # as if they were absent
        "from graphfix.cli.commands import main; sys.exit(main(['verify', '--proof-only', *sys.argv[1:3]]))"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code, str(MODELS / name), str(after)],
        check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    assert "proved for all inputs and sizes; nothing was run" in asked.stdout


def test_what_no_runtime_can_run_is_proved_and_written(written: Written, tmp_path: Path) -> None:
    path = written(
        "g (float[2,3] x, float[3] b) => (float[2,3] z) { y = Add(x, b) z = own.Frob(y) }", domains=', "own" : 1'
    )
    outcome = api.fix_file(path, tmp_path / "fixed.onnx")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert outcome.verdict.reason is not None
    assert outcome.output is not None
    assert outcome.seconds["proof"] > 0


def test_a_run_that_differs_is_reported_and_nothing_is_proved(written: Written) -> None:
    text = "g (float[N] x) => (float[N] y) {{ y = {}(x) }}"
    verdict = verify(written(text.format("Neg")), written(text.format("Abs")))
    assert verdict.status == "different"
    assert verdict.proof is not None
    first = verdict.proof["first"]
    assert (first["before"], first["after"]) == ("Neg#0", "Abs#0")


@pytest.mark.ci
def test_what_is_equal_by_runs_only_is_3_when_a_proof_is_asked_for(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "g (float[4] x) => (float[4] y) {{ {} }}"
    paths = [str(written(text.format(body))) for body in ("y = Neg(x)", "a = Neg(x) b = Neg(a) y = Neg(b)")]
    assert commands.main(["verify", *paths]) == 0
    assert "; not proved: Neg#1 of the second file has no match in the first" in capsys.readouterr().out
    assert commands.main(["verify", *paths, "--strict-proof"]) == 3
    assert commands.main(["verify", *paths, "--proof-only"]) == 3


def test_a_file_that_is_no_model_is_an_error_of_the_proof_too(tmp_path: Path) -> None:
    for name, data in (("bad.onnx", b"no model"), ("bad.tflite", b"\x10\0\0\0TFL3" + b"\xff" * 40)):
        path, other = tmp_path / name, tmp_path / f"other_{name}"
        path.write_bytes(data)
        other.write_bytes(data + b" ")
        with pytest.raises(GraphfixError, match="bad"):
            verify(path, other, proof="only")


def test_sizes_that_are_bound_are_bound_in_the_proof(tmp_path: Path) -> None:
    for name, dim in (("encoder.onnx", {"batch": "2"}), ("rfc/dynamic_2d.tflite", {"x0[0]": "4"})):
        after = tmp_path / Path(name).name
        outcome = api.fix_file(MODELS / name, after, dims=dim, runs=1)
        assert outcome.verdict is not None
        assert outcome.verdict.status == "proved"


@pytest.mark.parametrize(
    ("name", "runtime"), [("matmul.onnx", "onnxruntime"), ("quantized/per_channel.tflite", "LiteRT")]
)
def test_the_process_that_is_started_imports_the_runtime_of_the_file(
    name: str, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr(Child, "start", lambda _, *words: told.append(words))
    checker.started(MODELS / name).close()
    assert told == [(runtime, MODULES[runtime])]


@pytest.mark.parametrize(
    ("run", "status", "assumed", "asked"),
    [
        ("equal", "proved", STORED_SHAPES, True),
        ("equal", "proved", "something else", False),
        ("equal", "not proved", STORED_SHAPES, False),
        ("undecided", "proved", STORED_SHAPES, False),
    ],
)
@pytest.mark.parametrize("hold", [True, False])
def test_litert_is_asked_about_stored_shapes_where_a_proof_needs_them_and_a_run_was_equal(
    run: Literal["equal", "undecided"],
    status: str,
    assumed: str,
    asked: bool,
    hold: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(allocated_shapes, "shapes_hold", lambda *_: hold)
    told: list[str] = []
    task = Task(
        Pair(tmp_path / "a.tflite", tmp_path / "b.tflite", tflite=True), None, None, 0, Criterion(), "with",
        lambda text, *_: told.append(text), process=cast("Child", object()),
    )  # fmt: skip
    seen = Verdict("equal", runs=(Run({}, "off", run),))
    found = _discharged(task, seen, Proof(status, assumes=(assumed,)), None)
    assert found == (frozenset((STORED_SHAPES,)) if asked and hold else frozenset())
    assert told == (["comparing the stored shapes with LiteRT's"] if asked else [])
