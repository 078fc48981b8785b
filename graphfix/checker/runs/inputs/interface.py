"""The inputs and outputs of a model, and whether two models can run on the same inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.set_values import refuse_unknown, typed
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import onnx

    from graphfix.checker.files.set_values import Array
    from graphfix.results import InputValue
    from graphfix.runtimes import session as runtime

Dim = int | str
Kind = Literal["tensor", "sequence", "optional", "optional sequence", "map", "unknown"]
_UNNAMED = frozenset({"", "?", "-1"})
_UNQUANTIZED_KINDS = "fcb"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of a model: its type, and its dims as sizes and labels (None if the rank is unknown).

    A label is the declared symbol of a free dim, or `name[axis]` if the model declares no symbol.
    """

    name: str
    kind: Kind
    dtype: np.dtype[Any] | None
    """The type of the elements, or of the values of a map. `object` for strings, None if unknown."""
    dims: tuple[Dim, ...] | None
    quantization: tuple[object, ...] = ()
    """(scales, zero points, axis) of a quantized tensor; empty for other tensors."""
    alias: str = ""
    """A second name that the user may use, such as the name in a SignatureDef; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Interface:
    """The inputs and outputs of a model. `inputs` have no default, and `defaults` have one."""

    inputs: tuple[TensorSpec, ...]
    defaults: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    declared: tuple[TensorSpec, ...]
    """Inputs with and without a default, in the order of the file."""
    constant: tuple[tuple[TensorSpec, Array], ...] = ()
    """Further inputs, each with the constant value that it gets in every run."""

    @property
    def constant_feeds(self) -> dict[str, Array]:
        """The values of the constant inputs, by name."""
        return {spec.name: array for spec, array in self.constant}

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        """All inputs without a default, and the inputs that are set to constants."""
        return (*self.inputs, *(spec for spec, _ in self.constant))

    @property
    def fractional(self) -> frozenset[str]:
        """The names of the inputs whose elements are floats."""
        return frozenset(spec.name for spec in self.inputs if spec.dtype is not None and "float" in spec.dtype.name)

    def setting(
        self, values: Mapping[str, InputValue], bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
    ) -> Interface:
        """Return the interface with some inputs set to constant `values`, by name or alias.

        `bindings` (label -> size) and `shapes` (input -> sizes) determine the shapes of the values. Raise GraphfixError
        for a wrong name or value.
        """
        specs = {spec.name: spec for spec in self.declared}
        aliases = {spec.alias: spec.name for spec in self.declared if spec.alias}
        by_own_name = {aliases.get(name, name) if name not in specs else name: value for name, value in values.items()}
        refuse_unknown(by_own_name, list(specs))
        found = []
        for name, value in by_own_name.items():
            spec = specs[name]
            if spec.kind != "tensor":
                raise BindingError(f"--set {name}: the input is a {spec.kind}; only tensors can be set")
            own = spec.dims if name not in shapes else tuple(shapes[name])
            dims = None if own is None else [bindings.get(dim, dim) if isinstance(dim, str) else dim for dim in own]
            found.append((spec, typed(name, value, spec.dtype, dims)))
        return replace(self.without(by_own_name), constant=tuple(found))

    def known_as(self, aliases: Mapping[str, str]) -> Interface:
        """Return the interface with these aliases (input name -> alias) for its inputs."""
        inputs = tuple(replace(spec, alias=aliases.get(spec.name, spec.alias)) for spec in self.inputs)
        return replace(self, inputs=inputs, declared=inputs)

    def by_own_names(
        self, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
    ) -> tuple[dict[str, int], dict[str, Sequence[int]]]:
        """Return requested bindings and shapes with each alias of an input replaced by the input's name."""
        own = {spec.alias: spec.name for spec in self.declared if spec.alias}
        parts = {label: label.rpartition("[") for label in bindings}
        return (
            {f"{own.get(name, name)}{mark}{axis}": bindings[label] for label, (name, mark, axis) in parts.items()},
            {own.get(name, name): shape for name, shape in shapes.items()},
        )

    def without(self, names: Collection[str]) -> Interface:
        """Return the interface without the inputs of these names, with or without a default."""
        inputs = tuple(spec for spec in self.inputs if spec.name not in names)
        return replace(self, inputs=inputs, defaults=tuple(spec for spec in self.defaults if spec.name not in names))

    @property
    def unranked(self) -> bool:
        """Whether the rank of some input is unknown."""
        return any(spec.dims is None for spec in self.inputs)

    def with_ranks_of(self, other: Interface, shapes: Mapping[str, Sequence[int]]) -> Interface:
        """Return the interface with dims for inputs of unknown rank: from `shapes`, else from the other model."""
        theirs = {spec.name: spec.dims for spec in other.inputs}
        given = {name: tuple(shape) for name, shape in shapes.items()}
        specs = (
            p if p.dims is not None else replace(p, dims=given.get(p.name, theirs.get(p.name))) for p in self.inputs
        )
        return replace(self, inputs=tuple(specs))

    def with_rank(self, rank: int) -> Interface:
        """Return the interface with this rank and free dims for inputs of unknown rank."""
        free = {p.name: tuple(f"{p.name}[{axis}]" for axis in range(rank)) for p in self.inputs}
        specs = (p if p.dims is not None else replace(p, dims=free[p.name]) for p in self.inputs)
        return replace(self, inputs=tuple(specs))


