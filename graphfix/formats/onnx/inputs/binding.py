"""Bind free sizes of the inputs to numbers, state that some are equal, and update every stored shape.

The options `--dim`, `--shape` and `--same` are carried out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from graphfix.formats.neutral.equal_sizes import Group, Member, Same, Sum, groups, member, met, place
from graphfix.formats.onnx.file.container import Container
from graphfix.formats.onnx.file.messages import declared, is_standard, subgraphs, write_dims
from graphfix.formats.onnx.infer.scope import GraphScope, unknown_name, versions_of
from graphfix.results import GraphfixError
from graphfix.results.axis_names import axis_fault
from graphfix.results.error_texts import no_dim, no_input
from graphfix.results.onnx_messages import GraphProto, ModelProto, NodeProto, ValueInfoProto
from graphfix.shapes.dim import Size, never_one

AXES_ARE_OPERANDS_SINCE = 13
"""The opset since which the axes of a Squeeze are an operand."""


def _free(graph: GraphProto) -> list[str]:
    """Return the symbols in the shapes of the inputs without a default, in order."""
    return list(
        dict.fromkeys(size for value in _free_inputs(graph) for size in declared(value) or () if isinstance(size, str))
    )


def _free_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """Return the inputs that have no default value."""
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def bind(
    container: Container,
    dims: Mapping[str, Size],
    shapes: Mapping[str, Sequence[int | None]],
    same: Sequence[Sequence[Member]] = (),
) -> bool:
    """Write numbers into the shapes of the inputs, and into every stored shape with a bound symbol.

    `dims` maps a symbol to its size. A size that is not a number only narrows a range and changes nothing here.
    `shapes` maps an input to its sizes, where None leaves a size free. A size that `same` states to be equal to a
    number becomes that number.

    Return whether anything was bound. Raises GraphfixError for an unknown name, and for a number that contradicts the
    file.
    """
    proto, where = container.proto, str(container.path or "the model")
    free_names = _free(proto.graph)
    inputs = {value.name: value for value in _free_inputs(proto.graph)}
    for name in dims:
        if name not in free_names:
            why = axis_fault(name, {each: declared(value) for each, value in inputs.items()})
            why = why or no_dim(name, free_names)
            raise GraphfixError(f"{where}: --dim {name}: {why}")
    before = [value.SerializeToString() for value in proto.graph.input]
    bound = {name: size for name, size in dims.items() if isinstance(size, int)}
    for name, sizes in shapes.items():
        if name not in inputs:
            raise GraphfixError(f"{where}: --shape {name}: {no_input(name, inputs)}")
        _bind_input(inputs[name], where, sizes, bound)
    _rename(proto, bound)
    # A size that is bound may bind others in the next round.
    for group in (group for _ in same for group in _equal(container, same)):
        for number in (size for size in group if isinstance(size, int)):
            _rename(proto, {size: number for size in group if isinstance(size, str)})
            _bind_places(inputs, group, number)
    return bool(bound) or before != [value.SerializeToString() for value in proto.graph.input]


def _bind_input(value: ValueInfoProto, where: str, sizes: Sequence[int | None], bound: dict[str, int]) -> None:
    """Bind the sizes of one input. A symbol among them is added to `bound`, to be bound everywhere."""
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


def _bind_places(inputs: Mapping[str, ValueInfoProto], places: Iterable[object], number: int) -> None:
    """Bind the axes without a symbol that are among the labels `places`, such as `x[0]`, to `number`."""
    for at in filter(None, (place(label) for label in places if isinstance(label, str))):
        value = inputs.get(at[0])
        dims = (declared(value) if value is not None else None) or ()
        if value is not None and at[1] < len(dims) and dims[at[1]] is None:
            value.type.tensor_type.shape.dim[at[1]].dim_value = number


def located(container: Container, same: Same) -> list[list[Member]]:
    """Return the statements of `--same` with each symbol replaced by an axis of an input, such as `x[0]`.

    A symbol leaves the file when it is bound, but an axis stays.
    """
    places: dict[str, str] = {}
    for value in _free_inputs(container.proto.graph):
        for axis, size in enumerate(declared(value) or ()):
            if isinstance(size, str):
                places.setdefault(size, f"{value.name}[{axis}]")
    labels = {*places, *(f"{value.name}[{axis}]" for value, axis in _axes(container.proto.graph))}
    listed = [[member(text, labels) for text in members] for members in same]
    return [
        [places.get(at, at) if isinstance(at, str) else tuple(places.get(part, part) for part in at) for at in members]
        for members in listed
    ]


def _axes(graph: GraphProto) -> Iterator[tuple[ValueInfoProto, int]]:
    return ((value, axis) for value in _free_inputs(graph) for axis in range(len(declared(value) or ())))


def equal_ranges(
    container: Container, same: Sequence[Sequence[Member]], ranges: Mapping[str, Size]
) -> tuple[dict[str, Size], dict[str, Sum]]:
    """Return two mappings by label: the common size of all equal sizes, and the sum to which a size is equal.

    The range of a common size is the intersection of all ranges in `ranges`. Sizes that are equal to no other size are
    left out. Raises GraphfixError for statements that contradict each other.
    """
    symbols, where = _free(container.proto.graph), str(container.path or "the model")
    found: dict[str, Size] = {}
    sums: dict[str, Sum] = {}
    for group in _equal(container, same):
        labels = [size for size in group if isinstance(size, str)]
        sums |= {label: size for size in group if isinstance(size, Sum) for label in labels}
        if len(labels) == len(group) > 1:
            name = next((label for label in labels if label in symbols), None)
            name, axis = (name, -1) if name is not None else place(labels[0]) or (labels[0], -1)
            found |= dict.fromkeys(
                labels, met(where, labels, ranges, (name,) if axis < 0 else (unknown_name(name, axis),))
            )
    return found, sums


def _equal(container: Container, same: Sequence[Sequence[Member]]) -> list[Group]:
    """Return the groups of equal sizes, by the sizes that the file declares now. Raises GraphfixError."""
    where = str(container.path or "the model")
    inputs = {value.name: value for value in _free_inputs(container.proto.graph)}
    return groups(where, same, partial(_size_of, where, inputs, _free(container.proto.graph)))


def _size_of(where: str, inputs: Mapping[str, ValueInfoProto], symbols: Sequence[str], text: str) -> int | str:
    """Return the declared size of an input's axis: a number, a symbol, or else the label `name[axis]`.

    Raises GraphfixError if `text` is not an axis of an input.
    """
    at = place(text)
    if at is None or at[0] not in inputs:
        choices = f"inputs: {', '.join(inputs) or 'none'}; symbols: {', '.join(symbols) or 'none'}"
        raise GraphfixError(
            f"{where}: --same {text}: neither an axis of an input, such as ids[0], nor a symbol; {choices}"
        )
    name, axis = at
    dims = declared(inputs[name])
    if dims is None:
        raise GraphfixError(f"{where}: --same {text}: the rank of '{name}' is not known; give its --shape too")
    if axis >= len(dims):
        raise GraphfixError(f"{where}: --same {text}: '{name}' has {len(dims)} axes, the first is {name}[0]")
    size = dims[axis]
    return f"{name}[{axis}]" if size is None else size


def _rename(proto: ModelProto, bound: Mapping[str, int]) -> None:
    """Replace bound symbols by their numbers, in every stored shape."""
    for value in _stored(proto.graph):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param in bound:
                dim.dim_value = bound[dim.dim_param]


def _stored(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from (*graph.input, *graph.output, *graph.value_info)
    for _, _, body in subgraphs(graph.node):
        yield from _stored(body)


def update_shapes(main: GraphScope) -> None:
    """Write the inferred numbers into the stored shapes, even if a different size is stored there.

    If the stored rank is wrong, the inferred rank is written too.
    """
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
    """Write inferred numbers where a stored size is open.

    A shape is also declared for an output or value_info without a shape, if all its sizes are inferred numbers. Values
    with a wrong stored shape are skipped.
    """
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
    """Yield (scope, value_info, inferred sizes) for each output and value_info whose rank was inferred."""
    for scope in main.walk():
        for value in (*scope.graph.output, *scope.graph.value_info) if scope.graph is not None else ():
            shape = scope.own_shape(value.name)
            if shape is not None and shape.axes is not None:
                yield scope, value, shape.axes


# --- ranges of sizes --------------------------------------------------------------------------------------------------


def state_axes(proto: ModelProto, main: GraphScope, fresh: Callable[[str], str]) -> bool:
    """Add axes to each Squeeze without axes, if a range of sizes determines them. Return whether a node was changed.

    The file does not contain the range. Without these axes, a later reader of the file would not know the result's
    rank.
    """
    found = [(node, axes) for scope in main.walk() for node, axes in _decided_axes(scope)]
    if not found:
        return False
    import numpy as np
    from onnx import helper, numpy_helper

    from graphfix.formats.onnx.inputs.set_inputs import add_constant

    version = versions_of(proto.opset_import).get("", 1)
    for node, axes in found:
        if version < AXES_ARE_OPERANDS_SINCE:
            node.attribute.append(helper.make_attribute("axes", axes))
            continue
        tensor = numpy_helper.from_array(np.asarray(axes, np.int64), fresh(f"{node.output[0]}_axes"))
        add_constant(proto, tensor, fresh)
        node.input[:] = [node.input[0], tensor.name]
    return True


def _decided_axes(scope: GraphScope) -> Iterator[tuple[NodeProto, list[int]]]:
    """Yield each Squeeze without axes whose operand has a symbolic size, and the axes that it drops.

    It is yielded only if each size is either 1, or can't be 1 because of its range.
    """
    for node in scope.graph.node if scope.graph is not None else ():
        if node.op_type != "Squeeze" or not is_standard(node.domain) or any(node.input[1:]) or node.attribute:
            continue
        sizes = scope.shape(node.input[0]).axes or ()
        gone = [axis for axis, size in enumerate(sizes) if size == 1]
        if (
            gone
            and any(not isinstance(size, int) for size in sizes)
            and all(size == 1 or never_one(size) for size in sizes)
        ):
            yield node, gone
