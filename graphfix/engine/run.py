"""Run rewrites over a model: plan a node, carry its edits out, record what was changed and what was left and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, TypeAlias

from graphfix.graph.edits import (
    Assume,
    Edit,
    Fold,
    Leave,
    Lift,
    Model,
    Options,
    Refused,
    Rewrite,
    Spell,
    Stretch,
    with_axes,
)
from graphfix.graph.view import Graph, Node, StaleShape, UnrankedOperand, Value
from graphfix.results import GraphfixError, JsonShape, Site
from graphfix.shapes.shape import Incompatible, Undecided

ASSUMES = "graphfix.assumes"
"""The metadata key under which an assumption stays with the file."""


@dataclass(slots=True)
class Report:
    """What a run did."""

    sites: list[Site] = field(default_factory=list)
    rewrites: dict[str, int] = field(default_factory=dict)
    """Edits by rewrite."""
    assumes: list[str] = field(default_factory=list)
    plans: dict[object, Known] = field(default_factory=dict)
    """The plans of nodes that look alike to a local rewrite: a big model has few distinct ones."""


@dataclass(frozen=True, slots=True)
class Known:
    """A plan that holds for every node that looks the same: lifts and stretches only."""

    edits: list[Edit]
    rows: list[Row]
    """What the site of each edit says."""


Row: TypeAlias = tuple[str, int | None, JsonShape, JsonShape]
"""Of one edit: its code, the operand, and the operand's shape before and after."""


def run(
    model: Model, rewrites: Sequence[Rewrite], options: Options, done: Literal["changed", "found"] = "changed"
) -> Report:
    """Apply the rewrites in order, on every scope.

    `done` is the status of a site that an edit was carried out on: `check` calls it found and writes nothing.
    Raises GraphfixError for operands of the main graph that can't be broadcast whatever their sizes.
    """
    report = Report(rewrites={rewrite.name: 0 for rewrite in rewrites})
    for tells, group in groupby(rewrites, lambda rewrite: rewrite.tells):
        neighbours = tuple(group)
        while True:
            edits, sites = sum(report.rewrites.values()), len(report.sites)
            for rewrite in neighbours:
                _rewrite(model, rewrite, options, report, done)
            if not tells or sum(report.rewrites.values()) == edits:
                break
            report.sites[sites:] = [
                site for site in report.sites[sites:] if site.status == done
            ]  # the rest comes again
    return report


def _rewrite(
    model: Model, rewrite: Rewrite, options: Options, report: Report, done: Literal["changed", "found"]
) -> None:
    """Apply one rewrite on every scope."""
    if rewrite.together:
        _together(model, rewrite, options, report, done)
        return
    for graph in model.graphs:
        for index in range(len(graph.nodes)):
            node = graph.nodes[index]
            if not _concerns(rewrite, node):
                continue
            if rewrite.local:
                _local(model, rewrite, node, options, report, done)
            else:
                _apply(model, rewrite, node, _plan(rewrite, node, options, report), report, done)


def _concerns(rewrite: Rewrite, node: Node) -> bool:
    """Whether the plan is about this operator (a node that was taken out has no operands)."""
    if not node.operands:
        return False
    if rewrite.every:
        return True
    if rewrite.operators is None:
        return node.row is not None
    return (node.domain, node.op) in rewrite.operators


def _local(
    model: Model, rewrite: Rewrite, node: Node, options: Options, report: Report, done: Literal["changed", "found"]
) -> None:
    """Plan a node, or take the plan of one that looks the same; a reason that names the node is not remembered."""
    looks: list[object] = [rewrite.name, id(node.row)]  # rows are never freed, and hashing one takes long
    if node.attributes:
        looks.append(tuple(node.attributes.items()))
    for value in node.operands:
        looks += (value.shape, value.kind, value.dtype, value.stale) if value is not None else (None,)
    key = tuple(looks)
    known = report.plans.get(key)
    if known is not None:
        if known.edits:
            _carry_out(model, rewrite, node, known.edits, known.rows, report, done)
        return
    edits = _plan(rewrite, node, options, report)
    if all(isinstance(edit, (Lift, Stretch)) for edit in edits) and _decided(report, node):
        report.plans[key] = Known(edits, [_row(edit, node.operands, ()) for edit in edits])
    _apply(model, rewrite, node, edits, report, done)


def _decided(report: Report, node: Node) -> bool:
    """Whether the plan just made was no "don't know"."""
    return not (report.sites and report.sites[-1].status == "left" and report.sites[-1].node == node.label)


