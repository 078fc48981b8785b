"""What new tensors and operators look like: their records, options, versions and quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from graphfix.formats.tflite.file import options
from graphfix.formats.tflite.file.records import Options, Quantization, Tensor
from graphfix.formats.tflite.file.schema import TENSOR_TYPES
from graphfix.graph.edits import New
from graphfix.shapes.dim import Shape

NEW_SHAPE_RANK = 8
"""LiteRT refuses a longer `new_shape`; the shape operand alone holds more sizes."""
NONE, RESHAPE, EXPAND_DIMS, TILE, SHAPE, GATHER, CONCATENATION, EQUAL, SELECT_V2 = 0, 17, 52, 51, 55, 23, 10, 53, 98
"""Members of the union of builtin options; BROADCAST_TO and BROADCAST_ARGS have no options."""
KINDS: Mapping[str, int] = MappingProxyType(
    {
        "RESHAPE": RESHAPE,
        "MUL": 21,
        "SELECT_V2": SELECT_V2,
        "RFFT2D": 105,
        "TILE": TILE,
        "ADD": 11,
        "SUB": 28,
        "DIV": 29,
        "EXP": 33,
        "GREATER_EQUAL": 45,
        "ABS": 78,
        "MAXIMUM": 39,
        "MINIMUM": 39,
        "NOT_EQUAL": 54,
        "QUANTIZE": 89,
        "CAST": 37,
        "NEG": 42,
        "LESS": 41,
        "GREATER": 44,
        "EQUAL": EQUAL,
        "PAD": 22,
        "SLICE": 48,
        "BATCH_MATMUL": 101,
        "CONCATENATION": CONCATENATION,
        "RESIZE_NEAREST_NEIGHBOR": 74,
    }
)
COPYING: Final = frozenset({"RESHAPE", "SLICE"})
"""Operators that new nodes are made of and that copy elements: what they return is quantized as what they read."""
TYPES: Mapping[str, int] = MappingProxyType({name: number for number, (name, _) in TENSOR_TYPES.items()})


def options_of(new: New) -> Options:
    """The builtin options of a new operator, with the values of its attributes."""
    return options.options_of(KINDS.get(new.op, NONE), dict(new.attributes))


def new_tensor(name: str, shape: Shape, element: int, *, quantization: Quantization | None = None) -> Tensor:
    """A new tensor: a size that is not known is stored as 1 with the signature -1."""
    stored = tuple(size if isinstance(size, int) else 1 for size in shape.dims)
    signature = tuple(size if isinstance(size, int) else -1 for size in shape.dims)
    return Tensor(
        name,
        stored,
        None if shape.static else signature,
        has_rank=True,
        type=element,
        buffer=0,
        quantization=quantization,
        changed=True,
    )


def lifted(record: Tensor, axes: Sequence[int]) -> Quantization | None:
    """The quantization of a tensor that is lifted by `axes`: one scale for each index of an axis follows that axis."""
    quantization = record.quantization
    if quantization is None or quantization.scales <= 1 or not axes:
        return quantization
    kept = [axis for axis in range(len(record.shape) + len(axes)) if axis not in axes]
    return replace(quantization, dimension=kept[quantization.dimension])


def tile_version(dtype: str) -> int:
    """Version 3 is the one for int8, but the reference kernels stop at 2 and take int8 there as well."""
    return 2 if dtype in ("string", "int8") else 1


def broadcast_to_version(dtype: str) -> int:
    """There is no version 1."""
    return 3 if dtype in ("int8", "int16") else 2


def reshapes(shape: Shape) -> bool:
    """Whether a RESHAPE can state this shape: it leaves one size open, and 0 stands for another one in it."""
    return sum(not isinstance(size, int) for size in shape.dims) <= 1 and 0 not in shape.dims


def repeats_of(shape: Shape, to: Shape) -> list[int]:
    """How often a TILE repeats each axis: [2,1,4] to [2,3,4] -> 1, 3, 1."""
    pairs = zip(shape.numbers, to.numbers, strict=True)
    return [1 if have == want else want for have, want in pairs]
