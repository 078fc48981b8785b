"""List the packages that graphfix requires, and build the command that installs an extra.

The command installs the extra from the source of the installed graphfix: a checkout, a file or URL, or the package
index.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from importlib import metadata
from types import MappingProxyType

from graphfix.results.installation import ROOT

DOWNGRADES: Mapping[str, str] = MappingProxyType(
    {"tosa": "in a second virtual environment, because the extra installs older releases of numpy and onnx"}
)
"""Extra -> where to install the extra, if it replaces packages of the environment by older releases."""
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<versions>[^;]*)(?:;(?P<where>.*))?", re.DOTALL)
_EXTRA = re.compile(r"""(?:\s*and\s+)?\(?extra == ['"]([\w.-]+)['"]\)?""")


def requirements() -> Iterator[tuple[str | None, str, str, str]]:
    """Yield each required package as (extra or None, name, versions, condition such as `python_version < "3.12"`).

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
    """Return the command that installs an extra.

    If the extra replaces installed packages by older releases, the text also recommends a second virtual environment.
    """
    if (ROOT / "pyproject.toml").is_file():
        command = f"pip install -e {shlex.quote(f'{ROOT}[{extra}]')}"
    else:
        origin = _origin()
        requirement = f"graphfix[{extra}] @ {origin}" if origin else f"graphfix[{extra}]"
        command = f"pip install '{requirement}'"
    return f"{command}{f' {DOWNGRADES[extra]}' if extra in DOWNGRADES else ''}"


def _origin() -> str:
    """Return the URL of the file, folder or repository that graphfix was installed from; empty for a package index."""
    try:
        record = json.loads(metadata.distribution("graphfix").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    repository = record.get("vcs_info")
    url = str(record.get("url", ""))
    return f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url
