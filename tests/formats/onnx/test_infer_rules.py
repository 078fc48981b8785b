"""What single nodes return: a row a node, with the results that the specification or onnxruntime says.

Beside `test_infer_unknown.py`: generators, losses, windows and resizes at their limits, older operator sets, and the
integer elements that a later node reads as a shape.
"""

from __future__ import annotations

import re

import pytest
from onnx import helper

import graphfix
from graphfix.formats.onnx.infer.operators.generators import COUNTED_BY_FLOATS
from graphfix.formats.onnx.infer.operators.reshaping import NO_SIZE_IS_0
from graphfix.formats.onnx.infer.operators.windows import SOME_IMAGE
from graphfix.shapes.shape import same_shape
from tests.support import engine
from tests.support.notation import model
from tests.support.onnx.fixing import printed
from tests.support.onnx.node_results import results

NOW = """
y = Shape(x[N,4,T], start=1)  -> int64[2]
y = Shape(x[N,4,T], end=-2)  -> int64[1]
y = Shape(x[N,4,T], start=-1, end=9)  -> int64[1]
y = Shape(x[*])  -> int64[?]
y = ConstantOfShape(s:int64[3])  -> float32[?,?,?]
y = ConstantOfShape(s:int64[K])  -> float32[*]
y = ConstantOfShape(s:const{2,-1})  -> float32[?,?]
y = ConstantOfShape(s:int64[65])  -> float32[*]
y = RandomNormal(shape=[2,3])  -> float32[2,3]
y = RandomUniform(shape=[0,3])  -> float32[0,3]
y = RandomUniform(shape=[-1,3])  -> float32[*]
y = Multinomial(x[N,5], sample_size=3)  -> int32[N,3]
y = Multinomial(x[N,5])  -> int32[N,1]
y = Multinomial(x[N,5], sample_size=0)  -> int32[N,0]
y = Multinomial(x[N,5], sample_size=-1)  -> int32[?,?]
y = Multinomial(x[5], sample_size=3)  -> int32[?,?]
y = Multinomial(x[*], sample_size=3)  -> int32[?,?]
y = MelWeightMatrix(a:int64[], b:int64[], c:int64[], d[], e[])  -> float32[?,?]
y = Size(x[N,4])  -> int64[]
y = OptionalHasElement(x[N,4])  -> bool[]
y = EyeLike(x[N,4])  -> float32[N,4]
y = Bernoulli(x[N,4])  -> float32[N,4]
y = RandomNormalLike(x[N,4])  -> float32[N,4]
y = RandomUniformLike(x[N,4])  -> float32[N,4]
y = Range(a:const[]{0.0}, b:const[]{5.0}, c:const[]{1.0})  -> float32[5]
y = Range(a:const[]{0.0}, b:const[]{5.0}, c:const[]{2.0})  -> float32[?]
y = Range(a:const[]{5.0}, b:const[]{1.0}, c:const[]{-1.0})  -> float32[4]
y = Range(a:const[]{0.0}, b:const[]{8388608.0}, c:const[]{1.0})  -> float32[8388608]
y = Range(a:const[]{8388600.0}, b:const[]{8388608.0}, c:const[]{1.0})  -> float32[8]
y = Range(a:const[]{8388600.0}, b:const[]{8388609.0}, c:const[]{1.0})  -> float32[?]
y = Range(a:const:float64[]{0.0}, b:const:float64[]{5.0}, c:const:float64[]{1.0})  -> float64[?]
y = Range(a:const[]{4503599627370490}, b:const[]{4503599627370496}, c:const[]{1})  -> int64[6]
y = Range(a:const[]{4503599627370490}, b:const[]{4503599627370497}, c:const[]{1})  -> int64[?]
y = Range(a:const[]{-4503599627370497}, b:const[]{-4503599627370490}, c:const[]{1})  -> int64[?]
y = Range(a:int64[], b:const[]{5}, c:const[]{1})  -> int64[?]
y = Range(a:const[]{5}, b:int64[], c:const[]{1})  -> int64[?]
y = Gemm(x[N,8], w[8,5], transB=2)  -> float32[?,?]
y = Gemm(x[N,8], w[5])  -> float32[*]
y = Gemm(x[*], w[8,5])  -> float32[*]
y = NegativeLogLikelihoodLoss(x[N,C,4], t:int64[N,4], reduction="none")  -> float32[N,4]
y = NegativeLogLikelihoodLoss(x[N,C,4], t:int64[N,4])  -> float32[]
y = SoftmaxCrossEntropyLoss(x[N,C,4], t:int64[N,4], reduction="none")  -> float32[N,4]
y, p = SoftmaxCrossEntropyLoss(x[N,C,4], t:int64[N,4], reduction="sum")  -> float32[] float32[N,C,4]
y = CumSum(x[N,4], a:const[]{0})  -> float32[N,4]
y = ArgMin(x[N,4], keepdims=2)  -> int64[*]
y = ArgMin(x[*])  -> int64[*]
y = ArgMin(x[N,4])  -> int64[1,4]
y = ReduceSum(x[0,4], a:const{0})  -> float32[1,4]
y = ReduceSum(x[0,4], a:const{-2}, keepdims=0)  -> float32[*]
y = ReduceSum(x[N,4], a:int64[1], keepdims=2)  -> float32[*]
y = ReduceSum(x[], a:int64[1], keepdims=0)  -> float32[*]
y = ReduceSum(x[N,4], a:const[0]{}, noop_with_empty_axes=1)  -> float32[N,4]
y = Unique(x[N,6], axis=2)  -> float32[*]
y = GatherElements(x[N,4], i:int64[M,2])  -> float32[M,2]
y = GatherElements(x[N,4], i:int64[*])  -> float32[*]
y = GatherND(x[4,5], i:int64[4,3,1], batch_dims=2)  -> float32[*]
y = GatherND(x[*], i:int64[4,3,1])  -> float32[*]
y = GatherND(x[2,4,5], i:int64[2,3,2], batch_dims=1)  -> float32[2,3]
y = GatherND(x[2,4,5], i:int64[2,3,3], batch_dims=1)  -> float32[*]
y = NonMaxSuppression(b[1,6,4], s[1,2,6])  -> int64[?,3]
y = Scatter(x[N,4], i:int64[1,1], u[1,1])  -> float32[N,4]
y = ScatterElements(x[N,4], i:int64[1,1], u[1,1])  -> float32[N,4]
y = ScatterND(x[N,4], i:int64[1,1], u[1,4])  -> float32[N,4]
y = TensorScatter(x[N,4,5], u[N,1,5])  -> ?[N,4,5]
y = ReverseSequence(x[N,4], s:int64[4])  -> float32[N,4]
y = StringSplit(x:string[N,4])  -> ?[N,4,?]
y = StringSplit(x:string[*])  -> ?[*]
y = DequantizeLinear(x:uint32[], s[])  -> float32[*]
y = DequantizeLinear(x:int32[], s[])  -> float32[]
y = DequantizeLinear(x:int16[], s[])  -> float32[]
y = DequantizeLinear(x:int8[N], s[])  -> float32[N]
y = CenterCropPad(x[N,4], s:const{3,3})  -> float32[?,?]
y = DFT(x[N,4,2])  -> float32[?,?,?]
y = StringNormalizer(x:string[N])  -> string[?]
y = DFT(x[*])  -> float32[*]
y = STFT(x[N,9,1], s:const[]{3})  -> float32[?,?,?,?]
y = MaxRoiPool(x[N,3,8,9], r[R,5], pooled_shape=[2,5])  -> float32[R,3,2,5]
y = MaxRoiPool(x[N,3,8,9], r[R,5], pooled_shape=[0,5])  -> float32[R,3,0,5]
y = MaxRoiPool(x[N,3,8,9], r[R,5], pooled_shape=[-1,5])  -> float32[*]
y = MaxRoiPool(x[N,3], r[R,5], pooled_shape=[2,5])  -> float32[*]
y = MaxRoiPool(x[*], r[R,5], pooled_shape=[2,5])  -> float32[*]
y = MaxRoiPool(x[N,3,8,9], r[*], pooled_shape=[2,5])  -> float32[*]
y = AffineGrid(t[N,2,3], s:const{2,3,4,5})  -> ?[2,4,5,2]
y = AffineGrid(t[N,3,4], s:const{2,3,4,5,6})  -> ?[2,4,5,6,3]
y = AffineGrid(t[N,3,4], s:int64[5])  -> ?[?,?,?,?,?]
y = AffineGrid(t[N,2,3], s:int64[4])  -> ?[?,?,?,?]
y = AffineGrid(t[N,2,3], s:int64[6])  -> ?[*]
y = AffineGrid(t[N,2,3], s:const{2,3,4})  -> ?[*]
y = Col2Im(x[N,12,30], i:int64[*], b:const{2,2})  -> float32[*]
y = Col2Im(x[*], i:const{6,7}, b:const{2,2})  -> float32[?,?,?,?]
y = Col2Im(x[N,12,30], i:const{6,7}, b:const{2,0})  -> float32[N,?,6,7]
y = MaxUnpool(x[N,3,4,4], i:int64[N,3,4,4], kernel_shape=[2,2])  -> float32[?,?,?,?]
y = Resize(x[N,3,4,5], , s:const[4]{1.0,1.0,0.3,0.5})  -> float32[N,3,1,2]
y = Resize(x[N,3,4,5], , s:const[4]{2.0,1.0,2.0,1.3})  -> float32[?,3,8,6]
y = Resize(x[3], , , s:const{-1})  -> float32[?]
y = Resize(x[16777215], , s:const[1]{1.0})  -> float32[16777215]
y = Resize(x[16777216], , s:const[1]{1.0})  -> float32[?]
y = Resize(x[8388608], , s:const[1]{2.0})  -> float32[?]
y = Resize(x[2], , s:const[1]{16777215.0})  -> float32[?]
y = Resize(x[10], , s:const[1]{0.1})  -> float32[?]
y = Resize(x[10], , s:const[1]{0.3})  -> float32[?]
y = Resize(x[4], , s:const[1]{-1.0})  -> float32[?]
y = Resize(x[4,5], , s:const[1]{2.0}, axes=[-1])  -> float32[4,10]
y = Resize(x[4,5], , s:const[1]{2.0}, axes=[0])  -> float32[8,5]
y = Resize(x[4,5], , s:const[1]{2.0}, axes=[-3])  -> float32[?,?]
y = GlobalAveragePool(x[N,3])  -> float32[N,3]
y = GlobalLpPool(x[N,3,5])  -> float32[N,3,1]
y = AveragePool(x[N,3,8], kernel_shape=[3])  -> float32[N,3,6]
y = LpPool(x[N,3,8], kernel_shape=[3])  -> float32[N,3,6]
y = ConvInteger(x:uint8[N,3,8], w:uint8[5,3,3])  -> int32[N,5,6]
y = MaxPool(x[N], kernel_shape=[3,3])  -> float32[?]
y = MaxPool(x[N,3,8], kernel_shape=[3], auto_pad="VALID", pads=[1,1])  -> float32[N,3,6]
y = MaxPool(x[N,3,8], kernel_shape=[0])  -> float32[N,3,?]
y = MaxPool(x[N,3,8], kernel_shape=[3], dilations=[0])  -> float32[N,3,?]
y = MaxPool(x[N,3,8], kernel_shape=[3], dilations=[1,1])  -> float32[N,3,?]
y = MaxPool(x[N,3,1], kernel_shape=[2], ceil_mode=1)  -> float32[N,3,?]
y = MaxPool(x[N,3,2], kernel_shape=[2], ceil_mode=1)  -> float32[N,3,1]
y = MaxPool(x[N,3,5], kernel_shape=[2], strides=[2], pads=[0,1], ceil_mode=1)  -> float32[N,3,3]
y = MaxPool(x[N,3,4], kernel_shape=[1], strides=[2], pads=[0,0], ceil_mode=1)  -> float32[N,3,2]
y = MaxPool(x[N,3,4], kernel_shape=[2], strides=[3], pads=[0,1], ceil_mode=1)  -> float32[N,3,2]
y = MaxPool(x[N,3,0], kernel_shape=[2], auto_pad="SAME_UPPER")  -> float32[N,3,?]
y = Conv(x[N,3], w[5,3])  -> float32[N,5]
y = Conv(x[N], w[5])  -> float32[?]
y = Conv(x[N,3,3], w[5,3,3])  -> float32[N,5,1]
y = Conv(x[N,3,8], w[5,3,K])  -> float32[N,5,?]
y = Conv(x[N,3,8], w[5,3,3], auto_pad="VALID", pads=[1,1])  -> float32[N,5,6]
y = ConvTranspose(x[N], w[5])  -> float32[?]
y = ConvTranspose(x[*], w[5,3,3])  -> float32[?,?,?]
y = ConvTranspose(x[N,3,4], w[3,2,3], group=-1)  -> float32[N,?,6]
y = ConvTranspose(x[N,3,4], w[3,2,3], output_shape=[8,8])  -> float32[N,2,?]
y = ConvTranspose(x[N,3,4], w[3,2,3], output_padding=[1,1])  -> float32[N,2,?]
y = ConvTranspose(x[N,3,4], w[3,2,3], auto_pad="VALID")  -> float32[N,2,6]
y = ConvTranspose(x[N,3,4], w[3,2,3], pads=[1,2], strides=[2], dilations=[2])  -> float32[N,2,8]
y = GridSample(x[*], g[*])  -> float32[*]
y = RoiAlign(x[N,3,8,9], r[*], i:int64[R])  -> float32[?,?,?,?]
y = RoiAlign(x[N,3,8,9], r[R,4], i:int64[*])  -> float32[?,?,?,?]
y = RoiAlign(x[N,3,8,9], r[R,4], i:int64[R], output_width=-2)  -> float32[?,?,?,?]
y = RoiAlign(x[N,3,8,9], r[R,4], i:int64[R], output_width=0)  -> float32[R,3,1,0]
y = RoiAlign(x[N,3,8], r[R,4], i:int64[R])  -> float32[R,3,1,1]
y = Concat(x[2,0], z[3,5], axis=0)  -> float32[5,5]
y = Concat(x[*], z[*], axis=0)  -> float32[*]
y = Concat(x[N,4], z[M,5], axis=0)  -> float32[?,?]
y = Concat(x[N,4], z[N,4], axis=-3)  -> float32[*]
y = Expand(x[*], s:const{2,3})  -> float32[*]
y = Expand(x[N,1,4], s:int64[2])  -> float32[?,?,4]
y = Expand(x[4], s:int64[3])  -> float32[?,?,4]
y = Expand(x[4], s:int64[K])  -> float32[*]
y = Expand(x[4], s:const{-1,4})  -> float32[?,4]
y = Tile(x[N,4], r:int64[*])  -> float32[?,?]
y = Split(x[N,6], axis=-1)  -> float32[N,6]
y, z = Split(x[3,N], axis=1, num_outputs=2)  -> float32[3,?] float32[3,?]
y, z = Split(x[3,N], axis=1)  -> float32[3,?] float32[3,?]
y, z, w = Split(x[3,4], axis=1, num_outputs=3)  -> float32[3,2] float32[3,2] float32[3,0]
y, z, w = Split(x[3,1], axis=1, num_outputs=3)  -> float32[3,?] float32[3,?] float32[3,?]
y, z = Split(x[N,6], s:const{0,6}, axis=1)  -> float32[N,0] float32[N,6]
y = Pad(x[N,6], p:const{1,2,0,0})  -> float32[?,8]
y = Pad(x[6], p:const{-1,-2})  -> float32[3]
y = Pad(x[4,6], p:const{1,2,3,4}, , a:const{0})  -> float32[?,?]
y = Pad(x[4,6], p:const{1,2}, , a:const{-3})  -> float32[?,?]
y = LayerNormalization(x[N,4,5], s[5], axis=-4)  -> float32[N,4,5]
y, m, d = LayerNormalization(x[N,4,5], s[4,5], axis=1)  -> float32[N,4,5] float32[N,1,1] float32[N,1,1]
y, m, d = LayerNormalization(x[N,4,5], s[4,5], axis=-3)  -> float32[N,4,5] float32[1,1,1] float32[1,1,1]
y, m, d = LayerNormalization(x[N,4,5], s[4,5], axis=3)  -> float32[N,4,5] float32[*] float32[*]
y = Unsqueeze(x[*], a:const{0})  -> float32[*]
y = Unsqueeze(x[*], a:int64[2])  -> float32[*]
y = Squeeze(x[], a:int64[1])  -> float32[*]
y = Squeeze(x[1,N,1], a:const[0]{})  -> float32[*]
y = Transpose(x[*])  -> float32[*]
y = Transpose(x[*], perm=[1,0])  -> float32[*]
y = Transpose(x[2,3,N], perm=[1,2,0])  -> float32[3,N,2]
y = Reshape(x[N,4], s:int64[3])  -> float32[?,?,?]
y = Reshape(x[N,6], s:const{0,-1,3})  -> float32[N,2,3]
y = Reshape(x[4,6], s:const{-1,8})  -> float32[3,8]
y = Reshape(x[4,6], s:const{-1,-1})  -> float32[*]
y = Reshape(x[4,6], s:const{-2,8})  -> float32[*]
y = Reshape(x[*], s:const{-1,3})  -> float32[?,?]
y = Reshape(x[*], s:const{-1,3}, allowzero=1)  -> float32[?,3]
y = Flatten(x[2,3,5])  -> float32[2,15]
y = Flatten(x[2,3,5], axis=-1)  -> float32[6,5]
y = Flatten(x[2,3,5], axis=-3)  -> float32[1,30]
y = Flatten(x[2,3,5], axis=3)  -> float32[30,1]
y = Flatten(x[2,3,5], axis=4)  -> float32[?,?]
y = Flatten(x[2,3,5], axis=-4)  -> float32[?,?]
y = Flatten(x[*])  -> float32[?,?]
y = DepthToSpace(x[N,12,3,5], blocksize=2)  -> float32[N,3,6,10]
y = DepthToSpace(x[N,13,3,5], blocksize=2)  -> float32[N,?,6,10]
y = DepthToSpace(x[N,12,3,5], blocksize=0)  -> float32[?,?,?,?]
y = DepthToSpace(x[N,12,3], blocksize=1)  -> float32[?,?,?]
y = DepthToSpace(x[*], blocksize=2)  -> float32[*]
y = DepthToSpace(x[N,12,3,5], blocksize=1)  -> float32[N,12,3,5]
y = SpaceToDepth(x[N,3,6,10], blocksize=2)  -> float32[N,12,3,5]
y = SpaceToDepth(x[N,3,7,10], blocksize=2)  -> float32[N,12,?,5]
y = SpaceToDepth(x[N,3,6,10], blocksize=0)  -> float32[?,?,?,?]
y = SpaceToDepth(x[N,3,6,10], blocksize=1)  -> float32[N,3,6,10]
y = SpaceToDepth(x[N,3,6], blocksize=2)  -> float32[?,?,?]
y = SpaceToDepth(x[*], blocksize=2)  -> float32[*]
y = ReduceSum(x[0,4,5], a:const{0,-1})  -> float32[?,?,?]
y = ReduceSum(x[0,4,5], a:const{1,0})  -> float32[1,1,5]
y, m = MaxPool(x[N,3,8], kernel_shape=[3])  -> float32[N,3,6] int64[N,3,6]
y, m = Dropout(x[N,4])  -> float32[N,4] bool[N,4]
y, i, j, c = Unique(x[N,6], axis=1)  -> float32[N,?] int64[?] int64[?] int64[?]
y, p, q = BatchNormalization(x[N,4], s[4], b[4], m[6], v[7], training_mode=1)  -> float32[N,4] float32[6] float32[7]
y = QLinearConv(x:uint8[N,3,8], s[], z:uint8[], w:uint8[5,3,3], t[], u:uint8[], v[], o:int8[])  -> int8[N,5,6]
y = QLinearConv(x:uint8[N,3,8], s[], z:uint8[], w:uint8[*], t[], u:uint8[], v[], o:int8[])  -> int8[?,?,?]
y = QLinearConv(x:uint8[*], s[], z:uint8[], w:uint8[5,3,3], t[], u:uint8[], v[], o:int8[])  -> int8[?,?,?]
y = Conv(x[*], w[*])  -> float32[*]
y = Conv(x[N,3,9,8], w[5,3,3,2], strides=[2,3], pads=[1,0,2,1], dilations=[2,1])  -> float32[N,5,4,3]
y = Conv(x[N,3,W], w[5,3,3], pads=[1,1])  -> float32[N,5,W]
y = Conv(x[N,3,9,8], w[5,3,3,2], strides=[2,3], auto_pad="SAME_UPPER")  -> float32[N,5,5,3]
y = ConvTranspose(x[*], w[*])  -> float32[*]
y = ConvTranspose(x[N,3,4], w[*])  -> float32[?,?,?]
y = ConvTranspose(x[N,3,4,5], w[3,2,3,3], output_padding=[-1,0])  -> float32[N,2,?,7]
y = ConvTranspose(x[N,3,4], w[3,2,1], pads=[2,2])  -> float32[N,2,?]
y = ConvTranspose(x[N,3,4,5], w[3,2,3,3], output_shape=[1,9])  -> float32[N,2,1,9]
y = MaxPool(x[N,3,9,8], kernel_shape=[3,2], strides=[2,3], pads=[1,0,2,1], dilations=[2,1])  -> float32[N,3,4,3]
y = MaxPool(x[N,3,W], kernel_shape=[1])  -> float32[N,3,W]
y = MaxPool(x[N,3,9], kernel_shape=[3], auto_pad="SAME")  -> float32[N,3,?]
y = AveragePool(x[N], kernel_shape=[1])  -> float32[?]
y = GlobalMaxPool(x[N,3,4,5,6])  -> float32[N,3,1,1,1]
y = GlobalMaxPool(x[*])  -> float32[*]
y = GridSample(x[N,3,8,9], g[*])  -> float32[?,?,?,?]
y = GridSample(x[N,3,7,8,9], g[N,4,5,6,3])  -> float32[N,3,4,5,6]
y = Col2Im(x[N,12,30], i:const{6,7}, b:const{1,2})  -> float32[N,6,6,7]
y = Col2Im(x[N,12,30], i:const{6,7}, b:const{1,1})  -> float32[N,12,6,7]
y = Resize(x[4,5], , , s:const{8}, axes=[1])  -> float32[4,8]
y = Resize(x[4,5], , , s:const{8,9}, axes=[1,0])  -> float32[9,8]
y = Resize(x[4,5], , s:const[2]{2.0,3.0}, axes=[1,0])  -> float32[12,10]
y = Resize(x[4,5], , s:const[1]{2.0}, axes=[2])  -> float32[?,?]
y = Resize(x[4,5], , , s:const{8,9}, axes=[0,0])  -> float32[?,?]
y = RoiAlign(x[N,3,8,9], r[R,4], i:int64[R], output_height=0, output_width=5)  -> float32[R,3,0,5]
y = RoiAlign(x[N,3,8,9], r[], i:int64[R])  -> float32[?,?,?,?]
y = MaxRoiPool(x[N,3,8,9], r[], pooled_shape=[2,5])  -> float32[*]
y = AffineGrid(t[N,2,3], s:const{2,3,4,5,6,7})  -> ?[*]
y = AffineGrid(t[N,2,3], s:int64[3])  -> ?[*]
y = AffineGrid(t[N,2,3], s:int64[5])  -> ?[?,?,?,?,?]
y = GatherElements(x[N,4], i:int64[3,2])  -> float32[3,2]
y = Gather(x[2,3,5], i:int64[6,7], axis=1)  -> float32[2,6,7,5]
y = Gather(x[2,3,5], i:int64[6,7], axis=-1)  -> float32[2,3,6,7]
y = Gather(x[2,3,5], i:int64[6,7], axis=-3)  -> float32[6,7,3,5]
y = Gather(x[2,3,5], i:int64[6,7], axis=3)  -> float32[*]
y = Gather(x[2,3,5], i:int64[6,7], axis=-4)  -> float32[*]
y = Gather(x[2,3,5], i:int64[])  -> float32[3,5]
y = Gather(x[*], i:int64[6,7])  -> float32[*]
y = Gather(x[2,3,5], i:int64[*])  -> float32[*]
y = Gather(x[], i:int64[6])  -> float32[*]
y = GatherND(x[4,5,6], i:int64[7,2])  -> float32[7,6]
y = GatherND(x[4,5,6], i:int64[7,3])  -> float32[7]
y = GatherND(x[4,5,6], i:int64[7,4])  -> float32[*]
y = GatherND(x[4,5,6], i:int64[7,N])  -> float32[*]
y = GatherND(x[4,5,6], i:int64[])  -> float32[*]
y = GatherND(x[4,5,6], i:int64[4,2], batch_dims=-1)  -> float32[*]
y = GatherND(x[4,5,6], i:int64[4,1], batch_dims=1)  -> float32[4,6]
y = GatherND(x[4,5,6], i:int64[4,5,1], batch_dims=2)  -> float32[4,5]
y = Compress(x[4,5], c:bool[5], axis=-1)  -> float32[4,?]
y = Compress(x[4,5], c:bool[5], axis=-3)  -> float32[*]
y = Unique(x[4,5], axis=-2)  -> float32[?,5]
y = Unique(x[*], axis=1)  -> float32[*]
y = NonZero(x[2,3,4])  -> int64[3,?]
y = OneHot(x:int64[N,6], d:const[1]{5}, v[2], axis=-3)  -> float32[5,N,6]
y = OneHot(x:int64[N,6], d:const[1]{5}, v[2], axis=-4)  -> float32[?,?,?]
y = OneHot(x:int64[], d:const[1]{5}, v[2])  -> float32[5]
y, i = TopK(x[2,6,7], k:const[1]{3}, axis=1)  -> float32[2,3,7] int64[2,3,7]
y, i = TopK(x[2,6,7], k:const[1]{3}, axis=-3)  -> float32[3,6,7] int64[3,6,7]
y, i = TopK(x[2,6,7], k:const[1]{3}, axis=-4)  -> float32[?,?,?] int64[?,?,?]
y = Concat(x[2,3,4], z[2,5,4], w[2,1,4], axis=1)  -> float32[2,9,4]
y = Concat(x[2,3,4], z[2,5,4], axis=-2)  -> float32[2,8,4]
y = Concat(x[2,3], z[2,3], axis=-1)  -> float32[2,6]
y = Concat(x[2,N], z[2,M], axis=1)  -> float32[2,?]
y = Concat(x[2,N], axis=1)  -> float32[2,N]
y = Concat(x[2,3], axis=2)  -> float32[*]
y = Concat(x[], z[], axis=0)  -> float32[*]
y = Tile(x[2,3], r:const{3,0})  -> float32[6,0]
y = Tile(x[2,3], r:const{3})  -> float32[?,?]
y = Tile(x[2,3], r:const{3,-1})  -> float32[?,?]
y = Tile(x[*], r:const{3,2})  -> float32[*]
y = Tile(x[N,3], r:const{1,2})  -> float32[N,6]
y = Expand(x[2,1,3], s:const{5,1})  -> float32[2,5,3]
y = Expand(x[3], s:const{4,1,1})  -> float32[4,1,3]
y = Expand(x[2,3], s:const{4,3})  -> float32[*]
y = Expand(x[N,1], s:const{1,6})  -> float32[N,6]
y = Expand(x[], s:const[0]{})  -> float32[]
y = Expand(x[2,3], s:const{0,3})  -> float32[*]
y = Expand(x[1,3], s:const{0,3})  -> float32[0,3]
y, z, w = Split(x[2,7], s:const{1,2,4}, axis=-1)  -> float32[2,1] float32[2,2] float32[2,4]
y, z, w = Split(x[2,7], axis=1, num_outputs=3)  -> float32[2,3] float32[2,3] float32[2,1]
y, z = Split(x[2,7], axis=-2, num_outputs=2)  -> float32[1,7] float32[1,7]
y, z = Split(x[2,7], axis=-3, num_outputs=2)  -> float32[*] float32[*]
y = Pad(x[2,3], p:const{1,2,3,4})  -> float32[6,9]
y = Pad(x[2,3], p:const{1,2,3})  -> float32[?,?]
y = Pad(x[2,3], p:const{2,4}, , a:const{1})  -> float32[2,9]
y = Pad(x[2,3], p:const{2,4}, , a:const{-2})  -> float32[8,3]
y = Pad(x[2,3], p:const{2,4}, , a:const{2})  -> float32[?,?]
y = Pad(x[2,3], p:const{1,2,3,4}, , a:const{1,0})  -> float32[8,7]
y = Pad(x[2,3], p:const{1,2,3,4}, , a:const{1,1})  -> float32[?,?]
y = Pad(x[2,3], p:const{2,4}, , a:int64[1])  -> float32[?,?]
y = Pad(x[2,3], p:const{-3,0,0,0})  -> float32[?,3]
y = Pad(x[*], p:const{1,2})  -> float32[*]
y = Pad(x[2,N], p:const{0,1,0,0})  -> float32[2,?]
y = Slice(x[8,9], s:const{1,2}, e:const{7,8}, a:const{1,0}, t:const{2,3})  -> float32[2,3]
y = Slice(x[8,9], s:const{-3}, e:const{99}, a:const{-1})  -> float32[8,3]
y = Slice(x[8,9], s:const{7}, e:const{1}, a:const{0}, t:const{-2})  -> float32[3,9]
y = Slice(x[8,9], s:const{7}, e:const{1}, a:const{0})  -> float32[0,9]
y = Slice(x[8,9], s:const{1,2}, e:const{7}, a:const{0,1})  -> float32[?,?]
y = Slice(x[8,9], s:const{1}, e:const{7}, a:const{2})  -> float32[?,?]
y = Slice(x[8,9], s:const{1}, e:const{7}, a:const{-3})  -> float32[?,?]
y = Slice(x[8,9], s:const{1,2}, e:const{7,8}, a:const{0,0})  -> float32[?,?]
y = Slice(x[8,9], s:const{1}, e:const{7}, a:const{0}, t:const{0})  -> float32[?,9]
y = Slice(x[8,9], s:int64[1], e:const{7}, a:const{0})  -> float32[?,9]
y = Slice(x[8,9], s:const{1}, e:int64[1], a:const{0})  -> float32[?,9]
y = Slice(x[8,9], s:const{1}, e:const{7}, a:int64[1])  -> float32[?,?]
y = Slice(x[8,9], s:const{1}, e:const{7}, a:const{0}, t:int64[1])  -> float32[?,9]
y = Slice(x[8,9], s:int64[2], e:int64[2])  -> float32[?,?]
y = Slice(x[*], s:const{1}, e:const{7})  -> float32[*]
y = Slice(x[N,9], s:const{0}, e:const{9223372036854775807}, a:const{0})  -> float32[N,9]
y = Where(c:bool[3,1], x[1,4], z[2,1,1])  -> float32[2,3,4]
y = Where(c:bool[*], x[1,4], z[2,1,1])  -> float32[*]
y = MatMul(x[N,M], w[K,L])  -> float32[N,L]
y = MatMul(x[2,5,6], w[3,6,7])  -> float32[*]
y = Gemm(x[2,3], w[5,3], transB=1)  -> float32[2,5]
y = Gemm(x[3,2], w[3,5], c[5], transA=1)  -> float32[2,5]
y = Gemm(x[2,3], w[3,5], transB=2)  -> float32[?,?]
y = Einsum(x[2,3,4], w[2,4,5], equation="bij,bjk->bik")  -> float32[2,3,5]
y = Einsum(x[2,3], w[3], equation="ij,j->i")  -> float32[2]
y = Einsum(x[3,3], equation="ii->i")  -> float32[3]
y = Einsum(x[2,3], equation="ij->ji")  -> float32[3,2]
y = Einsum(x[2,3], equation="ij->")  -> float32[]
y = Einsum(x[2,3], equation="ba")  -> float32[3,2]
y = EyeLike(x[2,3], k=1)  -> float32[2,3]
y = Range(a:const[]{2}, b:const[]{11}, c:const[]{4})  -> int64[3]
y = Range(a:const[]{2}, b:const[]{10}, c:const[]{4})  -> int64[2]
y = Range(a:const[]{9}, b:const[]{-2}, c:const[]{-5})  -> int64[3]
y = Shape(x[2,3,4,5], start=1, end=3)  -> int64[2]
y = Shape(x[2,3,4,5], start=-9, end=-1)  -> int64[3]
y = Shape(x[2,3,4,5], start=3, end=1)  -> int64[0]
y = Shape(x[2,3], start=2)  -> int64[0]
y = ConstantOfShape(s:const{2,0,3})  -> float32[2,0,3]
y = ConstantOfShape(s:const[0]{})  -> float32[]
y = ReverseSequence(x[4,3], s:int64[3])  -> float32[4,3]
y = LSTM(x[S,B,8], w[1,12,8], r[1,12,3], hidden_size=0)  -> float32[S,1,B,?]
y, h = GRU(x[S,B,8], w[1,9,8], r[1,9,3], hidden_size=3)  -> float32[S,1,B,3] float32[1,B,3]
y, h = RNN(x[S,B,8], w[1,3,8], r[1,3,3], hidden_size=3, direction="reverse")  -> float32[S,1,B,3] float32[1,B,3]
y, h = GRU(x[*], w[1,9,8], r[1,9,3])  -> float32[?,1,?,?] float32[1,?,?]
y = Det(x[N,3,3])  -> float32[N]
y = Det(x[3,3])  -> float32[]
y = Det(x[3])  -> float32[*]
y = Det(x[*])  -> float32[*]
y = Concat(z[*], x[N,4], axis=1)  -> float32[?,?]
y = Einsum(x[3,4], equation="ii->i")  -> float32[?]
y = Einsum(x[N,N], equation="ii->i")  -> float32[N]
"""
OF_A_VERSION = """
3: y = Concat(x[N,4], z[N,4])  -> float32[N,8]
26: y = ai.onnx.preview.FlexAttention(q[B,4,S,8], k[B,2,L,8], v[B,2,L,6])  -> float32[B,4,S,6]
26: y = ai.onnx.preview.FlexAttention(q[B,4,S,8], k[B,2,L,8], v[*])  -> float32[B,4,S,?]
9: y = Slice(x[4,6], starts=[1,0], ends=[3,-1])  -> float32[2,5]
9: y = Slice(x[4,6], starts=[1], ends=[3], axes=[1])  -> float32[4,2]
10: y = Slice(x[4,6], s:const{1}, e:const{3}, a:const{1})  -> float32[4,2]
9: y, i = TopK(x[N,6], k=2)  -> float32[N,2] int64[N,2]
9: y, i = TopK(x[N,6], k=2, axis=0)  -> float32[2,6] int64[2,6]
10: y, i = TopK(x[N,6], k:const[1]{2})  -> float32[N,2] int64[N,2]
8: y = Upsample(x[1,2,3,4], scales=[1.0,1.0,2.0,3.0])  -> float32[1,2,6,12]
9: y = Upsample(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,3.0})  -> float32[1,2,6,12]
7: y = Upsample(x[*], scales=[1.0,1.0,2.0,3.0])  -> float32[*]
7: y = Upsample(x[1,2,3,4], scales=[1.0,2.0])  -> float32[?,?,?,?]
10: y = Resize(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,3.0})  -> float32[1,2,6,12]
11: y = Resize(x[1,2,3,4], r[8], s:const[4]{1.0,1.0,2.0,3.0})  -> float32[1,2,6,12]
2: y = Pad(x[4,6], pads=[0,1,0,2])  -> float32[4,9]
10: y = Pad(x[4,6], pads=[0,1,0,2])  -> float32[4,9]
11: y = Pad(x[4,6], p:const{0,1,0,2})  -> float32[4,9]
1: y = Pad(x[4,6], paddings=[0,1,0,2])  -> float32[4,9]
2: y = Split(x[N,6], axis=1, split=[2,4])  -> float32[N,?]
2: y, z = Split(x[N,6], axis=1, split=[2,4])  -> float32[N,2] float32[N,4]
11: y, z = Split(x[N,5], axis=1)  -> float32[N,?] float32[N,?]
13: y, z = Split(x[N,6], s:const{2,4}, axis=1)  -> float32[N,2] float32[N,4]
17: y, z = Split(x[3,N], axis=1)  -> float32[3,?] float32[3,?]
4: y = Reshape(x[N,6], shape=[0,3,2])  -> float32[N,3,2]
11: y = Squeeze(x[1,N,1], axes=[0])  -> float32[N,1]
11: y = Unsqueeze(x[N], axes=[0,2])  -> float32[1,N,1]
17: y = ReduceSum(x[N,4], a:const{1})  -> float32[N,1]
11: y = ReduceSum(x[N,4], axes=[1], keepdims=0)  -> float32[N]
17: y = ReduceMax(x[N,4], axes=[1])  -> float32[N,1]
5: y = Tile(x[4,6], r[1], a[1])  -> float32[?,?]
6: y = Tile(x[4,6], r:const{2,3})  -> float32[8,18]
7: y = Max(x[N,4], z[N,4])  -> float32[N,4]
8: y = Max(x[N,4], z[4])  -> float32[N,4]
7: y = Sum(x[N,4], z[N,4])  -> float32[N,4]
6: y, m = Dropout(x[N,4])  -> float32[N,4] float32[N,4]
6: y = Concat(x[N,4], z[N,4], axis=1)  -> float32[N,8]
9: y = Scatter(x[N,4], i:int64[1,1], u[1,1])  -> float32[N,4]
9: y = MaxUnpool(x[N,3,4,4], i:int64[N,3,4,4], kernel_shape=[2,2])  -> float32[?,?,?,?]
23: y = Attention(q[B,2,S,4], k[B,2,T,4], v[B,2,T,6])  -> float32[B,2,S,6]
23: y = Attention(q[B,S,8], k[B,T,8], v[B,T,12], q_num_heads=2, kv_num_heads=2)  -> float32[B,S,12]
23: y = RotaryEmbedding(x[N,4,8,6], c[9,3], s[9,3])  -> float32[N,4,8,6]
24: y = TensorScatter(x[N,4,5], u[N,1,5])  -> float32[N,4,5]
21: y = StringConcat(x:string[N,4], z:string[4])  -> string[N,4]
20: y = DFT(x[N,4,2])  -> float32[?,?,?]
20: y = AffineGrid(t[N,2,3], s:const{2,3,4,5})  -> float32[2,4,5,2]
20: y, n = StringSplit(x:string[N,4])  -> string[N,4,?] int64[N,4]
"""
ELEMENTS = """
Slice(s, b:int64[1], e:const{2})  -> [*]
Slice(s, b:const{0}, e:const{3}, , t:const{2})  -> [2,5]
Slice(s, b:const{0}, e:const{2}, a:const{-2})  -> [*]
Slice(s, b:const{-2}, e:const{-9}, a:const{0}, t:const{-1})  -> [3,2]
Slice(s, b:const{9}, e:const{0}, a:const{0}, t:const{-1})  -> [5,3]
Slice(s, b:const{1}, e:const{9}, a:const{0}, t:const{2})  -> [3]
Slice(s, b:const{-9}, e:const{-1})  -> [2,3]
Concat(s, k:int64[*], axis=0)  -> [*]
Concat(s, k:int64[K], axis=0)  -> [*]
Concat(s, k:const[1,3]{1,2,3}, axis=0)  -> [*]
Gather(k:const{5,6,7}, i:int64[2])  -> [?,?]
Gather(s, i:const{-3,2})  -> [2,5]
Neg(q:int64[3])  -> [?,?,?]
Add(s, q:int64[3])  -> [?,?,?]
Mod(s, q:int64[3])  -> [?,?,?]
Where(c:bool[3], s, k:const{9})  -> [?,?,?]
Expand(q:int64[1], e:const{3})  -> [?,?,?]
Tile(q:int64[2], e:const{2})  -> [?,?,?,?]
Slice(s, b:const{0}, e:const{2})  -> [2,3]
Slice(s, b:const{-1}, e:const{-9}, a:const{0}, t:const{-1})  -> [5,3,2]
Slice(s, b:const{0}, e:const{3}, a:const{-1}, t:const{2})  -> [2,5]
Slice(s, b:const{0}, e:const{3}, a:const{1})  -> [*]
Slice(s, b:const{0}, e:const{3}, a:int64[1])  -> [*]
Slice(s, b:const{0}, e:const{3}, a:const{0}, t:const{1,1})  -> [*]
Slice(s, b:const{0}, e:const{3}, a:const{0}, t:int64[1])  -> [*]
Slice(s, b:const{0}, e:int64[1])  -> [*]
Gather(s, i:const{2,-3,1})  -> [5,2,3]
Gather(s, i:const{3})  -> [?]
Gather(s, i:const{-4})  -> [?]
Gather(s, i:const{0}, axis=-1)  -> [2]
Gather(s, i:const{0}, axis=1)  -> [*]
Concat(s, k:const{7}, s, axis=0)  -> [2,3,5,7,2,3,5]
Concat(s, k:const{7}, axis=-1)  -> [2,3,5,7]
Concat(s, k:int64[2], axis=0)  -> [?,?,?,?,?]
Concat(k:const[0]{}, l:const[0]{}, axis=0)  -> [1]
Concat(k:const[0]{}, s, axis=0)  -> [2,3,5]
Concat(s, k:const{7}, axis=1)  -> [*]
Tile(k:const{4,5}, q:const{2})  -> [4,5,4,5]
Tile(s, q:const{0})  -> [1]
Tile(s, q:const{-1})  -> [*]
Tile(s, q:const{1,1})  -> [*]
Tile(s, q:int64[1])  -> [*]
Expand(k:const[1]{4}, e:const{3})  -> [4,4,4]
Expand(s, e:const{3})  -> [2,3,5]
Transpose(s)  -> [2,3,5]
Transpose(s, perm=[1])  -> [*]
Identity(s)  -> [2,3,5]
Cast(s, to=6)  -> [2,3,5]
CastLike(s, k:const{1})  -> [2,3,5]
Neg(n)  -> [2,3,5]
Add(s, k:const{1})  -> [3,4,6]
Sub(s, k:const{1})  -> [1,2,4]
Mul(s, k:const{2})  -> [4,6,10]
Div(s, k:const{2})  -> [1,1,2]
Mod(s, k:const{2})  -> [0,1,1]
Mod(s, k:const{2}, fmod=1)  -> [0,1,1]
Mod(s, k:const{2}, fmod=2)  -> [?,?,?]
Max(s, k:const{3})  -> [3,3,5]
Min(s, k:const{3})  -> [2,3,3]
Max(s, k:const{3}, l:const{4})  -> [?,?,?]
Where(c:const:bool[3]{True,False,True}, s, k:const{9})  -> [2,9,5]
Range(a:const[]{2}, b:const[]{6}, c:const[]{2})  -> [2,4]
Reshape(s, q:const{3})  -> [2,3,5]
ReduceProd(s, keepdims=1)  -> [30]
ReduceSum(s, keepdims=1)  -> [10]
ReduceMax(s, keepdims=1)  -> [5]
ReduceMin(s, keepdims=1)  -> [2]
ReduceMax(s, noop_with_empty_axes=1)  -> [?,?,?]
ReduceMax(s, noop_with_empty_axes=2)  -> [*]
Flatten(s, axis=0)  -> [2,3,5]
"""
"""By operator on s = [2,3,5]: the shape that a vector of its elements makes."""


