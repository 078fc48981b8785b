"""What every runtime offers: a loaded model that maps inputs to outputs, and one way to refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 300


class RefusedError(GraphfixError):
    """A runtime would not load a model or run it: one line, in the runtime's own words.

    `missing_kernel` tells a runtime that lacks something (an operator for a type, an operator set newer
    than it is) from a model that is wrong; `custom` names the custom operator that it lacks. `aborted`:
    the process died, or was stopped, so the next request takes a new one.
    """

    def __init__(self, message: str, *, missing_kernel: bool = False, custom: str = "", aborted: bool = False) -> None:
        super().__init__(message)
        self.missing_kernel = missing_kernel
        self.custom = custom
        self.aborted = aborted


class Session(Protocol):
    """One loaded model.

    A tensor is a numpy array, a sequence a list, a map a dict, an absent optional None.
    """

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what `run` answers, in that order."""
        ...

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once. Raises RefusedError."""
        ...


def one_line(text: str) -> str:
    """Give a foreign message as a single line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
