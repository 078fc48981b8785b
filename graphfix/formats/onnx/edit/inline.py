"""Put the body of an If, Loop or Scan in the place of its node: rename values and move constants to the outer graph."""

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
    """Replace each node in `decided` by its body. `fresh` returns an unused name.

    `decided` lists an outer node before the nodes inside it. They are replaced in reverse order.
    """
    if not decided:
        return
    taken = Counter(_all_names(proto))
    for one in reversed(decided):
        _Move(one.holder, proto.ir_version, taken, fresh).take(one)


@dataclass(slots=True)
class _Move:
    """The replacement of one node by its body."""

    holder: Holder
    ir_version: int
    taken: Counter[str]
    """For each name, the number of values and nodes of the file that have it."""
    fresh: Callable[[str], str]
    names: dict[str, str] = field(default_factory=dict)
    """The new name of each value of the body that is renamed."""
    nodes: list[NodeProto] = field(default_factory=list)

    def take(self, decided: Decided) -> None:
        """Replace the node by the nodes of its body."""
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
        """Rename the body's values: its outputs get the names of the node's results, and all other names become unique.

        Return Identity nodes for the results whose name no value of the body can get. They are results that the body
        only passes on from outside, constants that the outer graph returns, and a second result of one value.
        """
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
        """Move the body's initializers to the outer graph, or make Constant nodes if it can't have initializers."""
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
        """Move the body's stored shapes and quantization annotations to the outer graph."""
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
        """Put the new nodes at the position of the old node, and remove the old node."""
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
    """Rename the values that nodes read and compute, also in their bodies. Names that a body defines itself stay."""
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
    """Yield the name of every value, once for each definition, and of every node."""
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
