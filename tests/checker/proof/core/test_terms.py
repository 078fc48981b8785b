"""Values as terms: which of them the first file has where the second one computes them, and which shapes fit."""

from __future__ import annotations

import pytest

from graphfix.checker.proof.core.sizes import Algebra, Place, Sizes, Symbol
from graphfix.checker.proof.core.terms import (
    MOST_ELEMENTS,
    Extent,
    ProofValue,
    TermTable,
    compose_maps,
    integer_type,
    printed_value,
    shape_or_value,
    value_of,
)

A, B = ("if", "then"), ("loop", "body")
"""Two bodies."""


def made() -> tuple[TermTable, Symbol, Symbol]:
    algebra = Algebra()
    return TermTable(algebra), algebra.symbol(("N",), "N"), algebra.symbol(("M",), "M")


def value(table: TermTable, name: str, sizes: Sizes | None) -> ProofValue:
    core, _ = table.find_or_create_core(("input", name), name, counted=False)
    core.sizes = sizes
    return value_of(core)


PLACES: dict[str, tuple[list[Place], list[Place], bool]] = {
    "the same": ([()], [()], True),
    "in a body as well": ([()], [(A,)], True),
    "in a body alone before": ([(A,)], [()], False),
    "in one of two": ([(A,), (B,)], [(B,)], True),
    "in another": ([(A,)], [(B,)], False),
    "never": ([], [()], False),
    "before alone": ([()], [], True),
}


