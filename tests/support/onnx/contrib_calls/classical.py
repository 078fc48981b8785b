"""Calls of the operators of ai.onnx.ml: encoders, linear models, support vectors, trees."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from tests.support.onnx.contrib_calls.drawing import ML, Call, Draw, Draws, Key

FOUR = ("float32", "float64", "int32", "int64")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def _rows(draw: Draw, features: int, *kinds: str, least: int = 0) -> np.ndarray:
    return draw.like(draw.size(least), features, kind=draw.pick(*kinds))


def _extractor(draw: Draw) -> Call:
    shape = draw.shape(1)
    places = draw.integers(0, shape[-1], draw.pick([draw.size(1)], [1, draw.size(1)]))
    return Call([draw.numbers(shape, draw.pick(*FOUR, "object")), places])


def _binarizer(draw: Draw) -> Call:
    return Call([draw.numbers(draw.shape())], draw.some(threshold=0.5))


def _cast_map(draw: Draw) -> Call:
    sparse = draw.chance()
    keys = draw.random.sample(range(6), draw.random.randint(1, 3))
    given: dict[str, object] = {"cast_to": draw.pick("TO_FLOAT", "TO_INT64", "TO_STRING")}
    given |= {"map_form": "SPARSE", "max_map": draw.random.randint(6, 8)} if sparse else draw.some(map_form="DENSE")
    return Call([{key: np.float32(key) for key in keys}], given)


def _mapper(draw: Draw) -> Call:
    given = {"cats_strings": ["a", "b"], "cats_int64s": [3, 4]} | draw.some(default_int64=7, default_string="?")
    kind = draw.pick("object", "int64")
    return Call([draw.numbers(draw.shape(), kind)], given)


def _vectorizer(draw: Draw) -> Call:
    """The values are float32, because onnxruntime makes no other map of a dict."""
    words = draw.random.sample(["a", "b", "c"], draw.random.randint(1, 3))
    vocabulary = ["a", "b", "c"][: draw.random.randint(1, 3)]
    return Call([dict.fromkeys(words, np.float32(1))], {"string_vocabulary": vocabulary})


def _features(draw: Draw) -> Call:
    kind, widths, rows = draw.pick(*FOUR), [draw.size(1) for _ in range(draw.random.randint(1, 3))], draw.size(1)
    flat = rows == 1 and draw.chance()
    operands = [draw.numbers([width] if flat else [rows, width], kind) for width in widths]
    return Call(operands, {"inputdimensions": [draw.pick(0, 1, 1, 1, 2) + width - 1 for width in widths]})


def _imputer(draw: Draw) -> Call:
    shape, kind = [*draw.shape(0, 2), draw.size(1)], draw.pick("float32", "int64")
    count = draw.pick(1, shape[-1])
    if kind == "int64":
        return Call(
            [draw.numbers(shape, kind)], {"imputed_value_int64s": [7] * count} | draw.some(replaced_value_int64=1)
        )
    return Call([draw.numbers(shape)], {"imputed_value_floats": [7.0] * count} | draw.some(replaced_value_float=0.0))


def _label_encoder(draw: Draw) -> Call:
    version = draw.pick(1, 2, 4)
    if version == 1:
        kind = draw.pick("object", "int64")
        return Call([draw.numbers(draw.shape(), kind)], {"classes_strings": ["a", "b", "c"]}, version=1)
    kinds = {"object": ("strings", ["a", "b"]), "int64": ("int64s", [1, 2]), "float32": ("floats", [1.0, 2.0])}
    pairs = [(x, y) for x in kinds for y in kinds if version > 2 or x != y or x != "float32"]
    source, to = draw.pick(*pairs)
    given = {f"keys_{kinds[source][0]}": kinds[source][1], f"values_{kinds[to][0]}": kinds[to][1]}
    return Call([draw.numbers(draw.shape(), source)], given, version=version)


def _labels(draw: Draw, count: int, ints: str, strings: str) -> dict[str, object]:
    return {ints: list(range(count))} if draw.chance() else {strings: [f"c{at}" for at in range(count)]}


def _linear_classifier(draw: Draw) -> Call:
    features, classes = draw.size(1), draw.pick(1, 2, 3)
    given = {"coefficients": [0.5] * (features * classes)} | _labels(
        draw, draw.pick(classes, max(classes, 2)), "classlabels_ints", "classlabels_strings"
    )
    given |= {"intercepts": [0.1] * classes} if draw.chance(0.95) else {}
    given |= draw.some(post_transform=draw.pick(*TRANSFORMS), multi_class=1)
    x = draw.numbers([features], draw.pick(*FOUR)) if draw.chance(0.2) else _rows(draw, features, *FOUR)
    return Call([x], given, (True, True))


def _linear_regressor(draw: Draw) -> Call:
    features, targets = draw.size(1), draw.size(1, 3)
    given: dict[str, object] = {"coefficients": [0.5] * (features * targets), "targets": targets}
    given |= draw.some(intercepts=[0.1] * targets, post_transform=draw.pick(*TRANSFORMS))
    x = draw.like(features) if draw.chance(0.2) else _rows(draw, features, "float32")
    return Call([x], given)


def _normalizer(draw: Draw) -> Call:
    shape = draw.pick([draw.size()], draw.sizes(2))
    return Call([draw.numbers(shape, draw.pick(*FOUR))], draw.some(norm=draw.pick("MAX", "L1", "L2")))


def _one_hot(draw: Draw) -> Call:
    shape = draw.shape(0, 3)
    if draw.chance(0.3):
        return Call([draw.numbers(shape, "object")], {"cats_strings": ["a", "b", "c d", ""]} | draw.some(zeros=1))
    return Call([draw.numbers(shape, draw.pick("int64", "float32", "float64"))], {"cats_int64s": [0, 1, 2], "zeros": 1})


def _kernel(draw: Draw) -> dict[str, object]:
    return {"kernel_type": draw.pick("LINEAR", "POLY", "RBF", "SIGMOID"), "kernel_params": [0.1, 0.0, 3.0]}


def _vectors_classifier(draw: Draw) -> Call:
    features, classes = draw.size(1), draw.pick(2, 2, 3)
    counts = [draw.random.randint(1, 2) for _ in range(classes)]
    total, pairs = sum(counts), classes * (classes - 1) // 2
    given = _kernel(draw) | _labels(draw, classes, "classlabels_ints", "classlabels_strings")
    given |= {"support_vectors": [0.5] * (total * features), "vectors_per_class": counts, "rho": [0.1] * pairs}
    given |= {"coefficients": [0.5, -0.5] * (total * (classes - 1)) + [0.1]}
    given["coefficients"] = ([0.5, -0.5] * (total * (classes - 1)))[: total * (classes - 1)]
    if draw.chance():
        given |= {"prob_a": [0.5] * pairs, "prob_b": [0.1] * pairs}
    given |= draw.some(post_transform=draw.pick(*TRANSFORMS))
    x = draw.numbers([features], draw.pick(*FOUR)) if draw.chance(0.2) else _rows(draw, features, *FOUR)
    return Call([x], given, (True, True))


def _vectors_regressor(draw: Draw) -> Call:
    features, total = draw.size(1), draw.size(1, 3)
    given = _kernel(draw) | {"support_vectors": [0.5] * (total * features), "n_supports": total, "rho": [0.1]}
    given |= {"coefficients": [0.5] * total} | draw.some(one_class=1, post_transform=draw.pick(*TRANSFORMS))
    return Call([draw.like(features) if draw.chance(0.2) else _rows(draw, features, "float32")], given)


def _scaler(draw: Draw) -> Call:
    shape = [*draw.shape(0, 1), draw.size(1)]
    count = draw.pick(1, shape[-1])
    return Call([draw.numbers(shape, draw.pick(*FOUR))], {"offset": [0.5] * count, "scale": [2.0] * count})


NODES = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
}  # fmt: skip
"""A tree of one branch and two leaves."""


def _trees_classifier(draw: Draw) -> Call:
    classes = draw.pick(1, 2, 2, 3)
    given = NODES | _labels(draw, max(classes, draw.pick(1, 2)), "classlabels_int64s", "classlabels_strings")
    given |= {"class_treeids": [0] * 2, "class_nodeids": [1, 2], "class_weights": [1.0, 2.0]}
    given |= {"class_ids": [0, classes - 1]} | draw.some(post_transform=draw.pick(*TRANSFORMS))
    x = draw.like(2) if draw.chance(0.1) else _rows(draw, 2, *FOUR)
    return Call([x], given, (True, True), version=draw.pick(1, 3))


def _trees_regressor(draw: Draw) -> Call:
    targets = draw.size(1, 3)
    given = NODES | {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_weights": [1.0, 2.0]}
    given |= {"target_ids": [0, targets - 1], "n_targets": targets}
    given |= draw.some(aggregate_function=draw.pick("SUM", "AVERAGE", "MIN", "MAX"))
    x = draw.like(2) if draw.chance(0.1) else _rows(draw, 2, "float32", "float64")
    return Call([x], given, version=draw.pick(1, 3))


def _ensemble(draw: Draw) -> Call:
    kind, targets = draw.pick("float32", "float64"), draw.size(1, 3)

    def tensor(*numbers: float, kind: str = kind) -> object:
        return numpy_helper.from_array(np.array(numbers, kind))

    given: dict[str, object] = {
        "tree_roots": [0], "nodes_featureids": [0], "nodes_splits": tensor(0.5), "nodes_modes": tensor(0, kind="uint8"),
        "nodes_truenodeids": [0], "nodes_trueleafs": [1], "nodes_falsenodeids": [1], "nodes_falseleafs": [1],
        "leaf_targetids": [0, targets - 1], "leaf_weights": tensor(1.0, 2.0), "n_targets": targets,
    }  # fmt: skip
    given |= draw.some(aggregate_function=draw.pick(0, 1, 2, 3), post_transform=draw.pick(0, 1, 2, 3))
    return Call([draw.like(draw.size(), 2, kind=kind)], given, version=5)


def _zip_map(draw: Draw) -> Call:
    classes = draw.size(1)
    x = draw.like(classes) if draw.chance(0.3) else _rows(draw, classes, "float32")
    return Call([x], _labels(draw, classes, "classlabels_int64s", "classlabels_strings"))


CALLS: dict[Key, Draws] = {
    (ML, "ArrayFeatureExtractor"): _extractor,
    (ML, "Binarizer"): _binarizer,
    (ML, "CastMap"): _cast_map,
    (ML, "CategoryMapper"): _mapper,
    (ML, "DictVectorizer"): _vectorizer,
    (ML, "FeatureVectorizer"): _features,
    (ML, "Imputer"): _imputer,
    (ML, "LabelEncoder"): _label_encoder,
    (ML, "LinearClassifier"): _linear_classifier,
    (ML, "LinearRegressor"): _linear_regressor,
    (ML, "Normalizer"): _normalizer,
    (ML, "OneHotEncoder"): _one_hot,
    (ML, "SVMClassifier"): _vectors_classifier,
    (ML, "SVMRegressor"): _vectors_regressor,
    (ML, "Scaler"): _scaler,
    (ML, "TreeEnsemble"): _ensemble,
    (ML, "TreeEnsembleClassifier"): _trees_classifier,
    (ML, "TreeEnsembleRegressor"): _trees_regressor,
    (ML, "ZipMap"): _zip_map,
}
