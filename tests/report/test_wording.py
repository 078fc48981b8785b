"""Sentences of reports, each from what it is about: verdicts, listings, diffs, bytes, and what `doctor` found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from typing import Literal

import pytest

from graphfix.report import listing as shown_listing
from graphfix.report import table as table_module
from graphfix.report import tosa
from graphfix.report.colour import plain
from graphfix.report.diff import diff_lines
from graphfix.report.doctor import environment_text
from graphfix.report.forms import markdown_escapes
from graphfix.report.html import added_bytes, data, elements, evidence, models, sections
from graphfix.report.summary import advice, statistics, totals
from graphfix.report.table import answer, headline, table, unwritten
from graphfix.report.text import (
    Failure,
    change_text,
    cut,
    node_reason,
    pair_text,
    printable,
    seconds_text,
    shortened,
    sites_left_text,
    tally,
)
from graphfix.report.verdict import (
    assumed,
    claims_text,
    exceptions_text,
    map_lines,
    noted_lines,
    tolerance_lines,
    unmatched,
    unproved_lines,
    verdict_text,
)
from graphfix.results import (
    Change,
    Conversion,
    Gap,
    GraphfixError,
    Load,
    OpenSizes,
    Outcome,
    Run,
    Site,
    Status,
    Verdict,
    VerdictStatus,
)
from graphfix.results.claims import Contradiction, Facts
from graphfix.results.environment import Environment, Package, Probe
from graphfix.results.excerpt import Excerpt, JsonShape, NodeExcerpt, OperandExcerpt
from graphfix.results.listing import ListedNode, ListedScope, ListedValue, Listing

# --- verdicts ---------------------------------------------------------------------------------------------------------

EQUAL = Run({"N": 2}, "off", "equal", 3)
FOUND = {"tensor": "y", "producer": "Add 'a'"}
NEVER_DECIDES = " (these runs never decide)"
EXCEPTION = {"class": "zero", "site": "Add 'a'"}


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict("proved"), "proved for all inputs and sizes"),
        (Verdict("proved", reason="no runtime"), "proved for all inputs and sizes; no runtime"),
        (
            Verdict("proved", (EQUAL, EQUAL), versions={"onnxruntime": "1.2", "numpy": "2", "onnx": "3"}, seed=4),
            "proved for all inputs and sizes; 3 outputs bit-equal over 2 runs (onnxruntime 1.2, seed 4)",
        ),
        (
            Verdict("proved", (replace(EQUAL, optimizations="on"),), exceptions=(EXCEPTION,)),
            "proved for all inputs and sizes; 1 exception of the runtime: zero at Add 'a'",
        ),
        (Verdict("undecided"), "undecided: no run could be compared"),
        (
            Verdict("undecided", reason="r", proof={"status": "unknown", "reason": "no match"}),
            "undecided: r; not proved: no match",
        ),
        (
            Verdict("undecided", reason="r", proof={"status": "bounded"}),
            "undecided: r; proved but for where it is rounded",
        ),
        (Verdict("undecided", proof={"status": "proved"}), "undecided: no run could be compared"),
        (Verdict("different"), "different: the outputs differ"),
        (
            Verdict("different", first_difference={"tensor": "y"}),
            "different: the output 'y' differs (no tensor before it could be shown to)",
        ),
        (
            Verdict("different", first_difference={**FOUND, "before": 1.0, "after": 2.0, "count": 1}, reason="why"),
            "different: the first tensor to differ is 'y' of Add 'a': 1.0 before, 2.0 after (1 element); why",
        ),
        (
            Verdict("different", first_difference={**FOUND, "before": 1.0, "after": 2.0, "index": ()}),
            "different: the first tensor to differ is 'y' of Add 'a': 1.0 before, 2.0 after",
        ),
        (
            Verdict("different", first_difference={**FOUND, "before": 1.0, "index": (3,)}),
            "different: the first tensor to differ is 'y' of Add 'a'",
        ),
        (Verdict("contradicted"), "contradicted by the original's run: "),
        (
            Verdict("equal", (replace(EQUAL, outputs=1), Run({}, "on", "different", 1, 0.25))),
            "equal: 1 output bit-equal over 1 run (seed 0); with optimizations on the largest difference is 0.25"
            + NEVER_DECIDES,
        ),
        (
            Verdict("equal", (EQUAL, Run({}, "off", "undecided", 9)), proof={"status": "unknown", "reason": "x"}),
            "equal: 3 outputs bit-equal over 1 run, 1 more undecided (seed 0); not proved: x",
        ),
    ],
)  # fmt: skip
def test_a_verdict_is_one_sentence(verdict: Verdict, said: str) -> None:
    assert verdict_text(verdict) == said


def test_the_sites_of_exceptions_are_told_once_by_class() -> None:
    found = (
        {"class": "zero", "site": "Add 'a'"},
        {"class": "zero", "site": "Add 'a'"},
        {"class": "nan", "output": "y"},
        {"class": "zero", "site": "Mul 'm'"},
        {"site": "Sub 's'"},
    )
    assert exceptions_text(()) == ""
    assert exceptions_text(found) == (
        "; 4 exceptions of the runtime: zero at Add 'a', Mul 'm'; nan at y; unnamed at Sub 's'"
    )


@pytest.mark.parametrize(
    ("status", "largest", "optimizations", "said"),
    [
        ("different", 1e-3, "off", True),
        ("different", 1.1e-3, "off", False),
        ("different", None, "off", False),
        ("different", 1e-3, "on", False),
        ("equal", 1e-3, "off", False),
    ],
)
def test_a_tolerance_is_suggested_for_small_differences(
    status: VerdictStatus, largest: float | None, optimizations: Literal["off", "on"], said: bool
) -> None:
    verdict = Verdict(status, (Run({}, optimizations, "different", 1, largest), EQUAL))
    assert len(list(tolerance_lines(verdict))) == said
    assert not list(tolerance_lines(None))


def test_what_is_assumed_is_told_once() -> None:
    outcome = Outcome(
        "fix",
        "m",
        "onnx",
        assumes=["x is [1,2], by default", "n is 3, as asked for"],
        verdict=Verdict("equal", assumes=["x is [1, 2], as asked for", "n is 3", "z is 4", "z is 4, by default"]),
    )
    assert assumed(outcome) == ["z is 4", "z is 4, by default"]
    assert assumed(replace(outcome, verdict=None)) == []


def test_the_sizes_that_were_claimed_are_counted() -> None:
    facts = Facts(1, 1, 0)
    assert claims_text(facts) == "1 operand of broadcasting operators: 1 observed when the original ran, 0 contradicted"
    wrong = replace(facts, claimed=2, contradicted=1, first=Contradiction("x", "[2]", (3,), ""))
    assert claims_text(wrong) == (
        "2 operands of broadcasting operators: 1 observed when the original ran, 1 contradicted; the view says [2] of "
        "'x', the runtime gave [3]"
    )


def test_notes_are_those_of_the_proof_the_runs_the_load_and_the_runtimes() -> None:
    verdict = Verdict(
        "equal",
        (
            Run({}, "off", "undecided", reason="not this"),
            Run({}, "on", "equal", reason="nor this"),
            Run({}, "on", "undecided", reason="fails"),
            Run({}, "on", "undecided", reason="again"),
        ),
        proof={"notes": ["proved so"]},
        load=Load(reason="in LiteRT"),
        newer=("newer",),
    )
    assert list(noted_lines(verdict)) == [
        "  note: proved so",
        "  note: with optimizations on (the default of onnxruntime) fails (these runs never decide)",
        "  note: the load of the second file was not observed in LiteRT",
        "  note: newer",
    ]
    assert list(noted_lines(Verdict("equal", load=Load()))) == []
    assert list(noted_lines(Verdict("equal", load=Load(reason="the same"), reason="the same"))) == []
    assert list(noted_lines(None)) == []


NODE = {"graph": "main", "notation": "y[2] = Neg(x[2])", "maps": [
    {"operand": 0, "map": "(d0) -> (d0)", "of": None, "through": None},
    {"operand": 1, "map": "(d0) -> (0)", "of": "b[3]", "through": "(d0) -> ()"},
]}  # fmt: skip


def test_nodes_without_a_match_are_told_with_their_maps() -> None:
    proof = {
        "first": {
            "before": "Neg 'n'",
            "after": "Neg 'm'",
            "nodes": {"before": NODE, "after": {**NODE, "graph": "main/b"}},
        }
    }
    assert [(which, text) for which, text, _ in unmatched(proof)] == [
        ("before", "y[2] = Neg(x[2])    # Neg 'n'"),
        ("after", "y[2] = Neg(x[2])    # Neg 'm' in main/b"),
    ]
    assert list(map_lines(NODE)) == [
        "operand 0: (d0) -> (d0)",
        "operand 1: (d0) -> (0), that is (d0) -> () of b[3]",
    ]
    assert [text for _, text, _ in unmatched({"first": {"after": "Neg 'm'"}})] == ["Neg 'm'"]
    assert list(unmatched(None)) == []
    assert list(unproved_lines(None)) == []
    assert len(list(unproved_lines(Verdict("equal", proof=proof)))) == 6


# --- the page ---------------------------------------------------------------------------------------------------------


class Text(HTMLParser):
    """What a reader sees."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def test_the_page_tells_who_ran_what_and_at_which_sizes() -> None:
    runs = (
        replace(EQUAL, kernels="reference", signature="serve"),
        Run({}, "on", "different", 1, 0.5, "differs"),
        Run({}, "off", "undecided"),
    )
    html = "".join(evidence.verdict(Verdict("equal", runs, sha256={"before": "aa"}, seed=3)))
    parts = Text(html).parts
    assert {"N=2", "as declared", "reference, signature ", "serve", "0.5", "differs"} <= set(parts)
    assert "optimizations on (these runs never decide)" in parts
    assert "optimizations off" in parts
    assert parts[-3:] == ["aa", "seed", "3"] or parts[-2:] == ["seed", "3"]
    assert list(evidence.verdict(None)) == []
    assert "seed" not in Text("".join(evidence.verdict(Verdict("equal", seed=3)))).parts


