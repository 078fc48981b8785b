"""Names of a model's file in SARIF, JUnit and GitHub reports, whose readers match them with files of a repository."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

SAFE = "/-_.~"


def relative_path(model: str) -> str | None:
    """Return the path relative to the working folder, with `/` between its parts; None for a file outside of it."""
    here = Path(os.path.abspath(model))  # noqa: PTH100  (a link is no other name: it is what the user wrote)
    return here.relative_to(Path.cwd()).as_posix() if here.is_relative_to(Path.cwd()) else None


def uri(model: str) -> str:
    """Return a URI reference (RFC 3986): relative to the working folder, or `file://` for a file outside of it."""
    from urllib.parse import quote

    inside = relative_path(model)
    if inside is not None:
        return quote(inside, safe=SAFE, errors="surrogatepass")
    path_text = PurePath(os.path.abspath(model)).as_posix()  # noqa: PTH100
    return f"file://{'' if path_text.startswith('/') else '/'}{quote(path_text, safe=SAFE, errors='surrogatepass')}"
