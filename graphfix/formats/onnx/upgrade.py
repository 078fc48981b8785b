"""A model of opset 1-6 stated at opset 8: only if every operator in it has a known meaning there.

From opset 7 on broadcasting follows numpy; `broadcast` and `axis` are gone, and so are some other attributes. onnx's
own version converter mis-converts several of these (PRelu's slope silently). Source: the ONNX changelog, operator by
operator.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import ModelProto, NodeProto

from graphfix.formats.onnx.scope import subgraphs

TARGET = 8
NUMPY_SINCE = 7
"""From this opset on broadcasting follows numpy."""
REWRITTEN = frozenset("Add Sub Mul Div Pow And Or Xor Equal Greater Less Gemm PRelu".split())
"""Their `broadcast` and `axis` are what the rewrite takes out."""
SAME = frozenset(["Max", "Min", "Sum", "Mean", "AveragePool", "MaxPool", "Cos", "Sin"])
"""New versions up to 8 only allow more: equal shapes, padding left out of the mean, no `storage_order`."""
DROPPED = {"BatchNormalization": ("is_test", "consumed_inputs"), "Dropout": ("is_test", "consumed_inputs")}
"""Test mode is the only mode from opset 7 on."""
RECURRENT = frozenset(("LSTM", "GRU", "RNN"))


def hindrance(proto: ModelProto) -> str | None:
    """Why the model can't be stated at opset 8, None when it can."""
    if proto.functions:
        return "the model has local functions, which no opset below 7 knows"
    version = _version(proto)
    for node in _nodes(proto):
        if node.domain in ("", "ai.onnx") and (why := _changed(node, version)) is not None:
            return f"the model can't be stated at opset {TARGET}: {node.op_type} '{node.name}' {why}"
    return None


def legacy(proto: ModelProto) -> str | None:
    """Which operator still has a broadcast of its own, None where there is none."""
    node = next((node for node in _nodes(proto) if node.domain in ("", "ai.onnx") and node.op_type in REWRITTEN), None)
    return f"{node.op_type} '{node.name}' has a broadcast of opset 1 to 6" if node is not None else None


def _version(proto: ModelProto) -> int:
    return next((entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")), 1)


def _nodes(proto: ModelProto) -> Iterator[NodeProto]:
    pending = [proto.graph]
    while pending:
        graph = pending.pop()
        yield from graph.node
        pending += [body for _, _, body in subgraphs(graph.node)]


def _changed(node: NodeProto, version: int) -> str | None:
    """What of this operator has no known meaning at opset 8."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    if node.op_type in DROPPED:
        trained = "is_test" in attributes and attributes["is_test"].i == 0
        absent = "is_test" not in attributes and version < NUMPY_SINCE  # where the attribute ends
        many = len([name for name in node.output if name]) > 1
        return "may be in training mode" if (trained or absent) and many else None
    if node.op_type in RECURRENT:
        return "asks for `output_sequence`" if "output_sequence" in attributes else None
    if node.op_type in REWRITTEN or node.op_type in SAME:
        return None
    try:
        old = onnx.defs.get_schema(node.op_type, version, "")
        new = onnx.defs.get_schema(node.op_type, TARGET, "")
    except onnx.defs.SchemaError:
        return f"is not an operator of opset {version} and {TARGET}"
    if old.since_version == new.since_version or _only_in_place_hints(old, new):
        return None
    return f"changed between opset {old.since_version} and {new.since_version}"


def _only_in_place_hints(old: onnx.defs.OpSchema, new: onnx.defs.OpSchema) -> bool:
    """Whether nothing but `consumed_inputs` (a memory hint of opset 1) went."""
    return (
        set(old.attributes) - {"consumed_inputs"} == set(new.attributes) - {"consumed_inputs"}
        and len(old.inputs) == len(new.inputs)
        and "consumed_inputs" in old.attributes
    )


def restate(proto: ModelProto) -> None:
    """Drop what is gone and raise the opset; the legacy broadcasts themselves are lifted by the rewrite."""
    for node in _nodes(proto):
        gone = {"consumed_inputs", *DROPPED.get(node.op_type, ())}
        for attribute in [attribute for attribute in node.attribute if attribute.name in gone]:
            node.attribute.remove(attribute)
    for entry in proto.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = TARGET
