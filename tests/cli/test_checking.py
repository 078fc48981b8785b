"""`check` as a linter: what counts, what is known, what is printed for many models."""

from __future__ import annotations

import gc
import json
import shutil
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.api import loading, pipeline
from graphfix.cli import commands
from graphfix.cli.lint import known_findings
from graphfix.engine.request import Request
from graphfix.report import pages
from graphfix.report.findings.selection import CodeSelection
from graphfix.report.forms import registry
from graphfix.results import GraphfixError, Outcome, Site
from tests.support.places import ROOT

Sites = dict[str, list[Site]]
LIFT = Site("GF101", "n", "Add", "main", 1, (4,), (1, 4), "found")
STRETCH = Site("GF102", "n", "Add", "main", 1, (1, 4), (3, 4), "found")
LEFT = Site("GF104", "r", "Add", "main", 1, None, None, "left", None, "the rank of 'x' is not known")
EXEMPT = Site("GF102", "p", "Pow", "main", 1, (1, 1), None, "exempt", None, "another kernel")


class Circle:
    """What only a collector of circles takes away."""

    other: Circle


@pytest.fixture
def sites(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sites:
    """What the models have, by file name: there is a file for each in the working directory. `bad` is no model."""
    monkeypatch.chdir(tmp_path)
    sites: Sites = {"a.onnx": [LIFT, STRETCH, LEFT, EXEMPT], "b.onnx": [LIFT], "c.onnx": [EXEMPT]}
    for name in (*sites, "bad.onnx"):
        (tmp_path / name).touch()

    def check(model: Path, _: Request) -> Outcome:
        if model.name == "bad.onnx":
            raise GraphfixError(f"{model}: no ONNX model; give one")
        return Outcome("check", str(model), "onnx", "explicit", sites=tuple(sites[model.name]), seconds={"load": 0.1})

    monkeypatch.setattr(pipeline, "check", check)
    return sites


Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    def ask(*argv: str) -> tuple[int, str, str]:
        try:
            status = commands.main(["check", *argv])
        except SystemExit as ended:
            status = int(str(ended.code))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return ask


ALL = ("a.onnx", "b.onnx", "c.onnx")


def outcomes(*names: str) -> list[Outcome]:
    """What the stand-in answers."""
    return [pipeline.check(Path(name), Request()) for name in names]


# --- which findings count -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sites")
@pytest.mark.parametrize(
    ("argv", "codes", "status"),
    [
        ("", "GF101 GF102 GF104 GF102", 1),
        ("--select GF104", "GF104", 1),
        ("--select gf1 --ignore GF101,GF104", "GF102 GF102", 1),
        ("--ignore GF101 --ignore GF102", "GF104", 1),
        ("--select GF2", "", 0),
        ("--ignore ALL", "", 0),
        ("--ignore GF1 --select GF104", "GF104", 1),
    ],
)
def test_what_is_selected_alone_counts_and_is_shown(check: Check, argv: str, codes: str, status: int) -> None:
    ended, out, _ = check("a.onnx", "--json", *argv.split())
    assert (" ".join(site["code"] for site in json.loads(out)["sites"]), ended) == (codes, status)


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ("GF1O1", "no finding code begins with 'GF1O1'; did you mean 'GF101'"),
        ("GF1,,GF2", "begins with ''"),
        ("", "with ''"),
    ],
)
def test_a_code_that_there_is_not_is_one_line(check: Check, codes: str, said: str) -> None:
    status, out, err = check("a.onnx", "--select", codes)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_code_of_a_rewrite_of_ones_own_is_known_by_its_file(sites: Sites, check: Check, tmp_path: Path) -> None:
    page = '"""Do nothing."""\nON = "any"\nCODE = "MY101"\n\n\ndef plan(node):\n    yield from ()\n'
    (tmp_path / "mine.py").write_text(page)
    sites["b.onnx"] = [replace(LIFT, code="MY101"), LIFT]
    status, out, err = check("b.onnx", "--select", "MY1")
    assert (status, out) == (2, "")
    assert err == "graphfix: no finding code begins with 'MY1'; --rewrites FILE names a rewrite that has one\n"
    status, out, _ = check("b.onnx", "--select", "MY1", "--rewrites", "mine.py", "--statistics")
    assert (status, out.splitlines()[-1].split("  ")[:2]) == (1, ["1", "MY101"])
    assert "did you mean 'MY101'" in check("b.onnx", "--ignore", "MY102", "--rewrites", "mine.py")[2]


def test_node_data_of_many_models_is_refused(sites: Sites, check: Check, tmp_path: Path) -> None:
    assert "node data is of one model" in check(*sites, "--report", "r.node_data.json")[2]
    assert not (tmp_path / "r.node_data.json").exists()


