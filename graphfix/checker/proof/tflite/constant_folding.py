"""TFLite operators that compute constants from constants: they are read as what they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from graphfix.checker.files.tflite.file import WIDTHS
from graphfix.checker.files.tflite.schema import TYPES
from graphfix.checker.proof import constant_folding
from graphfix.checker.proof.terms import View
from graphfix.checker.proof.tflite.sparse import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.constant_folding import Array
    from graphfix.checker.proof.constants import Constants
    from graphfix.checker.proof.tflite.views import Step

Rule: TypeAlias = "Callable[[Step, Sequence[Array]], Array | None]"


def computed(constants: Constants, step: Step) -> View | None:
    """Give the result of an operator whose operands are all small constants; None where it is to be read as a term.

    Nothing that is quantized: its bytes are not its elements.
    """
    if step.operator.name not in COMPUTING or not _first_held(step):
        return None
    tensors = [step.result, *(tensor for tensor in step.inputs if tensor is not None)]
    if any(tensor.quantization is not None for tensor in tensors):
        return None
    if step.operator.name == "DENSIFY":
        return _unpacked(constants, step)
    if step.operator.name == "FILL":
        return _filled(step)
    return _by_rule(constants, step)


def _first_held(step: Step) -> bool:
    """Whether operand 0 is a constant: most operators end here."""
    return (
        step.operator.name in SIZED or not step.views or step.views[0] is None or constant_folding.held(step.views[0])
    )


def _loads(step: Step) -> bool:
    """Whether kernels take the operands and options: axes and shapes of int32, types that there are."""
    if step.operator.name in INDEXED:
        return all(tensor is not None and tensor.dtype == "int32" for tensor in step.inputs[1:])
    if step.operator.name == "PACK":
        return step.integer("valuesCount") == len(step.views)
    stated = [step.integer(name) for name in ("inDataType", "outDataType")] if step.operator.name == "CAST" else []
    return all(kind in TYPES for kind in stated)  # kernels go by the tensors, but refuse what is no type


def _by_rule(constants: Constants, step: Step) -> View | None:
    rule = RULES.get(step.operator.name)
    if not _loads(step):
        return None
    if rule is None or not all(view is not None and constant_folding.held(view) for view in step.views):
        return None
    arrays = [array for view in step.views if (array := constant_folding.literal(view)) is not None]
    if len(arrays) < len(step.views) or step.integer("fusedActivationFunction"):
        return None
    try:
        found = rule(step, arrays)
    except (ValueError, IndexError, TypeError):  # operands that do not fit: the runtime refuses them as well
        return None
    if found is None or found.size > constant_folding.MOST or found.dtype.name != step.result.dtype:
        return None
    return constant_folding.entered(constants, np.asarray(found), step.told)


def _unpacked(constants: Constants, step: Step) -> View | None:
    """DENSIFY of a sparse constant."""
    tensor = step.inputs[0] if step.inputs else None
    width = WIDTHS.get(step.result.dtype, 0)
    if tensor is None or tensor.dtype != step.result.dtype or tensor.stored != step.result.stored:
        return None
    try:
        payload = unpacked(tensor, width)
    except (ValueError, IndexError, KeyError, TypeError):  # levels that do not fit
        return None
    return None if payload is None else constants.view(tensor.dtype, tensor.stored, payload, width, step.told)


def _filled(step: Step) -> View | None:
    """FILL: one element, stretched to known sizes."""
    sizes, value = step.content(0), step.operand(1)
    if sizes is None or value is None or value.sizes != () or any(isinstance(s, int) and s < 1 for s in sizes):
        return None
    return View(value.core, (None,) * len(sizes), sizes)


def _pair(rule: str) -> Rule:
    """Whole numbers: how a kernel rounds floats is its own affair."""

    def computed_pair(_: Step, arrays: Sequence[Array]) -> Array | None:
        one, two = arrays
        return constant_folding.paired(rule, one, two) if one.dtype.kind in "iub" else None

    return computed_pair


def _reduction(rule: str) -> Rule:
    def computed_reduction(step: Step, arrays: Sequence[Array]) -> Array | None:
        data, axes = arrays
        return constant_folding.reduced(
            rule, data, tuple(axes.reshape(-1).tolist()), keep=bool(step.option("keepDims"))
        )

    return computed_reduction


def _gather(step: Step, arrays: Sequence[Array]) -> Array | None:
    data, indices = arrays
    axis = step.integer("axis")
    if step.integer("batchDims") or (indices < 0).any():
        return None
    if data.size // max(data.shape[axis], 1) * indices.size > constant_folding.MOST:
        return None
    return np.asarray(np.take(data, indices, axis=axis))


def _pack(step: Step, arrays: Sequence[Array]) -> Array:
    return np.stack(arrays, axis=step.integer("axis"))


def _concatenation(step: Step, arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays, axis=step.integer("axis"))


def _slice(_: Step, arrays: Sequence[Array]) -> Array | None:
    data, begin, size = arrays
    cuts = tuple(
        slice(start, None if count < 0 else start + count)
        for start, count in zip(begin.tolist(), size.tolist(), strict=True)
    )
    return data[cuts] if (begin >= 0).all() and len(cuts) == data.ndim else None


RULES: Mapping[str, Rule] = {
    **{op: _pair(rule) for op, rule in (
        ("ADD", "add"), ("SUB", "sub"), ("MUL", "mul"), ("FLOOR_DIV", "div"), ("DIV", "div"), ("FLOOR_MOD", "mod"),
        ("MAXIMUM", "max"), ("MINIMUM", "min"), ("EQUAL", "equal"), ("NOT_EQUAL", "not equal"), ("LESS", "less"),
        ("LESS_EQUAL", "less or equal"), ("GREATER", "greater"), ("GREATER_EQUAL", "greater or equal"),
        ("LOGICAL_AND", "and"), ("LOGICAL_OR", "or"),
    )},
    **{op: _reduction(rule) for op, rule in (
        ("REDUCE_PROD", "prod"), ("SUM", "sum"), ("REDUCE_MAX", "max"), ("REDUCE_MIN", "min"),
    )},
    "LOGICAL_NOT": lambda _, arrays: constant_folding.single("not", arrays[0]),
    "CAST": lambda step, arrays: constant_folding.converted(arrays[0], step.result.dtype),
    "RANGE": lambda _, arrays: constant_folding.ranged(*arrays),
    "RESHAPE": lambda _, arrays: arrays[0].reshape(arrays[1].tolist()) if len(arrays) > 1 else None,
    "TRANSPOSE": lambda _, arrays: np.transpose(arrays[0], arrays[1].tolist()),
    "GATHER": _gather, "PACK": _pack, "CONCATENATION": _concatenation, "SLICE": _slice,
}  # fmt: skip
"""Rules by operator; views are read before."""
INDEXED = frozenset("RESHAPE TRANSPOSE SLICE GATHER REDUCE_PROD SUM REDUCE_MAX REDUCE_MIN".split())
SIZED = frozenset({"DENSIFY", "FILL"})
"""Those with rules of their own."""
COMPUTING = SIZED.union(RULES)
