"""An HTML report as text: its elements, what it says, and the data that its scripts read."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"meta", "link", "input", "img", "br"})
FETCHING = frozenset({"img", "iframe", "object", "embed", "svg", "video", "audio", "form", "base"})


class Reader(HTMLParser):
    """What elements a page has. Each that opens must close; none fetches, and none but the page's own runs anything."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        assert not set(self.tags) & FETCHING
        assert all(address.startswith(("#", "data:,")) for address in self.addresses)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.said.append(text)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


def data_of(text: str) -> list[Any]:
    """What the scripts read, a model each; None for one that failed."""
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert block is not None
    found: list[Any] = json.loads(block[1])["models"]
    return found
