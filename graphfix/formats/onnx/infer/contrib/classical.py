"""ai.onnx.ml: encoders, scalers, linear models, support vector machines and trees.

Sources: the ONNX-ML operator specification and onnxruntime's CPU kernels (core/providers/cpu/ml).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.contrib.operator import FLOAT, NO_TENSOR, SAME, Attributes, Operator
from graphfix.formats.onnx.infer.operators.elementwise import first
from graphfix.formats.onnx.infer.sizes import product
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.dim import UNKNOWN, Shape, Size

DOMAIN = "ai.onnx.ml"


def _rows(call: Call) -> Size:
    """Return the number of samples in operand 0; a vector is one sample."""
    dims = call.dims(0)
    return UNKNOWN if not dims else 1 if len(dims) == 1 else dims[0]


def _length(call: Call, *attributes: str) -> int:
    """Return the number of elements of the first non-empty one of these attributes; 0 if there is none."""
    lists = [call.attributes.get(name) for name in attributes]
    return next((len(members) for members in lists if isinstance(members, tuple) and members), 0)


def _targets(call: Call, attribute: str) -> Results:
    """Return [samples,count], where the integer attribute `attribute` (default 1) is the count."""
    count = call.number(attribute, 1)
    return (Shape((_rows(call), count if count > 0 else UNKNOWN)),)


def _classified(call: Call, classes: Size) -> Results:
    """Return the result shapes of a classifier: labels [samples], and scores [samples,classes]."""
    rows = _rows(call)
    return (Shape((rows,)), Shape((rows, classes)))


def _linear_classes(call: Call) -> Results:
    """Return the result shapes of LinearClassifier: the number of classes is the number of intercepts.

    With one intercept and more than one label the number of classes is unknown.
    """
    count, labels = _length(call, "intercepts"), _length(call, "classlabels_strings", "classlabels_ints")
    classes: Size = count or UNKNOWN
    return _classified(call, UNKNOWN if count == 1 and labels > 1 else classes)


def _tree_classes(call: Call) -> Results:
    """Return the result shapes of TreeEnsembleClassifier: the number of classes is the number of labels."""
    return _classified(call, _length(call, "classlabels_strings", "classlabels_int64s") or UNKNOWN)


def _extracted(call: Call) -> Results:
    """Return the result shape of ArrayFeatureExtractor, which selects elements of the last axis: `[..,count]`.

    The count is the number of indices. A vector becomes a row, [1,count].
    """
    dims, indices = call.dims(0), call.dims(1)
    if not dims or indices is None:
        return NOTHING
    count = product(call.terms, *indices)
    return (Shape((*dims[:-1], count) if len(dims) > 1 else (1, count)),)


def _one_hot(call: Call) -> Results:
    """Return the result shape of OneHotEncoder: operand 0's shape with a new last axis, one element per category."""
    dims, count = call.dims(0), _length(call, "cats_strings", "cats_int64s")
    return NOTHING if dims is None else (Shape((*dims, count or UNKNOWN)),)


def _features(call: Call) -> Results:
    """Return the result shape of FeatureVectorizer: [samples,columns].

    The number of columns is the sum of the attribute `inputdimensions`.
    """
    sizes = call.list("inputdimensions")
    return (Shape((_rows(call), sum(sizes) if sizes and min(sizes) > 0 else UNKNOWN)),)


def _vocabulary(call: Call) -> Results:
    return (Shape((1, _length(call, "string_vocabulary", "int64_vocabulary") or UNKNOWN)),)


def _one_row(_: Call) -> Results:
    return (Shape((1, UNKNOWN)),)


def _one_target(call: Call) -> Results:
    return (Shape((_rows(call), UNKNOWN)),)


# --- element types ----------------------------------------------------------------------------------------------------


def _label_type(_: Sequence[int], attributes: Attributes) -> int:
    return TensorProto.STRING if attributes.get("classlabels_strings") else TensorProto.INT64


def _other_type(types: Sequence[int], _: Attributes) -> int:
    """Return the other type of CategoryMapper: int64 for strings, strings for int64."""
    turned: Mapping[int, int] = {TensorProto.STRING: TensorProto.INT64, TensorProto.INT64: TensorProto.STRING}
    return turned.get(types[0] if types else 0, 0)


def _encoded_type(types: Sequence[int], attributes: Attributes) -> int:
    """Return the result type of LabelEncoder: the type of the values in the only value list; 0 if it is unknown.

    If only `classes_strings` is present, strings become int64 and int64 becomes strings.
    """
    values = {
        "values_strings": TensorProto.STRING,
        "values_int64s": TensorProto.INT64,
        "values_floats": TensorProto.FLOAT,
    }
    found = [code for name, code in values.items() if attributes.get(name)]
    if found or "classes_strings" not in attributes:
        return found[0] if len(found) == 1 else 0
    return _other_type(types, attributes)


def _cast_type(_: Sequence[int], attributes: Attributes) -> int:
    codes = {"TO_FLOAT": TensorProto.FLOAT, "TO_INT64": TensorProto.INT64, "TO_STRING": TensorProto.STRING}
    return codes.get(str(attributes.get("cast_to", "TO_FLOAT")), 0)


OPERATORS: Mapping[tuple[str, str], Operator] = {
    **{(DOMAIN, op): Operator(first, SAME) for op in ("Binarizer", "Imputer")},
    **{(DOMAIN, op): Operator(first, (FLOAT,)) for op in ("Normalizer", "Scaler")},
    (DOMAIN, "ArrayFeatureExtractor"): Operator(_extracted, SAME),
    (DOMAIN, "CastMap"): Operator(_one_row, (_cast_type,)),
    (DOMAIN, "CategoryMapper"): Operator(first, (_other_type,)),
    (DOMAIN, "DictVectorizer"): Operator(_vocabulary, (NO_TENSOR,)),
    (DOMAIN, "FeatureVectorizer"): Operator(_features, (FLOAT,)),
    (DOMAIN, "LabelEncoder"): Operator(first, (_encoded_type,)),
    (DOMAIN, "LinearClassifier"): Operator(_linear_classes, (_label_type, FLOAT)),
    (DOMAIN, "LinearRegressor"): Operator(lambda call: _targets(call, "targets"), (FLOAT,)),
    (DOMAIN, "OneHotEncoder"): Operator(_one_hot, (FLOAT,)),
    (DOMAIN, "SVMClassifier"): Operator(lambda call: _classified(call, UNKNOWN), (_label_type, FLOAT)),
    (DOMAIN, "SVMRegressor"): Operator(_one_target, (FLOAT,)),
    (DOMAIN, "TreeEnsemble"): Operator(lambda call: _targets(call, "n_targets"), SAME),
    (DOMAIN, "TreeEnsembleClassifier"): Operator(_tree_classes, (_label_type, FLOAT)),
    (DOMAIN, "TreeEnsembleRegressor"): Operator(lambda call: _targets(call, "n_targets"), (FLOAT,)),
    (DOMAIN, "ZipMap"): Operator(lambda _: NOTHING, (NO_TENSOR,)),
}
