"""A page in a real browser: what it said and asked for, and what must hold of everything on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.places import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
CHECKS = (ROOT / "tests" / "support" / "page_checks.js").read_text(encoding="utf-8")
WIDE, NARROW = 1280, 390


def executable() -> str | None:
    """Where Chromium is: named by GRAPHFIX_BROWSER, else on the PATH."""
    named = os.environ.get("GRAPHFIX_BROWSER", "")
    return shutil.which("chromium" if named in ("", "required") else named)


@contextmanager
def started() -> Iterator[Browser]:
    """Start the browser, and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=[*FLAGS])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page that was opened, and what came of it."""

    page: Page
    said: list[str] = field(default_factory=list)
    """Errors, warnings and dialogs."""
    asked: list[str] = field(default_factory=list)
    """Addresses that were asked for, but the page's own."""

    def check(self, what: str) -> list[str]:
        """Ask one of page_checks.js; what it finds is a fault each."""
        found: list[str] = self.page.evaluate(f"() => {{ {CHECKS}\nreturn {what}(); }}")
        return found

    def text(self, selector: str) -> str:
        """What the first such element says, on one line."""
        return " ".join((self.page.locator(selector).first.text_content() or "").split())


@contextmanager
def opened(browser: Browser, path: Path, *, width: int = WIDE, **context: Any) -> Iterator[Opened]:  # noqa: ANN401 -- options
    """Open a file; `context` are options of the browser's context."""
    made = browser.new_context(viewport={"width": width, "height": 900}, **context)
    found = Opened(made.new_page())
    page, address = found.page, path.as_uri()
    page.on(
        "console", lambda message: found.said.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: found.said.append(str(error)))
    page.on("dialog", lambda dialog: (found.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: found.asked.append(request.url) if request.url != address else None)
    page.goto(address)
    yield found
    made.close()
