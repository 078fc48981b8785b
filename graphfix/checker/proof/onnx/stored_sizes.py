"""Stored sizes that are believed where no rule knows the size: those that the first file stores, and on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.stored_sizes import computed, stored_dims, symbols
from graphfix.results import StoredSize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import GraphProto

    from graphfix.checker.proof.arithmetic import Arithmetic
    from graphfix.checker.proof.sizes import Dims, Size
    from graphfix.checker.proof.terms import View


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """The sizes that the first file stores of the values of its main graph."""

    arithmetic: Arithmetic
    symbols: Mapping[str, Size]
    dims: Mapping[str, tuple[int | str | None, ...]]
    believed: dict[StoredSize, None] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: GraphProto, arithmetic: Arithmetic, inputs: Mapping[str, View]) -> StoredSizes:
        """Read them; the symbols are what the inputs say."""
        known: dict[str, Size] = {}
        for text, name, axis in symbols(graph):
            sizes = inputs[name].sizes if name in inputs else None
            if sizes is not None:
                known[text] = sizes[axis]
        dims = {info.name: dims for info in (*graph.value_info, *graph.output) if (dims := stored_dims(info))}
        return cls(arithmetic, known, dims)

    def complete(self, name: str, dims: Dims) -> Dims:
        """Return the dims of a value with stored sizes in the place of those that no rule knows."""
        stored = self.dims.get(name, ())
        known = (None,) * len(stored) if dims is None else dims
        if not stored or len(known) != len(stored):
            return dims
        sizes = [self._size(name, axis) if size is None else size for axis, size in enumerate(known)]
        return dims if all(size is None for size in sizes) else tuple(sizes)

    def _size(self, name: str, axis: int) -> Size | None:
        text = self.dims[name][axis]
        size = computed(text, self.symbols, self.arithmetic) if isinstance(text, str) else text
        size = (
            None if size is None else self.arithmetic.greater(size, 0)
        )  # no size is below it, as rules know of theirs
        if size is not None:
            self.believed[StoredSize(name, axis, str(text))] = None
        return size
