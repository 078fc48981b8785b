"""The version and the account on GitHub: all files agree, each place that differs is a line, both can be changed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import release_facts

from graphfix.version import VERSION
from tests.support.places import ROOT

NAMES = sorted({name for name, _ in (release_facts.VERSION_SOURCE, *release_facts.PLACES)})


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with a copy of each file that contains the version or the account."""
    for path in {*(ROOT / name for name in NAMES), *release_facts.texts(ROOT)}:
        to = tmp_path / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.ci
def test_all_places_agree() -> None:
    assert list(release_facts.differences()) == []
    assert release_facts.version() == VERSION


@pytest.mark.ci
def test_the_citation_follows_its_schema_and_a_planted_fault_does_not(tmp_path: Path) -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for content, status in ((text, 0), (text.replace("title:", "titel:"), 1)):
        path = tmp_path / "CITATION.cff"
        path.write_text(content, encoding="utf-8")
        command = ["check_jsonschema", "--builtin-schema", "vendor.citation-file-format", str(path)]
        assert (
            subprocess.run([sys.executable, "-P", "-m", *command], capture_output=True, check=False).returncode
            == status
        )


@pytest.mark.ci
@pytest.mark.parametrize("name", NAMES)
def test_another_version_in_one_place_is_named(copy: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = dict((release_facts.VERSION_SOURCE, *release_facts.PLACES))[name]
    path = copy / name
    text = path.read_text(encoding="utf-8")
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None
    path.write_text(text[: match.start(1)] + "9.9.9" + text[match.end(1) :], encoding="utf-8")
    assert release_facts.main([], copy) == 1
    assert "9.9.9" in capsys.readouterr().out


def test_a_place_without_a_version_is_named(copy: Path) -> None:
    edit(copy / "CITATION.cff", "\nversion: ", "\nedition: ")
    assert list(release_facts.differences(copy)) == [f"CITATION.cff: no version; it should contain {VERSION}"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("CITATION.cff", "github.com/{}/graphfix"),
        ("docs/ci.md", "uses: {}/graphfix@"),
        ("recipe/recipe.yaml", "https://{}.github.io/graphfix"),
        ("recipe/recipe.yaml", "recipe-maintainers:\n    - {}"),
        ("pyproject.toml", "raw.githubusercontent.com/{}/graphfix"),
    ],
)
def test_another_account_in_one_place_is_named(copy: Path, name: str, old: str) -> None:
    edit(copy / name, old.format(release_facts.owner()), old.format("someone-else"))
    line = f"{name}: account someone-else; pyproject.toml has {release_facts.owner()}"
    assert list(release_facts.differences(copy)) == [line]


def test_an_account_is_written_into_all_places(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = release_facts.owner(copy)
    assert release_facts.main(["--owner", "new-account"], copy) == 0
    assert "account new-account: all places agree" in capsys.readouterr().out
    left = [path.name for path in release_facts.texts(copy) if f"{before}/graphfix" in path.read_text(encoding="utf-8")]
    assert set(left) <= {"decisions.md"}


@pytest.mark.ci
def test_a_version_is_written_into_all_places_but_the_changelog(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_facts.main(["--version", "0.2.0rc1"], copy) == 1
    assert capsys.readouterr().out == f"CHANGELOG.md: version {VERSION}; graphfix/version.py has 0.2.0rc1\n"
    edit(copy / "CHANGELOG.md", f"## {VERSION} (", f"## 0.2.0rc1 (unreleased)\n\n## {VERSION} (")
    assert release_facts.main([], copy) == 0


@pytest.mark.ci
def test_a_tag_is_released_with_an_account_and_a_date_only(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_facts.main(["--tag", "v9.9.9"], copy) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"v9.9.9: graphfix/version.py has version {VERSION}: the tag must be v{VERSION}",
        "pyproject.toml: the account is a placeholder: run scripts/release_facts.py --owner NAME",
        "CHANGELOG.md: the first heading has no date: write it as (2026-12-31)",
    ]
    edit(copy / "CHANGELOG.md", f"## {VERSION} (unreleased)", f"## {VERSION} (2026-12-31)")
    assert release_facts.main(["--owner", "new-account", "--tag", f"v{VERSION}"], copy) == 0


@pytest.mark.parametrize(
    "arguments", [["--version", "v1"], ["--version", "1.0 "], ["--owner", "a/b"], ["--owner", "-"]]
)
def test_a_wrong_argument_changes_nothing(copy: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        release_facts.main(arguments, copy)
    assert release_facts.version(copy) == VERSION
