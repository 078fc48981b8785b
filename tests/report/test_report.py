"""Reports: hand-made outcomes in, the text that people and programs read out."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import graphfix
from graphfix.cli import commands
from graphfix.report import pages, summary
from graphfix.report.forms import registry
from graphfix.report.forms.json import document, json_text
from graphfix.report.table import table, unwritten
from graphfix.report.text import Failure, findings
from graphfix.report.verdict import verdict_text
from graphfix.results import Conversion, GraphfixError, Outcome, Run, Site, Verdict
from graphfix.results.claims import Facts
from tests.support.notation import model

LIFTED = Site("GF101", "ffn/bias", "Add", "main", 1, (64,), (1, 1, 64), "changed", "equalize-ranks")
STRETCHED = Site(
    "GF102", "ffn/bias", "Add", "main", 1, (1, 1, 64), ("N", None, 64), "changed", "materialize-broadcasts"
)
LEFT = Site("GF104", "x", "Mul", "main/if_3.then_branch", 0, None, None, "left", None, "the rank of 'x1' is not known")
EXEMPT = Site("GF102", "Pow#4", "Pow", "main", 1, (1, 1), None, "exempt", None, "a scalar exponent has its own kernel")
EQUAL = Verdict(
    "equal",
    runs=(
        Run({"N": 3}, "off", "equal", 12, 0.0),
        Run({"N": 1}, "off", "equal", 12, 0.0),
        Run({"N": 3}, "on", "different", 12, 1.5e-7),
        Run({"N": 1}, "on", "equal", 12, 0.0),
        Run({"N": 0}, "off", "undecided", 0, None, "the first model refuses it"),
    ),
    exceptions=({"class": "signed-zero", "output": "y", "site": "Add 'n3'", "count": 2},),
    versions={"numpy": "2.0", "onnx": "1.2", "onnxruntime": "1.31.1"},
    sha256={"before": "aa", "after": "bb"},
)
FIXED = Outcome(
    "fix",
    "m.onnx",
    "onnx",
    target="explicit",
    output="f.onnx",
    changed=True,
    rewrites={"normalize-expand": 0, "equalize-ranks": 1, "materialize-broadcasts": 1},
    sites=(LIFTED, STRETCHED, LEFT, EXEMPT),
    verdict=EQUAL,
    assumes=("the dims named 'N' are equal: a[0], b[0]",),
    seconds={"load": 0.001, "verify": 1.239},
)
CHECKED = Outcome("check", "m.onnx", "onnx", target="ranks", sites=(replace(LIFTED, status="found"), EXEMPT))
CLEAN = replace(CHECKED, source="c.onnx", sites=(EXEMPT,))
FAILED = Failure("check", "bad.onnx", "bad.onnx: no ONNX model; give one")
DIFFERENT = Verdict(
    "different",
    first_difference={
        "tensor": "h",
        "producer": "Mul 'm'",
        "index": (0, 1),
        "before": 1.0,
        "after": 2.0,
        "count": 6,
    },
)


def test_the_table_of_fix_says_what_became_explicit_what_stays_and_that_the_result_is_equal() -> None:
    assert (
        table(FIXED)
        == """\
m.onnx -> f.onnx: 1 operand made explicit by 2 edits (equalize-ranks 1, materialize-broadcasts 1), 1 left, 1 exempt
  GF101 GF102  Add 'ffn/bias'  operand 1  [64] -> [1,1,64] -> [N,?,64]
  left GF104 Mul 'x' in main/if_3.then_branch, operand 0: the rank of 'x1' is not known
  exempt GF102 Pow#4, operand 1: a scalar exponent has its own kernel
  assumes the dims named 'N' are equal: a[0], b[0]
