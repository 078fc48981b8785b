"""Report the nodes and sizes of the rewritten model that a target does not support. Nothing is changed here.

    ADD(x[1,1,2,1,3,1,4], y[..])      rank 7: the level ends at 6                      GF301
    ADD(x[?,3], y[?,3])               a free size: TOSA 1.0 has none                   GF302
    y[2,3] = BROADCAST_TO(x[1,3])     the target supports TILE instead                 GF304
    y = LSTM(x, w, r)                 the converters have no form for it               GF305
    p = Pow(x, e)                     x may be negative: TOSA has no result for that   GF305

The limits of a target are fields of its row (`targets.target`). For TOSA, further checks run before the tables of the
row (`targets.tosa.questions`). At most two findings of a node are reported: the first about its sizes, and the first
about its operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from graphfix.graph.edits import Leave
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.targets.target import MOVEMENT, ONNX_MOVEMENT, Target, original, value_text

FORMATS = {"onnx": "ONNX", "tflite": "TFLite"}
Questions: TypeAlias = Callable[[Node], Iterator[Leave]]
"""A check that yields the findings of a node."""


def of(target: Target) -> Questions | None:
    """Return the check of each node for a target, or None if the target supports everything that its rewrites make."""
    tables = (target.max_rank, target.movement, target.operators, target.types)
    some = target.questions or target.static or target.elements or target.not_supported
    return partial(_asked, target) if some or any(table is not None for table in tables) else None


def unasked(target: Target, format_: str) -> Iterator[str]:
    """Yield a text if the target's tables can't be applied because they contain names of the other format.

    `format_` is the format of the model.
    """
    if target.reads in (None, format_):
        return
    tables = {"operators": target.operators is not None or target.not_supported, "types": target.types is not None}
    what = " and ".join(name for name, said in tables.items() if said)
    if what:
        theirs, its = FORMATS[target.reads], FORMATS[format_]
        why = f"the {what} of target {target.name} are {theirs}'s, and the model is {its}'s"
        yield f"{why}: convert it, and check the result"


def _asked(target: Target, node: Node) -> Iterator[Leave]:
    """Yield a finding for a size, and a finding for the operator, if the target does not support them."""
    values = [value for value in (*node.operands, *node.results) if value is not None]
    size = next(filter(None, (_size(target, value) for value in values)), None)
    if size is not None:
        yield size
    operator = None
    if target.questions == "tosa":
        from graphfix.targets.tosa import questions  # The import is here because few targets use these checks.

        operator = questions.unconvertible(node)
    operator = operator or _operator(target, node, values)
    if operator is not None:
        yield operator


# --- the tables of a target -----------------------------------------------------------------------------------------


def _size(target: Target, value: Value) -> Leave | None:
    """Return a finding if the target does not support the shape: a free size, too many axes, or no elements.

    Otherwise None.
    """
    axes = value.shape.axes
    if target.static and not value.shape.static:
        if axes is None:
            return _left(f"{value_text(value)} has no known rank: target {target.name} needs numbers", "GF302")
        return _left(f"{value_text(value)} has a size that is free: target {target.name} has none", "GF302")
    if target.max_rank is not None and (axes is None or len(axes) > target.max_rank):
        what = "a rank that is not known" if axes is None else f"rank {len(axes)}"
        return _left(
            f"{value_text(value)} has {what}: target {target.name} ends at {target.max_rank}", "GF301", blocks=True
        )
    if target.elements and axes is not None and 0 in axes and value.kind != "constant" and value.is_read:
        return _left(f"{value_text(value)} has no elements: target {target.name} has no size 0")
    return None


def _operator(target: Target, node: Node, values: list[Value]) -> Leave | None:
    """Return a finding if the target does not support the operator, or a type of its values. Otherwise None."""
    movement = target.movement
    kin = MOVEMENT if node.domain == TFLITE else ONNX_MOVEMENT
    if movement is not None and node.op in kin - movement:
        *others, last = sorted(movement & kin)
        takes = f"{', '.join(others)} and {last}" if others else last
        return _left(f"target {target.name} takes {takes}, no {node.op}{_what_becomes(target)}", "GF304")
    if target.reads is not None and (target.reads == "tflite") != (node.domain.startswith(TFLITE)):
        return None  # The tables contain the names of the other format.
    from graphfix.targets import operator_names  # The import is here because most targets have no such tables.

    name = operator_names.in_tables(node.domain, node.op)
    if name in target.not_supported:
        return _left(target.not_supported[name], "GF305")
    if target.operators is not None and name not in target.operators:
        return _left(f"target {target.name} takes no {node.op}{_what_becomes(target)}", "GF305")
    computed = [value for value in values if value.kind != "constant"]
    other = next((value for value in computed if target.types is not None and value.dtype not in target.types), None)
    if other is not None:
        why = f"'{original(other).name}' is {other.dtype}, which target {target.name} does not take"
        return _left(f"{why}{_what_becomes(target)}")
    return None


def _what_becomes(target: Target) -> str:
    """Return `: ` and the consequence for a node that the target does not support; empty if it is not known.

    The text is appended to the reason of a finding.
    """
    return f": {target.outside}" if target.outside else ""


def _left(why: str, code: str = "GF305", *, blocks: bool = False) -> Leave:
    """Return the finding for a node that is left with this reason.

    `blocks` means that no converter can make a correct result of the model.
    """
    return Leave(None, why, code, "left", blocks)
