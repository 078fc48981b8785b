"""What an error says that is about what was asked, and does not know of which file."""

from __future__ import annotations

from graphfix.results import GraphfixError


class AskedError(GraphfixError):
    """A name that no input has, or a size or value that does not fit one: the verdict adds the first file's name."""
