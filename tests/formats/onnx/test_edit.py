"""Lifts and stretches carried out on ONNX models: text in, text out, edits counted, all else byte for byte the same."""

from __future__ import annotations

import onnx
import pytest

from graphfix.graph.edits import Canonicalize, Lift, Refused
from graphfix.shapes.dim import Shape
from rewrites.broadcasts.materialize_broadcasts import plan as materialize
from tests.support import engine
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import attribute, difference, fixed, initializer, made_by

EQUAL = "equalize-ranks"
STRETCH = "materialize-broadcasts"

RANKS = {
    "a constant that nobody else reads is re-dimensioned itself": (
        "y[2,3,4] = Add(x[2,3,4], b:const[4])",
        ["y[2,3,4] = Add(x[2,3,4], b[1,1,4])"],
        1,
        {"y": False, "b": True},
    ),
    "a static shape: Reshape": (
        "y[2,3,4] = Add(x[2,3,4], b[4])",
        ["b_lifted[1,1,4] = Reshape(b[4], shape_1x1x4[3])", "y[2,3,4] = Add(x[2,3,4], b_lifted[1,1,4])"],
        1,
        {"y": True},
    ),
    "a size that is not known: Unsqueeze keeps its symbol": (
        "y[2,N] = Add(x[2,N], b[N])",
        ["b_lifted[1,N] = Unsqueeze(b[N], shape_0[1])", "y[2,N] = Add(x[2,N], b_lifted[1,N])"],
        1,
        {"y": True},
    ),
    "no elements: Unsqueeze, for 0 means keep in a Reshape": (
        "y[2,0] = Add(x[2,0], b[0])",
        ["b_lifted[1,0] = Unsqueeze(b[0], shape_0[1])", "y[2,0] = Add(x[2,0], b_lifted[1,0])"],
        1,
        {"y": True},
    ),
    "two readers at one shape share one new node": (
        "y[2,3] = Add(x[2,3], b[3])\nz[2,3] = Mul(y, b)",
        [
            "b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
            "y[2,3] = Add(x[2,3], b_lifted[1,3])",
            "z[2,3] = Mul(y[2,3], b_lifted[1,3])",
        ],
        2,
        {"y": True, "z": True},
    ),
    "one operand twice in one node": (
        "y[2,3] = Where(c:bool[2,3], b[3], b)",
        [
            "b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
            "y[2,3] = Where(c[2,3], b_lifted[1,3], b_lifted[1,3])",
        ],
        2,
        {"y": True},
    ),
}


@pytest.mark.parametrize(("text", "after", "edits", "changed"), RANKS.values(), ids=RANKS)
def test_ranks_are_equalized(text: str, after: list[str], edits: int, changed: dict[str, bool]) -> None:
    result = fixed(text, target="ranks")
    assert result.view == after
    assert result.counts == {EQUAL: edits}
    assert difference(result.before, result.after).changed == {
        name for name, is_changed in changed.items() if is_changed
    }


def test_a_shared_constant_is_copied_once_for_each_shape_and_keeps_its_other_readers() -> None:
    result = fixed(
        """a[2,3] = Add(x[2,3], b:const[3])
           c[2,3] = Mul(a, b)
           d[2,2,3] = Add(y[2,2,3], b)
           e[1,3,4,4] = Conv(z[1,3,4,4], w:const[3,3,1,1], b)""",
        target="ranks",
    )
    assert result.view == [
        "a[2,3] = Add(x[2,3], b_lifted[1,3])",
        "c[2,3] = Mul(a[2,3], b_lifted[1,3])",
        "d[2,2,3] = Add(y[2,2,3], b_lifted_1[1,1,3])",
        "e[1,3,4,4] = Conv(z[1,3,4,4], w[3,3,1,1], b[3])",
    ]
    found = difference(result.before, result.after)
    assert (found.changed, found.added, found.gone) == ({"a", "c", "d"}, {"b_lifted", "b_lifted_1"}, set())
    assert initializer(result.after, "b_lifted").tobytes() == initializer(result.before, "b").tobytes()


