"""What onnx's inference says of one node: asked only for the operators of the audited list."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from graphfix.formats.onnx.file.messages import write_dims
from graphfix.formats.onnx.file.proto import NodeProto, TensorProto, TypeProto
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.results.records import dataclass, field
from graphfix.shapes.shape import UNKNOWN, Dim, Shape, Size

CONSTANT_LIMIT = 64
"""Elements of a constant operand that onnx is shown."""
Pattern: TypeAlias = tuple[int | str, ...] | None
"""The sizes of an operand, its names numbered."""


@dataclass(slots=True)
class OneNode:
    """onnx's inference of single nodes; each question is asked once."""

    _answers: dict[object, list[Pattern]] = field(default_factory=dict)

    def shapes(self, scope: GraphScope, node: NodeProto, op: str, version: int) -> tuple[Shape | None, ...]:
        """Return the results' shapes as far as onnx knows them; nothing where an operand's element type is unknown."""
        numbered: dict[Dim, str] = {}
        operands = [_operand(scope, name, numbered) if name else None for name in node.input]
        if any(operand is not None and not operand[0] for operand in operands):
            return ()
        attributes = tuple([attribute.SerializeToString(deterministic=True) for attribute in node.attribute])
        key = (op, version, attributes, len(node.output), tuple(operands))
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = _asked(op, version, node, operands)
        names = {name: size for size, name in numbered.items()}
        return tuple(
            [None if sizes is None else Shape(tuple([_size(size, names) for size in sizes])) for sizes in answer]
        )


Operand: TypeAlias = tuple[int, Pattern, bytes]
"""Element type, sizes, and the serialized tensor of a small constant."""


def _operand(scope: GraphScope, name: str, numbered: dict[Dim, str]) -> Operand:
    axes = scope.shape(name).axes
    pattern = None if axes is None else tuple([_name(size, numbered) for size in axes])
    tensor = scope.tensor(name)
    held = b""
    if tensor is not None and tensor.data_location != TensorProto.EXTERNAL and prod(tensor.dims) <= CONSTANT_LIMIT:
        held = tensor.SerializeToString(deterministic=True)
    return scope.dtype(name), pattern, held


def _name(size: Size, numbered: dict[Dim, str]) -> int | str:
    return size if isinstance(size, int) else numbered.setdefault(size, f"d{len(numbered)}")


def _size(size: int | str, names: dict[str, Dim]) -> Size:
    return size if isinstance(size, int) else names.get(size, UNKNOWN)


def _asked(op: str, version: int, node: NodeProto, operands: Sequence[Operand | None]) -> list[Pattern]:
    names = ["" if operand is None else f"operand{at}" for at, operand in enumerate(operands)]
    results = [f"result{at}" for at in range(len(node.output))]
    alone = NodeProto(op_type=op, input=names, output=results)
    alone.attribute.extend(node.attribute)
    types: dict[str, TypeProto] = {}
    constants: dict[str, TensorProto] = {}
    for name, operand in zip(names, operands, strict=True):
        if operand is None:
            continue
        code, pattern, held = operand
        types[name] = kind = TypeProto()
        kind.tensor_type.elem_type = code
        if pattern is not None:
            write_dims(kind.tensor_type, pattern)
        if held:
            constants[name] = TensorProto.FromString(held)
    import onnx  # only for operators that have no rule here

    try:
        schema = onnx.defs.get_schema(op, version, "")
        found = onnx.shape_inference.infer_node_outputs(schema, alone, types, constants)
    except (onnx.defs.SchemaError, onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError):
        return []
    return [_pattern(found.get(name)) for name in results]


def _pattern(found: TypeProto | None) -> Pattern:
    if found is None or not found.tensor_type.HasField("shape"):
        return None
    dims = found.tensor_type.shape.dim
    return tuple([dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param for dim in dims])
