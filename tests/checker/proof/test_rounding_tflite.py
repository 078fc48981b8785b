"""Kernels that compute an element otherwise by how many there are: what moves them to others is not proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.proof.proving import prove
from models.builders.tflite.text import model

if TYPE_CHECKING:
    from pathlib import Path


def _status(folder: Path, before: str, after: str) -> str:
    for name, text in (("before", before), ("after", after)):
        (folder / f"{name}.tflite").write_bytes(model(text))
    return prove(folder / "before.tflite", folder / "after.tflite", tflite=True).status


@pytest.mark.parametrize("operator", ["LOGISTIC", "HARD_SWISH", "GELU", "TANH", "ELU"])
def test_a_function_that_is_computed_in_packets_is_not_moved_behind_a_stretch(tmp_path: Path, operator: str) -> None:
    to = "const:int32[1]{9}"
    first = f"q[1] = {operator}(x[1])\ny[9] = BROADCAST_TO(q, t:{to})"
    second = f"q[9] = BROADCAST_TO(x[1], t:{to})\ny[9] = {operator}(q)"
    assert _status(tmp_path, first, second) == "not proved"
    assert _status(tmp_path, second, first) == "not proved"


def test_but_behind_unit_axes(tmp_path: Path) -> None:
    to = "const:int32[]{1}"
    first = f"q[2,3] = LOGISTIC(x[2,3])\ny[2,1,3] = EXPAND_DIMS(q, t:{to})"
    second = f"q[2,1,3] = EXPAND_DIMS(x[2,3], t:{to})\ny[2,1,3] = LOGISTIC(q)"
    assert _status(tmp_path, first, second) == "proved"


def test_int4_is_not_broadcast_by_elements(tmp_path: Path) -> None:
    first = "y:int4[1,3] = BROADCAST_TO(x:int4[3], s:const:int32[2]{1,3})"
    second = "y:int4[1,3] = RESHAPE(x:int4[3], s:const:int32[2]{1,3})"
    assert _status(tmp_path, first, second) == "not proved"
