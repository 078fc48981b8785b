"""Every row of TFLite's catalogue on every small shape: planned, emitted, proved, and run before and after.

The sizes are 0, 1, 2, 3 and N, which is free. Each set of cases stands twice: `apart`, where every free axis of every
input is a size of its own, and `one`, where all of them are one size. It is fixed for both targets, proved for all
sizes, and run on LiteRT's reference and optimized kernels with N at 0, 1, 2 and 3, alike in all operands and, apart, at
1 in one of them, wherever the operands then meet. Covered is:

- ADD in float32: all 24,336 pairs of shapes of rank 0 to 3; those that can't meet are refused. The other operators of
  two operands: all pairs of rank 0 to 2, in a second element type of rank 0 and 1. A constant of 1, 2 and 3 of rank 0
  to 2 on either side, beside every shape of rank 0 to 2.
- SELECT_V2: all triples of rank 0 and 1, every shape of rank 2 and 3 at each place beside parts of it; a constant of
  rank 0 and 1 at each place.
- PRELU: every slope of rank 0 to 3 on every input that it fits; constant slopes of rank 0 to 2. SELECT: every shape,
  each condition that LiteRT takes.
- BATCH_MATMUL: all pairs of matrices, all pairs of up to two batch axes before one pair of matrices, some free matrices
  behind one batch axis; all four ways of transposing; a constant on either side.
- BROADCAST_TO: every shape onto every shape that it fits, stated as a constant, by another input's shape, and by an
  input. TILE: every shape by every factor from 0 to 3. STABLEHLO_BROADCAST_IN_DIM: every shape onto every fixed shape
  without 0 along every choice of axes; LiteRT has no kernel, so what fix makes of it is held against numpy.
- Operators that need equal shapes: every shape, with N in place of the sizes of any operand; operands that differ are
  proved only, and so are operators without a kernel.

What has no free size in it runs once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

import graphfix
from graphfix import operators
from graphfix.operators.row import TFLITE
from graphfix.results import GraphfixError, Site
from models.builders.tflite.text import model as file_of
from tests.support.checked import verify
from tests.support.runtimes.litert_groups import WITH_SHAPES, Job, Ran, run
from tests.support.small_scope.tflite.cases import Case, Model, N, Shape, Sizes, models, numpys, shapes
from tests.support.small_scope.tflite.table import SCOPES, Scope
from tests.support.tflite.kept import place_of
from tests.support.tflite.tree import text, tree
from tests.support.tiers import SAMPLE, ci_or_full, sampled, some_in_ci

TARGETS = ("explicit", "ranks")
MEET = ("BROADCAST_ARGS ends the process where they do not", "the broadcast of sizes that are known only at run time")
"""How the reasons end why two operands are left whose free sizes may not meet."""
INNERMOST = "once this operand is stretched along the innermost axis"
"""How the reason ends why an operand is left of which XNNPACK would return another one where one is NaN."""
RANK = "so lifting or stretching an operand changes the result's rank"
"""How the reason ends why an operand is left whose rank XNNPACK would drop."""
OUTPUT = "its result is an output of the graph"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A model, what became of it for one target, and what the report says is left, by the result's name."""

    model: Model
    target: str
    before: bytes
    after: bytes
    left: Mapping[str, Sequence[Site]]
    read: Mapping[str, Sequence[int]]
    """By the name of its result, the tensors that each operator of the fixed file reads."""

    @property
    def cases(self) -> Iterator[tuple[str, Case]]:
        """The cases by the names of their results."""
        return ((f"r{at}", case) for at, case in enumerate(self.model.cases))


def fixed(scope: Scope, most: int | None, *, one: bool) -> Iterator[Fixed]:
    for model in models(sampled([case for case in scope.cases(one) if case.takes], most), one=one):
        before = model.file()
        parsed, results = tree(before), list(operands(before))
        for target in TARGETS:
            opened = graphfix.load(before)
            left: dict[str, list[Site]] = {}
            for site in graphfix.fix(opened, target=target).sites:
                if site.status != "changed":
                    left.setdefault(results[place_of(parsed, site)[1]], []).append(site)
            after = opened.tobytes()
            yield Fixed(model, target, before, after, left, operands(after))


