"""Decide whether a runtime loads a node, by its operator set, its signature and the types of its operands.

The module also finds nodes that may return different values each time, and graphs whose names are ambiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.onnx.closed_world.operator_types import accepted
from graphfix.checker.proof.onnx.reading.operands import domain_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import GraphProto, OperatorSetIdProto

    from graphfix.checker.proof.onnx.reading.operands import Call

NOT_IMPORTED = 0
"""The version of an operator set that a model does not import."""
TRAINING_MODE_SINCE = 12
"""From this version on, operand 2 of Dropout states whether elements are dropped. Before 7 an attribute states it."""


def loads(call: Call) -> bool:
    """Return whether the operator set allows a node with operands of these types. Rules read only such nodes."""
    node, kinds = call.signature_memo, call.operand_types
    memo = node.loads_with.get(kinds)
    if memo is None:
        op, domain, version = node.signature.op, node.signature.domain, node.signature.version
        memo = node.loads_with[kinds] = node.is_allowed and accepted(op, domain, version, kinds)
    return memo


def is_separate(call: Call) -> bool:
    """Return whether two equal nodes may return different values.

    Both files must then execute such nodes in the same order.

    Such nodes are random, or write into a buffer that other nodes read.
    """
    if call.domain:
        operator = call.domain, call.op
        writes = operator in onnx_ops.WRITING or call.integer(onnx_ops.SHARING, 0) != 0
        return writes or operator in onnx_ops.RANDOM_ELSEWHERE
    if call.op != "Dropout":
        return call.op in onnx_ops.RANDOM
    if call.version >= TRAINING_MODE_SINCE:
        return len(call.views) > 2  # noqa: PLR2004 - operand 2 states the training mode
    return call.version < onnx_ops.LEGACY_END and not call.integer("is_test", 0)


def imported(entries: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return the versions of the operator sets that a model or a function imports, by domain.

    Raises UnprovedError if two versions of one operator set are imported.
    """
    found: dict[str, int] = {}
    for entry in entries:
        if found.setdefault(domain_of(entry.domain), entry.version) != entry.version:
            raise UnprovedError(f"two versions of the operator set {entry.domain!r} are imported")
    return found


def unique_names(graph: GraphProto) -> None:
    """Raise UnprovedError if two constants or two inputs have one name: runtimes disagree on which value is read."""
    names = [tensor.name for tensor in graph.initializer]
    names += [sparse.values.name for sparse in graph.sparse_initializer]
    given = {info.name for info in graph.input}
    if len(given) < len(graph.input) or len(set(names)) < len(names):
        raise UnprovedError(f"the graph {graph.name!r} gives one name to two values")