@pytest.mark.usefixtures("sites")
@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github", "markdown"])
def test_every_form_is_printed_of_many_models_and_of_none(check: Check, form: str) -> None:
    assert check(*ALL, "--format", form)[1] == registry.TEXTS[form](outcomes(*ALL))
    assert check("a.onnx", "--exclude", "*", "--format", form)[:2] == (0, registry.TEXTS[form]([]))
    assert set(registry.TEXTS) == {"json", "sarif", "junit", "github", "markdown"}


@pytest.mark.usefixtures("sites")
def test_exit_zero_is_for_findings_and_not_for_failures(check: Check) -> None:
    assert check("a.onnx", "--exit-zero")[0] == 0
    assert check("a.onnx", "bad.onnx", "--exit-zero")[0] == 2


# --- what is printed ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sites")
def test_of_many_models_a_clean_one_is_one_line_and_the_last_line_counts(check: Check) -> None:
    _, out, _ = check(".", "--exclude", "bad.onnx")
    lines = out.splitlines()
    assert lines[0].startswith("a.onnx: 2 findings")
    assert lines[-3] == "c.onnx: clean for target explicit, 1 exempt"
    assert lines[-1] == "3 models: 1 clean, 2 with findings"


@pytest.mark.usefixtures("sites")
def test_where_there_are_findings_a_line_says_where_to_go_on(check: Check) -> None:
    fix, explain = "1 finding can be fixed: `graphfix fix MODEL -o OUT`", "`graphfix explain GF101` says"
    assert fix in check("b.onnx")[1]
    assert explain in check("b.onnx")[1]
    assert "`graphfix" not in check("c.onnx")[1]
    assert "`graphfix" not in check("b.onnx", "--json")[1]
    left = check("a.onnx", "--select", "GF104")[1]
    assert "`graphfix explain GF104` says" in left
    assert "can be fixed" not in left


def test_the_last_line_names_the_option_that_binds_free_sizes(check: Check, sites: Sites) -> None:
    free = Site("GF302", "x", "input", "main", None, ("N", 4), None, "left", None, "the target needs sizes")
    sites["b.onnx"].append(free)
    assert (
        check("b.onnx")[1].splitlines()[-1].startswith("`--bind-defaults` (or --dim, --shape) binds the free sizes; ")
    )
    sites["b.onnx"][-1] = replace(free, op="Add")
    assert "--bind-defaults" not in check("b.onnx")[1]


@pytest.mark.usefixtures("sites")
def test_a_run_says_the_same_each_time_in_the_order_of_the_names(check: Check) -> None:
    one = check(".", "--statistics")
    assert one == check(".", "--statistics")
    assert [line.split(":")[0] for line in one[1].splitlines() if ".onnx: " in line] == list(ALL)


@pytest.mark.usefixtures("sites")
def test_statistics_count_codes_over_all_models(check: Check) -> None:
    _, out, _ = check(*ALL, "--statistics")
    assert out.splitlines()[-3:] == [
        "2  GF101  rank-mismatch",
        "1  GF102  degenerate-broadcast",
        "1  GF104  unranked-operand",
    ]
    assert check("c.onnx", "--statistics")[1].splitlines()[-1] == "0  findings"


def test_every_code_has_a_title() -> None:
    assert [code for code in pages.codes() if not pages.page(code).startswith(f"# {code} ")] == []


@pytest.mark.usefixtures("sites")
def test_the_form_on_stdout_is_chosen_and_json_is_short_for_one(check: Check) -> None:
    short, long = check(*ALL, "--json"), check(*ALL, "--format", "json")
    assert short == long
    assert len(json.loads(short[1])["models"]) == 3
    assert check("b.onnx", "--format", "text")[1].startswith("b.onnx: 1 finding")
    status, out, err = check(*ALL, "--json", "--format", "json")
    assert (status, out) == (2, "")
    assert "not allowed with" in err


@pytest.mark.usefixtures("sites")
def test_quiet_prints_errors_alone(check: Check, tmp_path: Path) -> None:
    status, out, err = check(".", "-q", "--statistics", "--report", "r.md")
    assert (status, out, err) == (2, "", "graphfix: bad.onnx: no ONNX model; give one\n")
    assert (tmp_path / "r.md").exists()


@pytest.mark.usefixtures("sites")
def test_where_all_that_is_named_is_excluded_nothing_is_to_do(check: Check) -> None:
    assert check("a.onnx", "--exclude", "*.onnx") == (0, "no model to check: all that were named are excluded\n", "")
    assert json.loads(check("a.onnx", "--exclude", "*.onnx", "--json")[1])["models"] == []
    assert check(".", "--exclude", "*.onnx")[0] == 2


# --- what is known --------------------------------------------------------------------------------------------------


