"""Two files of one format, and the statements about their inputs under which they are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.results import InputValue


@dataclass(frozen=True, slots=True)
class Pair:
    """The first file, the second file, which should compute the same, and what is stated about their inputs.

    An axis is named by its symbol, or by `name[axis]` where it has none, as in TFLite.
    """

    before: Path
    after: Path
    tflite: bool = False
    """Whether both are TFLite files; else both are ONNX files."""
    bindings: Mapping[str, int] = field(default_factory=dict)
    """By axis: its size."""
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By input: its whole shape. Axes that stay free have any size."""
    same: Sequence[Sequence[str]] = ()
    """Groups of two or more axes of equal size."""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By axis that stays free: its least and its greatest size."""
    values: Mapping[str, InputValue] = field(default_factory=dict)
    """By input: the constant that it always is. The second file may lack such an input."""
    signature: str | None = None
    """The SignatureDef that is compared, alone (TFLite); None: the main subgraph, and every other one."""
    trust_stored: bool | None = None
    """Which sizes that the first file stores are believed, where they follow from nothing else (ONNX).

    None: the shapes of results of operators without a rule. True: all sizes. False: nothing.
    """
    narrow_inputs: bool = False
    """Whether an input of int64 may be int32 in the second file; it then holds numbers that both types hold (ONNX)."""
    data_root: Sequence[Path] = ()
    """Folders besides each model's own in which its external data may lie (ONNX)."""

    @property
    def is_bare(self) -> bool:
        """Whether nothing is stated about the inputs."""
        return not (self.bindings or self.shapes or self.same or self.ranges or self.values or self.signature)
