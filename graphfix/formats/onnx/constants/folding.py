"""Evaluate nodes before the model runs, if their elements follow from constants and from sizes that are constant.

Only operations that every runtime computes to the same bits are evaluated. They are data movement, integer arithmetic,
comparisons, and the float32 and float64 operations that IEEE 754 rounds correctly. onnx's reference evaluator computes
them. It is called only for nodes that the specification allows (`contract.allowed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from graphfix.formats.onnx.constants.contract import allowed
from graphfix.graph.view import Node, Scalar, Value
from graphfix.results.onnx_messages import NodeProto, TensorProto
from graphfix.results.records import dataclass, field
from graphfix.results.runtime_facts import MOST_AXES

Array: TypeAlias = NDArray[Any]

LIMIT = 4096
"""The largest number of elements of a value that is cached, and of a constant that is read."""
MOST_BYTES = 1 << 62
"""The largest number of bytes of an array in numpy."""
MOST_COMPUTED = 1 << 20
"""The largest number of elements that one node may compute. Its operands may stretch each other to many elements."""
MOST_HELD = 1 << 27
"""The largest number of bytes of all cached values together. Further values count as unknown."""
MOVES = frozenset(
    "Identity Reshape Squeeze Unsqueeze Flatten Transpose Gather Slice Concat Split NonZero And Or Xor Not".split()
)
"""Operators that only move elements or combine booleans. They are evaluated for every element type."""
LOGIC = frozenset(("And", "Or", "Xor"))
"""The operators of MOVES whose operands broadcast."""
GROWS = frozenset(("Expand", "Tile", "ConstantOfShape"))
"""Operators that can make many elements from few.

They are evaluated only if the result's size is constant and small.
"""
WHOLE = frozenset("ReduceSum ReduceProd CumSum Range Mod".split())
"""Operators that are evaluated for integers only, because a float sum depends on the order of the additions.

A Range of floats is an exception if the floats are small integers (see `_counts`).
"""
COUNTED_UNTIL = 1 << 22
"""Integers below this number are exact in float32. So are their differences and the number of steps between them."""
ROUNDED_ONCE = frozenset(
    "Where Add Sub Mul Div Neg Abs Sign Floor Ceil Sqrt Min Max ReduceMin ReduceMax "
    "Equal Greater Less GreaterOrEqual LessOrEqual".split()
)
"""Operators whose results have the same bits in every runtime, for integers and for finite floats except -0.

onnxruntime's Where drops the sign of -0.
"""
SIZES = frozenset(("Shape", "Size"))
"""Operators whose result depends only on the operand's shape."""
FLOATS = ("float32", "float64")
CASTS = {
    TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64, TensorProto.BOOL: np.bool_,
    TensorProto.INT8: np.int8, TensorProto.INT16: np.int16, TensorProto.INT32: np.int32, TensorProto.INT64: np.int64,
    TensorProto.UINT8: np.uint8, TensorProto.UINT16: np.uint16, TensorProto.UINT32: np.uint32,
}  # fmt: skip
FOLDED = MOVES | GROWS | WHOLE | ROUNDED_ONCE | SIZES | {"Cast"}


