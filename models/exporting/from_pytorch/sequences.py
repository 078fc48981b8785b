"""Sequences otherwise: state spaces, recurrent nets with attention, experts, linear attention, retention."""

from __future__ import annotations

import torch
import transformers as tf
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import Feed, ids, mask, numbers
from models.exporting.from_pytorch.case import Case, dynamo, legacy

_SIZES = ({"batch": 2, "sequence": 7, "source": 5}, {"batch": 3, "sequence": 11, "source": 8})
_BATCHES = ({"batch": 2}, {"batch": 4})


class SelectiveScan(nn.Module):
    """A Mamba block: its scan is a loop over a fixed number of steps, each state updated by the step's own A and B."""

    def __init__(self, width: int = 8, states: int = 4, rank: int = 2) -> None:
        super().__init__()
        self.states, self.rank = states, rank
        self.into, self.conv = nn.Linear(width, 2 * width), nn.Conv1d(width, width, 3, groups=width, padding=2)
        self.select, self.step = nn.Linear(width, rank + 2 * states, bias=False), nn.Linear(rank, width)
        self.a_log, self.skip = nn.Parameter(torch.zeros(width, states)), nn.Parameter(torch.zeros(width))
        self.norm, self.out = nn.Parameter(torch.ones(width)), nn.Linear(width, width)

    def scan(self, x: Tensor, delta: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        """Return y[b, l, d] of x[b, l, d], delta[b, l, d], a[d, n], b[b, l, n], c[b, l, n]."""
        kept = torch.exp(torch.einsum("bld,dn->bldn", delta, a))
        new = torch.einsum("bld,bln,bld->bldn", delta, b, x)
        state = torch.zeros((x.shape[0], x.shape[2], self.states))
        found = []
        for at in range(x.shape[1]):
            state = kept[:, at] * state + new[:, at]
            found.append(torch.einsum("bdn,bn->bd", state, c[:, at]))
        return torch.stack(found, dim=1) + x * self.skip

    def forward(self, hidden: Tensor) -> Tensor:
        scale = torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-5)
        x, gate = self.into(hidden * scale * self.norm).chunk(2, dim=-1)
        x = functional.silu(self.conv(x.transpose(1, 2))[..., : hidden.shape[1]].transpose(1, 2))
        delta, b, c = self.select(x).split([self.rank, self.states, self.states], dim=-1)
        y = self.scan(x, functional.softplus(self.step(delta)), -torch.exp(self.a_log), b, c)
        return hidden + self.out(y * functional.silu(gate))


class Logits(nn.Module):
    """A causal model of transformers without a mask."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, use_cache=False)[0]


class ParallelScan(nn.Module):
    """A diagonal state space (S4D) whose kernel is as long as the sequence, applied as lower-triangular products."""

    def __init__(self, width: int = 6, states: int = 4) -> None:
        super().__init__()
        self.step, self.decay = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width, states))
        self.c, self.d = nn.Parameter(torch.zeros(width, states)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        rate = -torch.exp(self.decay) * torch.exp(self.step).unsqueeze(-1)
        times = torch.arange(length, dtype=x.dtype)
        kernel = 2 * (self.c.unsqueeze(-1) * torch.exp(rate.unsqueeze(-1) * times)).sum(1)
        apart = torch.arange(length).unsqueeze(1) - torch.arange(length).unsqueeze(0)
        toeplitz = torch.where(apart >= 0, kernel[:, apart.clamp(min=0)], torch.zeros(()))
        return torch.einsum("dts,bsd->btd", toeplitz, x) + self.d * x


class Bahdanau(nn.Module):
    """An LSTM that reads, a GRU that answers, and additive attention between the two under the mask of the source."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.words = nn.Embedding(20, width)
        self.reader = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.writer = nn.GRU(width, width, batch_first=True)
        self.key, self.query = nn.Linear(2 * width, width, bias=False), nn.Linear(width, width)
        self.energy, self.out = nn.Linear(width, 1, bias=False), nn.Linear(3 * width, 20)

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        read, _ = self.reader(self.words(source))
        written, _ = self.writer(self.words(target))
        energy = self.energy(torch.tanh(self.query(written).unsqueeze(2) + self.key(read).unsqueeze(1))).squeeze(-1)
        energy = energy.masked_fill(source_mask.unsqueeze(1) == 0, float("-inf"))
        chances = functional.softmax(energy, dim=-1)
        return self.out(torch.cat([written, chances @ read], -1)), chances