def _together(
    model: Model, rewrite: Rewrite, options: Options, report: Report, done: Literal["changed", "found"]
) -> None:
    """All planned nodes or none."""
    nodes = [node for graph in model.graphs for node in graph.nodes if _concerns(rewrite, node)]
    before = len(report.sites)
    plans = [(node, edits) for node in nodes if (edits := _plan(rewrite, node, options, report))]
    undecided = report.sites[before:]
    if undecided:
        first = undecided[0]
        reason = f"all of the model's nodes change or none, and {first.op} '{first.node}' stays: {first.reason}"
        report.sites += [_left(rewrite.code, node, None, reason, rewrite.name) for node, _ in plans]
        return
    for node, edits in plans:
        _apply(model, rewrite, node, edits, report, done)


def _plan(rewrite: Rewrite, node: Node, options: Options, report: Report) -> list[Edit]:
    """The edits of one node; a node that the plan is undecided about becomes a site that was left."""
    try:
        return list(rewrite.plan(node, options))
    except UnrankedOperand as why:
        report.sites.append(_left("GF104", node, None, str(why), rewrite.name))
    except StaleShape as why:
        report.sites.append(_left("GF204", node, None, str(why), rewrite.name))
    except Undecided as why:
        report.sites.append(_left(rewrite.code, node, None, str(why), rewrite.name))
    except Incompatible as why:
        if _may_not_run(node.graph):
            report.sites.append(_left("GF105", node, None, f"{why} (in a body that may never run)", rewrite.name))
        else:
            raise GraphfixError(f"{node.op} '{node.label}': {why} (GF105)") from None
    return []


def _may_not_run(graph: Graph) -> bool:
    """A branch, a loop's body or a function may hold operands that only meet when it is taken."""
    return graph.path != "main"


def _apply(
    model: Model, rewrite: Rewrite, node: Node, edits: Sequence[Edit], report: Report, done: Literal["changed", "found"]
) -> None:
    if not edits:
        return
    report.sites += _kept(node, edits, rewrite.name)
    carried = [edit for edit in edits if not isinstance(edit, (Leave, Assume))]
    for edit in edits:
        if isinstance(edit, Assume):
            model.note(ASSUMES, edit.text)
            report.assumes.append(edit.text)
    if carried:
        _carry_out(model, rewrite, node, carried, None, report, done)


def _carry_out(
    model: Model,
    rewrite: Rewrite,
    node: Node,
    edits: Sequence[Edit],
    rows: Sequence[Row] | None,
    report: Report,
    done: Literal["changed", "found"],
) -> None:
    before, size = node.operands, model.added
    try:
        after = model.apply(node, edits)
    except Refused as why:
        report.sites += [_left(edit.code, node, _operand(edit), str(why), rewrite.name) for edit in edits]
        return
    report.rewrites[rewrite.name] += len(edits)
    if rows is None:
        rows = [_row(edit, before, after.operands) for edit in edits]
    label, op, path, name = node.label, node.op, node.graph.path, rewrite.name
    grown = model.added - size
    for code, operand, was, now in rows:
        report.sites.append(Site(code, label, op, path, operand, was, now, done, name, None, grown))
        grown = 0


def _kept(node: Node, edits: Sequence[Edit], rewrite: str) -> Iterator[Site]:
    for edit in edits:
        if isinstance(edit, Leave):
            yield replace(_left(edit.code, node, edit.operand, edit.reason, rewrite), status=edit.status)
        elif isinstance(edit, Assume):
            yield replace(
                _left(edit.code, node, edit.operand, f"it is assumed that {edit.text}", rewrite), status="exempt"
            )


def _left(code: str, node: Node, operand: int | None, reason: str, rewrite: str) -> Site:
    shape = _json(node.operands[operand]) if operand is not None else None
    return Site(code, node.label, node.op, node.graph.path, operand, shape, None, "left", rewrite, reason)


def _row(edit: Edit, before: Sequence[Value | None], after: Sequence[Value | None]) -> Row:
    """What a site says of an edit, from the node's operands before and after it."""
    operand = _operand(edit)
    was = _json(before[operand or 0]) if before else None
    match edit:
        case Stretch() | Spell():
            now = edit.to.json
        case Lift():
            value = before[edit.operand]
            now = with_axes(value.shape, edit.axes).json if value is not None and value.shape.ranked else None
        case _:
            now = _json(after[0] if after else None)
    return edit.code, operand, was, now


def _operand(edit: Edit) -> int | None:
    match edit:
        case Lift() | Stretch():
            return edit.operand
        case Fold() | Spell():
            return 0
        case _:
            return None


def _json(value: Value | None) -> JsonShape:
    return value.shape.json if value is not None else None
