"""The ONNX rows with a rule of their own, which no rewrite touches: how a node of each is made, and its scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import onnx
from onnx.defs import OpSchema
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from graphfix import operators
from tests.support.runtimes.one_node import MICROSOFT, NEWEST, Array, Key, numbers
from tests.support.small_scope.onnx.cases import ALL, SYMBOL, Case, Sizes, by_numpy, fitting, pairs, shapes
from tests.support.small_scope.onnx.models import Recipe

TRAINING = "ai.onnx.preview.training"
MASKS = (*ALL, *shapes(4, dims=(1, 2, 3, SYMBOL)))
"""A mask may have an axis more: batch, heads, rows, columns."""


@dataclass(frozen=True)
class Left:
    """What is asked of a row that is left alone."""

    recipe: Recipe
    cases: Sequence[Case]
    version: int = 1


def exists(operands: Sequence[Sizes], _: object) -> Sizes:
    """Every case is asked: the runtime says which it takes."""
    return operands[0]


def _masked(reads: Sequence[Array | None], results: int = 1, **attributes: object) -> Left:
    """Put the mask behind the other operands."""
    recipe = Recipe((*reads, 0), ("float32",), exists, attributes, results)
    return Left(recipe, [Case((shape,)) for shape in MASKS])


def _floats(*shape: int) -> Array:
    return numbers("float32", *shape)


def _decoder() -> Left:
    step, past, length = _floats(2, 1, 16), _floats(2, 2, 4, 8), np.array([2], np.int32)
    recipe = Recipe((step, step, step, None, 0, past, past, length), ("float32",), exists,
                    {"num_heads": 2, "past_present_share_buffer": 1}, 3)  # fmt: skip
    return Left(recipe, [Case((shape,)) for shape in MASKS])


def _grouped() -> Left:
    past, lengths = np.zeros((2, 1, 0, 8), np.float32), (np.full(2, 2, np.int32), np.array(3, np.int32))
    reads = (_floats(2, 3, 16), _floats(2, 3, 8), _floats(2, 3, 8), past, past, *lengths, None, None, None)
    return _masked(reads, 3, num_heads=2, kv_num_heads=1)


def _einsum() -> Left:
    """Every two shapes of one rank that meet, axis by axis: equal labels may be stretched; rank 3 over 1, 2 and N."""
    same = (shapes(0), shapes(1), shapes(2), shapes(3, dims=(1, 2, SYMBOL)))
    cases = []
    for rank, chosen in enumerate(same):
        labels = "ijk"[:rank]
        equation = (("equation", f"{labels},{labels}->{labels}"),)
        cases += [case._replace(attributes=equation) for case in fitting(by_numpy, pairs(chosen))]
    return Left(Recipe((0, 1), ("float32",), by_numpy), cases, NEWEST)


def without_kernel(key: Key) -> Left:
    """Turn the 156 shapes through the operands that the row names; what else the schema requires is there, no more."""
    row = operators.row(*key)
    assert row is not None
    schema = next(each for each in _schemas() if (each.domain, each.name, each.since_version) == key)
    places = [operand.index for operand in row.operands]
    count = max(*places, schema.min_input - 1) + 1
    reads = tuple(places.index(at) if at in places else _floats(2, 3) for at in range(count))
    cases = [Case(tuple(ALL[(at + 31 * turn) % len(ALL)] for turn in range(len(places)))) for at in range(len(ALL))]
    required = {name: _some(each) for name, each in schema.attributes.items() if each.required}
    return Left(Recipe(reads, ("float32",), exists, required, max(schema.min_output, 1)), cases, key[2])


@cache
def _schemas() -> list[OpSchema]:
    return [*onnx.defs.get_all_schemas(), *runtime.get_all_operator_schema()]


def _some(attribute: OpSchema.Attribute) -> object:
    """Give an attribute some value of its type."""
    return {"INT": 1, "FLOAT": 1.0}.get(str(attribute.type).rpartition(".")[2], "Relu")


def _features(**attributes: object) -> Left:
    return Left(Recipe((0,), ("float32",), exists, attributes), [Case((shape,)) for shape in ALL])


LEFT: dict[Key, Left] = {
    ("", "Einsum", 12): _einsum(),
    ("", "Attention", 23): replace(
        _masked((_floats(2, 3, 2, 4), _floats(2, 3, 3, 4), _floats(2, 3, 3, 4))), version=NEWEST
    ),
    (MICROSOFT, "Attention", 1): _masked((_floats(2, 2, 6), _floats(6, 18), _floats(18), None, None), num_heads=3),
    (MICROSOFT, "MultiHeadAttention", 1): _masked(
        (_floats(2, 2, 6), _floats(2, 3, 6), _floats(2, 3, 6), None, None), num_heads=3
    ),
    (MICROSOFT, "DecoderMaskedMultiHeadAttention", 1): _decoder(),
    (MICROSOFT, "GroupQueryAttention", 1): _grouped(),
    (MICROSOFT, "LinearAttention", 1): _masked(
        (*[_floats(2, 3, 16)] * 3, None, None), 2, q_num_heads=2, kv_num_heads=2, update_rule="delta"
    ),
    (MICROSOFT, "GatedAdd", 1): _masked((_floats(2, 3, 2), _floats(2, 3, 2))),
    (MICROSOFT, "HyperConnectionPreMix", 1): _masked((_floats(2, 3, 2),)),
    (MICROSOFT, "HyperConnectionPostMix", 1): _masked((_floats(2, 3, 2), _floats(2, 2))),
    ("ai.onnx.ml", "Imputer", 1): _features(imputed_value_floats=[7.0], replaced_value_float=1.0),
    ("ai.onnx.ml", "Scaler", 1): _features(offset=[1.0], scale=[2.0]),
}
NO_KERNEL: tuple[Key, ...] = (
    ("", "LinearAttention", 27),
    *((TRAINING, op, 1) for op in ("Adagrad", "Adam", "Momentum")),
    *(
        (MICROSOFT, op, 1)
        for op in (
            "PackedAttention DecoderMaskedSelfAttention PackedMultiHeadAttention QOrderedAttention ComplexMul"
            " ComplexMulConj BiasSoftmax SkipGroupNorm QOrderedMatMul GemmFloat8"
        ).split()
    ),
)
"""They are fixed and proved; onnxruntime's CPU provider can't run them."""