def test_a_constant_at_three_shapes_leaves_nothing_behind() -> None:
    result = fixed(
        """a[2,3] = Add(x[2,3], b:const[3])
           d[2,2,3] = Add(y[2,2,3], b)
           e[2,2,2,3] = Add(z[2,2,2,3], b)""",
        target="ranks",
    )
    shapes = sorted(tuple(tensor.dims) for tensor in result.after.graph.initializer)
    assert shapes == [(1, 1, 1, 3), (1, 1, 3), (1, 3)]


def test_a_big_constant_that_keeps_another_reader_is_not_written_twice() -> None:
    result = fixed(
        """a[2,2048] = Add(x[2,2048], b:const[2048])
           c[2048] = Neg(b)
           d[2,2048] = Mul(a, b)""",
        target="ranks",
    )
    assert result.view == [
        "b_lifted_1[1,2048] = Reshape(b[2048], shape_1x2048[2])",
        "a[2,2048] = Add(x[2,2048], b_lifted_1[1,2048])",
        "c[2048] = Neg(b[2048])",
        "d[2,2048] = Mul(a[2,2048], b_lifted_1[1,2048])",
    ]
    assert len(result.after.SerializeToString()) < len(result.before.SerializeToString()) + 500


@pytest.mark.parametrize("place", ["initializer", "Constant node"])
def test_a_big_constant_that_keeps_another_reader_may_be_stretched_too(place: str) -> None:
    lines = """a[2,2048] = Add(x[2,2048], b:const[2048])
               c[2048] = Neg(b)"""
    proto = model(lines)
    if place == "Constant node":
        tensor = proto.graph.initializer.pop()
        constant = onnx.helper.make_node("Constant", [], ["b"], value=tensor)
        proto.graph.node.insert(0, onnx.helper.make_node("Relu", ["x"], ["r"]))
        proto.graph.node.insert(1, constant)
    result = fixed(proto, target="explicit")
    assert result.view[-3:] == [
        "b_lifted_stretched[2,2048] = Expand(b_lifted_1[1,2048], shape_2x2048[2])",
        "a[2,2048] = Add(x[2,2048], b_lifted_stretched[2,2048])",
        "c[2048] = Neg(b[2048])",
    ]
    assert len(result.after.SerializeToString()) < len(result.before.SerializeToString()) + 600


CONSTANT_NODES = {
    "a tensor is re-dimensioned in its node": (
        "b = Constant(value=([3], [1.0, 2.0, 3.0]))\ny[2,3] = Add(x[2,3], b)",
        ["b[1,3] = Constant()", "y[2,3] = Add(x[2,3], b[1,3])"],
    ),
    "a float becomes a tensor": (
        "b = Constant(value_float=2.0)\ny[2,3] = Mul(x[2,3], b)",
        [
            "y[2,3] = Mul(x[2,3], b_lifted[1,1])",
        ],
    ),
    "a list of ints too": (
        "b:int64[3] = Constant(value_ints=[4,5,6])\ny:int64[2,3] = Mul(x:int64[2,3], b)",
        [
            "y[2,3] = Mul(x[2,3], b_lifted[1,3])",
        ],
    ),
}


@pytest.mark.parametrize(("text", "after"), CONSTANT_NODES.values(), ids=CONSTANT_NODES)
def test_constant_nodes(text: str, after: list[str]) -> None:
    result = fixed(text, target="ranks")
    assert result.view == after
    assert result.counts == {EQUAL: 1}


def test_a_shared_constant_node_is_copied_as_an_initializer() -> None:
    result = fixed("b = Constant(value=([3], [1.0, 2.0, 3.0]))\ny[2,3] = Add(x[2,3], b)\nz[3] = Neg(b)", target="ranks")
    assert result.view == ["b[3] = Constant()", "y[2,3] = Add(x[2,3], b_lifted[1,3])", "z[3] = Neg(b[3])"]
    assert initializer(result.after, "b_lifted").tolist() == [[1.0, 2.0, 3.0]]


