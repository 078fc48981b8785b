"""The parts of a TFLite file as plain values: tensors, operators, subgraphs, and the model."""

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
"""Bytes of one element. Strings, and types of less than a byte, are missing because they are compared as stored."""
NARROW: Mapping[str, int] = {"int4": 4, "19": 2, "20": 4, "21": 8, "22": 8}
"""Bits of one element of further types.

A type that the schema of the proof does not define has its number as its name.
"""


@dataclass(frozen=True, slots=True)
class Quantization:
    """The quantization of a tensor. Its axis matters only if each index of the axis has its own scale."""

    key: tuple[object, ...]
    """All parameters except the axis: the scales as bytes of float32, the zero points, and custom details."""
    axis: int | None
    """The axis that the scales follow; None if one scale applies to the whole tensor."""
    declared_axis: int = 0
    """The axis that the file declares, even if there is only one scale. Callers can read it."""
    loads: bool = True
    """Whether the parameters fit the tensor's shape, so that a runtime loads the model."""

    @property
    def scale(self) -> tuple[float, int] | None:
        """Return (scale, zero point) if there is one of each for the whole tensor, else None."""
        bits, zeros, _ = self.key
        if self.axis is not None or not isinstance(bits, bytes) or not isinstance(zeros, tuple) or len(zeros) != 1:
            return None
        scale: float = struct.unpack("<f", bits)[0]
        return scale, zeros[0]


class Tensor(NamedTuple):
    """A tensor of a subgraph. `stored` is the stored shape, `payload` the bytes of a constant."""

    name: str
    dtype: str
    dims: tuple[int | None, ...] | None
    """The declared shape, with None for each free size; None if the rank is not declared."""
    stored: tuple[int, ...]
    quantization: Quantization | None
    variable: bool
    payload: Payload | None
    odd: tuple[object, ...] = ()
    """Marks of a constant whose elements are not simply its bytes: it is sparse, or has an external buffer. Else ()."""
    signature: tuple[int, ...] = ()
    """The shape in the field `shape_signature` if it contradicts the stored shape, which runtimes use; else ()."""


CUSTOM_OPTIONS = 4
"""The index in `Operator.key` of the bytes of custom options, which lie inside the FlatBuffer or behind it."""


class Options(NamedTuple):
    """The options of an operator."""

    fields: Mapping[str, object]
    bodies: tuple[tuple[str, int], ...]
    """The subgraphs that options refer to, as (name of the option, subgraph)."""
    others: tuple[tuple[str, object], ...]
    """The fields that refer to no subgraph, as (name, value)."""


class Operator(NamedTuple):
    """An operator. Tensors are indices; -1 is a missing operand."""

    name: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, object]
    bodies: tuple[tuple[str, int], ...]
    """The subgraphs that the operator runs, as (name of the option, subgraph)."""
    key: tuple[object, ...]
    """All that the operator's table contains, except its tensors and subgraphs.

    The parts are the name, the kinds of both options tables, the options, the custom options, the flags of mutating
    inputs, and the intermediate tensors.
    """


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A subgraph of a model."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    name: str
    given: frozenset[int]
    """The slots of the fields that the subgraph's table contains.

    Runtimes refuse a subgraph without a required field.
    """


@dataclass(frozen=True, slots=True)
class Model:
    """The content of one TFLite file."""

    version: int
    """The version of the schema."""
    codes: tuple[tuple[str, int], ...]
    """The operators that a runtime must support, as (name, version)."""
    subgraphs: tuple[Subgraph, ...]
    signatures: tuple[tuple[str, int, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]], ...]
    """The SignatureDefs as (key, subgraph, inputs, outputs). Inputs and outputs are pairs (name, tensor)."""
    metadata: tuple[tuple[str, Payload | None], ...]
    """The metadata entries as (name, content). The content is None if the buffer is missing or empty."""
    given: frozenset[int]
    """The slots of the fields that the model's table contains."""
    identified: bool
    """Whether the file has TFLite's identifier."""
    flat_bytes: int
    """Bytes of the FlatBuffer: the part of the file before the first buffer that lies behind the FlatBuffer."""
