"""action.yml: what the published schema says of it, and its steps run as GitHub runs them, on hostile names too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.action import ACTION, HOSTILE, Ran, action, run_step, step

STAND_IN = """#!/usr/bin/env bash
printf '%s\\0' "$@" >"$RECORD"
for argument in "$@"; do
  case $argument in --report=*) echo report >"${argument#--report=}" ;; esac
done
echo "::error::a name"
echo "##[error]another" >&2
exit "$ENDS_WITH"
"""
GH = """#!/usr/bin/env bash
printf '%s\\0' "$@" >>"$RECORD"
printf '\\n' >>"$RECORD"
case "$*" in
  *--paginate*) if [[ $LISTED == fail ]]; then exit 1; fi; printf '%s' "$LISTED" ;;
  *) last=${!#}; cat "${last#body=@}" >"$RECORD.body" ;;
esac
"""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


@pytest.fixture
def stand_in(tmp_path: Path) -> str:
    return executable(tmp_path / "stand-in", STAND_IN)


def executable(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def arguments(record: Path) -> list[str]:
    return record.read_bytes().decode(errors="surrogateescape").split("\0")[:-1]


# --- what it says -----------------------------------------------------------------------------------------------------


def validated(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.ci
def test_the_published_schema_takes_it() -> None:
    assert validated(ACTION).returncode == 0


@pytest.mark.ci
@pytest.mark.parametrize(("right", "wrong"), [("shell: bash", "shel: bash"), ("using: composite", "using: compost")])
def test_the_published_schema_refuses_a_planted_fault(tmp_path: Path, right: str, wrong: str) -> None:
    planted = tmp_path / "action.yml"
    planted.write_text(ACTION.read_text(encoding="utf-8").replace(right, wrong, 1), encoding="utf-8")
    assert validated(planted).returncode == 1


def test_no_script_holds_an_expression() -> None:
    scripts = [each["run"] for each in action()["runs"]["steps"] if "run" in each]
    assert len(scripts) == 4
    assert [script for script in scripts if "${{" in script] == []


def test_other_actions_are_pinned_to_a_commit_whose_version_is_said() -> None:
    uses = re.findall(r"uses: (.*)", ACTION.read_text(encoding="utf-8"))
    assert len(uses) == 2
    assert [use for use in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


def test_every_input_is_used_and_every_output_is_written() -> None:
    text = ACTION.read_text(encoding="utf-8")
    used = set(re.findall(r"inputs\.([\w-]+)", text))
    assert used == set(action()["inputs"])
    for name, output in action()["outputs"].items():
        assert output["value"] == f"${{{{ steps.graphfix.outputs.{name} }}}}"
        assert re.search(rf'(written |echo "){name}\b', step("Run graphfix")["run"])


# --- what it runs -----------------------------------------------------------------------------------------------------


def ran(folder: Path, program_: str, record: Path, status: int = 0, **inputs: str) -> Ran:
    environment = {"PROGRAM": program_, "RECORD": str(record), "ENDS_WITH": str(status)}
    return run_step("Run graphfix", folder, inputs, **environment)


def test_each_line_is_one_argument_whatever_it_holds(tmp_path: Path, stand_in: str, record: Path) -> None:
    done = ran(
        tmp_path, stand_in, record, models="\n".join(["", *HOSTILE, ""]), args="--dim=N=$(touch pwned)\n--set=a b"
    )
    assert done.status == 0
    said = arguments(record)
    assert said[said.index("--") + 1 :] == HOSTILE
    assert said[:3] == ["check", "--dim=N=$(touch pwned)", "--set=a b"]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.ci
def test_verify_takes_the_two_models(tmp_path: Path, stand_in: str, record: Path) -> None:
    for before, after in zip(HOSTILE, reversed(HOSTILE), strict=True):
        assert ran(tmp_path, stand_in, record, command="verify", before=before, after=after).status == 0
        said = arguments(record)
        assert said[0] == "verify"
        assert said[-3:] == ["--", before, after]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("target", ["tosa", "-x", "$(touch pwned)"])
def test_a_target_is_one_option(tmp_path: Path, stand_in: str, record: Path, target: str) -> None:
    assert ran(tmp_path, stand_in, record, target=target).status == 0
    assert f"--target={target}" in arguments(record)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("status", [0, 1, 2, 3])
def test_the_answer_is_an_output_and_the_last_step_ends_with_it(
    tmp_path: Path, stand_in: str, record: Path, status: int
) -> None:
    done = ran(tmp_path, stand_in, record, status)
    assert done.status == 0
    assert done.outputs["status"] == str(status)
    assert run_step("Answer", tmp_path, {}, STATUS=done.outputs["status"]).status == status


@pytest.mark.ci
def test_reports_are_outputs_and_the_summary(tmp_path: Path, stand_in: str, record: Path) -> None:
    first, second = (ran(tmp_path, stand_in, record) for _ in range(2))
    assert [Path(first.outputs[name]).suffix for name in ("sarif", "markdown", "json")] == [".sarif", ".md", ".json"]
    assert all(Path(first.outputs[name]).is_file() for name in ("sarif", "markdown", "json"))
    assert first.outputs["sarif"] != second.outputs["sarif"]
    assert first.summary == "report\n"


def test_a_graphfix_that_writes_no_report_is_told_by_its_status(tmp_path: Path, record: Path) -> None:
    done = ran(tmp_path, executable(tmp_path / "broken", "#!/bin/sh\nexit 2\n"), record)
    assert (done.outputs, done.summary) == ({"status": "2"}, "")


def test_nothing_that_is_printed_is_a_command_to_the_runner(tmp_path: Path, stand_in: str, record: Path) -> None:
    done = ran(tmp_path, stand_in, record)
    assert "::error::a name" in done.printed
    assert done.commands == []
    assert Ran(0, "::error::planted", {}, "").commands == ["::error::planted"]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ({"command": "fix"}, "'command' is check or verify"),
        ({"command": "check; touch pwned"}, "'command' is check or verify"),
        ({"models": "\n\n"}, "'models' is empty"),
        ({"command": "verify", "before": "a.onnx"}, "verify takes two models"),
        ({"command": "verify", "after": "a.onnx"}, "verify takes two models"),
    ],
)
def test_what_can_not_be_done_is_one_line(
    tmp_path: Path, stand_in: str, record: Path, inputs: dict[str, str], why: str
) -> None:
    done = ran(tmp_path, stand_in, record, **inputs)
    assert (done.status, len(done.printed.splitlines()), record.exists()) == (2, 1, False)
    assert done.printed.startswith("::error::graphfix: ")
    assert why in done.printed


@pytest.mark.parametrize(
    "version", ["-r/etc/passwd", "1.0 --index-url=x", "$(touch pwned)", "1.0;x", "@ file:///x", "1\n2"]
)
def test_a_version_is_nothing_but_a_version(tmp_path: Path, version: str) -> None:
    done = run_step("Install graphfix", tmp_path, {"version": version})
    assert (done.status, done.outputs) == (2, {})
    assert "a version such as" in done.printed
    assert not (tmp_path / "pwned").exists()


@pytest.mark.ci
def test_no_python_file_of_the_repository_runs_while_graphfix_is_installed(tmp_path: Path) -> None:
    """`python -m NAME` looks in the working directory first, which may be a stranger's pull request."""
    for name in ("venv", "pip", "ensurepip"):
        (tmp_path / f"{name}.py").write_text("open('pwned', 'w').close()\n", encoding="utf-8")
    programs = tmp_path / "programs"
    programs.mkdir()
    executable(programs / "python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    path = f"{programs}:{os.environ['PATH']}"
    done = run_step("Install graphfix", tmp_path, {"version": "0.0.1"}, PATH=path, PIP_NO_INDEX="1")
    assert "No matching distribution found for graphfix==0.0.1" in done.printed
    assert not (tmp_path / "pwned").exists()


# --- the comment ------------------------------------------------------------------------------------------------------


def commented(folder: Path, record: Path, listed: str, body: str = "| a | b |\n") -> tuple[Ran, list[list[str]]]:
    executable(folder / "gh", GH)
    report = folder / "graphfix.md"
    report.write_text(body, encoding="utf-8")
    done = run_step(
        "Comment on the pull request",
        folder,
        {"comment": "true"},
        PATH=f"{folder}:/usr/bin:/bin",
        RECORD=str(record),
        LISTED=listed,
        PULL="7",
        MARKDOWN=str(report),
        GITHUB_REPOSITORY="owner/name",
    )
    return done, [call.split("\0")[:-1] for call in record.read_text(encoding="utf-8").split("\n")[:-1]]


def test_the_first_comment_is_new(tmp_path: Path, record: Path) -> None:
    done, calls = commented(tmp_path, record, "")
    assert (done.status, done.printed) == (0, "")
    assert calls[0][:3] == ["api", "--paginate", "repos/owner/name/issues/7/comments"]
    assert calls[1][2:5] == ["--method", "POST", "repos/owner/name/issues/7/comments"]
    assert Path(f"{record}.body").read_text(encoding="utf-8") == "<!-- graphfix check -->\n| a | b |\n"


def test_the_next_one_takes_its_place(tmp_path: Path, record: Path) -> None:
    done, calls = commented(tmp_path, record, "41\n42\n")
    assert done.status == 0
    assert calls[1][2:5] == ["--method", "PATCH", "repos/owner/name/issues/comments/41"]


def test_only_comments_of_an_app_that_begin_with_the_marker_are_its_own(tmp_path: Path, record: Path) -> None:
    _, calls = commented(tmp_path, record, "")
    assert calls[0][-1] == '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- graphfix check -->"))) | .id'


def test_a_report_that_is_too_long_is_named_instead(tmp_path: Path, record: Path) -> None:
    commented(tmp_path, record, "", "x" * 65_000)
    assert "in the summary of the job" in Path(f"{record}.body").read_text(encoding="utf-8")


def test_a_token_that_may_not_comment_is_a_warning(tmp_path: Path, record: Path) -> None:
    done, calls = commented(tmp_path, record, "fail")
    assert (done.status, len(calls)) == (0, 1)
    assert done.commands == [
        "::warning::graphfix: no comment was written; it needs gh and the permission pull-requests: write"
    ]
