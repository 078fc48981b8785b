"""Sizes that the first file stores and the proof trusts.

They are trusted for operators without a rule, or on request for all operators.
"""

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
    from graphfix.checker.proof.core.terms import ProofValue


@dataclass(slots=True)
class StoredSizes:
    """The shapes that the first file stores for values of its main graph (`value_info` and outputs).

    `symbols` contains the size of an input for each symbol in these shapes. `trusted` collects the stored sizes that
    the proof trusted, for the report.
    """

    graph: GraphProto
    arithmetic: Arithmetic
    symbols: Mapping[str, Size]
    all_sizes: bool
    """Whether stored sizes also replace sizes that an operator's rule does not derive."""
    trusted: dict[StoredSize | StoredShape, None] = field(default_factory=dict)
    _infos: dict[str, ValueInfoProto] | None = None

    @classmethod
    def of(
        cls, graph: GraphProto, arithmetic: Arithmetic, inputs: Mapping[str, ProofValue], *, all_sizes: bool
    ) -> StoredSizes:
        """Return the stored sizes of a graph.

        A symbol in them represents the size of the input that declares the symbol.

        `inputs` are the values of the inputs by name.
        """
        known_sizes: dict[str, Size] = {}
        for text, name, axis in symbols(graph):
            sizes = inputs[name].sizes if name in inputs else None
            if sizes is not None:
                known_sizes[text] = sizes[axis]
        return cls(graph, arithmetic, known_sizes, all_sizes)

    def _stored(self, name: str) -> tuple[int | str | None, ...] | None:
        """Return the stored shape of a value: numbers, symbols or formulas as text, None for a size without value.

        Return None if no shape is stored. The shapes are indexed at the first call, because few proofs need them.
        """
        if self._infos is None:
            infos = (*self.graph.value_info, *self.graph.output)
            self._infos = {info.name: info for info in infos if info.type.tensor_type.HasField("shape")}
        return stored_dims(self._infos[name]) if name in self._infos else None

    def complete(self, name: str, dims: Dims) -> Dims:
        """Return `dims` of the value `name`, with each unknown size replaced by its stored size, if there is one.

        If `all_sizes` is False or the stored rank is different, `dims` is returned unchanged. Each stored size that is
        used is recorded in `trusted`.
        """
        if not self.all_sizes or dims is None or None not in dims:
            return dims
        stored = self._stored(name)
        if stored is None or len(dims) != len(stored):
            return dims
        sizes = list(dims)
        for axis, (size, text) in enumerate(zip(dims, stored, strict=True)):
            if size is None and (found := self._size(text)) is not None:
                sizes[axis] = found
                self.trusted[StoredSize(name, axis, str(text))] = None
        return tuple(sizes)

    def shape(self, name: str, operator: str) -> Dims:
        """Return the stored shape of the result `name` of `operator`, which has no rule; None if no shape is stored.

        The shape is recorded in `trusted`.
        """
        stored = self._stored(name)
        if stored is None:
            return None
        sizes = tuple(map(self._size, stored))
        texts = [None if size is None else str(text) for text, size in zip(stored, sizes, strict=True)]
        self.trusted[StoredShape(name, operator, tuple(texts))] = None
        return sizes

    def _size(self, text: int | str | None) -> Size | None:
        """Return a stored size as a size of the proof; None if it is absent or a formula that can't be computed."""
        size = computed(text, self.symbols, self.arithmetic) if isinstance(text, str) else text
        # A value's size is never below 0, but a stored formula may be.
        return None if size is None else self.arithmetic.greater(size, 0)
