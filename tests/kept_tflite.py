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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from graphfix.results import Site

Tree: TypeAlias = Any
"""A part of LiteRT's object API, which has no types."""

NAMES = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
MOVES = frozenset({"RESHAPE", "EXPAND_DIMS", "TILE", "BROADCAST_TO"})
"""What stands between an operand as it was and as it is: operators whose operand 0 is moved, no element computed."""
COUNTS = frozenset({"SHAPE", "BROADCAST_ARGS", "GATHER", "CONCATENATION"})
"""What computes the shapes that those are given."""
SILENT = (
    MOVES
    | COUNTS
    | frozenset(
        "DEQUANTIZE PACK STRIDED_SLICE SLICE CAST SQUEEZE REDUCE_PROD RANGE FILL MUL ADD SUB MAXIMUM MINIMUM".split()
    )
)
"""What may go with the last reader of its result."""
NOTE = "graphfix.assumes"
"""The only metadata entry that may be new."""
BODIES = {
    "IF": {"then": "thenSubgraphIndex", "else": "elseSubgraphIndex"},
    "WHILE": {"cond": "condSubgraphIndex", "body": "bodySubgraphIndex"},
    "CALL_ONCE": {"init": "initSubgraphIndex"},
    "CALL": {"subgraph": "subgraph"},
}


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
    if type(before) is not type(after):
        yield f": {_short(before)} became {_short(after)}"
    elif isinstance(before, list):
        yield from _unlike_parts("[{}]", dict(enumerate(before)), dict(enumerate(after)))  # type: ignore[arg-type]  # see above
    elif hasattr(before, "__dict__"):
        kept = [{key: value for key, value in vars(each).items() if key not in skip} for each in (before, after)]
        yield from _unlike_parts(".{}", *kept)
    elif not np.array_equal(before, after):  # type: ignore[arg-type]  # arrays, numbers, bytes, None
        yield f": {_short(before)} became {_short(after)}"


def _unlike_parts(form: str, before: Mapping[Any, object], after: Mapping[Any, object]) -> Iterator[str]:
    if before.keys() != after.keys():
        yield f": {len(before)} parts became {len(after)}"
        return
    for key, value in before.items():
        yield from (f"{form.format(key)}{path}" for path in unlike(value, after[key]))


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
    return [f"{what} {index}{path}" for index, mine in enumerate(old) for path in unlike(mine, new[index])]


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
    count = len(mine.tensors)
    kept = [each for each in theirs.operators if not len(each.outputs) or min(each.outputs) < count]
    added = [each for each in theirs.operators if len(each.outputs) and min(each.outputs) >= count]
    for each in added:
        if operator_name(new, each) not in MOVES | COUNTS | {"DEQUANTIZE"} or len(each.outputs) != 1:
            yield f"{operator_name(new, each)} is new"
    gone = _gone(mine, kept)
    yield from _departures(old, index, gone, changes)
    remaining = [at for at in range(len(mine.operators)) if at not in gone]
    if len(remaining) != len(kept):
        yield f"{len(remaining)} operators that stayed became {len(kept)}"
        return
    folded = [mine.operators[at] for at in gone if (index, at) in changes.spelled]
    sources = _Sources(old, new, index, {each.outputs[0]: each.inputs[0] for each in folded})
    for at, twin in zip(remaining, kept, strict=True):
        found = _operator(sources, (index, at), twin, changes)
        yield from (f"operator {at} ({operator_name(old, mine.operators[at])}){line}" for line in found)
    yield from _order(theirs)


def _gone(mine: Tree, kept: Sequence[Tree]) -> set[int]:
    """The old operators whose tensors nobody makes any more."""
    made = {tuple(each.outputs) for each in kept}
    return {at for at, each in enumerate(mine.operators) if tuple(each.outputs) not in made}


def _departures(old: Tree, index: int, gone: set[int], changes: Changes) -> Iterator[str]:
    """Only a broadcast that was spelled out may go, and what then, or after a named edit, has no reader left."""
    graph = old.subgraphs[index]
    for at in gone:
        operator = graph.operators[at]
        named = (index, at) in changes.spelled
        unread = operator_name(old, operator) in SILENT and all(
            reader in gone or (index, reader) in changes.spelled or operand in changes.operands.get((index, reader), ())
            for reader, other in enumerate(graph.operators)
            for operand, tensor in enumerate(other.inputs)
            if tensor in operator.outputs
        )
        if set(operator.outputs) & set(graph.outputs) or not (named or unread):
            yield f"operator {at} ({operator_name(old, operator)}) is gone"