def operands(file: bytes) -> dict[str, list[int]]:
    """By the name of the result, the tensors that each operator reads, in the order of the file."""
    graph = tree(file).subgraphs[0]
    names = [text(tensor.name) for tensor in graph.tensors]
    return {names[operator.outputs[0]]: list(map(int, operator.inputs)) for operator in graph.operators}


# --- what fix did -----------------------------------------------------------------------------------------------------


def unexcused(scope: Scope, it: Fixed) -> list[str]:
    """What is left for another reason than the few that are right."""
    return [
        f"{it.target}: {case.line(name)}: {site.reason}"
        for name, case in it.cases
        for site in it.left.get(name, ())
        if not is_right(scope, it, case, site)
    ]


def is_right(scope: Scope, it: Fixed, case: Case, site: Site) -> bool:
    """Whether an operand may be left for a reason, as the shapes are stated here."""
    if scope.alike is None:
        return site.code in ("GF101", "GF102", "GF105") and bool(site.reason)
    if scope.ranks:
        return (site.code, site.reason) == ("GF203", OUTPUT)
    if (scope.op == "POW" and keeps_power(case, site)) or is_left_for_xnnpack(scope, case, site):
        return True
    if it.target == "ranks" or site.code not in ("GF102", "GF103"):
        return False
    return str(site.reason).endswith(MEET) and not meets_for_certain(scope, case, one=it.model.one)


def keeps_power(case: Case, site: Site) -> bool:
    """Whether a power may be of one element, which is raised in one of two ways, by the exponent's shape and rank."""
    base, exponent = (operand.shape for operand in case.operands)
    one = set(exponent) <= {1, N}
    if one and set(base) <= {1, N} and len(base) != len(exponent):
        return site.code in ("GF101", "GF102", "GF103")
    return one and site.operand == 1 and site.code in ("GF102", "GF103")


def is_left_for_xnnpack(scope: Scope, case: Case, site: Site) -> bool:
    """Whether XNNPACK would choose another kernel once the operand is edited."""
    reason = str(site.reason)
    if scope.op in ("MAXIMUM", "MINIMUM") and scope.dtype == "float32":
        return reason.endswith(INNERMOST) and site.code in ("GF102", "GF103") and may_stretch_innermost(case, site)
    return scope.op in ("ADD", "SUB", "MUL") and scope.dtype == "int8" and reason.endswith(RANK) and rank_drops(case)


def rank_drops(case: Case) -> bool:
    """Whether only constants of one element have the rank of the result."""
    carried = [len(leaf.shape) for leaf in case.operands if leaf.kind != "constant" or set(leaf.shape) - {1}]
    return max(carried, default=0) < len(case.result)


def may_stretch_innermost(case: Case, site: Site) -> bool:
    """Whether an operand may be repeated along the innermost axis of the result that is not 1."""
    operand = case.operands[site.operand or 0].shape
    padded = (1,) * (len(case.result) - len(operand)) + operand
    for own, size in zip(reversed(padded), reversed(case.result), strict=True):
        if own in (1, N) and size != 1:
            return True
        if size not in (1, N):
            return False
    return False


def meets_for_certain(scope: Scope, case: Case, *, one: bool) -> bool:
    """Whether the operands meet at all sizes, or to a shape without a free size."""
    last = -(scope.alike or 0) or None
    shapes = [operand.shape[:last] for operand in case.operands]
    if N not in case.result[:last]:
        return True
    rank = max(map(len, shapes))
    columns = zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True)
    sizes = [[dim for dim in column if dim != 1] for column in columns]
    return all(len(set(column)) <= 1 and (one or column.count(N) <= 1) for column in sizes)


def test_the_excuse_is_reported_by_the_shapes() -> None:
    cases = {case.line("r"): case for scope in SCOPES if scope.id == "SUB-float32" for case in scope.cases(False)}

    def certain(line: str, *, one: bool) -> bool:
        return meets_for_certain(SCOPES[0], cases[line], one=one)

    assert certain("r:float32[2] = SUB(a_N, b_2)", one=False)
    assert certain("r:float32[-1,-1] = SUB(a_1_N, b_N_1)", one=False)
    assert certain("r:float32[-1] = SUB(a_N, b_N)", one=True)
    assert not certain("r:float32[-1] = SUB(a_N, b_N)", one=False)
    assert not certain("r:float32[2,-1] = SUB(a_2_N, b_N_1)", one=True)


