"""The two virtual environments of the benchmark: graphfix from a wheel as users install it, and the peers.

Both are created once, in a folder of the cache. graphfix's wheel is installed again if its sources have changed.
Bytecode is compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from peers.catalogue import OURS, THEIRS, Peer

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
CONSTRAINTS = ROOT / "tests" / "constraints.txt"
SOURCES = ("graphfix", "rewrites")
_VERSIONS = (
    "import importlib.metadata as m, json;"
    "print(json.dumps({each.name.lower().replace('_', '-'): each.version for each in m.distributions()}))"
)


class Tool(Protocol):
    """A peer or a verifier: its packages, and the environment in which it is installed."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Return the packages whose versions matter."""

    @property
    def environment(self) -> str:
        """Return the name of the tool's environment."""


class EnvironmentFailedError(Exception):
    """An environment could not be created; the message is one line."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment: its Python, and the version of each installed package."""

    python: Path
    versions: Mapping[str, str]

    def missing(self, peer: Peer) -> bool:
        """Return whether the peer's first package is not installed. A peer without packages is never missing."""
        return bool(peer.packages) and peer.packages[0] not in self.versions


def default_folder() -> Path:
    """Return the folder of the cache in which the environments are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "graphfix" / "peers"


def made(folder: Path, install: bool = True) -> Mapping[str, Environment]:
    """Return both environments by name.

    With `install`, create or update environments that are absent or out of date.

    Raise EnvironmentFailedError if a command fails.
    """
    wanted = {OURS: _ours, THEIRS: _theirs}
    found = {}
    for name, (stamp, packages) in {name: each() for name, each in wanted.items()}.items():
        python = folder / name / "bin" / "python"
        if install:
            _install(python, stamp, packages)
        found[name] = Environment(python, json.loads(_said([str(python), "-c", _VERSIONS])))
    return found


def _ours() -> tuple[str, Sequence[Sequence[str]]]:
    """Return the stamp of graphfix's sources, and the arguments of two calls of `pip install`.

    The first call installs graphfix with its dependencies. The second call installs graphfix again, without
    dependencies.
    """
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes())
    for path in sorted(path for top in SOURCES for path in (ROOT / top).rglob("*") if path.is_file()):
        if path.suffix != ".pyc":
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest(), ([str(ROOT)], ["--no-deps", "--force-reinstall", str(ROOT)])


def _theirs() -> tuple[str, Sequence[Sequence[str]]]:
    """Return the stamp of the peers' requirements, and the arguments of one call of `pip install`."""
    stamp = hashlib.sha256(REQUIREMENTS.read_bytes() + CONSTRAINTS.read_bytes()).hexdigest()
    return stamp, (["-r", str(REQUIREMENTS)],)


def _install(python: Path, stamp: str, steps: Sequence[Sequence[str]]) -> None:
    """Install the packages, unless the environment has the same stamp. A missing environment is created."""
    kept = python.parents[1] / "stamp"
    if kept.exists() and kept.read_text(encoding="utf-8") == stamp:
        return
    print(f"installing into {python.parents[1]}", file=sys.stderr, flush=True)
    if not python.exists():
        _said([sys.executable, "-m", "venv", str(python.parents[1])])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--compile"]
    for arguments in steps:
        _said([*pip, *arguments])
    kept.write_text(stamp, encoding="utf-8")


def _said(command: Sequence[str]) -> str:
    """Run a command and return its output on stdout. Raise EnvironmentFailedError if the command fails.

    The command runs outside of the checkout, so that nothing is imported from the checkout.
    """
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    variables |= {"PIP_CONSTRAINT": str(CONSTRAINTS), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(
            command, cwd=tempfile.gettempdir(), env=variables, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise EnvironmentFailedError(f"{command[0]}: {said[-1] if said else error}") from None
    return done.stdout


def versions(environments: Mapping[str, Environment], tools: Iterable[Tool]) -> dict[str, str]:
    """Return the version of each package that a tool lists, as installed in the tool's environment."""
    return {
        package: environments[tool.environment].versions[package]
        for tool in tools
        for package in tool.packages
        if package in environments[tool.environment].versions
    }
