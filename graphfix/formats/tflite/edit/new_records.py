"""Create the records of new tensors and operators: options, versions and quantization."""

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
"""LiteRT refuses a RESHAPE whose option `new_shape` has more sizes than this; the shape operand may have more."""
NONE, RESHAPE, EXPAND_DIMS, TILE, SHAPE, GATHER, CONCATENATION, EQUAL, SELECT_V2 = 0, 17, 52, 51, 55, 23, 10, 53, 98
"""Numbers of the union BuiltinOptions. NONE is for BROADCAST_TO and BROADCAST_ARGS, which have no options."""
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
"""Operators of new nodes that only copy elements, so that the result is quantized as the operand is."""
TYPES: Mapping[str, int] = MappingProxyType({name: number for number, (name, _) in TENSOR_TYPES.items()})


def options_of(new: New) -> Options:
    """Return the builtin options of a new operator, with the values of its attributes."""
    return options.options_of(KINDS.get(new.op, NONE), dict(new.attributes))


def new_tensor(name: str, shape: Shape, element: int, *, quantization: Quantization | None = None) -> Tensor:
    """Return a new tensor of this shape; `element` is the schema's number of its element type.

    A size that is not a number is stored as 1, with -1 in the signature.
    """
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
    """Return the quantization of a tensor into which a lift inserts unit axes at the positions `axes`.

    If there is one scale for each index of an axis, the number of this axis changes: a new axis 0 moves axis 0 to axis
    1. Return None if the tensor is not quantized.
    """
    quantization = record.quantization
    if quantization is None or quantization.scales <= 1 or not axes:
        return quantization
    kept = [axis for axis in range(len(record.shape) + len(axes)) if axis not in axes]
    return replace(quantization, dimension=kept[quantization.dimension])


def tile_version(dtype: str) -> int:
    """Return the version of TILE for this element type: 2 for string and int8, 1 for any other type.

    The schema has version 3 for int8, but the reference kernels end at version 2 and accept int8 there.
    """
    return 2 if dtype in ("string", "int8") else 1


def broadcast_to_version(dtype: str) -> int:
    """Return the version of BROADCAST_TO for this element type: 3 for int8 and int16, otherwise 2.

    Version 1 does not exist.
    """
    return 3 if dtype in ("int8", "int16") else 2


def reshapes(shape: Shape) -> bool:
    """Return whether the target of a RESHAPE can state this shape.

    At most one size may be free, because the target has only one -1. No size may be 0, because RESHAPE does not read a
    0 in its target as a size.
    """
    return sum(not isinstance(size, int) for size in shape.dims) <= 1 and 0 not in shape.dims


def repeats_of(shape: Shape, to: Shape) -> list[int]:
    """Return how often a TILE repeats each axis; both shapes are static. Example: [2,1,4] to [2,3,4] -> [1,3,1]."""
    pairs = zip(shape.numbers, to.numbers, strict=True)
    return [1 if have == want else want for have, want in pairs]
