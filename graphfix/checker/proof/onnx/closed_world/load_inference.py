"""Compare the shapes that onnx infers of the second file with those that the proof derives.

onnxruntime infers the shape of every value with onnx's own rules and with the shapes that the file stores. It lays out
memory by what it inferred: a value may take the buffer of another one of the same inferred shape, and an If allocates
its result. A few of onnx's rules are wrong for some attributes, and a stored shape may be wrong. In the first file
that does no harm as long as it runs. In the second a new node may meet the wrong size: then the file does not load, or
fails when it runs.

So a size that onnx infers, and that the proof does not derive, is compared with the first file and with the shapes of
the other values. Only files that hold an suspect operator or such a stored shape are given to onnx's inference.
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
"""The largest size of constants that are passed to the inference: it reads no larger ones."""


def expect_questions(model: ModelProto) -> None:
    """Start onnx's inference while the proof reads the files, if the model has bodies: then `objection` will use it."""
    if next(bodies(model.graph.node), None) is not None:
        start()


def objection(one: ModelProto, two: ModelProto, reading: Reading) -> str | None:
    """Return why onnx's inference may make the second file fail though the first file runs; None if it cannot.

    `reading` is that of the second file, after its `run`.
    """
    suspects = _suspects(reading)
    sources = suspects.union(reading.table.unsupported)
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
    """Return the result of `objection`. Raises InferenceError if onnx's inference aborts."""
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
    """Return the names of results whose inferred shape may be wrong because of their operator."""
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
    """Yield the names of the results of the calls of a function."""
    for graph, _ in reading.scopes:
        for node in graph.node:
            if node.op_type == name:
                yield from node.output


def _spread(graph: GraphProto, found: set[str]) -> bool:
    """Add the results of the nodes that read one of these values, in the order of execution."""
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
    """Return a model without the elements of large constants, for onnx's inference.

    The stored shapes of `suspects` are dropped: onnx's inference keeps them, and onnxruntime infers again after each
    optimization (of an output it keeps what is declared).
    """
    bare = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph = model.graph
    bare.graph.name = graph.name
    for field in ("node", "input", "output", "value_info"):
        getattr(bare.graph, field).extend(getattr(graph, field))
    bare.graph.initializer.extend(map(_small, graph.initializer))
    for held in (bare, *bare.functions):
        for entry in held.opset_import:
            entry.domain = domain_of(entry.domain)
    for function in bare.functions:
        for body in _reduced(function.node):
            _reduce(body, (), {})
    _reduce(bare.graph, suspects, {})
    return bare


def _reduce(graph: GraphProto, suspects: Collection[str], around: Mapping[str, TensorProto | NodeProto]) -> None:
    """Reduce a graph and its bodies to what onnxruntime's inference reads.

    The stored shapes of constants are dropped, because onnxruntime reads those of the tensors. A body gets a copy of
    each constant `around` it that it reads, because onnxruntime's inference reads it there.
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
        held = around[name]
        if isinstance(held, TensorProto):
            graph.initializer.append(held)
        else:
            graph.node.insert(0, held)
    known = {name: held for name, held in around.items() if name not in made} | own if inside else {}
    for body in inside:
        _reduce(body, suspects, known)


def _reduced(nodes: Iterable[NodeProto]) -> list[GraphProto]:
    """Reduce nodes to what onnx's inference knows and reads, and return their bodies."""
    inside: list[GraphProto] = []
    for node in nodes:
        if node.domain:  # the standard set's other name, which onnx's inference does not know
            node.domain = domain_of(node.domain)
        for attribute in node.attribute:
            held = graphs(attribute)
            inside += held
            if not held:
                _empty_large_tensors(attribute)
    return inside


def _empty_large_tensors(message: Message) -> None:
    """Remove the elements of the tensors in a message that are large or lie in another file."""
    for tensor in tensors(message):
        if tensor.external_data or tensor.ByteSize() > _FEW_BYTES:
            tensor.CopyFrom(_small(tensor))


def _small(tensor: TensorProto) -> TensorProto:
    """Return a constant; one that is large, or lies in another file, without its elements."""
    if not tensor.external_data and tensor.ByteSize() <= _FEW_BYTES:
        return tensor
    return TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)


def _inferred(bare: ModelProto, *, strict: bool = False, data_prop: bool = False) -> GraphProto | str:
    """Return the graph with the inferred shapes, or the text of onnx's error. Raises InferenceError if it aborts."""
    try:
        return infer_shapes(bare, strict=strict, data_prop=data_prop).graph
    except InferenceError as error:
        if error.aborted:
            raise
        return str(error)


