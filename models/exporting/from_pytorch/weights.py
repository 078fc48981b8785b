"""Weights as a short repeating pattern: they compress, and the numbers of a model stay finite and differ."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

PERIOD = 13
_VALUES = torch.tensor([((7 * step) % PERIOD - 6) / 6 for step in range(PERIOD)])


def pattern(count: int, start: int) -> Tensor:
    """Return so many numbers in [-1, 1], which repeat; two starts give two different sequences."""
    return _VALUES[(torch.arange(count) + start) % PERIOD] * (1 - (start % 29) / 64)


def _weights(name: str, tensor: Tensor, start: int) -> Tensor:
    """The weights of a tensor: matrices by their fan-in, gains and variances near one, all others small."""
    values = pattern(tensor.numel(), start).reshape(tensor.shape)
    if name.endswith(("running_var", "logit_scale")):
        return 1 + values.abs() / 4
    if tensor.dim() >= 2:
        return values * math.sqrt(3 * tensor.shape[0] / tensor.numel())
    if name.endswith(("weight", "gamma", "scale")):
        return 1 + values / 4
    return values / 4


def set_weights(model: nn.Module) -> None:
    """Set every parameter, and every running statistic, to the pattern; other buffers are no weights."""
    statistics = [(name, each) for name, each in model.named_buffers() if "running_" in name]
    with torch.no_grad():
        for start, (name, tensor) in enumerate([*model.named_parameters(), *statistics]):
            if tensor.is_floating_point():
                tensor.copy_(_weights(name, tensor, start))