@dataclass(slots=True, eq=False, repr=False)
class Evaluator:
    """The constant values of one view. Each value is computed once, when it is first requested."""

    message: Callable[[Node], NodeProto]
    """Returns the message of a node."""
    tensor: Callable[[Value], TensorProto | None]
    """Returns the tensor of a constant; None if its payload is not in memory."""
    _arrays: dict[Value, Array | None] = field(default_factory=dict)
    _held: int = 0
    """The number of bytes of the cached values."""

    def elements(self, value: Value) -> tuple[Scalar, ...] | None:
        """Return the elements of a value in row-major order; None if they are unknown before the run."""
        array = self.array(value)
        return None if array is None else tuple(array.reshape(-1).tolist())

    def array(self, value: Value) -> Array | None:
        """Return a value as an array; None if its elements are unknown before the run."""
        pending = [value]
        while pending:
            top = pending[-1]
            if top not in self._arrays:
                missing = [operand for operand in self._reads(top) if operand not in self._arrays]
                if missing:
                    pending += missing
                    continue
                self._enter(top)
            pending.pop()
        return self._arrays[value]

    def _reads(self, value: Value) -> Sequence[Value]:
        """Return the operands that are needed to evaluate a value; none for Shape and Size."""
        node = self._folded(value)
        if node is None or node.op in SIZES:
            return ()
        return [operand for operand in node.operands if operand is not None]

    def _folded(self, value: Value) -> Node | None:
        """Return the node of the file that computes a value, if its operator is in FOLDED; else None."""
        node = value.producer if value.kind == "result" else None
        if node is None or node.index < 0 or node.domain or node.op not in FOLDED:
            return None
        return node

    def _enter(self, value: Value) -> None:
        """Evaluate a value and cache the result. Its operands must be evaluated already."""
        self._arrays[value] = self._constant(value) if value.kind == "constant" else None
        node = self._folded(value)
        results = self._results(node) if node is not None else None
        if node is None:
            return
        if results is None:
            self._arrays[value] = _followed(value)
            return
        for result, array in zip(node.results, results, strict=False):
            if result is not None:
                self._arrays[result] = self._kept(array) if array is not None and _fits(result, array) else None

    def _kept(self, array: Array) -> Array | None:
        """Return the array to cache; None if the cache would exceed MOST_HELD bytes.

        A numpy view is copied, because its base array may be larger.
        """
        own = array if array.base is None else array.copy()
        self._held += own.nbytes
        return own if self._held <= MOST_HELD else None

    def _constant(self, value: Value) -> Array | None:
        """Return a constant as an array: an initializer, or the tensor or numbers of a Constant node.

        Returns None for a constant that is too large, has texts, or is not in memory.
        """
        tensor = self.tensor(value)
        if tensor is not None:
            if not _is_small(tensor.dims) or tensor.data_type == TensorProto.STRING:
                return None
            return np.asarray(onnx.numpy_helper.to_array(tensor))
        node, literal = value.producer, value.literal
        if node is None or literal is None or not _is_small(value.shape.numbers):
            return None
        if any(isinstance(it, (str, bytes)) for it in literal):
            return None
        return np.asarray(literal, np.float32 if value.dtype == "float32" else np.int64).reshape(value.shape.numbers)

    def _results(self, node: Node) -> Sequence[Array | None] | None:
        """Return the arrays of a node's results; None if they are unknown before the run."""
        if node.op in SIZES:
            value = node.operand(0)
            if not _sized(value) or len(value.shape.numbers) > MOST_AXES or prod(value.shape.numbers) > MOST_BYTES:
                return None
            message, empty = self.message(node), [np.broadcast_to(np.False_, value.shape.numbers)]
            return _run(message, node.version, empty) if allowed(message, node.version, empty) else None
        operands = [None if operand is None else self._arrays[operand] for operand in node.operands]
        absent = [operand is None for operand in node.operands]
        if any(array is None and not gap for array, gap in zip(operands, absent, strict=True)):
            return None
        message = self.message(node)
        if not allowed(message, node.version, operands):
            return None
        arrays = [array for array in operands if array is not None]
        if _computed(node, message, arrays) > MOST_COMPUTED or not _exact(node, message, arrays):
            return None
        return _run(message, node.version, operands)


def _computed(node: Node, message: NodeProto, arrays: Sequence[Array]) -> int:
    """Return an upper bound of the number of elements that a node computes. Its operands may stretch each other."""
    if node.op == "Gather" and len(arrays) == 2:  # noqa: PLR2004  # the data and the indices
        axis = next((attribute.i for attribute in message.attribute if attribute.name == "axis"), 0)
        data, indices = arrays
        others: int = prod(size for at, size in enumerate(data.shape) if at != axis % max(1, data.ndim))
        return int(indices.size) * others
    if node.op in MOVES - LOGIC or node.op in WHOLE - {"Mod"}:
        return sum(int(array.size) for array in arrays)
    ranks = max((array.ndim for array in arrays), default=0)
    padded = [(1,) * (ranks - array.ndim) + array.shape for array in arrays]
    return prod(max(sizes) for sizes in zip(*padded, strict=True)) if all(array.size for array in arrays) else 0


def _is_small(dims: Sequence[int]) -> bool:
    """Return whether a constant with these sizes is small enough to be read as an array."""
    return len(dims) <= MOST_AXES and prod(dims) <= LIMIT


def _followed(value: Value) -> Array | None:
    """Return an int64 vector whose elements are sizes, if shape inference determined all of them; else None."""
    content = value.content if value.dtype == "int64" else None
    if content is None or not content.static or not _sized(value) or prod(value.shape.numbers) != content.rank:
        return None
    if len(value.shape.numbers) > MOST_AXES:
        return None
    return np.asarray(content.dims, np.int64).reshape(value.shape.numbers)


def _sized(value: Value) -> bool:
    """Return whether every size of a value is a number, and the stored shape does not contradict the computed one."""
    return value.stale is None and value.shape.static


