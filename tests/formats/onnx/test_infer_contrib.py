"""The operators that onnxruntime adds: shapes and element types of all results, a text a node.

That onnxruntime returns them is what the audit asks (tests/whole/test_contrib_audit.py); here are the branches of the
rules, what is not known, and the operators without a kernel for the CPU.
"""

from __future__ import annotations

import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from graphfix import operators
from graphfix.formats.onnx.infer import contrib, element_types
from graphfix.formats.onnx.infer.contrib.registry import OPERATORS
from graphfix.formats.onnx.infer.operators import registry
from tests.support.onnx.node_results import cases, results

MS = "com.microsoft"


MOVES = """
# Crop by a border
y = Crop(x[N,3,8,W], border=[1,2,0,1])
    -> float32[N,3,5,?]
# Crop to a size
y = Crop(x[N,3,8,W], border=[1,2,0,1], scale=[4,5])
    -> float32[N,3,4,5]
# Crop of another rank
y = Crop(x[N,8,W], border=[1,2,0,1])
    -> float32[*]
# GivenTensorFill
y = GivenTensorFill(x[2], shape=[2,3])
    -> float32[*]
# ExpandDims in front
y = com.microsoft.ExpandDims(x[N,4], a:int32:const[]{0})
    -> float32[1,N,4]
# ExpandDims behind
y = com.microsoft.ExpandDims(x[N,4], a:int32:const[]{-1})
    -> float32[N,4,1]
# ExpandDims at an unknown place
y = com.microsoft.ExpandDims(x[N,4], a:int32[])
    -> float32[?,?,?]
# ExpandDims beyond the end
y = com.microsoft.ExpandDims(x[N,4], a:int32:const[]{3})
    -> float32[?,?,?]
# GatherND
y = com.microsoft.GatherND(x[2,N,4], i:int64[K,1])
    -> float32[K,N,4]
# blocks of 4 bits
y = com.microsoft.GatherBlockQuantized(t:uint8:const[5,16], i:int64[N], s:const[5,2], block_size=16)
    -> float32[N,32]
# blocks of 8 bits
y = com.microsoft.GatherBlockQuantized(t:uint8:const[5,32], i:int64[N], s:const[5,2], bits=8, block_size=16)
    -> float32[N,32]
# packed along the gathered axis
y = com.microsoft.GatherBlockQuantized(t:uint8:const[5,32], i:int64[N], s:const[5,2], gather_axis=1)
    -> float32[?,?]
# Pad
y = com.microsoft.Pad(x[N,4], p:int64:const{0,1,0,2})
    -> float32[N,7]
# QLinearConcat
y = com.microsoft.QLinearConcat(s:const[], z:int8:const[], a:int8[N,2], b:const[], c:int8:const[], d:int8[N,3],
    e:const[], f:int8:const[], axis=1)
    -> int8[N,5]
# Range without a step
y = com.microsoft.Range(a:const[]{2}, b:const[]{7})
    -> int64[5]
# Range by steps
y = com.microsoft.Range(a:const[]{2}, b:const[]{7}, c:const[]{2})
    -> int64[3]
# tokens of some strings
y = com.microsoft.Tokenizer(x:string[3])
    -> string[3,?]
# tokens of perhaps no strings
y = com.microsoft.Tokenizer(x:string[N])
    -> string[*]
# UnfoldTensor
y = com.microsoft.UnfoldTensor(x[N,7], size=3, step=2)
    -> float32[N,3,3]
# UnfoldTensor of what is too small
y = com.microsoft.UnfoldTensor(x[N,2], size=3)
    -> float32[N,?,3]
# UnfoldTensor of what is just large enough
y = com.microsoft.UnfoldTensor(x[N,3], size=3)
    -> float32[N,1,3]
# UnfoldTensor along the first axis
y = com.microsoft.UnfoldTensor(x[7,N], size=3, dim=0)
    -> float32[5,N,3]
# UnfoldTensor along an axis that is not there
y = com.microsoft.UnfoldTensor(x[N,7], size=3, dim=2)
    -> float32[?,?,?]
# UnfoldTensor without a size
y = com.microsoft.UnfoldTensor(x[N,7])
    -> float32[?,?,?]
# UnfoldTensor of single elements
y = com.microsoft.UnfoldTensor(x[N,7], size=1)
    -> float32[N,7,1]
# UnfoldTensor by steps of nothing
y = com.microsoft.UnfoldTensor(x[N,7], size=3, step=0)
    -> float32[?,?,?]
# Unique
y, i, c = com.microsoft.Unique(x:int32[N])
    -> int32[?] int64[N] int64[?]
# WordConvEmbedding
y = com.microsoft.WordConvEmbedding(x:int32[W,9], w[5,1,3,4], b[5], c[7,4])
    -> float32[W,5]
# hashes
y, p = com.microsoft.NGramHashMapping(x:int64[B,S], m:int64[3], v:int64[4], max_ngram_size=3, n_head_per_ngram=2)
    -> int64[B,S,4] int64[B,2]
# hashes of packed sequences
y, p, g, u = com.microsoft.VarlenNGramHashMapping(x:int64[T], m:int64[3], v:int64[4], e:int32[4], max_ngram_size=3,
    n_head_per_ngram=2)
    -> int64[T,4] int64[3,2] int32[3,2] int64[3,0,2]
# Rfft
y = com.microsoft.Rfft(x[N,9])
    -> float32[N,5,2]
# Irfft
y = com.microsoft.Irfft(x[N,5,2])
    -> float32[N,8]
# RelativePositionBias
y = com.microsoft.RelativePositionBias(t[32,8], q:const[]{3}, k:int64[])
    -> float32[1,8,3,?]
# padding removed
y, o, c, m = com.microsoft.RemovePadding(x[3,S,H], t:int32[3])
    -> float32[?,H] int32[3,S] int32[4] int32[1]
# padding restored
y = com.microsoft.RestorePadding(x[T,H], o:int32[B,S])
    -> float32[B,S,H]
# TorchEmbedding
y = com.microsoft.TorchEmbedding(w[9,H], i:int64[N,2])
    -> float32[N,2,H]
# ReduceSumInteger
y = com.microsoft.ReduceSumInteger(x:uint8[N,4], axes=[1], keepdims=0)
    -> uint32[N]
# GatherPacked
y = com.microsoft.GatherPacked(t:uint8[9,20], i:int64[N], K=32, output_dtype=1)
    -> float32[N,32]
# BifurcationDetector
y, p = com.microsoft.BifurcationDetector(a:int64[N], b:int64[M], c:int64[])
    -> int64[?] int64[]
# blocks of 2 bits
y = com.microsoft.GatherBlockQuantized(t:uint8:const[5,16], i:int64[N], s:const[5,2], bits=2, block_size=16)
    -> float32[N,64]
# blocks of 3 bits
y = com.microsoft.GatherBlockQuantized(t:uint8:const[5,16], i:int64[N], s:const[5,2], bits=3, block_size=16)
    -> float32[?,?]
# blocks gathered along the second axis
y = com.microsoft.GatherBlockQuantized(t:uint8:const[3,5,16], i:int64[N,2], s:const[3,5,2], gather_axis=1)
    -> float32[3,N,2,32]
# hashes of tokens of an unknown rank
y, p = com.microsoft.NGramHashMapping(x:int64[*], m:int64[3], v:int64[4], max_ngram_size=3, n_head_per_ngram=2)
    -> int64[?,?,4] int64[?,2]
# hashes of pairs by one head
y, p = com.microsoft.NGramHashMapping(x:int64[B,S], m:int64[3], v:int64[4], max_ngram_size=2, n_head_per_ngram=1)
    -> int64[B,S,1] int64[B,1]
# hashes of single tokens
y, p = com.microsoft.NGramHashMapping(x:int64[B,S], m:int64[3], v:int64[4], max_ngram_size=1, n_head_per_ngram=2)
    -> int64[B,S,?] int64[B,?]
# hashes by no head
y, p = com.microsoft.NGramHashMapping(x:int64[B,S], m:int64[3], v:int64[4], max_ngram_size=3)
    -> int64[B,S,?] int64[B,2]
# hashes of no order
y, p = com.microsoft.NGramHashMapping(x:int64[B,S], m:int64[3], v:int64[4], n_head_per_ngram=2)
    -> int64[B,S,?] int64[B,?]
# hashes of packed sequences of an unknown rank
y, p, g, u = com.microsoft.VarlenNGramHashMapping(x:int64[*], m:int64[3], v:int64[4], e:int32[*], max_ngram_size=3,
    n_head_per_ngram=2, state_update_capacity=7)
    -> int64[?,4] int64[?,2] int32[?,2] int64[?,7,2]
# hashes of packed single tokens
y, p, g, u = com.microsoft.VarlenNGramHashMapping(x:int64[T], m:int64[3], v:int64[4], e:int32[4], max_ngram_size=1,
    n_head_per_ngram=2, state_update_capacity=-1)
    -> int64[T,?] int64[3,?] int32[3,?] int64[3,0,?]
# hashes of a free number of packed sequences
y, p, g, u = com.microsoft.VarlenNGramHashMapping(x:int64[T], m:int64[3], v:int64[4], e:int32[E], max_ngram_size=2,
    n_head_per_ngram=2, state_update_capacity=1)
    -> int64[T,2] int64[?,1] int32[?,1] int64[?,1,1]
"""
GENERATED = """
# beams
y, s, p, q, r = com.microsoft.BeamSearch(i:int32[B,S], a:int32:const[]{20}, b:int32:const[]{1}, c:int32:const[]{3},
    d:int32:const[]{2}, e:float16[1], f[1], vocab_size=99)
    -> int32[B,2,20] float16[B,2] float16[?,B,3,99] float16[B,2,?,?,?] float16[B]
# beams of an unknown length
y, s, p, q, r = com.microsoft.BeamSearch(i:int32[B,S], a:int32[], b:int32:const[]{1}, c:int32:const[]{3},
    d:int32:const[]{2}, , f:float16[1], vocab_size=1)
    -> int32[B,2,?] float16[B,2] float16[?,B,3,1] float16[B,2,?,?,?] float16[B]
# beams of an unknown number
y, s, p, q, r = com.microsoft.BeamSearch(i:int32[B,S], a:int32:const[]{20}, b:int32:const[]{1}, c:int32:const[]{3},
    d:int32[], e[1], f[1], vocab_size=0)
    -> int32[B,?,20] float32[B,?] float32[?,B,3,?] float32[B,?,?,?,?] float32[B]
# beams of sounds
y, s, p, q, r = com.microsoft.WhisperBeamSearch(i[B,80,S], a:int32:const[]{20}, b:int32:const[]{1},
    c:int32:const[]{3}, d:int32:const[]{2}, e:float16[1], f[1])
    -> int32[B,2,20] float16[B,2] float16[?,B,3,?] float32[B,2,?,?,?] float16[B]
# beams of an operand without axes
y, s, p, q, r = com.microsoft.WhisperBeamSearch(i[], a:int32:const[]{20}, b:int32:const[]{1}, c:int32:const[]{3},
    d:int32:const[]{2}, e:float16[1], f[1])
    -> int32[?,2,20] float16[?,2] float16[?,?,3,?] float32[?,2,?,?,?] float16[?]
"""
ELEMENTWISE = """
# the state of a GRUUnit
y = GRUUnit(h[1,N,4], g[1,N,12], l[N], t[1])
    -> float32[1,N,4]
# two operands
y = com.microsoft.QLinearAdd(a:int8[N,1], b[], c:int8[], d:int8[4], e[], f:int8[], g[], h:int8[])
    -> int8[N,4]
# a choice
y = com.microsoft.QLinearWhere(c:bool[N,1], a:int8[4], b[], d:int8[], e:int8[], f[], g:int8[], h[], i:int8[])
    -> int8[N,4]
# a hash
y = com.microsoft.MurmurHash3(x:int64[N])
    -> uint32[N]
# a hash with a sign
y = com.microsoft.MurmurHash3(x:int64[N], positive=0)
    -> int32[N]
# quantized by default
y = com.microsoft.QuantizeLinear(x[N], s:const[])
    -> uint8[N]
# quantized by a zero point
y = com.microsoft.QuantizeLinear(x[N], s:const[], z:int16:const[])
    -> int16[N]
# dequantized
y = com.microsoft.DequantizeLinear(x:int8[N], s:float16:const[])
    -> float16[N]
# scores of the second operand
y = com.microsoft.NGramRepeatBlock(i:int64[B,S], s[B,V])
    -> float32[B,V]
# distances
y = com.microsoft.CDist(a[M,4], b[K,4])
    -> float32[M,K]
# a mask of bits
y, m = com.microsoft.BitmaskDropout(x[5,13])
    -> float32[5,13] uint32[3]
# a mask
y, m = com.microsoft.BiasDropout(x[N,4], b[4])
    -> float32[N,4] bool[N,4]
# halves
y = com.microsoft.BiasSplitGelu(x[N,S,8], b[8])
    -> float32[N,S,4]
# a gate beside its operand
y = com.microsoft.SwiGLU(a[N,8], b[N,8])
    -> float32[N,8]
# a gate and its operand in one
y = com.microsoft.SwiGLU(a[N,8])
    -> float32[N,4]
"""
NORMALIZATIONS = """
# simplified
y, d = SimplifiedLayerNormalization(x:float16[N,S,8], w:float16[8])
    -> float16[N,S,8] float32[N,S,1]
# simplified from an axis
y, d = SimplifiedLayerNormalization(x[N,S,8], w[S,8], axis=1)
    -> float32[N,S,8] float32[N,1,1]
# of a sum
y, , , s = com.microsoft.SkipLayerNormalization(x[N,S,8], k[1,S,8], w[8])
    -> float32[N,S,8] float32[N,S,8]
# of a sum, with mean and deviation
y, m, d = com.microsoft.SkipLayerNormalization(x:float16[N,S,8], k:float16[1,S,8], w:float16[8])
    -> float16[N,S,8] float32[N,S,1] float32[N,S,1]
# of embeddings
y, m, s = com.microsoft.EmbedLayerNormalization(i:int32[B,S], , w[9,H], p[7,H], , g[H], b[H])
    -> float32[B,S,H] int32[B] float32[B,S,H]
# of branches that are apart
y = com.microsoft.HyperConnectionPreMix(x[N,3,4], g[N,3])
    -> float32[N,4]
# of branches side by side
y = com.microsoft.HyperConnectionPreMix(x[N,12], g[N,3], num_branches=3)
    -> float32[N,4]
# a mix of low rank
y, g, s = com.microsoft.HyperConnectionLowRankMix(x[N,12], a[12], b[12,2], c[2,12], d[12,3], num_branches=3)
    -> float32[N,4] float32[N,3] float32[N,12]
"""
PRODUCTS = """
# transposed
y = com.microsoft.FusedMatMul(a[B,K,M], b[N,K], transA=1, transB=1)
    -> float32[B,M,N]
# batch axes behind the rows
y = com.microsoft.FusedMatMul(a[M,B,K], b[B,K,N], transBatchA=1)
    -> float32[B,M,N]
# both
y = com.microsoft.FusedMatMul(a[K,B,M], b[B,K,N], transA=1, transBatchA=1)
    -> float32[B,M,N]
# batch axes of two ranks
y = com.microsoft.FusedMatMul(a[M,B,K], b[K,N], transBatchA=1)
    -> float32[*]
# a vector
y = com.microsoft.FusedMatMul(a[K], b[B,K,N], transA=1)
    -> float32[B,N]
# a vector by a transposed matrix
y = com.microsoft.FusedMatMul(a[K], b[N,K], transB=1)
    -> float32[?]
# an odd flag
y = com.microsoft.FusedMatMul(a[K,M], b[K,N], transA=2)
    -> float32[*]
# 4 bits
y = com.microsoft.MatMulNBits(a[B,S,32], b:uint8[6,1,16], s[6], K=32, N=6, block_size=32)
    -> float32[B,S,6]
# no number of columns
y = com.microsoft.MatMulNBits(a[B,S,32], b:uint8[6,1,16], s[6])
    -> float32[B,S,?]
# columns of a shape
y = com.microsoft.MatMulFpQ4(a[B,32], b:uint8[99], s:const{32,5})
    -> float32[B,5]
# columns of an unknown shape
y = com.microsoft.MatMulFpQ4(a[B,32], b:uint8[99], s:int64[2])
    -> float32[B,?]
# quantized Gemm
y = com.microsoft.QGemm(a:int8[M,K], s[], z:int8[], b:int8[N,K], t[], u:int8[], , v[], w:uint8[], transB=1)
    -> uint8[M,N]
# quantized Gemm to floats
y = com.microsoft.QGemm(a:int8[M,K], s[], z:int8[], b:int8[K,N], t[], u:int8[])
    -> float32[M,N]
# of 16 bits
y = com.microsoft.MatMulInteger16(a:int16[M,K], b:int16[K,N])
    -> int32[M,N]
# of 16 bits of two kinds
y = com.microsoft.MatMulInteger16(a:int16[M,K], b:uint16[K,N])
    -> ?[M,N]
# to floats
y = com.microsoft.MatMulIntegerToFloat(a:uint8[M,K], b:uint8[K,N], s:float16[], t:float16[])
    -> float16[M,N]
# rows of a weight
y = com.microsoft.MatMulBlockQuantizedFp4Weight(a:float16[B,32], b:uint8[N,16], s:uint8[N,2], t[])
    -> float16[B,N]
# three at once
q, k, v, s = com.microsoft.MatMulNBitsQkv(a[B,S,32], , n[32], b:uint8[8,1,16], c[8], , d:uint8[4,1,16], e[4], ,
    f:uint8[4,1,16], g[4], Nq=8, Nkv=4)
    -> float32[B,S,8] float32[B,S,4] float32[B,S,4] float32[B,S,32]
# a router and a gate
y, z = com.microsoft.RouterGateUpProj(a[B,32], w[32,14], router_size=4)
    -> float32[B,4] float32[B,5]
# a router of groups
y, s, w = com.microsoft.MoEGroupRouter(l:float16[2,3,8], b[8], top_k=2)
    -> float16[6,8] float32[6,8] float32[6,8]
# a mixture
y = com.microsoft.MoE(x[T,8], r[T,4], a[4,6,8], , b[4,8,6])
    -> float32[T,8]
"""
WINDOWS = """
# quantized, channels first
y = com.microsoft.QLinearConv(x:uint8[N,3,8,8], s[], z:uint8[], w:int8[4,3,3,3], t[], u:int8[], v[], o:int8[])
    -> int8[N,4,6,6]
# quantized, channels last
y = com.microsoft.QLinearConv(x:uint8[N,8,8,3], s[], z:uint8[], w:int8[4,3,3,3], t[], u:int8[], v[], o:int8[],
    channels_last=1)
    -> int8[N,6,6,4]
# an odd flag
y = com.microsoft.QLinearGlobalAveragePool(x:uint8[N,8,8,3], s[], z:uint8[], t[], u:uint8[], channels_last=2)
    -> uint8[?,?,?,?]
# of the whole image
y = com.microsoft.QLinearGlobalAveragePool(x:uint8[N,8,8,3], s[], z:uint8[], t[], u:uint8[], channels_last=1)
    -> uint8[N,1,1,3]
# a pool, channels last
y = com.microsoft.NhwcMaxPool(x:int8[N,8,9,3], kernel_shape=[2,3], strides=[2,3])
    -> int8[N,4,3,3]
# pads at run time
y = com.microsoft.ConvTransposeWithDynamicPads(x[N,3,8,8], w[3,5,2,2], p:int64[4])
    -> float32[N,5,?,?]
# no pads
y = com.microsoft.ConvTransposeWithDynamicPads(x[N,3,8,8], w[3,5,2,2])
    -> float32[N,5,9,9]
# groups below 0
y = com.microsoft.ConvTransposeWithDynamicPads(x[N,3,8,8], w[3,5,2,2], group=-2)
    -> float32[N,?,9,9]
# crops
y = com.microsoft.CropAndResize(x[N,3,8,8], b[R,4], i:int32[R], s:int32:const{5,6})
    -> float32[R,3,5,6]
# crops of an unknown size
y = com.microsoft.CropAndResize(x[N,3,8,8], b[R,4], i:int32[R], s:int32[2])
    -> float32[R,3,?,?]
# channels in whole blocks
y = com.microsoft.nchwc.ReorderInput(x[N,32,8,8])
    -> float32[N,32,8,8]
# channels that processors pad differently
y = com.microsoft.nchwc.ReorderInput(x[N,24,8,8])
    -> float32[N,?,8,8]
# channels from the end
y = com.microsoft.nchwc.ReorderInput(x[N,8,9,16], channels_last=1)
    -> float32[N,16,8,9]
# out of blocks
y = com.microsoft.nchwc.ReorderOutput(x[N,32,8,9], channels=20)
    -> float32[N,20,8,9]
# out of blocks, channels last
y = com.microsoft.nchwc.ReorderOutput(x[N,32,8,9], channels=20, channels_last=1)
    -> float32[N,8,9,20]
# blocked Upsample
y = com.microsoft.nchwc.Upsample(x[N,16,8,9], scales=[1,1,2,3])
    -> float32[N,16,16,27]
# blocked Upsample without scales
y = com.microsoft.nchwc.Upsample(x[N,16,8,9])
    -> float32[?,?,?,?]
# Conv of an internal domain
y = com.ms.internal.nhwc.Conv(x[N,8,8,3], w[4,3,3,3])
    -> float32[N,6,6,4]
# indices of a pool
y, i = com.ms.internal.nhwc.MaxPool(x[N,8,8,3], kernel_shape=[2,2])
    -> float32[N,7,7,3] int64[?,?,?,?]
# DepthToSpace
y = com.ms.internal.nhwc.DepthToSpace(x[N,4,5,12], blocksize=2)
    -> float32[N,8,10,3]
# GridSample
y = com.ms.internal.nhwc.GridSample(x[N,4,5,3], g[N,6,7,2])
    -> float32[N,6,7,3]
# a transposed convolution of bytes
y = com.ms.internal.nhwc.QLinearConvTranspose(x:uint8[N,4,4,3], s[], z:uint8[], w:int8[3,5,2,2], t[], u:int8[], v[],
    o:int8[])
    -> int8[N,5,5,5]
"""


