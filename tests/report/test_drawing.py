"""The drawing of a broadcast: which marks an operand's axes get, and what stands beside them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from graphfix.report.drawing import DARK, LIGHT, STYLE, broadcast_svg, right_aligned
from graphfix.results.excerpt import JsonShape, OperandAxis, OperandExcerpt

SPACE = (2, 3, 4)


def drawn(*shapes: tuple[int | str | None, ...], space: JsonShape = SPACE, focus: int | None = None) -> ET.Element:
    operands = [right_aligned(at, f"v{at}", shape, space or ()) for at, shape in enumerate(shapes)]
    return ET.fromstring(broadcast_svg("Add", space, operands, focus=focus))  # noqa: S314 -- made here


def marks(svg: ET.Element) -> dict[str, int]:
    """How many cells have each mark, the legend's not counted."""
    kinds = [rect.get("class", "") for rect in svg.iter("rect") if rect.get("height") == "38"]
    return {kind.removeprefix("gx-"): kinds.count(kind) for kind in kinds}


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((4,), [(None, "yes"), (None, "yes"), (0, "no")]),
        ((3, 1), [(None, "yes"), (0, "no"), (1, "yes")]),
        ((2, 3, 4), [(0, "no"), (1, "no"), (2, "no")]),
        (("N", 3, None), [(0, "maybe"), (1, "no"), (2, "maybe")]),
        ((), [(None, "yes"), (None, "yes"), (None, "yes")]),
    ],
)
def test_an_operand_lies_under_the_last_axes(
    shape: tuple[int | str | None, ...], axes: list[tuple[int | None, str]]
) -> None:
    found = right_aligned(0, "b", shape, SPACE).axes
    assert [(axis.source, axis.stretched) for axis in found] == axes


def test_an_added_axis_is_not_stretched_where_the_result_has_size_1() -> None:
    assert [axis.stretched for axis in right_aligned(0, "b", (4,), (1, 2, 4)).axes] == ["no", "yes", "no"]


@pytest.mark.parametrize("size", ["N", None])
def test_a_size_that_only_the_operand_is_known_to_share_with_the_result_is_not_stretched(size: str | None) -> None:
    assert right_aligned(0, "b", (size,), (size,)).axes[0].stretched == ("no" if size else "maybe")


def test_each_axis_has_the_mark_of_what_happens_along_it() -> None:
    assert marks(drawn((2, 3, 4), (4,))) == {"cell": 4, "both": 2, "result": 3}
    assert marks(drawn((1, 3, 4), (2, 1, "N"))) == {"stretch": 2, "cell": 4, "hatch": 1, "result": 3}
    assert marks(drawn((4,), space=(1, 4))) == {"lift": 1, "cell": 1, "result": 2}


@pytest.mark.parametrize(("size", "defined"), [("N", 1), (4, 0)])
def test_the_pattern_of_a_hatch_is_defined_where_a_cell_is_hatched(size: int | str, defined: int) -> None:
    svg = drawn((2, 3, size))
    assert [each.get("id") for each in svg.iter("pattern")] == ["gx-hatch"] * defined


def test_the_legend_names_only_the_marks_that_are_there() -> None:
    keys = [text.text for text in drawn((1, 3, 4), SPACE).iter("text") if text.get("class") == "gx-key"]
    assert keys == ["stretched: repeated"]


def test_a_matrix_stands_apart_and_is_not_broadcast() -> None:
    operand = right_aligned(1, "k", (1,), (8,), matrix=(32, 64))
    assert operand.shape == (1, 32, 64)
    svg = ET.fromstring(broadcast_svg("MatMul", (8,), [operand]))  # noqa: S314 -- made here
    assert marks(svg) == {"stretch": 1, "matrix": 2, "result": 1}


