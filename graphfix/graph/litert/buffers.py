"""Find operands that must not be lifted, because LiteRT's memory planner would overwrite a value before its last use.

LiteRT stores the result of a RESHAPE in its operand's buffer, and lets some operators write their result into the
buffer of an operand. Before it does so, it checks how often that operand is read, and the value that owns the buffer.
It does not check values between these two. So a value that is in another value's buffer must not be read through a new
RESHAPE by such an operator, if the value is also read later. Measured with LiteRT 2.3:
tests/whole/test_shared_buffers.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphfix.graph.broadcast import Alignment, BroadcastOperand
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape

OVERWRITTEN = "{op} would write its result into the buffer of '{lost}', which is read again later (LiteRT's planner)"
_SAME_BUFFER = frozenset({"RESHAPE", "EXPAND_DIMS", "SQUEEZE", "BITCAST"})
"""Operators whose result is stored in the buffer of the first operand, with the same bytes."""
_WRITING = {"ADD": 2, "SUB": 2, "MUL": 2, "DIV": 2, "SOFTMAX": 1, "DYNAMIC_UPDATE_SLICE": 1}
"""Operators that write their result into an operand's buffer, with the number of first operands that may be used."""


def overwritten(node: Node, alignment: Alignment, operand: BroadcastOperand) -> str | None:
    """Return why an operand must not be read through a RESHAPE, or None if LiteRT would overwrite no value."""
    value, result = operand.value, node.results[0]
    if node.domain != TFLITE or node.op not in _WRITING or result is None or value.kind != "result":
        return None
    if result in node.graph.outputs or value in node.graph.outputs:
        return None
    if not _may_be_as_large(value.shape, alignment.result):
        return None
    if _is_in_other_buffer(value) and _is_used_after(value, node):
        return OVERWRITTEN.format(op=node.op, lost=value.name)
    lost = _lost_below(result)  # The result is stored in another buffer from now on.
    return None if lost is None else OVERWRITTEN.format(op=node.op, lost=lost.name)


def _may_be_as_large(one: Shape, other: Shape) -> bool:
    """Return whether tensors of two shapes may have the same number of elements."""
    return not (one.static and other.static) or prod(one.numbers) == prod(other.numbers)


def _is_in_other_buffer(value: Value) -> bool:
    """Return whether the result of a node may be stored in the buffer of an operand of this node."""
    node = value.producer
    if node is None or value in node.graph.outputs or node.results[0] is not value:
        return False
    if node.op in _SAME_BUFFER:
        return node.operand(0).kind == "result"
    return any(
        operand is not None and operand.kind == "result" and _is_written_into(operand, value)
        for operand in node.operands[: _WRITING.get(node.op, 0)]
    )


def _is_written_into(operand: Value, result: Value) -> bool:
    """Return whether a node that reads an operand may write its result into the operand's buffer."""
    read_once = operand.is_read_once and operand not in operand.graph.outputs
    return read_once and _may_be_as_large(operand.shape, result.shape)


def _is_used_after(value: Value, node: Node, but: Value | None = None) -> bool:
    """Return whether a node after `node` reads the contents of a value's buffer.

    Reads through the value `but` do not count.
    """
    for reader, _ in value.reads:
        if reader is node or (but is not None and but in reader.results):
            continue
        if not 0 <= reader.index < node.index:  # The order of new nodes is not known here.
            return True
        if any(_is_used_after(alias, node, but) for alias in _same_buffer(reader)):
            return True
    return False


def _same_buffer(node: Node) -> Iterator[Value]:
    """Yield the result of a node if it is stored in the operand's buffer."""
    if node.op in _SAME_BUFFER and node.results[0] is not None and node.results[0] not in node.graph.outputs:
        yield node.results[0]


def _lost_below(value: Value) -> Value | None:
    """Return `value` if an operator would overwrite its buffer before its last use, or None.

    The operator reads the value through nodes such as RESHAPE, whose results are stored in the value's buffer.
    """
    if value.is_read_once:
        return None
    pending = [alias for reader, _ in value.reads for alias in _same_buffer(reader)]
    while pending:
        alias = pending.pop()
        for reader, at in alias.reads:
            pending += _same_buffer(reader)
            result = reader.results[0] if reader.results else None
            if result is None or at >= _WRITING.get(reader.op, 0) or result in reader.graph.outputs:
                continue
            if _is_written_into(alias, result) and _is_used_after(value, reader, alias):
                return value
    return None
