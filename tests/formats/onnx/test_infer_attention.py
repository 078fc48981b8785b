"""Attention and operators with a state of `com.microsoft`: packed operands, absent ones, and what is not known.

Source: onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

import pytest

from tests.support.onnx.node_results import results

ROWS = """
y, p = Attention(x[*], w[8,12], b[12], num_heads=2)
    -> float32[?,?,4] float32[2,?,2,?,2]
y, p = Attention(x[B,S,8], w[*], b[12], num_heads=2)
    -> float32[B,S,4] float32[2,B,2,S,2]
y, p = Attention(x[B,S,8], w[8,18], b[*], num_heads=3)
    -> float32[B,S,6] float32[2,B,3,S,2]
y, p = Attention(x[B,S,8], w[8,3], b[3], num_heads=1, qkv_hidden_sizes=[1,1,1])
    -> float32[B,S,1] float32[2,B,1,S,1]
y, p = Attention(x[B,3,8], w[8,12], b[12], , k[2,B,2,9,2], , l:int32[1], num_heads=2, past_present_share_buffer=1)
    -> float32[B,3,4] float32[2,B,2,9,2]
y, p = Attention(x[B,S,8], w[8,12], b[12], num_heads=1)
    -> float32[B,S,4] float32[2,B,1,S,4]
y, p = Attention(x[B,S,8], w[8,12], b[12])
    -> float32[B,S,4] float32[2,B,?,S,?]
y, p = Attention(x[B,S,8], w[8,12], b[12], num_heads=0)
    -> float32[B,S,4] float32[2,B,?,S,?]
y, p = Attention(x[B,S,8], w[8,15], b[15], num_heads=2, qkv_hidden_sizes=[4,7,4])
    -> float32[B,S,4] float32[2,B,2,S,2]
y, p = Attention(x[B,S,8], w[8,12], b[12], num_heads=2, qkv_hidden_sizes=[4,4,4,4])
    -> float32[B,S,?] float32[2,B,2,S,?]
y, p = Attention(x[B,3,8], w[8,12], b[12], , k[2,B,2,9,2], num_heads=2)
    -> float32[B,3,4] float32[2,B,2,12,2]
y, p = Attention(x[B,S,8], w[*], b[*], num_heads=2)
    -> float32[B,S,?] float32[2,B,2,S,?]
y, p = Attention(x[B,S,8], w[8,13], b[13], num_heads=2)
    -> float32[B,S,?] float32[2,B,2,S,?]
y, p = Attention(x[B,S,8], w[8,16], b[16], num_heads=2, qkv_hidden_sizes=[4,4,8])
    -> float32[B,S,8] float32[2,B,2,S,?]
y, p = Attention(x[B,S,8], w[8,12], b[12], num_heads=2, qkv_hidden_sizes=[4,4,0])
    -> float32[B,S,?] float32[2,B,2,S,?]
y, p = Attention(x[B,S,8], w[8,12], b[12], num_heads=2, qkv_hidden_sizes=[4,8])
    -> float32[B,S,?] float32[2,B,2,S,?]
y, p = Attention(x[B,3,8], w[8,12], b[12], , k[*], num_heads=2)
    -> float32[B,3,4] float32[2,B,2,?,2]
y, p = Attention(x[B,3,8], w[8,12], b[12], , k[*], , l:int32[1], num_heads=2, past_present_share_buffer=1)
    -> float32[B,3,4] float32[2,B,2,?,2]
y, p = Attention(x[B,3,8], w[8,12], b[12], , k[2,B,2,9,2], , l:int32[1], num_heads=2, past_present_share_buffer=2)
    -> float32[B,3,4] float32[2,B,2,?,2]
