"""`fix` beside LiteRT's memory planner: an operand is left where a RESHAPE of it would let a value be overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import engine
from tests.support.tflite.fixing import fixed_file
from tests.support.tflite.shared_buffers import LIFTING, SHARING, TWINS, WRITING, differs, pair, twin
from tests.support.tiers import in_turn, of_ci

if TYPE_CHECKING:
    from pathlib import Path


TARGETS = ("explicit", "ranks")


@pytest.mark.parametrize(("sharing", "writing"), in_turn(of_ci(SHARING), WRITING, share=4))
def test_the_operand_is_left_with_the_reason(sharing: str, writing: str, tmp_path: Path) -> None:
    file, _ = pair(SHARING[sharing], LIFTING["RESHAPE"], WRITING[writing])
    for target in TARGETS:
        outcome, result = fixed_file(tmp_path, file, target)
        assert outcome.verdict is None or outcome.verdict.status == "proved"
        reasons = [site.reason or "" for site in outcome.sites]
        assert any("into the buffer of 't'" in reason for reason in reasons), (target, reasons)
        assert not differs([file, result])


@pytest.mark.alike(3)
@pytest.mark.parametrize("writing", WRITING)
@pytest.mark.parametrize("sharing", SHARING)
def test_the_reason_is_known_before_any_run(sharing: str, writing: str) -> None:
    file, _ = pair(SHARING[sharing], LIFTING["RESHAPE"], WRITING[writing])
    sites = engine.fix(engine.load(file), target="ranks").sites
    assert any("into the buffer of 't'" in (site.reason or "") for site in sites)


@pytest.mark.parametrize("name", TWINS)
def test_no_reason_is_known_where_no_value_is_lost(name: str) -> None:
    file, _ = twin(name)
    outcome = engine.fix(engine.load(file), target="ranks")
    assert outcome.changed
    assert not any("into the buffer of" in (site.reason or "") for site in outcome.sites)


@pytest.mark.ci
@pytest.mark.parametrize("name", TWINS)
def test_where_no_value_is_lost_the_operand_is_lifted(name: str, tmp_path: Path) -> None:
    file, _ = twin(name)
    for target in TARGETS:
        outcome, result = fixed_file(tmp_path, file, target)
        assert not outcome.sites_left
        assert outcome.changed
        assert not differs([file, result])


@pytest.mark.ci
@pytest.mark.parametrize("target", ["compact", "tosa"])
@pytest.mark.parametrize("sharing", SHARING)
def test_no_other_target_lets_a_value_be_overwritten(sharing: str, target: str, tmp_path: Path) -> None:
    for file in pair(SHARING[sharing], LIFTING["RESHAPE"], WRITING["MUL 0"])[:1]:
        assert not differs([file, fixed_file(tmp_path, file, target)[1]])
