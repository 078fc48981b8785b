"""Every operator of the installed onnx that changed on the way: known to say the same, stated, or refused."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import ModelProto, NodeProto, helper

from graphfix.formats.onnx.opset import to_8
from graphfix.formats.onnx.opset.operators import KEPT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx.defs import OpSchema

REFUSED_UNTIL = {
    "Cast": 5,  # its type is a string
    "Concat": 3,  # its axis has a default
    "GlobalLpPool": 1,  # p is a float
    "LpPool": 1,
    "Pad": 1,  # `paddings`
    "Reshape": 4,  # its shape is an attribute
    "Split": 1,  # its sizes are an operand
    "Tile": 5,  # it repeats one axis
    "Upsample": 6,  # by width and height
    "Clip": 5,  # its text and its schema disagree on bounds that are not stated
}
"""The last operator set below 7 in which a node that states no more than it must is refused."""
READ_APART = {
    # the rewrite lifts; `axis` has no default
    **{op: {"broadcast"} for op in "Add Sub Mul Div Pow And Or Xor Equal Greater Less".split()},
    "Gemm": {"broadcast"},  # C follows numpy's rule whatever it says
    "Dropout": {"is_test"},  # stated as 1 below: the only mode later
    "BatchNormalization": {"is_test"},
    "AveragePool": {"count_include_pad"},  # the text of set 1: "the number of elements exclude pad"
    "MaxPool": {"storage_order"},  # of an output that there was not
    "LSTM": {"output_sequence"},  # whether an output that is named may be left out
    "RNN": {"output_sequence"},
    "GRU": {"output_sequence", "linear_before_reset", "direction"},  # the one form that there was; "foward"
}
"""Attributes that read otherwise at set 8, and why they mean the same."""
MORE_OPERANDS = {"GRU", "MaxPool"}
"""Y_h may be left out; Indices are new."""

VALUES: dict[str, object] = {
    "INT": 1,
    "FLOAT": 1.0,
    "STRING": "FLOAT",
    "INTS": [1],
    "FLOATS": [1.0],
    "TENSOR": helper.make_tensor("", onnx.TensorProto.FLOAT, [], [1]),
}


def kind(attribute: OpSchema.Attribute) -> str:
    return str(attribute.type).rpartition(".")[2]


def plain(schema: OpSchema) -> ModelProto:
    """One node that states what it must, and that it doesn't train."""
    must = {name: VALUES[kind(it)] for name, it in schema.attributes.items() if it.required}
    if "is_test" in schema.attributes:
        must["is_test"] = 1
    inputs = [f"x{index}" for index in range(schema.min_input)]
    node = helper.make_node(schema.name, inputs, ["y"], **must)
    return helper.make_model(helper.make_graph([node], "g", [], []))


def stated_at(proto: ModelProto, version: int) -> ModelProto:
    del proto.opset_import[:]
    proto.opset_import.append(helper.make_opsetid("", version))
    return proto


def read(node: NodeProto, schema: OpSchema) -> dict[str, object]:
    """What each attribute says, by the node or else by default."""
    given = {it.name: it.default_value for it in schema.attributes.values() if it.default_value.type}
    given |= {it.name: it for it in node.attribute}
    return {name: helper.get_attribute_value(it) for name, it in given.items()}


def changed(until: int, at: int) -> Iterator[tuple[int, OpSchema, OpSchema]]:
    """Each operator of a set below `until` that is another at set `at`."""
    names = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}
    for op in sorted(names):
        for version in range(1, until):
            if onnx.defs.has(op, version, ""):
                old, new = (onnx.defs.get_schema(op, number, "") for number in (version, at))
                if old.since_version != new.since_version:
                    yield version, old, new


def test_each_operator_says_at_opset_8_what_it_said_or_is_refused() -> None:
    refused, differing, operands = dict[str, int](), defaultdict[str, set[str]](set), set[str]()
    for version, old, new in changed(7, 8):
        proto = stated_at(plain(old), version)
        before = read(proto.graph.node[0], old)
        if to_8.blocker(proto) is not None:
            refused[old.name] = version
            continue
        to_8.convert(proto)
        after = read(proto.graph.node[0], new)
        differing[old.name] |= {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        assert {it.name for it in proto.graph.node[0].attribute} <= new.attributes.keys() | {"broadcast", "axis"}
        if [(it.name, it.option) for it in old.inputs] != [(it.name, it.option) for it in new.inputs]:
            assert [it.type_str for it in old.inputs] == [it.type_str for it in new.inputs]
        if [it.option for it in old.outputs] != [it.option for it in new.outputs]:
            operands.add(old.name)
    consumed = {name: names - {"consumed_inputs"} for name, names in differing.items()}
    assert refused == REFUSED_UNTIL
    assert {name: names for name, names in consumed.items() if names} == READ_APART
    assert operands == MORE_OPERANDS


@pytest.mark.parametrize("version", [1, 5, 6])
def test_an_operator_that_did_not_change_is_never_refused(version: int) -> None:
    same = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}
    same -= {old.name for _, old, _ in changed(7, 8)}
    asked = 0
    for op in same:
        if onnx.defs.has(op, version, "") and op not in ("If", "Loop"):  # bodies are not made here
            assert to_8.blocker(stated_at(plain(onnx.defs.get_schema(op, version, "")), version)) is None, op
            asked += 1
    assert asked > 20


ADDED = {
    "ArgMax": {"select_last_index"},
    "ArgMin": {"select_last_index"},
    "AveragePool": {"ceil_mode"},
    "DepthToSpace": {"mode"},
    "GatherND": {"batch_dims"},
    "GRU": {"layout"},
    "LSTM": {"layout"},
    "RNN": {"layout"},
    "MaxPool": {"ceil_mode", "dilations", "storage_order"},
    "DequantizeLinear": {"axis"},
    "QuantizeLinear": {"axis"},
    "Reshape": {"allowzero"},
    "ScatterElements": {"reduction"},
    "ScatterND": {"reduction"},
    "Shape": {"start", "end"},
    "Constant": {"sparse_value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
                 "value_strings"},
}  # fmt: skip
"""Attributes that came between set 7 and 17, whose default is what was; an axis only matters to a vector of scales."""


def test_what_is_kept_up_to_opset_17_has_the_defaults_that_it_had() -> None:
    added = defaultdict[str, set[str]](set)
    for version, old, new in changed(17, 17):
        if old.name not in KEPT or version < 7:
            continue
        assert old.attributes.keys() <= new.attributes.keys(), old.name
        for name, attribute in old.attributes.items():
            assert attribute.default_value == new.attributes[name].default_value, (old.name, name)
        added[old.name] |= new.attributes.keys() - old.attributes.keys()
    assert {name: names for name, names in added.items() if names} == ADDED
