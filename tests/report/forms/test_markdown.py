"""The Markdown report as a comment on a pull request: rendered as GitHub does, and never longer than it takes."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from graphfix.report.forms import markdown, registry
from graphfix.report.forms.markdown_escapes import prose
from graphfix.report.table import table
from graphfix.report.text import Failure
from graphfix.results import Conversion, Outcome, Run, Site, Verdict
from graphfix.results.claims import Contradiction, Facts

LIMIT = 65_536
FOUND = Site("GF101", "ffn/bias", "Add", "main", 1, (64,), (1, 1, 64), "found", "equalize-ranks")
LEFT = replace(FOUND, code="GF104", status="left", reason="the rank of 'x1' is not known")
EXEMPT = replace(FOUND, code="GF102", status="exempt", reason="a kernel")
CHECKED = Outcome("check", "m.onnx", "onnx", target="ranks", sites=(FOUND, LEFT, EXEMPT))


def sites(number: int, *, name: str = "n") -> list[Site]:
    return [replace(FOUND, node=f"{name}{at}") for at in range(number)]


class Page(HTMLParser):
    """The tags that stay open, the rows of tables, and what is inside `details`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.in_sight = self.hidden = 0
        self.summaries: list[str] = []
        self.feed(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text))
        self.close()

    def handle_starttag(self, tag: str, _: object) -> None:
        if tag == "tr":
            if "details" in self.open:
                self.hidden += 1
            else:
                self.in_sight += 1
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "summary" in self.open:
            self.summaries.append(data)


def test_the_first_sites_are_in_sight_and_the_others_one_click_away() -> None:
    page = Page(registry.TEXTS["markdown"]([replace(CHECKED, sites=[*sites(100), EXEMPT])]))
    assert page.open == []
    assert page.in_sight == 2 + 1 + 20  # the summary, the heads of the table, twenty sites
    assert page.hidden == 1 + 80 + 1 + 1
    assert page.summaries == ["Found: 80 more", "Exempt: 1"]


def test_what_was_found_and_left_share_what_is_in_sight() -> None:
    page = Page(registry.TEXTS["markdown"]([replace(CHECKED, sites=[*sites(15), *[LEFT] * 15])]))
    assert page.in_sight == 2 + 1 + 15 + 1 + 5
    assert page.summaries == ["Left alone because nothing could be decided: 10 more"]


@pytest.mark.ci
def test_a_comment_is_never_too_long_and_says_what_is_left_out() -> None:
    text = registry.TEXTS["markdown"]([replace(CHECKED, sites=sites(10_000))])
    shown = text.count("| GF101 |")
    assert len(text) < LIMIT
    assert LIMIT - len(text) < 2_000
    assert text.splitlines()[-1].startswith(
        f"Left out, to fit a comment: {10_000 - shown} sites. A report as JSON or HTML"
    )
    assert Page(text).open == []


@pytest.mark.ci
def test_letters_of_many_bytes_do_not_make_it_longer() -> None:
    text = registry.TEXTS["markdown"]([replace(CHECKED, sites=sites(10_000, name="\U00020000" * 100))])
    assert len(text.encode("utf-16-le")) // 2 < LIMIT
    assert len(text.encode()) < LIMIT


@pytest.mark.ci
def test_every_model_has_its_part_of_the_room() -> None:
    models = [replace(CHECKED, source=f"m{number}.onnx", sites=sites(5_000)) for number in range(4)]
    text = registry.TEXTS["markdown"](models)
    assert len(text) < LIMIT
    rows = [part.count("| GF101 |") for part in text.split("\n## ")[1:]]
    assert len(rows) == 4
    assert max(rows) - min(rows) < 30


@pytest.mark.ci
@pytest.mark.parametrize("number", [300, 3_000])
def test_many_models_fit_too(number: int) -> None:
    models = [replace(CHECKED, source=f"models/some/folder/m{at}.onnx") for at in range(number)]
    failed = [Failure("check", f"b{at}.onnx", "b.onnx: " + "x" * 400) for at in range(number)]
    for entries in (models, failed, [*models, *failed]):
        text = registry.TEXTS["markdown"](entries)
        assert len(text) < LIMIT
        assert Page(text).open == []
        assert "Left out" in text.splitlines()[-1]


def test_a_model_of_which_nothing_is_to_say_is_a_row_of_the_summary_alone() -> None:
    text = registry.TEXTS["markdown"]([replace(CHECKED, source="clean.onnx", sites=(EXEMPT,)), CHECKED])
    assert text.count("clean.onnx") == 1
    assert "## `clean.onnx`" in registry.TEXTS["markdown"]([replace(CHECKED, source="clean.onnx", sites=(EXEMPT,))])


