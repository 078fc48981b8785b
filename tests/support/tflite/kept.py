"""Compares a TFLite file with what became of it, part by part: only what the report names may be another.

Nothing of graphfix's readers is used: both files are read by LiteRT's object API. What a report is made of is plain
data (`graphfix.results`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.tflite.origins import MOVES, Origins
from tests.support.tflite.tree import Tree, differing, operator_name, payload, text, tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from graphfix.results import Site

COUNTS = frozenset({"SHAPE", "BROADCAST_ARGS", "EQUAL", "SELECT_V2", "GATHER", "CONCATENATION"})
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
    corrected: set[tuple[int, int]] = field(default_factory=set)
    """Operators with a result whose stored shape was wrong."""

    @classmethod
    def of(cls, model: Tree, sites: Iterable[Site]) -> Changes:
        found = cls()
        for site in sites:
            if site.status != "changed":
                continue
            place = place_of(model, site)
            if site.code in {"GF202", "GF203"} and site.rewrite == "normalize-expand":
                found.spelled.add(place)
            elif site.code == "GF204":
                found.corrected.add(place)
            elif site.operand is not None:
                found.operands.setdefault(place, set()).add(site.operand)
        return found


def differences(before: bytes, after: bytes, sites: Sequence[Site]) -> list[str]:
    """Everything that is another than it was, and that no site of the report names."""
    old, new = tree(before), tree(after)
    changes = Changes.of(old, sites)
    lists = frozenset({"operatorCodes", "buffers", "metadata", "subgraphs"})
    found = [f"model{path}" for path in differing(old, new, lists)]
    found += list(_codes(old, new))
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
    return [f"{what} {index}{path}" for index, mine in enumerate(old) for path in differing(mine, new[index])]


def _codes(old: Tree, new: Tree) -> Iterator[str]:
    """A code that an operator had goes with its last one, wherever it stands; that of no operator stays in its place.

    What a kept operator's code says is compared with the operator.
    """
    had, have = ({op.opcodeIndex for graph in model.subgraphs for op in graph.operators} for model in (old, new))
    before, after = (model.operatorCodes or [] for model in (old, new))
    for index, mine in enumerate(before):
        if index not in had:
            found = differing(mine, after[index]) if index < len(after) else [": is gone"]
            yield from (f"operator code {index}{path}" for path in found)
    named = [after[index] for index in sorted(have)]
    named += [code for index, code in enumerate(before) if index not in had]
    for index, code in enumerate(after):
        if all(list(differing(code, each)) for each in named):
            yield f"operator code {index}: no operator has it"


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
    yield from differing(mine, theirs, frozenset({"tensors", "operators"}))
    operators = [each for at, each in enumerate(mine.operators) if (index, at) in changes.corrected]
    corrected = {tensor for each in operators for tensor in each.outputs}
    yield from _tensors(mine, theirs, corrected)
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
    origins = Origins(old, new, index, {each.outputs[0]: each.inputs[0] for each in folded})
    for at, twin in zip(remaining, kept, strict=True):
        found = _operator(origins, (index, at), twin, changes)
        yield from (f"operator {at} ({operator_name(old, mine.operators[at])}){line}" for line in found)
    yield from _order(theirs)


def _tensors(mine: Tree, theirs: Tree, corrected: Collection[int]) -> Iterator[str]:
    """What is kept of tensors: of a result inside, the sizes that were free may be stated."""
    results = {tensor for each in mine.operators for tensor in each.outputs} - set(mine.outputs)
    if len(theirs.tensors) < len(mine.tensors):
        yield f"tensors: {len(mine.tensors)} became {len(theirs.tensors)}"
        return
    for at, tensor in enumerate(mine.tensors):
        found = theirs.tensors[at]
        stated = at in corrected or (at in results and _states_free_sizes(tensor, found))
        skipped = frozenset({"shape", "shapeSignature"} if stated else ())
        yield from (f"tensor {at}{path}" for path in differing(tensor, found, skipped))


def _states_free_sizes(mine: Tree, theirs: Tree) -> bool:
    """Whether all sizes are as they were, but some that the signature left free and that are stated now."""
    shapes = [mine.shape, mine.shapeSignature, theirs.shape, theirs.shapeSignature]
    if any(shape is None for shape in shapes) or len(set(map(len, shapes))) > 1:
        return False
    return all(
        (size, sign) == (had, said) or (said == -1 and size == sign >= 0)
        for had, said, size, sign in zip(*shapes, strict=True)
    )


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


def _operator(origins: Origins, place: tuple[int, int], twin: Tree, changes: Changes) -> Iterator[str]:
    """Everything but the named operands is as it was, and these come from what they were."""
    mine = origins.old.subgraphs[place[0]].operators[place[1]]
    if place in changes.spelled:
        if operator_name(origins.new, twin) not in MOVES:
            yield " is no broadcast any more"
        yield from origins.operand(0, mine.inputs[0], twin.inputs[0], named=True)
        return
    yield from differing(mine, twin, frozenset({"inputs"}))
    codes = origins.old.operatorCodes[mine.opcodeIndex], origins.new.operatorCodes[twin.opcodeIndex]
    yield from (f": code{path}" for path in differing(*codes))
    if len(mine.inputs) != len(twin.inputs):
        yield f": {len(mine.inputs)} operands became {len(twin.inputs)}"
        return
    named = changes.operands.get(place, set())
    for operand, (before, after) in enumerate(zip(mine.inputs, twin.inputs, strict=True)):
        yield from origins.operand(operand, before, after, named=operand in named)


def _order(graph: Tree) -> Iterator[str]:
    """Nothing is read before it is made."""
    made_by = {tensor: at for at, each in enumerate(graph.operators) for tensor in each.outputs}
    for at, each in enumerate(graph.operators):
        for tensor in each.inputs:
            if made_by.get(tensor, -1) >= at:
                yield f"operator {at} reads tensor {tensor} before it is made"