def rows(text: str) -> list[tuple[str, str]]:
    return [
        (left.strip(), right.strip()) for left, _, right in (line.rpartition("->") for line in text.split("\n")[1:-1])
    ]


@pytest.mark.parametrize(("text", "found"), rows(NOW))
def test_results_of_a_node(text: str, found: str) -> None:
    assert results(text) == found


@pytest.mark.parametrize(("text", "found"), rows(OF_A_VERSION))
def test_results_of_a_node_of_an_older_or_a_newer_version(text: str, found: str) -> None:
    version, _, node = text.partition(": ")
    assert results(node, opset=int(version)) == found


def test_a_batch_normalization_of_an_older_version_returns_what_it_saved_too() -> None:
    node = "y, m, v, p, q = BatchNormalization(x[N,4], s[4], b[4], i[6], j[7])"
    assert results(node, opset=8).split() == [f"float32[{sizes}]" for sizes in ("N,4", "6", "7", "6", "7")]


@pytest.mark.parametrize(("text", "found"), rows(ELEMENTS))
def test_elements_are_computed_where_they_are_known(text: str, found: str) -> None:
    dtype = "int32" if "to=6" in text else "int64"
    negated = "n:int64[*] = Neg(s)\n" if "(n)" in text else ""
    given = f"s:int64[*] = Shape(x[2,3,5])\n{negated}r:{dtype}[*] = {text}"
    assert results(f"{given}\ny = Expand(z[1], r)") == f"float32{found}"


