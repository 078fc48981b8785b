"""Convolutional networks for images of any size: residuals, gates on channels, hard activations, sub-pixels, norms."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import Feed, bytes_of, numbers
from models.exporting.from_pytorch.case import Case, Writing, dynamo, legacy

_FREE = (
    {"batch": 2, "height": 32, "width": 48},
    {"batch": 1, "height": 40, "width": 24},
    {"batch": 3, "height": 33, "width": 51},
)


class SqueezeExcite(nn.Module):
    """A gate for each channel, from the mean over the image."""

    def __init__(self, width: int, gate: Callable[[Tensor], Tensor] = torch.sigmoid) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1)
        self.gate = gate

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(self.up(functional.relu(self.down(functional.adaptive_avg_pool2d(x, 1)))))


class SqueezeExciteLinear(nn.Module):
    """The same by linear layers, as the first SENet has it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.Linear(4, width), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        b, c, _, _ = x.size()
        y = functional.adaptive_avg_pool2d(x, 1).view(b, c)
        return x * self.gate(y).view(b, c, 1, 1).expand_as(x)


class Residual(nn.Module):
    """Two convolutions with a way around them, which is a convolution where the size changes."""

    def __init__(self, width: int, out: int, stride: int, gate: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.gate = gate or nn.Identity()
        around = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.around = nn.Identity() if stride == 1 and width == out else around

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        return functional.relu(self.gate(y) + self.around(x))


class ResNet(nn.Module):
    """A residual network: stem, three stages, mean, logits."""

    def __init__(self, gate: Callable[[int], nn.Module] | None = None) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 7, 2, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU())
        gates = [gate(width) if gate else None for width in (6, 8, 12)]
        self.stages = nn.Sequential(
            Residual(6, 6, 1, gates[0]), Residual(6, 8, 2, gates[1]), Residual(8, 12, 2, gates[2])
        )
        self.head = nn.Linear(12, 5)

    def forward(self, image: Tensor) -> Tensor:
        x = functional.max_pool2d(self.stem(image), 3, 2, 1)
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(self.stages(x), 1), 1))


class Inverted(nn.Module):
    """An inverted residual: wide, each channel alone, gated, narrow."""

    def __init__(self, width: int, out: int, stride: int, act: nn.Module, gate: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        inner = 2 * width
        self.wide = nn.Sequential(nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), act)
        self.alone = nn.Sequential(
            nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner), act
        )
        self.gate = SqueezeExcite(inner, gate)
        self.narrow = nn.Sequential(nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
        self.adds = stride == 1 and width == out

    def forward(self, x: Tensor) -> Tensor:
        y = self.narrow(self.gate(self.alone(self.wide(x))))
        return x + y if self.adds else y


class MobileNetV3(nn.Module):
    """MobileNetV3: hard swish and hard sigmoid."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.blocks = nn.Sequential(
            Inverted(8, 8, 1, nn.ReLU(), functional.hardsigmoid),
            Inverted(8, 12, 2, nn.Hardswish(), functional.hardsigmoid),
            Inverted(12, 12, 1, nn.Hardswish(), functional.hardsigmoid),
        )
        self.head = nn.Sequential(nn.Linear(12, 16), nn.Hardswish(), nn.Linear(16, 5))

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(image)).mean([2, 3]))


class WrittenSwish(nn.Module):
    """x * relu6(x + 3) / 6, as it was written before it had a name."""

    def forward(self, x: Tensor) -> Tensor:
        return x * functional.relu6(x + 3.0) / 6.0


class EfficientNet(nn.Module):
    """EfficientNet, fed with bytes that it normalizes by constants of each channel, padded to even sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1))
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 0, bias=False), nn.BatchNorm2d(8), nn.SiLU())
        self.blocks = nn.Sequential(
            Inverted(8, 8, 1, nn.SiLU(), torch.sigmoid), Inverted(8, 12, 2, WrittenSwish(), torch.sigmoid)
        )
        self.head = nn.Linear(12, 5)

    def forward(self, image: Tensor) -> Tensor:
        x = (image.permute(0, 3, 1, 2).float() / 255.0 - self.mean) / self.std
        x = functional.pad(x, (0, 1, 0, 1))
        return functional.softmax(self.head(self.blocks(self.stem(x)).mean((2, 3))), -1)