equal: 12 outputs bit-equal over 2 runs, 1 more undecided (onnxruntime 1.31.1, seed 0); 1 exception of the runtime: \
signed-zero at Add 'n3'; with optimizations on the largest difference is 1.5e-07 (these runs never decide)
1.24 s: verify 1.24"""
    )


def test_the_table_of_check_counts_the_findings_by_code() -> None:
    assert (
        table(CHECKED)
        == """\
m.onnx: 1 finding for target ranks (GF101 1), 1 exempt
  found  GF101  Add 'ffn/bias'  operand 1  [64] -> [1,1,64]
  exempt GF102 Pow#4, operand 1: a scalar exponent has its own kernel"""
    )


def test_nodes_with_a_free_size_are_one_line() -> None:
    reasons = ("a[N,3] has a size that is free", "b[N,4] has a size that is free")
    free = [
        replace(LEFT, code="GF302", node=f"n{at}", op=op, operand=None, reason=reason, graph="main")
        for at, (op, reason) in enumerate(zip(("Add", "Mul"), reasons, strict=True))
    ]
    lines = table(replace(CHECKED, sites=tuple(free))).splitlines()
    assert lines[1:] == ["  left GF302 Add 'n0' and 1 more: a[N,3] has a size that is free"]


def test_what_a_target_does_not_take_is_a_line_for_each_type_whatever_the_operator() -> None:
    sites = [
        replace(LEFT, code="GF305", node=f"n{at}", op=op, operand=None, reason=f"'v{at}' is {kind}", graph="main")
        for at, (op, kind) in enumerate((("Add", "float32"), ("Mul", "int64"), ("Mul", "float32")))
    ]
    lines = table(Outcome("check", "m.onnx", "onnx", target="mine", sites=tuple(sites))).splitlines()
    assert lines[1:] == ["  left GF305 Add 'n0' and 1 more: 'v0' is float32", "  left GF305 Mul 'n1': 'v1' is int64"]


@pytest.mark.parametrize(
    ("code", "rewrite", "why"),
    [
        ("GF303", "fold-shape-arithmetic", "[2]: computes what is known before the model runs (fold-shape-arithmetic)"),
        ("GF304", "pow-to-mul", "[2]: a form that the target's tools refuse or misread (pow-to-mul)"),
    ],
)
def test_a_finding_of_a_whole_node_has_a_reason_and_its_rewrite(code: str, rewrite: str, why: str) -> None:
    site = Site(code, "n", "Pow", "main", None, (2,), None, "found", rewrite)
    found = replace(CHECKED, sites=(site,))
    assert f"Pow 'n'  {why}" in table(found)
    for form in ("sarif", "junit", "github"):
        assert why.replace("'", "") in registry.TEXTS[form]([found]).replace("&apos;", "").replace("'", "")


def test_a_model_with_exempt_sites_only_is_clean() -> None:
    assert table(CLEAN).splitlines()[0] == "c.onnx: clean for target ranks, 1 exempt"
    assert findings(CLEAN) == []


def test_a_model_with_a_site_left_undecided_is_not_called_clean() -> None:
    undecided = replace(CHECKED, sites=(LEFT,))
    assert table(undecided).splitlines()[0] == "m.onnx: nothing that fix would change for target ranks, 1 left"
    assert findings(undecided) == [LEFT]


def test_what_the_target_can_not_take_is_called_that() -> None:
    limits = replace(CHECKED, sites=(replace(LEFT, code="GF304"), replace(LEFT, code="GF305")))
    line = table(limits).splitlines()[0]
    assert line == "m.onnx: 2 sites that target ranks can't take, and nothing that fix would change"
    mixed = replace(CHECKED, sites=(LEFT, replace(LEFT, code="GF305")))
    assert table(mixed).splitlines()[0].endswith("nothing that fix would change for target ranks, 2 left")


def test_a_model_that_was_not_asked_everything_is_clean_so_far() -> None:
    asked = replace(CLEAN, notes=("its operators are another format's",))
    lines = table(asked).splitlines()
    assert lines[0] == "c.onnx: clean for target ranks, as far as it can be asked, 1 exempt"
    assert "  its operators are another format's" in lines
    assert document(asked)["notes"] == ["its operators are another format's"]
    assert "- Note: its operators are another format's" in registry.TEXTS["markdown"]([asked])


