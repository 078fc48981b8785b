"""The table of the verifiers: what each one's answer is read as, and whether it is called right or wrong."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import onnx
import pytest
from peers.clock import Ended, ran
from peers.record import Results, Run
from peers.record import read as read_results
from peers.record import write as write_results
from peers.verifying import answers, picture, record, section, sums
from peers.verifying.faults import FAULTS, KINDS
from peers.verifying.inputs import Inputs
from peers.verifying.record import (
    APART,
    DIFFERENT,
    EQUAL,
    FAILED,
    NOT_RUN,
    OTHER_BITS,
    PROVED,
    SAME,
    UNDECIDED,
    Answer,
    Pair,
    Verification,
    Witness,
)
from peers.verifying.verifiers import BOTH, NAMED, PROOF, VERIFIERS, Files

from tests.support.notation import model

NOTHING = Run(0.0, 0.0, 0)


def ended(said: str, status: int = 0, blamed: str = "") -> Ended:
    return Ended(NOTHING, status, said, blamed)


def read(name: str, said: str, status: int = 0, blamed: str = "") -> tuple[str, str]:
    answer = answers.answered(ended(said, status, blamed), NAMED[name].read, 60)
    return answer.word, answer.reason


def verdict(status: str, reason: str | None = None, proof: str | None = None) -> str:
    return json.dumps({"verdict": {"status": status, "reason": reason, "proof": {"reason": proof}}}, indent=2)


@pytest.mark.parametrize("name", [PROOF, BOTH])
@pytest.mark.parametrize(
    ("said", "status", "answer"),
    [
        (verdict("proved", "nothing was run"), 0, (PROVED, "")),
        (verdict("equal", None, "no match"), 0, (EQUAL, "no match")),
        (verdict("different", "y differs", "no match"), 1, (DIFFERENT, "y differs")),
        (verdict("contradicted", "a size"), 1, (DIFFERENT, "a size")),
        (verdict("undecided", "nothing was run", "no match"), 3, (UNDECIDED, "no match")),
        (verdict("proved"), 1, (FAILED, '"verdict": {')),
        (verdict("different"), 0, (FAILED, '"verdict": {')),
        (verdict("undecided"), 0, (FAILED, '"verdict": {')),
    ],
)
def test_graphfix_is_believed_where_its_document_and_its_status_agree(
    name: str, said: str, status: int, answer: tuple[str, str]
) -> None:
    word, reason = read(name, said, status)
    assert word == answer[0]
    if word != FAILED:
        assert reason == answer[1]


def test_graphfix_that_refuses_a_file_has_failed_with_its_own_line() -> None:
    assert read(PROOF, "", 2, "graphfix: m.onnx: no ONNX model") == (FAILED, "graphfix: m.onnx: no ONNX model")


@pytest.mark.parametrize(
    ("said", "status", "word"),
    [
        ('{"status": "equal", "reason": null}', 0, EQUAL),
        ('{"status": "different", "reason": "y"}', 0, DIFFERENT),
        ('{"status": "undecided", "reason": "y"}', 0, UNDECIDED),
        ('{"status": "equal", "reason": null}', 1, FAILED),
        ("", 0, FAILED),
    ],
)
def test_what_graphfix_says_of_the_runs_alone(said: str, status: int, word: str) -> None:
    assert read("graphfix runs", said, status)[0] == word


DOUBT = "found (no input_ranges given, so)"


def report(ok: bool, *windows: tuple[str, str]) -> str:
    said = {
        "ok": ok,
        "outputs": ["proved-smt", "proved-structural"],
        "windows": windows,
        "hint": "no input_ranges given",
    }
    return f"a line before\n{json.dumps(said)}"


@pytest.mark.parametrize(
    ("said", "status", "answer"),
    [
        (report(True), 0, (PROVED, "proved-smt, proved-structural")),
        (report(False, ("skipped", "input a ~ a: unsupported op If; no range")), 0, (UNDECIDED, "unsupported op If")),
        (report(False, ("refuted", "solver found an input")), 0, (DIFFERENT, "solver found an input")),
        (report(False, ("refuted", DOUBT)), 0, (UNDECIDED, DOUBT)),
        (report(False, ("refuted", DOUBT), ("refuted", "here")), 0, (DIFFERENT, DOUBT)),
        (report(True), 1, (FAILED, report(True).splitlines()[-1][:160])),
    ],
    ids=["proved", "skipped", "refuted", "refuted for huge inputs alone", "refuted for others too", "not ended well"],
)  # fmt: skip
def test_certify_is_undecided_where_it_skips_or_doubts(said: str, status: int, answer: tuple[str, str]) -> None:
    assert read("onnxsim certify", said, status) == answer


SUMMARY = "[I] Accuracy Summary | onnxrt-runner-1 vs. onnxrt-runner-2 | Passed: {} iterations | Pass Rate: 1"
APART_LINE = "[E]     FAILED | Output: 'y' | Difference exceeds tolerance (rel=0, abs=0)"


@pytest.mark.parametrize("name", ["polygraphy", "polygraphy exact"])
@pytest.mark.parametrize(
    ("said", "status", "answer"),
    [
        (SUMMARY.format("1/1"), 0, (EQUAL, "")),
        (f"{APART_LINE}\n{SUMMARY.format('0/1')}", 1, (DIFFERENT, APART_LINE.partition("FAILED | ")[2])),
        (f"{SUMMARY.format('1/1')}\n{APART_LINE}", 1, (DIFFERENT, APART_LINE.partition("FAILED | ")[2])),
        (SUMMARY.format("0/0"), 0, (FAILED, SUMMARY.format("0/0"))),
        ("[I] PASSED | Runtime: 0.2s", 0, (FAILED, "[I] PASSED | Runtime: 0.2s")),
        ("[!] Input tensor: x | Cannot reuse\n[E] FAILED | Runtime", 1, (FAILED, "[!] Input tensor: x | Cannot reuse")),
    ],
    ids=["all passed", "none passed", "passed, but the status is 1", "nothing compared", "no summary", "an error"],
)  # fmt: skip
def test_polygraphy_says_equal_where_it_compared_something(
    name: str, said: str, status: int, answer: tuple[str, str]
) -> None:
    assert read(name, said, status) == answer


def test_the_check_of_onnxsim_is_what_its_function_returns() -> None:
    assert read("onnxsim check", 'Checking 0/3...\n{"same": true}') == (EQUAL, "")
    said = 'Tensor y changes after optimization. The max diff is 0.5.\n{"same": false}'
    assert read("onnxsim check", said) == (DIFFERENT, said.splitlines()[0])
    assert read("onnxsim check", "", 1, "ValueError: no") == (FAILED, "ValueError: no")


@pytest.mark.parametrize("verifier", VERIFIERS, ids=lambda each: each.name)
def test_a_crash_or_the_limit_is_no_answer_whatever_was_printed(verifier: object) -> None:
    assert isinstance(verifier, type(VERIFIERS[0]))
    for said in (verdict("proved"), report(True), SUMMARY.format("1/1"), '{"same": true}', '{"status": "equal"}'):
        crashed = answers.answered(ended(said, -11), verifier.read, 60)
        late = answers.answered(replace(ended(said, -9), late=True), verifier.read, 60)
        assert (crashed.word, crashed.reason) == (FAILED, "ended by SIGSEGV")
        assert (late.word, late.reason) == (FAILED, "longer than 60 s")


# --- commands ---------------------------------------------------------------------------------------------------------


def test_polygraphy_is_given_the_sizes_and_values_that_the_model_is_used_at() -> None:
    files = Files(Path("a.onnx"), Path("b.onnx"), Inputs({"x": [1, 3], "sr": []}, {"sr": 16000}))
    words = NAMED["polygraphy"].before(files, Path("/e/bin/python"))
    assert words[:3] == ["/e/bin/polygraphy", "run", "a.onnx"]
    assert words[-5:] == ["--input-shapes", "x:[1,3]", "sr:[]", "--val-range", "sr:[16000,16000]"]
    assert NAMED["polygraphy exact"].command(files, Path("/e/bin/python"))[-4:] == ["--atol", "0", "--rtol", "0"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "words"),
    [(PROOF, (PROVED, UNDECIDED)), (BOTH, (PROVED, DIFFERENT)), ("graphfix runs", (EQUAL, DIFFERENT))],
)
def test_graphfix_answers_about_a_copy_and_about_a_fault(tmp_path: Path, name: str, words: tuple[str, str]) -> None:
    before, after = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model("y[2,3] = Sub(a[2,3], b[3])"), before)
    for text, word in zip(("y[2,3] = Sub(a[2,3], b[3])", "y[2,3] = Add(a[2,3], b[3])"), words, strict=True):
        onnx.save(model(text), after)
        done = ran(NAMED[name].command(Files(before, after, Inputs()), Path(sys.executable)), 60)
        assert answers.answered(done, NAMED[name].read, 60).word == word, done


# --- right and wrong --------------------------------------------------------------------------------------------------


def pair(word: str, witness: Witness, name: str = PROOF, fault: str = "", again: bool = False) -> Pair:
    return Pair("m.onnx", "onnx", "" if fault else "onnxsim", fault, witness, {name: Answer(word, "", 2.0, 1.0)}, again)


CLOSE = Witness(OTHER_BITS, (PROOF, BOTH, "graphfix runs", "polygraphy exact"), 3)
FAR = Witness(APART, tuple(NAMED), 3)


@pytest.mark.parametrize(
    ("word", "witness", "name", "wrong"),
    [
        (PROVED, Witness(SAME), PROOF, False),
        (PROVED, CLOSE, PROOF, True),
        (EQUAL, CLOSE, "polygraphy", False),
        (EQUAL, CLOSE, "polygraphy exact", True),
        (PROVED, FAR, "onnxsim certify", True),
        (DIFFERENT, Witness(SAME), BOTH, True),
        (DIFFERENT, CLOSE, "polygraphy", False),
        (UNDECIDED, FAR, PROOF, False),
        (FAILED, FAR, "polygraphy", False),
        (PROVED, Witness(NOT_RUN), PROOF, False),
    ],
)
def test_an_answer_is_wrong_where_a_run_contradicts_what_it_claims(
    word: str, witness: Witness, name: str, wrong: bool
) -> None:
    assert sums.wrong(NAMED[name], Answer(word), pair(word, witness, name)) is wrong


FOUND = Verification(
    (
        pair(PROVED, Witness(SAME)),
        pair(PROVED, Witness(SAME), again=True),
        pair(PROVED, FAR, fault="weight"),
        pair(DIFFERENT, FAR, BOTH, fault="order"),
        replace(pair(UNDECIDED, CLOSE), answers={PROOF: Answer(UNDECIDED, "Add 'a' of the second file has 3", 4.0)}),
    ),
    {"limit": "60", "lanes": "2", "day": "today"},
    ("m.onnx, onnxslim: ended by SIGSEGV",),
)


def test_the_sums_count_every_pair_and_the_seconds_of_those_that_were_asked() -> None:
    counted = sums.of(NAMED[PROOF], FOUND.pairs)
    assert counted.words == {PROVED: 3, UNDECIDED: 1}
    assert (counted.asked, counted.wrong, counted.faults, counted.found) == (4, 1, 1, 0)
    assert counted.seconds == (2.0, 2.0, 4.0)
    assert sums.of(NAMED[BOTH], FOUND.pairs).found == 1


def test_the_section_says_what_the_records_hold() -> None:
    said = section.lines(FOUND)
    assert f"| {PROOF} | 4 | 3 | 0 | 0 | 1 | 0 | **1** | 0 of 1 | 2.00 | 8 | 2 |" in said
    assert f"| {BOTH} | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 1 of 1 | 2.00 | 2 | 1 |" in said
    assert "| onnxsim (3) | 2 proved, 1 undecided |  |" in said
    assert "| faults (2) | 1 proved, **1 wrong** | 1 different |" in said
    assert f"- {PROOF} of m.onnx, fault: {KINDS['weight']}: proved; in 3 runs: apart" in said
    assert f"- {PROOF}, undecided, 1: `an operator of the second file has N`" in said
    assert "- no result: `m.onnx, onnxslim: ended by SIGSEGV`" in said
    assert "None." in section.lines(replace(FOUND, pairs=FOUND.pairs[:1]))
    assert not [line for line in said if len(line) > 120 and line[:1].isalpha()]


def test_the_picture_has_a_part_for_each_word_and_wrong_ones_apart() -> None:
    counted = sums.of(NAMED[PROOF], FOUND.pairs)
    assert dict(picture.parts(counted)) == {PROVED: 2, EQUAL: 0, DIFFERENT: 0, UNDECIDED: 1, FAILED: 0, "wrong": 1}
    drawn = ET.fromstring(picture.drawing(FOUND))  # noqa: S314 -- made here
    bars = [each for each in drawn if each.tag.endswith("rect") and len(each)]
    assert [each.get("class") for each in bars] == ["p", "u", "w", "d"]
    assert "2.00 s" in picture.drawing(FOUND)


def test_what_is_kept_of_the_verifiers_is_read_again(tmp_path: Path) -> None:
    write_results(Results(verification=FOUND.as_json()), tmp_path / "r.json")
    assert record.read(read_results(tmp_path / "r.json").verification) == FOUND
    assert record.read({}) is None


def test_every_fault_that_is_asked_for_is_of_a_known_kind() -> None:
    assert {kind for some in FAULTS.values() for kind in some} == set(KINDS)
