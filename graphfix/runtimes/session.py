"""What every runtime offers: a loaded model that maps inputs to outputs, what it reports of them, one way to refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphfix.results import GraphfixError
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 300


class RefusedError(GraphfixError):
    """A runtime would not load a model or run it: one line, in the runtime's own words.

    `missing_kernel`: the runtime lacks something (an operator for a type, an operator set newer than it is),
    the model need not be wrong; `custom` names the custom operator that it lacks. `aborted`:
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
        """The names of what `run` returns, in that order."""
        ...

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once. Raises RefusedError."""
        ...


@dataclass(frozen=True, slots=True)
class TensorDetails:
    """An input or an output, as LiteRT reports it.

    A tensor whose name is empty or belongs to another one of its subgraph too is called `t<index>`.
    """

    name: str
    index: int
    dtype: str
    """numpy's name; `bytes` for strings, `object` for what has no values (a resource)."""
    shape: tuple[int, ...]
    shape_signature: tuple[int, ...]
    """As `shape`, with -1 for the sizes that are free."""
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    quantized_axis: int = 0
    alias: str = ""
    """What a SignatureDef of the same subgraph calls it."""


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """What can be fed and read, and the SignatureDefs of the model: (key, subgraph)."""

    inputs: tuple[TensorDetails, ...]
    outputs: tuple[TensorDetails, ...]
    signatures: tuple[tuple[str, int], ...] = ()


def one_line(text: str) -> str:
    """Return a runtime's message as a single line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
