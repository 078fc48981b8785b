"""Models of thousands of nodes, one a case of the small scope."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from tests.support.runtimes.one_node import HOST, Array, Key, numbers
from tests.support.small_scope.onnx.cases import Case, Rule, Shape, by_numpy, sizes, static

EXTENT = "shape of "
"""A node reads the shape of an operand, where it says this before the operand's number."""


@dataclass(frozen=True)
class Recipe:
    """How a node of a row is made of a case."""

    reads: tuple[int | str | Array | None, ...]
    """What the node reads: an operand of the case, the shape of one, one constant for all nodes, or nothing."""
    kinds: tuple[str, ...]
    """The element type of each operand of the case."""
    rule: Rule = by_numpy
    attributes: Mapping[str, object] = field(default_factory=dict)
    results: int = 1

    def kind(self, position: int) -> str:
        """Give the element type of an operand of the case."""
        return self.kinds[min(position, len(self.kinds) - 1)]


def value_name(position: int, shape: Shape) -> str:
    """Name the operand of a shape at a place: all nodes that read it share it."""
    return "_".join((f"x{position}", *map(str, shape)))


def made(key: Key, version: int, recipe: Recipe, cases: Sequence[Case], constants: Collection[int] = ()) -> ModelProto:
    """Write a model with a node `n<k>` for each case, of results `y<k>` and so on; operands at `constants` are held."""
    domain, op, _ = key
    model = helper.make_model(
        helper.make_graph([], "small_scope", [], []),
        opset_imports=[helper.make_opsetid(*entry) for entry in {"": HOST, domain: version}.items()],
        ir_version=8 if domain or version > 6 else 3,
    )
    shared = {at: f"c{at}" for at, read in enumerate(recipe.reads) if isinstance(read, np.ndarray)}
    for at, name in shared.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(recipe.reads[at]), name))
    known: set[str] = set()
    for index, case in enumerate(cases):
        for position, shape in enumerate(case.shapes):
            name = value_name(position, shape)
            if name not in known:
                known.add(name)
                _operand(model, op, recipe, position, shape, held=position in constants)
        names = [_read(model, known, case, read, shared.get(at, "")) for at, read in enumerate(recipe.reads)]
        outputs = result_names(recipe, index)
        attributes: dict[str, Any] = {**recipe.attributes, **dict(case.attributes)}
        model.graph.node.append(helper.make_node(op, names, outputs, name=f"n{index}", domain=domain, **attributes))
        model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
    return model


def result_names(recipe: Recipe, index: int) -> list[str]:
    """Name the results of a case's node."""
    return [f"y{index}", *(f"y{index}_{further}" for further in range(1, recipe.results))]


def _operand(model: ModelProto, op: str, recipe: Recipe, position: int, shape: Shape, *, held: bool) -> None:
    name, kind = value_name(position, shape), recipe.kind(position)
    if held and static(shape):
        model.graph.initializer.append(numpy_helper.from_array(values(op, position, kind, sizes(shape, 0)), name))
    else:
        dtype = onnx.TensorProto.STRING if kind == "object" else helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        model.graph.input.append(helper.make_tensor_value_info(name, dtype, shape))


def _read(model: ModelProto, known: set[str], case: Case, read: int | str | Array | None, constant: str) -> str:
    if isinstance(read, int):
        return value_name(read, case.shapes[read])
    if not isinstance(read, str):
        return constant
    shape = case.shapes[int(read.removeprefix(EXTENT))]
    name = "_".join(("extent", *map(str, shape)))
    if name not in known:
        known.add(name)
        if static(shape):
            model.graph.initializer.append(numpy_helper.from_array(np.array(shape, np.int64), name))
        else:
            source = value_name(int(read.removeprefix(EXTENT)), shape)
            model.graph.node.append(helper.make_node("Shape", [source], [name]))
    return name


def values(op: str, position: int, kind: str, shape: Sequence[int]) -> Array:
    """Give seeded values; a base is positive and an exponent no whole number, since Pow has fast paths for 2 and 3."""
    given = numbers(kind, *shape, seed=position)
    if op != "Pow":
        return given
    return np.asarray(np.floor(given) + 0.5 if position else np.abs(given) + 1, given.dtype)


def feeds(model: ModelProto, op: str, size: int) -> dict[str, Array]:
    """Give the inputs of a model where N is `size`."""
    found = {}
    for info in model.graph.input:
        tensor = info.type.tensor_type
        kind = (
            "object"
            if tensor.elem_type == onnx.TensorProto.STRING
            else helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        )
        shape = tuple(size if dim.dim_param else dim.dim_value for dim in tensor.shape.dim)
        position = int(info.name.partition("_")[0].removeprefix("x"))
        found[info.name] = values(op, position, str(kind), shape)
    return found
