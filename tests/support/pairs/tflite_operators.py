"""One-operator TFLite models as text, for every builtin operator of which LiteRT has a kernel.

A line is `operators | element types | text`. `{op}` is each of the operators, `{t}` each of the types, `;` ends a line
of the text. A type that ends with `!` has no scales. Inputs are made constants, and constants inputs, elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_TYPES = {
    "f": "float32", "h": "float16", "d": "float64", "i": "int32", "l": "int64", "b": "bool", "q": "int8",
    "u": "uint8", "s": "int16", "w": "uint32", "v": "uint16", "x": "uint64", "S": "string", "c": "complex64",
    "g": "bfloat16",
}  # fmt: skip

ELEMENTWISE = """
ADD SUB | f i l q u s | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
ADD SUB MUL DIV | f i | y:{t}[2,2,3] = {op}(x:{t}[2,1,3], b:{t}[2,1], fused_activation_function=RELU)
MUL | f i l q u s s! w c | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
ADD | s! | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
DIV | f i u | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
MAXIMUM MINIMUM | f i l q u s | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
SQUARED_DIFFERENCE | f i q | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
FLOOR_DIV FLOOR_MOD | f i q! s! | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
FLOOR_MOD | l | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
POW | f i | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
PRELU | f q u | y:{t}[1,2,2,3] = {op}(x:{t}[1,2,2,3], b:{t}[1,1,3])
LESS LESS_EQUAL GREATER GREATER_EQUAL | f i l q u | y:bool[2,3] = {op}(x:{t}[2,3], b:{t}[3])
EQUAL NOT_EQUAL | f i l q u b S | y:bool[2,3] = {op}(x:{t}[2,3], b:{t}[3])
LOGICAL_AND LOGICAL_OR | b | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
BITWISE_XOR RIGHT_SHIFT | i q! u! s! w v | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[3])
SELECT_V2 | f i l b q u s | y:{t}[2,3] = {op}(c:bool[2,1], x:{t}[2,3], b:{t}[3])
SELECT_V2 SELECT | f i | y:{t}[2,3] = {op}(c:bool[], x:{t}[2,3], b:{t}[2,3])
SELECT | f i l b q u s | y:{t}[2,3] = {op}(c:bool[2], x:{t}[2,3], b:{t}[2,3])
SELECT SELECT_V2 | f | y:{t}[2,3] = {op}(c:bool[2,3], x:{t}[2,3], b:{t}[2,3])
ATAN2 | f d | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[2,3])
ADD_N | f i | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[2,3], c:{t}[2,3])
STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM | f i | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[2,3])
STABLEHLO_AND | b i | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[2,3])
STABLEHLO_SHIFT_LEFT | i q! | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[2,3])
ADD MUL SUB | f | y[N,3] = {op}(x[N,3], b[3])
ADD MAXIMUM LESS_EQUAL | f | y[N,M] = {op}(x[N,1], b[M])
ADD MUL | f | y[2,1,2,1,3] = {op}(x[2,1,2,1,3], b[2,1,1])
ADD | f i | y:{t}[2,3] = {op}(x:{t}[2,3], b:{t}[])
ADD | f | y[3] = {op}(x[1], b[3])
ADD | f | y[0,3] = {op}(x[0,3], b[1,3])
"""

UNARY = """
ABS | f i q s | y:{t}[2,3] = {op}(x:{t}[2,3])
NEG | f i l | y:{t}[2,3] = {op}(x:{t}[2,3])
CEIL FLOOR ROUND SIN COS SQUARE SIGN | f | y:{t}[2,3] = {op}(x:{t}[2,3])
EXP LOG | f q s | y:{t}[2,3] = {op}(x:{t}[2,3])
SQRT RSQRT | f | y:{t}[2,3] = {op}(x:{t}[2,3])
SQRT RSQRT | q | y:{t}[2,3] = {op}(x:{t}[2,3]) | x=0.5/-128
RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 GELU HARD_SWISH | f q u | y:{t}[2,3] = {op}(x:{t}[2,3])
GELU | f | y[2,3] = {op}(x[2,3], approximate=True)
ELU | f q | y:{t}[2,3] = {op}(x:{t}[2,3])
LEAKY_RELU | f q u s | y:{t}[2,3] = {op}(x:{t}[2,3], alpha=0.25)
LOGICAL_NOT | b | y:{t}[2,3] = {op}(x:{t}[2,3])
ZEROS_LIKE | f i l | y:{t}[2,3] = {op}(x:{t}[2,3])
SOFTMAX | f | y:{t}[2,3] = {op}(x:{t}[2,3], beta=1.0)
LOG_SOFTMAX L2_NORMALIZATION TANH LOGISTIC | f | y:{t}[2,3] = {op}(x:{t}[2,3])
L2_NORMALIZATION | f | y:{t}[1,2,2,3] = {op}(x:{t}[1,2,2,3])
CAST | f i l b u! q! s! d h | y:int32[2,3] = {op}(x:{t}[2,3])
CAST | i l f u! q! s! w | y:float32[2,3] = {op}(x:{t}[2,3])
CAST | f i l | y:uint8[2,3] = {op}(x:{t}[2,3])
CAST | f i | y:bool[2,3] = {op}(x:{t}[2,3])
CAST | f i | y:int64[2,3] = {op}(x:{t}[2,3])
BITCAST | f | y:int32[2,3] = {op}(x:{t}[2,3])
BITCAST | i | y:uint8[2,3,4] = {op}(x:{t}[2,3])
QUANTIZE | f | y:int8[2,3] = {op}(x:{t}[2,3])
QUANTIZE | q u s | y:int8[2,3] = {op}(x:{t}[2,3])
DEQUANTIZE | q u s h | y[2,3] = {op}(x:{t}[2,3])
FAKE_QUANT | f | y[2,3] = {op}(x[2,3], min=-1.0, max=1.0, num_bits=8)
REAL IMAG COMPLEX_ABS | c | y[2,3] = {op}(x:{t}[2,3])
"""

LAYOUT = """
RESHAPE | f i l b q u s S c | y:{t}[3,2] = {op}(x:{t}[2,3], s:const:int32[2]{3,2}, new_shape=[3,2])
RESHAPE | f | y[1,2,3] = {op}(x[2,3], s:const:int32[3]{1,2,-1}, new_shape=[1,2,-1])
RESHAPE | f | y[1,2,3] = {op}(x[2,3], new_shape=[1,2,3])
RESHAPE | f | y[N,1,3] = {op}(x[N,3], s:const:int32[3]{-1,1,3})
RESHAPE | f | y[] = {op}(x[1,1], s:const:int32[0]{})
EXPAND_DIMS | f i l b q u | y:{t}[1,2,3] = {op}(x:{t}[2,3], a:const:int32[]{0})
EXPAND_DIMS | f | y[2,3,1] = {op}(x[2,3], a:const:int32[1]{-1})
EXPAND_DIMS | f | y[2,1,3] = {op}(x[2,3], a:const:int64[]{1})
SQUEEZE | f i b q S | y:{t}[2,3] = {op}(x:{t}[1,2,1,3], squeeze_dims=[0,2])
SQUEEZE | f | y[2,3] = {op}(x[1,2,1,3])
SQUEEZE | f | y[1,2,3] = {op}(x[1,2,1,3], squeeze_dims=[-2])
TILE | f i l b q u S | y:{t}[2,6] = {op}(x:{t}[1,3], m:const:int32[2]{2,2})
TILE | f | y[2,3] = {op}(x[1,3], m:const:int64[2]{2,1})
BROADCAST_TO | f i l b q u s | y:{t}[2,2,3] = {op}(x:{t}[2,1], s:const:int32[3]{2,2,3})
BROADCAST_TO | f | y[2,3] = {op}(x[3], s:const:int64[2]{2,3})
BROADCAST_ARGS | i l | y:{t}[3] = {op}(x:const:{t}[3]{2,1,3}, b:const:{t}[2]{4,1})
SHAPE | f i b S | y:int32[2] = {op}(x:{t}[2,3], out_type=INT32)
SHAPE | f | y:int64[2] = {op}(x[2,3], out_type=INT64)
SHAPE | f | y:int32[2] = {op}(x[N,3], out_type=INT32)
RANK | f i | y:int32[] = {op}(x:{t}[2,3])
PACK | f i l q u s | y:{t}[2,2,3] = {op}(x:{t}[2,3], b:{t}[2,3], values_count=2, axis=1)
UNPACK | f i b q u s | y:{t}[3], z:{t}[3] = {op}(x:{t}[2,3], num=2, axis=0)
CONCATENATION | f i l b q u s | y:{t}[3,3] = {op}(x:{t}[2,3], b:{t}[1,3], axis=0)
CONCATENATION | f | y[2,6] = {op}(x[2,3], b[2,3], axis=-1)
SPLIT | f i q u s l | y:{t}[2,2], z:{t}[2,2] = {op}(a:const:int32[]{1}, x:{t}[2,4], num_splits=2)
SPLIT_V | f i q l | y:{t}[2,1], z:{t}[2,3] = {op}(x:{t}[2,4], n:const:int32[2]{1,-1}, a:const:int32[]{1}, num_splits=2)
SLICE | f i l b q u s S | y:{t}[1,2] = {op}(x:{t}[2,3], b:const:int32[2]{1,0}, s:const:int32[2]{-1,2})
STRIDED_SLICE | f i l b q u s S | y:{t}[2,2] = {op}(x:{t}[2,3], b:const:int32[2]{0,1}, e:const:int32[2]{2,3}, s:const:int32[2]{1,1})
STRIDED_SLICE | f | y[3] = {op}(x[2,3], b:const:int32[2]{1,0}, e:const:int32[2]{2,3}, s:const:int32[2]{1,1}, shrink_axis_mask=1, end_mask=2)
STRIDED_SLICE | f | y[1,2,3] = {op}(x[2,3], b:const:int32[2]{0,0}, e:const:int32[2]{0,2}, s:const:int32[2]{1,1}, new_axis_mask=1, begin_mask=2, end_mask=2)
TRANSPOSE | f i l b q u s | y:{t}[3,2] = {op}(x:{t}[2,3], p:const:int32[2]{1,0})
TRANSPOSE | f | y[3,1,2] = {op}(x[1,2,3], p:const:int32[3]{2,0,1})
GATHER | f i l b q u s | y:{t}[3,3] = {op}(x:{t}[2,3], i:const:int32[3]{1,0,1}, axis=0)
GATHER | S | y:{t}[3] = {op}(x:{t}[2], i:const:int32[3]{1,0,1}, axis=0)
GATHER | f | y[2,2] = {op}(x[2,3], i:const:int64[2,2]{1,0,2,1}, axis=1, batch_dims=1)
GATHER | f | y[2] = {op}(x[2,3], i:const:int32[]{2}, axis=-1)
GATHER_ND | f i l b q u S | y:{t}[2,3] = {op}(x:{t}[2,3], i:const:int32[2,1]{1,0})
SCATTER_ND | f i l b q u | y:{t}[4] = {op}(i:const:int32[2,1]{1,3}, x:{t}[2], s:const:int32[1]{4})
REVERSE_V2 | f i l b q! u! s! | y:{t}[2,3] = {op}(x:{t}[2,3], a:const:int32[1]{1})
REVERSE_SEQUENCE | f i l u! | y:{t}[2,3] = {op}(x:{t}[2,3], n:const:int32[2]{2,3}, seq_dim=1, batch_dim=0)
PAD | f i l b q u s | y:{t}[3,5] = {op}(x:{t}[2,3], p:const:int32[2,2]{1,0,0,2})
PADV2 | f i l q u | y:{t}[3,5] = {op}(x:{t}[2,3], p:const:int32[2,2]{1,0,0,2}, c:const:{t}[])
MIRROR_PAD | f i l q u | y:{t}[3,5] = {op}(x:{t}[2,3], p:const:int32[2,2]{1,0,0,2}, mode=REFLECT)
FILL | f i l b q u S | y:{t}[2,3] = {op}(s:const:int32[2]{2,3}, x:{t}[])
FILL | f | y[2,3] = {op}(s:const:int64[2]{2,3}, x[])
RANGE | i l | y:{t}[3] = {op}(a:const:{t}[]{1}, b:const:{t}[]{7}, c:const:{t}[]{2})
RANGE | f | y:{t}[3] = {op}(a:const:{t}[]{1.0}, b:const:{t}[]{2.5}, c:const:{t}[]{0.5})
ONE_HOT | f i b q! | y:{t}[2,3] = {op}(x:int32[2], d:const:int32[]{3}, n:{t}[], f:{t}[], axis=-1)
WHERE | b f i | y:int64[?,2] = {op}(x:{t}[2,3])
UNIQUE | f i l | y:{t}[?], z:int32[6] = {op}(x:{t}[6], idx_out_type=INT32)
TOPK_V2 | f i q u l | y:{t}[2,2], z:int32[2,2] = {op}(x:{t}[2,3], k:const:int32[]{2})
ARG_MAX ARG_MIN | f i q u | y:int32[2] = {op}(x:{t}[2,3], a:const:int32[]{1}, output_type=INT32)
ARG_MAX | f b | y:int64[3] = {op}(x:{t}[2,3], a:const:int32[1]{0}, output_type=INT64)
CUMSUM | f i l | y:{t}[2,3] = {op}(x:{t}[2,3], a:const:int32[]{1}, exclusive=True)
SUM MEAN REDUCE_PROD REDUCE_MAX REDUCE_MIN | f i q | y:{t}[2] = {op}(x:{t}[2,3], a:const:int32[1]{1})
SUM MEAN REDUCE_PROD REDUCE_MAX REDUCE_MIN | f | y:{t}[1,3] = {op}(x:{t}[2,3], a:const:int32[]{-2}, keep_dims=True)
SUM REDUCE_MAX | f | y:{t}[] = {op}(x:{t}[2,3], a:const:int32[2]{0,1})
REDUCE_ANY REDUCE_ALL | b | y:{t}[2] = {op}(x:{t}[2,3], a:const:int32[1]{1})
DYNAMIC_UPDATE_SLICE | f i l b q | y:{t}[2,3] = {op}(x:{t}[2,3], u:{t}[1,2], s:const:int32[2]{1,1})
SPARSE_TO_DENSE | f i l q u | y:{t}[5] = {op}(i:const:int32[2]{1,3}, s:const:int32[1]{5}, x:{t}[2], d:{t}[])
MATRIX_DIAG | f i l | y:{t}[2,3,3] = {op}(x:{t}[2,3])
MATRIX_SET_DIAG | f i l | y:{t}[2,2,2] = {op}(x:{t}[2,2,2], d:{t}[2,2])
SEGMENT_SUM | f i | y:{t}[2,3] = {op}(x:{t}[3,3], i:const:int32[3]{0,0,1})
UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_MIN | f i | y:{t}[2,3] = {op}(x:{t}[3,3], i:const:int32[3]{0,1,0}, n:const:int32[]{2})
BUCKETIZE | f i | y:int32[2,3] = {op}(x:{t}[2,3], boundaries=[-1.0,0.0,1.5])
SPACE_TO_DEPTH | f i q u l | y:{t}[1,1,1,12] = {op}(x:{t}[1,2,2,3], block_size=2)
DEPTH_TO_SPACE | f i q u l | y:{t}[1,2,2,1] = {op}(x:{t}[1,1,1,4], block_size=2)
SPACE_TO_BATCH_ND | f q i | y:{t}[4,1,2,1] = {op}(x:{t}[1,2,4,1], b:const:int32[2]{2,2}, p:const:int32[2,2]{0,0,0,0})
BATCH_TO_SPACE_ND | f q i | y:{t}[1,2,2,1] = {op}(x:{t}[4,1,1,1], b:const:int32[2]{2,2}, p:const:int32[2,2]{0,0,0,0})
DILATE | f i | y:{t}[3,3] = {op}(x:{t}[2,3], d:const:int32[2]{2,1}, p:const:{t}[])
"""

WINDOWS = """
CONV_2D | f | y[1,2,2,2] = {op}(x[1,3,3,2], w[2,2,2,2], b[2], padding=VALID, stride_h=1, stride_w=1)
CONV_2D | f | y[1,2,2,2] = {op}(x[1,3,3,1], w:const[2,2,2,1], b:const[2], padding=SAME, stride_h=2, stride_w=2, fused_activation_function=RELU)
CONV_2D | q u | y:{t}[1,2,2,2] = {op}(x:{t}[1,3,3,2], w:const:{t}[2,2,2,2], b:const:int32[2], padding=VALID, stride_h=1, stride_w=1) | w=0.5/0 b=0.25/0
DEPTHWISE_CONV_2D | f | y[1,2,2,2] = {op}(x[1,3,3,2], w[1,2,2,2], b[2], padding=VALID, stride_h=1, stride_w=1, depth_multiplier=1)
DEPTHWISE_CONV_2D | q u | y:{t}[1,2,2,2] = {op}(x:{t}[1,3,3,2], w:const:{t}[1,2,2,2], b:const:int32[2], padding=VALID, stride_h=1, stride_w=1, depth_multiplier=1) | w=0.5/0 b=0.25/0
TRANSPOSE_CONV | f | y[1,4,4,1] = {op}(s:const:int32[4]{1,4,4,1}, w[1,2,2,2], x[1,2,2,2], padding=SAME, stride_h=2, stride_w=2)
CONV_3D | f | y[1,1,1,1,2] = {op}(x[1,2,2,2,1], w[2,2,2,1,2], padding=VALID, stride_d=1, stride_h=1, stride_w=1)
CONV_3D_TRANSPOSE | f | y[1,2,2,2,1] = {op}(s:const:int32[5]{1,2,2,2,1}, w[2,2,2,1,2], x[1,1,1,1,2], padding=VALID, stride_d=1, stride_h=1, stride_w=1)
AVERAGE_POOL_2D MAX_POOL_2D | f q u s | y:{t}[1,2,2,2] = {op}(x:{t}[1,3,3,2], padding=VALID, stride_h=1, stride_w=1, filter_height=2, filter_width=2)
L2_POOL_2D | f | y:{t}[1,2,2,2] = {op}(x:{t}[1,3,3,2], padding=SAME, stride_h=2, stride_w=2, filter_height=2, filter_width=2)
FULLY_CONNECTED | f | y[2,4] = {op}(x[2,3], w[4,3], b[4])
FULLY_CONNECTED | f | y[1,2,4] = {op}(x[1,2,3], w:const[4,3], , keep_num_dims=True)
FULLY_CONNECTED | q u | y:{t}[2,4] = {op}(x:{t}[2,3], w:const:{t}[4,3], b:const:int32[4]) | w=0.5/0 b=0.25/0
BATCH_MATMUL | f q s | y:{t}[2,2,4] = {op}(x:{t}[2,2,3], b:{t}[3,4])
BATCH_MATMUL | f | y[2,2,4] = {op}(x[2,3,2], b[1,4,3], adj_x=True, adj_y=True)
LOCAL_RESPONSE_NORMALIZATION | f | y[1,1,1,4] = {op}(x[1,1,1,4], radius=1, bias=1.0, alpha=0.5, beta=0.5)
RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR | f q u | y:{t}[1,4,4,1] = {op}(x:{t}[1,2,2,1], s:const:int32[2]{4,4})
RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR | f | y:{t}[1,3,3,1] = {op}(x:{t}[1,2,2,1], s:const:int32[2]{3,3}, half_pixel_centers=True)
RFFT2D | f | y:complex64[2,3] = {op}(x[2,4], n:const:int32[2]{2,4})
RNN | f | y[2,3] = {op}(x[2,4], w:const[3,4], r:const[3,3], b:const[3], s:variable[2,3], fused_activation_function=TANH)
UNIDIRECTIONAL_SEQUENCE_RNN | f | y[2,2,3] = {op}(x[2,2,4], w:const[3,4], r:const[3,3], b:const[3], s:variable[2,3], fused_activation_function=TANH)
BIDIRECTIONAL_SEQUENCE_RNN | f | y[2,2,3], z[2,2,3] = {op}(x[2,2,4], w:const[3,4], r:const[3,3], b:const[3], s:variable[2,3], w2:const[3,4], r2:const[3,3], b2:const[3], s2:variable[2,3], , , , fused_activation_function=TANH)
SVDF | f | y[2,3] = {op}(x[2,4], w:const[3,4], t:const[3,5], b:const[3], s:variable[2,15], rank=1)
LSTM UNIDIRECTIONAL_SEQUENCE_LSTM | f | y[{n}2,3] = {op}(x[{n}2,4], , f:const[3,4], c:const[3,4], o:const[3,4], , rf:const[3,3], rc:const[3,3], ro:const[3,3], , , , , bf:const[3], bc:const[3], bo:const[3], , , h:variable[2,3], k:variable[2,3], fused_activation_function=TANH)
BIDIRECTIONAL_SEQUENCE_LSTM | f | y[2,2,3], z[2,2,3] = {op}(x[2,2,4], , f1:const[3,4], c1:const[3,4], o1:const[3,4], , rf1:const[3,3], rc1:const[3,3], ro1:const[3,3], , , , , bf1:const[3], bc1:const[3], bo1:const[3], , , , f2:const[3,4], c2:const[3,4], o2:const[3,4], , rf2:const[3,3], rc2:const[3,3], ro2:const[3,3], , , , , bf2:const[3], bc2:const[3], bo2:const[3], , , h1:variable[2,3], k1:variable[2,3], h2:variable[2,3], k2:variable[2,3], , , , , , , , , , fused_activation_function=TANH, time_major=True)
EMBEDDING_LOOKUP | f q | y:{t}[2,3] = {op}(i:const:int32[2]{1,0}, x:{t}[4,3])
EMBEDDING_LOOKUP_SPARSE | f | y[2,3] = {op}(i:const:int32[2]{1,0}, n:const:int32[2,1]{0,1}, s:const:int32[1]{2}, g:const[2], x:const[4,3])
HASHTABLE_LOOKUP | f i | y:{t}[2,3], h:uint8[2] = {op}(q:const:int32[2]{1,2}, k:const:int32[3]{1,2,5}, x:{t}[3,3])
LSH_PROJECTION | f i | y:int32[2] = {op}(h:const[2,4], x:{t}[2,3], g[2], type=1)
NON_MAX_SUPPRESSION_V4 | f | y:int32[3], n:int32[] = {op}(x[4,4], s[4], m:const:int32[]{3}, i:const[]{0.5}, t:const[]{0.1})
NON_MAX_SUPPRESSION_V5 | f | y:int32[3], z[3], n:int32[] = {op}(x[4,4], s[4], m:const:int32[]{3}, i:const[]{0.5}, t:const[]{0.1}, g:const[]{0.0})
SKIP_GRAM | S | y:string[?] = {op}(x:const:string[]{"a b c d"}, ngram_size=2, max_skip_size=1)
RANDOM_UNIFORM RANDOM_STANDARD_NORMAL | f | y[2,3] = {op}(s:const:int32[2]{2,3}, seed=1, seed2=2)
MULTINOMIAL | f | y:int64[2,3] = {op}(x[2,4], n:const:int32[]{3}, seed=1, seed2=2)
STABLEHLO_PAD | f i | y:{t}[3,4] = {op}(x:{t}[2,3], p:{t}[], edge_padding_low=[1,0], edge_padding_high=[0,1], interior_padding=[0,0])
STABLEHLO_GATHER | f | y[2,3] = {op}(x[4,3], i:const:int64[2,1]{1,3}, offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,3])
STABLEHLO_RNG_BIT_GENERATOR | x | z:uint64[2], y:uint32[2,3] = {op}(x:const:uint64[2], algorithm=1)
REDUCE_WINDOW | f i | y:{t}[1,2] = {op}(x:{t}[2,3], n:const:{t}[], w:const:int64[2]{2,2}, s:const:int64[2]{1,1}, d:const:int64[2]{1,1}, reduce_function=1)
"""

BODIES = """
IF | f | y[2,3] = IF(c:bool[], x[2,3], b[3], then=yes, else=no); subgraph yes(x[2,3], b[3]) -> t:; t[2,3] = ADD(x, b); subgraph no(x[2,3], b[3]) -> t:; t[2,3] = MUL(x, b)
IF | f i | y:{t}[2,3] = IF(c:const:bool[]{True}, x:{t}[2,3], then=yes, else=no); subgraph yes(x:{t}[2,3]) -> t:; t:{t}[2,3] = ADD(x, b:const:{t}[3]); subgraph no(x:{t}[2,3]) -> t:; t:{t}[2,3] = SUB(x, x)
WHILE | f i | j:int32[], y:{t}[2,3] = WHILE(i:int32[], x:{t}[2,3], cond=test, body=step); subgraph test(i:int32[], x:{t}[2,3]) -> go:; go:bool[] = LESS(i, n:const:int32[]{3}); subgraph step(i:int32[], x:{t}[2,3]) -> j, t:; j:int32[] = ADD(i, n:const:int32[]{1}); t:{t}[2,3] = ADD(x, b:const:{t}[3])
STABLEHLO_COMPOSITE | f | y[2,3] = STABLEHLO_COMPOSITE(x[2,3], b[3], name="c", composite_attributes=[0, 0, 1, 0, 0, 36, 1], decomposition=body); subgraph body(x[2,3], b[3]) -> t:; t[2,3] = ADD(x, b)
STABLEHLO_CASE | f | y[2,3] = STABLEHLO_CASE(c:int32[], x[2,3], branch_subgraph_indices=[1,2]); subgraph yes(x[2,3]) -> t:; t[2,3] = ADD(x, x); subgraph no(x[2,3]) -> t:; t[2,3] = MUL(x, x)
STABLEHLO_REDUCE_WINDOW | f | y[1,2] = STABLEHLO_REDUCE_WINDOW(x[2,3], n:const[], window_dimensions=[2,2], window_strides=[1,1], base_dilations=[1,1], window_dilations=[1,1], padding=[0,0,0,0], body=add); subgraph add(p[], q[]) -> t:; t[] = STABLEHLO_ADD(p, q)
STABLEHLO_SCATTER | f | y[4] = STABLEHLO_SCATTER(x[4], i:const:int64[2,1]{1,3}, u[2], update_window_dims=[], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1, update_computation=add); subgraph add(p[], q[]) -> t:; t[] = STABLEHLO_ADD(p, q)
CALL_ONCE | f | CALL_ONCE(init=setup); h:resource[] = VAR_HANDLE(shared_name="v"); y[2,3] = READ_VARIABLE(h); z[2,3] = ADD(y, x[2,3]); subgraph setup:; h:resource[] = VAR_HANDLE(shared_name="v"); ASSIGN_VARIABLE(h, c:const[2,3])
VAR_HANDLE | f i | h:resource[] = VAR_HANDLE(shared_name="v"); ASSIGN_VARIABLE(h, x:{t}[2,3]); y:{t}[2,3] = READ_VARIABLE(h); z:{t}[2,3] = ADD(y, x)
HASHTABLE | l | h:resource[1] = HASHTABLE(table_id=1, key_dtype=INT64, value_dtype=STRING); HASHTABLE_IMPORT(h, k:const:int64[2]{1,2}, v:const:string[2]{"a","b"}); y:string[2] = HASHTABLE_FIND(h, x:int64[2], d:const:string[]{"-"}); n:int64[1] = HASHTABLE_SIZE(h)
CUSTOM | f | y[1,3,3] = CUSTOM.AudioSpectrogram(x[8,1], custom_options=b'\\x77\\x69\\x6e\\x64\\x6f\\x77\\x5f\\x73\\x69\\x7a\\x65\\x00\\x73\\x74\\x72\\x69\\x64\\x65\\x00\\x6d\\x61\\x67\\x6e\\x69\\x74\\x75\\x64\\x65\\x5f\\x73\\x71\\x75\\x61\\x72\\x65\\x64\\x00\\x03\\x13\\x1b\\x28\\x03\\x01\\x03\\x01\\x02\\x04\\x68\\x04\\x04\\x06\\x24\\x01')
CUSTOM | f | y[2,3] = CUSTOM.Unknown(x[2,3], b[3])
CUSTOM | f | y[2,3], z:int64[1] = CUSTOM.Flex(x[2,3])
MUL | f | s:variable[2,3]; y[2,3] = MUL(x[2,3], s)
"""

CHAINS = """
RESHAPE | f | e[1,3] = RESHAPE(b[3], s:const:int32[2]{1,3}); y[2,3] = ADD(x[2,3], e)
EXPAND_DIMS | f | e[1,3] = EXPAND_DIMS(b[3], a:const:int32[]{0}); y[2,3] = MUL(x[2,3], e)
BROADCAST_TO | f i | e:{t}[2,3] = BROADCAST_TO(b:{t}[3], s:const:int32[2]{2,3}); y:{t}[2,3] = ADD(x:{t}[2,3], e)
TILE | f | e[2,3] = TILE(b[1,3], m:const:int32[2]{2,1}); y[2,3] = ADD(x[2,3], e)
SHAPE | f | s:int32[2] = SHAPE(x[N,3], out_type=INT32); e[N,3] = BROADCAST_TO(b[3], s); y[N,3] = ADD(x, e)
SHAPE | f | s:int32[2] = SHAPE(x[2,3], out_type=INT32); y[2,3] = FILL(s, v[])
STRIDED_SLICE | f | s:int32[2] = SHAPE(x[N,3], out_type=INT32); n:int32[] = STRIDED_SLICE(s, b:const:int32[1]{0}, e:const:int32[1]{1}, t:const:int32[1]{1}, shrink_axis_mask=1); p:int32[3] = PACK(n, o:const:int32[]{1}, k:const:int32[]{3}, values_count=3, axis=0); y[N,1,3] = RESHAPE(x, p)
CONCATENATION | f | s:int32[3] = CONCATENATION(a:const:int32[1]{2}, b:const:int32[2]{1,3}, axis=0); y[2,1,3] = RESHAPE(x[2,3], s)
PACK | f | s:int32[2] = PACK(a:const:int32[]{3}, b:const:int32[]{2}, values_count=2, axis=0); y[3,2] = RESHAPE(x[2,3], s)
RANGE | f | s:int32[2] = RANGE(a:const:int32[]{2}, b:const:int32[]{4}, c:const:int32[]{1}); e[2,3] = BROADCAST_TO(b2[3], s); y[2,3] = ADD(x[2,3], e)
CAST | f | s:int64[2] = SHAPE(x[2,3], out_type=INT64); c:int32[2] = CAST(s, in_data_type=INT64, out_data_type=INT32); e[2,3] = BROADCAST_TO(b[3], c); y[2,3] = ADD(x, e)
MUL | f | s:int32[2] = SHAPE(x[2,3], out_type=INT32); p:int32[2] = MUL(s, k:const:int32[2]{1,2}); e[2,6] = BROADCAST_TO(b[6], p); y[2,6] = ADD(e, z[2,6])
SQUEEZE | f | e[3] = SQUEEZE(b[1,3], squeeze_dims=[0]); y[2,3] = ADD(x[2,3], e)
TRANSPOSE | f | e[1,3] = TRANSPOSE(b[3,1], p:const:int32[2]{1,0}); y[2,3] = ADD(x[2,3], e)
BROADCAST_ARGS | f | s:int32[2] = SHAPE(x[2,1], out_type=INT32); t:int32[1] = SHAPE(b[3], out_type=INT32); a:int32[2] = BROADCAST_ARGS(s, t); e[2,3] = BROADCAST_TO(b, a); y[2,3] = ADD(x, e)
DEQUANTIZE | h | e[3] = DEQUANTIZE(b:const:float16[3]); y[2,3] = ADD(x[2,3], e)
SELECT | f | e:bool[2,3] = LESS(x[2,3], b[3]); y[2,3] = SELECT(e, x, z[2,3])
GATHER | f | s:int32[2] = SHAPE(x[2,3], out_type=INT32); g:int32[2] = GATHER(s, i:const:int32[2]{1,0}, axis=0); y[3,2] = RESHAPE(x, g)
NEG | f | a[2,3] = ADD(x[2,3], b[3]); y[2,3] = NEG(a)
SUB | f | a[2,3] = ADD(x[2,3], b[3]); y[2,3] = SUB(a, b)
"""


class Text(NamedTuple):
    """A model: the operator it is there for, the letter of its element type, its text, and scales by tensor."""

    op: str
    letter: str
    text: str
    scales: Mapping[str, tuple[float, int]]

    @property
    def scaled(self) -> bool:
        """Whether quantized types have scales."""
        return not self.letter.endswith("!")


def texts() -> list[Text]:
    """Every model, in the order above."""
    lines = "".join((ELEMENTWISE, UNARY, LAYOUT, WINDOWS, BODIES, CHAINS)).splitlines()
    return [text for line in lines if line for text in _of_line(line)]


def _of_line(line: str) -> Iterator[Text]:
    ops, types, text, *scales = line.split(" | ")
    for op in ops.split():
        for letter in types.split():
            yield Text(op, letter, _text(text, op, letter), dict(map(_scale, (scales or [""])[0].split())))


def _scale(text: str) -> tuple[str, tuple[float, int]]:
    name, _, numbers = text.partition("=")
    scale, zero = numbers.split("/")
    return name, (float(scale), int(zero))


def _text(text: str, op: str, letter: str) -> str:
    marks = {"{op}": op, "{t}": _TYPES[letter[0]], "{n}": "2," if op.startswith("UNI") else ""}
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return "\n".join(part.strip() for part in text.split(";"))