def test_the_other_way_is_not_called_explicit_in_markdown() -> None:
    folded = registry.TEXTS["markdown"]([replace(FIXED, rewrites={"fold-broadcasts": 2})])
    assert "### Taken out: 2" in folded
    assert "- Nothing is redundant" in registry.TEXTS["markdown"](
        [replace(FIXED, rewrites={"fold-broadcasts": 0}, sites=())]
    )
    assert "### Made explicit: 2" in registry.TEXTS["markdown"]([FIXED])


def test_the_totals_tell_clean_found_and_failed_models_apart() -> None:
    assert summary.totals([CHECKED, CLEAN, FAILED]) == "3 models: 1 clean, 1 with findings, 1 could not be checked"
    assert summary.totals([CLEAN, CLEAN]) == "2 models: 2 clean, 0 with findings"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        pytest.param(Outcome("fix", "m", "onnx", output="f"), "m -> f: nothing to make explicit, copied", id="copy"),
        pytest.param(
            Outcome("tosa", "m", "onnx", output="f", conversion=Conversion("converted", "t")),
            "m -> f: nothing to make explicit",
            id="a conversion is no copy",
        ),
        pytest.param(
            Outcome("fix", "m", "onnx", output="f", changed=True),
            "m -> f: nothing to make explicit; only what the file states was changed",
            id="dims bound or an assumption noted",
        ),
        pytest.param(
            Outcome("fix", "m", "onnx", output="f", rewrites={"fold-broadcasts": 0}),
            "m -> f: nothing to take out, copied",
            id="copy, the other way",
        ),
        pytest.param(
            replace(FIXED, rewrites={"fold-broadcasts": 2}, sites=(LIFTED, STRETCHED)),
            "m.onnx -> f.onnx: 1 node rewritten by 2 edits (fold-broadcasts 2)",
            id="the other way no operand is made explicit",
        ),
        pytest.param(
            replace(FIXED, rewrites={"equalize-ranks": 1}, sites=(LIFTED,)),
            "m.onnx -> f.onnx: 1 operand made explicit (equalize-ranks 1)",
            id="as many edits as operands",
        ),
        pytest.param(
            replace(
                FIXED,
                rewrites={"normalize-expand": 1},
                sites=(Site("GF203", "e", "Expand", "main", 0, (2,), (2,), "changed"),),
            ),
            "m.onnx -> f.onnx: 1 node rewritten (normalize-expand 1)",
            id="an Expand that goes makes no operand explicit",
        ),
        pytest.param(
            replace(
                FIXED,
                rewrites={"drop-unit-scale": 1},
                sites=(Site("MY101", "m", "Mul", "main", 0, (2,), None, "changed"),),
            ),
            "m.onnx -> f.onnx: 1 node rewritten (drop-unit-scale 1)",
            id="what a rewrite of the user's own does is no broadcast for all that is known",
        ),
        pytest.param(
            replace(FIXED, output=None, sites=(LIFTED,), rewrites={"equalize-ranks": 1}),
            "m.onnx: nothing written: 1 operand made explicit (equalize-ranks 1)",
            id="nothing written",
        ),
    ],
)
def test_the_headline_of_fix(outcome: Outcome, said: str) -> None:
    assert table(outcome).splitlines()[0] == said


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        pytest.param(
            [1e-6, 2e-6],
            ["  the outputs differ by at most 2e-06; if that is rounding, --atol and --rtol accept it"],
            id="small",
        ),
        pytest.param([1e-6, 0.5], [], id="one run differs by more"),
        pytest.param([1e-6, None], [], id="one run failed"),
        pytest.param([1e-6, 0.0], [], id="a difference of shapes is no number"),
    ],
)
def test_verify_names_the_options_of_a_tolerance_for_small_differences_alone(
    differences: list[float | None], said: list[str]
) -> None:
    runs = tuple(Run({}, "off", "different", 1, largest) for largest in differences)
    verdict = Verdict("different", runs=(*runs, Run({}, "on", "different", 1, 3.0)), reason="the outputs differ: y")
    found = Outcome("verify", "m.onnx", "onnx", output="f.onnx", verdict=verdict)
    assert table(found).splitlines()[1:] == said
    assert "--atol" not in table(replace(found, command="fix"))


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        pytest.param(Verdict("skipped"), "not verified (--no-verify)", id="skipped"),
        pytest.param(Verdict("undecided", reason="no\nkernel"), r"undecided: no\nkernel", id="undecided, on one line"),
        pytest.param(
            DIFFERENT,
            "different: the first tensor to differ is 'h' of Mul 'm' at (0, 1): 1.0 before, 2.0 after (6 elements)",
            id="different",
        ),
        pytest.param(
            Verdict("different", first_difference={"tensor": "1", "producer": "Sin#0", "other_producer": "Neg#0"}),
            "different: the first tensor to differ is '1' of Sin#0 (Neg#0 in the second file: perhaps an unrelated "
            "tensor of the same name)",
            id="another operator has the name in the second file",
        ),
        pytest.param(
            Verdict("contradicted", reason="the view says [2] of 'x', the runtime gave [3]"),
            "contradicted by the original's run: the view says [2] of 'x', the runtime gave [3]",
            id="a wrong size",
        ),
        pytest.param(Verdict("different", reason="output 'z' is new"), "different: output 'z' is new", id="faces"),
        pytest.param(
            replace(
                EQUAL, reason="the outputs were compared at atol 1, rtol 0, not bit for bit", exceptions=(), runs=()
            ),
            "equal: 0 outputs over 0 runs (onnxruntime 1.31.1, seed 0); "
            "the outputs were compared at atol 1, rtol 0, not bit for bit",
            id="a tolerance is never called bit-equal",
        ),
        pytest.param(
            Verdict("equal", runs=(Run({}, "off", "equal", 1),), versions={"numpy": "2.0"}, seed=7),
            "equal: 1 output bit-equal over 1 run (numpy 2.0, seed 7)",
            id="one of each",
        ),
        pytest.param(
            Verdict(
                "equal",
                runs=(
                    Run({"N": 2}, "off", "equal", 1, kernels="reference"),
                    Run({"N": 2}, "off", "equal", 1, kernels="default"),
                    Run({"N": 0}, "off", "undecided", kernels="reference", reason="the first model refuses it"),
                    Run({"N": 0}, "off", "undecided", kernels="default", reason="the first model refuses it"),
                    Run({"N": 2}, "off", "undecided", kernels="builtin", reason="it would take too long"),
                    Run({"N": 0}, "off", "undecided", kernels="builtin", reason="it would take too long"),
                    *(Run({"N": size}, "on", "undecided") for size in (2, 3)),
                ),
                versions={"ai-edge-litert": "2.1"},
            ),
            "equal: 1 output bit-equal over 1 run on 2 kernel sets, 1 more undecided (ai-edge-litert 2.1, seed 0)",
            id="a refused size is counted once; a kernel set without a run and runs with optimizations on are not",
        ),
    ],
)
def test_a_verdict_in_one_sentence(verdict: Verdict, said: str) -> None:
    assert verdict_text(verdict) == said


