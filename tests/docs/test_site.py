"""The site is built strictly, of the program as it is, and asks the network for nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import build_site
import pytest
import yaml
from documentation import drawings, links
from documentation import site as site_source

from graphfix.report.pages import codes
from graphfix.targets.registry import REWRITES, TARGETS
from tests.support.browser import NARROW, WIDE, started
from tests.support.places import ROOT

TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "object": "data"}
"""What a browser fetches by itself, and where it stands."""
KEPT_BACK = ("canonical", "prev", "next", "alternate")
"""Links of a page's head that are not fetched."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "scripts" / "build_site.py"), "--site", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.ci
def test_every_rewrite_code_and_target_has_a_page(site: Path) -> None:
    named = [*(f"rewrites/{name}" for name in REWRITES), *(f"codes/{name}" for name in codes())]
    named += [f"targets/{name}" for name in TARGETS]
    assert [name for name in named if not (site / "reference" / name / "index.html").exists()] == []


class Silent(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.browser
@pytest.mark.parametrize("step", [pytest.param(4, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(("first", "width"), [(0, WIDE), (1, NARROW)])
def test_pages_fit_their_window_and_are_silent_in_a_browser(
    site: Path, address: str, first: int, width: int, step: int
) -> None:
    """CI opens every fourth page in a wide window, and the next one in a narrow one."""
    every = sorted(path.relative_to(site).as_posix() for path in site.rglob("index.html"))
    alike = {name.rsplit("/", 2)[0]: name for name in every if name.startswith("reference/") and name.count("/") > 2}
    pages = [name for name in every if name.count("/") <= 2] + list(alike.values())  # of pages that are alike the last
    pages = pages[first % step :: step]
    with started() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        assert len(pages) > 40 / step
        wide = [name for name in pages if page.goto(f"{address}{name}") and page.evaluate(TOO_WIDE)]
        assert wide == []
        assert said == []
        assert [url for url in asked if not url.startswith((address, "data:"))] == []
        page.set_content("<p style='width:3000px'>wide</p>")
        assert page.evaluate(TOO_WIDE), "a page that is too wide is seen"


class Fetched(HTMLParser):
    """What a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if said.get("rel") not in KEPT_BACK:
            self.places += [said.get(LOADED[tag]) or ""] if tag in LOADED else []


def fetched_from_elsewhere(folder: Path) -> list[str]:
    """Every address of another machine that a page or a style sheet makes a browser ask."""
    found = []
    for page in folder.rglob("*.html"):
        parser = Fetched()
        parser.feed(page.read_text(encoding="utf-8"))
        found += [f"{page.name}: {place}" for place in parser.places if re.match(r"(https?:)?//", place)]
    for sheet in folder.rglob("*.css"):
        found += re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\"']+", sheet.read_text(encoding="utf-8"))
    return found


@pytest.mark.ci
def test_no_page_asks_the_network(site: Path) -> None:
    assert fetched_from_elsewhere(site) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://example.org/a.js"></script>'),
        ("a.html", '<link rel="stylesheet" href="//example.org/a.css">'),
        ("a.css", "@import url(https://example.org/font.css);"),
    ],
)
def test_a_page_that_asks_the_network_is_seen(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert fetched_from_elsewhere(tmp_path)


INDEX = "# Start\n\n"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("[x](nowhere.md)", "page does not exist"),
        ("[x](semantics.md#no-such-heading)", "anchor does not exist"),
        ("![x](pictures/none.svg)", "index.md: links to pictures/none.svg, which does not exist"),
        ("[x](none.json)", "index.md: links to none.json, which does not exist"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], fault: str, said: str
) -> None:
    source(tmp_path, f"{INDEX}{fault}\n", ["index.md", "semantics.md"])
    assert build_site.build(tmp_path, tmp_path / "made") == 1
    assert said in re.sub(r"\x1b\[[0-9;]*m", "", capfd.readouterr().err)
    assert not (tmp_path / "made").exists()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["index.md", "semantics.md", {"More": ["none.md"]}], "mkdocs.yml: none.md in the navigation does not exist"),
        (["index.md"], "semantics.md: the navigation does not name this page"),
    ],
)
def test_a_page_that_the_navigation_lacks_or_has_too_much_fails_the_build(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], names: list[object], said: str
) -> None:
    source(tmp_path, INDEX, names)
    assert build_site.build(tmp_path, tmp_path / "made") == 1
    assert said in capfd.readouterr().err


@pytest.mark.ci
def test_a_source_without_faults_is_built_and_code_is_no_link(tmp_path: Path) -> None:
    code = "`[x](none.json)`\n\n    [x](none.json)\n\n```text\n[x](none.json)\n```\n"
    source(tmp_path, f"{INDEX}{code}", ["index.md", "semantics.md"])
    assert build_site.build(tmp_path, tmp_path / "made") == 0
    assert (tmp_path / "made" / "index.html").exists()


def source(folder: Path, index: str, names: list[object]) -> None:
    """Write a small source of a site."""
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(index)
    (folder / "docs" / "semantics.md").write_text("# Semantics\n")
    configuration = {"site_name": "planted", "site_dir": site_source.BUILT, "plugins": [], "nav": names}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(configuration))


def test_the_readme_s_picture_is_what_is_drawn() -> None:
    """`python -m documentation.drawings`, in scripts/, writes it."""
    kept = ROOT / "docs" / "pictures" / f"{drawings.KEPT}.svg"
    assert kept.read_text(encoding="utf-8") == drawings.picture(drawings.KEPT)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("see GF101.", "see [GF101](../codes/GF101.md)."),
        ("by `equalize-ranks`", "by [`equalize-ranks`](../rewrites/equalize-ranks.md)"),
        ("`--target ranks`", "[`--target ranks`](ranks.md)"),
        ("[GF101](elsewhere.md)", "[GF101](elsewhere.md)"),
        ("`explain GF101`", "`explain GF101`"),
        ("```text\nGF101\n```", "```text\nGF101\n```"),
        ("# GF101", "# GF101"),
        ("`equalize-ranks-more`", "`equalize-ranks-more`"),
        ("`tosa` and explicit", "`tosa` and explicit"),
    ],
)
def test_names_lead_to_their_pages(text: str, linked: str) -> None:
    assert links.linked(text, "reference/targets/tosa.md") == linked


def test_a_page_has_no_link_to_itself() -> None:
    assert links.linked("GF101", "reference/codes/GF101.md") == "GF101"
