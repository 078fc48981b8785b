"""What the witness sees of a TFLite model and what became of it, beside what the report says of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tests.support.runtimes.litert_witness import Job, Seen, accepted, free_axes, run
from tests.support.tflite.cut import without_custom
from tests.support.tflite.kept import place_of
from tests.support.tflite.tree import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from graphfix.results import Site
    from tests.support.runtimes.litert_witness import Ran, Sizes

BINDINGS = 3
SETS = ("optimized", "xnnpack")
"""The kernel sets; only without XNNPACK are all tensors kept to be looked at."""
Reason: TypeAlias = tuple[str, int, str, str, str]
"""Of an operand that still broadcasts: the operator, the operand, and the site's code, status and reason."""


def stated_inputs(path: Path) -> list[list[int]]:
    """The stored shapes of the inputs, -1 where a size is free."""
    graph = tree(path.read_bytes()).subgraphs[0]
    tensors = [graph.tensors[index] for index in graph.inputs]
    stated = [_stored(tensor.shapeSignature) or _stored(tensor.shape) for tensor in tensors]
    return [list(shape) for shape in stated]


def _stored(dims: Iterable[int] | None) -> tuple[int, ...]:
    return () if dims is None else tuple(int(size) for size in dims)


def is_free(path: Path) -> bool:
    """Whether any size of an input may be chosen."""
    return bool(free_axes(stated_inputs(path)))


def sites_by_result(path: Path, sites: Iterable[Site]) -> Mapping[tuple[int, int], list[Site]]:
    """By (subgraph, tensor): operators move when others are added, what they make stays the same."""
    model = tree(path.read_bytes())
    found: dict[tuple[int, int], list[Site]] = {}
    for site in sites:
        if site.op == "value":  # a stored shape is no operator
            continue
        subgraph, operator = place_of(model, site)
        outputs = model.subgraphs[subgraph].operators[operator].outputs
        found.setdefault((subgraph, int(outputs[0])), []).append(site)
    return found


def excused(seen: Seen, operand: int, sites: Mapping[tuple[int, int], list[Site]]) -> Site | None:
    """The site by which the report says that this operand was left, and why."""
    for site in sites.get((seen.subgraph, seen.result), ()):
        if site.status in {"left", "exempt"} and site.reason and site.operand in {operand, None}:
            return site
    return None


@dataclass(frozen=True)
class Change:
    """A file, what became of it, and what the report says."""

    before: Path
    after: Path
    sites: Sequence[Site]
    target: str

    def pairs(self, folder: Path) -> list[tuple[Path, Path]]:
        """Both files whole, and where there are custom operators both without them."""
        cut = without_custom(self.before, folder), without_custom(self.after, folder)
        return list(dict.fromkeys([cut, (self.before, self.after)]))


@dataclass
class Watched:
    """A model and what became of it, run at the sizes that the original takes."""

    sizes: list[Sizes]
    wrong: list[str] = field(default_factory=list)
    """What no site says, and outputs that are others."""
    ran: Counter[str] = field(default_factory=Counter)
    """How often the original ran on each kernel set: where it did not, nothing is compared."""
    excused: Counter[Reason] = field(default_factory=Counter)
    """What the report says."""

    def look(self, ran: Ran, known: Mapping[tuple[int, int], list[Site]], target: str) -> None:
        for seen in ran.operators:
            for operand in seen.unequal(target):
                site = excused(seen, operand, known)
                if site is None:
                    self.wrong.append(f"{seen}, operand {operand}: no site says why")
                else:
                    self.excused[seen.op, operand, site.code, site.status, str(site.reason)] += 1


def watched(changes: Sequence[Change], folder: Path) -> list[Watched]:
    """Run every pair of files and look at the second one."""
    pairs = [change.pairs(folder) for change in changes]
    taken = accepted({both[0][0]: stated_inputs(both[0][0]) for both in pairs}, BINDINGS)
    found = [Watched(taken[both[0][0]]) for both in pairs]
    kinds = [
        (at, sizes, kernels, pair)
        for at, both in enumerate(pairs)
        for sizes in found[at].sizes
        for kernels in SETS
        for pair in both
    ]
    answers = iter(run([Job(str(path), sizes, kernels) for _, sizes, kernels, pair in kinds for path in pair]))
    known = [sites_by_result(change.before, change.sites) for change in changes]
    for at, sizes, kernels, _ in kinds:
        mine, theirs = next(answers), next(answers)
        found[at].ran[kernels] += mine.fine
        if mine.fine and mine.outputs != theirs.outputs:
            found[at].wrong.append(f"{kernels} at {sizes}: {theirs.error or 'other outputs'}")
        found[at].look(theirs, known[at], changes[at].target)
    return found