MATRICES = """
Concat(q, l:const[2,2]{1,2,3,4}, axis=1)  -> [2,7,1,2,5,3,3,4]
Concat(q, l:const[2,2]{1,2,3,4}, axis=-2)  -> [2,7,5,3,1,2,3,4]
Concat(q, l:const[2,1]{1,2}, axis=-1)  -> [2,7,1,5,3,2]
Slice(q, b:const{1}, e:const{2}, a:const{1})  -> [7,3]
Slice(q, b:const{1}, e:const{2}, a:const{-2})  -> [5,3]
Slice(q, b:const{1,0}, e:const{-9,2}, a:const{1,0}, w:const{-1,1})  -> [7,2,3,5]
Tile(q, i:const{1,2})  -> [2,7,2,7,5,3,5,3]
Tile(q, i:const{2,1})  -> [2,7,5,3,2,7,5,3]
Add(q, l:const[2,1]{10,20})  -> [12,17,25,23]
Sub(q, l:const[2]{1,2})  -> [1,5,4,1]
Gather(q, i:const{1,0}, axis=1)  -> [7,2,3,5]
"""
"""Of q, which is [[2,7],[5,3]]: the elements, row by row."""


@pytest.mark.parametrize(("text", "found"), rows(MATRICES))
def test_elements_of_a_matrix_are_computed_where_they_are_known(text: str, found: str) -> None:
    given = "s:int64[*] = Shape(x[2,7,5,3])\nq:int64[*] = Reshape(s, k:const{2,2})\n"
    count = found.count(",") + 1
    wanted = f"t:int64[*] = {text}\nr:int64[*] = Reshape(t, m:const{{{count}}})\ny = Expand(z[1], r)"
    assert results(given + wanted) == f"float32{found}"


