"""Encoders of text, as transformers has them: masks, absolute, relative and disentangled positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as tf
from torch import Tensor, nn

from models.exporting.feeds import Feed, ids, mask
from models.exporting.from_pytorch.case import Case, Writing, dynamo, legacy

WORDS = 40
_SIZES = ({"batch": 2, "sequence": 7}, {"batch": 3, "sequence": 11}, {"batch": 1, "sequence": 4})
_SMALL = {
    "vocab_size": WORDS,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 48,
    "attn_implementation": "eager",
}


class Encoder(nn.Module):
    """An encoder: token ids and mask in, hidden states out."""

    def __init__(self, model: nn.Module, pooled: bool = False) -> None:
        super().__init__()
        self.model = model
        self.pooled = pooled

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:  # noqa: ANN401 - one tensor or two
        found = self.model(input_ids=input_ids, attention_mask=attention_mask)
        return (found.last_hidden_state, found.pooler_output) if self.pooled else found[0]


class MeanPooled(Encoder):
    """A sentence embedding: the mean over the tokens that the mask keeps, of length one."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        tokens = self.model(input_ids=input_ids, attention_mask=attention_mask)[0]
        kept = attention_mask.unsqueeze(-1).expand(tokens.size()).float()
        mean = torch.sum(tokens * kept, 1) / torch.clamp(kept.sum(1), min=1e-9)
        return torch.nn.functional.normalize(mean, p=2.0, dim=1)


class Typed(nn.Module):
    """A classifier of sentence pairs: token ids, mask and token types in, logits out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]


def _inputs() -> dict[str, Feed]:
    return {"input_ids": ids(WORDS, "batch", "sequence"), "attention_mask": mask("batch", "sequence")}


def _encoder(
    name: str, build: Callable[[], nn.Module], *writings: Writing, outputs: tuple[str, ...] = ("last_hidden_state",)
) -> Case:
    return Case(name, build, _inputs(), outputs, _SIZES, writings)


def _bert() -> nn.Module:
    return Encoder(tf.BertModel(tf.BertConfig(**_SMALL)), pooled=True)


def _bert_pair() -> nn.Module:
    config = tf.BertConfig(**_SMALL | {"attn_implementation": "sdpa"}, num_labels=3)
    return Typed(tf.BertForSequenceClassification(config))


def _distilbert() -> nn.Module:
    config = tf.DistilBertConfig(
        vocab_size=WORDS,
        dim=16,
        n_layers=1,
        n_heads=2,
        hidden_dim=24,
        max_position_embeddings=48,
        attn_implementation="eager",
    )
    return MeanPooled(tf.DistilBertModel(config))


def _roberta() -> nn.Module:
    return Encoder(
        tf.RobertaForTokenClassification(tf.RobertaConfig(**_SMALL | {"num_hidden_layers": 1}, num_labels=5))
    )


def _mpnet() -> nn.Module:
    return MeanPooled(
        tf.MPNetModel(tf.MPNetConfig(**_SMALL | {"num_hidden_layers": 1}, relative_attention_num_buckets=32))
    )


def _deberta() -> nn.Module:
    config = tf.DebertaV2Config(
        **_SMALL | {"num_hidden_layers": 1},
        relative_attention=True,
        position_buckets=8,
        pos_att_type=["c2p", "p2c"],
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        position_biased_input=False,
    )
    return Encoder(tf.DebertaV2Model(config))


def _albert() -> nn.Module:
    return Encoder(tf.AlbertForMaskedLM(tf.AlbertConfig(**_SMALL | {"num_hidden_layers": 1}, embedding_size=8)))


def _t5_encoder() -> nn.Module:
    config = tf.T5Config(
        vocab_size=WORDS, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu"
    )
    config._attn_implementation = "eager"  # noqa: SLF001
    return Encoder(tf.T5EncoderModel(config))


def _modernbert() -> nn.Module:
    config = tf.ModernBertConfig(**_SMALL, local_attention=6, global_attn_every_n_layers=2, pad_token_id=0)
    return Encoder(tf.ModernBertModel(config))


CASES = (
    _encoder("bert", _bert, legacy(11), dynamo(18), outputs=("last_hidden_state", "pooled")),
    Case(
        "bert_pair",
        _bert_pair,
        {**_inputs(), "token_type_ids": ids(2, "batch", "sequence")},
        ("logits",),
        _SIZES,
        (legacy(14, simplified=False), dynamo(20, simplified=False), dynamo(23)),
    ),
    _encoder("distilbert", _distilbert, legacy(13), dynamo(21), outputs=("sentence_embedding",)),
    _encoder("roberta", _roberta, legacy(12), dynamo(19), outputs=("logits",)),
    _encoder("mpnet", _mpnet, legacy(14), dynamo(18), outputs=("sentence_embedding",)),
    _encoder("deberta", _deberta, legacy(15), dynamo(22)),
    _encoder("albert", _albert, legacy(16), outputs=("logits",)),
    _encoder("t5_encoder", _t5_encoder, legacy(13), dynamo(18)),
    _encoder("modernbert", _modernbert, legacy(17), dynamo(20)),
)
