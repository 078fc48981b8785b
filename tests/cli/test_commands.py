"""The command line: exit status, streams and options; the pipeline behind it is stood in for."""

from __future__ import annotations

import argparse
import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

import pytest

import graphfix
from graphfix.api import pipeline
from graphfix.cli import answers, commands, options, progress
from graphfix.cli.status import FAILED, NO
from graphfix.engine.extracts.selection import NodeSelection
from graphfix.engine.request import Request
from graphfix.results import GraphfixError, Outcome, Site, Verdict, VerdictStatus
from graphfix.results.listing import ListedScope, Listing
from graphfix.targets import registry
from tests.support.places import ROOT

FOUND = Site("GF101", "n", "Add", "main", 1, (4,), (1, 4), "found")
LEFT = Site("GF104", "n", "Add", "main", 1, None, None, "left", None, "the rank of 'x' is not known")
EXEMPT = Site("GF102", "n", "Pow", "main", 1, (1, 1), None, "exempt", None, "another kernel")
OUTCOME = Outcome("fix", "m.onnx", "onnx", target="explicit", output="f.onnx", verdict=Verdict("equal"))

VERIFIED = Outcome("verify", "a.onnx", "onnx", output="b.onnx", verdict=Verdict("equal"))

MASK = ROOT / "models" / "operators" / "where_mask.onnx"

Answer = Callable[..., object]


@dataclass(frozen=True)
class Asked:
    """What the commands asked of the pipeline, and what it answers them."""

    calls: list[tuple[str, tuple[object, ...]]]
    answers: dict[str, Answer]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked(
        [],
        {
            "fix_file": lambda *_, **__: OUTCOME,
            "check": lambda model, _: Outcome("check", str(model), "onnx"),
            "verify": lambda *_, **__: VERIFIED,
            "show": lambda *_, **__: Listing([ListedScope("ma\x1b[31min", [])], 0, None, {}, 0, 0, 0, 0),
            "plan_file": lambda *_, **__: replace(OUTCOME, output=None, verdict=None, dry_run=True),
        },
    )

    def stand_in(name: str) -> Answer:
        def ask(*arguments: object, **named: object) -> object:
            asked.calls.append((name, (*arguments, named) if named else arguments))
            return asked.answers[name](*arguments, **named)

        return ask

    for name in asked.answers:
        monkeypatch.setattr(pipeline, name, stand_in(name))
    return asked


def raising(error: BaseException) -> Answer:
    def answer(*_: object, **__: object) -> None:
        raise error

    return answer


def usage_error(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        commands.main(argv)
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("graphfix: ")
    assert captured.err.count("\n") == 1
    return captured.err


# --- exit status ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "verdict", "status"),
    [
        ("f.onnx", Verdict("equal"), 0),
        ("f.onnx", Verdict("proved"), 0),
        ("f.onnx", Verdict("skipped"), 0),
        ("f.onnx", Verdict("undecided"), 0),
        (None, Verdict("different"), 1),
        (None, Verdict("contradicted"), 1),
        (None, Verdict("undecided"), 3),
    ],
)
def test_fix_ends_with_0_if_it_wrote_and_else_by_its_verdict(
    asked: Asked, output: str | None, verdict: Verdict, status: int
) -> None:
    asked.answers["fix_file"] = lambda *_, **__: replace(OUTCOME, output=output, verdict=verdict, sites=(LEFT,))
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx"]) == status


@pytest.mark.parametrize(
    ("sites", "status"), [((), 0), ((EXEMPT,), 0), ((FOUND,), 1), ((LEFT,), 1), ((EXEMPT, FOUND), 1)]
)
def test_check_ends_with_1_if_something_is_implicit_or_undecided(
    asked: Asked, sites: tuple[Site, ...], status: int
) -> None:
    asked.answers["check"] = lambda *_, **__: Outcome("check", "m.onnx", "onnx", sites=sites)
    assert commands.main(["check", "m.onnx"]) == status


@pytest.mark.parametrize(("verdict", "status"), [("equal", 0), ("proved", 0), ("different", 1), ("undecided", 3)])
def test_verify_ends_with_its_verdict(asked: Asked, verdict: VerdictStatus, status: int) -> None:
    asked.answers["verify"] = lambda *_, **__: replace(VERIFIED, verdict=Verdict(verdict))
    assert commands.main(["verify", "a.onnx", "b.onnx"]) == status
    strict = {"equal": 3}.get(verdict, status)
    assert commands.main(["verify", "a.onnx", "b.onnx", "--strict-proof"]) == strict


