"""Every ONNX row of the catalogue over all small shapes: planned, emitted, proved, and run.

Shapes are those of rank 0 to 3 over the sizes 0, 1, 2, 3 and one symbol N, 156 of them. A model has one node for each
case whose operands meet for some N; it is fixed for target `explicit` and for `ranks`, must be proved equal, and both
models are run at N = 0, 1, 2 and 3, each with the nodes whose operands meet there: equal bits. Beside that, what the
nodes read in the fixed model is looked at: with `explicit` all operands have the shape of the result, with `ranks` its
rank, but for those that a row exempts (`small_scope/onnx/rows.py`, written without the catalogue). A second `fix`
changes nothing.

- Rows that broadcast, one of each kind (same style, same number of operands, same exemptions): two operands, all pairs
  of the 156 shapes (12,300 meet); three, all triples of rank 0 and 1 over 0, 1, 2, N and of rank 0 to 2 over 1, 2, N,
  and all pairs with a third, turned through the places; matrix products, all pairs of rank 1 to 3, and all pairs of the
  156 as batch axes; Gemm, all (M,N) with inner sizes 0, 2 and N, every C of rank 0 to 2, both operands transposed or
  not; operator sets 1 to 6, all pairs with every `axis`.
- All other rows, the other versions of an operator, and constant operands: the same over ranks 0 to 2.
- Where operands do not meet, the fixed model is refused whenever the original is (rank 0 to 2).
- Rows with a rule of their own, over all shapes of the operands that they name (`small_scope/onnx/left.py`): no operand
  is changed, though the model is.

Not run: operator sets 1 to 6 have no kernels, so the fixed model is compared with numpy; MulInteger and
FusedMatMulActivation have none, and Mul and MatMul stand for them in both models; `NO_KERNEL` of
small_scope/onnx/left.py. onnxruntime's products are not asked for the bits of a sum over nothing, nor its
normalizations for an empty last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import onnx
import pytest
from _pytest.mark import ParameterSet
from onnx import helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from graphfix import api, operators
from graphfix.operators.row import TFLITE
from tests.support import engine
from tests.support.runtimes.one_node import NEWEST, Key, name_of, row_of, same_bits
from tests.support.small_scope.onnx.asked import Answer, Question
from tests.support.small_scope.onnx.cases import ALL, SIZES, Case, static
from tests.support.small_scope.onnx.left import LEFT, NO_KERNEL, Left, without_kernel
from tests.support.small_scope.onnx.models import feeds, made, result_names
from tests.support.small_scope.onnx.rows import ROWS, Row, anywhere
from tests.support.small_scope.onnx.runs import Results, Source, computed
from tests.support.tiers import SAMPLE, ci_or_full, sampled, some_in_ci

TARGETS = ("explicit", "ranks")
FORMS = (7, 8, 12, 13, NEWEST)
"""Versions of ONNX's operators between which what `fix` writes has another form: no Expand, axes as an attribute."""


def catalogue() -> dict[Key, Row]:
    return {(row.domain, row.op, row.since): row for row in operators.rows() if row.domain != TFLITE}


def kinds() -> list[Key]:
    """The first row of each kind that some rewrite touches."""
    found: dict[object, Key] = {}
    for key, row in catalogue().items():
        if key in ROWS:
            exempt = tuple((operand.keep_rank, operand.keep_dims) for operand in row.operands)
            found.setdefault((row.style, row.variadic, row.onto, row.channel_axis, row.product is None, exempt), key)
    return list(found.values())


def newest(key: Key) -> int:
    return 1 if key[0] else min(NEWEST, row_of(key).until or NEWEST)


def forms(key: Key) -> list[int]:
    """The other versions of a row that matter; of operator sets 1 to 6 the first."""
    row = row_of(key)
    if key[0] or row.until is not None:
        return [] if key[0] else [key[2]]
    return sorted({row.since, *(form for form in FORMS if form > row.since)} - {NEWEST})


def left_without_expand(row: Row, case: Case, position: int, held: bool) -> bool:
    """Before operator set 8 nothing stretches an operand by sizes that are not known."""
    return row.keeps_sizes(case, position, held) or not all(map(static, case.shapes))


def no_faults(answer: Answer) -> None:
    assert answer.status == "proved", answer.proof
    assert not answer.again
    faults = list(answer.faults())
    assert not faults, (len(faults), faults[:5])
    assert not answer.refused, answer.refused[:5]
    assert len(answer.ran) >= len(answer.question.cases) / 2


def runs_itself(key: Key) -> bool:
    """Whether onnxruntime runs the original, neither numpy nor another operator in its place."""
    return ROWS[key].expected is None and ROWS[key].stand_in is None


KINDS = kinds()
STYLES = [key for at, key in enumerate(KINDS) if row_of(key).style not in {row_of(other).style for other in KINDS[:at]}]
"""The first kind of each style: what CI asks of all kinds together."""