@pytest.mark.parametrize(
    ("text", "found"),
    cases(MOVES, GENERATED, ELEMENTWISE, NORMALIZATIONS, PRODUCTS, WINDOWS),
)
def test_results_of_a_node(text: str, found: str) -> None:
    assert results(text) == found


PACKED = {
    "values of another size": ("q[T,8], k[T,8], v[T,12]", "float32[T,12]"),
    "values of an unknown rank": ("q[T,8], k[T,8], v[*]", "float32[T,?]"),
    "queries of another rank": ("q[B,T,8], k[T,8], v[T,12]", "float32[*]"),
    "packed by head": ("q[T,2,3,4], , ", "float32[T,8]"),
}


@pytest.mark.parametrize(("given", "found"), PACKED.values(), ids=PACKED)
def test_packed_attention_has_the_tokens_of_the_queries_and_the_size_of_the_values(given: str, found: str) -> None:
    operands = f"{given}, , o:int32[B,S], c:int32[C]"
    assert results(f"y = com.microsoft.PackedMultiHeadAttention({operands}, num_heads=2)") == found


@pytest.mark.parametrize(("shared", "length"), [(0, "?"), (1, "P")])
def test_scores_beside_a_shared_buffer_are_as_long_as_what_is_used_of_it(shared: int, length: str) -> None:
    """Nothing says how much of the buffer, of P positions, is used; keys and values are the whole buffer."""
    given = "q[B,1,8], k[B,1,8], v[B,1,8], , , p[B,2,P,4], w[B,2,P,4], n:int32[]"
    options = f"num_heads=2, output_qk=1, past_present_share_buffer={shared}"
    found = results(f"y, a, b, c = com.microsoft.DecoderMaskedMultiHeadAttention({given}, {options})")
    assert found == f"float32[B,1,8] float32[B,2,{length},4] float32[B,2,{length},4] float32[B,2,1,?]"