class ChannelsFirstNorm(nn.Module):
    """A layer norm over the channels of [b, c, h, w] (ConvNeXt)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        apart = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(apart + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class GlobalResponse(nn.Module):
    """ConvNeXt V2's norm: a channel's strength over the image against that of all channels. [b, h, w, c]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(1, 1, 1, width)), nn.Parameter(torch.zeros(1, 1, 1, width))

    def forward(self, x: Tensor) -> Tensor:
        strength = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        relative = strength / (strength.mean(dim=-1, keepdim=True) + 1e-6)
        return self.weight * (x * relative) + self.bias + x


class ConvNext(nn.Module):
    """ConvNeXt V2 with a scale of each layer, channels last inside its blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(3, 8, 4, 4), ChannelsFirstNorm(8)
        self.alone, self.norm = nn.Conv2d(8, 8, 7, 1, 3, groups=8), nn.LayerNorm(8, eps=1e-6)
        self.wide, self.response, self.narrow = nn.Linear(8, 16), GlobalResponse(16), nn.Linear(16, 8)
        self.layer_scale = nn.Parameter(torch.ones(8))
        self.down_norm, self.down = ChannelsFirstNorm(8), nn.Conv2d(8, 12, 2, 2)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem_norm(self.stem(image))
        y = self.norm(self.alone(x).permute(0, 2, 3, 1))
        y = self.layer_scale * self.narrow(self.response(functional.gelu(self.wide(y))))
        return self.down(self.down_norm(x + y.permute(0, 3, 1, 2)))


class SuperResolution(nn.Module):
    """A picture twice as tall and wide: instance norm written out, sub-pixels, the enlarged picture added."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 12, 3, 1, 1), nn.Conv2d(12, 12, 3, 1, 1)
        self.gain, self.offset = nn.Parameter(torch.zeros(1, 12, 1, 1)), nn.Parameter(torch.zeros(1, 12, 1, 1))
        self.slope = nn.PReLU(12)

    def forward(self, image: Tensor) -> Tensor:
        x = self.slope(self.first(image))
        apart, mean = torch.var_mean(x, dim=(2, 3), keepdim=True, unbiased=False)
        x = (x - mean) * torch.rsqrt(apart + 1e-5) * (1 + self.gain) + self.offset
        large = functional.interpolate(image, scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.clamp(functional.pixel_shuffle(self.second(x), 2) + large, -2.0, 2.0)


def _case(name: str, build: Callable[[], nn.Module], output: str, *writings: Writing, feed: Feed | None = None) -> Case:
    return Case(name, build, {"image": feed or numbers("batch", 3, "height", "width")}, (output,), _FREE, writings)


CASES = (
    _case("resnet", ResNet, "logits", legacy(11), dynamo(18)),
    _case("resnet_se", lambda: ResNet(SqueezeExcite), "logits", legacy(12, simplified=False), dynamo(19)),
    _case("senet", lambda: ResNet(SqueezeExciteLinear), "logits", legacy(13), dynamo(18, simplified=False)),
    _case("mobilenet_v3", MobileNetV3, "logits", legacy(11), dynamo(20)),
    _case(
        "efficientnet_bytes",
        EfficientNet,
        "scores",
        legacy(14),
        dynamo(18),
        feed=bytes_of("batch", "height", "width", 3),
    ),
    _case("convnext_v2", ConvNext, "features", legacy(15), dynamo(21)),
    _case("super_resolution", SuperResolution, "picture", legacy(13), dynamo(18)),
)
