"""Options from files: where they are found, what they may say, who wins, and what `config` prints of it."""

from __future__ import annotations

import argparse
import json
import os
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from graphfix.api import own_rewrites, pipeline
from graphfix.api.own_rewrites import Own
from graphfix.batch.globs import Glob
from graphfix.cli import commands, parser
from graphfix.cli.configuration import file, keys
from graphfix.cli.configuration.file import Layer
from graphfix.cli.configuration.settings import Settings
from graphfix.engine.request import Request
from graphfix.graph.protocols import Rewrite
from graphfix.results import GraphfixError, Outcome, Site, Verdict

Asked = list[tuple[str, Request]]
Run = Callable[..., tuple[int, str, str]]
FOUND = Site("GF101", "n", "Add", "main", 1, (4,), (1, 4), "found")
LEFT = Site("GF103", "n", "Add", "main", 1, None, None, "left", None, "its size is not known")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    """What the pipeline is asked, in the working directory `work`."""
    asked: Asked = []

    def answer(command: str, outcome: Outcome) -> Callable[..., Outcome]:
        def ask(*arguments: object) -> Outcome:
            request = arguments[-1]
            assert isinstance(request, Request)
            asked.append((f"{command} {arguments[0]}", request))
            return outcome

        return ask

    found = Outcome("check", "m.onnx", "onnx", sites=(FOUND, LEFT))
    monkeypatch.setattr(pipeline, "check", answer("check", found))
    monkeypatch.setattr(pipeline, "fix_file", answer("fix", Outcome("fix", "m.onnx", "onnx", output="f.onnx")))
    verified = Outcome("verify", "m.onnx", "onnx", output="f.onnx", verdict=Verdict("equal"))
    monkeypatch.setattr(pipeline, "verify", answer("verify", verified))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return asked


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def ask(*argv: str) -> tuple[int, str, str]:
        try:
            status = commands.main(argv)
        except SystemExit as ended:
            status = int(str(ended.code))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return ask


def of(asked: Asked, run: Run, *argv: str) -> Request:
    """The request that a command line makes."""
    asked.clear()
    run(*argv)
    ((_, request),) = asked
    return request


# --- where it is ----------------------------------------------------------------------------------------------------


def test_the_nearest_file_counts_and_graphfix_toml_wins_over_pyproject_toml(asked: Asked, run: Run) -> None:
    def target() -> str:
        return of(asked, run, "check", "m.onnx").target

    assert target() == "explicit"
    Path("../pyproject.toml").write_text('[tool.graphfix]\ntarget = "ranks"\n')
    assert target() == "ranks"
    Path("pyproject.toml").write_text('[tool.other]\ntarget = "x"\n')
    assert target() == "ranks"
    Path("pyproject.toml").write_text('[tool.graphfix]\ntarget = "tosa"\n')
    assert target() == "tosa"
    Path("graphfix.toml").write_text('target = "compact"\n')
    assert target() == "compact"
    assert of(asked, run, "check", "m.onnx", "--isolated").target == "explicit"
    assert of(asked, run, "check", "m.onnx", "--config", "../pyproject.toml").target == "ranks"


def test_files_and_patterns_are_read_from_the_folder_of_the_file(asked: Asked, run: Run, tmp_path: Path) -> None:
    Path("../graphfix.toml").write_text('target-file = "t.toml"\nexclude = ["work/old*"]\nreport = ["out/r.json"]\n')
    (tmp_path / "t.toml").write_text('base = "ranks"\n')
    (tmp_path / "out").mkdir()
    assert of(asked, run, "check", "m.onnx", "old.onnx").goal.name == "t"
    assert (tmp_path / "out" / "r.json").exists()
    assert asked[0][0] == "check m.onnx"


def test_a_file_that_is_named_and_says_nothing_is_an_error(asked: Asked, run: Run) -> None:
    Path("pyproject.toml").write_text("[project]\n")
    for name, said in (
        ("none.toml", "No such file"),
        ("pyproject.toml", "no table [tool.graphfix]"),
        (".", "a folder"),
    ):
        status, out, err = run("check", "m.onnx", "--config", name)
        assert (status, out, err.count("\n"), asked) == (2, "", 1, [])
        assert said in err


