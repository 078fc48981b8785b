"""The page beside the peers says what the results hold: who is best, who fails, who is absent, what does not hold."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from peers import claims, models, page, pictures, record, summary, tables
from peers.record import MIB, Cell, Quality, Results, Row, Run

from tests.support.places import ROOT

KEPT = ROOT / "docs" / "benchmarks.json"


def cell(seconds: float, mib: float = 50, failure: str = "", quality: Quality | None = None) -> Cell:
    return Cell((Run(seconds, seconds, int(mib * MIB)),), failure, 10, quality)


def row(name: str, **cells: Cell) -> Row:
    named = {key.replace("_", " "): each for key, each in cells.items()}
    return Row(name, "onnx", "zoo", 10, named, Quality(True, True, 3, 4, 9))


FAST = row("a/m.onnx", graphfix_explicit=cell(0.1, 40), onnx=cell(0.1), onnxslim=cell(1.0, 90), onnxsim=cell(0.9, 99))


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    results = Results((FAST,), {"processor": "p"}, {"onnx": "1"}, {"runs": "5"}, {"pairs": [1]})
    record.write(results, tmp_path / "r.json")
    assert record.read(tmp_path / "r.json") == results


def test_a_newer_cell_takes_the_place_of_the_older_one_and_of_no_other() -> None:
    newer = Results((row("a/m.onnx", onnxslim=cell(2.0)), row("b/m.onnx", onnx=cell(1.0))), versions={"onnxslim": "2"})
    merged = Results((FAST,), versions={"onnx": "1"}).merged(newer)
    assert [each.model for each in merged.rows] == ["a/m.onnx", "b/m.onnx"]
    assert merged.rows[0].cells == {**FAST.cells, "onnxslim": cell(2.0)}
    assert merged.versions == {"onnx": "1", "onnxslim": "2"}


def test_a_row_of_another_day_or_machine_says_which() -> None:
    known = {"day": "2026-01-02"}, {"processor": "p"}
    rows = [replace(FAST, measured=each) for each in ("2026-01-02, p", "2026-01-03, p", "")]
    for one, said in zip(rows, ("", "Measured on another day or machine: a/m.onnx (2026-01-03, p).", ""), strict=True):
        lines = page.zoo(Results((one,), known[1], {}, known[0]), "onnx")
        assert [line for line in lines if line.startswith("Measured on another")] == [said] * bool(said)


def test_what_was_not_run_in_time_is_not_said_to_run_or_not_to() -> None:
    assert tables.outcome(Quality(False, reason="its run takes longer than 120 s")) == "not run in time"
    assert tables.outcome(Quality(False, reason="its run ended by SIGABRT")) == "does not run"


def seconds_of(one: Row) -> dict[str, str]:
    (line,) = [each for each in tables.by_model([one], lambda cell: cell.seconds, tables.seconds) if one.model in each]
    heads = tables.by_model([one], lambda cell: cell.seconds, tables.seconds)[0]
    split = [[part.strip() for part in each.split("|")[1:-1]] for each in (heads, line)]
    return dict(zip(*split, strict=True))


def test_the_best_is_bold_whoever_it_is() -> None:
    assert seconds_of(FAST)["graphfix explicit"] == "**0.10 (1.0)**"
    beaten = replace(FAST, cells={**FAST.cells, "onnxoptimizer": cell(0.05)})
    assert seconds_of(beaten)["onnxoptimizer"] == "**0.05 (0.5)**"
    assert seconds_of(beaten)["graphfix explicit"] == "0.10 (1.0)"


def test_what_does_nothing_to_the_model_wins_nothing_not_by_a_tie_either() -> None:
    assert seconds_of(replace(FAST, cells={**FAST.cells, "cp": cell(0.001)}))["cp"] == "0.00 (0.0)"
    assert seconds_of(FAST)["onnx"] == "0.10 (1.0)"


def test_a_tool_that_is_absent_is_blank_and_one_that_fails_says_so() -> None:
    failed = replace(FAST, cells={**FAST.cells, "onnxslim": Cell(failure="ended by SIGSEGV")})
    assert seconds_of(failed)["polygraphy"] == ""
    assert seconds_of(failed)["onnxslim"] == "fails"
    assert "- a/m.onnx, onnxslim: fails: `ended by SIGSEGV`" in page.text(Results((failed,)))


def test_a_result_that_is_not_equal_is_never_best_and_its_reason_is_told() -> None:
    wrong = cell(1.0, quality=Quality(True, False, 0, 0, 9, "y: differs by up to 1.0e-06"))
    right = cell(1.0, quality=Quality(True, True, 1, 2, 9))
    one = row("a/m.onnx", onnxsim=wrong, graphfix_explicit=right)
    assert tables.left(wrong) is None
    assert tables.left(right) == 3
    assert "**equal, 1, 2**" in page.text(Results((one,)))
    assert "not equal, 0, 0 |" in page.text(Results((one,)))
    assert "- a/m.onnx, onnxsim: `y: differs by up to 1.0e-06`" in page.text(Results((one,)))


def test_the_summary_has_medians_and_sums() -> None:
    rows = [
        row(f"{at}.onnx", onnx=cell(1), onnxsim=cell(at, quality=Quality(True, at > 1, 1, 2, 9))) for at in (1, 2, 6)
    ]
    lines = summary.summary(rows)
    assert "| onnx | 3 of 3 | 1.00 | 1.00 | 1.00 | 50 | 0 | 0 | 0 |  |  |" in lines
    assert (
        "| onnxsim | 3 of 3 | **2.00** | **2.00** | **2.00** | **50** | **2** | 1 | 0 | **3 of 9** | **6 of 12** |"
        in lines
    )


def test_what_is_left_on_purpose_is_named() -> None:
    one = row(
        "a/m.onnx", graphfix_explicit=cell(1.0, quality=Quality(True, True, 3, 3, 9, "", {"Pow": 1, "MatMul": 2}))
    )
    assert "What target explicit leaves is 2 of MatMul, 1 of Pow." in page.text(Results((one,)))
    assert "What target explicit leaves" not in page.text(Results((FAST,)))


SLOWER = {"graphfix explicit": cell(0.2, 120)}


def test_a_claim_holds_or_the_page_says_plainly_that_it_does_not() -> None:
    assert [each.holds for each in claims.claims(Results((FAST,)))] == [
        True
    ] * 5  # nothing was measured of onnxsim's API
    slow = Results((FAST, replace(FAST, model="b/m.onnx", cells={**FAST.cells, **SLOWER})))
    found = claims.claims(slow)
    assert [each.holds for each in found] == [True, False, False, False, False]
    assert "(1 of 2 models, the most is 0.22 of its time (b/m.onnx), the median 0.17)." in page.text(slow)
    assert "**Does not hold**: at most 1.3 times onnx's own load and save" in page.text(slow)


def test_of_models_that_are_made_the_page_says_how_much_was_written() -> None:
    made = replace(FAST, group="made", cells={"onnx": replace(cell(1.0), bytes=3 * MIB)})
    lines = page.text(Results((made,))).splitlines()
    assert lines[lines.index("MiB written; what is little leaves the weights in the file that they lie in:") + 4] == (
        "| a/m.onnx |  |  |  | 3.0 |  |  |  |  |  |  |  |  |  |  |"
    )


def test_the_page_says_of_how_many_runs_a_median_is() -> None:
    thrice = replace(cell(1.0), runs=cell(1.0).runs * 3)
    assert "Seconds (one run), and how many times `onnx` that is:" in page.text(Results((FAST,)))
    assert "Seconds (medians of 3 runs), " in page.text(Results((row("a", onnx=thrice),)))
    assert "Seconds (medians of 1 to 3 runs), " in page.text(Results((row("a", onnx=thrice, onnxsim=cell(1.0)),)))


def test_a_tool_that_fails_is_not_compared_with() -> None:
    failed = replace(FAST, cells={**FAST.cells, "onnxslim": Cell(failure="ended by SIGSEGV")})
    assert not [each for each in claims.claims(Results((failed,))) if "onnxslim" in each.said]


def test_the_pictures_have_a_bar_for_each_tool_that_was_measured() -> None:
    drawn = pictures.drawings(Results((FAST,)))
    assert set(drawn) == {pictures.SECONDS, pictures.MEMORY}
    for text in drawn.values():
        bars = [each for each in ET.fromstring(text) if each.tag.endswith("rect") and each.get("class") != "b"]  # noqa: S314 -- made here
        assert len(bars) == 4


def test_the_page_and_the_pictures_say_what_is_kept() -> None:
    results = record.read(KEPT)
    assert results.rows
    assert page.PAGE.read_text(encoding="utf-8") == page.text(results)
    drawn = pictures.drawings(results)
    assert {path: (pictures.DOCS / path).read_text(encoding="utf-8") for path in drawn} == drawn


def test_a_model_that_is_not_there_is_one_line() -> None:
    with pytest.raises(models.ModelError, match=r"^no model's name holds 'nowhere'; there are "):
        models.chosen(["nowhere"], quick=False)


@pytest.mark.ci
@pytest.mark.zoo
def test_a_few_models_are_measured_by_one_command(tmp_path: Path) -> None:
    for name in ("graphfix", "peers"):
        (tmp_path / name).symlink_to(sys.prefix, target_is_directory=True)
    kept = tmp_path / "r.json"
    command = [sys.executable, ROOT / "scripts" / "bench_peers.py", "--quick", "--runs", "1", "--json", kept]
    command += [
        "--tables",
        "rewriting",
        "--envs",
        tmp_path,
        "--no-install",
        "--peers",
        "graphfix explicit",
        "onnx",
        "litert",
        "onnxslim",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    rows = {each.model: each for each in record.read(kept).rows}
    assert set(rows) == set(models.QUICK)
    for each in rows.values():
        mine = each.cells["graphfix explicit"]
        assert mine.failure == ""
        assert mine.seconds
        assert mine.quality
        assert mine.quality.equal
    nmp = rows["basic-pitch/nmp.onnx"]
    assert nmp.original
    assert nmp.original.stretched
    assert nmp.cells["graphfix explicit"].quality == Quality(True, True, 0, 0, 269)
