"""What the rules of TFLite operators return where the file says nothing of the result's shape.

A size that a rule leaves out is read from the file elsewhere, so a rule that says nothing looks right there. Here each
result is stored without a rank: `[*]` is a rank that does not follow, `?` a size that does not.
"""

from __future__ import annotations

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.infer.names import unique_names
from graphfix.formats.tflite.infer.operators.layout import MOST_AXES, unknowns
from graphfix.formats.tflite.infer.operators.products import WINDOWS_FIT
from graphfix.formats.tflite.infer.operators.sizes import EXACT_IN_FLOAT32
from graphfix.formats.tflite.infer.operators.strided_slice import AxisSlice, kept
from graphfix.shapes.dim import UNKNOWN, UNRANKED, Dim, Shape, symbol
from graphfix.shapes.terms import Terms, bounds
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


# STEP stands for strides of 1; a padding that is not stated is SAME
PRODUCTS = """
BATCH_MATMUL(x[?,3,4], z[4,5]) -> [?, 3, 5]
BATCH_MATMUL(x[2,1,3,4], z[7,4,5]) -> [2, 7, 3, 5]
BATCH_MATMUL(x[4,3], z[5,4], adj_x=1, adj_y=1) -> [3, 5]
BATCH_MATMUL(x[4], z[4,5]) -> [*]
BATCH_MATMUL(x[3,4], z[*]) -> [*]
FULLY_CONNECTED(x[2,3,4], w[5,4]) -> [6, 5]
FULLY_CONNECTED(x[2,3,4], w[5,8]) -> [3, 5]
FULLY_CONNECTED(x[2,3,4], w[5]) -> [*]
FULLY_CONNECTED(x[*], w[5,4]) -> [*]
FULLY_CONNECTED(x[2,3,4], w[*]) -> [*]
FULLY_CONNECTED(x[2,3,4], w[5,1]) -> [24, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, STEP) -> [2, 7, 7, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, stride_h=2, stride_w=3) -> [2, 4, 3, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=SAME, stride_h=2, stride_w=3) -> [2, 5, 3, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=SAME, STEP) -> [2, 9, 8, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, STEP, dilation_h_factor=2, dilation_w_factor=3) -> [2, 5, 5, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, STEP, dilation_h_factor=4, dilation_w_factor=7) -> [2, 1, 1, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, STEP, dilation_h_factor=5) -> [2, ?, ?, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, STEP, dilation_w_factor=8) -> [2, ?, ?, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, STEP, dilation_h_factor=0) -> [2, ?, 7, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, STEP, dilation_w_factor=0) -> [2, 7, ?, 5]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID, stride_h=0, stride_w=1) -> [2, ?, 7, 5]
CONV_2D(x[2,9,8,3], w[5,?,2,3], padding=VALID, STEP) -> [2, ?, 7, 5]
CONV_2D(x[2,9,8,3], w[5,3,?,3], padding=VALID, STEP) -> [2, 7, ?, 5]
CONV_2D(x[2,9,8,3], w[5,?,?,3], padding=SAME, stride_h=1, stride_w=2) -> [2, 9, 4, 5]
CONV_2D(x[2,3,2,3], w[5,3,2,3], padding=VALID, STEP) -> [2, 1, 1, 5]
CONV_2D(x[2,2,8,3], w[5,3,2,3], padding=VALID, STEP) -> [2, ?, ?, 5]
CONV_2D(x[2,9,1,3], w[5,3,2,3], padding=VALID, STEP) -> [2, ?, ?, 5]
CONV_2D(x[*], w[5,3,2,3], padding=VALID, STEP) -> [*]
CONV_2D(x[2,9,8,3], w[*], padding=VALID, STEP) -> [*]
CONV_2D(x[?,9,8,3], w[?,3,2,3], padding=VALID, STEP) -> [?, 7, 7, ?]
CONV_2D(x[2,9,8,3], w[5,3,2,3], padding=VALID) -> [2, ?, ?, 5]
DEPTHWISE_CONV_2D(x[2,9,8,3], w[1,3,2,6], padding=VALID, stride_h=2, stride_w=1) -> [2, 4, 7, 6]
AVERAGE_POOL_2D(x[2,9,8,3], padding=VALID, stride_h=1, stride_w=2, filter_height=3, filter_width=2) -> [2, 7, 4, 3]
MAX_POOL_2D(x[2,9,8,3], padding=SAME, stride_h=4, stride_w=3, filter_height=3, filter_width=2) -> [2, 3, 3, 3]
L2_POOL_2D(x[2,9,8,3], padding=VALID, STEP, filter_height=9, filter_width=8) -> [2, 1, 1, 3]
L2_POOL_2D(x[2,9,8,3], padding=VALID, STEP, filter_height=10, filter_width=8) -> [2, ?, ?, 3]
L2_POOL_2D(x[*], padding=VALID, STEP, filter_height=10, filter_width=8) -> [*]
CONV_3D(x[2,7,9,8,3], w[*]) -> [*]
CONV_3D(x[*], w[3,3,3,3,5]) -> [*]
TRANSPOSE_CONV(s:const:int32[4]{2,9,8,5}, w[5,3,2,3], x[2,4,4,3]) -> [2, 9, 8, 5]
TRANSPOSE_CONV(s:int32[4], w[5,3,2,3], x[2,4,4,3]) -> [?, ?, ?, ?]
"""


