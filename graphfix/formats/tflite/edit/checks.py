"""What can't be carried out on a TFLite model, told before anything is changed."""

from __future__ import annotations

from math import prod

from graphfix.formats.tflite.edit.constants import BYTE, item_bytes
from graphfix.formats.tflite.edit.made import numbers
from graphfix.formats.tflite.edit.new_nodes import Desk
from graphfix.formats.tflite.edit.operands import is_same
from graphfix.formats.tflite.edit.state import DEQUANTIZE, State
from graphfix.formats.tflite.file.schema import TENSOR_TYPES
from graphfix.graph.edits import Canonicalize, Edit, Evaluate, Fold, Lift, New, Refused, Replace, Stretch
from graphfix.graph.view import Node, Value
from graphfix.shapes.shape import broadcast, cstr_broadcastable

DENSIFY = "DENSIFY"
UNSHAPED = frozenset({"resource", "variant"})


def check(state: State, node: Node, edit: Edit) -> None:
    """Raise Refused where the edit can't be carried out; the text completes "left alone because"."""
    desk = state.desks[node.graph]
    index, operator = desk.scope.index, desk.scope.operator(node.index)
    container = state.container
    why = container.hindrance or container.subgraph_hindrance(index) or container.operator_hindrance(operator)
    if why is not None:
        raise Refused(why)
    match edit:
        case Lift():
            _check_lift(state, desk, node.operand(edit.operand))
        case Stretch():
            _check_stretch(state, desk, node, edit)
        case Canonicalize():
            _check_repeated(node.operand(0))
        case Fold() | Evaluate() | Replace():
            _check_node(state, desk, node, edit)


def _check_node(state: State, desk: Desk, node: Node, edit: Fold | Evaluate | Replace) -> None:
    if not isinstance(edit, Replace) and any(result in node.graph.outputs for result in node.results):
        raise Refused("its result is an output of the graph")
    if not isinstance(edit, Replace) or any(isinstance(source, New) for source in edit.node.operands):
        _check_insertion(state)
    if isinstance(edit, Evaluate):
        _check_known(state, desk, node)
    if isinstance(edit, Fold):
        _check_bypass(node)


def _check_bypass(node: Node) -> None:
    value = node.operand(0)
    readers = {reader.op for result in node.results if result is not None for reader, _ in result.reads}
    if value.kind == "constant" and 0 in (value.shape.axes or ()):
        raise Refused(f"LiteRT refuses the constant '{value.name}', which has no elements, where it takes its copy")
    if value.kind == "constant" and DEQUANTIZE in readers:
        raise Refused("XNNPACK leaves the result of a DEQUANTIZE unset that reads a constant")


def _check_known(state: State, desk: Desk, node: Node) -> None:
    result = node.results[0]
    if result is None:
        raise Refused("it has no result")
    if not state.is_known(node):
        raise Refused("what it computes is not known before the model runs: bind the free sizes (--dim, --shape)")
    size = prod(numbers(result.shape)) * item_bytes(desk.scope.tensor(result))
    if node.op != DENSIFY and size > state.expand_limit:
        raise Refused(f"the constant would take {size} bytes, more than --max-expand-bytes")
    if len(state.evaluator.elements(desk.scope.tensors[result])) != size:
        raise Refused(f"LiteRT computes other sizes than {result.shape}")


def _check_insertion(state: State) -> None:
    if state.container.inserts_refused is not None:
        raise Refused(state.container.inserts_refused)


def _check_lift(state: State, desk: Desk, value: Value) -> None:
    """A second tensor on the constant's buffer, or a node behind a result."""
    record = desk.scope.tensor(value)
    why = state.container.tensor_hindrance(record)
    if why is not None:
        raise Refused(why)
    if value.dtype in UNSHAPED:
        raise Refused(f"a {value.dtype} has no shape to change")
    if record.sparse:
        raise Refused(f"the sparse constant '{value.name}' states its axes itself")
    scales = record.quantization
    if scales is not None and scales.scales > 1 and not 0 <= scales.dimension < len(record.shape):
        raise Refused(f"'{value.name}' has {scales.scales} scales, and no axis that they could follow")
    if value.kind != "constant":
        _check_insertion(state)


def _check_stretch(state: State, desk: Desk, node: Node, edit: Stretch) -> None:
    value = node.operand(edit.operand)
    if not (value.shape.ranked and edit.to.ranked):
        raise Refused("the rank of an operand is not known, and BROADCAST_ARGS ends the process where shapes differ")
    _check_repeated(value)
    _check_lift(state, desk, value)
    if state.source(desk, value, edit.to) is not None and value.kind == "constant":
        return
    _check_insertion(state)
    if edit.to.static and value.shape.static:
        return
    if value.dtype == "string":
        raise Refused("BROADCAST_TO takes no strings, and a TILE needs sizes that are known")
    if not edit.to.static:
        _check_sizes(node, value, edit)


def _check_repeated(value: Value) -> None:
    bits = next((bits for name, bits in TENSOR_TYPES.values() if name == value.dtype), None)
    if value.dtype in UNSHAPED or (bits is not None and bits < BYTE) or value.dtype.startswith("float8"):
        raise Refused(f"no operator repeats a tensor of {value.dtype}: TILE refuses it, BROADCAST_TO gives zeros")


def _check_sizes(node: Node, value: Value, edit: Stretch) -> None:
    """BROADCAST_ARGS ends the process where two shapes do not meet: it is only made where they do for certain."""
    shape = value.shape
    for by in edit.by:
        if not isinstance(by, int):
            continue
        other = node.operand(by).shape
        whole = broadcast(shape, other)
        if not is_same(whole, other) and cstr_broadcastable(shape, other) is not True:
            raise Refused(
                f"whether {shape} and {other} meet is known only at run time, "
                "and BROADCAST_ARGS ends the process where they do not"
            )
        shape = whole
