"""A model of opset 1-6 converted to opset 8: only if every operator in it has a known meaning there.

From opset 7 on broadcasting follows numpy; `broadcast` and `axis` are gone, and so are some other attributes. What a
node leaves to a default that is another at opset 8 is written down. onnx's version converter mis-converts several of
these (PRelu's slope silently). Source: the ONNX changelog, operator by operator.
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
"""From this opset on broadcasting follows numpy."""
REWRITTEN = frozenset("Add Sub Mul Div Pow And Or Xor Equal Greater Less Gemm PRelu".split())
"""Their `broadcast` and `axis` are gone: the rewrite lifts the operand to where they align it."""
SAME = frozenset(["Max", "Min", "Sum", "Mean", "AveragePool", "MaxPool"])
"""New versions up to 8 only allow more: equal shapes, padding left out of the mean, no `storage_order`."""
TESTED = frozenset(["BatchNormalization", "Dropout"])
"""They train unless `is_test` says otherwise; from opset 7 on only more than one result says that they do."""
RECURRENT = frozenset(("LSTM", "GRU", "RNN"))
"""Only `output_sequence` went; the products by R, which is square, were written down without their transposition."""
MEMORY_HINT = "consumed_inputs"


def blocker(proto: ModelProto) -> str | None:
    """Why the model can't be converted to opset 8, None when it can."""
    if proto.functions:
        return "the model has local functions, which no opset below 7 knows"
    version = standard_version(proto.opset_import)
    for node in _nodes(proto):
        if (why := _changed(node, version)) is not None:
            return f"the model can't be stated at opset {TARGET}: {node.op_type} '{node.name}' {why}"
    return None


def legacy(proto: ModelProto) -> str | None:
    """Which operator still has a legacy broadcast, None where there is none."""
    node = next((node for node in _nodes(proto) if node.op_type in REWRITTEN), None)
    return f"{node.op_type} '{node.name}' has a broadcast of opset 1 to 6" if node is not None else None


def standard_version(imports: Iterable[OperatorSetIdProto], default: int = 1) -> int:
    """Return the imported version of the standard operators."""
    return next((entry.version for entry in imports if is_standard(entry.domain)), default)


def set_standard_version(imports: Iterable[OperatorSetIdProto], version: int) -> None:
    """Import another version of the standard operators."""
    for entry in imports:
        if is_standard(entry.domain):
            entry.version = version


def _nodes(proto: ModelProto) -> Iterator[NodeProto]:
    """The nodes of the standard operators, those of bodies too."""
    pending = [proto.graph]
    while pending:
        graph = pending.pop()
        yield from (node for node in graph.node if is_standard(node.domain))
        pending += [body for _, _, body in subgraphs(graph.node)]


def _changed(node: NodeProto, version: int) -> str | None:
    """What of this operator has no known meaning at opset 8."""
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
    # Clip's bounds: its text says the numbers of its own type, its schema at first none, and then those of float32
    return f"leaves `{left[0]}` to a default that opset {old.since} does not state" if left else None


def _training(attributes: Mapping[str, AttributeProto]) -> str | None:
    if "is_test" not in attributes or not attributes["is_test"].i:
        return "may be in training mode (it does not say `is_test`)"
    if "spatial" in attributes and not attributes["spatial"].i:
        return "has statistics that are not of whole channels (spatial=0), of another shape there"
    return None


def _only_memory_hints(old: Schema, new: Schema) -> bool:
    """Whether nothing but `consumed_inputs` (a memory hint of opset 1) and defaults changed."""
    return (
        set(old.attributes) - {MEMORY_HINT} == set(new.attributes) - {MEMORY_HINT}
        and len(old.inputs) == len(new.inputs)
        and MEMORY_HINT in old.attributes
    )


@cache
def defaults(op: str, version: int) -> Mapping[str, AttributeProto | None]:
    """The attributes whose default is another at opset 8: what it was, None where there was none. Selu's, Clip's."""
    if op in SAME | RECURRENT | REWRITTEN | TESTED:  # what changed there is said above; GRU misspells `forward`
        return {}
    old, new = (schema(op, "", number) for number in (version, TARGET))
    if old is None or new is None:
        return {}
    both = [(name, old.attributes[name], now) for name, now in new.attributes.items() if name in old.attributes]
    stated = [(name, was) for name, was, now in both if was != now and (was.default, now.default) != (None, None)]
    return {n: None if was.default is None else attribute_of(n, was.default) for n, was in stated}


def convert(proto: ModelProto) -> None:
    """Drop what is gone, write down what was a default, raise the opset; legacy broadcasts are lifted already."""
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