ZEROS, FLOATS, IMAGES = [NO_SIZE_IS_0], [COUNTED_BY_FLOATS], [SOME_IMAGE]
ASSUMED: dict[str, tuple[str, list[str]]] = {
    "floats up to a size": (
        "c:int64[*] = Shape(x[N]); f = Cast(c, to=1); q = Squeeze(f); y = Range(a:const[]{0.0}, q, d:const[]{1.0})",
        FLOATS,
    ),
    "floats from a size": (
        "c:int64[*] = Shape(x[N]); f = Cast(c, to=1); q = Squeeze(f); y = Range(q, a:const[]{0.0}, d:const[]{-1.0})",
        FLOATS,
    ),
    "floats up to a number": ("y = Range(a:const[]{0.0}, b:const[]{5.0}, c:const[]{1.0})", []),
    "whole numbers up to a size": (
        "c:int64[*] = Shape(x[N]); q:int64[] = Squeeze(c); y:int64[*] = Range(a:const[]{0}, q, d:const[]{1})",
        [],
    ),
    "a size of something else": (
        "s:int64[*] = Shape(z[K]); c:int64[*] = Concat(s, k:const{-1}, axis=0); y = Reshape(x[N,4], c)",
        ZEROS,
    ),
    "the size itself": (
        "s:int64[*] = Shape(x[N,4], end=1); c:int64[*] = Concat(s, k:const{-1}, axis=0); y = Reshape(x, c)",
        [],
    ),
    "a size that is no 0": (
        (
            "s:int64[*] = Shape(z[K]); t:int64[*] = Add(s, o:const{1}); c:int64[*] = Concat(t, k:const{-1}, axis=0); "
            "y = Reshape(x[N,4], c)"
        ),
        [],
    ),
    "a size behind the last axis": (
        "s:int64[*] = Shape(z[K]); c:int64[*] = Concat(k:const{-1}, s, axis=0); y = Reshape(x[N], c)",
        [],
    ),
    "a size of which there is a multiple": (
        (
            "s:int64[*] = Shape(z[K]); d = Concat(z, z, axis=0); c:int64[*] = Concat(s, k:const{-1}, axis=0);"
            " y = Reshape(d, c)"
        ),
        [],
    ),
    "a size that is one, and what is left": (
        "s:int64[*] = Shape(z[K]); c:int64[*] = Concat(s, k:const{-1}, axis=0); y = Reshape(x[N,4], c, allowzero=1)",
        ZEROS,
    ),
    "a size that is one": (
        "s:int64[*] = Shape(z[K]); c:int64[*] = Concat(s, k:const{4}, axis=0); y = Reshape(x[N,4], c, allowzero=1)",
        [],
    ),
    "a number that is one, and what is left": ("y = Reshape(x[N,4], c:const{2,-1}, allowzero=1)", []),
    "an image that may be empty": ("y = MaxPool(x[N,3,W], kernel_shape=[1], strides=[2])", IMAGES),
    "an image of a batch that is not": ("y = MaxPool(x[2,3,W], kernel_shape=[1], strides=[2])", []),
    "an image in steps of 1": ("y = MaxPool(x[N,3,W], kernel_shape=[1])", []),
    "an image with its padding": ("y = MaxPool(x[N,3,W], kernel_shape=[1], strides=[2], pads=[1,0])", []),
}


