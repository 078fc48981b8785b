"""The parts of a TFLite file that edits may name: what was read of each, and where its table stands in the file."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.results.records import dataclass, field

NEW = -1
"""The place of a part that the file does not have."""
ABSENT = -1
"""The index of an optional operand that is absent."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """Of a tensor: where the table stands, and which axis of the tensor its scales follow."""

    place: int
    scales: int
    """How many there are; more than one is one for each index of the axis `dimension`."""
    dimension: int
    """Of the tensor that has it: a lift moves it, and the table is then written anew with this number."""


@dataclass(slots=True, eq=False)
class Tensor:
    """One tensor of a subgraph."""

    name: str
    shape: tuple[int, ...]
    """The stored dims; () where there are none."""
    signature: tuple[int, ...] | None
    """`shape_signature`: -1 is a size that is free; None where the file has none."""
    has_rank: bool
    """Tells a scalar from a tensor of unknown rank, where there are no stored dims."""
    type: int
    buffer: int
    variable: bool = False
    sparse: bool = False
    external: int = 0
    """`external_buffer`: the payload is in another file; 0 for none."""
    quantization: Quantization | None = None
    place: int = NEW
    changed: bool = False
    """Whether its table must be written anew (always, for a new one)."""

    @property
    def states_rank(self) -> bool:
        """Return whether the file states the tensor's rank: by sizes, or by `has_rank` for a scalar."""
        return bool(self.shape) or self.has_rank

    def state(self, sizes: Sequence[int] | None) -> None:
        """Replace the stored shape: a free size is -1, for which `shape` has 1; None stores no shape."""
        given = sizes or ()
        self.shape = tuple([1 if size < 0 else size for size in given])
        self.signature = tuple(given) if min(given, default=0) < 0 else None
        self.has_rank = sizes is not None and (self.has_rank or not sizes)
        self.changed = True


@dataclass(frozen=True, slots=True)
class Options:
    """The builtin options of a new operator: the union's member, and (slot, format, value) of each field.

    The formats are struct's (`b`, `i` ...), and `I*` or `i*` for a vector of numbers.
    """

    kind: int
    fields: tuple[tuple[int, str, object], ...] = ()


@dataclass(slots=True, eq=False)
class Operator:
    """One operator of a subgraph; tensors are named by index, -1 is an operand that is absent."""

    code: int
    """Index of its operator code."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    place: int = NEW
    """The table that everything else comes from: a copy of an operator has the place of the original."""
    options: Options | None = None
    """What takes the place of the builtin options that the table at `place` has; None keeps them."""
    changed: bool = False


@dataclass(slots=True, eq=False)
class Subgraph:
    """One subgraph: its tensors by index, its operators in the order of execution."""

    name: str
    tensors: list[Tensor]
    operators: list[Operator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    place: int = NEW
    changed: bool = False
    """Whether its operators or tensors are others than those of the file, or one of them is changed."""


@dataclass(frozen=True, slots=True)
class Code:
    """An operator code: the builtin operator's number (32 is a custom one, which has a name), and its version."""

    builtin: int
    version: int
    custom: str = ""
    place: int = field(default=NEW, compare=False)


@dataclass(slots=True, eq=False)
class Buffer:
    """A payload: in the file's own range, or new bytes."""

    place: int = NEW
    present: bool = False
    """Whether the file holds bytes for it."""
    data: bytes | None = field(default=None, repr=False)
    """The bytes of a new buffer."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A SignatureDef: what callers call the inputs and outputs of a subgraph."""

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    """(name, tensor)."""
    outputs: tuple[tuple[str, int], ...]
