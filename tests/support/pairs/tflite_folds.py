"""Constants of a TFLite model replaced by an operator that may compute them, in and out of its contract.

The first file holds a value, the second one computes it. Where LiteRT refuses the operator, the value is what NumPy
makes of the same operands, taken generously: as a reader might that folds without asking whether a kernel would.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_changes import array
from tests.support.pairs.tflite_draft import KIND_OF, Draft, options
from tests.support.pairs.tflite_file import CODES, packed

Array = np.ndarray
Compute = Callable[..., Any]
EXTREMES = (2**31 - 1, -(2**31))
"""For operators whose result is no greater than their operands."""
LARGEST = 200
"""Elements of a value that is tried."""


@dataclass(frozen=True)
class Fold:
    """An operator on constants: its operands, the type of its result, and what it may compute."""

    op: str
    operands: tuple[Array, ...]
    computes: tuple[Compute, ...]
    """From the operands and the options by name, values that a reader may take for the result."""
    result: str = "int32"
    table: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    shape: bool = False
    """Whether operand 0 is the SHAPE of an input."""

    def values(self) -> list[Array]:
        """The values that a reader may take for the result, none twice."""
        found: dict[tuple[Any, ...], Array] = {}
        for compute in self.computes:
            for wide in (False, True):
                operands = [each.astype(np.int64) if wide and each.dtype.kind in "iu" else each for each in self.operands]
                try:
                    with np.errstate(all="ignore"):
                        made = np.asarray(compute(*operands, **self.options)).astype(self.result)
                except Exception:  # noqa: BLE001, S112 -- NumPy too has nothing to say of them
                    continue
                if made.size <= LARGEST:
                    found.setdefault((made.shape, made.tobytes()), made)
        return list(found.values())


def _div(one: Array, two: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    return np.trunc(one / two)


def _cut(data: Array, begin: Array, size: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    ends = [None if count < 0 else at + count for at, count in zip(begin.ravel(), size.ravel(), strict=False)]
    return data[tuple(slice(int(at), None if end is None else int(end)) for at, end in zip(begin.ravel(), ends, strict=False))]


def _strided(data: Array, begin: Array, end: Array, stride: Array, **masks: int) -> Array:
    cuts: list[Any] = []
    for axis, (one, two, step) in enumerate(zip(begin.ravel(), end.ravel(), stride.ravel(), strict=False)):
        if masks.get("shrinkAxisMask", 0) >> axis & 1:
            cuts.append(int(one))
        else:
            first = None if masks.get("beginMask", 0) >> axis & 1 else int(one)
            cuts.append(slice(first, None if masks.get("endMask", 0) >> axis & 1 else int(two), int(step)))
    return data[tuple(cuts)]


def _flat(axes: Array) -> Any:  # noqa: ANN401 -- axes as NumPy takes them
    return tuple(int(axis) for axis in axes.ravel())


def _reduced(rule: Callable[..., Array]) -> Compute:
    return lambda data, axes, keepDims=False: rule(data, axis=_flat(axes), keepdims=keepDims)  # noqa: N803


def _reduced_once(rule: Callable[..., Array]) -> Compute:
    """An axis that is named twice counts once."""
    return lambda data, axes, keepDims=False: rule(data, axis=tuple({*_flat(axes)}), keepdims=keepDims)  # noqa: N803


def ints(*values: int, dtype: str = "int32") -> Array:
    return np.asarray(values, dtype)


def _of(value: Any, dtype: str = "int32") -> Array:  # noqa: ANN401 -- a number
    return np.asarray(value, dtype)


FIRST, SECOND = ints(7, -3, 2), ints(2, 2, -5)
GRID = np.arange(6, dtype=np.int32).reshape(2, 3)
_PAIRS: Mapping[str, tuple[Compute, ...]] = {
    "ADD": (lambda a, b, **_: a + b,), "SUB": (lambda a, b, **_: a - b,), "MUL": (lambda a, b, **_: a * b,),
    "DIV": (_div, lambda a, b, **_: a // b), "FLOOR_DIV": (lambda a, b: a // b, _div),
    "FLOOR_MOD": (lambda a, b: a % b, np.fmod), "MAXIMUM": (np.maximum,), "MINIMUM": (np.minimum,),
    "POW": (lambda a, b: a**b,), "SQUARED_DIFFERENCE": (lambda a, b: (a - b) ** 2,),
    "BITWISE_XOR": (np.bitwise_xor,), "RIGHT_SHIFT": (np.right_shift,),
}  # fmt: skip
_COMPARED: Mapping[str, Compute] = {
    "LESS": np.less, "LESS_EQUAL": np.less_equal, "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal, "NOT_EQUAL": np.not_equal,
}  # fmt: skip
_REDUCING = {"SUM": np.sum, "REDUCE_PROD": np.prod, "REDUCE_MAX": np.max, "REDUCE_MIN": np.min, "MEAN": np.mean}
_TABLES = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}


def _bases() -> Iterator[Fold]:
    for op, computes in _PAIRS.items():
        table = _TABLES.get(op, "")
        yield Fold(op, (FIRST, SECOND), computes, "int32", table, {"fusedActivationFunction": 0} if table else {})
        for dtype in ("uint8", "int8", "int64", "int16", "bool", "float32", "uint32"):
            yield Fold(op, (_of([200, 3, 100], "int64").astype(dtype), _of([100, 3, 2], "int64").astype(dtype)), computes, dtype)
        yield Fold(op, (ints(2**31 - 1, -(2**31)), ints(2, -1)), computes)
        yield Fold(op, (ints(4, 2), ints(0, 1)), computes)
    for op, compute in _COMPARED.items():
        for dtype in ("int32", "int64", "uint8", "bool", "float32", "int16"):
            yield Fold(op, (FIRST.astype(dtype), SECOND.astype(dtype)), (compute,), "bool")
    for op, compute in (("LOGICAL_AND", np.logical_and), ("LOGICAL_OR", np.logical_or)):
        yield Fold(op, (_of([True, False], "bool"), _of([True], "bool")), (compute,), "bool")
    yield Fold("LOGICAL_NOT", (_of([True, False], "bool"),), (np.logical_not,), "bool")
    for op, rule in (("NEG", np.negative), ("ABS", np.abs), ("ZEROS_LIKE", np.zeros_like), ("SIGN", np.sign), ("SQUARE", np.square)):
        for dtype in ("int32", "int64", "float32", "uint8"):
            yield Fold(op, (FIRST.astype(dtype),), (rule,), dtype)
    for op, rule in _REDUCING.items():
        for keep in (False, True):
            yield Fold(op, (GRID, ints(1)), (_reduced(rule), _reduced_once(rule)), "int32", "ReducerOptions", {"keepDims": keep})
        yield Fold(op, (GRID.astype("uint8") * 100, ints(0, 1)), (_reduced(rule), _reduced_once(rule)), "uint8", "ReducerOptions")
    yield from _moving()
    yield from _making()


def _moving() -> Iterator[Fold]:
    yield Fold("RESHAPE", (GRID, ints(3, 2)), (lambda data, to, **_: data.reshape(_flat(to)), lambda data, _, newShape: data.reshape(_flat(newShape))), "int32", "ReshapeOptions", {"newShape": array([3, 2])})
    yield Fold("RESHAPE", (GRID, ints(-1, 2)), (lambda data, to, **_: data.reshape(_flat(to)), lambda data, to: data.reshape([-1 if each < 0 else each for each in _flat(to)])))
    yield Fold("RESHAPE", (GRID,), (lambda data, newShape: data.reshape(_flat(newShape)),), "int32", "ReshapeOptions", {"newShape": array([6])})
    yield Fold("TRANSPOSE", (GRID, ints(1, 0)), (lambda data, order: np.transpose(data, _flat(order)),))
    yield Fold("EXPAND_DIMS", (GRID, _of(0)), (lambda data, axis: np.expand_dims(data, _flat(axis)),))
    yield Fold("SQUEEZE", (GRID[:1],), (lambda data, squeezeDims: np.squeeze(data, _flat(squeezeDims)), lambda data, squeezeDims: np.squeeze(data)), "int32", "SqueezeOptions", {"squeezeDims": array([0])})  # noqa: ARG005
    yield Fold("TILE", (GRID, ints(2, 1)), (lambda data, times: np.tile(data, _flat(times)),))
    yield Fold("BROADCAST_TO", (GRID[:1], ints(2, 3)), (lambda data, to: np.broadcast_to(data, _flat(to)),))
    yield Fold("BROADCAST_ARGS", (ints(2, 1), ints(3)), (lambda a, b: np.broadcast_shapes(_flat(a), _flat(b)),))
    for axis in (0, 1):
        yield Fold("GATHER", (GRID, ints(1, 0)), (lambda data, at, axis, batchDims=0: np.take(data, at, axis=axis),), "int32", "GatherOptions", {"axis": axis, "batchDims": 0})  # noqa: ARG005, N803
    yield Fold("GATHER_ND", (GRID, ints(1, 2)), (lambda data, at: data[_flat(at)],))
    yield Fold("SLICE", (GRID, ints(0, 1), ints(2, 2)), (_cut,))
    yield Fold("SLICE", (FIRST, ints(1), ints(-1)), (_cut,))
    yield Fold("STRIDED_SLICE", (GRID, ints(0, 1), ints(2, 3), ints(1, 1)), (_strided,), "int32", "StridedSliceOptions", {"beginMask": 0, "endMask": 0, "shrinkAxisMask": 0})
    yield Fold("STRIDED_SLICE", (FIRST, ints(1), ints(2), ints(1)), (_strided,), "int32", "StridedSliceOptions", {"beginMask": 0, "endMask": 0, "shrinkAxisMask": 1})
    yield Fold("REVERSE_V2", (GRID, ints(1)), (lambda data, axes: np.flip(data, _flat(axes)),))
    for op in ("CONCATENATION", "PACK"):
        rule = np.concatenate if op == "CONCATENATION" else np.stack
        table = "ConcatenationOptions" if op == "CONCATENATION" else "PackOptions"
        more = {} if op == "CONCATENATION" else {"valuesCount": 2}

        def join(*parts: Array, axis: int = 0, rule: Any = rule, **_: Any) -> Array:  # noqa: ANN401 -- options
            return rule(parts, axis=axis)

        def join_flat(*parts: Array, axis: int = 0, rule: Any = rule, **_: Any) -> Array:  # noqa: ANN401 -- options
            return rule([np.atleast_1d(part) for part in parts], axis=axis)

        for one, two in ((FIRST, SECOND), (GRID, GRID), (_of(3), _of(4)), (FIRST.astype("int64"), FIRST.astype("int64"))):
            yield Fold(op, (one, two), (join, join_flat), one.dtype.name, table, {"axis": 0, **more})
    yield Fold("CUMSUM", (FIRST, _of(0)), (lambda data, axis: np.cumsum(data, int(axis)),))
    yield Fold("SELECT", (_of([True, False, True], "bool"), FIRST, SECOND), (np.where,))
    yield Fold("SELECT_V2", (_of([True], "bool"), FIRST, SECOND), (np.where,))


def _making() -> Iterator[Fold]:
    for dtype in ("int32", "int64", "float32"):
        yield Fold("RANGE", (_of(1, dtype), _of(8, dtype), _of(3, dtype)), (np.arange,), dtype)
    yield Fold("RANGE", (_of(8), _of(1), _of(-3)), (np.arange,))
    yield Fold("FILL", (ints(2, 3), _of(7)), (lambda to, value: np.full(_flat(to), value),))
    yield Fold("FILL", (ints(2, 0), _of(7)), (lambda to, value: np.full(_flat(to), value),))
    yield Fold("SHAPE", (GRID,), (lambda data, outType: data.shape,), "int32", "ShapeOptions", {"outType": 2})  # noqa: ARG005, N803
    yield Fold("RANK", (GRID,), (lambda data: data.ndim,))
    for one, two in itertools.permutations(("int32", "int64", "float32", "uint8", "int8", "bool", "int16"), 2):
        kinds = {"inDataType": KIND_OF[one], "outDataType": KIND_OF[two]}
        values = _of([-2.5, 300.75, 1, 0, 3e9, -1], "float64") if one == "float32" else _of([-2, 300, 1, 0], "int64")
        yield Fold("CAST", (values.astype(one),), (lambda data, **_: data,), two, "CastOptions", kinds)
    yield Fold("ONE_HOT", (ints(0, 2), _of(3), _of(1), _of(0)), (lambda at, depth, on, off, axis: np.where(np.arange(int(depth)) == at[..., None], on, off),), "int32", "OneHotOptions", {"axis": -1})  # noqa: ARG005
    yield Fold("PAD", (GRID, _of([[1, 0], [0, 0]])), (lambda data, by: np.pad(data, [tuple(map(int, each)) for each in by]),))
    for op, rule in (("ARG_MAX", np.argmax), ("ARG_MIN", np.argmin)):
        yield Fold(op, (GRID, _of(1)), (lambda data, axis, outputType, rule=rule: rule(data, axis=int(axis)),), "int32", f"{'ArgMax' if op == 'ARG_MAX' else 'ArgMin'}Options", {"outputType": 2})  # noqa: ARG005, N803


# --- out of the contract ----------------------------------------------------------------------------------------------


def _with(fold: Fold, at: int, operand: Array) -> Fold:
    return replace(fold, operands=(*fold.operands[:at], operand, *fold.operands[at + 1 :]))


def as_it_is(fold: Fold) -> Iterator[Fold]:
    yield fold
    yield replace(fold, table="", options=fold.options) if fold.table else fold


def operand_of_another_type(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        for dtype in ("int64", "int32", "int16", "uint8", "float32", "bool"):
            if dtype != operand.dtype.name:
                yield _with(fold, at, operand.astype(dtype))


def all_of_another_type(fold: Fold) -> Iterator[Fold]:
    for dtype in ("int64", "int16", "uint8", "float32", "int8", "bool"):
        other = replace(fold, operands=tuple(each.astype(dtype) for each in fold.operands))
        yield other
        yield replace(other, result=dtype)


def result_of_another_type(fold: Fold) -> Iterator[Fold]:
    for dtype in ("int64", "uint8", "bool", "float32", "int32"):
        if dtype != fold.result:
            yield replace(fold, result=dtype)


def operand_of_another_rank(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        yield _with(fold, at, operand[None])
        yield _with(fold, at, operand[..., None])
        yield _with(fold, at, operand.ravel())
        if operand.size:
            yield _with(fold, at, operand.ravel()[0])


def operand_with_other_values(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        if operand.dtype.kind not in "if" or not operand.size:
            continue
        for place in {0, operand.size - 1}:
            for value in (-1, -2, 0, 1, 2, 3, 7, -7, 100, *(EXTREMES if fold.op in _PAIRS else ())):
                if operand.dtype.kind == "i" and not np.iinfo(operand.dtype).min <= value <= np.iinfo(operand.dtype).max:
                    continue
                other = operand.copy()
                other.reshape(-1)[place] = value
                yield _with(fold, at, other)


def operand_longer(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        if operand.ndim:
            yield _with(fold, at, np.concatenate([operand, operand[-1:]]))
            yield _with(fold, at, operand[:-1])
            yield _with(fold, at, operand[:0])


def operand_more(fold: Fold) -> Iterator[Fold]:
    for operand in fold.operands:
        yield replace(fold, operands=(*fold.operands, operand))
    generous = tuple(lambda *given, rule=rule, **more: rule(*given[:-1], **more) for rule in fold.computes)
    yield replace(fold, operands=(*fold.operands, fold.operands[-1]), computes=generous)


def operand_less(fold: Fold) -> Iterator[Fold]:
    kept = fold.operands
    for at in range(len(kept)):
        generous = tuple(lambda *given, at=at, rule=rule, **more: rule(*given[:at], kept[at], *given[at:], **more) for rule in fold.computes)
        yield replace(fold, operands=kept[:at] + kept[at + 1 :], computes=(*fold.computes, *generous))


def options_changed(fold: Fold) -> Iterator[Fold]:
    for name, value in fold.options.items():
        others: Sequence[Any] = [not value] if isinstance(value, bool) else [None, value[:-1], value + 1] if isinstance(value, Array) else (-1, -2, 0, 1, 2, 3, 4, 5, 9, 100)
        for other in others:
            yield replace(fold, options={**fold.options, name: other})
            generous = tuple(lambda *given, rule=rule, name=name, value=value, **more: rule(*given, **{**more, name: value}) for rule in fold.computes)
            yield replace(fold, options={**fold.options, name: other}, computes=generous)


def of_a_shape(fold: Fold) -> Iterator[Fold]:
    """Operand 0 is the SHAPE of an input: values that a reader knows without a constant."""
    for dtype in ("int32", "int64"):
        for values in ((2, 3), (300, 1), (1,), (2, 3, 4)):
            yield replace(_with(fold, 0, _of(values, dtype)), shape=True)
            yield replace(_with(fold, 0, _of(values, dtype)), shape=True, result=dtype)


DEVIATIONS: Mapping[str, Callable[[Fold], Iterator[Fold]]] = {
    f"folded_{change.__name__}": change
    for change in (
        as_it_is, operand_of_another_type, all_of_another_type, result_of_another_type, operand_of_another_rank,
        operand_with_other_values, operand_longer, operand_more, operand_less, options_changed, of_a_shape,
    )
}  # fmt: skip


# --- as files ---------------------------------------------------------------------------------------------------------


def bases() -> list[Fold]:
    """Every operator of constants, as its contract has it."""
    return list(_bases())


def folded(fold: Fold) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of files: one holds a value, the other has the operator in its place."""
    for value in fold.values():
        yield _file(fold, value, computed=False), _file(fold, value, computed=True)
        if value.dtype.kind == "i" and value.ndim == 1 and 0 < value.size < 5 and set(value.tolist()) <= set(range(1, 8)):
            yield _file(fold, value, computed=False, sizes=True), _file(fold, value, computed=True, sizes=True)