class Experts(nn.Module):
    """A mixture of experts: two of four for each token, by one-hot choices and einsum."""

    def __init__(self, width: int = 8, experts: int = 4) -> None:
        super().__init__()
        self.experts = experts
        self.router = nn.Linear(width, experts, bias=False)
        self.wide, self.narrow = (
            nn.Parameter(torch.zeros(experts, width, 12)),
            nn.Parameter(torch.zeros(experts, 12, width)),
        )
        self.bias = nn.Parameter(torch.zeros(experts, 12))

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        chances = torch.softmax(self.router(hidden), dim=-1)
        weights, chosen = torch.topk(chances, 2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        gates = (functional.one_hot(chosen, self.experts).to(hidden.dtype) * weights.unsqueeze(-1)).sum(-2)
        inner = functional.gelu(torch.einsum("bsd,edf->bsef", hidden, self.wide) + self.bias)
        found = torch.einsum("bsef,efd,bse->bsd", inner, self.narrow, gates)
        balance = self.experts * (chances.mean((0, 1)) * (gates > 0).float().mean((0, 1))).sum()
        return hidden + found, balance.reshape(1)


class LinearAttention(nn.Module):
    """Attention without a softmax, by einsum, and a retention whose decay differs by head."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("decay", torch.log(1 - 2.0 ** (-5 - torch.arange(heads, dtype=torch.float32))))

    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        b, s, width = hidden.shape
        q, k, v = self.qkv(hidden).view(b, s, 3, self.heads, width // self.heads).unbind(2)
        q, k = functional.elu(q) + 1, (functional.elu(k) + 1) * attention_mask[:, :, None, None]
        total = torch.einsum("bshd,bshe->bhde", k, v)
        scale = 1 / (torch.einsum("bshd,bhd->bsh", q, k.sum(1)) + 1e-6)
        linear = torch.einsum("bshd,bhde,bsh->bshe", q, total, scale)
        at = torch.arange(s, dtype=hidden.dtype)
        apart = at[:, None] - at[None, :]
        fading = torch.exp(apart * self.decay[:, None, None]).masked_fill(apart < 0, 0.0)
        fading = fading / fading.sum(-1, keepdim=True).sqrt()
        retained = torch.einsum("bshd,bthd->bhst", q, k) * fading
        retained = retained / retained.detach().abs().sum(-1, keepdim=True).clamp(min=1)
        return self.out((linear + torch.einsum("bhst,bthe->bshe", retained, v)).reshape(b, s, width))


def _mamba() -> nn.Module:
    config = tf.MambaConfig(
        vocab_size=20, hidden_size=8, state_size=4, num_hidden_layers=1, expand=1, time_step_rank=2, use_mambapy=False
    )
    return Logits(tf.MambaForCausalLM(config))


_READ: dict[str, Feed] = {
    "source": ids(20, "batch", "source"),
    "source_mask": mask("batch", "source"),
    "target": ids(20, "batch", "sequence"),
}
_HIDDEN: dict[str, Feed] = {"hidden": numbers("batch", "sequence", 8)}
CASES = (
    Case("mamba", _mamba, {"input_ids": ids(20, "batch", 5)}, ("logits",), _BATCHES, (legacy(17), dynamo(18))),
    Case(
        "selective_scan",
        SelectiveScan,
        {"hidden": numbers("batch", 4, 8)},
        ("states",),
        _BATCHES,
        (legacy(14), dynamo(20)),
    ),
    Case("s4d", ParallelScan, {"x": numbers("batch", "sequence", 6)}, ("y",), _SIZES, (legacy(13), dynamo(18))),
    Case("bahdanau", Bahdanau, _READ, ("logits", "attention"), _SIZES, (legacy(11), legacy(16), dynamo(18))),
    Case("experts", Experts, _HIDDEN, ("states", "balance"), _SIZES, (legacy(14), dynamo(19))),
    Case(
        "linear_attention",
        LinearAttention,
        _HIDDEN | {"attention_mask": mask("batch", "sequence")},
        ("states",),
        _SIZES,
        (legacy(12), dynamo(21)),
    ),
)
