"""The house holds: no import circle between modules, no room that the contracts do not name."""

from __future__ import annotations

import ast
import io
import token
import tokenize
import tomllib
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.support.places import ROOT

BESIDE_THE_ROOMS = {"__init__", "__main__", "version"}
MOST_ENTRIES = 15
"""The twelve of the plan, `findings`: what a linter does with sites, and `batch` (docs/decisions.md)."""
MOST_CODE_OF_A_REWRITE = 60
MOST_LINES = 600  # most have 100 to 400; a longer one is split along a seam, never at a line count
LAYOUT = frozenset({token.NEWLINE, token.INDENT, token.DEDENT, token.ENDMARKER, tokenize.COMMENT, tokenize.NL})
"""Tokens that are no code."""


def imports_of(*packages: str) -> dict[str, set[str]]:
    """By module: what it imports, for type checkers and inside functions too."""
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circle(imports: Mapping[str, set[str]]) -> list[str] | None:
    """The modules of one import circle, None where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return None


@pytest.mark.ci
def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circle(imports_of("graphfix", "rewrites")) is None


@pytest.mark.parametrize("late", ["for a type checker", "inside a function"])
def test_a_planted_circle_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str) -> None:
    lines = {
        "for a type checker": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from planted import one\n",
        "inside a function": "def f():\n    from planted.one import x\n",
    }
    package = tmp_path / "planted"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("from planted import two\n")
    (package / "two.py").write_text(lines[late])
    monkeypatch.syspath_prepend(tmp_path)
    assert set(circle(imports_of("planted")) or ()) == {"planted.one", "planted.two"}


def modules(*folders: str) -> list[Path]:
    """Every module below these folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def lines_of_code(text: str) -> int:
    """The lines that are not blank, comment, docstring or import."""
    spared = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {line for token in tokens if token.type not in LAYOUT for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - spared)


def test_lines_of_code_are_counted_without_text_and_imports() -> None:
    text = (
        '"""Docstring\n\nof three lines."""\nimport os\n\nA = (\n    1,  # one\n)\n"""About A."""\n# a comment\nB = A\n'
    )
    assert lines_of_code(text) == 4


@pytest.mark.parametrize("path", modules("rewrites"), ids=lambda path: path.stem)
def test_a_rewrite_is_a_page(path: Path) -> None:
    assert lines_of_code(path.read_text(encoding="utf-8")) <= MOST_CODE_OF_A_REWRITE


def test_no_module_is_longer_than_its_reader() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules("graphfix", "rewrites")}
    assert [str(path) for path, lines in lengths.items() if lines > MOST_LINES] == []


def test_no_function_takes_an_argument_that_it_does_not_use() -> None:
    """The linter refuses one unless it is told not to look."""
    found = [str(path) for path in modules("graphfix", "rewrites") if "ARG001" in path.read_text(encoding="utf-8")]
    assert found == []


def rooms() -> set[str]:
    """What stands at the top of the package, besides what every package has."""
    entries = (ROOT / "graphfix").iterdir()
    return {path.stem for path in entries if path.suffix == ".py" or (path / "__init__.py").exists()} - BESIDE_THE_ROOMS


def test_every_room_stands_in_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [each["layers"] for each in contracts["contracts"] if each["type"] == "layers"]
    named = {name for layer in layers for name in layer.replace(" ", "").split("|")}
    assert named == {f"graphfix.{room}" for room in rooms()} | {"graphfix.__main__", "rewrites"}


def test_the_top_has_at_most_fifteen_entries() -> None:
    assert len(rooms()) <= MOST_ENTRIES
