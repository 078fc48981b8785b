"""The table of docs/kernels.md, what the installed onnxruntime answers, and what the catalogue allows."""

from __future__ import annotations

import pytest

from graphfix.operators import row
from graphfix.operators.row import Operand
from tests.support.places import ROOT
from tests.support.runtimes import kernel_table
from tests.support.runtimes.kernel_cases import KERNELS, Kernel
from tests.support.runtimes.kernel_table import (
    NOTHING,
    OTHER,
    REFUSED,
    SAME,
    TRIALS,
    Cell,
    documented,
    measured,
    rows,
    treatment,
)

PAGE = documented((ROOT / "docs" / "kernels.md").read_text(encoding="utf-8"))
FEW = 6


def key_of(cell: Cell) -> tuple[str, str, str]:
    return cell.kernel.name, str(cell.operand), cell.kind


def contradictions(trials: int) -> list[str]:
    """The answers that the page denies: bits that differ, shapes that are refused or taken, against it."""
    wrong = []
    for cell in measured(trials):
        for answer, stated in zip(cell[3:], PAGE[key_of(cell)], strict=False):
            denied = {SAME: {OTHER, REFUSED}, REFUSED: {SAME, OTHER}, OTHER: {REFUSED}, NOTHING: {SAME, OTHER, REFUSED}}
            if answer in denied[stated]:
                wrong.append(f"{key_of(cell)}: {answer}, not {stated}")
    return wrong


@pytest.mark.ci
@pytest.mark.needs_release("onnxruntime>=1.31")
def test_onnxruntime_answers_as_the_page_says() -> None:
    assert contradictions(FEW) == []


@pytest.mark.full
@pytest.mark.needs_release("onnxruntime>=1.31")
def test_onnxruntime_answers_as_the_page_says_in_as_many_trials_as_made_it() -> None:
    assert contradictions(TRIALS) == []


def test_the_page_has_every_kernel_operand_and_type_and_what_the_catalogue_does() -> None:
    cells = [
        Cell(kernel, operand, kind, *(NOTHING,) * 4)
        for kernel in KERNELS
        for operand in kernel.operands
        for kind in kernel.kinds
    ]
    assert set(PAGE) == set(map(key_of, cells))
    assert [key_of(cell) for cell in cells if PAGE[key_of(cell)][4] != treatment(cell)] == []


OPERANDS = [(kernel, operand) for kernel in KERNELS for operand in kernel.operands]


def sited(kernel: Kernel, operand: int) -> Operand | None:
    """The catalogue's record of an operand; None for one that is no site."""
    entry = row(kernel.domain, kernel.op, kernel.version)
    return next((each for each in entry.operands if each.index == operand), None) if entry is not None else None


@pytest.mark.parametrize(("kernel", "operand"), OPERANDS, ids=lambda it: it.name if isinstance(it, Kernel) else str(it))
def test_what_the_catalogue_allows_changes_no_bit_of_any_type(kernel: Kernel, operand: int) -> None:
    site = sited(kernel, operand)
    for kind in kernel.kinds:
        lift, stretch, packed_lift, packed_stretch, _ = PAGE[kernel.name, str(operand), kind]
        if site is None:
            assert {stretch, packed_stretch} <= {REFUSED, NOTHING}
            continue
        if site.keep_rank is None:
            assert {lift, packed_lift} <= {SAME, NOTHING}
        if site.keep_dims is None:
            assert {stretch, packed_stretch} <= {SAME, NOTHING}


@pytest.mark.ci
def test_bits_that_differ_contradict_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_table, "same_bits", lambda *_: False)
    assert any(text.endswith("other bits, not same bits") for text in contradictions(2))


def test_types_of_one_answer_share_a_line_of_the_table() -> None:
    kernel = next(each for each in KERNELS if each.op == "QGemm")
    cells = [
        Cell(kernel, 6, kind, SAME, answer, SAME, SAME) for kind, answer in (("a", SAME), ("b", SAME), ("c", OTHER))
    ]
    assert [line.split(" | ")[2] for line in rows(cells)[2:]] == ["a, b", "c"]
