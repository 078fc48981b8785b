"""The registry of the proof's rules for TFLite operators."""

from __future__ import annotations

from collections import Counter

from graphfix.checker.proof.tflite.operators.registry import FAMILIES, OPERATORS
from graphfix.checker.proof.tflite.operators.table import STATEFUL


def test_an_operator_has_its_rules_in_one_family() -> None:
    counts = Counter(name for family in FAMILIES for name in family.OPERATORS)
    assert [name for name, count in counts.items() if count > 1] == []


def test_no_operator_with_a_state_has_rules() -> None:
    assert STATEFUL.isdisjoint(OPERATORS)


def test_no_operator_is_both_a_view_and_computed_as_integers() -> None:
    assert [name for name, rules in OPERATORS.items() if rules.view and rules.integers] == []
