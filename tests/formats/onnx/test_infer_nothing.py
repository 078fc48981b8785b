"""Standard operators on operands of which nothing is known, and on operands that are left out: no rule fails."""

from __future__ import annotations

import onnx.defs
import pytest
from onnx import NodeProto, TensorProto, helper

import graphfix
from graphfix.formats.onnx.infer.operators import registry
from graphfix.formats.onnx.schemas import newest
from graphfix.results import GraphfixError

KIND = onnx.defs.OpSchema.AttrType
GIVEN: dict[object, object] = {
    KIND.INT: 1,
    KIND.INTS: [1],
    KIND.FLOAT: 1.0,
    KIND.FLOATS: [1.0],
    KIND.STRING: "a,b->b",
    KIND.TENSOR: helper.make_tensor("", TensorProto.FLOAT, [1], [1.0]),
}
"""What a required attribute gets."""
OPERATORS = sorted(op for domain, op in registry.SHAPES if not domain and op not in {"Upsample", "Scatter"})


def asked(op: str, operand: str) -> tuple[NodeProto, int]:
    """A node with as many operands and results as there may be, up to eight; and how many operands it must have."""
    schema = onnx.defs.get_schema(op, newest())
    count = min(schema.max_input, 8)
    inputs = [f"{operand}{at}" if operand else "" for at in range(count)]
    outputs = [f"y{at}" for at in range(min(schema.max_output, 8))]
    node = helper.make_node(op, inputs, outputs)
    for name, attribute in schema.attributes.items():
        if attribute.required and attribute.type in GIVEN:
            node.attribute.append(helper.make_attribute(name, GIVEN[attribute.type]))
    return node, count


def loaded(node: NodeProto, count: int) -> list[str]:
    inputs = [helper.make_tensor_value_info(f"x{at}", TensorProto.FLOAT, None) for at in range(count)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(node.output[0])])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", newest())], ir_version=10)
    return [each.op for each in graphfix.load(proto).graphs[0].nodes]


@pytest.mark.parametrize("op", OPERATORS)
def test_a_rule_takes_operands_of_which_nothing_is_known(op: str) -> None:
    assert loaded(*asked(op, "x")) == [op]


@pytest.mark.parametrize("op", OPERATORS)
def test_operands_that_are_left_out_are_refused_or_unknown(op: str) -> None:
    node, count = asked(op, "")
    try:
        said = str(loaded(node, count))
    except GraphfixError as error:
        said = str(error)
    assert said == f"['{op}']" or f"{op} '{op}#0' has no operand" in said
