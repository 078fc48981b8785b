"""Every example of the documentation does what the page says: commands, Python, and files that a reader is to write."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from documentation import pages

from graphfix.cli.parser import parser
from tests.support import page_files
from tests.support.asking import ask
from tests.support.places import ROOT

BLOCK = re.compile(
    r'^(?:<!-- (?P<note>[^>]*) -->\n)?^(?P<indent> *)```(?P<language>[\w-]+)(?: title="(?P<title>[^"]*)")?\n'
    r"(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = "not run: "
NEEDS_ZOO = "needs models/zoo"
RUN = ("console", "pycon", "python")
ONLY_READ = ("bash", "ini", "json", "mermaid", "python-signature", "sh", "text", "toml", "yaml")
"""Of these commands are parsed and files with a title are written; nothing is run."""
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str
    note: str
    body: str


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page."""
    return [
        Block(found["language"], found["title"] or "", found["note"] or "", found["body"])
        for found in BLOCK.finditer(text)
    ]


def texts() -> dict[str, str]:
    """The pages that are written and those that are made, and the README."""
    written = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in written_pages()}
    made = {path: text for path, text in pages.made().items() if path.endswith(".md") and path != "changes.md"}
    return written | made


def written_pages() -> list[Path]:
    """The Markdown that a reader may open in the repository."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


PAGES = texts()


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_block_is_of_a_kind_that_is_known(page: str) -> None:
    """A fence without a language, or of another one, would be run by nobody."""
    text = PAGES[page]
    assert {block.language for block in blocks(text)} <= {*RUN, *ONLY_READ}
    assert len(blocks(text)) * 2 == len(re.findall(r"^ *```", text, re.MULTILINE))


def test_a_file_that_is_kept_as_an_example_is_what_the_page_shows() -> None:
    kept = {
        path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "examples").iterdir() if path.is_file()
    }
    shown = [block for text in PAGES.values() for block in blocks(text) if block.title in kept]
    assert shown
    assert [block.title for block in shown if block.body != kept[block.title]] == []


def examples(zoo: bool) -> Iterator[Any]:
    """The pages that have something to run, with the real models or without."""
    for page, text in sorted(PAGES.items()):
        found = blocks(text)
        needy = any(block.note == NEEDS_ZOO for block in found)
        if needy == zoo and any(block.language in RUN for block in found):
            yield pytest.param(page, id=page, marks=[pytest.mark.zoo] if zoo else [])


@pytest.mark.ci
@pytest.mark.parametrize("page", [*examples(zoo=False), *examples(zoo=True)])
def test_the_examples_of_a_page_do_what_it_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    if page in page_files.FILES:
        page_files.FILES[page](tmp_path)
    reader = Reader(capsys)
    for block in blocks(PAGES[page]):
        reader.follow(block)


class Reader:
    """Someone who does what a page says, from its first block to its last."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.names: dict[str, Any] = {}
        self.status = 0

    def follow(self, block: Block) -> None:
        """Write the file, run the Python, or ask the commands and compare what they print."""
        if block.note.startswith(NOT_RUN):
            assert len(block.note) > len(NOT_RUN) + 10, "say why it is not run"
        elif block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.body, "a page", "exec"), self.names)  # noqa: S102 - the project's own page
        elif block.language == "pycon":
            self._interpret(block.body)
        elif block.language == "console":
            self._ask(block.body)

    def _interpret(self, body: str) -> None:
        exec("import graphfix", self.names)  # noqa: S102
        test = doctest.DocTestParser().get_doctest(body, self.names, "a page", None, 0)
        said: list[str] = []
        failed = doctest.DocTestRunner(optionflags=SAME).run(test, out=said.append, clear_globs=False).failed
        self.names.update(test.globs)
        assert not failed, "".join(said)

    def _ask(self, body: str) -> None:
        for entry in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, expected = entry.partition("\n")
            if command == "echo $?":
                assert expected.strip() == str(self.status), f"the status is {self.status}"
                self.status = 0
                continue
            assert self.status == 0, f"before `{command}` the page must show the status {self.status}: $ echo $?"
            program, *arguments = shlex.split(command, comments=True)
            assert program == "graphfix", f"only graphfix can be run here: {command}"
            answer = ask(self.capsys, *arguments)
            self.status = answer.status
            self._compare(command, expected, answer.out + answer.err)
        assert self.status == 0, f"after its last command the page must show the status {self.status}: $ echo $?"

    def _compare(self, command: str, expected: str, printed: str) -> None:
        if expected.strip():
            same = doctest.OutputChecker().check_output(expected.rstrip() + "\n", printed, SAME)
            assert same, f"$ graphfix {command}\nthe page says:\n{expected}\nprinted:\n{printed}"


def commands_of(text: str) -> list[str]:
    """The `graphfix ...` lines of blocks that a shell or a CI service reads."""
    found: list[str] = []
    for block in blocks(text):
        if block.language in ("bash", "console", "sh", "yaml"):
            lines = block.body.replace("\\\n", " ").splitlines()
            typed = [line for line in lines if block.language != "console" or line.startswith("$ ")]
            found += [line for line in typed if re.search(r"(^|[ $&|])graphfix [a-z]+ ", line)]
    return found


@pytest.mark.parametrize("page", sorted(page for page, text in PAGES.items() if commands_of(text)))
def test_the_options_that_a_page_names_exist(page: str) -> None:
    for line in commands_of(PAGES[page]):
        command = re.split(r" (?:&&|\|\||\||>) ", line[re.search(r"(?:^|[ $&|])graphfix ", line).end() :])[0]  # type: ignore[union-attr]
        parser().parse_args(shlex.split(command, comments=True))


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("```console\n$ graphfix explain GF999\n```\n", "an unknown code ends with 2, and the page does not show it"),
        ("```console\n$ graphfix explain GF101\n# GF102\n...\n```\n", "something else is printed"),
        ("```console\n$ graphfix check models/prelu.tflite -q\n$ echo $?\n1\n```\n", "it is clean"),
        ("```console\n$ ls\n```\n", "no command of graphfix"),
        ("```pycon\n>>> graphfix.explain('GF101').splitlines()[0]\n'GF102'\n```\n", "another answer"),
        ("```python\nassert False\n```\n", "it raises"),
    ],
)
def test_a_page_that_is_wrong_is_seen(
    block: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    (planted,) = blocks(block)
    with pytest.raises(AssertionError):
        Reader(capsys).follow(planted)
    assert why
