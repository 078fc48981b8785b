"""PyTorch models for litert-torch: images, detection, windows, and pairs of an encoder and a decoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

CHANNELS = 8


class LastNorm(nn.Module):
    """LayerNorm over the channels of [batch, channels, height, width]."""

    def __init__(self, channels: int = CHANNELS) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        scaled = (x - mean) / torch.sqrt((x - mean).pow(2).mean(1, keepdim=True) + 1e-6)
        return scaled * self.weight[:, None, None] + self.bias[:, None, None]


class Residual(nn.Module):
    """Two convolutions with batch normalization beside a projection."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, CHANNELS, 3, 2, 1, bias=False), nn.Conv2d(CHANNELS, CHANNELS, 3, 1, 1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(CHANNELS) for _ in range(2)])
        self.side, self.head = nn.Conv2d(3, CHANNELS, 1, 2), nn.Linear(CHANNELS, 4)

    def forward(self, image: Tensor) -> Tensor:
        x = image
        made = self.norms[1](self.second(functional.relu(self.norms[0](self.first(x)))))
        return self.head(functional.relu(made + self.side(x)).mean((2, 3)))


class Squeezed(nn.Module):
    """An inverted residual with squeeze and excitation."""

    def __init__(self, act: type[nn.Module]) -> None:
        super().__init__()
        self.wide, self.deep = nn.Conv2d(3, 12, 1), nn.Conv2d(12, 12, 3, 1, 1, groups=12)
        self.norm, self.act = nn.BatchNorm2d(12), act()
        self.less, self.more, self.out = nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1), nn.Conv2d(12, 3, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = image
        wide = self.act(self.norm(self.deep(self.act(self.wide(x)))))
        gate = torch.sigmoid(self.more(functional.relu(self.less(wide.mean((2, 3), keepdim=True)))))
        return x + self.out(wide * gate)


class ConvNext(nn.Module):
    """A ConvNeXt block with response normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, CHANNELS, 4, 4), LastNorm()
        self.deep = nn.Conv2d(CHANNELS, CHANNELS, 3, 1, 1, groups=CHANNELS)
        self.wide, self.out = nn.Linear(CHANNELS, 16), nn.Linear(16, CHANNELS)
        self.gain, self.shift = nn.Parameter(torch.ones(16)), nn.Parameter(torch.zeros(16))

    def forward(self, image: Tensor) -> Tensor:
        x = image
        x = self.stem(x)
        made = functional.gelu(self.wide(self.norm(self.deep(x)).permute(0, 2, 3, 1)))
        size = torch.sqrt(made.pow(2).sum((1, 2), keepdim=True) + 1e-6)
        made = self.gain * (made * (size / (size.mean(-1, keepdim=True) + 1e-6))) + self.shift + made
        return x + self.out(made).permute(0, 3, 1, 2)


class Swin(nn.Module):
    """A block of attention in windows of 4 by 4, shifted or not, with a bias by position."""

    def __init__(self, shift: int, side: int = 8) -> None:
        super().__init__()
        self.shift, self.side, self.norm = shift, side, nn.LayerNorm(16)
        self.stem, self.project, self.out = nn.Conv2d(3, 16, 2, 2), nn.Linear(16, 48), nn.Linear(16, 16)
        self.table = nn.Parameter(torch.zeros(49, 2))
        place = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = place[:, :, None] - place[:, None, :] + 3
        self.register_buffer("index", apart[0] * 7 + apart[1], persistent=False)
        zone = torch.zeros(side, side)
        for row, rows in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
            for column, columns in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
                zone[rows, columns] = 3 * row + column
        zones = zone.view(side // 4, 4, side // 4, 4).transpose(1, 2).reshape(-1, 16)
        self.register_buffer("mask", (zones[:, None, :] != zones[:, :, None]) * -100.0, persistent=False)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image).permute(0, 2, 3, 1)
        batch, side, count = x.shape[0], self.side, self.side // 4
        kept, x = x, self.norm(x)
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = x.view(batch, count, 4, count, 4, 16).transpose(2, 3).reshape(batch * count * count, 16, 16)
        queries, keys, values = self.project(x).view(-1, 16, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        scores = queries * 8**-0.5 @ keys.transpose(-1, -2)
        scores = scores + self.table[self.index.view(-1)].view(16, 16, 2).permute(2, 0, 1)
        if self.shift:
            scores = scores.view(batch, -1, 2, 16, 16) + self.mask[None, :, None]
            scores = scores.view(-1, 2, 16, 16)
        x = self.out((scores.softmax(-1) @ values).transpose(1, 2).reshape(-1, 16, 16))
        x = x.view(batch, count, count, 4, 4, 16).transpose(2, 3).reshape(batch, side, side, 16)
        if self.shift:
            x = torch.roll(x, (self.shift, self.shift), (1, 2))
        return kept + x


class Yolo(nn.Module):
    """Boxes by a grid and anchors."""

    def __init__(self, side: int = 4) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, CHANNELS, 4, 4), nn.Conv2d(CHANNELS, 2 * 8, 1)
        rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        self.register_buffer("grid", torch.stack([columns, rows], -1).float()[None, None], persistent=False)
        anchors = torch.tensor([[4.0, 6.0], [10.0, 8.0]]).view(1, 2, 1, 1, 2)
        self.register_buffer("anchors", anchors, persistent=False)

    def forward(self, image: Tensor) -> Tensor:
        x = self.head(functional.silu(self.stem(image)))
        x = x.view(x.shape[0], 2, 8, x.shape[2], x.shape[3]).permute(0, 1, 3, 4, 2).sigmoid()
        centre = (x[..., :2] * 2 - 0.5 + self.grid) * 4.0
        return torch.cat([centre, 4.0 * x[..., 2:4] * x[..., 2:4] * self.anchors, x[..., 4:]], -1).flatten(1, 3)


class Anchored(nn.Module):
    """Boxes of an SSD: offsets to priors, variances, corners, and scores above a threshold."""

    def __init__(self, count: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, CHANNELS, 4, 4)
        self.boxes, self.scores = nn.Linear(CHANNELS, 4), nn.Linear(CHANNELS, 3)
        steps = torch.linspace(0.1, 0.9, count)
        priors = torch.stack([steps, 1 - steps, steps / 2, steps / 3], -1)
        self.register_buffer("priors", priors, persistent=False)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(image).flatten(2).transpose(1, 2)
        offsets = self.boxes(x)
        centre = self.priors[:, :2] + offsets[..., :2] * 0.1 * self.priors[:, 2:]
        size = self.priors[:, 2:] * torch.exp(offsets[..., 2:] * 0.2)
        scores = self.scores(x).softmax(-1)
        return torch.cat([centre - size / 2, centre + size / 2], -1), torch.where(scores > 0.3, scores, 0.0)


class Overlap(nn.Module):
    """The intersection over union of two lists of boxes, which are centres and sizes."""

    def forward(self, one: Tensor, two: Tensor) -> Tensor:
        sizes = [each[:, 2:].exp() for each in (one, two)]
        low = torch.maximum((one[:, :2] - sizes[0])[:, None], (two[:, :2] - sizes[1])[None])
        high = torch.minimum((one[:, :2] + sizes[0])[:, None], (two[:, :2] + sizes[1])[None])
        sides = (high - low).clamp(min=0)
        inside = sides[..., 0] * sides[..., 1]
        areas = [4 * each[:, 0] * each[:, 1] for each in sizes]
        return inside / (areas[0][:, None] + areas[1][None, :] - inside)


class Down(nn.Module):
    """A block of a diffusion U-Net: group normalization, and a shift by the time."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm, self.time = (
            nn.Conv2d(3, CHANNELS, 3, 1, 1),
            nn.GroupNorm(2, CHANNELS),
            nn.Linear(8, CHANNELS),
        )
        self.conv, self.last = nn.Conv2d(CHANNELS, CHANNELS, 3, 1, 1), nn.GroupNorm(4, CHANNELS)

    def forward(self, image: Tensor, time: Tensor) -> Tensor:
        steps = time[:, None] * torch.exp(torch.arange(4) * -0.5)
        moved = self.time(torch.cat([steps.sin(), steps.cos()], -1))[:, :, None, None]
        x = self.stem(image)
        return x + self.conv(functional.silu(self.last(functional.silu(self.norm(x)) + moved)))


