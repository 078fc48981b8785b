"""`fix` of models of which XNNPACK makes a lookup table: results keep their shapes and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.tflite.fixing import fixed_file
from tests.support.tflite.lookup_tables import BROKEN, KEPT, differs

if TYPE_CHECKING:
    from pathlib import Path

TARGETS = ("explicit", "ranks", "compact")


@pytest.mark.alike(4)
@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BROKEN)
def test_no_result_changes(name: str, target: str, tmp_path: Path) -> None:
    for file in BROKEN[name].values():
        outcome, result = fixed_file(tmp_path, file, target)
        assert outcome.verdict is not None
        assert outcome.verdict.status in ("proved", "equal")
        assert not any(differs({"before": file, "after": result}).values())


@pytest.mark.alike(6)
@pytest.mark.parametrize("name", [name for name, files in BROKEN.items() if "one table" in files])
def test_a_node_of_a_table_is_left_with_the_reason(name: str, tmp_path: Path) -> None:
    outcome, _ = fixed_file(tmp_path, BROKEN[name]["one table"], "explicit")
    reasons = [site.reason or "" for site in outcome.sites]
    assert any("XNNPACK" in reason for reason in reasons), reasons


@pytest.mark.ci
@pytest.mark.parametrize("name", KEPT)
def test_where_no_rank_is_lost_operands_are_made_explicit(name: str, tmp_path: Path) -> None:
    outcome, result = fixed_file(tmp_path, KEPT[name]["one table"], "explicit")
    assert outcome.changed
    assert not any(differs({"before": KEPT[name]["one table"], "after": result}).values())
