"""Records of the parts of a TFLite file that edits may change, each with the position of its table in the file."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.results.records import dataclass, field

NEW = -1
"""The `place` of a part that the file does not have."""
ABSENT = -1
"""The index of an optional operand that is absent."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """How a tensor is quantized: the position of the table, the count of scales, and the axis of the scales."""

    place: int
    scales: int
    """The count of scales. If there are several, there is one for each index of the axis `dimension`."""
    dimension: int
    """An axis of the tensor. A lift may move this axis; the table is then written again with the new number."""


@dataclass(slots=True, eq=False)
class Tensor:
    """One tensor of a subgraph."""

    name: str
    shape: tuple[int, ...]
    """The stored dims; () if the file stores none."""
    signature: tuple[int, ...] | None
    """The field `shape_signature`, where -1 is a free size; None if the file has none."""
    has_rank: bool
    """Distinguishes a scalar (True) from a tensor of unknown rank (False), if no dims are stored."""
    type: int
    buffer: int
    variable: bool = False
    sparse: bool = False
    external: int = 0
    """The field `external_buffer`, for a payload in another file; 0 if there is none."""
    quantization: Quantization | None = None
    place: int = NEW
    changed: bool = False
    """Whether the tensor's table must be written again; always true for a new tensor."""

    @property
    def states_rank(self) -> bool:
        """Return whether the file states the tensor's rank: by sizes, or by `has_rank` for a scalar."""
        return bool(self.shape) or self.has_rank

    def state(self, sizes: Sequence[int] | None) -> None:
        """Replace the stored shape by `sizes`; None stores no shape.

        A free size is -1: it is stored as 1 in `shape` and as -1 in `signature`.
        """
        given = sizes or ()
        self.shape = tuple([1 if size < 0 else size for size in given])
        self.signature = tuple(given) if min(given, default=0) < 0 else None
        self.has_rank = sizes is not None and (self.has_rank or not sizes)
        self.changed = True


@dataclass(frozen=True, slots=True)
class Options:
    """The builtin options of a new operator: the member of the union, and (slot, format, value) of each field.

    The formats are those of struct (`b`, `i` ...), and `I*` or `i*` for a vector of numbers.
    """

    kind: int
    fields: tuple[tuple[int, str, object], ...] = ()


@dataclass(slots=True, eq=False)
class Operator:
    """One operator of a subgraph; operands and results are indices of tensors, and -1 is an absent operand."""

    code: int
    """The index of the operator code."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    place: int = NEW
    """The position of the operator's table in the file, from which all other fields are copied.

    A copy of an operator has the position of the original.
    """
    options: Options | None = None
    """New builtin options, which replace the options of the table at `place`; None keeps the old options."""
    changed: bool = False


@dataclass(slots=True, eq=False)
class Subgraph:
    """One subgraph: its tensors by index, and its operators in the order of execution."""

    name: str
    tensors: list[Tensor]
    operators: list[Operator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    place: int = NEW
    changed: bool = False
    """Whether an operator or tensor was added, removed or changed."""


@dataclass(frozen=True, slots=True)
class Code:
    """An operator code: the number of the builtin operator, and its version.

    Number 32 is a custom operator, whose name is in `custom`.
    """

    builtin: int
    version: int
    custom: str = ""
    place: int = field(default=NEW, compare=False)


@dataclass(slots=True, eq=False)
class Buffer:
    """A payload: bytes in the file, or new bytes."""

    place: int = NEW
    present: bool = False
    """Whether the buffer has bytes; false for the file's buffer 0, which tensors without a payload use."""
    data: bytes | None = field(default=None, repr=False)
    """The bytes of a new buffer."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A SignatureDef: the names by which callers refer to the inputs and outputs of a subgraph."""

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    """(name, index of the tensor) of each input."""
    outputs: tuple[tuple[str, int], ...]
