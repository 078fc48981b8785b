"""How a model before and after Vela is compared: names that change on the way, and what counts as worse."""

from __future__ import annotations

from vela_table import Cell, Row, page
from vela_tables.measure import SAME, Difference, Operator, Placed, compare

from models.builders.tflite.text import model

ORIGINAL = model("f[3] = DEQUANTIZE(a:const:int8[3])\nc:bool[2,3] = LESS(x[2,3], f)\ny[2,3] = ADD(x[2,3], f)")
FIXED = model(
    "f_lifted[1,3] = DEQUANTIZE(a:const:int8[1,3])\n"
    "c:bool[2,3] = LESS(x[2,3], f_lifted)\n"
    "r[2,3] = RESHAPE(x[2,3], s:const:int32[2]{2,3})\n"
    "y[2,3] = ADD(r, f_lifted)"
)
NINE = Placed(cycles=9)
CELL = Cell(2, NINE, NINE, NINE)


def placed(*operators: str) -> Placed:
    return Placed(tuple(Operator(*each.split()) for each in operators))


def test_an_operator_is_known_by_its_result_though_its_name_is_lifted_or_stored_as_int8() -> None:
    both = placed("DEQUANTIZE f", "LESS c_int8"), placed("DEQUANTIZE f_lifted", "LESS c")
    assert compare(ORIGINAL, both[0], FIXED, both[1]) == SAME


def test_what_moves_what_returns_and_what_is_new_are_told_apart() -> None:
    before, after = placed("LESS c", "SHAPE of_vela"), placed("ADD y", "RESHAPE r", "SHAPE of_vela")
    assert compare(ORIGINAL, before, FIXED, after) == Difference(
        (Operator("ADD", "y"),), (Operator("LESS", "c"),), (Operator("RESHAPE", "r"),)
    )


def test_more_cycles_are_a_fault_only_where_the_same_operators_are_in_them() -> None:
    more = Cell(2, CELL.before, CELL.bound, Placed(cycles=12))
    assert [*more.faults] == ["cycles rise by 3"]
    returned = Difference((), (Operator("ADD", "y"),), ())
    assert not [*Cell(2, CELL.before, CELL.bound, Placed(cycles=12), returned, returned).faults]


def test_a_refusal_is_a_fault_only_where_there_was_none() -> None:
    refused = Placed(error="it crashes")
    assert [*Cell(2, CELL.before, CELL.bound, refused).faults] == ["refused after: it crashes"]
    assert not [*Cell(2, refused, refused, refused).faults]


def test_every_model_is_in_the_tables() -> None:
    worse = Cell(2, CELL.before, CELL.bound, Placed(cycles=12))
    rows = [Row("same", {"u": CELL}), Row("worse", {"u": worse}), Row("no", error="it | fails")]
    lines = page({"group": rows}, "5.2.0")
    assert "| worse | 2 | 2 |  | 9 → 12 |" in lines
    assert "| no |  | it \\| fails |" in lines
    assert "Nothing changes for same." in lines
    assert lines[-1] == "- worse, u: cycles rise by 3"
