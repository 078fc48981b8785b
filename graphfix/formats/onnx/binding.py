"""Free dims of the inputs bound to numbers, and every stored shape updated to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import GraphProto, ModelProto, ValueInfoProto

from graphfix.formats.onnx.file.container import Container
from graphfix.formats.onnx.file.messages import declared, subgraphs, write_dims
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.results import GraphfixError
from graphfix.shapes.shape import Size


def _free(graph: GraphProto) -> list[str]:
    """List the named dims of the inputs, in order."""
    return list(
        dict.fromkeys(size for value in _free_inputs(graph) for size in declared(value) or () if isinstance(size, str))
    )


def _free_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def bind(container: Container, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]]) -> bool:
    """Write numbers into the inputs, and into every stored shape that has one of the bound names; say if any changed.

    `dims`: by name; a size that is no number only narrows a range and changes nothing here. `shapes`: by input, None
    leaves a size free. Raises GraphfixError for an unknown name and for what contradicts the file.
    """
    proto, where = container.proto, str(container.path or "the model")
    known = _free(proto.graph)
    for name in dims:
        if name not in known:
            raise GraphfixError(
                f"{where}: --dim {name}: no input has a dim of that name; free: {', '.join(known) or 'none'}"
            )
    inputs = {value.name: value for value in _free_inputs(proto.graph)}
    before = [value.SerializeToString() for value in proto.graph.input]
    bound = {name: size for name, size in dims.items() if isinstance(size, int)}
    for name, sizes in shapes.items():
        if name not in inputs:
            raise GraphfixError(f"{where}: --shape {name}: no such input; inputs: {', '.join(inputs) or 'none'}")
        _bind_input(inputs[name], where, sizes, bound)
    _rename(proto, bound)
    return bool(bound) or before != [value.SerializeToString() for value in proto.graph.input]


def _bind_input(value: ValueInfoProto, where: str, sizes: Sequence[int | None], bound: dict[str, int]) -> None:
    """Bind one input's dims; a symbol among them is bound everywhere."""
    tensor = value.type.tensor_type
    stored = declared(value)
    if stored is None:
        stored = (None,) * len(sizes)
        write_dims(tensor, stored)
    text = ",".join("?" if size is None else str(size) for size in stored)
    if len(stored) != len(sizes):
        raise GraphfixError(f"{where}: --shape {value.name}: {len(sizes)} dims given, the input has [{text}]")
    for dim, have, want in zip(tensor.shape.dim, stored, sizes, strict=True):
        if want is None or have == want:
            continue
        if isinstance(have, int) or bound.get(have or "", want) != want:
            raise GraphfixError(f"{where}: --shape {value.name}: {want} contradicts the input's [{text}]")
        if isinstance(have, str):
            bound[have] = want
        else:
            dim.dim_value = want


def _rename(proto: ModelProto, bound: Mapping[str, int]) -> None:
    """Replace the names that are bound by their numbers, in every stored shape."""
    for value in _stored(proto.graph):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param in bound:
                dim.dim_value = bound[dim.dim_param]


def _stored(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from (*graph.input, *graph.output, *graph.value_info)
    for _, _, body in subgraphs(graph.node):
        yield from _stored(body)


def update_shapes(main: GraphScope) -> None:
    """Write the computed sizes that are numbers into the stored shapes, whatever those say."""
    for _, value, sizes in _computed(main):
        stored = declared(value)
        if stored is None:
            continue
        dims = value.type.tensor_type.shape.dim
        if len(stored) != len(sizes):
            write_dims(value.type.tensor_type, [None] * len(sizes))
        for dim, size in zip(dims, sizes, strict=True):
            if isinstance(size, int):
                dim.dim_value = size


def complete_shapes(main: GraphScope) -> None:
    """Write the computed numbers where a stored size is open; declare the shape of an output that has none."""
    for scope, value, sizes in _computed(main):
        tensor, stored = value.type.tensor_type, declared(value)
        if value.name in scope.stale:
            continue
        if stored is not None:
            for dim, have, size in zip(tensor.shape.dim, stored, sizes, strict=False):
                if isinstance(size, int) and not isinstance(have, int):
                    dim.dim_value = size
        elif value.type.HasField("tensor_type") and all(isinstance(size, int) for size in sizes):
            write_dims(tensor, [size for size in sizes if isinstance(size, int)])


def _computed(main: GraphScope) -> Iterator[tuple[GraphScope, ValueInfoProto, Sequence[Size]]]:
    """Yield every value with a stored type whose rank was computed: its scope, its value_info, its sizes."""
    for scope in main.walk():
        for value in (*scope.graph.output, *scope.graph.value_info) if scope.graph is not None else ():
            shape = scope.shapes.get(value.name)
            if shape is not None and shape.axes is not None:
                yield scope, value, shape.axes
