"""What the count of instructions counts."""

from __future__ import annotations

from pathlib import Path

import bench_instructions
import checkouts
import pytest

from tests.support.places import MODELS

FOLDER = MODELS / "rfc"
SMALL, LARGE = FOLDER / "dynamic_2d_same.onnx", MODELS / "exported" / "resnet_legacy.onnx"


@pytest.mark.ci
def test_a_model_takes_the_same_count_each_time_and_a_larger_one_more() -> None:
    once, again, larger = [bench_instructions.counted(checkouts.HERE, [path]) for path in (SMALL, SMALL, LARGE)]
    assert once == again
    assert 1000 < once[str(SMALL)] < larger[str(LARGE)]


def test_a_broken_model_is_left_out(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    assert bench_instructions.counted(checkouts.HERE, [broken]) == {}


def test_the_largest_quotient_comes_first() -> None:
    lines = bench_instructions.table({"before": {"a": 100, "b": 100}, "after": {"a": 110, "b": 150}})
    assert lines[2:] == [
        "| b | 100 | 150 | 1.50 |",
        "| a | 100 | 110 | 1.10 |",
        "2 models: median 1.30, sum 1.30, largest 1.50",
    ]


@pytest.mark.parametrize("given", [[str(FOLDER)], [str(SMALL)]])
def test_files_and_folders_are_taken(given: list[str]) -> None:
    assert SMALL in bench_instructions.models(given)
