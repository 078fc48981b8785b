"""What the README and the design promise of the whole: what is imported when, which lines work, what has a page."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import graphfix
from graphfix.cli.lint import options as lint_options
from graphfix.graph.protocols import flat
from graphfix.report.forms import registry as forms
from graphfix.targets import registry
from graphfix.targets import target as targets
from graphfix.version import VERSION
from rewrites import ALL
from tests.support.asking import ask
from tests.support.places import ROOT

HEAVY = {"numpy", "onnx", "onnxruntime", "google.protobuf", "ml_dtypes"}


def loaded_by(program: str) -> set[str]:
    """The modules that a fresh interpreter has loaded when the program is through."""
    asked = f"import sys\ntry:\n    {program}\nexcept SystemExit:\n    pass\nprint('\\x00', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True, cwd=ROOT)
    return set(done.stdout.rpartition("\0")[2].split())


@pytest.mark.parametrize(
    "argv",
    [
        ["--help"],
        ["--version"],
        ["fix", "--help"],
        ["check", "--help"],
        ["verify", "--help"],
        ["tosa", "--help"],
        ["explain", "--help"],
        [],
    ],
    ids=" ".join,
)
def test_help_imports_no_format_and_no_runtime(argv: list[str]) -> None:
    loaded = loaded_by(f"from graphfix.cli.commands import main; main({argv})")
    assert "graphfix.cli.commands" in loaded
    assert not loaded & {*HEAVY, "rewrites", "graphfix.formats", "graphfix.engine.run"}


def test_importing_the_package_imports_neither_rewrites_nor_a_format() -> None:
    loaded = loaded_by("import graphfix")
    assert "graphfix" in loaded
    assert not loaded & {*HEAVY, "rewrites", "graphfix.api", "graphfix.formats"}


@pytest.mark.parametrize(
    "program", ["import rewrites", "from rewrites import ALL; import graphfix", "import graphfix.api"]
)
def test_the_two_packages_may_be_imported_in_any_order(program: str) -> None:
    assert not loaded_by(program) & {"onnxruntime", "onnx"}


def test_every_public_name_is_there_and_there_are_few() -> None:
    functions = [name for name in graphfix.__all__ if not isinstance(getattr(graphfix, name), type)]
    assert functions == ["check", "explain", "fix", "fix_file", "load", "show", "verify"]
    assert len(graphfix.__all__) <= 20
    assert all(getattr(graphfix, name) is not None for name in graphfix.__all__)
    with pytest.raises(AttributeError):
        _ = graphfix.nothing_of_this_name  # type: ignore[attr-defined]  # that is the point


def test_verify_stays_a_function_after_it_was_called() -> None:
    path = ROOT / "models" / "operators/where_mask.onnx"
    assert graphfix.verify(path, path, runs=1).status == "proved"
    assert graphfix.verify(path, path, runs=1).status == "proved"


@pytest.mark.ci
def test_verify_stays_a_function_when_its_room_is_imported_first() -> None:
    program = "import graphfix.checker.runs.inputs.seeded_inputs; print(callable(graphfix.verify))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "True\n"


# --- one truth in two places -----------------------------------------------------------------------------------


def configuration() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_the_same_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """Other files than these are compared by scripts/release_facts.py."""
    assert graphfix.__version__ == VERSION
    assert ask(capsys, "--version").out == f"graphfix {graphfix.__version__}\n"
    assert "version" in configuration()["project"]["dynamic"]
    assert configuration()["tool"]["hatch"]["version"] == {"path": "graphfix/version.py"}


def test_what_the_command_line_offers_is_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(rewrite.name for rewrite in flat(ALL)) == registry.REWRITES
    assert {targets.target_of(name).name for name in registry.TARGETS} == {*registry.TARGETS}
    assert set(forms.TEXTS) == set(lint_options.FORMS)
    assert [
        suffix for suffix in forms.FORMS if f" {suffix}" not in " ".join(ask(capsys, "fix", "--help").out.split())
    ] == []


@pytest.mark.parametrize("name", registry.REWRITES)
def test_every_rewrite_explains_itself_by_its_own_docstring(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    anywhere = {rule for row in map(targets.target_of, targets.TARGETS) for rule in row.rewrites if row.name != "tosa"}
    room = "broadcasts" if name in anywhere else "tosa"
    module = importlib.import_module(f"rewrites.{room}.{name.replace('-', '_')}")
    said = ask(capsys, "explain", name)
    assert (said.status, said.err) == (0, "")
    assert module.__doc__ is not None
    assert module.__doc__.splitlines()[0] in said.out
    assert len(said.out.splitlines()) > 3


@pytest.mark.parametrize("name", targets.TARGETS)
def test_every_target_has_a_page_with_its_row_and_its_evidence(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = ask(capsys, "explain", name)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith(f"# target {name}\n")
    assert max(map(len, targets.page(name).splitlines())) <= 120
    row = targets.target_of(name)
    assert row.evidence
    assert all(f"\n- {line}\n" in said.out for line in row.evidence)
    assert f"\n- rewrites: {', '.join(row.rewrites)}\n" in said.out
    assert f"`{name}`" in (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")


def codes_in_the_program() -> set[str]:
    files = [*(ROOT / "graphfix").rglob("*.py"), *(ROOT / "rewrites").rglob("*.py")]
    return {code for file in files for code in re.findall(r"\bGF\d{3}\b", file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("code", sorted(codes_in_the_program()))
def test_every_finding_code_has_a_page(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    for spelling in (code, code.lower()):
        said = ask(capsys, "explain", spelling)
        assert (said.status, said.err) == (0, "")
        assert said.out.startswith(f"# {code}")


# --- the README ------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_the_readme_s_first_commands_need_no_file_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    install, program, commands = re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:3]
    assert install == "pip install graphfix\n"
    exec(program, {})  # noqa: S102 - the project's own page
    asked = re.findall(r"^\$ graphfix (.*)$", commands, re.MULTILINE)
    assert [ask(capsys, *each.split()).status for each in asked] == [1, 0, 0]


def test_every_command_and_program_of_the_readme_outside_a_clone_names_no_model_of_the_repository() -> None:
    blocks = re.findall(
        r"^```(?:console|python)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) > 2
    assert not any("models/" in block for block in blocks)
