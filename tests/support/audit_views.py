"""What the rewriter's view and the proof say of a node's result sizes, by the public faces of both."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from graphfix import api
from graphfix.checker.proof import UnprovedError
from graphfix.results import GraphfixError
from graphfix.shapes.dim import Size
from tests.support import proving
from tests.support.audit_inference import wrong_shape
from tests.support.audit_terms import Observed, Shapes, contradicted, is_term, of_proof
from tests.support.pairs.onnx_instances import Instance, bare
from tests.support.pairs.onnx_run import Runner

SYMBOL = "q{}"
"""Symbols are the size they have at run time: `q3` for one that several dims have, `q3_x_0` for one of an input."""


LIKELY: Mapping[str, float] = {"i": 1.0, "u": 1.0, "O": 0.0}
"""How likely operands of a kind are constants: whole numbers are sizes, axes and places; what they say is for data."""


def stated(instance: Instance, choose: random.Random) -> ModelProto:
    """The model of an instance: some sizes are symbols, some operands constants, results without a declared type."""
    model = bare(instance)
    symbolic, constant, shared = choose.choice((0.0, 0.5, 1.0)), choose.choice((0.0, 1.0)), choose.random() < 0.5
    for value in list(model.graph.input):
        array = instance.feeds[value.name]
        if (
            isinstance(array, np.ndarray)
            and array.size <= 64
            and choose.random() < constant * LIKELY.get(array.dtype.kind, 0.3)
        ):
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


def view_contradiction(model: ModelProto, shapes: Shapes, told: Counter[str] | None = None) -> str:
    """What the rewriter's view says of a result and is not so; shapes are those at run time, by value.

    `told` counts the sizes that are terms, by operator.
    """
    try:
        graph = api.load(model).graphs[0]
    except GraphfixError:
        return ""
    observed = Observed(shapes, of_symbol)
    for node in graph.nodes:
        for result in filter(None, node.results):
            if result.name in shapes and result.shape.axes is not None:
                wrong = _wrong(result.shape.axes, shapes[result.name], observed)
                if told is not None:
                    told[node.op] += sum(map(is_term, result.shape.axes))
                if wrong:
                    return f"{result.name} {wrong}"
    return ""


def _wrong(axes: Sequence[Size], shape: Sequence[int], observed: Observed) -> str:
    wrong = wrong_shape([size if isinstance(size, int) else None for size in axes], tuple(shape))
    for size, real in zip(axes, shape, strict=False):
        if not isinstance(size, int):
            wrong = wrong or contradicted(size, real, observed)
    return wrong


def of_symbol(name: str) -> int | None:
    """The size that a symbol has by its name."""
    found = re.fullmatch(r"[qS](\d+)(_\w*)?", name)
    return int(found[1]) if found else None


def proof_contradiction(
    model: ModelProto, results: Mapping[str, np.ndarray], folder: Path, told: Counter[str] | None = None
) -> str:
    """What the proof says of a result where an operator reads it that broadcasts; `results` by name.

    `told` counts the sizes that are terms, by operator.
    """
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
        found = proving.maps(path)
    except (GraphfixError, UnprovedError):
        return ""
    made_by = {name: node.op_type for node in model.graph.node for name in node.output}
    for read_ in [read_ for node in found for read_ in node.reads or ()]:
        name = read_.value.partition("[")[0]
        if name in results and read_.sizes is not None:
            sizes = list(map(str, read_.sizes))
            if _denied(sizes, results[name].shape):
                return f"{name} has the shape {results[name].shape}, not {sizes}"
            if told is not None:
                told[made_by.get(name, "")] += sum(bool(set("+-*/") & set(size)) for size in sizes)
    return ""


def _denied(sizes: Sequence[str], shape: Sequence[int]) -> bool:
    """Whether a run gives another shape than the proof says; nothing is said by a name of nothing that was seen."""
    said = [of_proof(size, of_symbol) for size in sizes]
    return len(said) != len(shape) or any(size not in (None, real) for size, real in zip(said, shape, strict=True))


def _reader(name: str, value: np.ndarray) -> tuple[onnx.TensorProto, onnx.NodeProto] | None:
    if value.dtype == bool:
        op, dtype = "And", "bool"
    elif value.dtype in (np.float32, np.float64, np.int32, np.int64):
        op, dtype = "Add", str(value.dtype)
    else:
        return None
    bias = numpy_helper.from_array(np.ones(1, dtype), f"{name}_bias")
    return bias, helper.make_node(op, [name, bias.name], [f"{name}_read"])