def test_the_evidence_is_collapsed_and_what_it_assumes_is_said_once() -> None:
    verdict = Verdict(
        "proved",
        runs=(Run({}, "off", "equal", 1), Run({}, "on", "equal", 1), Run({"N": 0}, "off", "undecided", 0)),
        proof={"status": "proved", "reason": None},
        exceptions=({"class": "nan-payload", "output": "y", "site": None, "count": 1},),
        assumes=("x is [1, 1], as asked for", "N = M, as declared"),
        sha256={"before": "0" * 64},
    )
    fixed = Outcome("fix", "m", "onnx", output="f", verdict=verdict, assumes=("x is [1,1], by default",))
    text = registry.TEXTS["markdown"]([fixed])
    assert Page(text).summaries == [
        "Proof",
        "Runs: 3 (equal 2, undecided 1)",
        "Exceptions of the runtime: 1",
        "Evidence",
    ]
    assert text.count("x is [1") == 1
    assert table(fixed).count("assumes x is") == 1
    assert "- N = M, as declared" in text


def test_the_first_size_that_a_run_contradicts_is_named() -> None:
    facts = Facts(2, 2, 1, Contradiction("y", "[2]", (3,), ""))
    text = registry.TEXTS["markdown"]([Outcome("fix", "m.onnx", "onnx", verdict=Verdict("contradicted", facts=facts))])
    assert "2 observed when the original ran, 1 contradicted; the view says [2] of 'y', the runtime gave" in text


def test_a_conversion_of_many_operators_fits() -> None:
    done = Conversion("agrees", "torch-mlir", operators={f"tosa.custom:{'x' * 100}{at}": 1 for at in range(3_000)})
    text = registry.TEXTS["markdown"]([Outcome("tosa", "m", "onnx", output="o", conversion=done)])
    assert len(text) < LIMIT
    assert " operators. A report as JSON" in text.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("the rank of '@all' is not known", "the rank of `'@all'` is not known"),
        ("see a#1, http://x.y and www.x.y", "see `a#1,` `http://x.y` and `www.x.y`"),
        ("a[N,3] meets b[4]", "a[N,3] meets b[4]"),
        ("[x](y) [^1] ![i](j)", r"\[x]\(y) [\^1] ![i]\(j)"),
        ("- <b> &lt; ~~a~~ *b* _c_", r"\- \<b\> \&lt; \~\~a\~\~ \*b\* \_c\_"),
        ("1. one", r"1\. one"),
    ],
)
def test_running_text_is_no_markup_and_links_nothing(text: str, written: str) -> None:
    assert prose(text) == written


@pytest.mark.parametrize(("kernels", "column"), [(("", ""), "optimizations"), (("reference", ""), "kernels")])
def test_runs_name_the_kernels_where_any_of_them_has_some(kernels: tuple[str, str], column: str) -> None:
    runs = tuple(replace(Run({}, "off", "equal", 1), kernels=each) for each in kernels)
    text = registry.TEXTS["markdown"]([Outcome("fix", "m", "onnx", verdict=Verdict("equal", runs=runs))])
    assert [name for name in ("kernels", "optimizations") if f"| {name} |" in text] == [column]


def test_what_is_left_out_is_said_in_the_last_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = replace(CHECKED, sites=sites(30))
    assert "Left out" not in registry.TEXTS["markdown"]([outcome])
    monkeypatch.setattr(markdown, "MOST", markdown.LAST_LINE + 1_500)
    text = registry.TEXTS["markdown"]([outcome])
    left_out = 30 - text.count("| GF101 |")
    assert 0 < left_out < 30
    assert text.splitlines()[-2:] == [
        "",
        f"Left out, to fit a comment: {left_out} sites. A report as JSON or HTML (`--report FILE.json`) has all.",
    ]


def test_the_summary_has_half_of_the_room_where_models_have_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST", markdown.LAST_LINE + 1_500)
    clean = [replace(CHECKED, source=f"m{at}.onnx", sites=()) for at in range(99)]
    for entries, room in ((clean, 1_500), ([*clean, CHECKED], 750)):
        summary = registry.TEXTS["markdown"](entries).split("\n## ")[0]
        rows = [line for line in summary.splitlines() if line.startswith("|")]
        assert room - 60 < sum(len(line) + 1 for line in rows) <= room