def _operator(sources: _Sources, place: tuple[int, int], twin: Tree, changes: Changes) -> Iterator[str]:
    """Everything but the named operands is as it was, and these come from what they were."""
    mine = sources.old.subgraphs[place[0]].operators[place[1]]
    if place in changes.spelled:
        if operator_name(sources.new, twin) not in MOVES:
            yield " is no broadcast any more"
        yield from sources.operand(0, mine.inputs[0], twin.inputs[0], named=True)
        return
    yield from unlike(mine, twin, frozenset({"inputs"}))
    if len(mine.inputs) != len(twin.inputs):
        yield f": {len(mine.inputs)} operands became {len(twin.inputs)}"
        return
    named = changes.operands.get(place, set())
    for operand, (before, after) in enumerate(zip(mine.inputs, twin.inputs, strict=True)):
        yield from sources.operand(operand, before, after, named=operand in named)


def _order(graph: Tree) -> Iterator[str]:
    """Nothing is read before it is made."""
    made_by = {tensor: at for at, each in enumerate(graph.operators) for tensor in each.outputs}
    for at, each in enumerate(graph.operators):
        for tensor in each.inputs:
            if made_by.get(tensor, -1) >= at:
                yield f"operator {at} reads tensor {tensor} before it is made"


@dataclass
class _Sources:
    """Where the operands of one subgraph come from."""

    old: Tree
    new: Tree
    index: int
    past: dict[int, int]
    """Result and operand of the broadcasts that are gone."""

    def __post_init__(self) -> None:
        self.before, self.after = self.old.subgraphs[self.index], self.new.subgraphs[self.index]
        self.makers = {tensor: each for each in self.after.operators for tensor in each.outputs}

    def bypassed(self, tensor: int) -> int:
        """What the broadcasts that are gone read."""
        while tensor in self.past:
            tensor = self.past[tensor]
        return int(tensor)

    def operand(self, index: int, before: int, after: int, *, named: bool) -> Iterator[str]:
        """What is wrong with an operand: nothing where it is the same, or named and made from the same."""
        if self.bypassed(before) == after:
            return
        why = self.unlike(self.bypassed(before), after) if named else "another tensor, and no site says so"
        if why is not None:
            yield f" operand {index}: {why}"

    def unlike(self, before: int, after: int) -> str | None:
        """Why the tensor `after` is not `before` in another shape; None where it is."""
        tensor, dequantized = after, False
        while tensor >= len(self.before.tensors) and tensor in self.makers:
            maker = self.makers[tensor]
            name = operator_name(self.new, maker)
            if name not in MOVES | {"DEQUANTIZE"}:
                return f"it is computed by {name}"
            dequantized |= name == "DEQUANTIZE"
            if (why := self._marks(before, tensor)) is not None:
                return why
            tensor = maker.inputs[0]
        if dequantized:
            return self._dequantized(before, tensor)
        if tensor == before or tensor == self.bypassed(before):
            return None
        return self._constant(before, tensor)

    def _dequantized(self, before: int, after: int) -> str | None:
        maker = next((each for each in self.before.operators if before in each.outputs), None)
        if maker is None or operator_name(self.old, maker) != "DEQUANTIZE":
            return "what was no DEQUANTIZE is one"
        return None if maker.inputs[0] == after else self._constant(maker.inputs[0], after)

    def _marks(self, before: int, after: int) -> str | None:
        """Type, scales and zero points; those of an axis follow it."""
        mine, theirs = self.after.tensors[before], self.after.tensors[after]
        if mine.type != theirs.type:
            return "it has another element type"
        if list(unlike(mine.quantization, theirs.quantization, frozenset({"quantizedDimension"}))):
            return "it has other scales"
        scales = [] if mine.quantization is None else mine.quantization.scale
        if scales is None or len(scales) < 2:
            return None
        axis, moved = mine.quantization.quantizedDimension, theirs.quantization.quantizedDimension
        return None if mine.shape[axis] == theirs.shape[moved] == len(scales) else "its scales follow another axis"

    def _constant(self, before: int, after: int) -> str | None:
        """A second tensor on the constant's buffer, or a new buffer with the constant stretched."""
        mine, theirs = self.before.tensors[before], self.after.tensors[after]
        if after < len(self.before.tensors):
            return "another tensor of the old file"
        if (why := self._marks(before, after)) is not None:
            return why
        if mine.buffer == theirs.buffer != 0:
            return None if np.prod(_dims(mine)) == np.prod(_dims(theirs)) else "the buffer has another size"
        data, stretched = (self.new.buffers[each.buffer].data for each in (mine, theirs))
        if data is None or stretched is None:
            return "it is no constant"
        items = np.frombuffer(bytes(bytearray(data)), f"V{len(data) // max(1, int(np.prod(_dims(mine))))}")
        whole = np.broadcast_to(items.reshape(_dims(mine)), _dims(theirs))
        return None if whole.tobytes() == bytes(bytearray(stretched)) else "its elements are others"


def _dims(tensor: Tree) -> tuple[int, ...]:
    return () if tensor.shape is None else tuple(int(size) for size in tensor.shape)
