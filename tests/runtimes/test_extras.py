"""How an extra is installed: by a command that works, from where graphfix was installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphfix.runtimes import extras
from tests.support.places import ROOT


def test_a_checkout_is_installed_with_the_extra() -> None:
    assert extras.install_command("batch") == f"pip install -e '{ROOT}[batch]'"
    assert extras.install_command("tosa").startswith(f"pip install -e '{ROOT}[tosa]' in a second virtual environment, ")


WHEEL = "file:///folder/graphfix-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("record", "named"),
    [
        (None, "graphfix[batch]"),
        ("not JSON", "graphfix[batch]"),
        (f'{{"url": "{WHEEL}", "archive_info": {{}}}}', f"graphfix[batch] @ {WHEEL}"),
        (
            '{"url": "https://host/g", "vcs_info": {"vcs": "git", "commit_id": "1f"}}',
            "graphfix[batch] @ git+https://host/g@1f",
        ),
    ],
    ids=["from an index", "damaged", "a wheel", "a repository"],
)
def test_elsewhere_the_extra_comes_from_where_graphfix_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str | None, named: str
) -> None:
    folder = tmp_path / "graphfix-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: graphfix\nVersion: 0.1.0\n", encoding="utf-8")
    if record is not None:
        (folder / "direct_url.json").write_text(record, encoding="utf-8")
    monkeypatch.setattr(extras, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert extras.install_command("batch") == f"pip install '{named}'"


def test_only_readme_and_two_pages_install_graphfix_from_a_registry() -> None:
    """All say that this works from the first release on."""
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    command = re.compile(r"""(pipx?|tool) install ["']?graphfix\b""")
    found = {path.relative_to(ROOT).as_posix() for path in texts if command.search(path.read_text(encoding="utf-8"))}
    assert found - {"docs/decisions.md"} == {"README.md", "docs/index.md", "docs/install.md"}
    for name in ("README.md", "docs/index.md", "docs/install.md"):
        assert "from the first release on" in " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_each_required_package_is_listed_by_its_extra_and_what_is_no_requirement_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {
        "numpy>=1.26,<3": (None, "numpy", ">=1.26,<3", ""),
        "tomli ; python_version < '3.11'": (None, "tomli", "", "python_version < '3.11'"),
        "s3fs>=2024 ; extra == 'batch'": ("batch", "s3fs", ">=2024", ""),
        "a.b-c_d ; (python_version < '3.14') and extra == \"dev\"": ("dev", "a.b-c_d", "", "python_version < '3.14'"),
        "(of no name)": None,
        "last": (None, "last", "", ""),
    }
    folder = tmp_path / "graphfix-0.1.0.dist-info"
    folder.mkdir()
    lines = [f"Requires-Dist: {text}\n" for text in declared]
    head = "Metadata-Version: 2.1\nName: graphfix\nVersion: 0.1.0\n"
    (folder / "METADATA").write_text(head + "".join(lines), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert list(extras.requirements()) == [each for each in declared.values() if each is not None]


def test_nothing_is_listed_where_graphfix_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise extras.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras.metadata, "requires", missing)
    assert list(extras.requirements()) == []
    monkeypatch.setattr(extras.metadata, "requires", lambda _: None)
    assert list(extras.requirements()) == []
