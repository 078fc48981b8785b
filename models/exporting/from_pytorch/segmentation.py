"""Networks that answer for each pixel, and diffusion: skips, pyramids, pooled branches, group norm, FiLM, time."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import Feed, ids, numbers
from models.exporting.from_pytorch.case import Case, Writing, dynamo, legacy

_FREE = ({"batch": 2, "height": 32, "width": 48, "length": 3}, {"batch": 3, "height": 44, "width": 35, "length": 5})
_EVEN = ({"batch": 2, "height": 16, "width": 24, "length": 3}, {"batch": 3, "height": 24, "width": 8, "length": 5})


def _twice(width: int, out: int) -> nn.Sequential:
    """Two convolutions, each with a norm."""
    first = nn.Conv2d(width, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()
    return nn.Sequential(*first, nn.Conv2d(out, out, 3, 1, 1), nn.ReLU())


class UNet(nn.Module):
    """A U-Net; what is enlarged is padded to the size of what it is joined with, as odd sizes need."""

    def __init__(self, transposed: bool) -> None:
        super().__init__()
        self.down = nn.ModuleList([_twice(3, 6), _twice(6, 8), _twice(8, 12)])
        bilinear = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.large = nn.ModuleList([nn.ConvTranspose2d(w, w, 2, 2) if transposed else bilinear for w in (12, 8)])
        self.up = nn.ModuleList([_twice(12 + 8, 8), _twice(8 + 6, 6)])
        self.head = nn.Conv2d(6, 2, 1)

    def forward(self, image: Tensor) -> Tensor:
        skips = [self.down[0](image)]
        for block in self.down[1:]:
            skips.append(block(functional.max_pool2d(skips[-1], 2)))
        x = skips.pop()
        for large, block in zip(self.large, self.up, strict=True):
            skip = skips.pop()
            x = large(x)
            tall, wide = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
            x = functional.pad(x, [wide // 2, wide - wide // 2, tall // 2, tall - tall // 2])
            x = block(torch.cat([skip, x], dim=1))
        return torch.sigmoid(self.head(x))


class CroppedUNet(nn.Module):
    """The first U-Net: convolutions without padding, a skip cropped to the middle, and a gate on the skip."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, 2)
        self.theta, self.phi, self.psi = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 1), nn.Conv2d(4, 1, 1)
        self.last = nn.Conv2d(16, 2, 3)

    def forward(self, image: Tensor) -> Tensor:
        skip = functional.relu(self.first(image))
        x = functional.relu(self.second(skip))
        x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
        top, left = (skip.shape[2] - x.shape[2]) // 2, (skip.shape[3] - x.shape[3]) // 2
        skip = skip[:, :, top : top + x.shape[2], left : left + x.shape[3]]
        gate = torch.sigmoid(self.psi(functional.relu(self.theta(skip) + self.phi(x))))
        return self.last(torch.cat([skip * gate, x], 1))


class DeepLab(nn.Module):
    """DeepLab: dilated branches and one over the whole image, enlarged again; the answer at the image's size."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU())
        self.branches = nn.ModuleList([nn.Conv2d(8, 6, 1), *(nn.Conv2d(8, 6, 3, 1, r, r) for r in (2, 4))])
        self.pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 6, 1), nn.ReLU())
        self.join, self.head = nn.Conv2d(24, 8, 1), nn.Conv2d(8, 3, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        found = [functional.relu(branch(x)) for branch in self.branches]
        whole = functional.interpolate(self.pooled(x), size=x.shape[-2:], mode="bilinear", align_corners=False)
        x = self.head(functional.relu(self.join(torch.cat([*found, whole], 1))))
        return functional.interpolate(x, size=image.shape[-2:], mode="bilinear", align_corners=False)


class Pyramid(nn.Module):
    """A feature pyramid: each level enlarged to the next one's size and added, the sum weighted as BiFPN does."""

    def __init__(self, weighted: bool) -> None:
        super().__init__()
        widths = (6, 8, 12)
        strides = zip((3, *widths), widths, strict=False)
        self.stages = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in strides)
        self.lateral = nn.ModuleList(nn.Conv2d(w, 8, 1) for w in widths)
        self.smooth = nn.ModuleList(nn.Conv2d(8, 8, 3, 1, 1) for _ in widths)
        self.weights = nn.Parameter(torch.ones(2)) if weighted else None

    def _sum(self, fine: Tensor, coarse: Tensor) -> Tensor:
        if self.weights is None:
            return fine + coarse
        weights = functional.relu(self.weights)
        weights = weights / (weights.sum() + 1e-4)
        return functional.silu(weights[0] * fine + weights[1] * coarse)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, found = image, []
        for stage in self.stages:
            x = functional.relu(stage(x))
            found.append(x)
        levels = [lateral(each) for lateral, each in zip(self.lateral, found, strict=True)]
        for at in (1, 0):
            size = levels[at].shape[-2:]
            levels[at] = self._sum(levels[at], functional.interpolate(levels[at + 1], size=size, mode="nearest"))
        p3, p4, p5 = (smooth(each) for smooth, each in zip(self.smooth, levels, strict=True))
        return p3, p4, p5


