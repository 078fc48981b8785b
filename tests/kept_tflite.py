"""Compares a TFLite file with what became of it, part by part: only what the report names may be another.

Nothing of graphfix's readers is used: both files are read by LiteRT's object API. What a report is made of is plain
data (`graphfix.results`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import ai_edge_litert.schema_py_generated as schema
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphfix.results import Site

Tree: TypeAlias = Any
"""A part of LiteRT's object API, which has no types."""

NAMES = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
MOVES = frozenset(
    "RESHAPE EXPAND_DIMS TILE BROADCAST_TO SHAPE BROADCAST_ARGS GATHER CONCATENATION DEQUANTIZE".split()
)
"""What may be new: operators that move elements or count them, and the copy of a constant's DEQUANTIZE."""
NOTE = "graphfix.assumes"
"""The only metadata entry that may be new."""
BODIES = {
    "IF": {"then": "thenSubgraphIndex", "else": "elseSubgraphIndex"},
    "WHILE": {"cond": "condSubgraphIndex", "body": "bodySubgraphIndex"},
    "CALL_ONCE": {"init": "initSubgraphIndex"},
    "CALL": {"subgraph": "subgraph"},
}
INPUTS = frozenset({"inputs"})


def tree(data: bytes) -> Tree:
    """Read a file."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))


def operator_name(model: Tree, operator: Tree) -> str:
    """`ADD`, or the name of a custom operator."""
    code = model.operatorCodes[operator.opcodeIndex]
    name = NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]
    return text(code.customCode) if name == "CUSTOM" else name


def text(name: bytes | str | None) -> str:
    """The object API gives names as bytes."""
    return name.decode() if isinstance(name, bytes) else name or ""


def payload(data: bytes, buffer: Tree) -> bytes:
    """The bytes of a Buffer: its own, or those that stand behind the model's tables."""
    if buffer.offset > 1:
        return data[buffer.offset : buffer.offset + buffer.size]
    return b"" if buffer.data is None else bytes(bytearray(buffer.data))


