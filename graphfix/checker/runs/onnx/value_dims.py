"""Propagate dims from a model's inputs to its values: numbers, and the labels of the inputs' free dims.

The dims only choose sizes and inputs for runs, so a wrong dim costs a refused run and never a wrong verdict.
Source: the ONNX operator specification, and onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.files.onnx.graphs import NestedGraph, constant, integer_attribute, nested_graphs
from graphfix.checker.files.onnx.operators import UNARY
from graphfix.checker.runs.inputs.interface import onnx_dims
from graphfix.checker.runs.onnx.derived_sizes import BROADCASTING
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

    from graphfix.checker.runs.inputs.interface import Dim

Dims = tuple["Dim | None", ...]
"""One dim for each axis; None if it is unknown."""

_LIKE_FIRST: Final = frozenset(op for _, op in UNARY) | frozenset(
    "SimplifiedLayerNormalization SkipSimplifiedLayerNormalization SkipLayerNormalization LayerNormalization"
    " RMSNormalization RotaryEmbedding BiasGelu FastGelu QuickGelu Gelu QuantizeLinear DequantizeLinear"
    " DynamicQuantizeLinear Softmax Clip Dropout".split()
)
"""Operators whose first result has the dims of operand 0."""
_SUM: Final = 3
"""The result of Skip*LayerNormalization that is the sum: it has the dims of operand 0 too."""
_PASSING: Final = frozenset({"Cast", "Identity", "Squeeze", "Unsqueeze", "Reshape"})
"""Operators that do not change the element of a tensor with one element."""


@dataclass(frozen=True, slots=True)
class ValueDims:
    """The dims of the values of a main graph."""

    graph: NestedGraph
    dims: Mapping[str, Dims] = field(repr=False)

    def dim(self, name: str, axis: int) -> Dim | None:
        """Return one dim of a value; None where it is not known, or the value has no such axis."""
        dims = self.dims.get(name)
        return dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else None

    def number(self, name: str) -> Dim | None:
        """Return the element of an integer value with one element, if it is a constant or an element of a Shape."""
        node = self.graph.producers.get(name)
        while node is not None and node.op_type in _PASSING:
            name = node.input[0]
            node = self.graph.producers.get(name)
        value = constant(self.graph, name)
        if value is not None:
            return int(value.item()) if value.size == 1 and value.dtype.kind in "iu" else None
        if node is None or node.op_type != "Gather":
            return None
        shape, index = self.graph.producers.get(node.input[0]), constant(self.graph, node.input[1])
        if shape is None or shape.op_type != "Shape" or shape.attribute or index is None or index.size != 1:
            return None
        return self.dim(shape.input[0], int(index.item()))


def value_dims(model: onnx.ModelProto) -> ValueDims:
    """Return the dims of the values in the main graph of a weightless model.

    Where no rule knows a dim, the dim that the file stores for the value is used.
    """
    main = next(nested_graphs(model.graph))
    stored = {value.name: onnx_dims(value) for value in (*model.graph.value_info, *model.graph.output)}
    dims_by_name: dict[str, Dims] = {name: tuple(tensor.dims) for name, tensor in main.tensors.items()}
    for value in model.graph.input:
        dims = onnx_dims(value, free=value.name)
        if dims is not None and value.name not in dims_by_name:
            dims_by_name[value.name] = dims
    found = ValueDims(main, dims_by_name)
    for node in model.graph.node:
        for place, name in enumerate(node.output):
            dims = _completed(_ruled(found, node, place), stored.get(name))
            if name and dims is not None:
                dims_by_name[name] = dims
    return found


def _completed(dims: Dims | None, stored: Dims | None) -> Dims | None:
    """Replace the unknown dims by the stored ones."""
    if dims is None or stored is None or len(dims) != len(stored):
        return stored if dims is None else dims
    return tuple(other if dim is None else dim for dim, other in zip(dims, stored, strict=True))


def _ruled(value_dims: ValueDims, node: onnx.NodeProto, place: int) -> Dims | None:
    if node.op_type == "Constant":
        value = None if place else constant(value_dims.graph, node.output[0])
        return None if value is None else value.shape
    operands = [value_dims.dims.get(name) for name in node.input]
    first = operands[0] if operands else None
    if first is None:
        return None
    if node.op_type in _LIKE_FIRST:
        return first if place in (0, _SUM) else None
    if place:
        return None
    if node.op_type in BROADCASTING:
        return _broadcast(operands)
    rule = _RULES.get(node.op_type)
    return None if rule is None else rule(value_dims, node, first)


def _broadcast(operands: list[Dims | None]) -> Dims | None:
    shapes = [dims for dims in operands if dims is not None]
    if len(shapes) < len(operands):
        return None
    rank = max(map(len, shapes))
    aligned = ((1,) * (rank - len(dims)) + dims for dims in shapes)
    return tuple(_broadcast_dim(set(axis) - {1}) for axis in zip(*aligned, strict=True))


def _broadcast_dim(dims: set[Dim | None]) -> Dim | None:
    """Return the broadcast dim of these dims, which are not 1: the number, if there is one."""
    numbers = {dim for dim in dims if isinstance(dim, int)} or dims
    return next(iter(numbers), 1) if len(numbers) < 2 else None  # noqa: PLR2004 - of two dims neither is the result for certain


def _product(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    """MatMul: the last axis is that of the second operand."""
    second = value_dims.dims.get(node.input[1])
    rank = 2
    if second is None or len(second) < rank or len(first) < max(rank, len(second)):
        return None
    return (*first[:-1], second[-1])


def _quantized_product(_: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims:
    """MatMulNBits, MatMulBnb4: attribute N counts the columns."""
    return (*first[:-1], integer_attribute(node, "N", 0) or None)


def _gather(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    indices, axis = value_dims.dims.get(node.input[1]), integer_attribute(node, "axis", 0)
    if indices is None or not -len(first) <= axis < len(first):
        return None
    axis %= len(first)
    return (*first[:axis], *indices, *first[axis + 1 :])


def _gather_quantized(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    """GatherBlockQuantized: scales count the blocks of the quantized axis, of which data may pack several elements."""
    scales, indices = value_dims.dims.get(node.input[2]), value_dims.dims.get(node.input[1])
    axis = integer_attribute(node, "quantize_axis", 1) % len(first)
    if scales is None or indices is None or len(scales) != len(first) or integer_attribute(node, "gather_axis", 0):
        return None
    blocks = scales[axis]
    size = blocks * integer_attribute(node, "block_size", 128) if isinstance(blocks, int) else None
    return (*indices, *first[1:axis], size, *first[axis + 1 :])


def _reshape(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    target = constant(value_dims.graph, node.input[1])
    if target is None or target.ndim != 1:
        return None
    sizes: list[int] = target.tolist()
    return tuple(
        None if size < 0 else size or (first[axis] if axis < len(first) else None) for axis, size in enumerate(sizes)
    )


def _transpose(_: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    order = next((list(a.ints) for a in node.attribute if a.name == "perm"), list(range(len(first)))[::-1])
    return tuple(first[axis] for axis in order) if sorted(order) == list(range(len(first))) else None


def _attention(_: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims:
    """GroupQueryAttention with queries, keys and values in one operand: the result has those of the queries."""
    last = first[-1]
    heads, groups = integer_attribute(node, "num_heads", 0), integer_attribute(node, "kv_num_heads", 0)
    if len(node.input) > 1 and not node.input[1] and isinstance(last, int):
        last = last // (heads + 2 * groups) * heads
    return (*first[:-1], last)


_RULES: dict[str, Callable[[ValueDims, onnx.NodeProto, Dims], Dims | None]] = {
    "MatMul": _product,
    "FusedMatMul": _product,
    "MatMulNBits": _quantized_product,
    "MatMulBnb4": _quantized_product,
    "Gather": _gather,
    "GatherBlockQuantized": _gather_quantized,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "GroupQueryAttention": _attention,
}
