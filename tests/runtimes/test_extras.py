"""How an extra is installed: by a command that works, since graphfix is in no package registry."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from graphfix.runtimes import extras
from tests.support.places import ROOT


def test_a_checkout_is_installed_with_the_extra() -> None:
    assert extras.install_command("tosa") == f"pip install -e '{ROOT}[tosa]'"


def test_elsewhere_the_packages_of_the_extra_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "ROOT", tmp_path)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("batch", "tosa"):
        words = shlex.split(extras.install_command(extra))
        assert words[:2] == ["pip", "install"]
        assert sorted(words[2:]) == sorted(each.partition(";")[0] for each in declared[extra])


def test_no_text_installs_graphfix_from_a_registry() -> None:
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "graphfix").rglob("*.py")]
    wrong = [str(path) for path in texts if "install 'graphfix" in path.read_text() and path.name != "decisions.md"]
    assert wrong == []