@pytest.mark.parametrize(("text", "assumed"), ASSUMED.values(), ids=ASSUMED)
def test_what_a_size_relies_on_is_assumed_and_nothing_else(text: str, assumed: list[str]) -> None:
    opened = engine.load(model(text.replace("; ", "\n").replace("y = ", "y[*] = ")))
    assert list(opened.assumes) == assumed


TURNED = {"": "[2,5,3,7]", "perm=[1,0]": "[2,5,3,7]", "perm=[0,1]": "[2,3,5,7]", "perm=[0,0]": "[*]"}


@pytest.mark.parametrize(("options", "found"), TURNED.items(), ids=[*TURNED])
def test_elements_change_their_order_as_the_axes_do(options: str, found: str) -> None:
    given = "s:int64[*] = Shape(x[2,3,5,7])\nq:int64[*] = Reshape(s, a:const{2,2})\n"
    given += f"t:int64[*] = Transpose(q{options and ', '}{options})"
    assert results(f"{given}\nr:int64[*] = Reshape(t, b:const{{4}})\ny = Expand(z[1], r)") == f"float32{found}"


OF_SIZES = """
t:int64[*] = Sub(s, k:const{1,0}); y = Reshape(x, t)  -> float32[?,4]
y = Reshape(z[A,B], s)  -> float32[N,4]
n:int64[*] = Neg(e); m:int64[*] = Mod(n, k:const{4}, fmod=1); t:int64[*] = Neg(m); y = Expand(z[], t)  -> float32[2,3,1]
n:int64[*] = Neg(e); m:int64[*] = Mod(n, k:const{4}); y = Expand(z[1], m)  -> float32[2,1,3]
t:int64[*] = ReduceSum(q:int64[3]); y = Expand(z[1], t)  -> float32[?]
t:int64[*] = ReduceMax(q:int64[3], a:int64[1]); y = Expand(z[1], t)  -> float32[*]
q:int64[*] = Reshape(f, k:const{2,2}); t:int64[*] = ReduceSum(q, a:const{0}); y = Expand(z[1], t)  -> float32[*]
q:int64[*] = Reshape(f, k:const{2,2}); t:int64[*] = ReduceMax(q); y = Tile(z[1,1], t)  -> float32[?,?]
t:int64[] = Gather(s, k:const[]{0}); y = Range(a:const[]{0}, b:const[]{9}, t)  -> int64[?]
t:int64[] = Gather(s, k:const[]{0}); y = Range(a:const[]{0}, t, c:const[]{1})  -> int64[N]
t:int64[] = Gather(s, k:const[]{0}); y = Range(t, b:const[]{0}, c:const[]{-1})  -> int64[N]
t:int64[*] = Gather(k:const{5,6,7}, s); y = Expand(z[1], t)  -> float32[?,?]
q:int64[*] = Reshape(f, k:const{2,2}); t:int64[*] = Gather(q, i:const[]{1}, axis=1); y = Expand(z[], t)  -> float32[7,3]
q:int64[*] = Reshape(f, k:const{2,2}); t:int64[*] = Gather(q, i:const[]{1}); y = Expand(z[1], t)  -> float32[5,3]
"""
"""Of s, the sizes of x[N,4], e, those of w[2,7,5], and f, those of v[2,7,5,3]: what is computed of them."""


