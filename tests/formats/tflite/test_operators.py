"""The families of operators that inference knows: each operator once, by a name of the schema."""

from __future__ import annotations

from collections import Counter

from graphfix.formats.tflite.file.schema import OPERATORS as NAMES
from graphfix.formats.tflite.infer.operators import registry


def test_each_operator_stands_in_one_family() -> None:
    counts = Counter(op for family in registry.FAMILIES for op in family.OPERATORS)
    assert {op: number for op, number in counts.items() if number > 1} == {}


def test_each_name_is_an_operator_of_the_schema() -> None:
    assert set(registry.OPERATORS) - set(NAMES.values()) == set()


def test_an_operator_that_splits_has_a_rule_for_its_elements() -> None:
    splitting = {op for op, entry in registry.OPERATORS.items() if entry.splits}
    assert splitting == {"SPLIT", "SPLIT_V", "UNPACK"}
    assert splitting <= set(registry.ELEMENT_RULES)
