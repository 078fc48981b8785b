"""Copies of ONNX models in which onnxruntime rounds to float16 wherever the model says so.

Where onnxruntime has no float16 kernel it computes in float32, and drops the rounding between two such operators: the
model's own Cast, and that of a result. A single node between them that has a kernel is computed in float32 too; two in
a row are not. So two Identity nodes stand behind every float16 result of the copy.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.graphs import graphs, unused_prefix
from graphfix.checker.files.onnx.skeleton import read
from graphfix.results.onnx_messages import NodeProto, TensorProto
from graphfix.runtimes.onnx.shape_inference import InferenceError, infer_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import GraphProto

    from graphfix.checker.files.onnx.external_data import ExternalData

MOST_BYTES = 1 << 30
"""Of larger files no copy is made: it is held in memory, and protobuf ends at 2 GB."""
_RAW = "graphfix_raw"


def with_kept_casts(data: ExternalData) -> bytes | None:
    """Return a copy of a model whose locations of data files are relative to `data.folder`.

    Returns None if no value is known to be float16, or if the file is too large.
    """
    path = data.model
    if path.stat().st_size > MOST_BYTES:
        return None
    try:
        inferred = infer_shapes(read(path))  # for the element types alone
    except InferenceError:
        return None
    model = read(path, full_below=MOST_BYTES)
    data.relocate(model)
    names = _new_names(model.graph)
    kept = [_keep(*graphs, names) for graphs in zip(_graphs(model.graph), _graphs(inferred.graph), strict=True)]
    return bytes(model.SerializeToString()) if any(kept) else None


def _keep(graph: GraphProto, inferred: GraphProto, names: Iterator[str]) -> bool:
    """Put two Identity nodes behind each float16 result of a graph; return whether there is any."""
    values = (*inferred.value_info, *inferred.output)
    halves = {value.name for value in values if value.type.tensor_type.elem_type == TensorProto.FLOAT16}
    nodes: list[NodeProto] = []
    for node in graph.node:
        nodes.append(node)
        for at, result in enumerate(node.output):
            if result in halves:
                raw, between = next(names), next(names)
                node.output[at] = raw
                nodes.append(NodeProto(op_type="Identity", input=[raw], output=[between]))
                nodes.append(NodeProto(op_type="Identity", input=[between], output=[result]))
    changed = len(nodes) > len(graph.node)
    if changed:
        copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)
    return changed


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield the bodies inside a graph and then itself: what is around a body is changed after it."""
    for node in graph.node:
        for attribute in node.attribute:
            for body in graphs(attribute):
                yield from _graphs(body)
    yield graph


def _new_names(graph: GraphProto) -> Iterator[str]:
    """Return names that nothing in the file has."""
    prefix = unused_prefix(graph, _RAW)
    return (f"{prefix}{number}" for number in count())
