"""What torch-mlir can't take of ONNX on the way to TOSA, or takes and gets wrong, as tables (see `tosa`)."""

from __future__ import annotations

from graphfix.operators.tosa import CONDITION, LOOP, NO_FORM

UNSUPPORTED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("", "LSTM"), ("", "GRU"), ("", "RNN"), ("", "Loop"), ("", "Scan")), LOOP),
    ("", "If"): CONDITION,
    ("com.microsoft", "DynamicQuantizeLSTM"): LOOP,
    ("", "NonZero"): NO_FORM,
    ("", "NonMaxSuppression"): NO_FORM,
}
RESIZES = frozenset({("half_pixel", "linear"), ("align_corners", "linear"), ("half_pixel", "bilinear")})
ITSELF = {**dict.fromkeys(("float16", "float32", "int32", "int64"), "Max"), "bool": "Or"}
"""Element type -> the operator by which a constant of it becomes an operand of a Concat: of the constant and itself."""
