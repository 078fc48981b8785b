"""Targets of the user's own: what a file may say, and what is refused, in one line."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.api import explaining
from graphfix.results import GraphfixError
from graphfix.results.files import toml_files
from graphfix.targets import files as target_files
from graphfix.targets import target as targets
from models.builders.tflite.text import model
from tests.support import engine
from tests.support.asking import ask, refused
from tests.support.notation import model as onnx_model
from tests.support.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FULL = """
name = "my-npu"
base = "ethos-u"
evidence = ["measured on board 3"]

[options]
broadcasts = "explicit"
keep-fusions = true
add = ["select-v1-to-v2"]
skip = ["normalize-expand"]

[limits]
static = false
max-rank = 5
movement = ["RESHAPE", "TILE"]
operators = ["ADD", "RESHAPE", "TILE"]
types = ["int8"]
elements = false
reads = "tflite"
outside = "it runs on the CPU"

[limits.not-supported]
FILL = "the driver has no FILL"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "board.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_field_can_be_said(tmp_path: Path) -> None:
    target = target_files.read(written(tmp_path, FULL))
    assert target == targets.Target(
        "explicit",
        (
            "repair-shapes",
            "upgrade-legacy-broadcast",
            "select-v1-to-v2",
            "tile-for-broadcast-to",
            "reshape-for-unit-axes",
            "equalize-ranks",
            "materialize-broadcasts",
        ),
        "my-npu",
        static=False,
        max_rank=5,
        movement=frozenset({"RESHAPE", "TILE", "Reshape", "Unsqueeze", "Squeeze", "Tile"}),
        keep_fusions=True,
        operators=frozenset({"ADD", "RESHAPE", "TILE"}),
        not_supported={"FILL": "the driver has no FILL"},
        types=frozenset({"int8"}),
        elements=False,
        outside="it runs on the CPU",
        reads="tflite",
        evidence=("measured on board 3",),
    )
    keys = {
        key.replace("-", "_")
        for table in (target_files.TOP, target_files.OPTIONS, target_files.LIMITS)
        for key in table
    }
    assert {field.name for field in fields(targets.Target)} <= keys | {"rewrites", "questions"}


@pytest.mark.parametrize("base", targets.TARGETS)
def test_a_file_that_says_its_base_alone_is_that_target_under_its_own_name(base: str, tmp_path: Path) -> None:
    target = target_files.read(written(tmp_path, f'base = "{base}"'))
    row = targets.target_of(base)
    assert target.name == "board"
    assert all(getattr(target, field.name) == getattr(row, field.name) for field in fields(row) if field.name != "name")


