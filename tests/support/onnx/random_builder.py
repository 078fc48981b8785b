"""A random ONNX model in the making, each of whose values is an output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Array = NDArray[Any]


class Case(NamedTuple):
    """A model whose every value is an output, and its inputs."""

    proto: ModelProto
    feeds: Mapping[str, Array]


class Builder:
    """A model in the making: nodes one after another, inputs with numbers or names for sizes, constants."""

    def __init__(self, random: Random, opset: int) -> None:
        self.random, self.opset = random, opset
        self.nodes: list[NodeProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.constants: list[TensorProto] = []
        self.functions: list[FunctionProto] = []
        self.feeds: dict[str, Array] = {}
        self.names: dict[int, str] = {}
        self.count = 0
        self.domains = {"": opset}

    def name(self) -> str:
        """A new name."""
        self.count += 1
        return f"v{self.count}"

    def input(self, array: Array, *, open_sizes: float = 0.5) -> str:
        """An input that declares some sizes by name; equal sizes may have one name."""
        name = self.name()
        dims = [
            (self.names.setdefault(size, f"S{size}") if self.random.random() < 0.7 else None)
            if self.random.random() < open_sizes
            else size
            for size in array.shape
        ]
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
        self.feeds[name] = array
        return name

    def constant(self, value: ArrayLike, dtype: DTypeLike = np.int64) -> str:
        """An initializer, or a Constant node."""
        name = self.name()
        tensor = numpy_helper.from_array(np.asarray(value, dtype), name)
        if self.random.random() < 0.7:
            self.constants.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def operand(self, value: ArrayLike, dtype: DTypeLike = np.int64) -> str:
        """A constant mostly, sometimes an input of the same value."""
        if self.random.random() < 0.85:
            return self.constant(value, dtype)
        return self.input(np.asarray(value, dtype), open_sizes=0.2)

    def node(
        self, op: str, inputs: Sequence[str], results: int = 1, domain: str = "", **attributes: object
    ) -> list[str]:
        """Add a node; return the names of its results."""
        names = [self.name() for _ in range(results)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names

    def case(self) -> Case:
        """The model: every result is an output without a stated type."""
        outputs = [ValueInfoProto(name=name) for node in self.nodes for name in node.output if name]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        proto = helper.make_model(graph, opset_imports=imports, ir_version=9, functions=self.functions)
        return Case(proto, self.feeds)


def floats(*dims: int) -> Array:
    """Ones of that shape."""
    return np.ones(dims, np.float32)


def sizes(random: Random, rank: int, low: int = 1, high: int = 9) -> list[int]:
    """Random sizes of so many axes."""
    return [random.randint(low, high) for _ in range(rank)]
