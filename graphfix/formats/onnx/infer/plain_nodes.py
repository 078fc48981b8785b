"""The answers for nodes without attributes whose results follow from shapes and types alone: few are distinct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from graphfix.formats.onnx.file.messages import Step
from graphfix.formats.onnx.infer import integer_values
from graphfix.formats.onnx.infer.operators import sequences
from graphfix.formats.onnx.infer.scope import ABSENT, GraphScope, TensorType
from graphfix.results.records import dataclass, field
from graphfix.shapes.shape import Shape

Answer: TypeAlias = tuple[Sequence[Shape | None], Sequence[int]]
"""Shapes and element types by result; a type list that is too short goes on with its last."""
Known: TypeAlias = tuple[Answer, TensorType | None]
"""An answer; of a node with one result the same, where it is all that is to be noted of it."""
Alike: TypeAlias = dict[object, Known]
"""The answers in one scope, by operator, number of results, and the very objects that are known of the operands."""


@dataclass(slots=True, eq=False, repr=False)
class PlainNodes:
    """What was answered in one analysis."""

    answer: Callable[[GraphScope, Step], Answer]
    """Answers for a node."""
    _known: dict[object, Known] = field(default_factory=dict)

    def find(self, scope: GraphScope, step: Step, alike: Alike) -> Known:
        """The answer for a node, which others in its scope find without being asked for."""
        held = [scope.type_of(name) for name in step.inputs]
        look = (step.operator, len(step.outputs), *held)
        found = alike.get(look)
        if found is None:
            types = [(None if known is ABSENT else known.shape, known.dtype) for known in held]
            question = (step.operator, scope.versions.get(step.domain, 1), len(step.outputs), *types)
            found = alike[look] = self._known.get(question) or self._answered(scope, step, question)
        return found

    def _answered(self, scope: GraphScope, step: Step, question: object) -> Known:
        """The answer to a question that was not asked before."""
        answer = self.answer(scope, step)
        known = self._known[question] = answer, _whole(step, answer)
        return known


def _whole(step: Step, answer: Answer) -> TensorType | None:
    """The answer where nothing is left to be named or claimed, and no elements are to be followed."""
    shapes, codes = answer
    if not len(shapes) == len(codes) == len(step.outputs) == 1 or shapes[0] is None or not shapes[0].named:
        return None
    followed = step.op in sequences.FOLLOW or (step.op, codes[0]) in integer_values.FOLLOWED
    return None if not codes[0] or (followed and not step.domain) else TensorType(shapes[0], codes[0])