y, p, r, s = MultiHeadAttention(q[B,S,2,3,4], num_heads=2)
    -> float32[B,S,8] float32[B,2,S,4] float32[B,2,S,4] float32[B,2,S,S]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,2,L,4], v[B,2,L,3], num_heads=2)
    -> float32[B,S,6] float32[B,2,L,4] float32[B,2,L,3] float32[B,2,S,L]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,L,2,2,4], num_heads=2)
    -> float32[B,S,8] float32[B,2,L,4] float32[B,2,L,4] float32[B,2,S,L]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,L,8], num_heads=2)
    -> float32[B,S,?] float32[B,2,L,4] float32[B,2,L,?] float32[B,2,S,L]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[*], v[B,L,6], num_heads=2)
    -> float32[B,S,6] float32[B,2,?,4] float32[B,2,?,3] float32[B,2,S,?]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,L,8], v[*], num_heads=2)
    -> float32[B,S,?] float32[B,2,L,4] float32[B,2,L,?] float32[B,2,S,L]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,3,8], v[B,3,4], , , , c[*], d[*], num_heads=2)
    -> float32[B,S,4] float32[B,2,?,4] float32[B,2,?,2] float32[B,2,S,?]
y, p, r, s = MultiHeadAttention(q[B,8], k[B,3,8], v[B,3,4], num_heads=2)
    -> float32[*] float32[*] float32[*] float32[*]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[B,1,8], num_heads=2)
    -> float32[B,1,8] float32[B,2,1,4] float32[B,2,1,4] float32[B,2,1,1]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[*], num_heads=2)
    -> float32[B,1,?] float32[B,2,1,4] float32[B,2,1,?] float32[B,2,1,1]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[B,1,8], , , c[*], d[*], num_heads=2)
    -> float32[B,1,8] float32[B,2,?,4] float32[B,2,?,4] float32[B,2,1,?]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[B,1,8], , , c[B,2,5,4], d[B,2,5,4], num_heads=2)
    -> float32[B,1,8] float32[B,2,6,4] float32[B,2,6,4] float32[B,2,1,6]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,2,L,4], v[B,2,L,3], num_heads=2)
    -> float32[B,1,6] float32[*] float32[*] float32[B,2,1,L]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[*], k[B,2,L,4], v[B,2,L,3], num_heads=2)
    -> float32[*] float32[*] float32[*] float32[*]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[B,1,6], num_heads=2, past_present_share_buffer=2)
    -> float32[B,1,6] float32[B,2,?,4] float32[B,2,?,3] float32[B,2,1,?]
y, p, r = GroupQueryAttention(q[*], k[B,S,8], v[B,S,8], HEADS)
    -> float32[*] float32[*] float32[*]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , n:int32[B], t:int32[], HEADS)
    -> float32[B,S,16] float32[B,2,?,4] float32[B,2,?,4]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], c[*], d[*], n:int32[B], t:int32:const[]{9}, HEADS)
    -> float32[B,S,16] float32[B,2,?,?] float32[B,2,?,?]
y, p, r = GroupQueryAttention(q[B,S,33], , , , , n:int32[B], t:int32:const[]{9}, HEADS)
    -> float32[B,S,?] float32[B,2,9,?] float32[B,2,9,?]
y, p, r = SparseAttention(q[*], , , c[B,2,P,4], d[B,2,P,4], HEADS)
    -> float32[*] float32[*] float32[*]
y, p, r = SparseAttention(q[B,S,16], k[B,S,8], v[B,S,8], c[B,2,P,4], d[B,2,P,4], HEADS)
    -> float32[B,S,16] float32[B,2,P,4] float32[B,2,P,4]
y = PackedAttention(x[*], w[8,24], b[24], num_heads=2)
    -> float32[*]
y = PackedAttention(x[T,8], w[*], b[24], num_heads=2)
    -> float32[T,?]
y = PackedAttention(x[T,8], w[8,24], b[24], num_heads=2, qkv_hidden_sizes=[8,8,4])
    -> float32[T,4]
y = PackedAttention(x[T,8], w[8,24], b[24], num_heads=2, qkv_hidden_sizes=[8,8,0])
    -> float32[T,?]
y = PackedAttention(x[T,8], w[8,24], b[24], num_heads=2, qkv_hidden_sizes=[8,8])
    -> float32[T,?]