@pytest.mark.parametrize(
    ("status", "kind"),
    [("proved", "good"), ("equal", "good"), ("different", "bad"), ("contradicted", "bad"), ("undecided", "")],
)
def test_an_answer_has_its_colour(status: VerdictStatus, kind: str) -> None:
    html = sections.model(0, Outcome("verify", "m", "onnx", verdict=Verdict(status)))
    assert ('class="verdict good"' in html, 'class="verdict bad"' in html) == (kind == "good", kind == "bad")


@pytest.mark.parametrize(("number", "closed"), [(0, False), (12, False), (13, True)])
def test_a_long_list_is_closed(number: int, closed: bool) -> None:
    html = elements.listed(["x"] * number, "assumptions")
    assert ("<details>" in html) == closed
    assert (f"{number} assumptions" in html) == closed
    assert html.count("<li>") == number
    assert bool(html) == bool(number)


def test_a_table_has_no_empty_column() -> None:
    html = elements.table(("a", "b", "c"), [("1", "", "3"), ("4", "", "")], caption="x")
    assert Text(html).parts == ["x", "a", "c", "1", "3", "4"]


def stretched(before: JsonShape, after: JsonShape, itemsize: int | None = 4, status: Status = "changed") -> Outcome:
    site = Site("GF102", "n", "Add", "main", 1, before, after, status)
    node = NodeExcerpt(
        "n", "main", "n", "Add", 0, None, None, operands=(OperandExcerpt(1, "b", before, (), itemsize=itemsize),)
    )
    return Outcome("fix", "m", "onnx", sites=[site], excerpt=Excerpt([node], 1))


