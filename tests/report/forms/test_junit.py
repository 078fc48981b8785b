"""JUnit XML: an independent reader finds a suite for each model and a case for each question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from graphfix.report import pages
from graphfix.report.forms import registry
from graphfix.report.text import Entry
from graphfix.report.text import Failure as Failed
from graphfix.results import Conversion, Outcome, Run, Site, Verdict
from graphfix.results.claims import Contradiction, Facts

FOUND = Site("GF101", "ffn/bias", "Add", "main", 1, (64,), (1, 1, 64), "found", "equalize-ranks")
LEFT = Site("GF104", "x", "Mul", "main", 0, None, None, "left", None, "the rank of 'x1' is not known")
EXEMPT = Site("GF102", "Pow#4", "Pow", "main", 1, (1, 1), None, "exempt", None, "a scalar exponent has its own kernel")
CHECKED = Outcome(
    "check", "sub/m.onnx", "onnx", target="ranks", sites=(FOUND, LEFT, EXEMPT), seconds={"load": 0.4, "plan": 1.0}
)
PROVED = Outcome(
    "verify",
    "m.onnx",
    "onnx",
    output="f.onnx",
    verdict=Verdict(
        "proved", runs=(Run({}, "off", "equal", 1),), proof={"status": "proved", "reason": None}, facts=Facts(2, 2, 0)
    ),
    seconds={"verify": 2.0, "proof": 0.5},
)
FAILED = Failed("check", "bad.onnx", "bad.onnx: empty; give one")


def suites(*entries: Entry) -> list[TestSuite]:
    return list(JUnitXml.fromstring(registry.TEXTS["junit"](entries).encode()))


def cases(entry: Entry) -> dict[str, TestCase]:
    (suite,) = suites(entry)
    return {case.name: case for case in suite}


def kinds(entry: Entry) -> dict[str, list[type]]:
    return {name: [type(result) for result in case.result] for name, case in cases(entry).items()}


def test_a_check_has_a_case_for_each_code_and_those_found_fail() -> None:
    found = kinds(CHECKED)
    assert list(found) == [pages.title(code) for code in pages.codes()]
    assert {name for name, results in found.items() if results} == {"GF101 rank-mismatch", "GF104 unranked-operand"}
    assert found["GF101 rank-mismatch"] == [Failure]
    case = cases(CHECKED)["GF101 rank-mismatch"]
    assert case.result[0].message == "1 site for target ranks"
    assert case.result[0].text == "found Add 'ffn/bias', operand 1: [64] -> [1,1,64]"
    assert (case.classname, case.result[0].type) == ("sub/m.onnx", "GF101")
    assert case._elem.get("file") == "sub/m.onnx"


def test_each_model_is_a_suite_and_the_counts_are_right() -> None:
    checked, failed = suites(CHECKED, FAILED)
    assert (checked.tests, checked.failures, checked.errors, checked.skipped) == (len(pages.codes()), 2, 0, 0)
    assert checked.time == pytest.approx(1.4, abs=1e-5)
    assert sum(case.time for case in checked) == pytest.approx(1.4, abs=1e-4)
    assert (failed.tests, failed.errors) == (1, 1)
    whole = JUnitXml.fromstring(registry.TEXTS["junit"]([CHECKED, FAILED]).encode())
    assert (whole.tests, whole.failures, whole.errors) == (len(pages.codes()) + 1, 2, 1)


def test_a_model_that_failed_is_an_error_with_its_line() -> None:
    (result,) = cases(FAILED)["check"].result
    assert isinstance(result, Error)
    assert result.message == "bad.onnx: empty; give one"


def test_proof_runs_and_facts_pass_where_all_is_well() -> None:
    assert kinds(PROVED) == {"proof": [], "runs": [], "facts": []}
    asked = cases(PROVED)
    assert (asked["proof"].time, asked["runs"].time) == (0.5, 2.0)
    assert asked["runs"].system_out.startswith("proved for all inputs and sizes")


WRONG = Facts(2, 2, 1, Contradiction("y", "[2]", (3,), ""))


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(
            Verdict("equal", proof={"status": "not proved", "reason": "why"}),
            {"proof": [Skipped], "runs": [], "facts": [Skipped]},
            id="not proved, and equal",
        ),
        pytest.param(
            Verdict("different", proof={"status": "not proved", "reason": "why"}),
            {"proof": [Skipped], "runs": [Failure], "facts": [Skipped]},
            id="different",
        ),
        pytest.param(
            Verdict("undecided", reason="no kernel"),
            {"proof": [Skipped], "runs": [Error], "facts": [Skipped]},
            id="undecided",
        ),
        pytest.param(
            Verdict("contradicted", reason="why", facts=WRONG),
            {"proof": [Skipped], "runs": [Failure], "facts": [Failure]},
            id="a size is not as claimed",
        ),
        pytest.param(Verdict("skipped"), {"proof": [Skipped], "runs": [Skipped], "facts": [Skipped]}, id="--no-verify"),
        pytest.param(
            Verdict("proved", proof={"status": "proved"}),
            {"proof": [], "runs": [Skipped], "facts": [Skipped]},
            id="--proof-only",
        ),
    ],
)
def test_what_a_verdict_answers(verdict: Verdict, expected: dict[str, list[type]]) -> None:
    assert kinds(replace(PROVED, verdict=verdict)) == expected


@pytest.mark.parametrize(
    ("first", "text"),
    [(WRONG.first, str(WRONG.first)), (None, None)],
    ids=["the first is known", "it is not"],
)
def test_a_size_that_is_not_as_claimed_is_counted_and_the_first_is_named(
    first: Contradiction | None, text: str | None
) -> None:
    verdict = Verdict("contradicted", reason="why", facts=Facts(5, 4, 2, first))
    (result,) = cases(replace(PROVED, verdict=verdict))["facts"].result
    assert result.message == "5 claimed, 4 observed, 2 contradicted"
    assert (result.text or None) == text


def test_the_proof_says_its_status_and_why_it_was_not_found() -> None:
    for proof, said in (
        ({"status": "not proved", "reason": "why"}, "not proved: why"),
        ({"status": "not proved", "reason": None}, "not proved"),
        (None, "no proof was asked for"),
    ):
        (result,) = cases(replace(PROVED, verdict=Verdict("equal", proof=proof)))["proof"].result
        assert (type(result), result.message) == (Skipped, said)


@pytest.mark.parametrize(
    ("status", "expected"),
    [("agrees", []), ("converted", []), ("differs", [Failure]), ("refused", [Error]), ("not run", [Error])],
)
def test_what_a_conversion_answers(status: str, expected: list[type]) -> None:
    done = Conversion(status, "torch-mlir", reason="why")  # type: ignore[arg-type]
    assert kinds(replace(PROVED, command="tosa", conversion=done))["conversion"] == expected


def test_a_long_failure_is_cut_and_says_so() -> None:
    sites = [replace(FOUND, node=f"n{number}") for number in range(300)]
    text = cases(replace(CHECKED, sites=sites))["GF101 rank-mismatch"].result[0].text
    assert text.splitlines()[-1] == "... and 100 more"
    assert len(text.splitlines()) == 201


def test_a_code_of_a_rewrite_of_the_users_own_is_a_case() -> None:
    site = Site("MY101", "n", "Add", "main", 1, (4,), (1, 4), "found", "mine")
    outcome = Outcome("check", "m.onnx", "onnx", sites=(site,), own_codes={"MY101": "Drop a unit scale."})
    assert '<testcase name="MY101"' in registry.TEXTS["junit"]([outcome])