def disagreement(before: Interface, after: Interface) -> str | None:
    """Return why models with these interfaces can't be equal, or None if they can.

    Names, order, types, quantization and constant sizes of inputs are compared, and all of these but the sizes for
    outputs.
    """
    return (
        _names_differ("inputs", before.inputs, after.inputs)
        or _names_differ("outputs", before.outputs, after.outputs)
        or _types_differ("input", before.inputs, after.inputs)
        or _types_differ("output", before.outputs, after.outputs)
        or _shapes_differ(before.inputs, after.inputs)
    )


def assumed_defaults(before: Interface, after: Interface) -> tuple[str, ...]:
    """Return the assumptions that no caller overrides a default that is an input of only one of the models."""
    a, b = ({spec.name for spec in interface.defaults} for interface in (before, after))
    return tuple(
        f"the default of '{name}' is not overridden: it is an input of one model only" for name in sorted(a ^ b)
    )


def _names_differ(what: str, before: Sequence[TensorSpec], after: Sequence[TensorSpec]) -> str | None:
    """Return how the names or the order of inputs (or outputs) differ; None if they are equal."""
    a, b = [p.name for p in before], [p.name for p in after]
    if a == b:
        return None
    if sorted(a) == sorted(b):
        return f"the {what} stand in another order: {_listed(a)}; {_listed(b)}"
    gone, new = [n for n in a if n not in b], [n for n in b if n not in a]
    parts = [f"{_listed(names)} only in the {side}" for names, side in ((gone, "first"), (new, "second")) if names]
    return f"the {what} differ: {', '.join(parts)}"


def _types_differ(what: str, before: Iterable[TensorSpec], after: Iterable[TensorSpec]) -> str | None:
    """Return how the type or quantization of an input (or output) differs, or None. An unknown type equals any type."""
    for a, b in zip(before, after, strict=True):
        if (a.kind, a.dtype) != (b.kind, b.dtype) and "unknown" not in (a.kind, b.kind):
            return f"the {what} '{a.name}' is {_type_name(a)} in the first, {_type_name(b)} in the second"
        if a.quantization != b.quantization:
            return f"the {what} '{a.name}' has another quantization in the second: {b.quantization or 'none'}"
    return None


def _shapes_differ(before: Iterable[TensorSpec], after: Iterable[TensorSpec]) -> str | None:
    """Return a text about the first input that differs in its rank or in a constant size; None if all inputs agree."""
    for a, b in zip(before, after, strict=True):
        if a.dims is None or b.dims is None:
            continue
        sizes = [(m, n) for m, n in zip(a.dims, b.dims, strict=False) if isinstance(m, int) and isinstance(n, int)]
        if len(a.dims) != len(b.dims) or any(m != n for m, n in sizes):
            return f"the input '{a.name}' is {_listed(a.dims)} in the first, {_listed(b.dims)} in the second"
    return None


def _type_name(spec: TensorSpec) -> str:
    name = "untyped" if spec.dtype is None else "string" if spec.dtype == np.object_ else spec.dtype.name
    return f"{spec.kind} of {name}"


def _listed(items: Iterable[object]) -> str:
    return f"[{', '.join(str(item) for item in items)}]"