# --- what its result does ---------------------------------------------------------------------------------------------


def differing(it: Fixed, sizes: Sizes, kernels: str, ran: Sequence[Ran]) -> Iterator[str]:
    """Where both files do not run to the same bits."""
    mine, theirs = ran
    where = f"{it.target} at {sizes} on {kernels}"
    if not mine.fine or not theirs.fine:
        which = "fixed file" if mine.fine else "original"
        yield f"{where}: the {which}, {it.model.cases[0].line('r0')} and others: {[r.error or r.signal for r in ran]}"
        return
    for (name, case), one, other in zip(it.cases, mine.outputs, theirs.outputs, strict=False):
        if one.shape != other.shape or one.tobytes() != other.tobytes():
            yield f"{where}: {case.line(name)}: {one} and {other}"


def implicit(scope: Scope, it: Fixed, sizes: Sizes, ran: Ran) -> Iterator[str]:
    """Where an operator of the fixed file still broadcasts, unless the report says why."""
    (shapes,) = ran.shapes
    for (name, case), result in zip(it.cases, ran.outputs, strict=False):
        met = [shapes[tensor] for tensor in it.read[name]]
        excused = {site.operand for site in it.left.get(name, ()) if not scope.ranks}
        for at in range(1 if scope.ranks else len(met)):
            if not excused & {at, None} and not equal(scope, it.target, met[at], result.shape):
                yield f"{it.target} at {sizes}: {case.line(name)}: operand {at} is {met[at]} under {result.shape}"


def equal(scope: Scope, target: str, operand: Shape, result: Shape) -> bool:
    """Whether an operand is what the target asks for."""
    if scope.ranks or target == "ranks":
        return len(operand) == len(result)
    last = -(scope.alike or 0) or None
    return len(operand) == len(result) and operand[:last] == result[:last]


def touched(it: Fixed) -> list[str]:
    """Operators that read other tensors than before, where no operand is ever rewritten."""
    before = operands(it.before)
    return [case.line(name) for name, case in it.cases if before[name] != it.read[name]]


def faults(scope: Scope, work: Sequence[Fixed]) -> Iterator[str]:
    """Run every model before and after, at all of its sizes, on both kernel sets."""
    keys = [(it, sizes, kernels) for it in work for sizes in it.model.sizes for kernels in scope.kernels]
    jobs = [
        [Job(file, kernels, it.model.feeds(sizes)) for file in (it.before, it.after)] for it, sizes, kernels in keys
    ]
    assert keys
    for (it, sizes, kernels), ran in zip(keys, run(jobs), strict=True):
        yield from differing(it, sizes, kernels, ran)
        if kernels == WITH_SHAPES and ran[1].fine and scope.alike is not None:
            yield from implicit(scope, it, sizes, ran[1])


def wrong_stretches(scope: Scope, work: Sequence[Fixed]) -> Iterator[str]:
    """What fix makes of operators without a kernel, held against numpy."""
    keys = [(it, sizes, kernels) for it in work for sizes in it.model.sizes for kernels in scope.kernels]
    jobs = [[Job(it.after, kernels, it.model.feeds(sizes))] for it, sizes, kernels in keys]
    for (it, sizes, kernels), (ran,) in zip(keys, run(jobs), strict=True):
        assert ran.fine, ran.error or ran.signal
        fed = dict(zip((spec.name for spec in it.model.specs), it.model.feeds(sizes), strict=True))
        for (name, case), result in zip(it.cases, ran.outputs, strict=False):
            leaf = case.operands[0]
            whole = fed[f"t{leaf.name}"] if it.model.one and leaf.free else fed[leaf.name]
            axes = ast.literal_eval(case.attributes.partition("=")[2])
            array = gathered(whole, leaf.shape, fed.get("indices"))
            lifted = array.reshape([array.shape[axes.index(at)] if at in axes else 1 for at in range(len(case.result))])
            if not np.array_equal(np.broadcast_to(lifted, case.result), result):
                yield f"{it.target} at {sizes} on {kernels}: {case.line(name)}: {result} of {array}"


