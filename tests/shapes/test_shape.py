"""What dims and shapes say of themselves, one behaviour a test."""

from __future__ import annotations

import pickle

import pytest

from graphfix.shapes.dim import (
    INVALID,
    INVALID_SIZE,
    UNKNOWN,
    UNRANKED,
    Dim,
    Incompatible,
    Shape,
    Size,
    Undecided,
    never_one,
    same,
    symbol,
)
from graphfix.shapes.shape import broadcast, cstr_broadcastable, cstr_eq, join, stretches
from tests.support.shape_dialect import (
    add,
    any_,
    assuming_all,
    concat,
    equalize_ranks,
    infer_result,
    mul,
    num_elements,
    of,
    parse,
    split_at,
    verify_result,
)

N, M = symbol("N"), symbol("M")
BATCH = symbol("batch", 2, 64)
HIDDEN = Dim(("?conv1.2",))
BOTH = Dim(("M", "N"))
X, Y = Shape(None, ("?x",)), Shape(None, ("?y",))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("[*]", UNRANKED),
        ("[invalid]", INVALID),
        ("[]", of()),
        ("[2, ?]", of(2, UNKNOWN)),
        ("[N, 4]", of(N, 4)),
        ("[0]", of(0)),
        ("[batch size, 2*N, a_b.c]", of(symbol("batch size"), symbol("2*N"), symbol("a_b.c"))),
    ],
)
def test_parse_reads_what_str_writes(text: str, shape: Shape) -> None:
    assert parse(text) == shape
    assert str(shape) == text


def test_parse_does_not_mind_spaces() -> None:
    assert parse("  [ 2,N ,?]\n") == of(2, N, UNKNOWN)
    assert parse("[ * ]") == UNRANKED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2, 3",
        "[2",
        "[2,]",
        "[,]",
        "[-1]",
        "[+2]",
        "[*, 2]",
        "[invalid, 2]",
        "[[2]]",
        "[?x]",
        "[1_0]",
        "[٣]",
    ],
)
def test_parse_refuses_what_is_no_shape_and_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match="is not a shape") as refusal:
        parse(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(
    ("dim", "text"),
    [(N, "N"), (UNKNOWN, "?"), (HIDDEN, "?"), (BOTH, "?"), (BATCH, "batch"), (INVALID_SIZE, "invalid")],
)
def test_only_symbols_are_printed_by_name_and_ranges_never(dim: Dim, text: str) -> None:
    assert str(dim) == text


def test_json_shows_symbols_by_name_and_no_other_dim_that_is_not_a_number() -> None:
    assert of(2, N, UNKNOWN, HIDDEN, BOTH, BATCH).json == (2, "N", None, None, None, "batch")
    assert of().json == ()
    assert UNRANKED.json is None
    assert INVALID.json is None


def test_an_empty_name_and_a_question_mark_name_nothing() -> None:
    assert symbol("") == symbol("?") == symbol("?a.0") == UNKNOWN
    assert not same(symbol("?"), symbol("?"))


def test_a_dim_whose_range_is_one_point_is_that_int() -> None:
    assert of(symbol("N", 4, 4), 2) == of(4, 2)
    assert of(symbol("N", 4, 4)).static
    assert same(symbol("N", 4, 4), 4)


def test_an_empty_range_makes_a_shape_invalid() -> None:
    assert of(2, symbol("N", 5, 4)) == INVALID
    assert not of(INVALID_SIZE).ranked


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        of(2, -1)


def test_the_rank_is_asked_for_and_refused_with_a_reason() -> None:
    assert of(2, N).rank == 2
    assert of(2, N).dims == (2, N)
    with pytest.raises(Undecided, match=r"^the rank is not known$"):
        _ = UNRANKED.rank
    with pytest.raises(Incompatible, match=r"\[invalid\]"):
        _ = INVALID.dims


def test_static_means_every_size_is_a_number() -> None:
    assert [shape.static for shape in (of(), of(2, 0), of(2, N), UNRANKED, INVALID)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_shapes_survive_a_trip_to_another_process() -> None:
    for shape in (of(2, N, UNKNOWN, BATCH), X, INVALID):
        assert pickle.loads(pickle.dumps(shape)) == shape  # noqa: S301  # our own bytes


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (2, 2, True),
        (2, 3, False),
        (2, N, False),
        (N, N, True),
        (N, symbol("N", 2, 9), True),
        (N, M, False),
        (UNKNOWN, UNKNOWN, False),
        (HIDDEN, Dim(("?conv1.2",)), True),
        (BOTH, BOTH, True),
        (BOTH, N, False),
        (INVALID_SIZE, INVALID_SIZE, False),
    ],
)
def test_same_says_what_is_provably_equal(a: Size, b: Size, answer: bool) -> None:
    assert same(a, b) is answer
    assert same(b, a) is answer


