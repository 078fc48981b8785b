"""Parts of a model by number, so that a change found in one copy is made in another; and the table of kinds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, numpy_helper

Edit = Callable[[ModelProto], None]
"""Changes a copy in place."""
Kind = Callable[[ModelProto, random.Random], Iterator[Edit]]
"""Every change of one kind that can be made of a model."""
KINDS: dict[str, Kind] = {}
OF_NODES: set[str] = set()
"""The kinds that also follow a change that inserted a node."""
THEN: set[str] = set()
"""The kinds after which another change is made, of a node."""


def kind(name: str, *, node: bool = False, then: bool = False) -> Callable[[Kind], Kind]:
    """Enter a kind of change into the table; `then` enters it once more, followed by a change of a node."""

    def enter(made: Kind) -> Kind:
        KINDS[name] = made
        if node:
            OF_NODES.add(name)
        if then:
            KINDS[f"{name}, and one more"] = made
            THEN.add(f"{name}, and one more")
        return made

    return enter


def graphs(model: ModelProto) -> list[GraphProto]:
    """The main graph and every body, those of functions too."""
    return [model.graph, *(body for node in nodes(model) for body in bodies(node))]


def nodes(model: ModelProto) -> list[NodeProto]:
    """Every node: of the main graph, of functions, of bodies, each before those of its bodies."""
    return [*_nodes(model.graph.node), *(it for function in model.functions for it in _nodes(function.node))]


def _nodes(listed: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in listed:
        yield node
        for body in bodies(node):
            yield from _nodes(body.node)


def bodies(node: NodeProto) -> list[GraphProto]:
    """The bodies of a node."""
    graphs_ = AttributeProto.GRAPH
    return [it.g for it in node.attribute if it.type == graphs_ or it.HasField("g")]


def names(graph: GraphProto) -> list[str]:
    """The values of a graph that a node may read."""
    found = [value.name for value in graph.input]
    found += [tensor.name for tensor in graph.initializer]
    return [*dict.fromkeys(found + [it for node in graph.node for it in node.output if it])]


def version_of(model: ModelProto, domain: str = "") -> int:
    """The operator set that the model imports of a domain, 0 where it does not."""
    same = {domain, "ai.onnx"} if domain in ("", "ai.onnx") else {domain}
    return next((it.version for it in model.opset_import if it.domain in same), 0)


def constants(graph: GraphProto) -> dict[str, np.ndarray]:
    """The initializers of a graph as arrays; those that are not whole are left out."""
    found = {}
    for tensor in graph.initializer:
        try:
            found[tensor.name] = numpy_helper.to_array(tensor)
        except Exception:  # noqa: BLE001, S112 -- a malformed tensor is no array
            continue
    return found


def readers(graph: GraphProto) -> Iterator[tuple[int, int, str]]:
    """Where nodes of a graph read what: (node, operand, value)."""
    for at, node in enumerate(graph.node):
        for operand, name in enumerate(node.input):
            if name:
                yield at, operand, name


def tensor_of(value: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor | None:
    """The tensor type of a declared value; None where it has another."""
    return value.type.tensor_type if value.type.HasField("tensor_type") else None
