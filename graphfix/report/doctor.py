"""Print the results of `doctor`: as text that can be pasted into an issue, and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict

from graphfix.report.forms.json import SCHEMA
from graphfix.report.text import printable
from graphfix.results.environment import Environment, Package, Probe
from graphfix.version import VERSION


def environment_text(environment: Environment) -> str:
    """Return versions, extras and the results of the probes, one line each."""
    lines = [
        f"graphfix {VERSION}, Python {environment.python}, {environment.platform}"
        + (f", {environment.processors} processors" if environment.processors else ""),
        "",
        "needed",
        *_packages(environment.packages),
    ]
    if not environment.packages:
        lines.append("  not known: graphfix runs from a folder, and is not installed")
    for extra in environment.extras:
        lines += ["", f"extra {extra.name}, {extra.status} ({extra.adds})", *_packages(extra.packages)]
    if environment.newer:
        lines += ["", *environment.newer]
    lines += ["", "tried on a model of one Add, each in a process apart", *_probes(environment.probes), ""]
    return "\n".join(map(printable, [*lines, _summary(environment)]))


def environment_json(environment: Environment) -> str:
    """Return the results of `doctor` as one JSON document."""
    head = {"schema": SCHEMA, "graphfix": VERSION, "command": "doctor", "works": environment.works}
    found = asdict(environment)
    for extra, described in zip(environment.extras, found["extras"], strict=True):
        described["status"] = extra.status
    return json.dumps({**head, **found}, indent=2) + "\n"


def _packages(packages: Sequence[Package]) -> list[str]:
    width = max((len(package.name) for package in packages), default=0)
    return [
        f"  {package.name:{width}}  {package.version or 'not installed'}"
        + (f"  (asked for: {package.asked})" if package.asked else "")
        + ("" if package.fits else "  conflict: another version is asked for")
        for package in packages
    ]


def _probes(probes: Sequence[Probe]) -> list[str]:
    width = max((len(probe.name) for probe in probes), default=0)
    return [f"  {probe.status:6}  {probe.name:{width}}  {probe.reason or f'{probe.seconds:.2f} s'}" for probe in probes]


def _summary(environment: Environment) -> str:
    needed = [probe.name for probe in environment.probes if probe.extra is None and probe.status != "works"]
    optional = [probe.name for probe in environment.probes if probe.extra is not None and probe.status == "fails"]
    misfits = [each for each in environment.packages if not each.fits]
    said = "all that graphfix needs works"
    if misfits:
        wanted = " ".join(shlex.quote(f"{each.name}{each.asked.partition(';')[0]}") for each in misfits)
        said = f"installed in a version that graphfix does not allow: pip install {wanted}"
    if needed:
        said = f"does not work, and graphfix needs it: {', '.join(needed)}"
    return f"{said}; installed, and does not work: {', '.join(optional)}" if optional else said
