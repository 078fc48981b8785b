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
    """One rule for each result; the last rule also applies to all further results."""
    moves: str = ""
    """A standard operator whose rule for integer values also applies to this operator; empty if no rule applies."""


# --- element types ----------------------------------------------------------------------------------------------------


def like(*operands: int) -> ElementType:
    """Return a rule: the result has the type of the first of these operands whose type is known, else 0."""

    def ruled(types: Sequence[int], _: Attributes) -> int:
        return next((types[at] for at in operands if at < len(types) and types[at]), 0)

    return ruled


def fixed(code: int) -> ElementType:
    """Return a rule: the result always has the element type `code`."""
    return lambda _, __: code


def type_attribute(attribute: str, default: ElementType) -> ElementType:
    """Return a rule: the result has the type in the attribute; `default` decides if that is absent or 0."""

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
    """Return a rule that passes the operands at these positions to `rule` as operands 0, 1, 2 ..."""
    return lambda call: rule(call.reading(operands))


def since(version: int, rule: Rule) -> Rule:
    """Return a rule that applies `rule` as if the node belonged to this version of the operator set."""
    return lambda call: rule(replace(call, version=version))


def channels_last(rule: Rule) -> Rule:
    """Return a rule for operand 0 and result 0 of shape [N,D1,D2,..,C]; `rule` expects and returns [N,C,D1,D2,..].

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
    """Return a rule that uses `channels_last(rule)` if the attribute `channels_last` is 1, and `rule` if it is 0.

    If the attribute has another value, only the rank is known.
    """
    last = channels_last(rule)

    def ruled(call: Call) -> Results:
        at_the_end = call.flag("channels_last", 0)
        if at_the_end is None:
            dims = call.dims(0)
            return NOTHING if dims is None else (unknowns(len(dims)),)
        return (last if at_the_end else rule)(call)

    return ruled
