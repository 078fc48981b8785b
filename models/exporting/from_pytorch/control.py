"""Control flow: loops and branches that the legacy exporter scripts, and branches of torch.cond; a beam's step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import bools, ids, mask, numbers
from models.exporting.from_pytorch.case import Case, dynamo, legacy

_SIZES = ({"batch": 2, "sequence": 5, "beams": 3}, {"batch": 3, "sequence": 8, "beams": 4})


class ScriptedRecurrence(nn.Module):
    """A gated recurrence over any number of steps: a Loop whose body has the state of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.update, self.candidate = nn.Linear(10, 6), nn.Linear(10, 6)
        self.start = nn.Parameter(torch.zeros(1, 6))

    def forward(self, x: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        state = self.start.expand(x.size(0), 6)
        total = torch.zeros(x.size(0), 6)
        for at in range(x.size(1)):
            both = torch.cat([x[:, at], state], dim=1)
            gate = torch.sigmoid(self.update(both)) * kept[:, at].unsqueeze(1).to(x.dtype)
            state = gate * torch.tanh(self.candidate(both)) + (1.0 - gate) * state
            total = total + state
        return state, total


class ScriptedBranch(nn.Module):
    """A model that normalizes loud inputs only, and divides by a mean only where there is one: two Ifs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.quiet = nn.Linear(4, 6), nn.Linear(6, 6)
        self.scale = nn.Parameter(torch.ones(6))

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        if bool(y.abs().max() > 1.0):
            y = (y - y.mean(1, keepdim=True)) * self.scale
        else:
            y = self.quiet(y) + x.mean(2, keepdim=True)
        return torch.relu(y) + y.mean(0)


class ScriptedSearch(nn.Module):
    """A greedy search: each step takes the best word, until a word that ends or a number of steps."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell, self.out = nn.Embedding(12, 6), nn.Linear(12, 6), nn.Linear(6, 12)
        self.bias = nn.Parameter(torch.zeros(12))

    def forward(self, state: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        total = torch.zeros(state.size(0), 1)
        step = 0
        while step < 6:
            state = torch.tanh(self.cell(torch.cat([self.words(word), state], dim=1)))
            chances = torch.log_softmax(self.out(state) + self.bias, dim=1)
            best, word = torch.max(chances, dim=1)
            total = total + best.unsqueeze(1)
            step += 1
        return total, state


class CondBranch(nn.Module):
    """The same kind of branch by torch.cond, inside a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)
        self.scale, self.shift = nn.Parameter(torch.ones(6)), nn.Parameter(torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)

        def loud(y: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
            return (y - y.mean(1, keepdim=True)) * scale + shift

        def quiet(y: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
            return y * scale - shift * y.amax(-1, keepdim=True)

        found = torch.cond(y.abs().sum() > 4.0, loud, quiet, (y, self.scale, self.shift))
        return torch.relu(found) + y


class EarlyExit(nn.Module):
    """A second layer only where the first one is not sure, by torch.cond."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        h = torch.relu(self.first(x)) * kept.unsqueeze(-1).to(x.dtype)
        pooled = h.sum(1) / kept.sum(1, keepdim=True).clamp(min=1)
        sure = torch.softmax(self.head(pooled), -1).amax(-1).min() > 0.9
        weight, bias = self.second.weight, self.second.bias
        pooled = torch.cond(
            sure,
            lambda p, w, b: p * 1.0,  # noqa: ARG005 - both branches take the same
            lambda p, w, b: p + torch.relu(p @ w.t() + b),
            (pooled, weight, bias),
        )
        return self.head(pooled)


class BeamStep(nn.Module):
    """A step of a beam search: penalties, banned words, the best of all beams, and the states they came from."""

    def __init__(self, words: int = 12) -> None:
        super().__init__()
        self.words = words
        self.out = nn.Linear(6, words)

    def forward(self, states: Tensor, scores: Tensor, tokens: Tensor, banned: Tensor) -> Any:  # noqa: ANN401
        b, k, _ = states.shape
        logits = self.out(states) / 0.7
        seen = torch.gather(logits, 2, tokens)
        logits = logits.scatter(2, tokens, torch.where(seen < 0, seen * 1.2, seen / 1.2))
        logits = logits.masked_fill(banned, -1e4)
        total = torch.log_softmax(logits, -1) + scores.unsqueeze(-1)
        best, places = torch.topk(total.view(b, k * self.words), 2, dim=1)
        beams = torch.div(places, self.words, rounding_mode="floor")
        chosen = torch.gather(states, 1, beams.unsqueeze(-1).expand(-1, -1, states.shape[2]))
        return best / (tokens.shape[2] + 1.0) ** 0.6, places % self.words, chosen


class Nucleus(nn.Module):
    """The words that together are likely enough (top-p), renormalized, after a bias of each word."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(12))

    def forward(self, logits: Tensor, temperature: Tensor) -> Tensor:
        chances = functional.softmax((logits + self.bias) / (temperature.abs() + 0.5).unsqueeze(-1), dim=-1)
        ordered, places = torch.sort(chances, dim=-1, descending=True)
        ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered > 0.8, 0.0)
        found = torch.zeros_like(chances).scatter(-1, places, ordered)
        return found / found.sum(-1, keepdim=True)


_X = {"x": numbers("batch", "sequence", 4)}
_KEPT = {**_X, "kept": mask("batch", "sequence")}
CASES = (
    Case(
        "scripted_loop", ScriptedRecurrence, _KEPT, ("state", "total"), _SIZES, (legacy(11), legacy(16)), scripted=True
    ),
    Case("scripted_branch", ScriptedBranch, _X, ("y",), _SIZES, (legacy(13),), scripted=True),
    Case(
        "scripted_search",
        ScriptedSearch,
        {"state": numbers("batch", 6), "word": ids(12, "batch")},
        ("score", "state_out"),
        _SIZES,
        (legacy(14),),
        scripted=True,
    ),
    Case("cond_branch", CondBranch, _X, ("y",), _SIZES, (dynamo(18),)),
    Case("early_exit", EarlyExit, _KEPT, ("logits",), _SIZES, (dynamo(20),)),
    Case(
        "beam_step",
        BeamStep,
        {
            "states": numbers("batch", "beams", 6),
            "scores": numbers("batch", "beams"),
            "tokens": ids(12, "batch", "beams", "sequence"),
            "banned": bools("batch", 1, 12),
        },
        ("best", "words", "chosen"),
        _SIZES,
        (legacy(15), dynamo(18)),
    ),
    Case(
        "nucleus",
        Nucleus,
        {"logits": numbers("batch", 12), "temperature": numbers("batch")},
        ("chances",),
        _SIZES,
        (legacy(13), dynamo(22)),
    ),
)
