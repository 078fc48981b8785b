"""What two models must have in common before they can be run on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import onnx

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Dim = int | str
Kind = Literal["tensor", "sequence", "optional", "optional sequence", "map", "unknown"]
_UNNAMED = frozenset({"", "?", "-1"})


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output: its type, and its dims as sizes and labels (None: the rank is not known).

    A label is the declared symbol, or `name[axis]` where the model declares none.
    """

    name: str
    kind: Kind
    element: int
    """onnx's element type (of a map: of its values)."""
    dims: tuple[Dim, ...] | None


@dataclass(frozen=True, slots=True)
class Face:
    """The inputs that must be fed, those with a default, and the outputs."""

    inputs: tuple[Port, ...]
    defaults: tuple[Port, ...]
    outputs: tuple[Port, ...]
    declared: tuple[Port, ...]
    """Inputs with and without a default, in the file's order."""

    @property
    def unranked(self) -> bool:
        """Whether the rank of some input is not known."""
        return any(port.dims is None for port in self.inputs)

    def settled(self, other: Face, shapes: Mapping[str, Sequence[int]]) -> Face:
        """Take the dims of inputs of unknown rank from the given shapes, or from the other model."""
        theirs = {port.name: port.dims for port in other.inputs}
        given = {name: tuple(shape) for name, shape in shapes.items()}
        ports = (
            p if p.dims is not None else replace(p, dims=given.get(p.name, theirs.get(p.name))) for p in self.inputs
        )
        return replace(self, inputs=tuple(ports))

    def with_rank(self, rank: int) -> Face:
        """Give the inputs of unknown rank this rank, with free dims."""
        free = {p.name: tuple(f"{p.name}[{axis}]" for axis in range(rank)) for p in self.inputs}
        ports = (p if p.dims is not None else replace(p, dims=free[p.name]) for p in self.inputs)
        return replace(self, inputs=tuple(ports))


def face_of(model: onnx.ModelProto) -> Face:
    """Read the face of a model."""
    graph = model.graph
    given = {t.name for t in graph.initializer} | {s.values.name for s in graph.sparse_initializer}
    declared = tuple(_port(v) for v in graph.input)
    return Face(
        inputs=tuple(port for port in declared if port.name not in given),
        defaults=tuple(port for port in declared if port.name in given),
        outputs=tuple(_port(v) for v in graph.output),
        declared=declared,
    )


def disagreement(before: Face, after: Face) -> str | None:
    """Say why the two can't be equal by their faces alone, or None."""
    return (
        _names_differ("inputs", before.inputs, after.inputs)
        or _names_differ("outputs", before.outputs, after.outputs)
        or _types_differ("input", before.inputs, after.inputs)
        or _types_differ("output", before.outputs, after.outputs)
        or _shapes_differ(before.inputs, after.inputs)
    )


def assumed_defaults(before: Face, after: Face) -> tuple[str, ...]:
    """Name the defaults that only one of the models lets a caller override."""
    a, b = ({port.name for port in face.defaults} for face in (before, after))
    return tuple(
        f"the default of '{name}' is not overridden: it is an input of one model only" for name in sorted(a ^ b)
    )


def _names_differ(what: str, before: Sequence[Port], after: Sequence[Port]) -> str | None:
    a, b = [p.name for p in before], [p.name for p in after]
    if a == b:
        return None
    if sorted(a) == sorted(b):
        return f"the {what} stand in another order: {_listed(a)}; {_listed(b)}"
    gone, new = [n for n in a if n not in b], [n for n in b if n not in a]
    parts = [f"{_listed(names)} only in the {side}" for names, side in ((gone, "first"), (new, "second")) if names]
    return f"the {what} differ: {', '.join(parts)}"


def _types_differ(what: str, before: Iterable[Port], after: Iterable[Port]) -> str | None:
    for a, b in zip(before, after, strict=True):
        if (a.kind, a.element) != (b.kind, b.element) and "unknown" not in (a.kind, b.kind):
            return f"the {what} '{a.name}' is {_type_name(a)} in the first, {_type_name(b)} in the second"
    return None


def _shapes_differ(before: Iterable[Port], after: Iterable[Port]) -> str | None:
    for a, b in zip(before, after, strict=True):
        if a.dims is None or b.dims is None:
            continue
        sizes = [(m, n) for m, n in zip(a.dims, b.dims, strict=False) if isinstance(m, int) and isinstance(n, int)]
        if len(a.dims) != len(b.dims) or any(m != n for m, n in sizes):
            return f"the input '{a.name}' is {_listed(a.dims)} in the first, {_listed(b.dims)} in the second"
    return None


def _port(value: onnx.ValueInfoProto) -> Port:
    kind, tensor = _kind(value.type)
    if tensor is None:
        return Port(value.name, kind, value.type.map_type.value_type.tensor_type.elem_type, ())
    if not tensor.HasField("shape"):
        return Port(value.name, kind, tensor.elem_type, None)
    dims = tuple(_dim(d, f"{value.name}[{axis}]") for axis, d in enumerate(tensor.shape.dim))
    return Port(value.name, kind, tensor.elem_type, dims)


def _kind(proto: onnx.TypeProto) -> tuple[Kind, onnx.TypeProto.Tensor | None]:
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        return "tensor", proto.tensor_type
    if which == "sequence_type" and proto.sequence_type.elem_type.HasField("tensor_type"):
        return "sequence", proto.sequence_type.elem_type.tensor_type
    if which == "optional_type":
        inner, tensor = _kind(proto.optional_type.elem_type)
        optional: dict[Kind, Kind] = {"tensor": "optional", "sequence": "optional sequence"}
        return optional.get(inner, "unknown"), tensor
    return ("map" if which == "map_type" else "unknown"), None


def _dim(dim: onnx.TensorShapeProto.Dimension, label: str) -> Dim:
    # exporters write -1 and "?" where they mean unknown
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return label if dim.dim_param in _UNNAMED else str(dim.dim_param)


def _type_name(port: Port) -> str:
    name = onnx.TensorProto.DataType.Name(port.element).lower() if port.element else "untyped"
    return f"{port.kind} of {name}"


def _listed(items: Iterable[object]) -> str:
    return f"[{', '.join(str(item) for item in items)}]"
