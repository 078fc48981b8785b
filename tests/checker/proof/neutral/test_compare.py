"""What the comparisons of both formats share, by itself: sizes that are asked for, declared shapes, the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfix.checker.files.pair import Pair
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import Algebra, Place, Size
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.neutral.compare import (
    LARGEST_MESSAGE,
    assumed,
    assumed_ranges,
    binding_options,
    check_asked,
    check_declared_input,
    check_declared_output,
    check_effects,
    check_size,
    conclusion,
    refuse_unknown,
)
from graphfix.results import GraphfixError

Dims = list[int | None] | None


def pair(**stated: Any) -> Pair:  # noqa: ANN401 -- the fields of Pair
    return Pair(Path("before"), Path("after"), **stated)


INPUTS = {"x": ("N", 3), "z": None, "w": (2, "x[4]")}
FITS: dict[str, tuple[dict[str, Any], str | None]] = {
    "nothing": ({}, None),
    "a symbol": ({"bindings": {"N": 2}}, None),
    "a symbol of the second file": ({"bindings": {"P": 2}}, None),
    "a range of a symbol": ({"ranges": {"N": (1, 2)}}, None),
    "an axis": ({"bindings": {"x[0]": 2}}, None),
    "an axis with a number": ({"bindings": {"x[1]": 3}}, "axis 1 of 'x' is static"),
    "an axis of another rank": ({"bindings": {"z[0]": 2}}, "z[0]"),
    "no symbol": ({"bindings": {"M": 2}}, "--dim M: no input has a dim of that name; free: N, x[4], P"),
    "a range of none": ({"ranges": {"M": (1, 2)}}, "--dim M: no input has a dim of that name"),
    "a shape": ({"shapes": {"x": (5, 3)}}, None),
    "a shape of an unknown rank": ({"shapes": {"z": (5, 3)}}, None),
    "another shape": ({"shapes": {"x": (5, 4)}}, "no size fits: the input 'x' is ['N', 3], and [5, 4] is asked for"),
    "a shape of another rank": ({"shapes": {"x": (5,)}}, "x"),
    "a shape of no input": ({"shapes": {"v": (5,)}}, "v"),
}


@pytest.mark.parametrize(("stated", "reason"), FITS.values(), ids=FITS)
def test_what_is_asked_for_is_of_some_input(stated: dict[str, Any], reason: str | None) -> None:
    if reason is None:
        refuse_unknown(INPUTS, {"x": ("P", 3)}, pair(**stated))
        return
    with pytest.raises((GraphfixError, UnprovedError)) as error:
        refuse_unknown(INPUTS, {"x": ("P", 3)}, pair(**stated))
    assert reason in str(error.value)


def test_without_symbols_none_is_listed() -> None:
    with pytest.raises(GraphfixError, match="--dim N: no input has a dim of that name; free: none"):
        refuse_unknown({"x": (2, 3)}, {}, pair(bindings={"N": 2}))


def test_what_is_asked_for_is_assumed() -> None:
    stated = pair(bindings={"N": 2}, shapes={"x": (2, 3)}, ranges={"M": (1, 4)})
    assert assumed(stated) == ["N = 2, as asked for", "x is [2, 3], as asked for"]
    assert assumed(pair()) == []
    assert len(assumed(pair(values={"x": np.float32(1)}))) == 1
    algebra = Algebra()
    n, m = (algebra.symbol((name,), name) for name in "NM")
    algebra.ranges = {n: (1, 4), m: (2, 8)}
    assert assumed_ranges(algebra) == []
    algebra.asked_range(m)
    assert assumed_ranges(algebra) == ["M is 2 to 8, as asked for"]


DECLARED: list[tuple[Dims, Dims, bool]] = [
    ([2, None], [2, 3], True), ([2, None], [None, 3], True), ([2], [3], False), ([2], [2, 3], False), (None, [2], True),
    ([2], None, True), ([], [], True), ([], [1], False), ([None], [None], True), ([2, 4], [2, 5], False),
    ([0], [1], False),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two", "fits"), DECLARED, ids=str)
def test_a_declared_shape_may_say_more_and_nothing_else(one: Dims, two: Dims, fits: bool) -> None:
    table = TermTable(Algebra())
    check_declared_output(table, "y", (one, two), None)
    assert (not table.objections) is fits
    assert not table.notes
    if fits:
        check_declared_input("x", (one, two))
    else:
        with pytest.raises(UnprovedError, match=r"the input 'x' is declared \[.*\] before, \[.*\] after"):
            check_declared_input("x", (one, two))
    if one is not None and two is not None and None not in two:
        if fits:
            check_asked("x", one, two)
        else:
            with pytest.raises(UnprovedError, match="the input 'x' is declared with other sizes than"):
                check_asked("x", one, two)


def test_any_shape_may_be_asked_for_where_none_is_declared() -> None:
    check_asked("x", None, [2, 3])


@pytest.mark.parametrize(
    ("sizes", "noted"), [((3, 4), True), ((3, "N"), False), ((2, 4), False), ((3, 4, 1), False), (None, False)], ids=str
)
def test_an_output_that_the_first_file_declares_wrongly_is_a_note(
    sizes: tuple[int | str, ...] | None, noted: bool
) -> None:
    table = TermTable(Algebra())
    n = table.algebra.symbol(("N",), "N")
    has: tuple[Size, ...] | None = None if sizes is None else tuple(n if size == "N" else int(size) for size in sizes)
    check_declared_output(table, "y", ([2, None], [3, 4]), has)
    assert list(table.notes) == (["the first file declares the output 'y' as [2,?], which it is not"] if noted else [])
    assert table.objections == ([] if noted else ["the output 'y' is declared [2,?] before, [3,4] after"])


OPTIONS: list[tuple[list[object] | None, list[object] | None, str]] = [
    (["N", 3], [2, 3], "--shape x=2,3"),
    ([2, "M"], ["N", "M"], "--shape 'x=2,?'"),
    (["N", "M"], [2, "M"], "--shape 'x=2,?'"),
    (["N", 3], ["N", 3], ""),
    (["N", 3], [2, 4], ""),
    (["N"], [2, 3], ""),
    (None, [2], ""),
    ([2], None, ""),
    (["N", 3], ["M", 3], ""),
]


@pytest.mark.parametrize(("ours", "theirs", "expected"), OPTIONS, ids=str)
def test_a_size_that_one_file_leaves_open_can_be_bound(
    ours: list[object] | None, theirs: list[object] | None, expected: str
) -> None:
    found = binding_options("x", ours, theirs)
    assert found == (f"; compare them at one size: {expected}, or --dim NAME=SIZE" if expected else "")


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [(0, 0, False), (0, 1, True), (1, 1, False), (1, 2, False), (-1, 0, False)],
)
def test_a_message_does_not_grow_beyond_what_runtimes_load(before: int, after: int, refused: bool) -> None:
    sizes = LARGEST_MESSAGE + before, LARGEST_MESSAGE + after
    if refused:
        with pytest.raises(UnprovedError, match=str(sizes[1])):
            check_size(*sizes)
    else:
        check_size(*sizes)


def terms(table: TermTable, *names: str) -> list[ProofValue]:
    return [value_of(table.find_or_create_core((name,), name)[0]) for name in names]


def test_effects_are_the_same_in_the_same_order_and_place() -> None:
    table = TermTable(Algebra())
    one, two = (view.core for view in terms(table, "one", "two"))
    body: Place = ("body",)
    check_effects([(one, ()), (two, body)], [(one, ()), (two, body)], "random operators")
    for other in ([(two, body), (one, ())], [(one, ())], [(one, ()), (two, ())], []):
        with pytest.raises(UnprovedError, match="random operators are not the same, or not in the same order"):
            check_effects([(one, ()), (two, body)], other, "random operators")


def test_the_answer_is_the_first_reason_there_is() -> None:
    table = TermTable(Algebra())
    x, y = (table.result(("op", name), name, (2, 3)) for name in ("one", "two"))
    n, m = (table.algebra.symbol((name,), name) for name in "NM")
    moved = ProofValue(x.core, (1, 0), (3, 2))
    table.close()
    table.notes["a note"] = None
    proof = conclusion(table, [("o", x, x)], ["N is 2"])
    assert (proof.status, proof.assumes, proof.notes) == ("proved", ("N is 2",), ("a note",))
    table.objections.append("an objection")
    assert conclusion(table, [("o", x, x)], []).reason == "an objection"
    less = table.arithmetic.sub(n, 5)
    assert less is not None
    table.arithmetic.require_not_negative((less,))
    assert conclusion(table, [], []).reason == "only the second file fails where a size is negative: N-5"
    table.algebra.broadcast_size((n, m))
    assert conclusion(table, [], []).reason == "only the second file needs sizes to fit: bc{N,M}"
    other = conclusion(table, [("o", x, x), ("p", x, y)], [])
    assert (other.before, other.after) == ("one[2,3]", "two[2,3]")
    assert str(other.reason).startswith("the output 'p' is another value: ")
    assert "in another shape or along other axes" in str(conclusion(table, [("o", x, moved)], []).reason)
    table.find_or_create_core(("op", "one"), "one")
    table.find_or_create_core(("op", "three", x.core), "three")
    last = conclusion(table, [("o", x, y)], [])
    assert last.reason == "three of the second file has no match in the first"
    assert (last.before, last.after) == ("two", "three")
    assert last.cores == (y.core.number, table.cores["op", "three", x.core].number)


def test_the_counterpart_reads_most_of_the_same() -> None:
    table = TermTable(Algebra())
    x, y, z = (view.core for view in terms(table, "x", "y", "z"))
    for key in (("op", "Add", x, z), ("op", "Mul", x, y), ("op", "Add", x, y)):
        table.find_or_create_core(key, f"{key[1]} of {key[2]} and {key[3]}")
    table.close()
    terms(table, "x", "y", "z")
    table.find_or_create_core(("op", "Add", y, x), "Add of y and x")
    assert conclusion(table, [], []).before == "Mul of x and y"
