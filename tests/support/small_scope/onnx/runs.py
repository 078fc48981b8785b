"""Parts of a large model, cut out and run by onnxruntime: only what the chosen values need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import onnxruntime
from onnx import ModelProto, NodeProto, helper, numpy_helper

from tests.support.runtimes.one_node import Array, Refused

Wanted: TypeAlias = Mapping[int, Sequence[str]]
"""By case, the names of values."""
Results: TypeAlias = dict[tuple[int, int], list[Array]]
"""By case and N, the values."""


class Source:
    """A model that parts are cut out of."""

    def __init__(self, model: ModelProto) -> None:
        """Index its values by name."""
        self.model = model
        graph = model.graph
        self.nodes = list(graph.node)
        self.named = {node.name: node for node in self.nodes}
        self.producers = {name: at for at, node in enumerate(self.nodes) for name in node.output}
        self.inputs = {info.name: info for info in graph.input}
        self.constants = {tensor.name: tensor for tensor in graph.initializer}

    def needed(self, names: Iterable[str]) -> tuple[list[NodeProto], list[str]]:
        """Give the nodes that values need, in order, and the inputs and constants."""
        chosen: set[int] = set()
        leaves: dict[str, None] = {}
        stack = list(names)
        while stack:
            name = stack.pop()
            at = self.producers.get(name)
            if at is None:
                leaves[name] = None
            elif at not in chosen:
                chosen.add(at)
                stack += [each for each in self.nodes[at].input if each]
        return [self.nodes[at] for at in sorted(chosen)], list(leaves)

    def cut(self, names: Sequence[str]) -> Part:
        """Cut out what computes these values, and load it. Raises Refused."""
        model = self.part(names)
        return Part(_session(model.SerializeToString()), [info.name for info in model.graph.input], names)

    def part(self, names: Sequence[str]) -> ModelProto:
        """Give a model of what computes these values."""
        nodes, leaves = self.needed(names)
        graph = helper.make_graph(
            nodes,
            "part",
            [self.inputs[name] for name in leaves if name in self.inputs],
            [helper.make_empty_tensor_value_info(name) for name in names],
            [self.constants[name] for name in leaves if name in self.constants],
        )
        ir = max(self.model.ir_version, 4)  # onnxruntime has no use for constants that are inputs
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=ir)


@dataclass(frozen=True)
class Part:
    """A part of a model, loaded."""

    session: onnxruntime.InferenceSession
    inputs: Sequence[str]
    names: Sequence[str]

    def run(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """Run once. Raises Refused."""
        outputs = self.session.run(None, {name: given[name] for name in self.inputs})
        return dict(zip(self.names, outputs, strict=True))


def _session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def computed(source: Source, wanted: Wanted, at: Mapping[int, Mapping[str, Array]]) -> Results:
    """Run the nodes of cases at several N; give by case and N what is wanted, without what onnxruntime refuses."""
    names = list(dict.fromkeys(name for each in wanted.values() for name in each))
    found: Results = {}
    try:
        part = source.cut([name for name in names if name in source.producers])
    except Refused:
        return _by_halves(source, wanted, at)
    for size, given in at.items():
        try:
            values = {**given, **part.run(given)}
        except Refused:
            found |= _by_halves(source, wanted, {size: given})
            continue
        values |= {name: numpy_helper.to_array(source.constants[name]) for name in names if name in source.constants}
        found |= {(case, size): [values[name] for name in each] for case, each in wanted.items()}
    return found


def _by_halves(source: Source, wanted: Wanted, at: Mapping[int, Mapping[str, Array]]) -> Results:
    if len(wanted) == 1:
        return {}
    cases = list(wanted)
    halves = cases[: len(cases) // 2], cases[len(cases) // 2 :]
    one, two = (computed(source, {case: wanted[case] for case in half}, at) for half in halves)
    return one | two
