"""Graphs under construction: values of known shape, declared in every way, and the nodes that read them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

Concrete = tuple[int, ...]
Axis = int | str
"""A fixed size, or the name of a size that varies from run to run; `?N` where the model does not state the name."""
SIZES = (0, 1, 1, 1, 2, 2, 2, 3, 3)
LETTERS = "NMKL"
AXES_OPERAND_SINCE = 13


@dataclass(frozen=True, slots=True)
class Known:
    """A value under construction: its shape is that of a run at the model's first sizes."""

    name: str
    shape: Concrete
    dtype: str
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A finished model, and what its inputs are at any sizes."""

    model: ModelProto
    inputs: Mapping[str, tuple[tuple[Axis, ...], str]]
    """Input -> (axes, element type)."""
    sizes: Mapping[str, int]
    """The sizes that the model was made with."""


@dataclass(slots=True)
class Source:
    """What the rooms of one model share."""

    choose: random.Random
    opset: int
    sizes: dict[str, int]
    numbers: count[int] = field(default_factory=count)

    def name(self, stem: str) -> str:
        """A new name."""
        return f"{stem}{next(self.numbers)}"

    def odds(self, chance: float) -> bool:
        """True so often."""
        return self.choose.random() < chance


@dataclass(slots=True)
class GraphBuilder:
    """A graph under construction: the main graph, or a body that sees the values around it."""

    source: Source
    outer: GraphBuilder | None = None
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    values: list[Known] = field(default_factory=list)
    inputs: dict[str, tuple[tuple[Axis, ...], str]] = field(default_factory=dict)
    declared: list[onnx.ValueInfoProto] = field(default_factory=list)

    def add(
        self, op: str, operands: Sequence[Known | None], shape: Concrete, dtype: str, **attributes: object
    ) -> Known:
        """A node with one result."""
        result = Known(self.source.name(op[0].lower()), shape, dtype)
        names = [operand.name if operand is not None else "" for operand in operands]
        self.nodes.append(helper.make_node(op, names, [result.name], name=self.source.name(f"{op}_"), **attributes))
        self.values.append(result)
        return result

    def visible(self) -> list[Known]:
        """Every value that a node here may read."""
        return [*(self.outer.visible() if self.outer is not None else ()), *self.values]

    # --- leaves -------------------------------------------------------------------------------------------------

    def constant(self, array: np.ndarray, dtype: str | None = None) -> Known:
        """An initializer, a Constant node, or an initializer that is an input too."""
        name = self.source.name("c")
        known = Known(name, array.shape, dtype or str(array.dtype), constant=True)
        tensor = numpy_helper.from_array(array, name)
        if self.source.odds(0.3) and (self.source.opset >= 9 or array.dtype == np.float32):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
            if self.outer is None and self.source.odds(0.15):
                self.declared.append(helper.make_tensor_value_info(name, tensor.data_type, array.shape))
        return known

    def vector(self, numbers: Sequence[int]) -> Known:
        """A constant of int64."""
        return self.constant(np.asarray(numbers, np.int64))

    def leaf(self, shape: Concrete, dtype: str) -> Known:
        """A new input of the model or a new constant."""
        if self.outer is not None or self.source.odds(0.35):
            known = self.constant(elements(shape, dtype, self.source.choose.randrange(99)), dtype)
        else:
            known = self.input(shape, dtype)
        self.values.append(known)
        return known

    def input(self, shape: Concrete, dtype: str) -> Known:
        """An input, each axis declared by its size, by a symbol or not at all; or not even its rank."""
        name = self.source.name("x")
        axes, stated = zip(*(self._axis(size) for size in shape), strict=True) if shape else ((), ())
        code = TensorProto.STRING if dtype == "object" else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs[name] = (axes, dtype)
        dims = None if self.source.odds(0.08) else list(stated)
        self.declared.append(helper.make_tensor_value_info(name, code, dims))
        return Known(name, shape, dtype)

    def _axis(self, size: int) -> tuple[Axis, int | str | None]:
        names = [name for name, of in self.source.sizes.items() if of == size]
        if not names or self.source.odds(0.4):
            return size, size
        name = self.source.choose.choice(names)
        return (name, name) if self.source.odds(0.7) else (f"?{name}", None)

    # --- operands -----------------------------------------------------------------------------------------------

    def any(self, *dtypes: str) -> Known:
        """A visible value of one of these types, or a new one."""
        found = [value for value in self.visible() if value.dtype in dtypes]
        if found and self.source.odds(0.75):
            return self.source.choose.choice(found[-4:])
        return self.leaf(self.shape(), self.source.choose.choice(dtypes))

    def shape(self) -> Concrete:
        """A random shape."""
        return tuple(self.source.choose.choice(SIZES) for _ in range(self.source.choose.randrange(5)))

    def partner(self, of: Concrete, dtype: str) -> Known:
        """A value that broadcasts with a shape: a visible one, or a new one that is part of it."""
        found = [value for value in self.visible() if value.dtype == dtype and together(value.shape, of) is not None]
        if found and self.source.odds(0.6):
            return self.source.choose.choice(found)
        return self.leaf(self.part(of), dtype)

    def part(self, of: Concrete) -> Concrete:
        """Some last axes of a shape, some of them 1; or one more axis in front."""
        odds, choose = self.source.odds, self.source.choose
        cut = choose.randrange(len(of) + 1) if odds(0.5) else 0
        kept = tuple(map(self._thinner, of[cut:]))
        return (choose.choice((1, 2)), *kept) if len(kept) < 4 and odds(0.15) else kept

    def _thinner(self, size: int) -> int:
        if self.source.odds(0.25):
            return 1
        return self.source.choose.choice(SIZES) if size == 1 and self.source.odds(0.3) else size

    def unsqueezed(self, x: Known, axis: int) -> Known:
        """One more axis of size 1."""
        shape = (*x.shape[:axis], 1, *x.shape[axis:])
        if self.source.opset < AXES_OPERAND_SINCE:
            return self.add("Unsqueeze", [x], shape, x.dtype, axes=[axis])
        return self.add("Unsqueeze", [x, self.vector([axis])], shape, x.dtype)

    def graph(self, name: str, outputs: Sequence[Known], inputs: Sequence[Known] = ()) -> GraphProto:
        """The body as a message; what is no scalar states no shape."""
        codes = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL}
        taken, given = (
            [
                helper.make_tensor_value_info(it.name, codes[it.dtype], None if it.dtype == "float32" else ())
                for it in values
            ]
            for values in (inputs, outputs)
        )
        return helper.make_graph(self.nodes, name, taken, given, self.initializers)


def together(one: Concrete, other: Concrete) -> Concrete | None:
    """What two shapes broadcast to by numpy's rule, None where they do not."""
    pairs = [*zip_longest(one[::-1], other[::-1], fillvalue=1)][::-1]
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    return tuple(b if a == 1 else a for a, b in pairs)


def elements(shape: Concrete, dtype: str, seed: int) -> np.ndarray:
    """Seeded values: halves of both signs, small whole numbers above 0, words."""
    chosen = np.random.default_rng([seed, *shape])
    if dtype == "object":
        return np.asarray(chosen.choice(["a", "b", ""], size=shape), dtype=object)
    if dtype == "bool":
        return np.asarray(chosen.integers(0, 2, shape), bool)
    if np.issubdtype(np.dtype(dtype), np.integer):
        return np.asarray(chosen.integers(1, 5, shape), dtype)
    return np.asarray(chosen.choice([-2.5, -1, 0.5, 1, 2, 3], shape), dtype)
