"""Rules for the operators of ai.onnx.ml: encoders, classifiers, regressors and ensembles of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.contrib.results import Result, kind_of, same_as, typed, unknown, with_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

MATRIX = 2
"""The rank of data [rows,features]."""
_CASTS = {b"TO_FLOAT": TensorProto.FLOAT, b"TO_STRING": TensorProto.STRING, b"TO_INT64": TensorProto.INT64}
_OTHER: Mapping[int, int] = {TensorProto.STRING: TensorProto.INT64, TensorProto.INT64: TensorProto.STRING}
_VALUES = {
    "values_strings": TensorProto.STRING, "values_int64s": TensorProto.INT64, "values_floats": TensorProto.FLOAT,
}  # fmt: skip


def _extracted(call: Call) -> Dims:
    """Return the dims of an ArrayFeatureExtractor: columns of data[...,features].

    A vector becomes a row, [1, columns].
    """
    data, indices = call.sizes(0), call.sizes(1)
    if not data or indices is None:
        return None
    count = call.table.arithmetic.mul(*indices)
    return (1, count) if len(data) == 1 else (*data[:-1], count)


def _other_text(call: Call) -> Kind:
    """Return the type of a CategoryMapper or LabelEncoder 1: int64 for strings, string for int64.

    Return None for an operand of another type.
    """
    kind = kind_of(0)(call)
    return _OTHER.get(kind) if isinstance(kind, int) else None


def _encoded(call: Call) -> Kind:
    """Return the type of a LabelEncoder: the type of the attribute that contains the values; None if it is unknown."""
    if call.version == 1:
        return _other_text(call)
    found = [int(kind) for name, kind in _VALUES.items() if name in call.attributes]
    tensor = call.attributes.get("values_tensor")
    found += [] if tensor is None else [tensor.t.data_type]
    return found[0] if len(found) == 1 else None


def _label_kind(call: Call) -> Kind:
    """Return the type of a classifier's label: string if the class labels are strings, int64 for integers.

    Return None if the node has no class labels.
    """
    names = call.attributes.get("classlabels_strings")
    if names is not None and names.strings:
        return TensorProto.STRING
    given = next((call.attributes[name] for name in _NUMBERED if name in call.attributes), None)
    return None if given is None or not given.ints else TensorProto.INT64


_NUMBERED = ("classlabels_ints", "classlabels_int64s")


def _rows(call: Call) -> Size | None:
    """Return the number of rows of data[rows,features]; None if operand 0 is not a matrix."""
    data = call.sizes(0)
    return None if data is None or len(data) != MATRIX else data[0]


def _labels(call: Call) -> Dims:
    """Return the dims of a classifier's labels: [rows]."""
    rows = _rows(call)
    return None if rows is None else (rows,)


def _scores(call: Call) -> Dims:
    """Return the dims [rows, None] of scores.

    Their number is unknown, because a classifier of two classes may return one score.
    """
    rows = _rows(call)
    return None if rows is None else (rows, None)


def _targets(name: str) -> Result:
    """Return the rules of a float32 result [rows, targets].

    The attribute `name` contains the number of targets, 1 by default.
    """

    def rule(call: Call) -> Dims:
        rows, count = _rows(call), call.integer(name, 1)
        return None if rows is None or count < 1 else (rows, count)

    return typed(TensorProto.FLOAT, rule)


def _one_hot(call: Call) -> Dims:
    """Return the dims of a OneHotEncoder: the operand's shape, then the number of categories."""
    data, names = call.sizes(0), call.attributes.get("cats_strings")
    numbered = call.attributes.get("cats_int64s")
    counts = [len(given) for given in (names and names.strings, numbered and numbered.ints) if given]
    return None if data is None or len(counts) != 1 else (*data, counts[0])


def _joined(call: Call) -> Dims:
    """Return the dims of a FeatureVectorizer, which joins the features of all operands: [rows, features].

    The attribute `inputdimensions` contains the number of features of each operand.
    """
    rows, counts = _rows(call), call.integers("inputdimensions")
    if rows is None:
        return None
    return rows, sum(counts) if counts and len(counts) == len(call.views) and min(counts) >= 0 else None


_FLOATS = typed(TensorProto.FLOAT, same_as(0).sizes)
_CLASSIFIER = (Result(_labels, _label_kind), typed(TensorProto.FLOAT, _scores))
OPERATORS: Operators = {
    "ArrayFeatureExtractor": (with_sizes(0, _extracted),),
    "Binarizer": (same_as(0),),
    "Imputer": (same_as(0),),
    "Normalizer": (_FLOATS,),
    "Scaler": (_FLOATS,),
    "CategoryMapper": (Result(same_as(0).sizes, _other_text),),
    "LabelEncoder": (Result(same_as(0).sizes, _encoded),),
    "OneHotEncoder": (typed(TensorProto.FLOAT, _one_hot),),
    "FeatureVectorizer": (typed(TensorProto.FLOAT, _joined),),
    "DictVectorizer": (Result(lambda _: (1, None), unknown),),
    "CastMap": (Result(lambda _: (1, None), lambda call: _CASTS.get(call.text("cast_to", b"TO_FLOAT"))),),
    "LinearClassifier": _CLASSIFIER,
    "SVMClassifier": _CLASSIFIER,
    "TreeEnsembleClassifier": _CLASSIFIER,
    "LinearRegressor": (_targets("targets"),),
    "SVMRegressor": (typed(TensorProto.FLOAT, _scores),),
    "TreeEnsembleRegressor": (_targets("n_targets"),),
    "TreeEnsemble": (with_sizes(0, _targets("n_targets").sizes),),
}  # fmt: skip
