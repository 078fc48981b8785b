"""All generated pages by their path in the site, and the part of the navigation that lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from documentation import command_line, drawings, python_names
from documentation.links import CODES, REWRITES_FOLDER, TARGETS_FOLDER
from graphfix import explain
from graphfix.report.forms.registry import schema_text
from graphfix.report.pages import codes
from graphfix.targets.registry import REWRITES, TARGETS
from graphfix.targets.target import target_of

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "reference/"
MOST_OF_AN_EXAMPLE = 2
"""The largest number of lines of an example that a table shows."""
COMMAND_LINE, PYTHON = "reference/command-line.md", "reference/python.md"


def made() -> dict[str, str]:
    """Return the text of each generated page by its path."""
    pages = {f"{folder}/{name}.md": explain(name) for folder, names in _folders().items() for name in names}
    return {
        **pages,
        f"{REWRITES_FOLDER}/index.md": _rewrites(),
        f"{CODES}/index.md": _codes(),
        f"{TARGETS_FOLDER}/index.md": _targets(),
        COMMAND_LINE: command_line.page(),
        PYTHON: python_names.page(),
        "reference/graphfix-1.json": schema_text(),
        "contributing.md": _from_the_root("CONTRIBUTING.md"),
        "changes.md": _from_the_root("CHANGELOG.md"),
        **drawings.made(),
    }


def navigation() -> list[object]:
    """Return the entries of the navigation below `Reference`."""
    titles = {REWRITES_FOLDER: "Rewrites", CODES: "Finding codes", TARGETS_FOLDER: "Targets"}
    listed = [
        {titles[folder]: [f"{folder}/index.md", *({name: f"{folder}/{name}.md"} for name in names)]}
        for folder, names in _folders().items()
    ]
    return [{"Command line": COMMAND_LINE}, "configuration.md", {"Python": PYTHON}, *listed]


def _folders() -> dict[str, tuple[str, ...]]:
    """Return the names of the pages in each folder."""
    return {REWRITES_FOLDER: REWRITES, CODES: codes(), TARGETS_FOLDER: TARGETS}


def _from_the_root(name: str) -> str:
    """Return the text of a page that is beside docs/ in the repository, with its links relative to docs/."""
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")


def _rewrites() -> str:
    """Return the page that lists all rewrites, each with its targets and an example."""
    rows = "\n".join(f"| `{name}` | {_targets_of(name)} | {before} | {after} |" for name, before, after in _examples())
    return f"""# Rewrites

In the order in which they run. `graphfix explain NAME` prints a page; `--only NAME` and `--skip NAME` choose.

| rewrite | targets | before | after |
| --- | --- | --- | --- |
{rows}
"""


def _targets_of(rewrite: str) -> str:
    """Return links to the targets that run a rewrite, or "all"."""
    running = [name for name in TARGETS if rewrite in target_of(name).rewrites]
    return "all" if len(running) == len(TARGETS) else ", ".join(f"[{name}](../targets/{name}.md)" for name in running)


def _examples() -> Iterator[tuple[str, str, str]]:
    """Yield each rewrite's name, and the first example of its page before and after the rewrite, as code."""
    for name in REWRITES:
        block = re.search(r"(?:^    .*\n)+", explain(name), re.MULTILINE)
        before, after = _example([line.strip() for line in (block[0] if block else "").splitlines()])
        yield name, _code(before), _code(after)


def _example(lines: list[str]) -> tuple[str, str]:
    """Return the example before and after the rewrite, without remarks.

    The two texts are the parts on both sides of the first arrow `->`. Without an arrow, they are the first line and the
    second line.
    """
    for at, line in enumerate(lines):
        left, arrow, right = line.partition("-> ")
        if arrow:
            return "; ".join(filter(None, (*map(_bare, lines[:at]), _bare(left)))), _bare(right)
    more = " .." if len(lines) > MOST_OF_AN_EXAMPLE else ""
    return _bare(lines[0]), _bare(lines[1]) + more


def _bare(line: str) -> str:
    """Return a line without its remark, which follows after three or more spaces."""
    return re.split(r" {3,}", line.strip())[0].strip()


def _code(text: str) -> str:
    """Return the text as code for a cell of a Markdown table."""
    return f"`{text}`".replace("|", r"\|")


def _codes() -> str:
    """Return the page that lists all finding codes."""
    rows = []
    for code in codes():
        title, _, rest = explain(code).partition("\n")
        sentence = rest.strip().split("\n\n")[0].replace("\n", " ")
        rows.append(f"| {code} | {title.removeprefix(f'# {code}').strip()} | {sentence} |")
    return """# Finding codes

What `graphfix check` lists, and what `fix` changes, leaves or exempts. `graphfix explain GF101` prints a page. A code
never changes its meaning and is never used again for another one ([what is stable](../../stability.md)).

| code | name | what it says |
| --- | --- | --- |
{rows}
""".format(rows="\n".join(rows))


def _targets() -> str:
    """Return the page that lists all targets."""
    rows = []
    for name in TARGETS:
        sentence = explain(name).split("\n\n")[1].replace("\n", " ")
        rows.append(f"| [{name}]({name}.md) | {sentence} |")
    return """# Targets

`--target NAME` of `fix` and `check`. What each form costs where it runs, and how to write a row of your own, is in
[targets](../../targets.md).

| target | what it is |
| --- | --- |
{rows}
""".format(rows="\n".join(rows))
