"""The exit status of `fix`, alone and in a batch: 0 where `check` of the output ends with 0, 4 where sites are left."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from graphfix.cli.status import DONE, FAILED, LEFT, NO, UNDECIDED, WORST
from tests.support.asking import ask, refused
from tests.support.places import MODELS

FREE = MODELS / "rfc" / "dynamic_2d_symbols.onnx"
"""Add(x0[M,N], x1[P,Q]): `--unknown keep` leaves both operands."""
KEEP = ("--unknown", "keep", "--no-verify")


def test_sites_that_are_left_are_status_4_and_the_last_line_is_the_check_that_lists_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "the output.onnx"
    fixed = ask(capsys, "fix", FREE, "-o", out, *KEEP)
    assert fixed.status == LEFT
    line = fixed.out.splitlines()[-1]
    said, _, rest = line.partition(": ")
    command, _, _ = rest.partition(" lists them; --exit-zero accepts them")
    assert said == "2 sites left for target explicit"
    program, *words = shlex.split(command)
    assert program == "graphfix"
    checked = ask(capsys, *words)
    assert checked.status == NO
    assert ", 2 left" in checked.out.splitlines()[0]


@pytest.mark.parametrize(("options", "status"), [((), LEFT), (("--exit-zero",), DONE)])
def test_exit_zero_accepts_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], status: int
) -> None:
    fixed = ask(capsys, "fix", FREE, "-o", tmp_path / "f.onnx", *KEEP, *options, "--json")
    assert fixed.status == status
    document = json.loads(fixed.out)
    assert (document["sites_left"], document["check_options"]) == (2, ["--unknown", "keep"])


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ('target = "ranks"\n', ("--target", "explicit", *KEEP)),
        ('target = "ranks"\n', ("--isolated", *KEEP)),
        ('unknown = "keep"\nno-verify = true\nignore = ["GF1"]\n', ()),
    ],
    ids=str,
)
def test_the_check_that_lists_what_is_left_reads_no_configuration(
    file: str,
    options: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graphfix.toml").write_text(file)
    line = ask(capsys, "fix", FREE, "-o", "f.onnx", *options).out.splitlines()[-1]
    command = line.partition(": ")[2].partition(" lists them; --exit-zero accepts them")[0]
    assert command == "graphfix check f.onnx --isolated --unknown keep"
    checked = ask(capsys, *shlex.split(command)[1:])
    assert checked.status == NO
    assert ", 2 left" in checked.out.splitlines()[0]


def test_exit_zero_does_not_accept_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "f.onnx"
    line = refused(capsys, tmp_path, "fix", MODELS / "rfc/incompatible.onnx", "-o", out, "--exit-zero")
    assert "do not broadcast" in line


def test_a_configuration_file_does_not_accept_what_fix_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graphfix.toml").write_text("exit-zero = true\n")
    assert ask(capsys, "fix", FREE, "-o", "f.onnx", *KEEP, "-q").status == LEFT
    assert ask(capsys, "check", "f.onnx", "--unknown", "keep", "-q").status == DONE


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_what_would_be_done_is_status_1_where_something_would_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    before, after = MODELS / "matmul.onnx", tmp_path / "after.onnx"
    assert ask(capsys, "fix", before, option).status == NO
    assert ask(capsys, "fix", before, option, "--exit-zero").status == DONE
    assert ask(capsys, "fix", before, "-o", after, "--no-verify").status == DONE
    assert ask(capsys, "fix", after, option).status == DONE


@pytest.mark.ci
def test_a_batch_counts_what_is_left_and_says_it_again_where_the_result_is_reused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(FREE, "free.onnx")
    shutil.copyfile(MODELS / "matmul.onnx", "matmul.onnx")
    words = ("batch", "free.onnx", "matmul.onnx", "-o", "out", *KEEP)
    first, again = ask(capsys, *words), ask(capsys, *words)
    assert first.status == again.status == LEFT
    assert "free.onnx: not verified, 2 left" in first.out
    assert "free.onnx: not verified, 2 left, reused" in again.out


def test_of_several_models_the_worst_status_decides() -> None:
    assert WORST == (DONE, LEFT, UNDECIDED, NO, FAILED)