def asked(keys: Iterable[Key], chosen: Callable[[int, Key, str], bool]) -> list[ParameterSet]:
    """Rows and targets; CI asks those that are chosen."""
    return [
        pytest.param(key, target, id=f"{name_of(key)}-{target}", marks=ci_or_full(chosen(at, key, target)))
        for at, key in enumerate(keys)
        for target in TARGETS
    ]


def asked_by_size(keys: Iterable[Key], chosen: Callable[[int, Key, str], bool]) -> list[ParameterSet]:
    """Rows, targets and how many cases: CI asks some cases of the chosen rows, the full check all of all rows."""
    return by_size(asked(keys, chosen))


def by_size(questions: Sequence[ParameterSet]) -> list[ParameterSet]:
    """Questions and how many cases: some of each question of CI, all of all in the full check."""
    return some_in_ci(questions, SAMPLE, None)


def in_turn(at: int, _: Key, target: str) -> bool:
    """One target a row, the other one for the next row."""
    return target == TARGETS[at % 2]


def every_fourth(at: int, key: Key, target: str) -> bool:
    return at % 4 == 0 and in_turn(at // 4, key, target)


def one_of_each_style(_: int, key: Key, target: str) -> bool:
    return key in STYLES and target == "explicit"


# --- what is covered ------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_every_row_of_the_catalogue_is_asked_in_one_way() -> None:
    asked = [*ROWS, *LEFT, *NO_KERNEL]
    assert len(asked) == len(set(asked))
    assert set(asked) == set(catalogue())


@pytest.mark.ci
def test_rows_that_are_left_are_those_with_a_rule_of_their_own_but_for_expand() -> None:
    assert {key for key in catalogue() if row_of(key).style == "own"} == {*LEFT, *NO_KERNEL, ("", "Expand", 8)}


@pytest.mark.ci
@pytest.mark.parametrize("key", [*NO_KERNEL, *(key for key in ROWS if not runs_itself(key))], ids=name_of)
def test_a_row_that_is_not_run_has_no_kernel(key: Key) -> None:
    kernels = [
        kernel.version_range
        for kernel in runtime.get_all_opkernel_def()
        if (kernel.domain, kernel.op_name, kernel.provider) == (*key[:2], "CPUExecutionProvider")
    ]
    last = row_of(key).until or key[2]
    assert not any(since <= last and until >= key[2] for since, until in kernels)


@pytest.mark.ci
def test_the_scope_has_156_shapes_and_each_stands_in_each_place() -> None:
    assert len(ALL) == len(set(ALL)) == 156
    for op in ("Sub", "Where", "Max"):
        cases = next(row for key, row in ROWS.items() if key[1] == op and key[2] > 6).scope(True)
        assert len(cases) == len(set(cases)) > 12_000
        for place in range(len(cases[0].shapes)):
            assert {case.shapes[place] for case in cases} == set(ALL)


@pytest.mark.ci
def test_a_row_of_each_style_is_asked_in_full() -> None:
    styles = {(row_of(key).style, row_of(key).variadic) for key in ROWS}
    assert {(row_of(key).style, row_of(key).variadic) for key in KINDS} == styles
    assert {op for _, op, since in KINDS if since >= 7} >= {"Sub", "Pow", "Where", "Max", "PRelu", "Gemm"}


# --- rows that broadcast --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "target", "most"), asked_by_size(KINDS, one_of_each_style))
def test_the_full_scope(key: Key, target: str, most: int | None, tmp_path: Path) -> None:
    row = ROWS[key]
    no_faults(Question(key, newest(key), row, sampled(row.scope(True), most), target).ask(tmp_path))


@pytest.mark.parametrize(("key", "target", "most"), asked_by_size([key for key in ROWS if key not in KINDS], in_turn))
def test_the_smaller_scope_of_the_other_rows(key: Key, target: str, most: int | None, tmp_path: Path) -> None:
    row = ROWS[key]
    no_faults(Question(key, newest(key), row, sampled(row.scope(False), most), target).ask(tmp_path))


@pytest.mark.alike(2)
@pytest.mark.parametrize(
    ("key", "version", "target", "most"),
    by_size(
        [
            pytest.param(
                key,
                version,
                target,
                id=f"{name_of(key)}-at-{version}-{target}",
                marks=ci_or_full(one_of_each_style(at, key, target)),
            )
            for at, key in enumerate(KINDS)
            for version in forms(key)
            for target in TARGETS
        ]
    ),
)
def test_the_smaller_scope_in_other_versions(
    key: Key, version: int, target: str, most: int | None, tmp_path: Path
) -> None:
    """CI asks some cases of a row of each style, for one target; `full` all cases of each kind, for both."""
    row = ROWS[key]
    if version == 7:
        row = replace(row, keeps_sizes=partial(left_without_expand, row))
    no_faults(Question(key, version, row, sampled(row.scope(False), most), target).ask(tmp_path))


@pytest.mark.alike(2)
@pytest.mark.parametrize(
    ("key", "target", "most"), asked_by_size([key for key in ROWS if row_of(key).style != "legacy"], every_fourth)
)
def test_constant_operands(key: Key, target: str, most: int | None, tmp_path: Path) -> None:
    """Each of the operands that may change, and all of them at once; CI asks some cases of an eighth of the rows."""
    row = ROWS[key]
    for held in dict.fromkeys((*((site,) for site in row.sites), row.sites)):
        cases = [case for case in row.scope(False) if all(static(case.shapes[site]) for site in held)]
        folder = tmp_path / "_".join(map(str, held))
        folder.mkdir()
        no_faults(Question(key, newest(key), row, sampled(cases, most), target, frozenset(held)).ask(folder))


@pytest.mark.parametrize(
    ("key", "target", "most"),
    asked_by_size([key for key in KINDS if row_of(key).style != "legacy"], one_of_each_style),
)
def test_what_does_not_meet_is_refused_as_before(key: Key, target: str, most: int | None, tmp_path: Path) -> None:
    """CI asks some cases of a row of each style, for one target; `full` all cases of each kind, for both."""
    row = replace(ROWS[key], runs=anywhere)
    cases = [case for case in row.scope(False) if any(case.meets(row.recipe.rule, size) is None for size in SIZES)]
    answer = Question(key, newest(key), row, sampled(cases, most), target).ask(tmp_path)
    assert answer.status == "proved", answer.proof
    faults = list(answer.unmet())
    assert not faults, (len(faults), faults[:5])


@pytest.mark.parametrize(
    ("target", "most"),
    by_size([pytest.param(target, id=target, marks=ci_or_full(target == "explicit")) for target in TARGETS]),
)
@pytest.mark.parametrize("op", ["MatMul", "MatMulInteger16"])
def test_empty_stacks_of_matrices_that_ran_run_still(op: str, target: str, most: int | None, tmp_path: Path) -> None:
    """CI asks some cases for one target, `full` all for both."""
    key = next(key for key in ROWS if key[1] == op)
    row = replace(ROWS[key], runs=anywhere)
    cases = [case for case in row.scope(False) if min(map(len, case.shapes)) > 1]
    answer = Question(key, newest(key), row, sampled(cases, most), target).ask(tmp_path)
    assert answer.status == "proved", answer.proof
    assert not list(answer.faults())
    assert all(any(0 in sizes for sizes in case.at(size)) for case, size in answer.refused)
    assert any(0 in case.at(size)[0][-1:] for case, size in answer.ran)


# --- rows with a rule of their own ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, id=name_of(key), marks=ci_or_full(at % 6 == 0)) for at, key in enumerate([*LEFT, *NO_KERNEL])],
)
def test_a_row_with_a_rule_of_its_own_is_left_in_a_model_that_changes(key: Key, tmp_path: Path) -> None:
    left = LEFT[key] if key in LEFT else without_kernel(key)
    model = made(key, left.version, left.recipe, left.cases)
    model.graph.input.extend(
        helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x9_3_2", (3, 2)), ("x9_2", (2,)))
    )
    model.graph.node.append(helper.make_node("Add", ["x9_3_2", "x9_2"], ["sum"], name="sum"))
    model.graph.output.append(helper.make_empty_tensor_value_info("sum"))
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    before.write_bytes(model.SerializeToString())
    source = Source(model)
    expected = _results(key, left, source, range(len(left.cases)))
    assert bool(expected) == (key in LEFT)
    for target in TARGETS:
        loaded = engine.load(before)
        assert engine.fix(loaded, target=target).changed
        loaded.save(after)
        verdict = api.verify(before, after, proof="only")
        assert verdict.status == "proved", verdict.proof
        fixed = onnx.load(after)
        assert _nodes(model, key) == _nodes(fixed, key)
        names = [name for index in dict(expected) for name in result_names(left.recipe, index)]
        if Source(fixed).part(names) == source.part(names):
            continue  # a model of the same nodes, operands and versions computes the same
        found = _results(key, left, Source(fixed), {index for index, _ in expected})
        assert expected.keys() <= found.keys()
        assert all(same_bits(expected[at], found[at]) for at in expected)


def _nodes(model: onnx.ModelProto, key: Key) -> list[bytes]:
    found = [node.SerializeToString() for node in model.graph.node if (node.domain, node.op_type) == key[:2]]
    assert len(found) >= len(ALL)
    return found


def _results(key: Key, left: Left, source: Source, indices: Iterable[int]) -> Results:
    """What onnxruntime gives for the cases that it takes."""
    wanted = {index: result_names(left.recipe, index) for index in indices if key in LEFT}
    return computed(source, wanted, {size: feeds(source.model, key[1], size) for size in SIZES}) if wanted else {}
