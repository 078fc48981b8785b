"""What a target can't take, node by node, in what the rewrites made of the model: nothing is changed.

    ADD(x[1,1,2,1,3,1,4], y[..])      rank 7: the level ends at 6                      GF301
    ADD(x[?,3], y[?,3])               a free size: TOSA 1.0 has none                   GF302
    y[2,3] = BROADCAST_TO(x[1,3])     the target takes a TILE in its place             GF304
    y = LSTM(x, w, r)                 the converters have no form for it               GF305
    p = Pow(x, e)                     x may be negative: TOSA leaves that open         GF305

What a target takes stands in its tables (`engine.targets`). TOSA asks more, before them: its tables are in
`operators.tosa`, and what only one format can ask is in `limits_onnx` and `limits_tflite`. Of the sizes and of the
operator of a node the first answer is the one that is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias

from graphfix.engine.targets import MOVEMENT, ONNX_MOVEMENT, Target
from graphfix.graph.edits import Leave
from graphfix.graph.view import Node, Value
from graphfix.operators import tosa
from graphfix.operators.row import TFLITE
from graphfix.results import Site

FORMATS = {"onnx": "ONNX", "tflite": "TFLite"}
Questions: TypeAlias = Callable[[Node], Iterator[Leave]]
"""What stands in the way of a node."""


def of(target: Target) -> Questions | None:
    """What is asked of each node for a target; None where it takes whatever its rewrites make."""
    tables = (target.max_rank, target.movement, target.operators, target.types)
    some = target.questions or target.static or target.elements or target.not_supported
    return partial(_asked, target) if some or any(table is not None for table in tables) else None


def unasked(target: Target, format_: str) -> Iterator[str]:
    """What the tables hold that can't be asked of a model of this format: they are in the other one's names."""
    if target.reads in (None, format_):
        return
    tables = {"operators": target.operators is not None or target.not_supported, "types": target.types is not None}
    what = " and ".join(name for name, said in tables.items() if said)
    if what:
        theirs, its = FORMATS[target.reads], FORMATS[format_]
        why = f"the {what} of target {target.name} are {theirs}'s, and the model is {its}'s"
        yield f"{why}: convert it, and check the result"


def _asked(target: Target, node: Node) -> Iterator[Leave]:
    """A finding for a size, and one for the operator, that the target can't take."""
    values = [value for value in (*node.operands, *node.results) if value is not None]
    size = next(filter(None, (_size(target, value) for value in values)), None)
    if size is not None:
        yield size
    operator = (_of_tosa(node, values) if target.questions == "tosa" else None) or _operator(target, node, values)
    if operator is not None:
        yield operator


# --- what stands in a target's tables -------------------------------------------------------------------------------


def _size(target: Target, value: Value) -> Leave | None:
    """Too open, too long, or nothing at all."""
    axes = value.shape.axes
    if target.static and not value.shape.static:
        if axes is None:
            return _left(f"{_shown(value)} has no known rank: target {target.name} needs numbers", "GF302")
        return _left(f"{_shown(value)} has a size that is free: target {target.name} has none", "GF302")
    if target.max_rank is not None and (axes is None or len(axes) > target.max_rank):
        what = "a rank that is not known" if axes is None else f"rank {len(axes)}"
        return _left(
            f"{_shown(value)} has {what}: target {target.name} ends at {target.max_rank}", "GF301", blocks=True
        )
    if target.elements and axes is not None and 0 in axes and value.kind != "constant" and value.is_read:
        return _left(f"{_shown(value)} has no elements: target {target.name} has no size 0")
    return None