ELEMENTS = {
    "Range": "r:int64[*] = com.microsoft.Range(a:const[]{2}, b:const[]{4})",
    "ExpandDims": "e:int64[*] = Cast(c:const[]{2}, to=7)\nf:int64[*] = com.microsoft.ExpandDims(e, a:int32:const[]{0})"
    "\nr:int64[*] = Concat(f, d:const{3}, axis=0)",
    "SampleOp": "r:int64[*] = com.microsoft.SampleOp(a:const{2,3})",
}


@pytest.mark.parametrize("text", ELEMENTS.values(), ids=ELEMENTS)
def test_elements_of_integers_are_followed(text: str) -> None:
    assert results(f"{text}\ny = Expand(x[1], r)") == "float32[2,3]"


# --- all operators ----------------------------------------------------------------------------------------------------

DOMAINS = (MS, "com.microsoft.nchwc", "com.ms.internal.nhwc", "ai.onnx.ml")


def test_the_operators_of_the_standard_domain_are_those_that_onnxruntime_adds() -> None:
    assert {op for domain, op in OPERATORS if not domain} == contrib.IN_THE_STANDARD_DOMAIN
    assert {domain for domain, _ in OPERATORS if domain} == contrib.DOMAINS


def test_every_operator_with_a_kernel_has_a_rule_and_types() -> None:
    kernels = {(it.domain, it.op_name) for it in runtime.get_all_opkernel_def()}
    schemas = {(it.domain, it.name) for it in runtime.get_all_operator_schema()}
    named = {key for key in kernels if key[0] in DOMAINS} | {key for key in schemas if key[0] == DOMAINS[2]}
    assert sorted(named - OPERATORS.keys()) == []
    for domain, op in OPERATORS:
        assert registry.shape_rule(domain, op, operators.row(domain, op, 1)) is not None
        assert element_types.of_results(op, domain, 1, [1] * 9, None), op


@pytest.mark.parametrize("key", [key for key in OPERATORS if key[0] != "ai.onnx.ml"], ids=".".join)
def test_a_rule_takes_operands_of_which_nothing_is_known(key: tuple[str, str]) -> None:
    assert results(f"y = {'.'.join(key).strip('.')}(a[*], b[*], c[*])").count("[") == 1
