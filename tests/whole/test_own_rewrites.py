"""Rewrites of the user's own: a module, a file, an installed one; verified as all else, and faults in one line."""

from __future__ import annotations

import importlib.util
import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import onnx
import pytest

import graphfix
from graphfix.api import own_rewrites
from graphfix.cli import commands, terminal
from graphfix.graph.protocols import Rewrite, UntilNothingChanges, flat, rewrite
from graphfix.results import GraphfixError, RewriteError
from graphfix.targets.registry import REWRITES
from models.builders.tflite.text import model as tflite_model
from rewrites import ALL
from tests.support import engine
from tests.support.notation import model
from tests.support.places import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "drop_unit_scale.py"
SCALED = "t[2,3] = Mul(x[2,3], w:const[3]{1.0,1.0,1.0})\ny[2,3] = Add(t, b[3])"
HEAD = (
    '"""Do something."""\n\nfrom graphfix.api.rewriting import *\n\nON = frozenset({("", "Mul")})\nCODE = "MY101"\n\n\n'
)
PLAN = "def plan(node):\n    "


def scaled(folder: Path, text: str = SCALED) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(model(text).SerializeToString())
    return path


def operators(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def run(*arguments: object) -> int:
    return commands.main([str(argument) for argument in arguments])


def own(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- where it comes from --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["a module", "a rewrite", "a path", "a text"])
def test_a_model_in_memory_is_rewritten_beside_the_target_s_own(form: str) -> None:
    module = loaded(EXAMPLE)
    given = {"a module": module, "a rewrite": rewrite(module), "a path": EXAMPLE, "a text": str(EXAMPLE)}[form]
    opened = graphfix.load(model(SCALED))
    outcome = graphfix.fix(opened, target="ranks", rewrites=[given])
    assert {name: count for name, count in outcome.rewrites.items() if count} == {
        "drop-unit-scale": 1,
        "equalize-ranks": 1,
    }
    assert outcome.own_codes == {"MY101": "Drop a multiplication by one (ONNX)."}


@pytest.mark.ci
def test_a_file_is_fixed_and_proved_by_both_faces(tmp_path: Path) -> None:
    source, by_call, by_command = scaled(tmp_path), tmp_path / "a.onnx", tmp_path / "b.onnx"
    outcome = graphfix.fix_file(source, by_call, rewrites=[EXAMPLE])
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert run("fix", source, "-o", by_command, "--rewrites", EXAMPLE) == 0
    assert by_call.read_bytes() == by_command.read_bytes()
    assert "Mul" not in operators(by_call)
    assert {path.name for path in EXAMPLE.parent.iterdir()} <= {EXAMPLE.name, f"test_{EXAMPLE.name}", "__pycache__"}


def test_check_finds_what_it_would_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = scaled(tmp_path)
    assert run("check", source, "--rewrites", EXAMPLE, "--only", "drop-unit-scale", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert [site["code"] for site in found["sites"]] == ["MY101"]
    assert found["own_codes"] == {"MY101": "Drop a multiplication by one (ONNX)."}
    assert run("check", source, "--rewrites", EXAMPLE, "--skip", "drop-unit-scale", "--target", "ranks") == 1
    assert "MY101" not in capsys.readouterr().out


@pytest.mark.ci
def test_one_for_the_other_format_is_verified_as_well(tmp_path: Path) -> None:
    text = (
        EXAMPLE.read_text(encoding="utf-8").replace('("", "Mul")', '(TFLITE, "MUL")').replace("Fold,", "Fold, TFLITE,")
    )
    source = tmp_path / "m.tflite"
    source.write_bytes(tflite_model("t[2,3] = MUL(x[2,3], w[1]{1.0})\ny[2,3] = NEG(t)"))
    outcome = graphfix.fix_file(source, tmp_path / "f.tflite", rewrites=[own(tmp_path, text)])
    assert outcome.rewrites["mine"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status in ("equal", "proved")


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github", "markdown"])
def test_its_code_stands_in_every_form(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["check", scaled(tmp_path), "--rewrites", EXAMPLE, "--select", "MY1", "--format", form]
    assert run(*command) == 1
    shown = capsys.readouterr().out
    assert "MY101" in shown
    assert "GF102" not in shown or form in ("sarif", "junit")  # those name every code that was looked for
    if form == "sarif":
        (found,) = json.loads(shown)["runs"]
        (result,) = found["results"]
        rule = found["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert (rule["id"], rule["shortDescription"]["text"]) == ("MY101", "Drop a multiplication by one (ONNX).")
    if form == "junit":
        assert 'failures="1"' in shown


def test_its_code_is_counted_and_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = scaled(tmp_path)
    assert run("check", source, "--rewrites", EXAMPLE, "--statistics") == 1
    assert "1  MY101  Drop a multiplication by one (ONNX)." in capsys.readouterr().out
    assert run("check", source, "--rewrites", EXAMPLE, "--ignore", "MY,GF") == 0
    assert capsys.readouterr().err == ""
    assert run("check", source, "--select", "MY101") == 2
    said = "graphfix: no finding code begins with 'MY101'"
    assert capsys.readouterr().err.startswith(said)
    assert run("check", source, "--select", "FG101", "--rewrites", EXAMPLE) == 2
    assert "did you mean 'GF101'" in capsys.readouterr().err


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that is installed: it offers the example by an entry point."""
    folder = tmp_path / "site"
    (folder / "scales").mkdir(parents=True)
    (folder / "scales" / "__init__.py").touch()
    (folder / "scales" / "unit.py").write_bytes(EXAMPLE.read_bytes())
    information = folder / "scales-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: scales\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[graphfix.rewrites]\nunit-scale = scales.unit\nbad = scales.none\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.ci
@pytest.mark.usefixtures("package")
def test_an_installed_one_runs_where_it_is_named_and_only_there(tmp_path: Path) -> None:
    source, output = scaled(tmp_path), tmp_path / "f.onnx"
    assert run("fix", source, "-o", output, "--target", "ranks") == 0
    assert "Mul" in operators(output)
    assert run("fix", source, "-o", output, "--target", "ranks", "--rewrites", "unit-scale") == 0
    assert "Mul" not in operators(output)
    assert graphfix.fix_file(source, output, rewrites=["unit-scale"]).rewrites["unit-scale"] == 1


@pytest.mark.usefixtures("package")
def test_an_installed_one_that_can_t_be_imported_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("check", scaled(tmp_path), "--rewrites", "bad") == 2
    assert (
        capsys.readouterr().err
        == "graphfix: rewrite 'bad' (scales.none): ModuleNotFoundError: No module named 'scales.none'\n"
    )
    assert run("check", scaled(tmp_path), "--rewrites", "unit-scael") == 2
    assert "did you mean 'unit-scale'?" in capsys.readouterr().err


@pytest.mark.usefixtures("package")
def test_pages_are_found_by_name_and_code(capsys: pytest.CaptureFixture[str]) -> None:
    for topic, more in (
        ("unit-scale", []),
        ("drop-unit-scale", ["--rewrites", EXAMPLE]),
        ("MY101", ["--rewrites", EXAMPLE]),
        ("my101", ["--rewrites", "unit-scale"]),
    ):
        assert run("explain", topic, *more) == 0
        assert "A number times one is that number, bit for bit." in capsys.readouterr().out
    assert run("explain", "MY101") == 2
    assert capsys.readouterr().err.startswith("graphfix: explain MY101: no such rewrite, finding code or target")


# --- where it runs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "neighbours"),
    [
        ("", ("concat-constant-operands", "normalize-expand")),
        ('BEFORE = "equalize-ranks"\n', ("prelu-alpha-rank", "equalize-ranks")),
        ('AFTER = "materialize-broadcasts"\n', ("materialize-broadcasts", None)),
        ('BEFORE = "pow-to-mul"\n', ("densify-constants", "inline-decided-branches")),
    ],
    ids=["by default", "before one", "after one", "before the group of one"],
)
def test_it_runs_where_it_says(tmp_path: Path, line: str, neighbours: tuple[str, str | None]) -> None:
    file = own(tmp_path, HEAD + line + PLAN + "yield from ()\n")
    order = [each.name for each in flat(own_rewrites.in_order(ALL, own_rewrites.load([file])))]
    at = order.index("mine")
    assert (order[at - 1], order[at + 1] if at + 1 < len(order) else None) == neighbours
    assert [name for name in order if name != "mine"] == list(REWRITES)


def test_what_it_makes_is_made_explicit(tmp_path: Path) -> None:
    text = (
        HEAD + PLAN + 'three = Numbers((3.0,), (1,), "float32")\n'
        '    yield Replace(New("Div", (0, three), node.results[0].shape, "float32"), CODE)\n'
    )
    outcome = graphfix.check(scaled(tmp_path), rewrites=[own(tmp_path, text)])
    assert {(site.op, site.code) for site in outcome.sites if site.op == "Div"} == {("Div", "GF101"), ("Div", "GF102")}


# --- what is wrong with it ------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_wrong_rewrite_is_found_different_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = own(tmp_path, HEAD + PLAN + "yield Fold(CODE, 1 if node.operand(1).kind == 'input' else 0)\n")
    source = scaled(tmp_path, "t[2,3] = Mul(x[2,3], w:const[3]{1.0,2.0,1.0})\ny[2,3] = Relu(t)")
    assert run("fix", source, "-o", tmp_path / "f.onnx", "--rewrites", file) == 1
    assert "different" in capsys.readouterr().out
    assert not (tmp_path / "f.onnx").exists()


TEXTS = {
    "a syntax error": ('"""D."""\nON = (\n', "mine.py: line 2: SyntaxError: '(' was never closed"),
    "an import of what is not there": ("import nowhere\n", "mine.py: line 1: ModuleNotFoundError: No module named"),
    "an exit": ("raise SystemExit(0)\n", "mine.py: line 1: SystemExit: 0"),
    "no page": ("ON = 1\n", "it lacks the docstring, CODE, plan; add what is missing"),
    "no plan": (HEAD, "mine.py: a rewrite has a docstring, ON, CODE and plan(node): it lacks plan"),
    "no code": (HEAD.replace("CODE", "KODE") + PLAN + "yield\n", "it lacks CODE"),
    "a code of graphfix that is none": (HEAD.replace("MY101", "GF999") + PLAN + "yield\n", "CODE is 'GF999'; give"),
    "a code that is none": (HEAD.replace('"MY101"', "5") + PLAN + "yield\n", "CODE is 5; give a code of graphfix"),
    "a code of too many digits": (
        HEAD.replace('"MY101"', "10 ** 5000") + PLAN + "yield\n",
        "CODE is a number of so many digits; give a code",
    ),
    "a list of names": (HEAD.replace('frozenset({("", "Mul")})', '["Mul"]') + PLAN + "yield\n", "ON is ['Mul']; give"),
    "names without domains": (HEAD.replace('("", "Mul")', '"Mul"') + PLAN + "yield\n", "ON holds 'Mul'; give ANY"),
    "no such operator": (HEAD.replace("Mul", "Mull") + PLAN + "yield\n", "no such operator; did you mean 'Mul'"),
    "no such place": (HEAD + 'AFTER = "equalise-ranks"\n' + PLAN + "yield\n", "did you mean 'equalize-ranks' or"),
    "two places": (HEAD + 'AFTER = BEFORE = "pow-to-mul"\n' + PLAN + "yield\n", "BEFORE and AFTER: leave one out"),
    "a plan of the model": (HEAD + PLAN + "yield\n\n\nplan_model = plan\n", "write plan(node), not plan_model"),
    "a plan that is none": (HEAD + "plan = 5\n", "plan is not a function"),
    "a plan that divides by 0": (HEAD + PLAN + "yield 1 // 0\n", "line 10: Mul 'Mul#0': ZeroDivisionError: integer"),
    "a plan that exits": (HEAD + PLAN + "raise SystemExit(0)\n", "line 10: Mul 'Mul#0': SystemExit: 0"),
    "a plan without edits": (HEAD + PLAN + "pass\n", "Mul 'Mul#0': TypeError: 'NoneType' object is not iterable"),
    "no edit": (HEAD + PLAN + "yield 'Fold'\n", "Mul 'Mul#0': the plan yields 'Fold', a str, which is not an edit"),
    "another code": (HEAD + PLAN + "yield Fold('XX1')\n", "Mul 'Mul#0': Fold has the code 'XX1'"),
    "no such operand": (HEAD + PLAN + "yield Lift(2, (0,))\n", "Mul 'Mul#0': Lift: the node has no operand 2"),
    "an operand by name": (HEAD + PLAN + "yield Fold(CODE, 'x')\n", "Fold: an operand is named by its number, not 'x'"),
    "axes out of reach": (HEAD + PLAN + "yield Lift(1, (5,))\n", "Lift: axes are (5,), not distinct positions"),
    "axes twice": (HEAD + PLAN + "yield Lift(1, (0, 0))\n", "Lift: axes are (0, 0), not distinct positions"),
    "no shape": (HEAD + PLAN + "yield Stretch(1, (0,), (2, 3))\n", "Stretch: to is (2, 3), not a Shape"),
    "a stretch that adds axes": (
        HEAD + PLAN + "yield Stretch(1, (), node.operand(0).ranked, CODE, ('yes', 'no'))\n",
        "Stretch: operand 1 has rank 1 and `to` has rank 2; yield a Lift of it first",
    ),
    "a lift of another operand": (
        HEAD + PLAN + "yield Lift(0, (0,))\n    yield Stretch(1, (), node.operand(0).ranked)\n",
        "Stretch: operand 1 has rank 1 and `to` has rank 2; yield a Lift of it first",
    ),
    "a lift behind the stretch": (
        HEAD + PLAN + "yield Stretch(1, (), node.operand(0).ranked)\n    yield Lift(1, (0,))\n",
        "Stretch: operand 1 has rank 1 and `to` has rank 2; yield a Lift of it first",
    ),
    "no value": (HEAD + PLAN + "yield Bypass(0, 'x')\n", "Bypass: source is 'x', not a Value"),
    "no body": (HEAD + PLAN + "yield Inline('then_branch')\n", "Inline: the node has no attribute 'then_branch'"),
    "no new node": (HEAD + PLAN + "yield Replace('Relu', CODE)\n", "not 'Relu'"),
    "a new node that reads nothing": (
        HEAD + PLAN + "yield Replace(New('Relu', (7,), Shape((2, 3)), 'float32'), CODE)\n",
        "Replace: the node has no operand 7",
    ),
    "numbers that do not fit": (
        HEAD + PLAN + "yield Replace(New('Relu', (Numbers((1.0,), (2,), 'float32'),), Shape((2,)), 'float32'), CODE)\n",
        "Replace: Numbers of [2] have 2 elements, not 1",
    ),
    "a result that is not there": (
        HEAD + PLAN + "n = New('Relu', (0,), Shape((2, 3)), 'float32')\n    yield Replace(n, CODE, others=((1, n),))\n",
        "Replace: the node has no result 1 behind the first",
    ),
    "a type that is none": (
        HEAD + PLAN + "yield Replace(New('Relu', (Numbers((1.0,), (1,), 'float33'),), Shape((1,)), 'float32'), CODE)\n",
        "Mul 'Mul#0': its edits can't be carried out: ",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_faulty_one_is_an_error_of_one_line_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, words = TEXTS[name]
    source, file = scaled(tmp_path), own(tmp_path, text)
    assert run("fix", source, "-o", tmp_path / "f.onnx", "--rewrites", file) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert str(file) in said.err
    assert said.err.startswith("graphfix: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx", "mine.py"}


LIFTED_AND_STRETCHED = """if node.operand(1).ranked.rank == 1:
        yield Lift(1, (0,))
        yield Stretch(1, (), node.operand(0).ranked, CODE, ("yes", "no"))
"""


@pytest.mark.ci
def test_a_stretch_of_a_lifted_operand_is_carried_out_and_proved(tmp_path: Path) -> None:
    file = own(tmp_path, HEAD + PLAN + LIFTED_AND_STRETCHED)
    outcome = graphfix.fix_file(scaled(tmp_path), tmp_path / "f.onnx", rewrites=[file], only=["mine"])
    assert outcome.rewrites["mine"] == 2
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


MADE_IMPLICIT = {
    "the node itself": "yield Replace(New(names[0], (zero, 0), x.shape, x.dtype), CODE)\n",
    "a node that it reads": (
        "product = New(names[1], (0, zero), x.shape, x.dtype)\n"
        "    yield Replace(New(names[2], (product,), x.shape, x.dtype), CODE)\n"
    ),
}


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
@pytest.mark.parametrize("what", MADE_IMPLICIT)
def test_what_it_makes_is_made_explicit_in_the_same_run(what: str, suffix: str, tmp_path: Path) -> None:
    source, fixed, again = (tmp_path / f"{name}{suffix}" for name in ("m", "fixed", "again"))
    is_onnx = suffix == ".onnx"
    text = "y[2,3] = Neg(x[2,3])" if is_onnx else "y[2,3] = NEG(x[2,3])"
    source.write_bytes(model(text).SerializeToString() if is_onnx else tflite_model(text))
    names = ("Sub", "Mul", "Abs") if is_onnx else ("SUB", "MUL", "ABS")
    on = '("", "Neg")' if is_onnx else '(TFLITE, "NEG")'
    start = f"x, names, zero = node.operand(0), {names}, Numbers((0.0,), (), 'float32')\n    "
    file = own(tmp_path, HEAD.replace('("", "Mul")', on) + PLAN + start + MADE_IMPLICIT[what])
    outcome = graphfix.fix_file(source, fixed, rewrites=[file], check_result=False)
    assert {name: count for name, count in outcome.rewrites.items() if count} == {
        "mine": 1,
        "equalize-ranks": 1,
        "materialize-broadcasts": 1,
    }
    assert outcome.sites_left == 0
    assert not graphfix.fix_file(fixed, again, rewrites=[file], check_result=False).changed


@pytest.mark.ci
def test_the_command_that_lists_what_is_left_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, fixed = own(tmp_path, HEAD + PLAN + "yield Leave(0, 'on purpose', CODE, 'left')\n"), tmp_path / "f.onnx"
    assert run("fix", scaled(tmp_path), "-o", fixed, "--rewrites", file) == 4
    assert f"graphfix check {fixed} --rewrites {file} lists it" in capsys.readouterr().out.splitlines()[-1]


FILES = {
    "no such file": ("nowhere.py", "nowhere.py: no such file; give a Python file"),
    "a folder": (".", "neither a Python file (NAME.py) nor an installed rewrite"),
    "a path of another form": ("here/mine.txt", "mine.txt: no such file"),
    "a name that nothing has": ("moon", "rewrites 'moon': neither a Python file (NAME.py) nor an installed rewrite"),
    "nothing": ("", "rewrites '': neither"),
    "a zero": ("a\0.py", "no such file"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_said(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, words = FILES[name]
    assert run("check", scaled(tmp_path), "--rewrites", given) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


HOSTILE = ["<script>.py", "a\u202eb.py", "a\nb.py", "a'b.py", "1.py", f"{'x' * 70}.py"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_s_name_that_would_be_a_strange_name_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = own(tmp_path, HEAD + PLAN + "yield from ()\n", name)
    assert run("check", scaled(tmp_path), "--rewrites", file) == 2
    said = capsys.readouterr().err
    assert "a rewrite's name is of letters, digits and -" in said
    assert said.isprintable() or said[:-1].isprintable()


@pytest.mark.parametrize("name", ["equalize_ranks.py", "tosa.py"], ids=["a rewrite", "a target"])
def test_a_name_that_is_taken_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = own(tmp_path, HEAD + PLAN + "yield from ()\n", name)
    assert run("check", scaled(tmp_path), "--rewrites", file) == 2
    assert "is graphfix's own; choose another" in capsys.readouterr().err


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match=r"the name 'drop-unit-scale' is also that of .*; choose another"):
        graphfix.check(scaled(tmp_path), rewrites=[EXAMPLE, EXAMPLE])


@pytest.mark.parametrize("given", ["x.py", "", 5, 0, np.zeros(3), type(None)], ids=str)
def test_rewrites_are_a_list(given: object, tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match=r"rewrites is .*; give a list of modules, files and names"):
        graphfix.check(scaled(tmp_path), rewrites=given)  # type: ignore[arg-type] -- wrong on purpose
    with pytest.raises(GraphfixError, match=r"5 is not a rewrite; give a module"):
        graphfix.check(scaled(tmp_path), rewrites=[5])  # type: ignore[list-item] -- as above


def test_a_name_to_choose_by_is_checked_once_with_a_near_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = scaled(tmp_path)
    assert run("check", source, source, source, "--only", "drop-unit-scales", "--rewrites", EXAMPLE) == 2
    assert capsys.readouterr().err == "graphfix: 'drop-unit-scales' is not a rewrite; did you mean 'drop-unit-scale'?\n"


def test_its_author_sees_what_python_raised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = own(tmp_path, HEAD + PLAN + "yield 1 // 0\n")
    with pytest.raises(RewriteError) as caught:
        graphfix.check(scaled(tmp_path), rewrites=[file])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    terminal.trace(caught.value, Namespace(verbose=False))
    assert capsys.readouterr().err == ""
    terminal.trace(caught.value, Namespace(verbose=True))
    assert "yield 1 // 0" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check m.onnx n.onnx folder", "fix m.onnx -o f.onnx --no-verify"])
def test_a_file_is_run_once_by_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("n.onnx", "folder/o.onnx"):
        scaled(tmp_path).replace(tmp_path / name)
    scaled(tmp_path)
    own(tmp_path, HEAD + "with open('ran', 'a') as file:\n    file.write('.')\n\n\n" + PLAN + "return iter(())\n")
    assert run(*command.split(), "--rewrites", "mine.py") in (0, 1)
    assert (tmp_path / "ran").read_text() == "."


def test_an_error_of_graphfix_s_own_edits_stays_what_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded_model = engine.load(scaled(tmp_path))
    raised = RuntimeError("a defect")

    def apply(*_: object) -> None:
        raise raised

    monkeypatch.setattr(type(loaded_model), "apply", apply)
    with pytest.raises(RuntimeError, match="a defect"):
        engine.fix(loaded_model)
    assert raised.__cause__ is None


def test_a_rewrite_in_a_group_is_checked_as_one_alone_is(tmp_path: Path) -> None:
    wrong = rewrite(loaded(own(tmp_path, HEAD + PLAN + "yield 5\n")))
    assert isinstance(wrong, Rewrite)
    for given in (wrong, UntilNothingChanges((wrong,))):
        with pytest.raises(RewriteError, match=r"rewrite mine: Mul 'Mul#0': the plan yields 5"):
            graphfix.check(scaled(tmp_path), rewrites=[given])


# --- in memory --------------------------------------------------------------------------------------------------------


def in_memory(name: str = "mine", **parts: object) -> ModuleType:
    """A module without a file."""
    made = ModuleType(name, "Do something.")
    vars(made).update({"ON": frozenset({("", "Mul")}), "CODE": "MY101", "plan": lambda _: (), **parts})
    return made


def offered(monkeypatch: pytest.MonkeyPatch, *entries: tuple[str, str, object]) -> None:
    """Let packages offer these: name, value and what is there."""
    found = [SimpleNamespace(name=name, value=value, load=lambda it=it: it) for name, value, it in entries]
    monkeypatch.setattr(own_rewrites, "_offered", lambda: found)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            [("mine", "p.m:f", len)],
            "rewrite 'mine' (p.m:f): the entry point names <built-in function len>; let it name a",
        ),
        ([("mine", "p.m", in_memory(CODE="GF999"))], "rewrite 'mine' (p.m): CODE is 'GF999'"),
        ([("mine", "q.m", 5), ("mine", "p.m", 5)], "rewrite 'mine': installed packages offer several: p.m and q.m; "),
        ([("other", "p.m", in_memory())], "rewrites 'mine': neither a Python file (NAME.py) nor an installed rewrite"),
        ([("zz", "p.m", 5), ("aa", "q.m", 5)], "; installed: aa, zz"),
        ([], "; installed: none"),
    ],
    ids=["a function", "a fault", "several", "another", "two others", "none"],
)
def test_what_is_installed_by_a_name_and_is_no_rewrite_is_said(
    monkeypatch: pytest.MonkeyPatch, entries: Sequence[tuple[str, str, object]], said: str
) -> None:
    offered(monkeypatch, *entries)
    with pytest.raises(GraphfixError) as raised:
        own_rewrites.load(["mine"])
    assert said in str(raised.value)


def test_one_that_is_installed_twice_alike_has_the_name_of_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    module = in_memory("another", AFTER="pow-to-mul")
    offered(monkeypatch, ("mine", "p.m", module), ("mine", "p.m", module), ("other", "p.o", 5))
    (found,) = own_rewrites.load(["mine"])
    (made,) = flat((found.step,))
    assert (made.name, found.given, found.beside, found.after) == ("mine", "mine", "pow-to-mul", True)
    assert isinstance(made, Rewrite)
    assert made.source == "rewrite 'mine' (p.m)"
    (found,) = own_rewrites.load([in_memory("plain", BEFORE="pow-to-mul")])
    assert (found.given, found.beside, found.after) == ("", "pow-to-mul", False)
    (found,) = own_rewrites.load([in_memory("plain")])
    assert (found.beside, found.after) == (own_rewrites.PLACE, False)


@pytest.mark.parametrize(
    ("file", "source"), [("/there/mine.py", "/there/mine.py: "), (None, "mine: "), ("", "mine: ")], ids=str
)
def test_a_module_is_named_by_its_file_or_else_by_its_name(file: str | None, source: str) -> None:
    module = in_memory(__file__=file)
    del module.CODE
    with pytest.raises(GraphfixError) as raised:
        own_rewrites.load([module])
    assert str(raised.value).startswith(f"{source}a rewrite has a docstring, ON, CODE and plan(node): it lacks CODE;")


@pytest.mark.parametrize("page", [None, "", " \n"])
def test_what_a_module_lacks_is_listed_the_docstring_first(page: str | None) -> None:
    module = in_memory()
    module.__doc__ = page
    del module.ON, module.plan
    with pytest.raises(GraphfixError, match=r"it lacks the docstring, ON, plan; add what is missing$"):
        own_rewrites.load([module])


def test_a_group_keeps_its_order_and_what_plans_a_whole_model() -> None:
    known = next(each for each in flat(ALL) if not isinstance(each, Rewrite))
    whole = replace(known, name="whole")
    first, second = (rewrite(in_memory(name)) for name in ("one", "two"))
    (found,) = own_rewrites.load([UntilNothingChanges((first, whole, second))])
    assert isinstance(found.step, UntilNothingChanges)
    assert [each.name for each in found.step.rewrites] == ["one", whole.name, "two"]
    assert found.step.rewrites[1] is whole


@pytest.mark.parametrize(("source", "said"), [("there.py", "there.py: "), ("", "rewrite mine: ")], ids=repr)
def test_a_rewrite_is_named_by_its_source_or_else_by_its_name(source: str, said: str) -> None:
    made = rewrite(in_memory(CODE="GF999"))
    assert isinstance(made, Rewrite)
    for given in (replace(made, source=source), UntilNothingChanges((replace(made, source=source),))):
        with pytest.raises(GraphfixError, match=rf"^{said}CODE is 'GF999'"):
            own_rewrites.load([given])
