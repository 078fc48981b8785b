"""The lines of `show`: in the columns of a terminal, in colours, and with names that mean harm."""

from __future__ import annotations

import re

import pytest

from graphfix.report import listing as listing_module
from graphfix.report.colour import coloured, plain
from graphfix.report.listing import listing_lines, shortened_inside
from graphfix.results.listing import ListedNode, ListedScope, ListedValue, Listing

LONG = "/encoder/layers.11/attention/self/query/Add_output_0"
ADD = ListedNode(
    "Add",
    "/encoder/layers.11/attention/self/query/Add",
    [ListedValue(LONG, ("2", "N", "768"))],
    [ListedValue("bias", ("1", "768"), ("stretched", "plain"), 1), ListedValue(f"{LONG}/in", ("2", "N", "768"))],
)
NEG = ListedNode("Neg", "", [ListedValue("y", ("2",))], [ListedValue("x", None)])
MAYBE = ListedNode("Mul", "n", [ListedValue("m", ("N",))], [ListedValue("a", ("N",), ("maybe",)), None])
ESCAPE = re.compile("\x1b\\[[0-9;]*m")


def listing(*nodes: ListedNode) -> Listing:
    return Listing([ListedScope("main", nodes)], len(nodes), None, {"Add": 1, "Neg": 1}, 1, 2, 3, 0)


def test_no_line_depends_on_another_where_nothing_is_cut() -> None:
    alone = list(listing_lines(listing(NEG)))[1]
    assert alone in listing_lines(listing(NEG, ADD))
    assert alone == "    y[2] = Neg(x[*])"
    assert f"LS  {LONG}[2,N,768] = Add(bias[1,768], {LONG}/in[2,N,768])    # {ADD.name}" in listing_lines(listing(ADD))


@pytest.mark.parametrize("width", [1, 60, 80, 100, 160])
def test_columns_are_aligned_and_fit_the_terminal(width: int) -> None:
    lines = list(listing_lines(listing(ADD, NEG, MAYBE), width=width))
    assert max(map(len, lines)) <= max(width, 60)
    assert len({line.index(" = ") for line in lines if " = " in line}) == 1
    assert any("Neg(x[*])" in line for line in lines)
    assert any("bias[1,768]" in line for line in lines)


def test_what_fits_is_not_cut() -> None:
    assert any(LONG in line and ADD.name in line for line in listing_lines(listing(ADD, NEG), width=300))


def test_an_operator_of_many_operands_says_how_many_it_leaves_out() -> None:
    node = ListedNode(
        "Concat", "", [ListedValue("y", ("99",))], [ListedValue(f"{LONG}.{n}", ("1",)) for n in range(99)]
    )
    lines = list(listing_lines(listing(node), width=80))
    assert max(map(len, lines)) <= 80
    assert any(re.search(r", \.\. 9\d more\)$", line) for line in lines)


def test_colours_say_no_more_than_the_letters_in_front() -> None:
    for width in (None, 80):
        painted = list(listing_lines(listing(ADD, NEG, MAYBE), width=width, paint=coloured))
        assert [ESCAPE.sub("", line) for line in painted] == list(listing_lines(listing(ADD, NEG, MAYBE), width=width))
    text = "\n".join(listing_lines(listing(ADD, MAYBE), paint=coloured))
    assert "bias\x1b[1;36m[\x1b[0m\x1b[1;33m1\x1b[0m,768]" in text
    assert "a[\x1b[1;35mN\x1b[0m]" in text


@pytest.mark.parametrize("paint", [None, coloured])
def test_a_name_can_paint_nothing(paint: object) -> None:
    evil = "a\x1b[31m\n\r\x00\u202e\u2066\ud800"
    value = ListedValue(evil, (evil,), ("maybe",), 1, f"[{evil!s}]", evil)
    node = ListedNode(evil, evil, [value], [value], maps=[evil])
    one = Listing([ListedScope(evil, [node], [value], [value])], 1, None, {evil: 1}, 0, 0, 0, 0)
    options = {} if paint is None else {"paint": paint}
    for width in (None, 60, 200):
        for line in listing_lines(one, width=width, **options):  # type: ignore[arg-type]  # what is given is right
            assert ESCAPE.sub("", line).isprintable()
            assert "\x1b[31m" not in line


def test_a_text_is_cut_in_the_middle() -> None:
    assert shortened_inside("abcdefghij", 10) == "abcdefghij"
    assert shortened_inside("abcdefghij", 8) == "ab..ghij"


def test_elements_go_before_an_operand_is_left_out() -> None:
    numbers = ", ".join(["-0.08333334"] * 8)
    bias = ListedValue("blocks.1.mlp.2.bias", ("8",), lifted=1, elements=f"[{numbers}]")
    node = ListedNode("Add", ADD.name, ADD.results, [bias, ADD.operands[1]])
    line = list(listing_lines(listing(node), width=100))[2]
    assert "bias[8], " in line
    assert line.endswith("in[2,N,768])")


def test_where_no_form_of_the_operands_fits_the_shortest_is_cut_in_the_middle() -> None:
    names = [f"operand_{at}_of_a_long_name" for at in range(3)]
    node = ListedNode("Concat", "c", [ListedValue("y", ("2",))], [ListedValue(name, tuple("234567")) for name in names])
    shown = {width: listing_module._fitted_operands(node, width, plain) for width in (4, 8, 12, 20)}
    assert shown == {4: "..re", 8: "op..more", 12: "op... 2 more", 20: "op..g_..], .. 2 more"}
    whole = listing_module._fitted_operands(node, 400, plain)
    assert all(name in whole for name in names)
    assert listing_module._fitted_operands(node, len(whole), plain) == whole
    assert listing_module._fitted_operands(node, len(whole) - 1, plain) != whole
    for width in range(24, len(whole)):
        fitted = listing_module._fitted_operands(node, width, plain)
        assert listing_module._fitted_operands(node, len(fitted), plain) == fitted


@pytest.mark.parametrize("name", ["", "n", "a name that takes more than a quarter of it"])
def test_a_line_that_just_fits_is_whole_and_one_column_less_cuts_it(name: str) -> None:
    """Without names nothing is kept free for them."""
    node = ListedNode("Neg", name, [ListedValue("a" * 30, ("2",))], [ListedValue("b" * 30, ("2",))])
    text = f"    {'a' * 30}[2] = Neg({'b' * 30}[2])" + (f"  # {name}" if name else "")
    width = len(text)
    assert list(listing_lines(listing(node), width=width))[1].rstrip() == text
    cut = list(listing_lines(listing(node), width=width - 1))
    assert text not in map(str.rstrip, cut)
    assert max(map(len, cut)) < width


@pytest.mark.parametrize("width", [4, 8, 16])
def test_where_no_form_of_the_results_fits_the_shortest_is_cut_in_the_middle(width: int) -> None:
    results = [ListedValue(f"result_{at}_of_a_long_name", tuple("234567")) for at in range(3)]
    shown = listing_module._fitted_results(ListedNode("Split", "s", results, []), width, plain)
    assert len(shown) == width
    short = listing_module._fitted_results(ListedNode("Neg", "n", [ListedValue("y", ("2",))], []), width, plain)
    assert (len(short), short.startswith("y[2]")) == (width, True)