def test_what_the_baseline_has_is_no_finding_until_something_new_comes(sites: Sites, check: Check) -> None:
    status, out, err = check(*ALL, "--write-baseline", "base.json")
    assert (status, err) == (0, "graphfix: base.json: written, 4 findings\n")
    status, out, err = check(*ALL, "--baseline", "base.json")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "a.onnx: clean for target explicit, 1 exempt, 3 in the baseline",
        "b.onnx: clean for target explicit, 1 in the baseline",
        "c.onnx: clean for target explicit, 1 exempt",
        "3 models: 3 clean, 0 with findings, 4 findings in the baseline",
    ]
    sites["c.onnx"] = [LIFT]
    status, out, _ = check(*ALL, "--baseline", "base.json", "--json")
    entries = json.loads(out)["models"]
    assert (status, [len(entry["sites"]) for entry in entries]) == (1, [1, 0, 1])
    assert [entry["suppressed"] for entry in entries] == [3, 1, 0]


def test_what_is_gone_is_said_so_that_the_baseline_can_shrink(sites: Sites, check: Check, tmp_path: Path) -> None:
    check(*ALL, "--write-baseline", "base.json")
    sites["a.onnx"] = [LIFT]
    said = "graphfix: base.json: 2 known findings can't be found any more; --write-baseline base.json takes them out\n"
    assert check(*ALL, "--baseline", "base.json")[2] == said
    assert check(*ALL, "--baseline", "base.json", "--json")[2] == said
    assert check(*ALL, "--baseline", "base.json", "-q")[2] == ""
    assert check(*ALL, "--baseline", "base.json", "--select", "GF101")[2] == ""
    assert check("b.onnx", "--baseline", "base.json")[2] == ""
    (tmp_path / "a.onnx").unlink()
    assert "3 known findings" in check("b.onnx", "--baseline", "base.json")[2]
    check("b.onnx", "--write-baseline", "base.json")
    assert list(json.loads((tmp_path / "base.json").read_text())["files"]) == ["b.onnx"]


@pytest.mark.ci
def test_the_time_of_a_baseline_grows_with_the_number_of_its_findings(tmp_path: Path) -> None:
    """A look at all findings for each that is known would take half a minute here."""
    sites = tuple(Site("GF101", f"n{at}", "Add", "main", 0, (1,), (1, 1), "found") for at in range(20_000))
    path = tmp_path / "known.json"
    everything = Outcome("check", "m.onnx", "onnx", sites=sites)
    model = tmp_path / "m.onnx"
    written = known_findings.opened(None, path)
    written.counted(model, everything, CodeSelection())
    written.write()
    known = known_findings.opened(path, None)
    assert known.counted(model, replace(everything, sites=sites[1:]), CodeSelection()).suppressed == len(sites) - 1
    begun = time.process_time()
    assert known.gone() == 1
    assert time.process_time() - begun < 2  # seconds


def test_what_this_run_did_not_look_for_stays_in_the_baseline(sites: Sites, check: Check, tmp_path: Path) -> None:
    check(*ALL, "--write-baseline", "base.json")
    before = (tmp_path / "base.json").read_text()
    assert check("b.onnx", "--write-baseline", "base.json")[0] == 0
    assert check("a.onnx", "--write-baseline", "base.json", "--select", "GF104")[0] == 0
    assert (tmp_path / "base.json").read_text() == before
    sites["b.onnx"] = []
    check("b.onnx", "--write-baseline", "base.json")
    assert list(json.loads((tmp_path / "base.json").read_text())["files"]) == ["a.onnx"]


@pytest.mark.usefixtures("sites")
def test_a_baseline_is_written_from_another_folder_for_the_same_names(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(*ALL, "--write-baseline", "base.json")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert check("..", "--exclude", "bad.onnx", "--baseline", "../base.json")[0] == 0


@pytest.mark.usefixtures("sites")
def test_a_model_that_fails_leaves_the_baseline_as_it_is(check: Check, tmp_path: Path) -> None:
    status, _, err = check(".", "--write-baseline", "base.json")
    assert status == 2
    assert "base.json: not written" in err
    assert not (tmp_path / "base.json").exists()


@pytest.mark.usefixtures("sites")
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("a.onnx --write-baseline a.onnx", "a.onnx: the baseline is a model"),
        ("a.onnx --write-baseline r.json --report r.json", "r.json: the baseline is a report"),
        ("a.onnx --write-baseline graphfix.toml", "graphfix.toml: the baseline is the configuration"),
        ("a.onnx --write-baseline notes.txt", "notes.txt: not a baseline"),
        ("a.onnx --write-baseline .", ".: the baseline can't be read"),
        ("a.onnx --write-baseline none/b.json", "the folder of the baseline does not exist"),
        ("a.onnx --baseline none.json", "none.json: there is no such baseline; --write-baseline none.json writes it"),
        ("a.onnx --baseline notes.txt", "notes.txt: not a baseline"),
        ("a.onnx --baseline base.json --report base.json", "base.json: the report is the baseline"),
        ("a.onnx --report graphfix.toml.json --config graphfix.toml.json", "the report is the configuration"),
    ],
)
def test_no_file_that_is_read_is_replaced(check: Check, tmp_path: Path, argv: str, said: str) -> None:
    check("a.onnx", "--write-baseline", "base.json")
    for name, text in (("notes.txt", "notes"), ("graphfix.toml", ""), ("graphfix.toml.json", "")):
        (tmp_path / name).write_text(text)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = check(*argv.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_real_model_is_adopted_and_a_new_one_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: Check
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "models" / "matmul.onnx", tmp_path / "old.onnx")
    assert check(".")[0] == 1
    assert check(".", "--write-baseline", "base.json")[0] == 0
    assert check(".", "--baseline", "base.json")[0] == 0
    shutil.copy(ROOT / "models" / "rfc_rank_expansion.tflite", tmp_path / "new.tflite")
    status, out, _ = check(".", "--baseline", "base.json", "--target", "ranks")
    assert (status, out.splitlines()[-1]) == (1, "2 models: 1 clean, 1 with findings, 2 findings in the baseline")


