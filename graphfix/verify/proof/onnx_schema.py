"""What onnx's schemas say of a node: whether it is one that a runtime loads, and whether it draws anew at each run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from onnx import AttributeProto

from graphfix.verify.proof import onnx_ops
from graphfix.verify.proof.onnx_file import schema
from graphfix.verify.proof.onnx_types import taken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.verify.proof.onnx_call import Call

TRAINING_MODE_SINCE = 12
"""From this version on operand 2 of Dropout says whether elements are dropped; before 7 an attribute says so."""


class Form(NamedTuple):
    """What a node of an operator may look like."""

    attributes: Mapping[str, int]
    """Type by name."""
    required: frozenset[str]
    fewest: int
    most: int
    """Operands."""


_TYPES = dict(AttributeProto.AttributeType.items())


@cache
def _form(op: str, domain: str, version: int) -> Form | None:
    known = schema(op, domain, version)
    if known is None:
        return None
    types = {name: _TYPES[str(attribute.type).rpartition(".")[2]] for name, attribute in known.attributes.items()}
    required = frozenset(name for name, attribute in known.attributes.items() if attribute.required)
    return Form(types, required, known.min_input, known.max_input)


def loads(call: Call) -> bool:
    """Whether a node has attributes and operands as its operator set says: no runtime loads another."""
    form = _form(call.op, call.domain, call.version)
    if form is None or not form.fewest <= len(call.inputs) <= form.most:
        return False
    if not taken(call):
        return False
    stated = {name: given.type for name, given in call.attributes.items()}
    return form.required <= stated.keys() and all(form.attributes.get(name) == kind for name, kind in stated.items())


def random(call: Call) -> bool:
    """Whether two nodes alike give two values."""
    if call.domain:
        return (call.domain, call.op) in onnx_ops.RANDOM_ELSEWHERE
    if call.op != "Dropout":
        return call.op in onnx_ops.RANDOM
    if call.version >= TRAINING_MODE_SINCE:
        return len(call.views) > 2  # noqa: PLR2004 - whether it trains
    return call.version < onnx_ops.LEGACY_END and not call.integer("is_test", 0) and len(call.outputs) > 1