def test_why_nothing_was_written_fits_one_line() -> None:
    undecided = replace(FIXED, output=None, verdict=Verdict("undecided", reason="no kernel"))
    said = "m.onnx: nothing written, undecided: no kernel; --no-verify writes it unverified"
    assert unwritten(undecided) == said


def test_a_long_table_tells_equal_lines_together_and_says_how_many_are_not_shown() -> None:
    alike = [replace(LIFTED, node=f"layer.{number}/bias") for number in range(30)]
    others = [replace(LIFTED, node=f"n{number}", after=(1, number)) for number in range(30)]
    lines = table(replace(CHECKED, sites=[replace(site, status="found") for site in alike + others])).splitlines()
    assert lines[1] == "  found  GF101  Add 'layer.0/bias' and 29 more  operand 1  [64] -> [1,1,64]"
    assert lines[2] == "  found  GF101  Add 'n0'                        operand 1  [64] -> [1,0]"
    assert lines[-1] == "  ... and 11 more; -v or --report FILE.md lists all"
    assert len(lines) == 1 + 20 + 1


@pytest.mark.parametrize(("number", "said"), [(6, "1 more assumption;"), (7, "2 more assumptions;")])
def test_assumptions_that_are_not_shown_are_counted(number: int, said: str) -> None:
    assumes = tuple(f"the stored rank of 'x{at}'" for at in range(number))
    assert f"  ... and {said}" in table(replace(CHECKED, assumes=assumes))


