"""Operators of which onnxruntime infers other sizes when it loads a model than its kernel returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from graphfix.results.runtime_facts import EVERY, Versions
from tests.support.onnx.contrib_calls.drawing import MICROSOFT, NCHWC, STANDARD, Key


class Wrong(NamedTuple):
    """When the inference is wrong, and in which versions of onnxruntime."""

    case: str
    versions: Versions = EVERY


WRONG_AT_LOAD: Mapping[Key, Wrong] = {
    (STANDARD, "Attention"): Wrong(
        "q and v of rank 3, the last size of v a symbol: the result's last size is inferred as 0"
    ),
    (STANDARD, "SimplifiedLayerNormalization"): Wrong(
        "an axis before the last: inv_std_var is inferred with 1 at that axis alone, and has 1 from that axis on"
    ),
    (MICROSOFT, "Attention"): Wrong("the last size of the weights a symbol: the result's last size is inferred as 0"),
    (MICROSOFT, "GatherND"): Wrong("one axis too many is inferred for indices that are not as long as the data's rank"),
    (MICROSOFT, "GroupQueryAttention"): Wrong(
        "the length of past is known: present is inferred to be as long as past", Versions(before="1.32")
    ),
    (MICROSOFT, "NhwcMaxPool"): Wrong(
        "auto_pad SAME_* with dilations: the kernel leaves the dilations out of the padding"
    ),
    (MICROSOFT, "QAttention"): Wrong("the last size of the weights a symbol: the result's last size is inferred as 0"),
    (MICROSOFT, "Tokenizer"): Wrong(
        "no text: an axis of tokens is inferred, and the kernel returns the operand's shape"
    ),
    (MICROSOFT, "WhisperBeamSearch"): Wrong("scores: max_length is inferred, the kernel subtracts the prompt's length"),
    (NCHWC, "MaxPool"): Wrong("auto_pad SAME_* with dilations: the kernel leaves the dilations out of the padding"),
}
