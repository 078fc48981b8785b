"""Lift and stretch operands of an ONNX model. A constant is changed in place if no other node reads it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import prod

from graphfix.formats.onnx.edit.dequantized import digest_of
from graphfix.formats.onnx.edit.new_nodes import EXPAND_SINCE
from graphfix.formats.onnx.edit.quantized import (
    axis_behind,
    edited_in_front,
    moves_by_node,
    set_axis,
)
from graphfix.formats.onnx.edit.state import State
from graphfix.formats.onnx.file.tensors import tensor_of
from graphfix.formats.onnx.view import onnx_type, scalars
from graphfix.graph.edits import Refused, Stretch
from graphfix.graph.liveness import is_live
from graphfix.graph.quantizers import DEQUANTIZE, QUANTIZE, is_quantizer
from graphfix.graph.view import Node, Value
from graphfix.results.onnx_messages import NodeProto, TensorProto
from graphfix.shapes.dim import Shape
from graphfix.shapes.shape import with_axes


def lift(state: State, value: Value, axes: tuple[int, ...], reader: Node, *, alone: bool = True) -> Value:
    """Return `value` with unit axes at the positions `axes` of the result, for the node `reader`.

    A constant is copied, or changed in place if `alone` is True and nothing else uses it. A dequantized value is lifted
    in front of its DequantizeLinear if possible. Other values are lifted by a new node.
    """
    tensor = _constant_tensor(state, value) if value.kind == "constant" else None
    if tensor is not None:
        return _lift_constant(state, value, tensor, axes, reader, alone=alone)
    producer = _dequantize(state, value)
    if producer is not None and (_is_constant(producer) or moves_by_node(producer)):
        return _through(state, producer, axes, None, reader)
    builder = state.builders[reader.graph]
    content = value.content if value.kind == "overridable" and value.dtype == "int64" else None
    if content is not None and content.static and with_axes(value.shape, axes).rank == 1:
        # Before IR version 4 an overridable initializer can't be overridden, so its content is constant.
        return builder.integers(content.numbers, reader.index)
    return builder.lifted(value, axes, reader.index)


def _dequantize(state: State, value: Value) -> Node | None:
    """Return the DequantizeLinear that produces the value, if an edit must be made on its operand; else None."""
    producer = value.producer if state.quantizes else None
    if not is_quantizer(producer, DEQUANTIZE):
        return None
    return producer if edited_in_front(producer, state.builders[producer.graph].version) else None


def _is_constant(dequantize: Node) -> bool:
    """Return whether a DequantizeLinear reads a constant. The constant is lifted by its dims, without a node."""
    return dequantize.operand(0).kind == "constant"


def _constant_tensor(state: State, value: Value) -> TensorProto | None:
    """Return the tensor of a constant; None if there is none.

    A new tensor is returned if a Constant node stores numbers in another attribute (`value_float`, `value_ints` ...).
    """
    tensor = state.views.tensors.get(value)
    numbers = scalars(value, state.views) if tensor is None else None
    if numbers is None or not value.shape.static:
        return tensor
    elements = [number for number in numbers if not isinstance(number, str)]
    return tensor_of(elements, onnx_type(value.dtype), value.shape.numbers)


def _lift_constant(
    state: State, value: Value, tensor: TensorProto, axes: tuple[int, ...], reader: Node, *, alone: bool
) -> Value:
    """Return a lifted constant: the constant itself with new dims, or a copy of it.

    A Reshape or Unsqueeze is added instead if the constant is in another scope that can't have initializers.
    """
    home = state.builders[value.graph]
    key = ("constant", value, axes)
    found = home.order.reuse(key, reader.index) if value.graph is reader.graph else home.order.made.get(key)
    if found is not None:
        return found
    shape = with_axes(value.shape, axes)
    if alone and value in state.views.tensors and _only_reader(value):
        tensor.dims[:] = shape.numbers
        new = state.reshape(value, shape)
        state.views.tensors[new] = state.views.tensors.pop(value)
        return new
    if value.graph is not reader.graph and not home.holds_initializers:
        return state.builders[reader.graph].lifted(value, axes, reader.index)
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.dims[:] = shape.numbers
    made = home.constant(f"{value.name}_lifted", copy, shape, value.dtype, reader.index)
    stored_tensor = home.tensor(made)
    if stored_tensor is not None:
        state.views.tensors[made] = stored_tensor
    home.order.made[key] = made
    home.copies[made] = (value, axes)
    return made


def _only_reader(value: Value) -> bool:
    return value not in value.graph.outputs and value.is_read_once


def _serves_only(value: Value, reader: Node) -> bool:
    """Return whether `reader` is the only live reader of a value, with one operand, and no graph returns the value.

    A live reader is one whose results are used. Nodes that became unused by the edits do not count.
    """
    if value in value.graph.outputs:
        return False
    live = (node for node, _ in value.reads if is_live(node))
    return [(node.graph, node.index) for node in islice(live, 2)] == [(reader.graph, reader.index)]


def stretch(state: State, before: Node, value: Value, edit: Stretch) -> Value:
    """Return `value` stretched as the edit requires.

    `before` is the node as it was before its edits. The stretch uses the run-time sizes of its operands. A dequantized
    value is stretched in front of its DequantizeLinear if possible.
    """
    producer = _dequantize(state, value)
    if producer is not None and moves_by_node(producer):
        return _through(state, producer, (), (before, edit), before)
    return _expanded(state, before, value, edit)


def _expanded(state: State, before: Node, value: Value, edit: Stretch) -> Value:
    """Return `value` expanded by new nodes, for the node `before` as it was before its edits.

    If the shape after the stretch is constant, one Expand (or Tile) is used. Otherwise each entry of `edit.by` needs an
    Expand to run-time sizes.
    """
    builder = state.builders[before.graph]
    reader = before.index
    if edit.to.static and value.shape.ranked:
        if builder.version < EXPAND_SINCE:
            return builder.tiled(value, edit.to, reader)
        # If the target's size is 1, an unknown size of the value stays.
        target, shape = builder.sizes_of(edit.to, reader), builder.derived.broadcast(value.shape, edit.to)
        return builder.expanded(value, target, shape, reader)
    for by in edit.by:
        if isinstance(by, int):
            other = before.operand(by)
            have, want = value.shape.axes, other.shape.axes
            # In this function no Expand changes a rank.
            if have is not None and want is not None and len(have) < len(want):
                value = lift(state, value, tuple(range(len(want) - len(have))), before, alone=False)
            shape = builder.derived.broadcast(value.shape, other.shape)
            if shape is value.shape and shape.static:
                continue  # Only the rank was different.
            target = builder.shape_of(other, reader)
        else:
            parts = [size if isinstance(size, int) else (before.operand(size[0]), size[1]) for size in by]
            target, shape = builder.sizes(parts, reader), builder.derived.broadcast(value.shape, edit.to)
        value = builder.expanded(value, target, shape, reader)
    return value


# --- constants in other shapes ---------------------------------------------------------------------------------------


def restate(state: State, value: Value, to: Shape, reader: Node) -> Value:
    """Return a constant with the same numbers in the shape `to`, for the node `reader`.

    An axis along which the elements do not change may be cut to 1, and unit axes in front may be added or removed. If
    the value is a dequantized constant, the constant in front of the DequantizeLinear is changed. Raises Refused if the
    constant is not stored as a tensor.
    """
    tensor = state.views.tensors.get(value)
    producer = value.producer
    if tensor is None and is_quantizer(producer, DEQUANTIZE):
        found = _dequantized_already(state, producer, to, reader)
        if found is not None:
            return found
        alone = _is_alone(producer, reader)
        source = restate(state, producer.operand(0), to, producer)
        node = producer.graph.at(producer.index)
        return _moved(state, node, source, None, reader) if alone else _again(state, node, source, None, reader)
    if tensor is None:
        raise Refused(f"'{value.name}' holds its numbers in an attribute that has no other shape")
    home = state.builders[value.graph]
    key = ("restated", value, to)
    found = home.order.reuse(key, reader.index) if value.graph is reader.graph else home.order.made.get(key)
    if found is not None:
        return found
    if prod(tensor.dims) == prod(to.numbers) and _serves_only(value, reader):
        tensor.dims[:] = to.numbers
        new = state.reshape(value, to)
        state.views.tensors[new] = state.views.tensors.pop(value)
        return new
    made = home.constant(f"{value.name}_restated", _restated(state, tensor, to), to, value.dtype, reader.index)
    stored_tensor = home.tensor(made)
    if stored_tensor is not None:
        state.views.tensors[made] = stored_tensor
    home.order.made[key] = made
    return made


def _dequantized_already(state: State, node: Node, to: Shape, reader: Node) -> Value | None:
    """Return the result of a DequantizeLinear before the reader that already returns these numbers in the shape `to`.

    Return None if there is no such node, or if the constant is big.
    """
    tensor = state.views.tensors.get(node.operand(0))
    if tensor is None or state.views.is_cut(tensor):
        return None
    constants = state.constants_of(reader.graph)

    def digest() -> bytes | None:
        if prod(tensor.dims) == prod(to.numbers):
            return constants.digest(tensor)
        return digest_of(state.views, _restated(state, tensor, to))

    return constants.first(node, tensor.data_type, to.numbers, digest, reader.index)


def _restated(state: State, tensor: TensorProto, to: Shape) -> TensorProto:
    """Return the tensor in the shape `to`. Along an axis that is cut to 1, the first element is kept."""
    copy = TensorProto()
    if prod(tensor.dims) == prod(to.numbers):
        copy.CopyFrom(tensor)
        copy.dims[:] = to.numbers
        return copy
    from onnx.numpy_helper import from_array  # Imported here, because few constants repeat their elements.

    array = state.views.elements(tensor)
    if array is None:
        raise Refused(f"the numbers of '{tensor.name}' can't be read")
    padded = (1,) * (array.ndim - to.rank) + to.numbers
    least = array.reshape((1,) * (len(padded) - array.ndim) + array.shape)
    first = least[tuple(slice(size) for size in padded)]
    return from_array(first.reshape(to.numbers))


# --- quantized operands ---------------------------------------------------------------------------------------------


def _through(
    state: State, dequantize: Node, axes: tuple[int, ...], stretched: tuple[Node, Stretch] | None, reader: Node
) -> Value:
    """Lift or stretch in front of a DequantizeLinear, and of the QuantizeLinear that it reads from, if there is one.

    So the DequantizeLinear stays directly in front of its reader. `axes` are the axes of a lift, and `stretched` is the
    node before its edits and the Stretch, or None for a lift. Return the value that the reader must read.
    """
    chain = [dequantize]
    source = dequantize.operand(0)
    if is_quantizer(source.producer, QUANTIZE):
        chain.append(source.producer)
        source = source.producer.operand(0)
    alone = all(_is_alone(node, reader) for node in chain) and (stretched is None or stretched[1].to.static)
    # A lift in place changes the value that these nodes read, so the axes are computed before it.
    quantized = [axis_behind(node, axes) for node in chain]
    if stretched is None:
        behind_another = is_quantizer(source.producer, DEQUANTIZE)
        source = lift(state, source, axes, reader, alone=alone and not behind_another)
    else:
        source = _expanded(state, stretched[0], source, stretched[1])
    for planned, axis in zip(reversed(chain), reversed(quantized), strict=True):
        node = planned.graph.at(planned.index)
        if alone:
            source = _moved(state, node, source, axis, reader)
        else:
            source = _again(state, node, source, axis, reader, "lifted" if axes else "stretched")
    return source


def _is_alone(node: Node, reader: Node) -> bool:
    """Return whether a quantize or dequantize node serves one operand only, so it may be changed in place.

    It must be a node of the file, in the graph of `reader`. Its result must be read once and must not be an output.
    """
    result = node.results[0]
    return result is not None and node.graph is reader.graph and node.index >= 0 and _only_reader(result)


def _moved(state: State, node: Node, source: Value, axis: int | None, reader: Node) -> Value:
    """Make a quantize or dequantize node read the edited operand `source`, and return its reshaped result.

    The node does not move, so nodes that were made for its operand are moved before it. `axis` is the new quantized
    axis, or None if the axis does not change.
    """
    proto = state.message(node)
    proto.input[0] = source.name
    attributes = set_axis(proto, node, axis)
    operands = (source, *node.operands[1:])
    state.builders[node.graph].order.reuse_before(source, min(node.index, reader.index))
    new = replace(node, operands=operands, attributes=attributes)
    state.enter(new)
    state.dead[node.operand(0)] = None
    new.graph.note(new.index, source)
    old = new.results[0]
    if old is None:
        raise Refused(f"{node.op} '{node.label}' has no result")
    return state.reshape(old, source.shape)


def _again(state: State, node: Node, source: Value, axis: int | None, reader: Node, edited: str = "stretched") -> Value:
    """Add a copy of a quantize or dequantize node that reads the edited operand `source`, and return its result.

    `axis` is the new quantized axis, or None if the axis does not change. `edited` is the suffix of the result's name.
    """
    builder = state.builders[reader.graph]
    old = node.results[0]
    key = ("again", old, source)
    found = builder.order.reuse(key, reader.index)
    if found is not None:
        return found
    if old is None:
        raise Refused(f"{node.op} '{node.label}' has no result")
    template = NodeProto()
    template.CopyFrom(state.message(node))
    attributes = set_axis(template, node, axis)
    stem = f"{old.name}_{edited}"
    value = builder.copy(node, template, (source, *node.operands[1:]), stem, old.dtype, reader.index, attributes)
    builder.order.made[key] = value
    return value
