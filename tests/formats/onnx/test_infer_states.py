"""Attention, operators with a state, searches, ai.onnx.ml and the newest standard operators: results, a text a node."""

from __future__ import annotations

import onnx
import pytest

import graphfix
from graphfix import operators
from graphfix.formats.onnx.infer.operators import registry
from tests.support.notation import model
from tests.support.onnx.node_results import cases, results, shown

ATTENTION = """
# merged
y, p = com.microsoft.Attention(x[B,S,8], w[8,12], b[12], num_heads=2)
    -> float32[B,S,4] float32[2,B,2,S,2]
# merged, with a past
y, p = com.microsoft.Attention(x[B,3,8], w[8,12], b[12], , k[2,B,2,4,2], num_heads=2)
    -> float32[B,3,4] float32[2,B,2,7,2]
# merged, in a shared buffer
y, p = com.microsoft.Attention(x[B,3,8], w[8,12], b[12], , k[2,B,2,9,2], , l:int32[1], num_heads=2,
    past_present_share_buffer=1)
    -> float32[B,3,4] float32[2,B,2,9,2]
# values of another size
y, p = com.microsoft.Attention(x[B,S,8], w[8,10], b[10], num_heads=2, qkv_hidden_sizes=[4,4,2])
    -> float32[B,S,2] float32[2,B,2,S,?]
# quantized
y, p = com.microsoft.QAttention(x:uint8[B,3,8], w:uint8[8,12], b[12], s[], t[], , z:uint8[], u:uint8[],
    k[2,B,2,4,2], num_heads=2)
    -> float32[B,3,4] float32[2,B,2,7,2]
# apart
y, p, r, s = com.microsoft.MultiHeadAttention(q[B,S,8], k[B,L,8], v[B,L,4], num_heads=2)
    -> float32[B,S,4] float32[B,2,L,4] float32[B,2,L,2] float32[B,2,S,L]
# apart, with a past
y, p, r = com.microsoft.MultiHeadAttention(q[B,S,8], k[B,3,8], v[B,3,4], , , , c[B,2,5,4], d[B,2,5,2], num_heads=2)
    -> float32[B,S,4] float32[B,2,8,4] float32[B,2,8,2]
# apart, in a shared buffer
y, p, r = com.microsoft.MultiHeadAttention(q[B,S,8], k[B,3,8], v[B,3,4], , , , c[B,2,9,4], d[B,2,9,2], l:int32[1],
    num_heads=2)
    -> float32[B,S,4] float32[B,2,9,4] float32[B,2,9,2]
# an encoder's keys
y = com.microsoft.MultiHeadAttention(q[B,S,8], k[B,2,L,4], v[B,2,L,3], num_heads=2)
    -> float32[B,S,6]
# key and value packed
y = com.microsoft.MultiHeadAttention(q[B,S,8], k[B,L,2,2,4], num_heads=2)
    -> float32[B,S,8]
# all packed
y = com.microsoft.MultiHeadAttention(q[B,S,2,3,4], num_heads=2)
    -> float32[B,S,8]
# scores of half floats
y, , , s = com.microsoft.MultiHeadAttention(q:float16[B,S,8], k:float16[B,L,8], v:float16[B,L,4], num_heads=2)
    -> float16[B,S,4] ?[B,2,S,L]
# a query of an unknown rank
y = com.microsoft.MultiHeadAttention(q[*], k[B,L,8], v[B,L,4], num_heads=2)
    -> float32[*]
# one token in a shared buffer
y, p, r = com.microsoft.DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,1,8], v[B,1,8], , , c[B,2,9,4], d[B,2,9,4],
    l:int32[1], num_heads=2, past_present_share_buffer=1)
    -> float32[B,1,8] float32[B,2,9,4] float32[B,2,9,4]
# one packed token
y, p, r = com.microsoft.DecoderMaskedMultiHeadAttention(q[B,1,24], , , , , c[B,2,5,4], d[B,2,5,4], num_heads=2)
    -> float32[B,1,8] float32[B,2,6,4] float32[B,2,6,4]
# one token of an encoder
y = com.microsoft.DecoderMaskedMultiHeadAttention(q[B,1,8], k[B,2,L,4], v[B,2,L,4], num_heads=2)
    -> float32[B,1,8]
# grouped
y, p, r = com.microsoft.GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , n:int32[B], t:int32:const[]{7},
    num_heads=4, kv_num_heads=2)
    -> float32[B,S,16] float32[B,2,7,4] float32[B,2,7,4]
# grouped and packed, the past longer
y, p, r = com.microsoft.GroupQueryAttention(q[B,S,32], , , c[B,2,9,4], d[B,2,9,4], n:int32[B], t:int32:const[]{7},
    num_heads=4, kv_num_heads=2)
    -> float32[B,S,16] float32[B,2,9,4] float32[B,2,9,4]
# grouped, of an unknown length
y, p, r = com.microsoft.GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], c:int8[B,2,P,4], d:int8[B,2,P,4],
    n:int32[B], t:int32[], num_heads=4, kv_num_heads=2)
    -> float32[B,S,16] int8[B,2,?,4] int8[B,2,?,4]
# grouped, in a window
y, p, r = com.microsoft.GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], c[B,2,P,4], d[B,2,P,4], n:int32[B],
    t:int32:const[]{7}, num_heads=4, kv_num_heads=2, sliding_window_cache=1)
    -> float32[B,S,16] float32[B,2,P,4] float32[B,2,P,4]
# grouped scores
y, , , s = com.microsoft.GroupQueryAttention(q[B,S,16], k[B,S,8], v[B,S,8], , , n:int32[B], t:int32:const[]{7},
    num_heads=4, kv_num_heads=2, qk_output=1)
    -> float32[B,S,16] float32[B,4,S,7]
# block sparse
y, p, r = com.microsoft.SparseAttention(q[B,S,32], , , c[B,2,P,4], d[B,2,P,4], e:int32[1,3], i:int32[1,3],
    t:int32[], l:int32[B], num_heads=4, kv_num_heads=2)
    -> float32[B,S,16] float32[B,2,P,4] float32[B,2,P,4]
# paged
y, p, r = com.microsoft.PagedAttention(q:float16[T,32], , , c:float16[9,16,2,4], d:float16[9,16,2,4], num_heads=4,
    kv_num_heads=2)
    -> float16[T,16] float16[9,16,2,4] float16[9,16,2,4]
# packed tokens
y = com.microsoft.PackedAttention(x[T,8], w[8,12], b[12], num_heads=2)
    -> float32[T,4]
# packed heads
y = com.microsoft.PackedMultiHeadAttention(q[T,2,3,4], num_heads=2)
    -> float32[T,8]
# query and key turned
y, z = com.microsoft.GemmaRotaryEmbedding(e[B,S,4], q[B,2,S,4], r[B,2,S,4], k[B,1,S,4], t[B,1,S,4])
    -> float32[B,2,S,4] float32[B,1,S,4]
"""
STATES = """
# linear attention, more keys than queries
y, p = com.microsoft.LinearAttention(q[B,T,4], k[B,T,8], v[B,T,12], q_num_heads=2, kv_num_heads=4)
    -> float32[B,T,12] float32[B,4,2,3]
# linear attention in a window of states
y, p = com.microsoft.LinearAttention(q[B,T,4], k[B,T,4], v[B,T,6], q_num_heads=2, kv_num_heads=2, state_window=5)
    -> float32[B,T,6] float32[5,B,2,2,3]
# a dilated convolution
y, p = com.microsoft.CausalConvWithState(x[B,3,L], w[3,1,4], dilation=2)
    -> float32[B,3,L] float32[B,3,6]
# a convolution, channels last
y, p = com.microsoft.CausalConvWithState(x[B,L,3], w[3,1,4], channels_last=1)
    -> float32[B,L,3] float32[B,3,3]
# a convolution that only a GPU computes
y, p = com.microsoft.CausalConvWithState(x[B,L,3], w[3,1,4], channels_last=1, state_length=9)
    -> float32[*] float32[*]
# a convolution of packed sequences
y, p, u = com.microsoft.VarlenCausalConvWithState(x[T,3], w[3,1,4], e:int32[6], , s[5,3,3], state_update_capacity=2)
    -> float32[T,3] float32[5,3,3] float32[5,2,3]
# a delta net
y, s = com.microsoft.GatedDeltaNet(q[T,2,4], k[T,2,4], v[T,6,5], , , , i[B,6,5,4])
    -> float32[T,6,5] float32[B,6,5,4]
# a packed delta net
y, s = com.microsoft.GatedDeltaNet(q[T,46], , , , , , i[B,6,5,4])
    -> float32[T,6,5] float32[B,6,5,4]
# a recurrent one
y, h, c = com.microsoft.DynamicQuantizeLSTM(x[T,B,4], w:uint8[2,4,12], r:uint8[2,3,12], , , , , , s[2], z:uint8[2],
    t[2], u:uint8[2], hidden_size=3, direction='bidirectional')
    -> float32[T,2,B,3] float32[2,B,3] float32[2,B,3]
# a recurrent one with a size below 0
y, h, c = com.microsoft.AttnLSTM(x[T,B,4], w[1,12,4], r[1,12,3], hidden_size=-3)
    -> float32[T,1,B,?] float32[1,B,?] float32[1,B,?]
# a buffer that is written
y = com.microsoft.ConvStateReplay(a[9], b[8], c[7], m:int64[8])
    -> float32[7]
"""
CLASSICAL = """
# a vector is one sample
y = ai.onnx.ml.LinearRegressor(x[4], targets=2)
    -> float32[1,2]
# samples
y = ai.onnx.ml.LinearRegressor(x[N,4])
    -> float32[N,1]
# classes of text
y, z = ai.onnx.ml.LinearClassifier(x[N,4], coefficients=[1.0],
    intercepts=[0.0,1.0,2.0], classlabels_strings=['a','b','c'])
    -> string[N] float32[N,3]
# one intercept of two classes
y, z = ai.onnx.ml.LinearClassifier(x[N,4], coefficients=[1.0], intercepts=[0.5], classlabels_ints=[3,4])
    -> int64[N] float32[N,?]
# trees
y, z = ai.onnx.ml.TreeEnsembleClassifier(x[N,4], classlabels_int64s=[3,4])
    -> int64[N] float32[N,2]
# categories
y = ai.onnx.ml.CategoryMapper(x:int64[N])
    -> string[N]
# a code
y = ai.onnx.ml.LabelEncoder(x:string[N], keys_strings=['a'], values_floats=[1.0])
    -> float32[N]
# a code of old
y = ai.onnx.ml.LabelEncoder(x:string[N], classes_strings=['a'])
    -> int64[N]
# a code by nothing that is read
y = ai.onnx.ml.LabelEncoder(x:string[N])
    -> ?[N]
# one of some
y = ai.onnx.ml.OneHotEncoder(x:int64[N,2], cats_int64s=[1,2,3])
    -> float32[N,2,3]
# features of a row
y = ai.onnx.ml.ArrayFeatureExtractor(x[4], i:int64[2])
    -> float32[1,2]
# features
y = ai.onnx.ml.ArrayFeatureExtractor(x[N,4], i:int64[1,2])
    -> float32[N,2]
# columns
y = ai.onnx.ml.FeatureVectorizer(x[N,2], z[N,3], inputdimensions=[2,3])
    -> float32[N,5]
# words of a vocabulary
y = ai.onnx.ml.DictVectorizer(x[N], string_vocabulary=['a','b','c'])
    -> ?[1,3]
# numbers of a vocabulary
y = ai.onnx.ml.DictVectorizer(x[N], int64_vocabulary=[7,8])
    -> ?[1,2]
# a vocabulary that is not there
y = ai.onnx.ml.DictVectorizer(x[N])
    -> ?[1,?]
# a map
y = ai.onnx.ml.CastMap(x[N], cast_to='TO_INT64')
    -> int64[1,?]
"""


