"""Heads and small models: embeddings compared, distances, graphs, sampling, tables of features, einsum attention."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import bools, ids, mask, numbers
from models.exporting.from_pytorch.case import Case, dynamo, legacy

_SIZES = (
    {"batch": 2, "queries": 3, "keys": 5, "nodes": 6, "items": 4, "sequence": 7, "points": 9},
    {"batch": 3, "queries": 4, "keys": 2, "nodes": 9, "items": 7, "sequence": 5, "points": 6},
)


class Contrastive(nn.Module):
    """Pictures and texts that find each other: cosines, a temperature, the loss both ways."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(12, 8), nn.Linear(10, 8)
        self.logit_scale = nn.Parameter(torch.ones([]))

    def forward(self, pictures: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        a, b = self.left(pictures), self.right(texts)
        a = a / a.norm(p=2, dim=-1, keepdim=True)
        b = b / b.norm(dim=-1, keepdim=True)
        logits = torch.exp(self.logit_scale) * a @ b.t()
        own = torch.arange(logits.shape[0])
        hits = -torch.log_softmax(logits, 1)[own, own] - torch.log_softmax(logits, 0)[own, own]
        return logits, (hits / 2).mean().reshape(1)


class Cosine(nn.Module):
    """The cosine of each query with each key, and the best keys' values weighted by it."""

    def forward(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        alike = functional.cosine_similarity(queries.unsqueeze(2), keys.unsqueeze(1), dim=-1)
        weights = torch.softmax(alike / 0.1, dim=-1)
        return alike, (weights.unsqueeze(-1) * keys.unsqueeze(1)).sum(2)


class Prototypes(nn.Module):
    """Squared and plain distances to prototypes, as few-shot nets and vector quantization have them."""

    def __init__(self, named: bool) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(6, 8))
        self.named = named

    def forward(self, x: Tensor, support: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat = x.reshape(-1, 8)
        squared = flat.pow(2).sum(1, keepdim=True) + self.codes.pow(2).sum(1) - 2 * flat @ self.codes.t()
        chosen = torch.argmin(squared, dim=1)
        near = functional.one_hot(chosen, 6).to(x.dtype) @ self.codes
        quantized = x + (near.view(x.shape) - x)
        apart = torch.sqrt(((x[:, :, None] - support[:, None]) ** 2).sum(-1) + 1e-6)
        return quantized, torch.cdist(x, support) if self.named else -apart, apart


class GraphAttention(nn.Module):
    """Attention of each node over its neighbours (GAT), then a graph convolution with degrees on both sides."""

    def __init__(self, width: int = 6, heads: int = 2, depth: int = 4) -> None:
        super().__init__()
        self.heads, self.depth = heads, depth
        self.into = nn.Linear(width, heads * depth, bias=False)
        self.source, self.target = (nn.Parameter(torch.zeros(1, 1, heads, depth)) for _ in range(2))
        self.weight, self.bias = nn.Parameter(torch.zeros(heads * depth, 5)), nn.Parameter(torch.zeros(5))

    def forward(self, features: Tensor, adjacency: Tensor) -> Tensor:
        b, n, _ = features.shape
        h = self.into(features).view(b, n, self.heads, self.depth)
        source, target = (h * self.source).sum(-1), (h * self.target).sum(-1)
        scores = functional.leaky_relu(source.unsqueeze(2) + target.unsqueeze(1), 0.2)
        linked = adjacency | torch.eye(n).bool()
        scores = torch.where(linked.unsqueeze(-1), scores, torch.full_like(scores, -9e15))
        h = functional.elu(torch.einsum("bijh,bjhd->bihd", torch.softmax(scores, 2), h).reshape(b, n, -1))
        edges = linked.to(h.dtype)
        degree = edges.sum(-1).clamp(min=1).pow(-0.5)
        edges = degree.unsqueeze(-1) * edges * degree.unsqueeze(-2)
        return edges @ (h @ self.weight) + self.bias


class Sampler(nn.Module):
    """A variational autoencoder whose noise is fed: mean and variance, a sample, its picture, the divergence."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2 * 5))
        self.decode = nn.Sequential(nn.Linear(5, 64), nn.Unflatten(1, (4, 4, 4)), nn.ConvTranspose2d(4, 1, 2, 2))
        self.prior = nn.Parameter(torch.zeros(5))

    def forward(self, image: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.encode(image).chunk(2, dim=-1)
        logvar = torch.clamp(logvar, -30.0, 20.0)
        z = mean.unsqueeze(1) + torch.exp(0.5 * logvar).unsqueeze(1) * noise
        b, k = z.shape[:2]
        pictures = torch.sigmoid(self.decode(z.reshape(b * k, -1))).view(b, k, 1, 8, 8)
        divergence = 0.5 * ((mean - self.prior).pow(2) + logvar.exp() - 1.0 - logvar).sum(1)
        error = ((pictures - image.unsqueeze(1)) ** 2).mean((2, 3, 4))
        return pictures, error + divergence[:, None]


class Recommender(nn.Module):
    """DIN over a history: a candidate with each past item, weights by a mask, and a factorization machine."""

    def __init__(self) -> None:
        super().__init__()
        self.items, self.fields = nn.Embedding(20, 6), nn.Embedding(30, 6)
        self.score = nn.Sequential(nn.Linear(24, 8), nn.PReLU(), nn.Linear(8, 1))
        self.register_buffer("offsets", torch.tensor([0, 10, 20]))
        self.running_mean, self.running_var = nn.Parameter(torch.zeros(12)), nn.Parameter(torch.ones(12))
        self.head = nn.Linear(12, 1)

    def forward(self, history: Tensor, history_mask: Tensor, candidate: Tensor, fields: Tensor) -> Tensor:
        past, wanted = self.items(history), self.items(candidate)
        asked = wanted.unsqueeze(1).expand(-1, past.shape[1], -1)
        weights = self.score(torch.cat([asked, past, asked - past, asked * past], -1)).squeeze(-1)
        weights = torch.where(history_mask == 0, torch.full_like(weights, -(2**32) + 1), weights)
        interest = torch.matmul(weights.softmax(1).unsqueeze(1), past).squeeze(1)
        found = self.fields(fields + self.offsets)
        crossed = 0.5 * (found.sum(1).pow(2) - found.pow(2).sum(1)).sum(1, keepdim=True)
        x = (torch.cat([interest, wanted], 1) - self.running_mean) / torch.sqrt(self.running_var + 1e-5)
        return torch.sigmoid(self.head(x) + crossed)


class TabularTransformer(nn.Module):
    """An FT-Transformer: each number times its vector, a class token, multi-head attention by einsum."""

    def __init__(self, columns: int = 5, width: int = 8) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(columns, width)), nn.Parameter(torch.zeros(columns, width))
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.mean, self.std = nn.Parameter(torch.zeros(columns)), nn.Parameter(torch.ones(columns))
        self.q, self.k, self.v = (nn.Parameter(torch.zeros(2, width, 4)) for _ in range(3))
        self.out, self.norm, self.head = (
            nn.Parameter(torch.zeros(2, 4, width)),
            nn.LayerNorm(width),
            nn.Linear(width, 3),
        )

    def forward(self, table: Tensor) -> Tensor:
        table = torch.where(torch.isnan(table), self.mean, table)
        x = ((table - self.mean) / self.std.abs().clamp(min=0.1)).unsqueeze(-1) * self.weight + self.bias
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        q, k, v = (torch.einsum("bnd,hde->bhne", self.norm(x), each) for each in (self.q, self.k, self.v))
        chances = torch.softmax(torch.einsum("bhqe,bhke->bhqk", q, k) / 2.0, dim=-1)
        x = x + torch.einsum("bhqk,bhke,hed->bqd", chances, v, self.out)
        return self.head(functional.relu(x[:, 0]))


class PointNet(nn.Module):
    """A set of points: turned by a matrix of its own, each apart from its center, the whole joined to each."""

    def __init__(self) -> None:
        super().__init__()
        self.turn, self.one, self.two = nn.Linear(3, 9), nn.Conv1d(3, 8, 1), nn.Conv1d(16, 4, 1)

    def forward(self, points: Tensor) -> Tensor:
        points = points - points.mean(dim=1, keepdim=True)
        points = points / points.norm(dim=-1, keepdim=True).amax(dim=1, keepdim=True).clamp(min=1e-6)
        turned = torch.bmm(points, self.turn(points.amax(1)).view(-1, 3, 3) + torch.eye(3))
        x = functional.relu(self.one(turned.transpose(2, 1)))
        whole = torch.max(x, 2, keepdim=True)[0].repeat(1, 1, x.shape[2])
        return functional.log_softmax(self.two(torch.cat([x, whole], 1)), dim=1)


CASES = (
    Case(
        "contrastive",
        Contrastive,
        {"pictures": numbers("batch", 12), "texts": numbers("batch", 10)},
        ("logits", "loss"),
        _SIZES,
        (legacy(11), dynamo(18)),
    ),
    Case(
        "cosine",
        Cosine,
        {"queries": numbers("batch", "queries", 6), "keys": numbers("batch", "keys", 6)},
        ("alike", "found"),
        _SIZES,
        (legacy(13), dynamo(20)),
    ),
    *(
        Case(
            "prototypes_cdist" if named else "prototypes",
            partial(Prototypes, named),
            {"x": numbers("batch", "queries", 8), "support": numbers("batch", "keys", 8)},
            ("quantized", "distances", "written"),
            _SIZES,
            (legacy(14),) if named else (legacy(16, simplified=False), dynamo(18)),
        )
        for named in (False, True)
    ),
    Case(
        "graph_attention",
        GraphAttention,
        {"features": numbers("batch", "nodes", 6), "adjacency": bools("batch", "nodes", "nodes")},
        ("states",),
        _SIZES,
        (legacy(12), legacy(20, simplified=False), dynamo(18)),
    ),
    Case(
        "sampler",
        Sampler,
        {"image": numbers("batch", 1, 8, 8), "noise": numbers("batch", "items", 5)},
        ("pictures", "loss"),
        _SIZES,
        (legacy(13), dynamo(19)),
    ),
    Case(
        "recommender",
        Recommender,
        {
            "history": ids(20, "batch", "items"),
            "history_mask": mask("batch", "items"),
            "candidate": ids(20, "batch"),
            "fields": ids(10, "batch", 3),
        },
        ("score",),
        _SIZES,
        (legacy(11), dynamo(18)),
    ),
    Case("tabular", TabularTransformer, {"table": numbers("batch", 5)}, ("logits",), _SIZES, (legacy(14), dynamo(21))),
    Case(
        "point_net",
        PointNet,
        {"points": numbers("batch", "points", 3)},
        ("log_chances",),
        _SIZES,
        (legacy(13), dynamo(18)),
    ),
)
