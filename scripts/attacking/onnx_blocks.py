"""Build random ONNX graphs: each function appends a few nodes to a draft, without bodies such as those of If or Loop.

A function appends nothing if no value of the draft fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from attacking.onnx_draft import KINDS, meet

if TYPE_CHECKING:
    from attacking.onnx_draft import Draft, Value

UNARY = (
    "Relu",
    "Neg",
    "Abs",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Floor",
    "Identity",
    "Sqrt",
    "LeakyRelu",
    "Elu",
    "Softplus",
    "Ceil",
)
BINARY = ("Add", "Mul", "Sub", "Div", "Max", "Min", "Pow", "PRelu")
WIDTH = 3
"""The size of the last axis of most values."""


def unary(draft: Draft) -> None:
    """Append an elementwise operator of one operand."""
    value = draft.some()
    more = {"alpha": draft.rng.choice([0.01, 0.25])} if (op := draft.rng.choice(UNARY)) in ("LeakyRelu", "Elu") else {}
    draft.node(op, [value], value.kind, value.shape, **more)


def _partner(draft: Draft, value: Value) -> Value:
    """Return a second operand for a node that reads `value`, of the same type.

    The operand is another value of the draft that certainly broadcasts with `value`, or a new constant.
    """
    found = draft.find(lambda other: other.kind == value.kind and meet(value.shape, other.shape) is not None)
    if found is not None and draft.rng.random() < 0.6:
        return found
    tail = [dim if isinstance(dim, int) and draft.rng.random() < 0.7 else 1 for dim in value.shape]
    return draft.weights(*tail[draft.rng.randint(0, len(tail)) :], kind=value.kind)


def binary(draft: Draft, kind: str = "float32") -> None:
    """Append an elementwise operator that broadcasts two operands of the type `kind`."""
    value = draft.some(kind)
    other = _partner(draft, value)
    shape = meet(value.shape, other.shape)
    assert shape is not None  # noqa: S101 - by construction
    operator = draft.rng.choice(BINARY if kind == "float32" else BINARY[:3])
    if operator == "PRelu":
        if len(other.shape) > len(value.shape) or shape != value.shape:
            operator = "Add"
        draft.node(operator, [value, other], kind, shape)
        return
    operands = [value, other] if draft.rng.random() < 0.5 else [other, value]
    draft.node(operator, operands, kind, shape)


def integers(draft: Draft) -> None:
    """Append an Add, Mul or Sub of int32 or int64."""
    binary(draft, draft.rng.choice(["int32", "int64"]))


def choice(draft: Draft) -> None:
    """Append a comparison, and a Where that selects by its result (the Where from operator set 9 on)."""
    value = draft.some()
    other = _partner(draft, value)
    shape = meet(value.shape, other.shape)
    assert shape is not None  # noqa: S101 - by construction
    condition = draft.node(draft.rng.choice(["Less", "Greater"]), [value, other], "bool", shape)
    if draft.opset > 8:
        draft.node("Where", [condition, value, other], "float32", shape)


def product(draft: Draft) -> None:
    """Append a MatMul by constant weights and an Add of a bias."""
    value = draft.some(rank=draft.rng.choice([2, 3]))
    last = value.shape[-1]
    if not isinstance(last, int):
        return
    columns = draft.rng.choice([1, 2, 3])
    made = draft.node("MatMul", [value, draft.weights(last, columns)], "float32", (*value.shape[:-1], columns))
    draft.node("Add", [made, draft.weights(columns)], "float32", made.shape)


def gemm(draft: Draft) -> None:
    """Append a Gemm whose third operand broadcasts."""
    value = draft.some(rank=2)
    last = value.shape[-1]
    if isinstance(last, int):
        columns = draft.rng.choice([2, 3])
        bias = draft.weights(*draft.rng.choice([(), (columns,), (1, columns), (1, 1), (1,)]))
        draft.node(
            "Gemm",
            [value, draft.weights(last, columns), bias],
            "float32",
            (value.shape[0], columns),
            beta=draft.rng.choice([1.0, 0.5]),
        )


def transpose(draft: Draft) -> None:
    """Append a Transpose with a random order of the axes."""
    value = draft.some()
    if not value.rank:
        return
    order = list(range(value.rank))
    draft.rng.shuffle(order)
    draft.node("Transpose", [value], value.kind, tuple(value.shape[axis] for axis in order), perm=order)


def lift(draft: Draft) -> None:
    """Append an Unsqueeze at a random axis, or a Squeeze of an axis of size 1."""
    value = draft.some()
    units = [axis for axis, dim in enumerate(value.shape) if dim == 1]
    if units and draft.rng.random() < 0.5:
        axis = draft.rng.choice(units)
        draft.moved("Squeeze", value, [axis], value.shape[:axis] + value.shape[axis + 1 :])
    elif value.rank < 4:
        axis = draft.rng.randint(0, value.rank)
        draft.moved("Unsqueeze", value, [axis], (*value.shape[:axis], 1, *value.shape[axis:]))


def reduction(draft: Draft) -> None:
    """Append a reduction of one axis. ReduceSum drops the axis, and the other operators keep the axis with size 1."""
    value = draft.some()
    if not value.rank:
        return
    axis = draft.rng.randrange(value.rank)
    if draft.rng.random() < 0.4:
        draft.moved("ReduceSum", value, [axis], value.shape[:axis] + value.shape[axis + 1 :])
        return
    operator = draft.rng.choice(["ReduceMax", "ReduceMean", "ReduceMin", "ReduceL2"])
    shape = (*value.shape[:axis], 1, *value.shape[axis + 1 :])
    if draft.opset < 18:
        draft.node(operator, [value], value.kind, shape, axes=[axis])
    else:
        draft.node(operator, [value, draft.constant([axis])], value.kind, shape)


def softmax(draft: Draft) -> None:
    """Append a Softmax or LogSoftmax along the last axis."""
    value = draft.some()
    if value.rank:
        axis = value.rank - 1
        draft.node(draft.rng.choice(["Softmax", "LogSoftmax"]), [value], "float32", value.shape, axis=axis)


def concat(draft: Draft) -> None:
    """Append a Concat of a value with itself, or with another value of the same shape."""
    value = draft.some()
    axes = [axis for axis, dim in enumerate(value.shape) if isinstance(dim, int)]
    if not axes:
        return
    axis = draft.rng.choice(axes)
    other = draft.find(lambda one: one.kind == value.kind and one.shape == value.shape) or value
    shape = (*value.shape[:axis], 2 * value.shape[axis], *value.shape[axis + 1 :])
    draft.node("Concat", [value, other], value.kind, shape, axis=axis)


def gather(draft: Draft) -> None:
    """Append a Gather with constant indices, along an axis of constant size."""
    value = draft.some()
    axes = [axis for axis, dim in enumerate(value.shape) if isinstance(dim, int)]
    if axes:
        axis = draft.rng.choice(axes)
        size = value.shape[axis]
        at = np.array([draft.rng.randint(0, size - 1) for _ in range(draft.rng.randint(1, 3))], np.int64)
        draft.node(
            "Gather",
            [value, draft.constant(at)],
            value.kind,
            (*value.shape[:axis], len(at), *value.shape[axis + 1 :]),
            axis=axis,
        )


def slice_(draft: Draft) -> None:
    """Append a Slice of one axis, with negative steps and with extreme ends such as `2**63 - 1` among the choices."""
    value = draft.some()
    axes = [axis for axis, dim in enumerate(value.shape) if isinstance(dim, int)]
    if not axes or draft.opset < 10:
        return
    axis = draft.rng.choice(axes)
    size = value.shape[axis]
    start, end, step = draft.rng.choice(
        [
            (0, size, 1),
            (1, 2**31 - 1, 1),
            (0, 2**63 - 1, 2),
            (-1, -(2**31), -1),
            (size - 1, -(2**63), -1),
            (0, 2**31 - 1, -1),
            (0, -1, 1),
            (-2, 2**63 - 1, 1),
        ]
    )
    count: int | str = len(range(*slice(start, end, step).indices(size)))
    if step < 0 < end:
        # onnxruntime's kernel and onnxruntime's shape inference at load time interpret this end differently
        count = draft.fresh("?s")
    if not count:
        return
    operands = [value, *(draft.constant([number]) for number in (start, end, axis, step))]
    draft.node("Slice", operands, value.kind, (*value.shape[:axis], count, *value.shape[axis + 1 :]))


def collapse(draft: Draft) -> None:
    """Reduce a value to one number, and add the number to a new small input.

    After that, the runtime may use the memory of the reduced value for other results. A wrong buffer size then changes
    them.
    """
    value = draft.some()
    total = draft.node("ReduceMax", [value], value.kind, (), keepdims=0)
    size = draft.rng.choice([2, 3, 4])
    other = draft.input("float32", (1,) * (value.rank - 1) + (size,) if value.rank else (size,))
    draft.node("Add", [other, total], "float32", other.shape)


def reshape(draft: Draft) -> None:
    """Append a Reshape that adds an axis of size 1. Its constant target contains -1 for a size that is not constant."""
    value = draft.some()
    free = [axis for axis, dim in enumerate(value.shape) if not isinstance(dim, int)]
    if len(free) > 1 or value.rank > 4:
        return
    target = [dim if isinstance(dim, int) else -1 for dim in value.shape]
    shape = list(value.shape)
    place = draft.rng.randint(0, len(target))
    target.insert(place, 1)
    shape.insert(place, 1)
    draft.node("Reshape", [value, draft.constant(target)], value.kind, tuple(shape))


def computed_shape(draft: Draft) -> None:
    """Append an Expand or Reshape whose target shape is computed by a Shape operator."""
    value = draft.some()
    if not value.rank or value.rank > 3 or draft.opset < 9:
        return
    sizes = draft.node("Shape", [value], "int64", (value.rank,))
    if draft.rng.random() < 0.5:
        small = draft.weights(*(1,) * draft.rng.randint(0, value.rank))
        draft.node("Expand", [small, sizes], "float32", value.shape)
        return
    target = draft.node("Concat", [sizes, draft.constant([1])], "int64", (value.rank + 1,), axis=0)
    draft.node("Reshape", [value, target], "float32", (*value.shape, 1))


def cast(draft: Draft) -> None:
    """Append a Cast to another type, often an Unsqueeze, and a Cast back to float32."""
    value = draft.some()
    kind = draft.rng.choice(
        ["float16", "float64", "bfloat16", "int32", "bool"] + ["float8_e4m3fn"] * (draft.opset > 18)
    )
    made = draft.node("Cast", [value], kind, value.shape, to=KINDS[kind])
    if value.rank < 4 and kind in ("float16", "float64", "int32") and draft.opset > 12:
        made = draft.moved("Unsqueeze", made, [0], (1, *value.shape))
    draft.node("Cast", [made], "float32", made.shape, to=KINDS["float32"])


def strings(draft: Draft) -> None:
    """Append an operator on strings: StringConcat, Equal or Concat, as the operator set allows."""
    value = draft.some("str", rank=2, static=True)
    words = draft.constant(np.array(["a", "b", ""][: value.shape[-1]] if value.shape[-1] <= 3 else ["a"], object))
    shape = meet(value.shape, words.shape)
    if shape is None:
        return
    if draft.opset >= 20 and draft.rng.random() < 0.6:
        draft.node("StringConcat", [value, words], "str", shape)
    elif draft.opset >= 19:
        draft.node("Equal", [value, words], "bool", shape)
    else:
        draft.node("Concat", [value, value], "str", (2 * value.shape[0], value.shape[1]), axis=0)


def quantized(draft: Draft) -> None:
    """Append a QuantizeLinear and a DequantizeLinear, with one scale or one scale for each element of the last axis.

    From operator set 21 on, a DequantizeLinear of constant int4 weights is sometimes appended instead.
    """
    value = draft.some()
    last = value.shape[-1] if value.shape else None
    if draft.opset < 13:
        return
    if draft.opset >= 21 and isinstance(last, int) and draft.rng.random() < 0.4:
        name = draft.fresh("c")
        numbers = [draft.rng.randint(-8, 7) for _ in range(last)]
        draft.constants.append(helper.make_tensor(name, KINDS["int4"], [last], numbers))
        scale = draft.constant(np.array(0.5, np.float32))
        made = draft.node("DequantizeLinear", [name, scale], "float32", (last,))
        draft.node("Mul", [value, made], "float32", value.shape)
        return
    by_axis = isinstance(last, int) and draft.rng.random() < 0.5
    scale = draft.constant(np.linspace(0.1, 0.5, last, dtype=np.float32) if by_axis else np.array(0.25, np.float32))
    zero = draft.constant(np.full(scale.shape, draft.rng.choice([0, 3]), np.uint8))
    more = {"axis": value.rank - 1} if by_axis else {}
    made = draft.node("QuantizeLinear", [value, scale, zero], "uint8", value.shape, **more)
    draft.node("DequantizeLinear", [made, scale, zero], "float32", value.shape, **more)
