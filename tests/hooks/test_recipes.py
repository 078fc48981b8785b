"""The recipes of docs/ci.md: what the published schemas say of them, and that they fit the action and the hook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from release_facts import owner

from graphfix.version import VERSION
from tests.support.action import action
from tests.support.places import ROOT
from tests.support.recipes import PAGE, WORKFLOWS, recipes

SCHEMAS = {
    **{name: "vendor.github-workflows" for name in recipes() if name.startswith(WORKFLOWS)},
    ".gitlab-ci.yml": "vendor.gitlab-ci",
}
FAULTS = {
    ".github/workflows/check-models.yml": ("runs-on", "run-on"),
    ".github/workflows/verify-models.yml": ("fail-fast: false", "fail-fast: [no]"),
    ".github/workflows/verify-change.yml": ("permissions:", "permission:"),
    ".gitlab-ci.yml": ("when: always", "when: seldom"),
}


def validated(folder: Path, name: str, text: str) -> int:
    path = folder / Path(name).name
    path.write_text(text, encoding="utf-8")
    command = ["check_jsonschema", "--builtin-schema", SCHEMAS[name], str(path)]
    return subprocess.run([sys.executable, "-P", "-m", *command], capture_output=True, check=False).returncode


def test_the_page_has_a_recipe_for_each_place() -> None:
    assert set(recipes()) == {*SCHEMAS, ".pre-commit-config.yaml", "check-models.sh", "verify-models.sh"}


@pytest.mark.ci
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_takes_it(tmp_path: Path, name: str) -> None:
    assert validated(tmp_path, name, recipes()[name]) == 0


@pytest.mark.ci
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_refuses_a_planted_fault(tmp_path: Path, name: str) -> None:
    right, wrong = FAULTS[name]
    assert right in recipes()[name]
    assert validated(tmp_path, name, recipes()[name].replace(right, wrong, 1)) == 1


def test_pre_commit_takes_its_configuration(tmp_path: Path) -> None:
    text = recipes()[".pre-commit-config.yaml"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (repository,) = yaml.safe_load(text)["repos"]
    assert [hook["id"] for hook in repository["hooks"]] == [hook["id"] for hook in hooks]
    for content, status in ((text, 0), (text.replace("rev:", "revision:"), 1)):
        path = tmp_path / "config.yaml"
        path.write_text(content, encoding="utf-8")
        command = [sys.executable, "-P", "-m", "pre_commit", "validate-config", str(path)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == status


@pytest.mark.parametrize("name", [name for name in recipes() if name.startswith(WORKFLOWS)])
def test_a_workflow_gives_the_action_inputs_that_it_has(name: str) -> None:
    (job,) = yaml.safe_load(recipes()[name])["jobs"].values()
    (inputs,) = [step["with"] for step in job["steps"] if step["uses"].startswith(f"{owner()}/graphfix@")]
    assert set(inputs) <= set(action()["inputs"])


def test_the_page_lists_every_input_with_its_default() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = {cells[1].strip(): cells[2] for cells in (line.split("|") for line in page.splitlines()) if len(cells) == 5}
    named = {name.strip("` "): default for names, default in rows.items() for name in names.split(",")}
    for name, given in action()["inputs"].items():
        assert name in named
        default = str(given["default"])
        assert default.startswith("${{") or not default or f"`{default}`" in named[name]


def test_the_page_names_this_version() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count(f"graphfix@v{VERSION}") == 4
    assert f"rev: v{VERSION}\n" in page
