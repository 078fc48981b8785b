"""PyTorch models for litert-torch: attention, positions, caches of keys and values, layers of language models."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from litert_torch.generative.custom_ops.dynamic_update_slice import dynamic_update_slice
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, SIZE = 16, 2, 8
"""Channels, heads, and channels of a head."""
LENGTH = 8
"""Positions of a cache."""


def split(x: Tensor, heads: int = HEADS) -> Tensor:
    """Return [batch, heads, time, size] of [batch, time, heads * size]."""
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def join(x: Tensor) -> Tensor:
    """Return [batch, time, heads * size] of [batch, heads, time, size]."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class RmsNorm(nn.Module):
    """Division by the root of the mean square."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Attention(nn.Module):
    """Attention whose mask, bias or scores are the callable's; `grouped` has fewer heads of keys and values."""

    def __init__(self, form: Callable[..., Tensor], grouped: bool = False) -> None:
        super().__init__()
        shared = WIDTH // 2 if grouped else WIDTH
        self.queries, self.keys, self.values = (nn.Linear(WIDTH, each) for each in (WIDTH, shared, shared))
        self.out, self.form, self.grouped = nn.Linear(WIDTH, WIDTH), form, grouped

    def forward(self, x: Tensor, mask: Tensor | None = None, context: Tensor | None = None) -> Tensor:
        other = x if context is None else context
        queries = split(self.queries(x))
        keys, values = (split(each(other), 1 if self.grouped else HEADS) for each in (self.keys, self.values))
        if self.grouped:
            keys, values = (each.repeat_interleave(HEADS, dim=1) for each in (keys, values))
        scores = self.form(queries @ keys.transpose(-1, -2) / math.sqrt(SIZE), mask)
        return self.out(join(scores.softmax(-1) @ values))


def plain(scores: Tensor, _mask: Tensor | None) -> Tensor:
    """Return the scores."""
    return scores


def added(scores: Tensor, mask: Tensor) -> Tensor:
    """Add a mask of [batch, time] numbers."""
    return scores + (1.0 - mask)[:, None, None, :] * -1e4


def filled(scores: Tensor, mask: Tensor) -> Tensor:
    """Fill where a mask of [batch, time] truth values is false."""
    return scores.masked_fill(~mask[:, None, None, :], -1e4)


def causal(scores: Tensor, _mask: Tensor | None) -> Tensor:
    """Hide later positions."""
    size = scores.shape[-1]
    return scores + torch.triu(torch.full((size, size), -1e4), 1)


def alibi(scores: Tensor, _mask: Tensor | None) -> Tensor:
    """Add a slope for each head times the distance."""
    steps = torch.arange(scores.shape[-1], dtype=torch.float32)
    return scores + torch.tensor([0.5, 0.25]).view(1, HEADS, 1, 1) * (steps[None, :] - steps[:, None])


def capped(scores: Tensor, _mask: Tensor | None) -> Tensor:
    """Bound the scores by tanh."""
    return torch.tanh(scores / 5.0) * 5.0


