"""XNNPACK's lookup tables: a pair is not proved if only one file keeps a table, and the results differ by that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import graphfix
from tests.support.tflite.lookup_tables import BROKEN, KEPT, differs, of_floats

if TYPE_CHECKING:
    from pathlib import Path


def is_proved(folder: Path, before: bytes, after: bytes) -> bool:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, content in zip(paths, (before, after), strict=True):
        path.write_bytes(content)
    return graphfix.verify(*paths, proof="only").status == "proved"


@pytest.mark.alike(3)
@pytest.mark.parametrize("name", BROKEN)
def test_a_pair_of_which_one_file_breaks_a_table_is_not_proved(name: str, tmp_path: Path) -> None:
    first, *others = BROKEN[name].values()
    assert any(differs(BROKEN[name]).values())
    assert not any(is_proved(tmp_path, first, other) or is_proved(tmp_path, other, first) for other in others)


@pytest.mark.alike(3)
@pytest.mark.parametrize("name", KEPT)
def test_a_table_without_a_lost_rank_is_proved(name: str, tmp_path: Path) -> None:
    first, *others = KEPT[name].values()
    assert not any(differs(KEPT[name]).values())
    assert all(is_proved(tmp_path, first, other) for other in others)


def test_the_reason_names_the_chain(tmp_path: Path) -> None:
    first, other = of_floats("ADD", "1,1,1", 3).values()
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path, content in zip(paths, (first, other), strict=True):
        path.write_bytes(content)
    proof = graphfix.verify(*paths, proof="only").proof
    assert proof is not None
    assert "the chain of operators that XNNPACK may make a lookup table of" in str(proof["reason"])
    assert "DEQUANTIZE, ADD, QUANTIZE" in str(proof["reason"])
