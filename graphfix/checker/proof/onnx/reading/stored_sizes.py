"""Sizes that the first file stores and the proof believes: of operators without a rule; on request, of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.stored_sizes import computed, stored_dims, symbols
from graphfix.results.claims import StoredShape, StoredSize
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import GraphProto, ValueInfoProto

    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.core.terms import View


@dataclass(slots=True)
class StoredSizes:
    """The sizes that the first file stores of the values of its main graph."""

    graph: GraphProto
    arithmetic: Arithmetic
    symbols: Mapping[str, Size]
    all_sizes: bool
    """Whether stored sizes are believed too if an operator with a rule leaves a size unknown."""
    believed: dict[StoredSize | StoredShape, None] = field(default_factory=dict)
    _infos: dict[str, ValueInfoProto] | None = None

    @classmethod
    def of(
        cls, graph: GraphProto, arithmetic: Arithmetic, inputs: Mapping[str, View], *, all_sizes: bool
    ) -> StoredSizes:
        """Return the stored sizes of a graph; its symbols stand for the sizes of the inputs that declare them."""
        known: dict[str, Size] = {}
        for text, name, axis in symbols(graph):
            sizes = inputs[name].sizes if name in inputs else None
            if sizes is not None:
                known[text] = sizes[axis]
        return cls(graph, arithmetic, known, all_sizes)

    def _stored(self, name: str) -> tuple[int | str | None, ...] | None:
        """Return the stored shape of a value, or None. The shapes are indexed at the first call: few proofs need it."""
        if self._infos is None:
            infos = (*self.graph.value_info, *self.graph.output)
            self._infos = {info.name: info for info in infos if info.type.tensor_type.HasField("shape")}
        return stored_dims(self._infos[name]) if name in self._infos else None

    def complete(self, name: str, dims: Dims) -> Dims:
        """Return the dims of a value, with stored sizes for those that are unknown."""
        if not self.all_sizes or dims is None or None not in dims:
            return dims
        stored = self._stored(name)
        if stored is None or len(dims) != len(stored):
            return dims
        sizes = list(dims)
        for axis, (size, text) in enumerate(zip(dims, stored, strict=True)):
            if size is None and (found := self._size(text)) is not None:
                sizes[axis] = found
                self.believed[StoredSize(name, axis, str(text))] = None
        return tuple(sizes)

    def shape(self, name: str, operator: str) -> Dims:
        """Return the stored shape of a result of `operator`, which has no rule; None if there is none."""
        stored = self._stored(name)
        if stored is None:
            return None
        sizes = tuple(map(self._size, stored))
        texts = [None if size is None else str(text) for text, size in zip(stored, sizes, strict=True)]
        self.believed[StoredShape(name, operator, tuple(texts))] = None
        return sizes

    def _size(self, text: int | str | None) -> Size | None:
        size = computed(text, self.symbols, self.arithmetic) if isinstance(text, str) else text
        # the size of a value is never below 0; a stored formula may be
        return None if size is None else self.arithmetic.greater(size, 0)
