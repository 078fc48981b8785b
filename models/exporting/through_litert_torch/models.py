"""The models that litert-torch converts: modules, and inputs by signature. Only making a module needs PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from models.exporting.from_keras.model import Export, Input, Model, flags, floats, ids

_SINGLE = "serving_default"
_TOKENS = ids("tokens", 24, "B", "T")
_SEQUENCE = floats("x", "B", "T", 16)
_ONE = floats("x", 1, "T", 16)
_IMAGE = floats("image", "B", 3, 16, 16)
_SMALL = floats("image", "B", 3, 8, 8)


def _made(name: str) -> Callable[[str], Any]:
    """Return what builds a module when an expression over one of the modules with models is evaluated."""
    module, _, expression = name.partition(" ")

    def make(_signature: str) -> Any:  # noqa: ANN401 - a module of PyTorch
        names = vars(importlib.import_module(f"models.exporting.through_litert_torch.{module}"))
        others = vars(importlib.import_module("models.exporting.through_litert_torch.attention"))
        return eval(expression, {**others, **names})  # noqa: S307 - an expression of this file

    return make


def _model(name: str, expression: str, *inputs: Input, variants: str = "fixed", **sizes: tuple[int, int]) -> Model:
    """Return a model of one signature."""
    return Model(name, _made(expression), {_SINGLE: inputs}, tuple(variants.split()), "torch", sizes)


def _cache(steps: int, tokens: bool) -> tuple[Input, ...]:
    """Return the inputs of a step of so many positions beside caches of 8 positions."""
    first = ids("tokens", 24, 1, steps) if tokens else floats("x", 1, steps, 16)
    return first, ids("positions", 8, steps), floats("keys", 1, 2, 8, 8), floats("values", 1, 2, 8, 8)


def _signatures(name: str, makers: Mapping[str, str], inputs: Mapping[str, tuple[Input, ...]]) -> Model:
    """Return a model of several signatures, each of which has an expression."""
    made = {signature: _made(expression) for signature, expression in makers.items()}
    return Model(name, lambda signature: made[signature](signature), inputs, ("fixed",), "torch")


MODELS = (
    _model("attention", "attention Attention(plain)", _SEQUENCE),
    _model("attention_added_mask", "attention Attention(added)", _SEQUENCE, floats("mask", "B", "T")),
    _model("attention_filled_mask", "attention Attention(filled)", _SEQUENCE, flags("mask", "B", "T")),
    _model("attention_causal", "attention Attention(causal)", _SEQUENCE),
    _model("attention_alibi", "attention Attention(alibi)", _SEQUENCE),
    _model("attention_capped", "attention Attention(capped, grouped=True)", _SEQUENCE),
    _model("attention_grouped", "attention Attention(causal, grouped=True)", _SEQUENCE),
    _model(
        "attention_cross",
        "attention Attention(added)",
        _SEQUENCE,
        floats("mask", "B", "S"),
        floats("context", "B", "S", 16),
    ),
    _model("attention_relative", "attention Relative()", _SEQUENCE),
    _model("attention_fused", "attention Fused(False)", _SEQUENCE, flags("mask", "B", "T")),
    _model("attention_fused_causal", "attention Fused(True)", _SEQUENCE),
    _model("rotary", "attention Rotary()", _SEQUENCE),
    _model("rotary_interleaved", "attention Rotary(interleaved=True)", _SEQUENCE),
    _model("rotary_given", "attention Rotary(given=True)", _SEQUENCE, ids("positions", 8, "T")),
    _model("cache_index_copy", "attention Cached('index_copy')", *_cache(1, False)),
    _model("cache_index_copy_prompt", "attention Cached('index_copy')", *_cache(4, False)),
    _model("cache_slice", "attention Cached('slice')", *_cache(1, False)),
    _model("cache_one_hot", "attention Cached('sum', rotary=False)", *_cache(3, False)),
    _model(
        "cache_joined",
        "attention Joined()",
        floats("x", 1, 1, 16),
        floats("keys", 1, 2, "P", 8),
        floats("values", 1, 2, "P", 8),
    ),
    _signatures(
        "decoder",
        {"prefill": "attention Decoder()", "decode": "attention Decoder()"},
        {"prefill": _cache(4, True), "decode": _cache(1, True)},
    ),
    _signatures(
        "decoder_slice",
        {
            "prefill_4": "attention Decoder('slice')",
            "prefill_2": "attention Decoder('slice')",
            "decode": "attention Decoder('slice')",
        },
        {"prefill_4": _cache(4, True), "prefill_2": _cache(2, True), "decode": _cache(1, True)},
    ),
    _model("decoder_capped", "attention Decoder(cap=5.0)", *_cache(1, True)),
    _model("bert", "attention Bert()", _TOKENS, ids("segments", 2, "B", "T"), floats("mask", "B", "T")),
    _model("layer_in_front", "attention Layer(Attention(causal), behind=False)", _SEQUENCE),
    _model("gated_silu", "attention Gated(functional.silu)", _SEQUENCE),
    _model("gated_gelu", "attention Gated(lambda x: functional.gelu(x, approximate='tanh'))", _SEQUENCE),
    _model("rms_norm", "attention RmsNorm()", _SEQUENCE),
    _model("residual", "vision Residual()", _IMAGE),
    _model("squeezed", "vision Squeezed(nn.Hardswish)", _SMALL),
    _model("squeezed_silu", "vision Squeezed(nn.SiLU)", _SMALL),
    _model("convnext", "vision ConvNext()", _IMAGE),
    _model("swin", "vision Swin(0)", _IMAGE),
    _model("swin_shifted", "vision Swin(2)", _IMAGE),
    _model("vit", "vision Vit(Layer(Attention(plain), behind=False))", _SMALL),
    _model("yolo", "vision Yolo()", _IMAGE),
    _model("anchored", "vision Anchored()", _IMAGE),
    _model("overlap", "vision Overlap()", floats("one", 5, 4), floats("two", 3, 4)),
    _model("unet_time", "vision Down()", _SMALL, floats("time", "B")),
    _model("unet_transposed", "vision UNet('transposed')", _SMALL),
    _model("unet_nearest", "vision UNet('nearest')", _SMALL),
    _model("unet_bilinear", "vision UNet('bilinear')", _SMALL),
    _model("transposed", "vision Generator(2)", floats("code", "B", 6)),
    _model("transposed_overlap", "vision Generator(4)", floats("code", "B", 6)),
    _model("style", "vision Style()", _SMALL, floats("style", "B", 6)),
    _model("shuffled", "vision Shuffled()", _SMALL),
    _signatures(
        "codec",
        {"encode": "vision Codec('encode')", "decode": "vision Codec('decode')"},
        {"encode": (floats("x", 2, 12),), "decode": (floats("x", 2, 4),)},
    ),
    _signatures(
        "codec_three",
        {"encode": "vision Codec('encode')", "decode": "vision Codec('decode')", "again": "vision Codec('again')"},
        {
            "encode": (floats("x", 2, 12),),
            "decode": (floats("x", 2, 4),),
            "again": (floats("x", 2, 12), floats("noise", 1, 4)),
        },
    ),
    _model("wave", "sequences Wave()", floats("sound", "B", 1, 20), floats("style", "B", 4)),
    _model("pcen", "sequences Pcen()", floats("sound", "B", 1, 40)),
    _model("lstm", "sequences Lstm()", floats("x", 2, 4, 6)),
    _model("state_space", "sequences StateSpace()", floats("x", 2, 5, 6)),
    _model("linear_attention", "sequences Linear()", floats("x", "B", 5, 8)),
    _model("experts", "sequences Experts()", floats("x", "B", 5, 8)),
    _model("graph", "sequences Graph()", floats("nodes", 6, 5), flags("edges", 6, 6)),
    _model("factors", "sequences Factors()", ids("words", 6, "B", 3), floats("numbers", "B", 3)),
    _model("distances", "sequences Distances()", floats("x", "B", 6)),
    _model("mixer", "sequences Mixer()", floats("x", "B", 6, 8)),
    _model("forecast", "sequences Forecast()", floats("x", "B", 2, 12)),
)

EXPORTS = {made.name: made for model in MODELS for made in (Export(model, variant) for variant in model.variants)}
"""Every file by its name."""
