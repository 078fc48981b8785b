"""The recipes of docs/ci.md, run: models that are clean and equal pass, others do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from junitparser import JUnitXml

import graphfix
from tests.support.action import BASH, HOSTILE, Ran, run_step
from tests.support.places import MODELS, ROOT
from tests.support.recipes import PAGE, WORKFLOWS, recipes

NAMES = ("encoder.onnx", "detector.tflite")
ORIGINALS = {"encoder.onnx": "rfc_rank_expansion.onnx", "detector.tflite": "rfc_rank_expansion.tflite"}
OTHERS = {"encoder.onnx": "matmul.onnx", "detector.tflite": "prelu.tflite"}


@dataclass(frozen=True)
class Repository:
    """A repository with models, their originals, and graphfix on the PATH."""

    folder: Path
    program: str

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(Path(self.program).parent), os.environ["PATH"]])
        return subprocess.run(
            [*BASH, "-c", script],
            cwd=self.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    def put(self, folder: str, models: dict[str, str]) -> None:
        for name, model in models.items():
            shutil.copy(MODELS / model, self.folder / folder / name)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Fixed models in `models`, what they were made of in `original`."""
    programs, folder = tmp_path / "programs", tmp_path / "repository"
    for each in (programs, folder / "models", folder / "original", folder / "exported", folder / "before" / "models"):
        each.mkdir(parents=True)
    program = programs / "graphfix"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m graphfix "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    repository = Repository(folder, str(program))
    repository.put("original", ORIGINALS)
    repository.put("before/models", ORIGINALS)
    for name in NAMES:
        graphfix.fix_file(folder / "original" / name, folder / "models" / name, check_result=False)
    shutil.copy(folder / "models" / "detector.tflite", folder / "exported" / "more.tflite")
    return repository


def gitlab(repository: Repository, job: str) -> subprocess.CompletedProcess[str]:
    """Run a job's script behind the `before_script` that it inherits, without what installs."""
    jobs = yaml.safe_load(recipes()[".gitlab-ci.yml"])
    lines = jobs["default"]["before_script"] + jobs[job]["script"]
    return repository.shell("\n".join(line for line in lines if "pip install" not in line))


def github(repository: Repository, name: str, **matrix: str) -> Ran:
    """Run the step of the action on what the workflow gives it."""
    text = recipes()[f"{WORKFLOWS}{name}.yml"]
    for key, value in matrix.items():
        text = text.replace(f"${{{{ matrix.{key} }}}}", value)
    (job,) = yaml.safe_load(text)["jobs"].values()
    inputs = {key: str(value) for key, value in job["steps"][-1]["with"].items()}
    return run_step("Run graphfix", repository.folder, inputs, PROGRAM=repository.program)


def cases(path: Path) -> list[bool]:
    """By case of a JUnit file: whether it does not fail."""
    return [not (case.is_failure or case.is_error) for suite in JUnitXml.fromfile(str(path)) for case in suite]


@pytest.mark.ci
def test_check_on_gitlab(repository: Repository) -> None:
    assert gitlab(repository, "check-models").returncode == 0
    assert all(cases(repository.folder / "reports" / "check.xml"))
    repository.put("models", ORIGINALS)
    assert gitlab(repository, "check-models").returncode == 1
    assert not all(cases(repository.folder / "reports" / "check.xml"))


@pytest.mark.ci
def test_verify_on_gitlab(repository: Repository) -> None:
    assert gitlab(repository, "verify-models").returncode == 0
    reports = sorted((repository.folder / "reports").iterdir())
    assert [report.name for report in reports] == ["verify-detector.tflite.xml", "verify-encoder.onnx.xml"]
    assert all(all(cases(report)) for report in reports)
    repository.put("models", {"encoder.onnx": OTHERS["encoder.onnx"]})
    assert gitlab(repository, "verify-models").returncode not in (0, None)
    assert not all(cases(reports[1]))


