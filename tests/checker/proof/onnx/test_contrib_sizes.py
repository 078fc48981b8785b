"""What the proof does not know of operators that onnx does not define, and what it knows at the edge of that.

A rule leaves a size (`?`), a rank (`[*]`) or a type (`-`) open where a node states no valid one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.shown_results import HEAD, agree, every_shown, results, without_a_rank

if TYPE_CHECKING:
    from pathlib import Path

MS, ML, NHWC, BLOCKED = "com.microsoft.", "ai.onnx.ml.", "com.ms.internal.nhwc.", "com.microsoft.nchwc."
WEIGHTS = "float[B,S,8] x, float[8,36] w, float[36] b"
BYTES = "uint8[B,S,8] x, uint8[8,36] w, float[36] b, float16 s"
QKV = "float[B,S,8] q, float[B,L,8] k, float[B,L,12] v"
HEADS = f"{MS}MultiHeadAttention<num_heads = 2>"
OWN = "float[B,S,8] q, float[B,S,4] k, float[B,S,4] v"
GROUPED = f"{MS}GroupQueryAttention<num_heads = 2, kv_num_heads = 1>"
GATES = 'x, w, r, "", "", "", "", "", s, z, s, z'
IMAGE = "float[N,16,9,8] x"
LAST = "float[N,9,8,3] x"
TABLE = "float[N,F] x"
GRAMS = "max_ngram_size = 4, n_head_per_ngram = 2, pad_id = 0"
TOKENS = "int64[B,S] i, int64[4] m, int64[6] v"
PACKED = "int32[N] i, int32[4] m, int32[6] v, int32{} c"


def ints(name: str, *numbers: int) -> str:
    return f"{name} = Constant<value = int64[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>() "


ATTENTION: dict[str, tuple[str, str, list[str]]] = {
    "two stated sizes": (
        WEIGHTS, f"{MS}Attention<num_heads = 3, qkv_hidden_sizes = [12, 12]>(x, w, b)", ["float[B,S,?]"]),
    "no stated size of values": (
        WEIGHTS, f"{MS}Attention<num_heads = 3, qkv_hidden_sizes = [18, 18, 0]>(x, w, b)", ["float[B,S,?]"]),
    "columns of no three parts": (
        "float[B,S,8] x, float[8,35] w, float[35] b", f"{MS}Attention<num_heads = 1>(x, w, b)",
        ["float[B,S,?]", "float[2,B,1,S,?]"]),
    "weights of another rank": (
        "float[B,S,8] x, float[8,3,12] w, float[36] b", f"{MS}Attention<num_heads = 3>(x, w, b)", ["float[B,S,?]"]),
    "data of another rank": (
        "float[S,8] x, float[8,36] w, float[36] b", f"{MS}Attention<num_heads = 3>(x, w, b)", ["float[*]", "float[*]"]),
    "no heads": (WEIGHTS, f"{MS}Attention(x, w, b)", ["float[B,S,12]", "float[*]"]),
    "one head": (WEIGHTS, f"{MS}Attention<num_heads = 1>(x, w, b)", ["float[B,S,12]", "float[2,B,1,S,12]"]),
    "a past without positions": (
        f"{WEIGHTS}, float[2,B,3] p", f'{MS}Attention<num_heads = 3>(x, w, b, "", p)',
        ["float[B,S,12]", "float[2,B,3,?,4]"]),
    "bytes": (BYTES, f"{MS}QAttention<num_heads = 3>(x, w, b, s, s)", ["float16[B,S,12]", "float16[2,B,3,S,4]"]),
    "bytes with a past": (
        f"{BYTES}, float16[2,B,3,P,4] p", f'{MS}QAttention<num_heads = 3>(x, w, b, s, s, "", "", "", p)',
        ["float16[B,S,12]", "float16[2,B,3,P+S,4]"]),
    "one masked step": (WEIGHTS, f"{MS}DecoderMaskedSelfAttention<num_heads = 3>(x, w, b)", ["float[B,S,12]"]),
    "queries alone": ("float[B,S,8] q", f"{HEADS}(q)", ["float[*]"]),
    "queries of another rank": ("float[B,8] q, float[B,8] k", f"{HEADS}(q, k, k)", ["float[*]", "float[*]"]),
    "keys without values": ("float[B,S,8] q, float[B,L,8] k", f"{HEADS}(q, k)", ["float[B,S,?]"]),
    "values of another rank": (
        "float[B,S,8] q, float[B,L,8] k, float[B,2,L,2,6] v", f"{HEADS}(q, k, v)", ["float[B,S,?]"]),
    "values of a lower rank": ("float[B,S,8] q, float[B,L,8] k, float[B,L] v", f"{HEADS}(q, k, v)", ["float[B,S,?]"]),
    "no heads of a cache": (
        QKV, f"{MS}MultiHeadAttention(q, k, v)", ["float[B,S,12]", "float[*]", "float[*]"]),
    "one head of a cache": (
        QKV, f"{MS}MultiHeadAttention<num_heads = 1>(q, k, v)", ["float[B,S,12]", "float[B,1,L,8]", "float[B,1,L,12]"]),
    "a buffer that is shared": (
        f"{QKV}, float[B,2,P,4] pk, int32[1] n", f'{HEADS}(q, k, v, "", "", "", pk, pk, n)',
        ["float[B,S,12]", "float[*]", "float[*]"]),
    "beams": (
        f"{QKV}, float[B,2,P,4] pk, int32[B,1,P] n", f'{HEADS}(q, k, v, "", "", "", pk, pk, "", n)',
        ["float[B,S,12]", "float[*]", "float[*]"]),
    "a step of another rank": (
        "float[B,8] q, float[B,1,8] k", f"{MS}DecoderMaskedMultiHeadAttention<num_heads = 2>(q, k, k)", ["float[*]"]),
    "a step without values": (
        "float[B,1,8] q, float[B,1,8] k", f"{MS}DecoderMaskedMultiHeadAttention<num_heads = 2>(q, k)", ["float[*]"]),
    "a step of values of another rank": (
        "float[B,1,8] q, float[B,8] k", f"{MS}DecoderMaskedMultiHeadAttention<num_heads = 2>(q, k, k)", ["float[*]"]),
    "groups of a known number of positions": (
        f"{OWN}, int32[B] n", f't = Constant<value = int32 {{5}}>() y = {GROUPED}(q, k, v, "", "", n, t)',
        ["float[B,S,8]", "float[B,1,5,4]", "float[B,1,5,4]"]),
    "groups of two numbers of positions": (
        f"{OWN}, int32[B] n", f't = Constant<value = int32[2] {{5, 6}}>() y = {GROUPED}(q, k, v, "", "", n, t)',
        ["float[B,S,8]", "float[B,1,?,4]"]),
    "groups of a past of another rank": (
        f"{OWN}, float[B,P,4] pk, int32[B] n",
        f"t = Constant<value = int32 {{5}}>() y = {GROUPED}(q, k, v, pk, pk, n, t)",
        ["float[B,S,8]", "float[B,1,?,?]", "float[B,1,?,?]"]),
    "a window of a past of another rank": (
        f"{OWN}, float[B,P,4] pk, int32[B] n, int32 t",
        f"{GROUPED[:-1]}, sliding_window_cache = 1, local_window_size = 4>(q, k, v, pk, pk, n, t)",
        ["float[B,S,8]", "float[B,1,?,?]"]),
    "groups of no heads": (
        f"{OWN}, int32[B] n, int32 t", f'{MS}GroupQueryAttention<kv_num_heads = 1>(q, k, v, "", "", n, t)',
        ["float[*]", "float[B,1,?,?]"]),
    "groups of no heads of keys": (
        f"{OWN}, int32[B] n, int32 t", f'{MS}GroupQueryAttention<num_heads = 2>(q, k, v, "", "", n, t)',
        ["float[B,S,8]", "float[*]"]),
    "groups of another rank": (
        "float[B,8] q, float[B,4] k, int32[B] n, int32 t", f'{GROUPED}(q, k, k, "", "", n, t)',
        ["float[*]", "float[*]"]),
    "groups in one row that do not divide": (
        "float[B,S,15] q, int32[B] n, int32 t", f'{GROUPED}(q, "", "", "", "", n, t)',
        ["float[B,S,?]", "float[B,1,?,?]"]),
    "groups of two heads of keys in one row": (
        "float[B,S,24] q, int32[B] n, int32 t",
        f'{MS}GroupQueryAttention<num_heads = 2, kv_num_heads = 2>(q, "", "", "", "", n, t)',
        ["float[B,S,8]", "float[B,2,?,4]"]),
    "the types of caches": (
        f"{OWN}, float16[B,1,P,4] pk, uint8[B,1,P,4] pv, int32[B] n, int32 t", f"{GROUPED}(q, k, v, pk, pv, n, t)",
        ["float[B,S,8]", "float16[B,1,?,4]", "uint8[B,1,?,4]"]),
    "a cache of quantized values": (
        f"{OWN}, int32[B] n, int32 t", f'{GROUPED[:-1]}, v_quant_type = "PER_TENSOR">(q, k, v, "", "", n, t)',
        ["float[B,S,8]", "-[B,1,?,?]", "-[B,1,?,?]"]),
}  # fmt: skip
LIKE: dict[str, tuple[str, str, list[str]]] = {
    "tokens of another rank": (
        "int32[B,S,1] i, float[9,8] w, float[8] g", f'{MS}EmbedLayerNormalization(i, "", w, w, "", g, g)',
        ["float[*]", "int32[*]"]),
    "words of another rank": (
        "int32[B,S] i, float[9,8,1] w, float[8] g", f'{MS}EmbedLayerNormalization(i, "", w, w, "", g, g)',
        ["float[*]", "int32[B]"]),
    "quantized embeddings": (
        "int32[B,S] i, uint8[9,8] w, uint8[8] g, float s, uint8 z",
        f'{MS}QEmbedLayerNormalization(i, "", w, w, "", g, g, "", s, s, s, s, s, z, z, z, z, z)',
        ["float[B,S,8]", "int32[B]"]),
    "streams of one axis": ("float[8] x, float[4] m", f"{MS}HyperConnectionPreMix(x, m)", ["float[*]"]),
    "streams of two axes": ("float16[4,8] x, float[4] m", f"{MS}HyperConnectionPreMix(x, m)", ["float16[8]"]),
    "streams in one row": (
        "float[32] x, float[4] m", f"{MS}HyperConnectionPreMix<num_branches = 4>(x, m)", ["float[8]"]),
    "streams in one number": (
        "float x, float[4] m", f"{MS}HyperConnectionPreMix<num_branches = 4>(x, m)", ["float[*]"]),
    "one stream": ("float[B,8] x, float[4] m", f"{MS}HyperConnectionPreMix<num_branches = 1>(x, m)", ["float[B,8]"]),
    "fewer than no streams": (
        "float[B,8] x, float[4] m", f"{MS}HyperConnectionPreMix<num_branches = -1>(x, m)", ["float[*]"]),
    "halves of an odd size": ("float16[B,7] x", f"{MS}SwiGLU(x)", ["float16[B,?]"]),
    "halves of a number": ("float16 x", f"{MS}SwiGLU(x)", ["float16[*]"]),
    "experts of one token": ("float16[9] x, float[9] b", f"{MS}MoEGroupRouter(x, b)", ["float16[1,9]", "float[1,9]"]),
    "experts of no token": ("float16 x, float[9] b", f"{MS}MoEGroupRouter(x, b)", ["float16[*]"]),
    "experts of a bias of another rank": ("float16[B,9] x, float[1,9] b", f"{MS}MoEGroupRouter(x, b)", ["float16[*]"]),
    "a softmax of numbers of no size": ("uint8 x, float s, uint8 z", f"{MS}QLinearSoftmax(x, s, z, s, z)", ["uint8[]"]),
    "gates and their data": ("float[B,3] x, float16[B,4] g", f"{MS}EngramGate(x, g)", ["float[B,3]", "float[B,3]"]),
}  # fmt: skip
MOVED: dict[str, tuple[str, str, list[str]]] = {
    "a new axis behind": ("float[B,3] x", f"{ints('a', 2)} y = {MS}ExpandDims(x, a)", ["float[B,3,1]"]),
    "a new axis in front": ("float[B,3] x", f"{ints('a', -3)} y = {MS}ExpandDims(x, a)", ["float[1,B,3]"]),
    "a new axis inside": ("float[B,3] x", f"{ints('a', 1)} y = {MS}ExpandDims(x, a)", ["float[B,1,3]"]),
    "a new axis too far": ("float[B,3] x", f"{ints('a', 3)} y = {MS}ExpandDims(x, a)", ["float[?,?,?]"]),
    "a new axis too far back": ("float[B,3] x", f"{ints('a', -4)} y = {MS}ExpandDims(x, a)", ["float[?,?,?]"]),
    "two new axes": ("float[B,3] x", f"{ints('a', 0, 1)} y = {MS}ExpandDims(x, a)", ["float[?,?,?]"]),
    "padded to less than nothing": ("float[3] x", f"{ints('p', -2, -2)} y = {MS}Pad(x, p)", ["float[?]"]),
    "padded to nothing": ("float[3] x", f"{ints('p', -2, -1)} y = {MS}Pad(x, p)", ["float[0]"]),
    "padded by too few": ("float[N,9] x", f"{ints('p', 1, 1)} y = {MS}Pad(x, p)", ["float[?,?]"]),
    "counted by 2": (
        "float x", f"{ints('a', 2)}{ints('b', 7)}{ints('c', 2)} y = {MS}Range(a, b, c)", ["int64[3]"]),
    "counted by 0": ("float x", f"{ints('a', 2)}{ints('b', 7)}{ints('c', 0)} y = {MS}Range(a, b, c)", ["int64[?]"]),
    "counted by what is computed": ("int64 c", f"{ints('a', 2)}{ints('b', 7)} y = {MS}Range(a, b, c)", ["int64[?]"]),
    "counted in two types": (
        "float x", f"{ints('a', 2)} b = Constant<value = int32 {{7}}>() y = {MS}Range(a, b)", ["int64[?]"]),
    "slices of the first axis": ("float[9,B] x", f"{MS}UnfoldTensor<size = 3, dim = 0>(x)", ["float[7,B,3]"]),
    "slices as long as the axis": ("float[B,9] x", f"{MS}UnfoldTensor<size = 9>(x)", ["float[B,1,9]"]),
    "slices longer than the axis": ("float[B,9] x", f"{MS}UnfoldTensor<size = 10>(x)", ["float[B,?,10]"]),
    "slices of no size": ("float[B,9] x", f"{MS}UnfoldTensor<size = 0>(x)", ["float[?,?,?]"]),
    "slices of one element": ("float[B,9] x", f"{MS}UnfoldTensor<size = 1>(x)", ["float[B,9,1]"]),
    "slices in no steps": ("float[B,9] x", f"{MS}UnfoldTensor<size = 3, step = 0>(x)", ["float[?,?,?]"]),
    "slices of an axis that is none": ("float[B,9] x", f"{MS}UnfoldTensor<size = 3, dim = 2>(x)", ["float[?,?,?]"]),
    "slices of an axis before the first": (
        "float[B,9] x", f"{MS}UnfoldTensor<size = 3, dim = -3>(x)", ["float[?,?,?]"]),
    "joined bytes without a zero point": (
        "uint8[B,2] x, float s, uint8 z", f"{MS}QLinearConcat<axis = 1>(s, z, x, s)", ["uint8[*]"]),
    "three joined bytes": (
        "uint8[B,2] x, float s, uint8 z", f"{MS}QLinearConcat<axis = 1>(s, z, x, s, z, x, s, z, x, s, z)",
        ["uint8[B,6]"]),
    "rows from the end": (
        "uint8[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized<gather_axis = -2>(x, i, s)",
        ["float[B,S,16]"]),
    "rows of the middle axis": (
        "uint8[V,W,8] x, int64[B] i, float[V,W,1] s", f"{MS}GatherBlockQuantized<gather_axis = 1>(x, i, s)",
        ["float[V,B,16]"]),
    "rows of an axis that is none": (
        "int4[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized<gather_axis = 2>(x, i, s)", ["float[*]"]),
    "rows of an axis before the first": (
        "int4[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized<gather_axis = -3>(x, i, s)",
        ["float[*]"]),
    "rows of no bits": (
        "uint8[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized<bits = 0>(x, i, s)", ["float[*]"]),
    "rows of single bits": (
        "uint8[V,8] x, int64[B,S] i, float[V,1] s", f"{MS}GatherBlockQuantized<bits = 1>(x, i, s)", ["float[B,S,64]"]),
    "packed rows of no width": ("uint8[V,8] x, int64[B,S] i", f"{MS}GatherPacked<K = 0>(x, i)", ["bfloat16[*]"]),
    "packed rows of no stated width": ("uint8[V,8] x, int64[B,S] i", f"{MS}GatherPacked(x, i)", ["bfloat16[*]"]),
    "packed rows of width 1": ("uint8[V,8] x, int64[B,S] i", f"{MS}GatherPacked<K = 1>(x, i)", ["bfloat16[B,S,1]"]),
    "embedded rows of another rank": ("float[V,8,1] x, int64[B,S] i", f"{MS}TorchEmbedding(x, i)", ["float[*]"]),
    "no texts": ("string[2,0] x", f'{MS}Tokenizer<mark = 0, mincharnum = 1, pad_value = "">(x)', ["string[*]"]),
    "crops of lines": (
        "float[N,3,9] x, float[R,4] r, int32[R] i",
        f"s = Constant<value = int32[2] {{5, 6}}>() y = {MS}CropAndResize(x, r, i, s)", ["float[*]"]),
    "crops of regions of another rank": (
        "float[N,3,9,8] x, float[R] r, int32[R] i",
        f"s = Constant<value = int32[2] {{5, 6}}>() y = {MS}CropAndResize(x, r, i, s)", ["float[*]"]),
    "crops of sizes that are computed": (
        "float[N,3,9,8] x, float[R,4] r, int32[R] i, int32[2] s", f"{MS}CropAndResize(x, r, i, s)", ["float[R,3,?,?]"]),
    "crops of negative sizes": (
        "float[N,3,9,8] x, float[R,4] r, int32[R] i",
        f"s = Constant<value = int32[2] {{5, -6}}>() y = {MS}CropAndResize(x, r, i, s)", ["float[R,3,?,?]"]),
    "a border of two": ("float[N,3,H,8] x", "Crop<border = [1, 2]>(x)", ["float[?,?,?,?]"]),
    "a border of lines": ("float[N,3,8] x", "Crop<border = [1, 2, 3, 4]>(x)", ["float[?,?,?]"]),
    "a part of one stated size": (
        "float[N,3,H,8] x", "Crop<border = [1, 2, 3, 4], scale = [5]>(x)", ["float[?,?,?,?]"]),
    "a part of no size": ("float[N,3,H,8] x", "Crop<border = [1, 2, 3, 4], scale = [0, 6]>(x)", ["float[?,?,?,?]"]),
    "a part of one row": ("float[N,3,H,8] x", "Crop<border = [1, 2, 3, 4], scale = [1, 6]>(x)", ["float[N,3,1,6]"]),
    "all that a border leaves": ("float[N,3,9,4] x", "Crop<border = [2, 0, 2, 0]>(x)", ["float[N,3,9,0]"]),
    "padded again by places of another rank": (
        "float[N,8] x, int32[B] n", f"{MS}RestorePadding(x, n)", ["float[*]"]),
    "padding of another rank": (
        "float[B,8] x, int32[B] n", f"{MS}RemovePadding(x, n)", ["float[?,?]", "int32[*]", "int32[B+1]", "int32[1]"]),
    "padding of a number": ("float x, int32[B] n", f"{MS}RemovePadding(x, n)", ["float[?,?]", "int32[*]", "int32[*]"]),
    "two series": ("float[M,3] x, float[N,3] z", f"{MS}DynamicTimeWarping(x)", ["int32[2,?]"]),
}  # fmt: skip
MULTIPLIED: dict[str, tuple[str, str, list[str]]] = {
    "an inner size below 1": (
        "float[B,K] x, uint8[5,1,8] w, float[5] s", f"{MS}MatMulNBits<K = 0, N = 5>(x, w, s)", ["float[*]"]),
    "no stated number of columns": (
        "float[B,16] x, uint8[5,1,8] w, float[5] s", f"{MS}MatMulNBits<K = 16>(x, w, s)", ["float[*]"]),
    "no stated number of rows": (
        "float[B,16] x, uint8[5,1,8] w, float[5] s", f"{MS}MatMulNBits<N = 5>(x, w, s)", ["float[*]"]),
    "operands of other ranks": ("float[A,M,K] x, float[K,N] y", f"{MS}FusedMatMul(x, y)", ["float[A,M,N]"]),
    "the first turned": ("float[K,M] x, float[K,N] y", f"{MS}FusedMatMul<transA = 1>(x, y)", ["float[M,N]"]),
    "the second turned": ("float[M,K] x, float[N,K] y", f"{MS}FusedMatMul<transB = 1>(x, y)", ["float[M,N]"]),
    "the first's batches transposed": (
        "float[M,B,K] x, float[B,K,N] y", f"{MS}FusedMatMul<transBatchA = 1>(x, y)", ["float[B,M,N]"]),
    "QGemm with a scale of the result": (
        "uint8[M,K] x, uint8[K,5] y, float s, uint8 z", f'{MS}QGemm(x, s, z, y, s, z, "", s)', ["float[M,5]"]),
    "QGemm with a zero point of the result": (
        "uint8[M,K] x, uint8[K,5] y, float s, uint8 z", f'{MS}QGemm(x, s, z, y, s, z, "", s, z)', ["uint8[M,5]"]),
    "sizes of 1": (
        "float[B,K] x, uint8[5,1,8] w, float[5] s", f"{MS}MatMulNBits<K = 1, N = 1>(x, w, s)", ["float[B,1]"]),
    "a number by weights": (
        "float x, uint8[5,1,8] w, float[5] s", f"{MS}MatMulNBits<K = 2, N = 5>(x, w, s)", ["float[*]"]),
    "an odd way": (
        "float[B,K] x, uint8[80] w, float[5] s", f"{MS}MatMulBnb4<K = 16, N = 5, transB = 2>(x, w, s)", ["float[*]"]),
    "weights of a stated shape": (
        "float[A,B,16] x, uint8[80] w", f"{ints('s', 16, 5)} y = {MS}MatMulFpQ4(x, w, s)", ["float[A,B,5]"]),
    "weights of a stated vector": (
        "float[A,B,16] x, uint8[80] w", f"{ints('s', 5)} y = {MS}MatMulFpQ4(x, w, s)", ["float[*]"]),
    "a number by weights of a stated shape": (
        "float x, uint8[80] w", f"{ints('s', 16, 5)} y = {MS}MatMulFpQ4(x, w, s)", ["float[*]"]),
    "transposed batches of another rank": (
        "float[M,B,K] x, float[K,N] y", f"{MS}FusedMatMul<transBatchA = 1>(x, y)", ["float[*]"]),
    "transposed batches that are none": (
        "float[M,K] x, float[K,N] y", f"{MS}FusedMatMul<transBatchB = 1>(x, y)", ["float[*]"]),
    "the second's batches transposed": (
        "float[B,M,K] x, float[K,B,N] y", f"{MS}FusedMatMul<transBatchB = 1>(x, y)", ["float[B,M,N]"]),
    "a row that is not turned": ("float[3] x, float[3,N] y", f"{MS}TransposeMatMul<transA = 1>(x, y)", ["float[N]"]),
    "a matrix that is turned": ("float[K,M] x, float[K,N] y", f"{MS}TransposeMatMul<transA = 1>(x, y)", ["float[M,N]"]),
    "an operand of no rank": ("float[] x, float[K,N] y", f"{MS}FusedMatMul<transB = 1>(x, y)", ["float[*]"]),
    "distances of another rank": ("double[M,3,1] x, double[K,3] y", f"{MS}CDist(x, y)", ["double[?,K]"]),
    "distances to what has no rank": ("double[M,3] x, double[] y", f"{MS}CDist(x, y)", ["double[M,?]"]),
    "QGemm turned": (
        "uint8[K,M] x, uint8[K,5] y, float s, uint8 z", f"{MS}QGemm<transA = 1>(x, s, z, y, s, z)", ["float[M,5]"]),
    "QGemm of stacks": (
        "uint8[A,M,K] x, uint8[A,K,5] y, float s, uint8 z", f"{MS}QGemm(x, s, z, y, s, z)", ["float[?,?]"]),
    "an activation of stacks of weights": (
        "float16[B,4] x, float16[A,4,5] w", f"{MS}GemmFastGelu(x, w)", ["float16[*]"]),
    "an activation of a number": ("float16 x, float16[4,5] w", f"{MS}GemmFastGelu(x, w)", ["float16[*]"]),
    "integers of 16 bits": ("int16[A,M,K] x, int16[K,N] y", f"{MS}MatMulInteger16(x, y)", ["int32[A,M,N]"]),
}  # fmt: skip
STATES: dict[str, tuple[str, str, list[str]]] = {
    "fewer than no slots": (
        "float[B,S,8] q, float[B,2,4,4] p",
        f"{MS}LinearAttention<q_num_heads = 2, kv_num_heads = 2, state_window = -1>(q, q, q, p)",
        ["float[B,S,8]", "float[*]"]),
    "more heads of queries": (
        "float[B,S,16] q, float[B,S,8] k, float[B,S,12] v",
        f"{MS}LinearAttention<q_num_heads = 4, kv_num_heads = 2>(q, k, v)", ["float[B,S,24]", "-[B,2,4,6]"]),
    "no heads of queries": (
        "float[B,S,8] q", f"{MS}LinearAttention<kv_num_heads = 2>(q, q, q)", ["float[*]", "-[*]"]),
    "no heads of keys": ("float[B,S,8] q", f"{MS}LinearAttention<q_num_heads = 2>(q, q, q)", ["float[*]", "-[*]"]),
    "states of another rank": (
        "float[B,S,8] q, float[S,8] k", f"{MS}LinearAttention<q_num_heads = 2, kv_num_heads = 2>(q, k, k)",
        ["float[B,S,?]", "-[B,2,?,?]"]),
    "a convolution over planes": (
        "float[B,C,L] x, float[C,1,3] w", f"{MS}CausalConvWithState<ndim = 2>(x, w)", ["float[B,C,L]", "float[*]"]),
    "a convolution without a step": (
        "float[B,C,L] x, float[C,1,3] w", f"{MS}CausalConvWithState<dilation = 0>(x, w)", ["float[B,C,L]", "float[*]"]),
    "a convolution of filters of another rank": (
        "float[B,C,L] x, float[C,3] w", f"{MS}CausalConvWithState(x, w)", ["float[B,C,L]", "float[*]"]),
    "a convolution of data of another rank": (
        "float[C,L] x, float[C,1,3] w", f"{MS}CausalConvWithState(x, w)", ["float[C,L]", "float[*]"]),
    "a convolution of one tap": (
        "float[B,C,L] x, float[C,1,1] w", f"{MS}CausalConvWithState(x, w)", ["float[B,C,L]", "float[B,C,0]"]),
    "a convolution of no tap": (
        "float[B,C,L] x, float[C,1,0] w", f"{MS}CausalConvWithState(x, w)", ["float[B,C,L]", "float[B,C,?]"]),
    "an LSTM of data of another rank": (
        "float[S,4] x, uint8[1,4,20] w, uint8[1,5,20] r, float[1] s, uint8[1] z",
        f"{MS}DynamicQuantizeLSTM<hidden_size = 5>({GATES})", ["float[?,1,?,5]", "float[1,?,5]", "float[1,?,5]"]),
    "an LSTM of one unit": (
        "float[S,B,4] x, uint8[1,4,20] w, uint8[1,5,20] r, float[1] s, uint8[1] z",
        f"{MS}DynamicQuantizeLSTM<hidden_size = 1>({GATES})", ["float[S,1,B,1]"]),
    "single tokens": (
        TOKENS, f"{MS}NGramHashMapping<max_ngram_size = 1, n_head_per_ngram = 2, pad_id = 0>(i, m, v)",
        ["int64[*]", "int64[*]"]),
    "pairs of tokens": (
        TOKENS, f"{MS}NGramHashMapping<max_ngram_size = 2, n_head_per_ngram = 1, pad_id = 0>(i, m, v)",
        ["int64[B,S,1]", "int64[B,1]"]),
    "n-grams of no stated length": (
        TOKENS, f"{MS}NGramHashMapping<n_head_per_ngram = 2, pad_id = 0>(i, m, v)", ["int64[*]", "int64[*]"]),
    "n-grams of no stated number of heads": (
        TOKENS, f"{MS}NGramHashMapping<max_ngram_size = 4, pad_id = 0>(i, m, v)", ["int64[*]", "int64[*]"]),
    "n-grams without a head": (
        TOKENS, f"{MS}NGramHashMapping<max_ngram_size = 4, n_head_per_ngram = 0, pad_id = 0>(i, m, v)",
        ["int64[*]", "int64[*]"]),
    "n-grams of one text": (
        "int64[S] i, int64[4] m, int64[6] v", f"{MS}NGramHashMapping<{GRAMS}>(i, m, v)", ["int64[S,6]", "int64[*]"]),
    "packed texts of no end": (
        PACKED.format("[0]"), f"{MS}VarlenNGramHashMapping<{GRAMS}>(i, m, v, c)", ["int32[N,6]", "int32[?,3]"]),
    "no packed texts": (
        PACKED.format("[1]"), f"{MS}VarlenNGramHashMapping<{GRAMS}>(i, m, v, c)", ["int32[N,6]", "int32[0,3]"]),
    "packed texts of another rank": (
        PACKED.format("[P,1]"), f"{MS}VarlenNGramHashMapping<{GRAMS}>(i, m, v, c)",
        ["int32[N,6]", "int32[?,3]", "int32[?,3]", "int32[*]"]),
    "packed texts with one place": (
        PACKED.format("[P]"), f"{MS}VarlenNGramHashMapping<{GRAMS}, state_update_capacity = 1>(i, m, v, c)",
        ["int32[N,6]", "int32[P-1,3]", "int32[P-1,3]", "int32[P-1,1,3]"]),
    "words of another rank": (
        "int32[N,L,1] x, float[M,1,2,4] w, float[M] b, float[V,4] c", f"{MS}WordConvEmbedding(x, w, b, c)",
        ["float[*]"]),
    "words by a number": (
        "int32[N,L] x, float w, float[M] b, float[V,4] c", f"{MS}WordConvEmbedding(x, w, b, c)", ["float[*]"]),
    "a delta network of more queries": (
        "float16[N,6,8] q, float16[N,2,8] k, float16[N,4,5] v", f"{MS}GatedDeltaNet(q, k, v)", ["float16[N,6,5]"]),
    "a delta network of matrices": ("float16[N,8] q", f"{MS}GatedDeltaNet(q, q, q)", ["float16[*]"]),
}  # fmt: skip
WINDOWS: dict[str, tuple[str, str, list[str]]] = {
    "scaled by too few": (IMAGE, f"{BLOCKED}Upsample<scales = [1, 1, 2]>(x)", ["float[*]"]),
    "scaled to nothing": (IMAGE, f"{BLOCKED}Upsample<scales = [1, 1, 0, 2]>(x)", ["float[*]"]),
    "a scaled line": ("float[N,16,9] x", f"{BLOCKED}Upsample<scales = [1, 1, 2, 2]>(x)", ["float[*]"]),
    "scaled by nothing stated": (IMAGE, f"{BLOCKED}Upsample(x)", ["float[*]"]),
    "into blocks by an odd flag": (IMAGE, f"{BLOCKED}ReorderInput<channels_last = 2>(x)", ["float[*]"]),
    "a line into blocks": ("float[N,16,9] x", f"{BLOCKED}ReorderInput(x)", ["float[*]"]),
    "out of blocks by an odd flag": (
        IMAGE, f"{BLOCKED}ReorderOutput<channels = 3, channels_last = 2>(x)", ["float[*]"]),
    "out of blocks to no channels": (IMAGE, f"{BLOCKED}ReorderOutput(x)", ["float[*]"]),
    "out of blocks to one channel": (IMAGE, f"{BLOCKED}ReorderOutput<channels = 1>(x)", ["float[N,1,9,8]"]),
    "a line out of blocks": ("float[N,16,9] x", f"{BLOCKED}ReorderOutput<channels = 3>(x)", ["float[*]"]),
    "a pool in blocks": (IMAGE, f"{BLOCKED}MaxPool<kernel_shape = [2, 3]>(x)", ["float[N,16,8,6]"]),
    "a mean in blocks": (IMAGE, f"{BLOCKED}AveragePool<kernel_shape = [2, 3]>(x)", ["float[N,16,8,6]"]),
    "a mean over all in blocks": (IMAGE, f"{BLOCKED}GlobalAveragePool(x)", ["float[N,16,1,1]"]),
    "a quantized pool of an odd flag": (
        "uint8[N,3,9,8] x, float s, uint8 z",
        f"{MS}QLinearAveragePool<kernel_shape = [3, 2], channels_last = 2>(x, s, z, s, z)", ["uint8[*]"]),
    "a quantized pool of channels last": (
        "uint8[N,9,8,3] x, float s, uint8 z",
        f"{MS}QLinearAveragePool<kernel_shape = [3, 2], channels_last = 1>(x, s, z, s, z)", ["uint8[N,7,7,3]"]),
    "a quantized convolution": (
        "uint8[N,3,9,8] x, uint8[5,3,3,3] w, float s, int8 z", f"{MS}QLinearConv(x, s, z, w, s, z, s, z)",
        ["int8[N,5,7,6]"]),
    "a convolution of channels last": (
        "float[N,9,8,3] x, float[5,3,3,3] w", f"{MS}NhwcConv(x, w)", ["float[N,7,6,5]"]),
    "a fused convolution of channels last": (
        "float[N,9,8,3] x, float[5,3,3,3] w", f"{MS}NhwcFusedConv(x, w)", ["float[N,7,6,5]"]),
    "a masked pool": ("float[N,3,9,8] x, int32[N,3,9,8] m", f"{MS}MaxpoolWithMask<kernel_shape = [2, 2]>(x, m)",
                      ["float[N,3,8,7]"]),
    "pads that are computed": (
        "float[N,3,9,8] x, float[3,5,3,3] w, int64[4] p", f"{MS}ConvTransposeWithDynamicPads(x, w, p)",
        ["float[N,?,?,?]"]),
    "pads that are computed of a number": (
        "float x, float[3,5,3,3] w, int64[4] p", f"{MS}ConvTransposeWithDynamicPads(x, w, p)", ["float[*]"]),
    "sampled": ("float[N,3,4,6] x, float[N,5,7,2] g", f"{MS}GridSample(x, g)", ["float[N,3,5,7]"]),
    "a quantized transposition of channels last": (
        "uint8[N,9,8,3] x, uint8[3,5,3,3] w, float s, int8 z",
        f"{NHWC}QLinearConvTranspose(x, s, z, w, s, z, s, z)", ["int8[N,?,?,?]"]),
    "unpooled with channels last": ("float[N,9,8,3] x, int64[N,9,8,3] i", f"{NHWC}MaxUnpool(x, i)", ["float[N,?,?,?]"]),
    "a greatest with channels last": (LAST, f"{NHWC}MaxPool<kernel_shape = [2, 3]>(x)", ["float[N,8,6,3]"]),
    "a norm with channels last": (LAST, f"{NHWC}LpPool<kernel_shape = [2, 3]>(x)", ["float[N,8,6,3]"]),
    "a mean over all with channels last": (LAST, f"{NHWC}GlobalAveragePool(x)", ["float[N,1,1,3]"]),
    "a norm over all with channels last": (LAST, f"{NHWC}GlobalLpPool(x)", ["float[N,1,1,3]"]),
    "a number resized": ("float x, float[4] s", f'{NHWC}Resize(x, "", s)', ["float[*]"]),
}  # fmt: skip
LEARNED: dict[str, tuple[str, str, list[str]]] = {
    "a column": ("double[N,F] x, int64 i", f"{ML}ArrayFeatureExtractor(x, i)", ["double[N,1]"]),
    "columns of a table of indices": (
        "double[N,F] x, int64[2,3] i", f"{ML}ArrayFeatureExtractor(x, i)", ["double[N,6]"]),
    "columns of a number": ("double x, int64[3] i", f"{ML}ArrayFeatureExtractor(x, i)", ["double[*]"]),
    "a class of a vector": (
        "float[F] x", f"{ML}LinearClassifier<coefficients = [1.0], classlabels_ints = [1, 2]>(x)",
        ["int64[*]", "float[*]"]),
    "a class of support vectors": (
        TABLE, f"{ML}SVMClassifier<classlabels_ints = [1, 2]>(x)", ["int64[N]", "float[N,?]"]),
    "targets of support vectors": (TABLE, f"{ML}SVMRegressor(x)", ["float[N,?]"]),
    "targets of trees": (TABLE, f"{ML}TreeEnsembleRegressor<n_targets = 3>(x)", ["float[N,3]"]),
    "no targets": (TABLE, f"{ML}TreeEnsembleRegressor<n_targets = 0>(x)", ["float[*]"]),
    "targets of a vector": ("float[F] x", f"{ML}LinearRegressor(x)", ["float[*]"]),
    "one hot of texts": ("string[N,F] x", f'{ML}OneHotEncoder<cats_strings = ["a", "b"]>(x)', ["float[N,F,2]"]),
    "one hot of nothing": (TABLE, f"{ML}OneHotEncoder(x)", ["float[*]"]),
    "features of too few operands": (
        "float[N,3] x", f"{ML}FeatureVectorizer<inputdimensions = [3, 4]>(x)", ["float[N,?]"]),
    "features of negative numbers": (
        "float[N,3] x", f"{ML}FeatureVectorizer<inputdimensions = [-3]>(x)", ["float[N,?]"]),
    "no features": ("float[N,0] x", f"{ML}FeatureVectorizer<inputdimensions = [0]>(x)", ["float[N,0]"]),
    "features of a vector": ("float[3] x", f"{ML}FeatureVectorizer<inputdimensions = [3]>(x)", ["float[*]"]),
    "a map as floats": (TABLE, f"{ML}CastMap(x)", ["float[1,?]"]),
    "a map as texts": (TABLE, f'{ML}CastMap<cast_to = "TO_STRING">(x)', ["string[1,?]"]),
    "a map as nothing": (TABLE, f'{ML}CastMap<cast_to = "TO_BOOL">(x)', ["-[1,?]"]),
    "a dictionary": (TABLE, f'{ML}DictVectorizer<string_vocabulary = ["a"]>(x)', ["-[1,?]"]),
    "numbers for texts": (
        "string[N] x", f'{ML}LabelEncoder<keys_strings = ["a"], values_int64s = [1]>(x)', ["int64[N]"]),
    "floats for texts": (
        "string[N] x", f'{ML}LabelEncoder<keys_strings = ["a"], values_floats = [1.0]>(x)', ["float[N]"]),
    "a text for a category": (
        "int64[N] x", f'{ML}CategoryMapper<cats_int64s = [1], cats_strings = ["a"]>(x)', ["string[N]"]),
    "a category of floats": (
        TABLE, f'{ML}CategoryMapper<cats_int64s = [1], cats_strings = ["a"]>(x)', ["-[N,F]"]),
    "labels of a tensor": (
        "int64[N] x", f"{ML}LabelEncoder<keys_int64s = [1], values_tensor = int32[1] {{1}}>(x)", ["int32[N]"]),
    "features of no stated numbers": (TABLE, f"{ML}FeatureVectorizer(x)", ["float[N,?]"]),
    "features of one negative number": (
        f"{TABLE}, float[N,4] z", f"{ML}FeatureVectorizer<inputdimensions = [3, -4]>(x, z)", ["float[N,?]"]),
    "labels of two types": (
        "int64[N] x", f'{ML}LabelEncoder<keys_int64s = [1], values_floats = [1.0], values_strings = ["a"]>(x)',
        ["-[N]"]),
}  # fmt: skip
CASES = {
    f"{room}: {name}": case
    for room, cases in (
        ("attention", ATTENTION), ("like", LIKE), ("moved", MOVED), ("multiplied", MULTIPLIED), ("states", STATES),
        ("windows", WINDOWS), ("learned", LEARNED),
    )
    for name, case in cases.items()
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "node", "expected"), CASES.values(), ids=list(CASES))
def test_sizes_and_types_of_results(inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    assert results(tmp_path, inputs, node, len(expected)) == expected


@pytest.mark.parametrize(("inputs", "node", "expected"), CASES.values(), ids=list(CASES))
def test_an_operand_of_no_rank_leaves_sizes_open(inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    for less in without_a_rank(inputs):
        assert all(map(agree, results(tmp_path, less, node, len(expected)), expected)), less


def test_the_first_label_encoder_gives_numbers_for_texts(tmp_path: Path) -> None:
    node = f'{ML}LabelEncoder<classes_strings = ["a"]>(x)'
    assert results(tmp_path, "string[N] x", node, 1, learning=1) == ["int64[N]"]
    assert results(tmp_path, "int64[N] x", node, 1, learning=1) == ["string[N]"]


AS_IT_IS = {
    MS: (
        "BiasGelu FastGelu Gelu QuickGelu ScaledSiLU GatedAdd GatedRMSNorm BranchwiseRMSNorm HyperConnectionPostMix"
        " MoE QMoE Inverse Trilu SampleOp QLinearLeakyRelu QLinearSigmoid BiasAdd BiasSoftmax GroupNorm"
        " QOrderedGelu QOrderedLayerNormalization LongformerAttention QOrderedLongformerAttention RotaryEmbedding"
        " MRotaryEmbedding BitmaskDropout BitmaskBiasDropout BiasDropout MoEPacked SkipGroupNorm EngramGate"
        " CausalConvWithState VarlenCausalConvWithState LinearAttentionGate"
    ),
    NHWC: "BatchNormalization InstanceNormalization LRN",
    ML: "Binarizer Imputer Normalizer Scaler",
    "": "Affine ImageScaler ParametricSoftplus Scale ScaledTanh MemcpyFromHost MemcpyToHost",
}
"""By domain the operators whose first result has the shape and the type of a float operand 0."""


@pytest.mark.parametrize("domain", AS_IT_IS)
def test_results_that_are_like_operand_0(domain: str, tmp_path: Path) -> None:
    ops = AS_IT_IS[domain].split()
    nodes = " ".join(f"y{at} = {domain}{op}(x, z)" for at, op in enumerate(ops))
    text = f"{HEAD.format(17, 1, 3)} g (float[A,B,C] x, int32[D] z) => (float y0) {{ {nodes} }}"
    found = zip(ops, every_shown(tmp_path, text), strict=True)
    assert [(op, known) for op, known in found if known != ["float[A,B,C]"]] == []
