"""Compare the shapes that onnx infers for the second file with those that the proof infers.

onnxruntime infers the shape of every value with onnx's own rules and with the shapes that the file stores. It plans
memory by these shapes: a value may reuse the buffer of another value of equal inferred shape, and an If allocates its
result. A few of onnx's rules are wrong for some attributes, and a stored shape may be wrong. In the first file a wrong
shape does no harm if the file runs. In the second file a new node may read a value of wrong inferred shape, and then
the file does not load, or fails when it runs.

So each size that onnx infers and the proof does not is compared with the first file, and with the shapes of other
values. Only files with a suspect operator, a stored shape that the proof can't confirm, or a body are passed to onnx's
inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from onnx import ModelProto, TensorProto

from graphfix.checker.files.onnx.external_data import tensors
from graphfix.checker.files.onnx.graphs import bodies, every_graph, every_node, graphs
from graphfix.checker.proof.core.sizes import result_sizes
from graphfix.checker.proof.onnx.closed_world.wrong_inference import SUSPECT, is_suspect
from graphfix.checker.proof.onnx.reading.operands import domain_of
from graphfix.runtimes.onnx.shape_inference import InferenceError, infer_shapes, start

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from google.protobuf.message import Message  # type: ignore[import-untyped]  # protobuf ships no stubs
    from onnx import GraphProto, NodeProto

    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.onnx.reading.reader import Reading

Shape: TypeAlias = "tuple[int | None, ...]"
"""An inferred shape; None for each size that is not inferred as a number."""
Shapes: TypeAlias = "dict[str, set[Shape]]"
"""Inferred shapes by the name of a value."""
_ONLY_STORED = "Inferred shape and existing shape differ"
"""A part of the error that onnx's inference raises for a wrong stored shape. onnxruntime only warns of it."""
_FEW_BYTES = 1024
"""The largest constants that are passed to the inference, in bytes. The inference reads no larger constants."""


def expect_questions(model: ModelProto) -> None:
    """Start the process of onnx's inference if the model has bodies, because `objection` will use it later.

    The process starts while the proof reads the files.
    """
    if next(bodies(model.graph.node), None) is not None:
        start()


def objection(one: ModelProto, two: ModelProto, reading: Reading) -> str | None:
    """Return why onnx's inference may make the second file fail although the first runs; None without such a risk.

    `reading` is the proof's reading of the second file, after its `run`.
    """
    suspects = _suspects(reading)
    sources = suspects.union(reading.table.unconfirmed_shapes)
    has_bodies = len(reading.scopes) > 1
    if not (sources or has_bodies) or one.graph == two.graph:
        return None
    try:
        return _refusal_or_clash(one, two, suspects, reading, sources)
    except InferenceError as error:
        return f"{error}: what onnxruntime infers at load is not known"


def _refusal_or_clash(
    one: ModelProto, two: ModelProto, suspects: set[str], reading: Reading, sources: set[str]
) -> str | None:
    """Return the result of `objection`. Raises InferenceError if the process of onnx's inference aborts.

    `suspects` are results whose inferred shape may be wrong, and `sources` are suspects and values with unsupported
    stored shapes.
    """
    bare = _bare(two, suspects)
    inferred = _inferred(bare, strict=True, data_prop=True)
    fault = _fault(bare) if isinstance(inferred, str) else None
    if fault is not None:
        if _fault(_bare(one, suspects)) is not None:
            return None
        return f"onnx's inference refuses the second file, and not the first: {fault}"
    if not sources:
        return None
    after = _shapes(bare) if isinstance(inferred, str) else _stated(inferred)
    return _clash(one, suspects, reading, sources, after, exact=not isinstance(inferred, str))


def _suspects(reading: Reading) -> set[str]:
    """Return the names of results whose inferred shape may be wrong because of their operator.

    A call counts if the function contains such an operator.
    """
    found: set[str] = set()
    for graph, environment in reading.scopes:
        for node in graph.node:
            if node.op_type in SUSPECT and is_suspect(node, environment):
                found.update(node.output)
    for function in reading.model.functions if reading.called else ():
        if any(node.op_type in SUSPECT for node in function.node):
            found.update(_calls(reading, function.name))
    found.discard("")
    return found


def _calls(reading: Reading, name: str) -> Iterator[str]:
    """Yield the names of the results of all nodes whose operator has this name, in any domain.

    These nodes may call the function of this name.
    """
    for graph, _ in reading.scopes:
        for node in graph.node:
            if node.op_type == name:
                yield from node.output


def _spread(graph: GraphProto, found: set[str]) -> bool:
    """Add the results of all nodes that read one of the values `found`, directly or indirectly. Bodies are included.

    Return whether an output of the graph is then in `found`.
    """
    for node in graph.node:
        reads = reached = not found.isdisjoint(node.input)
        for body in bodies([node]):
            if reads:
                found.update(value.name for value in body.input)
            reached |= _spread(body, found)
        if reached:
            found.update(node.output)
    return not found.isdisjoint(value.name for value in graph.output)