y, p, r, s = MultiHeadAttention(q[*], k[B,L,8], v[B,L,6], num_heads=2)
    -> float32[*] float32[*] float32[*] float32[*]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,8], v[B,L,6], num_heads=2)
    -> float32[B,S,6] float32[B,2,?,4] float32[B,2,?,3] float32[B,2,S,?]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[*], num_heads=2)
    -> float32[B,S,?] float32[B,2,?,4] float32[B,2,?,?] float32[B,2,S,?]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,L,8], v[B,6], num_heads=2)
    -> float32[B,S,?] float32[B,2,L,4] float32[B,2,L,?] float32[B,2,S,L]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,3,8], v[B,3,4], , , , c[B,2,5,4], d[B,2,5,2], num_heads=2)
    -> float32[B,S,4] float32[B,2,8,4] float32[B,2,8,2] float32[B,2,S,8]
y, p, r, s = MultiHeadAttention(q[B,S,8], k[B,3,8], v[B,3,4], , , , c[B,2,5,4], , l:int32[1], num_heads=2)
    -> float32[B,S,4] float32[B,2,5,4] float32[B,2,5,2] float32[B,2,S,5]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,24], num_heads=2)
    -> float32[B,1,8] float32[B,2,1,4] float32[B,2,1,4] float32[B,2,1,1]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,24], , , , , c[B,2,5,4], d[B,2,5,4], num_heads=2)
    -> float32[B,1,8] float32[B,2,6,4] float32[B,2,6,4] float32[B,2,1,6]
y, p, r = GroupQueryAttention(q[B,S,24], , , , , n:int32[B], t:int32:const[]{9}, HEADS)
    -> float32[B,S,12] float32[B,2,9,3] float32[B,2,9,3]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , , t:int32:const[]{9}, HEADS, sliding_window_cache=1)
    -> float32[B,S,16] float32[B,2,?,4] float32[B,2,?,4]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , , t:int32:const[]{9}, HEADS, v_quant_type='PER_TENSOR')
    -> float32[B,S,16] float32[B,2,9,?] float32[B,2,9,?]
y, p, r = GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], c[B,2,7,4], d[B,2,6,4], n:int32[B], t:int32[], HEADS)
    -> float32[B,S,16] float32[B,2,?,4] float32[B,2,?,4]
y, p, r = SparseAttention(q[B,S,24], , , c[B,2,P,4], d[B,2,Q,5], HEADS)
    -> float32[B,S,12] float32[B,2,P,4] float32[B,2,Q,5]
y = PackedMultiHeadAttention(q[T,4,3,5])
    -> float32[T,20]
y = PackedMultiHeadAttention(q[T,8], k[T,8], v[T,6])
    -> float32[T,6]
y = PackedMultiHeadAttention(q[T,8], k[T,8], v[*])
    -> float32[T,?]
y = PackedMultiHeadAttention(q[T,8,3])
    -> float32[*]
y = PackedMultiHeadAttention(q[*])
    -> float32[*]
y = PackedAttention(x[T,8], w[8,24], b[24], qkv_hidden_sizes=[9,9,1])
    -> float32[T,1]
y, k, v = PagedAttention(q[T,16], k1[T,8], v1[T,8], c[9,16,2,4], d[8,16,2,5], HEADS, kv_cache_layout='LATENT')
    -> float32[T,?] float32[9,16,2,4] float32[8,16,2,5]
y, k, v = PagedAttention(q[T,24], , , c[9,16,2,4], d[8,16,2,5], HEADS)
    -> float32[T,12] float32[9,16,2,4] float32[8,16,2,5]
y, p, r = GroupQueryAttention(q[B,S,32], , , c[B,2,7,4], d[B,2,12,4], , t:int32:const[]{9}, HEADS)
    -> float32[B,S,16] float32[B,2,9,4] float32[B,2,12,4]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,24], , , , , c[B,2,5,4], num_heads=2, past_present_share_buffer=1)
    -> float32[B,1,8] float32[B,2,5,4] float32[B,2,5,4] float32[B,2,1,?]