@pytest.mark.parametrize(
    ("outcome", "added"),
    [
        (stretched((1, 3), (2, 3)), 12),
        (stretched((1, 3), (2, 3), itemsize=None), None),
        (stretched((1, None), (2, 3)), None),
        (stretched((1, 3), ("N", 3)), None),
        (stretched(None, (2, 3)), None),
        (stretched((), (2, 3)), 20),
        (stretched((4,), (0,)), 0),
        (stretched((1,), (2,), status="found"), 4),
    ],
)
def test_the_bytes_that_a_stretch_adds(outcome: Outcome, added: int | None) -> None:
    assert [each.bytes for each in added_bytes.stretches(outcome)] == [added]


def test_what_is_no_stretch_has_no_bytes() -> None:
    assert added_bytes.stretches(stretched((1,), (2,), status="left")) == []
    lifted = replace(stretched((1,), (2,)), sites=[Site("GF101", "n", "Add", "main", 1, (1,), (1, 1), "changed")])
    assert added_bytes.stretches(lifted) == []


@pytest.mark.parametrize(
    ("elements_", "amount"),
    [
        (2, "1 B"),
        (1024, "1,023 B"),
        (1025, "1.0 KiB"),
        (1537, "1.5 KiB"),
        (100 * 1024 + 1, "100 KiB"),
        (2**20 + 1, "1.0 MiB"),
        (2**30 + 1, "1.0 GiB"),
        (2**40 + 1, "1.0 TiB"),
        (2**51 + 1, "2,048 TiB"),
    ],
)
def test_bytes_are_told_in_their_unit(elements_: int, amount: str) -> None:
    (html,) = added_bytes.chart(stretched((1,), (elements_,), itemsize=1))
    assert f"1 operand: {amount} more in all" in Text(html).parts
    assert html.count(f">{amount}<") == 1


# --- listings and diffs -----------------------------------------------------------------------------------------------

OPERANDS = "operands: 1 lifted (L), 2 stretched (S), 3 perhaps stretched (?)"
LISTED = Listing([], 5, None, {"Add": 2}, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("listing", "said"),
    [
        (LISTED, ["5 nodes: Add 2", f"{OPERANDS}; 4 nodes not known (!)"]),
        (replace(LISTED, shown=2, unknown=1), ["2 of 5 nodes shown: Add 2", f"{OPERANDS}; 1 node not known (!)"]),
        (Listing([], 1, None, {}, 0, 0, 0, 0), ["1 node", "operands: none is lifted or stretched"]),
        (
            Listing([], 1, 0, {"A": 1, "B": 3}, 0, 0, 2, 0),
            ["0 of 1 node shown: A 1, B 3", "operands: 2 perhaps stretched (?)"],
        ),
    ],
)
def test_a_listing_ends_with_what_there_is(listing: Listing, said: list[str]) -> None:
    assert list(shown_listing.listing_lines(listing)) == ["", *said]


def test_a_listing_has_the_inputs_the_marks_and_the_elements() -> None:
    x, b = ListedValue("x", ("2", "N"), dtype="float32"), ListedValue("b", ("1",), ("stretched",), 1, elements="7")
    nodes = [
        ListedNode("Add", "a", [ListedValue("y", ("2", "N"))], [x, b], maps=["operand 0: (d0) -> (d0)"]),
        ListedNode("Odd", "", [ListedValue("z", None)], [None, x], unknown=True),
        ListedNode("Constant", "", [ListedValue("c", (), elements="3")], []),
        ListedNode("Mul", "", [ListedValue("m", ("N",))], [ListedValue("a", ("N",), ("maybe",)), b]),
    ]
    scope = ListedScope("main", nodes, inputs=[x], outputs=[replace(x, name="y")])
    assert list(shown_listing.listing_lines(replace(LISTED, scopes=[scope])))[:8] == [
        "main:",
        "    input x[2,N] float32",
        "LS  y[2,N] = Add(x[2,N], b[1]=7)    # a",
        "        operand 0: (d0) -> (d0)",
        "!   z[*] = Odd(, x[2,N])",
        "    c[] = Constant() = 3",
        "LS? m[N] = Mul(a[N], b[1]=7)",
        "    output y[2,N] float32",
    ]


@pytest.mark.parametrize(
    ("width", "said"), [(10, "abcdefghij"), (9, "ab..fghij"), (5, "a..ij"), (2, ".."), (8, "ab..ghij")]
)
def test_a_long_name_keeps_more_of_its_end(width: int, said: str) -> None:
    assert shown_listing.shortened_inside("abcdefghij", width) == said


def changed(at: int) -> list[Change]:
    """Twenty nodes, of which some are others afterwards."""
    return [Change("main", f"n{n}", f"m{n}" if n in (2, at) else f"n{n}") for n in range(20)]


