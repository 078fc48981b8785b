"""The constants of a subgraph by what they hold: one with the same bytes is found without a search."""

from __future__ import annotations

from collections.abc import Callable

from graphfix.formats.tflite.file.records import Quantization
from graphfix.formats.tflite.view import SubgraphView
from graphfix.graph.view import Value
from graphfix.results.records import dataclass, field
from graphfix.shapes.shape import Shape

Key = tuple[str, tuple[int, ...], Quantization | None]
"""The element type, the dims and the quantization."""


@dataclass(slots=True, eq=False, repr=False)
class HeldConstants:
    """The constants of static shape that a subgraph has when this is made; each is read at most once."""

    subgraph: SubgraphView
    data: Callable[[int], bytes]
    """Reads a buffer."""
    _unread: dict[Key, list[Value]] = field(default_factory=dict)
    _read: dict[Key, dict[bytes, Value]] = field(default_factory=dict)
    """The first by the digest of its bytes."""

    def __post_init__(self) -> None:
        for value in self.subgraph.values:
            if value.kind == "constant" and value.shape.static:
                tensor = self.subgraph.tensor(value)
                if not (tensor.sparse or tensor.external or tensor.variable):
                    key = value.dtype, value.shape.numbers, tensor.quantization
                    self._unread.setdefault(key, []).append(value)

    def first(self, like: Value, shape: Shape, data: bytes) -> Value | None:
        """Return the first with these bytes in this shape, of the type and quantization of `like`."""
        key = like.dtype, shape.numbers, self.subgraph.tensor(like).quantization
        read = self._read.setdefault(key, {})
        for value in self._unread.pop(key, ()):
            read.setdefault(_digest(self.data(self.subgraph.tensor(value).buffer)), value)
        return read.get(_digest(data)) if read else None


def _digest(data: bytes) -> bytes:
    from hashlib import sha256  # few models have such constants

    return sha256(data).digest()
