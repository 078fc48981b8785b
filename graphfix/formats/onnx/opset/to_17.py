"""Convert a model to a newer opset, node by node in place.

If one node can't be converted, the whole model is refused.

onnx's own version converter is not used. Measured (onnx 1.23): it drops local functions, `metadata_props` of nodes and
graphs, and quantization annotations. It also converts a Resize of opset 10 to 11 without its coordinates, so the result
is computed at other coordinates.
"""

from __future__ import annotations

from collections.abc import Callable

from graphfix.formats.onnx.file.messages import Holder, is_standard
from graphfix.formats.onnx.infer.analysis import Facts
from graphfix.formats.onnx.infer.scope import GraphScope, bodies_of
from graphfix.formats.onnx.opset import to_8
from graphfix.formats.onnx.opset.converted_graph import ConvertedGraph, TensorReader
from graphfix.formats.onnx.opset.operators import CHANGED, KEPT
from graphfix.formats.onnx.schemas import schema
from graphfix.graph.edits import Refused
from graphfix.results.onnx_messages import ModelProto, NodeProto
from graphfix.results.records import dataclass


def convert(
    proto: ModelProto, facts: Facts, target: int, fresh: Callable[[str], str], read_tensor: TensorReader
) -> set[str]:
    """Convert a copy of the model to opset `target`, in place. Return the names of the values that lost a reader.

    `read_tensor` returns the elements of a tensor, also if they lie in another file.

    Raises Refused with the node and the reason if a node can't be converted. The copy must then be discarded.
    """
    dropped: set[str] = set()
    version = to_8.standard_version(proto.opset_import)
    if version < to_8.NUMPY_SINCE:
        _from_legacy(proto, target)
        version = to_8.TARGET
    if version < target:
        _Converter(proto, version, target, fresh, dropped, read_tensor).nodes(proto.graph, facts.main)
        to_8.set_standard_version(proto.opset_import, target)
    for function in proto.functions:
        own = to_8.standard_version(function.opset_import, version)
        if own < target:
            scope = facts.functions.get((function.domain, function.name))
            _Converter(proto, own, target, fresh, dropped, read_tensor).nodes(function, scope)
            to_8.set_standard_version(function.opset_import, target)
    return dropped


def _from_legacy(proto: ModelProto, target: int) -> None:
    """Convert a model of opset 1-6 to opset 8. Raises Refused if it can't be converted or has a legacy broadcast."""
    why = to_8.blocker(proto) or to_8.legacy(proto)
    if why is not None:
        raise Refused(f"{why}, and so it can't be stated at opset {target}")
    to_8.convert(proto)


@dataclass(slots=True)
class _Converter:
    """Converts the nodes of the main graph, or of a function, from opset `version` to opset `target`."""

    proto: ModelProto
    version: int
    target: int
    fresh: Callable[[str], str]
    dropped: set[str]
    read_tensor: TensorReader

    def nodes(self, holder: Holder, scope: GraphScope | None) -> None:
        """Convert the nodes of a graph and of its bodies. `scope` is None if nothing was inferred of its values."""
        if scope is not None:
            for body, child in bodies_of(holder.node, scope):
                self.nodes(body, child)
        graph = ConvertedGraph(
            holder, scope, self.proto.ir_version, self.version, self.fresh, self.dropped, self.read_tensor
        )
        for at, node in enumerate(list(holder.node)):
            if is_standard(node.domain):
                graph.at = at
                self._node(node, graph)
        graph.place()

    def _node(self, node: NodeProto, graph: ConvertedGraph) -> None:
        """Convert one node in place. Raises Refused, with the node, if the node can't be converted."""
        old, new = (_since(node.op_type, version) for version in (self.version, self.target))
        if old is None:
            raise Refused(f"{node.op_type} '{node.name}' is no operator of opset {self.version}")
        convert = CHANGED.get(node.op_type)
        if convert is not None:
            try:
                convert(node, graph)
            except Refused as why:
                what = f"{node.op_type} '{node.name or node.output[0]}'"
                raise Refused(f"{what} can't be stated at opset {self.target}: {why}") from None
        elif old != new and node.op_type not in KEPT:
            raise Refused(f"{node.op_type} '{node.name}' changed between opset {self.version} and {self.target}")


def _since(op: str, version: int) -> int | None:
    """Return the opset in which the operator's definition of opset `version` was introduced; None if there is none."""
    operator_schema = schema(op, "", version)
    return None if operator_schema is None else operator_schema.since
