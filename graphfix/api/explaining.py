"""The pages of `explain`: the docstring of a rewrite, the file of a finding code, or the file and row of a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path

from graphfix.api import own_rewrites
from graphfix.graph.protocols import ModelRewrite, Rewrite, flat
from graphfix.report import pages
from graphfix.results import GraphfixError
from graphfix.results.error_texts import hint
from graphfix.targets import files as target_files
from graphfix.targets.registry import REWRITES, TARGETS
from graphfix.targets.target import MOVEMENT, Target, page, target_of

GLOSSARY = "Words of this project, such as site, lift, stretch and exempt, are explained in docs/glossary.md."
"""The last line of the contents."""


def explain(topic: str, rewrites: Sequence[object] = ()) -> str:
    """Return the page of a topic as Markdown; `rewrites` are the user's own.

    Raises GraphfixError for an unknown topic.
    """
    owns = own_rewrites.load(rewrites)
    own = own_rewrites.find(owns, topic)
    if own is not None:
        return _page(own)
    if topic in REWRITES:
        import rewrites as of_graphfix

        return _page(next(flat(of_graphfix.steps({topic}))))
    if topic.lower() in TARGETS:
        target = target_of(topic.lower())
        return f"{page(target.name)}\n{_tables(target)}"
    code = pages.code_named(topic) or topic.upper()
    if code in pages.codes():
        return pages.page(code)
    installed = own_rewrites.installed(topic)
    if installed is not None:
        return _page(next(flat((installed.step,))))
    file = "; a target file is shown by --target-file" if topic.endswith(".toml") else ""
    titles = (word for code in pages.codes() for word in pages.title(code).split())
    topics = (*REWRITES, *titles, *TARGETS, *own_rewrites.names(owns))
    how = file or hint(topic, topics, "; `graphfix explain` lists them")
    raise GraphfixError(f"explain {topic}: no such rewrite, finding code or target{how}")


def contents(rewrites: Sequence[object] = ()) -> str:
    """Return the list of all topics of `explain`, one line each; `rewrites` are the user's own.

    Raises GraphfixError.
    """
    import rewrites as of_graphfix

    steps = [*of_graphfix.steps(set(REWRITES)), *(own.step for own in own_rewrites.load(rewrites))]
    tables: dict[str, dict[str, str]] = {
        "codes": {code: pages.title(code).removeprefix(f"{code} ") for code in pages.codes()},
        "rewrites": {each.name: _summary(cleandoc(each.page)) for each in flat(steps)},
        "targets": {name: _summary(page(name).partition("\n")[2].strip()) for name in TARGETS},
    }
    width = max(len(name) for table in tables.values() for name in table)
    parts = (
        "".join((f"{what}\n", *(f"  {name:{width}}  {line}\n" for name, line in table.items())))
        for what, table in tables.items()
    )
    return "\n".join((*parts, f"{GLOSSARY}\n"))


def _summary(text: str) -> str:
    """Return the first paragraph as one line."""
    return " ".join(text.partition("\n\n")[0].split())


def explain_file(path: Path) -> str:
    """Return the row of a target that the user wrote, as Markdown. Raises GraphfixError."""
    target = target_files.read(path)
    return f"# target {target.name}\n\n{_tables(target)}"


def _page(rewrite: Rewrite | ModelRewrite) -> str:
    """Return the page of a rewrite, of graphfix or of the user."""
    return f"# {rewrite.name}\n\n{cleandoc(rewrite.page)}\n"


def _tables(target: Target) -> str:
    lines = "\n".join(f"- {line}" for line in _row(target))
    evidence = "\n".join(f"- {line}" for line in target.evidence)
    return f"## The row\n\n{lines}\n" + (f"\n## Evidence\n\n{evidence}\n" if evidence else "")


def _row(target: Target) -> Iterator[str]:
    """Yield one line for each property that `--target NAME` sets."""
    yield f"broadcasts: {target.broadcasts}"
    yield f"rewrites: {', '.join(target.rewrites)}"
    said = {
        "keep-fusions: what onnxruntime's fusions match stays": target.keep_fusions,
        "static: the sizes of all inputs are bound": target.static,
        "elements: no value may have a size 0": target.elements,
        f"reads: {target.reads}": target.reads is not None,
        f"max-rank: {target.max_rank}": target.max_rank is not None,
    }
    yield from (line for line, holds in said.items() if holds)
    # # without the operators that a target file can't list
    movement = target.movement & MOVEMENT if target.movement is not None else None
    for what, names in (("movement", movement), ("operators", target.operators), ("types", target.types)):
        if names is not None:
            yield f"{what}: {', '.join(sorted(names))}"
    for operator, why in target.not_supported.items():
        yield f"not-supported: {operator}: {why}"
    if target.outside:
        yield f"outside: {target.outside}"
