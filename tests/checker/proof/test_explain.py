"""Reasons of notes that are made by hand: operands that are not given, of unknown rank, and nodes that have no note."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.checker.proof.core.indexing_maps import Note
from graphfix.checker.proof.core.result import Proof
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import Core, ProofValue
from graphfix.checker.proof.neutral.explain import Notes, difference, explained, isolated, not_a_view, producer_phrase

UNKNOWN = "what its bodies return or declare, how many results it has, or its way of computing is another"


def value(kind: str, name: str, sizes: tuple[int, ...] | None = (2, 3), number: int = 0) -> ProofValue:
    core = Core((kind, name), number, f"{kind} {name!r}", must_match=False)
    core.sizes = sizes
    return ProofValue(core, None if sizes is None else tuple(range(len(sizes))), sizes)


X, UNRANKED, RESULT = value("input", "x"), value("input", "u", None), value("Neg", "n", number=7)
NOTE = Note("main", "Neg#0", "Neg#0", "Neg", (("x", ""), ("y",)), (X, None), (RESULT,), {}, None)


def test_an_operand_that_is_not_given_is_printed_as_one_of_unknown_rank() -> None:
    moved = replace(NOTE, op="Reshape", names=(("x", "", "u"), ("y",)), operands=(X, None, UNRANKED))
    assert not_a_view(moved) == "it is not known to add, drop or stretch unit axes alone (x[2, 3], [*], u[*])"
    assert not_a_view(NOTE) is None


def test_small_vectors_are_printed_with_their_elements() -> None:
    target = value("integers", "int64", (2,))
    target.core.content = (1, -1)
    moved = replace(NOTE, op="Expand", names=(("x", "s"), ("y",)), operands=(X, target))
    assert (not_a_view(moved) or "").endswith("(x[2, 3], s = [1, -1])")


def test_a_result_that_is_not_read_has_no_map_to_compare() -> None:
    unread = replace(NOTE, results=(None,))
    assert difference(unread, unread) == UNKNOWN
    assert difference(replace(NOTE, results=()), NOTE) == UNKNOWN


OPERANDS = {
    "given before only": ((X, None), "operand 0 is given before only", (None, None)),
    "of another rank": ((X,), "1 operands are given before, 2 after", (X, None)),
    "another value": (
        (X, None),
        "operand 0 is another value: input 'x' before, a result of Neg 'n' after",
        (RESULT, None),
    ),
    "swapped": ((X, RESULT), "operands 0 and 1 are swapped", (RESULT, X)),
    "stretched": (
        (X, None),
        "operand 0 is stretched by another shape, or along other axes",
        (ProofValue(X.core, (None, 1), X.sizes), None),
    ),
    "of an unknown rank": (
        (X, None),
        "operand 0 has another shape: [2, 3] before, [*] after",
        (ProofValue(X.core, None, None), None),
    ),
}


@pytest.mark.parametrize(("before", "reason", "after"), OPERANDS.values(), ids=OPERANDS)
def test_operands_are_compared(
    before: tuple[ProofValue | None, ...], reason: str, after: tuple[ProofValue | None, ...]
) -> None:
    assert difference(replace(NOTE, operands=before), replace(NOTE, operands=after)) == reason


def test_another_operator_is_a_reason_if_it_reads_the_same_values() -> None:
    other = replace(NOTE, op="Abs")
    assert difference(NOTE, other) == "the operator is Neg before, Abs after"
    assert difference(NOTE, replace(other, operands=(RESULT, None))) is None


PARTS = {
    "given before only": ({"a": (1, "1")}, {}, "a is given before only (1)"),
    "given after only": ({}, {"a": (1, "1")}, "a is given after only (1)"),
    "of other values": ({"a": (1, "1")}, {"a": (2, "2")}, "a is another: 1 before, 2 after"),
    "of values that print the same": ({"a": (1, "a tensor")}, {"a": (2, "a tensor")}, "a is another"),
    "of one value": ({"a": (1, "1")}, {"a": (1, "1")}, UNKNOWN),
}


@pytest.mark.parametrize(("before", "after", "reason"), PARTS.values(), ids=PARTS)
def test_parts_are_compared(
    before: dict[str, tuple[object, str]], after: dict[str, tuple[object, str]], reason: str
) -> None:
    assert difference(replace(NOTE, parts=before), replace(NOTE, parts=after)) == reason


@pytest.mark.parametrize("cores", [(None, None), (7, None), (None, 7), (8, 9)])
def test_a_node_without_a_note_leaves_the_reason_as_it_is(cores: tuple[int | None, int | None]) -> None:
    notes = Notes(makers={7: NOTE})
    found = explained(Proof("not proved", "no match", cores=cores), notes)
    assert found.reason == "no match"
    assert [node is not None for node in found.nodes] == [core == 7 for core in cores]


def test_a_second_node_that_moves_elements_is_explained_alone() -> None:
    notes = Notes(makers={7: replace(NOTE, op="Reshape", names=(("x",), ("y",)), operands=(X,))})
    found = explained(Proof("not proved", "no match", cores=(None, 7)), notes)
    assert found.reason == "no match: it is not known to add, drop or stretch unit axes alone (x[2, 3])"


def test_each_operand_is_isolated_but_for_one_that_is_not_given() -> None:
    _, views = isolated(Algebra(), [X, None, UNRANKED])
    assert [view and (view.core.key, view.axes, view.sizes) for view in views] == [
        (("operand", 0), (0, 1), (2, 3)),
        None,
        (("operand", 2), None, None),
    ]


def test_notes_are_taken_of_the_cores_that_are_asked_for_and_were_not_there_before() -> None:
    notes = Notes(frozenset({7}))
    notes.take([None, RESULT, X], 7, lambda: NOTE)
    assert notes.makers == {7: NOTE}
    notes.take([RESULT], 7, lambda: replace(NOTE, op="Abs"))
    assert notes.makers == {7: NOTE}, "the first node is kept"
    late = Notes(frozenset({7}))
    late.take([RESULT], 8, lambda: NOTE)
    assert late.makers == {}


def test_without_a_choice_notes_of_nodes_that_broadcast_are_taken() -> None:
    notes = Notes()
    notes.take([RESULT], 0, lambda: NOTE)
    assert notes.taken == []
    broadcast = replace(NOTE, isolated=RESULT.core)
    notes.take([RESULT], 0, lambda: broadcast)
    assert notes.taken == [broadcast]
    notes.forget(0)
    assert notes.taken == []


def test_a_value_is_named_by_what_gives_it() -> None:
    assert producer_phrase(X) == "input 'x'"
    assert producer_phrase(value("constant", "c")) == "the constant \"constant 'c'\""
    assert producer_phrase(RESULT) == "a result of Neg 'n'"
