"""Let an ONNX model tell the shapes of its values: a Shape node for each, through bodies out to the model's outputs."""

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
"""What a branch that was not taken says in place of a shape: the same of all that a node has, so nothing is counted."""


@dataclass(frozen=True)
class Probe:
    """A broadcasting node, and what the outputs are called that say the shapes of its operands and its result."""

    op: str
    operands: tuple[str, ...]
    result: str


@dataclass
class _Probed:
    """What was added so far."""

    version: int
    numbers: Iterator[int] = field(default_factory=count)
    probes: list[Probe] = field(default_factory=list)

    def name(self) -> str:
        """Make a new name."""
        return f"peers_shape_{next(self.numbers)}"

    def graph(self, graph: Any) -> list[str]:  # noqa: ANN401 -- onnx's GraphProto
        """Add probes to a graph and to its bodies; return the names of all new outputs."""
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
        """Hand out what the bodies of a node say: an If has all names in both branches."""
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
    for name in names:
        body.node.append(
            helper.make_node("Constant", [], [name], value=helper.make_tensor("", TensorProto.INT64, [1], [NOT_RUN]))
        )
        body.output.append(helper.make_tensor_value_info(name, TensorProto.INT64, None))


def _more_scan_outputs(node: Any, more: int) -> None:  # noqa: ANN401 -- onnx's NodeProto
    for attribute in node.attribute:
        if attribute.name in {"scan_output_axes", "scan_output_directions"}:
            attribute.ints.extend([0] * more)


def added(model: onnx.ModelProto) -> Sequence[Probe]:
    """Add the probes to a model."""
    version = next((each.version for each in model.opset_import if each.domain in {"", "ai.onnx"}), 1)
    probed = _Probed(version)
    probed.graph(model.graph)
    return probed.probes


def shapes(probe: Probe, outputs: Mapping[str, Any]) -> tuple[str, Seen]:
    """Return the shapes of a node, once for each time it ran."""
    operands = [_times(outputs[name]) for name in probe.operands]
    results = _times(outputs[probe.result])
    return probe.op, [(tuple(mine), result) for *mine, result in set(zip(*operands, results, strict=True))]


def _times(said: np.ndarray) -> list[Shape]:
    """Read what a probe said: one shape, or in a loop one for each time around. Shape: [..., rank]."""
    rows = said.reshape(-1, said.shape[-1]).tolist() if said.shape[-1] else [()] * int(np.prod(said.shape[:-1]))
    return [tuple(row) for row in rows]


def nodes(graph: Any) -> int:  # noqa: ANN401 -- onnx's GraphProto
    """Count the nodes of a graph and its bodies, without the probes."""
    own = [node for node in graph.node if not node.output[0].startswith("peers_shape_")]
    bodies = [
        attribute.g for node in own for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH
    ]
    return len(own) + sum(map(nodes, bodies))
