"""What `doctor` found of the installation: versions, what the extras add, and what runs."""

from __future__ import annotations

import re
from typing import Literal

from graphfix.results.records import dataclass
from graphfix.results.runtime_facts import Versions

ProbeStatus = Literal["works", "fails", "absent"]
ExtraStatus = Literal["installed", "partly installed", "not installed"]


@dataclass(frozen=True, slots=True)
class Package:
    """A package that graphfix asks for."""

    name: str
    asked: str
    """The versions that are asked for, and where: `>=2026.2; python_version < '3.14'`; empty for any."""
    version: str | None
    """None where it is not installed."""

    @property
    def fits(self) -> bool:
        """Return whether the installed version is one that is asked for; True for a package that is not installed."""
        bounds = re.findall(r"(>=|<)\s*([\w.]+)", self.asked.partition(";")[0])
        since = next((bound for sign, bound in bounds if sign == ">="), "")
        before = next((bound for sign, bound in bounds if sign == "<"), "")
        return self.version is None or Versions(since, before).include(self.version)


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of graphfix, with the packages that it adds."""

    name: str
    adds: str
    packages: tuple[Package, ...]

    @property
    def status(self) -> ExtraStatus:
        """Whether all of its packages are there, some, or none."""
        there = [package.version is not None for package in self.packages]
        return "installed" if all(there) else "partly installed" if any(there) else "not installed"


@dataclass(frozen=True, slots=True)
class Probe:
    """A runtime or a tool that was asked for what graphfix asks of it, on a model of one Add, in a process apart."""

    name: str
    extra: str | None
    """The extra that it belongs to; None: graphfix can't do without."""
    status: ProbeStatus
    reason: str | None
    """Why it does not work, in one line."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Environment:
    """The whole answer, without private paths and names."""

    python: str
    """`3.11.7 (CPython)`."""
    platform: str
    processors: int | None
    packages: tuple[Package, ...]
    extras: tuple[Extra, ...]
    probes: tuple[Probe, ...]
    newer: tuple[str, ...] = ()
    """A sentence for each runtime that is newer than the versions with which graphfix was measured."""

    @property
    def works(self) -> bool:
        """Whether all works that graphfix can't do without, in versions that it allows."""
        works = all(probe.status == "works" for probe in self.probes if probe.extra is None)
        return works and all(package.fits for package in self.packages)