@pytest.mark.usefixtures("asked")
def test_a_help_text_and_a_version_read_no_file(run: Run) -> None:
    Path("graphfix.toml").write_text("=")
    assert run("check", "--help")[0] == 0
    assert run("--version")[0] == 0


# --- what it may say ------------------------------------------------------------------------------------------------


def test_every_kind_of_option_is_said(asked: Asked, run: Run) -> None:
    Path("graphfix.toml").write_text(
        'dim = ["N=4", "ceil(T=2)=3"]\nset = ["s=1"]\nmax-expand-bytes = 7\nkeep-fusions = true\n'
        'only = ["equalize-ranks"]\n'
        'no-verify = true\nruns = 2\nunknown = "keep"\nsame = ["a=b"]\natol = 1\nrtol = 0.5\nproof-only = false\n'
    )
    request = of(asked, run, "fix", "m.onnx", "-o", "f.onnx")
    assert (request.dims, request.values) == ({"N": 4, "ceil(T=2)": 3}, {"s": 1})
    assert (request.max_expand_bytes, request.keep_fusions, request.only) == (7, True, ["equalize-ranks"])
    assert (request.check_result, request.runs, request.unknown, request.same) == (False, 2, "keep", (("a", "b"),))
    assert request.atol is None  # fix has no such option
    request = of(asked, run, "verify", "m.onnx", "f.onnx")
    assert (request.atol, request.rtol, request.runs, request.proof) == (1.0, 0.5, 2, "with")


