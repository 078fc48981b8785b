"""The catalogue: every schema is in a row or reviewed, every row asked of a runtime, look-up by version."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from graphfix import operators
from graphfix.operators.onnx_reviewed import EQUAL_SHAPES_BEFORE
from graphfix.operators.row import TFLITE, Exempt, Row, Seen
from graphfix.results.runtime_facts import MEASURED
from tests.operators import test_elementwise, test_gemm, test_legacy, test_own, test_products
from tests.support.runtimes.catalogue_asked import (
    BROADCASTING,
    MICROSOFT,
    NOT_ASKED,
    NOT_BROADCASTING,
    kernels,
    newer_operators,
    schemas,
    unlike_first_seen,
    unreviewed,
)
from tests.support.runtimes.one_node import name_of

if TYPE_CHECKING:
    from tests.support.runtimes.one_node import Key

ROWS = tuple(entry for entry in operators.rows() if entry.domain != TFLITE)
ASKED = {
    *test_elementwise.QUESTIONS,
    *test_products.QUESTIONS,
    *test_gemm.GEMMS,
    *test_legacy.ASKED,
    *test_own.ASKED,
}


def test_every_operator_that_is_newer_is_in_the_catalogue() -> None:
    assert newer_operators({"onnx": "1.0", "onnxruntime": "1.0"}) <= NOT_BROADCASTING | BROADCASTING
    assert newer_operators({package: versions[-1] for package, versions in MEASURED.items()}) == set()


def test_every_schema_of_onnx_and_onnxruntime_is_in_a_row_or_reviewed() -> None:
    assert unreviewed(schemas()) == []


def test_a_new_operator_a_new_version_and_an_uncovered_version_are_noticed() -> None:
    planted: list[Key] = [("", "Add", 29), ("", "Mod", 9), ("", "NewOp", 28), (MICROSOFT, "QLinearSub", 1)]
    assert unreviewed([*planted, ("", "Add", 28), ("", "Max", 7), ("", "Abs", 1)]) == planted


def test_each_operator_of_the_catalogue_exists_since_the_version_in_which_it_was_first_seen() -> None:
    assert unlike_first_seen() == (set(), set())


def test_no_operator_is_in_both_lists() -> None:
    assert not BROADCASTING & NOT_BROADCASTING
    assert set(EQUAL_SHAPES_BEFORE) <= BROADCASTING


def test_every_row_is_asked_of_a_runtime_or_named_with_the_reason_why_not() -> None:
    catalogue = [(entry.domain, entry.op, entry.since) for entry in ROWS]
    assert len(set(catalogue)) == len(catalogue)
    assert ASKED & set(NOT_ASKED) == set()
    assert ASKED | set(NOT_ASKED) == set(catalogue)
    assert len(NOT_ASKED) == 13


@pytest.mark.parametrize("key", NOT_ASKED, ids=name_of)
def test_a_row_that_is_not_asked_has_no_kernel(key: Key) -> None:
    assert kernels(*key) == []


def test_a_row_covers_its_versions_and_both_names_of_onnx_s_domain() -> None:
    legacy, modern = operators.row("", "Add", 6), operators.row("", "Add", 7)
    assert legacy is not None
    assert modern is not None
    assert (legacy.style, modern.style) == ("legacy", "multidirectional")
    assert operators.row("ai.onnx", "Add", 22) is modern
    assert operators.row("", "Add", 10_000) is modern
    assert operators.row("", "Add", 0) is None
    assert operators.row("", "Max", 7) is None
    assert operators.row("", "Max", 8) is not None
    assert operators.row("", "Where", 8) is None
    assert operators.row("", "Relu", 14) is None
    assert operators.row("com.example", "Add", 1) is None


def test_a_row_ends_at_its_last_version_even_where_no_other_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Row("", "Gone", since=2, until=3, style="multidirectional")
    monkeypatch.setitem(operators._BY_OPERATOR, ("", "Gone"), [gone])
    assert [operators.row("", "Gone", version) for version in (1, 2, 3, 4)] == [None, gone, gone, None]


def test_versions_of_one_operator_do_not_overlap() -> None:
    spans: dict[tuple[str, str], list[tuple[int, int | None]]] = {}
    for entry in operators.rows():
        spans.setdefault((entry.domain, entry.op), []).append((entry.since, entry.until))
    for ranges in spans.values():
        ranges.sort()
        for (_, until), (since, _) in pairwise(ranges):
            assert until is not None
            assert until < since


def test_every_row_says_what_was_measured_and_own_rows_say_why_they_are_left() -> None:
    for entry in ROWS:
        assert entry.evidence, entry.op
        assert (entry.left is not None) == (entry.style == "own"), entry.op
        onto = entry.style == "unidirectional" or (entry.style == "legacy" and entry.product is None)
        assert entry.style == "own" or (entry.onto is not None) == onto, entry.op
        assert not (entry.variadic and entry.operands), entry.op


def test_what_keeps_an_operand_from_a_lift_is_not_what_keeps_it_from_a_stretch() -> None:
    for op, lifted, stretched in (
        ("LayerNormalization", "lifting", "full-size"),
        ("MatMulInteger", "its scale and zero point", "batch axes"),
    ):
        entry = operators.row("", op, 17)
        assert entry is not None
        for operand in entry.operands:
            assert operand.keep_rank is not None
            assert operand.keep_dims is not None
            assert (lifted in operand.keep_rank.reason, stretched in operand.keep_dims.reason) == (True, True), op


def test_operands_stand_in_order_and_those_of_an_own_row_are_left_for_its_reason() -> None:
    for entry in operators.rows():
        places = [operand.index for operand in entry.operands]
        assert places == sorted(set(places)), entry.op
        if entry.style == "own" and entry.op != "Einsum":
            assert {(each.keep_rank, each.keep_dims) for each in entry.operands} <= {(entry.left, entry.left)}, entry.op


def test_a_variadic_row_takes_all_operands_and_others_those_that_the_node_has() -> None:
    largest, select = operators.row("", "Max", 13), operators.row("", "Where", 16)
    assert largest is not None
    assert select is not None
    assert [operand.index for operand in largest.taking_part(4)] == [0, 1, 2, 3]
    assert [operand.index for operand in select.taking_part(3)] == [0, 1, 2]
    gemm = operators.row("", "Gemm", 13)
    assert gemm is not None
    assert gemm.taking_part(2) == (), "C is optional"


def test_the_first_exemption_of_a_chain_that_holds_gives_the_reason() -> None:
    chain = Exempt("vector", when="rank 1", also=Exempt("weight", when="constant of rank 2"))
    assert chain.holds(Seen(1, constant=True)) == "vector"
    assert chain.holds(Seen(2, constant=True)) == "weight"
    assert chain.holds(Seen(2)) is None
    assert chain.holds(Seen(3, constant=True)) is None
    assert Exempt("never touched").holds(Seen(5)) == "never touched"
    assert Exempt("one", when="one element").holds(Seen(0, one=True)) == "one"
    assert Exempt("one", when="one element").holds(Seen(0, under_ones=True)) is None
    assert Exempt("each", when="one element each").holds(Seen(0, one=True)) is None
    assert Exempt("each", when="one element each").holds(Seen(0, one=True, one_each=True)) == "each"
