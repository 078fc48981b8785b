"""Constants replaced by nodes that compute them, or would if they were in contract."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, helper, numpy_helper

from tests.support.pairs.onnx_inserted import OLD_AXES, Form, Maker, insert
from tests.support.pairs.onnx_parts import Edit, constants, graphs, kind, version_of


@kind("constant: computed by nodes", then=True)
def _computed(model: ModelProto, choose: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for name, array in constants(graph).items():
            if array.size <= 64 and array.dtype != object:
                with np.errstate(all="ignore"):
                    ways = list(_ways(array, name, version_of(model)))
                for form in ways:
                    yield lambda m, at=at, name=name, form=form: _compute(m, at, name, form)
    del choose


def _compute(model: ModelProto, at: int, name: str, form: Form) -> None:
    listed = graphs(model)[at].initializer
    for place, tensor in enumerate(listed):
        if tensor.name == name:
            listed.pop(place)
            break
    insert(model, at, form, 0)


def _ways(array: np.ndarray, name: str, version: int) -> Iterator[Form]:
    """Nodes that compute a constant, or would if they were in contract."""
    m, dtype = Maker("", name, version), str(array.dtype)
    element = helper.np_dtype_to_tensor_dtype(array.dtype)
    whole = m.constant(array, dtype)
    yield m.one(m.node("Identity", [whole]))
    for other in ("float32", "float64", "int32", "int64", "uint8", "bool"):
        if array.dtype.kind in "fiub":
            yield m.one(m.node("Cast", [m.constant(np.nan_to_num(array).astype(other), other)], to=element))
    if array.dtype.kind in "fiu" and array.dtype.itemsize < 16:
        yield from _arithmetic(m, array, dtype)
        yield from _filled(m, array, dtype, element)
    for shape in (array.shape, (-1,), (1, *array.shape)):
        yield m.one(m.node("Reshape", [m.constant(array.reshape(-1), dtype), m.constant(shape)]))
    yield m.one(m.node("Transpose", [m.constant(array.T, dtype)]))
    yield m.one(m.axes("Squeeze", m.constant(array[None], dtype), [0]))
    if array.ndim:
        yield m.one(m.axes("Unsqueeze", m.constant(array[0], dtype), [0]))
        yield m.one(m.node("Concat", [m.constant(array[:1], dtype), m.constant(array[1:], dtype)], axis=0))
        yield m.one(
            m.node("Gather", [m.constant(np.flip(array, 0), dtype), m.constant(np.arange(len(array))[::-1])], axis=0)
        )
        longer = np.concatenate([array, array[:1]])
        yield from _cut(m, array, longer, dtype)
        first = "Split"
        if version >= OLD_AXES:
            yield m.one(
                helper.make_node(
                    first, [m.constant(longer, dtype), m.constant([len(array), 1])], [name, "rest"], axis=0
                )
            )
    if array.ndim == 1 and array.dtype == np.int64:
        yield from _of_sizes(m, array)


def _arithmetic(m: Maker, array: np.ndarray, dtype: str) -> Iterator[Form]:
    one = np.ones((), dtype)
    with np.errstate(all="ignore"):
        yield m.one(m.node("Add", [m.constant(array - one, dtype), m.constant(one, dtype)]))
        yield m.one(m.node("Sub", [m.constant(array + one, dtype), m.constant(one, dtype)]))
        yield m.one(m.node("Mul", [m.constant(array, dtype), m.constant(one, dtype)]))
        yield m.one(m.node("Div", [m.constant(array, dtype), m.constant(one, dtype)]))
        for op in ("Max", "Min"):
            yield m.one(m.node(op, [m.constant(array, dtype), m.constant(array, dtype)]))
        if dtype[0] != "u":
            yield m.one(m.node("Neg", [m.constant(-array, dtype)]))
    where = [m.constant(np.ones(array.shape), "bool"), m.constant(array, dtype), m.constant(array * 0, dtype)]
    yield m.one(m.node("Where", where))
    if array.ndim:
        yield m.one(
            m.axes("ReduceSum", m.constant(array[None], dtype), [0], "summed"), m.axes("Squeeze", "summed", [0])
        )


def _filled(m: Maker, array: np.ndarray, dtype: str, element: int) -> Iterator[Form]:
    if array.size and (array == array.flat[0]).all():
        value = numpy_helper.from_array(array.reshape(-1)[:1])
        yield m.one(m.node("ConstantOfShape", [m.constant(array.shape)], value=value))
        yield m.one(m.node("Expand", [m.constant(array.flat[0], dtype), m.constant(array.shape)]))
        yield m.one(
            m.node(
                "Tile", [m.constant(array.reshape(-1)[:1].reshape([1] * array.ndim), dtype), m.constant(array.shape)]
            )
        )
    if array.ndim == 1 and len(array) > 1 and (np.diff(array) == array[1] - array[0]).all() and array[1] != array[0]:
        step = array[1] - array[0]
        yield m.one(m.node("Range", [m.constant(it, dtype) for it in (array[0], array[-1] + step, step)]))
        yield m.one(m.node("Range", [m.constant([it], dtype) for it in (array[0], array[-1] + step, step)]))
    del element


def _cut(m: Maker, array: np.ndarray, longer: np.ndarray, dtype: str) -> Iterator[Form]:
    if m.version < 10:
        yield m.one(m.node("Slice", [m.constant(longer, dtype)], starts=[0], ends=[len(array)]))
        return
    for starts, ends, axes in (([0], [-1], [0]), ([0], [-1], [-array.ndim]), ([0, 0], [-1, -1], [0, 0]), (0, -1, 0)):
        for kinds in (("int64",) * 3, ("int32",) * 3, ("int64", "int32", "int64")):
            read = [m.constant(it, dt) for it, dt in zip((starts, ends, axes), kinds, strict=True)]
            yield m.one(m.node("Slice", [m.constant(longer, dtype), *read]))


def _of_sizes(m: Maker, array: np.ndarray) -> Iterator[Form]:
    if (array >= 0).all() and array.prod() < 1000:
        made = m.node("ConstantOfShape", [m.constant(array)], "filled")
        yield m.one(made, m.node("Shape", ["filled"]))
        yield m.one(
            m.node("ConstantOfShape", [m.constant([*array, 3])], "filled"), m.node("Shape", ["filled"], start=0, end=-1)
        )
    yield m.one(
        m.node("NonZero", [m.constant([1] * len(array))], "found"), m.node("Gather", [m.constant(array), "found"])
    )
