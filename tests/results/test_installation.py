"""Pages of the documentation in texts: files in a checkout, addresses in an installed package."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import graphfix
from graphfix.cli.parser import COMMANDS, commands_of, parser
from graphfix.results import installation
from tests.support.places import ROOT

SITE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Documentation"]
ROOMS = ("checker/proof", "engine", "report", "targets")
"""Rooms whose texts name pages."""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Make as if graphfix were installed without the folder docs, and with these addresses."""
    place = folder / "graphfix-0.1.0.dist-info"
    place.mkdir()
    head = "Metadata-Version: 2.1\nName: graphfix\nVersion: 0.1.0\n"
    lines = "".join(f"Project-URL: {address}\n" for address in addresses)
    (place / "METADATA").write_text(head + lines, encoding="utf-8")
    monkeypatch.setattr(installation, "ROOT", folder)
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without the folder docs, and with the metadata of pyproject.toml."""
    install(tmp_path, monkeypatch, f"Documentation, {SITE}")


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


TEXT = "see docs/targets.md, and docs/proof.md"


@pytest.mark.parametrize(
    ("addresses", "said"),
    [
        (
            ["Source, https://s/", "Documentation, https://d/x, y"],
            "see https://d/x, y/targets/, and https://d/x, y/proof/",
        ),
        (["Documentation, https://d/"], "see https://d/targets/, and https://d/proof/"),
        (["Source, https://s/"], TEXT),
        ([], TEXT),
    ],
    ids=["beside another", "with a slash", "another alone", "none"],
)
def test_a_page_is_named_by_the_address_that_the_metadata_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, addresses: list[str], said: str
) -> None:
    install(tmp_path, monkeypatch, *addresses)
    assert installation.with_addresses(TEXT) == said


def test_a_page_is_a_file_where_no_metadata_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(installation, "ROOT", tmp_path)
    monkeypatch.setattr(metadata, "metadata", missing)
    assert installation.with_addresses(TEXT) == TEXT
