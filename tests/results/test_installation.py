"""Pages of the documentation in texts: files in a checkout, addresses in an installed package."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import graphfix
from graphfix.cli.parser import COMMANDS, commands_of, parser
from graphfix.results import installation
from tests.support.places import ROOT

SITE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Documentation"]
ROOMS = ("checker/proof", "engine", "report", "targets")
"""Rooms whose texts name pages."""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without the folder docs, and with the metadata of pyproject.toml."""
    folder = tmp_path / "graphfix-0.1.0.dist-info"
    folder.mkdir()
    head = "Metadata-Version: 2.1\nName: graphfix\nVersion: 0.1.0\n"
    (folder / "METADATA").write_text(f"{head}Project-URL: Documentation, {SITE}\n", encoding="utf-8")
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_in_a_checkout_a_page_is_a_file() -> None:
    assert "docs/targets.md" in graphfix.explain("explicit")


@pytest.mark.usefixtures("installed")
def test_an_installed_package_names_the_site() -> None:
    for target in ("explicit", "ethos-u", "tosa"):
        page = graphfix.explain(target)
        assert "docs/" not in page
        assert SITE in page


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_page_names_a_file_that_only_a_clone_has(command: str) -> None:
    assert "docs/" not in commands_of(parser(command))[command].format_help()


def test_each_page_that_is_named_exists() -> None:
    files = [path for name in ROOMS for path in (ROOT / "graphfix" / name).rglob("*.[pm][yd]")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    named = {name for text in texts for name in installation.PAGE.findall(text)}
    assert {"targets", "proof"} <= named
    assert [name for name in sorted(named) if not (ROOT / "docs" / f"{name}.md").is_file()] == []
