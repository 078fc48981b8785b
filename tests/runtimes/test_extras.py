"""How an extra is installed: by a command that works, since graphfix is in no package registry."""

from __future__ import annotations

import re
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


def test_only_the_page_about_installation_installs_graphfix_from_a_registry() -> None:
    """That page says that its commands work from the first release on."""
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "graphfix").rglob("*.py")]
    command = re.compile(r"""(pipx?|tool) install ["']?graphfix\b""")
    found = {path.relative_to(ROOT).as_posix() for path in texts if command.search(path.read_text(encoding="utf-8"))}
    assert found - {"docs/decisions.md"} == {"docs/install.md"}