@pytest.mark.parametrize(("text", "found"), cases(ATTENTION, STATES, CLASSICAL))
def test_results_of_a_node(text: str, found: str) -> None:
    assert results(text) == found


@pytest.mark.parametrize(("stored", "contradicted"), [("T", False), ("P", False), ("P + T", True)])
def test_a_stored_length_is_compared_with_the_greater_of_two(stored: str, *, contradicted: bool) -> None:
    proto = model(
        """s:int64[2] = Shape(m:int64[B,T])
           l:int64[] = Gather(s, i:const[]{1})
           t:int32[] = Cast(l, to=6)
           y[B,S,16], p[B,2,T,4], r[B,2,?,4] = com.microsoft.GroupQueryAttention(q[B,S,32], , , c[B,2,P,4], """
        "d[B,2,P,4], n:int32[B], t, num_heads=4, kv_num_heads=2)"
    )
    proto.graph.output[1].type.tensor_type.shape.dim[2].dim_param = stored
    assert [value.name for value in graphfix.load(proto).graphs[0].misstated] == ["p"] * contradicted


def test_a_body_generates_text() -> None:
    proto = model(
        "y, s = com.microsoft.BeamSearch(i:int32[B,S], m:int32:const[1]{9}, , n:int32:const[1]{4}, r:int32:const[1]{2},"
        " l:const[1]{1.0})"
    )
    for output in proto.graph.output:
        output.type.Clear()
    body = model("z = Neg(x[N])").graph
    proto.graph.node[0].attribute.append(onnx.helper.make_attribute("decoder", body))
    node = graphfix.load(proto).graphs[0].nodes[-1]
    assert [shown(result) for result in node.results if result] == ["int32[B,2,9]", "float32[B,2]"]


