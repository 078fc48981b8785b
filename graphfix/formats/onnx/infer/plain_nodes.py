"""The answers for nodes without attributes whose results follow from shapes and types alone: few are distinct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from graphfix.formats.onnx.file.messages import Step
from graphfix.formats.onnx.infer import integer_values, sequence_values
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.results.records import dataclass, field
from graphfix.shapes.shape import Shape

Answer: TypeAlias = tuple[Sequence[Shape | None], Sequence[int]]
"""Shapes and element types by result; a type list that is too short goes on with its last."""
Whole: TypeAlias = Sequence[tuple[Shape, int]]
"""Likewise, where all of it is said."""
Known: TypeAlias = tuple[Answer, Whole | None]
"""An answer; the same, where it is all that is to be noted of the results."""


@dataclass(slots=True, eq=False, repr=False)
class PlainNodes:
    """What was answered in one analysis."""

    answer: Callable[[GraphScope, Step], Answer]
    """Answers for a node."""
    _known: dict[object, Known] = field(default_factory=dict)
    _same: dict[object, tuple[Known, Sequence[object]]] = field(default_factory=dict)
    """By the very objects that the operands have for shapes, which stay alive with it: asked much faster."""

    def find(self, scope: GraphScope, step: Step) -> Known:
        """The answer for a node."""
        shapes, dtypes, domain = scope.shapes, scope.dtypes, step.domain
        looks: list[object] = [step.op, domain, scope.versions.get(domain, 1), len(step.outputs)]
        held: list[object] = []
        for name in step.inputs:
            shape = shapes.get(name) or (scope.shape(name) if name else None)
            held.append(shape)
            looks += (id(shape), dtypes.get(name) or (scope.dtype(name) if name else 0))
        key = tuple(looks)
        same = self._same.get(key)
        if same is None:
            looks[4::2] = held
            same = self._same[key] = self._alike(scope, step, tuple(looks)), held
        return same[0]

    def _alike(self, scope: GraphScope, step: Step, question: tuple[object, ...]) -> Known:
        """The answer to the same question about other values."""
        known = self._known.get(question)
        if known is None:
            answer = self.answer(scope, step)
            known = self._known[question] = answer, _whole(step, answer)
        return known


def _whole(step: Step, answer: Answer) -> Whole | None:
    """The answer where nothing is left to be named or claimed, and no elements are to be followed."""
    shapes, codes = answer
    named = [shape for shape in shapes if shape is not None and shape.named]
    if not codes or not all(codes) or not len(named) == len(shapes) == len(codes) == len(step.outputs):
        return None
    followed = step.op in sequence_values.FOLLOW or (step.op, codes[0]) in integer_values.FOLLOWED
    return None if followed and not step.domain else list(zip(named, codes, strict=True))