@pytest.mark.parametrize("row", PRODUCTS.strip().splitlines())
def test_a_product_has_the_sizes_that_its_operands_and_options_leave(row: str) -> None:
    text, _, expected = row.replace("STEP", "stride_h=1, stride_w=1").partition(" -> ")
    assert str(shape_of(f"y[*] = {text}")) == expected


@pytest.mark.parametrize(
    ("text", "least", "assumed"),
    [
        ("CONV_2D(x[2,?,8,3], w[5,3,2,3], padding=VALID, stride_h=1, stride_w=1, dilation_h_factor=2)", 4, True),
        ("CONV_2D(x[2,?,8,3], w[5,3,2,3], padding=VALID, stride_h=1, stride_w=1, dilation_h_factor=2)", 5, False),
        ("CONV_2D(x[2,?,8,3], w[5,3,2,3], padding=SAME, stride_h=1, stride_w=1)", 1, False),
        ("CONV_2D(x[2,?,8,3], w[5,?,2,3], padding=VALID, stride_h=1, stride_w=1)", 1, False),
        ("MAX_POOL_2D(x[2,?,8,3], padding=VALID, stride_h=1, stride_w=1, filter_height=3, filter_width=2)", 2, True),
        ("MAX_POOL_2D(x[2,?,8,3], padding=VALID, stride_h=1, stride_w=1, filter_height=3, filter_width=2)", 3, False),
    ],
)
def test_that_windows_fit_is_assumed_where_a_free_size_may_be_less_than_a_window(
    text: str, least: int, assumed: bool
) -> None:
    facts = analyse(read(model(f"y[*] = {text}")), {"x[1]": symbol("H", least, 64)})[0]
    assert (WINDOWS_FIT in facts.assumes) is assumed


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


BOUND = (None, -4, -1, 0, 1, 3, 9)
EVERY = [(begin, end, stride) for begin in BOUND for end in BOUND for stride in (-2, -1, 1, 2)]


@pytest.mark.parametrize("length", [0, 1, 3, 5])
def test_a_slice_of_a_number_of_elements_has_what_python_takes(length: int) -> None:
    for begin, end, stride in EVERY:
        assert kept(Terms(), length, AxisSlice(begin, end, stride)) == len(range(length)[begin:end:stride])


EXACT = {
    *((begin, end, 1) for begin in (None, 0) for end in BOUND),
    *((begin, None, 1) for begin in BOUND),
    (None, None, -1),
}
"""What follows of a free size; of any other slice nothing does."""