@pytest.mark.parametrize(("at", "hunks"), [(9, 1), (10, 2), (19, 2), (2, 1)])
def test_changes_share_a_hunk_where_six_lines_are_between_them(at: int, hunks: int) -> None:
    lines = list(diff_lines(Outcome("fix", "m.onnx", "onnx", changes=changed(at))))
    assert lines[:2] == ["--- m.onnx (before)", "+++ m.onnx (after)"]
    assert sum(line.startswith("@@") for line in lines) == hunks
    assert lines[3:7] == [" n0", " n1", "-n2", "+m2"]
    assert lines[2].startswith(f"@@ -1,{13 if at == 9 else 6} +1,")


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        ([Change("main", None, "a")], "@@ -0,0 +1 @@ main"),
        ([Change("main", "a", None)], "@@ -1 +0,0 @@ main"),
        ([Change("main", "a", "a"), Change("main", None, "b"), Change("main", None, "c")], "@@ -1 +1,3 @@ main"),
        ([Change("b", "a", "c"), Change("b", "d", "d")], "@@ -1,2 +1,2 @@ b"),
    ],
)
def test_the_ranges_of_a_hunk_count_from_1(changes: list[Change], head: str) -> None:
    assert list(diff_lines(Outcome("fix", "m.onnx", "onnx", changes=changes)))[2] == head


# --- sums -------------------------------------------------------------------------------------------------------------

LIFTED = Site("GF101", "n", "Add", "main", 1, (1,), (1, 1), "found")
FREE = Site("GF302", "x", "input", "main", None, ("N",), None, "left")


def test_a_check_ends_with_how_many_models_are_clean() -> None:
    clean = Outcome("check", "c", "onnx")
    found = replace(clean, sites=[LIFTED, FREE])
    assert totals([clean]) == "1 model: 1 clean, 0 with findings"
    assert totals([clean, found, replace(clean, suppressed=1), Failure("check", "f", "gone")]) == (
        "4 models: 2 clean, 1 with findings, 1 could not be checked, 1 finding in the baseline"
    )
    assert advice([clean]) == ""
    assert advice([found]) == (
        "`--bind-defaults` (or --dim, --shape) binds the free sizes; 1 finding can be fixed: `graphfix fix MODEL -o "
        "OUT` with the same options; `graphfix explain GF101` says what a code means"
    )
    assert (
        advice([replace(clean, sites=[replace(FREE, op="Add")])]) == "`graphfix explain GF302` says what a code means"
    )
    assert statistics([clean]) == "0  findings"
    lines = statistics([found, replace(clean, sites=[FREE] * 10), Failure("check", "f", "gone")]).splitlines()
    assert [line.split()[:2] for line in lines] == [["11", "GF302"], ["1", "GF101"]]
    assert lines[1].startswith(" 1  ")


def blocking(*, node: str, blocks: bool = False) -> Site:
    """A finding of a power."""
    return Site("GF305", node, "Pow", "main", None, None, None, "left", None, "negative", blocks=blocks)


TOSA = Conversion(
    "agrees",
    "torch-mlir",
    operators={"tosa.add": 2, "tosa.mul": 3, "tosa.custom:Own": 1},
    gaps=(Gap("y", 0.5, 0.025, within=True), Gap("z", 0.25, None, within=False, spread=0.125, quanta=1.5)),
    runs=3,
    beside="onnxruntime",
    specification="TOSA 1.0",
    versions={"torch-mlir": "1", "tosa-tools": "2"},
)
BLOCKED = blocking(node="w")


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (TOSA, "run: agrees over 3 runs beside onnxruntime: at most 0.025 of an output's range"),
        (replace(TOSA, runs=1), "run: agrees over 1 run beside onnxruntime: at most 0.025 of an output's range"),
        (replace(TOSA, gaps=TOSA.gaps[1:]), "run: agrees over 3 runs beside onnxruntime: every output is constant"),
        (replace(TOSA, status="differs", reason="by much"), "run: differs over 3 runs beside onnxruntime: by much"),
        (replace(TOSA, status="not run", runs=0, reason="it is custom"), "not run: it is custom"),
    ],
)
def test_what_the_runs_of_a_conversion_showed(done: Conversion, said: str) -> None:
    assert tosa.run_text(done) == said
    assert tosa.conversion_texts(Outcome("tosa", "m", "onnx"), done)[1:] == [said]


def test_a_distance_is_told_with_what_is_known_of_it() -> None:
    assert tosa.gap_text(TOSA.gaps[0]) == "'y': 0.5, 0.025 of its range"
    assert tosa.gap_text(TOSA.gaps[1]) == (
        "'z': 0.25, constant, 1.5 quanta, the runtime's own kernels 0.12 apart, too far"
    )
    assert tosa.gap_cells(TOSA.gaps[0]) == ["0.5", "0.025", "yes"]
    assert tosa.gap_cells(TOSA.gaps[1]) == ["0.25", "constant", "no"]


def test_what_was_converted_lists_the_most_frequent_operators() -> None:
    outcome = Outcome("tosa", "m", "onnx")
    assert tosa.converted_text(outcome, TOSA) == (
        "valid TOSA 1.0: 6 operators (tosa.mul 3, tosa.add 2, tosa.custom:Own 1), by torch-mlir 1, tosa-tools 2"
    )
    many = replace(TOSA, operators={f"tosa.{at}": 1 for at in range(tosa.SHOWN + 1)})
    assert f"tosa.{tosa.SHOWN - 1} 1, ...), by" in tosa.converted_text(outcome, many)
    few = replace(TOSA, operators={f"tosa.{at}": 1 for at in range(tosa.SHOWN)})
    assert ", ...)" not in tosa.converted_text(outcome, few)


