"""What a form leaves out of a value: the value alone where no rule looks into its term, and nothing else."""

from __future__ import annotations

from itertools import count

import pytest
from onnx import TensorProto

from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import Core, ProofValue, TermTable
from graphfix.checker.proof.onnx.reading.node_memo import NodeMemo, ValueForm, _entry_of, _is_literal

FLOAT = TensorProto.FLOAT
NUMBERS = count()


def made(*key: object, dtype: int | None = FLOAT, sizes: tuple[int, ...] | None = (2, 3)) -> ProofValue:
    core = Core(key, next(NUMBERS), str(key), must_match=False)
    core.sizes, core.dtype = sizes, dtype
    return ProofValue(core, None if sizes is None else tuple(range(len(sizes))), sizes)


@pytest.fixture
def alike() -> NodeMemo:
    return NodeMemo(TermTable(Algebra()), {}, set(), stores_entries=True)


@pytest.mark.parametrize("kind", ["input", "parameter", "whole", "product", "gemm"])
def test_values_whose_terms_no_rule_looks_into_have_one_form(alike: NodeMemo, kind: str) -> None:
    one, two = alike._form(made(kind, "a")), alike._form(made(kind, "b"))
    assert one is two
    assert one is not None
    assert one.core_or_is_constant is False


@pytest.mark.parametrize("kind", ["Loop", "selected", "sequence"])
def test_a_value_of_any_other_term_has_a_form_of_its_own(alike: NodeMemo, kind: str) -> None:
    views = [made(kind, "input"), made(kind, "input")]
    forms = [alike._form(view) for view in views]
    assert [form and form.core_or_is_constant for form in forms] == [view.core for view in views]


@pytest.mark.parametrize("other", [made("input", "b", dtype=TensorProto.INT64), made("input", "b", sizes=(2, 1))])
def test_another_type_or_shape_is_another_form(alike: NodeMemo, other: ProofValue) -> None:
    assert alike._form(made("input", "a")) is not alike._form(other)


@pytest.mark.parametrize("view", [made("input", "a", dtype=None), made("input", "a", sizes=None)])
def test_without_a_type_or_a_rank_there_is_no_form(alike: NodeMemo, view: ProofValue) -> None:
    assert alike._form(view) is None


def form(held: Core | bool) -> ValueForm:
    return ValueForm((0, 1), (2, 3), (2, 3), FLOAT, held)


def test_a_constant_is_literal_and_a_value_is_not() -> None:
    content = made("integers", "int64")
    content.core.content = (1, 2)
    assert _is_literal(form(made("constant", "float32").core))
    assert _is_literal(form(content.core))
    assert not _is_literal(form(made("input", "constant").core))
    assert _is_literal(form(True))
    assert not _is_literal(form(False))


def test_what_is_read_exactly_is_not_kept_for_the_same_operands() -> None:
    """It counts whether the file holds the operands too, which the second file may not do."""
    operand = made("Loop", "a")
    forms, cores = [form(operand.core)], (operand.core,)
    exact, other = made("whole", "b"), made("each", "whole")
    assert _entry_of("Neg", forms, cores, exact, form(False)) is None
    told = _entry_of("Neg", forms, cores, other, form(False))
    assert told is not None
    assert told.view is other


def test_a_view_of_a_value_is_kept_as_a_view_of_the_operand() -> None:
    operand, target = made("input", "a"), made("constant", "int64")
    forms = [form(False), form(target.core)]
    seen = ProofValue(operand.core, (None, 0, 1), (1, 2, 3))
    told = _entry_of("Reshape", forms, (operand.core, target.core), seen, form(False))
    assert told is not None
    assert (told.operand, told.nest, told.view) == (0, None, None)


def test_a_move_by_a_computed_operand_or_to_another_value_is_not_kept() -> None:
    operand, target = made("input", "a"), made("input", "t")
    cores = operand.core, target.core
    assert _entry_of("Reshape", [form(False), form(False)], cores, operand, form(False)) is None
    assert _entry_of("Reshape", [form(False), form(target.core)], cores, made("input", "c"), form(False)) is None


def test_a_result_beside_a_neutral_constant_is_kept_as_its_operand() -> None:
    neutral, operand = made("constant", "float32"), made("input", "a")
    told = _entry_of("Mul", [form(True), form(False)], (neutral.core, operand.core), operand, form(False))
    assert told is not None
    assert told.operand == 1