@pytest.mark.parametrize(("text", "found"), rows(OF_SIZES))
def test_results_of_nodes_that_are_given_sizes(text: str, found: str) -> None:
    given = {
        "s": "s:int64[*] = Shape(x[N,4])\n",
        "e": "e:int64[*] = Shape(w[2,7,5])\n",
        "f": "f:int64[*] = Shape(v[2,7,5,3])\n",
    }
    used = "".join(line for name, line in given.items() if re.search(rf"[( ]{name}[,)]", text))
    assert results(used + text.replace("; ", "\n")) == found


LOGIC = {
    "Not": ("e:bool[*] = Equal(s, k:const{2})\nb:bool[*] = Not(e)", "[0,1,1]"),
    "And": ("e:bool[*] = Less(s, k:const{5})\nf:bool[*] = Greater(s, l:const{2})\nb:bool[*] = And(e, f)", "[0,1,0]"),
    "Or": ("e:bool[*] = Less(s, k:const{3})\nf:bool[*] = Greater(s, l:const{3})\nb:bool[*] = Or(e, f)", "[1,0,1]"),
    "a Cast": ("d:int64[*] = Sub(s, k:const{2})\nb:bool[*] = Cast(d, to=9)", "[0,1,1]"),
}


@pytest.mark.parametrize(("text", "found"), LOGIC.values(), ids=LOGIC)
def test_truth_values_are_computed_where_they_are_known(text: str, found: str) -> None:
    given = f"s:int64[*] = Shape(x[2,3,5])\n{text}\nr:int64[*] = Cast(b, to=7)"
    assert results(f"{given}\ny = Expand(z[1], r)") == f"float32{found}"


