"""The registry of ONNX's rules: every table of a family is in it, and no operator is in two families."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest

from graphfix.formats.onnx.infer import operators as families
from graphfix.formats.onnx.infer.operators import registry
from graphfix.formats.onnx.schemas import newest, schema

MODULES = [import_module(f"{families.__name__}.{each.name}") for each in iter_modules(families.__path__)]
FAMILIES = [module for module in MODULES if module is not registry]
MERGED: Mapping[str, Mapping[str, object]] = {
    "SHAPES": {op: rule for (domain, op), rule in registry.SHAPES.items() if not domain},
    "BY_STYLE": registry.BY_STYLE,
    "INTEGERS": registry.INTEGERS,
    "BOUNDS": registry.BOUNDS,
}


def unmerged(table: str, modules: list[ModuleType]) -> list[str]:
    """The operators whose rule in a family's table is not the one in the registry."""
    rows = [row for module in modules for row in getattr(module, table, {}).items()]
    return [op for op, rule in rows if MERGED[table].get(op) is not rule]


@pytest.mark.parametrize("table", MERGED)
def test_every_rule_of_a_family_is_the_one_in_the_registry(table: str) -> None:
    assert unmerged(table, FAMILIES) == []
    assert sum(len(getattr(module, table, {})) for module in FAMILIES) == len(MERGED[table])


def test_a_second_rule_of_an_operator_is_seen() -> None:
    second = ModuleType("second")
    second.__dict__["SHAPES"] = {"Slice": lambda _: ()}
    assert unmerged("SHAPES", [second]) == ["Slice"]


@pytest.mark.parametrize("table", ["SHAPES", "INTEGERS", "BOUNDS"])
def test_every_rule_is_one_of_a_standard_operator(table: str) -> None:
    versions = range(1, newest() + 1)
    assert [op for op in MERGED[table] if all(schema(op, "", version) is None for version in versions)] == []


def test_the_tables_of_all_families_are_merged() -> None:
    for table in ("SHAPES", "BY_STYLE", "INTEGERS", "BOUNDS"):
        rows = [row for module in FAMILIES for row in getattr(module, table, {}).items()]
        assert registry._merged(table) == dict(rows)
    assert registry._merged("NO_SUCH_TABLE") == {}