@pytest.mark.ci
def test_a_value_is_named_as_the_file_names_it(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    _, out, _ = check("models/operators/select_ranks.tflite", "--target", "ethos-u")
    assert "left GF305 SELECT_V2#0: 'x' is float32" in out
    _, out, _ = check(
        "models/legacy", "models/shapes", "models/trait", "--target", "tosa", "--select", "GF302", "--json"
    )
    reasons = {site["reason"] for each in json.loads(out)["models"] for site in each.get("sites", ())}
    assert [reason for reason in reasons if "_lifted" in reason or "_stretched" in reason] == []


@pytest.mark.ci
def test_the_memory_of_a_model_that_is_done_is_given_back(
    sites: Sites, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[weakref.ref[Circle]] = []
    answer = pipeline.check

    def remembering(model: Path, request: Request) -> Outcome:
        assert [ref() for ref in gone] == [None] * len(gone)
        circle = Circle()
        circle.other = circle
        gone.append(weakref.ref(circle))
        return answer(model, request)

    monkeypatch.setattr(pipeline, "check", remembering)
    monkeypatch.setattr(loading, "OBJECTS", -1)
    gc.disable()
    try:
        check(*sites)
    finally:
        gc.unfreeze()
        gc.enable()
    assert len(gone) == len(ALL)


@pytest.mark.parametrize(("waiting", "done"), [(loading.OBJECTS, []), (loading.OBJECTS + 1, ["collect", "freeze"])])
def test_models_that_are_done_are_forgotten_when_many_objects_wait(
    monkeypatch: pytest.MonkeyPatch, waiting: int, done: list[str]
) -> None:
    asked: list[str] = []
    collector = SimpleNamespace(
        get_count=lambda: (waiting, 0, 0),
        collect=lambda: asked.append("collect"),
        freeze=lambda: asked.append("freeze"),
    )
    monkeypatch.setattr(loading, "gc", collector)
    loading.forget_models()
    assert asked == done


@pytest.mark.usefixtures("sites")
def test_models_that_are_not_asked_for_are_looked_for_beside_the_baseline(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(*ALL, "--write-baseline", "base.json")
    before = (tmp_path / "base.json").read_text()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    status, _, err = check("../b.onnx", "--baseline", "../base.json")
    assert (status, err) == (0, "")
    assert check("../b.onnx", "--write-baseline", "../base.json")[2].endswith(": written, 4 findings\n")
    assert (tmp_path / "base.json").read_text() == before
    (tmp_path / "a.onnx").unlink()
    assert "3 known findings can't" in check("../b.onnx", "--baseline", "../base.json")[2]


@pytest.mark.usefixtures("sites")
def test_a_model_that_fails_says_nothing_of_a_baseline_that_is_only_read(check: Check, tmp_path: Path) -> None:
    check(*ALL, "--write-baseline", "base.json")
    failed = "graphfix: bad.onnx: no ONNX model; give one\n"
    assert check(*ALL, "bad.onnx", "--baseline", "base.json")[::2] == (2, failed)
    unwritten = "graphfix: new.json: not written: a model could not be checked; mend it, or --exclude it\n"
    assert check(*ALL, "bad.onnx", "--write-baseline", "new.json")[::2] == (2, failed + unwritten)
    assert check("a.onnx", "-q", "--write-baseline", "new.json")[::2] == (0, "")
    assert (tmp_path / "new.json").exists()
    (tmp_path / "a.onnx").unlink()
    said = check("b.onnx", "bad.onnx", "--baseline", "base.json")[2]
    assert said.endswith("3 known findings can't be found any more; --write-baseline base.json takes them out\n")