@pytest.mark.parametrize(
    ("dim", "answer"),
    [(0, True), (1, False), (2, True), (N, False), (BATCH, True), (symbol("N", 1, 9), False)],
)
def test_never_one_reads_the_range(dim: Size, answer: bool) -> None:
    assert never_one(dim) is answer


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        ([of(N), of(N)], of(N)),
        ([of(N), of(M)], of(BOTH)),
        ([of(M), of(BOTH)], of(BOTH)),
        ([of(N), of(4)], of(4)),
        ([of(N), of(0)], of(0)),
        ([of(N), of(1)], of(N)),
        ([of(N), of(UNKNOWN)], of(UNKNOWN)),
        ([of(N), of(BATCH)], of(BATCH)),
        ([of(UNKNOWN), of(BATCH)], of(BATCH)),
        ([of(Dim((), 2, 8)), of(BATCH)], of(symbol("batch", 2, 8))),
        ([of(symbol("N", 2, 3)), of(symbol("M", 3, 4))], of(3)),
        ([of(HIDDEN), of(N), of(M)], of(Dim(("?conv1.2", "M", "N")))),
        ([of(symbol("N", 0, 3)), of(symbol("M", 1, 5))], of(Dim(("M", "N"), 0, 5))),
        ([of(symbol("N", 0, 3)), of(UNKNOWN)], of(UNKNOWN)),
        ([of(symbol("N", 0, 4)), of(symbol("N", 4, 9))], of(4)),
        ([of(N, 1), of(4)], of(N, 4)),
        ([], of()),
        ([INVALID, UNRANKED], INVALID),
    ],
    ids=lambda value: str(value) if isinstance(value, Shape) else " ".join(map(str, value)),
)
def test_broadcast_names_and_bounds_what_it_cannot_count(operands: list[Shape], result: Shape) -> None:
    assert broadcast(*operands) == result
    assert broadcast(*reversed(operands)) == result


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        ([X], X),
        ([X, X], X),
        ([X, of()], X),
        ([X, Y], Shape(None, ("?x", "?y"))),
        ([Shape(None, ("?x", "?y")), X], Shape(None, ("?x", "?y"))),
        ([X, of(3)], Shape(None, ("1:", "1:3", "?x"))),
        ([X, of(Dim(("?b.0",)), 4)], Shape(None, ("1:", "1:4", "2:", "2:?b.0", "?x"))),
        ([X, of(BOTH)], Shape(None, ("1:", "1:M", "1:N", "?x"))),
        ([X, of(1)], Shape(None, ("1:", "?x"))),
        ([X, of(2, 1), of(1, 3)], Shape(None, ("1:", "1:3", "2:", "2:2", "?x"))),
        ([X, of(N, M), of(3)], Shape(None, ("1:", "1:3", "2:", "2:N", "?x"))),
        ([X, of(UNKNOWN)], UNRANKED),
        ([X, UNRANKED], UNRANKED),
    ],
)
def test_an_unranked_result_is_named_by_all_that_made_it(operands: list[Shape], result: Shape) -> None:
    assert broadcast(*operands) == result
    assert broadcast(*reversed(operands)) == result


def test_no_symbol_can_forge_the_name_of_another_shape() -> None:
    forged = [of(symbol("N,M")), of(symbol("4")), of(symbol("bc{M,N}")), of(Dim(("M,N",)))]
    honest = [of(N, M), of(4), of(BOTH), of(M, N)]
    assert len({broadcast(X, shape) for shape in forged + honest}) == len(forged + honest)


