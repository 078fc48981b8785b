"""The sizes and element types that the proof knows of operators which onnx does not define, as text in and text out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx.parser
import pytest

from graphfix.checker.proof.onnx.contrib import OPERATORS
from tests.support.needs import by_release
from tests.support.shown_results import HEAD, read, results

if TYPE_CHECKING:
    from pathlib import Path


MS = "com.microsoft."

ATTENTION = "float[B,S,8] x, float[8,36] w, float[36] b"
QKV = "float[B,S,8] q, float[B,L,8] k, float[B,L,12] v"
CACHED = "float[B,S,{}] q, float[B,S,4] k, float[B,S,4] v, float[B,1,P,4] pk, float[B,1,P,4] pv, int32[B] n, {} t"
GROUPED = "GroupQueryAttention<num_heads = 2, kv_num_heads = 1>"
ROWS = "float[B,S,K] x, uint8[N,1,8] w, float[N,1] s"
DATA = "float[B,S,8] x, float[B,S,8] y, float[8] g"
MATRICES = "float[A,1,M,K] x, float[B,K,N] y"
IMAGE = "float[N,3,9,W] x, float[5,3,3,3] w"
QUANTIZED = "uint8[2,3] x, float s, uint8 z"
TOKENS = "int64[B,S] ids, int64[4] m, int64[6] v"
GRAMS = "max_ngram_size = 4, n_head_per_ngram = 2, pad_id = 0"
GATES = 'x, w, r, "", "", "", "", "", s, z, s, z'
TABLE = "float[N,F] x"

SIZES: dict[str, tuple[str, str, list[str]]] = {
    # What has the shape of an operand.
    "Gelu": ("float[B,3] x", f"{MS}Gelu(x)", ["float[B,3]"]),
    "a bias": ("float16[B,3] x, float16[3] b", f"{MS}BiasGelu(x, b)", ["float16[B,3]"]),
    "skip": (DATA, f"{MS}SkipLayerNormalization(x, y, g, g)", ["float[B,S,8]"]),
    "skip with its sum": (
        DATA, f"{MS}SkipSimplifiedLayerNormalization(x, y, g)", ["float[B,S,8]", "", "", "float[B,S,8]"]),
    "a mean that no kernel computes": (
        DATA, f"{MS}SkipSimplifiedLayerNormalization(x, y, g)", ["float[B,S,8]", "-[*]"]),
    "scores without repeated n-grams": (
        "int64[B,S] i, float[B,V] s", f"{MS}NGramRepeatBlock<ngram_size = 2>(i, s)", ["float[B,V]"]),
    "hashes": ("string[B,3] x", f"{MS}MurmurHash3(x)", ["uint32[B,3]"]),
    "hashes with a sign": ("string[B,3] x", f"{MS}MurmurHash3<positive = 0>(x)", ["int32[B,3]"]),
    "hashes of an odd sign": ("string[B,3] x", f"{MS}MurmurHash3<positive = 2>(x)", ["-[B,3]"]),
    "quantized": ("float[B,3] x, float s", f"{MS}QuantizeLinear(x, s)", ["uint8[B,3]"]),
    "quantized to a zero point's type": (
        "float[B,3] x, float s, int8 z", f"{MS}QuantizeLinear(x, s, z)", ["int8[B,3]"]),
    "dequantized": ("uint8[B,3] x, float16 s", f"{MS}DequantizeLinear(x, s)", ["float16[B,3]"]),
    "added to bytes": (
        "uint8[B,3] x, uint8[3] y, float s, uint8 z", f"{MS}QLinearAdd(x, s, z, y, s, z, s, z)", ["uint8[B,3]"]),
    "a softmax of no elements": (
        "uint8[0,3] x, float s, uint8 z", f"{MS}QLinearSoftmax<opset = 13>(x, s, z, s, z)", ["uint8[*]"]),
    "a softmax": (QUANTIZED, f"{MS}QLinearSoftmax<opset = 13>(x, s, z, s, z)", ["uint8[2,3]"]),
    "embeddings": (
        "int32[B,S] i, float[9,8] w, float[9,8] p, float[8] g",
        f'{MS}EmbedLayerNormalization(i, "", w, p, "", g, g)',
        ["float[B,S,8]", "int32[B]", "float[B,S,8]"]),
    "streams by branch": (
        "float[B,4,8] x, float[B,4] m", f"{MS}HyperConnectionPreMix(x, m)", ["float[B,8]"]),
    "streams in a row": (
        "float[B,32] x, float[B,4] m", f"{MS}HyperConnectionPreMix<num_branches = 4>(x, m)", ["float[B,8]"]),
    "streams that do not divide": (
        "float[B,C] x, float[B,4] m", f"{MS}HyperConnectionPreMix<num_branches = 4>(x, m)", ["float[B,?]"]),
    "two halves": ("float16[B,6] x", f"{MS}SwiGLU(x)", ["float16[B,3]"]),
    "gate and data": ("float16[B,6] x, float16[B,6] y", f"{MS}SwiGLU(x, y)", ["float16[B,6]"]),
    "added to the standard set": ("float[B,3] x", "ParametricSoftplus<alpha = 1.0, beta = 1.0>(x)", ["float[B,3]"]),
    "SimplifiedLayerNormalization": (
        "float[B,S,8] x, float[8] g", "SimplifiedLayerNormalization(x, g)", ["float[B,S,8]", "float[B,S,1]"]),
    "a deviation over two axes": (
        "float[B,S,8] x, float[8] g", "SimplifiedLayerNormalization<axis = 1>(x, g)", ["float[B,S,8]", "float[*]"]),
    "LayerNormalization": (
        "float[B,S,8] x, float[8] g",
        "LayerNormalization<axis = 1>(x, g)", ["float[B,S,8]", "-[B,1,1]", "-[B,1,1]"]),
    # Attention.
    "Attention": (ATTENTION, f"{MS}Attention<num_heads = 3>(x, w, b)", ["float[B,S,12]", "float[2,B,3,S,4]"]),
    "Attention with a past": (
        f"{ATTENTION}, float[2,B,3,P,4] p", f'{MS}Attention<num_heads = 3>(x, w, b, "", p)',
        ["float[B,S,12]", "float[2,B,3,P+S,4]"]),
    "Attention with one buffer": (
        f"{ATTENTION}, float[2,B,3,P,4] p",
        f'{MS}Attention<num_heads = 3, past_present_share_buffer = 1>(x, w, b, "", p)',
        ["float[B,S,12]", "float[2,B,3,?,4]"]),
    "Attention of weights of a free size": (
        "float[B,S,8] x, float[8,N] w, float[N] b", f"{MS}Attention<num_heads = 3>(x, w, b)",
        ["float[B,S,?]", "float[2,B,3,S,?]"]),
    "Attention of stated sizes": (
        ATTENTION, f"{MS}Attention<num_heads = 2, qkv_hidden_sizes = [10, 10, 16]>(x, w, b)",
        ["float[B,S,16]", "float[2,B,2,S,8]"]),
    "Attention of heads that do not divide": (
        ATTENTION, f"{MS}Attention<num_heads = 5>(x, w, b)", ["float[B,S,12]", "float[2,B,5,S,?]"]),
    "MultiHeadAttention": (
        QKV, f"{MS}MultiHeadAttention<num_heads = 2>(q, k, v)",
        ["float[B,S,12]", "float[B,2,L,4]", "float[B,2,L,6]", "-[*]"]),
    "MultiHeadAttention with a past": (
        f"{QKV}, float[B,2,P,4] pk, float[B,2,P,6] pv",
        f'{MS}MultiHeadAttention<num_heads = 2>(q, k, v, "", "", "", pk, pv)',
        ["float[B,S,12]", "float[B,2,P+L,4]", "float[B,2,P+L,6]"]),
    "MultiHeadAttention by head": (
        "float[B,S,8] q, float[B,2,L,4] k, float[B,2,L,6] v", f"{MS}MultiHeadAttention<num_heads = 2>(q, k, v)",
        ["float[B,S,12]", "float[*]"]),
    "MultiHeadAttention in one row": (
        "float[B,S,2,3,4] q", f"{MS}MultiHeadAttention<num_heads = 2>(q)", ["float[B,S,8]"]),
    "MultiHeadAttention of keys and values in one row": (
        "float[B,S,8] q, float[B,L,2,2,4] k", f"{MS}MultiHeadAttention<num_heads = 2>(q, k)", ["float[B,S,8]"]),
    "grouped heads": (
        CACHED.format(8, "int32"), f"{MS}{GROUPED}(q, k, v, pk, pv, n, t)",
        ["float[B,S,8]", "float[B,1,?,4]", "float[B,1,?,4]"]),
    "grouped heads in one row": (
        CACHED.format(16, "int32"), f'{MS}{GROUPED}(q, "", "", pk, pv, n, t)',
        ["float[B,S,8]", "float[B,1,?,4]", "float[B,1,?,4]"]),
    "a cache of a number of positions": (
        "float[B,S,8] q, float[B,S,4] k, float[B,S,4] v, float[B,1,9,4] pk, float[B,1,P,4] pv, int32[B] n",
        f"t = Constant<value = int32 {{5}}>() y = {MS}{GROUPED}(q, k, v, pk, pv, n, t)",
        ["float[B,S,8]", "float[B,1,9,4]", "float[B,1,max(0, P-5)+5,4]"]),
    "a cache that outgrows a number of positions": (
        "float[B,S,8] q, float[B,S,4] k, float[B,S,4] v, float[B,1,9,4] pk, float[B,1,9,4] pv, int32[B] n",
        f"t = Constant<value = int32 {{10}}>() y = {MS}{GROUPED}(q, k, v, pk, pv, n, t)",
        ["float[B,S,8]", "float[B,1,?,4]"]),
    "a cache that a window fills": (
        CACHED.format(8, "int32"),
        f"{MS}{GROUPED[:-1]}, sliding_window_cache = 1, local_window_size = 4>(q, k, v, pk, pv, n, t)",
        ["float[B,S,8]", "float[B,1,P,4]", "float[B,1,P,4]"]),
    "grouped heads without a past": (
        "float[B,S,8] q, float[B,S,4] k, float[B,S,4] v, int32[B] n, int32 t",
        f'{MS}{GROUPED}(q, k, v, "", "", n, t)', ["float[B,S,8]", "float[B,1,?,4]", "float[B,1,?,4]"]),
    "grouped heads of a quantized cache": (
        "float[B,S,8] q, float[B,S,4] k, float[B,S,4] v, int32[B] n, int32 t",
        f'{MS}GroupQueryAttention<num_heads = 2, kv_num_heads = 1, k_quant_type = "PER_TENSOR">(q, k, v, "", "", n, t)',
        ["float[B,S,8]", "-[B,1,?,?]"]),
    "LinearAttention": (
        "float[B,S,8] q, float[B,S,8] k, float[B,S,12] v",
        f'{MS}LinearAttention<q_num_heads = 2, kv_num_heads = 2, update_rule = "linear">(q, k, v)',
        ["float[B,S,12]", "-[B,2,4,6]"]),
    "LinearAttention with slots": (
        "float[B,S,8] q, float[B,S,8] k, float[B,S,12] v, float[3,B,2,4,6] p",
        f'{MS}LinearAttention<q_num_heads = 2, kv_num_heads = 2, update_rule = "linear", state_window = 3>(q, k, v, p)',
        ["float[B,S,12]", "float[3,B,2,4,6]"]),
    "a causal convolution": (
        "float[B,C,L] x, float[C,1,3] w", f"{MS}CausalConvWithState(x, w)", ["float[B,C,L]", "float[B,C,2]"]),
    "a causal convolution with gaps": (
        "float[B,C,L] x, float[C,1,3] w", f"{MS}CausalConvWithState<dilation = 2>(x, w)",
        ["float[B,C,L]", "float[B,C,4]"]),
    "a causal convolution of channels last": (
        "float[B,L,C] x, float[C,1,3] w", f"{MS}CausalConvWithState<channels_last = 1>(x, w)",
        ["float[B,L,C]", "float[*]"]),
    # Products.
    "MatMulNBits": (ROWS, f"{MS}MatMulNBits<K = 16, N = 5, block_size = 16>(x, w, s)", ["float[B,S,5]"]),
    "MatMulNBits of a size below 1": (ROWS, f"{MS}MatMulNBits<K = 16, N = 0, block_size = 16>(x, w, s)", ["float[*]"]),
    "MatMulBnb4": (
        "float[B,K] x, uint8[80] w, float[5] s",
        f"{MS}MatMulBnb4<K = 16, N = 5, block_size = 16, quant_type = 1>(x, w, s)", ["float[B,5]"]),
    "MatMulBnb4 the other way": (
        "float[B,N] x, uint8[80] w, float[5] s",
        f"{MS}MatMulBnb4<K = 16, N = 5, block_size = 16, quant_type = 1, transB = 0>(x, w, s)", ["float[B,16]"]),
    "a product of bytes": (
        "float[A,M,K] x, uint8[K,N] y, float[N] s, uint8[N] z", f"{MS}DynamicQuantizeMatMul(x, y, s, z)",
        ["float[A,M,N]"]),
    "a product with columns' scales": (
        "uint8[A,M,K] x, uint8[K,N] y, float a, float[N] b, uint8 p, uint8[N] z",
        f"{MS}MatMulIntegerToFloat(x, y, a, b, p, z)", ["float[A,M,N]"]),
    "a standard product with columns' zero points": (
        "uint8[A,M,K] x, uint8[K,N] y, uint8 p, uint8[N] z", "MatMulInteger(x, y, p, z)", ["int32[A,M,N]"]),
    "transposed batches": (
        "float[M,B,K] x, float[B,K,N] y", f"{MS}FusedMatMul<transBatchA = 1>(x, y)", ["float[B,M,N]"]),
    "transposed batches and matrices": (
        "float[K,B,M] x, float[N,B,K] y",
        f"{MS}FusedMatMul<transBatchA = 1, transA = 1, transBatchB = 1, transB = 1>(x, y)",
        ["float[B,M,N]"]),
    "an odd flag": ("float[M,K] x, float[K,N] y", f"{MS}FusedMatMul<transBatchA = 2>(x, y)", ["float[*]"]),
    "QGemm to floats": (
        "uint8[M,K] x, uint8[K,5] y, float s, uint8 z, float[5] c, uint8[5] d",
        f"{MS}QGemm(x, s, z, y, c, d)", ["float[M,5]"]),
    "QGemm to bytes": (
        "uint8[M,K] x, uint8[N,K] y, float s, uint8 z",
        f'{MS}QGemm<transB = 1>(x, s, z, y, s, z, "", s, z)', ["uint8[M,N]"]),
    "distances": ("double[M,3] x, double[K,3] y", f'{MS}CDist<metric = "euclidean">(x, y)', ["double[M,K]"]),
    # Windows.
    "FusedConv": (IMAGE, f'{MS}FusedConv<activation = "Relu", pads = [1, 1, 1, 1]>(x, w)', ["float[N,5,9,W]"]),
    "a quantized convolution of channels last": (
        "uint8[N,9,W,3] x, uint8[5,3,3,3] w, float s, uint8 z",
        f"{MS}QLinearConv<channels_last = 1, pads = [1, 1, 1, 1]>(x, s, z, w, s, z, s, z)", ["uint8[N,9,W,5]"]),
    "a quantized pool": (
        "uint8[N,3,9,8] x, float s, uint8 z",
        f"{MS}QLinearAveragePool<kernel_shape = [3, 2], strides = [2, 2]>(x, s, z, s, z)", ["uint8[N,3,4,4]"]),
    "a quantized pool over all": (
        "uint8[N,9,8,3] x, float s, uint8 z", f"{MS}QLinearGlobalAveragePool<channels_last = 1>(x, s, z, s, z)",
        ["uint8[N,1,1,3]"]),
    "a pool of channels last": (
        "int8[N,9,8,3] x", f"{MS}NhwcMaxPool<kernel_shape = [3, 2], strides = [2, 2]>(x)", ["int8[N,4,4,3]"]),
    "a layout of onnxruntime's own": (
        "float[N,9,8,3] x, float[5,3,3,3] w", "com.ms.internal.nhwc.Conv(x, w)", ["float[N,7,6,5]"]),
    "channels in blocks": ("float[N,16,9,8] x", "com.microsoft.nchwc.GlobalMaxPool(x)", ["float[N,16,1,1]"]),
    "into blocks": ("float[N,3,9,8] x", "com.microsoft.nchwc.ReorderInput(x)", ["float[N,?,9,8]"]),
    "into blocks of channels last": (
        "float[N,9,8,3] x", "com.microsoft.nchwc.ReorderInput<channels_last = 1>(x)", ["float[N,?,9,8]"]),
    "out of blocks": ("float[N,16,9,8] x", "com.microsoft.nchwc.ReorderOutput<channels = 3>(x)", ["float[N,3,9,8]"]),
    "out of blocks to channels last": (
        "float[N,16,9,8] x", "com.microsoft.nchwc.ReorderOutput<channels = 3, channels_last = 1>(x)",
        ["float[N,9,8,3]"]),
    # Layout.
    "a new axis": ("float[B,3] x", f"a = Constant<value = int32 {{-1}}>() y = {MS}ExpandDims(x, a)", ["float[B,3,1]"]),
    "a new axis that is computed": ("float[B,3] x, int32 a", f"{MS}ExpandDims(x, a)", ["float[?,?,?]"]),
    "points": ("float[B,3] x, int64[N,2] i", f"{MS}GatherND(x, i)", ["float[N]"]),
    "points of fewer axes": ("float[B,3,4] x, int64[N,2] i", f"{MS}GatherND(x, i)", ["float[*]"]),
    "rows of four bits": (
        "uint8[V,8] x, int64[B,S] i, float[V,1] s",
        f"{MS}GatherBlockQuantized<block_size = 16, quantize_axis = 1>(x, i, s)", ["float[B,S,16]"]),
    "rows of bytes": (
        "uint8[V,8] x, int64[B,S] i, float[V,1] s",
        f"{MS}GatherBlockQuantized<block_size = 16, quantize_axis = 1, bits = 8>(x, i, s)", ["float[B,S,8]"]),
    "slices": ("float[B,9] x", f"{MS}UnfoldTensor<size = 3, step = 2>(x)", ["float[B,4,3]"]),
    "slices of an unknown size": ("float[B,N] x", f"{MS}UnfoldTensor<size = 3>(x)", ["float[B,?,3]"]),
    "texts": ("string[2,3] x", f'{MS}Tokenizer<mark = 0, mincharnum = 1, pad_value = "">(x)', ["string[2,3,?]"]),
    "texts of a free number": (
        "string[N] x", f'{MS}Tokenizer<mark = 0, mincharnum = 1, pad_value = "">(x)', ["string[*]"]),
    "embedded words": (
        "int32[N,L] x, float[M,1,2,4] w, float[M] b, float[V,4] c", f"{MS}WordConvEmbedding(x, w, b, c)",
        ["float[N,M]"]),
    "crops": (
        "float[N,3,9,8] x, float[R,4] r, int32[R] i",
        f"s = Constant<value = int32[2] {{5, 6}}>() y = {MS}CropAndResize(x, r, i, s)", ["float[R,3,5,6]"]),
    "a border cut off": ("float[N,3,H,8] x", "Crop<border = [1, 2, 3, 4]>(x)", ["float[N,3,H-6,4]"]),
    "a part of stated size": ("float[N,3,H,8] x", "Crop<border = [1, 2, 3, 4], scale = [5, 6]>(x)", ["float[N,3,5,6]"]),
    "a border of more than there is": ("float[N,3,9,3] x", "Crop<border = [2, 0, 2, 0]>(x)", ["float[N,3,9,?]"]),
    "a slice": (
        "float[N,9] x",
        "a = Constant<value_ints = [1]>() b = Constant<value_ints = [4]>() y = DynamicSlice(x, a, b, a)",
        ["float[N,3]"]),
    "padded": (
        "float[N,9] x", f"p = Constant<value_ints = [0, 1, 0, 2]>() y = {MS}Pad(x, p)", ["float[N,12]"]),
    "padded by what is computed": ("float[N,9] x, int64[4] p", f"{MS}Pad(x, p)", ["float[?,?]"]),
    "counted by 1": (
        "float x", f"a = Constant<value_int = 2>() b = Constant<value_int = 7>() y = {MS}Range(a, b)", ["int64[5]"]),
    "joined bytes": (
        "uint8[B,2] x, uint8[B,3] y, float s, uint8 z", f"{MS}QLinearConcat<axis = 1>(s, z, x, s, z, y, s, z)",
        ["uint8[B,5]"]),
    "hashed n-grams": (
        TOKENS, f"{MS}NGramHashMapping<max_ngram_size = 4, n_head_per_ngram = 2, pad_id = 0>(ids, m, v)",
        ["int64[B,S,6]", "int64[B,3]"]),
    "lengths of sparse rows": ("float[B,S,8] x, int32[B] n", f"{MS}RemovePadding(x, n)",
                               ["float[?,8]", "int32[B,S]", "int32[B+1]", "int32[1]"]),
    "padded again": ("float[N,8] x, int32[B,S] n", f"{MS}RestorePadding(x, n)", ["float[B,S,8]"]),
    "padded again from another rank": ("float[N,8,1] x, int32[B,S] n", f"{MS}RestorePadding(x, n)", ["float[*]"]),
    "embedded rows": ("float[V,8] x, int64[B,S] i", f"{MS}TorchEmbedding(x, i)", ["float[B,S,8]"]),
    "packed rows": (
        "uint8[V,8] x, int64[B,S] i", f"{MS}GatherPacked<K = 32, packed_type = 1, output_dtype = 10>(x, i)",
        ["float16[B,S,32]"]),
    "a row of four bits from the last axis": (
        "uint8[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized<gather_axis = 1>(x, i, s)",
        ["float[*]"]),
    "rows of an odd number of bits": (
        "uint8[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized<bits = 3>(x, i, s)", ["float[*]"]),
    "rows of half bytes": ("int4[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized(x, i, s)",
                           ["float[B,S,8]"]),
    "different elements": ("float[N] x", f"{MS}Unique(x)", ["float[?]", "int64[N]", "int64[?]"]),
    "tokens behind a fork": (
        "int64[N] a, int64[M] b, int64 c", f"{MS}BifurcationDetector(a, b, c)", ["int64[?]", "int64[]"]),
    "hashed n-grams of texts side by side": (
        "int32[N] i, int32[4] m, int32[6] v, int32[P] c, int32[B] k",
        f"{MS}VarlenNGramHashMapping<{GRAMS}, state_update_capacity = 5>" + '(i, m, v, c, "", "", "", "", "", k)',
        ["int32[N,6]", "int32[P-1,3]", "int32[P-1,3]", "int32[P-1,5,3]"]),
    "a convolution of texts side by side": (
        "float[N,C] x, float[C,1,3] w, int32[P] c, float[B,C,2] s",
        f'{MS}VarlenCausalConvWithState(x, w, c, "", s)', ["float[N,C]", "float[B,C,2]"]),
    "an LSTM of bytes": (
        "float[S,B,4] x, uint8[2,4,20] w, uint8[2,5,20] r, float[2] s, uint8[2] z",
        f'{MS}DynamicQuantizeLSTM<hidden_size = 5, direction = "bidirectional">({GATES})',
        ["float[S,2,B,5]", "float[2,B,5]", "float[2,B,5]"]),
    "an LSTM in one direction": (
        "float[S,B,4] x, uint8[1,4,20] w, uint8[1,5,20] r, float[1] s, uint8[1] z",
        f"{MS}DynamicQuantizeLSTM<hidden_size = 5>({GATES})", ["float[S,1,B,5]"]),
    "an LSTM in an odd direction": (
        "float[S,B,4] x, uint8[1,4,20] w, uint8[1,5,20] r, float[1] s, uint8[1] z",
        f'{MS}DynamicQuantizeLSTM<direction = "up">({GATES})', ["float[S,?,B,?]"]),
    "a delta network": (
        "float16[N,2,8] q, float16[N,2,8] k, float16[N,4,6] v, float[B,4,6,8] s",
        f'{MS}GatedDeltaNet(q, k, v, "", "", "", s)', ["float16[N,4,6]", "float[B,4,6,8]", "float[*]"]),
    "a delta network of two forms": (
        "float16[B,S,2,8] q, float16[N,2,8] k, float16[N,4,6] v", f"{MS}GatedDeltaNet(q, k, v)", ["float16[*]"]),
    # Without a kernel of the CPU.
    "a biased dropout": ("float[B,3] x, float[3] b", f"{MS}BiasDropout(x, b)", ["float[B,3]", "bool[B,3]"]),
    "normalized groups and their sum": (
        "float16[N,9,9,8] x, float[8] g, float16[N,8] s",
        f"{MS}SkipGroupNorm<groups = 2, activation = 0>(x, g, g, s)", ["float16[N,9,9,8]", "float16[N,9,9,8]"]),
    "rotated by Gemma": (
        "float[B,S,8] e, float16[B,2,S,8] q, float16[B,1,S,8] k", f"{MS}GemmaRotaryEmbedding(e, q, q, k, k)",
        ["float16[B,2,S,8]", "float16[B,1,S,8]"]),
    "halves of a bias": ("float16[N,S,8] x, float16[8] b", f"{MS}BiasSplitGelu(x, b)", ["float16[N,S,4]"]),
    "routed experts": (
        "float16[B,S,9] x, float[9] b", f"{MS}MoEGroupRouter<top_k = 2>(x, b)",
        ["float16[B*S,9]", "float[B*S,9]", "float[B*S,9]"]),
    "two products of one": (
        "float16[B,S,16] x, float16[B,S,16] y, float16[16] g, uint8[5,1,8] w, float16[5,1] s",
        f'{MS}MatMulNBitsMlp<K = 16, N = 5, block_size = 16, activation = "silu">(x, y, g, w, s, "", w, s)',
        ["float16[B,S,5]", "float16[B,S,16]"]),
    "two products and no sum": (
        "float16[B,S,16] x, float16[16] g, uint8[5,1,8] w, float16[5,1] s",
        f'{MS}MatMulNBitsMlp<K = 16, N = 5, block_size = 16, activation = "silu">(x, "", g, w, s, "", w, s)',
        ["float16[B,S,5]", "float16[*]"]),
    "queries, keys and values of one": (
        "float16[B,S,16] x, float16[16] g, uint8[5,1,8] w, float16[5,1] s",
        f'{MS}MatMulNBitsQkv<K = 16, Nq = 10, Nkv = 5, block_size = 16>(x, "", g, w, s, "", w, s, "", w, s)',
        ["float16[B,S,10]", "float16[B,S,5]", "float16[B,S,5]", "float16[*]"]),
    "a product and an activation": ("float16[B,S,4] x, float16[4,5] w", f"{MS}GemmFastGelu(x, w)", ["float16[B,S,5]"]),
    "pages of a cache": (
        "float16[N,8] q, float16[N,4] k, float16[P,9,1,4] c, int32[M] n, int32[B] l, int32[B,3] t",
        f"{MS}PagedAttention<num_heads = 2, kv_num_heads = 1>(q, k, k, c, c, n, l, t)",
        ["float16[*]", "float16[P,9,1,4]", "float16[P,9,1,4]"]),
    "blocks of a cache": (
        "float[B,S,8] q, float[B,S,4] k, float[B,1,P,4] c, int32[1,3] r, int32 t, int32[B] l",
        f"{MS}SparseAttention<num_heads = 2, kv_num_heads = 1, sparse_block_size = 16>(q, k, k, c, c, r, r, t, l)",
        ["float[B,S,8]", "float[B,1,P,4]", "float[B,1,P,4]"]),
    "one step": (
        "float[B,1,8] q, float[B,1,8] k, float[B,1,12] v",
        f"{MS}DecoderMaskedMultiHeadAttention<num_heads = 2>(q, k, v)", ["float[B,1,12]", "float[?,?,?,?]"]),
    "one step by head": (
        "float[B,1,8] q, float[B,2,L,4] k, float[B,2,L,6] v",
        f"{MS}DecoderMaskedMultiHeadAttention<num_heads = 2>(q, k, v)", ["float[B,1,12]"]),
    "finite": ("float[B,3] x", f"{MS}IsAllFinite(x)", ["bool[]"]),
    "integers multiplied": ("uint8[B,3] x, uint8[3] y", f'{MS}MulInteger(x, "", y)', ["int32[B,3]"]),
    "channels last in blocks of rows": (
        "float[N,4,6,3] x", "com.ms.internal.nhwc.SpaceToDepth<blocksize = 2>(x)", ["float[N,2,3,12]"]),
    "blocks of rows in channels last": (
        "float[N,4,6,12] x", "com.ms.internal.nhwc.DepthToSpace<blocksize = 2>(x)", ["float[N,8,12,3]"]),
    "blocks of no size": (
        "float[N,4,6,12] x", "com.ms.internal.nhwc.DepthToSpace<blocksize = 0>(x)", ["float[*]"]),
    "sampled with channels last": (
        "float[N,4,6,3] x, float[N,5,7,2] g", "com.ms.internal.nhwc.GridSample(x, g)", ["float[N,5,7,3]"]),
    "quantized with channels last": (
        "uint8[N,9,9,3] x, uint8[5,3,3,3] w, float s, uint8 z",
        "com.ms.internal.nhwc.QLinearConv(x, s, z, w, s, z, s, z)", ["uint8[N,7,7,5]"]),
    "normalized with channels last": (
        "float[N,9,9,3] x, float[3] s", "com.ms.internal.nhwc.InstanceNormalization(x, s, s)", ["float[N,9,9,3]"]),
    "a pool with channels last": (
        "float[N,9,9,3] x", "com.ms.internal.nhwc.AveragePool<kernel_shape = [3, 3]>(x)", ["float[N,7,7,3]"]),
    "a pool over all with channels last": (
        "float[N,9,9,3] x", "com.ms.internal.nhwc.GlobalMaxPool(x)", ["float[N,1,1,3]"]),
    "transposed with channels last": (
        "float[N,9,9,3] x, float[3,5,3,3] w", "com.ms.internal.nhwc.ConvTranspose(x, w)", ["float[N,11,11,5]"]),
    "resized with channels last": (
        "float[N,9,9,3] x, float[4] s", 'com.ms.internal.nhwc.Resize(x, "", s)', ["float[?,?,?,?]"]),
    "scaled in blocks": (
        "float[N,16,9,8] x", "com.microsoft.nchwc.Upsample<scales = [1, 1, 2, 3]>(x)", ["float[N,16,18,24]"]),
    "a convolution in blocks": (
        "float[N,16,9,8] x, float[32,16,3,3] w", "com.microsoft.nchwc.Conv(x, w)", ["float[N,32,7,6]"]),
    # Learning.
    "a map as numbers": ("float[N,F] x", 'ai.onnx.ml.CastMap<cast_to = "TO_INT64">(x)', ["int64[1,?]"]),
    "a text for each of a version's classes": (
        "string[N,F] x", 'ai.onnx.ml.CategoryMapper<cats_int64s = [1], cats_strings = ["a"]>(x)', ["int64[N,F]"]),
    "a class of numbers": (
        TABLE, "ai.onnx.ml.TreeEnsembleClassifier<classlabels_int64s = [1, 2]>(x)", ["int64[N]", "float[N,?]"]),
    "a class of nothing": (TABLE, "ai.onnx.ml.TreeEnsembleClassifier(x)", ["-[N]", "float[N,?]"]),
    "one target": (TABLE, "ai.onnx.ml.TreeEnsembleRegressor(x)", ["float[N,1]"]),
    "one hot of both": (
        TABLE, 'ai.onnx.ml.OneHotEncoder<cats_int64s = [1, 2, 3], cats_strings = ["a"]>(x)', ["float[*]"]),
    "imputed": ("int64[N,F] x", "ai.onnx.ml.Imputer<imputed_value_int64s = [1]>(x)", ["int64[N,F]"]),
    "columns": ("double[N,F] x, int64[3] i", "ai.onnx.ml.ArrayFeatureExtractor(x, i)", ["double[N,3]"]),
    "columns of a vector": ("double[F] x, int64[3] i", "ai.onnx.ml.ArrayFeatureExtractor(x, i)", ["double[1,3]"]),
    "scaled": ("int64[N,F] x", "ai.onnx.ml.Scaler<offset = [0.0], scale = [2.0]>(x)", ["float[N,F]"]),
    "texts for numbers": (
        "int64[N,F] x",
        'ai.onnx.ml.LabelEncoder<keys_int64s = [1], values_strings = ["a"]>(x)', ["string[N,F]"]),
    "a class of texts": (
        TABLE,
        'ai.onnx.ml.LinearClassifier<coefficients = [1.0], classlabels_strings = ["a", "b"], intercepts = [0.0]>(x)',
        ["string[N]", "float[N,?]"]),
    "targets": (TABLE, "ai.onnx.ml.LinearRegressor<coefficients = [1.0], targets = 2>(x)", ["float[N,2]"]),
    "features side by side": (
        "float[N,3] x, float[N,4] z", "ai.onnx.ml.FeatureVectorizer<inputdimensions = [3, 4]>(x, z)", ["float[N,7]"]),
    "one hot": (TABLE, "ai.onnx.ml.OneHotEncoder<cats_int64s = [1, 2, 3]>(x)", ["float[N,F,3]"]),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "node", "expected"), SIZES.values(), ids=list(SIZES))
def test_sizes_and_types_of_results(inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    found = results(tmp_path, inputs, node, len(expected))
    assert [each for each, wanted in zip(found, expected, strict=True) if wanted] == [each for each in expected if each]


def test_nothing_is_known_of_a_later_version_of_onnxruntimes_operators(tmp_path: Path) -> None:
    assert results(tmp_path, "float[B,3] x, float[3] b", f"{MS}BiasGelu(x, b)", 1, version=2) == ["-[*]"]


STATES = {
    "caches": ("float[B,2,S,4] q, float[B,1,L,4] k, float[B,1,L,6] v, float[B,1,P,4] pk, float[B,1,P,6] pv",
               'Attention(q, k, v, "", pk, pv)',
               ["float[B,2,S,6]", "float[B,1,P+L,4]", "float[B,1,P+L,6]", "float[B,2,S,P+L]"]),
    "caches of heads in a row": ("float[B,S,8] q, float[B,L,4] k, float[B,L,6] v",
                                 "Attention<q_num_heads = 2, kv_num_heads = 1>(q, k, v)",
                                 ["float[B,S,12]", "float[B,1,L,4]", "float[B,1,L,6]", "float[B,2,S,L]"]),
    "several heads of keys": ("float[B,S,16] q, float[B,L,8] k, float[B,L,12] v",
                              "Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v)",
                              ["float[B,S,24]", "float[B,2,L,4]", "float[B,2,L,6]", "float[B,4,S,L]"]),
    "heads that do not divide": ("float[B,S,8] q, float[B,L,9] k, float[B,L,9] v",
                                 "Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v)",
                                 ["float[B,S,?]", "float[B,2,L,?]", "float[B,2,L,?]"]),
    "values of a free size": ("float[B,S,8] q, float[B,L,8] k, float[B,L,V] v",
                              "Attention<q_num_heads = 1, kv_num_heads = 1>(q, k, v)", ["float[B,S,?]"]),
    "heads that are not counted": ("float[B,S,8] q, float[B,L,4] k, float[B,L,6] v", "Attention(q, k, v)",
                                   ["float[B,S,?]", "float[B,?,L,?]"]),
    "queries in a row that are not counted": ("float[B,S,8] q, float[B,1,L,4] k, float[B,1,L,6] v",
                                              "Attention(q, k, v)",
                                              ["float[B,S,?]", "float[B,1,L,4]", "float[B,1,L,6]", "float[B,?,S,L]"]),
    "keys of no rank": ("float[B,2,S,4] q, float[] k, float[B,1,L,6] v", "Attention(q, k, v)",
                        ["float[B,2,S,6]", "float[*]", "float[B,1,L,6]", "float[B,2,S,?]"]),
    "values of no rank": ("float[B,2,S,4] q, float[B,1,L,4] k, float[] v", "Attention(q, k, v)",
                          ["float[B,2,S,?]", "float[B,1,L,4]", "float[*]", "float[B,2,S,L]"]),
    "queries of no rank": ("float[] q, float[B,1,L,4] k, float[B,1,L,6] v", "Attention(q, k, v)",
                           ["float[*]", "float[*]", "float[*]", "float[*]"]),
    "keys in a row": ("float[B,2,S,4] q, float[B,L,5] k, float[B,1,L,6] v", "Attention<kv_num_heads = 1>(q, k, v)",
                      ["float[B,2,S,6]", "float[B,1,L,5]", "float[B,1,L,6]", "float[B,2,S,L]"]),
    "queries of two axes": ("float[B,8] q, float[B,L,4] k, float[B,L,6] v",
                            "Attention<q_num_heads = 1, kv_num_heads = 1>(q, k, v)",
                            ["float[*]", "float[*]", "float[*]", "float[*]"]),
    "a past of no rank": ("float[B,2,S,4] q, float[B,1,L,4] k, float[B,1,L,6] v, float[] pk, float[B,1,P,6] pv",
                          'Attention(q, k, v, "", pk, pv)',
                          ["float[B,2,S,6]", "float[B,1,?,4]", "float[B,1,P+L,6]", "float[B,2,S,?]"]),
    "a past in a row": ("float[B,2,S,4] q, float[B,1,L,4] k, float[B,1,L,6] v, float[B,1,P,4] pk, float[B,P,6] pv",
                        'Attention(q, k, v, "", pk, pv)',
                        ["float[B,2,S,6]", "float[B,1,P+L,4]", "float[B,1,?,6]", "float[B,2,S,P+L]"]),
    "a tensor that is written to": ("float[B,9,4] x, float[B,2,4] u", "TensorScatter(x, u)", ["float[B,9,4]"]),
    "a state": ("float[B,S,8] q, float[B,S,8] k, float[B,S,12] v, float[B,2,4,6] p",
                'LinearAttention<q_num_heads = 2, kv_num_heads = 2, update_rule = "linear">(q, k, v, p)',
                ["float[B,S,12]", "float[B,2,4,6]"]),
    "a convolution's state": ("float[B,C,L] x, float[C,1,3] w", "CausalConvWithState(x, w)",
                              ["float[B,C,L]", "float[B,C,2]"]),
    "other bits": ("float[B,3] x", "BitCast<to = 6>(x)", ["int32[B,3]"]),
}  # fmt: skip


LATER = dict.fromkeys(("a state", "a convolution's state", "other bits"), "onnx>=1.23")
"""Operators that older releases of onnx do not define."""


@pytest.mark.parametrize("name", by_release(STATES, LATER))
def test_sizes_and_types_since_operator_set_23(name: str, tmp_path: Path) -> None:
    inputs, node, expected = STATES[name]
    assert results(tmp_path, inputs, node, len(expected), opset=27) == expected


RANKS = ("", "[A]", "[A,B]", "[0,1,2]", "[A,B,3,4]", "[1,B,C,4,5]", "[]")


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("domain", OPERATORS)
def test_no_rule_fails_for_a_node_that_no_runtime_takes(domain: str, rank: str, tmp_path: Path) -> None:
    at, dot = RANKS.index(rank), "." * bool(domain)
    inputs = ", ".join(f"float{RANKS[at * (k + 1) % len(RANKS)]} x{k}" for k in range(18))
    nodes = []
    for op in OPERATORS[domain]:
        for count in (0, 2, 4, 18):
            names, given = (
                ", ".join(f"{name}{k}" for k in range(n)) for name, n in ((f"{op}_{count}_", 5), ("x", count))
            )
            nodes.append(f"{names} = {domain}{dot}{op}({given})")
    text = f"{HEAD.format(20, 1, 3)} g ({inputs}) => (float x0) {{ {' '.join(nodes)} }}"
    assert len(read(tmp_path, text)[0]) == 5


def test_every_operator_with_a_kernel_has_an_entry() -> None:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    defined = {"ZipMap", "TreeEnsemble"} | {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    asked = {
        (kernel.domain, kernel.op_name)
        for kernel in state.get_all_opkernel_def()
        if kernel.provider == "CPUExecutionProvider" and kernel.domain in OPERATORS
    }
    assert {(domain, op) for domain, op in asked if op not in OPERATORS[domain] and op not in defined} == set()
