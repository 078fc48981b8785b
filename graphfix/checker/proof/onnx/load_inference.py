"""What onnx infers of the second file's shapes when a runtime loads it, where that may differ from what it computes.

onnxruntime infers the shape of every value with onnx's own rules and with the shapes that the file stores. It lays out
memory by what it inferred: a value may take the buffer of another one of the same inferred shape, and an If allocates
its result. A few of onnx's rules are wrong for some attributes, and a stored shape may be wrong. In the first file
that does no harm as long as it runs. In the second a new node may meet the wrong size: then the file does not load, or
fails when it runs.

So a size that onnx infers, and that the proof does not derive, is compared with the first file and with the shapes of
the other values. Only files that hold an suspect operator or such a stored shape are given to onnx's inference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import onnx
from onnx import ModelProto
from onnx.defs import OpSchema

from graphfix.checker.files.onnx.external_data import tensors
from graphfix.checker.files.onnx.schema import schema
from graphfix.checker.proof.onnx.operands import bodies, domain_of
from graphfix.checker.proof.onnx.validate import imported
from graphfix.checker.proof.onnx.wrong_inference import SUSPECT, is_suspect
from graphfix.checker.proof.sizes import result_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from onnx import GraphProto, NodeProto, TensorProto

    from graphfix.checker.proof.onnx.reader import Reading
    from graphfix.checker.proof.sizes import Sizes

Shape: TypeAlias = "tuple[int | None, ...]"
"""An inferred shape; None for a size that is not inferred as a number."""
_FEW_BYTES = 1024
"""Constants up to this size are given to the inference: it reads no larger ones."""


@dataclass(slots=True)
class _Inferred:
    """What onnx infers of a file."""

    shapes: dict[str, set[Shape]] = field(default_factory=dict)
    """By name: a name that several bodies have may have several shapes."""
    fault: str | None = None
    """Why the inference refuses the file."""


def objection(one: ModelProto, two: ModelProto, reading: Reading) -> str | None:
    """Say where onnx's inference of the second file may make it fail though the first file runs.

    `reading` is that of the second file, behind its `run`. Returns None where nothing can differ.
    """
    doubtful = _doubtful_values(reading)
    has_bodies = len(reading.scopes) > 1
    if not (doubtful or has_bodies) or one.graph == two.graph:
        return None
    after = _inferred(two)
    if after is None:
        return None
    if after.fault is not None:
        before = _inferred(one)
        if before is None or before.fault is None:
            return f"onnx's inference refuses the second file, and not the first: {after.fault}"
        return None
    return _clash(one, reading, doubtful, after) if doubtful else None


def _doubtful_values(reading: Reading) -> set[str]:
    """Name the values whose inferred shape may be wrong, and all that is computed from them."""
    found = set(reading.table.unsupported)
    for graph, environment in reading.scopes:
        for node in graph.node:
            if is_suspect(node, environment):
                found.update(node.output)
    for function in reading.model.functions if reading.called else ():
        if any(node.op_type in SUSPECT for node in function.node):
            found.update(_calls(reading, function.name))
    if found:
        _spread(reading.model.graph, found)
    found.discard("")
    return found


def _calls(reading: Reading, name: str) -> Iterator[str]:
    """Name the results of the calls of a function."""
    for graph, _ in reading.scopes:
        for node in graph.node:
            if node.op_type == name:
                yield from node.output


def _spread(graph: GraphProto, found: set[str]) -> bool:
    """Add the results of the nodes that read one of these values, in the order of execution."""
    for node in graph.node:
        for body in bodies([node]):
            if not found.isdisjoint(node.input):
                found.update(value.name for value in body.input)
        inside = [_spread(body, found) for body in bodies([node])]
        if any(inside) or not found.isdisjoint(node.input):
            found.update(node.output)
    return not found.isdisjoint(value.name for value in graph.output)


def _inferred(model: ModelProto) -> _Inferred | None:
    """Return what onnx infers; None where its code must not be asked, because a node lacks operands that it reads."""
    bare = ModelProto()
    bare.CopyFrom(model)
    for tensor in tensors(bare):
        _strip(tensor)
    if not all(_has_operands(node, imported(bare.opset_import)) for node in _nodes(bare)):
        return None
    found = _Inferred()
    try:
        onnx.shape_inference.infer_shapes(bare, strict_mode=True)
    except onnx.shape_inference.InferenceError as error:
        found.fault = str(error).strip().splitlines()[-1]
    try:
        whole = onnx.shape_inference.infer_shapes(bare, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return found
    _enter(whole.graph, found.shapes)
    return found


def _strip(tensor: TensorProto) -> None:
    """Leave out the elements of a large constant, and the place of those in another file."""
    if tensor.ByteSize() > _FEW_BYTES or tensor.external_data:
        kept = tensor.name, tensor.data_type, list(tensor.dims)
        tensor.Clear()
        tensor.name, tensor.data_type = kept[:2]
        tensor.dims.extend(kept[2])


def _nodes(model: ModelProto) -> Iterator[NodeProto]:
    pending: list[Iterable[NodeProto]] = [model.graph.node, *(each.node for each in model.functions)]
    while pending:
        nodes = pending.pop()
        yield from nodes
        pending += [body.node for body in bodies(nodes)]


def _has_operands(node: NodeProto, versions: Mapping[str, int]) -> bool:
    """Whether a node gives the operands that its operator asks for: onnx's inference reads them without looking."""
    domain = domain_of(node.domain)
    asked = schema(node.op_type, domain, versions.get(domain, 0))
    if asked is None:
        return True
    needed = [at for at, formal in enumerate(asked.inputs) if formal.option == OpSchema.FormalParameterOption.Single]
    given = all(at < len(node.input) and node.input[at] for at in needed)
    return given and len(node.input) >= asked.min_input and len(node.output) >= asked.min_output