def test_an_initializer_that_may_be_overridden_is_lifted_by_a_node() -> None:
    result = fixed("y[2,3] = Add(x[2,3], b:overridable[3])", target="ranks")
    assert result.view == [
        "b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
        "y[2,3] = Add(x[2,3], b_lifted[1,3])",
    ]
    assert [value.name for value in result.after.graph.input] == ["x", "b"]
    assert initializer(result.after, "b").shape == (3,)


def test_before_ir_version_4_new_constants_are_nodes() -> None:
    result = fixed(model("y[2,3] = Add(x[2,3], b:overridable[3])", opset=9, ir=3), target="explicit")
    assert result.view == [
        "shape_1x3[2] = Constant()",
        "b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
        "shape_2x3[2] = Constant()",
        "b_lifted_stretched[2,3] = Expand(b_lifted[1,3], shape_2x3[2])",
        "y[2,3] = Add(x[2,3], b_lifted_stretched[2,3])",
    ]
    assert [tensor.name for tensor in result.after.graph.initializer] == ["b"]


def test_before_opset_9_a_constant_node_holds_no_integers() -> None:
    result = fixed(model("y[2,3] = Add(x[2,3], b:overridable[3])", opset=8, ir=3), target="explicit")
    ops = [node.op_type for node in result.after.graph.node]
    assert ops == ["Unsqueeze", "Constant", "Cast", "Expand", "Add"]
    assert result.view[-1] == "y[2,3] = Add(x[2,3], b_lifted_stretched[2,3])"


def test_opset_7_has_tile_for_static_sizes_only() -> None:
    result = fixed(model("y[2,3] = Add(x[2,3], b[3])\nz[N,3] = Mul(w[N,3], c[1,3])", opset=7), target="explicit")
    assert result.view == [
        "b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
        "b_lifted_stretched[2,3] = Tile(b_lifted[1,3], shape_2x1[2])",
        "y[2,3] = Add(x[2,3], b_lifted_stretched[2,3])",
        "z[N,3] = Mul(w[N,3], c[1,3])",
    ]
    assert result.left == [("GF102", 1, "opset 7 has no Expand, and a Tile needs sizes that are known")]


@pytest.mark.parametrize(("opset", "inputs"), [(12, ["b"]), (13, ["b", "shape_0"])])
def test_the_axes_of_unsqueeze_are_an_operand_since_opset_13(opset: int, inputs: list[str]) -> None:
    result = fixed(model("y[2,N] = Add(x[2,N], b[N])", opset=opset), target="ranks")
    unsqueeze = made_by(result.after, "b_lifted")
    assert list(unsqueeze.input) == inputs
    assert attribute(unsqueeze, "axes") == ([0] if opset == 12 else None)


