"""List the report formats by suffix and by name, and write reports."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from graphfix.report.forms.github import github_text
from graphfix.report.forms.json import json_text
from graphfix.report.forms.junit import junit_text
from graphfix.report.forms.markdown import markdown
from graphfix.report.forms.node_data import node_data_text
from graphfix.report.forms.sarif import sarif_text
from graphfix.report.text import Entry
from graphfix.results import GraphfixError
from graphfix.results.files.regular_files import refuse_pipe, refuse_stream
from graphfix.results.run_facts import RunFacts

HTML = ".html"


def _page(entries: Sequence[Entry], run: RunFacts | None = None) -> str:
    from graphfix.report import html  # its assets are read where a page is asked for

    return html.page(entries, run)


Form: TypeAlias = Callable[[Sequence[Entry]], str]
TEXTS: Mapping[str, Form] = MappingProxyType(
    {"json": json_text, "markdown": markdown, "sarif": sarif_text, "junit": junit_text, "github": github_text}
)
"""By name of a format that can be printed: the function that returns its text."""
ROOM = 1 << 16
"""The bytes of the trial file that is written into a report's folder before any model is read."""
NODE_DATA = ".node_data.json"
FORMS: Mapping[str, Form] = MappingProxyType(
    {
        ".json": TEXTS["json"],
        ".md": TEXTS["markdown"],
        HTML: _page,
        ".sarif": TEXTS["sarif"],
        ".xml": TEXTS["junit"],
        NODE_DATA: node_data_text,
    }
)
"""By suffix of a report file: the function that returns its text. The longest matching suffix counts."""
DRAWN = frozenset({HTML, NODE_DATA})
"""The formats that need the nodes around sites, so the request must ask for an excerpt."""


def schema_text() -> str:
    """Return the published JSON Schema (draft 2020-12) of the documents that `json_text` writes."""
    return resources.files("graphfix.report").joinpath("schema/graphfix-1.json").read_text(encoding="utf-8")


def needs_excerpt(path: Path) -> bool:
    """Return whether the format of this report draws the nodes around sites."""
    return _suffix(path) in DRAWN


def _suffix(path: Path) -> str | None:
    """Return the longest suffix of a format with which the file's name ends; None if there is none."""
    name = path.name.lower()
    return max((suffix for suffix in FORMS if name.endswith(suffix)), key=len, default=None)


def refuse(path: Path, models: int = 1, *, folder_is_made: bool = False) -> None:
    """Raise GraphfixError if `write` could not succeed for this number of models; called before a model is read.

    A trial file is written into the report's folder and removed. If `folder_is_made`, the folder need not exist yet.
    """
    _refuse_name(path, models, folder_is_made=folder_is_made)
    if path.parent.is_dir():
        with _scratch(path, "report") as scratch:
            scratch.write_bytes(bytes(ROOM))


def _refuse_name(path: Path, models: int, *, folder_is_made: bool = False) -> None:
    """Raise GraphfixError for a name that `write` can't write for this number of models."""
    if _suffix(path) is None:
        raise GraphfixError(f"{path}: the form of a report is chosen by its suffix; known: {', '.join(FORMS)}")
    if models > 1 and _suffix(path) == NODE_DATA:
        raise GraphfixError(f"{path}: node data is of one model, these are {models}; name one, or another form")
    if path.is_dir():
        raise GraphfixError(f"{path}: a folder; name the report's file")
    _refuse_stream(path, "the report")
    if not (folder_is_made or path.parent.is_dir()):
        raise GraphfixError(f"{path}: the folder of the report does not exist; create it first")


def _refuse_stream(path: Path, wanted: str) -> None:
    """Raise GraphfixError for a pipe, a device or an open file of the process; links are followed."""
    refuse_stream(path)
    if path.exists():
        refuse_pipe(path, f"a file for {wanted}")


def write(path: Path, entries: Sequence[Entry], run: RunFacts | None = None) -> None:
    """Write a report in the format of its suffix; the file appears complete or not at all. Raises GraphfixError.

    `run` is printed at the head of an HTML page; other formats omit it.
    """
    _refuse_name(path, len(entries))
    suffix = _suffix(path) or ""
    text = _page(entries, run) if suffix == HTML else FORMS[suffix](entries)
    publish(path, text, "report")


@contextmanager
def _scratch(path: Path, what: str) -> Iterator[Path]:
    """Yield the path of a temporary file beside `path`, which is `what`; the file is removed at the end.

    Raises GraphfixError if it can't be written.
    """
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        yield scratch
    except OSError as error:
        why = f"can't be written: {error.strerror}; make room or choose another place"
        raise GraphfixError(f"{path}: the {what} {why}") from None
    finally:
        with suppress(OSError):  # if the folder can't be written, the file does not exist
            scratch.unlink(missing_ok=True)


def publish(path: Path, text: str, what: str) -> None:
    """Write a file; it appears complete or not at all. `what` names it in an error. Raises GraphfixError."""
    _refuse_stream(path, f"the {what}")
    with _scratch(path, what) as scratch:
        with scratch.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        scratch.replace(path)