y, p, r, s = DecoderMaskedMultiHeadAttention(q[B,1,24], , , , , c[B,2,5,4], num_heads=2)
    -> float32[B,1,8] float32[B,2,6,4] float32[B,2,6,4] float32[B,2,1,6]
y, k, v = DecoderAttention(q[S,B,8], k1[T,B,8], num_heads=2)
    -> float32[S,B,8] float32[B,2,?,4] float32[B,2,?,4]
y, k, v = DecoderAttention(q[*], k1[T,B,8], num_heads=2)
    -> float32[*] float32[*] float32[*]
y, k, v = PagedAttention(q[T,16], k1[T,8], v1[T,8], c[9,16,2,4], d[9,16,2,4], HEADS)
    -> float32[T,16] float32[9,16,2,4] float32[9,16,2,4]
y, k, v = PagedAttention(q[*], k1[T,8], v1[T,8], c[9,16,2,4], d[9,16,2,4], HEADS)
    -> float32[*] float32[*] float32[*]
y, k, v = PagedAttention(q[T,32], , , c[9,16,2,4], d[9,16,2,4], HEADS)
    -> float32[T,16] float32[9,16,2,4] float32[9,16,2,4]
y, k, v = PagedAttention(q[T,16], k1[T,8], v1[T,8], c[9,16,2,4], d[9,16,2,4], HEADS, v_head_size=3)
    -> float32[T,?] float32[9,16,2,4] float32[9,16,2,4]
y, k, v = SparsePagedAttention(q[T,16], k1[T,8], v1[T,8], c[9,16,2,4], d[9,16,2,4], HEADS)
    -> float32[T,16] float32[9,16,2,4] float32[9,16,2,4]
y, p = LinearAttention(q[*], k[B,T,8], v[B,T,12], q_num_heads=2, kv_num_heads=4)
    -> float32[*] float32[*]
y, p = LinearAttention(q[B,T,4], k[*], v[B,T,12], q_num_heads=2, kv_num_heads=4)
    -> float32[B,T,12] float32[B,4,2,3]
y, p = LinearAttention(q[B,T,4], k[B,T,8], v[*], q_num_heads=2, kv_num_heads=4)
    -> float32[B,T,?] float32[B,4,2,?]
y, p = LinearAttention(q[B,T,4], k[B,T,4], v[B,T,6], q_num_heads=2, kv_num_heads=2, state_window=-1)
    -> float32[B,T,6] float32[*]
y, p, u = CausalConvWithState(x[B,4,L], w[4,1,3])
    -> float32[B,4,L] float32[B,4,2] float32[B,0,4]
y, p, u = CausalConvWithState(x[B,4,L], w[4,1,3], dilation=2)
    -> float32[B,4,L] float32[B,4,4] float32[B,0,4]
y, p, u = CausalConvWithState(x[B,L,4], w[4,1,3], channels_last=1)
    -> float32[B,L,4] float32[B,2,4] float32[B,0,4]
y, p, u = CausalConvWithState(x[B,4,L], w[*])
    -> float32[B,4,L] float32[B,4,?] float32[B,0,4]
y, p, u = CausalConvWithState(x[B,4,L], w[4,1,3], channels_last=2)
    -> float32[*] float32[*] float32[*]
y, p, u = CausalConvWithState(x[B,4,L], w[4,1,3], ndim=2)
    -> float32[B,4,L] float32[*] float32[*]
y, p, u = CausalConvWithState(x[B,4], w[4,1,3])
    -> float32[B,4] float32[*] float32[*]
y, p, u = CausalConvWithState(x[B,4,L], w[4,1,3], state_length=5)
    -> float32[*] float32[*] float32[*]
y, p, u = CausalConvWithState(x[B,4,L], w[4,1,3], state_update_capacity=6)
    -> float32[B,4,L] float32[B,4,2] float32[B,6,4]
y, p, u = CausalConvWithState(x[B,4,L], w[4,1,3], state_update_capacity=-6)
    -> float32[B,4,L] float32[B,4,2] float32[B,0,4]