def onnx_interface(model: onnx.ModelProto) -> Interface:
    """Return the declared inputs and outputs of an ONNX model. An input with an initializer has a default."""
    graph = model.graph
    given = {t.name for t in graph.initializer} | {s.values.name for s in graph.sparse_initializer}
    declared = tuple(_onnx_spec(v) for v in graph.input)
    return Interface(
        inputs=tuple(spec for spec in declared if spec.name not in given),
        defaults=tuple(spec for spec in declared if spec.name in given),
        outputs=tuple(_onnx_spec(v) for v in graph.output),
        declared=declared,
    )


def _onnx_spec(value: onnx.ValueInfoProto) -> TensorSpec:
    kind, tensor = _onnx_kind(value.type)
    if tensor is None:
        return TensorSpec(value.name, kind, _onnx_dtype(value.type.map_type.value_type.tensor_type.elem_type), ())
    if not tensor.HasField("shape"):
        return TensorSpec(value.name, kind, _onnx_dtype(tensor.elem_type), None)
    dims = tuple(_onnx_dim(d, f"{value.name}[{axis}]") for axis, d in enumerate(tensor.shape.dim))
    return TensorSpec(value.name, kind, _onnx_dtype(tensor.elem_type), dims)


def _onnx_kind(proto: onnx.TypeProto) -> tuple[Kind, onnx.TypeProto.Tensor | None]:
    """Return the kind of an ONNX type, and the type of its tensor or of its element tensors.

    The second part is None for a map or an unknown type.
    """
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        return "tensor", proto.tensor_type
    if which == "sequence_type" and proto.sequence_type.elem_type.HasField("tensor_type"):
        return "sequence", proto.sequence_type.elem_type.tensor_type
    if which == "optional_type":
        inner, tensor = _onnx_kind(proto.optional_type.elem_type)
        optional: dict[Kind, Kind] = {"tensor": "optional", "sequence": "optional sequence"}
        return optional.get(inner, "unknown"), tensor
    return ("map" if which == "map_type" else "unknown"), None


def onnx_dims(value: onnx.ValueInfoProto, free: str = "") -> tuple[Dim | None, ...] | None:
    """Return the declared dims of a value: numbers and symbols. None if its rank is not declared.

    A dim that is declared as neither a number nor a symbol is None, or the label `free[axis]` if an input name `free`
    is passed.
    """
    tensor = _onnx_kind(value.type)[1]
    if tensor is None or not tensor.HasField("shape"):
        return None
    labels = [f"{free}[{axis}]" if free else "" for axis in range(len(tensor.shape.dim))]
    dims = map(_onnx_dim, tensor.shape.dim, labels)
    return tuple(None if dim == "" else dim for dim in dims)


def _onnx_dim(dim: onnx.TensorShapeProto.Dimension, label: str) -> Dim:
    # exporters write -1 or "?" for an unknown dim
    """Return the size or the symbol of a declared dim, or `label` if it has neither."""
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return label if dim.dim_param in _UNNAMED else str(dim.dim_param)


def _onnx_dtype(element: int) -> np.dtype[Any] | None:
    # imported here because a verification of TFLite models needs no protobuf
    from graphfix.checker.files.onnx.tensors import numpy_dtype

    return numpy_dtype(element) if element else None


def litert_interface(reported: runtime.ModelDetails) -> Interface:
    """Return the interface of a model as LiteRT reports it. The label of a free dim is `name[axis]`."""
    inputs = tuple(map(_litert_spec, reported.inputs))
    return Interface(inputs, (), tuple(map(_litert_spec, reported.outputs)), inputs)


def _litert_spec(spec: runtime.TensorDetails) -> TensorSpec:
    dims: tuple[Dim, ...] = tuple(
        size if free >= 0 and size >= 0 else f"{spec.name}[{axis}]"
        for axis, (size, free) in enumerate(zip(spec.shape, spec.shape_signature or spec.shape, strict=True))
    )
    dtype: np.dtype[Any] = np.dtype(object) if spec.dtype == "bytes" else np.dtype(spec.dtype)
    # some converters write quantization for float tensors, where it has no meaning
    quantized = spec.scales and dtype.kind not in _UNQUANTIZED_KINDS
    parameters = (spec.scales, spec.zero_points, spec.quantized_axis) if quantized else ()
    return TensorSpec(spec.name, "tensor", dtype, dims, parameters, spec.alias)
