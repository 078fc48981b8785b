"""The pages of the finding codes: one Markdown file each, beside this module."""

from __future__ import annotations

from functools import cache
from importlib import resources

from graphfix.results import GraphfixError

SUFFIX = ".md"


@cache
def codes() -> tuple[str, ...]:
    """Every finding code that has a page, in order: `GF101`, `GF102` ..."""
    names = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


@cache
def page(code: str) -> str:
    """The page of a finding code, as Markdown; its first line is `# GF101 rank-mismatch`. Raises GraphfixError."""
    if code not in codes():
        raise GraphfixError(f"{code}: no such finding code; known: {', '.join(codes())}")
    return resources.files(__name__).joinpath(f"{code}{SUFFIX}").read_text(encoding="utf-8")


def code_named(name: str) -> str | None:
    """Return the finding code of this name in any case: `GF101` for `rank-mismatch`; None if no code has this name."""
    return next((code for code in codes() if title(code).partition(" ")[2] == name.lower()), None)


def title(code: str) -> str:
    """`GF101 rank-mismatch`, or the code alone where it has no page."""
    return page(code).partition("\n")[0].removeprefix("# ") if code in codes() else code
