"""TFLite operators that compute constants from constants: they are read as what they compute."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from graphfix.checker.files.constant_bytes import held
from graphfix.checker.files.tflite.records import WIDTHS
from graphfix.checker.files.tflite.schema import TYPES
from graphfix.checker.proof.core.terms import View
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.operators.constant_parts import normal, select, signed, strided_slice, zeros_like

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.files.tflite.records import Tensor
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.tflite.reading.operands import Call

Rule: TypeAlias = "Callable[[Call, Sequence[Array]], Array | None]"
DENSE = 0
"""The format of a level that holds every coordinate; any other holds those that it lists."""
MOST_UNPACKED = 1 << 26
"""Elements of a sparse constant that is unpacked; a file of a few bytes may ask for any number."""


def computed(constants: Constants, call: Call) -> View | None:
    """Return the result of an operator whose operands are all small constants; None where it is to be read as a term.

    Nothing that is quantized: its bytes are not its elements.
    """
    if call.operator.name not in COMPUTING or not _first_held(call):
        return None
    tensors = [call.result, *(tensor for tensor in call.inputs if tensor is not None)]
    if any(tensor.quantization is not None for tensor in tensors):
        return None
    if call.operator.name == "DENSIFY":
        return _unpacked(constants, call)
    if call.operator.name == "FILL":
        return _filled(call)
    return _by_rule(constants, call)


def _first_held(call: Call) -> bool:
    """Whether operand 0 is a constant: most operators end here."""
    return (
        call.operator.name in SIZED
        or not call.views
        or call.views[0] is None
        or constant_folding.is_constant(call.views[0])
    )


def _loads(call: Call) -> bool:
    """Whether kernels take the operands and options: one type, axes and shapes of int32, types that there are."""
    name, kinds = call.operator.name, [None if tensor is None else tensor.dtype for tensor in call.inputs]
    if name in INDEXED:
        return all(kind == "int32" for kind in kinds[1:])
    if name in ALIKE and len(set(kinds)) != 1:
        return False
    if name == "PACK":
        return call.integer("valuesCount") == len(call.views)
    declared = [call.integer(name) for name in ("inDataType", "outDataType")] if name == "CAST" else []
    return all(kind in TYPES for kind in declared)  # kernels go by the tensors, but refuse what is no type


def _by_rule(constants: Constants, call: Call) -> View | None:
    rule = RULES.get(call.operator.name)
    if not _loads(call):
        return None
    if rule is None or not all(view is not None and constant_folding.is_constant(view) for view in call.views):
        return None
    arrays = [array for view in call.views if (array := constant_folding.literal(view)) is not None]
    is_plain = len(arrays) == len(call.views) and not call.integer("fusedActivationFunction")
    if not is_plain or not constant_folding.may_broadcast(arrays):
        return None
    try:
        found = rule(call, arrays)
    except (ValueError, IndexError, TypeError):  # operands that do not fit: the runtime refuses them as well
        return None
    if found is None or found.size > constant_folding.MOST or found.dtype.name != call.result.dtype:
        return None
    return constant_folding.as_constant(constants, np.asarray(found), call.description)


def _unpacked(constants: Constants, call: Call) -> View | None:
    """DENSIFY of a sparse constant."""
    tensor = call.inputs[0] if call.inputs else None
    width = WIDTHS.get(call.result.dtype, 0)
    if tensor is None or tensor.dtype != call.result.dtype or tensor.stored != call.result.stored:
        return None
    try:
        payload = _unpacked_payload(tensor, width)
    except (ValueError, IndexError, KeyError, TypeError):  # levels that do not fit
        return None
    return None if payload is None else constants.view(tensor.dtype, tensor.stored, payload, width, call.description)


def _unpacked_payload(tensor: Tensor, width: int) -> Payload | None:
    """Return the elements of a sparse constant in row-major order, zeros in between; None for other constants.

    Source: SparsityParameters of the TFLite schema. The levels of a tree, in traversal order, name coordinates: of the
    axes, then of the blocks that axes are cut into. Raises ValueError for levels that do not fit.
    """
    if len(tensor.odd) != 2 or tensor.odd[0] != "sparse" or tensor.payload is None or not width:  # noqa: PLR2004
        return None
    sparsity = _fields_of(tensor.odd[1])
    order, blocks = sparsity["traversalOrder"], sparsity["blockMap"] or ()
    levels = [_fields_of(each) for each in sparsity["dimMetadata"]]
    if not _is_tree(order or (), levels, blocks, tensor.stored) or prod(tensor.stored) > MOST_UNPACKED:
        return None
    found = _coordinates(levels, prod(tensor.stored))
    values = np.frombuffer(tensor.payload.read(0, tensor.payload.length), np.dtype((np.void, width)))
    if len(values) != len(found):
        return None
    by_axis = dict(zip(order, range(len(levels)), strict=True))
    index = [found[:, by_axis[axis]] for axis in range(len(tensor.stored))]
    for block, axis in enumerate(blocks):
        level = by_axis[len(tensor.stored) + block]
        index[axis] = index[axis] * levels[level]["denseSize"] + found[:, level]
    dense = np.zeros(prod(tensor.stored), np.dtype((np.void, width)))
    dense[np.ravel_multi_index(index, tensor.stored)] = values
    data = dense.tobytes()
    return held(data)


def _is_tree(
    order: Sequence[int], levels: Sequence[Mapping[str, Any]], blocks: Sequence[int], shape: Sequence[int]
) -> bool:
    """Whether levels are as the schema says: all axes, then the blocks, each of which cuts an axis, in their order.

    What LiteRT makes of others is not what they say.
    """
    count, total = len(shape), len(shape) + len(blocks)
    ranges = [list(range(count)), list(range(count, total))]
    if len(levels) != total or [sorted(order[:count]), sorted(order[count:])] != ranges:
        return False
    if list(blocks) != sorted(set(blocks).intersection(range(count))):
        return False
    by_axis = dict(zip(order, levels, strict=True))
    cuts = {axis: by_axis[count + block] for block, axis in enumerate(blocks)}
    widths = [cuts[axis]["denseSize"] if axis in cuts else 1 for axis in range(count)]
    return all(level["format"] == DENSE for level in cuts.values()) and all(
        by_axis[axis]["format"] != DENSE or by_axis[axis]["denseSize"] * widths[axis] == shape[axis]
        for axis in range(count)
    )


def _coordinates(levels: list[Mapping[str, Any]], most: int) -> NDArray[np.int64]:
    """Walk the levels from the root: a row for each leaf, with its coordinate in every level; no more than so many."""
    rows = np.zeros((1, 0), np.int64)
    for level in levels:
        if level["format"] == DENSE:
            size = level["denseSize"]
            if len(rows) * size > most:
                raise ValueError("the levels of a sparse constant hold more than its shape")
            rows = np.repeat(rows, size, axis=0)
            here = np.tile(np.arange(size), len(rows) // size if size else 0)
        else:
            ends, here = _vector_of(level["arraySegments"]), _vector_of(level["arrayIndices"])
            if len(ends) != len(rows) + 1 or ends[0] or ends[-1] != len(here):
                raise ValueError("the segments of a sparse constant do not fit")
            rows = np.repeat(rows, np.diff(ends), axis=0)
        rows = np.column_stack([rows, here])
    return rows


def _fields_of(table: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a table as the reader of files returns it
    return dict(table[1])


def _vector_of(vector: Any) -> NDArray[np.int64]:  # noqa: ANN401 - one of the three vectors that the schema has
    return np.array(_fields_of(vector)["values"], np.int64)


def _filled(call: Call) -> View | None:
    """FILL: one element, stretched to known sizes."""
    sizes, value = call.vector(0), call.operand(1)
    if len(call.inputs) != 2 or call.inputs[1] is None or call.inputs[1].dtype != call.result.dtype:  # noqa: PLR2004
        return None
    if sizes is None or value is None or value.sizes != () or any(isinstance(s, int) and s < 1 for s in sizes):
        return None
    call.table.arithmetic.need(sizes)
    return View(value.core, (None,) * len(sizes), sizes)


def _pair(rule: str, kinds: frozenset[str]) -> Rule:
    """Whole numbers, and floats that one operation of IEEE 754 makes of two; shorter numbers are quantized."""

    def computed_pair(_: Call, arrays: Sequence[Array]) -> Array | None:
        one, two = arrays
        found = constant_folding.paired(rule, one, two) if one.dtype.name in kinds else None
        if one.dtype.name != "float32" or found is None:
            return found
        return found if normal(one, two) and (found.dtype == bool or normal(found)) else None

    return computed_pair


def _reduction(rule: str) -> Rule:
    def computed_reduction(call: Call, arrays: Sequence[Array]) -> Array | None:
        data, axes = arrays
        if data.dtype.name not in REDUCED or axes.ndim > 1:
            return None
        return constant_folding.reduced(
            rule, data, tuple(axes.reshape(-1).tolist()), keep=bool(call.option("keepDims"))
        )

    return computed_reduction


def _gather(call: Call, arrays: Sequence[Array]) -> Array | None:
    data, indices = arrays
    axis = call.integer("axis")
    if call.integer("batchDims") or (indices < 0).any():
        return None
    if data.size // max(data.shape[axis], 1) * indices.size > constant_folding.MOST:
        return None
    return np.asarray(np.take(data, indices, axis=axis))


def _pack(call: Call, arrays: Sequence[Array]) -> Array:
    return np.stack(arrays, axis=call.integer("axis"))


def _concatenation(call: Call, arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays, axis=call.integer("axis"))


def _slice(_: Call, arrays: Sequence[Array]) -> Array | None:
    data, begin, size = arrays
    if not begin.shape == size.shape == (data.ndim,) or (begin < 0).any() or (size < -1).any():
        return None
    if (np.where(size < 0, begin, begin + size) > data.shape).any():
        return None  # the kernel refuses it, where numpy would cut it short
    cuts = tuple(
        slice(start, None if count < 0 else start + count)
        for start, count in zip(begin.tolist(), size.tolist(), strict=True)
    )
    return data[cuts]


def _range(_: Call, arrays: Sequence[Array]) -> Array | None:
    """Scalars, and a step that leads from the first number to the last."""
    if any(array.shape != () for array in arrays):
        return None
    start, limit, step = (array.item() for array in arrays)
    return constant_folding.ranged(*arrays) if start == limit or (step > 0) == (limit > start) else None


def _transposed(_: Call, arrays: Sequence[Array]) -> Array | None:
    data, order = arrays
    return np.transpose(data, order) if sorted(order.tolist()) == list(range(data.ndim)) else None


def _reshaped(_: Call, arrays: Sequence[Array]) -> Array | None:
    """A size may be open, which is written -1; numpy takes any number below 0 for it."""
    if len(arrays) != 2 or arrays[1].ndim != 1 or (arrays[1] < -1).any():  # noqa: PLR2004 - the data and its sizes
        return None
    return arrays[0].reshape(arrays[1].tolist())


WHOLE = frozenset({"int32", "int64"})
REDUCED = WHOLE | {"float32"}
RULES: Mapping[str, Rule] = {
    **{op: _pair(rule, WHOLE) for op, rule in (
        ("FLOOR_DIV", "div"), ("DIV", "div"), ("FLOOR_MOD", "mod"), ("MAXIMUM", "max"), ("MINIMUM", "min"),
    )},
    **{op: _pair(rule, REDUCED) for op, rule in (
        ("ADD", "add"), ("SUB", "sub"), ("MUL", "mul"), ("LESS", "less"), ("LESS_EQUAL", "less or equal"),
        ("GREATER", "greater"), ("GREATER_EQUAL", "greater or equal"),
    )},
    **{op: _pair(rule, REDUCED | {"bool"}) for op, rule in (("EQUAL", "equal"), ("NOT_EQUAL", "not equal"))},
    **{op: _pair(rule, frozenset({"bool"})) for op, rule in (("LOGICAL_AND", "and"), ("LOGICAL_OR", "or"))},
    **{op: _reduction(rule) for op, rule in (
        ("REDUCE_PROD", "prod"), ("SUM", "sum"), ("REDUCE_MAX", "max"), ("REDUCE_MIN", "min"),
    )},
    "LOGICAL_NOT": lambda _, arrays: constant_folding.single("not", arrays[0]) if arrays[0].dtype == bool else None,
    "CAST": lambda call, arrays: constant_folding.converted(arrays[0], call.result.dtype),
    "RANGE": _range, "RESHAPE": _reshaped, "TRANSPOSE": _transposed, "GATHER": _gather, "PACK": _pack,
    "CONCATENATION": _concatenation, "SLICE": _slice, "STRIDED_SLICE": strided_slice, "SELECT_V2": select,
    "ZEROS_LIKE": zeros_like, "NEG": signed("neg"), "ABS": signed("abs"),
}  # fmt: skip
"""Rules by operator; views are read before."""
INDEXED = frozenset("RESHAPE TRANSPOSE SLICE GATHER REDUCE_PROD SUM REDUCE_MAX REDUCE_MIN".split())
ALIKE = frozenset({"PACK", "CONCATENATION", "RANGE"})
"""Those whose operands are all of one type."""
SIZED = frozenset({"DENSIFY", "FILL"})
"""Those with a rule each."""
COMPUTING = SIZED.union(RULES)
