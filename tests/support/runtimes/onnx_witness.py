"""Looks at a model while onnxruntime runs it: the shapes of all operands of every broadcasting operator.

Nothing of graphfix is used here. The list of operators is written by hand from the ONNX operator specification.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
from onnx.helper import tensor_dtype_to_np_dtype
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

OPERATORS = frozenset({
    "Add", "Sub", "Mul", "Div", "Pow", "Mod", "And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual",
    "LessOrEqual", "Where", "Max", "Min", "Sum", "Mean", "PRelu", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
})  # fmt: skip
"""https://onnx.ai/onnx/operators: those whose page says that all operands are broadcast, in one direction or both."""

REFUSALS = (Fail, InvalidArgument, RuntimeException, NoKernel)
Shape = tuple[int, ...]
SIZES = (3, 1, 2, 5, 32, 48, 64, 96, 160, 512, 576, 640)
"""What free dims are tried at."""


@dataclass(frozen=True)
class Seen:
    """One node of the main graph as it ran."""

    result: str
    """What it makes."""
    op: str
    shapes: tuple[Shape | None, ...]
    """By operand; None for one that is absent or could not be seen."""


class Witness:
    """A model whose broadcasting operands are outputs too."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Write a copy with more outputs into `folder` and load it, nothing optimized. Raises one of REFUSALS."""
        self.model = onnx.load(path)
        graph = self.model.graph
        self.constants = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        self.nodes = [node for node in graph.node if node.op_type in OPERATORS and node.domain in {"", "ai.onnx"}]
        asked = dict.fromkeys(name for node in self.nodes for name in node.input if name and name not in self.constants)
        known = {value.name for value in (*graph.output, *graph.input)}
        for name in asked:
            if name not in known:
                graph.output.add().name = name
        own = {value.name for value in graph.input}
        self.asked = [name for name in asked if name not in own]
        copy = folder / "exposed.onnx"
        onnx.save(self.model, copy)
        self.session = session_of(copy)

    def look(self, feeds: Mapping[str, np.ndarray]) -> list[Seen]:
        """Run once. Raises one of REFUSALS."""
        shapes: dict[str, Shape] = {name: value.shape for name, value in feeds.items()} | self.constants
        if self.asked:
            values = self.session.run(self.asked, dict(feeds))
            shapes |= {name: value.shape for name, value in zip(self.asked, values, strict=True)}
        return [
            Seen(
                node.output[0],
                node.op_type,
                tuple(shapes.get(name) if name else None for name in node.input),
            )
            for node in self.nodes
        ]


def session_of(path: Path) -> ort.InferenceSession:
    """Load a model as it is written, nothing optimized. Raises one of REFUSALS."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def offers(model: onnx.ModelProto) -> Iterator[dict[str, np.ndarray]]:
    """Inputs at many sizes of the free dims; the model may refuse most of them."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    free = list(dict.fromkeys(label for value in inputs for label in labels(value) if isinstance(label, str)))
    random = np.random.default_rng(7)
    for sizes in assignments(free):
        for integer in (1, 16000, 8000, 0):  # a sampling rate is what integer scalars of real models are
            yield {value.name: array(value, sizes, integer, random) for value in inputs}
            if not any(is_integer(value) for value in inputs):
                break


def assignments(free: list[str]) -> Iterator[dict[str, int]]:
    """The first dim (a batch, as a rule) at 2, 1 and 3, the others together; then each at a size of its own."""
    if not free:
        yield from ({}, {}, {})
        return
    for size, first in itertools.product(SIZES, (2, 1, 3)):
        yield dict.fromkeys(free, size) | {free[0]: first}
    for size in SIZES:
        yield {name: size + SIZES[4] * at for at, name in enumerate(free)}
        yield dict.fromkeys(free, size)


def labels(value: onnx.ValueInfoProto) -> list[int | str]:
    """The dims of an input: a size, the symbol, or a label of the axis' own."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return [f"{value.name}[0]", f"{value.name}[1]"]
    return [
        dim.dim_value
        if dim.HasField("dim_value") and dim.dim_value >= 0
        else dim.dim_param
        if dim.dim_param not in {"", "?"}
        else f"{value.name}[{axis}]"
        for axis, dim in enumerate(tensor.shape.dim)
    ]


def is_integer(value: onnx.ValueInfoProto) -> bool:
    return np.dtype(tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)).kind in "iu"


def array(
    value: onnx.ValueInfoProto, sizes: Mapping[str, int], integer: int, random: np.random.Generator
) -> np.ndarray:
    """Values for one input: integers all alike, the rest drawn."""
    dtype = np.dtype(tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    shape = tuple(sizes[label] if isinstance(label, str) else label for label in labels(value))
    if dtype.kind in "iu":
        return np.full(shape, min(integer, np.iinfo(dtype).max), dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    return random.standard_normal(shape).astype(dtype)


def accepted(session: ort.InferenceSession, model: onnx.ModelProto, wanted: int) -> list[dict[str, np.ndarray]]:
    """The first inputs, each at other sizes, that the model takes: `wanted` of them where its dims are free."""
    found: dict[tuple[Shape, ...], dict[str, np.ndarray]] = {}
    for feeds in offers(model):
        key = tuple(fed.shape for fed in feeds.values())
        if key in found:
            continue
        try:
            session.run(None, feeds)
        except REFUSALS:
            continue
        found[key] = feeds
        if len(found) == wanted:
            break
    return list(found.values())