def test_twenty_sites_are_reported_one_by_one() -> None:
    sites = [replace(LIFTED, node=f"layer.{number}/bias") for number in range(20)]
    assert len(table(replace(FIXED, sites=sites, assumes=(), seconds={})).splitlines()) == 1 + 20 + 1


def test_an_edit_that_keeps_the_shape_shows_it_once() -> None:
    sites = (Site("GF203", "e", "Expand", "main", 0, (2, 3), (2, 3), "found"),)
    assert table(replace(CHECKED, sites=sites)).splitlines()[1] == "  found  GF203  Expand 'e'  operand 0  [2,3]"


def test_operands_that_stay_for_one_reason_are_reported_once() -> None:
    sites = [
        Site("GF101", f"norm{node}", "LayerNormalization", "main", operand, (64,), None, "exempt", None, "own kernel")
        for node in range(3)
        for operand in (1, 2)
    ]
    assert table(replace(CHECKED, sites=sites)).splitlines()[1:] == [
        "  exempt GF101 LayerNormalization 'norm0' and 2 more, operands 1 and 2: own kernel"
    ]


def test_a_name_can_not_steer_the_terminal_or_break_a_line() -> None:
    evil = replace(LIFTED, node="a\x1b[2J\nb", graph="main")
    text = table(replace(FIXED, source="m\r.onnx", sites=(evil,)))
    assert r"Add 'a\x1b[2J\nb'" in text
    assert all(line.isprintable() for line in text.splitlines())
    assert "\r" not in text


def test_the_document_has_the_fields_of_the_contract() -> None:
    said = json.loads(json_text([FIXED]))
    head = "schema graphfix command model output format target changed dry_run sites_left check_options reused rewrites"
    assert " ".join(said) == f"{head} sites suppressed verdict assumes open_sizes notes own_codes seconds conversion"
    assert (said["schema"], said["command"], said["output"]) == (1, "fix", "f.onnx")
    assert said["rewrites"] == {"normalize-expand": 0, "equalize-ranks": 1, "materialize-broadcasts": 1}
    assert said["sites"][1] == {
        "code": "GF102",
        "node": "ffn/bias",
        "op": "Add",
        "graph": "main",
        "operand": 1,
        "before": [1, 1, 64],
        "after": ["N", None, 64],
        "status": "changed",
        "rewrite": "materialize-broadcasts",
        "reason": None,
        "bytes": 0,
        "blocks": False,
        "inexact": None,
    }
    assert said["sites"][2]["before"] is None
    verdict = said["verdict"]
    assert set(verdict) >= {
        "status",
        "proof",
        "assumes",
        "runs",
        "exceptions",
        "first_difference",
        "seed",
        "versions",
        "sha256",
    }
    assert verdict["runs"][0] == {
        "bindings": {"N": 3},
        "optimizations": "off",
        "status": "equal",
        "outputs": 12,
        "largest_difference": 0.0,
        "reason": None,
        "kernels": "",
        "signature": "",
    }