def _operator(target: Target, node: Node, values: list[Value]) -> Leave | None:
    """An operator of another kind, or of other types, than the target takes."""
    movement = target.movement
    kin = MOVEMENT if node.domain == TFLITE else ONNX_MOVEMENT
    if movement is not None and node.op in kin - movement:
        *others, last = sorted(movement & kin)
        takes = f"{', '.join(others)} and {last}" if others else last
        return _left(f"target {target.name} takes {takes}, no {node.op}{_what_becomes(target)}", "GF304")
    if target.reads is not None and (target.reads == "tflite") != (node.domain.startswith(TFLITE)):
        return None  # the tables are in the names of the other format
    from graphfix.operators import names

    name = names.in_tables(node.domain, node.op)
    if name in target.not_supported:
        return _left(target.not_supported[name], "GF305")
    if target.operators is not None and name not in target.operators:
        return _left(f"target {target.name} takes no {node.op}{_what_becomes(target)}", "GF305")
    computed = [value for value in values if value.kind != "constant"]
    other = next((value for value in computed if target.types is not None and value.dtype not in target.types), None)
    if other is not None:
        why = f"'{_of_the_file(other).name}' is {other.dtype}, which target {target.name} does not take"
        return _left(f"{why}{_what_becomes(target)}")
    return None


def _of_the_file(value: Value) -> Value:
    """The value that an edit lifted or stretched to this one: the names of edits are not the user's."""
    node = value.producer
    while node is not None and node.index < 0 and node.op in MOVEMENT | ONNX_MOVEMENT:
        value = node.operand(0)
        node = value.producer
    return value


def _shown(value: Value) -> str:
    """`c[N,4]`, and where an edit made it another one: `c[N,4] as [1,N,4]`."""
    named = _of_the_file(value)
    return str(value) if named is value else f"{named} as {str(value).removeprefix(value.name)}"


def _what_becomes(target: Target) -> str:
    return f": {target.outside}" if target.outside else ""


def _left(why: str, code: str = "GF305", *, blocks: bool = False) -> Leave:
    return Leave(None, why, code, "left", blocks)


# --- what TOSA can't take -------------------------------------------------------------------------------------------


def _of_tosa(node: Node, values: list[Value]) -> Leave | None:
    """The first thing that TOSA or a converter to it can't take."""
    why = _form(node) or _owner(node) or _scales(node) or _type(node, values)
    return _left(why, blocks=why not in tosa.PASSED) if why is not None else None


def _owner(node: Node) -> str | None:
    """An operator that is none of the format's own."""
    if node.domain in tosa.CUSTOM:
        return tosa.KEPT_CUSTOM
    if node.domain not in tosa.STANDARD:
        return f"the converters to TOSA do not know the operators of '{node.domain}'"
    return None


def _scales(node: Node) -> str | None:
    """An element-wise operator on a value with one scale for each index of an axis."""
    if node.row is None or node.row.style not in tosa.ELEMENT_WISE:
        return None
    value = next((value for value in node.operands if value is not None and value.scales > 1), None)
    if value is None:
        return None
    return f"'{_shown(value)}' has one scale for each index of an axis: no element-wise operator in TOSA does"


def _form(node: Node) -> str | None:
    from graphfix.engine import limits_onnx, limits_tflite

    return limits_tflite.form(node) if node.domain == TFLITE else limits_onnx.form(node)


def _type(node: Node, values: list[Value]) -> str | None:
    """The first type that TOSA lacks; the constants that say a shape or an axis are int64 in many models.

    In a body nothing is said of types: the node that holds it is named already.
    """
    if node.graph.path != "main":
        return None
    return next(filter(None, map(_lacking, values)), None)


def _lacking(value: Value) -> str | None:
    """Why TOSA can't hold a value of its type; int64 becomes int32 where every number of it fits."""
    if value.dtype != "int64":
        return tosa.TYPES.get(value.dtype)
    if value.kind in ("input", "overridable"):
        return f"'{value.name}' is an input of int64, which TOSA 1.0 has not (--narrow-inputs makes it int32)"
    if value in value.graph.outputs:
        return f"'{value.name}' is an output of int64, which TOSA 1.0 has not: let the model return int32"
    low, high = value.bounds or (0, 0)
    if value.bounds is not None and tosa.INT32[0] <= low and high <= tosa.INT32[1]:
        return None
    return None if _steering(value) else tosa.TYPES["int64"]


def leaves_int64(sites: Iterable[Site]) -> bool:
    """Whether a finding says that a whole number may be too large for int32."""
    return any(site.reason == tosa.TYPES["int64"] for site in sites)


def _steering(value: Value) -> bool:
    return value.kind == "constant"
