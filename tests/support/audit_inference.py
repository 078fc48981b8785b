"""What is said of a node's result sizes before it runs, held against what a runtime returns."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TypeProto, defs, helper, numpy_helper
from onnx.shape_inference import InferenceError, infer_node_outputs

from tests.support.pairs.onnx_instances import Instance, bare, type_of
from tests.support.pairs.onnx_run import Runner

Sizes = Mapping[str, int]
"""What each symbol is when the node runs."""


@dataclass(frozen=True, slots=True)
class Told:
    """A claim: the types of the results, and the sizes of the symbols in it."""

    results: Mapping[str, TypeProto]
    symbols: Sizes


def results_of(instance: Instance, runner: Runner, runtime: str = "onnxruntime") -> dict[str, object] | None:
    """What a runtime gives for an instance; None where it does not run it."""
    model = bare(instance)
    for value in model.graph.input:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")  # what is not told can't be believed by the runtime
    ran = runner.run(model.SerializeToString(), [instance.given], runtime)
    if not ran.runs:
        return None
    return dict(zip([name for name in instance.node.output if name], ran.results[0], strict=False))


def claims(instance: Instance, choose: random.Random) -> Iterator[Told]:
    """What onnx infers of the node: on its sizes, on symbols for some of them, with constants told or not."""
    for symbolic in (0.0, 0.5, 1.0):
        for constants in (True, False):
            made = _inferred(instance, symbolic, choose, constants=constants)
            if made is not None:
                yield made


def _inferred(instance: Instance, symbolic: float, choose: random.Random, *, constants: bool) -> Told | None:
    symbols: dict[str, int] = {}
    shared = choose.random() < 0.5
    types = {
        name: _told(name, value, symbolic, symbols, choose, shared=shared) for name, value in instance.feeds.items()
    }
    data = {
        name: numpy_helper.from_array(value, name)
        for name, value in instance.feeds.items()
        if constants and isinstance(value, np.ndarray) and value.size <= 64 and value.dtype != object
    }
    try:
        schema = defs.get_schema(instance.node.op_type, instance.version, instance.domain)
        imports = [helper.make_opsetid(instance.domain, instance.version)]
        found = infer_node_outputs(schema, instance.node, types, data, opset_imports=imports)
    except (InferenceError, onnx.checker.ValidationError, defs.SchemaError, ValueError, RuntimeError, KeyError):
        return None
    return Told(found, symbols)


def _told(
    name: str, value: object, symbolic: float, symbols: dict[str, int], choose: random.Random, *, shared: bool
) -> TypeProto:
    made = type_of(value)
    for axis, dim in enumerate(made.tensor_type.shape.dim if made.HasField("tensor_type") else ()):
        if choose.random() < symbolic:
            size = dim.dim_value
            symbol = f"n{size}" if shared else f"{name}_{axis}"
            symbols[symbol] = size
            dim.dim_param = symbol
    return made


def contradiction(told: Told, results: Mapping[str, object]) -> str:
    """The first thing that is said of a result and is not so; empty where there is none."""
    for name, value in results.items():
        kind = told.results.get(name)
        if kind is None or not kind.HasField("tensor_type"):
            continue
        if isinstance(value, (list, dict)) or value is None:
            return f"{name} is no tensor"
        wrong = wrong_shape(_sizes(kind.tensor_type, told.symbols), np.shape(value))
        if wrong:
            return f"{name} {wrong}"
    return ""


def _sizes(tensor: TypeProto.Tensor, symbols: Sizes) -> list[int | None] | None:
    if not tensor.HasField("shape"):
        return None
    return [dim.dim_value if dim.HasField("dim_value") else symbols.get(dim.dim_param) for dim in tensor.shape.dim]


def wrong_shape(said: list[int | None] | None, shape: tuple[int, ...]) -> str:
    """How a claimed shape differs from a shape; empty where it does not."""
    if said is None:
        return ""
    if len(said) != len(shape):
        return f"has the shape {list(shape)}, not the rank {len(said)}"
    if any(size is not None and size >= 0 and size != real for size, real in zip(said, shape, strict=True)):
        return f"has the shape {list(shape)}, not {said}"
    return ""
