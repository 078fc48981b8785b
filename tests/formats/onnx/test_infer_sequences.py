"""Sequences of tensors, followed from the node that makes one to the node that takes a tensor out of it."""

from __future__ import annotations

import pytest

from tests.support.onnx.node_results import results

ROWS = """
q = SplitToSequence(x[N,7], s:const{3,0,4}, axis=1) | y = SequenceAt(q, k:const[]{1})  -> [N,0]
q = SplitToSequence(x[N,7], s:const{3,-1,5}, axis=1) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,7], s:int64[2], axis=1) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,7], s:const[]{3}, axis=-1) | y = SequenceAt(q, k:const[]{2})  -> [N,1]
q = SplitToSequence(x[N,6], s:const[]{3}, axis=1) | y = SequenceAt(q, k:const[]{1})  -> [N,3]
q = SplitToSequence(x[N,6], s:const[]{3}, axis=1) | y = SequenceAt(q, k:const[]{2})  -> [*]
q = SplitToSequence(x[N,6], s:const[]{0}, axis=1) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,6], s:const[]{3}) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,128], s:const[]{2}, axis=1) | y = SequenceAt(q, k:const[]{63})  -> [N,2]
q = SplitToSequence(x[N,129], s:const[]{2}, axis=1) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,64], axis=1) | y = SequenceAt(q, k:const[]{-1})  -> [N,1]
q = SplitToSequence(x[N,65], axis=1) | y = SequenceAt(q, k:const[]{-1})  -> [*]
q = SplitToSequence(x[N,3]) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[3,N]) | y = SequenceAt(q, k:const[]{0})  -> [1,N]
q = SplitToSequence(x[N,3,5], axis=1, keepdims=0) | y = SequenceAt(q, k:const[]{-3})  -> [N,5]
q = SplitToSequence(x[N,3,5], axis=1, keepdims=0) | y = SequenceAt(q, k:const[]{-4})  -> [*]
q = SplitToSequence(x[N,3], axis=1, keepdims=2) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,3], s:const[]{1}, axis=1, keepdims=0) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,3], axis=2) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[*], axis=1) | y = SequenceAt(q, k:const[]{0})  -> [*]
q = SplitToSequence(x[N,3], axis=1) | y = SequenceAt(q, k:int64[])  -> [*]
q = TWO | y = SequenceAt(q, k:const[]{1})  -> [M,5]
q = TWO | y = SequenceAt(q, k:const[]{2})  -> [*]
e = SequenceEmpty() | q = SequenceInsert(e, x[N,3]) | y = SequenceAt(q, k:const[]{0})  -> [N,3]
e = SequenceEmpty() | y = SequenceAt(e, k:const[]{0})  -> [*]
q = TWO | r = SequenceInsert(q, w[7], p:const[]{0}) | y = SequenceAt(r, k:const[]{0})  -> [7]
q = TWO | r = SequenceInsert(q, w[7], p:const[]{1}) | y = SequenceAt(r, k:const[]{2})  -> [M,5]
q = TWO | r = SequenceInsert(q, w[7], p:const[]{2}) | y = SequenceAt(r, k:const[]{2})  -> [7]
q = TWO | r = SequenceInsert(q, w[7]) | y = SequenceAt(r, k:const[]{2})  -> [7]
q = TWO | r = SequenceInsert(q, w[7], p:const[]{3}) | y = SequenceAt(r, k:const[]{0})  -> [*]
q = TWO | r = SequenceInsert(q, w[7], p:int64[]) | y = SequenceAt(r, k:const[]{0})  -> [*]
q = TWO | r = SequenceErase(q) | y = SequenceAt(r, k:const[]{-1})  -> [N,3]
q = TWO | r = SequenceErase(q, p:const[]{0}) | y = SequenceAt(r, k:const[]{0})  -> [M,5]
q = TWO | r = SequenceErase(q, p:const[]{-1}) | y = SequenceAt(r, k:const[]{0})  -> [N,3]
q = TWO | r = SequenceErase(q, p:const[]{2}) | y = SequenceAt(r, k:const[]{0})  -> [*]
e = SequenceEmpty() | r = SequenceErase(e) | y = SequenceAt(r, k:const[]{0})  -> [*]
q = SequenceConstruct(x[N,3], z[M,3]) | y = ConcatFromSequence(q, axis=0)  -> [?,3]
q = SequenceConstruct(x[2,3], z[4,3]) | y = ConcatFromSequence(q, axis=-2)  -> [6,3]
q = SequenceConstruct(x[2,3], z[4,5]) | y = ConcatFromSequence(q, axis=0)  -> [?,?]
q = SequenceConstruct(x[N,3]) | y = ConcatFromSequence(q, axis=1)  -> [N,3]
q = SequenceConstruct(x[N,3], z[N,3]) | y = ConcatFromSequence(q, axis=0, new_axis=1)  -> [2,N,3]
q = SequenceConstruct(x[N,3], z[M,3]) | y = ConcatFromSequence(q, axis=2, new_axis=1)  -> [?,3,2]
q = SequenceConstruct(x[N,3], z[N,3]) | y = ConcatFromSequence(q, axis=2)  -> [*]
q = SequenceConstruct(x[N,3], z[N,3]) | y = ConcatFromSequence(q, axis=3, new_axis=1)  -> [*]
q = SequenceConstruct(x[N,3], z[N,3]) | y = ConcatFromSequence(q, axis=0, new_axis=2)  -> [*]
q = SequenceConstruct(x[N,3], z[3]) | y = ConcatFromSequence(q, axis=0)  -> [*]
q = SequenceConstruct(x[N,3], z[*]) | y = ConcatFromSequence(q, axis=0)  -> [*]
e = SequenceEmpty() | y = ConcatFromSequence(e, axis=0)  -> [*]
q = TWO | y = SequenceLength(q)  -> []
"""
"""Nodes between bars (TWO: of [N,3] and [M,5]), and the shape of the last one's result."""


@pytest.mark.parametrize("row", ROWS.strip().split("\n"))
def test_what_is_taken_out_of_a_sequence(row: str) -> None:
    nodes, _, shape = row.partition("  -> ")
    *inner, last = nodes.replace("TWO", "SequenceConstruct(x[N,3], z[M,5])").split(" | ")
    text = "\n".join([*(node.replace(" = ", "[*] = ") for node in inner), last])
    assert results(text).partition("[")[2] == shape.removeprefix("[")
