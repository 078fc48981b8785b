"""Names that a model may bring along, in every form of a report: each form stays what it is, and nothing runs or links.

A form joins with a line in `READ`: what reads it, and returns the texts that its viewer shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from sarif_pydantic import Sarif

from graphfix.report.forms import registry
from graphfix.report.table import table
from graphfix.report.text import Failure
from graphfix.results import Conversion, Gap, OpenSizes, Outcome, Run, Site, Verdict
from graphfix.results.claims import Contradiction, Facts
from graphfix.results.excerpt import Excerpt, NodeExcerpt
from tests.support.page_reader import Reader, data_of

NAMES = {
    "a script": "<script>alert(1)</script>",
    "an image": "<img src=x onerror=alert(1)>",
    "quotes": "\"'`''\"\"```",
    "an end of details": "</details></summary></td></tr></table>",
    "lines": "a\n\n| GF999 | b |\n# title\r\n::error::x",
    "a tag behind a line": "\n<script>alert(1)</script>",
    "NUL": "a\0b",
    "a terminal": "\x1b[2J\x1b]8;;http://x\x07a\x9b1m\x7f",
    "right to left": "\u202ea\u2066b\u200f\u061c",
    "invisible": "a\u200b\ufeff\u00ad\u2028\u2029b",
    "surrogates": "\ud800\udcff\udfff",
    "no characters": "\ufffe\uffff\U0010ffff",
    "an end of code": "` @someone <b> [a](http://x.y) `` <i> @x ``` #1 `",
    "bars": "a|b\\|c\\\\|`|`|",
    "a backslash": "a\\",
    "a mention": "@someone #1 GH-2 a/b#3 a@b.c",
    "addresses": "http://x.y https://x.y/z www.x.y [a](http://x.y) <http://x.y> ![i](//x.y)",
    "a definition": "[a]: http://x.y",
    "markup": "*a* _b_ ~~c~~ $d$ [^1] - [ ] # e 1. f",
    "a comment": "<!-- a --> ]]> <![CDATA[ --> &amp; &#60;",
    "a command": "%0A::error file=a,title=b::c",
    "a placeholder": "{0} {{1}} ${b} %s",
    "huge": "x" * 100_000,
    "nothing": "",
    "a prototype": "__proto__",
}
MARKS = re.compile(
    "[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|[\ud800-\udfff]"
)
"""What moves a terminal's cursor or turns the direction of text, and what XML or UTF-8 can't hold."""


def outcome(name: str, command: str = "check") -> Outcome:
    """A name wherever a model may bring one, also in a sentence."""
    text = f"{name} is of '{name}'"
    site = Site("GF101", name, name, name, 0, (name, None), None, "found", "equalize-ranks", text)
    proof = {
        "status": "not proved",
        "reason": text,
        "first": {
            "before": name,
            "after": name,
            "nodes": {
                "before": {
                    "graph": name,
                    "node": name,
                    "notation": text,
                    "maps": [{"operand": 0, "value": name, "map": name, "of": name, "through": name}],
                }
            },
        },
        "notes": [text],
        "seconds": 0.1,
    }
    verdict = Verdict(
        "different",
        runs=(Run({name: 1}, "off", "different", 1, 0.5, text, signature=name),),
        exceptions=({"class": name, "output": name, "site": name, "count": 1},),
        first_difference={"tensor": name, "producer": name, "index": [name], "before": 1, "after": 2},
        reason=text,
        proof=proof,
        assumes=(text,),
        facts=Facts(1, 1, 1, Contradiction(name, name, (3,), text)),
        versions={name: name},
        newer=(text,),
    )
    statuses: tuple[Any, ...] = ("left", "exempt", "changed")
    more = [replace(site, status=status) for status in statuses]
    short = replace(site, graph="main", reason=None, after=(name,))
    node = NodeExcerpt("k", name, name, name, 1, text, text, space=(name,), site=True)
    return Outcome(
        command,
        name,
        "onnx",
        target=name,
        output=None if command == "check" else name,
        sites=(site, *more, short),
        verdict=None if command == "check" else verdict,
        assumes=(text,),
        conversion=Conversion("differs", "torch-mlir", text, {name: 1}, name, (Gap(name, 1.0, None, within=False),), 1)
        if command == "tosa"
        else None,
        open_sizes=(OpenSizes(1, (name,), text, text),),
        notes=(text,),
        excerpt=Excerpt([node], 1, names={name: name}),
    )


# --- the readers ------------------------------------------------------------------------------------------------------

Texts: TypeAlias = Iterator[str]


def strings(part: object) -> Texts:
    """Every text in a document, keys too."""
    if isinstance(part, str):
        yield part
    for each in [*part, *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from strings(each)


def read_json(text: str) -> Texts:
    """Programs get names as they are: only what is on the screen, the file itself, must be harmless."""
    assert text.isascii()
    json.loads(text)
    yield text


def read_sarif(text: str) -> Texts:
    Sarif.model_validate_json(text)
    (run,) = json.loads(text)["runs"]
    for message in [*run["results"], *run["invocations"][0]["toolExecutionNotifications"]]:
        assert not re.search(r"\[[^\]]*\]\(", message["message"]["text"])
    yield from strings([run["results"], run["invocations"]])


def read_junit(text: str) -> Texts:
    JUnitXml.fromstring(text.encode("utf-8"))
    for element in ET.fromstring(text.encode("utf-8")).iter():  # noqa: S314 -- our own text
        assert element.tag in {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"}
        yield from [*element.attrib.values(), element.text or ""]


def read_github(text: str) -> Texts:
    for line in text.splitlines():
        assert re.fullmatch(r"::(error|warning|notice) [^:]*::.*", line)
        assert not re.search(r"%(?!25|3A|2C)", line)
    yield text


class Rendered(HTMLParser):
    """The tags of a page and its text outside of code, where GitHub looks for mentions and addresses."""

    ALLOWED = frozenset("h1 h2 h3 p table thead tbody tr th td code ul li details summary".split())

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.plain: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.ALLOWED, tag
        assert not attrs
        assert tag != "details" or "details" not in self.open
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "code" not in self.open:
            self.plain.append(data)

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data}")


LINKS = re.compile(r"(?<!\w)@\w|(?<!\w)#\d|\w#\d|GH-\d|://|www\.|\$\w")


BARS = (re.compile(r"(?<!\\)\|"), re.compile(r"(?<!\\)(?:\\\\)*\|"))
"""What ends a cell: readers differ where a backslash stands before the one before a bar."""


def read_markdown(text: str) -> Texts:
    assert len(text) < 65_536
    page = Rendered(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text))
    for lines in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):  # what is too much in a row no reader shows
        assert len({len(bars.findall(line)) for line in lines.splitlines() for bars in BARS}) == 1, lines
    assert "GF999" not in [each.strip() for each in page.texts]
    assert not [each for each in page.plain if LINKS.search(each)]
    yield from page.texts


def read_node_data(text: str) -> Texts:
    document = json.loads(text)
    for graph in [document] if isinstance(document.get("name"), str) else document.values():
        for node in graph["results"].values():
            assert set(node) == {"value", "bgColor", "textColor"}
            assert not re.search(r"[<>\"']", node["bgColor"] + node["textColor"])
    yield text


def read_html(text: str) -> Texts:
    """What stands in it as text, and what its scripts put there; drawings are read as what they are."""
    page = Reader(text)
    assert page.tags.count("script") == 2
    yield from page.said
    for model in filter(None, data_of(text)):
        yield from model["texts"]
        for drawing in model["drawings"]:
            yield from ET.fromstring(drawing).itertext()  # noqa: S314 -- our own text


READ: Mapping[str, Callable[[str], Texts]] = {
    ".json": read_json,
    ".md": read_markdown,
    ".html": read_html,
    ".sarif": read_sarif,
    ".xml": read_junit,
    ".node_data.json": read_node_data,
}
"""By suffix. The text that is printed and has no suffix is `github`."""


def test_every_form_is_read() -> None:
    assert READ.keys() == registry.FORMS.keys()
    assert {*registry.TEXTS.values()} - {*registry.FORMS.values()} == {registry.TEXTS["github"]}


def harmless(texts: Texts) -> None:
    for text in texts:
        assert not (found := MARKS.search(text)), (found, text[:200])


@pytest.mark.alike(14)
@pytest.mark.parametrize("command", ["check", "fix", "verify", "tosa"])
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("suffix", READ)
def test_a_name_is_harmless_in_a_report(suffix: str, kind: str, command: str, tmp_path: Path) -> None:
    path = tmp_path / f"r{suffix}"
    registry.write(path, [outcome(NAMES[kind], command)])
    harmless(READ[suffix](path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("command", ["check", "fix", "verify", "tosa"])
@pytest.mark.parametrize("kind", NAMES)
def test_a_name_is_harmless_in_an_annotation_and_in_the_table(kind: str, command: str) -> None:
    harmless(read_github(registry.TEXTS["github"]([outcome(NAMES[kind], command)])))
    harmless(iter([table(outcome(NAMES[kind], command))]))


@pytest.mark.alike(4)
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("suffix", READ)
def test_so_is_the_name_of_a_model_that_failed(suffix: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"r{suffix}"
    registry.write(path, [Failure("check", NAMES[kind], f"{NAMES[kind]}: empty")])
    harmless(READ[suffix](path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("suffix", READ)
def test_a_planted_mark_is_seen(suffix: str) -> None:
    with pytest.raises(AssertionError):
        harmless(iter([f"a{NAMES['right to left']}b"]))
    text = registry.FORMS[suffix]([outcome("@plain", "fix")])
    with pytest.raises((AssertionError, ValueError, ET.ParseError)):
        harmless(READ[suffix](text.replace("@plain", "\u202e</details><script>\0")))
