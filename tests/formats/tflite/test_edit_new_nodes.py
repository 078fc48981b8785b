"""What edits add to a subgraph: operators and constants, each made once, as the file and the view have them."""

from __future__ import annotations

import struct

import pytest

from graphfix.formats.tflite.edit.new_nodes import NodeBuilder
from graphfix.formats.tflite.edit.new_records import NEW_SHAPE_RANK
from graphfix.graph.edits import New, Numbers
from graphfix.graph.view import Node, Value
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import Quantized, model
from tests.support import engine


def opened(text: str) -> tuple[NodeBuilder, Node]:
    """The builder of a main subgraph, and its last operator, which reads what is made."""
    loaded = engine.load(model(text))
    graph = loaded.graphs[0]
    return loaded._state.builders[graph], graph.nodes[-1]


def made(builder: NodeBuilder) -> list[str]:
    """The new operators as the view has them."""
    return [str(node) for node in builder.subgraph.graph.made]


def numbers(builder: NodeBuilder, value: Value) -> tuple[int, ...]:
    data = bytes(builder.container.data(builder.subgraph.tensor(value).buffer))
    return struct.unpack(f"<{len(data) // 4}i", data)


def operand(node: Node, at: int = 0) -> Value:
    value = node.operands[at]
    assert value is not None
    return value


def test_new_operators_and_their_results_have_one_place_each() -> None:
    builder, node = opened("y[?,2] = ADD(x[?,2], z[1,2])")
    builder.shape_of(operand(node), node.index)
    tiled = builder.tiled(operand(node, 1), Shape((4, 2)), node.index)
    assert numbers(builder, operand(builder.subgraph.graph.made[1], 1)) == (4, 1)
    assert builder.tiled(operand(node, 1), Shape((4, 2)), node.index) is tiled
    for place, new in enumerate(builder.subgraph.graph.made):
        assert new.index == -1 - place
        assert [value.place for value in new.results if value is not None] == [-1 - place]


LIFTED = {
    "stored sizes: the first is left open": ("2,3", (0,), (1, -1, 3)),
    "an axis behind them": ("2,3", (2,), (-1, 3, 1)),
    "a free size is left open": ("2,?", (0,), (1, 2, -1)),
    "of two free sizes the first alone": ("?,?", (1,), (-1, 1, -1)),
    "a scalar": ("", (0, 1), (1, 1)),
}


@pytest.mark.parametrize(("dims", "axes", "target"), LIFTED.values(), ids=LIFTED)
def test_the_target_of_a_reshape_leaves_one_size_open(
    dims: str, axes: tuple[int, ...], target: tuple[int, ...]
) -> None:
    builder, node = opened(f"y[{dims}] = NEG(x[{dims}])")
    builder.lifted(operand(node), axes, node.index, reshaped=True)
    (reshape,) = builder.subgraph.graph.made
    assert numbers(builder, operand(reshape, 1)) == target
    assert dict(builder.container.options(builder.subgraph.made[0])) == {"new_shape": target}


@pytest.mark.parametrize(("more", "states"), [(0, True), (1, False)])
def test_options_state_the_target_of_a_reshape_as_far_as_they_have_room(more: int, *, states: bool) -> None:
    builder, node = opened("y[2] = NEG(x[2])")
    builder.lifted(operand(node), tuple(range(NEW_SHAPE_RANK - 1 + more)), node.index, reshaped=True)
    assert bool(builder.container.options(builder.subgraph.made[0])["new_shape"]) is states


def test_axes_are_added_one_by_one_where_no_reshape_may_do_it() -> None:
    builder, node = opened("y[?,?] = NEG(x[?,?])")
    builder.lifted(operand(node), (0, 2), node.index, reshaped=False)
    first, second = builder.subgraph.graph.made
    assert [str(result.shape.rank) for new in (first, second) for result in new.results if result is not None] == [
        "3",
        "4",
    ]
    assert [numbers(builder, operand(new, 1)) for new in (first, second)] == [(0,), (2,)]
    assert operand(second) is first.results[0]


def test_integers_are_made_once_and_a_scalar_is_no_vector() -> None:
    builder, _ = opened("y[2] = NEG(x[2])")
    vector, scalar = builder.integers((3,)), builder.integers((3,), scalar=True)
    assert (str(vector), str(scalar)) == ("shape_3[1]", "axis_3[]")
    assert builder.integers((3,)) is vector
    assert builder.integers((3,), scalar=True) is scalar
    free = builder.integers((-1, 0, 2))
    assert (free.name, free.dtype, numbers(builder, free)) == ("shape_freex0x2", "int32", (-1, 0, 2))
    assert builder.subgraph.tensor(vector).buffer == builder.subgraph.tensor(scalar).buffer


def test_new_constants_are_one_where_type_shape_and_bits_are() -> None:
    builder, node = opened("y[2] = NEG(x[2])")
    elements = [
        Numbers((0.0,), (1,), "float32"),
        Numbers((-0.0,), (1,), "float32"),
        Numbers((0.0,), (), "float32"),
        Numbers((0,), (1,), "int32"),
        Numbers((0.0,), (1,), "float32"),
    ]
    found = [builder.new_constant(each, node) for each in elements]
    assert [value.name for value in found] == ["constant", "constant_1", "constant_2", "constant_3", "constant"]


