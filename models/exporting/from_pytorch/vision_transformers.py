"""Transformers over images: class tokens, interpolated positions, windows that shift, grids, and CLIP's two towers."""

from __future__ import annotations

from typing import Any

import torch
import transformers as tf
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import ids, mask, numbers
from models.exporting.from_pytorch.case import Case, dynamo, legacy

_BATCHES = ({"batch": 2}, {"batch": 3})
_FREE = ({"batch": 2, "height": 32, "width": 48}, {"batch": 1, "height": 48, "width": 40})
_FREE_BY_16 = ({"batch": 2, "height": 32, "width": 48}, {"batch": 3, "height": 64, "width": 32})


class Images(nn.Module):
    """A model of transformers that takes images; the first thing it returns comes out."""

    def __init__(self, model: nn.Module, **more: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.model = model
        self.more = more

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.model(pixel_values=pixel_values, **self.more)[0]


class Clip(nn.Module):
    """CLIP: how well each text fits each image."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, pixel_values: Tensor, attention_mask: Tensor) -> Any:  # noqa: ANN401
        found = self.model(input_ids=input_ids, pixel_values=pixel_values, attention_mask=attention_mask)
        return found.logits_per_image, found.logits_per_text, found.text_embeds, found.image_embeds


class WindowAttention(nn.Module):
    """Attention among the tokens of a window, with a bias by relative position (Swin, MaxViT)."""

    def __init__(self, width: int, side: int, heads: int) -> None:
        super().__init__()
        self.side, self.heads = side, heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.table = nn.Parameter(torch.zeros((2 * side - 1) ** 2, heads))
        at = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + side - 1
        self.register_buffer("index", apart[..., 0] * (2 * side - 1) + apart[..., 1])

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        # x[windows, side*side, width], hidden[windows of an image, side*side, side*side]
        windows, tokens, width = x.shape
        qkv = self.qkv(x).reshape(windows, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        scores = (q * (width // self.heads) ** -0.5) @ k.transpose(-2, -1)
        bias = self.table[self.index.view(-1)].view(tokens, tokens, -1).permute(2, 0, 1)
        scores = scores + bias.unsqueeze(0)
        if hidden is not None:
            count = hidden.shape[0]
            scores = scores.view(-1, count, self.heads, tokens, tokens) + hidden.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.heads, tokens, tokens)
        mixed = functional.softmax(scores, dim=-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(windows, tokens, width))


def windows_of(x: Tensor, side: int) -> Tensor:
    """Cut [b, h, w, c] into windows [b*h/side*w/side, side*side, c]."""
    b, h, w, c = x.shape
    return x.view(b, h // side, side, w // side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side, c)


def image_of(windows: Tensor, side: int, b: int, h: int, w: int) -> Tensor:
    """Put windows together again."""
    x = windows.view(b, h // side, w // side, side, side, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, -1)


class FreeSwinBlock(nn.Module):
    """A Swin block for images of any size, as detectors have it: padded to windows, rolled, masked, cut again."""

    def __init__(self, width: int, side: int, shift: int) -> None:
        super().__init__()
        self.side, self.shift = side, shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = WindowAttention(width, side, 2)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def hidden(self, h: int, w: int, like: Tensor) -> Tensor:
        """The mask between the regions that the roll has brought into one window."""
        rows = torch.arange(h, device=like.device)
        columns = torch.arange(w, device=like.device)
        row = (rows >= h - self.side).long() + (rows >= h - self.shift).long()
        column = (columns >= w - self.side).long() + (columns >= w - self.shift).long()
        region = (row[:, None] * 3 + column[None, :]).to(like.dtype)
        windows = windows_of(region[None, :, :, None], self.side).squeeze(-1)
        apart = windows.unsqueeze(1) - windows.unsqueeze(2)
        return apart.masked_fill(apart != 0, -100.0).masked_fill(apart == 0, 0.0)

    def forward(self, x: Tensor) -> Tensor:
        b, h, w, _ = x.shape
        kept = x
        x = self.norm1(x)
        down, right = (self.side - h % self.side) % self.side, (self.side - w % self.side) % self.side
        x = functional.pad(x, (0, 0, 0, right, 0, down))
        tall, wide = x.shape[1], x.shape[2]
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        mixed = self.attention(windows_of(x, self.side), self.hidden(tall, wide, x) if self.shift else None)
        x = image_of(mixed, self.side, b, tall, wide)
        if self.shift:
            x = torch.roll(x, (self.shift, self.shift), (1, 2))
        x = kept + x[:, :h, :w, :]
        return x + self.mlp(self.norm2(x))


class FreeSwin(nn.Module):
    """Two Swin blocks, and patches merged after them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 8, 4, 4)
        self.norm = nn.LayerNorm(8)
        self.blocks = nn.Sequential(FreeSwinBlock(8, 4, 0), FreeSwinBlock(8, 4, 2))
        self.reduction = nn.Linear(32, 16, bias=False)
        self.merged_norm = nn.LayerNorm(32)

    def forward(self, pixel_values: Tensor) -> Tensor:
        x = self.blocks(self.norm(self.embed(pixel_values).permute(0, 2, 3, 1)))
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        return self.reduction(self.merged_norm(x)).permute(0, 3, 1, 2)


