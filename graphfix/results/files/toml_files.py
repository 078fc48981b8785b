"""Read TOML files that a user wrote; an unreadable file is an error of one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphfix.results import GraphfixError
from graphfix.results.files.regular_files import refuse_pipe

LARGEST = 1 << 20
"""The most bytes of such a file."""


def table(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises GraphfixError."""
    import tomllib  # imported here because few commands read such a file

    try:
        return tomllib.loads(_content(path).decode("utf-8-sig"))
    except OSError as error:
        raise GraphfixError(f"{path}: {error.strerror}; give the path of a TOML file") from None
    except RecursionError:
        raise GraphfixError(
            f"{path}: not a TOML file: it is nested too deeply; give a TOML file written by hand"
        ) from None
    except ValueError as error:  # also of a number that has too many digits for Python to read it
        raise GraphfixError(f"{path}: not a TOML file: {str(error).partition(';')[0]}") from None


def _content(path: Path) -> bytes:
    refuse_pipe(path, "a TOML file")
    if path.is_dir():
        raise GraphfixError(f"{path}: this is a folder; give the path of a TOML file")
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise GraphfixError(f"{path}: a TOML file takes at most {LARGEST} bytes; give another one")
    return content