def _bare(model: ModelProto, suspects: Collection[str]) -> ModelProto:
    """Return a copy of a model without the elements of large constants, for onnx's inference.

    The stored shapes of `suspects` are dropped. onnx's inference would keep them, but onnxruntime infers these shapes
    again after each optimization. The declared shapes of outputs are kept, as in onnxruntime.
    """
    bare = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph = model.graph
    bare.graph.name = graph.name
    for field in ("node", "input", "output", "value_info"):
        getattr(bare.graph, field).extend(getattr(graph, field))
    bare.graph.initializer.extend(map(_small, graph.initializer))
    for holder in (bare, *bare.functions):
        for entry in holder.opset_import:
            entry.domain = domain_of(entry.domain)
    for function in bare.functions:
        for body in _reduced(function.node):
            _reduce(body, (), {})
    _reduce(bare.graph, suspects, {})
    return bare


def _reduce(graph: GraphProto, suspects: Collection[str], around: Mapping[str, TensorProto | NodeProto]) -> None:
    """Reduce a graph and its bodies, in place, to the parts that onnxruntime's inference reads.

    The stored shapes of constants are dropped, because onnxruntime uses the shapes of the tensors. A body gets a copy
    of each constant `around` it that it reads, because onnxruntime's inference can read such a constant.
    """
    own: dict[str, TensorProto | NodeProto] = {tensor.name: tensor for tensor in graph.initializer}
    made, read = {value.name for value in graph.input}, {value.name for value in graph.output}
    inside = _reduced(graph.node)
    for constant in (*graph.initializer, *graph.sparse_initializer):
        _empty_large_tensors(constant)
    for node in graph.node:
        made.update(node.output)
        read.update(node.input)
        if node.op_type == "Constant":
            own |= dict.fromkeys(node.output, node)
    made.update(own)
    _drop_stored(graph, own.keys() | suspects)
    for name in sorted(read.difference(made).intersection(around)):
        info = around[name]
        if isinstance(info, TensorProto):
            graph.initializer.append(info)
        else:
            graph.node.insert(0, info)
    infos = {name: held for name, held in around.items() if name not in made} | own if inside else {}
    for body in inside:
        _reduce(body, suspects, infos)


def _reduced(nodes: Iterable[NodeProto]) -> list[GraphProto]:
    """Reduce nodes, in place, to the parts that onnx's inference supports and reads, and return their bodies."""
    inside: list[GraphProto] = []
    for node in nodes:
        if node.domain:  # onnx's inference does not support the standard set's other name
            node.domain = domain_of(node.domain)
        for attribute in node.attribute:
            bodies = graphs(attribute)
            inside += bodies
            if not bodies:
                _empty_large_tensors(attribute)
    return inside


def _empty_large_tensors(message: Message) -> None:
    """Remove, in place, the elements of a message's tensors that are large or stored in another file."""
    for tensor in tensors(message):
        if tensor.external_data or tensor.ByteSize() > _FEW_BYTES:
            tensor.CopyFrom(_small(tensor))


def _small(tensor: TensorProto) -> TensorProto:
    """Return a tensor, without its elements if it is large or stored in another file."""
    if not tensor.external_data and tensor.ByteSize() <= _FEW_BYTES:
        return tensor
    return TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)


def _inferred(bare: ModelProto, *, strict: bool = False, data_prop: bool = False) -> GraphProto | str:
    """Return the graph with the inferred shapes, or the text of onnx's error.

    Raises InferenceError if the process of the inference aborts.
    """
    try:
        return infer_shapes(bare, strict=strict, data_prop=data_prop).graph
    except InferenceError as error:
        if error.aborted:
            raise
        return str(error)


def _fault(bare: ModelProto) -> str | None:
    """Return why onnx's inference refuses a model; None if it does not. A wrong stored shape does not count."""
    inferred = _inferred(bare, strict=True)
    text = inferred if isinstance(inferred, str) else ""
    faults = [line for line in text.splitlines() if line and _ONLY_STORED not in line]
    return faults[-1] if faults else None


def _shapes(bare: ModelProto) -> Shapes | None:
    """Return the shapes that onnx infers, by the name of the value; None if inference refuses the model.

    A name that several bodies use may have several shapes. If a stored shape is wrong, all stored shapes are dropped
    before inference is repeated.
    """
    inferred = _inferred(bare, data_prop=True)
    if isinstance(inferred, str):  # a stored shape is wrong, and onnxruntime uses the inferred shape instead
        for graph in every_graph(bare.graph):
            _drop_stored(graph, None)
        inferred = _inferred(bare, data_prop=True)
    return None if isinstance(inferred, str) else _stated(inferred)


