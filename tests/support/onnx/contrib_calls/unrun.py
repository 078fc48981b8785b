"""Operators with a CPU kernel that no model of one node runs, and what onnxruntime says of it."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, Key

UNRUN: Mapping[Key, str] = {
    (MICROSOFT, "SparseAttention"): "past_key->DataRaw() == present_key->DataRaw()",
    (MICROSOFT, "SparseToDenseMatMul"): "Type 'tensor(float)' of input parameter (o0)",
}
"""SparseAttention wants past and present in one buffer, which I/O binding alone gives: test_contrib_audit.py does.
The first operand of SparseToDenseMatMul is a sparse tensor: `InferenceSession.run` takes none, and a sparse initializer
is dense once the model is loaded."""
