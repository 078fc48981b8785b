"""The reviewed list: all other operators of ONNX and onnxruntime, whose schemas show that they do not broadcast.

Reviewed: ONNX 1.23 (operator sets 1 to 28) and onnxruntime 1.32. A name applies to all versions of its operator.
Operators that broadcast only from some version on are in EQUAL_SHAPES_BEFORE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ONNX = {
    "one tensor and attributes, or none": """
        Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Bernoulli BitCast BitwiseNot
        BlackmanWindow Cast Ceil Celu Constant ConstantOfShape Cos Cosh DepthToSpace Det
        DynamicQuantizeLinear Elu Erf Exp EyeLike Flatten Floor Gelu GlobalAveragePool GlobalLpPool
        GlobalMaxPool HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity ImageDecoder IsInf
        IsNaN LRN LeakyRelu Log LogSoftmax LpNormalization LpPool MaxPool MeanVarianceNormalization Mish
        Multinomial Neg NonZero Not RandomNormal RandomNormalLike RandomUniform RandomUniformLike
        Reciprocal RegexFullMatch Relu Round Selu Shape Shrink Sigmoid Sign Sin Sinh Size Softmax Softplus
        Softsign SpaceToDepth Sqrt StringNormalizer StringSplit Swish Tan Tanh TfIdfVectorizer
        ThresholdedRelu Transpose Unique
    """,
    "the further operands are axes, sizes, indices or bounds": """
        AffineGrid CenterCropPad Clip Col2Im Compress CumProd CumSum DFT Dropout Gather GatherElements
        GatherND GridSample MaxRoiPool MaxUnpool MelWeightMatrix NonMaxSuppression OneHot Pad Range
        ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
        ReduceSumSquare Reshape Resize ReverseSequence RoiAlign Scatter ScatterElements ScatterND Slice
        Split Squeeze TensorScatter Tile TopK Trilu Unsqueeze Upsample
    """,
    "the further operands are per-axis parameters": """
        BatchNormalization CausalConvWithState Conv ConvInteger ConvTranspose DeformConv DequantizeLinear
        GRU GroupNormalization InstanceNormalization LSTM NegativeLogLikelihoodLoss QLinearConv
        QuantizeLinear RNN RotaryEmbedding STFT SoftmaxCrossEntropyLoss
    """,
    "all sizes are exact, or only the type of an operand counts": "CastLike Concat SwiGLU",
    "sequences, optionals and bodies": """
        ConcatFromSequence If Loop Optional OptionalGetElement OptionalHasElement Scan SequenceAt
        SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap
        SplitToSequence
    """,
    "experimental or internal operators that onnxruntime registers in ONNX's domain; all sizes are exact": """
        Affine Crop DisentangledAttention_TRT DynamicSlice EfficientNMS_TRT GRUUnit GivenTensorFill
        ImageScaler MemcpyFromHost MemcpyToHost MultilevelCropAndResize_TRT ParametricSoftplus
        PyramidROIAlign_TRT Scale ScaledTanh
    """,
}

_ML = {
    "one tensor or map and attributes": """
        Binarizer CastMap CategoryMapper DictVectorizer LabelEncoder LinearClassifier LinearRegressor
        Normalizer OneHotEncoder SVMClassifier SVMRegressor TreeEnsemble TreeEnsembleClassifier
        TreeEnsembleRegressor ZipMap
    """,
    "the further operand holds indices, or columns are joined": "ArrayFeatureExtractor FeatureVectorizer",
}

_PREVIEW = {
    "all sizes are exact; heads are shared in groups, which is no broadcast": "FlexAttention",
}

_TRAINING = {"a gradient has the shape of its tensor": "Gradient"}

_MICROSOFT = {
    "one tensor and attributes": """
        BitmaskDropout Gelu Inverse Irfft IsAllFinite MurmurHash3 NhwcMaxPool QuantizeBFP QuickGelu
        ReduceSumInteger Rfft SampleOp ScaledSiLU Tokenizer UnfoldTensor Unique
    """,
    "the further operands are axes, sizes, indices or bounds": """
        ConvStateReplay CropAndResize DequantizeBFP ExpandDims GatedDeltaNetStateReplay
        GatherBlockQuantized GatherND GatherPacked GridSample MaxpoolWithMask NGramHashMapping
        NGramRepeatBlock PackedSparseAttentionIndexerMerge Pad Range RelativePositionBias RemovePadding
        RestorePadding SpeculativePrefixCommit TorchEmbedding Trilu VarlenNGramHashMapping
    """,
    "the further operands are per-axis parameters of an exact rank": """
        BiasAdd BiasDropout BiasGelu BiasSplitGelu BitmaskBiasDropout BranchwiseRMSNorm CausalConvWithState
        ConvTransposeWithDynamicPads DequantizeLinear DequantizeWithOrder EmbedLayerNormalization FastGelu
        FusedConv GatedRMSNorm GatedRelativePositionBias GemmFastGelu GroupNorm
        LinearAttentionGate MRotaryEmbedding MoEGroupRouter NhwcConv NhwcFusedConv QEmbedLayerNormalization
        QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool QLinearLeakyRelu
        QLinearReduceMean QLinearSigmoid QLinearSoftmax QOrderedGelu QOrderedLayerNormalization
        QuantizeLinear QuantizeWithOrder RMSNormRotary RotaryEmbedding VarlenCausalConvWithState
    """,
    "activations meet a packed matrix of rank 2, whose scales and bias follow its axes": """
        MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulBnb4 MatMulFpQ4 MatMulNBits
        MatMulNBitsMlp MatMulNBitsQLoRA MatMulNBitsQkv MatMulPacked MoE MoEPacked QMoE RouterGateUpProj
        SparseToDenseMatMul
    """,
    "all sizes are exact (an operand that several streams share is not right-aligned)": """
        CDist DynamicTimeWarping EngramGate HyperConnectionLowRankMix SwiGLU
    """,
    "attention and recurrence without an additive mask: all sizes are exact": """
        AttnLSTM DecoderAttention DynamicQuantizeLSTM DynamicSparseAttention GatedDeltaNet
        GemmaRotaryEmbedding LongformerAttention Mamba2Verify PackedSparseAttentionIndexer PagedAttention
        QAttention QOrderedLongformerAttention SparseAttention SparseAttentionIndexer SparsePagedAttention
        WordConvEmbedding
    """,
    "generation loops and compiled subgraphs": """
        BeamSearch BifurcationDetector EPContext GreedySearch Sampling Snpe WhisperBeamSearch
    """,
}

_NCHWC = {
    "convolutions and pools in a blocked layout; Conv's Sum operand has the result's sizes": """
        AveragePool Conv GlobalAveragePool GlobalMaxPool MaxPool ReorderInput ReorderOutput Upsample
    """,
}

_NHWC = {
    "convolutions, pools and normalizations with the channel last, parameters as in ONNX's domain": """
        AveragePool BatchNormalization Conv ConvTranspose DepthToSpace GlobalAveragePool GlobalLpPool
        GlobalMaxPool GridSample InstanceNormalization LRN LpPool MaxPool MaxUnpool QLinearAveragePool
        QLinearConv QLinearConvTranspose Resize SpaceToDepth
    """,
}

REVIEWED: Mapping[str, Mapping[str, str]] = {
    "": _ONNX,
    "ai.onnx.ml": _ML,
    "ai.onnx.preview": _PREVIEW,
    "ai.onnx.preview.training": _TRAINING,
    "com.microsoft": _MICROSOFT,
    "com.microsoft.nchwc": _NCHWC,
    "com.ms.internal.nhwc": _NHWC,
}
"""Domain -> reason -> the operators to which the reason applies, separated by spaces."""

NOT_BROADCASTING: frozenset[tuple[str, str]] = frozenset(
    (domain, op) for domain, reasons in REVIEWED.items() for names in reasons.values() for op in names.split()
)
"""(domain, operator) of operators that have no broadcasting operand in any version."""

EQUAL_SHAPES_BEFORE: Mapping[tuple[str, str], int] = {("", op): 8 for op in ("Max", "Mean", "Min", "Sum")}
"""(domain, operator) -> the first version that broadcasts. Earlier versions require equal shapes."""