def _enter(graph: GraphProto, shapes: dict[str, set[Shape]]) -> None:
    for value in (*graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.HasField("shape"):
            dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
            shapes.setdefault(value.name, set()).add(tuple(dims))
    for body in bodies(graph.node):
        _enter(body, shapes)


class _Wrong(NamedTuple):
    """An inferred shape of a value of the second file that is not derived."""

    name: str
    op: str
    shape: Shape
    derived: Sizes | None
    told: str
    """How the shapes differ."""


def _clash(one: ModelProto, reading: Reading, doubtful: set[str], after: _Inferred) -> str | None:
    """Say which inferred size is not derived and may count.

    It counts if an If has it, if the first file has no such value, or if a value of other sizes has the same shape.
    """
    wrong, sure = _compared(reading, doubtful, after)
    before = _inferred(one) if wrong else None
    known: Mapping[str, set[Shape]] = {} if before is None else before.shapes
    sizes: dict[Shape, list[Sizes | None]] = {}
    for each in wrong:
        sizes.setdefault(each.shape, []).append(each.derived)
    for each in wrong:
        alike = sizes[each.shape]
        apart = each.shape in sure or (len(alike) > 1 and (None in alike or len(set(alike)) > 1))
        if each.op == "If" or apart or each.shape not in known.get(each.name, ()):
            return f"onnx's inference at load takes {each.name!r} of the second file for {each.told}"
    return None


def _compared(reading: Reading, doubtful: set[str], after: _Inferred) -> tuple[list[_Wrong], set[Shape]]:
    """Return the inferred shapes with a size that is not derived, and all others without an unknown size."""
    wrong: list[_Wrong] = []
    sure: set[Shape] = set()
    results = ((node.op_type, name, at) for graph, at in reading.scopes for node in graph.node for name in node.output)
    for op, name, environment in results:
        view = environment.values.get(name)
        for shape in after.shapes.get(name, ()) if view is not None else ():
            told = _difference(shape, view.sizes) if name in doubtful and view is not None else None
            if told is not None:
                wrong.append(_Wrong(name, op, shape, None if view is None else view.sizes, told))
            elif None not in shape:
                sure.add(shape)
    return wrong, sure


def _difference(shape: Shape, sizes: Sizes | None) -> str | None:
    """Say how an inferred shape differs from what the proof derives; None where each number is derived."""
    stated = ",".join("?" if size is None else str(size) for size in shape)
    derived: Sequence[object] | None = None if sizes is None else result_sizes(sizes)
    if derived is None:
        return None if all(size is None for size in shape) else f"[{stated}], and no rule derives its shape"
    if len(derived) != len(shape):
        return f"[{stated}], which has another rank"
    if all(size is None or size == known for size, known in zip(shape, derived, strict=True)):
        return None
    return f"[{stated}], which is [{','.join(map(str, derived))}]"
