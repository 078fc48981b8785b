"""The hook of .pre-commit-hooks.yaml, by pre-commit itself, in a repository with models."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import graphfix
from tests.support.places import MODELS, ROOT

MANIFEST = ROOT / ".pre-commit-hooks.yaml"
PROJECT = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "graphfix", "rewrites")
"""What the package is built from."""


@dataclass(frozen=True)
class Repository:
    """A repository whose commits the hook checks."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(part) for part in command],
            cwd=folder or self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def commit(self, *names: str) -> subprocess.CompletedProcess[str]:
        """Commit these files alone, with what the hook says of them."""
        assert self.run("git", "reset", "--quiet").returncode == 0
        assert self.run("git", "add", "--", *names).returncode == 0
        return self.run("git", "commit", "--message", "models")


def with_the_hook(folder: Path) -> Repository:
    """A repository with the hook installed, from a copy of the project as it stands here.

    pip finds what graphfix needs among the packages of this environment, and installs graphfix alone: that the package
    names all it needs is asked where it is installed on its own (scripts/try_package.py, and test_recipes_run.py for
    the action).
    """
    ours, theirs = folder / "graphfix", folder / "models"
    identity = {
        f"GIT_{who}_{what}": "test@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "GIT_"))}
    repository = Repository(
        theirs,
        {
            **kept,
            **identity,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PRE_COMMIT_HOME": str(folder / "cache"),
        },
    )
    for name in PROJECT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, ours / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            ours.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, ours / name)
    theirs.mkdir()
    for command in (["git", "init", "-q"], ["git", "add", "-A"], ["git", "commit", "-qm", "graphfix"]):
        assert repository.run(*command, folder=ours).returncode == 0
    revision = repository.run("git", "rev-parse", "HEAD", folder=ours).stdout.strip()
    (theirs / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {ours}\n    rev: {revision}\n    hooks:\n      - id: graphfix-check\n", encoding="utf-8"
    )
    assert repository.run("git", "init", "-q").returncode == 0
    ours_too = {"PYTHONPATH": sysconfig.get_path("purelib")}
    installing = replace(repository, environment=repository.environment | ours_too)
    installed = installing.run(sys.executable, "-P", "-m", "pre_commit", "install", "--install-hooks")
    assert installed.returncode == 0, installed.stdout
    (packages,) = (folder / "cache").glob("repo*/py_env-*/lib/python*/site-packages")
    assert (packages / "graphfix").is_dir()
    assert not (packages / "onnx").exists()
    (packages / "packages_of_the_tests.pth").write_text(ours_too["PYTHONPATH"], encoding="utf-8")  # behind its own
    return repository


def validated(path: Path) -> int:
    command = [sys.executable, "-P", "-m", "pre_commit", "validate-manifest", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_the_manifest_is_one() -> None:
    assert validated(MANIFEST) == 0


def test_a_manifest_without_an_entry_is_refused(tmp_path: Path) -> None:
    planted = tmp_path / MANIFEST.name
    planted.write_text(MANIFEST.read_text(encoding="utf-8").replace("entry:", "entri:"), encoding="utf-8")
    assert validated(planted) == 1


@pytest.mark.ci
def test_only_a_commit_without_implicit_broadcasts_passes(tmp_path: Path) -> None:
    """One test: pre-commit builds an environment for it."""
    repository = with_the_hook(tmp_path)
    other_files_are_not_touched(repository)
    for suffix in ("onnx", "tflite"):
        a_model_is_not_committed_until_it_is_fixed(repository, MODELS / f"rfc_rank_expansion.{suffix}")
    what_is_no_model_is_one_line(repository)


def other_files_are_not_touched(repository: Repository) -> None:
    for name in ("onnx", "notes.onnx.txt"):
        (repository.folder / name).write_text("not a model\n", encoding="utf-8")
    done = repository.commit("onnx", "notes.onnx.txt")
    assert done.returncode == 0, done.stdout
    assert "Skipped" in done.stdout


def a_model_is_not_committed_until_it_is_fixed(repository: Repository, model: Path) -> None:
    path = repository.folder / f"a model (1)'s\"{model.suffix.upper()}"
    shutil.copy(model, path)
    refused = repository.commit(path.name)
    assert refused.returncode == 1
    assert "GF101" in refused.stdout
    assert path.name in refused.stdout
    fixed = repository.folder / f"fixed{model.suffix}"
    graphfix.fix_file(model, fixed, check_result=False)
    taken = repository.commit(fixed.name)
    assert taken.returncode == 0, taken.stdout
    assert "Passed" in taken.stdout


def what_is_no_model_is_one_line(repository: Repository) -> None:
    (repository.folder / "pointer.onnx").write_text("version https://git-lfs.github.com/spec/v1\n", encoding="utf-8")
    done = repository.commit("pointer.onnx")
    assert done.returncode == 1
    assert "graphfix: pointer.onnx: " in done.stdout
    assert "Traceback" not in done.stdout
