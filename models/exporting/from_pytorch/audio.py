"""Sound: spectrograms, dilated causal convolutions, WaveNet, Conformer, and models that take any number of samples."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import mask, numbers
from models.exporting.from_pytorch.case import Case, dynamo, legacy

_SAMPLES = ({"batch": 2, "samples": 320}, {"batch": 3, "samples": 500})
_FRAMES = ({"batch": 2, "frames": 12}, {"batch": 3, "frames": 21})


class Spectrogram(nn.Module):
    """A log-mel spectrogram: a Fourier transform as a convolution, a filter bank, decibels, each clip normalized."""

    def __init__(self, window: int = 32, hop: int = 16, mels: int = 8) -> None:
        super().__init__()
        self.window, self.hop = window, hop
        bins = window // 2 + 1
        angle = 2 * math.pi * torch.arange(bins)[:, None] * torch.arange(window)[None, :] / window
        kernel = torch.cat([torch.cos(angle), -torch.sin(angle)]) * torch.hann_window(window)
        self.register_buffer("kernel", kernel.unsqueeze(1))
        self.mel = nn.Parameter(torch.zeros(mels, bins))
        self.tag = nn.Linear(mels, 4)

    def forward(self, waveform: Tensor) -> tuple[Tensor, Tensor]:
        x = functional.pad(waveform.unsqueeze(1), (self.window // 2, self.window // 2), mode="reflect")
        real, imaginary = functional.conv1d(x, self.kernel, stride=self.hop).chunk(2, dim=1)
        mel = torch.matmul(self.mel.abs(), real.pow(2) + imaginary.pow(2))
        x = 10.0 * torch.log10(torch.clamp(mel, min=1e-10))
        x = torch.maximum(x, x.amax(dim=(1, 2), keepdim=True) - 80.0)
        x = (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + 1e-5)
        return x, self.tag(x.mean(-1) + x.amax(-1))


class Pcen(nn.Module):
    """Per-channel energy normalization by a smoothed energy, with SpecAugment's kind of band gate. x[b, bands, t]."""

    def __init__(self, bands: int = 8) -> None:
        super().__init__()
        self.alpha, self.delta, self.root = (nn.Parameter(torch.zeros(bands)) for _ in range(3))
        self.smooth = nn.AvgPool1d(5, 1, 2, count_include_pad=False)
        self.gate = nn.Conv1d(bands, bands, 1)

    def forward(self, energy: Tensor) -> Tensor:
        energy = energy.abs() + 0.1
        level = self.smooth(energy)
        alpha = torch.sigmoid(self.alpha)[None, :, None]
        delta = torch.exp(self.delta).view(1, -1, 1)
        root = torch.sigmoid(self.root)[None, :, None]
        y = (energy / (1e-6 + level) ** alpha + delta) ** root - delta**root
        return y * torch.sigmoid(self.gate(y.mean(-1, keepdim=True)))


class Causal(nn.Module):
    """A convolution that sees no later time, by padding and cutting the end (TCN)."""

    def __init__(self, width: int, out: int, dilation: int) -> None:
        super().__init__()
        self.cut = 2 * dilation
        self.conv = nn.Conv1d(width, out, 3, padding=self.cut, dilation=dilation)
        self.around = nn.Conv1d(width, out, 1) if width != out else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(functional.relu(self.conv(x)[:, :, : -self.cut]) + self.around(x))


class Tcn(nn.Module):
    """A temporal convolutional network; each frame's scores, and those of the whole by the frames that are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Causal(a, b, d) for a, b, d in ((6, 8, 1), (8, 8, 2), (8, 12, 4))))
        self.head = nn.Conv1d(12, 4, 1)

    def forward(self, features: Tensor, frame_mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.head(self.blocks(features.transpose(1, 2)))
        kept = frame_mask.unsqueeze(1).to(x.dtype)
        return x.transpose(1, 2), (x * kept).sum(-1) / kept.sum(-1).clamp(min=1)


class WaveNet(nn.Module):
    """WaveNet: gated layers over a wave, a condition for each time, skips that are cut to the shortest and added."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.filters = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=1 << at) for at in range(3))
        self.conditions = nn.ModuleList(nn.Conv1d(4, 2 * width, 1) for _ in range(3))
        self.outs = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(3))
        self.speaker = nn.Linear(5, 4)
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(width, 16, 1))

    def forward(self, wave: Tensor, speaker: Tensor) -> Tensor:
        x = self.first(wave.unsqueeze(1))
        condition = self.speaker(speaker).unsqueeze(-1)
        total = None
        for at, (conv, local, out) in enumerate(zip(self.filters, self.conditions, self.outs, strict=True)):
            gate, value = (conv(x) + local(condition)).chunk(2, dim=1)
            rest, skip = out(torch.tanh(value) * torch.sigmoid(gate)).chunk(2, dim=1)
            x = x[:, :, (1 << at) :] + rest
            total = skip if total is None else total[:, :, -skip.size(2) :] + skip
        return functional.log_softmax(self.head(total), dim=1)


