"""The structure of a model up to names and order: operators, attributes, shapes, constants, and what reads what."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from graphfix.formats.tflite.model import TfliteModel
from tests.support import engine

if TYPE_CHECKING:
    from graphfix.formats.onnx import OnnxModel
    from graphfix.graph.view import Graph, Node, Value

Term = str
"""What a value is made of, from inputs and constants on: equal ones have one digest."""


@dataclass(frozen=True)
class Structure:
    """A model without its names."""

    nodes: Counter[Term]
    """How often each thing is computed; a Constant node is none."""
    outputs: tuple[tuple[str, Term], ...]
    """Of the main graph, by name: these are kept."""
    lines: dict[Term, str]
    """What is computed, to be read."""

    def unlike(self, other: Structure) -> list[str]:
        """What only this one and what only the other computes, and the outputs that are not the same."""
        mine = [f"- {self.lines[term]}" for term in (self.nodes - other.nodes).elements()]
        theirs = [f"+ {other.lines[term]}" for term in (other.nodes - self.nodes).elements()]
        return [*mine, *theirs, *(f"output {name}" for name, _ in sorted({*self.outputs} ^ {*other.outputs}))]


def structure(file: bytes) -> Structure:
    """The structure of a file, by its view as it is loaded."""
    model = engine.load(file)
    about = _tflite(model) if isinstance(model, TfliteModel) else _onnx(model)
    walk = _Walk(about)
    for graph in model.graphs:
        walk.bodies.setdefault(graph.path.rpartition(".")[0], []).append((graph.path.rpartition(".")[2], graph))
    run_by_nodes = {body for each in model.graphs for node in each.nodes for _, body in walk.bodies_of(node)}
    for graph in model.graphs:
        if graph not in run_by_nodes:
            walk.graph(graph)
    outputs = sorted((value.name, walk.of(value)) for value in about.outputs(model.graphs[0]))
    return Structure(walk.nodes, tuple(outputs), walk.lines)


@dataclass(frozen=True)
class _About:
    """What a format's file says beside the view."""

    held: Callable[[Value], object]
    """Of a value: the numbers of a constant, a quantization."""
    outputs: Callable[[Graph], Sequence[Value]]
    """Of a graph, in order."""


def _onnx(model: OnnxModel) -> _About:
    views = model._views

    def held(value: Value) -> object:
        tensor = views.tensors.get(value)
        array = views.elements(tensor) if tensor is not None else None
        numbers = value.literal if array is None else array  # a Constant node may state numbers instead of a tensor
        return None if numbers is None else _elements(np.ravel(numbers))

    def outputs(graph: Graph) -> list[Value]:
        found = {value.name: value for value in graph.outputs}
        named = views.holders[graph].output
        return [found[each if isinstance(each, str) else each.name] for each in named]

    return _About(held, outputs)


def _tflite(model: TfliteModel) -> _About:
    by_graph = {view.graph: view for view in model._views}

    def held(value: Value) -> object:
        view = by_graph[value.graph]
        if value not in view.tensors:
            return None
        tensor = view.tensor(value)
        axis = tensor.quantization.dimension if tensor.quantization is not None and value.scales > 1 else None
        data = model.container.data(tensor.buffer) if value.kind == "constant" else b""
        return hashlib.sha256(data).hexdigest(), value.quantization, value.scales, axis, tensor.variable

    def outputs(graph: Graph) -> list[Value]:
        view = by_graph[graph]
        return [view.values[tensor] for tensor in view.record.outputs]

    return _About(held, outputs)


@dataclass
class _Walk:
    about: _About
    nodes: Counter[Term] = field(default_factory=Counter)
    lines: dict[Term, str] = field(default_factory=dict)
    known: dict[Value, Term] = field(default_factory=dict)
    bodies: dict[str, list[tuple[str, Graph]]] = field(default_factory=dict)
    """By the path of the graph and the label of the node that runs them."""

    def of(self, value: Value | None) -> Term:
        """The term of a value; of a constant its numbers, of what the file does not make its name."""
        if value is None:
            return "-"
        if value not in self.known:
            name = value.name if value.kind != "constant" else ""
            self.known[value] = _digest(name, value.kind, _typed(value), self.about.held(value))
        return self.known[value]

    def graph(self, graph: Graph, around: Sequence[object] = ()) -> list[Term]:
        """Enter the nodes of a graph, and return the terms of its outputs; inputs are what their places are."""
        for at, value in enumerate(graph.inputs):
            self.known[value] = _digest("input", around, at, _typed(value), self.about.held(value))
        for node in graph.nodes:
            self._node(node)
        return [self.of(value) for value in self.about.outputs(graph)]

    def bodies_of(self, node: Node) -> list[tuple[str, Graph]]:
        """(name, graph) of what a node runs."""
        return self.bodies.get(f"{node.graph.path}/{node.label}", [])

    def _node(self, node: Node) -> None:
        if node.results and all(value is None or value.kind == "constant" for value in node.results):
            return
        operands = [self.of(value) for value in node.operands]
        attributes = sorted((name, repr(value)) for name, value in node.attributes.items())
        around = (node.domain, node.op, attributes, operands)
        run = [(name, self.graph(body, (*around, name))) for name, body in self.bodies_of(node)]
        results = [_typed(value) for value in node.results]
        term = _digest(*around, run, results, [self.about.held(value) for value in node.results if value is not None])
        self.nodes[term] += 1
        self.lines[term] = f"{', '.join(results)} = {node.op}({', '.join(map(_read, node.operands))})"
        self.known.update({value: _digest(term, at) for at, value in enumerate(node.results) if value is not None})


def _typed(value: Value | None) -> str:
    return f"{value.dtype}{value.shape}" if value is not None else "-"


def _read(value: Value | None) -> str:
    return f"{value.kind if value.kind == 'constant' else ''} {_typed(value)}".strip() if value is not None else ""


def _elements(array: np.ndarray) -> str:
    """Return a digest of elements that is the same for each type that can represent them."""
    if array.dtype == object or array.dtype.kind in "SU":
        return repr(array.tolist())
    wide = array.astype(np.int64 if array.dtype.kind in "iub" else np.complex128)
    return hashlib.sha256(wide.tobytes()).hexdigest()


def _digest(*parts: object) -> Term:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