@pytest.mark.parametrize(
    ("operands", "text"),
    [
        ([of(2, 3), of(4, 3)], "[2, 3] and [4, 3] do not broadcast"),
        ([of(2), of(1), of(3)], "[2], [1] and [3] do not broadcast"),
        ([of(0), of(5)], "[0] and [5] do not broadcast"),
        ([of(BATCH), of(65)], "[batch] and [65] do not broadcast (batch is 2 to 64)"),
        ([of(symbol("N", 5)), of(4)], "[N] and [4] do not broadcast (N is at least 5)"),
        (
            [of(symbol("N", 2, 3)), of(symbol("M", 5, 9))],
            "[N] and [M] do not broadcast (M is 5 to 9, N is 2 to 3)",
        ),
    ],
)
def test_a_refusal_names_all_shapes_and_the_ranges_that_forbid(operands: list[Shape], text: str) -> None:
    for question in (broadcast, infer_result, lambda *shapes: stretches(shapes, 0)):
        with pytest.raises(Incompatible) as refusal:
            question(*operands)
        assert str(refusal.value) == text
    assert cstr_broadcastable(*operands) is False
    assert infer_result(UNRANKED) is None


def test_known_dims_that_contradict_are_refused_beside_an_unranked_operand_too() -> None:
    with pytest.raises(Incompatible):
        broadcast(X, of(2), of(3))
    assert cstr_broadcastable(X, of(2), of(3)) is False


@pytest.mark.parametrize(
    ("inputs", "declared", "text"),
    [
        ([of(2), of(2)], of(4), "the declared result [4] of [2] and [2] contradicts the inferred [2]"),
        (
            [of(BATCH)],
            of(1),
            "the declared result [1] of [batch] contradicts the inferred [batch] (batch is 2 to 64)",
        ),
        ([of(2)], INVALID, "the declared result [invalid] of [2] contradicts the inferred [2]"),
        ([INVALID], of(2), "the declared result [2] of [invalid] contradicts the inferred [invalid]"),
    ],
)
def test_a_contradicted_declaration_is_refused_by_name(inputs: list[Shape], declared: Shape, text: str) -> None:
    with pytest.raises(Incompatible) as refusal:
        verify_result(inputs, declared)
    assert str(refusal.value) == text


def test_a_declared_size_within_the_range_is_a_cast_that_only_strict_refuses() -> None:
    verify_result([of(BATCH)], of(8))
    verify_result([of(BATCH)], of(BATCH), strict=True)
    verify_result([of(8)], of(N), strict=True)
    with pytest.raises(Incompatible):
        verify_result([of(BATCH)], of(8), strict=True)


def test_join_takes_the_best_name_and_the_common_range() -> None:
    assert join(of(UNKNOWN, 2), of(N, UNKNOWN)) == of(N, 2)
    assert join(of(HIDDEN), of(N), of(BOTH)) == of(N)
    assert join(of(symbol("N", 0, 8)), of(Dim((), 2))) == of(symbol("N", 2, 8))
    assert join(of(BATCH), of(1)) == INVALID
    assert join(UNRANKED, X) == X
    assert join() == UNRANKED


def test_any_gives_the_first_where_the_join_is_a_contradiction() -> None:
    assert any_(of(2, UNKNOWN), of(UNKNOWN, 3)) == of(2, 3)
    assert any_(of(2, 3), of(4, 3)) == of(2, 3)
    assert any_(of(2), of(2, 2), of(2)) == of(2)
    assert any_(of(2), INVALID) == INVALID


def test_parts_of_what_has_no_rank_have_none() -> None:
    assert split_at(UNRANKED, 1) == (UNRANKED, UNRANKED)
    assert concat(of(2), UNRANKED, of(3)) == UNRANKED
    assert concat(of(2), UNRANKED, INVALID) == INVALID
    assert concat(of(2), of(N), of(3)) == of(2, N, 3)
    with pytest.raises(IndexError, match=r"from -1 to 1"):
        split_at(of(2), 2)


def test_sizes_keep_what_adding_and_multiplying_leave_known() -> None:
    assert add(2, 3) == 5
    assert add(N, 0) == N
    assert add(BATCH, 1) == Dim((), 3, 65)
    assert add(N, BATCH) == Dim((), 2, None)
    assert add(INVALID_SIZE, 0) == add(0, INVALID_SIZE) == INVALID_SIZE
    assert mul(2, 3) == 6
    assert mul(1, N) == mul(N, 1) == N
    assert mul(0, N) == mul(UNKNOWN, 0) == 0
    assert mul(BATCH, 3) == Dim((), 6, 192)
    assert mul(INVALID_SIZE, 0) == INVALID_SIZE