def _stated(outer: GraphProto) -> Shapes:
    """Return the shapes that a graph and its bodies declare for their values, by the name of the value."""
    found: Shapes = {}
    for graph in every_graph(outer):
        for value in (*graph.value_info, *graph.output):
            tensor = value.type.tensor_type
            if tensor.HasField("shape"):
                shape = tuple([dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim])
                found.setdefault(value.name, set()).add(shape)
    return found


def _drop_stored(graph: GraphProto, names: Collection[str] | None) -> None:
    """Drop the stored shapes of the values `names`, but keep the declared shapes of outputs.

    If `names` is None, drop the shapes of all values and outputs.
    """
    kept = [] if names is None else [value for value in graph.value_info if value.name not in names]
    if len(kept) < len(graph.value_info):
        del graph.value_info[:]
        graph.value_info.extend(kept)
    for value in graph.output:
        if names is None and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


class _Wrong(NamedTuple):
    """A value of the second file with an inferred shape that the proof can't confirm."""

    name: str
    op: str
    shape: Shape
    derived: Sizes | None
    difference: str
    """How the inferred shape differs from the proof's shape, as a phrase."""


def _clash(
    one: ModelProto, suspects: set[str], reading: Reading, sources: set[str], after: Shapes | None, *, exact: bool
) -> str | None:
    """Return which unconfirmed inferred size may do harm, as a sentence; None if there is none.

    `after` are the inferred shapes of the second file. An unconfirmed size may do harm if a new If allocates its result
    by it, if the first file has no such inferred shape, or if a value of other sizes has the same inferred shape.
    `exact` is True if onnxruntime infers no sizes besides those in `after`. If a stored shape contradicts the inferred
    one, onnxruntime keeps the sizes on which both agree, and so it may infer a size that `after` lacks.
    """
    if after is None:
        return "onnx's inference refuses the second file"
    doubtful = {each.name for each in _compared(reading, sources, after)[0]}
    if not doubtful:
        return None
    _spread(reading.model.graph, doubtful)
    wrong, sure = _compared(reading, doubtful, after)
    # The inferred shape of an If is that of its branches' results, which are compared separately.
    inferred = [each for each in wrong if each.op != "If" or each.name in sources]
    stated = _stated(one.graph)
    if any(each.name in suspects or each.shape not in stated.get(each.name, ()) for each in inferred):
        stated = _shapes(_bare(one, suspects)) or {}
    new = {(each.name, each.shape) for each in inferred if each.shape not in stated.get(each.name, ())}
    chosen = {name for node in every_node(one) if node.op_type == "If" for name in node.output}
    outputs = {value.name for graph, _ in reading.scopes for value in graph.output}
    sizes: dict[Shape, list[Sizes | None]] = {}
    for each in wrong:
        sizes.setdefault(each.shape, []).append(each.derived)
    for each in wrong:
        # The buffer of an output, or of a value with an unknown size, is not reused for another value.
        is_open = None in each.shape
        alone = is_open or each.name in outputs
        alike = [] if alone else sizes[each.shape]
        apart = (not alone and each.shape in sure) or (len(alike) > 1 and (None in alike or len(set(alike)) > 1))
        apart |= is_open and not exact and each.name not in outputs
        if (each.op == "If" and each.name not in chosen) or apart or (each.name, each.shape) in new:
            return f"onnx's inference at load takes {each.name!r} of the second file for {each.difference}"
    return None


def _compared(reading: Reading, doubtful: set[str], after: Shapes) -> tuple[list[_Wrong], set[Shape]]:
    """Return the inferred shapes that the proof can't confirm, and the set of the other fully known inferred shapes.

    Only values in `doubtful` are checked. The others count as confirmed.
    """
    wrong: list[_Wrong] = []
    sure: set[Shape] = set()
    results = ((node.op_type, name, at) for graph, at in reading.scopes for node in graph.node for name in node.output)
    for op, name, environment in results:
        view = environment.values.get(name)
        if view is None:
            continue
        for shape in after.get(name, ()):
            difference = _difference(shape, view.sizes) if name in doubtful else None
            if difference is not None:
                wrong.append(_Wrong(name, op, shape, view.sizes, difference))
            elif None not in shape:
                sure.add(shape)
    return wrong, sure


def _difference(shape: Shape, sizes: Sizes | None) -> str | None:
    """Return how an inferred shape differs from the proof's shape, as a phrase; None if all numbers are confirmed."""
    stated = ",".join("?" if size is None else str(size) for size in shape)
    derived: Sequence[object] | None = None if sizes is None else result_sizes(sizes)
    if derived is None:
        return None if all(size is None for size in shape) else f"[{stated}], and no rule derives its shape"
    if len(derived) != len(shape):
        return f"[{stated}], which has another rank"
    if all(size is None or size == derived_size for size, derived_size in zip(shape, derived, strict=True)):
        return None
    return f"[{stated}], which is [{','.join(map(str, derived))}]"
