"""The parts of the page that need no script: each model's summary and verdict, and the pages of finding codes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain, groupby

from graphfix.report import pages
from graphfix.report.html import added_bytes, evidence
from graphfix.report.html.elements import escaped, facts, listed, option, section, words
from graphfix.report.html.models import BAD, COUNTED, GOOD, change
from graphfix.report.table import answer
from graphfix.report.text import Entry, Failure, counted, folds, printable, seconds_text
from graphfix.report.verdict import verdict_text
from graphfix.results import FileFacts, OpenSizes, Outcome

FENCE = "    "
HEADINGS, TITLE = re.compile(r"(#+) (.*)"), r"\2"


def model(number: int, entry: Entry) -> str:
    """Return the section of one model."""
    head = (
        f'<section class="model" id="m{number}" aria-labelledby="m{number}-name"><h2 id="m{number}-name" tabindex="-1">'
    )
    files = [entry.source] if isinstance(entry, Failure) or entry.output is None else [entry.source, entry.output]
    joint = " and " if entry.command == "verify" else " → "
    title = joint.join(f'<bdi class="file">{escaped(name)}</bdi>' for name in files)
    if isinstance(entry, Failure):
        return f'{head}{title}</h2><p class="verdict bad">{words(entry.error)}</p></section>'
    return f"{head}{title}</h2>{''.join(_outcome(number, entry))}</section>"


def _outcome(number: int, outcome: Outcome) -> Iterator[str]:
    yield from _summary(outcome)
    yield from _explorer(number, outcome)
    yield from added_bytes.chart(outcome)
    yield _open(outcome.open_sizes)
    yield section("Assumed", [listed(map(words, outcome.assumes), "assumptions")])
    yield from evidence.verdict(outcome.verdict)
    yield from evidence.conversion(outcome)


def _summary(outcome: Outcome) -> Iterator[str]:
    verdict = outcome.verdict
    if outcome.command != "verify":
        kind = "" if verdict is not None or not outcome.sites else " plain"
        yield f'<p class="answer{kind}">{words(answer(outcome))}</p>'
    if verdict is not None:
        kind = "good" if verdict.status in GOOD else "bad" if verdict.status in BAD else "open"
        said = printable(verdict_text(verdict))
        status = verdict.status if said.startswith(verdict.status) else ""
        rest = words(said.removeprefix(status))
        yield f'<p class="verdict {kind}"><strong>{status}</strong>{rest}</p>'
    yield facts(_facts(outcome))
    yield listed(map(words, outcome.notes), "notes")


def _facts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    if outcome.target is not None:
        yield "Target", f"{words(outcome.target)} ({escaped(outcome.format)})"
    if outcome.command in ("fix", "tosa") and outcome.output is None:
        yield "Written", "nothing"
    yield from _files(outcome)
    yield from _counts(outcome)
    rewrites = ", ".join(f"{escaped(name)} {count:,}" for name, count in outcome.rewrites.items() if count)
    if rewrites:
        yield "Rewrites", rewrites
    inexact = sum(site.inexact is not None for site in outcome.sites)
    if inexact:
        yield "Not bit-exact", counted(inexact, "site")
    if outcome.seconds:
        yield "Time", words(seconds_text(outcome.seconds))


def _files(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield the operator sets, the size and the number of nodes, each before and after the edits."""
    files = outcome.files
    for name, text in (
        ("Opset", change(files, "operator_sets")),
        ("Size", change(files, "size") + _growth(files)),
        ("Nodes", change(files, "nodes")),
    ):
        if text:
            yield name, escaped(text)


def _growth(files: Sequence[FileFacts]) -> str:
    """Return by how many bytes the result is larger: ` (+1,024 bytes)`; "" if the size is the same."""
    grown = files[-1].size - files[0].size if files else 0
    return f" ({grown:+,} bytes)" if grown else ""


def _counts(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield the number of sites of each status, with the numbers by finding code."""
    for status, name in COUNTED:
        codes = Counter(site.code for site in outcome.sites if site.status == status)
        if codes:
            name = "taken out" if status == "changed" and folds(outcome) else name  # noqa: PLW2901 -- the other way
            links = ", ".join(_link(code, count) for code, count in sorted(codes.items()))
            yield name.capitalize(), f"{codes.total():,} ({links})"
    if outcome.suppressed:
        yield "In the baseline", counted(outcome.suppressed, "finding")


def _link(code: str, count: int) -> str:
    """Return a code that links to its page, with its number of sites."""
    return f'<a href="#{escaped(code)}">{escaped(code)}</a> {count:,}'


def _explorer(number: int, outcome: Outcome) -> Iterator[str]:
    if outcome.sites:
        yield f'<section class="sites" data-model="{number}" aria-labelledby="s{number}"><h3 id="s{number}">Sites</h3>'
        yield f'<noscript><p class="muted">{counted(len(outcome.sites), "site")}: '
        yield "their table, drawings and graph need JavaScript; the rest of this page doesn't.</p></noscript></section>"


def _open(sizes: Sequence[OpenSizes]) -> str:
    items = [
        f'<p>{words(each.text)}</p><p class="option">{option(each.option)}<button type="button" class="copy" hidden '
        f'aria-label="Copy the option {escaped(each.option)}">Copy</button></p>'
        for each in sizes
    ]
    return section("What is not known of sizes", [listed(items, "questions")])


def code_pages(codes: Sequence[str], own: Mapping[str, str]) -> str:
    """Return a closed part for each code that has a page; `own` maps the codes of own rewrites to their titles."""
    page_codes = set(pages.codes())
    closed = (_closed(code, pages.page(code)) for code in codes if code in page_codes)
    owned = (_closed(code, f"{printable(code)}\n\n{printable(own[code])}") for code in codes if code in own)
    return section("What the codes mean", chain(closed, owned), level=2)


def _closed(code: str, page: str) -> str:
    title, _, text = page.partition("\n")
    summary = f"<summary>{escaped(title.lstrip('# '))}</summary>"
    return f'<details class="code-page" id="{escaped(code)}">{summary}{markup(text)}</details>'


def markup(text: str) -> str:
    """Convert the Markdown of a page to HTML: paragraphs, headings, lists and indented code."""
    blocks = (block for block in re.split(r"\n(?:[ ]*\n)+", text.strip("\n")))
    return "".join(_code_blocks(kind, [*members]) for kind, members in groupby(blocks, key=_kind))


def _kind(block: str) -> str:
    if block.startswith(FENCE):
        return "pre"
    if block.startswith("- "):
        return "ul"
    return "h4" if HEADINGS.fullmatch(block) else "p"


def _code_blocks(kind: str, blocks: Sequence[str]) -> str:
    if kind == "pre":
        code = "\n\n".join("\n".join(line.removeprefix(FENCE) for line in block.splitlines()) for block in blocks)
        return f'<pre tabindex="0">{escape(code)}</pre>'
    if kind == "ul":
        return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for block in blocks for item in _items(block))}</ul>"
    return "".join(f"<{kind}>{_inline(HEADINGS.sub(TITLE, block))}</{kind}>" for block in blocks)


def _items(block: str) -> Iterator[str]:
    for item in re.split(r"\n(?=- )", block):
        yield item.removeprefix("- ")


def _inline(text: str) -> str:
    """Return the text with <code> in place of backticks."""
    parts = escape(" ".join(text.split()), quote=False).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
