"""The benchmark of inference: its arithmetic, its tables, and that it shows what is slower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import bench_inference
import onnx
import pytest
from inference_bench import cases as inference_cases
from inference_bench import models as inference_models
from inference_bench import table as inference_table
from inference_bench.table import AGAIN, ORIGINAL, Cell, Row
from tosa_tables.zoo import Case

from graphfix.targets.registry import TARGETS
from tests.support.notation import model
from tests.support.places import MODELS

SMALL = MODELS / "rfc" / "dynamic_2d_same.onnx"


def test_what_slows_a_whole_round_down_is_no_difference() -> None:
    times = {ORIGINAL: [1.0, 10.0, 1.0], "a": [2.0, 20.0, 2.0], "b": [1.0, 10.0, 9.0]}
    assert inference_table.ratio(times, "a") == 2.0
    assert inference_table.ratio(times, "b") == 1.0


def test_each_follows_each_other_one_in_some_round() -> None:
    names = ["a", "b", "c"]
    orders = [inference_table.order(names, turn) for turn in range(6)]
    assert all(sorted(each) == names for each in orders)
    assert {pair for each in orders for pair in pairwise(each)} == {
        (one, other) for one in names for other in names if one != other
    }
    assert {each[0] for each in orders} == set(names)


@pytest.mark.ci
def test_a_planted_slow_variant_is_shown_as_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of its own, which no busy machine delays."""
    clock = [0.0]
    monkeypatch.setattr(bench_inference.time, "perf_counter", lambda: clock[0])

    def lasting(seconds: float) -> Callable[[], None]:
        return lambda: clock.__setitem__(0, clock[0] + seconds)

    times = bench_inference.interleaved({ORIGINAL: lasting(0.002), AGAIN: lasting(0.002), "slow": lasting(0.006)}, 5)
    assert inference_table.ratio(times, "slow") == pytest.approx(3)
    assert inference_table.ratio(times, AGAIN) == pytest.approx(1)


@pytest.mark.ci
def test_a_model_with_more_operators_is_slower_and_one_that_is_broken_is_a_cell(tmp_path: Path) -> None:
    lines = [f"x{at + 1}[400,400] = Tan(x{at}[400,400])" for at in range(12)]
    files = {ORIGINAL: tmp_path / "m.onnx", "slow": tmp_path / "s.onnx", "broken": tmp_path / "b.onnx"}
    onnx.save(model("\n".join(lines[:1])), files[ORIGINAL])
    onnx.save(model("\n".join(lines)), files["slow"])
    files["broken"].write_bytes(b"no model")
    row = bench_inference.measured("m", files, Case(), 3)
    assert row.cells["slow"].operators == "+11 Tan"
    assert (row.cells["slow"].time or 0) > 3
    assert 0.5 < (row.cells["slow"].memory or 0) < 2
    assert row.cells["broken"].error.startswith("does not run: ")


@pytest.mark.ci
def test_memory_is_that_of_the_model_alone_and_not_of_the_one_that_asks(tmp_path: Path) -> None:
    small, large = tmp_path / "small.onnx", tmp_path / "large.onnx"
    onnx.save(model("y[4,1] = Abs(x[4,1])"), small)
    onnx.save(model("y[4000,6000] = Expand(x[4000,1], to:const{4000,6000})"), large)
    held = bytearray(400_000_000)  # this process has more than either
    found = [inference_models.peak(path, Case()) for path in (small, large)]
    assert found[0] < len(held) // 1024
    assert found[1] - found[0] > 80_000


def test_an_original_that_does_not_run_is_a_row_that_says_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    row = bench_inference.bench(broken, ["ranks"], 1)
    assert row.error.startswith("does not run: ")
    assert row.cells["ranks"].error.startswith("not fixed: ")
    assert "does not run" in "\n".join(inference_table.table([row], ["ranks"]))


