"""Encoders and decoders that meet: T5, BART and Whisper as transformers has them."""

from __future__ import annotations

from typing import Any

import transformers as tf
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from models.exporting.feeds import Feed, ids, mask, numbers
from models.exporting.from_pytorch.case import Case, dynamo, legacy

WORDS = 40
_SIZES = (
    {"batch": 2, "sequence": 3, "source": 6, "past": 4},
    {"batch": 3, "sequence": 5, "source": 9, "past": 7},
)


class Seq2Seq(nn.Module):
    """Source and target tokens in, logits out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, decoder_input_ids: Tensor) -> Tensor:
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=decoder_input_ids, use_cache=False
        )[0]


class DecoderStep(nn.Module):
    """A decoder over a source that is encoded, with the keys and values of the past, of itself and of the source."""

    def __init__(self, model: Any, masked: bool = True) -> None:  # noqa: ANN401
        super().__init__()
        self.model = model
        self.masked = masked

    def forward(
        self,
        input_ids: Tensor,
        encoder_attention_mask: Tensor,
        states: Tensor,
        k: Tensor,
        v: Tensor,
        ck: Tensor,
        cv: Tensor,
    ) -> Any:  # noqa: ANN401
        own, cross = tf.DynamicCache([(k, v)]), tf.DynamicCache([(ck, cv)])
        found = self.model(
            decoder_input_ids=input_ids,
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            past_key_values=tf.EncoderDecoderCache(own, cross),
            use_cache=True,
            **({"attention_mask": encoder_attention_mask} if self.masked else {}),
        )
        layer = found.past_key_values.self_attention_cache.layers[0]
        return found.logits, layer.keys, layer.values


class WhisperStep(nn.Module):
    """Whisper's: a source of sound has no mask, and all that is read of it are its keys and values."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.step = DecoderStep(model, masked=False)

    def forward(self, input_ids: Tensor, k: Tensor, v: Tensor, ck: Tensor, cv: Tensor) -> Any:  # noqa: ANN401
        states = ck.transpose(1, 2).flatten(2)
        return self.step(input_ids, input_ids, states, k, v, ck, cv)


class SoundEncoder(nn.Module):
    """Whisper's encoder: a log-mel spectrogram in, hidden states out."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.model = model.get_encoder()

    def forward(self, input_features: Tensor) -> Tensor:
        return self.model(input_features)[0]


def _t5() -> Any:  # noqa: ANN401
    config = tf.T5Config(
        vocab_size=WORDS,
        d_model=16,
        d_kv=8,
        d_ff=24,
        num_layers=1,
        num_heads=2,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=16,
    )
    config._attn_implementation = "eager"  # noqa: SLF001
    return tf.T5ForConditionalGeneration(config)


_BART = {
    "vocab_size": WORDS,
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "attn_implementation": "eager",
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}


def _bart() -> Any:  # noqa: ANN401
    return tf.BartForConditionalGeneration(tf.BartConfig(**_BART, max_position_embeddings=32))


def _whisper() -> Any:  # noqa: ANN401
    config = tf.WhisperConfig(**_BART, num_mel_bins=20, max_source_positions=10, max_target_positions=32)
    return tf.WhisperForConditionalGeneration(config)


def _pair() -> dict[str, Feed]:
    return {
        "input_ids": ids(WORDS, "batch", "source"),
        "attention_mask": mask("batch", "source"),
        "decoder_input_ids": ids(WORDS, "batch", "sequence"),
    }


def _step(source: int | str, masked: bool = True) -> dict[str, Feed]:
    kept = {f"past_key_values.0.decoder.{each}": numbers("batch", 2, "past", 8) for each in ("key", "value")}
    kept |= {f"past_key_values.0.encoder.{each}": numbers("batch", 2, source, 8) for each in ("key", "value")}
    first: dict[str, Feed] = {"input_ids": ids(WORDS, "batch", "sequence")}
    if masked:
        first["encoder_attention_mask"] = mask("batch", source)
        first["encoder_hidden_states"] = numbers("batch", source, 16)
    return first | kept


_KEPT = ("logits", "present.0.decoder.key", "present.0.decoder.value")

CASES = (
    Case("t5", lambda: Seq2Seq(_t5()), _pair(), ("logits",), _SIZES, (legacy(13), dynamo(18))),
    Case("t5_decoder_past", lambda: DecoderStep(_t5()), _step("source"), _KEPT, _SIZES, (legacy(14), dynamo(20))),
    Case("bart", lambda: Seq2Seq(_bart()), _pair(), ("logits",), _SIZES, (legacy(12), dynamo(19))),
    Case("bart_decoder_past", lambda: DecoderStep(_bart()), _step("source"), _KEPT, _SIZES, (legacy(15), dynamo(18))),
    Case(
        "whisper_encoder",
        lambda: SoundEncoder(_whisper()),
        {"input_features": numbers("batch", 20, 20)},
        ("last_hidden_state",),
        _SIZES,
        (legacy(14), dynamo(18)),
    ),
    Case(
        "whisper_decoder_past",
        lambda: WhisperStep(_whisper()),
        _step(10, masked=False),
        _KEPT,
        _SIZES,
        (legacy(17), dynamo(21)),
    ),
)