def _file(fold: Fold, value: Array, *, computed: bool, sizes: bool = False) -> bytes:
    """`y = SELECT_V2(c, value, x)`, or `y = BROADCAST_TO(x, value)` for `sizes`; the value held or computed."""
    model = schema.ModelT()
    model.version, model.operatorCodes, model.buffers = 3, [], [schema.BufferT()]
    graph = schema.SubGraphT()
    graph.tensors, graph.name = [], b"main"
    model.subgraphs = [graph]
    draft = Draft(model, graph)
    x = draft.tensor((), KIND_OF["float32" if sizes else value.dtype.name])
    inputs, operators = [x], []
    if fold.shape:
        shaped = draft.tensor([int(each) for each in fold.operands[0].ravel()], KIND_OF["bool"])
        inputs.append(shaped)
    if not computed:
        held = draft.constant(value, value.dtype.name)
    else:
        operands = [draft.constant(each, each.dtype.name) for each in fold.operands[fold.shape :]]
        if fold.shape:
            made = draft.tensor(fold.operands[0].shape, KIND_OF[fold.operands[0].dtype.name])
            kind = options("ShapeOptions", outType=graph.tensors[made].type)
            operators.append(draft.operator(CODES.SHAPE, [shaped], [made], kind))
            operands.insert(0, made)
        held = draft.tensor(value.shape, KIND_OF[value.dtype.name])
        table = options(fold.table, **fold.options) if fold.table else None
        operators.append(draft.operator(getattr(CODES, fold.op), operands, [held], table))
    if sizes:
        y = draft.tensor(value.tolist(), KIND_OF["float32"])
        operators.append(draft.operator(CODES.BROADCAST_TO, [x, held], [y], None, 2))
    else:
        condition, y = draft.tensor((), KIND_OF["bool"]), draft.tensor(value.shape, KIND_OF[value.dtype.name])
        inputs.append(condition)
        operators.append(draft.operator(CODES.SELECT_V2, [condition, held, x], [y]))
    graph.inputs, graph.outputs, graph.operators = array(inputs), array([y]), operators
    for at, tensor in zip((*inputs, y), (b"x", b"second", b"third", b"y")[: len(inputs)] + (b"y",), strict=True):
        graph.tensors[at].name = tensor
    return packed(model)
