"""What `doctor` asks of an installation: each fault of a runtime is one line, and nothing of the user's is said."""

from __future__ import annotations

import getpass
import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphfix.results.environment import Probe
from graphfix.runtimes import doctor, extras, probe, tosa
from graphfix.runtimes.litert.evaluation import KERNELS
from models.builders.tflite.text import model as tflite
from tests.support.notation import model as onnx_model
from tests.support.places import ROOT

QUESTIONS = {question.probe: question for question in doctor.QUESTIONS}
NEEDED = [question.probe for question in doctor.QUESTIONS if question.extra is None]
OPTIONAL = [question.probe for question in doctor.QUESTIONS if question.extra is not None]


def planted(monkeypatch: pytest.MonkeyPatch, folder: Path, module: str, text: str) -> None:
    """Put a package of this name in front of the real one."""
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


def asked(name: str, seconds: float = doctor.SECONDS) -> Probe:
    found = doctor.ask(QUESTIONS[name], seconds=seconds)
    assert "\n" not in (found.reason or "")
    return found


@pytest.mark.ci
@pytest.mark.parametrize("name", NEEDED)
def test_what_graphfix_needs_works_here(name: str) -> None:
    found = asked(name)
    assert (found.status, found.reason) == ("works", None)


@pytest.mark.ci
@pytest.mark.tosa
@pytest.mark.parametrize("name", OPTIONAL)
def test_the_tools_of_the_extra_work_where_they_are_installed(name: str) -> None:
    found = asked(name)
    assert (found.status, found.reason) == ("works", None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("import os\nos.abort()", "aborts the process (SIGABRT)", id="aborts"),
        pytest.param(
            "import os\nprint('no AVX here', flush=True)\nos.abort()",
            "aborts the process (SIGABRT): no AVX here",
            id="aborts with a word",
        ),
        pytest.param(
            "import os\nos._exit(0)",
            "ends the process without an answer (exit status 0)",
            id="ends as if all were well",
        ),
        pytest.param(
            "raise ImportError('libgomp.so.1:\\n cannot open shared object file')",
            "ImportError: libgomp.so.1: cannot open shared object file",
            id="a broken import",
        ),
        pytest.param(
            "import gone_with_the_wind",
            "ModuleNotFoundError: No module named 'gone_with_the_wind'",
            id="lacks a package",
        ),
        pytest.param(
            "raise RuntimeError('caf\\u00e9 \\udc80 \\x00')",
            "RuntimeError: caf\u00e9 \\udc80 \x00",
            id="says what no locale can",
        ),
        pytest.param("a =", "SyntaxError: invalid syntax (__init__.py, line 1)", id="is no Python"),
    ],
)
def test_a_runtime_that_does_not_work_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, reason: str
) -> None:
    planted(monkeypatch, tmp_path, "onnxruntime", text)
    found = asked("onnxruntime")
    assert (found.status, found.reason) == ("fails", reason)


@pytest.mark.ci
def test_a_runtime_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    planted(monkeypatch, tmp_path, "ai_edge_litert", "import time\ntime.sleep(60)")
    found = asked("litert-xnnpack", seconds=1.5)
    assert found.status == "fails"
    assert found.reason == "LiteRT with XNNPACK was stopped: no answer within 1.5 seconds"
    assert found.seconds < 30


@pytest.mark.ci
@pytest.mark.tosa
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import os\nos.abort()", "tosa-converter-for-tflite aborts the process (SIGABRT)"),
        ("raise ImportError('no libz')", "tosa-converter-for-tflite fails: ImportError: no libz"),
        ("import time\ntime.sleep(60)", "tosa-converter-for-tflite was stopped: no answer within 2 seconds"),
    ],
    ids=["aborts", "a broken import", "hangs"],
)
def test_a_tool_that_does_not_work_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, reason: str
) -> None:
    planted(monkeypatch, tmp_path, "tosa_converter_for_tflite", text)
    found = asked("tosa-converter-for-tflite", seconds=6)
    assert (found.status, found.extra, found.reason) == ("fails", "tosa", reason)


