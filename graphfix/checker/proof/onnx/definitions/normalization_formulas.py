"""The ONNX formulas of normalizations, for float32 and constant sizes. Fused kernels round differently."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import all_known
from graphfix.checker.proof.onnx.definitions.formula_builder import Formula, Found, float_sizes

if TYPE_CHECKING:
    from graphfix.checker.proof.onnx.reading.operands import Call

EACH_CHANNEL = 21
"""From this version on, a GroupNormalization scales each channel. Before (deprecated), it scales each group."""
EPSILON = 1e-5
CHANNELS = 2
"""The number of axes (batch and channels) in front of the spatial axes."""

_INNER = range(2, 3)
"""The axis that contains all elements of a group, after a Reshape to [batch,groups,elements]."""


def rms_normalization_formula(call: Call) -> Found | None:
    """Return RMSNormalization (since 23) as x / sqrt(mean(x * x) + epsilon) * scale, over all axes from `axis` on.

    Return None for an unsupported node.
    """
    sizes, axis = _sizes(call, 2), call.integer("axis", -1)
    if sizes is None or not -len(sizes[0]) <= axis < len(sizes[0]):
        return None
    if len(sizes[1]) > len(sizes[0]):
        return None
    formula = Formula()
    axes = range(axis % len(sizes[0]), len(sizes[0]))
    return (
        formula,
        [formula.add("Mul", _normalized(formula, call, "X", axes), "scale")],
        call.operands_by_name("X", "scale"),
    )


def by_group(call: Call) -> Found | None:
    """Return GroupNormalization (since 21): each group of channels minus its mean, divided by its standard deviation.

    The result is then multiplied by the scale of the channel, and the bias is added. Return None for an unsupported
    node.
    """
    sizes, groups = _sizes(call, 3), call.integer("num_groups", 0)
    if sizes is None or call.meaning_version < EACH_CHANNEL or groups < 1 or len(sizes[0]) <= CHANNELS:
        return None
    data, formula = sizes[0], Formula()
    if data[1] % groups or sizes[1] != [data[1]] or sizes[2] != [data[1]]:
        return None
    flat = formula.shaped("X", data[0], groups, prod(data[1:]) // groups)
    centered = formula.add("Sub", flat, _mean(formula, flat, _INNER))
    made = formula.shaped(_normalized(formula, call, centered, _INNER), *data)
    beside = [1, data[1], *(1 for _ in data[CHANNELS:])]
    made = formula.add("Mul", made, formula.shaped("scale", *beside))
    made = formula.add("Add", made, formula.shaped("bias", *beside))
    return formula, [made], call.operands_by_name("X", "scale", "bias")


def _sizes(call: Call, count: int) -> tuple[list[int], ...] | None:
    """Return the sizes of the `count` operands; None unless all are float32 and all sizes are numbers above 0.

    None also if the node has another number of operands, or another `stash_type` than float32.
    """
    if len(call.views) != count or call.integer("stash_type", 1) != 1:
        return None
    return all_known(float_sizes(call, at) for at in range(count))


def _normalized(formula: Formula, call: Call, name: str, axes: range) -> str:
    """Return the name of x / sqrt(mean(x * x) + epsilon), with the mean over `axes`; `name` is the name of x."""
    mean = _mean(formula, formula.add("Mul", name, name), axes)
    shifted = formula.add("Add", mean, formula.floats(call.number("epsilon", EPSILON)))
    return formula.add("Div", name, formula.add("Sqrt", shifted))


def _mean(formula: Formula, name: str, axes: range) -> str:
    """Return the name of the mean of a value over `axes`, which are kept with size 1."""
    return formula.add("ReduceMean", name, formula.integers(*axes), keepdims=1)