def gathered(whole: np.ndarray, shape: Shape, indices: np.ndarray | None) -> np.ndarray:
    """The operand that is made of a table, where all free sizes are one."""
    for axis, size in enumerate(shape):
        if size == N and indices is not None:
            whole = whole.take(indices, axis)
    return whole


def asked() -> list[ParameterSet]:
    """Every scope with free sizes apart and as one.

    CI asks some of the cases, of the first scope of each operator, one way in turn.
    """
    ops = list(dict.fromkeys(scope.op for scope in SCOPES))
    first = {scope.id for at, scope in enumerate(SCOPES) if scope.op not in {other.op for other in SCOPES[:at]}}
    both = [
        pytest.param(
            scope,
            one,
            id=f"{scope.id}-{'one' if one else 'apart'}",
            marks=ci_or_full(scope.id in first and one == ops.index(scope.op) % 2),
        )
        for scope in SCOPES
        for one in (False, True)
    ]
    return some_in_ci(both, SAMPLE, None)


# --- the tests --------------------------------------------------------------------------------------------------------


def test_every_row_of_the_catalogue_has_cases() -> None:
    rows = {row.op for row in operators.rows() if row.domain == TFLITE}
    spelled = {spelling.op for spelling in operators.stretch_forms() if spelling.domain == TFLITE}
    assert len(rows) > 40
    assert {scope.op for scope in SCOPES} == rows | spelled
    assert len({scope.id for scope in SCOPES}) == len(SCOPES)
    assert all(any(case.takes for case in scope.cases(one)) for scope in SCOPES for one in (False, True))


@pytest.mark.ci
def test_the_full_scope_is_every_pair_of_shapes() -> None:
    full = [[case for case in SCOPES[0].cases(one) if case.takes] for one in (False, True)]
    every = list(product(shapes(0, 1, 2, 3), repeat=2))
    assert SCOPES[0].id == "ADD-float32"
    assert len(every) == (1 + 5 + 25 + 125) ** 2
    for cases in full:
        never = {tuple(leaf.shape for leaf in case.operands) for case in cases} ^ set(every)
        assert all(clash(*pair) for pair in never)


def clash(one: Shape, other: Shape) -> bool:
    """Whether an axis has two different numbers, none of them a 1."""
    facing = zip(one[::-1], other[::-1], strict=False)
    return any(N not in pair and numpys([(size,) for size in pair]) is None for pair in facing)


@pytest.mark.ci
def test_operands_that_never_meet_are_refused() -> None:
    """Of rank 3 only those that meet in all axes but one."""
    pairs = [pair for pair in product(shapes(0, 1, 2), repeat=2) if clash(*pair)]
    pairs += [((*one, 2), (*other, 3)) for one, other in product(shapes(2), repeat=2) if not clash(one, other)]
    assert len(pairs) > 600
    for one, other in pairs:
        dims = [",".join(map(str, shape)) for shape in (one, other)]
        rank = ",".join("?" * max(len(one), len(other)))
        file = file_of(f"r[{rank}] = ADD(a[{dims[0]}], b[{dims[1]}])")
        for target in TARGETS:
            with pytest.raises(GraphfixError, match="GF105"):
                graphfix.fix(graphfix.load(file), target=target)


@pytest.mark.parametrize(("scope", "one", "most"), asked())
def test_every_case_is_fixed_and_proved_and_runs_to_the_same_bits(
    scope: Scope, one: bool, most: int | None, tmp_path: Path
) -> None:
    work = list(fixed(scope, most, one=one))
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for it in work:
        assert it.before != it.after
        assert unexcused(scope, it)[:3] == []
        assert scope.alike is not None or touched(it)[:3] == []
        before.write_bytes(it.before)
        after.write_bytes(it.after)
        verdict = verify(before, after, proof="only")
        assert verdict.status == "proved", (it.target, it.model.sizes, verdict.proof)
    if scope.runs:
        assert list(faults(scope, work))[:3] == []
    if scope.again:
        assert list(wrong_stretches(scope, work))[:3] == []
