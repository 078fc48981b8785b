"""The records that the parts of the attack share: an input to be fed, a pair of files, and what became of the pair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Dim = int | str
Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Feed:
    """An input of the first file: numpy's name of its type, its shape, and the bounds of its values if it has any."""

    name: str
    kind: str
    shape: Shape
    low: int | None = None
    high: int | None = None
    value: Any = None
    """The value that `--set` states, instead of random values."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two files, the options under which they are compared, and whether they are equal by construction."""

    seed: int
    family: str
    before: bytes
    after: bytes
    equal: bool
    changes: tuple[str, ...]
    feeds: tuple[Feed, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The sizes that a symbol may have because an option states them."""
    data: dict[str, bytes] = field(default_factory=dict)
    """External data by file name."""
    signature: str | None = None

    @property
    def suffix(self) -> str:
        """Return the extension of both files."""
        return ".tflite" if self.family.startswith("tflite") else ".onnx"


@dataclass(slots=True)
class Tally:
    """Counts of one family."""

    pairs: int = 0
    proved: int = 0
    run: int = 0
    wrong: int = 0
    equal: int = 0
    equal_proved: int = 0
