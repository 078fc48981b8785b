"""Workflow commands: what GitHub's runner reads out of a line, escaped as it unescapes it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from graphfix.report.forms import registry
from graphfix.report.text import Entry, Failure
from graphfix.results import Outcome, Site, Verdict

FOUND = Site("GF101", "ffn/bias", "Add", "main", 1, (64,), (1, 1, 64), "found", "equalize-ranks")
LEFT = Site("GF104", "x", "Mul", "main", 0, None, None, "left", None, "the rank of 'x1' is not known")
CHECKED = Outcome("check", "sub/m.onnx", "onnx", target="ranks", sites=(FOUND, LEFT))
FAILED = Failure("check", "bad.onnx", "bad.onnx: empty; give one")


def read(*entries: Entry) -> list[tuple[str, dict[str, str], str]]:
    """Read commands as the runner does: the kind, the properties, the message."""
    found = []
    for line in registry.TEXTS["github"](entries).splitlines():
        command = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert command, line
        pairs = (part.split("=", 1) for part in command[2].split(","))
        found.append((command[1], {key: unescaped(value) for key, value in pairs}, unescaped(command[3])))
    return found


def unescaped(text: str) -> str:
    for code, letter in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, letter)
    return text


def test_a_finding_is_a_warning_what_is_left_a_notice_a_failure_an_error() -> None:
    assert read(CHECKED, FAILED) == [
        ("error", {"file": "bad.onnx", "line": "1", "title": "graphfix check"}, "bad.onnx: empty; give one"),
        (
            "warning",
            {"file": "sub/m.onnx", "line": "1", "title": "GF101 rank-mismatch"},
            "1 site found: Add 'ffn/bias', operand 1: [64] -> [1,1,64]",
        ),
        (
            "notice",
            {"file": "sub/m.onnx", "line": "1", "title": "GF104 unranked-operand"},
            "1 site left: Mul 'x', operand 0: the rank of 'x1' is not known",
        ),
    ]


def test_sites_of_one_code_are_one_line() -> None:
    sites = [replace(FOUND, node=f"n{number}") for number in range(5)]
    ((_, _, message),) = read(replace(CHECKED, sites=sites))
    assert message.startswith("5 sites found: Add 'n0', operand 1: ")
    assert message.endswith("; and 2 more")


def test_no_more_lines_of_a_kind_than_are_shown_and_the_last_counts_the_rest() -> None:
    lines = read(*(replace(CHECKED, source=f"m{number}.onnx") for number in range(12)), FAILED)
    assert [kind for kind, _, _ in lines] == ["error", *["warning"] * 10, *["notice"] * 10]
    assert lines[10][2] == "3 more warnings: a report (--report FILE) has all"


@pytest.mark.parametrize(
    ("status", "kind"), [("different", "error"), ("contradicted", "error"), ("undecided", "warning")]
)
def test_a_difference_is_an_error_at_the_file_that_was_made(status: Any, kind: str) -> None:  # noqa: ANN401
    verdict = Verdict(status, reason="why")
    ((said, properties, message),) = read(Outcome("verify", "m.onnx", "onnx", output="f.onnx", verdict=verdict))
    assert (said, properties["file"]) == (kind, "f.onnx")
    assert message.startswith("m.onnx, f.onnx: ")
    ((said, properties, message),) = read(Outcome("fix", "m.onnx", "onnx", verdict=verdict))
    assert (said, properties) == (kind, {"file": "m.onnx", "line": "1", "title": "graphfix fix"})
    assert message.startswith("m.onnx: ")


def test_nothing_to_say_is_nothing() -> None:
    assert registry.TEXTS["github"]([replace(CHECKED, sites=())]) == ""
    assert registry.TEXTS["github"]([replace(CHECKED, command="fix", verdict=Verdict("proved"))]) == ""


def test_a_path_and_a_message_come_out_as_they_went_in() -> None:
    nasty = replace(CHECKED, source="a,b::c%0A=d.onnx", sites=(replace(FOUND, node="50%,::%0A"),))
    ((_, properties, message),) = read(nasty)
    assert properties["file"] == "a,b::c%0A=d.onnx"
    assert "Add '50%,::%0A'" in message


def test_a_file_elsewhere_has_no_place() -> None:
    ((_, properties, _),) = read(replace(CHECKED, source="/none/m.onnx", sites=(FOUND,)))
    assert list(properties) == ["title"]


@pytest.mark.parametrize(("number", "shown", "last"), [(10, 10, "1 site found"), (11, 10, "2 more warnings")])
def test_as_many_lines_of_a_kind_as_are_shown_are_whole(number: int, shown: int, last: str) -> None:
    checked = replace(CHECKED, sites=(FOUND,))
    lines = read(*(replace(checked, source=f"m{at}.onnx") for at in range(number)))
    assert [kind for kind, _, _ in lines] == ["warning"] * shown
    assert lines[-1][2].startswith(last)
    assert [properties["file"] for _, properties, _ in lines[:9]] == [f"m{at}.onnx" for at in range(9)]