@pytest.mark.alike(3)
@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tagret = 'tosa'", "'tagret' is not an option; did you mean 'target'"),
        ("target_file = 't.toml'", "did you mean 'target-file'"),
        ("zzzzzz = 1", "'zzzzzz' is not an option; `graphfix config` lists them"),
        ("[tool.graphfix]\ntarget = 'tosa'", "'tool.graphfix' is for pyproject.toml: here its keys stand without it"),
        ("tool = 1", "'tool' is not an option"),
        ("help = true", "'help' is not an option"),
        ("config = 'x'", "'config' is not an option"),
        ("output = 'x.onnx'", "'output' replaces files, so only the command line may have it"),
        ("in-place = true", "'in-place' replaces files"),
        ("write-baseline = 'b.json'", "'write-baseline' replaces files"),
        ("target = 'gpu'", "'target': 'gpu' is unknown"),
        ("target = 'toss'", "did you mean 'tosa'"),
        ("target = 1", "'target' is a text, not 1"),
        ("runs = '4'", "'runs' is a whole number, not '4'"),
        ("runs = 0", "'runs': '0' is not a whole number from 1 on"),
        ("runs = true", "'runs' is a whole number, not True"),
        ("runs = 1.5", "'runs' is a whole number, not 1.5"),
        ("atol = 'x'", "'atol' is a number, not 'x'"),
        ("atol = -1.0", "'atol': '-1.0' is not a number from 0 on"),
        ("atol = nan", "'atol': 'nan' is not a number from 0 on"),
        ("keep-fusions = 'yes'", "'keep-fusions' is true or false, not 'yes'"),
        ("keep-fusions = 1", "'keep-fusions' is true or false, not 1"),
        ("dim = 'N=4'", "'dim' is a list, such as ['N=4'], not 'N=4'"),
        ("dim = ['N']", "'dim': 'N' is not NAME=SIZE"),
        ("dim = [4]", "'dim' is of texts, not 4"),
        ("dim = {N = 4}", "'dim' is a list"),
        ("select = ['GF9']", "'select': no finding code begins with 'GF9'"),
        ('report = ["a\\u0000b"]', "'report' is of texts"),
        ("exclude = ['[z-a]']", "'exclude': '[z-a]' has a bad range of letters"),
        ("exclude = ['']", "'exclude': '' names nothing"),
        ("json = true\nquiet = true", "'json' and 'quiet' can't be combined"),
        ("quiet = true\nverbose = true", "'quiet' and 'verbose' can't be combined"),
        ("target = 'tosa'\ntarget-file = 't.toml'", "'target' and 'target-file' can't be combined"),
        ("overrides = 1", "'overrides' is of tables, [[overrides]], not 1"),
        ("[overrides]\nfiles = ['x']", "'overrides' is of tables"),
        ("[[overrides]]\ntarget = 'tosa'", "override 1: it has no 'files', the list of names of files or patterns"),
        ("[[overrides]]\nfiles = []", "override 1: 'files' is a list"),
        ("[[overrides]]\nfiles = ['[z-a]']", "override 1: 'files': '[z-a]' has a bad range"),
        (
            "[[overrides]]\nfiles = ['x']\n[[overrides]]\nfiles = ['y']\nreport = ['r.md']",
            "override 2: 'report' is for a whole run",
        ),
        ("[[overrides]]\nfiles = ['x']\nbaseline = 'b.json'", "'baseline' is for a whole run"),
        ("[[overrides]]\nfiles = ['x']\nformat = 'json'", "'format' is for a whole run"),
        ("[[overrides]]\nfiles = ['x']\nexclude = ['y']", "'exclude' is for a whole run"),
        ("[[overrides]]\nfiles = ['x']\ntagret = 'y'", "override 1: 'tagret' is not an option; did you mean 'target'"),
        ('"\\u001b[31m\\u202e" = 1', "'\\x1b[31m\\u202e' is not an option"),
        ("= 1", "not a TOML file"),
        ("a = " + "[" * 9999, "not a TOML file"),
    ],
)
@pytest.mark.parametrize("command", ["check m.onnx", "explain GF101"])
def test_what_no_option_takes_is_one_line_for_every_command(run: Run, text: str, said: str, command: str) -> None:
    Path("graphfix.toml").write_text(text + "\n")
    status, out, err = run(*command.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("graphfix: graphfix.toml: ")
    assert said in err.replace("\\\\", "\\")
    assert err[:-1].isprintable()


@pytest.mark.usefixtures("asked")
def test_a_table_that_is_none_is_named(run: Run) -> None:
    Path("pyproject.toml").write_text("tool.graphfix = 1\n")
    assert "'tool.graphfix' is a table, [tool.graphfix], not 1" in run("check", "m.onnx")[2]
    Path("pyproject.toml").write_text("[tool.graphfix]\noverrides = 1\n")
    assert "[[tool.graphfix.overrides]]" in run("check", "m.onnx")[2]


def test_an_option_of_another_command_disturbs_none(asked: Asked, run: Run) -> None:
    Path("graphfix.toml").write_text('select = ["GF1"]\nbaseline = "none.json"\nmaps = true\nstatistics = true\n')
    assert of(asked, run, "fix", "m.onnx", "-o", "f.onnx") == Request(only=[], skip=[], rewrites=[], data_root=[])
    assert run("explain", "GF101")[0] == 0


def every_option() -> Iterator[tuple[str, str]]:
    """Every command, and each of its long options, as the parser has them: no list of them is kept here."""
    for name, command in parser.commands_of(parser.parser()).items():
        if name not in ("config", *parser.UNCONFIGURED):  # which takes others' options, and those that read no file
            yield from ((name, key) for key in keys.options(command))


def test_the_exceptions_are_options_that_there_are() -> None:
    there = {key for _, key in every_option()}
    assert there >= keys.SAID_EACH_TIME
    names = {action.dest for command in parser.commands_of(parser.parser()).values() for action in command._actions}
    assert names >= keys.NO_KEYS
    assert {"target", "select", "ignore", "dims", "shapes", "same", "values", "unknown"} <= keys.OF_A_FILE & names


@pytest.mark.alike(6)
@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("command", "key"), list(every_option()), ids=lambda each: each)
def test_every_option_is_a_key_and_a_value_of_another_type_is_refused(run: Run, command: str, key: str) -> None:
    Path("graphfix.toml").write_text(f"{key} = {{}}\n")
    positional = {"fix": ["m"], "check": ["m"], "verify": ["m", "n"], "show": ["m"]}
    positional |= {name: ["m", "-o", "o"] for name in ("tosa", "batch")}
    status, _, err = run(command, *positional.get(command, ["GF101"]))
    assert status == 2
    assert err.startswith(f"graphfix: graphfix.toml: '{key}' ")
    assert "is not an option" not in err


# --- who wins -------------------------------------------------------------------------------------------------------