def test_the_shape_of_a_value_is_a_constant_where_it_is_known() -> None:
    builder, node = opened("y[2,3] = NEG(x[2,3])")
    assert numbers(builder, builder.shape_of(operand(node), node.index)) == (2, 3)
    assert made(builder) == []
    builder, node = opened("y[2,?] = NEG(x[2,?])")
    shape = builder.shape_of(operand(node), node.index)
    assert builder.shape_of(operand(node), node.index) is shape
    assert made(builder) == ["x_shape[2] = SHAPE(x[2,?])"]


def test_sizes_are_joined_of_numbers_and_of_axes_of_values() -> None:
    builder, node = opened("y[?,?] = NEG(x[?,?])")
    sizes = builder.sizes([3, (operand(node), 1), (operand(node), 0)], node.index)
    assert str(sizes) == "sizes[3]"
    shape, one, zero, joined = builder.subgraph.graph.made
    assert [new.op for new in (shape, one, zero, joined)] == ["SHAPE", "GATHER", "GATHER", "CONCATENATION"]
    assert [numbers(builder, operand(new, 1)) for new in (one, zero)] == [(1,), (0,)]
    assert [value.name for value in joined.operands if value is not None] == ["shape_3", "x_size_1", "x_size_0"]
    assert builder.sizes([3, (operand(node), 1), (operand(node), 0)], node.index) is sizes


@pytest.mark.parametrize(("rank", "ops"), [(2, ["EQUAL", "SELECT_V2"]), (3, ["CONCATENATION", "EQUAL", "SELECT_V2"])])
def test_where_shapes_are_chosen_the_other_gets_unit_axes_in_front(rank: int, ops: list[str]) -> None:
    builder, node = opened("y[?,?,?] = ADD(x[?,?,?], z[?,?])")
    one = builder.integers((5,) * rank)
    other = builder.shape_of(operand(node, 1), node.index)
    chosen = builder.chosen(one, other, rank, node.index)
    assert [new.op for new in builder.subgraph.graph.made[1:]] == ops
    select = builder.subgraph.graph.made[-1]
    flags, longer, last = select.operands
    assert flags is not None
    assert (flags.dtype, str(flags.shape), last) == ("bool", f"[{rank}]", one)
    assert longer is not None
    assert (longer is other) is (rank == 2)
    if longer is not other:
        ones, last = builder.subgraph.graph.made[1].operands
        assert ones is not None
        assert (numbers(builder, ones), last) == ((1,), other)
    assert str(longer.shape) == str(chosen.shape) == f"[{rank}]"


def test_merged_shapes_are_one_in_either_order_and_chosen_ones_are_not() -> None:
    builder, node = opened("y[?,?] = ADD(x[?,?], z[?,?])")
    one, other = (builder.shape_of(operand(node, at), node.index) for at in (0, 1))
    assert builder.merged(one, other, 2, node.index) is builder.merged(other, one, 2, node.index)
    assert builder.chosen(one, other, 2, node.index) is not builder.chosen(other, one, 2, node.index)


def test_a_second_tensor_on_a_buffer_has_a_signature_where_the_first_has_one() -> None:
    builder, node = opened("y[2] = ADD(x[2], k:const[2])")
    constant = operand(node, 1)
    plain = builder.lifted_constant(constant, (0,))
    assert builder.subgraph.tensor(plain).signature is None
    assert builder.subgraph.tensor(plain).buffer == builder.subgraph.tensor(constant).buffer
    assert builder.lifted_constant(constant, (0,)) is plain
    builder.subgraph.tensor(constant).signature = (2,)
    other = builder.lifted_constant(constant, (1,))
    assert (builder.subgraph.tensor(other).signature, str(other)) == ((2, 1), "k_lifted_1[2,1]")


def test_a_new_copy_is_quantized_as_what_it_reads_first() -> None:
    scales = {"x": Quantized(0.5, 3), "z": Quantized(0.25, 1), "y": Quantized(2.0, 5)}
    loaded = engine.load(model("y:int8[2,3] = ADD(x:int8[2,3], z:int8[1,3])", quantization=scales))
    graph = loaded.graphs[0]
    builder, node = loaded._state.builders[graph], graph.nodes[-1]
    x, z = operand(node), operand(node, 1)
    shape = Shape((3, 2))
    for operands in ((x, z), (z, x)):
        copy = builder.new(New("SLICE", (0, 1), shape, "int8"), operands, node)
        record = builder.subgraph.tensor(copy)
        assert record.quantization == builder.subgraph.tensor(operands[0]).quantization
        assert (record.shape, record.type, copy.dtype, copy.kind) == ((3, 2), 9, "int8", "result")
    other = builder.new(New("NEG", (0,), shape, "int8"), (x,), node)
    assert builder.subgraph.tensor(other).quantization is None
    names = ["y_slice", "y_slice_1", "y_neg"]
    assert [value.name for new in graph.made for value in new.results if value is not None] == names
    assert [[value.name for value in new.operands if value is not None] for new in graph.made] == [
        ["x", "z"],
        ["z", "x"],
        ["x"],
    ]
