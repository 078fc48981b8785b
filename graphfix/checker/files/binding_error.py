"""The error for a request that does not fit the model: a name, a size or a value."""

from __future__ import annotations

from graphfix.results import GraphfixError


class BindingError(GraphfixError):
    """No input has this name, or the size or value does not fit the input. The verdict adds the first file's name."""
