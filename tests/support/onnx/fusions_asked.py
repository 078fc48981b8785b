"""Which operands a fusion matches: as the table says for the installed onnxruntime, and as the runtime itself says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import onnxruntime
from onnx import ModelProto

from graphfix.engine.policy import Policy
from graphfix.engine.run import run
from graphfix.graph.edits import Edit, Leave, Lift, Stretch
from graphfix.graph.protocols import ModelRewrite, Rewrite, flat
from graphfix.graph.view import Graph, Node
from graphfix.targets.onnxruntime import matching as fusions
from graphfix.targets.onnxruntime.matching import Fusions
from tests.support import engine
from tests.support.named import rules
from tests.support.notation import model
from tests.support.onnx.fusion_patterns import CAUTIOUS, OPSETS, PATTERNS
from tests.support.onnx.optimized import operators

EQUALIZE, MATERIALIZE = (replace(rule, sees="node") for rule in flat(rules("equalize-ranks", "materialize-broadcasts")))
At = tuple[str, str, int]
"""(rewrite, result of the node, operand)."""


@dataclass(frozen=True, slots=True)
class One(Policy):
    """Only what is done to one operand is carried out."""

    at: At = ("", "", 0)

    def edits(self, rewrite: Rewrite, node: Node, kept: Fusions | None = None) -> list[Edit]:
        before = self.at[0] == MATERIALIZE.name
        return [
            edit
            for edit in Policy.edits(self, rewrite, node, kept)
            if isinstance(edit, (Lift, Stretch)) and place_of(rewrite, node, edit) in _both(self.at, both=before)
        ]


@dataclass(frozen=True, slots=True)
class Installed(Policy):
    """The fusions of the installed onnxruntime are kept, and no other version's."""

    def fusions(self, rewrite: Rewrite | ModelRewrite, graph: Graph) -> Mapping[int, Fusions]:
        return fusions.find(graph, onnxruntime.__version__) if Policy.fusions(self, rewrite, graph) else {}


def _both(at: At, *, both: bool) -> tuple[At, ...]:
    """A stretch of an operand of lower rank is a lift first."""
    return (at, (EQUALIZE.name, *at[1:])) if both else (at,)


def place_of(rewrite: Rewrite, node: Node, edit: Lift | Stretch | Leave) -> At:
    result = node.results[0]
    return rewrite.name, result.name if result is not None else "", -1 if edit.operand is None else edit.operand


def built(name: str) -> ModelProto:
    """Return the model of a pattern."""
    return model(PATTERNS[name], opset=OPSETS.get(name, 18))


def planned(graph: Graph, *, keep: bool) -> Iterator[tuple[At, Edit]]:
    """Yield the edits of the nodes of a graph as it is, before any is carried out."""
    policy = Installed(keep_fusions=keep)
    for rewrite in (EQUALIZE, MATERIALIZE):
        kept: Mapping[int, Fusions] = policy.fusions(rewrite, graph)
        for node in graph.nodes:
            if rewrite.concerns(node):
                for edit in policy.edits(rewrite, node, kept.get(node.index)):
                    if isinstance(edit, (Lift, Stretch, Leave)):
                        yield place_of(rewrite, node, edit), edit


def one_by_one(name: str) -> Iterator[tuple[At, bool]]:
    """Yield each operand that is changed, with whether onnxruntime then runs more operators that compute."""
    proto = built(name)
    before = operators(proto.SerializeToString()).total()
    for at, edit in planned(engine.load(proto).graphs[0], keep=False):
        if not isinstance(edit, Leave) or edit.status == "left":  # left: it is stretched once it is lifted
            changed = engine.load(proto)
            run(changed, (EQUALIZE, MATERIALIZE), One(at=at))
            yield at, operators(changed.tobytes()).total() > before


def kept_by_table(name: str) -> set[At]:
    """Return the operands that --keep-fusions leaves as they are in a pattern."""
    plan = planned(engine.load(built(name)).graphs[0], keep=True)
    return {at for at, edit in plan if isinstance(edit, Leave) and "--keep-fusions" in edit.reason}


def unlike_the_table(name: str) -> tuple[set[At], set[At]]:
    """Return the operands that only the runtime, and those that only the table says are matched by their shapes."""
    kept, ended = kept_by_table(name), {at for at, lost in one_by_one(name) if lost}
    return ended - kept, kept - CAUTIOUS.get(name, set()) - ended
