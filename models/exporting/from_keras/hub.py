"""Backbones of KerasHub (tiny, one layer), called with the inputs that their users give."""

from __future__ import annotations

from typing import Any

from models.exporting.from_keras.layers import Call, Layer, Tensor
from models.exporting.from_keras.model import function, ids, mask

VOCABULARY = 60
SMALL: dict[str, Any] = {"vocabulary_size": VOCABULARY, "num_layers": 1, "hidden_dim": 32, "intermediate_dim": 64}


def _decoder(model: Layer) -> Call:
    """Return the hidden states of a decoder over a prompt."""

    def call(tokens: Tensor, mask: Tensor) -> Tensor:
        return model({"token_ids": tokens, "padding_mask": mask})

    return call


def gemma() -> Call:
    """Return Gemma: rotary positions, one key head for four, a gated feed-forward."""
    from keras_hub.models import GemmaBackbone

    return _decoder(GemmaBackbone(**SMALL, num_query_heads=4, num_key_value_heads=1, head_dim=8))


def mixtral() -> Call:
    """Return Mixtral: three experts, two for each token."""
    from keras_hub.models import MixtralBackbone

    small = {**SMALL, "intermediate_dim": 32}
    return _decoder(MixtralBackbone(**small, num_query_heads=4, num_key_value_heads=2, num_experts=3, top_k=2))


def bloom() -> Call:
    """Return BLOOM: slopes of ALiBi over a causal mask."""
    from keras_hub.models import BloomBackbone

    return _decoder(BloomBackbone(**SMALL, num_heads=4))


def gpt_neox() -> Call:
    """Return GPT-NeoX: rotary positions on a part of each head."""
    from keras_hub.models import GPTNeoXBackbone

    return _decoder(GPTNeoXBackbone(**SMALL, num_heads=4, max_sequence_length=32))


def bart() -> Call:
    """Return BART with both masks."""
    from keras_hub.models import BartBackbone

    small = {**SMALL, "hidden_dim": 16, "intermediate_dim": 32}
    model = BartBackbone(**small, num_heads=4, max_sequence_length=16)

    def call(tokens: Tensor, mask: Tensor, target: Tensor, target_mask: Tensor) -> Tensor:
        given = {"encoder_token_ids": tokens, "encoder_padding_mask": mask}
        given |= {"decoder_token_ids": target, "decoder_padding_mask": target_mask}
        return model(given)["decoder_sequence_output"]

    return call


_TEXT = (ids("tokens", VOCABULARY, "B", "T"), mask("mask", "B", "T"))

MODELS = (
    function("gemma", gemma, _TEXT, "batch"),
    function("mixtral", mixtral, _TEXT, "batch"),
    function("bloom", bloom, _TEXT, "free"),
    function("gpt_neox", gpt_neox, _TEXT, "free"),
    function("hub_bart", bart, (*_TEXT, ids("target", VOCABULARY, "B", "S"), mask("target_mask", "B", "S")), "free"),
)
