"""Sizes of a loop's state that are equal before each turn: by the body alone, or not where a turn tells them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from models.builders.tflite.text import model
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

LOOP = """
n:int32[], p[?,3], q[?,1] = WHILE(i:int32[], x[?,3], {second}, cond=test, body=turn)
subgraph test(i:int32[], x[?,3], y[?,1]) -> b:
b:bool[] = LESS(i, c:const:int32[]{{3}})
subgraph turn(i:int32[], x[?,3], y[?,1]) -> j, {left}, y:
j:int32[] = ADD(i, c:const:int32[]{{1}})
{stretch}t[?,3] = ADD(x, {operand})
{more}"""
STRETCH = "h:int32[2] = SHAPE(x, out_type=INT32)\\nu[?,3] = BROADCAST_TO(y, h)\\n"


def loop(second: str, *, stretched: bool, grows: bool) -> str:
    """Y [N,1] beside x [N,3]: a stretch by the shape of x is one of the last axis alone where both have N rows."""
    head = "s[?,1] = SUM(x[?,3], a:const:int32[1]{1}, keep_dims=True)\n" if second == "s" else ""
    body = LOOP.format(
        second=second,
        left="g" if grows else "t",
        stretch=STRETCH.replace("\\n", "\n") if stretched else "",
        operand="u" if stretched else "y",
        more="g[?,3] = CONCATENATION(t, k:const[1,3], axis=0)" if grows else "",
    )
    return head + body.lstrip("\n")


@pytest.mark.parametrize(
    ("second", "grows", "status"),
    [("s", False, "proved"), ("s", True, "not proved"), ("z[?,1]", False, "not proved")],
    ids=["one size, kept", "one that a turn adds to", "sizes of two inputs"],
)
def test_a_stretch_by_an_equal_size_is_proved_in_a_body(second: str, grows: bool, status: str, tmp_path: Path) -> None:
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path, stretched in zip(paths, (False, True), strict=True):
        path.write_bytes(model(loop(second, stretched=stretched, grows=grows)))
    assert prove(*paths, tflite=True).status == status