def test_num_elements_is_exact_or_bounded() -> None:
    assert num_elements(of()) == 1
    assert num_elements(of(2**40, 2**40)) == 2**80
    assert num_elements(of(BATCH, 3, 2)) == Dim((), 12, 384)
    assert num_elements(of(UNKNOWN, 0, N)) == 0
    assert num_elements(of(N)) == N
    assert num_elements(UNRANKED) == UNKNOWN


@pytest.mark.parametrize(
    ("operands", "witness"),
    [
        ([of(N), of(N, N)], True),
        ([of(N), of(M)], None),
        ([of(N), of(M), of(BOTH)], True),
        ([of(UNKNOWN), of(UNKNOWN)], None),
        ([of(UNKNOWN), of(1)], True),
        ([of(UNKNOWN), of(4)], None),
        ([UNRANKED], True),
        ([UNRANKED, of(1, 1)], True),
        ([UNRANKED, of(2)], None),
        ([UNRANKED, UNRANKED], None),
        ([X, X], True),
        ([X, Y], None),
        ([X, of(3), Shape(None, ("1:", "1:3", "?x"))], True),
        ([], True),
    ],
)
def test_broadcastable_is_true_only_when_nothing_is_left_to_the_run(operands: list[Shape], witness: bool) -> None:
    assert cstr_broadcastable(*operands) is witness


@pytest.mark.parametrize(
    ("operands", "witness"),
    [
        ([of(N, 2), of(N, 2)], True),
        ([of(N), of(M)], None),
        ([of(BATCH), of(1)], False),
        ([of(N), of(2), of(3)], False),
        ([of(2), of(2, 1)], False),
        ([UNRANKED], True),
        ([UNRANKED, UNRANKED], None),
        ([X, X], True),
        ([X, of(2)], None),
        ([INVALID], False),
    ],
)
def test_equality_is_true_only_when_provable(operands: list[Shape], witness: bool) -> None:
    assert cstr_eq(*operands) is witness


def test_one_failing_witness_fails_all() -> None:
    assert assuming_all() is True
    assert assuming_all(True, True) is True
    assert assuming_all(True, None) is None
    assert assuming_all(None, False, True) is False


def test_equal_ranks_come_from_ones_in_front() -> None:
    assert equalize_ranks(of(4), of(2, N, 4), of()) == (of(1, 1, 4), of(2, N, 4), of(1, 1, 1))
    with pytest.raises(Undecided, match="the rank is not known"):
        equalize_ranks(of(4), UNRANKED)
    with pytest.raises(Incompatible):
        equalize_ranks(of(4), INVALID)


@pytest.mark.parametrize(
    ("operands", "answers"),
    [
        ([of(2, 3, 4), of(4)], ["no no no", "yes yes no"]),
        ([of(N), of(N)], ["no", "no"]),
        ([of(N), of(M)], ["maybe", "maybe"]),
        ([of(UNKNOWN), of(UNKNOWN)], ["maybe", "maybe"]),
        ([of(UNKNOWN), of(1)], ["no", "yes"]),
        ([of(UNKNOWN), of(4)], ["maybe", "no"]),
        ([of(UNKNOWN)], ["no"]),
        ([of(BATCH), of(UNKNOWN)], ["no", "maybe"]),
        ([of(BATCH), of(symbol("M", 2))], ["no", "no"]),
        ([of(BOTH), of(N), of(M)], ["no", "maybe", "maybe"]),
        ([of(1), of(1)], ["no", "no"]),
        ([of(N), of(0)], ["maybe", "no"]),
        ([X, X], ["", ""]),
    ],
)
def test_stretches_tells_repeated_axes_from_others(operands: list[Shape], answers: list[str]) -> None:
    assert [" ".join(stretches(operands, operand)) for operand in range(len(operands))] == answers


@pytest.mark.parametrize("operands", [[X, Y], [UNRANKED, UNRANKED], [of(2), X], [UNRANKED]])
def test_stretches_of_what_has_no_rank_are_undecided(operands: list[Shape]) -> None:
    with pytest.raises(Undecided, match=r"^the rank is not known$"):
        stretches(operands, 0)


def test_what_is_no_shape_broadcasts_with_nothing() -> None:
    two, three = Shape((2,)), Shape((3,))
    for shapes in ((INVALID, two), (two, INVALID), (INVALID,), (Shape((INVALID_SIZE,)), two), (two, three)):
        assert cstr_broadcastable(*shapes) is False
    assert cstr_broadcastable(two, Shape((1,)), UNRANKED) is None
    assert cstr_broadcastable(Shape((1,)), UNRANKED) is True
