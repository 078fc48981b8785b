"""The bytes that litert-torch writes of a model in one of its variants, the same ones each time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import litert_torch
import torch
from torch import nn

from models.exporting.from_keras.model import Export
from models.exporting.from_pytorch.weights import set_weights
from models.exporting.silence import quiet


def _module(export: Export, signature: str) -> nn.Module:
    """Return the module of a signature with its weights: parameters of one name are equal in all signatures."""
    torch.manual_seed(0)
    module = export.model.make(signature).eval()
    set_weights(module)
    return module


def _arguments(export: Export, signature: str) -> tuple[dict[str, torch.Tensor], dict[str, Any] | None]:
    """Return the inputs that the converter traces with, and which axes are free."""
    free = {axis: torch.export.Dim(axis, min=1, max=64) for axis in export.free()}
    values = {name: torch.from_numpy(value) for name, value in export.samples(signature)[0].items()}
    inputs = export.model.signatures[signature]
    axes = {one.name: {at: free[dim] for at, dim in enumerate(one.dims) if dim in free} for one in inputs}
    return values, axes if free else None


def convert(export: Export) -> bytes:
    """Return the file of a model in one of its variants.

    Raises what the converter raises.
    """
    with quiet(), tempfile.TemporaryDirectory() as folder:
        converter = litert_torch
        for signature in export.model.signatures:
            values, axes = _arguments(export, signature)
            module = _module(export, signature)
            converter = converter.signature(signature, module, sample_kwargs=values, dynamic_shapes=axes)
        path = Path(folder) / "model.tflite"
        converter.convert().export(str(path))
        return path.read_bytes()