def document_names() -> set[str]:
    """The fields by their names in a document: `source` is `model` there, and the loaded model is not in it."""
    return {{"source": "model"}.get(field.name, field.name) for field in fields(Outcome) if field.name != "model"}


def test_no_field_of_an_outcome_is_missing_from_its_document() -> None:
    drawn = {"excerpt", "changes", "files"}  # what pages and diffs show: the model itself says it
    assert document_names() - drawn <= set(document(FIXED))


def test_several_models_stand_under_one_key_and_a_failed_one_with_its_error() -> None:
    whole = json.loads(json_text([CHECKED, FAILED]))
    assert list(whole) == ["schema", "models"]
    assert [part["model"] for part in whole["models"]] == ["m.onnx", "bad.onnx"]
    assert whole["models"][1]["error"] == "bad.onnx: no ONNX model; give one"
    assert "sites" not in whole["models"][1]


def test_the_document_is_json_for_numbers_that_json_does_not_have() -> None:
    runs = (Run({}, "on", "different", 1, math.inf),)
    odd = Verdict(
        "different", runs=runs, first_difference={"before": math.nan, "after": np.float32(0.5), "index": (0,)}
    )
    text = json_text([replace(FIXED, verdict=odd, source="\udc80.onnx")])
    said = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert said["verdict"]["runs"][0]["largest_difference"] == "inf"
    assert said["verdict"]["first_difference"]["before"] == "nan"
    assert text.isascii()


def test_the_markdown_report_lists_every_site_with_its_reason() -> None:
    text = registry.TEXTS["markdown"]([FIXED])
    lines = text.splitlines()
    assert lines[0] == "# graphfix fix"
    assert "## `m.onnx` to `f.onnx`" in lines
    assert "### Made explicit: 2" in lines
    assert "| GF102 | `ffn/bias` | Add | 1 | `[1,1,64]` | `[N,?,64]` | materialize-broadcasts |  |" in lines
    assert "| GF104 | `x` in `main/if_3.then_branch` | Mul | 0 | `[*]` |  |  | the rank of 'x1' is not known |" in lines
    assert "| N=0 | off | undecided | 0 |  | the first model refuses it |" in lines
    assert "| `signed-zero` | `y` | `Add 'n3'` | `2` |" in lines
    assert "- sha256 before: `aa`" in lines
    assert "- the dims named 'N' are equal: a[0], b[0]" in lines


def test_the_markdown_tables_have_as_many_cells_as_heads() -> None:
    nasty = replace(LIFTED, node="a|b`c``d", reason="1|2 <b> *x*")
    for line in registry.TEXTS["markdown"]([replace(FIXED, sites=(nasty, LEFT)), CHECKED, FAILED]).splitlines():
        if line.startswith("|"):
            cells = len(re.findall(r"(?<!\\)\|", line)) - 1
            assert cells in (6, 8, 4), line


def test_markdown_escapes_what_a_name_could_inject() -> None:
    nasty = replace(LEFT, node="a`b", reason="see [x](http://y) <img> *n*")
    text = registry.TEXTS["markdown"]([replace(CHECKED, sites=(nasty,))])
    assert "`` a`b ``" in text
    assert r"see `[x](http://y)` \<img\> \*n\*" in text


def test_the_markdown_of_several_models_begins_with_a_summary() -> None:
    lines = registry.TEXTS["markdown"]([CHECKED, FAILED]).splitlines()
    assert lines[4] == "| model | changed | found | left | exempt | answer |"
    assert lines[6:8] == [
        "| `m.onnx` | 0 | 1 | 0 | 1 |  |",
        "| `bad.onnx` |  |  |  |  | error: bad.onnx: no ONNX model; give one |",
    ]


