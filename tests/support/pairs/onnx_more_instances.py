"""Instances of the operators, or of their older versions, that no one-node model of onnx's backend suite has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import helper

from tests.support.pairs.onnx_instances import Instance, imported_at


def array(*dims: int, kind: str = "float32") -> np.ndarray:
    """Numbers of both signs, each another one."""
    count = int(np.prod(dims))
    return ((np.arange(count) * 7 % 11 - 4) / (2 if kind.startswith("float") else 1)).reshape(dims).astype(kind)


def ints(*values: int) -> np.ndarray:
    """A vector of int64."""
    return np.array(values, np.int64)


SQUARE, IMAGE, PAIR, WORDS = array(2, 3), array(1, 2, 4, 4), [array(2, 3), array(2, 3)], np.array(["a", "b"], object)
TREE = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
}  # fmt: skip
CLASSES = {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1], "class_weights": [1.0, 2.0]}
TARGETS = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0]}
SUPPORT = {"kernel_type": "LINEAR", "kernel_params": [0.1, 0.0, 3.0], "coefficients": [0.5, -0.5]}
ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"

Row = tuple[str, str, tuple[int, ...], dict[str, object], list[object]]
ROWS: tuple[Row, ...] = (
    *(("", op, (1, 11, 13), {"axes": [1], "keepdims": 1}, [SQUARE]) for op in (
        "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "ReduceMean", "ReduceMax")),
    ("", "Split", (1, 2, 11), {"axis": 1, "split": [1, 2]}, [SQUARE]),
    ("", "Split", (13, 18), {"axis": 1}, [SQUARE, ints(1, 2)]),
    ("", "Pad", (1,), {"paddings": [0, 1, 0, 1]}, [SQUARE]),
    ("", "Pad", (2,), {"pads": [0, 1, 0, 1]}, [SQUARE]),
    ("", "Clip", (1, 6), {"min": -1.0, "max": 1.0}, [SQUARE]),
    ("", "Clip", (11, 12, 13), {}, [SQUARE, np.float32(-1), np.float32(1)]),
    ("", "Slice", (1,), {"axes": [1], "starts": [0], "ends": [2]}, [SQUARE]),
    ("", "Slice", (10, 11, 13), {}, [SQUARE, ints(0), ints(2), ints(1), ints(1)]),
    ("", "Slice", (10, 11, 13), {}, [SQUARE, ints(0), ints(2)]),
    ("", "Dropout", (1, 6), {"is_test": 1}, [SQUARE]),
    ("", "Dropout", (7, 10), {}, [SQUARE]),
    ("", "Dropout", (12, 13, 22), {}, [SQUARE, np.float32(0.5)]),
    ("", "BatchNormalization", (1, 6), {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]},
     [IMAGE, *[abs(array(2)) + 1] * 4]),
    ("", "BatchNormalization", (6, 7, 9, 14, 15), {}, [IMAGE, *[abs(array(2)) + 1] * 4]),
    ("", "Gemm", (1, 6, 7, 9, 11, 13), {"transA": 0}, [SQUARE, array(3, 4), array(2, 4)]),
    ("", "GlobalLpPool", (1, 2, 22), {}, [IMAGE]),
    ("", "Reshape", (1,), {"shape": [3, -1]}, [SQUARE]),
    ("", "Squeeze", (1, 11), {"axes": [0]}, [array(1, 3)]),
    ("", "Unsqueeze", (1, 11), {"axes": [0]}, [SQUARE]),
    ("", "TopK", (1,), {"axis": 1, "k": 2}, [SQUARE]),
    ("", "TopK", (10, 11), {"axis": 1}, [SQUARE, ints(2)]),
    ("", "LRN", (1, 13), {"size": 3}, [IMAGE]),
    ("", "Erf", (9, 13), {}, [SQUARE]),
    ("", "Mish", (18, 22), {}, [SQUARE]),
    ("", "Upsample", (7,), {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 2.0]}, [IMAGE]),
    ("", "Upsample", (1,), {"mode": "nearest", "width_scale": 2.0, "height_scale": 2.0}, [IMAGE]),
    ("", "Upsample", (9,), {"mode": "linear"}, [IMAGE, np.array([1, 1, 2, 2], np.float32)]),
    ("", "Cast", (1,), {"to": "INT32"}, [SQUARE]),
    ("", "MaxRoiPool", (1, 22), {"pooled_shape": [2, 2]}, [IMAGE, np.array([[0, 0, 0, 3, 3]], np.float32)]),
    ("", "RNN", (1, 7, 14, 22), {"hidden_size": 2}, [array(2, 1, 3), array(1, 2, 3), array(1, 2, 2)]),
    ("", "RandomNormal", (1, 22), {"shape": [2], "seed": 1.0}, []),
    ("", "RandomUniform", (1, 22), {"shape": [2], "seed": 1.0}, []),
    ("", "RandomNormalLike", (1, 22), {"seed": 1.0}, [SQUARE]),
    ("", "RandomUniformLike", (1, 22), {"seed": 1.0}, [SQUARE]),
    ("", "Multinomial", (7, 22), {"sample_size": 2, "seed": 1.0}, [SQUARE]),
    ("", "Optional", (15,), {}, [SQUARE]),
    ("", "SequenceConstruct", (11,), {}, PAIR),
    ("", "SequenceEmpty", (11,), {"dtype": 1}, []),
    ("", "SequenceLength", (11,), {}, [PAIR]),
    ("", "SequenceAt", (11,), {}, [PAIR, np.int64(1)]),
    ("", "SequenceErase", (11,), {}, [PAIR, np.int64(1)]),
    ("", "ConcatFromSequence", (11,), {"axis": 1}, [PAIR]),
    (ML, "TreeEnsembleClassifier", (1, 3), TREE | CLASSES | {"classlabels_int64s": [0, 1]}, [SQUARE]),
    (ML, "TreeEnsembleRegressor", (1, 3), TREE | TARGETS | {"n_targets": 1}, [SQUARE]),
    (ML, "SVMRegressor", (1,), SUPPORT | {"support_vectors": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "n_supports": 2,
                                         "rho": [0.5]}, [SQUARE]),
    (ML, "SVMClassifier", (1,), SUPPORT | {"support_vectors": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "rho": [0.5],
                                          "vectors_per_class": [1, 1], "classlabels_ints": [0, 1]}, [SQUARE]),
    (ML, "LinearClassifier", (1,), {"coefficients": [1.0, 2.0, 3.0, -1.0, -2.0, -3.0], "intercepts": [0.5, 0.0],
                                   "classlabels_ints": [0, 1]}, [SQUARE]),
    (ML, "LinearRegressor", (1,), {"coefficients": [1.0, 2.0, 3.0], "intercepts": [0.5]}, [SQUARE]),
    (ML, "CategoryMapper", (1,), {"cats_strings": ["a", "b"], "cats_int64s": [3, 4]}, [WORDS]),
    (ML, "Scaler", (1,), {"offset": [0.5, 1.0, 2.0], "scale": [1.0, 2.0, 3.0]}, [SQUARE]),
    (ML, "Imputer", (1,), {"imputed_value_floats": [7.0], "replaced_value_float": 0.0}, [SQUARE]),
    (ML, "Normalizer", (1,), {"norm": "L2"}, [SQUARE]),
    (ML, "FeatureVectorizer", (1,), {"inputdimensions": [3, 3]}, PAIR),
    (ML, "OneHotEncoder", (1,), {"cats_int64s": [0, 1, 2]}, [ints(1, 2, 5)]),
    (ML, "ZipMap", (1,), {"classlabels_int64s": [0, 1, 2]}, [SQUARE]),
    (ML, "DictVectorizer", (1,), {"string_vocabulary": ["a", "b"]}, [{"a": np.float32(1)}]),
    (ML, "CastMap", (1,), {"cast_to": "TO_FLOAT"}, [{0: "1"}]),
    ("ai.onnx.preview.training", "Gradient", (1,), {"xs": ["o0"], "y": "r0"}, [SQUARE]),
    *((MICROSOFT, op, (1,), {}, [SQUARE]) for op in ("Gelu", "FastGelu", "QuickGelu")),
    (MICROSOFT, "Inverse", (1,), {}, [array(3, 3)]),
    (MICROSOFT, "CDist", (1,), {}, PAIR),
    *(("", "RoiAlign", (version,), {"output_height": 2, "output_width": 2} | extra,
       [IMAGE, np.array([[0, 0, 3, 3]], np.float32), ints(0)]) for version, extra in (
        (10, {}), (16, {"coordinate_transformation_mode": "output_half_pixel"}), (22, {}))),
    ("", "Resize", (10,), {"mode": "nearest"}, [IMAGE, np.array([1, 1, 2, 2], np.float32)]),
    ("", "Resize", (11, 13, 18, 19), {"mode": "nearest"}, [IMAGE, np.zeros(0, np.float32),
                                                           np.array([1, 1, 0.6, 2], np.float32)]),
    (MICROSOFT, "BiasGelu", (1,), {}, [SQUARE, array(3)]),
    (MICROSOFT, "FastGelu", (1,), {}, [SQUARE, array(3)]),
    (MICROSOFT, "FusedMatMul", (1,), {"transB": 1}, [SQUARE, array(2, 3)]),
    (MICROSOFT, "FusedGemm", (1,), {"activation": "Relu"}, [SQUARE, array(3, 2), array(2)]),
    (MICROSOFT, "SkipLayerNormalization", (1,), {}, [array(1, 2, 3), array(1, 2, 3), array(3), array(3)]),
    (MICROSOFT, "QLinearAdd", (1,), {}, [array(2, 3, kind="uint8"), np.float32(0.5), np.uint8(1),
                                         array(3, kind="uint8"), np.float32(0.5), np.uint8(1),
                                         np.float32(0.5), np.uint8(1)]),
    (MICROSOFT, "QLinearMul", (1,), {}, [array(2, 3, kind="uint8"), np.float32(0.5), np.uint8(1),
                                         array(3, kind="uint8"), np.float32(0.5), np.uint8(1),
                                         np.float32(0.5), np.uint8(1)]),
    (MICROSOFT, "QuantizeLinear", (1,), {}, [SQUARE, np.float32(0.5), np.uint8(1)]),
    (MICROSOFT, "DequantizeLinear", (1,), {}, [array(2, 3, kind="uint8"), np.float32(0.5), np.uint8(1)]),
    (MICROSOFT, "Trilu", (1,), {}, [array(3, 3)]),
    (MICROSOFT, "ExpandDims", (1,), {}, [SQUARE, np.int32(1)]),
    (MICROSOFT, "Range", (1,), {}, [np.float32(0), np.float32(3), np.float32(1)]),
    (MICROSOFT, "Pad", (1,), {}, [SQUARE, ints(0, 1, 0, 1)]),
    (MICROSOFT, "GatherND", (1,), {}, [SQUARE, np.array([[0, 1]], np.int64)]),
)  # fmt: skip
"""Domain, operator, its versions, attributes, operands."""


def more() -> Iterator[Instance]:
    """Every row at each of its versions."""
    for domain, op, versions, attributes, operands in ROWS:
        feeds = {f"o{at}": _plain(value) for at, value in enumerate(operands)}
        node = helper.make_node(op, list(feeds), _results(op, attributes), domain=domain, **attributes)
        for version in versions:
            at = imported_at(op, domain, version) if domain != MICROSOFT else version
            yield Instance(node, at, feeds, "by hand")


def _plain(value: object) -> object:
    return value if isinstance(value, (list, dict)) else np.asarray(value)


def _results(op: str, attributes: dict[str, object]) -> list[str]:
    two = ("TopK", "TreeEnsembleClassifier", "LinearClassifier", "SVMClassifier")
    return ["r0", "r1"] if op in two or (op == "Split" and "axis" in attributes) else ["r0"]