y, p, u = VarlenCausalConvWithState(x[T,4], w[4,1,3], e:int32[5])
    -> float32[T,4] float32[4,4,2] float32[4,0,4]
y, p, u = VarlenCausalConvWithState(x[T,4], w[4,1,3], e:int32[*], state_update_capacity=6)
    -> float32[T,4] float32[?,4,2] float32[?,6,4]
y, p, u = VarlenCausalConvWithState(x[*], w[4,1,3], e:int32[5])
    -> float32[*] float32[*] float32[*]
y, p, g = GatedDeltaNet(q[T,2,4], k[T,2,4], v[T,3,5], , , , s[B,3,4,5])
    -> float32[T,3,5] float32[B,3,4,5] float32[B,?]
y, p, g = GatedDeltaNet(q[T,6,4], k[T,2,4], v[T,3,5], , , , s[B,3,4,5])
    -> float32[T,6,5] float32[B,3,4,5] float32[B,?]
y, p, g = GatedDeltaNet(q[T,90], , , , , , s[*])
    -> float32[T,?,?] float32[?,?,?,?] float32[?,?]
y, p, g = GatedDeltaNet(q[*], , , , , , s[B,3,4,5])
    -> float32[*] float32[*] float32[*]
y, p, g = GatedDeltaNet(q[T,2,4], k[T,2,4], v[*], , , , s[*])
    -> float32[T,?,?] float32[?,?,?,?] float32[?,?]
a, b, c, d, e = Mamba2Verify(x[R,99], s[B,8,3], t[B,4,5,6], , , , , , n[7])
    -> float32[R,7] float32[B,8,3] float32[B,4,5,6] float32[R,8] float32[R,7]
a, b, c, d, e = Mamba2Verify(x[*], s[*], t[*], , , , , , n[*])
    -> float32[?,?] float32[*] float32[*] float32[?,?] float32[?,?]
y = ConvStateReplay(a[N], b[M], c[B,8,3])
    -> float32[B,8,3]
y = GatedDeltaNetStateReplay(a[N], b[M], c[B,8,3])
    -> float32[B,8,3]
y, h, c = AttnLSTM(x[S,B,8], w[1,12,8], r[1,12,3], hidden_size=3)
    -> float32[S,1,B,3] float32[1,B,3] float32[1,B,3]
y, h, c = DynamicQuantizeLSTM(x[S,B,8], w:int8[2,8,12], r:int8[2,3,12], hidden_size=3, direction="bidirectional")
    -> float32[S,2,B,3] float32[2,B,3] float32[2,B,3]
"""
"""A node, and its results; HEADS are 4 of the queries and 2 of keys and values."""


@pytest.mark.parametrize("row", ROWS.strip().replace("\n    ->", "->").split("\n"))
def test_results_of_a_node(row: str) -> None:
    text, _, found = row.replace("HEADS", "num_heads=4, kv_num_heads=2").partition("->")
    assert results(text.replace(" = ", " = com.microsoft.")) == found.strip()


@pytest.mark.parametrize(
    ("operands", "found"),
    [
        ("q[T,6,4], , v[T,3,5], , , , s[B,3,4,5]", "float32[T,6,5] float32[B,3,4,5]"),
        ("q[T,2,4], k[T,2,4], v[T,7,5], , , , s[*]", "float32[T,7,5] float32[?,?,?,?]"),
        ("q[T,H,4], k[T,H,4], v[T,7,5], , , , s[*]", "float32[T,?,5] float32[?,?,?,?]"),
        ("q[B,S,6,4], k[B,S,2,4], v[B,S,3,5], , , , s[*]", "float32[B,S,6,5] float32[?,?,?,?]"),
        ("q[T,90], , , , , , s[B,3,4,5]", "float32[T,3,4] float32[B,3,4,5]"),
    ],
)
def test_the_heads_of_a_delta_net_are_the_more_of_two_or_those_of_its_state(operands: str, found: str) -> None:
    assert results(f"y, p = com.microsoft.GatedDeltaNet({operands})") == found