@pytest.mark.ci
@pytest.mark.parametrize("path", [SMALL, MODELS / "rfc_rank_expansion.tflite"], ids=["onnx", "tflite"])
def test_a_model_of_either_format_is_fixed_and_measured(path: Path) -> None:
    row = bench_inference.bench(path, ["ranks", "explicit"], 2)
    assert not row.error
    assert [row.cells[name].error for name in ("ranks", "explicit")] == ["", ""]
    assert all((row.cells[name].time or 0) > 0 for name in ("ranks", "explicit"))


def test_differences_are_listed_with_what_is_lost_first() -> None:
    before, after = Counter({"Gelu": 2, "Add": 1}), Counter({"Add": 3, "Erf": 2, "Mul": 0})
    assert inference_table.difference(before, after) == "-2 Gelu, +2 Add, +2 Erf"
    assert inference_table.difference(before, before) == ""


def test_the_table_ends_with_the_median_and_the_worst() -> None:
    rows = [
        Row("a", 1.0, 0.8, {"ranks": Cell(1.0, 1.0, "-1 Gelu")}, "2 fold-broadcasts"),
        Row("b", 2.0, 1.1, {"ranks": Cell(3.0, 1.5)}),
        Row("c", 0, 1, error="does not run"),
    ]
    lines = inference_table.table(rows, ["ranks"])
    assert lines[2:] == [
        "| a | 1.00 | 0.80 | 1.00 | 1.00 | -1 Gelu | 2 fold-broadcasts |",
        "| b | 2.00 | 1.10 | 3.00 | 1.50 |  | - |",
        "| c | does not run |  |  |  |  |  |",
        "| **median** of 2 |  | 0.95 | 2.00 | 1.25 |  |  |",
        "| **worst** of 2 |  | 1.25 | 3.00 | 1.50 |  |  |",
    ]
    assert len({line.count("|") for line in lines}) == 1
    assert inference_table.worst(rows, ["ranks"]) == "ranks 3.00 (b); original / original 1.25"


def test_a_table_is_written_between_its_markers_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "targets.md"
    inference_table.write(page, "onnx", "old")
    page.write_text(f"# Targets\n\n{page.read_text()}\nthe end\n")
    inference_table.write(page, "tflite", "other")
    inference_table.write(page, "onnx", "new")
    assert page.read_text() == (
        "# Targets\n\n<!-- bench_inference onnx -->\nnew\n<!-- end -->\n\nthe end\n"
        "\n<!-- bench_inference tflite -->\nother\n<!-- end -->\n"
    )


def test_a_target_that_there_is_not_is_an_error_that_names_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["bench_inference.py", "--models", str(SMALL), "--variants", "ranks,onnxruntim", "--rounds", "1"]
    monkeypatch.setattr("sys.argv", asked)
    with pytest.raises(SystemExit) as stopped:
        bench_inference.main()
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.out) == (2, "")
    assert f"no target 'onnxruntim'; there are {', '.join(TARGETS)}" in printed.err


@pytest.mark.ci
def test_the_targets_that_are_asked_for_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["bench_inference.py", "--models", str(SMALL), "--variants", "ranks,ethos-u", "--rounds", "1"]
    monkeypatch.setattr("sys.argv", asked)
    assert bench_inference.main() == 0
    printed = capsys.readouterr().out
    assert "ranks: time" in printed
    assert "ethos-u: time" in printed
    assert "compact: time" not in printed


def test_patterns_choose_models_of_the_zoo_and_other_files() -> None:
    names = [path.name for path in inference_cases.zoo(["nmp*.onnx", str(SMALL)])]
    assert names == ["nmp.onnx", SMALL.name]
    assert len(list(inference_cases.zoo([]))) > 30


def test_exported_models_that_hold_a_redundant_stretch_are_found_and_fed_what_they_take() -> None:
    names = ["senet_*.onnx", "gemma_batch.tflite", "resnet_legacy.onnx"]
    found = {path.name: path for path in inference_cases.redundant(names)}
    assert list(found) == ["gemma_batch.tflite", "senet_dynamo.onnx", "senet_legacy.onnx"]
    case = inference_cases.case_of(found["senet_legacy.onnx"])
    assert all(int(size) > 1 for size in case.shapes["image"].split(","))
    inference_models.load(found["senet_legacy.onnx"], case).run()