class UNet(nn.Module):
    """One level down and up again: by a transposed convolution, nearest or bilinear."""

    def __init__(self, up: str) -> None:
        super().__init__()
        self.way, self.first = up, nn.Conv2d(3, CHANNELS, 3, 1, 1)
        self.down, self.deep = nn.Conv2d(CHANNELS, 12, 3, 2, 1), nn.Conv2d(12, CHANNELS, 3, 1, 1)
        self.up = nn.ConvTranspose2d(CHANNELS, CHANNELS, 2, 2) if up == "transposed" else nn.Identity()
        self.norm, self.last = nn.InstanceNorm2d(CHANNELS, affine=True), nn.Conv2d(2 * CHANNELS, 2, 1)

    def forward(self, image: Tensor) -> Tensor:
        first = functional.relu(self.norm(self.first(image)))
        deep = self.up(functional.relu(self.deep(functional.relu(self.down(first)))))
        if self.way != "transposed":
            deep = functional.interpolate(deep, scale_factor=2, mode=self.way)
        return self.last(torch.cat([first, deep], 1)).sigmoid()


class Generator(nn.Module):
    """An image from a code by transposed convolutions, with or without overlap."""

    def __init__(self, kernel: int) -> None:
        super().__init__()
        self.start, pad = nn.Linear(6, CHANNELS * 16), (kernel - 2) // 2
        self.first = nn.ConvTranspose2d(CHANNELS, 6, kernel, 2, pad)
        self.norm, self.slope = nn.BatchNorm2d(6), nn.PReLU(6)
        self.last = nn.ConvTranspose2d(6, 3, kernel, 2, pad, bias=False)

    def forward(self, code: Tensor) -> Tensor:
        x = self.start(code).view(-1, CHANNELS, 4, 4)
        return torch.tanh(self.last(self.slope(self.norm(self.first(x)))))


