"""Python files of the user's are run as modules, and whatever they raise becomes one line that names the place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from graphfix.results import GraphfixError, RewriteError
from graphfix.results.files.regular_files import refuse_pipe

PREFIX = "graphfix_own_rewrites."
"""In front of a file's name in `sys.modules`: it hides no module of the same name."""
LONGEST = 300
"""How many letters of an exception's text an error shows."""


def load_file(path: Path) -> ModuleType:
    """Run a Python file as a module; nothing is written beside it. Raises GraphfixError."""
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
    sys.modules[name] = module  # dataclasses look their module up
    with unusable(str(path)):
        exec(compile(content, str(path), "exec"), module.__dict__)  # noqa: S102 -- the user asks for it by name
    return module


@contextmanager
def unusable(source: str) -> Iterator[None]:
    """Whatever Python raises of a module becomes a RewriteError."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise reasons(error, source) from error


def reasons(error: BaseException, source: str, where: str = "") -> RewriteError:
    """One line on what a module raised: the file, the line in it, and the exception; `where` it was asked."""
    line = error.lineno if isinstance(error, SyntaxError) else _line(error, source)
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())[:LONGEST]
    at = f" line {line}:" if line is not None else ""
    return RewriteError(f"{source}:{at} {where}{type(error).__name__}{': ' if text else ''}{text}")


def _line(error: BaseException, source: str) -> int | None:
    """The line of the file that was reached last."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == source:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
