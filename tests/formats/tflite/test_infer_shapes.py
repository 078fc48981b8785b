"""What the rules of TFLite operators return where the file says nothing of the result's shape.

A size that a rule leaves out is read from the file elsewhere, so a rule that says nothing looks right there. Here each
result is stored without a rank: `[*]` is a rank that does not follow, `?` a size that does not.
"""

from __future__ import annotations

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.infer.names import unique_names
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import model, pack, tree
from tests.support.tflite.operator_rows import BEHIND_BYTES, PARTS, SHAPES


def shape_of(text: str) -> Shape:
    container = read(model(text))
    return analyse(container, {})[0].shapes[unique_names(container.subgraphs[0]).index("y")]


@pytest.mark.parametrize(("text", "expected", "dtype"), [(*row, "")[:3] for row in SHAPES.values()], ids=SHAPES)
def test_a_rule_alone_returns_the_shape(text: str, expected: str, dtype: str) -> None:
    result = f"y:{dtype}[*]" if dtype else "y[*]"
    assert str(shape_of(f"{result} = {text}")) == expected


@pytest.mark.parametrize(("text", "expected"), [*BEHIND_BYTES.values(), *PARTS.values()], ids=[*BEHIND_BYTES, *PARTS])
def test_a_result_has_the_shape_that_follows(text: str, expected: str) -> None:
    assert str(shape_of(text)) == expected


# SELECT_V2 of operands that may all have one element takes the shape that the file states, if that has one element
STATED = {
    "stated": ("y[1,1,1] = SELECT_V2(c:bool[1], a[1], b[])", "[1, 1, 1]"),
    "stated as a scalar": ("y[] = SELECT_V2(c:bool[1], a[1], b[])", "[]"),
    "stated with the rank that follows": ("y[1] = SELECT_V2(c:bool[1], a[1], b[])", "[1]"),
    "a free operand": ("y[1,1] = SELECT_V2(c:bool[1], a[?], b[])", "[*]"),
    "a free operand, and more elements are stated": ("y[3] = SELECT_V2(c:bool[1], a[?], b[])", "[?]"),
    "an operand of more elements": ("y[1,1] = SELECT_V2(c:bool[1], a[3], b[])", "[3]"),
    "an operand without a rank": ("y[1,1] = SELECT_V2(c:bool[1], a[*], b[])", "[*]"),
}


@pytest.mark.parametrize(("text", "expected"), STATED.values(), ids=STATED)
def test_a_choice_of_single_elements_has_the_shape_that_is_stated(text: str, expected: str) -> None:
    assert str(shape_of(text)) == expected


# the numbers of begin, end and strides, and the masks -> the shape of that slice of [2,3,4,5]
SLICES = {
    "an ellipsis in the middle": ("{0,0,1}", "{1,0,3}", "{1,1,1}", "ellipsis_mask=2", "[1, 3, 4, 2]"),
    "an ellipsis in front": ("{0,1}", "{0,3}", "{1,1}", "ellipsis_mask=1", "[2, 3, 4, 2]"),
    "an ellipsis at the end": ("{0,1,0}", "{1,3,0}", "{1,1,1}", "ellipsis_mask=4", "[1, 2, 4, 5]"),
    "an ellipsis of one axis": ("{0,0,0,1}", "{1,0,1,3}", "{1,1,1,1}", "ellipsis_mask=2", "[1, 3, 1, 2]"),
    "an ellipsis of no axis": ("{0,0,0,0,1}", "{1,0,1,1,3}", "{1,1,1,1,1}", "ellipsis_mask=2", "[*]"),
    "an ellipsis, and a new axis behind it": (
        "{0,0,1}",
        "{0,0,3}",
        "{1,1,1}",
        "ellipsis_mask=1, new_axis_mask=2",
        "[2, 3, 4, 1, 2]",
    ),
    "an ellipsis between axes that go": (
        "{0,0,1}",
        "{1,0,2}",
        "{1,1,1}",
        "ellipsis_mask=2, shrink_axis_mask=5",
        "[3, 4]",
    ),
}


@pytest.mark.parametrize(("begin", "end", "strides", "masks", "expected"), SLICES.values(), ids=SLICES)
def test_an_ellipsis_keeps_the_axes_that_no_other_entry_is_about(
    begin: str, end: str, strides: str, masks: str, expected: str
) -> None:
    count = begin.count(",") + 1
    given = zip("bes", (begin, end, strides), strict=True)
    bounds = ", ".join(f"{name}:const:int32[{count}]{numbers}" for name, numbers in given)
    assert str(shape_of(f"y[*] = STRIDED_SLICE(x[2,3,4,5], {bounds}, {masks})")) == expected


@pytest.mark.parametrize(("count", "expected"), [(0, "[*]"), (1, "[]"), (2, "[*]")])
def test_a_text_alone_that_states_no_shape_is_a_scalar(count: int, expected: str) -> None:
    texts = ",".join("ab"[:count])
    made = tree(f"y:string[*] = CUSTOM.Op(s:const:string[{count}]{{{texts}}})")
    made.subgraphs[0].tensors[0].shape, made.subgraphs[0].tensors[0].hasRank = None, False
    assert str(analyse(read(pack(made)), {})[0].shapes[0]) == expected


BOUNDS = {
    "a computed begin": ("x[6], b:int32[1], e:const:int32[1]{4}, s:const:int32[1]{1}", "[?]"),
    "a computed end": ("x[6], b:const:int32[1]{1}, e:int32[1], s:const:int32[1]{1}", "[?]"),
    "a computed stride": ("x[6], b:const:int32[1]{1}, e:const:int32[1]{4}, s:int32[1]", "[?]"),
    "a stride of 0": ("x[6], b:const:int32[1]{1}, e:const:int32[1]{4}, s:const:int32[1]{0}", "[?]"),
    "a masked begin that is computed": (
        "x[6], b:int32[1], e:const:int32[1]{4}, s:const:int32[1]{1}, begin_mask=1",
        "[4]",
    ),
    "a masked end that is computed": ("x[6], b:const:int32[1]{1}, e:int32[1], s:const:int32[1]{1}, end_mask=1", "[5]"),
    "a free size": ("x[?], b:const:int32[1]{1}, e:const:int32[1]{4}, s:const:int32[1]{1}", "[?]"),
    "backwards, with no bounds": (
        "x[6], b:const:int32[1]{0}, e:const:int32[1]{0}, s:const:int32[1]{-1}, begin_mask=1, end_mask=1",
        "[6]",
    ),
}


@pytest.mark.parametrize(("operands", "expected"), BOUNDS.values(), ids=BOUNDS)
def test_a_slice_of_a_bound_that_is_not_known_has_an_unknown_size(operands: str, expected: str) -> None:
    assert str(shape_of(f"y[*] = STRIDED_SLICE({operands})")) == expected


RESHAPES = {
    "each size is one that is computed": ("x[6], s:int32[2]", "[?, ?]"),
    "as many as are followed": ("x[3], s:int32[64]", f"[{', '.join('?' * 64)}]"),
    "more axes than a tensor has": ("x[3], s:int32[65]", "[*]"),
    "an unknown number of sizes": ("x[3], s:int32[?]", "[*]"),
    "sizes of another type, which LiteRT does not read": ("x[1], s:int64[3]", "[]"),
}


@pytest.mark.parametrize(("operands", "expected"), RESHAPES.values(), ids=RESHAPES)
def test_a_reshape_to_computed_sizes_has_their_number_as_its_rank(operands: str, expected: str) -> None:
    assert str(shape_of(f"y[*] = RESHAPE({operands})")) == expected