@pytest.mark.parametrize("name", ["r.json", "r.md", "R.JSON"])
def test_the_suffix_chooses_the_form_and_nothing_else_is_left_in_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("an older report")
    registry.write(tmp_path / name, [FIXED])
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text == (registry.TEXTS["markdown"]([FIXED]) if name.endswith("md") else json_text([FIXED]))
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("r.txt", f"the form of a report is chosen by its suffix; known: {', '.join(registry.FORMS)}"),
        ("r", f"the form of a report is chosen by its suffix; known: {', '.join(registry.FORMS)}"),
        ("none/r.md", "the folder of the report does not exist; create it first"),
        ("folder.md", "a folder; name the report's file"),
    ],
)
def test_a_report_that_can_not_be_written_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(GraphfixError) as error:
        registry.write(tmp_path / name, [FIXED])
    assert str(error.value) == f"{tmp_path / name}: {said}"
    assert [path.name for path in tmp_path.iterdir()] == ["folder.md"]


def test_a_disk_that_is_full_leaves_the_older_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.md").write_text("an older report")

    def full(path: Path, *_: object, **__: object) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(GraphfixError, match=r"r.md: the report can't be written: No space left on device"):
        registry.write(tmp_path / "r.md", [FIXED])
    assert [path.name for path in tmp_path.iterdir()] == ["r.md"]
    monkeypatch.undo()
    assert (tmp_path / "r.md").read_text() == "an older report"


def test_a_link_under_the_name_of_a_draft_leads_a_report_nowhere(tmp_path: Path) -> None:
    """In a folder that others write too, the name of a draft is not to be guessed, and no file there is followed."""
    (tmp_path / "another").write_text("of somebody")
    (tmp_path / f".r.md.{os.getpid()}.tmp").symlink_to(tmp_path / "another")
    registry.write(tmp_path / "r.md", [FIXED])
    assert (tmp_path / "another").read_text() == "of somebody"
    assert not (tmp_path / "r.md").is_symlink()


# --- the pages of the finding codes ---------------------------------------------------------------------------------

NAMES = {
    "GF101": "rank-mismatch",
    "GF102": "degenerate-broadcast",
    "GF103": "unknown-broadcast",
    "GF104": "unranked-operand",
    "GF105": "incompatible-shapes",
    "GF201": "legacy-broadcast",
    "GF202": "rank-changing-expand",
    "GF203": "redundant-expand",
    "GF204": "stale-shape",
    "GF301": "rank-over-limit",
    "GF302": "dynamic-dim",
    "GF303": "computed-constant",
    "GF304": "operator-form",
    "GF305": "not-supported",
}


def test_every_finding_code_has_a_page_and_no_other() -> None:
    assert pages.codes() == tuple(NAMES)
    with pytest.raises(GraphfixError, match=r"^GF999: no such finding code; known: GF101, GF102"):
        pages.page("GF999")


@pytest.mark.parametrize("code", NAMES)
def test_a_page_says_what_it_is_shows_an_example_and_what_to_do(code: str) -> None:
    page = pages.page(code)
    assert page.splitlines()[0] == f"# {code} {NAMES[code]}"
    assert re.search(r"^    .*\w\(\w+.*\)", page, re.MULTILINE)
    heads = re.findall(r"^## (.*)", page, re.MULTILINE)
    assert heads[:2] == ["Why tool chains mind", "What graphfix does"]
    assert heads[2] in ("How to keep it", "How to avoid it")
    assert max(map(len, page.splitlines())) <= 120


def test_the_static_examples_of_the_pages_have_the_shapes_that_numpy_gives() -> None:
    found = [match for code in NAMES for match in _examples(pages.page(code))]
    assert len(found) >= 5
    for result, operands in found:
        assert np.broadcast_shapes(*operands) == result


