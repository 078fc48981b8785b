"""What every runtime offers: a loaded model that maps inputs to outputs, what it reports of them, one way to refuse."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from graphfix.results import GraphfixError
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_LONGEST = 300


class RefusedError(GraphfixError):
    """A runtime would not load a model or run it: one line, in the runtime's own words.

    `missing_kernel`: the runtime lacks something (an operator for a type, an operator set newer than it is),
    the model need not be wrong; `custom` names the custom operator that it lacks. `aborted`:
    the process died, or was stopped, so the next request takes a new one; `stopped`: a limit of time or memory ended
    the request.
    """

    def __init__(
        self,
        message: str,
        *,
        missing_kernel: bool = False,
        custom: str = "",
        aborted: bool = False,
        stopped: bool = False,
    ) -> None:
        super().__init__(message)
        self.missing_kernel = missing_kernel
        self.custom = custom
        self.aborted = aborted
        self.stopped = stopped


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
class SessionBy:
    """A session whose runs are made by a function, such as one that runs another session on changed inputs."""

    outputs: tuple[str, ...]
    run: Callable[[Mapping[str, object]], list[object]]


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


@contextmanager
def utf8_name(path: Path) -> Iterator[str]:
    """Yield a name of a file or folder that is UTF-8, because runtimes take no other names.

    It is the path, or a temporary link to it. A runtime needs the name while it loads the model, and not later.
    """
    if _is_utf8(str(path)):
        yield str(path)
        return
    from tempfile import TemporaryDirectory  # imported here because the import takes time, and such names are rare

    with TemporaryDirectory(prefix="graphfix-") as folder:
        link = Path(folder, "model")
        link.symlink_to(path.absolute())
        yield str(link)


def _is_utf8(name: str) -> bool:
    """Return whether a name has no bytes beyond UTF-8, which Python shows as surrogates."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def one_line(text: str) -> str:
    """Return a runtime's message as a single line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
