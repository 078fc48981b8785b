"""The types that a file declares: those of the elements, without shapes and descriptions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnx import TensorProto, TypeProto, helper

from graphfix.checker.proof.onnx.closed_world.declared import declared, element_type

Dims = list[int | str | None] | None
Kind = Callable[[Dims], TypeProto]


def tensor(dims: Dims, kind: int = TensorProto.FLOAT) -> TypeProto:
    return helper.make_tensor_type_proto(kind, dims)


def sparse(dims: Dims) -> TypeProto:
    return helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, dims)


def mapped(dims: Dims) -> TypeProto:
    return helper.make_map_type_proto(TensorProto.INT64, tensor(dims))


KINDS: dict[str, Kind] = {
    "tensor": tensor,
    "sparse tensor": sparse,
    "sequence": lambda dims: helper.make_sequence_type_proto(tensor(dims)),
    "optional": lambda dims: helper.make_optional_type_proto(tensor(dims)),
    "map": mapped,
    "sequence of maps": lambda dims: helper.make_sequence_type_proto(mapped(dims)),
    "optional sequence": lambda dims: helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor(dims))),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_type_is_the_same_whatever_its_shape_and_description(name: str) -> None:
    made = [KINDS[name](dims) for dims in ([2, 3], ["N"], [], None)]
    made[0].denotation = "IMAGE"
    before = made[0].SerializeToString()
    assert len({element_type(each) for each in made}) == 1
    assert made[0].SerializeToString() == before


def test_types_differ_by_what_they_hold() -> None:
    assert element_type(tensor([2])) == TensorProto.FLOAT
    assert element_type(tensor([2], TensorProto.INT8)) == TensorProto.INT8
    assert len({element_type(kind([2])) for kind in KINDS.values()}) == len(KINDS)
    texts = helper.make_map_type_proto(TensorProto.STRING, tensor([2]))
    assert element_type(texts) != element_type(mapped([2]))


@pytest.mark.parametrize(
    ("dims", "numbers", "names", "below_0"),
    [
        ([2, "N", None, 0], (2, -1, -1, 0), ((1, "N"),), ()),
        ([-1, 3, -2], (-1, 3, -2), (), (0, 2)),
        ([], (), (), ()),
        (None, None, (), ()),
    ],
)
def test_a_declared_shape_has_numbers_names_and_what_is_below_0(
    dims: Dims, numbers: tuple[int, ...] | None, names: tuple[tuple[int, str], ...], below_0: tuple[int, ...]
) -> None:
    ((name, found),) = declared([helper.make_value_info("x", tensor(dims))])
    assert (name, found.kind, found.is_tensor, found.is_nothing) == ("x", TensorProto.FLOAT, True, False)
    assert (found.dims, found.names, found.below_0) == (numbers, names, below_0)


def test_what_is_no_tensor_has_no_shape_and_no_type_is_nothing() -> None:
    ((_, found),) = declared([helper.make_value_info("x", mapped([2]))])
    assert (found.dims, found.is_tensor, found.is_nothing) == (None, False, False)
    ((_, found),) = declared([helper.make_value_info("x", TypeProto())])
    assert (found.dims, found.is_tensor, found.is_nothing) == (None, False, True)
