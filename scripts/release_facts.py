"""Compare, or change, the two facts of a release that several files contain: the version and the account on GitHub.

    python scripts/release_facts.py                      compare all places
    python scripts/release_facts.py --version 0.2.0      write a version into all places, then compare
    python scripts/release_facts.py --owner NAME         write an account into all places, then compare
    python scripts/release_facts.py --tag v0.2.0         compare, and check that this tag may be released

Each fact has one source. The version is that of graphfix/version.py. The account is that of `Repository` in
the table `[project.urls]` of pyproject.toml; it is the placeholder OWNER until an account is chosen. `PLACES` and
`ACCOUNTS` list the other places. Status 0: all places agree. 1: a line is
printed for each place that does not. 2: an argument is wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACEHOLDER = "OWNER"
"""The account as long as none is chosen."""
VERSION_SOURCE = ("graphfix/version.py", r'^VERSION = "([^"]+)"$')
PLACES = (
    ("CHANGELOG.md", r"\A# Changelog\n\n## (\S+) \("),
    ("CITATION.cff", r"^version: (\S+)$"),
    ("recipe/recipe.yaml", r'^  version: "([^"]+)"$'),
    ("docs/batch.md", r"/graphfix:(\d[\w.]*)\""),
    ("docs/ci.md", r"(?:graphfix@|rev: )v(\d[\w.]*)"),
    ("docs/install.md", r"graphfix(?:\[batch\])?==(\d[\w.]*)"),
    ("docs/stability.md", r"graphfix is at version (\d[\w.]*\w)"),
)
"""The other places of the version: a file, and a pattern whose group is the version; it matches at least once."""
ACCOUNTS = (
    r"(?:github\.com/|githubusercontent\.com/|ghcr\.io/|uses: )([\w-]+)/graphfix\b",
    r"https://([\w-]+)\.github\.io/graphfix\b",
    r"(?<=recipe-maintainers:\n    - )([\w-]+)$",
)
"""Patterns whose group is the account."""
TEXTS = ("*.md", "*.toml", "*.cff", "*.yml", "Dockerfile", "docs/**/*.md", "recipe/*.yaml", ".github/**/*.yml")
"""The files in which the account may stand."""


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Do what the command line asks for, print a line for each place that differs, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", type=_matching(r"\d+(\.\d+)*((a|b|rc)\d+)?", "a version such as 0.2.0"))
    parser.add_argument("--owner", type=_matching(r"[A-Za-z\d]+(-[A-Za-z\d]+)*", "the name of an account"))
    parser.add_argument("--tag")
    asked = parser.parse_args(arguments)
    if asked.version:
        write_version(root, asked.version)
    if asked.owner:
        write_owner(root, asked.owner)
    faults = [*differences(root), *(unreleasable(root, asked.tag) if asked.tag else ())]
    print(*(faults or [f"version {version(root)}, account {owner(root)}: all places agree"]), sep="\n")
    return int(bool(faults))


def _matching(pattern: str, wanted: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 -- a converter of argparse
    def convert(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"{text!r}; give {wanted}")
        return text

    return convert


def version(root: Path = ROOT) -> str:
    """Return the version."""
    name, pattern = VERSION_SOURCE
    return re.findall(pattern, _read(root / name), re.MULTILINE)[0]


def owner(root: Path = ROOT) -> str:
    """Return the account on GitHub."""
    address: str = tomllib.loads(_read(root / "pyproject.toml"))["project"]["urls"]["Repository"]
    return address.split("/")[3]


def texts(root: Path) -> Iterator[Path]:
    """Yield the files in which the account may stand."""
    for pattern in TEXTS:
        yield from sorted(root.glob(pattern))


def differences(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each place that contains another version or account than the source does."""
    for name, pattern in PLACES:
        found = re.findall(pattern, _read(root / name), re.MULTILINE)
        if not found:
            yield f"{name}: no version; it should contain {version(root)}"
        for each in sorted(set(found) - {version(root)}):
            yield f"{name}: version {each}; graphfix/version.py has {version(root)}"
    for path in texts(root):
        text, name = _read(path), path.relative_to(root).as_posix()
        found = [each for pattern in ACCOUNTS for each in re.findall(pattern, text, re.MULTILINE)]
        for each in sorted(set(found) - {owner(root)}):
            yield f"{name}: account {each}; pyproject.toml has {owner(root)}"


def unreleasable(root: Path, tag: str) -> Iterator[str]:
    """Yield a line for each reason why a tag may not be released."""
    if tag != f"v{version(root)}":
        yield f"{tag}: graphfix/version.py has version {version(root)}: the tag must be v{version(root)}"
    if owner(root) == PLACEHOLDER:
        yield "pyproject.toml: the account is a placeholder: run scripts/release_facts.py --owner NAME"
    if re.search(r"\A# Changelog\n\n## \S+ \((?!\d{4}-\d\d-\d\d\))", _read(root / "CHANGELOG.md")):
        yield "CHANGELOG.md: the first heading has no date: write it as (2026-12-31)"


def write_version(root: Path, new: str) -> None:
    """Write a version into the source and into all other places; the first heading of the changelog is not changed."""
    for name, pattern in (VERSION_SOURCE, *PLACES):
        if name != "CHANGELOG.md":
            _replace(root / name, (pattern,), new)


def write_owner(root: Path, new: str) -> None:
    """Write an account into all places."""
    for path in texts(root):
        _replace(path, ACCOUNTS, new)


def _replace(path: Path, patterns: Sequence[str], new: str) -> None:
    """Replace the group of each match of these patterns in a file."""
    text = _read(path)
    for pattern in patterns:
        for match in reversed(list(re.finditer(pattern, text, re.MULTILINE))):
            text = text[: match.start(1)] + new + text[match.end(1) :]
    path.write_text(text, encoding="utf-8")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
