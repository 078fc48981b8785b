"""The parts of a TFLite file as plain values: tensors, operators, subgraphs, and the file's own."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.files.constant_bytes import Payload

WIDTHS: Mapping[str, int] = {
    "float32": 4, "float16": 2, "int32": 4, "uint8": 1, "int64": 8, "bool": 1, "int16": 2, "complex64": 8, "int8": 1,
    "float64": 8, "complex128": 16, "uint64": 8, "uint32": 4, "uint16": 2, "bfloat16": 2,
}  # fmt: skip
"""Bytes of an element; strings and types of less than a byte are compared as they are stored."""
NARROW: Mapping[str, int] = {"int4": 4, "19": 2, "20": 4, "21": 8, "22": 8}
"""Bits of an element of the other types; the schema of the proof has no name for those with a number."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """The parameters of a tensor; the axis counts where there is a scale for each of its indices."""

    key: tuple[object, ...]
    """All but the axis."""
    axis: int | None
    """None for parameters that serve the whole tensor."""
    declared_axis: int = 0
    """What the file says of the axis where it does not count; callers are told."""
    loads: bool = True
    """Whether the parameters fit the tensor, so that a runtime takes it."""

    @property
    def scale(self) -> tuple[float, int] | None:
        """The scale and the zero point that serve the whole tensor; None where there are several, or none."""
        bits, zeros, _ = self.key
        if self.axis is not None or not isinstance(bits, bytes) or not isinstance(zeros, tuple) or len(zeros) != 1:
            return None
        scale: float = struct.unpack("<f", bits)[0]
        return scale, zeros[0]


class Tensor(NamedTuple):
    """One tensor."""

    name: str
    dtype: str
    dims: tuple[int | None, ...] | None
    """The declared shape, None for a free size; None where the rank is not declared."""
    stored: tuple[int, ...]
    quantization: Quantization | None
    variable: bool
    payload: Payload | None
    odd: tuple[object, ...] = ()
    """What makes a constant another than its bytes say: sparsity, an external buffer."""
    signature: tuple[int, ...] = ()
    """Where the stored shape, which runtimes take, contradicts it."""


CUSTOM_OPTIONS = 4
"""Where the key of an operator has the bytes of its custom options: beside it, or behind the tables."""


class Options(NamedTuple):
    """The options of an operator."""

    fields: Mapping[str, object]
    bodies: tuple[tuple[str, int], ...]
    """The subgraphs that they name."""
    others: tuple[tuple[str, object], ...]
    """The fields that name none."""


class Operator(NamedTuple):
    """One operator; tensors by index, -1 for an operand that is not given."""

    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, object]
    bodies: tuple[tuple[str, int], ...]
    """The subgraphs that it runs, by the names of the options that say so."""
    key: tuple[object, ...]
    """All that the operator's table says but for its tensors and bodies."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """One subgraph."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    name: str
    given: frozenset[int]
    """Which of its fields are there: a runtime refuses a subgraph without some, where empty ones would do."""


@dataclass(frozen=True, slots=True)
class Model:
    """One file."""

    version: int
    """That of the schema."""
    codes: tuple[tuple[str, int], ...]
    """The operators, and their versions, that a runtime has to have."""
    subgraphs: tuple[Subgraph, ...]
    signatures: tuple[tuple[str, int, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]], ...]
    """(key, subgraph, inputs and outputs as (name, tensor))."""
    metadata: tuple[tuple[str, Payload | None], ...]
    """The entries by name, with what each holds; None where its buffer is not there."""
    given: frozenset[int]
    """Which of its fields are there."""
    identified: bool
    """Whether the file has TFLite's identifier."""
    flat_bytes: int
    """Bytes of the FlatBuffer: of the file up to the first buffer that lies behind the tables."""
