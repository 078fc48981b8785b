"""What every later step leans on, asked of a model once: names, order, arities, element types, sizes of payloads.

These are rules of the ONNX specification (docs/IR.md and the operators' schemas) that a damaged file breaks. What
onnxruntime takes although onnx's checker does not (operators without a schema, attributes that a schema does not list)
passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto

from graphfix.formats.onnx.file.container import OPSETS_SINCE, Container
from graphfix.formats.onnx.infer.scope import Step, standard, steps
from graphfix.formats.onnx.validate.malformed import (
    MalformedModelError,
    UnknownVersionError,
    named,
    place,
    short,
    shown,
    text,
    texts,
)
from graphfix.formats.onnx.validate.payload import ELEMENT_TYPES, misfit
from graphfix.formats.onnx.validate.recursion import refuse_recursion
from graphfix.formats.onnx.validate.schemas import ANY, Signature, signature_of

STANDARD: Final = ("", "ai.onnx")
HELD: Final = {
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
}
"""Attribute type -> the message that it must hold. A number that is absent means 0 to many writers."""


def refuse_malformed(container: Container) -> list[Step]:
    """Raise GraphfixError, with the file, the place and what is wrong there, for a model that breaks these rules.

    Give the nodes of the main graph as they were read for it.
    """
    name = container.source.name
    try:
        return _model(container)
    except MalformedModelError as error:
        raise MalformedModelError(f"{name}: no valid ONNX model: {error}; export it again") from None
    except UnknownVersionError as error:
        raise UnknownVersionError(f"{name}: {error}; install a newer onnx, or export it for an older version") from None


def _model(container: Container) -> list[Step]:
    proto = container.proto
    if proto.ir_version < 1:
        raise MalformedModelError(f"its IR version is {proto.ir_version}")
    functions = frozenset((standard(function.domain), function.name) for function in proto.functions)
    gate = _Gate(container, functions)
    versions = _versions(proto.opset_import)
    if not versions and proto.ir_version < OPSETS_SINCE:
        versions = {"": 1}
    nodes = gate.graph(proto.graph, "main", versions, ())
    for function in proto.functions:
        gate.function(function)
    refuse_recursion(proto.functions)
    return nodes


def _versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The version of each operator set by its domain, "" for the standard one."""
    versions = {
        "" if entry.domain in STANDARD else text(entry.domain, "an opset_import"): entry.version for entry in imports
    }
    newest = onnx.defs.onnx_opset_version()
    standard = versions.get("", 1)
    if standard > newest:
        raise UnknownVersionError(f"it uses version {standard} of the standard operators, known are 1 to {newest}")
    if any(version < 1 for version in versions.values()):
        raise MalformedModelError("it imports an operator set of a version below 1")
    return versions


@dataclass(slots=True)
class _Gate:
    container: Container
    functions: frozenset[tuple[str, str]]
    """The model's own, which hide operators of the same name."""

    def graph(self, graph: GraphProto, path: str, versions: Mapping[str, int], outer: Sequence[set[str]]) -> list[Step]:
        own: set[str] = set()
        _define(own, (value.name for value in graph.input), path)
        constants: set[str] = set()
        for tensor in graph.initializer:
            self._tensor(tensor, f"{path}: the initializer {shown(tensor.name)}")
        for sparse in graph.sparse_initializer:
            self._sparse(sparse, f"{path}: the sparse initializer {shown(sparse.values.name)}")
        names = (*(t.name for t in graph.initializer), *(s.values.name for s in graph.sparse_initializer))
        _define(constants, names, path)
        own |= constants
        for value in (*graph.input, *graph.output):
            _declared(value, path)
        for value in graph.value_info:
            _element_type(value, path)
        nodes = steps(graph.node)
        self.nodes(nodes, path, versions, own, outer)
        _outputs((value.name for value in graph.output), own, outer, path)
        return nodes

    def function(self, function: FunctionProto) -> None:
        path = f"function {shown(function.name)}"
        text(function.domain, path)
        own: set[str] = set()
        _define(own, function.input, path)
        self.nodes(steps(function.node), path, _versions(function.opset_import), own, ())
        _outputs(function.output, own, (), path)

    def nodes(
        self,
        nodes: Sequence[Step],
        path: str,
        versions: Mapping[str, int],
        own: set[str],
        outer: Sequence[set[str]],
    ) -> None:
        """Each node reads what stands before it, and makes what nobody made."""
        known: dict[tuple[str, str], Signature] = {}
        for index, step in enumerate(nodes):
            node, inputs, outputs = step.message, step.inputs, step.outputs
            key = (step.domain, step.op)
            signature = known.get(key)
            if signature is None:
                own_function = key in self.functions
                signature = known[key] = ANY if own_function else _signature(node, index, path, versions)
            if not own.issuperset(inputs):
                _refuse_undefined([step.message for step in nodes], index, path, (own, *outer))
            if len(inputs) not in signature.inputs or len(outputs) not in signature.outputs:
                counts = f"{len(inputs)} operands and {len(outputs)} results"
                raise MalformedModelError(f"{place(node, index, path)} has {counts}, which its operator does not take")
            if "" in inputs:
                _refuse_gap(node, index, path, signature)
            if signature.required or not step.bare:
                self._attributes(node, index, path, versions, signature, (*outer, own))
            if len(outputs) > 1 or not own.isdisjoint(outputs):
                _refuse_second(node, index, path, own)
            own.update(outputs)
        texts([*own, *(step.message.name for step in nodes)], path)

    def _attributes(
        self,
        node: NodeProto,
        index: int,
        path: str,
        versions: Mapping[str, int],
        signature: Signature,
        scopes: Sequence[set[str]],
    ) -> None:
        at = place(node, index, path)
        names = [attribute.name for attribute in node.attribute]
        texts(names, at)
        if len(set(names)) < len(names):
            raise MalformedModelError(f"{at} has an attribute twice")
        if not signature.required <= set(names):
            raise MalformedModelError(f"{at} has no attribute {min(signature.required - set(names))!r}")
        for attribute in node.attribute:
            where = f"{at}, attribute {shown(attribute.name)}"
            _attribute_type(attribute, where, signature)
            if attribute.ref_attr_name:
                text(attribute.ref_attr_name, where)
            bodies = [attribute.g] if attribute.type == AttributeProto.GRAPH else []
            for body in (*bodies, *attribute.graphs):
                self.graph(body, f"{path}/{short(node.name or node.op_type)}.{short(attribute.name)}", versions, scopes)
            self._attribute_tensors(attribute, where)

    def _attribute_tensors(self, attribute: AttributeProto, where: str) -> None:
        tensors = [attribute.t] if attribute.type == AttributeProto.TENSOR and not attribute.ref_attr_name else []
        for tensor in (*tensors, *attribute.tensors):
            self._tensor(tensor, where)
        lone = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
        for sparse in (*lone, *attribute.sparse_tensors):
            self._sparse(sparse, where)

    def _tensor(self, tensor: TensorProto, where: str) -> None:
        wrong = misfit(tensor, self.container.cut(tensor))
        if wrong is not None:
            raise MalformedModelError(f"{where} {wrong}")

    def _sparse(self, sparse: onnx.SparseTensorProto, where: str) -> None:
        self._tensor(sparse.values, where)
        self._tensor(sparse.indices, where)
        if any(size < 0 for size in sparse.dims):
            raise MalformedModelError(f"{where} has the shape {list(sparse.dims)}")


