"""The two environments, as users have them: graphfix from a wheel, and the peers; bytecode is compiled.

Both are made once, below the cache folder, and graphfix's wheel is put in again where its sources have changed.
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
    """A peer or a verifier: what it needs, and where it is installed."""

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose versions count."""

    @property
    def environment(self) -> str:
        """The name of its environment."""


class EnvironmentFailedError(Exception):
    """An environment could not be made: one line."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment and what is installed in it, by package."""

    python: Path
    versions: Mapping[str, str]

    def missing(self, peer: Peer) -> bool:
        """Whether the peer's own package is not there."""
        return bool(peer.packages) and peer.packages[0] not in self.versions


def default_folder() -> Path:
    """Return where the environments are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "graphfix" / "peers"


def made(folder: Path, install: bool = True) -> Mapping[str, Environment]:
    """Make what is not there or is stale; return both environments. Raises EnvironmentFailedError."""
    wanted = {OURS: _ours, THEIRS: _theirs}
    found = {}
    for name, (stamp, packages) in {name: each() for name, each in wanted.items()}.items():
        python = folder / name / "bin" / "python"
        if install:
            _install(python, stamp, packages)
        found[name] = Environment(python, json.loads(_said([str(python), "-c", _VERSIONS])))
    return found


def _ours() -> tuple[str, Sequence[Sequence[str]]]:
    """The stamp of what is installed, and pip's arguments: the wheel alone is installed again."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes())
    for path in sorted(path for top in SOURCES for path in (ROOT / top).rglob("*") if path.is_file()):
        if path.suffix != ".pyc":
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest(), ([str(ROOT)], ["--no-deps", "--force-reinstall", str(ROOT)])


def _theirs() -> tuple[str, Sequence[Sequence[str]]]:
    stamp = hashlib.sha256(REQUIREMENTS.read_bytes() + CONSTRAINTS.read_bytes()).hexdigest()
    return stamp, (["-r", str(REQUIREMENTS)],)


def _install(python: Path, stamp: str, steps: Sequence[Sequence[str]]) -> None:
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
    """Run a command outside of the checkout, so that nothing is imported from it; return what it printed."""
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
    """Return the version of every package that a tool names, as its own environment has it."""
    return {
        package: environments[tool.environment].versions[package]
        for tool in tools
        for package in tool.packages
        if package in environments[tool.environment].versions
    }