def unlike(before: object, after: object, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """The fields in which two parts differ, by their paths."""
    if hasattr(before, "__dict__") and type(before) is type(after):
        for key, value in vars(before).items():
            if key not in skip:
                yield from (f".{key}{path}" for path in unlike(value, vars(after)[key]))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (mine, theirs) in enumerate(zip(before, after, strict=True)):
            yield from (f"[{index}]{path}" for path in unlike(mine, theirs))
    elif isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if (before.dtype, before.shape, before.tobytes()) != (after.dtype, after.shape, after.tobytes()):
            yield f": {_short(before)} became {_short(after)}"
    elif type(before) is not type(after) or before != after:
        yield f": {_short(before)} became {_short(after)}"


def _short(value: object) -> str:
    return repr(value)[:80]


def subgraph_of(model: Tree, path: str) -> int:
    """The index of the subgraph that a report calls `main`, `main/WHILE#3.body` or `subgraph 2`."""
    if path.startswith("subgraph "):
        path, _, rest = path.removeprefix("subgraph ").partition("/")
        index, parts = int(path), [rest] if rest else []
    else:
        index, parts = 0, path.split("/")[1:]
    for part in [piece for one in parts for piece in one.split("/")]:
        found = re.fullmatch(r"(.+)#(\d+)\.(\w+)", part)
        assert found is not None, path
        operator = model.subgraphs[index].operators[int(found[2])]
        if found[1] == "STABLEHLO_COMPOSITE":
            index = operator.builtinOptions2.decompositionSubgraphIndex
        else:
            index = getattr(operator.builtinOptions, BODIES[found[1]][found[3]])
    return index


def place_of(model: Tree, site: Site) -> tuple[int, int]:
    """(subgraph, operator) of a site in the file that the report is about: operators have no names, `ADD#3` is one."""
    op, _, index = site.node.rpartition("#")
    place = subgraph_of(model, site.graph), int(index)
    assert operator_name(model, model.subgraphs[place[0]].operators[place[1]]) == op == site.op
    return place


@dataclass
class Changes:
    """What a report says was changed, by (subgraph, operator)."""

    operands: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    spelled: set[tuple[int, int]] = field(default_factory=set)
    """Broadcasts that were spelled out already: they may be spelled in another way, or be gone."""

    @classmethod
    def told(cls, model: Tree, sites: Iterable[Site]) -> Changes:
        found = cls()
        for site in sites:
            if site.status != "changed":
                continue
            place = place_of(model, site)
            if site.code in {"GF202", "GF203"} and site.rewrite == "normalize-expand":
                found.spelled.add(place)
            elif site.operand is not None:
                found.operands.setdefault(place, set()).add(site.operand)
        return found


def differences(before: bytes, after: bytes, sites: Sequence[Site]) -> list[str]:
    """Everything that is another than it was, and that no site of the report names."""
    old, new = tree(before), tree(after)
    changes = Changes.told(old, sites)
    lists = frozenset({"operatorCodes", "buffers", "metadata", "subgraphs"})
    found = [f"model{path}" for path in unlike(old, new, lists)]
    found += _prefix("operator code", old.operatorCodes, new.operatorCodes)
    found += list(_buffers(before, after, old, new))
    found += list(_metadata(old, new))
    if len(old.subgraphs) != len(new.subgraphs):
        return [*found, f"{len(old.subgraphs)} subgraphs became {len(new.subgraphs)}"]
    for index in range(len(old.subgraphs)):
        found += [f"subgraph {index}: {line}" for line in _subgraph(old, new, index, changes)]
    return found


def _prefix(what: str, old: Sequence[Tree] | None, new: Sequence[Tree] | None) -> list[str]:
    old, new = old or [], new or []
    if len(new) < len(old):
        return [f"{what}s: {len(old)} became {len(new)}"]
    return [
        f"{what} {index}{path}"
        for index, mine in enumerate(old)
        for path in unlike(mine, new[index])
    ]


def _buffers(before: bytes, after: bytes, old: Tree, new: Tree) -> Iterator[str]:
    if len(new.buffers) < len(old.buffers):
        yield f"buffers: {len(old.buffers)} became {len(new.buffers)}"
    for index, (mine, theirs) in enumerate(zip(old.buffers, new.buffers, strict=False)):
        if payload(before, mine) != payload(after, theirs):
            yield f"buffer {index}: other bytes"


def _metadata(old: Tree, new: Tree) -> Iterator[str]:
    """Buffers are compared by index, so an entry is the same where its name and its index are."""
    yield from _prefix("metadata entry", old.metadata, new.metadata)
    for entry in (new.metadata or [])[len(old.metadata or []) :]:
        if text(entry.name) != NOTE:
            yield f"a metadata entry {text(entry.name)!r} is new"


def _subgraph(old: Tree, new: Tree, index: int, changes: Changes) -> Iterator[str]:
    mine, theirs = old.subgraphs[index], new.subgraphs[index]
    yield from unlike(mine, theirs, frozenset({"tensors", "operators"}))
    yield from _prefix("tensor", mine.tensors, theirs.tensors)
    rest = iter(theirs.operators)
    first_new = len(mine.tensors)
    for at, operator in enumerate(mine.operators):
        passed, twin = _search(operator, rest, first_new)
        yield from (line for each in passed for line in _addition(new, each, first_new))
        if twin is None:
            if (index, at) not in changes.spelled:
                yield f"operator {at} ({operator_name(old, operator)}) is gone, or stands elsewhere"
            rest = iter(passed)
            continue
        yield from _operator(old, new, (index, at), twin, changes)
    yield from (line for each in rest for line in _addition(new, each, first_new))


def _search(operator: Tree, rest: Iterator[Tree], first_new: int) -> tuple[list[Tree], Tree | None]:
    """The next operator that makes the same tensors, or, of those that make none, that is no new one."""
    passed = []
    for other in rest:
        if list(other.outputs) == list(operator.outputs):
            return passed, other
        passed.append(other)
    del first_new
    return passed, None
