"""The ranges of versions, what counts as newer than measured, and each fact asked of the installed runtime."""

from __future__ import annotations

import importlib
import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from graphfix.results import runtime_facts
from graphfix.results.runtime_facts import (
    EVERY,
    FACTS,
    MEASURED,
    Fact,
    Versions,
    installed,
    newer_than_measured,
    numbers,
)
from graphfix.runtimes import doctor
from tests.support.asking import ask
from tests.support.places import MODELS
from tests.support.runtimes.questions import QUESTIONS


@pytest.mark.parametrize(
    ("versions", "version", "included"),
    [
        pytest.param(Versions(since="1.32"), "1.32.0", True, id="the first version"),
        pytest.param(Versions(since="1.32"), "1.31.1", False, id="the version before it"),
        pytest.param(Versions(since="1.32"), "1.100", True, id="an unknown newer version"),
        pytest.param(Versions(since="1.32"), "1.33.0.dev20261127", True, id="a weekly build"),
        pytest.param(Versions(before="1.32"), "1.31.1", True, id="the last version"),
        pytest.param(Versions(before="1.32"), "1.32.0", False, id="the version behind it"),
        pytest.param(Versions(before="1.32"), "1.9", True, id="numbers, not text"),
        pytest.param(Versions("1.30", "1.32"), "1.22.0", False, id="an older version"),
        pytest.param(EVERY, "0.1", True, id="every version"),
    ],
)
def test_a_range_includes_its_versions(versions: Versions, version: str, included: bool) -> None:
    assert versions.include(version) == included


def test_only_a_newer_minor_version_is_newer_than_measured() -> None:
    newest = MEASURED["onnxruntime"][-1]
    first, second, *_ = numbers(newest)
    text = f"onnxruntime {first}.{second + 1}.0 is newer than {first}.{second}, with which graphfix was measured"
    assert list(newer_than_measured({"numpy": "99", "onnxruntime": f"{first}.{second + 1}.0"})) == [text]
    assert list(newer_than_measured({"numpy": "99", "onnxruntime": f"{first}.{second}.99"})) == []
    assert list(newer_than_measured({"onnxruntime": "1.0"})) == []


def test_the_installed_version_is_that_of_the_metadata_whether_it_is_imported_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for package in MEASURED:
        name = package.replace("-", "_")
        importlib.import_module(name)
        assert installed(package) == metadata.version(package)
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, name)
            assert installed(package) == metadata.version(package)


def test_a_package_of_another_distribution_has_the_version_that_it_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "some_runtime.py").write_text('__version__ = "1.31.1"')
    monkeypatch.syspath_prepend(tmp_path)
    assert installed("some-runtime") == "1.31.1"
    with pytest.raises(ImportError):
        installed("no-runtime")


def test_measured_versions_stand_in_order() -> None:
    assert all(list(versions) == sorted(versions, key=numbers) for versions in MEASURED.values())


def test_each_fact_has_a_question_and_changes_between_two_measured_versions() -> None:
    assert QUESTIONS.keys() == {fact.name for fact in FACTS}
    for fact in FACTS:
        assert {fact.holds(version) for version in MEASURED[fact.package]} == {True, False}, fact.name


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_the_installed_runtime_does_what_the_row_of_its_version_says(fact: Fact) -> None:
    assert QUESTIONS[fact.name]() == fact.holds(metadata.version(fact.package))


def measured(monkeypatch: pytest.MonkeyPatch, onnxruntime: str) -> None:
    """Have graphfix measured with the installed versions, and with this one of onnxruntime."""
    versions = {package: (metadata.version(package),) for package in MEASURED}
    monkeypatch.setattr(runtime_facts, "MEASURED", {**versions, "onnxruntime": (onnxruntime,)})


@pytest.mark.ci
@pytest.mark.parametrize("command", ["fix", "verify"])
def test_a_verdict_names_a_runtime_that_is_newer_and_keeps_its_status(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = MODELS / "matmul.onnx", tmp_path / "o.onnx"
    ask(capsys, "fix", path, "-o", output)
    asked = ("fix", path, "-o", output) if command == "fix" else ("verify", path, output)
    said = f"onnxruntime {metadata.version('onnxruntime')} is newer than 1.1, with which graphfix was measured"
    measured(monkeypatch, "1.1.0")
    newer = ask(capsys, *asked)
    assert f"  note: {said}\n" in newer.out
    assert json.loads(ask(capsys, *asked, "--json").out)["verdict"]["newer"] == [said]
    measured(monkeypatch, metadata.version("onnxruntime"))
    same = ask(capsys, *asked)
    assert (same.status, "newer" in same.out) == (newer.status, False)


def test_doctor_names_a_runtime_that_is_newer_and_keeps_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "QUESTIONS", ())
    said = f"onnxruntime {metadata.version('onnxruntime')} is newer than 1.1, with which graphfix was measured"
    measured(monkeypatch, "1.1.0")
    newer = ask(capsys, "doctor")
    assert f"\n{said}\n" in newer.out
    assert json.loads(ask(capsys, "doctor", "--json").out)["newer"] == [said]
    measured(monkeypatch, metadata.version("onnxruntime"))
    same = ask(capsys, "doctor")
    assert (same.status, "newer" in same.out) == (newer.status, False)
