"""Operator codes that an edit leaves without an operator: LiteRT refuses a file for one that it has no kernel for."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from models.builders.tflite.text import model, pack
from tests.support import engine
from tests.support.checked import verify
from tests.support.runtimes.litert_runs import KERNELS, Job, run
from tests.support.tflite.fixing import fixed
from tests.support.tflite.tree import NAMES, operator_name, tree

if TYPE_CHECKING:
    from pathlib import Path

IN_DIM = "STABLEHLO_BROADCAST_IN_DIM"
STRETCHED = f"y[2,3] = {IN_DIM}(x[3], broadcast_dimensions=[1])"
NOTHING_TO_DO = f"a[2,3] = {IN_DIM}(x[2,3], broadcast_dimensions=[0,1])\n"
"""A broadcast that goes without a trace where its result is no output."""


def codes(data: bytes) -> list[tuple[str, int]]:
    return [(NAMES[code.builtinCode], code.version) for code in tree(data).operatorCodes]


def used(data: bytes) -> set[int]:
    return {operator.opcodeIndex for graph in tree(data).subgraphs for operator in graph.operators}


def with_code(data: bytes, name: str, at: int) -> bytes:
    """The file with a code that no operator has."""
    number = getattr(schema.BuiltinOperator, name)
    made, code = tree(data), schema.OperatorCodeT()
    code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
    made.operatorCodes.insert(at, code)
    for operator in made.subgraphs[0].operators:
        operator.opcodeIndex += operator.opcodeIndex >= at
    return pack(made)


STRETCHES = {
    "a new axis in front": (STRETCHED, (3,), lambda x: np.broadcast_to(x, (2, 3))),
    "a new axis behind": (
        f"y[3,2] = {IN_DIM}(x[3], broadcast_dimensions=[0])",
        (3,),
        lambda x: np.broadcast_to(x[:, None], (3, 2)),
    ),
    "a stretched axis": (
        f"y[2,3] = {IN_DIM}(x[2,1], broadcast_dimensions=[0,1])",
        (2, 1),
        lambda x: np.broadcast_to(x, (2, 3)),
    ),
    "nothing to do": (NOTHING_TO_DO + "y[2,3] = NEG(a)", (2, 3), np.negative),
    "behind another operator": (
        f"n[3] = NEG(x[3])\n{STRETCHED.replace('x[3]', 'n')}",
        (3,),
        lambda x: -x + np.zeros((2, 1)),
    ),
}


@pytest.mark.parametrize("case", STRETCHES)
def test_a_stretch_without_a_kernel_runs_after_the_fix(case: str, tmp_path: Path) -> None:
    text, shape, expected = STRETCHES[case]
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    made = fixed(text)
    before.write_bytes(made.before)
    after.write_bytes(made.data)
    x = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    jobs = [Job(path, kernels, {"x": x}) for path, kernels in product((before, after), KERNELS)]
    ran = run(jobs)
    assert all(f"'{IN_DIM}'" in each.error for each in ran[: len(KERNELS)])
    for each in ran[len(KERNELS) :]:
        assert each.fine, each
        np.testing.assert_array_equal(each.outputs[0], expected(x))
    assert verify(before, after, proof="only").status == "proved"


def test_new_codes_take_the_freed_slots_before_the_table_grows() -> None:
    found = fixed(f"n[3] = NEG(x[3])\n{STRETCHED.replace('x[3]', 'n')}\nz[2,3] = ABS(y)")
    assert codes(found.before) == [("NEG", 1), (IN_DIM, 1), ("ABS", 1)]
    after = codes(found.data)
    assert [after[0], after[2]] == [("NEG", 1), ("ABS", 1)]
    assert {after[1], after[3]} == {("RESHAPE", 1), ("TILE", 1)}
    assert used(found.data) == set(range(len(after))) == {0, 1, 2, 3}


def test_a_freed_slot_at_the_end_goes() -> None:
    found = fixed(f"n[2,3] = NEG(x[2,3])\n{NOTHING_TO_DO.replace('x[2,3]', 'n')}y[2,3] = NEG(a)")
    assert codes(found.before) == [("NEG", 1), (IN_DIM, 1)]
    assert codes(found.data) == [("NEG", 1)]


def test_a_new_code_that_no_operator_has_in_the_end_is_not_written() -> None:
    opened = engine.load(model("y[2,3] = ADD(x[2,3], b[3])"))
    engine.fix(opened)
    opened.container.code(schema.BuiltinOperator.ABS, 1)
    found = codes(opened.tobytes())
    assert (found[0], sorted(found[1:])) == (("ADD", 1), [("RESHAPE", 1), ("TILE", 1)])


def test_a_freed_slot_before_others_names_a_code_that_is_there_and_nothing_is_renumbered() -> None:
    found = fixed(NOTHING_TO_DO + "n[2,3] = NEG(a)\ny[2,3] = ABS(n)")
    assert codes(found.before) == [(IN_DIM, 1), ("NEG", 1), ("ABS", 1)]
    assert codes(found.data) == [("ABS", 1), ("NEG", 1), ("ABS", 1)]
    assert [op.opcodeIndex for op in tree(found.data).subgraphs[0].operators] == [1, 2]


@pytest.mark.parametrize("at", [0, 1])
def test_a_code_that_no_operator_had_stays_where_it_is(at: int) -> None:
    found = fixed(with_code(model(NOTHING_TO_DO + "y[2,3] = NEG(a)"), "SELECT", at))
    assert codes(found.data)[at] == ("SELECT", 1)
    assert {codes(found.data)[index] for index in used(found.data)} == {("NEG", 1)}
    assert IN_DIM not in dict(codes(found.data))


def test_a_code_that_no_operator_had_stays_at_the_end() -> None:
    found = fixed(with_code(model(STRETCHED), IN_DIM, 1))
    after = codes(found.data)
    assert after[1] == (IN_DIM, 1)
    assert {after[0], after[2]} == {("RESHAPE", 1), ("TILE", 1)}


def test_a_code_stays_for_an_operator_of_another_subgraph() -> None:
    main = "b[2,3] = BROADCAST_TO(x[2,3], t:const:int32[2]{2,3})\ny[2,3] = NEG(b)\n"
    sizes_of_a_run = "subgraph other:\nz[2,3] = BROADCAST_TO(x[1,3], s:int32[2])"
    found = fixed(main + sizes_of_a_run, target="ranks")
    alone = fixed(main, target="ranks")
    assert [name for name, _ in codes(alone.data)] == ["NEG", "NEG"]
    after = tree(found.data)
    assert codes(found.data) == codes(found.before)
    assert operator_name(after, after.subgraphs[1].operators[0]) == "BROADCAST_TO"
    assert [operator_name(after, operator) for operator in after.subgraphs[0].operators] == ["NEG"]


FORMS = {
    "SELECT": "y[2,3] = SELECT(c:bool[2], a[2,3], b[2,3])",
    "POW": "y[2,3] = POW(x[2,3], e:const[]{2.0})",
    "SHAPE": "s:int32[2] = SHAPE(x[2,3], out_type=INT32)\ny[2,3] = BROADCAST_TO(b[1,3], s)",
}


@pytest.mark.parametrize("name", FORMS)
def test_what_target_tosa_replaced_is_asked_for_no_more(name: str) -> None:
    found = fixed(FORMS[name], target="tosa")
    assert name in dict(codes(found.before))
    assert name not in dict(codes(found.data))


def test_codes_are_counted_again_after_a_second_round_of_edits() -> None:
    opened = engine.load(model(NOTHING_TO_DO + "y[2,3] = SELECT(c:bool[2], a, b[2,3])"))
    engine.fix(opened, target="explicit")
    assert codes(opened.tobytes()) == [("SELECT", 1), ("SELECT", 1)]
    engine.fix(opened, target="tosa")
    assert sorted(codes(opened.tobytes())) == [("RESHAPE", 1), ("SELECT_V2", 1)]


def test_a_code_that_is_kept_comes_out_as_it_went_in() -> None:
    """An old converter's has its number in the old field alone: written anew it would have it in both."""
    made = tree(model(NOTHING_TO_DO + "y[2,3] = NEG(a)"))
    made.operatorCodes[1].builtinCode = 0
    found = fixed(pack(made))
    assert [(code.deprecatedBuiltinCode, code.builtinCode) for code in found.tree.operatorCodes] == [(59, 0), (59, 0)]
