"""Find outputs of an ONNX model that have a wider type than float16 but contain float16 numbers.

y:float32[4] = Cast(h:float16[4]) written by tools that convert a model and keep the types of its outputs

`static_model` calls this module, because such outputs are compared with the precision of float16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results.onnx_messages import TensorProto
from graphfix.runtimes.onnx.shape_inference import InferenceError, infer_shapes

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto

_MOVERS = frozenset("Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Gather Expand Tile".split())
"""Operators whose result contains only elements of operand 0."""
_WIDER = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})


def float16_outputs(model: ModelProto) -> frozenset[str]:
    """Return the names of float and double outputs that a Cast computes from float16 numbers.

    Operators that only move elements may follow the Cast. An element type that onnx can't infer counts as not float16.
    """
    try:
        graph = infer_shapes(model).graph
    except InferenceError:
        return frozenset()
    types = _element_types(graph)
    makers = {name: node for node in graph.node for name in node.output if name}
    found = set()
    for output in graph.output:
        node = makers.get(output.name)
        while node is not None and node.op_type in _MOVERS and not node.domain:
            node = makers.get(node.input[0])
        if node is not None and node.op_type == "Cast" and not node.domain:
            to = next((given.i for given in node.attribute if given.name == "to"), None)
            if to in _WIDER and types.get(node.input[0]) == TensorProto.FLOAT16:
                found.add(output.name)
    return frozenset(found)


def _element_types(graph: GraphProto) -> dict[str, int]:
    """Return the element types of inputs, inner values and initializers, by name."""
    declared = {value.name: value.type.tensor_type.elem_type for value in (*graph.input, *graph.value_info)}
    return declared | {tensor.name: tensor.data_type for tensor in graph.initializer}
