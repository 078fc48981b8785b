"""The face of an ONNX model: what its inputs and outputs declare."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from graphfix.checker.runs.interface import Dim, Face, Kind, Port

_UNNAMED = frozenset({"", "?", "-1"})


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


def _port(value: onnx.ValueInfoProto) -> Port:
    kind, tensor = _kind(value.type)
    if tensor is None:
        return Port(value.name, kind, _dtype(value.type.map_type.value_type.tensor_type.elem_type), ())
    if not tensor.HasField("shape"):
        return Port(value.name, kind, _dtype(tensor.elem_type), None)
    dims = tuple(_dim(d, f"{value.name}[{axis}]") for axis, d in enumerate(tensor.shape.dim))
    return Port(value.name, kind, _dtype(tensor.elem_type), dims)


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


def _dtype(element: int) -> np.dtype[Any] | None:
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element)) if element else None
