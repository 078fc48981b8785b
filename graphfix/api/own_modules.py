"""Run a user's Python file as a module. Every exception of it becomes one line that names the file and the line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from graphfix.results import GraphfixError, RewriteError
from graphfix.results.files.regular_files import refuse_pipe

PREFIX = "graphfix_own_rewrites."
"""The prefix of a file's name in `sys.modules`, so that it hides no other module."""
LONGEST = 300
"""The greatest number of characters of an exception's text that an error shows."""


def load_file(path: Path) -> ModuleType:
    """Run a Python file as a module and return it. No file is written beside it. Raises GraphfixError."""
    if path.exists():
        refuse_pipe(path, "a Python file that is a rewrite")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise GraphfixError(f"{path}: {what}; give a Python file that is a rewrite, or the name of an installed one")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise GraphfixError(f"{path}: {error.strerror}; give a Python file that can be read") from None
    name = PREFIX + path.stem
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # # dataclasses look up their module in sys.modules
    with unusable(str(path)):
        exec(compile(content, str(path), "exec"), module.__dict__)  # noqa: S102 -- the user asks for it by name
    return module


@contextmanager
def unusable(source: str) -> Iterator[None]:
    """Convert every exception of a module into a RewriteError."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise reasons(error, source) from error


def reasons(error: BaseException, source: str, where: str = "") -> RewriteError:
    """Return an error of one line: the file, the line in it, and the exception. `where` names the node."""
    line = error.lineno if isinstance(error, SyntaxError) else _line(error, source)
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())[:LONGEST]
    at = f" line {line}:" if line is not None else ""
    return RewriteError(f"{source}:{at} {where}{type(error).__name__}{': ' if text else ''}{text}")


def _line(error: BaseException, source: str) -> int | None:
    """Return the last line of the file in the traceback, or None if the traceback does not contain the file."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == source:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
