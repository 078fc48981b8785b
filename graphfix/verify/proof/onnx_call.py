"""One node as the proof meets it: the operator by its meaning, its attributes, and the views that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]  # protobuf ships no stubs
from onnx import AttributeProto

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import GraphProto, NodeProto

    from graphfix.verify.proof.sizes import Sizes
    from graphfix.verify.proof.terms import View


@dataclass(slots=True)
class Call:
    """A node with its operands."""

    node: NodeProto
    label: str
    """Its name, or `Op#index` where the file gives none."""
    graph: GraphProto | None
    """The graph that holds it, where onnx's inference knows it."""
    domain: str
    op: str
    version: int
    """Of the operator set that its scope imports."""
    since: int
    """The version of the operator's meaning."""
    views: Sequence[View | None]
    attributes: Mapping[str, AttributeProto]
    told: str
    assumes: dict[str, None] = field(repr=False)
    """Where a rule of a shape enters what it leans on."""
    key: tuple[object, ...] = field(default=())
    """The operator and those attributes that its maps do not tell: what a term of it begins with."""
    full: tuple[object, ...] = field(default=())
    """The operator and all its attributes, for operands that are read exactly."""

    def sizes(self, index: int) -> Sizes | None:
        """Give the shape of an operand; None where it is not given or not ranked."""
        view = self.views[index] if index < len(self.views) else None
        return None if view is None else view.sizes

    def rank(self, index: int) -> int | None:
        """Give the rank of an operand."""
        sizes = self.sizes(index)
        return None if sizes is None else len(sizes)

    def integer(self, name: str, default: int) -> int:
        """Give an integer attribute."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.i

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Give an attribute that is a list of integers; None where there is none."""
        attribute = self.attributes.get(name)
        return None if attribute is None else tuple(attribute.ints)

    def content(self, index: int) -> Sizes | None:
        """Give the elements of an operand that is a vector of known integers or terms."""
        view = self.views[index] if index < len(self.views) else None
        return None if view is None else view.content

    def axes(self) -> tuple[int, ...] | None:
        """Give the axes of Squeeze and Unsqueeze: an attribute, or operand 1; None where they are not known."""
        stated = self.integers("axes")
        if stated is not None:
            return stated
        content = self.content(1)
        if content is None or not all(isinstance(axis, int) for axis in content):
            return None
        return tuple(axis for axis in content if isinstance(axis, int))


def plain(attribute: AttributeProto) -> object:
    """Give a comparable form of an attribute without tensors and bodies; unknown fields are part of it."""
    kind = attribute.type
    if not UnknownFieldSet(attribute) and not attribute.ref_attr_name:
        if kind == AttributeProto.INT:
            return kind, attribute.i
        if kind == AttributeProto.INTS:
            return kind, tuple(attribute.ints)
        if kind == AttributeProto.STRING:
            return kind, attribute.s
    copy = AttributeProto()
    copy.CopyFrom(attribute)
    copy.ClearField("doc_string")
    return copy.SerializeToString(deterministic=True)
