"""Write the source of the documentation's site into one folder, docs/ and the generated pages, and find faults in it.

Zensical, which builds the site, does not run hooks of MkDocs. Therefore `scripts/build_site.py` writes this folder
first, and Zensical builds the site from it. MkDocs can build the same folder.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from documentation import links, pages

CONFIGURATION = "mkdocs.yml"
BUILT = "site"
"""The folder of the built site, beside the configuration."""
TARGET = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\((?!#|[a-z]+:)([^)#\s]+)")
"""A relative link or image in Markdown; the group is the file to which it points."""


def write(root: Path, folder: Path) -> None:
    """Write `docs/`, the generated pages and the configuration of the repository `root` into `folder`."""
    docs = folder / "docs"
    shutil.copytree(root / "docs", docs, dirs_exist_ok=True)
    for name, text in pages.made().items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in docs.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(links.linked(text, path.relative_to(docs).as_posix()), encoding="utf-8")
    configuration = yaml.safe_load((root / CONFIGURATION).read_text(encoding="utf-8"))
    configuration["site_dir"] = BUILT  # Zensical builds only into a folder below the configuration
    configuration["nav"] = [_with_pages(entry) for entry in configuration["nav"]]
    (folder / CONFIGURATION).write_text(yaml.safe_dump(configuration, sort_keys=False), encoding="utf-8")


def _with_pages(entry: Any) -> Any:  # noqa: ANN401 -- an entry of the navigation: a text, or a mapping of one
    """Return the entry of the navigation, with the generated pages in place of `reference/`."""
    if isinstance(entry, Mapping) and pages.REFERENCE in entry.values():
        return dict.fromkeys(entry, pages.navigation())
    return entry


def faults(folder: Path) -> list[str]:
    """Return the faults of a written folder that `zensical build --strict` does not find, one line each.

    These are images and other files that do not exist, pages of the navigation that do not exist, and pages that the
    navigation does not list. Zensical itself finds links to pages and anchors that do not exist.
    """
    docs = folder / "docs"
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    nav_names = list(_names(yaml.safe_load((folder / CONFIGURATION).read_text(encoding="utf-8"))["nav"]))
    found = [f"{CONFIGURATION}: {name} in the navigation does not exist" for name in nav_names if name not in written]
    found += [f"{name}: the navigation does not name this page" for name in sorted(written.difference(nav_names))]
    for name in sorted(written):
        page = docs / name
        targets = TARGET.findall(_without_code(page.read_text(encoding="utf-8")))
        missing = [each for each in dict.fromkeys(targets) if not (page.parent / each).exists()]
        found += [f"{name}: links to {each}, which does not exist" for each in missing]
    return found


def _names(entries: Sequence[Any]) -> Iterator[str]:
    """Yield the page of each entry of the navigation, entries inside entries included."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
            continue
        for value in entry.values():
            yield from _names([value] if isinstance(value, str) else value)


def _without_code(text: str) -> str:
    """Return the Markdown text without blocks of code and code inside lines."""
    blocks = re.sub(r"^ *(```|~~~).*?^ *\1 *$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?:^    .*\n)+|`[^`\n]*`", "", blocks, flags=re.MULTILINE)