NEWEST = """
# BitCast, operator set 26
y = BitCast(x[N,4], to=6)
    -> int32[N,4]
# CumProd, operator set 26
y = CumProd(x[N,4], a:const[]{0})
    -> float32[N,4]
# SwiGLU, operator set 28
y = SwiGLU(a[N,4], b[N,4])
    -> float32[N,4]
# RMSNormalization, operator set 23
y = RMSNormalization(x[N,4], w[4])
    -> float32[N,4]
# Attention with a past, operator set 23
y, p, r, s = Attention(q[B,4,S,8], k[B,2,3,8], v[B,2,3,6], , c[B,2,5,8], d[B,2,5,6])
    -> float32[B,4,S,6] float32[B,2,8,8] float32[B,2,8,6] float32[B,4,S,8]
# Attention of merged heads, operator set 23
y, p, r, s = Attention(q[B,S,32], k[B,L,16], v[B,L,12], q_num_heads=4, kv_num_heads=2)
    -> float32[B,S,24] float32[B,2,L,8] float32[B,2,L,6] float32[B,4,S,L]
# CausalConvWithState, operator set 27
y, p = CausalConvWithState(x[B,3,L], w[3,1,4])
    -> float32[B,3,L] float32[B,3,3]
# LinearAttention without a state, operator set 27
y, p = LinearAttention(q:float16[B,T,8], k:float16[B,T,4], v:float16[B,T,6], q_num_heads=4, kv_num_heads=2)
    -> float16[B,T,12] float16[B,2,2,3]
# FlexAttention, operator set 26
y = ai.onnx.preview.FlexAttention(q[B,4,S,8], k[B,2,L,8], v[B,2,L,6])
    -> float32[B,4,S,6]
# AffineGrid, operator set 20
y = AffineGrid(t[N,2,3], s:const{5,3,8,9})
    -> float32[5,8,9,2]
# AffineGrid of an unknown size, operator set 20
y = AffineGrid(t[N,3,4], s:int64[5])
    -> float32[?,?,?,?,?]
# Col2Im, operator set 18
y = Col2Im(x[N,12,L], i:const{5,6}, b:const{2,2})
    -> float32[N,3,5,6]
# Col2Im of an unknown image, operator set 18
y = Col2Im(x[N,12,L], i:int64[2], b:const{2,2})
    -> float32[?,?,?,?]
# StringSplit, operator set 20
y, n = StringSplit(x:string[N])
    -> string[N,?] int64[N]
# RegexFullMatch, operator set 20
y = RegexFullMatch(x:string[N])
    -> bool[N]
# TfIdfVectorizer, operator set 9
y = TfIdfVectorizer(x:int64[N,4], ngram_indexes=[0,5,2], ngram_counts=[0],
    min_gram_length=1, max_gram_length=1, max_skip_count=0, mode='TF')
    -> float32[N,6]
"""


@pytest.mark.parametrize(("text", "found"), cases(NEWEST))
def test_results_of_a_new_standard_operator(text: str, found: str, request: pytest.FixtureRequest) -> None:
    version = int(request.node.callspec.id.rpartition(" ")[2])
    assert results(text, opset=version) == found


def test_every_new_standard_operator_has_a_rule() -> None:
    new = {it.name for it in onnx.defs.get_all_schemas() if not it.domain and it.since_version >= 23}
    typed = {
        "Constant",
        "If",
        "Loop",
        "Scan",
        "Optional",
        "OptionalGetElement",
        "SplitToSequence",
    }  # no shape by a rule
    assert sorted(op for op in new - typed if registry.shape_rule("", op, operators.row("", op, 28)) is None) == []