def test_the_command_line_wins_and_its_lists_replace_those_of_the_file(asked: Asked, run: Run) -> None:
    Path("graphfix.toml").write_text('target = "tosa"\ndim = ["N=4", "M=5"]\nkeep-fusions = true\n')
    request = of(asked, run, "check", "m.onnx", "--dim", "N=2", "--dim", "K=3", "--target", "ranks")
    assert (request.target, request.dims, request.keep_fusions) == ("ranks", {"N": 2, "K": 3}, True)
    assert of(asked, run, "check", "m.onnx", "--target", "explicit").target == "explicit"


def test_the_later_override_wins_for_the_files_that_it_names(asked: Asked, run: Run) -> None:
    Path("../graphfix.toml").write_text(
        'target = "tosa"\nunknown = "keep"\n'
        '[[overrides]]\nfiles = ["work/old/*"]\ntarget = "ranks"\ndim = ["N=1"]\n'
        '[[overrides]]\nfiles = ["b.onnx"]\ntarget = "compact"\n'
    )
    run("check", "a.onnx", "old/a.onnx", "old/b.onnx", "b.onnx")
    said = {name: (request.target, request.unknown, dict(request.dims)) for name, request in asked}
    assert said == {
        "check a.onnx": ("tosa", "keep", {}),
        "check old/a.onnx": ("ranks", "keep", {"N": 1}),
        "check old/b.onnx": ("compact", "keep", {"N": 1}),
        "check b.onnx": ("compact", "keep", {}),
    }
    assert of(asked, run, "fix", "old/b.onnx", "-o", "f.onnx").target == "compact"
    assert of(asked, run, "fix", "old/b.onnx", "-o", "f.onnx", "--target", "explicit").target == "explicit"


@pytest.mark.ci
def test_what_can_not_be_said_together_is_taken_back_by_what_is_said_later(asked: Asked, run: Run) -> None:
    Path("t.toml").write_text('base = "ranks"\n')
    Path("graphfix.toml").write_text(
        'target-file = "t.toml"\njson = true\n[[overrides]]\nfiles = ["b.onnx"]\ntarget = "tosa"\n'
    )
    assert of(asked, run, "check", "a.onnx").goal.name == "t"
    assert of(asked, run, "check", "b.onnx").goal.name == "tosa"
    assert of(asked, run, "check", "a.onnx", "--target", "compact").goal.name == "compact"
    assert run("check", "a.onnx", "-q") == (1, "", "")
    assert run("check", "a.onnx", "--format", "text")[1].startswith("m.onnx: ")
    assert run("check", "a.onnx")[1].startswith("{")
    assert run("explain", "GF101")[1].startswith("# GF101")


@pytest.mark.usefixtures("asked")
def test_a_file_that_says_quiet_is_overruled_by_verbose(run: Run) -> None:
    Path("graphfix.toml").write_text("quiet = true\n")
    assert run("check", "a.onnx") == (1, "", "")
    _, out, err = run("check", "a.onnx", "-v")
    assert out.startswith("m.onnx: ")
    assert "configuration: graphfix.toml" in err


def test_what_counts_may_differ_from_file_to_file(asked: Asked, run: Run) -> None:
    Path("graphfix.toml").write_text('ignore = ["GF103"]\n[[overrides]]\nfiles = ["old.onnx"]\nignore = ["GF1"]\n')
    assert (run("check", "old.onnx")[0], run("check", "new.onnx")[0]) == (0, 1)
    _, out, _ = run("check", "old.onnx", "new.onnx", "--json")
    assert [[site["code"] for site in each["sites"]] for each in json.loads(out)["models"]] == [[], ["GF101"]]
    assert len(asked) == 4


# --- what is in force -----------------------------------------------------------------------------------------------

FORCE = (
    'target = "tosa"\nreport = ["r.md"]\n[[overrides]]\nfiles = ["old.onnx"]\nselect = ["gf1, GF2"]\ndim = ["N=4"]\n'
)