class MaxVit(nn.Module):
    """A MaxViT block: a convolution with squeeze and excitation, then attention in windows and over a grid."""

    def __init__(self, width: int = 16, side: int = 4) -> None:
        super().__init__()
        self.side = side
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.norm = nn.BatchNorm2d(width)
        self.depth = nn.Conv2d(width, width, 3, 1, 1, groups=width)
        self.squeeze, self.excite = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attentions = nn.ModuleList(WindowAttention(width, side, 2) for _ in range(2))

    def grid(self, x: Tensor) -> Tensor:
        """Cut [b, h, w, c] into sets of tokens that lie h/side and w/side apart."""
        b, h, w, c = x.shape
        x = x.view(b, self.side, h // self.side, self.side, w // self.side, c).permute(0, 2, 4, 1, 3, 5)
        return x.reshape(-1, self.side * self.side, c)

    def ungrid(self, x: Tensor, b: int, h: int, w: int) -> Tensor:
        """Put them together again."""
        x = x.view(b, h // self.side, w // self.side, self.side, self.side, -1)
        return x.permute(0, 3, 1, 4, 2, 5).reshape(b, h, w, -1)

    def forward(self, pixel_values: Tensor) -> Tensor:
        x = functional.gelu(self.norm(self.stem(pixel_values)))
        y = functional.silu(self.depth(x))
        gate = torch.sigmoid(self.excite(functional.silu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        x = (x + y * gate).permute(0, 2, 3, 1)
        b, h, w, _ = x.shape
        x = x + image_of(self.attentions[0](windows_of(self.norms[0](x), self.side)), self.side, b, h, w)
        x = x + self.ungrid(self.attentions[1](self.grid(self.norms[1](x))), b, h, w)
        return x.permute(0, 3, 1, 2)


def _vit(**more: Any) -> nn.Module:  # noqa: ANN401
    config = tf.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        image_size=32,
        patch_size=8,
        attn_implementation="eager",
    )
    return Images(tf.ViTModel(config, add_pooling_layer=False), **more)


def _swin() -> nn.Module:
    config = tf.SwinConfig(image_size=32, patch_size=4, embed_dim=8, depths=[2], num_heads=[2], window_size=4)
    config._attn_implementation = "eager"  # noqa: SLF001
    return Images(tf.SwinModel(config))


def _clip() -> nn.Module:
    small = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**small, "vocab_size": 40, "max_position_embeddings": 16, "eos_token_id": 39, "pad_token_id": 0}
    vision = {**small, "image_size": 16, "patch_size": 8}
    config = tf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8, attn_implementation="eager")
    return Clip(tf.CLIPModel(config))


def _segformer() -> nn.Module:
    config = tf.SegformerConfig(
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[2, 1],
        hidden_sizes=[8, 12],
        patch_sizes=[7, 3],
        strides=[4, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=8,
        num_labels=3,
    )
    config._attn_implementation = "eager"  # noqa: SLF001
    return Images(tf.SegformerForSemanticSegmentation(config))


_IMAGES = {"pixel_values": numbers("batch", 3, "height", "width")}
CASES = (
    Case("vit", _vit, {"pixel_values": numbers("batch", 3, 32, 32)}, ("tokens",), _BATCHES, (legacy(14), dynamo(23))),
    Case(
        "vit_interpolated",
        lambda: _vit(interpolate_pos_encoding=True),
        _IMAGES,
        ("tokens",),
        _FREE_BY_16,
        (legacy(16), dynamo(20)),
    ),
    Case("swin", _swin, {"pixel_values": numbers("batch", 3, 32, 32)}, ("tokens",), _BATCHES, (legacy(18), dynamo(18))),
    Case("swin_free", FreeSwin, _IMAGES, ("features",), _FREE, (legacy(14), dynamo(20))),
    Case("maxvit", MaxVit, _IMAGES, ("features",), _FREE_BY_16, (legacy(12), dynamo(19))),
    Case(
        "clip",
        _clip,
        {
            "input_ids": ids(40, "texts", "sequence"),
            "pixel_values": numbers("images", 3, 16, 16),
            "attention_mask": mask("texts", "sequence"),
        },
        ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds"),
        ({"texts": 3, "sequence": 8, "images": 2}, {"texts": 2, "sequence": 11, "images": 4}),
        (legacy(14), dynamo(18)),
    ),
    Case("segformer", _segformer, _IMAGES, ("logits",), _FREE_BY_16, (legacy(13), dynamo(18))),
)