EXPLICIT = {
    "a static target": (
        "y[2,3] = Add(x[2,3], b[1,3])",
        ["b_stretched[2,3] = Expand(b[1,3], shape_2x3[2])", "y[2,3] = Add(x[2,3], b_stretched[2,3])"],
        1,
    ),
    "a size known at run time only": (
        "y[N,3] = Add(x[N,3], b[1,3])",
        [
            "x_shape[2] = Shape(x[N,3])",
            "b_stretched[N,3] = Expand(b[1,3], x_shape[2])",
            "y[N,3] = Add(x[N,3], b_stretched[N,3])",
        ],
        1,
    ),
    "two sizes that may be 1: each by the other, independently": (
        "y[?] = Add(a[N], c[M])",
        [
            "c_shape[1] = Shape(c[M])",
            "a_stretched[?] = Expand(a[N], c_shape[1])",
            "a_shape[1] = Shape(a[N])",
            "c_stretched[?] = Expand(c[M], a_shape[1])",
            "y[?] = Add(a_stretched[?], c_stretched[?])",
        ],
        2,
    ),
    "a Gemm's C by the sizes of A and B": (
        "y[M,5] = Gemm(a[M,4], b[5,4], c:const[1,5], transB=1)",
        [
            "a_shape[2] = Shape(a[M,4])",
            "a_size_0[1] = Gather(a_shape[2], shape_0[1])",
            "b_shape[2] = Shape(b[5,4])",
            "b_size_0[1] = Gather(b_shape[2], shape_0[1])",
            "sizes[2] = Concat(a_size_0[1], b_size_0[1])",
            "c_stretched[M,5] = Expand(c[1,5], sizes[2])",
            "y[M,5] = Gemm(a[M,4], b[5,4], c_stretched[M,5])",
        ],
        1,
    ),
    "one stretched operand of two nodes": (
        "y[N,3] = Add(x[N,3], b[1,3])\nz[N,3] = Mul(x, b)",
        [
            "x_shape[2] = Shape(x[N,3])",
            "b_stretched[N,3] = Expand(b[1,3], x_shape[2])",
            "y[N,3] = Add(x[N,3], b_stretched[N,3])",
            "z[N,3] = Mul(x[N,3], b_stretched[N,3])",
        ],
        2,
    ),
}


@pytest.mark.parametrize(("text", "after", "edits"), EXPLICIT.values(), ids=EXPLICIT)
def test_broadcasts_are_made_explicit(text: str, after: list[str], edits: int) -> None:
    result = fixed(text, target="explicit")
    assert result.view == after
    assert result.counts == {STRETCH: edits}


def test_a_value_info_of_what_was_re_dimensioned_is_restated() -> None:
    proto = model("y[2,3] = Add(x[2,3], b:const[3])")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [3]))
    result = fixed(proto, target="ranks")
    (info,) = result.after.graph.value_info
    assert [dim.dim_value for dim in info.type.tensor_type.shape.dim] == [1, 3]
    onnx.shape_inference.infer_shapes(result.after, strict_mode=True)


def test_new_values_state_their_shapes_with_the_files_own_symbols_only() -> None:
    result = fixed("y[?,8] = Add(a[N,8], c[M,8])\nz[N,8] = Mul(a, k[1,8])", target="explicit")
    declared = {
        info.name: [dim.dim_param or dim.dim_value or None for dim in info.type.tensor_type.shape.dim]
        for info in result.after.graph.value_info
    }
    assert declared == {"a_stretched": [None, 8], "c_stretched": [None, 8], "k_stretched": ["N", 8]}


def test_names_are_fresh_in_every_scope() -> None:
    proto = parsed("""main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
        y = If (c) <then_branch = yes () => (float[2,3] b_lifted) { b_lifted = Add(x, b) },
                    else_branch = no () => (float[2,3] e) { e = Sub(x, b) }> }""")
    result = fixed(proto, target="ranks")
    assert result.everything[1:] == [
        "If#0.then_branch: b_lifted_1[1,3] = Reshape(b[3], shape_1x3[2])",
        "If#0.then_branch: b_lifted[2,3] = Add(x[2,3], b_lifted_1[1,3])",
        "If#0.else_branch: b_lifted_2[1,3] = Reshape(b[3], shape_1x3_1[2])",
        "If#0.else_branch: e[2,3] = Sub(x[2,3], b_lifted_2[1,3])",
    ]


def test_a_constant_that_is_an_output_keeps_its_shape() -> None:
    proto = model("y[2,3] = Add(x[2,3], b:const[3])")
    proto.graph.output.append(onnx.helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [3]))
    result = fixed(proto, target="ranks")
    assert result.view == ["y[2,3] = Add(x[2,3], b_lifted[1,3])"]
    assert [(tensor.name, list(tensor.dims)) for tensor in result.after.graph.initializer] == [
        ("b", [3]),
        ("b_lifted", [1, 3]),
    ]