BROKEN = {
    "not a TOML file": ("base = ", "not a TOML file"),
    "a number of 6000 digits": (f"[limits]\nmax-rank = {'9' * 6000}", "not a TOML file: Exceeds the limit"),
    "a number that no error can show": (f"[limits]\nmax-rank = 0x{'f' * 6000}", "a whole number from 1 to 1000, not a"),
    "lists in lists": (f"evidence = {'[' * 20_000}", "not a TOML file: it is nested too deeply"),
    "another key": ('form = "x"', "'form' is not a key of a target; known: name, base, evidence, options, limits"),
    "another option": ("[options]\nranks = 3", "'options.ranks' is not a key of a target"),
    "another limit": ("[limits]\nrank = 3", "'limits.rank' is not a key of a target"),
    "a name that is taken": ('name = "TOSA"', "'name' is 'TOSA', the name of an existing target: choose another one"),
    "no such base": ('base = "moon"', "'base' is one of explicit, ranks, tosa"),
    "no such form": ('[options]\nbroadcasts = "all"', "'options.broadcasts' is one of keep, two-sided, explicit"),
    "stretches for a target that makes none": (
        'base = "compact"\n[options]\nbroadcasts = "explicit"',
        "'options.broadcasts' is 'explicit', and no rewrite of the target stretches",
    ),
    "no such rewrite": ('[options]\nadd = ["moon"]', "'moon' is none; `graphfix explain` lists them"),
    "a rewrite that is misspelled": ('[options]\nskip = ["normalise-expand"]', "did you mean 'normalize-expand'?"),
    "a rewrite that the base does not run": (
        'base = "ranks"\n[options]\nskip = ["pow-to-mul"]',
        "'options.skip' has 'pow-to-mul', which the target does not run",
    ),
    "a rewrite that is added and skipped": (
        '[options]\nadd = ["pow-to-mul"]\nskip = ["pow-to-mul"]',
        "'pow-to-mul' is in 'options.add' and in 'options.skip'",
    ),
    "no list": ('[options]\nskip = "tosa"', "'options.skip' is a list of names"),
    "no rank": ("[limits]\nmax-rank = 0", "'limits.max-rank' is a whole number from 1 to 1000, not 0"),
    "too many axes": ("[limits]\nmax-rank = 1001", "'limits.max-rank' is a whole number from 1 to 1000, not 1001"),
    "no whole number": ("[limits]\nmax-rank = true", "'limits.max-rank' is a whole number"),
    "no truth value": ("[limits]\nstatic = 1", "'limits.static' is true or false, not 1"),
    "no movement": ('[limits]\nmovement = ["GATHER"]', "'limits.movement' is a list of names of BROADCAST_TO"),
    "an empty movement": ("[limits]\nmovement = []", "'limits.movement' is a list of one name or more, not []"),
    "no reasons": ('[limits]\nnot-supported = ["FILL"]', "'limits.not-supported' is a table of operators and reasons"),
    "no such type": ('[limits]\ntypes = ["int99"]', "'limits.types' is of types of onnx or tflite: 'int99' is none"),
    "a type of the other format": (
        '[limits]\nreads = "onnx"\ntypes = ["resource"]',
        "'limits.types' is of types of onnx: 'resource' is none",
    ),
    "another name of a type": ('[limits]\ntypes = ["float"]', "'float' is none; did you mean 'float"),
    "no such operator": ('[limits]\noperators = ["ADDD"]', "'ADDD' is none; did you mean 'ADD'"),
    "an operator in small letters": ('[limits]\nreads = "tflite"\noperators = ["add"]', "did you mean 'ADD'"),
    "no such operator with a reason": ('[limits.not-supported]\nFILLL = "x"', "'FILLL' is none; did you mean 'FILL'"),
    "an operator of the other format": (
        'base = "ethos-u"\n[limits]\noperators = ["Add"]',
        "'limits.operators' is of operators of tflite: 'Add' is none; did you mean 'ADD'",
    ),
    "a base whose tables are of the other format": (
        'base = "ethos-u"\n[limits]\nreads = "onnx"',
        "'limits.operators' is of operators of onnx: 'ABS' is none; did you mean 'Abs'",
    ),
    "no table": ("limits = 3", "'limits' is a table, not 3"),
    "a name of two lines": ('name = "a\\nb"', "'name' is a text of one line"),
    "a name that is a list": ("base = [1]", "'base' is one of explicit"),
    "the name of another target": ('name = "explicit"', "'name' is 'explicit', the name of an existing target"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_means_nothing_is_one_line(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, words = BROKEN[case]
    path = written(tmp_path, text)
    for command in (["check"], ["fix", "-o", tmp_path / "o.onnx"]):
        said = refused(capsys, tmp_path, *command, ROOT / "models" / "encoder.onnx", "--target-file", path)
        assert words in said
        assert str(path) in said


def test_a_file_that_is_not_there_or_no_text_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model_file, path = ROOT / "models" / "encoder.onnx", tmp_path / "t.toml"
    assert "No such file" in refused(capsys, tmp_path, "check", model_file, "--target-file", path)
    path.write_bytes(b"\xff\xfe")
    assert "not a TOML file" in refused(capsys, tmp_path, "check", model_file, "--target-file", path)
    path.write_bytes(b"#" * (toml_files.LARGEST + 1))
    assert "at most" in refused(capsys, tmp_path, "check", model_file, "--target-file", path)


def test_a_folder_and_a_pipe_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model_file, path = ROOT / "models" / "encoder.onnx", tmp_path / "t.toml"
    assert "this is a folder" in refused(capsys, tmp_path, "check", model_file, "--target-file", tmp_path)
    os.mkfifo(path)
    assert "this is a pipe" in refused(capsys, tmp_path, "check", model_file, "--target-file", path)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_bytes(b'\xef\xbb\xbfname = "mine"')
    assert target_files.read(path).name == "mine"


@pytest.mark.parametrize(
    ("limits", "reads"),
    [
        ('operators = ["ADD", "RESHAPE"]', "tflite"),
        ('operators = ["ADD", "custom:Mine"]', "tflite"),
        ('[limits.not-supported]\nExpand = "slow"', "onnx"),
        ('operators = ["ADD", "Add"]', None),
        ('operators = ["LSTM"]', None),
        ('operators = ["custom:Mine"]', None),
        ('types = ["int8"]', None),
    ],
)
def test_operators_of_one_format_say_what_the_target_reads(limits: str, reads: str | None, tmp_path: Path) -> None:
    assert target_files.read(written(tmp_path, f"[limits]\n{limits}")).reads == reads


def test_a_custom_operator_has_a_name_of_its_own(tmp_path: Path) -> None:
    before = tmp_path / "m.onnx"
    before.write_bytes(onnx_model("y[2] = mine.Gelu(x[2])\nz[2] = Gelu(y)").SerializeToString())
    path = written(tmp_path, '[limits]\noperators = ["Gelu"]\noutside = "the board lacks it"')
    (site,) = [site for site in graphfix.check(before, target_file=path).sites if site.code == "GF305"]
    assert site.op == "Gelu"
    path = written(tmp_path, '[limits]\noperators = ["Gelu", "custom:Gelu"]')
    assert not [site for site in graphfix.check(before, target_file=path).sites if site.code == "GF305"]


def test_a_target_and_a_target_file_exclude_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model_file, path = ROOT / "models" / "encoder.onnx", written(tmp_path, 'base = "ranks"')
    assert "not allowed" in refused(capsys, tmp_path, "check", model_file, "--target", "ranks", "--target-file", path)
    with pytest.raises(GraphfixError, match="leave one out"):
        graphfix.check(model_file, target="ranks", target_file=path)


@pytest.mark.ci
def test_check_and_fix_go_by_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = tmp_path / "m.tflite", tmp_path / "o.tflite"
    before.write_bytes(model("e[2,4] = BROADCAST_TO(x[1,4], s:const:int32[2]{2,4})\nz[2,4] = COS(e)"))
    path = written(
        tmp_path, '[limits]\nmovement = ["RESHAPE", "TILE"]\noperators = ["TILE"]\noutside = "the board lacks it"'
    )
    found = ask(capsys, "check", before, "--target-file", path)
    assert found.status == 1
    assert "target board" in found.out
    assert "target board takes no COS: the board lacks it" in found.out
    assert ask(capsys, "fix", before, "-o", after, "--target-file", path).status == 4  # COS is left
    assert [node.op for node in engine.load(after).graphs[0].nodes] == ["TILE", "COS"]
    assert graphfix.check(after, target_file=path).target == "board"


def test_the_row_of_a_file_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ask(capsys, "explain", "--target-file", written(tmp_path, FULL))
    assert (said.status, said.err) == (0, "")
    for line in ("# target my-npu", "- movement: RESHAPE, TILE", "- max-rank: 5", "- not-supported: FILL: the driver"):
        assert line in said.out
    assert "- outside: it runs on the CPU" in said.out
    assert "- measured on board 3" in said.out
    path = written(tmp_path, "x = 1")
    assert "not a key" in refused(capsys, tmp_path, "explain", "--target-file", path)
    assert "not allowed" in refused(capsys, tmp_path, "explain", "ranks", "--target-file", path)
    with pytest.raises(GraphfixError, match="leave one out"):
        graphfix.explain("ranks", target_file=path)


@pytest.mark.parametrize("name", ["litert-gpu", "ethos-u"])
def test_the_row_that_is_printed_of_a_target_can_be_said_in_a_file(name: str, tmp_path: Path) -> None:
    (line,) = [line for line in graphfix.explain(name).splitlines() if line.startswith("- movement: ")]
    names = ", ".join(f'"{each}"' for each in line.removeprefix("- movement: ").split(", "))
    target = target_files.read(written(tmp_path, f'base = "ranks"\n[limits]\nmovement = [{names}]'))
    assert target.movement == targets.target_of(name).movement


def test_a_file_in_place_of_a_target_s_name_is_told_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model_file = ROOT / "models" / "encoder.onnx"
    said = refused(capsys, tmp_path, "check", model_file, "--target", "my-npu.toml")
    assert "name a target file with --target-file" in said


def test_the_row_of_a_target_says_all_that_holds_and_nothing_else(tmp_path: Path) -> None:
    full = explaining.explain_file(written(tmp_path, FULL.replace("= false", "= true")))
    head, row, evidence = full.split("\n\n## ")
    assert (head, evidence) == ("# target my-npu", "Evidence\n\n- measured on board 3\n")
    title, blank, broadcasts, rewrites, *rest = row.splitlines()
    assert (title, blank, broadcasts) == ("The row", "", "- broadcasts: explicit")
    assert rewrites.startswith("- rewrites: ")
    assert rest == [
        "- keep-fusions: what onnxruntime's fusions match stays",
        "- static: the sizes of all inputs are bound",
        "- elements: no value may have a size 0",
        "- reads: tflite",
        "- max-rank: 5",
        "- movement: RESHAPE, TILE",
        "- operators: ADD, RESHAPE, TILE",
        "- types: int8",
        *[line for line in rest if line.startswith("- not-supported: ")],
        "- outside: it runs on the CPU",
    ]
    assert "- not-supported: FILL: the driver has no FILL" in rest
    bare = explaining.explain_file(written(tmp_path, 'name = "bare"\nbase = "ranks"\nevidence = []'))
    assert [line.split(":")[0] for line in bare.splitlines() if line.startswith("- ")] == ["- broadcasts", "- rewrites"]
    assert "Evidence" not in bare


@pytest.mark.parametrize("rank", [1, 1000])
def test_the_least_and_the_greatest_rank_are_taken(rank: int, tmp_path: Path) -> None:
    assert target_files.read(written(tmp_path, f'base = "ranks"\n[limits]\nmax-rank = {rank}')).max_rank == rank