class GroupNorm(nn.Module):
    """Group norm, written out with views."""

    def __init__(self, groups: int, width: int) -> None:
        super().__init__()
        self.groups = groups
        self.weight, self.bias = nn.Parameter(torch.ones(1, width, 1, 1)), nn.Parameter(torch.zeros(1, width, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.size()
        x = x.view(n, self.groups, -1)
        mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
        x = (x - mean) / (var + 1e-5).sqrt()
        return x.view(n, c, h, w) * (1 + self.weight) + self.bias


def time_embedding(timesteps: Tensor, width: int) -> Tensor:
    """Sines and cosines of a time step. t[b] -> [b, width]."""
    steps = torch.exp(-math.log(10000) * torch.arange(width // 2, dtype=torch.float32) / (width // 2))
    angles = timesteps[:, None].float() * steps[None, :]
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)


class DiffusionBlock(nn.Module):
    """A block of a latent-diffusion UNet: time scales and shifts, attention over pixels, and over a text."""

    def __init__(self, norm: Callable[[int, int], nn.Module], width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(4, width, 3, 1, 1)
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 2 * width))
        self.norms = nn.ModuleList(norm(2, width) for _ in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1) for _ in range(2))
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(6, width), nn.Linear(6, width)
        self.qkv, self.out = nn.Conv1d(width, 3 * width, 1), nn.Conv1d(width, width, 1)
        self.last = nn.Conv2d(width, 4, 3, 1, 1)

    def forward(self, sample: Tensor, timestep: Tensor, encoder_hidden_states: Tensor) -> Tensor:
        x = self.stem(sample)
        scale, shift = self.time(time_embedding(timestep, 8))[:, :, None, None].chunk(2, dim=1)
        y = self.convs[0](functional.silu(self.norms[0](x)))
        y = self.norms[1](y) * (1 + scale) + shift
        x = x + self.convs[1](functional.silu(y))
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norms[2](x).reshape(b, c, h * w)).chunk(3, dim=1)
        weight = torch.softmax(torch.einsum("bct,bcs->bts", q * c**-0.25, k * c**-0.25), dim=-1)
        x = x + self.out(torch.einsum("bts,bcs->bct", weight, v)).reshape(b, c, h, w)
        tokens = x.permute(0, 2, 3, 1).reshape(b, h * w, c)
        scores = self.q(tokens) @ self.k(encoder_hidden_states).transpose(-1, -2) * c**-0.5
        tokens = tokens + scores.softmax(-1) @ self.v(encoder_hidden_states)
        return self.last(tokens.reshape(b, h, w, c).permute(0, 3, 1, 2).contiguous())


class Film(nn.Module):
    """FiLM: a question scales and shifts the features of an image, whose coordinates are joined to them."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.question = nn.Embedding(20, 8), nn.GRU(8, 12, batch_first=True)
        self.stem, self.norm = nn.Conv2d(5, 6, 3, 2, 1), nn.BatchNorm2d(6, affine=False)
        self.film, self.head = nn.Linear(12, 12), nn.Linear(6, 4)

    def forward(self, image: Tensor, words: Tensor) -> Tensor:
        b, _, h, w = image.shape
        rows = (torch.arange(h, dtype=torch.float32) / (h - 1) * 2 - 1).view(1, 1, h, 1).expand(b, 1, h, w)
        columns = (torch.arange(w, dtype=torch.float32) / (w - 1) * 2 - 1).view(1, 1, 1, w).expand(b, 1, h, w)
        x = self.norm(self.stem(torch.cat([image, rows, columns], 1)))
        gamma, beta = self.film(self.question(self.words(words))[1][-1]).chunk(2, dim=-1)
        x = functional.relu(gamma.unsqueeze(2).unsqueeze(3) * x + beta.unsqueeze(2).unsqueeze(3))
        return self.head(x.amax(dim=(2, 3)))


def _case(
    name: str, build: Callable[[], nn.Module], *writings: Writing, outputs: tuple[str, ...] = ("scores",)
) -> Case:
    return Case(name, build, {"image": numbers("batch", 3, "height", "width")}, outputs, _FREE, writings)


_SAMPLE: dict[str, Feed] = {
    "sample": numbers("batch", 4, "height", "width"),
    "timestep": ids(1000, "batch"),
    "encoder_hidden_states": numbers("batch", "length", 6),
}
_FILM: dict[str, Feed] = {"image": numbers("batch", 3, "height", "width"), "words": ids(20, "batch", "length")}
CASES = (
    _case("unet", lambda: UNet(False), legacy(11), dynamo(18)),
    _case("unet_transposed", lambda: UNet(True), legacy(16)),
    _case("unet_cropped", CroppedUNet, legacy(13), dynamo(19)),
    _case("deeplab", DeepLab, legacy(11), dynamo(23)),
    _case("fpn", lambda: Pyramid(False), legacy(12), dynamo(20), outputs=("p3", "p4", "p5")),
    _case("bifpn", lambda: Pyramid(True), legacy(14, simplified=False), dynamo(18), outputs=("p3", "p4", "p5")),
    Case("diffusion", lambda: DiffusionBlock(nn.GroupNorm), _SAMPLE, ("noise",), _EVEN, (legacy(14), dynamo(21))),
    Case("diffusion_written", lambda: DiffusionBlock(GroupNorm), _SAMPLE, ("noise",), _EVEN, (legacy(12), dynamo(18))),
    Case("film", Film, _FILM, ("logits",), _FREE, (legacy(15), dynamo(18))),
)
