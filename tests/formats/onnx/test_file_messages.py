"""What is read from messages of a file and written into them: sizes, labels, bodies, notes."""

from __future__ import annotations

import pytest
from onnx import FunctionProto, GraphProto, ModelProto, TypeProto, ValueInfoProto, helper

from graphfix.formats.onnx.file.messages import body_of, declared, holds_initializers, label, note, write_dims


@pytest.mark.parametrize("dims", [(), (2,), (2, "N", None, 0)])
def test_dims_that_are_written_replace_those_that_were_there(dims: tuple[int | str | None, ...]) -> None:
    """No dims are a scalar, which has a shape too."""
    for before in (None, (7, 8, 9)):
        value = helper.make_tensor_value_info("x", 1, before)
        write_dims(value.type.tensor_type, dims)
        assert value.type.tensor_type.HasField("shape")
        assert declared(value) == dims


def test_an_unknown_size_that_is_written_has_neither_number_nor_name() -> None:
    tensor = TypeProto.Tensor()
    write_dims(tensor, (None, 3, "N"))
    assert [dim.WhichOneof("value") for dim in tensor.shape.dim] == [None, "dim_value", "dim_param"]


def test_sizes_that_say_nothing_are_unknown() -> None:
    value = helper.make_tensor_value_info("x", 1, [0, -1, "", "?", "N", None])
    assert declared(value) == (0, None, None, None, "N", None)
    assert declared(ValueInfoProto(name="x")) is None
    assert declared(helper.make_tensor_value_info("x", 1, None)) is None


def test_a_node_without_a_name_is_called_by_its_operator_and_place() -> None:
    assert label(helper.make_node("Add", [], [], name="sum"), 3) == "sum"
    assert label(helper.make_node("Add", [], []), 3) == "Add#3"


@pytest.mark.parametrize(
    ("holder", "ir", "holds"),
    [(GraphProto(), 3, False), (GraphProto(), 4, True), (FunctionProto(), 4, False), (FunctionProto(), 10, False)],
)
def test_initializers_are_constants_of_graphs_since_ir_version_4(
    holder: GraphProto | FunctionProto, ir: int, *, holds: bool
) -> None:
    assert holds_initializers(holder, ir) is holds


def test_a_body_is_found_by_the_name_of_its_attribute_and_its_place_there() -> None:
    node = helper.make_node("Own", [], [], one=GraphProto(name="a"), more=[GraphProto(name="b"), GraphProto(name="c")])
    assert [body_of(node, at).name for at in ("one", "more[0]", "more[1]")] == ["a", "b", "c"]


def test_a_note_is_added_once_behind_those_that_are_there() -> None:
    proto = ModelProto()
    assert [note(proto, "k", text) for text in ("one", "two", "one", "on")] == [True, True, False, True]
    assert note(proto, "other", "one")
    assert [(entry.key, entry.value) for entry in proto.metadata_props] == [("k", "one; two; on"), ("other", "one")]
    empty = ModelProto()
    empty.metadata_props.add(key="k")
    assert note(empty, "k", "one")
    assert empty.metadata_props[0].value == "one"
