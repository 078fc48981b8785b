"""Terms of operators that broadcast: what they read of each operand, against what numpy computes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from graphfix.checker.proof.core.sizes import Algebra, Size
from graphfix.checker.proof.core.terms import Core, ProofValue, TermTable, value_of
from graphfix.checker.proof.neutral.broadcast import (
    common_broadcast,
    elementwise,
    onto,
    onto_sizes,
    onto_target,
    product,
)
from graphfix.checker.proof.neutral.broadcast import unary as one_operand

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def value(table: TermTable, sizes: Sequence[Size] | None, name: str = "x") -> ProofValue:
    core, _ = table.find_or_create_core(("input", name), name)
    core.sizes = None if sizes is None else tuple(sizes)
    return value_of(core)


def numbered(sizes: Sequence[int], first: int = 1) -> Array:
    return np.arange(first, first + np.prod(sizes, dtype=int)).reshape(sizes)


def seen(array: Array, axes: Sequence[int | None], space: Sequence[int]) -> Array:
    """Return an array by a map: for each axis of a space, which axis of the array it follows."""
    followed = [axis for axis in axes if axis is not None]
    others = [axis for axis in range(array.ndim) if axis not in followed]
    assert all(array.shape[axis] == 1 for axis in others)
    moved = array.transpose([*followed, *others]).reshape([array.shape[axis] for axis in followed])
    full = moved.reshape([1 if axis is None else array.shape[axis] for axis in axes])
    return np.broadcast_to(full, space)


def sums(view: ProofValue, arrays: dict[Core, Array]) -> Array:
    """Return what a view of a sum of operands holds, by what its term says."""
    _, nest, *cores = view.core.key
    parts = [seen(arrays[core], axes, nest.space) for core, axes in zip(cores, nest.maps, strict=True)]  # type: ignore[attr-defined,index] # keys hold anything
    assert view.sizes is not None
    return seen(sum(parts), view.axes or (), view.sizes)  # type: ignore[arg-type] # the sizes are numbers


PAIRS: list[tuple[Shape, Shape]] = [
    ((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2, 3)), ((1, 3), (4, 2, 1)),
    ((2, 3), (1, 1)), ((1, 1, 3), (2, 1)), ((5, 1, 3), (1, 4, 1)), ((0, 3), (1, 3)), ((1,), ()), ((1, 1), (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_operands_are_read_from_the_right(one: Shape, two: Shape) -> None:
    table = TermTable(Algebra())
    x, y = value(table, one), value(table, two, "y")
    a, b = numbered(one), numbered(two, 50)
    found = elementwise(table, ("add",), [x, y], "Add")
    assert (found.core.description, found.sizes) == ("Add", (a + b).shape)
    assert (sums(found, {x.core: a, y.core: b}) == a + b).all()


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_a_lift_and_a_stretch_of_an_operand_are_no_part_of_the_term(one: Shape, two: Shape) -> None:
    table = TermTable(Algebra())
    x, y = value(table, one), value(table, two, "y")
    found = elementwise(table, ("add",), [x, y], "Add")
    lifted = ProofValue(y.core, (None, *(y.axes or ())), (1, *two))
    again = elementwise(table, ("add",), [x, lifted], "Add")
    assert again.core is found.core
    assert again.sizes == np.broadcast_shapes(one, (1, *two))
    front = max(len(one), len(two)) - len(one)
    stretched = ProofValue(x.core, ((None,) * (front + 1)) + (x.axes or ()), (7, *(1,) * front, *one))
    assert elementwise(table, ("add",), [stretched, y], "Add").core is found.core


def test_an_operator_of_one_operand_has_its_operands_map() -> None:
    table = TermTable(Algebra())
    x = value(table, (2, 3))
    found = one_operand(table, ("neg",), ProofValue(x.core, (0, None, 1), (2, 4, 3)), "Neg")
    assert (found.axes, found.sizes, found.core.sizes) == ((0, None, 1), (2, 4, 3), (2, 3))


ITSELF: dict[str, tuple[tuple[int | None, ...], Shape, tuple[int | None, ...], Shape, object]] = {
    "as it is": ((0, 1), (2, 3), (0, 1), (2, 3), ((0, 1), (2, 3))),
    "lifted": ((0, 1), (2, 3), (None, 0, 1), (1, 2, 3), ((None, 0, 1), (1, 2, 3))),
    "stretched": ((None, 0, 1), (4, 2, 3), (0, 1), (2, 3), ((None, 0, 1), (4, 2, 3))),
    "with a unit inside": ((0, 1), (2, 3), (0, None, 1), (2, 1, 3), None),
}


@pytest.mark.parametrize(("axes", "sizes", "other_axes", "others", "expected"), ITSELF.values(), ids=ITSELF)
def test_a_value_beside_itself_is_one_where_each_point_has_the_same_element(
    axes: tuple[int | None, ...], sizes: Shape, other_axes: tuple[int | None, ...], others: Shape, expected: object
) -> None:
    table = TermTable(Algebra())
    core = value(table, (2, 3)).core
    for pair in ((ProofValue(core, axes, sizes), ProofValue(core, other_axes, others)),) * 2:
        found = common_broadcast(table, *pair)
        assert (found and (found.axes, found.sizes)) == expected
    assert common_broadcast(table, ProofValue(core, axes, sizes), value(table, sizes, "y")) is None


def test_a_value_of_unknown_rank_beside_itself_is_one_where_it_is_seen_alike() -> None:
    table = TermTable(Algebra())
    x = value(table, None)
    assert common_broadcast(table, x, x) is x
    assert common_broadcast(table, x, ProofValue(x.core, None, None, frozenset({x, (3,)}))) is None


def test_of_an_unknown_rank_units_in_front_of_another_are_no_part_of_the_term() -> None:
    table = TermTable(Algebra())
    x, y = value(table, None), value(table, (2, 3), "y")
    found = elementwise(table, ("add",), [x, y], "Add")
    assert (found.axes, found.sizes, found.core.description) == (None, None, "Add")
    assert elementwise(table, ("add",), [y, x], "Add").core is not found.core
    assert list(table.checks) == [frozenset({x, (2, 3)})]
    z = value(table, (4, 2, 3), "z")
    three = elementwise(table, ("add",), [x, y, z], "Add")
    assert elementwise(table, ("add",), [x, ProofValue(y.core, (None, 0, 1), (4, 2, 3)), z], "Add").core is three.core
    assert (
        elementwise(table, ("add",), [x, ProofValue(y.core, (0, None, 1), (2, 1, 3)), z], "Add").core is not three.core
    )
    alone = elementwise(table, ("neg",), [x], "Neg")
    assert alone.core.shape_source is x.core
    assert elementwise(table, ("abs",), [alone], "Abs").core.shape_source is x.core
    assert found.core.shape_source is None


N: Any = "N"
ONTO: dict[str, tuple[Any, Any, bool, Any]] = {
    "a vector": ((2, 3), (3,), False, (2, 3)),
    "its own shape": ((2, 3), (2, 3), False, (2, 3)),
    "more along a unit": ((1, 3), (4, 3), False, (None, 3)),
    "more along a unit that stays": ((1, 3), (4, 3), True, (1, 3)),
    "an axis more": ((3,), (2, 3), False, None),
    "an axis more of what keeps its shape": ((3,), (2, 3), True, (3,)),
    "an unknown rank": ((2, 3), None, False, None),
    "an unknown rank of what keeps its shape": ((2, 3), None, True, (2, 3)),
    "onto an unknown rank": (None, (3,), False, None),
    "onto an unknown rank that stays": (None, (3,), True, None),
    "a free size": ((N, 3), (N, 1), False, (N, 3)),
    "a size beside a free one": ((N, 3), (4, 3), False, (None, 3)),
    "a free size beside a number": ((4, 3), (N, 3), False, (4, 3)),
}


@pytest.mark.parametrize(("own", "other", "keeps", "expected"), ONTO.values(), ids=ONTO)
def test_what_others_are_broadcast_onto_has_its_shape_where_they_fit(
    own: Any,  # noqa: ANN401 - sizes
    other: Any,  # noqa: ANN401 - sizes
    keeps: bool,
    expected: Any,  # noqa: ANN401 - sizes
) -> None:
    table = TermTable(Algebra())
    names = {N: table.algebra.symbol((N,), N)}
    own, other, wanted = (
        None if sizes is None else tuple(names.get(size, size) for size in sizes) for sizes in (own, other, expected)
    )
    found = onto(table, ("prelu",), value(table, own), [value(table, other, "s")], "PRelu", keeps=keeps)
    assert found.core.description == "PRelu"
    assert (found.sizes is None) is (wanted is None)
    for size, known in zip(found.sizes or (), wanted or (), strict=True):
        assert size == known if known is not None else size not in (*(own or ()), *(other or ()))
    if not keeps:
        assert onto_sizes(own, [other]) == wanted


@pytest.mark.parametrize(("own", "other"), [((2, 3), (3,)), ((4, 2, 3), (2, 1)), ((2, 3), (1, 3)), ((2, 3), ())])
def test_what_is_broadcast_onto_another_is_read_from_the_right(own: Shape, other: Shape) -> None:
    table = TermTable(Algebra())
    x, slope = value(table, own), value(table, other, "s")
    *_, view, cores, maps, space = onto(table, ("prelu",), x, [slope], "PRelu").core.key
    assert (view, cores, space) == (x, (slope.core,), own)
    want = np.broadcast_to(numbered(other), own)
    assert (seen(numbered(other), maps[0], own) == want).all()  # type: ignore[index] # keys hold anything


TARGETS: dict[str, tuple[Shape | None, Shape, bool]] = {
    "its own": ((2, 3), (2, 3), True), "more in front": ((3,), (2, 3), True), "along a unit": ((1, 3), (4, 3), True),
    "fewer axes": ((2, 3), (3,), False), "below 0": ((3,), (-1, 3), False), "nothing": ((1, 3), (0, 3), True),
    "an unknown rank": (None, (2, 3), False),
}  # fmt: skip


@pytest.mark.parametrize(("own", "target", "found"), TARGETS.values(), ids=TARGETS)
def test_a_stretch_to_a_target_has_its_sizes(own: Shape | None, target: Shape, found: bool) -> None:
    table = TermTable(Algebra())
    stretched = onto_target(table, value(table, own), target, "Expand")
    assert (stretched is not None) is found
    if stretched is not None and own is not None:
        assert (stretched.sizes, stretched.core.description) == (target, "Expand")
        _, _, axes, sizes, space = stretched.core.key
        assert (sizes, space) == ((1,) * (len(target) - len(own)) + own, target)
        followed = [None if size == 1 else axis for axis, size in enumerate(own)]
        assert [*axes] == [None] * (len(target) - len(own)) + followed  # type: ignore[misc] # as above


PRODUCTS: list[tuple[Shape, Shape, tuple[int, int]]] = [
    ((2, 3), (3, 4), (-2, -1)), ((5, 2, 3), (3, 4), (-2, -1)), ((2, 3), (5, 3, 4), (-2, -1)),
    ((5, 1, 2, 3), (6, 3, 4), (-2, -1)), ((3,), (3, 4), (-2, -1)), ((2, 3), (3,), (-2, -1)), ((3,), (3,), (-2, -1)),
    ((5, 2, 3), (3,), (-2, -1)), ((3,), (5, 3, 4), (-2, -1)), ((3, 2), (3, 4), (-1, -1)), ((2, 3), (4, 3), (-2, -2)),
    ((5, 3, 2), (4, 3), (-1, -2)), ((0, 3), (3, 4), (-2, -1)), ((2, 0), (0, 4), (-2, -1)),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two", "outer"), PRODUCTS)
def test_a_product_is_the_sum_over_the_last_axis_of_its_space(one: Shape, two: Shape, outer: tuple[int, int]) -> None:
    table = TermTable(Algebra())
    x, y = value(table, one), value(table, two, "y")
    a, b = numbered(one), numbered(two, 50)
    want = np.matmul(a if outer[0] == -2 else a.swapaxes(-1, -2), b if outer[1] == -1 else b.swapaxes(-1, -2))
    found = product(table, ("matmul",), (x, y), "MatMul", outer=outer)
    assert (found.sizes, found.core.description) == (want.shape, "MatMul")
    _, _, exactly, cores, maps, space = found.core.key
    assert (exactly, cores) == ((one[-2:], two[-2:]), (x.core, y.core))
    parts = [seen(array, axes, space) for array, axes in zip((a, b), maps, strict=True)]  # type: ignore[arg-type,call-overload] # keys hold anything
    assert ((parts[0] * parts[1]).sum(-1).reshape(want.shape) == want).all()


@pytest.mark.parametrize(("one", "two"), [(None, (3, 4)), ((2, 3), None), ((), (3, 4)), ((2, 3), ())])
def test_a_product_with_an_unknown_rank_or_a_scalar_is_read_as_it_is(one: Shape | None, two: Shape | None) -> None:
    table = TermTable(Algebra())
    found = product(table, ("matmul",), (value(table, one), value(table, two, "y")), "MatMul")
    assert (found.core.key[0], found.sizes, found.core.description) == ("product exactly", None, "MatMul")


@pytest.mark.parametrize("kind", ["float32", ("float32", "more")])
def test_of_a_constant_in_a_space_without_points_the_type_and_the_sizes_count(kind: object) -> None:
    table = TermTable(Algebra())
    core, _ = table.find_or_create_core(("constant", kind, b"data"), "c")
    core.sizes = (1, 3)
    x, nothing = value(table, (0, 3)), table.empty("float32", (1, 3))
    assert nothing.core.key == ("nothing", "float32")
    found = elementwise(table, ("f",), [x, value_of(core)], "f")
    assert found == elementwise(table, ("f",), [x, nothing], "f")
    assert found != elementwise(table, ("f",), [x, table.empty("int32", (1, 3))], "f")
    full = elementwise(table, ("f",), [value(table, (2, 3), "z"), value_of(core)], "f")
    assert core in full.core.key