@pytest.mark.usefixtures("asked")
def test_config_says_what_is_in_force_and_who_said_it(run: Run) -> None:
    Path("../pyproject.toml").write_text("[tool.graphfix]\n" + FORCE.replace("[[", "[[tool.graphfix."))
    status, out, _ = run("config", "--runs", "9")
    assert status == 0
    head, said, rest = out.partition("\n\n")[0].splitlines()[0], out.partition("\n\n")[0], out.partition("\n\n")[2]
    assert head == "# ../pyproject.toml"
    assert [" ".join(line.split()) for line in said.splitlines()[1:]] == [
        'report = ["../r.md"] # ../pyproject.toml: report',
        "runs = 9 # command line",
        'target = "tosa" # ../pyproject.toml: target',
    ]
    assert all("  # default" in line for line in rest.splitlines())
    assert tomllib.loads(out)["runs"] == 9
    _, out, _ = run("config", "old.onnx", "--dim", "N=5")
    origins = {line.split(" ")[0]: line.split("# ")[-1] for line in out.splitlines()}
    assert origins["select"] == "../pyproject.toml: override 1"
    assert origins["dim"] == "command line"
    assert tomllib.loads(out)["select"] == ["GF1,GF2"]


@pytest.mark.usefixtures("asked")
def test_config_shows_the_effect_of_options_that_have_no_value(run: Run) -> None:
    lines = [" ".join(line.split()) for line in run("config", "--isolated")[1].splitlines()]
    only = "# trust-stored # default: those of custom operators only"
    assert only in lines
    assert "# jobs # default: as many as there are processors" in lines
    assert "# target-file # default: not set" in lines
    assert "trust-stored = false # command line" in [
        " ".join(line.split()) for line in run("config", "--isolated", "--no-trust-stored")[1].splitlines()
    ]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("value", ["true", "false"])
def test_a_file_sets_an_option_that_has_three_states(asked: Asked, run: Run, value: str) -> None:
    Path("graphfix.toml").write_text(f"trust-stored = {value}\n")
    assert of(asked, run, "check", "m.onnx").trust_stored is (value == "true")


@pytest.mark.usefixtures("asked")
def test_config_is_json_where_asked(run: Run) -> None:
    Path("graphfix.toml").write_text(FORCE)
    document = json.loads(run("config", "old.onnx", "--json")[1])
    assert (document["schema"], document["file"], document["model"]) == (1, "graphfix.toml", "old.onnx")
    options = document["options"]
    assert options["dim"] == {"value": ["N=4"], "origin": "graphfix.toml: override 1"}
    assert options["target"] == {"value": "tosa", "origin": "graphfix.toml: target"}
    assert options["broadcasts"] == {"value": None, "origin": "default", "effect": "the target decides"}
    assert "effect" not in options["unknown"]
    assert options["json"] == {"value": True, "origin": "command line"}
    assert json.loads(run("config", "--json", "--isolated")[1])["file"] is None


@pytest.mark.usefixtures("asked")
def test_config_knows_every_option_of_every_command(run: Run) -> None:
    listed = set(json.loads(run("config", "--json")[1])["options"])
    assert listed == {key for _, key in every_option()} - keys.SAID_EACH_TIME


@pytest.mark.usefixtures("asked")
def test_config_says_what_the_commands_take_and_can_be_said_again(run: Run) -> None:
    Path("graphfix.toml").write_text(FORCE)
    Path("again.toml").write_text(run("config")[1])
    again = run("config", "--config", "again.toml")[1]
    assert tomllib.loads(again) == tomllib.loads(run("config")[1])


@pytest.mark.usefixtures("asked")
def test_hostile_values_are_harmless_in_what_config_prints(run: Run) -> None:
    Path("graphfix.toml").write_text('signature = "\\U0001F600\\u001b[31m\\u202e<script>\\n"\n')
    out = run("config")[1]
    assert all(line.isprintable() for line in out.splitlines())
    assert tomllib.loads(out)["signature"] == "\U0001f600\x1b[31m\u202e<script>\n"


def test_a_rewrite_that_a_configuration_names_is_a_file_beside_it_or_an_installed_one(
    asked: Asked, run: Run, tmp_path: Path
) -> None:
    page = '"""Do nothing."""\nON = "any"\nCODE = "MY101"\n\n\ndef plan(node):\n    yield from ()\n'
    (tmp_path / "mine.py").write_text(page)
    Path("../graphfix.toml").write_text('rewrites = ["mine.py"]\n')
    (mine,) = of(asked, run, "fix", "m.onnx", "-o", "f.onnx").rewrites
    assert isinstance(mine, Own)
    assert own_rewrites.names([mine]) == ("mine",)
    assert isinstance(mine.step, Rewrite)
    assert Path(mine.step.source) == Path("../mine.py")
    Path("../graphfix.toml").write_text('rewrites = ["installed"]\n')
    assert "'installed'" in run("fix", "m.onnx", "-o", "f.onnx")[2]


