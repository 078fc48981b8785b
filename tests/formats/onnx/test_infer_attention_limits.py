"""Standard attention and other rules of the newest operator sets where an operand is of no use: a row a node."""

from __future__ import annotations

import pytest

from tests.support.onnx.node_results import results

ROWS = """
24: y, p, r, s = Attention(q[B,4,S,8], k[B,2,3,8], v[B,2,3,6], , c[*], d[B,2,5,6])
    -> float32[B,4,S,6] float32[B,2,?,8] float32[B,2,?,6] float32[B,4,S,?]
24: y, p, r, s = Attention(q[B,4,S,8], k[*], v[B,2,L,6])
    -> float32[B,4,S,6] float32[B,?,?,?] float32[B,?,?,6] float32[B,4,S,?]
24: y, p, r, s = Attention(q[B,4,S,8], k[B,2,L,8], v[*])
    -> float32[B,4,S,?] float32[B,2,L,8] float32[B,2,L,?] float32[B,4,S,L]
24: y, p, r, s = Attention(q[B,S,32], k[B,L,16], v[B,L,12], q_num_heads=4)
    -> float32[B,S,?] float32[B,?,L,?] float32[B,?,L,?] float32[B,4,S,L]
24: y, p, r, s = Attention(q[B,S,32], k[B,L,15], v[B,L,12], q_num_heads=4, kv_num_heads=2)
    -> float32[B,S,24] float32[B,2,L,?] float32[B,2,L,6] float32[B,4,S,L]
24: y, p, r, s = Attention(q[B,S,32], k[B,16], v[B,L,12], q_num_heads=4, kv_num_heads=2)
    -> float32[B,S,24] float32[B,?,?,?] float32[B,?,?,6] float32[B,4,S,?]
24: y = Attention(q[S,8], k[B,2,L,8], v[B,2,L,6])
    -> float32[*]
24: y = Attention(q[*], k[B,2,L,8], v[B,2,L,6])
    -> float32[*]
26: y = ai.onnx.preview.FlexAttention(q[*], k[B,2,L,8], v[B,2,L,6])
    -> float32[?,?,?,?]
26: y = ai.onnx.preview.FlexAttention(q[B,4,S,8], k[B,2,L,8], v[*])
    -> float32[B,4,S,?]
26: y = ai.onnx.preview.FlexAttention(q[B,4,S,8], k[B,2,L,8], v[B,L,6])
    -> float32[B,4,S,?]
27: y, p = LinearAttention(q[B,T,8], k[B,T,4], v[B,T,6], q_num_heads=4, kv_num_heads=0)
    -> float32[B,T,?] float32[B,?,?,?]
27: y, p = LinearAttention(q[B,T,8], k[B,T,4], v[B,T,6], q_num_heads=0, kv_num_heads=2)
    -> float32[B,T,?] float32[B,2,2,3]
27: y, p = LinearAttention(q[B,T,8], k[*], v[B,T,6], q_num_heads=4, kv_num_heads=2)
    -> float32[B,T,12] float32[B,2,2,3]
27: y, p = LinearAttention(q[B,T,4], k[B,T,8], v[B,T,12], q_num_heads=2, kv_num_heads=4)
    -> float32[B,T,12] float32[B,4,2,3]
27: y, p = LinearAttention(q[B,T,8], k[B,T,4], v[B,T,6], s:float16[B,2,2,3], q_num_heads=4, kv_num_heads=2)
    -> float32[B,T,12] float16[B,2,2,3]
27: y, p = CausalConvWithState(x[B,3], w[3,1,4])
    -> float32[B,3] float32[*]
27: y, p = CausalConvWithState(x[B,3,L], w[*])
    -> float32[B,3,L] float32[B,3,?]
18: y = CumSum(x:int64[2,3], a:const[]{0})
    -> int64[2,3]
18: y = MaxRoiPool(x[N,3,8,9], r[R,5], pooled_shape=[2,5])
    -> float32[R,3,2,5]
18: y = RoiAlign(x[N,3,8,9], r[R,4], i:int64[R], output_height=2, output_width=5)
    -> float32[R,3,2,5]
18: y = RoiAlign(x[N,3,8,9], r[R,4], i:int64[Q], output_height=2, output_width=5)
    -> float32[?,3,2,5]
18: y = RoiAlign(x[N,3], r[R,4], i:int64[R])
    -> float32[?,?,?,?]
18: y, i = TopK(x[N,4], k:const[1]{2}, axis=2)
    -> float32[?,?] int64[?,?]
18: y, i = TopK(x[N,4], k:const[1]{2}, axis=-2)
    -> float32[2,4] int64[2,4]
18: y, i = TopK(x[N,4], k:int64[1])
    -> float32[N,?] int64[N,?]
18: y = OneHot(i:int64[N,4], d:const[]{3}, v[2], axis=2)
    -> float32[N,4,3]
18: y = OneHot(i:int64[N,4], d:const[]{3}, v[2], axis=0)
    -> float32[3,N,4]
18: y = OneHot(i:int64[N,4], d:const[]{3}, v[2], axis=-3)
    -> float32[3,N,4]
18: y = OneHot(i:int64[N,4], d:const[]{3}, v[2], axis=3)
    -> float32[?,?,?]
18: y = OneHot(i:int64[N,4], d:int64[], v[2])
    -> float32[N,4,?]
18: y = Einsum(a[M,K], b[K,N], equation="ab,bc")
    -> float32[M,N]
18: y = Einsum(a[M,K], b[N,K], equation="zb,ab")
    -> float32[N,M]
18: y = Einsum(a[M,K], b[K,M], equation="ab,ba")
    -> float32[]
18: y = Einsum(a[M,M], equation="aa")
    -> float32[]
18: y, z = Split(x[3,N], axis=1, num_outputs=3)
    -> float32[3,?] float32[3,?]
"""
"""An operator set, a node, and its results."""


@pytest.mark.parametrize("row", ROWS.strip().replace("\n    ->", "->").split("\n"))
def test_results_of_a_node(row: str) -> None:
    version, _, rest = row.partition(": ")
    text, _, found = rest.partition("->")
    assert results(text.strip(), opset=int(version)) == found.strip()
