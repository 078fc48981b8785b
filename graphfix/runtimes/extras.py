"""List the packages that graphfix requires, and build the command that installs an extra.

The command names a checkout or packages, because graphfix is in no package registry.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the package: the checkout, or site-packages."""
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<versions>[^;]*)(?:;(?P<where>.*))?", re.DOTALL)
_EXTRA = re.compile(r"""(?:\s*and\s+)?\(?extra == ['"]([\w.-]+)['"]\)?""")


def requirements() -> Iterator[tuple[str | None, str, str, str]]:
    """Yield each required package: its extra or None, its name, the versions, and the condition (`python_version ..`).

    Yields nothing if graphfix is not installed.
    """
    try:
        declared = metadata.requires("graphfix") or ()
    except metadata.PackageNotFoundError:
        declared = ()
    for text in declared:
        match = _REQUIREMENT.fullmatch(text)
        if match is None:
            continue
        where = match["where"] or ""
        extra = _EXTRA.search(where)
        condition = _EXTRA.sub("", where).strip().strip("()")
        yield extra[1] if extra else None, match["name"], match["versions"].strip(), condition


def install_command(extra: str) -> str:
    """Return the command that installs an extra: from the checkout, or without one by the names of its packages."""
    if (ROOT / "pyproject.toml").is_file():
        return f"pip install -e {shlex.quote(f'{ROOT}[{extra}]')}"
    packages = [shlex.quote(name + versions) for of, name, versions, _ in requirements() if of == extra]
    return f"pip install {' '.join(packages)}" if packages else f"install graphfix with its extra [{extra}]"