class RelativeAttention(nn.Module):
    """Transformer-XL's attention: scores by content and by distance, which a pad, a view and a slice shift."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.distance = nn.Linear(width, width, bias=False)
        self.u, self.w = (nn.Parameter(torch.zeros(heads, width // heads)) for _ in range(2))

    def shifted(self, x: Tensor) -> Tensor:
        """Move row i by i places. x[b, heads, t, 2t-1] -> [b, heads, t, t]."""
        b, h, t1, t2 = x.size()
        x = torch.cat([torch.zeros((b, h, t1, 1), dtype=x.dtype), x], dim=-1)
        x = x.view(b, h, t2 + 1, t1)
        return x[:, :, 1:].view(b, h, t1, t2)[:, :, :, : t2 // 2 + 1]

    def forward(self, x: Tensor, distances: Tensor, hidden: Tensor) -> Tensor:
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.heads, self.depth)
        k = self.k(x).view(b, -1, self.heads, self.depth).transpose(1, 2)
        v = self.v(x).view(b, -1, self.heads, self.depth).transpose(1, 2)
        p = self.distance(distances).view(1, -1, self.heads, self.depth).transpose(1, 2)
        content = torch.matmul((q + self.u).transpose(1, 2), k.transpose(-2, -1))
        position = self.shifted(torch.matmul((q + self.w).transpose(1, 2), p.transpose(-2, -1)))
        scores = (content + position) / math.sqrt(self.depth)
        hidden = hidden.unsqueeze(1)
        scores = scores.masked_fill(hidden, -10000.0)
        chances = torch.softmax(scores, dim=-1).masked_fill(hidden, 0.0)
        return self.out((chances @ v).transpose(1, 2).reshape(b, t, -1))


class Conformer(nn.Module):
    """A Conformer block over features that are thinned out by two, masked as its frames are."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.width = width
        self.sub = nn.Conv2d(1, 4, 3, 2, 1)
        self.into = nn.Linear(4 * 4, width)
        self.halves = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 24), nn.SiLU(), nn.Linear(24, width)) for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.attention = RelativeAttention(width)
        self.point, self.after = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        self.depth, self.batch_norm = nn.Conv1d(width, width, 5, padding=2, groups=width), nn.BatchNorm1d(width)

    def distances(self, t: int) -> Tensor:
        """The sines of the distances t-1 .. -(t-1). -> [1, 2t-1, width]."""
        places = torch.arange(t - 1, -t, -1, dtype=torch.float32).unsqueeze(1)
        steps = torch.exp(torch.arange(0, self.width, 2, dtype=torch.float32) * -(math.log(10000.0) / self.width))
        angles = places * steps
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(1).unsqueeze(0)

    def forward(self, features: Tensor, frame_mask: Tensor) -> Tensor:
        x = functional.relu(self.sub(features.unsqueeze(1)))
        b, c, t, f = x.size()
        x = self.into(x.transpose(1, 2).contiguous().view(b, t, c * f)) * math.sqrt(self.width)
        kept = frame_mask[:, ::2].bool()
        hidden = ~(kept.unsqueeze(1) & kept.unsqueeze(2))
        x = x + 0.5 * self.halves[0](x)
        x = x + self.attention(self.norms[0](x), self.distances(t), hidden)
        y = self.norms[1](x).transpose(1, 2).masked_fill(~kept.unsqueeze(1), 0.0)
        y = self.batch_norm(self.depth(functional.glu(self.point(y), dim=1)))
        x = x + self.after(functional.silu(y)).transpose(1, 2)
        return self.norms[2](x + 0.5 * self.halves[1](x))


class Denoiser(nn.Module):
    """A mask over the bands of a noisy spectrum (real and imaginary), as speech enhancement has it."""

    def __init__(self, bins: int = 9) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(bins, affine=True)
        self.encode, self.decode = nn.Conv1d(bins, 12, 3, padding=1), nn.Conv1d(12, 2 * bins, 3, padding=1)
        self.prior = nn.Parameter(torch.zeros(1, 12, 1))

    def forward(self, spectrum: Tensor) -> Tensor:
        real, imaginary = spectrum.unbind(-1)
        loud = torch.sqrt(real**2 + imaginary**2 + 1e-8)
        y = functional.elu(self.encode(self.norm(torch.log1p(loud))) + self.prior)
        mr, mi = torch.tanh(self.decode(y)).chunk(2, 1)
        return torch.stack((real * mr - imaginary * mi, real * mi + imaginary * mr), dim=-1)


_WAVE = {"waveform": numbers("batch", "samples")}
_BANDS = {"features": numbers("batch", "frames", 6), "frame_mask": mask("batch", "frames")}
CASES = (
    Case("spectrogram", Spectrogram, _WAVE, ("log_mel", "tags"), _SAMPLES, (legacy(18), dynamo(18))),
    Case("pcen", Pcen, {"energy": numbers("batch", 8, "frames")}, ("features",), _FRAMES, (legacy(11), dynamo(20))),
    Case("tcn", Tcn, _BANDS, ("frame_scores", "scores"), _FRAMES, (legacy(13), dynamo(18))),
    Case(
        "wavenet",
        WaveNet,
        {"wave": numbers("batch", "samples"), "speaker": numbers("batch", 5)},
        ("log_chances",),
        _SAMPLES,
        (legacy(12), dynamo(19, simplified=False)),
    ),
    Case(
        "conformer",
        Conformer,
        {"features": numbers("batch", "frames", 8), "frame_mask": mask("batch", "frames")},
        ("states",),
        _FRAMES,
        (legacy(14), dynamo(18)),
    ),
    Case(
        "denoiser",
        Denoiser,
        {"spectrum": numbers("batch", 9, "frames", 2)},
        ("clean",),
        _FRAMES,
        (legacy(15), dynamo(22)),
    ),
)
