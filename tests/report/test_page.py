"""The HTML page as text: what is in it without a browser, and that nothing can break out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from graphfix.cli import commands
from graphfix.report import html, pages
from graphfix.report.forms import registry
from graphfix.report.html import added_bytes, data, sections
from graphfix.report.text import Entry, Failure
from graphfix.results import Conversion, Gap, Outcome, Verdict
from graphfix.results.excerpt import Excerpt
from tests.report import page_models
from tests.support.page_reader import Reader, data_of
from tests.support.places import ROOT

ASSETS = ROOT / "graphfix" / "report" / "html" / "assets"


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([page_models.fixed(5)], id="fix"),
        pytest.param([page_models.verified()], id="verify"),
        pytest.param(page_models.several(), id="check"),
        pytest.param([page_models.renamed(page_models.fixed(20), page_models.HOSTILE)], id="hostile"),
        pytest.param([Failure("fix", "<b>\0", "<b>\0: no model")], id="failure"),
        pytest.param([], id="nothing"),
        pytest.param([replace(page_models.fixed(2), verdict=Verdict("skipped"), seconds={})], id="skipped"),
    ],
)
def test_what_opens_closes_ids_are_unique_and_nothing_is_fetched(entries: list[Entry]) -> None:
    text = html.page(entries)
    read = Reader(text)
    assert len(read.ids) == len(set(read.ids))
    assert read.tags.count("script") == 2
    assert "default-src 'none'" in text


def test_no_name_can_end_the_block_of_data() -> None:
    outcome = page_models.renamed(page_models.fixed(20), page_models.HOSTILE)
    text = data.block([outcome])
    assert not set(text) & set("<>&\0\x1b\u2028\u202e")
    assert text.isascii()
    (model,) = json.loads(text)["models"]
    assert "</script><img src=x onerror=alert(1)>/1" in model["texts"]
    assert r"nul\x00and\x1b[31mred/5" in model["texts"]
    assert max(map(len, model["texts"])) <= data.MOST_LETTERS


def test_every_site_is_in_the_data_with_what_is_known_of_it() -> None:
    outcome = page_models.fixed(8)
    (model,) = data_of(html.page([outcome]))
    texts, sites = model["texts"], model["sites"]
    said = [[texts[number] for number in sites[name]] for name in ("code", "node", "before", "after", "status")]
    assert next(zip(*said, strict=True)) == ("GF101", "encoder/layer.0/add", "[64]", "[1,1,64]", "changed")
    assert all(len(column) == len(outcome.sites) for column in sites.values())
    left = said[4].index("left")
    assert (said[2][left], said[3][left]) == ("[*]", "")


def test_sites_that_look_alike_share_a_drawing() -> None:
    (model,) = data_of(html.page([page_models.fixed(200)]))
    numbers = model["sites"]["drawing"]
    assert len(model["drawings"]) < 20
    assert set(range(len(model["drawings"]))) <= set(numbers)


def test_a_page_has_a_bounded_number_of_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "MOST_DRAWN", 3)
    (model,) = data_of(html.page([page_models.fixed(200)]))
    assert len(model["drawings"]) == 3
    assert -1 in model["sites"]["drawing"]


def test_bytes_are_counted_where_sizes_and_types_are_known() -> None:
    outcome = page_models.fixed(12)
    found = added_bytes.stretches(outcome)
    by_node = {each.site.node: each.bytes for each in found if each.site.operand == 1}
    assert by_node["encoder/layer.1/add"] == (2 * 128 - 1) * 128 * 4
    assert by_node["encoder/layer.4/add"] is None, "the element type is not known"
    assert {each.bytes for each in found if each.site.code == "GF103"} == {None}
    text = Reader("".join(added_bytes.chart(outcome))).text
    assert text.startswith(
        "Bytes that stretches add when the model runs 8 operands: 1.3 MiB more in all; not known of 5"
    )


def test_bars_are_the_largest_and_the_rest_is_counted() -> None:
    text = "".join(added_bytes.chart(page_models.fixed(60)))
    assert text.count('class="bar"') == added_bytes.SHOWN
    assert re.search(r"and \d+ operands more", text)
    assert "".join(added_bytes.chart(page_models.fixed(6, drawn=False))).count('class="bar"') == 0
    assert "".join(added_bytes.chart(page_models.verified())) == ""


def test_the_verdict_is_told_in_full() -> None:
    text = Reader(html.page([page_models.verified()])).text
    for said in (
        "different : the first tensor to differ is 'h' of Mul 'm' at (0, 1)",
        "First without a match, before : y[2,3] = Add(x[2,3], b[3]) # Add 'n3'",
        "operand 1: (d0, d1) -> (d1)",
        "12 operands of broadcasting operators: 12 observed when the original ran, 0 contradicted",
        "signed-zero",
        "the first model refuses it",
        "aa" * 32,
        "1.31.1",
    ):
        assert said in text


def test_what_tosa_made_is_told() -> None:
    done = Conversion(
        "agrees", "torch-mlir", operators={"tosa.add": 2}, gaps=(Gap("y", 0.5, 0.01, within=True),), runs=3,
        beside="onnxruntime", specification="TOSA 1.0", versions={"torch-mlir": "1"},
    )  # fmt: skip
    text = Reader(html.page([Outcome("tosa", "m.onnx", "onnx", output="m.tosa", conversion=done)])).text
    assert "valid TOSA 1.0: 2 operators (tosa.add 2), by torch-mlir 1" in text
    assert "y 0.5 0.01 yes" in text


def test_sites_are_counted_by_status_and_code() -> None:
    text = Reader(html.page([replace(page_models.fixed(40), suppressed=2)])).text
    assert "Made explicit 70 ( GF101 30, GF102 30, GF103 10) Left 5 ( GF104 5) Exempt 5 ( GF102 5)" in text
    assert "In the baseline 2 findings" in text


def test_models_lead_to_their_parts_and_a_failure_says_why() -> None:
    read = Reader(html.page(page_models.several()))
    assert {"models", "m0", "m1", "m2"} <= set(read.ids)
    assert "✗ error bad.onnx: no ONNX model; give one" in read.text
    assert "clean for target ranks" in read.text
    assert "made explicit" not in read.text, "no model has such a site: no column"


def test_a_code_of_ones_own_leads_to_the_first_line_of_its_page() -> None:
    site = replace(page_models.fixed(1).sites[0], code="OWN1")
    outcome = replace(
        page_models.fixed(1), sites=(site,), own_codes={"OWN1": "Drop `Mul` by 1 <b>.", "OWN2": "Unused."}
    )
    read = Reader(html.page([outcome]))
    assert "OWN1 Drop Mul by 1 <b>." in read.text
    assert "OWN2" not in read.ids


def test_the_pages_of_the_codes_that_occur_are_there() -> None:
    read = Reader(html.page([page_models.fixed(12)]))
    assert [each for each in read.ids if each.startswith("GF")] == ["GF101", "GF102", "GF103", "GF104"]


@pytest.mark.parametrize("code", pages.codes())
def test_nothing_of_a_code_page_stays_markdown(code: str) -> None:
    found = Reader(f"<div>{sections.markup(pages.page(code))}</div>")
    assert found.text
    prose = re.sub(r"<pre.*?</pre>", "", sections.markup(pages.page(code)), flags=re.DOTALL)
    assert not re.search(r"`|^#|\n- |\]\(", prose)


def test_markdown_becomes_paragraphs_headings_lists_and_code() -> None:
    text = "## Why\n\none `a<b`\ntwo\n\n    x = 1\n\n    y\n\n- p\n  q\n- r\n\nend"
    assert sections.markup(text) == (
        '<h4>Why</h4><p>one <code>a&lt;b</code> two</p><pre tabindex="0">x = 1\n\ny</pre>'
        "<ul><li>p q</li><li>r</li></ul><p>end</p>"
    )


def test_every_script_is_in_the_page() -> None:
    assert {f"{name}.js" for name in html.SCRIPTS} == {path.name for path in ASSETS.glob("*.js")}


def test_a_report_of_a_model_holds_its_graph(tmp_path: Path) -> None:
    made = tmp_path / "r.html"
    assert commands.main(["check", str(ROOT / "models" / "encoder.onnx"), "--report", str(made), "-q"]) == 1
    (model,) = data_of(made.read_text(encoding="utf-8"))
    assert model["excerpt"]["steps"] == 2
    assert min(model["sites"]["at"]) >= 0, "each site's node is in the graph"
    assert any("Add(" in text for text in model["texts"])


def test_other_reports_do_not_ask_for_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Excerpt | None] = []
    monkeypatch.setattr(registry, "write", lambda _, entries, __: seen.extend(entry.excerpt for entry in entries))
    for name in ("r.json", "r.html"):
        commands.main(["check", str(ROOT / "models" / "encoder.onnx"), "--report", str(tmp_path / name), "-q"])
    assert [found is None for found in seen] == [True, False]