@pytest.mark.parametrize(("node", "sizes"), [("Size(x[2,3])", "6"), ("Size(x[])", "1"), ("Size(x[2,0])", "0")])
def test_the_number_of_elements_is_computed(node: str, sizes: str) -> None:
    given = f"n:int64[*] = {node}\nr:int64[*] = Unsqueeze(n, a:const{{0}})"
    assert results(f"{given}\ny = Expand(z[1], r)") == f"float32[{sizes}]"


@pytest.mark.parametrize(("code", "number", "found"), [(7, 3, "[3,3]"), (9, 1, "[1,1]"), (7, -1, "[?,?]")])
def test_the_elements_of_a_constant_of_shape_are_those_that_it_says(code: int, number: int, found: str) -> None:
    proto = model("c:int64[*] = ConstantOfShape(s:const{2})\nr:int64[*] = Cast(c, to=7)\ny[*] = Expand(z[1], r)")
    held = helper.make_tensor("", code, [1], [number])
    proto.graph.node[0].attribute.append(helper.make_attribute("value", held))
    assert printed(graphfix.load(proto))[-1].startswith(f"y{found} = ")


WORDS = {
    "the greatest index": ("x:int64[N,4], ngram_indexes=[2,0,5]", "float32[N,6]"),
    "an index below 0": ("x:int64[N,4], ngram_indexes=[2,-1,5]", "float32[N,?]"),
    "a vector": ("x:int64[4], ngram_indexes=[0]", "float32[1]"),
    "an unknown rank": ("x:int64[*], ngram_indexes=[0]", "float32[*]"),
}


