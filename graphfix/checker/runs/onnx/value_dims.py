"""Propagate dims from a model's inputs to its values: numbers, and the labels of the inputs' free dims.

The dims are used only to choose sizes and inputs for runs. So a wrong dim can result in a refused run, but never in a
wrong verdict. Source: the ONNX operator specification, and onnxruntime's docs/ContribOperators.md.
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
"""One dim for each axis; None for an unknown dim."""

_LIKE_FIRST: Final = frozenset(op for _, op in UNARY) | frozenset(
    "SimplifiedLayerNormalization SkipSimplifiedLayerNormalization SkipLayerNormalization LayerNormalization"
    " RMSNormalization RotaryEmbedding BiasGelu FastGelu QuickGelu Gelu QuantizeLinear DequantizeLinear"
    " DynamicQuantizeLinear Softmax Clip Dropout".split()
)
"""Operators whose first result has the dims of operand 0."""
_SUM: Final = 3
"""The number of the result of Skip*LayerNormalization that is the sum. The sum has the dims of operand 0, too."""
_PASSING: Final = frozenset({"Cast", "Identity", "Squeeze", "Unsqueeze", "Reshape"})
"""Operators that do not change the element of a tensor with a single element."""


@dataclass(frozen=True, slots=True)
class ValueDims:
    """The dims of the values of a main graph, by name."""

    graph: NestedGraph
    dims: Mapping[str, Dims] = field(repr=False)

    def dim(self, name: str, axis: int) -> Dim | None:
        """Return one dim of a value; None if it is unknown or the value has no such axis."""
        dims = self.dims.get(name)
        return dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else None

    def number(self, name: str) -> Dim | None:
        """Return the element of an integer value with one element, if it is a constant or a size that a Shape returns.

        The result is a number or a label; None if unknown.
        """
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
    """Return the dims of the values in the main graph of a model, which needs no weights.

    If no rule determines a dim, the dim that the file stores for the value is used.
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
    """Return the dims with unknown ones replaced by the stored ones."""
    if dims is None or stored is None or len(dims) != len(stored):
        return stored if dims is None else dims
    return tuple(other if dim is None else dim for dim, other in zip(dims, stored, strict=True))


def _ruled(value_dims: ValueDims, node: onnx.NodeProto, place: int) -> Dims | None:
    """Return the dims of result number `place` of a node by the rule of its operator; None if there is no rule."""
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
    """Return the dims of the broadcast of all operands; None if the rank of an operand is unknown."""
    shapes = [dims for dims in operands if dims is not None]
    if len(shapes) < len(operands):
        return None
    rank = max(map(len, shapes))
    aligned = ((1,) * (rank - len(dims)) + dims for dims in shapes)
    return tuple(_broadcast_dim(set(axis) - {1}) for axis in zip(*aligned, strict=True))


def _broadcast_dim(dims: set[Dim | None]) -> Dim | None:
    """Return the broadcast of these dims, all of which differ from 1. A number has priority over labels.

    Return 1 for no dims, and None if two numbers or two labels differ.
    """
    numbers = {dim for dim in dims if isinstance(dim, int)} or dims
    return next(iter(numbers), 1) if len(numbers) < 2 else None  # noqa: PLR2004 - of two dims neither is the result for certain


def _product(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    """Return the dims of a MatMul: those of operand 0, with the last one replaced by that of operand 1.

    Return None if the rank of operand 1 exceeds that of operand 0, or if a rank is below 2.
    """
    second = value_dims.dims.get(node.input[1])
    rank = 2
    if second is None or len(second) < rank or len(first) < max(rank, len(second)):
        return None
    return (*first[:-1], second[-1])


def _quantized_product(_: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims:
    """Return the dims of MatMulNBits or MatMulBnb4: those of operand 0, with the last one replaced by attribute N."""
    return (*first[:-1], integer_attribute(node, "N", 0) or None)


def _gather(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    """Return the dims of a Gather: the gathered axis of operand 0 is replaced by the axes of the indices."""
    indices, axis = value_dims.dims.get(node.input[1]), integer_attribute(node, "axis", 0)
    if indices is None or not -len(first) <= axis < len(first):
        return None
    axis %= len(first)
    return (*first[:axis], *indices, *first[axis + 1 :])


def _gather_quantized(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    """Return the dims of GatherBlockQuantized along axis 0; None for another axis.

    The size of the quantized axis is computed from the scales (operand 2), because the data may pack several elements
    in one.
    """
    scales, indices = value_dims.dims.get(node.input[2]), value_dims.dims.get(node.input[1])
    axis = integer_attribute(node, "quantize_axis", 1) % len(first)
    if scales is None or indices is None or len(scales) != len(first) or integer_attribute(node, "gather_axis", 0):
        return None
    blocks = scales[axis]
    size = blocks * integer_attribute(node, "block_size", 128) if isinstance(blocks, int) else None
    return (*indices, *first[1:axis], size, *first[axis + 1 :])


def _reshape(value_dims: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    """Return the dims of a Reshape to a constant shape. A size of -1 is unknown, and 0 copies the size of operand 0."""
    target = constant(value_dims.graph, node.input[1])
    if target is None or target.ndim != 1:
        return None
    sizes: list[int] = target.tolist()
    return tuple(
        None if size < 0 else size or (first[axis] if axis < len(first) else None) for axis, size in enumerate(sizes)
    )


def _transpose(_: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims | None:
    """Return the dims of a Transpose; None if the permutation is invalid."""
    order = next((list(a.ints) for a in node.attribute if a.name == "perm"), list(range(len(first)))[::-1])
    return tuple(first[axis] for axis in order) if sorted(order) == list(range(len(first))) else None


def _attention(_: ValueDims, node: onnx.NodeProto, first: Dims) -> Dims:
    """Return the dims of GroupQueryAttention's first result, which are those of the queries.

    If queries, keys and values are packed in operand 0, the last dim is reduced to the part of the queries.
    """
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
