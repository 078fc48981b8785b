"""Sizes of inputs that attention operators require: batches, heads, and numbers of past, new and all positions.

A decoder declares a symbol for each of these sizes, but the model accepts few combinations of sizes. For example, a
head size is a quotient of a weight's size, and a mask is as long as past and new positions together. Source:
docs/ContribOperators.md of onnxruntime, the checks in its CPU kernels (GroupQueryAttention, MultiHeadAttention), and
Attention of the ONNX operator specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.files.onnx.graphs import integer_attribute
from graphfix.checker.runs.inputs.input_limits import below
from graphfix.checker.runs.onnx.value_dims import ValueDims, value_dims
from graphfix.checker.runs.sizes.related_sizes import Relations
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx

    from graphfix.checker.runs.inputs.input_limits import Interval
    from graphfix.checker.runs.inputs.interface import Dim

HEADS, POSITIONS, HEAD_SIZE = 1, 2, 3
"""Axes of past keys and values, which have the shape [batch, heads, positions, head size]."""
_BY_HEAD = 4
"""The rank of an operand that has a separate axis for the heads."""


@dataclass(frozen=True, slots=True)
class _Places:
    """The operand numbers and attribute names of an attention operator.

    `pasts`: operands with past keys and past values.
    """

    pasts: tuple[int, int]
    masks: tuple[int, ...] = ()
    """Operands whose last axis covers past and new positions."""
    total: int | None = None
    """The operand that contains the number of past and new positions together; None if there is no such operand."""
    heads: str = "num_heads"
    groups: str = "num_heads"
    """Attributes with the number of heads: `heads` for the queries, `groups` for the keys and values."""


_OPERATORS: Final[Mapping[tuple[str, str], _Places]] = {
    ("com.microsoft", "GroupQueryAttention"): _Places((3, 4), (10,), 6, groups="kv_num_heads"),
    ("com.microsoft", "MultiHeadAttention"): _Places((6, 7), (4, 5)),
    ("", "Attention"): _Places((4, 5), (3,), heads="q_num_heads", groups="kv_num_heads"),
}


@dataclass(slots=True)
class _Collected:
    """The relations found so far, without duplicates. The fields are those of `Relations`."""

    numbers: dict[str, int] = field(default_factory=dict)
    equal: dict[tuple[str, str], None] = field(default_factory=dict)
    sums: dict[str, tuple[Dim, ...]] = field(default_factory=dict)
    cases: dict[tuple[tuple[str, int], ...], None] = field(default_factory=dict)

    def same(self, one: Dim | None, other: Dim | None) -> None:
        """Record that two dims are equal. None is an unknown dim and is ignored, and so is a pair of numbers."""
        if isinstance(one, int):
            one, other = other, one
        if not isinstance(one, str) or other is None or one == other:
            return
        if isinstance(other, int):
            self.numbers.setdefault(one, other)
        else:
            self.equal[one, other] = None


def attention_sizes(model: onnx.ModelProto) -> Relations:
    """Return the relations between sizes of inputs that the attention operators of a model require.

    The model needs no weights. Only nodes of the main graph are considered.
    """
    if not any((_domain(node), node.op_type) in _OPERATORS for node in model.graph.node):
        return Relations()
    dims, found = value_dims(model), _Collected()
    for node in model.graph.node:
        places = _OPERATORS.get((_domain(node), node.op_type))
        if places is not None:
            _collect(found, dims, node, places)
    cases = tuple(dict(case) for case in found.cases)
    return Relations(found.numbers, tuple(found.equal), found.sums, cases)


def _domain(node: onnx.NodeProto) -> str:
    """Return the domain of a node's operator, "" for the standard domain."""
    return "" if node.domain == "ai.onnx" else str(node.domain)


def _collect(found: _Collected, dims: ValueDims, node: onnx.NodeProto, places: _Places) -> None:
    """Record the relations that one attention node requires."""
    query, key = _operand(node, 0), _operand(node, 1)
    batch, head_size = dims.dim(query, 0), _head_size(dims, node, places)
    groups = integer_attribute(node, places.groups, 0) or None
    for past in filter(None, (_operand(node, place) for place in places.pasts)):
        found.same(dims.dim(past, 0), batch)
        found.same(dims.dim(past, HEADS), groups)
        found.same(dims.dim(past, HEAD_SIZE), head_size)
    cached = dims.dims.get(key, ())
    if node.op_type == "MultiHeadAttention" and len(cached) == _BY_HEAD:
        for operand in (key, _operand(node, 2)):  # keys and values are computed by another model, such as an encoder
            found.same(dims.dim(operand, 0), batch)
            found.same(dims.dim(operand, HEADS), groups)
            found.same(dims.dim(operand, HEAD_SIZE), head_size)
        return
    _collect_lengths(found, dims, node, places, batch)