@pytest.mark.parametrize(("given", "found"), WORDS.values(), ids=WORDS)
def test_counted_words_have_a_place_for_each_index(given: str, found: str) -> None:
    options = "max_gram_length=1, max_skip_count=0, min_gram_length=1, mode='TF', ngram_counts=[0]"
    assert results(f"y = TfIdfVectorizer({given}, {options})") == found


@pytest.mark.parametrize(
    ("text", "opset", "alike"),
    [
        ("a, b = Split(x[3,N], axis=1)\ny = Sub(a, b)", 13, True),
        ("a, b = Split(x[3,N], axis=1, num_outputs=2)\ny = Sub(a, b)", 18, False),
        ("a, b = Split(x[3,7], axis=1, num_outputs=2)\ny = Sub(a, b)", 18, False),
    ],
    ids=["equal parts", "a last part that may be smaller", "one that is"],
)
def test_parts_of_a_named_size_are_one_size_where_the_whole_has_to_divide(text: str, opset: int, alike: bool) -> None:
    *_, last = engine.load(model(text.replace("y =", "y[*] ="), opset=opset)).graphs[0].nodes
    assert same_shape(last.operand(0).shape, last.operand(1).shape) is alike


@pytest.mark.parametrize("options", ["", ", num_outputs=2"])
def test_parts_of_a_double_are_what_was_doubled(options: str) -> None:
    assert results(f"c = Concat(x[N,3], x, axis=0)\ny, z = Split(c{options})") == "float32[N,3] float32[N,3]"