def test_a_constant_that_lost_all_its_readers_goes_and_its_value_info_too() -> None:
    proto = model("y[2,3] = Add(x[2,3], b:const[3])\nz[2,3] = Mul(w[2,3], b)")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [3]))
    result = fixed(proto, target="ranks")
    assert "b" not in {tensor.name for tensor in result.after.graph.initializer}
    assert "b" not in {info.name for info in result.after.graph.value_info}


@pytest.mark.parametrize(("ir", "before"), [(9, ["Reshape"]), (3, ["Constant", "Reshape"])])
def test_a_node_that_is_made_for_a_later_reader_moves_in_front_of_an_earlier_one(ir: int, before: list[str]) -> None:
    """What it reads goes along."""
    opened = engine.load(model("y[2,3] = Add(x[2,3], b[3])\nz[2,3] = Mul(y, b)", opset=9, ir=ir))
    first, second = opened.graphs[0].nodes
    opened.apply(second, [Lift(1, (0,))])
    opened.apply(first, [Lift(1, (0,))])
    assert [node.op_type for node in onnx.load_from_string(opened.tobytes()).graph.node] == [*before, "Add", "Mul"]


def test_what_a_moved_node_reads_moves_with_it() -> None:
    text = "y[?,3] = Add(x[N,3], b[M,3])\nz[?,3] = Mul(b, x)"
    opened = engine.load(model(text))
    first, second = opened.graphs[0].nodes
    for node in (second, first):
        opened.apply(node, list(materialize(node)))
    after = onnx.load_from_string(opened.tobytes())
    onnx.checker.check_model(after)
    assert [node.op_type for node in after.graph.node] == ["Shape", "Expand", "Shape", "Expand", "Add", "Mul"]


LIFTS = {
    "known sizes before Reshape had an operand": (4, "3", ("Unsqueeze", 1)),
    "known sizes since": (5, "3", ("Reshape", 2)),
    "a free size before axes were an operand": (12, "N", ("Unsqueeze", 1)),
    "a free size since": (13, "N", ("Unsqueeze", 2)),
    "no elements": (13, "0", ("Unsqueeze", 2)),
}


@pytest.mark.parametrize(("opset", "size", "form"), LIFTS.values(), ids=LIFTS)
def test_a_lift_has_the_form_of_its_operator_set(opset: int, size: str, form: tuple[str, int]) -> None:
    opened = engine.load(model(f"y[2,{size}] = Sum(x[2,{size}], b[{size}])", opset=opset))
    opened.apply(opened.graphs[0].nodes[0], [Lift(1, (0,))])
    (lift,) = [node for node in opened.finish()[0].nodes if node.op != "Sum"]
    assert (lift.op, len(lift.operands)) == form
    assert str(lift.results[0].shape).replace(" ", "") == f"[1,{size}]"


@pytest.mark.parametrize(("returned", "added"), [(False, "c[4]"), (True, "c_restated[4]")])
def test_a_constant_that_the_model_returns_is_not_restated_in_place(added: str, *, returned: bool) -> None:
    proto = model("y[2,4] = Add(x[2,4], c:const[1,4]{1,2,3,4})")
    if returned:
        proto.graph.output.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [1, 4]))
    found = fixed(proto, target="compact")
    assert found.view == [f"y[2,4] = Add(x[2,4], {added})"]
    assert initializer(found.after, "c").shape == ((1, 4) if returned else (4,))


@pytest.mark.parametrize(("opset", "why"), [(7, "opset 7 has no Expand"), (8, "")])
def test_a_stretch_is_written_as_an_expand_where_there_is_one(opset: int, why: str) -> None:
    opened = engine.load(model("y[2,3] = Tile(x[1,3], r:const{2,1})", opset=opset))
    try:
        opened.apply(opened.graphs[0].nodes[0], [Canonicalize(Shape((2, 3)))])
        refused = ""
    except Refused as error:
        refused = str(error)
    assert refused == why
    assert [node.op for node in opened.finish()[0].nodes] == ["Tile" if why else "Expand"]
