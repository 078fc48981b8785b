"""Decoders of text, as transformers has them: with a past of keys and values, rotary positions, windows."""

from __future__ import annotations

from typing import Any

import transformers as tf
from torch import Tensor, nn

from models.exporting.feeds import Feed, ids, mask, numbers, positions
from models.exporting.from_pytorch.case import Case, Writing, dynamo, legacy

WORDS = 40
_SIZES = (
    {"batch": 2, "sequence": 3, "past": 4, "total": 7},
    {"batch": 3, "sequence": 5, "past": 6, "total": 11},
    {"batch": 1, "sequence": 1, "past": 9, "total": 10},
)
_PROMPTS = ({"batch": 2, "sequence": 7}, {"batch": 3, "sequence": 11})
_LLAMA = {
    "vocab_size": WORDS,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "attn_implementation": "eager",
}


class Decoder(nn.Module):
    """A decoder without a past: token ids and mask in, logits out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)[0]


class WithPast(nn.Module):
    """A decoder with a past: the keys and values of each layer go in, and come out longer by the new tokens."""

    def __init__(self, model: Any, placed: bool = True) -> None:  # noqa: ANN401 - any causal model
        super().__init__()
        self.model = model
        self.placed = placed

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, *past: Tensor) -> Any:  # noqa: ANN401
        cache = tf.DynamicCache(list(zip(past[::2], past[1::2], strict=True)))
        more = {"position_ids": position_ids} if self.placed else {}
        found = self.model(
            input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True, **more
        )
        layers = found.past_key_values.layers
        return found.logits, *(tensor for layer in layers for tensor in (layer.keys, layer.values))


class OfTwoLayers(WithPast):
    """The same with its arguments written out, as torch.export wants them."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        position_ids: Tensor,
        k0: Tensor,
        v0: Tensor,
        k1: Tensor,
        v1: Tensor,
    ) -> Any:  # noqa: ANN401
        return super().forward(input_ids, attention_mask, position_ids, k0, v0, k1, v1)


class OfOneLayer(WithPast):
    """The same for a single layer."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, k0: Tensor, v0: Tensor) -> Any:  # noqa: ANN401
        return super().forward(input_ids, attention_mask, position_ids, k0, v0)


def _past_case(name: str, build: Any, heads: int, depth: int, layers: int, *writings: Writing) -> Case:  # noqa: ANN401
    """A decoder step: `past` tokens before, `sequence` new ones, a mask over both."""
    inputs: dict[str, Feed] = {
        "input_ids": ids(WORDS, "batch", "sequence"),
        "attention_mask": mask("batch", "total"),
        "position_ids": positions("batch", "sequence"),
    }
    kept = [f"{layer}.{each}" for layer in range(layers) for each in ("key", "value")]
    inputs |= {f"past_key_values.{each}": numbers("batch", heads, "past", depth) for each in kept}
    return Case(name, build, inputs, ("logits", *(f"present.{each}" for each in kept)), _SIZES, writings)


def _prompt_case(name: str, build: Any, *writings: Writing) -> Case:  # noqa: ANN401
    inputs = {"input_ids": ids(WORDS, "batch", "sequence"), "attention_mask": mask("batch", "sequence")}
    return Case(name, build, inputs, ("logits",), _PROMPTS, writings)


def _gpt2_config() -> Any:  # noqa: ANN401
    return tf.GPT2Config(vocab_size=WORDS, n_embd=16, n_layer=1, n_head=2, n_positions=64, attn_implementation="eager")


def _llama(layers: int, **more: Any) -> nn.Module:  # noqa: ANN401
    return tf.LlamaForCausalLM(tf.LlamaConfig(**_LLAMA | {"num_hidden_layers": layers} | more))


def _qwen2() -> nn.Module:
    return OfOneLayer(tf.Qwen2ForCausalLM(tf.Qwen2Config(**_LLAMA, num_hidden_layers=1)))


def _qwen3() -> nn.Module:
    return OfOneLayer(tf.Qwen3ForCausalLM(tf.Qwen3Config(**_LLAMA, num_hidden_layers=1, head_dim=8)))


def _mistral() -> nn.Module:
    return Decoder(tf.MistralForCausalLM(tf.MistralConfig(**_LLAMA, num_hidden_layers=1, sliding_window=4)))


def _gemma2() -> nn.Module:
    config = tf.Gemma2Config(
        **_LLAMA, num_hidden_layers=2, head_dim=8, sliding_window=4, query_pre_attn_scalar=8, pad_token_id=0
    )
    return Decoder(tf.Gemma2ForCausalLM(config))


def _neox() -> nn.Module:
    config = tf.GPTNeoXConfig(**_LLAMA | {"num_key_value_heads": 4}, num_hidden_layers=1, rotary_pct=0.5)
    return Decoder(tf.GPTNeoXForCausalLM(config))


def _bloom() -> nn.Module:
    return Decoder(tf.BloomForCausalLM(tf.BloomConfig(vocab_size=WORDS, hidden_size=16, n_layer=1, n_head=2)))


def _opt() -> nn.Module:
    config = tf.OPTConfig(
        vocab_size=WORDS,
        hidden_size=16,
        num_hidden_layers=1,
        ffn_dim=24,
        num_attention_heads=2,
        max_position_embeddings=48,
        word_embed_proj_dim=16,
        attn_implementation="eager",
    )
    return Decoder(tf.OPTForCausalLM(config))


CASES = (
    _prompt_case("gpt2", lambda: Decoder(tf.GPT2LMHeadModel(_gpt2_config())), legacy(13), dynamo(18)),
    _past_case("gpt2_past", lambda: OfOneLayer(tf.GPT2LMHeadModel(_gpt2_config())), 2, 8, 1, legacy(14), dynamo(20)),
    _past_case(
        "llama_past",
        lambda: OfTwoLayers(_llama(2)),
        2,
        4,
        2,
        legacy(14),
        dynamo(18, simplified=False),
        dynamo(22),
    ),
    _past_case(
        "llama_sdpa_past",
        lambda: OfOneLayer(_llama(1, attn_implementation="sdpa")),
        2,
        4,
        1,
        legacy(17, simplified=False),
        dynamo(19),
    ),
    _past_case("qwen2_past", _qwen2, 2, 4, 1, legacy(15), dynamo(21)),
    _past_case("qwen3_past", _qwen3, 2, 8, 1, dynamo(18)),
    _prompt_case("mistral_window", _mistral, legacy(17), dynamo(18)),
    _prompt_case("gemma2", _gemma2, dynamo(22)),
    _prompt_case("gpt_neox", _neox, legacy(12), dynamo(18, simplified=False)),
    _prompt_case("bloom_alibi", _bloom, legacy(14), dynamo(18)),
    _prompt_case("opt", _opt, legacy(19)),
)
