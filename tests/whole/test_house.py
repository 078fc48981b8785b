"""The house holds: no import circle between modules, no room that the contracts do not name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.support.places import ROOT

BESIDE_THE_ROOMS = {"__init__", "__main__"}
MOST_ENTRIES = 12


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


def rooms() -> set[str]:
    """What stands at the top of the package, besides what every package has."""
    entries = (ROOT / "graphfix").iterdir()
    return {path.stem for path in entries if path.suffix == ".py" or (path / "__init__.py").exists()} - BESIDE_THE_ROOMS


def test_every_room_stands_in_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [each["layers"] for each in contracts["contracts"] if each["type"] == "layers"]
    named = {name for layer in layers for name in layer.replace(" ", "").split("|")}
    assert named == {f"graphfix.{room}" for room in rooms()} | {"graphfix.__main__", "rewrites"}


def test_the_top_has_at_most_twelve_entries() -> None:
    assert len(rooms()) <= MOST_ENTRIES
