"""What a node of an ONNX graph sees: the values of its graph and those around it, and the attributes of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnx import AttributeProto

from graphfix.checker.proof.result import UnprovedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import GraphProto, NodeProto

    from graphfix.checker.proof.terms import View


@dataclass(slots=True, eq=False)
class Scope:
    """The values that a node can name, and what the operators of its graph mean."""

    versions: Mapping[str, int]
    outer: Scope | None = None
    values: dict[str, View] = field(default_factory=dict)
    graph: GraphProto | None = None
    given: Mapping[str, AttributeProto] = field(default_factory=dict)
    """In a function: the attributes of its call."""
    depth: int = 0
    path: str = "main"

    def find(self, name: str) -> View:
        """Give a value by its name, from the innermost scope that has it."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.values.get(name)
            if found is not None:
                return found
            scope = scope.outer
        raise UnprovedError(f"the value {name!r} is read before any node gives it; check the model")


def attributes_of(node: NodeProto, scope: Scope) -> dict[str, AttributeProto]:
    """Give the attributes of a node by name; in a function those that name the call's are the call's."""
    found: dict[str, AttributeProto] = {}
    for attribute in node.attribute:
        if not isinstance(attribute.name, str):
            raise UnprovedError(f"the name {attribute.name!r} of an attribute is no UTF-8; check the model")
        if not attribute.ref_attr_name:
            found[attribute.name] = attribute
        elif attribute.ref_attr_name in scope.given:
            own = AttributeProto()
            own.CopyFrom(scope.given[attribute.ref_attr_name])
            own.name = attribute.name
            found[attribute.name] = own
    return found
