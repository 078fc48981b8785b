"""Edits under the options: unknown ranks, assumptions, fusions; and what an edited node keeps."""

from __future__ import annotations

import onnx

from tests.support.notation import model
from tests.support.onnx.fixing import fixed, made_by


def test_an_unranked_operand_gets_the_run_time_form_once() -> None:
    result = fixed("y[*] = Add(x[*], b[3])", target="explicit")
    assert result.counts == {"materialize-broadcasts": 2}
    assert result.view[-1] == "y[*] = Add(x_stretched[*], b_stretched[*])"


def test_an_assumption_is_written_once_and_stays() -> None:
    result = fixed("y[N,T] = Add(a[N,T], c[M,T])", target="explicit", unknown="assume", stable=False)
    (entry,) = result.after.metadata_props
    assert entry.key == "graphfix.assumes"
    assert "operand 1 [M, T] to [?, T]" in entry.value
    assert result.view == ["y[?,T] = Add(a[N,T], c[M,T])"]
    again = fixed(result.after, target="explicit", unknown="assume", stable=False)
    assert again.after == result.after


def test_a_sparse_constant_is_lifted_by_a_node() -> None:
    proto = model("y[2,3] = Add(x[2,3], b[3])")
    del proto.graph.input[1:]
    values = onnx.helper.make_tensor("b", onnx.TensorProto.FLOAT, [1], [2.0])
    indices = onnx.helper.make_tensor("b_at", onnx.TensorProto.INT64, [1], [1])
    proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [3]))
    result = fixed(proto, target="ranks")
    assert result.view == [
        "b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
        "y[2,3] = Add(x[2,3], b_lifted[1,3])",
    ]
    assert result.after.graph.sparse_initializer == proto.graph.sparse_initializer


SCALED = "t = MatMul(a[2,3], b[3,4])\ny = Mul(t, s:const[]{0.5})\nw = Add(y, c[4])"


def test_fusions_are_kept_where_asked() -> None:
    result = fixed("m = MatMul(x[2,3,4], w:const[4,5])\ny = Add(m, b:const[5])", target="ranks", keep_fusions=True)
    assert result.after == result.before
    assert [(code, operand) for code, operand, _ in result.left] == [("GF101", 1), ("GF101", 1)]


def test_fusions_are_kept_where_operands_are_stretched_too() -> None:
    result = fixed(SCALED, keep_fusions=True)
    assert [line.partition(" = ")[0] for line in result.view] == [
        "t[2,4]",
        "y[2,4]",
        "c_lifted[1,4]",
        "c_lifted_stretched[2,4]",
        "w[2,4]",
    ]
    assert [(code, operand) for code, operand, _ in result.left] == [("GF102", 1)]


def test_two_sided_stretches_one_of_two() -> None:
    result = fixed("y[2,3] = Add(x[2,1], b[1,3])\nz[2,3] = Mul(y, b)", broadcasts="two-sided")
    assert result.view == [
        "x_stretched[2,3] = Expand(x[2,1], shape_2x3[2])",
        "y[2,3] = Add(x_stretched[2,3], b[1,3])",
        "z[2,3] = Mul(y[2,3], b[1,3])",
    ]


def test_attributes_and_unknown_fields_of_an_edited_node_are_kept() -> None:
    proto = model("y:int64[2,3] = Mod(x:int64[2,3], b:int64[3], fmod=0)")
    proto.graph.node[0].doc_string = "kept"
    proto.graph.node[0].metadata_props.add(key="k", value="v")
    proto.graph.node[0].MergeFromString(b"\xfa\x3f\x03abc")  # field 1023: no onnx release knows it
    result = fixed(proto, target="ranks")
    node = made_by(result.after, "y")
    expected = onnx.NodeProto()
    expected.CopyFrom(proto.graph.node[0])
    expected.input[1] = "b_lifted"
    assert node.SerializeToString(deterministic=True) == expected.SerializeToString(deterministic=True)
    assert b"\xfa\x3f\x03abc" in node.SerializeToString()


def test_no_new_name_looks_like_those_that_onnxruntime_gives() -> None:
    """A model that it optimized and saved has such names: another one may be that of a node it makes when it loads."""
    result = fixed("_inlfunc_F_t[3] = Neg(b[3])\ny[2,3] = Add(x[2,3], _inlfunc_F_t)", target="explicit")
    assert result.view[1:3] == [
        "_F_t_lifted[1,3] = Reshape(_inlfunc_F_t[3], shape_1x3[2])",
        "_F_t_lifted_stretched[2,3] = Expand(_F_t_lifted[1,3], shape_2x3[2])",
    ]
