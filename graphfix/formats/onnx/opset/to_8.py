"""Convert a model of opset 1-6 to opset 8, if every operator in it has a known meaning there.

From opset 7 on broadcasting follows numpy. The attributes `broadcast` and `axis` no longer exist, and neither do some
others. If a default value is different at opset 8, the old default is written out. onnx's version converter converts
several of these operators wrongly (PRelu's slope without an error). Source: the ONNX changelog, operator by operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from graphfix.formats.onnx.file.messages import is_standard, subgraphs
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.formats.onnx.schemas import Schema, schema
from graphfix.results.onnx_messages import AttributeProto, ModelProto, NodeProto, OperatorSetIdProto

TARGET = 8
NUMPY_SINCE = 7
"""The opset since which broadcasting follows numpy."""
REWRITTEN = frozenset("Add Sub Mul Div Pow And Or Xor Equal Greater Less Gemm PRelu".split())
"""Operators whose attributes `broadcast` and `axis` were removed. A rewrite lifts the operand to the same alignment."""
SAME = frozenset(["Max", "Min", "Sum", "Mean", "AveragePool", "MaxPool"])
"""Operators whose versions up to opset 8 only allow more than the older ones.

Before, shapes had to be equal, and `count_include_pad` and `storage_order` did not exist.
"""
TESTED = frozenset(["BatchNormalization", "Dropout"])
"""Operators that train unless `is_test` is 1. From opset 7 on they train only if they have more than one result."""
RECURRENT = frozenset(("LSTM", "GRU", "RNN"))
"""Operators of which only `output_sequence` was removed.

The text of their definition first omitted the transposition of R, a square matrix, in the products.
"""
MEMORY_HINT = "consumed_inputs"


def blocker(proto: ModelProto) -> str | None:
    """Return why the model can't be converted to opset 8, or None if it can."""
    if proto.functions:
        return "the model has local functions, which no opset below 7 knows"
    version = standard_version(proto.opset_import)
    for node in _nodes(proto):
        if (why := _changed(node, version)) is not None:
            return f"the model can't be stated at opset {TARGET}: {node.op_type} '{node.name}' {why}"
    return None


def legacy(proto: ModelProto) -> str | None:
    """Return a clause about the first node whose operator had a legacy broadcast; None if there is no such node."""
    node = next((node for node in _nodes(proto) if node.op_type in REWRITTEN), None)
    return f"{node.op_type} '{node.name}' has a broadcast of opset 1 to 6" if node is not None else None


def standard_version(imports: Iterable[OperatorSetIdProto], default: int = 1) -> int:
    """Return the imported version of the standard operators, or `default` if they are not imported."""
    return next((entry.version for entry in imports if is_standard(entry.domain)), default)


def set_standard_version(imports: Iterable[OperatorSetIdProto], version: int) -> None:
    """Change the imported version of the standard operators."""
    for entry in imports:
        if is_standard(entry.domain):
            entry.version = version


def _nodes(proto: ModelProto) -> Iterator[NodeProto]:
    """Yield the nodes of standard operators, also those in bodies."""
    pending = [proto.graph]
    while pending:
        graph = pending.pop()
        yield from (node for node in graph.node if is_standard(node.domain))
        pending += [body for _, _, body in subgraphs(graph.node)]


def _changed(node: NodeProto, version: int) -> str | None:
    """Return why a node has no known meaning at opset 8, or None if it has one.

    The reason is the end of a sentence that begins with the node.
    """
    attributes = {attribute.name: attribute for attribute in node.attribute}
    if node.op_type in TESTED:
        return _training(attributes)
    if node.op_type in RECURRENT:
        return "asks for `output_sequence`" if "output_sequence" in attributes else None
    if node.op_type in REWRITTEN or node.op_type in SAME:
        return None
    old, new = (schema(node.op_type, "", number) for number in (version, TARGET))
    if old is None or new is None:
        return f"is not an operator of opset {version} and {TARGET}"
    if old.since != new.since and not _only_memory_hints(old, new):
        return f"changed between opset {old.since} and {new.since}"
    left = [name for name, was in defaults(node.op_type, version).items() if was is None and name not in attributes]
    # Clip's bounds: in its text the default is the type's largest number. Its schema first had no default, later
    # float32's.
    return f"leaves `{left[0]}` to a default that opset {old.since} does not state" if left else None


def _training(attributes: Mapping[str, AttributeProto]) -> str | None:
    """Return why a BatchNormalization or Dropout can't be converted, or None if it can."""
    if "is_test" not in attributes or not attributes["is_test"].i:
        return "may be in training mode (it does not say `is_test`)"
    if "spatial" in attributes and not attributes["spatial"].i:
        return "has statistics that are not of whole channels (spatial=0), of another shape there"
    return None


def _only_memory_hints(old: Schema, new: Schema) -> bool:
    """Return whether only `consumed_inputs` (a memory hint of opset 1) and defaults differ between two versions."""
    return (
        set(old.attributes) - {MEMORY_HINT} == set(new.attributes) - {MEMORY_HINT}
        and len(old.inputs) == len(new.inputs)
        and MEMORY_HINT in old.attributes
    )


@cache
def defaults(op: str, version: int) -> Mapping[str, AttributeProto | None]:
    """Return the old default of each attribute whose default is different at opset 8.

    It is None if the attribute had no default.

    Selu and Clip have attributes of this kind. `version` is the opset of the model.
    """
    # The changes of these operators are handled elsewhere in this module. GRU's schema misspells `forward`.
    if op in SAME | RECURRENT | REWRITTEN | TESTED:
        return {}
    old, new = (schema(op, "", number) for number in (version, TARGET))
    if old is None or new is None:
        return {}
    both = [(name, old.attributes[name], now) for name, now in new.attributes.items() if name in old.attributes]
    stated = [(name, was) for name, was, now in both if was != now and (was.default, now.default) != (None, None)]
    return {n: None if was.default is None else attribute_of(n, was.default) for n, was in stated}


def convert(proto: ModelProto) -> None:
    """Convert the model to opset 8, in place: remove old attributes, write out old defaults, and change the opset.

    Legacy broadcasts must already be lifted.
    """
    version = standard_version(proto.opset_import)
    for node in _nodes(proto):
        gone = {MEMORY_HINT, "is_test"} if node.op_type in TESTED else {MEMORY_HINT}
        if node.op_type in REWRITTEN:
            gone |= {"broadcast", "axis"}
        for attribute in [attribute for attribute in node.attribute if attribute.name in gone]:
            node.attribute.remove(attribute)
        present = {attribute.name for attribute in node.attribute}
        was = defaults(node.op_type, version)
        node.attribute.extend(given for name, given in was.items() if given is not None and name not in present)
    set_standard_version(proto.opset_import, TARGET)
