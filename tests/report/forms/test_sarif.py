"""SARIF: an independent reader takes it, and what code scanning goes by is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import BaseModel
from sarif_pydantic import Sarif
from sarif_pydantic.sarif import Notification

from graphfix.report import pages
from graphfix.report.forms import registry, sarif
from graphfix.report.text import Entry, Failure
from graphfix.results import Outcome, Site, Verdict

FOUND = Site("GF101", "ffn/bias", "Add", "main", 1, (64,), (1, 1, 64), "found", "equalize-ranks")
LEFT = Site("GF104", "x", "Mul", "main/if_3.then_branch", 0, None, None, "left", None, "the rank of 'x1' is not known")
EXEMPT = Site("GF102", "Pow#4", "Pow", "main", 1, (1, 1), None, "exempt", None, "a scalar exponent has its own kernel")
CHECKED = Outcome("check", "sub/m.onnx", "onnx", target="ranks", sites=(FOUND, LEFT, EXEMPT))
DIFFERENT = Outcome(
    "verify", "m.onnx", "onnx", output="f.onnx", verdict=Verdict("different", reason="output 'z' is new")
)
FAILED = Failure("check", "bad.onnx", "bad.onnx: empty; give one")


UNREAD = {"columnKind", "toolExecutionNotifications"}
"""What the standard has (3.14.17, 3.20.21) and the reader has no field for."""


def run(*entries: Entry) -> dict[str, Any]:
    """The one run of the report, after an independent reader has taken it."""
    text = registry.TEXTS["sarif"](entries)
    log = json.loads(text)
    assert (log["version"], log["$schema"].rpartition("/")[2]) == ("2.1.0", "sarif-2.1.0.json")
    assert set(unknown(Sarif.model_validate_json(text))) == UNREAD
    (only,) = log["runs"]
    for note in only["invocations"][0]["toolExecutionNotifications"]:
        assert list(unknown(Notification.model_validate(note))) == []
    assert isinstance(only, dict)
    return only


def unknown(part: object) -> Iterator[str]:
    """The fields that the reader takes without knowing them."""
    if isinstance(part, BaseModel):
        yield from part.model_extra or ()
        part = [getattr(part, name) for name in type(part).model_fields]
    for each in part if isinstance(part, list) else ():
        yield from unknown(each)


def test_the_findings_of_a_check_are_its_results_and_exempt_sites_are_none() -> None:
    found, left = run(CHECKED)["results"]
    assert (found["ruleId"], found["level"]) == ("GF101", "warning")
    assert found["message"]["text"] == "Add 'ffn/bias', operand 1: [64] -> [1,1,64]"
    assert (left["ruleId"], left["level"]) == ("GF104", "note")
    assert left["message"]["text"].endswith("operand 0: left alone because the rank of 'x1' is not known")


def test_a_result_names_the_file_a_line_the_graph_and_the_node() -> None:
    (place,) = run(CHECKED)["results"][1]["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "sub/m.onnx", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 1},
    }
    names = [(each["kind"], each["fullyQualifiedName"]) for each in place["logicalLocations"]]
    assert names == [("node", "main/if_3.then_branch/x"), ("graph", "main/if_3.then_branch")]


def test_there_is_a_rule_for_each_page_and_each_result_points_at_its_own() -> None:
    checked = run(CHECKED, DIFFERENT)
    rules = checked["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [*pages.codes(), "different"]
    assert rules[0]["name"] == "RankMismatch"
    assert rules[0]["help"]["markdown"] == pages.page("GF101")
    assert [rules[each["ruleIndex"]]["id"] for each in checked["results"]] == ["GF101", "GF104", "different"]


def prints(sites: Sequence[Site]) -> dict[str, str]:
    results = run(replace(CHECKED, sites=sites))["results"]
    return {each["message"]["text"]: each["partialFingerprints"]["graphfixSite/v1"] for each in results}


def test_a_fingerprint_stays_when_the_order_or_other_findings_change() -> None:
    others = [replace(FOUND, node=f"n{number}") for number in range(3)]
    before, after = prints([FOUND, LEFT]), prints([*others, LEFT, EXEMPT, FOUND])
    assert before.items() <= after.items()
    assert len(set(after.values())) == len(after)
    assert prints([replace(FOUND, before=(8,), after=(1, 1, 8))]).keys() != before.keys()
    assert set(prints([replace(FOUND, before=(8,), after=(1, 1, 8))]).values()) <= set(before.values())


@pytest.mark.parametrize("status", ["different", "contradicted"])
@pytest.mark.parametrize("command", ["verify", "fix"])
def test_a_difference_is_an_error(command: str, status: Any) -> None:  # noqa: ANN401
    (result,) = run(replace(DIFFERENT, command=command, verdict=Verdict(status, reason="why")))["results"]
    assert (result["ruleId"], result["level"]) == ("different", "error")
    assert result["message"]["text"].startswith("m.onnx, f.onnx: ")


def test_models_that_are_equal_and_edits_are_no_results() -> None:
    fixed = Outcome("fix", "m.onnx", "onnx", output="f.onnx", sites=(replace(FOUND, status="changed"), LEFT))
    assert run(replace(fixed, verdict=Verdict("proved")))["results"] == []


def test_a_model_that_failed_is_a_notification_and_the_run_no_success() -> None:
    (done,) = run(CHECKED, FAILED)["invocations"]
    assert done["executionSuccessful"] is False
    (note,) = done["toolExecutionNotifications"]
    assert (note["level"], note["message"]["text"]) == ("error", "bad.onnx: empty; give one")
    assert run(CHECKED)["invocations"][0]["executionSuccessful"] is True


def test_what_was_not_decided_or_not_asked_is_a_notification() -> None:
    undecided = replace(DIFFERENT, verdict=Verdict("undecided", reason="no kernel"), notes=("a note",))
    notes = run(undecided)["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["note", "warning"]


def test_no_more_results_than_are_taken_and_warnings_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST", 3)
    sites = [replace(site, node=f"n{number}") for number in range(3) for site in (LEFT, FOUND)]
    cut = run(replace(CHECKED, sites=sites))
    assert [result["level"] for result in cut["results"]] == ["warning"] * 3
    (note,) = cut["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("3 results are left out")


@pytest.mark.parametrize(
    ("model", "uri"),
    [
        ("./a b/m#1.onnx", "a%20b/m%231.onnx"),
        ("c:m%.onnx", "c%3Am%25.onnx"),
        ("sub/../m.onnx", "m.onnx"),
        ("ä\udcff.onnx", "%C3%A4%ED%B3%BF.onnx"),
        ("/none/m.onnx", "file:///none/m.onnx"),
    ],
)
def test_a_path_is_a_reference(model: str, uri: str) -> None:
    (result, _) = run(replace(CHECKED, source=model))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_path_below_the_working_folder_is_relative_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (result, _) = run(replace(CHECKED, source=str(tmp_path / "a" / "m.onnx")))["results"]
    assert unquote(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) == "a/m.onnx"


def test_a_message_holds_no_placeholder_and_no_link() -> None:
    site = replace(FOUND, node="{0} [x](http://y)")
    (result,) = run(replace(CHECKED, sites=[site]))["results"]
    assert "{{0}} [x] (http://y)" in result["message"]["text"]


def test_a_code_of_a_rewrite_of_the_users_own_is_a_rule_with_the_first_line_of_its_page() -> None:
    site = Site("MY101", "n", "Add", "main", 1, (4,), (1, 4), "found", "mine")
    outcome = Outcome("check", "m.onnx", "onnx", sites=(site,), own_codes={"MY101": "Drop a unit scale."})
    (run,) = json.loads(registry.TEXTS["sarif"]([outcome]))["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], rule["shortDescription"]["text"]) == ("MY101", "Drop a unit scale.")


@pytest.mark.parametrize(("line", "text"), [("", "MY101"), ("Drop\na scale.", r"Drop\na scale.")])
def test_a_rule_of_the_users_own_has_its_line_or_else_its_code(line: str, text: str) -> None:
    rule = sarif._own_rule("MY101", line)
    assert (rule["id"], rule["name"], rule["help"]) == ("MY101", "MY101", {"text": text})
    assert rule["shortDescription"] == rule["fullDescription"] == {"text": text}
    assert rule["defaultConfiguration"] == {"level": "warning"}


def test_as_many_results_as_are_taken_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = [replace(site, node=f"n{number}") for number in range(2) for site in (LEFT, FOUND)]
    monkeypatch.setattr(sarif, "MOST", len(sites))
    whole = run(replace(CHECKED, sites=sites))
    assert [result["level"] for result in whole["results"]] == ["note", "warning"] * 2
    assert whole["invocations"][0]["toolExecutionNotifications"] == []
    monkeypatch.setattr(sarif, "MOST", 3)
    cut = run(replace(CHECKED, sites=sites))
    assert [result["level"] for result in cut["results"]] == ["warning", "warning", "note"]
    (note,) = cut["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "warning"
    assert note["message"]["text"].startswith("1 results are left out: 3 is the most")
