"""Draw docstrings, comments and messages for the reading test, or count what the language of the code must not have.

    python scripts/reading_test.py --seed 38 --output sheet.md          300 texts, numbered, each with its context
    python scripts/reading_test.py --seed 38 --key --output key.md      the same texts with the places of their code
    python scripts/reading_test.py --counts                             docstrings, their length, and avoided phrases

The test: one reader who has not seen the project restates each text of the sheet in own words. A second one opens the
code by the key and judges each restatement: right or wrong, understood at once or not. docs/glossary.md is the only
other text that the reader gets. The sheet shows a text as an editor does: with its signature, or with its line of code.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

from list_errors import messages

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("graphfix", "rewrites", "scripts")
DRAWN = 300
"""How many texts are drawn if --number is absent."""
FIRST_WORDS = ("What", "Who", "Whose", "That")
"""A docstring must not begin with one of these words: it would not name its subject."""
PHRASES = ("of its own", "none of")
"""Phrases that stand for a noun which the reader has to find."""
LEAST_WORDS = 4
"""A comment of fewer words is a label, and is not drawn."""
DIRECTIVES = re.compile(r"#\s*(noqa|type:|pragma|mypy|fmt|ruff)\b")
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Text:
    """A docstring, a comment or a message, with the code that a reader sees beside it."""

    kind: str
    """`docstring`, `comment` or `message`."""
    path: str
    """Relative to the root of the checkout."""
    line: int
    context: str
    """The signature of a docstring's function, the code line of a comment, or the exception of a message."""
    text: str


def main(argv: Sequence[str] | None = None) -> int:
    """Print the sheet, the key or the counts; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--seed", metavar="N", type=int, help="draw the texts by this seed")
    either.add_argument("--counts", action="store_true", help="count docstrings, words and avoided phrases")
    parser.add_argument("--number", metavar="N", type=int, default=DRAWN, help=f"texts to draw (default {DRAWN})")
    parser.add_argument("--key", action="store_true", help="add the path and line of each text")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write to FILE instead of stdout")
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=ROOT, help="the checkout to read (default: this one)"
    )
    options = parser.parse_args(argv)
    texts = list(all_texts(options.root))
    lines = (
        list(counts(texts)) if options.counts else list(sheet(drawn(texts, options.seed, options.number), options.key))
    )
    page = "\n".join(lines) + "\n"
    if options.output is None:
        sys.stdout.write(page)
    else:
        options.output.write_text(page, encoding="utf-8")
    return 0


def drawn(texts: Sequence[Text], seed: int, number: int) -> list[Text]:
    """Return `number` different texts that `seed` selects; the same checkout and seed give the same texts."""
    return random.Random(seed).sample(texts, min(number, len(texts)))  # noqa: S311  # not for cryptography


def sheet(texts: Sequence[Text], key: bool) -> Iterator[str]:
    """Yield the Markdown lines of the sheet; with `key`, also the path and line of each text."""
    for number, each in enumerate(texts, 1):
        yield f"## {number} ({each.kind})" + (f" {each.path}:{each.line}" if key else "")
        yield f"\n```python\n{each.context}\n```\n" if each.context else ""
        yield each.text + "\n"


def counts(texts: Sequence[Text]) -> Iterator[str]:
    """Yield a line for each count: texts by kind, words of docstrings, first words and phrases that are avoided."""
    kinds = Counter(each.kind for each in texts)
    yield from (f"{number:6} {kind}s" for kind, number in sorted(kinds.items()))
    docstrings = [each.text for each in texts if each.kind == "docstring"]
    yield f"{sum(len(text.split()) for text in docstrings) / len(docstrings):6.1f} words in a docstring, on average"
    first = Counter(text.split(maxsplit=1)[0].rstrip(",.:;") for text in docstrings)
    yield from (f"{first[word]:6} docstrings begin with {word}" for word in FIRST_WORDS)
    for phrase in PHRASES:
        number = sum(len(re.findall(rf"\b{phrase}\b", " ".join(each.text.split()).lower())) for each in texts)
        yield f"{number:6} times `{phrase}`"


def all_texts(root: Path) -> Iterator[Text]:
    """Yield every docstring, every comment of four words or more, and every message below `root`."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            source, name = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
            yield from _docstrings(name, source)
            yield from _comments(name, source)
    yield from (Text("message", each.path, each.line, each.kind, each.text) for each in messages(root))


def _docstrings(path: str, source: str) -> Iterator[Text]:
    """Yield the docstrings of the module, and of its classes, functions and documented attributes."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DEFINITIONS) and (text := ast.get_docstring(node)):
            yield Text("docstring", path, _line(node), _signature(node, lines, path), text)
        body = getattr(node, "body", None)
        for before, after in pairwise(body if isinstance(body, list) else []):
            if isinstance(before, ast.Assign | ast.AnnAssign) and (text := _string(after)):
                yield Text("docstring", path, before.lineno, _code(lines, before.lineno, before.end_lineno), text)


def _string(statement: ast.stmt) -> str:
    """Return the text of a statement that is a string, without indentation; "" for any other statement."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return cleandoc(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 1)


def _signature(node: ast.AST, lines: Sequence[str], path: str) -> str:
    """Return the lines of a definition up to its body, or the path of a module."""
    if isinstance(node, ast.Module):
        return f"# module {path}"
    first = node.body[0].lineno  # type: ignore[attr-defined]  # a definition with a docstring has a body
    return _code(lines, _line(node), first - 1)


def _code(lines: Sequence[str], first: int, last: int | None) -> str:
    """Return the lines `first` to `last`, counted from 1, without common indentation."""
    return dedent("\n".join(lines[first - 1 : last]))


def _comments(path: str, source: str) -> Iterator[Text]:
    """Yield the comments; lines of comment that follow one another are one text."""
    lines = source.splitlines()
    block: list[str] = []
    start = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or DIRECTIVES.match(token.string):
            continue
        row = token.start[0]
        alone = lines[row - 1].lstrip().startswith("#")
        if block and alone and row == start + len(block):
            block.append(token.string)
            continue
        yield from _block(path, lines, start, block)
        block, start = [token.string], row
        if not alone:
            yield from _block(path, lines, start, block)
            block = []
    yield from _block(path, lines, start, block)


def _block(path: str, lines: Sequence[str], start: int, block: Sequence[str]) -> Iterator[Text]:
    """Yield the comment that begins at line `start`, with the code beside or below it, if it has enough words."""
    text = " ".join(line.lstrip("#! ").strip() for line in block)
    if len(text.split()) < LEAST_WORDS or text.startswith("---"):  # a heading
        return
    alone = lines[start - 1].lstrip().startswith("#")
    below = start + len(block)
    code = lines[below - 1] if alone and below <= len(lines) else lines[start - 1]
    yield Text("comment", path, start, code.split("  #")[0].strip(), text)


if __name__ == "__main__":
    sys.exit(main())
