"""Models of images, sound and their pairs with text from the transformers library (tiny, one or two layers)."""

from __future__ import annotations

from typing import Any

from models.exporting.from_keras.layers import Call, Layer, Tensor
from models.exporting.from_keras.model import floats, function, ids, mask

VOCABULARY = 60


def _pixels(model: Layer) -> Call:
    """Return the last hidden state of a model of images."""

    def call(pixels: Tensor) -> Tensor:
        return model(pixel_values=pixels).last_hidden_state

    return call


def vit() -> Call:
    """Return ViT: patches, a class token that is repeated over the batch, learned positions."""
    from transformers import TFViTModel, ViTConfig

    config = ViTConfig(
        image_size=24, patch_size=8, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64
    )
    return _pixels(TFViTModel(config))


def swin() -> Call:
    """Return Swin: windows of 4 by 4, the second layer's shifted by a roll and masked."""
    from transformers import SwinConfig, TFSwinModel

    config = SwinConfig(
        image_size=32, patch_size=4, embed_dim=16, depths=[2], num_heads=[2], window_size=4, mlp_ratio=2.0
    )
    return _pixels(TFSwinModel(config))


def segformer() -> Call:
    """Return SegFormer: attention with reduced keys, and a head that resizes every level to the finest."""
    from transformers import SegformerConfig, TFSegformerForSemanticSegmentation

    config = SegformerConfig(
        num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 1], hidden_sizes=[8, 16], patch_sizes=[7, 3], strides=[4, 2],
        num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=8, num_labels=5,
    )  # fmt: skip
    model = TFSegformerForSemanticSegmentation(config)

    def call(pixels: Tensor) -> Tensor:
        return model(pixel_values=pixels).logits

    return call


def convnext() -> Call:
    """Return ConvNeXt: depthwise 7 by 7 convolutions, layer norms of channels, layer scale."""
    from transformers import ConvNextConfig, TFConvNextModel

    return _pixels(TFConvNextModel(ConvNextConfig(num_stages=2, hidden_sizes=[8, 16], depths=[1, 1], image_size=32)))


def regnet() -> Call:
    """Return RegNet with squeeze and excitation."""
    from transformers import RegNetConfig, TFRegNetModel

    config = RegNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4, layer_type="y")
    return _pixels(TFRegNetModel(config))


def clip() -> Call:
    """Return CLIP: two towers, cosine logits of every text with every image."""
    from transformers import CLIPConfig, CLIPTextConfig, CLIPVisionConfig, TFCLIPModel

    shared: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    text = CLIPTextConfig(**shared, vocab_size=VOCABULARY, max_position_embeddings=16, eos_token_id=2)
    vision = CLIPVisionConfig(**shared, image_size=16, patch_size=8)
    model = TFCLIPModel(CLIPConfig.from_text_vision_configs(text, vision, projection_dim=16))

    def call(tokens: Tensor, mask: Tensor, pixels: Tensor) -> Tensor:
        made = model(input_ids=tokens, attention_mask=mask, pixel_values=pixels)
        return {"text": made.logits_per_text, "image": made.logits_per_image}

    return call


def _whisper() -> Layer:
    from transformers import TFWhisperModel, WhisperConfig

    config = WhisperConfig(
        vocab_size=VOCABULARY, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32,
        max_source_positions=10,
        max_target_positions=12, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    return TFWhisperModel(config)


def whisper() -> Call:
    """Return Whisper: an encoder over 20 frames, a decoder with a causal mask and cross attention."""
    model = _whisper()

    def call(features: Tensor, tokens: Tensor) -> Tensor:
        return model(input_features=features, decoder_input_ids=tokens).last_hidden_state

    return call


def speech2text() -> Call:
    """Return Speech2Text: strided convolutions shorten the mask, too."""
    from transformers import Speech2TextConfig, TFSpeech2TextModel

    config = Speech2TextConfig(
        vocab_size=VOCABULARY, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=40,
        max_target_positions=16, input_feat_per_channel=8, conv_channels=16,
    )  # fmt: skip
    model = TFSpeech2TextModel(config)

    def call(features: Tensor, mask: Tensor, tokens: Tensor) -> Tensor:
        return model(input_features=features, attention_mask=mask, decoder_input_ids=tokens).last_hidden_state

    return call


_TEXT = (ids("tokens", VOCABULARY, "B", "T"), mask("mask", "B", "T"))

MODELS = (
    function("vit", vit, (floats("pixels", "B", 3, 24, 24),), "batch fixed_int8"),
    function("swin", swin, (floats("pixels", "B", 3, "H", "W"),), "fixed", H=(32, 32), W=(32, 32)),
    function("segformer", segformer, (floats("pixels", "B", 3, "H", "W"),), "free", H=(32, 48), W=(48, 32)),
    function("convnext", convnext, (floats("pixels", "B", 3, "H", "W"),), "free", H=(32, 48), W=(48, 32)),
    function("regnet", regnet, (floats("pixels", "B", 3, "H", "W"),), "free", H=(32, 48), W=(48, 32)),
    function("clip", clip, (*_TEXT, floats("pixels", "N", 3, 16, 16)), "batch"),
    function("whisper", whisper, (floats("features", "B", 8, 20), ids("tokens", VOCABULARY, "B", "T")), "batch"),
    function(
        "speech2text",
        speech2text,
        (floats("features", "B", "T", 8), mask("mask", "B", "T"), ids("tokens", VOCABULARY, "B", "S")),
        "batch",
        T=(16, 24),
    ),
)
