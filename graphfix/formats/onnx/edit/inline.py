"""A branch's body put in the place of its node: names made unique, results renamed, constants moved out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from graphfix.formats.neutral.insertion import rearrange
from graphfix.formats.onnx.edit.state import Decided
from graphfix.formats.onnx.edit.unroll import unrolled
from graphfix.formats.onnx.file.messages import Holder, holds_initializers, subgraphs
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.results.onnx_messages import (
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    ValueInfoProto,
)
from graphfix.results.records import dataclass, field


def inline(proto: ModelProto, decided: Sequence[Decided], fresh: Callable[[str], str]) -> None:
    """Put every decided body in the place of its node; an outer node comes before those inside it."""
    if not decided:
        return
    taken = Counter(_all_names(proto))
    for one in reversed(decided):
        _Move(one.holder, proto.ir_version, taken, fresh).take(one)


@dataclass(slots=True)
class _Move:
    """One branch on its way out."""

    holder: Holder
    ir_version: int
    taken: Counter[str]
    """How many values and nodes of the file have a name."""
    fresh: Callable[[str], str]
    names: dict[str, str] = field(default_factory=dict)
    """What the values of the branch are called from now on."""
    nodes: list[NodeProto] = field(default_factory=list)

    def take(self, decided: Decided) -> None:
        node = decided.message
        body = next(attribute.g for attribute in node.attribute if attribute.name == decided.branch)
        if decided.trips is not None:
            body = unrolled(node, decided.trips, decided.version, decided.results, self.fresh, rename_values)
        last = self._rename(body, decided.results)
        self._constants(body)
        for inner in body.node:
            if self.taken[inner.name] > 1:
                inner.name = self._new(inner.name)
        self.nodes += [*body.node, *last]
        self._claims(body)
        self._place(node)

    def _rename(self, body: GraphProto, results: Sequence[str]) -> list[NodeProto]:
        """Choose the names; return nodes for the results that no node of the branch makes, or that it has twice."""
        made = {name for inner in body.node for name in inner.output if name}
        constants = set(_held(body))
        shown = {_name(output) for output in self.holder.output}
        last = []
        for value, result in zip(body.output, results, strict=True):
            own = value.name in made or (value.name in constants and result not in shown)
            if result and own and value.name not in self.names:
                self.names[value.name] = result
            elif result:
                last.append(NodeProto(op_type="Identity", input=[value.name], output=[result], name=self.fresh(result)))
        for name in made | constants:
            if name not in self.names and self.taken[name] > 1:
                self.names[name] = self._new(name)
        rename_values(body.node, self.names)
        for identity in last:
            identity.input[0] = self.names.get(identity.input[0], identity.input[0])
        return last

    def _new(self, name: str) -> str:
        self.taken[name] -= 1
        return self.fresh(name)

    def _constants(self, body: GraphProto) -> None:
        """Initializers stay such where the outer graph can have them."""
        outer = self.holder if holds_initializers(self.holder, self.ir_version) else None
        for tensor in body.initializer:
            tensor.name = self.names.get(tensor.name, tensor.name)
            if outer is not None:
                outer.initializer.add().CopyFrom(tensor)
            else:
                self._constant(tensor.name, "value", tensor)
        for sparse in body.sparse_initializer:
            sparse.values.name = self.names.get(sparse.values.name, sparse.values.name)
            if outer is not None:
                outer.sparse_initializer.add().CopyFrom(sparse)
            else:
                self._constant(sparse.values.name, "sparse_value", sparse)

    def _constant(self, name: str, key: str, tensor: TensorProto | SparseTensorProto) -> None:
        node = NodeProto(op_type="Constant", output=[name], name=self.fresh(name))
        node.attribute.append(attribute_of(key, tensor))
        self.nodes.append(node)

    def _claims(self, body: GraphProto) -> None:
        """Stored shapes and quantization notes of the branch are the outer graph's now."""
        holder = self.holder
        if not isinstance(holder, GraphProto):
            return
        declared_names = {info.name for info in (*holder.value_info, *holder.output)}
        for info in body.value_info:
            info.name = self.names.get(info.name, info.name)
            if info.name not in declared_names:
                holder.value_info.add().CopyFrom(info)
        noted = {note.tensor_name for note in holder.quantization_annotation}
        for note in body.quantization_annotation:
            note.tensor_name = self.names.get(note.tensor_name, note.tensor_name)
            if note.tensor_name not in noted:
                holder.quantization_annotation.add().CopyFrom(note)

    def _place(self, node: NodeProto) -> None:
        """The new nodes stand where the node stood, which goes."""
        results = list(node.output)
        nodes = self.holder.node
        at = next(at for at, other in enumerate(nodes) if other.output[:] == results)
        keys = [*range(at), len(nodes) + 1, *range(at + 1, len(nodes)), *([at] * len(self.nodes))]
        nodes.extend(self.nodes)
        rearrange(nodes, keys)
        del nodes[-1:]


def _name(output: ValueInfoProto | str) -> str:
    return output if isinstance(output, str) else output.name


def _held(graph: GraphProto) -> Iterator[str]:
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)


def rename_values(nodes: Iterable[NodeProto], names: Mapping[str, str]) -> None:
    """Rename what nodes read and make, also in their bodies, except for what a body defines itself."""
    nodes = list(nodes)
    for node in nodes:
        for names_of in (node.input, node.output):
            for at, name in enumerate(names_of):
                if name in names:
                    names_of[at] = names[name]
    for _, _, body in subgraphs(nodes):
        own = {value.name for value in body.input} | set(_held(body))
        own.update(name for node in body.node for name in node.output)
        inner = {old: new for old, new in names.items() if old not in own}
        rename_values(body.node, inner)
        for value in body.output:
            value.name = inner.get(value.name, value.name)


def _all_names(proto: ModelProto) -> Iterator[str]:
    """The name of every value, where it is defined, and of every node."""
    yield from (name for function in proto.functions for name in function.input)
    pending: list[Sequence[NodeProto]] = [function.node for function in proto.functions]
    graphs = [proto.graph]
    while graphs or pending:
        if graphs:
            graph = graphs.pop()
            inputs = {value.name for value in graph.input}
            yield from inputs
            yield from (name for name in _held(graph) if name not in inputs)
            pending.append(graph.node)
        else:
            nodes = pending.pop()
            for node in nodes:
                yield from (name for name in (*node.output, node.name) if name)
            graphs += [body for _, _, body in subgraphs(nodes)]