@pytest.mark.ci
def test_a_package_of_the_same_name_and_a_wrong_result_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    planted(monkeypatch, tmp_path, "tflite", "")
    assert asked("tflite").reason == "AttributeError: module 'tflite' has no attribute 'Model'"
    with pytest.raises(probe.RefusedError, match=r"\[3, 4\] \+ \[1, 2\] comes out as \[\[4.0, 7.0\]\]"):
        probe._compare([np.array([4, 7], np.float32)])


@pytest.mark.parametrize(
    ("module", "name", "status", "what"),
    [
        ("onnxruntime", "onnxruntime", "fails", "onnxruntime"),
        ("tflite", "tflite", "fails", "tflite"),
        ("flatbuffers", "tflite", "fails", "flatbuffers"),
        ("torch_mlir", "torch-mlir", "absent", None),
    ],
)
def test_what_is_not_installed_is_said_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, status: str, what: str | None
) -> None:
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda asked: None if asked == module else object())
    found = asked(name)
    how = f"pip install '{what}'" if what else extras.install_command("tosa")
    assert (found.status, found.reason) == (status, f"not installed: {how}")


@pytest.mark.ci
def test_no_question_imports_a_runtime_into_the_asking_process() -> None:
    modules = sorted({module for question in doctor.QUESTIONS for module in question.packages} | {"numpy"})
    code = (
        "import sys; from graphfix.runtimes import doctor; doctor.examine(seconds=0.01)\n"
        f"print([name for name in {modules} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_probe_is_asked_once_and_named_once() -> None:
    assert list(QUESTIONS) == [*probe.RUNTIMES, *probe.TOOLS]
    names = [question.name for question in doctor.QUESTIONS]
    assert len(set(names)) == len(names) == len(QUESTIONS)
    assert [f"litert-{kernels}" for kernels in KERNELS] == [name for name in QUESTIONS if name.startswith("litert")]
    assert {name for name, question in QUESTIONS.items() if question.extra == "tosa"} == {
        tosa.CONVERTER,
        tosa.TORCH_MLIR,
        tosa.TOSA_TOOLS,
    }


def test_the_models_of_the_probes_are_one_add() -> None:
    assert tflite("y[2] = ADD(x[2], b:const[2]{1.0,2.0})") == probe.TFLITE
    assert onnx_model("y[2] = Add(x[2], b:const[2]{1.0,2.0})").SerializeToString() == probe.ONNX


def test_packages_and_extras_are_those_that_the_project_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "QUESTIONS", ())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environment = doctor.examine()
    assert {package.name for package in environment.packages} == {
        requirement.partition(">")[0] for requirement in project["dependencies"]
    }
    assert all(package.version and package.asked.startswith(">=") for package in environment.packages)
    assert {extra.name for extra in environment.extras} == set(project["optional-dependencies"]) - {"dev", "docs"}
    (tools,) = [extra for extra in environment.extras if extra.name == "tosa"]
    assert {package.name: package.asked for package in tools.packages} == {
        tosa.CONVERTER: ">=2026.2; python_version < '3.14' and sys_platform != 'darwin'",
        tosa.TOSA_TOOLS: ">=2026.8",
        tosa.TORCH_MLIR: "",
    }


def test_folders_and_names_of_the_user_are_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    said = doctor.without_private_names
    assert said("ImportError: /home/ada/x/lib.so: no such file") == "ImportError: ~/x/lib.so: no such file"
    assert said("/srv/ada/x and C:\\Users\\ada\\x") == "/srv/<user>/x and C:\\Users\\<user>\\x"
    assert said(f"{sys.prefix}/lib/a.so") == "<env>/lib/a.so"
    assert said("/data/adamant of ada") == "/data/adamant of ada"


