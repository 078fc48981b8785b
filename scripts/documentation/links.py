"""Replace names of rewrites, finding codes and targets in a page's text by links to their pages."""

from __future__ import annotations

import posixpath
import re
from functools import cache

from graphfix.report.pages import codes
from graphfix.targets.registry import REWRITES, TARGETS

CODES, REWRITES_FOLDER, TARGETS_FOLDER = "reference/codes", "reference/rewrites", "reference/targets"
FENCE = re.compile(r"^ *(```|~~~)")
LINK = r"\[[^\]]*\]\([^)]*\)|<[^>]*>"


@cache
def _names() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern that finds names in a text, and the path of each name's page."""
    places = {code: f"{CODES}/{code}.md" for code in codes()}
    places |= {f"`{code}`": place for code, place in places.items()}
    places |= {f"`{name}`": f"{REWRITES_FOLDER}/{name}.md" for name in REWRITES}
    places |= {f"`--target {name}`": f"{TARGETS_FOLDER}/{name}.md" for name in TARGETS}
    pattern = "|".join(re.escape(name) for name in sorted(places, key=len, reverse=True))
    # The pattern matches links, other code and longer words first, so that a name inside them is not replaced.
    return re.compile(rf"{LINK}|(?P<name>{pattern})(?![\w-])|`[^`\n]*`|\w+"), places


def linked(markdown: str, uri: str) -> str:
    """Return the text of the page `uri` with links. Code, headings and names of the page itself are not changed."""
    pattern, places = _names()
    folder = posixpath.dirname(uri)

    def link(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None or places[name] == uri:
            return found[0]
        return f"[{name}]({posixpath.relpath(places[name], folder or '.')})"

    lines, fenced = [], False
    for line in markdown.split("\n"):
        fence = FENCE.match(line) is not None
        fenced ^= fence
        spared = fence or fenced or line.startswith(("#", "    ", "!["))
        lines.append(line if spared else pattern.sub(link, line))
    return "\n".join(lines)
