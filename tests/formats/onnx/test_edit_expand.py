"""Expand and Tile nodes that a model has already: text in, text out, edits counted."""

from __future__ import annotations

import pytest

from tests.support.notation import parsed
from tests.support.onnx.fixing import fixed, initializer

NORMALIZED = {
    "a lift, then one rank": (
        "y[2,3,4] = Expand(x[4], s:const{2,3,4})",
        ["x_lifted[1,1,4] = Reshape(x[4], shape_1x1x4[3])", "y[2,3,4] = Expand(x_lifted[1,1,4], s[3])"],
        1,
    ),
    "1 meant keep": (
        "y[2,3] = Expand(x[2,1], s:const{1,3})",
        ["y[2,3] = Expand(x[2,1], shape_2x3[2])"],
        1,
    ),
    "a Tile of a single element": (
        "y[3,4] = Tile(x[1,4], r:const{3,1})",
        ["y[3,4] = Expand(x[1,4], shape_3x4[2])"],
        1,
    ),
    "one that does nothing goes": (
        "e[2,3] = Expand(x[2,3], s:const{2,1})\ny[2,3] = Neg(e)\nz[2,3] = Abs(e)",
        ["y[2,3] = Neg(x[2,3])", "z[2,3] = Abs(x[2,3])"],
        1,
    ),
}


@pytest.mark.parametrize(("text", "after", "edits"), NORMALIZED.values(), ids=NORMALIZED)
def test_expands_are_normalized(text: str, after: list[str], edits: int) -> None:
    result = fixed(text, target="ranks")
    assert result.view == after
    assert result.counts == {"normalize-expand": edits}


def test_what_only_served_a_folded_expand_goes_too() -> None:
    result = fixed("s:int64[2] = Shape(x[N,3])\ne[N,3] = Expand(x, s)\ny[N,3] = Neg(e)", target="ranks")
    assert result.view == ["y[N,3] = Neg(x[N,3])"]


def test_an_expand_that_does_nothing_but_give_an_output_is_exempt() -> None:
    result = fixed("y[2,3] = Expand(x[2,3], s:const{2,3})", target="ranks")
    assert result.view == ["y[2,3] = Expand(x[2,3], s[2])"]
    (site,) = result.outcome.sites
    assert (site.code, site.status, site.reason) == ("GF203", "exempt", "its result is an output of the graph")
    assert result.after == result.before


def test_a_shape_operand_with_other_readers_keeps_its_numbers() -> None:
    result = fixed("y[2,3] = Expand(x[2,1], s:const{1,3})\nz:int64[2] = Neg(s)", target="ranks")
    assert initializer(result.after, "s").tolist() == [1, 3]
    assert result.view == ["y[2,3] = Expand(x[2,1], shape_2x3[2])", "z[2] = Neg(s[2])"]


def test_a_folded_expand_is_bypassed_in_bodies_too() -> None:
    proto = parsed("""main (bool c, float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 1}> {
        v = Expand(x, s)
        [if] y = If (c) <then_branch = yes () => (float[2,3] t) { t = Neg(v) },
                    else_branch = no () => (float[2,3] e) { e = Abs(v) }> }""")
    result = fixed(proto, target="ranks")
    assert [line for line in result.everything if "branch" in line] == [
        "if.then_branch: t[2,3] = Neg(x[2,3])",
        "if.else_branch: e[2,3] = Abs(x[2,3])",
    ]


def test_an_output_that_only_adds_unit_axes_is_lifted() -> None:
    result = fixed("y[1,1,4] = Expand(x[4], s:const{1,1,4})", target="ranks")
    assert result.view == [
        "x_lifted[1,1,4] = Reshape(x[4], shape_1x1x4[3])",
        "y[1,1,4] = Expand(x_lifted[1,1,4], s[3])",
    ]
    assert result.left == []