@pytest.mark.parametrize(("before", "after", "matched"), PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("options", [{}, {"counted": False}], ids=["counted", "not counted"])
def test_the_second_file_computes_what_the_first_computes_there(
    options: dict[str, bool], before: list[Place], after: list[Place], matched: bool
) -> None:
    table, *_ = made()
    for table.algebra.place in before:
        table.find_or_create_core(("op",), "Op", **options)
    table.close()
    for table.algebra.place in after:
        table.find_or_create_core(("op",), "Op", **options)
    assert (not table.unmatched) is (matched or bool(options))
    assert all(core.matched is (bool(after) and bool(before)) for core in table.cores.values())


def test_a_term_is_entered_once() -> None:
    table, n, _ = made()
    one, two = (table.result(("op",), name, (n, None, 1)) for name in ("first", "second"))
    assert one == two
    assert repr(one.core) == "first"
    assert one.axes == (0, 1, None)
    size = (one.sizes or ())[1]
    assert isinstance(size, Symbol)
    assert size is not n
    assert table.result(("other",), "other", None) == ProofValue(table.cores["other",], None, None)
    assert table.result(("third",), "third", (None,)).sizes != (size,)


def test_known_integers_are_one_term_in_every_length() -> None:
    table, n, _ = made()
    three, one, scalar = (
        table.integers((n, n, n), "int64"), table.integers((n,), "int64"), table.integers((n,), "int64", scalar=True)
    )  # fmt: skip
    assert (three.sizes, one.sizes, scalar.sizes) == ((3,), (1,), ())
    assert three.core is one.core is scalar.core
    assert one.core.sizes == ()
    assert (three.content, one.content, scalar.content) == ((n, n, n), (n,), (n,))
    pair = table.integers((n, 2), "int64")
    assert (pair.axes, pair.sizes, pair.content, pair.core.sizes) == ((0,), (2,), (n, 2), (2,))
    assert pair != table.integers((n, 2), "int32")
    assert integer_type(pair) == "int64"
    assert integer_type(value(table, "x", (2,))) is None
    assert not any(core.counted for core in table.cores.values())


def test_a_constant_without_elements_is_one_term_in_every_shape() -> None:
    table, n, _ = made()
    vector = table.integers((), "int64")
    assert vector == table.empty("int64", (0,))
    assert (vector.sizes, vector.content, integer_type(vector)) == ((0,), (), "int64")
    matrix = table.empty("int64", (n, 0))
    assert (matrix.core, matrix.axes, matrix.sizes) == (vector.core, (None, None), (n, 0))
    assert (vector.core.sizes, vector.core.counted) == ((), False)
    assert table.empty("float32", (0,)).core is not vector.core


def test_elements_of_a_long_or_stretched_vector_are_not_listed() -> None:
    table, n, _ = made()
    core = table.integers((7,), "int64").core
    assert ProofValue(core, (None,), (MOST_ELEMENTS,)).content == (7,) * MOST_ELEMENTS
    assert ProofValue(core, (None,), (MOST_ELEMENTS + 1,)).content is None
    assert ProofValue(core, (None,), (n,)).content is None
    assert ProofValue(core, (None, None), (1, 1)).content is None
    assert ProofValue(core, None, None).content is None
    assert ProofValue(core, (), ()).content == (7,)
    x = value(table, "x", (1, 2))
    assert [ProofValue(core, (None,), None).content, x.content, ProofValue(x.core, (None,), (3,)).content] == [None] * 3


def test_a_map_over_a_map_is_one_map() -> None:
    table, n, _ = made()
    x = value(table, "x", (2, n))
    turned = ProofValue(x.core, (1, 0), (n, 2))
    lifted = ProofValue(x.core, (None, 1), (1, 2))
    assert compose_maps(lifted, turned) == ProofValue(x.core, (None, 0), (1, 2))
    assert compose_maps(ProofValue(x.core, None, None), turned).axes is None
    assert compose_maps(turned, ProofValue(x.core, None, None)).sizes is None
    shapes: tuple[frozenset[Extent], frozenset[Extent]] = frozenset({(2,)}), frozenset({(3,)})
    both = compose_maps(ProofValue(x.core, None, None, shapes[0]), ProofValue(x.core, None, None, shapes[1]))
    assert both.broadcast_shapes == {(2,), (3,)}


def test_a_value_is_printed_with_its_sizes() -> None:
    table, n, _ = made()
    unranked = value(table, "u", None)
    assert [printed_value(each) for each in (value(table, "x", (2, n)), unranked, (2, n))] == [
        "x[2,N]",
        "u[*]",
        "(2, N)",
    ]
    assert shape_or_value(value(table, "x", (2, n))) == (2, n)
    assert shape_or_value(unranked) == unranked
    unranked.core.shape_source = value(table, "w", None).core
    assert shape_or_value(unranked) == value(table, "w", None)


Shapes = list[object]
"""Of shapes that have to fit: sizes, `N` and `M` for symbols; `u` and `w` for values of unknown rank."""
FITS: dict[str, tuple[Shapes, Shapes, bool]] = {
    "the same": (["u", (4,)], ["u", (4,)], True),
    "unit axes in front": (["u", (4,)], ["u", (1, 1, 4)], True),
    "unit axes in front of the first's": (["u", (1, 4)], ["u", (4,)], True),
    "an axis more": (["u", (4,)], ["u", (3, 4)], False),
    "an axis of no elements more": (["u", (4,)], ["u", (0, 4)], False),
    "an axis less": (["u", (3, 4)], ["u", (4,)], True),
    "a unit behind": (["u", ("N", 4)], ["u", ("N", 1)], True),
    "a size for a unit": (["u", ("N", 1)], ["u", ("N", 4)], False),
    "another size": (["u", ("N",)], ["u", ("M",)], False),
    "a scalar": (["u", (4,)], ["u", ()], True),
    "units alone": (["u", (4,)], ["u", (1, 1)], True),
    "another value": (["u", (4,)], ["w", (4,)], False),
    "a value more": (["u", (4,)], ["u", "w", (4,)], False),
    "a value less": (["u", "w", (4,)], ["u", (4,)], True),
    "a shape for two": (["u", (3, 1), (1, 4)], ["u", (3, 4)], True),
    "two for a shape": (["u", (3, 4)], ["u", (3, 1), (1, 4)], True),
}


@pytest.mark.parametrize(("before", "after", "matched"), FITS.values(), ids=FITS)
def test_the_second_file_needs_only_shapes_to_fit_that_the_first_needs(
    before: Shapes, after: Shapes, matched: bool
) -> None:
    table, n, m = made()
    names = {"N": n, "M": m}

    def extents(shapes: Shapes) -> frozenset[Extent]:
        return frozenset(
            value(table, each, None) if isinstance(each, str) else tuple(names.get(size, size) for size in each)  # type: ignore[attr-defined]
            for each in shapes
        )

    table.check_fit(extents(before))
    table.close()
    given = extents(after)
    assert table.check_fit(given) == given
    assert (table.unmatched_check() is None) is matched


@pytest.mark.parametrize(
    ("before", "after", "matched"), [(A, A, True), (A, B, False), (None, A, False)], ids=["same", "other", "none"]
)
def test_shapes_fit_where_the_first_file_sees_them_to_fit(before: object, after: object, matched: bool) -> None:
    table, *_ = made()
    extents: frozenset[Extent] = frozenset({value(table, "u", None), (4,)})
    if before is not None:
        table.algebra.place = (before,)
        table.check_fit(extents)
    table.close()
    table.algebra.place = (after,)
    table.check_fit(extents)
    assert table.unmatched_check() == (None if matched else "(4,), u[*]")


def test_one_shape_fits_itself() -> None:
    table, n, m = made()
    table.close()
    table.check_fit(frozenset({value(table, "u", None)}))
    table.check_fit(frozenset({value(table, "u", None), (1, 1)}))
    assert table.unmatched_check() is None
    table.algebra.broadcast_size((n, m))
    assert table.unmatched_check() == "bc{N,M}"
