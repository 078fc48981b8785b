"""Copies of ONNX models in which onnxruntime performs every rounding to float16 that the model contains.

If onnxruntime has no float16 kernel for an operator, it computes the operator in float32. Between two such operators it
drops the rounding of the result and the model's Cast nodes. A single node between them is computed in float32, too,
even if it has a float16 kernel. Two nodes in sequence are computed in float16, so the rounding is kept. Therefore the
copy has two Identity nodes after every float16 result.
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
"""The largest file, in bytes, that is copied. A copy is in memory, and protobuf is limited to 2 GB."""
_RAW = "graphfix_raw"


def with_kept_casts(data: ExternalData) -> bytes | None:
    """Return the bytes of the copy of a model, with the locations of its data files relative to `data.folder`.

    Return None if no value is known to be float16, or if the file is too large.
    """
    path = data.model
    if path.stat().st_size > MOST_BYTES:
        return None
    try:
        inferred = infer_shapes(read(path))  # only the element types are used
    except InferenceError:
        return None
    model = read(path, full_below=MOST_BYTES)
    data.relocate(model)
    names = _new_names(model.graph)
    kept = [_keep(*graphs, names) for graphs in zip(_graphs(model.graph), _graphs(inferred.graph), strict=True)]
    return bytes(model.SerializeToString()) if any(kept) else None


def _keep(graph: GraphProto, inferred: GraphProto, names: Iterator[str]) -> bool:
    """Add two Identity nodes after each float16 result of a graph; return whether the graph has a float16 result.

    `inferred` is the same graph with inferred types. `names` yields unused names.
    """
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
    """Yield all graphs inside a graph, and then the graph itself. A body must be changed before the graph around it."""
    for node in graph.node:
        for attribute in node.attribute:
            for body in graphs(attribute):
                yield from _graphs(body)
    yield graph


def _new_names(graph: GraphProto) -> Iterator[str]:
    """Return an iterator of names that are unused in the file."""
    prefix = unused_prefix(graph, _RAW)
    return (f"{prefix}{number}" for number in count())
