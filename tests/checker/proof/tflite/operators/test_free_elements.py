"""What the proof follows of sizes that are free: the same elements by another operator are the same value."""

from __future__ import annotations

import pytest

from models.builders.tflite.text import model
from tests.support.proved import unproved

OF_X = "s:int32[4] = SHAPE(x[?,3,4,5], out_type=INT32)\n"
FIRST = OF_X + "n:int32[] = GATHER(s, o:const:int32[]{0})\n"
SLICE = "y:int32[{2}] = SLICE(s, b:const:int32[1]{{{0}}}, z:const:int32[1]{{{1}}})"
SPLIT = "p:int32[2], q:int32[2] = SPLIT(d:const:int32[]{{{0}}}, s, num_splits={1})\ny:int32[2] = NEG({2})"
SPLIT_V = (
    "p:int32[1], q:int32[3] = SPLIT_V(s, z:const:int32[2]{{{0}}}, d:const:int32[]{{{1}}}, num_splits=2)\n"
    "y:int32[?] = NEG({2})"
)


def picked(*places: int, into: str = "y") -> str:
    """Return a GATHER of some of the sizes."""
    count = len(places)
    return f"{into}:int32[{count}] = GATHER(s, g:const:int32[{count}]{{{','.join(map(str, places))}}})"


def negated(*places: int) -> str:
    return f"{picked(*places, into='r')}\ny:int32[{len(places)}] = NEG(r)"


def same(one: str, two: str, count: str) -> bool:
    """Return whether two texts are proved to give one y to a reader."""
    reader = f"\ntotal:int32[{count}] = ADD(y, given:int32[{count}])"
    before, after = (model(text + reader, outputs=["y", "total"]) for text in (one, two))
    return unproved(before, after) is None


# a text, the places of the sizes that it takes
CUTS = {
    "SLICE from the first on": (SLICE.format(0, 2, 2), picked(0, 1)),
    "SLICE of one": (SLICE.format(1, 1, 1), picked(1)),
    "SLICE to the last": (SLICE.format(1, 3, 3), picked(1, 2, 3)),
    "SLICE of the rest": (SLICE.format(1, -1, 3), picked(1, 2, 3)),
    "SLICE of all": (SLICE.format(0, 4, 4), picked(0, 1, 2, 3)),
    "SPLIT, the first part": (SPLIT.format(0, 2, "p"), negated(0, 1)),
    "SPLIT, the second part": (SPLIT.format(0, 2, "q"), negated(2, 3)),
    "SPLIT from the end": (SPLIT.format(-1, 2, "q"), negated(2, 3)),
    "SPLIT_V, the first part": (SPLIT_V.format("1,3", 0, "p"), negated(0)),
    "SPLIT_V, the rest": (SPLIT_V.format("1,-1", -1, "q"), negated(1, 2, 3)),
}
# a text, and what a rule without one of its conditions would take
NOT_CUT = {
    "SLICE from a negative place": (SLICE.format(-4, 2, "?"), picked(0, 1)),
    "SLICE of a negative length": (SLICE.format(0, -2, "?"), picked(0, 1, 2, 3)),
    "SLICE of nothing": (SLICE.format(1, 0, "?"), picked(1, 2, 3)),
    "SLICE behind the last": (SLICE.format(1, 4, "?"), picked(1, 2, 3)),
    "SPLIT along an axis that is not there": (SPLIT.format(1, 2, "p"), negated(0, 1)),
    "SPLIT_V that leaves one out": (SPLIT_V.format("1,2", 0, "q"), negated(1, 2)),
    "SPLIT_V along a computed axis": (
        "p:int32[1], q:int32[3] = SPLIT_V(s, z:const:int32[2]{1,3}, d:int32[], num_splits=2)\ny:int32[1] = NEG(p)",
        "m:int32[] = NEG(d:int32[])\n" + negated(0),
    ),
    "SPLIT_V by computed lengths": (
        "p:int32[?], q:int32[?] = SPLIT_V(s, z:int32[2], d:const:int32[]{0}, num_splits=2)\ny:int32[?] = NEG(p)",
        "m:int32[2] = NEG(z:int32[2])\n" + negated(0),
    ),
}


