"""The operators whose results have the shape or the rank of operand 0, by name."""

from __future__ import annotations

SAME_SHAPE = """
Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh CumSum Dropout Elu Erf Exp Floor
Gelu HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Log
LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not QuantizeLinear DequantizeLinear RMSNormalization
RandomNormalLike RandomUniformLike Reciprocal Relu Round ScatterElements ScatterND Scatter Selu Shrink Sigmoid Sign Sin
Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu BatchNormalization GroupNormalization
ReverseSequence EyeLike Bernoulli
""".split()
SAME_SHAPE_MICROSOFT = """
BiasGelu FastGelu Gelu QuickGelu QuantizeLinear DequantizeLinear SkipLayerNormalization SkipSimplifiedLayerNormalization
""".split()
REDUCTIONS = """
ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
ArgMax ArgMin
""".split()
RANK_KEPT = """
Pad Resize Upsample MaxPool AveragePool LpPool GlobalAveragePool GlobalMaxPool GlobalLpPool
GatherElements DepthToSpace SpaceToDepth
""".split()