class Style(nn.Module):
    """Adaptive instance normalization by a code, then a bias of the picture's size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.styles = nn.Conv2d(3, CHANNELS, 3, 1, 1), nn.Linear(6, 2 * CHANNELS)
        self.noise = nn.Parameter(torch.zeros(1, 1, 8, 8))

    def forward(self, image: Tensor, style: Tensor) -> Tensor:
        x = self.conv(image)
        gain, shift = self.styles(style)[:, :, None, None].chunk(2, 1)
        x = (x - x.mean((2, 3), keepdim=True)) / (x.var((2, 3), keepdim=True, unbiased=False) + 1e-5).sqrt()
        return functional.leaky_relu(x * (1 + gain) + shift + self.noise, 0.2)


class Vit(nn.Module):
    """Patches with a class token and learned positions."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.patches, self.layer, self.head = nn.Conv2d(3, 16, 4, 4), layer, nn.Linear(16, 4)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, 16)), nn.Parameter(torch.zeros(1, 5, 16))

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.layer(x)[:, 0])


class Shuffled(nn.Module):
    """Larger pictures by a pixel shuffle, of standardized bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, 1, 1)
        self.register_buffer("mean", torch.tensor([0.48, 0.45, 0.4]).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("scale", torch.tensor([0.23, 0.22, 0.21]).view(3, 1, 1), persistent=False)

    def forward(self, image: Tensor) -> Tensor:
        return functional.pixel_shuffle(self.conv((image - self.mean) / self.scale), 2).clamp(0, 1)


class Codec(nn.Module):
    """An autoencoder whose halves, and whose noisy middle, are signatures of one file."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.part, self.into, self.out = part, nn.Linear(12, 8), nn.Linear(4, 12)

    def forward(self, x: Tensor, noise: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
        if self.part == "decode":
            return self.out(x).sigmoid()
        mean, spread = self.into(x).chunk(2, -1)
        if self.part == "encode":
            return mean, spread
        return self.out(mean + torch.exp(spread / 2) * noise).sigmoid()