def test_a_slice_of_a_free_size_is_what_python_takes_or_unknown() -> None:
    terms, free = Terms(), symbol("n", 0, None)
    for begin, end, stride in EVERY:
        found = kept(terms, free, AxisSlice(begin, end, stride))
        at = {length: terms.number(found, {free.parts: length}) for length in (0, 1, 2, 3, 5, 12)}
        if (begin, end, stride) in EXACT:
            assert at == {length: len(range(length)[begin:end:stride]) for length in at}, (begin, end, stride)
        else:
            assert set(at.values()) == {None}, (begin, end, stride)
            assert kept(terms, free, AxisSlice(begin, end, stride)) == found  # equal slices share a name
            assert bounds(found)[0] == 0


def test_other_slices_have_other_names() -> None:
    terms, free = Terms(), symbol("n", 0, None)
    cuts = [(1, None, 2), (None, 1, 2), (None, None, 2), (1, 3, 2), (1, 3, 1), (3, 1, 2), (None, None, 3), (2, None, 2)]
    names = [kept(terms, free, AxisSlice(*cut)) for cut in cuts]
    assert len({str(name.parts) for name in names if isinstance(name, Dim)}) == len(cuts)
    assert kept(terms, free, AxisSlice(None, free, 1)) == free
    assert kept(terms, free, AxisSlice(0, free, 1)) == free
    assert kept(terms, 5, AxisSlice(1, 3, 0)) != kept(terms, 5, AxisSlice(1, 3, 1)) == 2


@pytest.mark.parametrize("cut", [("b", None), ("b", 3), (1, "b"), ("b", "b")])
def test_a_slice_by_a_computed_bound_has_a_name_that_equal_ones_share(cut: tuple[int | str | None, ...]) -> None:
    terms, bound = Terms(), symbol("b", 0, None)
    begin, end = (bound if each == "b" else each for each in cut)
    assert not isinstance(begin, str)
    assert not isinstance(end, str)
    for size in (symbol("n", 0, None), 5):
        found = kept(terms, size, AxisSlice(begin, end, 1))
        assert isinstance(found, Dim)
        assert found == kept(terms, size, AxisSlice(begin, end, 1)) != kept(terms, size, AxisSlice(begin, end, 2))
        assert terms.number(found, {("n",): 5, ("b",): 1}) is None
        assert found.lo == 0


@pytest.mark.parametrize("begin", [None, 0])
def test_a_slice_up_to_a_computed_end_has_the_smaller_number_where_the_end_is_never_negative(begin: int | None) -> None:
    terms, size, end = Terms(), symbol("n", 0, None), symbol("b", 0, None)
    found = kept(terms, size, AxisSlice(begin, end, 1))
    assert terms.number(found, {("n",): 5, ("b",): 3}) == 3
    assert terms.number(found, {("n",): 2, ("b",): 3}) == 2
    assert kept(terms, size, AxisSlice(begin, symbol("c", -1, None), 1)) == UNKNOWN
    assert kept(terms, size, AxisSlice(begin, terms.sub(size, 1), 1)) == UNKNOWN


@pytest.mark.parametrize(
    ("dtype", "code", "assumed"), [("float32", "FLOAT32", True), ("int32", "INT32", False)], ids=["floats", "integers"]
)
def test_a_range_of_floats_to_a_free_size_assumes_that_it_is_no_large_one(dtype: str, code: str, assumed: bool) -> None:
    text = f"""s:int32[1] = SHAPE(x[?], out_type=INT32)
n:int32[] = SQUEEZE(s)
f:{dtype}[] = CAST(n, in_data_type=INT32, out_data_type={code})
y:{dtype}[?] = RANGE(o:const:{dtype}[]{{0}}, f, d:const:{dtype}[]{{1}})"""
    container = read(model(text))
    facts = analyse(container, {})[0]
    names = unique_names(container.subgraphs[0])
    assert facts.shapes[names.index("y")].axes == facts.shapes[names.index("x")].axes != (UNKNOWN,)
    assert (EXACT_IN_FLOAT32 in facts.assumes) is assumed


def test_a_rank_is_known_up_to_the_greatest_that_a_tensor_has() -> None:
    assert [unknowns(rank) for rank in (0, 2, MOST_AXES)] == [Shape((UNKNOWN,) * rank) for rank in (0, 2, MOST_AXES)]
    assert unknowns(MOST_AXES + 1) is UNRANKED
