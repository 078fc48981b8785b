"""The interface of every runtime: a loaded model that can be run, the details of its tensors, and RefusedError."""

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
    """Raised if a runtime refuses to load or run a model. The message is one line, in the runtime's own words.

    - `missing_kernel`: the runtime lacks a feature (an operator for some type, or a newer operator set). The model may
      be correct.
    - `custom`: the name of the custom operator that the runtime lacks.
    - `aborted`: the process ended or was stopped, so the next request starts a new process.
    - `stopped`: a limit of time or memory ended the request.
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
    """The interface of a loaded model.

    A tensor is a numpy array, a sequence a list, a map a dict, and an absent optional is None.
    """

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the values that `run` returns, in the same order."""
        ...

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once on `feeds` (by input name), and return the outputs. Raises RefusedError."""
        ...


@dataclass(frozen=True, slots=True)
class SessionBy:
    """A session whose `run` is any function, for example a function that runs another session on changed inputs."""

    outputs: tuple[str, ...]
    run: Callable[[Mapping[str, object]], list[object]]


@dataclass(frozen=True, slots=True)
class TensorDetails:
    """Name, type, shape and quantization of an input or output, as LiteRT reports them.

    If a tensor's name is empty or not unique in its subgraph, the name here is `t<index>`.
    """

    name: str
    index: int
    dtype: str
    """numpy's name of the type; `bytes` for strings, `object` for a tensor without values (a resource)."""
    shape: tuple[int, ...]
    shape_signature: tuple[int, ...]
    """The same sizes as `shape`, but -1 for free sizes."""
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    quantized_axis: int = 0
    alias: str = ""
    """The name of this tensor in a SignatureDef of the same subgraph; empty if there is none."""


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """The inputs and outputs of a model, and its SignatureDefs as (key, index of the subgraph)."""

    inputs: tuple[TensorDetails, ...]
    outputs: tuple[TensorDetails, ...]
    signatures: tuple[tuple[str, int], ...] = ()


@contextmanager
def utf8_name(path: Path) -> Iterator[str]:
    """Yield a name of the file or folder that is valid UTF-8, because runtimes accept no other names.

    The name is the path itself or a temporary link to it. A runtime needs the name only while it loads the model.
    """
    if _is_utf8(str(path)):
        yield str(path)
        return
    # The import is here because it takes time, and names that are not UTF-8 are rare.
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="graphfix-") as folder:
        link = Path(folder, "model")
        link.symlink_to(path.absolute())
        yield str(link)


def _is_utf8(name: str) -> bool:
    """Return whether a name contains only valid UTF-8. Python represents other bytes as surrogates."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def one_line(text: str) -> str:
    """Return a runtime's message as a single line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
