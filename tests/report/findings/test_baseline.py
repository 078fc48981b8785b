"""The baseline: what is written is read again, whatever the names; what is none is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphfix.report.findings import baseline
from graphfix.report.findings.baseline import Baseline
from graphfix.results import GraphfixError, Outcome, Site

HOSTILE = '<script>"\n\0\x1b[31m\u202e\u2066\udc80' + "n" * 5000


def site(node: str, code: str = "GF101", status: str = "found", operand: int | None = 1) -> Site:
    return Site(code, node, "Add", "main", operand, (4,), (1, 4), status)  # type: ignore[arg-type]


def outcome(*sites: Site) -> Outcome:
    return Outcome("check", "m.onnx", "onnx", sites=sites)


def written(path: Path, **models: Outcome) -> Baseline:
    files = {name: baseline.described(each) for name, each in models.items()}
    path.write_text(baseline.text(files), encoding="utf-8")
    return baseline.read(path)


def test_what_is_written_is_known_when_it_is_read(tmp_path: Path) -> None:
    old = outcome(site("a"), site("a", "GF102"), site("b", status="left"), site("c", status="exempt"))
    known = written(tmp_path / "b.json", m=old).fingerprints(tmp_path / "m")
    assert len(known) == 3
    now = outcome(*old.sites, site("new"))
    assert [each.node for each in baseline.unknown(now, known)] == ["c", "new"]


def test_a_finding_that_agrees_with_a_known_one_and_is_one_more_is_new(tmp_path: Path) -> None:
    known = written(tmp_path / "b.json", m=outcome(site("a"))).fingerprints(tmp_path / "m")
    assert len(baseline.unknown(outcome(site("a"), site("a")), known)) == 1


def test_a_name_of_any_letters_is_ascii_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    known = written(path, **{HOSTILE: outcome(site(HOSTILE))})
    content = path.read_bytes()
    assert content.isascii()
    assert not any(letter < ord(" ") and letter != ord("\n") for letter in content)
    assert known.files[HOSTILE][0]["node"] == HOSTILE
    assert len(baseline.unknown(outcome(site(HOSTILE)), known.fingerprints(tmp_path / HOSTILE))) == 0


def test_the_order_of_the_findings_does_not_show_in_the_file() -> None:
    sites = [site("b"), site("a", "GF102"), site("a"), site("a", operand=None)]
    one = {"y": baseline.described(outcome(*sites)), "x": baseline.described(outcome(sites[0]))}
    two = {"x": baseline.described(outcome(sites[0])), "y": baseline.described(outcome(*reversed(sites)))}
    assert baseline.text(one) == baseline.text(two)
    assert list(json.loads(baseline.text(one))["files"]) == ["x", "y"]


def test_a_new_finding_is_one_new_line() -> None:
    old, new = (
        set(baseline.text({"m": baseline.described(outcome(*sites))}).splitlines())
        for sites in ((site("a"), site("b"), site("d")), (site("a"), site("b"), site("c"), site("d")))
    )
    (line,) = new - old
    assert '"node": "c"' in line
    assert old <= new


def test_models_are_named_from_the_folder_of_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "ci", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    assert Baseline(Path("ci/b.json")).name_of(Path("models/a.onnx")) == "../models/a.onnx"
    assert Baseline(Path("b.json")).name_of(Path("./ci/../models/a.onnx")) == "models/a.onnx"
    assert Baseline(Path("link/b.json")).name_of(tmp_path / "ci" / "a.onnx") == "a.onnx"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is not JSON"),
        ("<<<<<<< HEAD", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it has no 'graphfix-baseline'"),
        ('{"models": []}', "it has no 'graphfix-baseline'"),
        ('{"graphfix-baseline": 2}', "of another version"),
        ('{"graphfix-baseline": 1}', "not lists of findings"),
        ('{"graphfix-baseline": 1, "files": []}', "not lists of findings"),
        ('{"graphfix-baseline": 1, "files": {"m": {}}}', "not lists of findings"),
        ('{"graphfix-baseline": 1, "files": {"m": [1]}}', "finding 1 of 'm'"),
        ('{"graphfix-baseline": 1, "files": {"m": [{"code": "GF101"}]}}', "finding 1 of 'm'"),
        ('{"graphfix-baseline": 1, "files": {"m": [{"code": 1, "fingerprint": "0"}]}}', "finding 1 of 'm'"),
    ],
)
def test_what_is_no_baseline_is_refused_by_name(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(GraphfixError, match=r"not a baseline|another version") as refused:
        baseline.read(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert said in str(refused.value)


def test_a_baseline_that_is_not_there_or_a_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match=r"no such baseline; --write-baseline"):
        baseline.read(tmp_path / "b.json")
    with pytest.raises(GraphfixError, match="can't be read"):
        baseline.read(tmp_path)
