"""PyTorch models for litert-torch: sound, series, tables, graphs and recurrences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Wave(nn.Module):
    """A gated block of dilated convolutions, conditioned by a code."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.gates, self.styles = (
            nn.Conv1d(1, 6, 1),
            nn.Conv1d(6, 12, 3, padding=2, dilation=2),
            nn.Linear(4, 12),
        )
        self.out = nn.Conv1d(6, 1, 1)

    def forward(self, sound: Tensor, style: Tensor) -> Tensor:
        x = self.into(sound)
        moved, gate = (self.gates(x) + self.styles(style)[:, :, None]).chunk(2, 1)
        return self.out(x + torch.tanh(moved) * torch.sigmoid(gate))


class Pcen(nn.Module):
    """Per-channel energy: powers by learned exponents."""

    def __init__(self) -> None:
        super().__init__()
        self.mel = nn.Conv1d(1, 6, 8, 4)
        self.power, self.bias = nn.Parameter(torch.ones(6)), nn.Parameter(torch.ones(6))

    def forward(self, sound: Tensor) -> Tensor:
        energy = self.mel(sound).abs() + 1e-3
        smooth = energy.mean(-1, keepdim=True)
        bias, power = self.bias.abs()[:, None], self.power.abs()[:, None]
        return torch.pow(energy / (smooth + 1e-3) + bias, power) - torch.pow(bias, power)


class Lstm(nn.Module):
    """A recurrence of four steps that is written out."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.again = nn.Linear(6, 16), nn.Linear(4, 16, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        state = cell = torch.zeros(x.shape[0], 4)
        for step in range(x.shape[1]):
            write, keep, out, new = (self.into(x[:, step]) + self.again(state)).chunk(4, -1)
            cell = keep.sigmoid() * cell + write.sigmoid() * new.tanh()
            state = out.sigmoid() * cell.tanh()
        return state


class StateSpace(nn.Module):
    """A selective scan of five steps that is written out."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.into, self.out = nn.Linear(6, 6), nn.Linear(6, 4), nn.Linear(6, 4)
        self.rate, self.skip = nn.Parameter(torch.zeros(6, 4)), nn.Parameter(torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        step, into, out = functional.softplus(self.step(x)), self.into(x), self.out(x)
        decay = torch.exp(step[..., None] * -torch.exp(self.rate))
        add = step[..., None] * into[:, :, None, :] * x[..., None]
        state, made = torch.zeros_like(add[:, 0]), []
        for at in range(x.shape[1]):
            state = decay[:, at] * state + add[:, at]
            made.append((state * out[:, at, None, :]).sum(-1))
        return torch.stack(made, 1) + x * self.skip


class Linear(nn.Module):
    """Attention without a softmax, by einsum."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        queries, keys, values = (each.view(*each.shape[:2], 2, 4) for each in self.project(x).chunk(3, -1))
        queries, keys = functional.elu(queries) + 1, functional.elu(keys) + 1
        context = torch.einsum("bthd,bthe->bhde", keys, values)
        weight = 1 / (torch.einsum("bthd,bhd->bth", queries, keys.sum(1)) + 1e-6)
        return torch.einsum("bthd,bhde,bth->bthe", queries, context, weight).flatten(2)


class Experts(nn.Module):
    """A mixture of experts: every expert computes, and the best ones are added by their weights."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.weights, self.biases = nn.Parameter(torch.zeros(4, 8, 8)), nn.Parameter(torch.zeros(4, 8))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.gate(x)
        best = scores.max(-1, keepdim=True).values
        weights = scores.masked_fill(scores < best - 0.5, -1e4).softmax(-1)
        made = functional.relu(torch.einsum("btd,edf->btef", x, self.weights) + self.biases)
        return (made * weights[..., None]).sum(2)


class Graph(nn.Module):
    """Attention over the edges of a small dense graph."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.left, self.right = nn.Linear(5, 8), nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        x = self.project(nodes)
        scores = functional.leaky_relu(self.left(x) + self.right(x).transpose(-1, -2), 0.2)
        return torch.where(edges, scores, -1e4).softmax(-1) @ x


class Factors(nn.Module):
    """A factorization machine over columns with words and numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.numbers = nn.Embedding(20, 4), nn.Parameter(torch.zeros(3, 4))
        self.register_buffer("starts", torch.tensor([0, 8, 14], dtype=torch.int32), persistent=False)

    def forward(self, words: Tensor, numbers: Tensor) -> Tensor:
        every = torch.cat([self.words(words + self.starts), numbers[..., None] * self.numbers], 1)
        return (every.sum(1) ** 2 - (every**2).sum(1)).sum(-1, keepdim=True) / 2


class Distances(nn.Module):
    """Squared distances to prototypes, and cosines."""

    def __init__(self) -> None:
        super().__init__()
        self.prototypes = nn.Parameter(torch.zeros(5, 6))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        apart = (x[:, None, :] - self.prototypes[None]).pow(2).sum(-1)
        lengths = x.norm(dim=-1, keepdim=True) * self.prototypes.norm(dim=-1) + 1e-6
        return -apart, x @ self.prototypes.t() / lengths


class Mixer(nn.Module):
    """Mixing of tokens, then of channels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(8), nn.LayerNorm(8)
        self.tokens = nn.Sequential(nn.Linear(6, 10), nn.GELU(), nn.Linear(10, 6))
        self.channels = nn.Sequential(nn.Linear(8, 12), nn.Hardswish(), nn.Linear(12, 8))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.second(x))


class Forecast(nn.Module):
    """A series that is scaled by its own mean and deviation and scaled back."""

    def __init__(self) -> None:
        super().__init__()
        self.trend, self.season = nn.Linear(12, 4), nn.Linear(12, 4)
        self.pool = nn.AvgPool1d(3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        mean, spread = x.mean(-1, keepdim=True), x.std(-1, keepdim=True) + 1e-5
        x = (x - mean) / spread
        slow = self.pool(x)
        return (self.trend(slow) + self.season(x - slow)) * spread + mean
