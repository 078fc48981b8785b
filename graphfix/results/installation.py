"""The folder that graphfix is installed in, and the addresses of its documentation's pages."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder with the packages graphfix and rewrites: a checkout, or site-packages."""


PAGE = re.compile(r"\bdocs/([\w/-]+)\.md")
"""A page in a text, such as docs/targets.md."""


def with_addresses(text: str) -> str:
    """Return the text with the address of each page on the project's site in place of its path in a checkout.

    The text stays as it is in a checkout, and where no metadata of graphfix is installed. The source of the site's
    address is `Documentation` in [project.urls] of pyproject.toml.
    """
    if PAGE.search(text) is None or (ROOT / "docs" / "index.md").is_file():
        return text
    site = _site()
    return PAGE.sub(lambda found: f"{site}{found[1]}/", text) if site else text


def _site() -> str:
    """Return the address of the site with a slash at its end; empty if graphfix is not installed."""
    from importlib import metadata  # imported here because the import takes time that most commands need not spend

    try:
        addresses = metadata.metadata("graphfix").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    found = dict(address.split(", ", 1) for address in addresses).get("Documentation", "")
    return f"{found.rstrip('/')}/" if found else ""