# --- names ---------------------------------------------------------------------------------------------------


def _define(own: set[str], names: Iterable[str], path: str) -> None:
    for name in names:
        if name and name in own:
            raise MalformedModelError(f"{path}: the name {shown(name)} is given twice")
        own.add(name)
    own.add("")  # an operand that is left out


def _outputs(names: Iterable[str], own: set[str], outer: Sequence[set[str]], path: str) -> None:
    for name in names:
        if not name or not any(name in scope for scope in (own, *outer)):
            raise MalformedModelError(f"{path}: no node makes the output {shown(name)}")


def _refuse_second(node: NodeProto, index: int, path: str, own: set[str]) -> None:
    for at, name in enumerate(node.output):
        if name and (name in own or name in node.output[:at]):
            raise MalformedModelError(f"{place(node, index, path)} makes {shown(name)}, a name that exists already")


def _refuse_undefined(nodes: Sequence[NodeProto], index: int, path: str, visible: Sequence[set[str]]) -> None:
    """Say why a value is not there when it is read: nobody makes it, a later node does, or a cycle."""
    name = next((name for name in nodes[index].input if not any(name in scope for scope in visible)), None)
    if name is None:
        return
    at = f"{place(nodes[index], index, path)} reads {shown(name)}"
    makers = {made: maker for maker, node in enumerate(nodes) for made in node.output if made}
    if name not in makers:
        raise MalformedModelError(f"{at}, which nothing makes")
    reads = {reader: {makers[read] for read in node.input if read in makers} for reader, node in enumerate(nodes)}
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        ring = " -> ".join(named(nodes[member], member) for member in error.args[1][:4])
        raise MalformedModelError(f"{at}; the nodes form a cycle: {ring}") from None
    raise MalformedModelError(f"{at}, which a later node makes: the nodes are not sorted")


# --- types ---------------------------------------------------------------------------------------------------


def _declared(value: ValueInfoProto, path: str) -> None:
    _element_type(value, path)
    dims = value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ()
    texts([dim.dim_param for dim in dims], f"{path}: a dim of {shown(value.name)}")


def _element_type(value: ValueInfoProto, path: str) -> None:
    code = value.type.tensor_type.elem_type
    if code not in ELEMENT_TYPES:
        raise MalformedModelError(f"{path}: {shown(value.name)} has the unknown element type {code}")


def _attribute_type(attribute: AttributeProto, where: str, signature: Signature) -> None:
    expected = signature.attributes.get(attribute.name)
    if expected is not None and attribute.type not in (expected, AttributeProto.UNDEFINED):
        types = AttributeProto.AttributeType.Name(attribute.type), AttributeProto.AttributeType.Name(expected)
        raise MalformedModelError(f"{where} has the type {types[0]}, the operator asks for {types[1]}")
    held = HELD.get(attribute.type)
    if held is not None and not attribute.ref_attr_name and not attribute.HasField(held):
        raise MalformedModelError(f"{where} is empty")


# --- operators -----------------------------------------------------------------------------------------------


def _signature(node: NodeProto, index: int, path: str, versions: Mapping[str, int]) -> Signature:
    texts([node.op_type, node.domain], f"{path}: node {index}")
    if not node.op_type:
        raise MalformedModelError(f"{path}: node {index} has no operator")
    domain = "" if node.domain in STANDARD else node.domain
    version = versions.get(domain)
    if version is None and not domain:
        raise MalformedModelError(f"{place(node, index, path)}: the model imports no version of the standard operators")
    return ANY if version is None else signature_of(node.op_type, domain, version)


def _refuse_gap(node: NodeProto, index: int, path: str, signature: Signature) -> None:
    for at in signature.needed:
        if not node.input[at]:
            raise MalformedModelError(f"{place(node, index, path)} has no operand {at}")
