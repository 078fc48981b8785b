"""The record of one operator, rules for element types, and adapters that reuse the rule of a standard operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.sizes import unknowns
from graphfix.results.onnx_messages import TensorProto
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape

MICROSOFT = "com.microsoft"
CHANNELS = 2
"""The rank of [batch, channels]; spatial axes follow."""
Attributes: TypeAlias = Mapping[str, object]
ElementType: TypeAlias = Callable[[Sequence[int], Attributes], int]
"""Return the element type of a result, from the operands' element types and the attributes; 0 if it is unknown."""


@dataclass(frozen=True, slots=True)
class Operator:
    """The rules of one operator: a shape and an element type for every result."""

    shapes: Rule
    types: tuple[ElementType, ...]
    """One rule a result; the last rule is also that of all further results."""
    moves: str = ""
    """The standard operator whose rule for integer values applies too; empty if no rule does."""


# --- element types ----------------------------------------------------------------------------------------------------


def like(*operands: int) -> ElementType:
    """Return the rule that a result has the type of the first of these operands whose type is known."""

    def ruled(types: Sequence[int], _: Attributes) -> int:
        return next((types[at] for at in operands if at < len(types) and types[at]), 0)

    return ruled


def fixed(code: int) -> ElementType:
    """Return the rule that a result always has this type."""
    return lambda _, __: code


def type_attribute(attribute: str, default: ElementType) -> ElementType:
    """Return the rule that an attribute holds the type; `default` decides if the attribute is absent or 0."""

    def ruled(types: Sequence[int], attributes: Attributes) -> int:
        code = attributes.get(attribute)
        return code if isinstance(code, int) and code else default(types, attributes)

    return ruled


SAME = (like(0),)
FLOAT, DOUBLE, INT32, INT64 = map(fixed, (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64))
UINT8, UINT32, BOOL, STRING = map(fixed, (TensorProto.UINT8, TensorProto.UINT32, TensorProto.BOOL, TensorProto.STRING))
NO_TENSOR = fixed(0)
"""The rule of a result that is a sequence or a map."""


# --- adapters ---------------------------------------------------------------------------------------------------------


def reading(rule: Rule, *operands: int) -> Rule:
    """Return a rule that takes these operands for operands 0, 1, 2 ..."""
    return lambda call: rule(call.reading(operands))


def since(version: int, rule: Rule) -> Rule:
    """Return a rule that reads the node as this version of the standard operator."""
    return lambda call: rule(replace(call, version=version))


def channels_last(rule: Rule) -> Rule:
    """Return the rule of operand 0 and result 0 [N,D1,D2 ..,C], from the rule of [N,C,D1,D2 ..].

    Of further results only the rank is known.
    """

    def ruled(call: Call) -> Results:
        dims = call.dims(0)
        if dims is None or len(dims) < CHANNELS:
            return NOTHING
        batch, *spatial, channels = dims
        results = rule(replace(call, first_shape=Shape((batch, channels, *spatial))))
        if not results or results[0] is None or results[0].axes is None or len(results[0].axes) != len(dims):
            return NOTHING
        batch, channels, *spatial = results[0].axes
        return (Shape((batch, *spatial, channels)), *[unknowns(len(dims))] * (len(results) - 1))

    return ruled


def by_layout(rule: Rule) -> Rule:
    """Return a rule that reads from the attribute `channels_last` (default 0) where the channels are."""
    last = channels_last(rule)

    def ruled(call: Call) -> Results:
        at_the_end = call.flag("channels_last", 0)
        if at_the_end is None:
            dims = call.dims(0)
            return NOTHING if dims is None else (unknowns(len(dims)),)
        return (last if at_the_end else rule)(call)

    return ruled
