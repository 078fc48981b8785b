"""Operands without elements that a CONCATENATION is rid of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix import api, formats
from graphfix.graph.edits import Replace
from models.builders.tflite.text import model
from rewrites.tosa.drop_empty_operands import plan
from tests.support.notation import node

if TYPE_CHECKING:
    from pathlib import Path

JOINED = """
subgraph main(x[3,4], z[2,4]) -> y:
a[0,4] = SLICE(x, b:const:int32[2]{0,0}, s:const:int32[2]{0,4})
e[3,4] = SLICE(x, b, t:const:int32[2]{3,4})
y[5,4] = CONCATENATION(a, e, z, axis=0)
"""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("y[4,8] = tflite.CONCATENATION(a[0,8], b[1,8], c[3,8], axis=0)", (1, 2)),
        ("y[8,4] = tflite.CONCATENATION(a[8,3], b[8,0], c[8,1], axis=1)", (0, 2)),
        ("y[3,8] = tflite.CONCATENATION(a[0,8], b[3,8], axis=0)", (1,)),
    ],
)
def test_operands_without_elements_go(text: str, kept: tuple[int, ...]) -> None:
    (edit,) = plan(node(text))
    assert isinstance(edit, Replace)
    assert edit.node.operands == kept
    assert dict(edit.node.attributes)["axis"] in (0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "y[4,8] = tflite.CONCATENATION(b[1,8], c[3,8], axis=0)",
        "y[0,8] = tflite.CONCATENATION(b[0,8], c[0,8], axis=0)",
        "y[N,8] = tflite.CONCATENATION(b[N,8], c[*], axis=0)",
    ],
    ids=["none is empty", "all are", "a size that is not known"],
)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


def test_what_is_left_is_proved_and_a_fault_in_it_is_not(tmp_path: Path) -> None:
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(JOINED))
    outcome = api.fix_file(before, after, target="tosa", only=["drop-empty-operands"])
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)
    assert [len(each.operands) for each in formats.load(after).graphs[0].nodes if each.op == "CONCATENATION"] == [2]
    for wrong in (JOINED.replace("a, e, z", "z, e"), JOINED.replace("a, e, z", "e, z, a").replace("{0,0}", "{0,1}")):
        after.write_bytes(model(wrong))
        assert api.verify(before, after, proof="only").status != "proved"


def test_a_part_that_has_elements_may_not_go(tmp_path: Path) -> None:
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(JOINED.replace("{0,4}", "{1,4}").replace("a[0,4]", "a[1,4]").replace("y[5", "y[6")))
    after.write_bytes(model(JOINED.replace("a, e, z", "e, z").replace("{0,4}", "{1,4}").replace("a[0,4]", "a[1,4]")))
    assert api.verify(before, after, proof="only").status != "proved"
