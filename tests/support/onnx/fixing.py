"""A model before and after a run of the rewrites: as text, message by message, and what holds of every such run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.checker
from onnx import AttributeProto, ModelProto, helper

from graphfix.api import pipeline
from graphfix.engine.request import Request
from tests.support import engine
from tests.support.notation import model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.formats.onnx import OnnxModel
    from graphfix.graph.protocols import Step
    from graphfix.graph.view import Graph
    from graphfix.results import Outcome
    from graphfix.shapes.dim import Size


def lines(graphs: Sequence[Graph]) -> list[str]:
    """Print a view: a line a node, a body's nodes behind the path of their scope."""
    return [f"{graph.path.partition('/')[2] or graph.path}: {node}" for graph in graphs for node in graph.nodes]


def listed(graphs: Sequence[Graph]) -> list[str]:
    """Print the main graph of a view."""
    return [str(node) for node in graphs[0].nodes]


@dataclass(frozen=True)
class Fixed:
    """A model after a run of the rewrites."""

    before: ModelProto
    after: ModelProto
    outcome: Outcome
    view: list[str]
    """The main graph as the engine derived it."""
    everything: list[str]
    """All scopes."""

    @property
    def counts(self) -> dict[str, int]:
        return {name: count for name, count in self.outcome.rewrites.items() if count}

    @property
    def left(self) -> list[tuple[str, int | None, str]]:
        return [(it.code, it.operand, it.reason or "") for it in self.outcome.sites if it.status in ("left", "exempt")]


def asked(options: Mapping[str, Any]) -> tuple[Request, Sequence[Step] | None]:
    """Split what was asked: the request, and the rewrites that are run in place of those of its target."""
    return Request(**{name: value for name, value in options.items() if name != "rewrites"}), options.get("rewrites")


def fixed(
    before: ModelProto | str,
    *,
    bind: Mapping[str, Size] | None = None,
    stable: bool = True,
    **options: Any,  # noqa: ANN401 -- as `graphfix.fix` takes them; `rewrites` are run in place of the target's
) -> Fixed:
    """Run the rewrites, and see that what holds of every model holds: the checker, the fresh view, the second run."""
    proto = model(before) if isinstance(before, str) else before
    opened = engine.load(proto)
    if bind:
        opened.bind(bind, {})
    outcome = pipeline.fix(opened, *asked(options))
    graphs = opened.finish()
    view, everything, data = listed(graphs), lines(graphs), opened.tobytes()
    after = onnx.load_from_string(data)
    if _passes(proto):
        onnx.checker.check_model(after)
    again = engine.load(data)
    assert lines(again.graphs) == everything, "the derived view is not that of the written file"
    if stable:
        second = pipeline.fix(again, *asked(options))
        assert not any(second.rewrites.values()), second.sites
        assert again.tobytes() == data
    return Fixed(proto, after, outcome, view, everything)


def _passes(proto: ModelProto) -> bool:
    """Whether onnx's checker takes the model that was given: it wants every input to state a shape."""
    try:
        onnx.checker.check_model(proto)
    except onnx.checker.ValidationError:
        return False
    return True


def printed(source: OnnxModel) -> list[str]:
    """Print the main graph of a model as it is."""
    return listed(source.graphs)


@dataclass
class Difference:
    """What differs between two versions of one graph, by the name of a node's first result or of a tensor."""

    changed: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)


def difference(before: ModelProto, after: ModelProto) -> Difference:
    """Compare nodes and initializers message by message, and everything else of the files whole."""
    found = Difference()
    old, new = dict(_parts(before.graph)), dict(_parts(after.graph))
    found.changed = {name for name in old.keys() & new.keys() if old[name] != new[name]}
    found.added, found.gone = new.keys() - old.keys(), old.keys() - new.keys()
    assert _rest(before) == _rest(after), "something changed that no edit names"
    return found


def _parts(graph: onnx.GraphProto) -> Iterator[tuple[str, bytes]]:
    for part in graph.node:
        yield part.output[0], part.SerializeToString(deterministic=True)
    for tensor in graph.initializer:
        yield tensor.name, tensor.SerializeToString(deterministic=True)


def _rest(proto: ModelProto) -> bytes:
    copy = ModelProto()
    copy.CopyFrom(proto)
    for name in ("node", "initializer", "value_info"):
        copy.graph.ClearField(name)
    return copy.SerializeToString(deterministic=True)


def attribute(proto: onnx.NodeProto, name: str) -> Any:  # noqa: ANN401 -- whatever the attribute holds
    """Give an attribute's value, None where it is absent."""
    found: AttributeProto | None = next((it for it in proto.attribute if it.name == name), None)
    return None if found is None else helper.get_attribute_value(found)


def made_by(proto: ModelProto, result: str) -> onnx.NodeProto:
    """Find the node of the main graph that makes a value."""
    return next(node for node in proto.graph.node if result in node.output)


def initializer(proto: ModelProto, name: str) -> np.ndarray:
    """Read a constant of the main graph."""
    return onnx.numpy_helper.to_array(next(it for it in proto.graph.initializer if it.name == name))
