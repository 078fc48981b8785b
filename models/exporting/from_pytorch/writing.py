"""The two exporters of PyTorch: a case's model in, the bytes of an ONNX file out, the same ones each time."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from models.exporting.feeds import Sizes
from models.exporting.from_pytorch.case import Case, Writing
from models.exporting.from_pytorch.weights import set_weights


@dataclass(frozen=True)
class Made:
    """A file's bytes, and what PyTorch computes for each set of sizes."""

    data: bytes
    results: list[list[Tensor]]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what the exporters print from the terminal."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def _inputs(case: Case, sizes: Sizes) -> tuple[Tensor, ...]:
    """The tensors that the model is fed."""
    return tuple(torch.from_numpy(feed.numbers(sizes)) for feed in case.inputs.values())


def _model(case: Case) -> nn.Module:
    """The model with its weights, as it is used for inference."""
    torch.manual_seed(0)
    model = case.build().eval()
    set_weights(model)
    return model


def _results(model: nn.Module, case: Case, sizes: Sizes) -> list[Tensor]:
    """What PyTorch computes."""
    with torch.no_grad():
        found = model(*_inputs(case, sizes))
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _free_outputs(case: Case, results: list[list[Tensor]]) -> dict[str, dict[int, str]]:
    """The axes of the outputs that differ between the sets of sizes, by the size they follow, as users name them."""
    free: dict[str, dict[int, str]] = {}
    for name, *found in zip(case.outputs, *results, strict=True):
        for axis, extents in enumerate(zip(*(each.shape for each in found), strict=True)):
            if len(set(extents)) > 1:
                same = (key for key in case.sizes[0] if tuple(sizes[key] for sizes in case.sizes) == extents)
                free.setdefault(name, {})[axis] = next(same, f"{name}_dim_{axis}")
    return free


def _legacy(model: nn.Module, case: Case, writing: Writing, outputs: dict[str, dict[int, str]]) -> onnx.ModelProto:
    """What the exporter by tracing writes."""
    target = io.BytesIO()
    torch.onnx.export(
        torch.jit.script(model) if case.scripted else model,
        _inputs(case, case.sizes[0]),
        target,
        dynamo=False,
        opset_version=writing.opset,
        input_names=list(case.inputs),
        output_names=list(case.outputs),
        dynamic_axes={name: feed.free for name, feed in case.inputs.items() if feed.free} | outputs,
        do_constant_folding=writing.simplified,
    )
    return onnx.load_from_string(target.getvalue())


def _dynamo(model: nn.Module, case: Case, writing: Writing) -> onnx.ModelProto:
    """What the exporter by torch.export writes."""
    program = torch.onnx.export(
        model,
        _inputs(case, case.sizes[0]),
        dynamo=True,
        opset_version=writing.opset,
        input_names=list(case.inputs),
        output_names=list(case.outputs),
        dynamic_shapes=tuple(feed.free or None for feed in case.inputs.values()),
        optimize=writing.simplified,
        verbose=False,
    )
    if program is None:
        raise RuntimeError(f"{case.name}: the exporter returned nothing")
    return program.model_proto


def _strip(message: Any) -> None:  # noqa: ANN401 - any message of ONNX
    """Clear the documentation and metadata of a message and of all below it: they hold paths of one machine."""
    for field, value in message.ListFields():
        if field.name in {"doc_string", "metadata_props"}:
            message.ClearField(field.name)
        elif field.type == field.TYPE_MESSAGE and field.message_type.name not in {"TensorProto", "TypeProto"}:
            for each in value if field.is_repeated else (value,):
                _strip(each)


def write(case: Case, writing: Writing) -> Made:
    """Export a case once.

    Raises what the exporter raises.
    """
    with _quiet():
        model = _model(case)
        results = [_results(model, case, sizes) for sizes in case.sizes]
        if writing.exporter == "legacy":
            made = _legacy(model, case, writing, _free_outputs(case, results))
        else:
            made = _dynamo(model, case, writing)
    _strip(made)
    return Made(made.SerializeToString(deterministic=True), results)
