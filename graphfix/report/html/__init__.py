"""The HTML report: one file without network access, with tables, drawings, the graph and the verdict."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib import resources

from graphfix.report import drawing
from graphfix.report.html import data, models, sections
from graphfix.report.html.elements import escaped, facts, option
from graphfix.report.text import Entry, counted, own_codes
from graphfix.results import Outcome
from graphfix.results.run_facts import RunFacts
from graphfix.version import VERSION

SCRIPTS = ("data", "filters", "grid", "notation", "neighbours", "layers", "detail", "models", "page")
"""The scripts in the order of their dependencies."""


def page(entries: Sequence[Entry], run: RunFacts | None = None) -> str:
    """Return the page of all models, which contains its styles, scripts, data and the pages of the codes that occur.

    `run`: the facts about the command that made the page; None if no command line did.
    """
    command = entries[0].command if entries else ""
    title = f"graphfix {command}".rstrip()
    full_title = f"{title}: {entries[0].source}" if len(entries) == 1 else title
    script = f'"use strict";(() => {{\n{"".join(_asset(f"{name}.js") for name in SCRIPTS)}}})();'
    done = [entry for entry in entries if isinstance(entry, Outcome)]
    codes = sorted({site.code for outcome in done for site in outcome.sites})
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f"<title>{escaped(full_title)}</title>",
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
            f'<meta name="generator" content="graphfix {VERSION}"><style>{_style()}</style></head><body>',
            '<a class="skip" href="#content">Skip to the content</a>',
            f"<header><h1>{escaped(title)}</h1>",
            f'<p class="muted">graphfix {VERSION}, {counted(len(entries), "model")}</p>',
            '<button type="button" id="scheme" hidden>Dark</button></header><main id="content" tabindex="-1">',
            _run(run),
            models.models(entries),
            *(sections.model(number, entry) for number, entry in enumerate(entries)),
            sections.code_pages(codes, own_codes(entries)),
            f'</main><script type="application/json" id="data">{data.block(entries)}</script>',
            f"<script>{script}</script></body></html>\n",
        )
    )


def _run(run: RunFacts | None) -> str:
    """Return when, by which command line and with which versions the page was made."""
    if run is None:
        return ""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    pairs = [("Command", option(run.command_line)), ("Date", escaped(run.date)), ("Versions", escaped(versions))]
    return f'<section id="run" aria-label="This run">{facts(pairs)}</section>'


def _policy(script: str) -> str:
    """Return the Content-Security-Policy: nothing is fetched, and no script runs but the page's own."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def _style() -> str:
    light, dark = _asset("light.css") + drawing.LIGHT, _asset("dark.css") + drawing.DARK
    chosen = f":root[data-scheme=dark]{{{dark}}}"
    asked = f"@media screen and (prefers-color-scheme: dark){{:root:not([data-scheme=light]){{{dark}}}}}"
    return f":root{{{light}}}{asked}@media screen{{{chosen}}}{_asset('page.css')}{drawing.STYLE}"


def _asset(name: str) -> str:
    return resources.files(__name__).joinpath("assets", name).read_text(encoding="utf-8")
