"""Two files of one format, and the statements about their inputs under which the proof compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.results import InputValue


@dataclass(frozen=True, slots=True)
class Pair:
    """The first file, the second file, which should compute the same, and the user's statements about their inputs.

    An axis is identified by its symbol. An axis without a symbol, as in TFLite, is identified by `name[axis]`.
    """

    before: Path
    after: Path
    tflite: bool = False
    """Whether both files are TFLite files; if False, both are ONNX files."""
    bindings: Mapping[str, int] = field(default_factory=dict)
    """For each bound axis, its size."""
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """For each input with a stated shape, the sizes of all its axes. Axes that nothing binds may have any size."""
    same: Sequence[Sequence[str]] = ()
    """Groups of two or more axes that are stated to have equal sizes."""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each axis with a stated range, its least and its greatest size, both included. The axis stays free."""
    values: Mapping[str, InputValue] = field(default_factory=dict)
    """For each input that is set to a constant, its elements. The second file may lack this input."""
    signature: str | None = None
    """The only SignatureDef that is compared (TFLite). None compares the main subgraph and all SignatureDefs."""
    trust_stored: bool | None = None
    """Which sizes stored in the first file are trusted if they can't be derived otherwise (ONNX).

    None trusts the shapes of results of operators that have no rule. True trusts all sizes. False trusts no size.
    """
    narrow_inputs: bool = False
    """Whether an int64 input may be int32 in the second file (ONNX). Its numbers are then assumed to fit both types."""
    data_root: Sequence[Path] = ()
    """More folders in which external data may lie, besides the folder of each model (ONNX)."""

    @property
    def is_bare(self) -> bool:
        """Return whether the user states nothing about the inputs.

        The result is False if there are bindings, shapes, equal sizes, ranges, values or a signature.
        """
        return not (self.bindings or self.shapes or self.same or self.ranges or self.values or self.signature)
