"""The script that tries the built package: which commands of a page it runs, and faults that it names."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import release_facts
import try_package

from tests.support.places import ROOT

PAGE = """
```sh
pip install . && graphfix fix models/a.onnx -o b.onnx
graphfix fix models/zoo/x/y.onnx -o c.onnx
pip install '.[tosa]' && graphfix tosa models/a.onnx -o a.tosa
```

```console
$ graphfix check a.onnx
a.onnx: 1 finding
$ echo $?
1
$ graphfix check b.onnx
```

```python
print("a model of the reader's own")
```

```python
engine.load("models/a.onnx")
```
"""


def test_the_commands_of_a_page_are_those_that_need_no_clone_and_no_fetched_model() -> None:
    assert list(try_package.commands(PAGE)) == [
        ("graphfix", "graphfix fix models/a.onnx -o b.onnx", 0),
        ("graphfix", "graphfix check a.onnx", 1),
        ("graphfix", "graphfix check b.onnx", 0),
        ("python", 'print("a model of the reader\'s own")\n', 0),
    ]


def test_readme_and_the_page_about_installation_have_commands() -> None:
    for name in try_package.PAGES:
        assert len(list(try_package.commands((ROOT / name).read_text(encoding="utf-8")))) > 3


def test_a_command_with_another_status_fails_with_its_last_lines() -> None:
    with pytest.raises(try_package.FailedError, match=r"(?s)status 3\n    last words"):
        try_package.run(sys.executable, "-c", "print('last words'); raise SystemExit(3)")
    assert try_package.run(sys.executable, "-c", "raise SystemExit(3)", statuses=(3,)) == ""


def test_a_failed_attempt_is_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise try_package.FailedError("no wheel")

    attempts = try_package.Attempts()
    assert attempts.attempt("one", lambda: "a note")
    assert not attempts.attempt("two", fails, lambda: pytest.fail("a step behind a failure"))
    first, second, reason = capsys.readouterr().out.splitlines()
    assert (first[:2], first[-8:], second[:5], reason.strip()) == ("ok", "; a note", "FAULT", "no wheel")
    assert (attempts.done, attempts.failed) == (2, 1)


def packed(folder: Path, *, wheel: list[str], sdist: list[str]) -> try_package.Package:
    """Return a package whose wheel and sdist contain empty files of these names."""
    package = try_package.Package(folder)
    package.dist.mkdir()
    stem = f"graphfix-{release_facts.version()}"
    with zipfile.ZipFile(package.dist / f"{stem}-py3-none-any.whl", "w") as file:
        for name in [*wheel, f"{stem}.dist-info/METADATA"]:
            file.writestr(name, "")
    with tarfile.open(package.dist / f"{stem}.tar.gz", "w:gz") as archive:
        for name in sdist:
            archive.addfile(tarfile.TarInfo(f"{stem}/{name}"))
    return package


MODULES = [path.relative_to(ROOT).as_posix() for top in ("graphfix", "rewrites") for path in (ROOT / top).rglob("*.py")]
SDIST = [
    *MODULES,
    "tests/__init__.py",
    "tests/constraints.txt",
    "tests/conftest.py",
    ".ci/run",
    "LICENSE",
    "action.yml",
]


def test_complete_files_are_accepted(tmp_path: Path) -> None:
    assert "wheel" in try_package.contents(packed(tmp_path, wheel=MODULES, sdist=SDIST))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("wheel", "sdist", "fault"),
    [
        ([*MODULES, "tests/__init__.py"], SDIST, "the top of the wheel is"),
        (MODULES[1:], SDIST, "the wheel lacks graphfix/"),
        (MODULES, SDIST[1:], "the sdist lacks graphfix/"),
        (MODULES, [each for each in SDIST if each != ".ci/run"], "the sdist lacks .ci/run"),
        (MODULES, [*SDIST, "models/zoo/a/b.onnx"], "the sdist contains models/zoo/a/b.onnx"),
    ],
)
def test_a_file_too_many_or_too_few_is_named(wheel: list[str], sdist: list[str], fault: str, tmp_path: Path) -> None:
    with pytest.raises(try_package.FailedError) as raised:
        try_package.contents(packed(tmp_path, wheel=wheel, sdist=sdist))
    assert fault in str(raised.value)


def test_a_package_that_is_imported_from_elsewhere_is_refused(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty"], check=True)
    with pytest.raises(try_package.FailedError, match="No module named 'graphfix'"):
        try_package.is_the_installed_one(tmp_path / "empty")


def test_without_a_docker_daemon_the_container_is_not_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(try_package.shutil, "which", lambda _: None)
    assert try_package.container(try_package.Package(tmp_path)) == "not built: there is no docker"


@pytest.mark.ci
def test_the_python_that_runs_the_script_is_among_those_that_are_tried() -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert try_package.pythons()[version] == sys.executable
