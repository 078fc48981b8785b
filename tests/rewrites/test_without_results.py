"""A node whose result has no name, because nothing reads it: no rewrite replaces it, and no plan fails."""

from __future__ import annotations

import pytest

import rewrites
from graphfix.graph.edits import Edit
from graphfix.graph.protocols import Rewrite, UntilNothingChanges
from graphfix.graph.view import Node
from graphfix.shapes.dim import Undecided
from tests.support.notation import node

NODES = {
    "Add": "y[2,3] = Add(x[2,3], b[3])",
    "CAST": "y:int32[2,3] = tflite.CAST(x[2,3])",
    "CAST to bool": "y:bool[2,3] = tflite.CAST(x[2,3])",
    "CAST of bool": "y[2,3] = tflite.CAST(x:bool[2,3])",
    "BROADCAST_TO": "y[2,3,4] = tflite.BROADCAST_TO(x[4], s:const:int32[3]{2,3,4})",
    "SELECT": "y[2,3] = tflite.SELECT(c:bool[2], x[2,3], z[2,3])",
    "ADD": "y[2,3] = tflite.ADD(x[2,3], b[3])",
    "PRELU": "y[2,3] = tflite.PRELU(x[2,3], a[3])",
    "FLOOR_DIV": "y[2,3] = tflite.FLOOR_DIV(x[2,3], b[3])",
    "POW": "y[2,3] = tflite.POW(x[2,3], b:const[]{2.0})",
    "GELU": "y[2,3] = tflite.GELU(x[2,3])",
    "CUMSUM": "y[2,3] = tflite.CUMSUM(x[2,3], a:const:int32[]{1})",
    "ONE_HOT": "y[2,4] = tflite.ONE_HOT(x:int32[2], d:const:int32[]{4}, o:const[]{1.0}, f:const[]{0.0})",
    "Expand": "y[2,3] = Expand(x[3], s:const{2,3})",
    "Gelu": "y[2,3] = Gelu(x[2,3])",
    "Einsum": 'y[2,4] = Einsum(x[2,3], b[3,4], equation="ij,jk->ik")',
}


def unread(text: str) -> Node:
    """Return the node of a text, without a name for its result."""
    made = node(text)
    results = (None,)
    return Node(
        made.op, made.domain, made.version, made.name, made.index, made.graph, made.operands, results,
        made.attributes, made.row,
    )  # fmt: skip


def planned(rule: Rewrite, of: Node) -> list[Edit]:
    try:
        return [edit for edit in rule.plan(of) if type(edit).__name__ in ("Replace", "Canonicalize")]
    except Undecided:
        return []


ALL = [
    rule
    for step in rewrites.ALL
    for rule in (step.rewrites if isinstance(step, UntilNothingChanges) else (step,))
    if isinstance(rule, Rewrite)
]


@pytest.mark.parametrize("text", NODES.values(), ids=NODES)
def test_nothing_is_replaced_where_the_result_has_no_name(text: str) -> None:
    of = unread(text)
    about = [rule for rule in ALL if rule.concerns(of)]
    assert about
    for rule in about:
        assert planned(rule, of) == []
