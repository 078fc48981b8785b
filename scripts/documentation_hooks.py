"""MkDocs hooks: the pages and pictures that are made of the program while the site is built, and links to them."""

from __future__ import annotations

from typing import Any

from documentation import links, pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what is made to what docs/ holds, and let the navigation name it."""
    for path, content in pages.made().items():
        files.append(File.generated(config, path, content=content))
    config.nav = [_filled(entry) for entry in config.nav or ()]
    return files


def _filled(entry: Any) -> Any:  # noqa: ANN401 -- an entry of the navigation: a text, or a mapping of one
    """The entry, with the made pages in place of `reference/`."""
    if isinstance(entry, dict) and pages.REFERENCE in entry.values():
        return dict.fromkeys(entry, pages.navigation())
    return entry


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Let names of rewrites, codes and targets lead to their pages."""
    return links.linked(markdown, page.file.src_uri)
