"""A random ONNX graph during its construction: nodes, constants, inputs, and the type and shape of each value."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from attacking.pair import Feed, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KINDS = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
    "str": TensorProto.STRING,
    "bfloat16": TensorProto.BFLOAT16,
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "int4": TensorProto.INT4,
}
AXES_ARE_OPERANDS = 13
"""The first operator set in which Unsqueeze, Squeeze and ReduceSum read their axes from an operand."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the graph: its name, its type and its shape.

    The type is numpy's name, and a size is a text, such as `N`, if it is not constant.
    """

    name: str
    kind: str
    shape: Shape

    @property
    def rank(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Return whether all sizes are numbers."""
        return all(isinstance(dim, int) for dim in self.shape)


def meet(one: Shape, other: Shape) -> Shape | None:
    """Return the shape to which two shapes broadcast, or None if the shapes do not broadcast for certain.

    Shapes are right-aligned: `[4,1]` and `[3]` -> `[4,3]`. The symbols `N` and `M` do not certainly broadcast.
    """
    rank = max(len(one), len(other))
    found = []
    for a, b in zip((1,) * (rank - len(one)) + one, (1,) * (rank - len(other)) + other, strict=True):
        if a != b and 1 not in (a, b):
            return None
        found.append(b if a == 1 else a)
    return tuple(found)


class Draft:
    """A graph under construction, with its source of random numbers and its operator set.

    `values` are the inputs and results that later nodes may read. `value_table` contains constants and the values of
    bodies too, by name. `stored` are declarations of inner values. `options` are keywords of `graphfix.verify` for the
    pair, and `sizes` are the sizes that a symbol may have in runs.
    """

    def __init__(self, rng: random.Random, opset: int) -> None:
        self.rng = rng
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.feeds: list[Feed] = []
        self.values: list[Value] = []
        self.value_table: dict[str, Value] = {}
        self.functions: list[Any] = []
        self.domains: dict[str, int] = {}
        self.stored: list[Any] = []
        self.options: dict[str, Any] = {}
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.outputs: list[Value] = []
        self._count = 0

    def fresh(self, stem: str) -> str:
        """Return a name that no other value of the model has."""
        self._count += 1
        return f"{stem}{self._count}"

    def note(self, value: Value) -> Value:
        """Record a value, so that later nodes and mutations can use it, and return it."""
        self.values.append(value)
        self.value_table[value.name] = value
        return value

    def input(self, kind: str, shape: Shape, **more: Any) -> Value:  # noqa: ANN401 - fields of Feed
        """Add an input of the model and return its value. `more` are further fields of `Feed`."""
        value = self.note(Value(self.fresh("x"), kind, shape))
        self.feeds.append(Feed(value.name, kind, shape, **more))
        return value

    def constant(self, array: np.ndarray | Sequence[int]) -> Value:
        """Add an initializer and return its value. A list or tuple of numbers becomes int64."""
        as_array = np.asarray(array, np.int64) if isinstance(array, (list, tuple)) else array
        name = self.fresh("c")
        self.constants.append(numpy_helper.from_array(as_array, name))
        value = Value(name, "str" if as_array.dtype == object else as_array.dtype.name, as_array.shape)
        self.value_table[name] = value
        return value

    def weights(self, *shape: int, kind: str = "float32") -> Value:
        """Add an initializer of small random numbers with this shape, and return its value."""
        numbers = np.random.default_rng(self.rng.getrandbits(32)).normal(size=shape)
        return self.constant((numbers * (1 if kind.startswith("float") else 3)).astype(kind))

    def node(self, operator: str, operands: Sequence[Value | str], kind: str, shape: Shape, **more: Any) -> Value:  # noqa: ANN401 - attributes
        """Append a node with one result of this type and shape, and return the result. `more` are the attributes.

        Operands are values or names, and an empty name is an operand that is absent.
        """
        names = [each if isinstance(each, str) else each.name for each in operands]
        value = Value(self.fresh("v"), kind, shape)
        self.nodes.append(helper.make_node(operator, names, [value.name], **more))
        return self.note(value)

    def moved(self, operator: str, value: Value, axes: Sequence[int], shape: Shape) -> Value:
        """Append an Unsqueeze, Squeeze or ReduceSum, and return its result.

        The axes are an attribute or an operand, as the draft's operator set requires.
        """
        more = {"keepdims": 0} if operator.startswith("Reduce") else {}
        if self.opset < AXES_ARE_OPERANDS:
            return self.node(operator, [value], value.kind, shape, axes=list(axes), **more)
        return self.node(operator, [value, self.constant(list(axes))], value.kind, shape, **more)

    def find(self, accept: Callable[[Value], bool]) -> Value | None:
        """Return a random value that `accept` accepts, or None if there is no such value.

        In half of the cases the latest such value is returned.
        """
        fitting = [value for value in self.values if accept(value)]
        if not fitting:
            return None
        return fitting[-1] if self.rng.random() < 0.5 else self.rng.choice(fitting)

    def some(self, kind: str = "float32", rank: int | None = None, *, static: bool = False) -> Value:
        """Return a value of this type and rank, or of any rank if `rank` is None.

        Add an input if no value fits, and sometimes even if a value fits. `static` requires that all sizes are numbers.
        """
        found = self.find(
            lambda value: (
                value.kind == kind
                and (value.rank == rank if rank is not None else True)
                and (value.is_static or not static)
            )
        )
        if found is not None and self.rng.random() < 0.9:
            return found
        dims = (
            self.rng.choice([(1, 2, 3), (2, 3, 4)])
            if static
            else self.rng.choice([(1, 2, 3), ("N", 2, 3), ("N", "M", 3)])
        )
        wanted = self.rng.randint(1, 3) if rank is None else rank
        return self.input(kind, tuple(self.rng.choice(dims) for _ in range(wanted)))

    def body(self) -> Draft:
        """Return an empty draft for a body inside this graph.

        The body shares the names and the table of values with this draft, so its new names differ from all names here.
        """
        inner = Draft(self.rng, self.opset)
        inner.fresh = self.fresh  # type: ignore[method-assign]
        inner.value_table = self.value_table
        inner.functions, inner.domains = self.functions, self.domains
        return inner

    def info(self, value: Value, *, sizes: bool = True) -> Any:  # noqa: ANN401 - a protobuf message
        """Return the ONNX declaration of a value. If `sizes` is false, only the type and the rank are declared."""
        shape = list(value.shape) if sizes else [None] * value.rank
        return helper.make_tensor_value_info(value.name, KINDS[value.kind], shape)

    def graph(self, inputs: Sequence[Value], outputs: Sequence[Value], name: str, *, sizes: bool = True) -> GraphProto:
        """Return an ONNX graph of all nodes and constants so far.

        `sizes` is whether the outputs declare their sizes.
        """
        return helper.make_graph(
            self.nodes,
            name,
            [self.info(value) for value in inputs],
            [self.info(value, sizes=sizes) for value in outputs],
            self.constants,
            value_info=self.stored,
        )

    def model(self) -> ModelProto:
        """Return the model. Its outputs are all results that no node reads, and a few of the other results."""
        read = {name for node in self.nodes for name in node.input}
        made = [value for value in self.values if any(value.name in node.output for node in self.nodes)]
        ends = [value for value in made if value.name not in read]
        self.outputs = ends + [value for value in made if value.name in read and self.rng.random() < 0.1]
        inputs = [self.value_table[feed.name] for feed in self.feeds]
        graph = self.graph(inputs, self.outputs, "g", sizes=self.rng.random() < 0.5)
        imports = [helper.make_opsetid("", self.opset)]
        imports += [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=self.functions)
