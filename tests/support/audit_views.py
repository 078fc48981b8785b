"""What the rewriter's view and the proof say of a node's result sizes, by the public faces of both."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from graphfix import api
from graphfix.checker import proof
from graphfix.results import GraphfixError
from tests.support.audit_inference import wrong_shape
from tests.support.pairs.onnx_instances import Instance, bare
from tests.support.pairs.onnx_run import Runner

SYMBOL = "q{}"
"""Symbols are the size they have at run time: `q3` for one that several dims have, `q3_x_0` for one of an input."""


def stated(instance: Instance, choose: random.Random) -> ModelProto:
    """The model of an instance: some sizes are symbols, some operands constants, results without a declared type."""
    model = bare(instance)
    symbolic, constant, shared = choose.choice((0.0, 0.5, 1.0)), choose.choice((0.0, 1.0)), choose.random() < 0.5
    for value in list(model.graph.input):
        array = instance.feeds[value.name]
        if isinstance(array, np.ndarray) and array.dtype != object and array.size <= 64 and choose.random() < constant:
            model.graph.input.remove(value)
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ()):
            if choose.random() < symbolic:
                size = dim.dim_value
                dim.dim_param = SYMBOL.format(size) if shared else SYMBOL.format(f"{size}_{value.name}_{axis}")
    return model


def runs_as_stated(model: ModelProto, instance: Instance, runner: Runner) -> bool:
    """Whether onnxruntime takes the model with what it states: some nodes run only where it is told no sizes."""
    feeds = {value.name: instance.feeds[value.name] for value in model.graph.input}
    return runner.run(model.SerializeToString(), [feeds], "onnxruntime").runs


def view_contradiction(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """What the rewriter's view says of a result and is not so; shapes are those at run time, by value."""
    try:
        graph = api.load(model).graphs[0]
    except GraphfixError:
        return ""
    for node in graph.nodes:
        for result in filter(None, node.results):
            axes = result.shape.axes
            if result.name in shapes and axes is not None:
                said = [_size(axis, shapes) for axis in axes]
                wrong = wrong_shape(said, shapes[result.name]) or _out_of_range(axes, shapes[result.name])
                if wrong:
                    return f"{result.name} {wrong}"
    return ""


def _size(axis: object, shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    if isinstance(axis, int):
        return axis
    parts = axis.parts  # type: ignore[attr-defined]
    if len(parts) != 1:
        return None
    if not parts[0].startswith("?"):
        return _of_symbol(parts[0])
    name, _, at = parts[0][1:].rpartition(".")
    return shapes[name][int(at)] if name in shapes and at.isdigit() and int(at) < len(shapes[name]) else None


def _of_symbol(name: str) -> int | None:
    found = re.fullmatch(r"q(\d+)(_.*)?", name)
    return int(found[1]) if found else None


def _out_of_range(axes: tuple[object, ...], shape: tuple[int, ...]) -> str:
    for axis, size in zip(axes, shape, strict=True):
        if not isinstance(axis, int) and not axis.lo <= size <= (size if axis.hi is None else axis.hi):  # type: ignore[attr-defined]
            return f"has the shape {list(shape)}, out of {axis.lo} to {axis.hi}"  # type: ignore[attr-defined]
    return ""


def proof_contradiction(model: ModelProto, results: Mapping[str, np.ndarray], folder: Path) -> str:
    """What the proof says of a result where an operator reads it that broadcasts; `results` by name."""
    made = ModelProto.FromString(model.SerializeToString())
    for name, value in results.items():
        read = _reader(name, value)
        if read is not None:
            made.graph.initializer.append(read[0])
            made.graph.node.append(read[1])
            made.graph.output.append(helper.make_empty_tensor_value_info(read[1].output[0]))
    path = folder / "audited.onnx"
    path.write_bytes(made.SerializeToString())
    try:
        found = proof.maps(path)
    except (GraphfixError, proof.UnprovedError):
        return ""
    for node in found:
        for read_ in node.reads or ():
            name = read_.value.partition("[")[0]
            if name in results and read_.sizes is not None:
                said = [_said(str(it)) for it in read_.sizes]
                wrong = wrong_shape(said, results[name].shape)
                if wrong:
                    return f"{name} {wrong}"
    return ""


def _said(text: str) -> int | None:
    return int(text) if text.isdigit() else _of_symbol(text)


def _reader(name: str, value: np.ndarray) -> tuple[onnx.TensorProto, onnx.NodeProto] | None:
    if value.dtype == bool:
        op, dtype = "And", "bool"
    elif value.dtype in (np.float32, np.float64, np.int32, np.int64):
        op, dtype = "Add", str(value.dtype)
    else:
        return None
    bias = numpy_helper.from_array(np.ones(1, dtype), f"{name}_bias")
    return bias, helper.make_node(op, [name, bias.name], [f"{name}_read"])