def _fault(bare: ModelProto) -> str | None:
    """Return why onnx's inference refuses a file; None if it does not."""
    inferred = _inferred(bare, strict=True)
    text = inferred if isinstance(inferred, str) else ""
    faults = [line for line in text.splitlines() if line and _ONLY_STORED not in line]
    return faults[-1] if faults else None


def _shapes(bare: ModelProto) -> Shapes | None:
    """Return the shapes that onnx infers, by names of values; a name that several bodies have may have several shapes.

    Returns None if onnx's inference refuses the model whatever shapes it stores.
    """
    inferred = _inferred(bare, data_prop=True)
    if isinstance(inferred, str):  # a stored shape is wrong: onnxruntime takes the inferred one
        for graph in every_graph(bare.graph):
            _drop_stored(graph, None)
        inferred = _inferred(bare, data_prop=True)
    return None if isinstance(inferred, str) else _stated(inferred)


def _stated(outer: GraphProto) -> Shapes:
    """Return the shapes that a graph and its bodies declare for their values."""
    found: Shapes = {}
    for graph in every_graph(outer):
        for value in (*graph.value_info, *graph.output):
            tensor = value.type.tensor_type
            if tensor.HasField("shape"):
                shape = tuple([dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim])
                found.setdefault(value.name, set()).add(shape)
    return found


def _drop_stored(graph: GraphProto, names: Collection[str] | None) -> None:
    """Drop the stored shapes of these values, but not of outputs; None drops those of all values and outputs."""
    kept = [] if names is None else [value for value in graph.value_info if value.name not in names]
    if len(kept) < len(graph.value_info):
        del graph.value_info[:]
        graph.value_info.extend(kept)
    for value in graph.output:
        if names is None and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


class _Wrong(NamedTuple):
    """A value of the second file with an inferred shape that the proof does not derive."""

    name: str
    op: str
    shape: Shape
    derived: Sizes | None
    difference: str
    """How the shapes differ."""


def _clash(
    one: ModelProto, suspects: set[str], reading: Reading, sources: set[str], after: Shapes | None, *, exact: bool
) -> str | None:
    """Return which inferred size is not derived and may matter; None if there is none.

    It matters if a new If has it, which allocates it, if the first file has no such value, or if a value of other sizes
    has the same inferred shape. `exact`: onnxruntime infers no sizes besides those in `after`. If a stored shape
    contradicts the inferred one, onnxruntime keeps the sizes on which both agree, and may so infer a size that `after`
    lacks.
    """
    if after is None:
        return "onnx's inference refuses the second file"
    doubtful = {each.name for each in _compared(reading, sources, after)[0]}
    if not doubtful:
        return None
    _spread(reading.model.graph, doubtful)
    wrong, sure = _compared(reading, doubtful, after)
    # What is inferred of an If is what its branches return, which is compared by itself.
    inferred = [each for each in wrong if each.op != "If" or each.name in sources]
    known = _stated(one.graph)
    if any(each.name in suspects or each.shape not in known.get(each.name, ()) for each in inferred):
        known = _shapes(_bare(one, suspects)) or {}
    new = {(each.name, each.shape) for each in inferred if each.shape not in known.get(each.name, ())}
    chosen = {name for node in every_node(one) if node.op_type == "If" for name in node.output}
    outputs = {value.name for graph, _ in reading.scopes for value in graph.output}
    sizes: dict[Shape, list[Sizes | None]] = {}
    for each in wrong:
        sizes.setdefault(each.shape, []).append(each.derived)
    for each in wrong:
        # The buffer of an output, or of an unknown size, serves no other value.
        is_open = None in each.shape
        alone = is_open or each.name in outputs
        alike = [] if alone else sizes[each.shape]
        apart = (not alone and each.shape in sure) or (len(alike) > 1 and (None in alike or len(set(alike)) > 1))
        apart |= is_open and not exact and each.name not in outputs
        if (each.op == "If" and each.name not in chosen) or apart or (each.name, each.shape) in new:
            return f"onnx's inference at load takes {each.name!r} of the second file for {each.difference}"
    return None


def _compared(reading: Reading, doubtful: set[str], after: Shapes) -> tuple[list[_Wrong], set[Shape]]:
    """Return the inferred shapes with a size that is not derived, and all others without an unknown size."""
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
    """Return how an inferred shape differs from the shape that the proof derives; None if each number is derived."""
    stated = ",".join("?" if size is None else str(size) for size in shape)
    derived: Sequence[object] | None = None if sizes is None else result_sizes(sizes)
    if derived is None:
        return None if all(size is None for size in shape) else f"[{stated}], and no rule derives its shape"
    if len(derived) != len(shape):
        return f"[{stated}], which has another rank"
    if all(size is None or size == known for size, known in zip(shape, derived, strict=True)):
        return None
    return f"[{stated}], which is [{','.join(map(str, derived))}]"