def _fits(value: Value, array: Array) -> bool:
    """Return whether an array has the shape and the type that the view states, and at most LIMIT elements."""
    shape = value.shape
    ranked = not shape.ranked or (
        len(shape.dims) == array.ndim
        and all(not isinstance(size, int) or size == have for size, have in zip(shape.dims, array.shape, strict=True))
    )
    return ranked and array.size <= LIMIT and value.stale is None and value.dtype in ("?", array.dtype.name)


def _exact(node: Node, message: NodeProto, arrays: Sequence[Array]) -> bool:
    """Return whether every runtime computes the same bits for these operands, and the result is small."""
    if node.op in GROWS:
        result = node.results[0]
        return result is not None and _sized(result) and prod(result.shape.numbers) <= LIMIT
    if node.op == "Cast":
        return _casts(message, arrays[0])
    if not _defined(node, message, arrays):
        return False
    if node.op in WHOLE:
        counts = node.op == "Range" and all(map(_counts, arrays))
        return counts or all(array.dtype.kind in "iu" for array in arrays)
    return node.op in MOVES or all(map(_plain, arrays))


def _defined(node: Node, message: NodeProto, arrays: Sequence[Array]) -> bool:
    """Return whether the specification defines the result for these operands."""
    match node.op:
        case "Sqrt":
            return not bool((arrays[0] < 0).any())
        case "Div" | "Mod":
            return _divides(message, *arrays)
        case "Range":
            return _short(*arrays)
        case _:
            return True


def _plain(array: Array) -> bool:
    """Return whether all elements are integers or booleans, or finite floats (float32, float64) other than -0."""
    if array.dtype.kind in "iub":
        return True
    return array.dtype.name in FLOATS and bool(
        np.isfinite(array).all() and not (np.signbit(array) & (array == 0)).any()
    )


def _counts(array: Array) -> bool:
    """Return whether all elements are integers with an absolute value below COUNTED_UNTIL. Their type may be float."""
    return _plain(array) and bool((np.abs(array) < COUNTED_UNTIL).all() and (array == np.floor(array)).all())


def _divides(message: NodeProto, left: Array, right: Array) -> bool:
    """Return whether every rounding rule gives the same quotient and remainder.

    No divisor may be 0, and integers must not be negative. A Mod with `fmod` is refused.
    """
    if any(attribute.name == "fmod" and attribute.i for attribute in message.attribute):
        return False
    return bool((right != 0).all()) and (left.dtype.kind == "f" or bool((left >= 0).all() and (right > 0).all()))


def _short(start: Array, stop: Array, step: Array) -> bool:
    """Return whether a Range has at most LIMIT elements and its step is not 0."""
    return bool((step != 0).all() and (np.abs(stop - start) <= LIMIT * np.abs(step)).all())


def _casts(message: NodeProto, array: Array) -> bool:
    """Return whether every runtime casts these elements to the same bits.

    The new type must be one of CASTS. If it is an integer type, each element must be in its range.
    """
    target = next((attribute.i for attribute in message.attribute if attribute.name == "to"), 0)
    kind = CASTS.get(TensorProto.DataType.ValueType(target))
    if kind is None or not _plain(array):
        return False
    if not np.issubdtype(kind, np.integer) or not array.size:
        return True
    low, high = int(array.min()), int(array.max())  # A float is rounded towards zero.
    return bool(np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def _run(message: NodeProto, version: int, operands: Sequence[Array | None]) -> Sequence[Array | None] | None:
    """Evaluate one node with onnx's reference evaluator, and return the arrays of its results.

    Returns None if the evaluator refuses the operands. A runtime would refuse them too.
    """
    from onnx.reference import ReferenceEvaluator  # The import lasts 0.3 s, so it happens only if a rewrite needs it.

    alone = NodeProto()
    alone.CopyFrom(message)
    names = [f"operand_{at}" if array is not None else "" for at, array in enumerate(operands)]
    alone.input[:] = names
    alone.domain = ""
    graph = onnx.GraphProto(name="alone", node=[alone])
    feeds = {name: array for name, array in zip(names, operands, strict=True) if array is not None}
    for name in feeds:
        graph.input.add(name=name)
    wanted = [name for name in message.output if name]
    for name in wanted:
        graph.output.add(name=name)
    model = onnx.ModelProto(ir_version=8, opset_import=[onnx.helper.make_opsetid("", version)], graph=graph)
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model).run(None, feeds)
    except (ArithmeticError, IndexError, RuntimeError, TypeError, ValueError):
        return None
    results = dict(zip(wanted, found, strict=True))
    return [np.asarray(results[name]) if name else None for name in message.output]