@pytest.mark.parametrize(
    ("sites", "said"),
    [
        ((), "not converted: no"),
        ((LIFTED,), "not converted: no"),
        ((BLOCKED,), "not converted: no; named beforehand: GF305 Pow 'w': negative"),
        ((BLOCKED, blocking(node="b", blocks=True)), "not converted: no; named beforehand: GF305 Pow 'b': negative"),
        (
            tuple(blocking(node=f"n{at}") for at in range(tosa.SHOWN // 2 + 2)),
            "not converted: no; named beforehand: "
            + "; ".join(f"GF305 Pow 'n{at}': negative" for at in range(tosa.SHOWN // 2))
            + ", and 2 more",
        ),
    ],
)
def test_a_refusal_names_what_said_so_beforehand(sites: tuple[Site, ...], said: str) -> None:
    refused = replace(TOSA, status="refused", reason="no")
    outcome = Outcome("tosa", "m", "onnx", sites=sites, conversion=refused)
    assert tosa.converted_text(outcome, refused) == said
    assert tosa.unconverted(outcome) == f"m: nothing written, {said}"
    assert tosa.unconverted(replace(outcome, output="m.tosa")) is None
    assert tosa.unconverted(replace(outcome, conversion=None)) is None


def test_what_was_not_run_is_written_without_a_run() -> None:
    done = replace(TOSA, status="not run", runs=0, reason="it is custom")
    assert tosa.unconverted(Outcome("tosa", "m", "onnx", conversion=done)) == (
        "m: nothing written, not run: it is custom; without --run it is written"
    )


ENVIRONMENT = Environment("3.11", "Linux", None, (), (), ())


def test_what_is_not_known_of_an_environment_is_not_told() -> None:
    lines = environment_text(ENVIRONMENT).splitlines()
    assert lines[0].endswith("Python 3.11, Linux")
    assert "  not known: graphfix runs from a folder, and is not installed" in lines
    misfit = Package("onnx", ">=9; python_version > '3'", "1.0")
    probes = (Probe("onnx", None, "works", None, 0.1),)
    lines = environment_text(
        replace(ENVIRONMENT, packages=(misfit,), probes=probes, newer=("newer than",))
    ).splitlines()
    assert "  onnx  1.0  (asked for: >=9; python_version > '3')  conflict: another version is asked for" in lines
    assert lines[-1] == "installed in a version that graphfix does not allow: pip install 'onnx>=9'"
    assert "newer than" in lines


@pytest.mark.parametrize(("room", "shown"), [(100, 3), (23, 3), (22, 2), (15, 1), (14, 0)])
def test_as_many_rows_are_shown_as_there_is_room_for(room: int, shown: int) -> None:
    """The head and the tail have 6 and 5 bytes with their ends of line, each row 4."""
    block = markdown_escapes.Block(("title",), ("one", "two", "end"), ("tail",), "row")
    missing: Counter[str] = Counter()
    lines = list(markdown_escapes.fit([block], room, missing))
    assert lines == (["title", *("one", "two", "end")[:shown], "tail"] if shown else [])
    assert missing["row"] == 3 - shown


def test_the_room_is_that_of_all_blocks() -> None:
    block = markdown_escapes.Block(("t",), ("one",), ())
    missing: Counter[str] = Counter()
    assert list(markdown_escapes.fit([block] * 3, 15, missing)) == ["t", "one"] * 2
    assert missing["line"] == 1


@pytest.mark.parametrize(("letters", "said"), [(3, "abc"), (2, "a…")])
def test_a_text_is_cut_at_its_end(letters: int, said: str) -> None:
    assert cut("abc", letters) == said


def test_a_text_is_shortened_where_it_is_too_long() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefgh", 5) == "ab ...3 more letters... fgh"


# --- what is left, models in a row, and failures ----------------------------------------------------------------------

LEFT = Site("GF104", "n", "Add", "main", 1, None, None, "left")


@pytest.mark.parametrize(
    ("outcome", "is_piped", "said"),
    [
        (
            Outcome("fix", "m.onnx", "onnx", "ranks", "f.onnx", sites_left=1),
            False,
            "1 site left for target ranks: graphfix check f.onnx lists it; --exit-zero accepts it",
        ),
        (
            Outcome("fix", "m 1.onnx", "onnx", "tosa", sites_left=2, check_options=("--target", "tosa")),
            False,
            (
                "2 sites left for target tosa: graphfix check 'm 1.onnx' --target tosa lists them; "
                "--exit-zero accepts them"
            ),
        ),
        (
            Outcome("fix", "m.onnx", "onnx", "ranks", "f.onnx", sites=(LEFT, LEFT), sites_left=1),
            True,
            (
                "1 site left for target ranks: graphfix check - lists it when it gets this model by stdin; "
                "--exit-zero accepts it"
            ),
        ),
    ],
    ids=["one", "two in the model itself", "by stdout"],
)
def test_what_is_left_is_counted_with_the_command_that_lists_it(outcome: Outcome, is_piped: bool, said: str) -> None:
    assert sites_left_text(outcome, is_piped=is_piped) == said


def test_a_pair_of_models_is_named_by_both() -> None:
    assert pair_text(Outcome("verify", "m.onnx", "onnx", output="f.onnx")) == "m.onnx, f.onnx"
    assert pair_text(Outcome("check", "m.onnx", "onnx")) == "m.onnx"


def test_a_failure_says_what_ended_the_command() -> None:
    assert Failure.of("fix", "m", GraphfixError("m: no model")) == Failure("fix", "m", "m: no model")
    assert Failure.of("fix", "m", MemoryError()) == Failure("fix", "m", "m: stopped: there is no more memory", "memory")
    internal = Failure.of("check", "m", KeyError("k"))
    assert (internal.command, internal.source, internal.kind) == ("check", "m", "internal")
    assert internal.error.startswith("m: ")
    assert "KeyError" in internal.error
    assert "KeyError" in internal.trace


@pytest.mark.parametrize(("number", "more"), [(5, None), (6, "1 more assumption;"), (7, "2 more assumptions;")])
def test_no_more_assumptions_are_shown_than_a_table_has_lines_for(number: int, more: str | None) -> None:
    lines = table(Outcome("check", "m", "onnx", "ranks", assumes=[f"a{at}" for at in range(number)])).splitlines()
    assert [line for line in lines if "assumes" in line] == [f"  assumes a{at}" for at in range(5)]
    assert [line for line in lines if "more assumption" in line] == (
        [f"  ... and {more} -v or --report FILE.md lists all"] if more else []
    )


def test_a_row_of_a_page_counts_the_sites_and_has_the_answer_or_the_verdict() -> None:
    sites = (LEFT, replace(LEFT, status="changed"), LEFT, replace(LEFT, status="exempt"))
    fixed = Outcome("fix", "f.onnx", "onnx", sites=sites, verdict=Verdict("proved"), seconds={"load": 1.5, "run": 0.25})
    clean = Outcome("check", "c.onnx", "onnx", target="ranks")
    failed = Failure("check", "b.onnx", "b.onnx: no model")
    parts = [part.strip() for part in Text(models.models([fixed, clean, failed])).parts if part.strip()]
    assert parts[parts.index("model") :] == [
        *("model", "result", "answer", "made explicit", "left", "exempt", "seconds"),
        *("f.onnx", "✓ proved", "proved for all inputs and sizes", "1", "2", "1", "1.75"),
        *("c.onnx", "✓ clean", answer(clean), "0.00"),
        *("b.onnx", "✗ error", "b.onnx: no model"),
        *("all models", "1", "2", "1", "1.75"),
    ]
    assert parts[:7] == ["3 models", "✗ error", "1", "✓ clean", "1", "✓ proved", "1"]
    assert models.models([fixed]) == ""
    assert models.models([clean, clean]) != ""


@pytest.mark.parametrize(
    ("entry", "title"),
    [
        (Outcome("verify", "a", "onnx", output="b", verdict=Verdict("equal")), ["a", " and ", "b"]),
        (Outcome("fix", "a", "onnx", output="b"), ["a", " → ", "b"]),
        (Outcome("check", "a", "onnx"), ["a"]),
        (Failure("verify", "a", "why"), ["a", "why"]),
    ],
)
def test_the_head_of_a_model_names_its_files(entry: Outcome | Failure, title: list[str]) -> None:
    stripped = [part.strip() for part in title]
    assert [part.strip() for part in Text(sections.model(0, entry)).parts][: len(title)] == stripped


def test_a_conversion_of_which_nothing_was_compared_has_no_table_of_differences() -> None:
    def captions(done: Conversion) -> list[bool]:
        parts = Text("".join(evidence.conversion(Outcome("tosa", "m", "onnx", conversion=done)))).parts
        return [caption in parts for caption in ("TOSA", "Differences", "Operators")]

    assert list(evidence.conversion(Outcome("tosa", "m", "onnx"))) == []
    assert captions(Conversion("refused", "a tool", reason="why")) == [True, False, False]
    assert captions(Conversion("converted", "a tool", operators={"tosa.add": 1})) == [True, False, True]
    agreeing = Conversion("agrees", "a tool", gaps=(Gap("y", 0.5, 0.01, within=True),), runs=1, beside="b")
    assert captions(agreeing) == [True, True, False]


@pytest.mark.parametrize(
    ("site", "drawn"),
    [
        (Site("GF101", "n", "Add", "main", 1, (4,), (1, 4), "found"), True),
        (Site("GF102", "n", "Add", "main", 0, (1, 4), (3, 4), "found"), True),
        (Site("GF103", "n", "Add", "main", 0, (1, 4), (None, 4), "left"), True),
        (Site("GF202", "n", "Add", "main", 0, (1, 4), (3, 4), "found"), False),
        (Site("GF101", "n", "Add", "main", None, (4,), (1, 4), "found"), False),
        (Site("GF101", "n", "Add", "main", 1, None, (1, 4), "found"), False),
        (Site("GF101", "n", "Add", "main", 1, (4,), None, "found"), False),
        (Site("GF102", "n", "Add", "main", 1, (1, 1, 4), (3, 4), "found"), False),
    ],
)
def test_an_operand_is_drawn_where_its_shapes_say_how_it_lies(site: Site, drawn: bool) -> None:
    found = data._drawn(site, None)
    assert (found is not None) == drawn
    if found is not None:
        space, (operand,) = found
        assert (space, operand.index, operand.shape) == (site.after, site.operand, site.before)
    empty = NodeExcerpt("n", "main", "n", "Add", 0, None, None)
    assert data._drawn(site, empty) == found


def test_steps_below_a_hundredth_of_a_second_are_summed_only() -> None:
    assert seconds_text({"load": 0.00499, "plan": 0.005, "verify": 1.2}) == "1.21 s: plan 0.01, verify 1.20"
    assert seconds_text({"load": 0.004, "plan": 0.003}) == "0.01 s"


WHOLE = Site("GF303", "n", "Shape", "main", None, None, None, "changed", "fold")


@pytest.mark.parametrize(
    ("site", "said", "row"),
    [
        (WHOLE, "computes what is known before the model runs (fold)", ""),
        (replace(WHOLE, code="GF203"), "", ""),
        (replace(WHOLE, after=(2, 3)), "[2,3]: computes what is known before the model runs (fold)", ""),
        (replace(WHOLE, before=("N",), after=("N",), code="GF201"), "[N]", ""),
        (replace(WHOLE, before=("N",), after=(2,), code="GF201"), "[N] -> [2]", ""),
        (replace(WHOLE, operand=0, after=(2,), code="GF201"), "[*] -> [2]", "operand 0"),
        (replace(WHOLE, operand=0), "[*]: computes what is known before the model runs (fold)", "operand 0"),
        (replace(WHOLE, operand=1, before=(3,), after=(1, 3), code="GF101"), "[3] -> [1,3]", "operand 1"),
        (replace(WHOLE, operand=1, before=(3,), reason="why\n"), "why\\n", "operand 1"),
    ],
)
def test_a_change_is_said_by_shapes_where_they_are_known_and_by_the_rewrite(site: Site, said: str, row: str) -> None:
    assert change_text(site) == said
    assert table_module._row("n", [site]) == ("", site.code, "Shape", "Shape 'n'", row, said)


@pytest.mark.parametrize(("number", "more"), [(0, 0), (1, 0), (4, 0), (5, 1), (7, 3)])
def test_no_more_open_sizes_are_shown_than_a_table_has_lines_for(number: int, more: int) -> None:
    sizes = [OpenSizes(1, (), "--dim", f"size\t{at}") for at in range(number)]
    outcome = Outcome("check", "m", "onnx", "ranks", open_sizes=sizes)
    rest = [f"  ... and {more} more; -v or --report FILE.md lists all"] * bool(more)
    assert table(outcome).splitlines()[1:] == [*(f"  size\\t{at}" for at in range(min(number, 4))), *rest]
    assert table(outcome, is_complete=True).splitlines()[1:] == [f"  size\\t{at}" for at in range(number)]


def test_the_lines_of_a_table_stand_in_their_order() -> None:
    proof = {"status": "not proved", "reason": "no", "notes": ["a note"], "first": {"after": "Neg 'n'"}}
    verdict = Verdict("undecided", reason="why", assumes=["v"], proof=proof)
    outcome = Outcome(
        "tosa", "m", "onnx", "tosa", "f", verdict=verdict, conversion=TOSA, seconds={"load": 1.5}, assumes=["a"],
        notes=["n\t"], sites_left=2, open_sizes=[OpenSizes(1, (), "--dim", "size")],
    )  # fmt: skip
    said = "undecided: why; not proved: no"
    open_ = ["  size", "  assumes a", "  n\\t"]
    behind = ["  note: a note", "  after: Neg 'n'"]
    conversion = [
        "valid TOSA 1.0: 6 operators (tosa.mul 3, tosa.add 2, tosa.custom:Own 1), by torch-mlir 1, tosa-tools 2",
        "custom operators are kept: tosa.custom:Own",
        "run: agrees over 3 runs beside onnxruntime: at most 0.025 of an output's range",
        "  'y': 0.5, 0.025 of its range",
        "  'z': 0.25, constant, 1.5 quanta, the runtime's own kernels 0.12 apart, too far",
    ]
    last = ["1.50 s: load 1.50", "2 sites left for target tosa: graphfix check f lists them; --exit-zero accepts them"]
    head = "m -> f: nothing to make explicit"
    assert table(outcome).splitlines() == [head, *open_, said, "  assumes v", *behind, *conversion, *last]
    fixed = replace(outcome, command="fix", conversion=None, sites_left=0)
    assert table(fixed).splitlines() == [f"{head}, copied", *open_, said, "  assumes v", *behind, last[0]]
    kept_back = replace(fixed, output=None, verdict=Verdict("undecided", reason="why"), seconds={})
    assert table(kept_back).splitlines() == [
        "m: nothing written: no operand had to be made explicit", *open_,
        "undecided: why; --no-verify writes it unverified",
    ]  # fmt: skip
    verified = replace(fixed, command="verify", seconds={})
    assert table(verified).splitlines() == [f"m, f: {said}", "  assumes v", *behind, *open_]
    checked = replace(fixed, command="check", verdict=None, seconds={}, suppressed=2)
    assert table(checked).splitlines() == [
        "m: clean for target tosa, as far as it can be asked, 2 in the baseline",
        *open_,
    ]


@pytest.mark.parametrize(("number", "shown", "more"), [(6, 6, None), (7, 6, 1), (9, 6, 3)])
def test_as_many_gaps_are_shown_as_a_line_names(number: int, shown: int, more: int | None) -> None:
    done = replace(TOSA, gaps=[Gap(f"y{at}", 0.5, 0.25, within=True) for at in range(number)])
    lines = list(tosa.conversion_lines(Outcome("tosa", "m", "onnx", conversion=done)))
    gaps = [f"  'y{at}': 0.5, 0.25 of its range" for at in range(shown)]
    assert lines[3:] == gaps + [f"  ... and {more} more; --report FILE.md lists all"] * (more is not None)
    assert list(tosa.conversion_lines(Outcome("tosa", "m", "onnx"))) == []


@pytest.mark.parametrize(("number", "more"), [(6, 0), (7, 1), (9, 3)])
def test_no_more_sites_stay_in_sight_than_a_table_has_lines_for(number: int, more: int) -> None:
    sites = [replace(LEFT, node=f"n{at}", reason=f"why {at}") for at in range(number)]
    lines = table(Outcome("check", "m", "onnx", "ranks", sites=sites)).splitlines()[1:]
    rest = [f"  ... and {more} more; -v or --report FILE.md lists all"] * bool(more)
    assert lines == [*(f"  left GF104 Add 'n{at}', operand 1: why {at}" for at in range(6)), *rest]


def test_why_nothing_was_written_is_that_of_the_conversion_first() -> None:
    outcome = Outcome("tosa", "m", "onnx", verdict=Verdict("equal", (EQUAL,)))
    refused = replace(TOSA, status="refused", reason="no")
    assert unwritten(replace(outcome, conversion=refused)) == "m: nothing written, not converted: no"
    assert unwritten(outcome) == "m: nothing written, equal: 3 outputs bit-equal over 1 run (seed 0)"
    assert unwritten(replace(outcome, verdict=None)) == "m: nothing written, not verified"
    dry = Outcome("fix", "m", "onnx", dry_run=True)
    assert headline(dry) == "m: nothing written (dry run): no operand had to be made explicit"
    assert headline(replace(dry, dry_run=False)) == "m: nothing written: no operand had to be made explicit"
    assert headline(replace(dry, rewrites={"fold-broadcasts": 0})).endswith(": nothing had to be taken out")


@pytest.mark.parametrize(
    ("text", "painted"),
    [
        ("proved for all", "<good>proved</> for all"),
        ("equal: 1 output", "<good>equal</>: 1 output"),
        ("different: y", "<bad>different</>: y"),
        ("contradicted by", "<bad>contradicted</> by"),
        ("clean, as far", "<good>clean</>, as far"),
        ("nothing that", "<good>nothing</> that"),
        ("undecided: why", "<doubt>undecided</>: why"),
        ("2 findings", "<doubt>2</> findings"),
        ("equal", "<good>equal</>"),
    ],
)
def test_the_first_word_of_an_answer_has_its_colour(text: str, painted: str) -> None:
    assert table_module._coloured(text, lambda word, style: f"<{style}>{word}</>") == painted


def test_a_refused_conversion_is_no_reason_to_write_it_unverified() -> None:
    undecided = Outcome("tosa", "m", "onnx", verdict=Verdict("undecided", reason="why"))
    assert table_module._fixed(undecided) == "undecided: why; --no-verify writes it unverified"
    assert table_module._fixed(replace(undecided, conversion=TOSA)) == "undecided: why"
    assert table_module._fixed(replace(undecided, output="f")) == "undecided: why"
    assert table_module._fixed(replace(undecided, verdict=Verdict("different", reason="y"))) == "different: y"


@pytest.mark.parametrize(
    ("code", "op", "reason", "alike"),
    [
        ("GF302", "Add", "'a' is free", ("GF302", "", None)),
        ("GF302", "input", "'a' is free", ("GF302", "", " is free")),
        ("GF305", "Add", "'a' is float32", ("GF305", "", " is float32")),
        ("GF305", "Add", None, ("GF305", "Add", None)),
        ("GF104", "Add", "the rank of 'a'", ("GF104", "Add", "the rank of 'a'")),
    ],
)
def test_sites_share_a_line_by_code_operator_and_reason(
    code: str, op: str, reason: str | None, alike: tuple[str, str, str | None]
) -> None:
    site = replace(LEFT, code=code, op=op, reason=reason)
    assert table_module._alike(site) == alike
    two = Outcome("check", "m", "onnx", "ranks", sites=[site, replace(site, node="o")])
    assert [len(table(two, is_complete=whole).splitlines()) for whole in (False, True)] == [2, 3]


def test_of_many_rows_those_in_which_the_node_alone_differs_share_a_line() -> None:
    rows = [("found", "GF101", "Add", f"Add 'n{at}'", "operand 1", "[4]") for at in range(2)]
    others = [
        ("found", "GF101", "Mul", "Mul 'a'", "operand 1", "[4]"),
        ("found", "GF101", "Add", "Add 'b'", "operand 0", "[4]"),
        ("found", "GF102", "Add", "Add 'c'", "operand 1", "[4]"),
        ("found", "GF101", "Add", "Add 'd'", "operand 1", "[5]"),
    ]
    lines = [
        "  found  GF101  Add 'n0' and 1 more  operand 1  [4]",
        "  found  GF101  Mul 'a'              operand 1  [4]",
        "  found  GF101  Add 'b'              operand 0  [4]",
        "  found  GF102  Add 'c'              operand 1  [4]",
        "  found  GF101  Add 'd'              operand 1  [5]",
    ]
    short = replace(table_module.SHORT, edited=5)
    assert list(table_module._aligned([*rows, *others], short, plain)) == lines
    fewer = list(table_module._aligned([*rows, *others], replace(short, edited=3), plain))
    assert fewer == [*lines[:3], "  ... and 2 more; -v or --report FILE.md lists all"]
    assert len(list(table_module._aligned([*rows, *others], replace(short, edited=6), plain))) == 6


def test_the_first_operands_are_listed_with_all_their_steps() -> None:
    steps = [replace(LIFTED, status="changed"), replace(LIFTED, status="changed", code="GF102")]
    other, stays = replace(LIFTED, node="o"), replace(LIFTED, code="GF104", status="left")
    sites = [steps[0], other, stays, steps[1], replace(LIFTED, node="p")]
    found = table_module.first_operands(sites, 2)
    assert found == {("main", "n", 1): steps, ("main", "o", 1): [other]}
    assert list(table_module.first_operands(sites, 9)) == [("main", name, 1) for name in "nop"]


def test_letters_that_do_not_print_are_written_out_and_no_others() -> None:
    assert printable("aä\n\x1bü") == "aä\\n\\x1bü"
    assert printable("'aä\\'") == "'aä\\'"
    assert tally({"a": 0, "b": 2, "c": 1}) == " (b 2, c 1)"
    assert tally({"a": 0}) == tally({}) == ""
    assert node_reason(WHOLE) == "computes what is known before the model runs (fold)"
    assert node_reason(replace(WHOLE, reason="why")) is None
    assert node_reason(LIFTED) is None
