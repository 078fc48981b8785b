"""What a graph optimizer makes of explicit forms: part of them is undone, and `check` says so."""

from __future__ import annotations

from pathlib import Path

import onnxslim
import pytest

import graphfix
from tests.support.fixed_files import FixedFiles
from tests.support.places import zoo_paths

CLASSIFIER = [path for path in zoo_paths("onnx") if "cls_mobile" in path.name]
"""A classifier of text lines with free sizes, whose SE blocks multiply [N,C,1,1] by [N,C,H,W]."""


def found(path: Path) -> list[str]:
    return [site.code for site in graphfix.check(path).sites if site.status == "found"]


def test_the_zoo_has_the_model() -> None:
    assert len(CLASSIFIER) == 1


@pytest.mark.ci
@pytest.mark.zoo
@pytest.mark.parametrize("path", CLASSIFIER)
def test_an_optimizer_behind_graphfix_undoes_part_of_it_and_check_says_so(
    path: Path, fixed: FixedFiles, tmp_path: Path
) -> None:
    explicit, _ = fixed(path, "explicit")
    assert found(explicit) == []
    slimmed = tmp_path / "slimmed.onnx"
    onnxslim.slim(str(explicit), str(slimmed))
    undone = found(slimmed)
    assert len(undone) > 20
    assert set(undone) <= {"GF101", "GF102", "GF103"}
    again = tmp_path / "again.onnx"
    graphfix.fix_file(slimmed, again, check_result=False)
    assert found(again) == []
