"""Operators of `com.microsoft` and of ai.onnx.ml where an operand is of no use to the rule: a row a node.

Source: onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

import pytest

from tests.support.onnx.node_results import results

ROWS = """
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], c[B,2,P,4], d[B,2,P,4], n:int32[B], t:int32:const[]{7},
    HEADS, sliding_window_cache=2)  -> float32[B,S,16] float32[B,2,?,4] float32[B,2,?,4]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , n:int32[B], t:int32:const[]{7},
    HEADS, sliding_window_cache=1)  -> float32[B,S,16] float32[B,2,?,4] float32[B,2,?,4]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , n:int32[B], t:int32:const[]{7},
    HEADS, k_quant_type="PER_TENSOR")  -> float32[B,S,16] float32[B,2,7,?] float32[B,2,7,?]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , n:int32[B], t:int32:const[]{7},
    HEADS, v_quant_type="PER_CHANNEL")  -> float32[B,S,16] float32[B,2,7,?] float32[B,2,7,?]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], c[B,2,5,4], d[B,2,9,3], n:int32[B], t:int32:const[]{7},
    HEADS)  -> float32[B,S,16] float32[B,2,7,4] float32[B,2,9,3]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], c:int8[*], d:float16[*], n:int32[B], t:int32[],
    HEADS)  -> float32[B,S,16] int8[B,2,?,?] float16[B,2,?,?]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,24], num_heads=2)
    -> float32[B,1,8] float32[B,2,1,4] float32[B,2,1,4] float32[B,2,1,1]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[B,1,6], num_heads=2, past_present_share_buffer=1)
    -> float32[B,1,6] float32[B,2,?,4] float32[B,2,?,3] float32[B,2,1,?]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[B,1,8], , , c[B,2,9,4], d[B,2,9,4], num_heads=2,
    past_present_share_buffer=2)  -> float32[B,1,8] float32[B,2,?,4] float32[B,2,?,4] float32[B,2,1,?]
y, p, r, s = MultiHeadAttention(q[B,S,2,3,4], , , , , , c[B,2,5,4], d[B,2,5,4], num_heads=2)
    -> float32[B,S,8] float32[B,2,?,4] float32[B,2,?,4] float32[B,2,S,?]
y, p, r, s = MultiHeadAttention(q[B,3,2,3,4], , , , , , c[B,2,5,4], d[B,2,5,4], num_heads=2)
    -> float32[B,3,8] float32[B,2,8,4] float32[B,2,8,4] float32[B,2,3,8]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,2,L,4], v[B,2,L,3], num_heads=0)
    -> float32[B,S,?] float32[B,?,L,?] float32[B,?,L,3] float32[B,?,S,L]
y, p, r = SparseAttention(q[B,S,33], , , c[B,2,P,4], d[B,2,R,4], HEADS)
    -> float32[B,S,?] float32[B,2,P,4] float32[B,2,R,4]
y = PackedMultiHeadAttention(q[T,8,3], num_heads=2)  -> float32[*]
y = PackedMultiHeadAttention(q[T,2,3,5], , v[T,7], num_heads=2)  -> float32[T,10]
y, k, v = PagedAttention(q[T,16], k1[T,8], v1[T,8], c[9,16,2,4], d[8,16,2,4], HEADS, kv_cache_layout="LATENT")
    -> float32[T,?] float32[9,16,2,4] float32[8,16,2,4]
y, k, v = PagedAttention(q[T,33], , , c[9,16,2,4], d[8,16,2,4], HEADS)
    -> float32[T,?] float32[9,16,2,4] float32[8,16,2,4]
y, k, v = DecoderAttention(q[S,B,9], k1[T,B,9], num_heads=2)  -> float32[S,B,9] float32[B,2,?,?] float32[B,2,?,?]
y, z = MatMulNBitsMlp(a[], , n[32], b:uint8[6,1,16], s[6], N=6)  -> float32[*] float32[]
y, z = MatMulNBitsMlp(a[B,32], , n[32], b:uint8[6,1,16], s[6])  -> float32[B,?] float32[B,32]
q, k, v, s = MatMulNBitsQkv(a[2,B,32], Nq=8, Nkv=4)
    -> float32[2,B,8] float32[2,B,4] float32[2,B,4] float32[2,B,32]
