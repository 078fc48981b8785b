"""What Vela places on an Ethos-U before and after `--target ethos-u`, and what it estimates."""

from __future__ import annotations

from pathlib import Path

import pytest
from vela_table import GROUPS, Cell, cell, measured, sources
from vela_tables.measure import ACCELERATORS, Operator, executable
from vela_tables.models import Variants, handmade

from models.builders.tflite.text import model

pytestmark = pytest.mark.vela

U55, U85 = ACCELERATORS
RISES = {
    # Above rank 5 Vela estimates that a slice reads more of a lifted operand.
    "ADD, rank 6": {U85},
    "shapes/rank_6_int8.tflite": {U55, U85},
    "shapes/rank_8_int8.tflite": {U55},
    # A TILE that repeats nothing goes, and the ADD behind it is no longer chained to it.
    "explicit/tile_int8.tflite": {U85},
}
"""Where the estimate rises though the same operators are on the NPU: docs/decisions.md has the figures."""


@pytest.fixture(scope="module")
def vela() -> Path:
    found = executable()
    assert found is not None
    return found


@pytest.mark.parametrize("share", [pytest.param(36, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("group", [pytest.param(each, marks=[pytest.mark.zoo] * (each == "zoo")) for each in GROUPS])
def test_no_operator_of_an_original_moves_to_the_cpu_and_no_estimate_rises(vela: Path, group: str, share: int) -> None:
    """Ask of one model in `share`, 36 in CI, and of each whose estimate rises."""
    models = sources(group)
    assert bool(models) == (group != "zoo")  # the day that the zoo has an int8 model it is measured too
    for at, (name, data) in enumerate(models.items()):
        if at % share and name not in RISES:
            continue
        row = measured(vela, name, data)
        assert not row.error, name
        faults = [fault for each in row.cells.values() for fault in each.faults if not fault.startswith("cycles rise")]
        assert not faults, (name, faults)
        assert {accelerator for accelerator, each in row.cells.items() if each.rise} == RISES.get(name, set()), name


@pytest.mark.ci
@pytest.mark.parametrize("op", ["ADD", "MUL", "MAXIMUM", "SQUARED_DIFFERENCE"])
def test_an_operator_with_a_run_time_scalar_comes_back_from_the_cpu(vela: Path, op: str) -> None:
    for each in measured(vela, op, handmade(f"{op}, 0-d")).cells.values():
        assert each.before.cpu == (Operator(op, "y"),)
        assert each.returned == (Operator(op, "y"),)
        assert each.difference.added == (Operator("RESHAPE", "b_lifted"),)


@pytest.mark.ci
def test_a_model_that_vela_refuses_for_its_ranks_is_compiled(vela: Path) -> None:
    for each in measured(vela, "m", handmade("ADD, rank 5, two-sided")).cells.values():
        assert "Does not have valid TFLite Semantics" in each.before.error
        assert not each.after.error
        assert not each.after.cpu


# --- planted faults ---------------------------------------------------------------------------------------------------

TILED = """
    b:int8[2,3,4] = TILE(v:int8[1,1,4], m:const:int32[3]{2,3,1})
    y:int8[2,3,4] = ADD(x:int8[2,3,4], b)
"""


def planted(vela: Path, before: str, after: str) -> list[Cell]:
    original, fixed = model(before), model(after)
    return [cell(vela, Variants(original, original, fixed), accelerator) for accelerator in ACCELERATORS]


@pytest.mark.ci
def test_a_stretch_that_vela_does_not_take_is_seen(vela: Path) -> None:
    after = TILED.replace("TILE", "BROADCAST_TO").replace("{2,3,1}", "{2,3,4}")
    for each in planted(vela, TILED, after):
        assert [*each.faults] == ["from the NPU to the CPU: TILE 'b'"]


@pytest.mark.ci
def test_an_operand_that_loses_its_rank_is_seen(vela: Path) -> None:
    before = "y:int8[2,3,4] = ADD(x:int8[2,3,4], s:int8[1,1,1])"
    for each in planted(vela, before, before.replace("1,1,1", "")):
        assert [*each.faults] == ["from the NPU to the CPU: ADD 'y'"]


@pytest.mark.ci
def test_work_that_is_added_on_the_npu_is_seen(vela: Path) -> None:
    for each in planted(vela, "y:int8[2,3,4] = ADD(x:int8[2,3,4], v:int8[1,1,4])", TILED):
        assert [fault.partition(" by ")[0] for fault in each.faults] == ["cycles rise"]


@pytest.mark.ci
def test_a_model_that_vela_refuses_after_is_seen(vela: Path) -> None:
    before = "y:int8[2,2,2,3,4] = ADD(x:int8[2,2,2,1,4], b:int8[1,1,1,3,1])"
    for each in planted(vela, before, before.replace("1,1,1,3,1", "3,1")):
        assert [fault.partition(":")[0] for fault in each.faults] == ["refused after"]


@pytest.mark.ci
def test_the_explicit_form_costs_cycles(vela: Path) -> None:
    for each in measured(vela, "m", handmade("ADD, feature map"), "explicit").cells.values():
        assert each.rise > each.bound.cycles