def test_a_file_of_another_users_that_is_found_and_not_named_has_no_python_run(
    asked: Asked, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = '"""Do nothing."""\nON = "any"\nCODE = "MY101"\n\n\ndef plan(node):\n    yield from ()\n'
    (tmp_path / "mine.py").write_text(page)
    (tmp_path / "graphfix.toml").write_text('[[overrides]]\nfiles = ["*"]\nrewrites = ["mine.py"]\n')
    if os.getuid() == 0:
        os.chown(tmp_path / "graphfix.toml", 12345, 12345)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    status, _, said = run("fix", "m.onnx", "-o", "f.onnx")
    assert (status, asked) == (2, [])
    assert "another user's" in said
    assert said.count("\n") == 1
    assert of(asked, run, "fix", "m.onnx", "-o", "f.onnx", "--config", "../graphfix.toml").rewrites
    assert not of(asked, run, "fix", "m.onnx", "-o", "f.onnx", "--isolated").rewrites
    (tmp_path / "graphfix.toml").write_text('target = "ranks"\n')
    assert of(asked, run, "fix", "m.onnx", "-o", "f.onnx").target == "ranks"


# --- who said it, where something else takes it back ------------------------------------------------------------------


@pytest.mark.usefixtures("asked")
def test_what_is_taken_back_is_said_by_nobody(run: Run) -> None:
    Path("t.toml").write_text('base = "ranks"\n')
    Path("graphfix.toml").write_text(
        'target-file = "t.toml"\n[[overrides]]\nfiles = ["b.onnx"]\ntarget = "tosa"\n'
        '[[overrides]]\nfiles = ["b.onnx", "c.onnx"]\ntarget-file = "t.toml"\n'
    )

    def said(*argv: str) -> list[tuple[object, str]]:
        options = json.loads(run("config", *argv, "--json")[1])["options"]
        return [(options[key]["value"], options[key]["origin"]) for key in ("target", "target-file")]

    nobody = ("explicit", "default")
    assert said("a.onnx") == [nobody, ("t.toml", "graphfix.toml: target-file")]
    assert said("b.onnx") == [nobody, ("t.toml", "graphfix.toml: override 2")]
    assert said("b.onnx", "--target", "ranks") == [("ranks", "command line"), (None, "default")]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("overrides = [1]", "'overrides' is of tables, [[overrides]], not [1]"),
        ("[[overrides]]\nfiles = ['/']", "override 1: 'files' is a list of names of files or patterns, not ['/']"),
        ("[[overrides]]\nfiles = [1]", "override 1: 'files' is a list of names of files or patterns, not [1]"),
        ("[[overrides]]\nfiles = 'x'", "override 1: 'files' is a list of names of files or patterns, not 'x'"),
        ("[[overrides]]\nfiles = []", "override 1: 'files' is a list of names of files or patterns, not []"),
        ("[[overrides]]\nfiles = ['x', '[z-a]']", "override 1: 'files': '[z-a]' has a bad range"),
        ("[[overrides]]\nfiles = ['x']\n[[overrides]]\ntarget = 'tosa'", "override 2: it has no 'files'"),
        ("[[overrides]]\nfiles = ['x']\nreport = ['r.md']", "override 1: 'report' is for a whole run"),
        ("target = 'tosa'\ntarget-file = 't.toml'", "'target' and 'target-file' can't be combined"),
    ],
)
def test_what_is_said_for_some_files_is_a_table_with_their_names(run: Run, text: str, said: str) -> None:
    Path("graphfix.toml").write_text(text + "\n")
    status, out, err = run("check", "m.onnx")
    assert (status, out) == (2, "")
    assert err.startswith("graphfix: graphfix.toml: ")
    assert said in err


