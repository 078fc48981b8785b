"""The script for a new release: each table is asked of the installed runtimes, and what is different is a line."""

from __future__ import annotations

from typing import NoReturn

import new_release
import pytest

from graphfix.results import runtime_facts
from graphfix.results.runtime_facts import SIZE_0_KEEPS_AXES
from tests.support.onnx import fusions_asked
from tests.support.runtimes import catalogue_asked


def answers(capsys: pytest.CaptureFixture[str], *only: str) -> tuple[int, list[str]]:
    status = new_release.main(["--only", *only])
    return status, capsys.readouterr().out.splitlines()[1:]


def test_facts_and_operators_are_as_the_tables_say_for_the_installed_versions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert answers(capsys, "facts", "operators") == (0, ["facts: as the tables say", "operators: as the tables say"])


def test_a_fact_that_is_contradicted_is_named_with_its_evidence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    contradicted = not new_release.QUESTIONS[SIZE_0_KEEPS_AXES.name]()
    monkeypatch.setitem(new_release.QUESTIONS, SIZE_0_KEEPS_AXES.name, lambda: contradicted)
    status, (heading, line) = answers(capsys, "facts")
    assert (status, heading) == (1, "facts: 1 different")
    assert line.startswith("  size-0-keeps-axes: ")
    assert SIZE_0_KEEPS_AXES.evidence in line


def test_a_package_that_is_newer_than_measured_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_facts, "MEASURED", {"onnxruntime": ("1.1.0",)})
    status, lines = answers(capsys, "versions")
    assert status == 1
    assert any(line.endswith("is newer than 1.1, with which graphfix was measured") for line in lines)


def test_an_operator_that_nobody_reviewed_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_release, "schemas", lambda: {("com.microsoft", "NewOp", 1)})
    assert answers(capsys, "operators") == (1, ["operators: 1 different", "  com.microsoft.NewOp-1: not reviewed"])


def test_an_operator_whose_definition_changed_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = new_release.TABLE.read_text(encoding="utf-8").replace("\n:Abs\n", "\n:Absolute\n")
    monkeypatch.setattr(new_release.schemas_table, "table", lambda: made)
    monkeypatch.setattr(new_release.metadata, "version", lambda _: "1.99.0")
    status, lines = answers(capsys, "definitions")
    assert (status, lines[0]) == (1, "definitions: 2 different")
    assert [line.split(": ")[0] for line in lines[1:]] == ["  :Abs", "  :Absolute"]


def test_a_fusion_that_ends_by_another_operand_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_release, "PATTERNS", ["Gelu"])
    assert answers(capsys, "fusions") == (0, ["fusions: as the tables say"])
    monkeypatch.setattr(fusions_asked, "kept_by_table", lambda _: set())
    status, lines = answers(capsys, "fusions")
    assert status == 1
    assert lines[1] == "  Gelu: equalize-ranks of a, operand 1 ends a fusion"


def test_an_operator_that_contradicts_first_seen_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {("onnx", "99.0"): {"": "Add"}}
    monkeypatch.setattr(catalogue_asked, "FIRST_SEEN", {**catalogue_asked.FIRST_SEEN, **later})
    monkeypatch.setattr(catalogue_asked, "NOT_BROADCASTING", {*catalogue_asked.NOT_BROADCASTING, ("", "GoneOp")})
    lines = ["  ai.onnx.GoneOp: does not exist", "  ai.onnx.Add: exists before the version in FIRST_SEEN"]
    assert answers(capsys, "operators") == (1, ["operators: 2 different", *lines])


def test_an_older_onnx_than_that_of_the_definitions_is_no_difference(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_release.metadata, "version", lambda _: "1.19.0")
    newest = runtime_facts.MEASURED["onnx"][-1]
    said = f"definitions: not compared: the table is of onnx {newest}, and 1.19.0 is installed"
    assert answers(capsys, "definitions") == (0, [said])


def test_a_comparison_that_fails_is_a_line_and_the_others_follow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> NoReturn:
        raise RuntimeError("the model is\nrefused")

    monkeypatch.setattr(new_release, "PATTERNS", ["Gelu", "QuickGelu"])
    monkeypatch.setitem(new_release.QUESTIONS, SIZE_0_KEEPS_AXES.name, refused)
    monkeypatch.setattr(new_release, "unlike_the_table", refused)
    monkeypatch.setattr(new_release, "schemas", refused)
    failed = "the comparison failed: RuntimeError: the model is refused"
    assert answers(capsys, "facts", "operators", "fusions") == (
        1,
        [
            *("facts: 1 different", f"  {SIZE_0_KEEPS_AXES.name}: {failed}"),
            *("operators: 1 different", f"  operators: {failed}"),
            *("fusions: 2 different", f"  Gelu: {failed}", f"  QuickGelu: {failed}"),
        ],
    )