def _examples(page: str) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """`y[2,3] = Add(x[2,3], b[3])`, for operators that follow numpy's rule."""
    lines = re.findall(r"\w+\[([\d,]+)\] = Add\(([^()=]*)\)", page)
    shapes = [(result, re.findall(r"\w+\[([\d,]+)\]", operands)) for result, operands in lines]
    return [(_ints(result), [_ints(operand) for operand in operands]) for result, operands in shapes]


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def test_markdown_counts_the_sizes_that_were_claimed_where_any_were() -> None:
    facts = replace(FIXED, verdict=replace(EQUAL, facts=Facts(1, 0, 0)))
    said = "1 operand of broadcasting operators: 0 observed when the original ran, 0 contradicted"
    assert said in registry.TEXTS["markdown"]([facts])
    assert "claimed" not in registry.TEXTS["markdown"]([FIXED])


def test_a_copy_that_was_not_written_is_none() -> None:
    contradicted = Outcome("fix", "m", "onnx", verdict=Verdict("contradicted", reason="why"))
    lines = table(contradicted).splitlines()
    assert lines[0] == "m: nothing written: no operand had to be made explicit"
    assert lines[1:] == ["contradicted by the original's run: why"]


def test_an_upgrade_says_of_which_operator_set_the_model_is(tmp_path: Path) -> None:
    node = helper.make_node("Unsqueeze", ["x"], ["y"], axes=[0])
    ends = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [4]), ("y", [1, 4]))]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6), tmp_path / "m.onnx")
    lines = table(graphfix.check(tmp_path / "m.onnx", target="tosa")).splitlines()
    line = next(line for line in lines[1:] if "GF304" in line)
    assert line.endswith("the model is of operator set 11, not 17")


@pytest.mark.parametrize("name", [f"{'r' * 240}.md", "none/r.json", "folder.xml"])
def test_a_report_that_can_not_be_written_is_found_before_the_model_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "folder.xml").mkdir()
    (tmp_path / "m.onnx").write_bytes(model("y[2,3] = Add(x[2,3], b[3])").SerializeToString())
    before = sorted(tmp_path.iterdir())
    asked = ["fix", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "f.onnx"), "--no-verify"]
    assert commands.main([*asked, "--report", str(tmp_path / name)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"graphfix: {tmp_path / name}: ")
    assert sorted(tmp_path.iterdir()) == before


def test_the_folder_of_a_report_is_there_unless_the_command_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "none" / "r.json"
    for ask in (registry.refuse, lambda path: registry.write(path, [FIXED])):
        with pytest.raises(GraphfixError, match="the folder of the report does not exist; create it first"):
            ask(path)
    registry.refuse(path, folder_is_made=True)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_found_before_the_model_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(GraphfixError, match=r"r.json: the report can't be written: No space left on device; make room"):
        registry.refuse(tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_fails_with_optimizations_on_is_a_note_that_decides_nothing() -> None:
    runs = (Run({}, "off", "equal", outputs=1), Run({}, "on", "undecided", reason="both models fail: onnxruntime: no"))
    shown = table(Outcome("verify", "a", "onnx", output="b", verdict=Verdict("equal", runs)))
    note = "note: with optimizations on (the default of onnxruntime) both models fail: onnxruntime: no"
    assert f"  {note} (these runs never decide)" in shown.splitlines()


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_report_says_beside_a_run_with_optimizations_that_it_never_decides(form: str) -> None:
    run = Run({}, "on", "different", outputs=1, largest_difference=0.25)
    text = registry.FORMS[{"markdown": ".md", "html": ".html"}[form]](
        [Outcome("verify", "a", "onnx", output="b", verdict=Verdict("equal", (run,)))]
    )
    assert "on (these runs never decide)" in text


def test_assumptions_that_are_all_shown_are_not_counted() -> None:
    assumes = tuple(f"the stored rank of 'x{at}'" for at in range(5))
    lines = table(replace(CHECKED, assumes=assumes)).splitlines()
    assert [line for line in lines if line.startswith("  assumes ")] == [f"  assumes {text}" for text in assumes]
    assert "..." not in lines[-1]
