"""What the values of an ONNX model really are, and which of its stored shapes contradict them.

onnxruntime says it of the main graph; onnx's reference evaluator, by its log, of bodies and functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from tests.support.runtimes.onnx_runs import run

SIZES = {"N": (3, 2), "M": (5, 7), "B": (4, 1), "K": (12, 8)}
"""The sizes of each symbol in the first and in the second run. K is 4 N."""
Feeds = Mapping[str, NDArray[Any]]
Place = str
"""The name of a graph or of a function."""
Real = dict[tuple[Place, str], set[tuple[int, ...]]]


def feeds(model: onnx.ModelProto) -> Iterator[tuple[dict[str, int], dict[str, NDArray[Any]]]]:
    """Yield the sizes of the symbols and the inputs of each run: two sizes, and both values of a bool scalar."""
    draw = np.random.default_rng(0)
    numbers = range(2 if any(isinstance(dim, str) for value in model.graph.input for dim in dims(value) or ()) else 1)
    for number, flag in product(numbers, (True, False) if any(map(_is_flag, model.graph.input)) else (True,)):
        sizes = {symbol: each[number] for symbol, each in SIZES.items()}
        made: dict[str, NDArray[Any]] = {}
        for value in model.graph.input:
            shape = [dim if isinstance(dim, int) else sizes[dim or ""] for dim in dims(value) or ()]
            made[value.name] = (
                np.full(shape, flag) if _is_flag(value) else draw.standard_normal(shape).astype(np.float32)
            )
        yield sizes, made


def _is_flag(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.elem_type == onnx.TensorProto.BOOL


def dims(value: onnx.ValueInfoProto) -> tuple[int | str | None, ...] | None:
    """Return a declared shape: numbers, symbols, None for an open size; None as a whole where there is none."""
    if not value.type.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
        for dim in value.type.tensor_type.shape.dim
    )


def stored(model: onnx.ModelProto) -> Iterator[tuple[Place, str, tuple[int | str | None, ...]]]:
    """Yield every stored shape but those of the model's inputs, with the name of its graph or function."""
    main = model.graph
    for graph in graphs(model):
        inputs = () if graph is main else graph.input
        for value in (*inputs, *graph.output, *graph.value_info):
            shape = dims(value)
            if shape is not None:
                yield graph.name, value.name, shape
    for function in model.functions:
        for value in function.value_info:
            shape = dims(value)
            if shape is not None:
                yield function.name, value.name, shape


def graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Yield the main graph and all bodies, those of functions too."""
    yield model.graph
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        yield from _bodies(nodes)


def _bodies(nodes: Any) -> Iterator[onnx.GraphProto]:  # noqa: ANN401 -- protobuf's containers have no types
    for node in nodes:
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                if graph.node:
                    yield graph
                    yield from _bodies(graph.node)


def without_stored(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy that stores no shapes but those of the model's inputs, and of scalars that a body reads.

    onnxruntime refuses a Loop whose iteration number has no shape.
    """
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for graph in graphs(bare):
        del graph.value_info[:]
        inputs = () if graph is bare.graph else graph.input
        for value in (*(each for each in inputs if dims(each)), *graph.output):
            value.type.tensor_type.ClearField("shape")
    for function in bare.functions:
        del function.value_info[:]
    return bare


def contradictions(model: onnx.ModelProto) -> list[str]:
    """Return every stored shape that a run contradicts: its rank, a number, or a symbol that is another size."""
    found: list[str] = []
    for sizes, inputs in feeds(model):
        real = shapes(model, inputs)
        for place, name, shape in stored(model):
            symbols = sizes if place == model.graph.name else dict(sizes)
            found += [
                f"{place}: {name} is stored as {list(shape)}, and is {list(got)}"
                for got in real.get((place, name), ())
                if not _is_instance(shape, got, symbols)
            ]
    return sorted(set(found))


def _is_instance(shape: tuple[int | str | None, ...], got: tuple[int, ...], symbols: dict[str, int]) -> bool:
    if len(shape) != len(got):
        return False
    return all(
        (dim == size if isinstance(dim, int) else dim is None or symbols.setdefault(dim, size) == size)
        for dim, size in zip(shape, got, strict=True)
    )


def shapes(model: onnx.ModelProto, inputs: Feeds) -> Real:
    """Return the shapes that every value has in a run: several where a body runs several times."""
    bare = without_stored(model)
    real: Real = {}
    if len(list(graphs(bare))) > 1 or bare.functions:
        Evaluator.real = real
        Evaluator(bare).run(None, dict(inputs))
    names = [name for node in bare.graph.node for name in node.output if name]
    names += [tensor.name for tensor in bare.graph.initializer]
    del bare.graph.output[:]
    bare.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    for name, value in zip(names, run(bare, **inputs), strict=True):
        real[model.graph.name, name] = {value.shape}
    return real


class Evaluator(ReferenceEvaluator):
    """onnx's evaluator, which logs each result: bodies and functions are evaluated by further instances."""

    real: Real = {}  # noqa: RUF012 -- one for all instances: those of bodies are made by onnx

    def _log(self, level: int, pattern: str, *args: Any) -> None:  # noqa: ANN401, ARG002
        """Note the shape of a logged value."""
        is_main = isinstance(self.proto_, onnx.ModelProto)
        if level == 2 and not is_main and isinstance(args[1], (np.ndarray, np.generic)):
            self.real.setdefault((self.proto_.name, args[0]), set()).add(args[1].shape)