@pytest.mark.parametrize(
    "argv",
    [
        ["fix", "m.onnx", "-o", "f.onnx"],
        ["check", "m.onnx"],
        ["verify", "m.onnx", "b.onnx"],
        ["show", "m.onnx"],
    ],
)
def test_an_error_is_one_line_on_stderr_and_status_2(
    asked: Asked, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    asked.answers.update(dict.fromkeys(asked.answers, raising(GraphfixError("m.onnx: a name with\na line; rename it"))))
    assert commands.main(argv) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "graphfix: m.onnx: a name with\\na line; rename it\n")


def test_an_error_of_the_system_that_no_one_foresaw_is_one_line_too(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.answers["check"] = raising(PermissionError(13, "Permission denied", "m.onnx"))
    assert commands.main(["check", "m.onnx"]) == 2
    assert capsys.readouterr().err == "graphfix: m.onnx: Permission denied\n"


def test_an_interrupt_is_one_line_and_130(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    asked.answers["fix_file"] = raising(KeyboardInterrupt())
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx"]) == 130
    assert capsys.readouterr() == ("", "graphfix: interrupted; nothing written\n")


@pytest.mark.parametrize(
    ("kinds", "status"),
    [("clean fine", 0), ("clean found", 1), ("found clean bad more-found", 2), ("bad clean", 2)],
)
def test_of_several_models_the_worst_decides_and_an_error_of_one_stops_no_other(
    asked: Asked, capsys: pytest.CaptureFixture[str], kinds: str, status: int
) -> None:
    def check(model: Path, _: Request) -> Outcome:
        if model.name == "bad":
            raise GraphfixError("bad: no ONNX model; give one")
        return Outcome("check", str(model), "onnx", sites=(FOUND,) if "found" in model.name else ())

    asked.answers["check"] = check
    assert commands.main(["check", *kinds.split()]) == status
    assert [str(arguments[0]) for _, arguments in asked.calls] == kinds.split()
    captured = capsys.readouterr()
    assert captured.err == "graphfix: bad: no ONNX model; give one\n" * kinds.split().count("bad")
    assert captured.out.splitlines()[-1].startswith(f"{len(kinds.split())} models: ")


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("statuses", "worst"), [((0, 1, 3), 1), ((3, 2), 2), ((2, 3, 0), 2), ((3, 0), 3)])
def test_no_is_worse_than_undecided_and_better_than_an_error(
    monkeypatch: pytest.MonkeyPatch, statuses: tuple[int, ...], worst: int
) -> None:
    one_by_one = iter(statuses)
    monkeypatch.setattr(answers, "status", lambda _, **__: next(one_by_one))
    assert commands.main(["check", *(f"m{number}" for number, _ in enumerate(statuses))]) == worst


# --- what is asked --------------------------------------------------------------------------------------------------


def test_every_option_of_fix_reaches_the_pipeline(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blobs").mkdir()
    command = (
        "fix m.onnx -o f.onnx --in-place --target ranks --broadcasts two-sided --unknown keep --dim N=4 "
        "--dim a=b=2..64 --shape x=1,3,224,224 --shape s= "
        "--set s=16000 --set flags=true,false --drop-set-inputs --same a[0]=b[0] --same M=N --trust-stored "
        "--narrow-inputs --only equalize-ranks --only normalize-expand "
        "--skip materialize-broadcasts --bind-defaults --max-expand-bytes 4096 "
        "--keep-fusions --no-verify --strict-proof --runs 7 --thorough --seed 9 --report r.md "
        "--data-root . --data-root blobs"
    )
    assert commands.main(command.split()) == 0
    assert asked.calls == [
        (
            "fix_file",
            (
                Path("m.onnx"),
                Path("f.onnx"),
                Request(
                    data_root=[Path(), Path("blobs")],
                    target="ranks",
                    broadcasts="two-sided",
                    unknown="keep",
                    dims={"N": 4, "a=b": (2, 64)},
                    shapes={"x": (1, 3, 224, 224), "s": ()},
                    values={"s": 16000, "flags": (True, False)},
                    drop_set_inputs=True,
                    same=[("a[0]", "b[0]"), ("M", "N")],
                    trust_stored=True,
                    narrow_inputs=True,
                    only=["equalize-ranks", "normalize-expand"],
                    skip=["materialize-broadcasts"],
                    rewrites=[],
                    max_expand_bytes=4096,
                    bind_defaults=True,
                    keep_fusions=True,
                    check_result=False,
                    strict_proof=True,
                    runs=7,
                    thorough=True,
                    seed=9,
                    in_place=True,
                    report=(Path("r.md"),),
                ),
            ),
        )
    ]


@pytest.mark.parametrize(
    "command", ["fix m.onnx -o f.onnx", "check m.onnx", "verify m.onnx f.onnx", "show m.onnx"], ids=str.split
)
def test_without_options_the_defaults_are_those_of_a_request(asked: Asked, command: str) -> None:
    assert commands.main(command.split()) == 0
    ((_, (*_, request)),) = asked.calls
    assert (
        request == Request(only=[], skip=[], rewrites=[], data_root=[])
        if command.startswith(("fix", "check"))
        else Request()
    )


def test_in_place_needs_no_output(asked: Asked) -> None:
    assert commands.main(["fix", "m.onnx", "--in-place"]) == 0
    assert asked.calls[0][1][:2] == (Path("m.onnx"), Path("m.onnx"))


def test_fix_without_an_output_says_how_to_name_one(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["fix", "m.onnx"]) == 2
    assert capsys.readouterr().err == "graphfix: m.onnx: no output is given: add -o OUT, or --in-place\n"
    assert asked.calls == []


def test_every_option_of_verify_and_show_reaches_the_pipeline(asked: Asked) -> None:
    options = "--dim N=4 --shape x=1 --set k=2 --same M=N --trust-stored --narrow-inputs --inputs d.npz "
    options += "--runs 2 --thorough --seed 3 --atol 1e-3 --rtol 0 --data-root ."
    assert commands.main(["verify", "a.onnx", "b.onnx", *options.split()]) == 0
    chosen = "--maps --broadcasts-only --node *Add --around n1 2 --graph main --dim N=4 --data-root ."
    assert commands.main(["show", "m.onnx", *chosen.split()]) == 0
    sizes = {"dims": {"N": 4}, "shapes": {"x": (1,)}, "values": {"k": 2}, "same": [("M", "N")]}
    sizes |= {"trust_stored": True, "narrow_inputs": True, "data_root": [Path()]}
    verified = Request.of(
        {**sizes, "inputs": Path("d.npz"), "runs": 2, "thorough": True, "seed": 3, "atol": 0.001, "rtol": 0.0}
    )
    assert asked.calls == [
        ("verify", (Path("a.onnx"), Path("b.onnx"), verified)),
        (
            "show",
            (
                Path("m.onnx"),
                Request(dims={"N": 4}, data_root=[Path()]),
                NodeSelection(True, True, "*Add", ("n1", 2), "main"),
            ),
        ),
    ]


def test_a_proof_alone_is_asked_of_the_pipeline(asked: Asked) -> None:
    assert commands.main(["verify", "a.onnx", "b.onnx", "--proof-only"]) == 0
    assert asked.calls[0][1][2] == Request(proof="only", data_root=[])


@pytest.mark.parametrize("option", ["--dim", "--shape", "--set"])
def test_a_binding_that_is_said_twice_is_refused(asked: Asked, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert commands.main(["check", "m.onnx", option, "N=4", option, "N=5"]) == 2
    assert capsys.readouterr().err == f"graphfix: {option} N: given more than once; give it once\n"
    assert asked.calls == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "name a command: fix, check, verify, "),
        ("frobnicate", "frobnicate"),
        ("fix", "MODEL"),
        ("fix m.onnx -o f.onnx --target gpu", "--target"),
        ("fix m.onnx -o f.onnx --runs 0", "'0' is not a whole number from 1 on"),
        ("fix m.onnx -o f.onnx --seed -1", "--seed"),
        ("fix m.onnx -o f.onnx --dim N", "'N' is not NAME=SIZE"),
        ("fix m.onnx -o f.onnx --shape 4", "'4' is not NAME=SIZES"),
        ("fix m.onnx -o f.onnx --set x=", "'x=' is not NAME=VALUE"),
        ("check m.onnx --drop-set-inputs", "--drop-set-inputs"),
        ("fix m.onnx -o f.onnx --json -q", "not allowed with"),
        ("fix m.onnx -o f.onnx --no-ver", "--no-ver"),
        ("fix m.onnx --dry-run --diff", "not allowed with"),
        ("explain GF101 -q -v", "-q/--quiet: not allowed with -v/--verbose"),
        ("show m.onnx --around n1", "--around"),
        ("show m.onnx --color blue", "--color"),
        ("completion tcsh", "tcsh"),
        ("verify a.onnx b.onnx --atol nan", "'nan' is not a number from 0 on"),
        ("verify a.onnx b.onnx --rtol -1", "--rtol"),
        ("verify a.onnx", "AFTER"),
        ("check m.onnx --target rank", "invalid choice: 'rank'; did you mean 'ranks'? see"),
        ("fix m.onnx --unknown asume", "did you mean 'assume'? see"),
        ("chek m.onnx", "did you mean 'check'? see"),
        ("check m.onnx --target moon", "invalid choice: 'moon'; choose from explicit, ranks, tosa, "),
        ("fix https://host/m.onnx -o f.onnx", "MODEL: https://host/m.onnx: a URL, and this takes local files only; "),
        ("check a.onnx s3://host/m.onnx", "PATH: s3://host/m.onnx: a URL"),
        ("fix m.onnx -o file:///f.onnx", "file:///f.onnx: a URL"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str], command: str, said: str) -> None:
    line = usage_error(command.split(), capsys)
    assert said in line
    assert "--help" in line


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("fix m.onnx -o f.onnx --targt ranks", "--targt ranks; did you mean '--target'"),
        ("fix m.onnx --no-ver", "did you mean '--no-verify'?"),
        ("check m.onnx --selct=GF101", "did you mean '--select'"),
        ("config --targt ranks", "did you mean '--target'"),
        ("show m.onnx --zzzzzz", "unrecognized arguments: --zzzzzz; "),
        ("explain GF101 GF102", "unrecognized arguments: GF102; "),
        (
            "fix a.onnx b.onnx -o out",
            "fix takes one model, and -o OUT names its result: graphfix batch a.onnx b.onnx -o DIR does several; ",
        ),
        ("fix a.onnx out.onnx", "fix takes one model, and -o OUT names its result: graphfix batch a.onnx out.onnx -o "),
        ("tosa a.onnx b.onnx -o o.tosa", "graphfix batch a.onnx b.onnx --tosa -o DIR does several; "),
        ("show a.onnx b.onnx", "show takes one model: ask once for each of a.onnx b.onnx; "),
        ("verify a.onnx b.onnx c.onnx", "verify takes two models, BEFORE and AFTER: ask once for each pair; "),
    ],
)
def test_an_option_that_is_none_has_the_nearest_beside_it(
    capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    line = usage_error(command.split(), capsys)
    assert said in line
    assert line.endswith(f" see graphfix {command.split(maxsplit=1)[0]} --help\n")


def test_every_help_page_lists_the_status_of_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["verify", "--help"]):
        with pytest.raises(SystemExit):
            commands.main(words)
        assert re.search(r"^  .*130 +interrupted by Ctrl-C", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("words", [["help", "fix"], ["fix", "-h"], ["fix", "--help"]])
def test_help_of_a_command(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.main(words)
    assert (ended.value.code, capsys.readouterr().out.startswith("usage: graphfix fix [options] MODEL\n")) == (0, True)


@pytest.mark.parametrize("words", [["help"], ["-h"], ["--help"]])
def test_help_of_all_commands(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.main(words)
    assert (ended.value.code, capsys.readouterr().out.startswith("usage: graphfix [-h] [-V] COMMAND")) == (0, True)


def test_help_of_an_unknown_command_offers_near_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'check'?" in usage_error(["help", "chekc"], capsys)


def test_the_help_of_fix_fits_two_screens(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert len(helped(["fix"], capsys).splitlines()) <= 2 * 42


@pytest.mark.parametrize("options", [[], ["--target", "ranks"]])
def test_a_model_alone_is_checked(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    model = str(ROOT / "models" / "encoder.onnx")
    answers = []
    for words in ([model, *options], ["check", model, *options]):
        status = commands.main(words)
        lines = capsys.readouterr().out.splitlines()
        answers.append((status, [line for line in lines if not re.match(r"\d+\.\d+ s", line)]))
    assert answers[0] == answers[1]
    assert answers[0][0] == NO


@pytest.mark.parametrize("word", ["no_such_model.onnx", "no_such_model.tflite"])
def test_a_missing_model_alone_is_named(capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert commands.main([word]) == FAILED
    assert capsys.readouterr().err.startswith(f"graphfix: {word}: no such file or directory")


def test_a_folder_alone_is_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert commands.main([str(tmp_path)]) == FAILED
    assert str(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize("words", [["check", "m.onnx", "-o", "f.onnx"], ["m.onnx", "--output", "f.onnx"]])
def test_check_with_an_output_names_the_command_that_writes(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert "check writes no model: graphfix fix MODEL -o OUT does" in usage_error(words, capsys)


# --- what is offered ------------------------------------------------------------------------------------------------

OFFERED = {
    "fix": "-o --output --in-place --dry-run --diff --exit-zero --target --target-file --broadcasts --unknown --dim "
    "--shape --same --trust-stored --signature --set --narrow-inputs --drop-set-inputs --only --skip --rewrites "
    "--bind-defaults --max-expand-bytes --keep-fusions --no-verify --strict-proof --runs --thorough --seed --report "
    "--json -q --quiet --data-root",
    "check": "--target --target-file --broadcasts --unknown --dim --shape --same --trust-stored --signature "
    "--narrow-inputs --set --only --skip --rewrites --bind-defaults --max-expand-bytes --keep-fusions --report --json "
    "-q --quiet --exclude --select --ignore --baseline --write-baseline --exit-zero --format --statistics "
    "--data-root",
    "verify": "--data-root --dim --shape --same --trust-stored --signature --set --inputs --runs --thorough --seed "
    "--proof-only --load --strict-proof --narrow-inputs --atol --rtol --report --json -q --quiet",
    "show": "--maps --broadcasts-only --node --around --graph --dim --shape --same --trust-stored --signature "
    "--narrow-inputs --set -q --quiet --data-root",
    "tosa": "-o --output --data-root --run --inputs --atol --rtol --seed --only --skip --rewrites --dim --shape --same "
    "--trust-stored --signature --narrow-inputs --set --drop-set-inputs --bind-defaults --max-expand-bytes --no-verify "
    "--report --json -q --quiet",
    "batch": "-o --output --exclude --check --tosa --run --jobs --dask --retries --time-limit --memory-limit --again "
    "--target --target-file --broadcasts --unknown --dim --shape --same --trust-stored --signature --set "
    "--narrow-inputs --drop-set-inputs --only --skip --rewrites --bind-defaults --max-expand-bytes --keep-fusions "
    "--no-verify --strict-proof --runs --thorough --seed --report --json -q --quiet --data-root",
    "explain": "--rewrites --target-file -q --quiet",
    "config": "--json -q --quiet",
    "doctor": "--json -q --quiet",
    "completion": "-q --quiet",
}
EVERYWHERE = "-h --help -v --verbose --color"
CONFIGURED = "--config --isolated"
"""What all commands have that a configuration file speaks to."""


def helped(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        commands.main([*argv, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", OFFERED)
def test_help_lists_exactly_the_options_that_exist(capsys: pytest.CaptureFixture[str], command: str) -> None:
    listed, configured = helped([command], capsys), command not in ("doctor", "completion")
    options = set(re.findall(r"^  (-\S+)|(?<=, )(--[a-z-]+)", listed, re.MULTILINE))
    flat = {part.rstrip(",") for pair in options for part in pair if part}
    offered = OFFERED[command].split()
    negated = ["--no-trust-stored"] * ("--trust-stored" in offered)
    assert flat == {*EVERYWHERE.split(), *offered, *negated, *CONFIGURED.split() * configured}


def test_help_lists_exactly_the_commands_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert re.findall(r"^    ([a-z]+)(?: |$)", helped([], capsys), re.MULTILINE) == list(OFFERED)


def test_explain_lists_every_rewrite_in_one_piece(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["explain"]) == 0
    words = capsys.readouterr().out.split()
    assert [rewrite for rewrite in registry.REWRITES if rewrite not in words] == []


def test_help_names_every_target_in_one_piece(capsys: pytest.CaptureFixture[str]) -> None:
    words = re.split(r"[\s,;]+", helped(["fix"], capsys))
    assert [target for target in registry.TARGETS if target not in words] == []


@pytest.mark.parametrize("command", OFFERED)
def test_help_names_no_page_that_there_is_not(capsys: pytest.CaptureFixture[str], command: str) -> None:
    named = set(re.findall(r"docs/[\w./-]+\.md", helped([command], capsys)))
    assert [page for page in sorted(named) if not (ROOT / page).is_file()] == []


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version_is_the_package_s(capsys: pytest.CaptureFixture[str], option: str) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.main([option])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"graphfix {graphfix.__version__}\n")


@pytest.mark.parametrize(
    "argv",
    [["--help"], ["--version"], ["fix", "--help"], ["check", "--help"], ["config"], ["explain", "GF101"]],
)
def test_a_question_about_graphfix_itself_imports_nothing_heavy(argv: list[str]) -> None:
    program = (
        "import sys\n"
        "from graphfix.cli.commands import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "print([name for name in ('numpy', 'onnx', 'onnxruntime', 'google', 'rewrites') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *argv], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# --- streams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "key"),
    [
        (["fix", "m.onnx", "-o", "f.onnx"], "sites"),
        (["check", "m.onnx"], "sites"),
        (["check", "m.onnx", "n.onnx"], "models"),
        (["verify", "a.onnx", "b.onnx"], "verdict"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_json_prints_one_document_and_nothing_else(
    capsys: pytest.CaptureFixture[str], argv: list[str], key: str
) -> None:
    assert commands.main([*argv, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    document = json.loads(captured.out)
    assert document["schema"] == 1
    assert key in document


def test_json_of_verify_names_both_files(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = Verdict("different", reason="output 'z' is new")
    asked.answers["verify"] = lambda *_, **__: replace(VERIFIED, verdict=verdict)
    assert commands.main(["verify", "a.onnx", "b.onnx", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["command"], document["model"], document["output"]) == ("verify", "a.onnx", "b.onnx")
    assert document["verdict"]["reason"] == "output 'z' is new"


def test_json_holds_a_document_when_the_model_could_not_be_dealt_with(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.answers["fix_file"] = raising(GraphfixError("m.onnx: empty; give a model"))
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx", "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"] == "m.onnx: empty; give a model"
    assert captured.err == "graphfix: m.onnx: empty; give a model\n"


@pytest.mark.parametrize(
    "argv", [["fix", "m.onnx", "-o", "f.onnx"], ["check", "m", "n"], ["verify", "a.onnx", "b.onnx"]]
)
def test_quiet_prints_nothing(asked: Asked, capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    asked.answers["verify"] = lambda *_, **__: replace(VERIFIED, verdict=Verdict("different"))
    asked.answers["check"] = lambda model, _: Outcome("check", str(model), "onnx", sites=(FOUND,))
    commands.main([*argv, "-q"])
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_a_fix_that_wrote_nothing_says_so_on_stderr_where_there_is_no_table(
    asked: Asked, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    refused = Verdict("different", reason="output 'z' is new")
    asked.answers["fix_file"] = lambda *_, **__: replace(OUTCOME, output=None, verdict=refused)
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx", option]) == 1
    assert capsys.readouterr().err == "graphfix: m.onnx: nothing written, different: output 'z' is new\n"


@pytest.mark.usefixtures("asked")
def test_show_prints_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["show", "m.onnx"]) == 0
    assert capsys.readouterr().out.startswith("ma\\x1b[31min:\n\n0 nodes\n")


def test_a_distance_that_is_no_number_is_refused(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["show", "m.onnx", "--around", "n1", "two"]) == 2
    assert capsys.readouterr().err == "graphfix: --around n1: 'two' is not a whole number from 0 on\n"
    assert asked.calls == []


@pytest.mark.parametrize(
    ("argv", "output"),
    [(["--dry-run"], None), (["--diff"], None), (["--diff", "-o", "f.onnx"], Path("f.onnx"))],
)
def test_what_only_is_planned_needs_no_output_and_ends_with_0(
    asked: Asked, capsys: pytest.CaptureFixture[str], argv: list[str], output: Path | None
) -> None:
    assert commands.main(["fix", "m.onnx", *argv]) == 0
    assert [(name, given[:2]) for name, given in asked.calls] == [("plan_file", (Path("m.onnx"), output))]
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("" if "--diff" in argv else "m.onnx: nothing written (dry run): ")


def test_a_diff_and_a_document_are_two_answers(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["fix", "m.onnx", "--diff", "--json"]) == 2
    assert "--diff and --json can't be combined" in capsys.readouterr().err
    assert asked.calls == []


def test_reports_are_written_for_every_model_even_the_failed_one(asked: Asked, tmp_path: Path) -> None:
    def check(model: Path, _: Request) -> Outcome:
        if model.name == "bad":
            raise GraphfixError("bad: empty")
        return Outcome("check", str(model), "onnx", sites=(FOUND,))

    asked.answers["check"] = check
    reports = ["--report", str(tmp_path / "r.json"), "--report", str(tmp_path / "r.md")]
    assert commands.main(["check", "m", "bad", *reports]) == 2
    document = json.loads((tmp_path / "r.json").read_text())
    assert [part["model"] for part in document["models"]] == ["m", "bad"]
    assert "Error: bad: empty" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize("name", ["r.txt", "r", "none/r.json"])
def test_a_report_that_can_not_be_written_is_refused_before_the_work(
    asked: Asked, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx", "--report", str(tmp_path / name)]) == 2
    assert asked.calls == []
    assert capsys.readouterr().err.startswith(f"graphfix: {tmp_path / name}: ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def speaking(_: Path, __: Path, request: Request) -> Outcome:
    request.progress("run\n", 1, 4)
    return OUTCOME


def slowly(one: Path, two: Path, request: Request) -> Outcome:
    speaking(one, two, request)
    until = time.monotonic() + 20
    while "1/4" not in sys.stderr.getvalue() and time.monotonic() < until:  # type: ignore[attr-defined]  # Terminal's
        time.sleep(0.01)
    return OUTCOME


@pytest.mark.ci
def test_progress_is_reported_on_a_terminal_and_wiped_at_the_end(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.answers["fix_file"] = slowly
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert commands.main(["fix", "m\x1b[31m.onnx", "-o", "f.onnx"]) == 0
    drawn = terminal.getvalue()
    assert "m\\x1b[31m.onnx: run\\n" in re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", drawn)
    assert "1/4" in drawn
    assert "\x1b[31m.onnx" not in drawn
    assert drawn.endswith("\x1b[2K")  # the line is wiped
    assert "run\\n" not in capsys.readouterr().out


def test_a_command_that_is_soon_done_draws_nothing(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.answers["fix_file"] = speaking
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx"]) == 0
    assert terminal.getvalue() == ""


def test_with_v_each_step_is_a_line_and_the_versions_are_said(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    asked.answers["fix_file"] = speaking
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx", "-v"]) == 0
    first, second, *steps = capsys.readouterr().err.splitlines()
    assert re.fullmatch(rf"graphfix: graphfix {graphfix.__version__}, Python 3\.\S+, numpy .*onnxruntime \S+.*", first)
    assert second == "graphfix: no configuration file"
    assert [re.sub(r"\d+\.\d\d s", "TIME", line) for line in steps] == [
        "graphfix:    TIME  run\\n (1 of 4)",
        "graphfix:    TIME  done",
    ]


def test_what_is_said_with_v_has_not_the_colour_of_an_error(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    asked.answers["fix_file"] = speaking
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx", "-v", "--color", "always"]) == 0
    assert "\x1b[1;31m" not in capsys.readouterr().err


def test_with_v_no_list_is_cut(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    sites = tuple(replace(FOUND, node=f"n{at}") for at in range(30)) + tuple(
        replace(LEFT, node=f"l{at}") for at in range(30)
    )
    asked.answers["check"] = lambda *_: Outcome("check", "m.onnx", "onnx", sites=sites)
    assert commands.main(["check", "m.onnx"]) == 1
    assert "and 29 more" in capsys.readouterr().out
    assert commands.main(["check", "m.onnx", "-v"]) == 1
    whole = capsys.readouterr().out
    assert "more" not in whole
    assert all(f"'n{at}'" in whole and f"'l{at}'" in whole for at in range(30))


def test_no_progress_is_reported_to_a_file_or_with_quiet(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.answers["fix_file"] = speaking
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx"]) == 0
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx", "-q"]) == 0
    assert terminal.getvalue() == ""


# --- the process ----------------------------------------------------------------------------------------------------


def process(*argv: str | Path, stdout: IO[bytes] | None = None, encoding: str = "utf-8") -> CompletedProcess[str]:
    """A child whose stdout is buffered as a user's is: the last flush is part of what is tested."""
    outer = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-m", "graphfix", *map(str, argv)],
        cwd=ROOT,
        env={**outer, "PYTHONIOENCODING": encoding},
        stdout=stdout or subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.ci
@pytest.mark.parametrize("line", ["explain GF101", "--help"])
def test_a_pipe_that_its_reader_closed_ends_the_command_quietly(line: str) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = process(*line.split(), stdout=closed)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.ci
@pytest.mark.parametrize("line", ["explain GF101", "--version"])
def test_a_full_stdout_is_one_line_and_status_2(line: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = process(*line.split(), stdout=full)
    assert (done.returncode, done.stderr) == (2, "graphfix: stdout: No space left on device\n")


@pytest.mark.ci
def test_a_name_that_the_terminal_can_not_show_stops_nothing(tmp_path: Path) -> None:
    name = "größe.onnx"
    shutil.copy(MASK, tmp_path / name)
    done = process("check", tmp_path / name, encoding="ascii")
    assert (done.returncode, done.stderr) == (1, "")
    assert "gr\\xf6\\xdfe.onnx: " in done.stdout


@pytest.mark.ci
def test_fix_check_verify_and_show_work_together_on_a_real_file(tmp_path: Path) -> None:
    model, fixed = ROOT / "models" / "rfc_rank_expansion.onnx", tmp_path / "fixed.onnx"
    done = process("fix", model, "-o", fixed, "--report", tmp_path / "r.md", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert [(site["before"], site["after"]) for site in document["sites"]] == [
        ([3, 4], [1, 3, 4]),
        ([1, 3, 4], [2, 3, 4]),
    ]
    assert document["verdict"]["status"] == "proved"
    assert "`[1,3,4]`" in (tmp_path / "r.md").read_text()
    checked = process("check", model, fixed)
    assert checked.returncode == 1
    assert checked.stdout.splitlines()[-1] == "2 models: 1 clean, 1 with findings"
    assert process("verify", model, fixed, "-q").returncode == 0
    assert "Expand" in process("show", fixed).stdout


@pytest.mark.ci
def test_a_refusal_leaves_no_output_behind(tmp_path: Path) -> None:
    done = process("fix", ROOT / "models" / "rfc/incompatible.onnx", "-o", tmp_path / "f.onnx")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"graphfix: \S+rfc/incompatible\.onnx: .*\(GF105\)\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.ci
@pytest.mark.parametrize(("term", "runs", "drawn"), [("xterm", 300, True), ("dumb", 1, False)])
def test_the_terminal_is_left_clean_by_a_real_run(tmp_path: Path, term: str, runs: int, *, drawn: bool) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "graphfix", "fix", str(MASK), "-o", str(tmp_path / "f.onnx"), "--runs", str(runs)]
    outer = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, text=True, env={**outer, "TERM": term}
    ) as asked:
        os.close(theirs)
        shown = b"".join(_read(ours, asked)).decode()
        out, _ = asked.communicate()
    os.close(ours)
    assert asked.returncode == 0
    assert "\x1b" not in out
    assert ("running the first model" in shown) == drawn
    assert shown.endswith("\x1b[2K") if drawn else shown == ""


def _read(terminal: int, asked: subprocess.Popen[str]) -> Iterator[bytes]:
    while asked.poll() is None or select.select([terminal], [], [], 0)[0]:
        try:
            if select.select([terminal], [], [], 0.05)[0]:
                yield os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            return


@pytest.mark.parametrize(
    "option",
    [
        "--dim=N={}",
        "--dim=N=2..{}",
        "--shape=x0={}",
        "--same=x0[{}]=x1[0]",
        "--same=x0[0]=1+{}",
        "--max-expand-bytes={}",
    ],
)
@pytest.mark.parametrize("command", [["check"], ["verify", "--proof-only", str(MASK)]], ids=lambda words: words[0])
def test_a_number_of_5000_digits_is_refused(
    capsys: pytest.CaptureFixture[str], command: list[str], option: str
) -> None:
    name, *rest = command
    asked = [name, *rest, str(MASK), option.format("9" * 5000)]
    try:
        status = commands.main(asked)
    except SystemExit as ended:  # argparse ends so
        status = int(ended.code or 0)
    said = capsys.readouterr().err
    assert status == 2
    assert "internal error" not in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("1e-3", 0.001), ("1e308", 1e308)])
def test_a_tolerance_is_a_number_from_0_on(text: str, value: float) -> None:
    assert options.tolerance(text) == value


@pytest.mark.parametrize("text", ["inf", "1e309", "nan", "-1e-9", "", "a"])
def test_what_is_no_finite_number_from_0_on_is_no_tolerance(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"^{re.escape(repr(text))} is not a number from 0 on$"):
        options.tolerance(text)


@pytest.mark.parametrize(
    ("text", "least", "pair"),
    [
        ("a=3", 1, ("a", "3")),
        ("ceil(T=2)=4", 1, ("ceil(T=2)", "4")),
        ("a=", 0, ("a", "")),
        ("a=", 1, None),
        ("a=3", 2, None),
        ("a=34", 2, ("a", "34")),
        ("=3", 0, None),
        ("a", 0, None),
        ("", 0, None),
    ],
)
def test_a_name_and_a_text_are_parted_at_the_last_sign(text: str, least: int, pair: tuple[str, str] | None) -> None:
    if pair is not None:
        assert options.name_and_text("SIZE", least=least)(text) == pair
        return
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not NAME=SIZE$"):
        options.name_and_text("SIZE", least=least)(text)


def test_a_text_behind_a_name_has_at_least_one_letter_unless_it_is_said() -> None:
    assert options.name_and_text("SIZE")("a=3") == ("a", "3")
    with pytest.raises(argparse.ArgumentTypeError, match=r"^'a=' is not NAME=SIZE$"):
        options.name_and_text("SIZE")("a=")


def test_a_letter_that_the_terminal_can_not_show_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert commands.main(["check", "modell-\u00fc.onnx"]) == 2
    out.write("\u00e9\n")
    out.flush()
    err.flush()
    assert err.buffer.getvalue().startswith(b"graphfix: modell-\\xfc.onnx: ")  # type: ignore[attr-defined]
    assert out.buffer.getvalue() == b"\\xe9\n"  # type: ignore[attr-defined]
