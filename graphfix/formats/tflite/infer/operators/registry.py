"""All operators that have inference rules, and the look-ups by operator name.

A rule never guesses: a size that it can't infer is UNKNOWN, and the result of an operator without a rule has its
declared shape.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.tflite.file.records import ABSENT
from graphfix.formats.tflite.infer.call import Call, Rule
from graphfix.formats.tflite.infer.operators import (
    elementwise,
    images,
    layout,
    products,
    reductions,
    selection,
    sizes,
    strided_slice,
)
from graphfix.formats.tflite.infer.operators.definition import Definition, ElementRule
from graphfix.formats.tflite.infer.scope import FOLLOWED, LIMIT
from graphfix.operators.row import Row
from graphfix.shapes.dim import Shape

FAMILIES = (elementwise, products, images, sizes, layout, selection, strided_slice, reductions)
OPERATORS: Mapping[str, Definition] = {op: entry for family in FAMILIES for op, entry in family.OPERATORS.items()}
"""The inference rules of each operator, by its name in the schema."""
UNLISTED = Definition()
"""The inference rules of an operator that no family contains: none."""
SHAPE_RULES: dict[str, Rule] = {op: entry.shapes for op, entry in OPERATORS.items() if entry.shapes is not None}
ELEMENT_RULES: dict[str, ElementRule] = {
    op: entry.elements for op, entry in OPERATORS.items() if entry.elements is not None
}
"""The element rules, by operator; they infer the elements of small integer results."""


def shape_rule(op: str, row: Row | None) -> Rule | None:
    """Return the shape rule of an operator: the rule of its name, else the rule for the style of its catalogue row.

    Return None if there is no rule.
    """
    rule = SHAPE_RULES.get(op)
    return rule if rule is not None or row is None else elementwise.BY_STYLE.get(row.style)


def follow_elements(call: Call) -> None:
    """Store the elements of an operator's results in the scope, if they are known.

    The operator must have an element rule.
    """
    scope = call.scope
    outputs = [tensor for tensor in call.operator.outputs if tensor != ABSENT]
    if not outputs or scope.tensors[outputs[0]].type not in FOLLOWED:
        return
    elements = ELEMENT_RULES[call.op](call)
    if elements is None or len(elements) > LIMIT:
        return
    if not OPERATORS[call.op].splits:
        scope.enter(outputs[0], elements)
        return
    start = 0
    for at, tensor in enumerate(outputs):
        if call.op == "UNPACK":
            part = elements[at : at + 1]
        else:
            length = _length(scope.shapes[tensor])
            part = elements[start : start + length]
            start += length
        scope.enter(tensor, part)


def _length(shape: Shape) -> int:
    """Return the number of elements of a vector or scalar, or more than LIMIT if the length is not known."""
    (length,) = shape.axes if shape.axes is not None and len(shape.axes) == 1 else (1,)
    return length if isinstance(length, int) else LIMIT + 1
