"""Text models of the transformers library (tiny, one layer), called as its users call them before they convert."""

from __future__ import annotations

from typing import Any

from models.exporting.from_keras.layers import Call, Layer, Tensor
from models.exporting.from_keras.model import floats, function, ids, mask

VOCABULARY = 60
SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
}
TOKENS = ids("tokens", VOCABULARY, "B", "T")
MASK = mask("mask", "B", "T")


def _encoder(model: Layer) -> Call:
    """Return the last hidden state of an encoder."""

    def call(tokens: Tensor, mask: Tensor) -> Tensor:
        return model(input_ids=tokens, attention_mask=mask).last_hidden_state

    return call


def bert() -> Call:
    """Return BERT: post-norm, a mask of [B,1,1,T], learned positions."""
    from transformers import BertConfig, TFBertModel

    return _encoder(TFBertModel(BertConfig(**SMALL)))


def bert_pooled() -> Call:
    """Return BERT with segments and its pooled first token."""
    from transformers import BertConfig, TFBertModel

    model = TFBertModel(BertConfig(**{**SMALL, "hidden_size": 16}))

    def call(tokens: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        made = model(input_ids=tokens, attention_mask=mask, token_type_ids=segments)
        return {"hidden": made.last_hidden_state, "pooled": made.pooler_output}

    return call


def roberta() -> Call:
    """Return RoBERTa: positions are a running sum over tokens that are no padding."""
    from transformers import RobertaConfig, TFRobertaModel

    return _encoder(TFRobertaModel(RobertaConfig(**SMALL)))


def albert() -> Call:
    """Return ALBERT: factorized embeddings, einsum-free attention."""
    from transformers import AlbertConfig, TFAlbertModel

    return _encoder(TFAlbertModel(AlbertConfig(**SMALL, embedding_size=16)))


def mobilebert() -> Call:
    """Return MobileBERT: bottlenecks, and norms without statistics."""
    from transformers import MobileBertConfig, TFMobileBertModel

    config = MobileBertConfig(**SMALL, embedding_size=16, intra_bottleneck_size=16, num_feedforward_networks=2)
    return _encoder(TFMobileBertModel(config))


def mpnet() -> Call:
    """Return MPNet: relative positions in logarithmic buckets."""
    from transformers import MPNetConfig, TFMPNetModel

    return _encoder(TFMPNetModel(MPNetConfig(**SMALL)))


def deberta() -> Call:
    """Return DeBERTa-v2: disentangled attention, content to position and position to content."""
    from transformers import DebertaV2Config, TFDebertaV2Model

    config = DebertaV2Config(
        **SMALL, relative_attention=True, position_buckets=8, pos_att_type=["c2p", "p2c"], max_relative_positions=16
    )
    return _encoder(TFDebertaV2Model(config))


def roformer() -> Call:
    """Return RoFormer: rotary positions, interleaved."""
    from transformers import RoFormerConfig, TFRoFormerModel

    return _encoder(TFRoFormerModel(RoFormerConfig(**SMALL, embedding_size=32)))


def convbert() -> Call:
    """Return ConvBERT: span convolutions beside attention."""
    from transformers import ConvBertConfig, TFConvBertModel

    return _encoder(TFConvBertModel(ConvBertConfig(**SMALL, embedding_size=32, conv_kernel_size=3)))


def xlnet() -> Call:
    """Return XLNet: relative attention by einsum and a shift."""
    from transformers import TFXLNetModel, XLNetConfig

    return _encoder(TFXLNetModel(XLNetConfig(vocab_size=VOCABULARY, d_model=32, n_layer=1, n_head=4, d_inner=64)))


def _gpt2() -> Layer:
    from transformers import GPT2Config, TFGPT2LMHeadModel

    return TFGPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=1, n_head=4, n_positions=40))


def gpt2() -> Call:
    """Return GPT-2 over a whole prompt, its keys and values beside the logits."""
    model = _gpt2()

    def call(tokens: Tensor, mask: Tensor) -> Tensor:
        made = model(input_ids=tokens, attention_mask=mask, use_cache=True)
        return {"logits": made.logits, "past": made.past_key_values[0]}

    return call


def gpt2_past() -> Call:
    """Return a step of GPT-2 behind a past of any length."""
    model = _gpt2()

    def call(tokens: Tensor, past: Tensor) -> Tensor:
        made = model(input_ids=tokens, past_key_values=[past], use_cache=True)
        return {"logits": made.logits, "past": made.past_key_values[0]}

    return call


def opt() -> Call:
    """Return OPT: a causal decoder whose mask and positions are expanded to the batch."""
    from transformers import OPTConfig, TFOPTModel

    config = OPTConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=1, ffn_dim=64, num_attention_heads=4,
        max_position_embeddings=40, word_embed_proj_dim=32,
    )  # fmt: skip
    return _encoder(TFOPTModel(config))


def gptj() -> Call:
    """Return GPT-J: rotary positions on a part of each head, attention and feed-forward side by side."""
    from transformers import GPTJConfig, TFGPTJModel

    return _encoder(
        TFGPTJModel(GPTJConfig(vocab_size=VOCABULARY, n_embd=32, n_layer=1, n_head=4, rotary_dim=4, n_positions=40))
    )


def t5() -> Call:
    """Return T5: an encoder and a decoder, relative positions in buckets, norms without a mean."""
    from transformers import T5Config, TFT5Model

    model = TFT5Model(T5Config(vocab_size=VOCABULARY, d_model=16, d_kv=4, d_ff=32, num_layers=1, num_heads=4))

    def call(tokens: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        return model(input_ids=tokens, attention_mask=mask, decoder_input_ids=target).last_hidden_state

    return call


def bart() -> Call:
    """Return BART: cross attention, a causal mask and an expanded one."""
    from transformers import BartConfig, TFBartModel

    config = BartConfig(
        vocab_size=VOCABULARY, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=40,
    )  # fmt: skip
    model = TFBartModel(config)

    def call(tokens: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        return model(input_ids=tokens, attention_mask=mask, decoder_input_ids=target).last_hidden_state

    return call


_TEXT = (TOKENS, MASK)
_PAIR = (*_TEXT, ids("target", VOCABULARY, "B", "S"))

MODELS = (
    function("bert", bert, _TEXT, "free fixed free_fp16 free_dynamic fixed_int8"),
    function("bert_pooled", bert_pooled, (*_TEXT, ids("segments", 2, "B", "T")), "free"),
    function("roberta", roberta, _TEXT, "free"),
    function("albert", albert, _TEXT, "free"),
    function("mobilebert", mobilebert, _TEXT, "free fixed_int8"),
    function("mpnet", mpnet, _TEXT, "batch"),
    function("deberta", deberta, _TEXT, "batch"),
    function("roformer", roformer, _TEXT, "free"),
    function("convbert", convbert, _TEXT, "free"),
    function("xlnet", xlnet, _TEXT, "batch"),
    function("gpt2", gpt2, _TEXT, "free free_dynamic"),
    function("gpt2_past", gpt2_past, (ids("tokens", VOCABULARY, "B", "T"), floats("past", 2, "B", 4, "P", 8)), "free"),
    function("opt", opt, _TEXT, "batch"),
    function("gptj", gptj, _TEXT, "batch"),
    function("t5", t5, _PAIR, "batch fixed"),
    function("bart", bart, _PAIR, "batch"),
)
