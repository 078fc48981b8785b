"""What a report says of the edits of a node: carried out, left with a reason, or kept on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from graphfix.graph.edits import (
    Assume,
    Bypass,
    Canonicalize,
    DropMetadata,
    Edit,
    Fold,
    Leave,
    Lift,
    Restate,
    StateShape,
    Stretch,
    Upgrade,
)
from graphfix.graph.view import Node, Value
from graphfix.results import JsonShape, Site
from graphfix.shapes.shape import with_axes

SiteFields: TypeAlias = tuple[str, int | None, JsonShape, JsonShape]
"""Of one edit: its code, the operand, and the operand's shape before and after."""


def left(code: str, node: Node, operand: int | None, reason: str, rewrite: str | None) -> Site:
    """The site of what was left alone."""
    shape = _json(node.operands[operand]) if operand is not None else None
    return Site(code, node.label, node.op, node.graph.path, operand, shape, None, "left", rewrite, reason)


def kept(node: Node, edits: Sequence[Edit], rewrite: str | None) -> Iterator[Site]:
    """The sites of those that are no edits: operands that stay as they are."""
    for edit in edits:
        if isinstance(edit, Leave):
            found = left(edit.code, node, edit.operand, edit.reason, rewrite)
            yield replace(found, status=edit.status, blocks=edit.blocks)
        elif isinstance(edit, Assume):
            reason = f"it is assumed that {edit.text}"
            yield replace(left(edit.code, node, edit.operand, reason, rewrite), status="exempt")


def fields(edit: Edit, before: Sequence[Value | None], after: Sequence[Value | None]) -> SiteFields:
    """What a site says of an edit, from the node's operands before and after it."""
    operand = operand_of(edit)
    was = _json(before[operand or 0]) if before else None
    match edit:
        case Stretch() | Canonicalize() | Restate():
            now = edit.to.json
        case Lift():
            value = before[edit.operand]
            now = with_axes(value.shape, edit.axes).json if value is not None and value.shape.ranked else None
        case Bypass():
            now = _json(edit.source)
        case Fold():
            now = was
        case StateShape():
            was, now = None, edit.value.shape.json
        case _:
            now = _json(after[0] if after else None)
    return edit.code, operand, was, now


def stated_in_file(edit: Edit, node: Node) -> str | None:
    """Return a sentence about the statement in the file that an edit changes; None for an edit of nodes or operands."""
    match edit:
        case Upgrade():
            return f"the model is of operator set {node.version}, not {edit.version}"
        case DropMetadata():
            return f"the file has the metadata entry {edit.name!r}: {edit.why}"
        case StateShape():
            return edit.why
        case _:
            return None


def operand_of(edit: Edit) -> int | None:
    """The operand that an edit is about; None where it is about the node."""
    match edit:
        case Lift() | Stretch() | Bypass() | Restate() | Fold():
            return edit.operand
        case Canonicalize():
            return 0
        case _:
            return None


def _json(value: Value | None) -> JsonShape:
    return value.shape.json if value is not None else None