class Answering:
    """A runtime whose model returns what it was given, whatever it is asked."""

    def __init__(self, *outputs: list[float]) -> None:
        self.outputs, self.options = outputs, {"kernels": ""}

    def load(self, _: object, **options: str) -> Answering:
        self.options |= options
        return self

    def run(self, feeds: dict[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        assert {name: value.tolist() for name, value in feeds.items()} == {"x": [3.0, 4.0]}
        return [np.array(output, np.float32) for output in self.outputs]


MODULES = {
    "onnxruntime": "graphfix.runtimes.onnx.onnxruntime",
    "onnx": "graphfix.runtimes.onnx.reference_evaluator",
    **{f"litert-{kernels}": "graphfix.runtimes.litert.interpreter" for kernels in KERNELS},
}


@pytest.mark.parametrize("name", MODULES)
def test_a_runtime_works_if_it_adds_and_is_refused_if_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(MODULES[name])
    right = Answering([4, 6])
    monkeypatch.setattr(module, "load", right.load)
    probe.RUNTIMES[name]()
    assert right.options["kernels"] == name.removeprefix("litert-") * name.startswith("litert-")
    for wrong in (Answering([4, 7]), Answering([6, 4]), Answering([4, 6], [4, 6]), Answering()):
        monkeypatch.setattr(module, "load", wrong.load)
        with pytest.raises(probe.RefusedError, match=r"\[3, 4\] \+ \[1, 2\] comes out as "):
            probe.RUNTIMES[name]()


@pytest.mark.parametrize(("tool", "suffix"), [(tosa.CONVERTER, ".tflite"), (tosa.TORCH_MLIR, ".onnx")])
def test_a_converter_gets_a_model_of_its_format_and_writes_something(
    tool: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = b"made"

    def convert(name: str, model: Path, made: Path, *, seconds: float) -> None:
        assert (name, model.suffix, seconds) == (tool, suffix, 7.0)
        assert model.read_bytes() == (probe.TFLITE if suffix == ".tflite" else probe.ONNX)
        made.write_bytes(written)

    monkeypatch.setattr(tosa, "convert", convert)
    probe.TOOLS[tool](7.0)
    written = b""
    with pytest.raises(probe.RefusedError, match=f"{tool} writes an empty file"):
        probe.TOOLS[tool](7.0)


def test_the_tosa_tools_take_a_module_of_one_add_and_add(monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = [np.array([4, 6], np.float32)], [np.array([4, 7], np.float32)]
    answers = {"valid": True, "outputs": right}
    fed: list[list[float]] = []

    def validate(*_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(valid=answers["valid"], errors=["an error", "another one"])

    def run(_: object, feeds: list[np.ndarray[Any, Any]], **__: object) -> SimpleNamespace:
        fed[:] = [feed.tolist() for feed in feeds]
        return SimpleNamespace(outputs=answers["outputs"])

    monkeypatch.setattr(tosa, "validate", validate)
    monkeypatch.setattr(tosa, "run", run)
    probe.TOOLS[tosa.TOSA_TOOLS](7.0)
    assert fed == [[3.0, 4.0], [1.0, 2.0]]
    answers["outputs"] = wrong
    with pytest.raises(probe.RefusedError, match="comes out as"):
        probe.TOOLS[tosa.TOSA_TOOLS](7.0)
    answers["valid"] = False
    with pytest.raises(probe.RefusedError, match=r"tosa-opt refuses a module of one add: an error$"):
        probe.TOOLS[tosa.TOSA_TOOLS](7.0)


def test_each_question_is_told_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def ask(question: doctor.Question, *, seconds: float) -> Probe:
        said.append(f"{question.name} {seconds:g}")
        return Probe(question.name, question.extra, "works", None, 0.0)

    monkeypatch.setattr(doctor, "ask", ask)
    names = [question.name for question in doctor.QUESTIONS]
    for progress, told in ((said.append, True), (None, False)):
        found = doctor.examine(progress, seconds=7)
        assert [probe.name for probe in found.probes] == names
        assert said == [text for name in names for text in ([f"asking {name}"] if told else []) + [f"{name} 7"]]
        said.clear()