@pytest.mark.ci
@pytest.mark.parametrize("name", ["check-models", "verify-models"])
def test_a_shell_script(repository: Repository, name: str) -> None:
    script = recipes()[f"{name}.sh"]
    passed = repository.shell(script)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    repository.put("models", ORIGINALS if name == "check-models" else OTHERS)
    assert repository.shell(script).returncode != 0


@pytest.mark.ci
def test_a_baseline_takes_what_is_there_and_nothing_new(repository: Repository) -> None:
    page = PAGE.read_text(encoding="utf-8")
    write, use = "graphfix check models/ --write-baseline graphfix-baseline.json", "--baseline graphfix-baseline.json"
    assert write in page
    assert f"`{use}`" in page
    repository.put("models", {"encoder.onnx": ORIGINALS["encoder.onnx"]})
    assert repository.shell(write).returncode == 0
    assert repository.shell(f"graphfix check models/ {use}").returncode == 0
    (repository.folder / "graphfix.toml").write_text('baseline = "graphfix-baseline.json"\n', encoding="utf-8")
    assert repository.shell("graphfix check models/").returncode == 0
    repository.put("models", {"detector.tflite": ORIGINALS["detector.tflite"]})
    assert repository.shell("graphfix check models/").returncode == 1


@pytest.mark.ci
@pytest.mark.parametrize("form", ["github", "junit", "sarif"])
def test_a_form_is_printed_and_zero_may_be_asked_for(repository: Repository, form: str) -> None:
    repository.put("models", ORIGINALS)
    assert f"--format {form}`" in PAGE.read_text(encoding="utf-8")
    printed = repository.shell(f"graphfix check models/ --format {form} --exit-zero")
    assert printed.returncode == 0
    assert "GF101" in printed.stdout


@pytest.mark.ci
def test_check_on_github(repository: Repository) -> None:
    done = github(repository, "check-models")
    assert done.outputs["status"] == "0", done.printed
    assert done.summary
    repository.put("exported", {"more.tflite": ORIGINALS["detector.tflite"]})
    done = github(repository, "check-models")
    assert done.outputs["status"] == "1"
    assert "exported/more.tflite" in done.summary
    assert all(Path(done.outputs[name]).stat().st_size for name in ("sarif", "markdown", "json"))


@pytest.mark.ci
@pytest.mark.parametrize("model", NAMES)
def test_verify_on_github(repository: Repository, model: str) -> None:
    assert github(repository, "verify-models", model=model).outputs["status"] == "0"
    repository.put("models", {model: OTHERS[model]})
    assert github(repository, "verify-models", model=model).outputs["status"] != "0"


@pytest.mark.ci
def test_the_change_of_a_model_on_github(repository: Repository) -> None:
    assert github(repository, "verify-change").outputs["status"] == "0"
    repository.put("models", {"encoder.onnx": OTHERS["encoder.onnx"]})
    assert github(repository, "verify-change").outputs["status"] != "0"


def test_names_of_files_do_no_harm_on_github(repository: Repository) -> None:
    names = [*HOSTILE, "two\n::error::lines.onnx"]
    repository.put("exported", {name: ORIGINALS["encoder.onnx"] for name in names if name.endswith(".onnx")})
    inputs = {"models": "exported/"}
    done = run_step("Run graphfix", repository.folder, inputs, PROGRAM=repository.program)
    assert (done.status, done.outputs["status"]) == (0, "1"), done.printed
    assert done.commands == []
    assert set(done.outputs) == {"status", "sarif", "markdown", "json"}
    assert not any(repository.folder.rglob("pwned"))
    assert done.printed.count("GF101") >= len(names) - 1
    assert "\n::error::" not in done.summary
    assert not {"\u202e", "\x1b"} & set(done.summary)


@pytest.mark.ci
def test_what_the_action_installs_checks_a_model(repository: Repository) -> None:
    installed = run_step("Install graphfix", repository.folder, {})
    assert installed.status == 0, installed.printed
    program = installed.outputs["program"]
    for models, status in (("models", "0"), ("original/encoder.onnx", "1")):
        done = run_step("Run graphfix", repository.folder, {"models": models}, PROGRAM=program)
        assert done.outputs["status"] == status, done.printed
