"""Add probes to an ONNX model: Shape nodes that return the shapes of values as outputs of the model.

Shapes of values inside bodies are passed through the bodies' outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from peers.broadcasts import Seen, Shape, onnx_operands

NOT_RUN = -1
"""The value of a probe in a branch that was not taken.

All probes of a node have the same value then, so the node does not count as broadcasting.
"""


@dataclass(frozen=True)
class Probe:
    """A broadcasting node, and the names of the outputs that contain the shapes of its operands and its result."""

    op: str
    operands: tuple[str, ...]
    result: str


@dataclass
class _Probed:
    """The probes that were added so far, and a source of numbers for new names. `version` is the operator set."""

    version: int
    numbers: Iterator[int] = field(default_factory=count)
    probes: list[Probe] = field(default_factory=list)

    def name(self) -> str:
        """Return a new name for an output."""
        return f"peers_shape_{next(self.numbers)}"

    def graph(self, graph: Any) -> list[str]:  # noqa: ANN401 -- onnx's GraphProto
        """Add probes to a graph and to its bodies, and return the names of all new outputs of the graph."""
        made: dict[str, str] = {}
        inner: list[str] = []
        own = list(graph.node)
        for node in own:
            inner += self._bodies(node)
            at = onnx_operands(node.op_type, node.domain, self.version, len(node.input))
            values = [node.input[index] for index in at if index < len(node.input) and node.input[index]]
            if values:
                names = [made.setdefault(value, self.name()) for value in (*values, node.output[0])]
                self.probes.append(Probe(node.op_type, tuple(names[:-1]), names[-1]))
        graph.node.extend(helper.make_node("Shape", [value], [name]) for value, name in made.items())
        outputs = [*made.values(), *inner]
        graph.output.extend(helper.make_tensor_value_info(name, TensorProto.INT64, None) for name in outputs)
        return outputs

    def _bodies(self, node: Any) -> list[str]:  # noqa: ANN401 -- onnx's NodeProto
        """Add probes to the bodies of a node, and return the new outputs of the node.

        Both branches of an If must have the same number of outputs, so each branch also returns a constant for each
        probe of the other branch.
        """
        bodies = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
        said = [self.graph(body) for body in bodies]
        if node.op_type == "If":
            for body, others in zip(bodies, reversed(said), strict=True):
                _say_not_run(body, others)
        elif node.op_type == "Scan":
            _more_scan_outputs(node, sum(map(len, said)))
        names = [name for some in said for name in some]
        node.output.extend(names)
        return names


def _say_not_run(body: Any, names: Sequence[str]) -> None:  # noqa: ANN401 -- onnx's GraphProto
    """Let a branch of an If return the constant `NOT_RUN` under each of these names."""
    for name in names:
        body.node.append(
            helper.make_node("Constant", [], [name], value=helper.make_tensor("", TensorProto.INT64, [1], [NOT_RUN]))
        )
        body.output.append(helper.make_tensor_value_info(name, TensorProto.INT64, None))


def _more_scan_outputs(node: Any, more: int) -> None:  # noqa: ANN401 -- onnx's NodeProto
    """Extend the attributes of a Scan that list its outputs by `more` outputs."""
    for attribute in node.attribute:
        if attribute.name in {"scan_output_axes", "scan_output_directions"}:
            attribute.ints.extend([0] * more)


def added(model: onnx.ModelProto) -> Sequence[Probe]:
    """Add the probes to a model in place, and return them."""
    version = next((each.version for each in model.opset_import if each.domain in {"", "ai.onnx"}), 1)
    probed = _Probed(version)
    probed.graph(model.graph)
    return probed.probes


def shapes(probe: Probe, outputs: Mapping[str, Any]) -> tuple[str, Seen]:
    """Return the operator of a probed node, and each different combination of shapes that the node had in a run.

    A node in the body of a loop may run several times with different shapes.
    """
    operands = [_times(outputs[name]) for name in probe.operands]
    results = _times(outputs[probe.result])
    return probe.op, [(tuple(mine), result) for *mine, result in set(zip(*operands, results, strict=True))]


def _times(said: np.ndarray) -> list[Shape]:
    """Return the shapes in a probe's value of shape [..., rank]: one shape, or one for each iteration of a loop."""
    rows = said.reshape(-1, said.shape[-1]).tolist() if said.shape[-1] else [()] * int(np.prod(said.shape[:-1]))
    return [tuple(row) for row in rows]


def nodes(graph: Any) -> int:  # noqa: ANN401 -- onnx's GraphProto
    """Return the number of nodes of a graph and its bodies, without the probes."""
    own = [node for node in graph.node if not node.output[0].startswith("peers_shape_")]
    bodies = [
        attribute.g for node in own for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH
    ]
    return len(own) + sum(map(nodes, bodies))