q, k, v, s = MatMulNBitsQkv(a[B,32], Nkv=4)  -> float32[B,?] float32[B,4] float32[B,4] float32[B,32]
q, k, v, s = MatMulNBitsQkv(a[], Nq=8, Nkv=4)  -> float32[*] float32[*] float32[*] float32[*]
y, z = RouterGateUpProj(a[2,B,32], w[*], router_size=4)  -> float32[2,B,4] float32[2,B,?]
y, z = RouterGateUpProj(a[B,32], w[32,13], router_size=4)  -> float32[B,4] float32[B,?]
y, z = RouterGateUpProj(a[B,32], w[32,14])  -> float32[B,?] float32[B,?]
y, z = RouterGateUpProj(a[], w[32,14], router_size=4)  -> float32[*] float32[*]
y, s = MoEGroupRouter(l[2,3,8], e[4], p[8,5], top_k=2)  -> float32[6,4] float32[6,4]
y, s = MoEGroupRouter(l[*], e[4], top_k=2)  -> float32[*] float32[*]
y = MatMulInteger16(a:int32[M,K], b:int32[K,N])  -> ?[M,N]
y = QGemm(a:int8[M,K], s[], z:int8[], b:int8[K,N], t[], u:int8[], , v[], w:int8[])  -> int8[M,N]
y = FusedMatMul(a[K], b[N,K], transB=1)  -> float32[?]
y = FusedMatMul(a[M,K], b[K], transB=1)  -> float32[M]
y = FusedMatMul(a[M,K], b[K], transA=1)  -> float32[?]
y = FusedMatMul(a[K], b[K], transA=1, transB=1)  -> float32[]
y = FusedMatMul(a[K], b[K], transBatchA=1)  -> float32[]
y = FusedMatMul(a[B,M,K], b[B,N,K], transB=1)  -> float32[B,M,N]
y = FusedMatMul(a[B,K,M], b[B,K,N], transA=1)  -> float32[B,M,N]
y = FusedMatMul(a[M,B,K], b[B,K,N], transBatchA=1)  -> float32[B,M,N]
y = FusedMatMul(a[M,K], b[K,N], transA=2)  -> float32[*]
y = FusedMatMul(a[M,K], b[K,N], transBatchB=2)  -> float32[*]
y = FusedMatMul(a[*], b[K,N])  -> float32[*]
y = FusedMatMul(a[M,K], b[*])  -> float32[*]
y, m, s = EmbedLayerNormalization(i:int32[*], , w[9,H])  -> float32[*] int32[*] float32[*]
y, m, s = EmbedLayerNormalization(i:int32[B,S], , w[*])  -> float32[*] int32[*] float32[*]
y, m, s = EmbedLayerNormalization(i:int32[B,S,1], , w[9,H])  -> float32[*] int32[*] float32[*]
y, m, d, s = SkipLayerNormalization(x[], k[], w[8])  -> float32[] float32[*] float32[*] float32[]
y, m, d, s = SkipLayerNormalization(x[*], k[N,8], w[8])  -> float32[*] float32[*] float32[*] float32[*]
y = HyperConnectionPreMix(x[N,12], g[N,3], num_branches=-3)  -> float32[*]
y = HyperConnectionPreMix(x[N,13], g[N,3], num_branches=3)  -> float32[N,?]
y = HyperConnectionPreMix(x[12], g[3], num_branches=1)  -> float32[12]
y = HyperConnectionPreMix(x[12], g[3])  -> float32[*]
y = HyperConnectionPreMix(x[3,12], g[3])  -> float32[12]
y = HyperConnectionPreMix(x[], g[3], num_branches=3)  -> float32[*]
y, g, s = HyperConnectionLowRankMix(x[N,12], a[12], num_branches=0)  -> float32[N,?] float32[N,?] float32[N,12]
y, g, s = HyperConnectionLowRankMix(x[], a[12], num_branches=3)  -> float32[*] float32[*] float32[*]
y, i, c = Unique(x:int32[2,3])  -> int32[?] int64[2,3] int64[?]
y = QLinearConcat(s:const[], z:int8:const[], a:int8[N,2], b:const[], c:int8:const[], d:int8[N,3],
    e:const[], f:int8:const[], g:int8[N,4], h:const[], j:int8:const[], axis=1)  -> int8[N,9]
y = ai.onnx.ml.CastMap(x[N])  -> float32[1,?]
y = ai.onnx.ml.CastMap(x[N], cast_to='TO_STRING')  -> string[1,?]
y = ai.onnx.ml.CastMap(x[N], cast_to='TO_FLOAT')  -> float32[1,?]
y = ai.onnx.ml.CastMap(x[N], cast_to='TO_BOOL')  -> ?[1,?]
"""
"""A node, and its results; HEADS are 4 of the queries and 2 of keys and values."""


@pytest.mark.parametrize("row", ROWS.strip().replace("\n    ", " ").split("\n"))
def test_results_of_a_node(row: str) -> None:
    text, _, found = row.replace("HEADS", "num_heads=4, kv_num_heads=2").partition("->")
    prefix = " = " if "ai.onnx.ml" in text else " = com.microsoft."
    assert results(text.strip().replace(" = ", prefix)) == found.strip()