class Relative(nn.Module):
    """Attention with a bias that is looked up by distance."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(2 * LENGTH, HEADS)
        self.attention = Attention(self.biased)

    def biased(self, scores: Tensor, _mask: Tensor | None) -> Tensor:
        steps = torch.arange(scores.shape[-1])
        return scores + self.table(steps[None, :] - steps[:, None] + LENGTH).permute(2, 0, 1)[None]

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x)


def angles(positions: Tensor) -> Tensor:
    """Return [time, size / 2] angles of positions."""
    steps = torch.arange(0, SIZE, 2, dtype=torch.float32) / SIZE
    return positions.to(torch.float32)[..., None] * torch.pow(10000.0, -steps)


def rotated(x: Tensor, positions: Tensor, interleaved: bool = False) -> Tensor:
    """Rotate pairs of channels: halves, or neighbours."""
    turn = angles(positions)
    if interleaved:
        even, odd = x[..., 0::2], x[..., 1::2]
        both = (even * turn.cos() - odd * turn.sin(), even * turn.sin() + odd * turn.cos())
        return torch.stack(both, -1).flatten(-2)
    cosine, sine = torch.cat([turn, turn], -1).cos(), torch.cat([turn, turn], -1).sin()
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat([-right, left], -1) * sine


class Rotary(nn.Module):
    """Causal attention with rotary embedding; `given` reads the positions as an input."""

    def __init__(self, interleaved: bool = False, given: bool = False) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.interleaved, self.given = interleaved, given

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        queries, keys, values = (split(each) for each in self.project(x).chunk(3, -1))
        steps = positions if positions is not None else torch.arange(x.shape[1])
        queries, keys = (rotated(each, steps, self.interleaved) for each in (queries, keys))
        scores = causal(queries @ keys.transpose(-1, -2) / math.sqrt(SIZE), None)
        return self.out(join(scores.softmax(-1) @ values))


class Fused(nn.Module):
    """scaled_dot_product_attention with a mask of truth values, or causal."""

    def __init__(self, is_causal: bool) -> None:
        super().__init__()
        self.project, self.is_causal = nn.Linear(WIDTH, 3 * WIDTH), is_causal

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        queries, keys, values = (split(each) for each in self.project(x).chunk(3, -1))
        seen = None if mask is None else mask[:, None, None, :]
        made = functional.scaled_dot_product_attention(queries, keys, values, seen, is_causal=self.is_causal)
        return join(made)


class Cached(nn.Module):
    """Attention over caches of [1, heads, LENGTH, size], which are written at given positions.

    `way` is how: index_copy, dynamic_update_slice (one position), or a sum with one-hot rows.
    """

    def __init__(self, way: str, rotary: bool = True) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.way, self.rotary = way, rotary

    def stored(self, cache: Tensor, new: Tensor, positions: Tensor) -> Tensor:
        if self.way == "index_copy":
            return cache.index_copy(2, positions.to(torch.int64), new)
        if self.way == "slice":
            zero = torch.zeros([], dtype=torch.int32)
            return dynamic_update_slice(cache, new, [zero, zero, positions[0], zero])
        rows = (positions[:, None] == torch.arange(LENGTH, dtype=torch.int32)).to(new.dtype)
        return cache * (1.0 - rows.sum(0))[:, None] + rows.transpose(0, 1) @ new

    def forward(self, x: Tensor, positions: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, new, more = (split(each) for each in self.project(x).chunk(3, -1))
        if self.rotary:
            queries, new = rotated(queries, positions), rotated(new, positions)
        keys, values = self.stored(keys, new, positions), self.stored(values, more, positions)
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(SIZE)
        seen = torch.arange(LENGTH, dtype=torch.int32)[None, :] <= positions[:, None]
        scores = scores.masked_fill(~seen, -1e4)
        return self.out(join(scores.softmax(-1) @ values)), keys, values


class Joined(nn.Module):
    """Attention whose keys and values are appended to past ones of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, new, more = (split(each) for each in self.project(x).chunk(3, -1))
        keys, values = torch.cat([keys, new], 2), torch.cat([values, more], 2)
        return join((queries @ keys.transpose(-1, -2) / math.sqrt(SIZE)).softmax(-1) @ values), keys, values


class Gated(nn.Module):
    """A gated feed-forward layer."""

    def __init__(self, gate: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.up, self.side, self.down = nn.Linear(WIDTH, 24), nn.Linear(WIDTH, 24), nn.Linear(24, WIDTH)
        self.gate = gate

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.gate(self.side(x)) * self.up(x))


class Decoder(nn.Module):
    """A language model of one layer with caches: ids in, scores of the vocabulary out."""

    def __init__(self, way: str = "index_copy", cap: float = 0.0) -> None:
        super().__init__()
        self.words, self.cap = nn.Embedding(24, WIDTH), cap
        self.attention, self.feed = Cached(way), Gated(functional.silu)
        self.first, self.second, self.last = RmsNorm(), RmsNorm(), RmsNorm()

    def forward(self, tokens: Tensor, positions: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.words(tokens) * math.sqrt(WIDTH)
        made, keys, values = self.attention(self.first(x), positions, keys, values)
        x = x + made
        x = self.last(x + self.feed(self.second(x)))
        scores = x @ self.words.weight.transpose(0, 1)
        return (torch.tanh(scores / self.cap) * self.cap if self.cap else scores), keys, values


class Layer(nn.Module):
    """A layer of an encoder, with its normalization behind or in front."""

    def __init__(self, attention: nn.Module, behind: bool = True) -> None:
        super().__init__()
        self.attention, self.behind = attention, behind
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 24), nn.GELU(), nn.Linear(24, WIDTH))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.behind:
            x = self.first(x + self.attention(x, mask))
            return self.second(x + self.feed(x))
        x = x + self.attention(self.first(x), mask)
        return x + self.feed(self.second(x))


class Bert(nn.Module):
    """Words, positions and segments, one layer, and a pooled head."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.segments = (
            nn.Embedding(24, WIDTH),
            nn.Embedding(16, WIDTH),
            nn.Embedding(2, WIDTH),
        )
        self.norm, self.layer = nn.LayerNorm(WIDTH), Layer(Attention(added))
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, tokens: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        places = self.places(torch.arange(tokens.shape[1]))
        x = self.layer(self.norm(self.words(tokens) + places + self.segments(segments)), mask)
        weights = mask[..., None]
        pooled = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-6)
        return self.head(torch.tanh(pooled))
