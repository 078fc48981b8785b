"""Records that the modules of the attack share: an input of a model, a pair of files, and the counts of a family."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Dim = int | str
Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Feed:
    """An input of the first file, for which runs make values.

    `kind` is numpy's name of the type. The values are integers from `low` to `high` if these are not None.
    """

    name: str
    kind: str
    shape: Shape
    low: int | None = None
    high: int | None = None
    value: Any = None
    """The value that the option `--set` states; if it is not None, it is used instead of random values."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two files, the options with which they are compared, and whether they are equal by construction.

    `before` and `after` are the contents of the files, `changes` the names of the mutations, `feeds` the inputs of the
    first file, and `options` keywords of `graphfix.verify`.
    """

    seed: int
    family: str
    before: bytes
    after: bytes
    equal: bool
    changes: tuple[str, ...]
    feeds: tuple[Feed, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """For a symbol that an option restricts, the sizes that runs may use."""
    data: dict[str, bytes] = field(default_factory=dict)
    """The contents of external data files, by file name."""
    signature: str | None = None

    @property
    def suffix(self) -> str:
        """Return the file name extension of both files."""
        return ".tflite" if self.family.startswith("tflite") else ".onnx"


@dataclass(slots=True)
class Tally:
    """Counts of pairs of one family.

    `run` counts proved pairs that ran, `wrong` pairs with an error, `equal` pairs that are equal by construction, and
    `equal_proved` pairs that are equal by construction and proved.
    """

    pairs: int = 0
    proved: int = 0
    run: int = 0
    wrong: int = 0
    equal: int = 0
    equal_proved: int = 0
