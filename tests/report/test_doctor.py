"""`doctor` on paper: text that pastes into an issue, and the same as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from graphfix.report.doctor import environment_json, environment_text
from graphfix.results.environment import Environment, Extra, Package, Probe, ProbeStatus
from graphfix.version import VERSION


def probe(name: str, status: ProbeStatus = "works", *, extra: str | None = None, reason: str | None = None) -> Probe:
    return Probe(name, extra, status, reason, 0.25)


FOUND = Environment(
    python="3.11.7 (CPython)",
    platform="Linux, x86_64",
    processors=2,
    packages=(Package("onnx", ">=1.19", "1.23.2"), Package("onnxruntime", "", None)),
    extras=(Extra("tosa", "graphfix tosa", (Package("torch-mlir", "", "1"), Package("tosa-tools", ">=2", None))),),
    probes=(probe("onnx"), probe("tool", "absent", extra="tosa", reason="not installed: pip install x")),
)


def test_versions_extras_and_what_works_are_a_line_each() -> None:
    lines = environment_text(FOUND).splitlines()
    assert lines[0].endswith("Python 3.11.7 (CPython), Linux, x86_64, 2 processors")
    assert "  onnx         1.23.2  (asked for: >=1.19)" in lines
    assert "  onnxruntime  not installed" in lines
    assert "extra tosa, partly installed (graphfix tosa)" in lines
    assert "  works   onnx  0.25 s" in lines
    assert "  absent  tool  not installed: pip install x" in lines
    assert lines[-1] == "all that graphfix needs works"


def test_what_does_not_work_is_summed_up_in_the_last_line() -> None:
    broken = (probe("onnx", "fails", reason="gone"), probe("tool", "fails", extra="tosa", reason="gone"))
    last = environment_text(replace(FOUND, probes=broken)).splitlines()[-1]
    assert last == "does not work, and graphfix needs it: onnx; installed, and does not work: tool"


@pytest.mark.parametrize(
    ("status", "extra", "works"),
    [("fails", None, False), ("absent", None, False), ("fails", "tosa", True), ("absent", "tosa", True)],
)
def test_only_what_graphfix_can_not_do_without_decides(status: ProbeStatus, extra: str | None, works: bool) -> None:
    found = replace(FOUND, probes=(probe("onnx"), probe("p", status, extra=extra, reason="gone")))
    assert found.works is works
    assert json.loads(environment_json(found))["works"] is works


def test_what_a_package_says_reaches_no_terminal() -> None:
    hostile = probe("onnx", "fails", reason="\x1b[31mred\x1b[0m \u202e \udc80")
    text = environment_text(replace(FOUND, probes=(hostile,)))
    assert "\\x1b[31mred" in text
    assert all(letter.isprintable() for line in text.splitlines() for letter in line)
    assert json.loads(environment_json(replace(FOUND, probes=(hostile,))))["probes"][0]["reason"] == hostile.reason


def test_a_graphfix_that_is_not_installed_says_so() -> None:
    assert "not known: graphfix runs from a folder" in environment_text(replace(FOUND, packages=(), extras=()))


def test_the_document_holds_what_the_text_says() -> None:
    document = json.loads(environment_json(FOUND))
    assert (document["schema"], document["command"]) == (1, "doctor")
    assert (document["graphfix"], document["works"]) == (VERSION, True)
    assert list(document)[:4] == ["schema", "graphfix", "command", "works"]
    text = environment_json(FOUND)
    assert (text[:16], text[-3:]) == ('{\n  "schema": 1,', "\n}\n")
    assert document["packages"][1] == {"name": "onnxruntime", "asked": "", "version": None}
    assert document["extras"][0]["status"] == "partly installed"
    assert document["probes"][1] == {
        "name": "tool",
        "extra": "tosa",
        "status": "absent",
        "reason": "not installed: pip install x",
        "seconds": 0.25,
    }


@pytest.mark.parametrize(
    ("asked", "version", "fits"),
    [
        (">=1.19", "1.19.0", True),
        (">=1.19", "1.18.1", False),
        (">=0.0.73,<0.2", "0.2", False),
        ("<0.2,>=0.0.73", "0.1.9", True),
        (">=2026.2; python_version < '3.14'", "2026.1", False),
        ("", "1", True),
        (">=1.19", None, True),
    ],
)
def test_an_installed_version_is_compared_with_what_is_asked_for(asked: str, version: str | None, fits: bool) -> None:
    assert Package("onnx", asked, version).fits == fits


def test_a_conflict_is_named_with_the_command_that_ends_it_and_is_a_no() -> None:
    old = replace(FOUND, packages=(Package("onnx", ">=1.19", "1.18.0"),))
    lines = environment_text(old).splitlines()
    assert "  onnx  1.18.0  (asked for: >=1.19)  conflict: another version is asked for" in lines
    assert lines[-1] == "installed in a version that graphfix does not allow: pip install 'onnx>=1.19'"
    assert not old.works
