"""The results of `doctor`: installed versions, extras, and whether each runtime works."""

from __future__ import annotations

import re
from typing import Literal

from graphfix.results.records import dataclass
from graphfix.results.runtime_facts import Versions

ProbeStatus = Literal["works", "fails", "absent"]
ExtraStatus = Literal["installed", "partly installed", "not installed"]


@dataclass(frozen=True, slots=True)
class Package:
    """A package that graphfix depends on."""

    name: str
    asked: str
    """The required versions, and a condition: `>=2026.2; python_version < '3.14'`; empty for any version."""
    version: str | None
    """The installed version; None if the package is not installed."""

    @property
    def fits(self) -> bool:
        """Return whether the installed version fulfils the requirement; True for a package that is not installed."""
        bounds = re.findall(r"(>=|<)\s*([\w.]+)", self.asked.partition(";")[0])
        since = next((bound for sign, bound in bounds if sign == ">="), "")
        before = next((bound for sign, bound in bounds if sign == "<"), "")
        return self.version is None or Versions(since, before).include(self.version)


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of graphfix (`pip install graphfix[NAME]`), with the packages that it installs."""

    name: str
    adds: str
    packages: tuple[Package, ...]

    @property
    def status(self) -> ExtraStatus:
        """Return whether all, some or none of the extra's packages are installed."""
        there = [package.version is not None for package in self.packages]
        return "installed" if all(there) else "partly installed" if any(there) else "not installed"


@dataclass(frozen=True, slots=True)
class Probe:
    """The test of a runtime or a tool: it ran a model of one Add, in a process apart."""

    name: str
    extra: str | None
    """The extra that installs the runtime; None if graphfix requires it."""
    status: ProbeStatus
    reason: str | None
    """Why the runtime does not work, in one line; None if it works."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Environment:
    """The whole result of `doctor`, without private paths and names."""

    python: str
    """Version and implementation: `3.11.7 (CPython)`."""
    platform: str
    processors: int | None
    packages: tuple[Package, ...]
    extras: tuple[Extra, ...]
    probes: tuple[Probe, ...]
    newer: tuple[str, ...] = ()
    """A sentence for each runtime that is newer than the versions with which graphfix was measured."""

    @property
    def works(self) -> bool:
        """Return whether every required runtime works and every required package has an allowed version."""
        works = all(probe.status == "works" for probe in self.probes if probe.extra is None)
        return works and all(package.fits for package in self.packages)