def _collect_lengths(
    found: _Collected, dims: ValueDims, node: onnx.NodeProto, places: _Places, batch: Dim | None
) -> None:
    """Record the relation between the numbers of past, new and all positions that a node requires."""
    new, past = new_positions(dims, node), dims.dim(_operand(node, places.pasts[0]), POSITIONS)
    other = dims.dim(_operand(node, places.pasts[1]), POSITIONS)
    found.same(other, past)
    if integer_attribute(node, "sliding_window_cache", 0):
        found.same(past, integer_attribute(node, "local_window_size", 0))
        return
    totals = [dims.dim(mask, -1) for mask in filter(None, (_operand(node, place) for place in places.masks))]
    if places.total is not None:
        totals.append(dims.number(_operand(node, places.total)))
    # a cache of constant length has room for the new positions, which the runs write at its start
    parts = (new,) if not isinstance(past, str) else (past, new)
    for total in totals:
        if isinstance(total, str) and total not in parts and None not in parts:
            found.sums.setdefault(total, tuple(part for part in parts if part is not None))
    if node.op_type == "GroupQueryAttention" and isinstance(past, str):
        _enter_cases(found, batch, new, past)


def _enter_cases(found: _Collected, batch: Dim | None, new: Dim | None, past: str) -> None:
    """Record the cases of GroupQueryAttention that run: a batch of 1, one new position, or no past positions."""
    if new == 1 or batch == 1:
        return
    for label, size in ((batch, 1), (new, 1), (past, 0)):
        if isinstance(label, str):
            found.cases[((label, size),)] = None


def _head_size(dims: ValueDims, node: onnx.NodeProto, places: _Places) -> Dim | None:
    """Return the size of a head, from the last dim of the queries.

    Without separate keys, that dim includes keys and values.

    Return None if it can't be computed.
    """
    query, heads = _operand(node, 0), integer_attribute(node, places.heads, 0)
    if len(dims.dims.get(query, ())) == _BY_HEAD:
        return dims.dim(query, HEAD_SIZE)
    if not _operand(node, 1):
        heads += 2 * integer_attribute(node, places.groups, 0)
    hidden = dims.dim(query, -1)
    return hidden // heads if heads > 0 and isinstance(hidden, int) else None


def new_positions(dims: ValueDims, node: onnx.NodeProto) -> Dim | None:
    """Return the number of new positions that an attention node reads; None if unknown."""
    # keys have priority over queries, because the queries of cross attention have another length
    for place in (1, 2, 0):
        operand = _operand(node, place)
        size = dims.dim(operand, POSITIONS if len(dims.dims.get(operand, ())) == _BY_HEAD else 1)
        if size is not None:
            return size
    return None


def attention_limits(model: onnx.ModelProto) -> Iterator[tuple[str, Interval]]:
    """Yield (operand, interval) for the operands of GroupQueryAttention that are lengths or positions.

    The intervals are exact only if the dims of the model's inputs are numbers. With symbols an interval shows only that
    the operand is limited. The last position of each sequence is `total - 1`, because all sequences of a batch get the
    same length, without padding.
    """
    nodes = [node for node in model.graph.node if node.op_type == "GroupQueryAttention"]
    if not nodes:
        return
    dims = value_dims(model)
    for node in nodes:
        total = _total(dims, node) or 1
        limited = ((5, (total - 1, total - 1)), (6, (total, total)), (9, below(_rows(dims, node))))
        yield from ((_operand(node, place), interval) for place, interval in limited if _operand(node, place))


def _rows(dims: ValueDims, node: onnx.NodeProto) -> int | None:
    """Return the number of positions in the table of a rotary embedding; None if unknown."""
    rows = dims.dim(_operand(node, 7), 0)
    return rows if isinstance(rows, int) else None


def _total(dims: ValueDims, node: onnx.NodeProto) -> int | None:
    """Return the number of past and new positions together; None if a size is not a number."""
    stated = dims.number(_operand(node, 6))
    if isinstance(stated, int):
        return stated
    new, past = new_positions(dims, node), dims.dim(_operand(node, 3), POSITIONS)
    return past + new if isinstance(past, int) and isinstance(new, int) else None


def _operand(node: onnx.NodeProto, place: int) -> str:
    """Return the name of operand number `place`; "" if it is absent."""
    return str(node.input[place]) if place < len(node.input) else ""