def test_a_switch_that_is_off_takes_nothing_back_and_is_off_for_its_files(asked: Asked, run: Run) -> None:
    Path("graphfix.toml").write_text(
        'quiet = true\nverbose = false\nkeep-fusions = true\n[[overrides]]\nfiles = ["b.onnx"]\nkeep-fusions = false\n'
    )
    assert run("check", "a.onnx") == (1, "", "")
    assert run("check", "b.onnx") == (1, "", "")
    assert [request.keep_fusions for _, request in asked] == [True, False]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('rewrites = ["mine.py"]', True),
        ('rewrites = ["mine.py"]\n[[overrides]]\nfiles = ["*"]\ntarget = "ranks"', True),
        ('[[overrides]]\nfiles = ["*"]\ntarget = "ranks"\n[[overrides]]\nfiles = ["*"]\nrewrites = []', True),
        ('overrides = ["rewrites", {files = ["*"], target = "ranks"}]', False),
        ('overrides = ["rewrites", {files = ["*"], rewrites = []}]', True),
        ('overrides = "rewrites"', False),
        ('overrides = 5\nrewrites = ["mine.py"]', True),
        ("overrides = 5", False),
        ('target = "ranks"', False),
    ],
)
def test_where_another_user_s_file_names_python_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, refused: bool
) -> None:
    path = tmp_path / "graphfix.toml"
    path.write_text(text)
    owner = path.stat().st_uid or 12345
    if path.stat().st_uid == 0:
        os.chown(path, owner, owner)
    monkeypatch.setattr(os, "getuid", lambda: owner)
    file._refuse_a_strangers(path, tomllib.loads(text))
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if not refused:
        file._refuse_a_strangers(path, tomllib.loads(text))
        return
    with pytest.raises(GraphfixError, match=r"it is another user's, and 'rewrites' is Python that runs: --config "):
        file._refuse_a_strangers(path, tomllib.loads(text))


# --- without a command ------------------------------------------------------------------------------------------------


def test_the_nearest_file_is_named_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    for where, text, target in (
        ("../../graphfix.toml", 'target = "1"', "1"),
        ("../pyproject.toml", "[tool.other]\na = 1", "1"),
        ("../pyproject.toml", '[tool.graphfix]\ntarget = "2"', "2"),
        ("../graphfix.toml", 'target = "3"', "3"),
        ("pyproject.toml", '[tool.graphfix]\ntarget = "4"', "4"),
        ("graphfix.toml", 'target = "5"', "5"),
    ):
        Path(where).write_text(text)
        found = file.nearest()
        assert found is not None
        assert found[1] == {"target": target}
        assert found[0] == Path("../../graphfix.toml" if target == "1" else where)


def test_what_is_said_later_wins_and_takes_back_what_can_not_stand_beside_it() -> None:
    actions = {key: argparse.Action([], key.replace("-", "_")) for key in ("target", "target-file", "runs", "json")}
    defaults = {"target": "explicit", "target_file": None, "runs": 4, "model": None}
    layers = (
        Layer("f", {"target": "tosa", "runs": 9}),
        Layer("f: override 1", {"target-file": "t", "runs": None}, (Glob("*.tflite"),)),
        Layer("f: override 2", {"runs": 2}, (Glob("n.*"),)),
    )
    alone = (frozenset({"target", "target_file", "absent"}), frozenset({"runs", "json"}))
    made = Settings({key: actions[key] for key in ("target", "target-file", "runs")}, defaults, {}, layers, alone)

    def said(settings: Settings, model: str | None) -> list[tuple[object, str]]:
        return list(settings.origins(None if model is None else Path(model)).values())

    assert said(made, None) == [("tosa", "f"), (None, "default"), (9, "f")]
    assert said(made, "m.onnx") == said(made, None)
    assert said(made, "m.tflite") == [("explicit", "default"), ("t", "f: override 1"), (4, "f: override 1")]
    assert said(made, "n.tflite") == [("explicit", "default"), ("t", "f: override 1"), (2, "f: override 2")]
    given = replace(made, given={"target": "ranks", "model": Path("n.tflite")})
    assert said(given, "n.tflite") == [("ranks", "command line"), (None, "default"), (2, "f: override 2")]
    assert (given.model, made.model) == (Path("n.tflite"), None)
    assert replace(made, given={"model": [Path("m.onnx")]}).model is None
    options = given.of(Path("n.onnx"))
    assert (options.target, options.target_file, options.runs, options.settings) == ("ranks", None, 2, given)
    assert layers[0].names(None)
    assert not layers[1].names(None)