@pytest.mark.parametrize("name", CUTS)
def test_a_cut_of_free_sizes_is_a_gather_of_them(name: str) -> None:
    text, gathered = CUTS[name]
    assert same(OF_X + text, OF_X + gathered, "?")


@pytest.mark.parametrize("name", NOT_CUT)
def test_a_cut_that_does_not_follow_is_no_gather(name: str) -> None:
    text, gathered = NOT_CUT[name]
    assert not same(OF_X + text, OF_X + gathered, "?")
    assert same(OF_X + text, OF_X + text, "?")


@pytest.mark.parametrize(("more", "expected"), [(1, True), (2, False)])
def test_a_range_from_a_free_size_counts_on(more: int, *, expected: bool) -> None:
    """RANGE counts n, n + 1; both files hold both operators, and differ in which of them is read."""
    text = FIRST + (
        f"l:int32[] = ADD(n, k:const:int32[]{{2}})\nm:int32[] = ADD(n, j:const:int32[]{{{more}}})\n"
        "y:int32[2] = RANGE(n, l, c:const:int32[]{1})\nz:int32[2] = PACK(n, m, axis=0, values_count=2)\n"
        "total:int32[2] = ADD({}, given:int32[2])"
    ).replace("{}", "%s")
    before, after = (model(text % read, outputs=["y", "z", "total"]) for read in "yz")
    assert (unproved(before, after) is None) is expected


WEIGHED = "CONV_2D(x[4,{rows},11,2], w[6,{window},3,2], b[6], padding={padding}, stride_h={stride}, stride_w=1)"


@pytest.mark.parametrize(
    ("rows", "window", "padding", "stride"),
    [("?", "3", "VALID", 1), ("?", "?", "SAME", 1), ("?", "3", "SAME", 0), ("9", "?", "VALID", 1)],
    ids=["free rows", "a free window", "a stride of 0", "a free window on known rows"],
)
def test_rows_that_are_not_known_leave_the_other_sizes_known(rows: str, window: str, padding: str, stride: int) -> None:
    made = WEIGHED.format(rows=rows, window=window, padding=padding, stride=stride)
    columns = 11 if padding == "SAME" else 9
    head = f"r[?,?,?,?] = {made}\ns:int32[4] = SHAPE(r, out_type=INT32)\n"
    asked = head + picked(0, 2, 3)
    reader = "\ntotal:int32[3] = ADD({}, given:int32[3])"
    for sizes, expected in ((f"4,{columns},6", True), (f"4,{columns},7", False)):
        stated = asked + reader.format(f"t:const:int32[3]{{{sizes}}}")
        pair = (model(text, outputs=["r", "y", "total"]) for text in (asked + reader.format("y"), stated))
        assert (unproved(*pair) is None) is expected


def test_free_rows_are_as_many_as_windows_that_may_reach_out_and_more_than_others() -> None:
    head = "s:int32[4] = SHAPE(r, out_type=INT32)\n" + picked(1)
    one = "r[?,?,?,?] = MAX_POOL_2D(x[4,?,11,7], padding={}, stride_h=1, stride_w=1, filter_height=3, filter_width=1)\n"
    own = "s:int32[4] = SHAPE(x[4,?,11,7], out_type=INT32)\n" + picked(1)
    beside = one.format("{}").replace("r[", "u[")
    assert same(one.format("SAME") + head, beside.format("SAME") + own.replace("x[4,?,11,7]", "x"), "1")
    assert not same(one.format("VALID") + head, beside.format("VALID") + own.replace("x[4,?,11,7]", "x"), "1")
