"""Free dims of the inputs bound to numbers, and every stored shape restated by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import GraphProto, ModelProto, ValueInfoProto

from graphfix.formats.onnx.infer.scope import Scope, stated, subgraphs
from graphfix.formats.onnx.infer.scope import fill as fill_dims
from graphfix.results import GraphfixError
from graphfix.shapes.shape import Size


def symbols(graph: GraphProto) -> list[str]:
    """The named dims of the inputs, in order."""
    found = dict.fromkeys(
        size for value in _free_inputs(graph) for size in stated(value) or () if isinstance(size, str)
    )
    return list(found)


def _free_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def bind(
    graph: GraphProto,
    where: str,
    dims: Mapping[str, Size],
    numbers: Mapping[str, int],
    shapes: Mapping[str, Sequence[int | None]],
) -> dict[str, int]:
    """Write the numbers into the inputs; answer every symbol that is bound now. Raises GraphfixError."""
    known = symbols(graph)
    for name in dims:
        if name not in known:
            raise GraphfixError(
                f"{where}: --dim {name}: no input has a dim of that name; free: {', '.join(known) or 'none'}"
            )
    inputs = {value.name: value for value in _free_inputs(graph)}
    bound = dict(numbers)
    for name, sizes in shapes.items():
        if name not in inputs:
            raise GraphfixError(f"{where}: --shape {name}: no such input; inputs: {', '.join(inputs) or 'none'}")
        _shape(inputs[name], where, sizes, bound)
    return bound


def _shape(value: ValueInfoProto, where: str, sizes: Sequence[int | None], bound: dict[str, int]) -> None:
    """Bind one input's dims; a symbol among them is bound everywhere."""
    tensor = value.type.tensor_type
    declared = stated(value)
    if declared is None:
        tensor.shape.SetInParent()
        declared = (None,) * len(sizes)
        for _ in sizes:
            tensor.shape.dim.add()
    text = ",".join("?" if size is None else str(size) for size in declared)
    if len(declared) != len(sizes):
        raise GraphfixError(f"{where}: --shape {value.name}: {len(sizes)} dims given, the input has [{text}]")
    for dim, have, want in zip(tensor.shape.dim, declared, sizes, strict=True):
        if want is None or have == want:
            continue
        if isinstance(have, int) or bound.get(have or "", want) != want:
            raise GraphfixError(f"{where}: --shape {value.name}: {want} contradicts the input's [{text}]")
        if isinstance(have, str):
            bound[have] = want
        else:
            dim.dim_value = want


def rename(proto: ModelProto, bound: Mapping[str, int]) -> None:
    """Every dim that carries a bound symbol's name, in every stored shape, becomes its number."""
    for value in _stored(proto.graph):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param in bound:
                dim.dim_value = bound[dim.dim_param]


def _stored(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from (*graph.input, *graph.output, *graph.value_info)
    for _, _, body in subgraphs(graph.node):
        yield from _stored(body)


def restate(main: Scope) -> None:
    """Stored shapes become the computed ones where those are numbers now."""
    for scope in main.walk():
        if scope.graph is None:
            continue
        for value in (*scope.graph.output, *scope.graph.value_info):
            shape = scope.shapes.get(value.name)
            if shape is not None and shape.axes is not None:
                _restate(value, shape.axes)


def _restate(value: ValueInfoProto, sizes: Sequence[Size]) -> None:
    stored = stated(value)
    if stored is None:
        return
    dims = value.type.tensor_type.shape.dim
    if len(stored) != len(sizes):
        del dims[:]
        for _ in sizes:
            dims.add()
    for dim, size in zip(dims, sizes, strict=True):
        if isinstance(size, int):
            dim.dim_value = size


def fill(main: Scope) -> None:
    """Stored sizes that are open become the computed numbers; an output without a shape gets its own."""
    for scope in main.walk():
        if scope.graph is None:
            continue
        for value in (*scope.graph.output, *scope.graph.value_info):
            shape = scope.shapes.get(value.name)
            if shape is not None and shape.axes is not None and value.name not in scope.stale:
                _fill(value, shape.axes)


def _fill(value: ValueInfoProto, sizes: Sequence[Size]) -> None:
    stored = stated(value)
    if stored is not None:
        for dim, have, size in zip(value.type.tensor_type.shape.dim, stored, sizes, strict=False):
            if isinstance(size, int) and not isinstance(have, int):
                dim.dim_value = size
    elif value.type.HasField("tensor_type") and all(isinstance(size, int) for size in sizes):
        fill_dims(value.type.tensor_type, [size for size in sizes if isinstance(size, int)])
