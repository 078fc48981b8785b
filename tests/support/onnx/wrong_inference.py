"""Operators of which onnxruntime infers other sizes when it loads a model than its kernel returns, with the case."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, NCHWC, STANDARD, Key

WRONG_AT_LOAD: Mapping[Key, str] = {
    (
        STANDARD,
        "Attention",
    ): "rank 3 and a symbol as the last size of v: inferred as 0 (onnx multiplies the symbol's 0)",
    (
        STANDARD,
        "SimplifiedLayerNormalization",
    ): "axis before the last: inv_std_var is inferred to be 1 along the last axis"
    " alone; the kernel returns 1 along all axes from `axis` on",
    (MICROSOFT, "Attention"): "a symbol as the weights' last size: the result's last size is inferred as 0",
    (MICROSOFT, "GatherND"): "indices shorter than the data's rank: one axis too many is inferred",
    (MICROSOFT, "GroupQueryAttention"): "past of a known length: present is inferred to have the length of past",
    (
        MICROSOFT,
        "NhwcMaxPool",
    ): "auto_pad SAME_* with dilations: the kernel does not count the dilations in the padding",
    (MICROSOFT, "QAttention"): "a symbol as the weights' last size: the result's last size is inferred as 0",
    (MICROSOFT, "Tokenizer"): "no element: the kernel returns the shape of the operand, without an axis for tokens",
    (MICROSOFT, "WhisperBeamSearch"): "scores: max_length is inferred where the kernel subtracts the prompt's length",
    (NCHWC, "MaxPool"): "auto_pad SAME_* with dilations, as NhwcMaxPool",
}
"""Measured by `python -m pytest -m full tests/whole/test_contrib_audit.py -k load` with onnxruntime 1.31.1."""