@pytest.mark.parametrize(
    ("shape", "space", "arrows"),
    [
        ((4,), (2, 3, 4), 2),
        ((1,), (7,), 1),
        ((2, 1, 4, 1, 6), (2, 3, 4, 5, 6), 0),  # five directions: no paper has them
        ((1, 1, 4, 1, 1), (2, 3, 4, 5, 6), 2),  # three: neighbours that are alike are one
        ((2, 3, 4), (2, 3, 4), 0),  # nothing happens
        ((4,), (1, 4), 0),
    ],
)
def test_the_box_has_an_arrow_for_each_direction_that_is_stretched(
    shape: tuple[int, ...], space: tuple[int, ...], arrows: int
) -> None:
    svg = drawn(shape, space=space, focus=0)
    assert sum(path.get("class") == "gx-head" for path in svg.iter("path")) == arrows


def test_the_box_is_that_of_the_operand_in_question() -> None:
    shapes: tuple[tuple[int, ...], ...] = ((2, 1), (1, 3))
    said = [[text.text for text in drawn(*shapes, space=(2, 3), focus=focus).iter("text")] for focus in (None, 0, 1)]
    assert "v0 in the result" in said[0]
    assert "v0 in the result" in said[1]
    assert "v1 in the result" in said[2]


def test_who_sees_no_picture_is_told_what_is_in_it() -> None:
    svg = drawn((2, 3, 4), (3, 1))
    assert svg.findtext("title") == "How the operands of Add broadcast"
    said = "v0 [2,3,4]: follows every axis. v1 [3,1]: lifted along 0; stretched along 0, 2."
    assert svg.findtext("desc") == f"The operands broadcast over [2,3,4]. {said}"


def test_nothing_is_drawn_of_an_unknown_rank() -> None:
    assert broadcast_svg("Add", None, [OperandExcerpt(0, "a", None, ())]) == ""


def test_an_operand_may_follow_other_axes_than_the_last() -> None:
    legacy = OperandExcerpt(1, "b", (3,), (OperandAxis(None, "yes"), OperandAxis(0, "no"), OperandAxis(None, "yes")))
    svg = ET.fromstring(broadcast_svg("Add", SPACE, [legacy]))  # noqa: S314 -- made here
    assert marks(svg) == {"both": 2, "cell": 1, "result": 3}


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "\"&'", "a\nb\0\x1b[31m", "\u202eevil", "\ud800", "n" * 999]
)
def test_names_are_text_of_a_bounded_length(name: str) -> None:
    text = broadcast_svg(name, (name, 3), [right_aligned(0, name, (1,), (name, 3))], standalone=True)
    svg = ET.fromstring(text)  # noqa: S314 -- made here
    assert {each.tag.rpartition("}")[2] for each in svg.iter()} <= {
        "svg", "title", "desc", "style", "defs", "pattern", "path", "rect", "text"
    }  # fmt: skip
    assert text.isascii() or text.encode("utf-8")
    assert len(text) < 20_000


def test_a_file_of_its_own_has_its_colours_for_light_and_dark() -> None:
    text = broadcast_svg("Add", SPACE, [right_aligned(0, "b", (4,), SPACE)], standalone=True)
    svg = ET.fromstring(text)  # noqa: S314 -- made here
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in (svg.findtext("{*}style") or "")
    assert text.count("http") == 1


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_every_colour_that_the_style_names_is_there(colours: str) -> None:
    assert set(re.findall(r"var\((--[\w-]+)\)", STYLE)) <= set(re.findall(r"(--[\w-]+):", colours))


def test_the_box_is_that_of_the_first_operand_that_is_lifted_or_stretched() -> None:
    said = [text.text for text in drawn((2, 3), (3,), (1, 3), space=(2, 3)).iter("text")]
    assert [line for line in said if line and "in the result" in line] == ["v1 in the result"]
    said = [text.text for text in drawn((2, 3), (2, 3), space=(2, 3)).iter("text")]
    assert [line for line in said if line and "in the result" in line] == []
