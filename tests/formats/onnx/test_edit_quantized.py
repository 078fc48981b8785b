"""Quantized operands: edits go in front of the DequantizeLinear, and its axis goes along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import graphfix
from graphfix.formats.onnx.edit.quantized import WITHOUT_KERNELS
from graphfix.formats.onnx.view import dtype_name
from graphfix.graph.edits import Lift, New, Numbers, Replace
from graphfix.shapes.dim import Shape
from tests.support import engine
from tests.support.notation import model
from tests.support.onnx.fixing import Fixed, attribute, difference, fixed, made_by


def last(result: Fixed, count: int) -> list[str]:
    return result.view[-count:]


def test_a_constant_is_lifted_in_front_of_its_dequantize_per_tensor() -> None:
    result = fixed(
        "b[3] = DequantizeLinear(q:const:int8[3], s:const[]{0.5}, z:const:int8[]{0})\ny[2,3] = Add(x[2,3], b)",
        target="ranks",
    )
    assert result.view == ["b[1,3] = DequantizeLinear(q[1,3], s[], z[])", "y[2,3] = Add(x[2,3], b[1,3])"]
    assert difference(result.before, result.after).changed == {"q"}


NO_QUANTIZERS = {
    "of another domain": "b[3] = my.domain.DequantizeLinear(q:const:int8[3], s:const[]{0.5})",
    "without data": "b[3] = com.microsoft.DequantizeLinear(, s:const[]{0.5}, block_size=1)",
    "without a scale": "b[3] = com.microsoft.DequantizeLinear(q:const:int8[3])",
    "with two results": "b[3], c[3] = com.microsoft.DequantizeLinear(q:const:int8[3], s:const[]{0.5})",
    "QuantizeLinear without data": "b[3] = com.microsoft.QuantizeLinear(, s:const[]{0.5})",
}


@pytest.mark.parametrize("text", NO_QUANTIZERS.values(), ids=NO_QUANTIZERS)
def test_what_is_no_quantizer_by_onnx_or_onnxruntime_stays_and_its_result_is_edited(text: str) -> None:
    result = fixed(f"{text}\ny[2,3] = Add(x[2,3], b)")
    assert difference(result.before, result.after).changed == {"y"}
    assert sum("Linear(" in line for line in result.view) == 1


AXES = {
    "an axis counts from the left: it moves": ("axis=0", 2),
    "the axis of the default is 1": ("axis=1", 3),
    "a negative axis counts from the right: it stays": ("axis=-1", -1),
}


@pytest.mark.parametrize(("declared", "moved"), AXES.values(), ids=AXES)
def test_the_quantized_axis_follows_the_lift(declared: str, moved: int) -> None:
    count = 2 if declared == "axis=0" else 3
    result = fixed(
        f"b[2,3] = DequantizeLinear(q:const:int8[2,3], s:const[{count}], z:const:int8[{count}], {declared})\n"
        "y[1,2,2,3] = Mul(x[1,2,2,3], b)",
        target="ranks",
    )
    assert last(result, 1) == ["y[1,2,2,3] = Mul(x[1,2,2,3], b[1,1,2,3])"]
    assert attribute(made_by(result.after, "b"), "axis") == moved


def test_a_default_axis_is_declared_once_it_moved() -> None:
    result = fixed(
        "b[2,3] = DequantizeLinear(q:const:int8[2,3], s:const[3], z:const:int8[3])\ny[2,2,3] = Mul(x[2,2,3], b)",
        target="ranks",
    )
    assert attribute(made_by(result.after, "b"), "axis") == 2


@pytest.mark.parametrize("target", ["ranks", "explicit"])
@pytest.mark.parametrize("scale", ["[1]", "[]"])
def test_a_scale_of_one_element_is_per_tensor(scale: str, target: str) -> None:
    """Onnxruntime takes a scale [1] for a whole tensor, whatever the axis: 1 is no axis of a vector."""
    result = fixed(
        f"b[3] = DequantizeLinear(q:const:int8[3], s:const{scale}{{0.5}}, z:const:int8{scale}{{0}})\n"
        "y[2,3] = Add(x[2,3], b)",
        target=target,
    )
    assert attribute(made_by(result.after, result.after.graph.node[-1].input[1]), "axis") is None
    assert result.left == []


def test_a_pair_of_quantize_and_dequantize_stays_next_to_its_reader() -> None:
    result = fixed(
        """q:int8[3] = QuantizeLinear(w[3], s:const[]{0.5}, z:const:int8[]{0})
           b[3] = DequantizeLinear(q, s, z)
           y[2,3] = Add(x[2,3], b)""",
        target="explicit",
    )
    assert result.view == [
        "w_lifted[1,3] = Reshape(w[3], shape_1x3[2])",
        "w_lifted_stretched[2,3] = Expand(w_lifted[1,3], shape_2x3[2])",
        "q[2,3] = QuantizeLinear(w_lifted_stretched[2,3], s[], z[])",
        "b[2,3] = DequantizeLinear(q[2,3], s[], z[])",
        "y[2,3] = Add(x[2,3], b[2,3])",
    ]


def test_a_shared_dequantize_is_made_again_for_the_lifted_reader() -> None:
    result = fixed(
        """b[3] = DequantizeLinear(q:const:int8[3], s:const[]{0.5}, z:const:int8[]{0})
           y[2,3] = Add(x[2,3], b)
           v[2,3] = Mul(y, b)
           w[3] = Neg(b)""",
        target="ranks",
    )
    assert result.view == [
        "b[3] = DequantizeLinear(q[3], s[], z[])",
        "b_lifted[1,3] = DequantizeLinear(q_lifted[1,3], s[], z[])",
        "y[2,3] = Add(x[2,3], b_lifted[1,3])",
        "v[2,3] = Mul(y[2,3], b_lifted[1,3])",
        "w[3] = Neg(b[3])",
    ]


def test_an_operand_is_never_stretched_along_its_quantized_axis() -> None:
    result = fixed(
        "b[1,3] = DequantizeLinear(q:int8[1,3], s:const[1], z:const:int8[1], axis=0)\ny[2,3] = Add(x[2,3], b)",
        target="explicit",
    )
    assert result.left == [
        (
            "GF102",
            1,
            "it would be stretched along the axis that DequantizeLinear 'DequantizeLinear#0' quantizes",
        )
    ]
    assert result.after == result.before


def test_an_operand_is_stretched_across_its_quantized_axis() -> None:
    result = fixed(
        "b[1,3] = DequantizeLinear(q:const:int8[1,3], s:const[3], z:const:int8[3], axis=1)\ny[2,3] = Add(x[2,3], b)",
        target="explicit",
    )
    assert last(result, 2) == [
        "b[2,3] = DequantizeLinear(q_stretched[2,3], s[3], z[3])",
        "y[2,3] = Add(x[2,3], b[2,3])",
    ]
    assert attribute(made_by(result.after, "b"), "axis") == 1


BLOCKS = "b[4] = DequantizeLinear(q:const:int8[4], s:const[2], z:const:int8[2], axis=0, block_size=2)"


@pytest.mark.parametrize("target", ["ranks", "explicit"])
def test_what_is_quantized_in_blocks_is_edited_behind_its_dequantize(target: str) -> None:
    result = fixed(model(f"{BLOCKS}\ny[2,4] = Add(x[2,4], b)", opset=21), target=target)
    assert result.view[:2] == [
        "b[4] = DequantizeLinear(q[4], s[2], z[2])",
        "b_lifted[1,4] = Reshape(b[4], shape_1x4[2])",
    ]
    assert result.left == []


def test_a_matrix_in_blocks_keeps_its_rank_beside_one_that_looks_the_same() -> None:
    """There is a product of its own for it, in onnxruntime, of rank 2 alone."""
    text = """a[4,4] = Neg(w[4,4])
              b[4,4] = DequantizeLinear(q:const:int8[4,4], s:const[2,4], axis=0, block_size=2)
              y[2,3,4] = MatMul(x[2,3,4], a)
              z[2,3,4] = MatMul(x, b)
              u[2,3,4] = MatMul(x, a)"""
    result = fixed(model(text, opset=21), target="ranks")
    assert result.view[-3:] == [
        "y[2,3,4] = MatMul(x[2,3,4], a_lifted[1,4,4])",
        "z[2,3,4] = MatMul(x[2,3,4], b[4,4])",
        "u[2,3,4] = MatMul(x[2,3,4], a_lifted[1,4,4])",
    ]
    assert [(code, operand) for code, operand, reason in result.left if "MatMulNBits" in reason] == [("GF101", 1)]


def test_blocks_are_edited_as_such_beside_a_node_that_looks_like_one_without() -> None:
    text = """a[4] = DequantizeLinear(p:const:int8[4], r:const[4], axis=0)
              b[4] = DequantizeLinear(q:const:int8[4], s:const[2], z:const:int8[2], axis=0, block_size=2)
              y[2,4] = Add(x[2,4], a)
              u[2,4] = Add(x, a)
              w[2,4] = Add(x, b)"""
    result = fixed(model(text, opset=21), target="ranks")
    assert result.counts == {"equalize-ranks": 3}
    assert last(result, 4) == [
        "y[2,4] = Add(x[2,4], a_lifted[1,4])",
        "u[2,4] = Add(x[2,4], a[1,4])",
        "b_lifted[1,4] = Reshape(b[4], shape_1x4[2])",
        "w[2,4] = Add(x[2,4], b_lifted[1,4])",
    ]


def test_quantization_annotations_follow_what_was_copied() -> None:
    proto = model("y[2,3] = Add(x[2,3], b:const[3])\nz[3] = Neg(b)")
    note = proto.graph.quantization_annotation.add(tensor_name="b")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(0.5), "s"))
    result = fixed(proto, target="explicit")
    names = {
        note.tensor_name: note.quant_parameter_tensor_names[0].value
        for note in result.after.graph.quantization_annotation
    }
    assert names == {"b": "s", "b_lifted": "s", "b_lifted_stretched": "s"}


def test_an_operand_of_unknown_rank_keeps_its_quantized_axis() -> None:
    """After a run-time Expand the axis would count in another rank."""
    result = fixed(
        "b[*] = DequantizeLinear(q:int8[*], s:const[3], z:const:int8[3], axis=0)\ny[*] = Add(x[2,3], b)",
        target="explicit",
    )
    assert result.counts == {}
    assert [(code, operand) for code, operand, _ in result.left] == [("GF103", 0), ("GF103", 1)]


def test_the_tensors_of_a_shared_pair_and_of_a_lifted_one_hold_the_same_numbers() -> None:
    result = fixed(
        """q:int8[2,3] = QuantizeLinear(w[2,3], s:const[3]{0.5, 0.25, 2.0}, z:const:int8[3]{0, 1, 2}, axis=1)
           b[2,3] = DequantizeLinear(q, s, z, axis=1)
           y[4,2,3] = Add(x[4,2,3], b)
           v[2,3] = Neg(b)""",
        target="explicit",
    )
    feeds = {"w": np.float32([[1, 2, 3], [-1, -2, -3]]), "x": np.arange(24, dtype=np.float32).reshape(4, 2, 3)}
    for before, after in zip(run(result.before, feeds), run(result.after, feeds), strict=True):
        assert before.tobytes() == after.tobytes()


def run(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # how sums are split, and so rounded, depends on the number of cores
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


@pytest.mark.parametrize(
    ("axis", "axes", "moved"), [(0, (2,), 0), (0, (1,), 0), (1, (1,), 2), (1, (2,), 1), (0, (0, 2), 1)]
)
def test_only_unit_axes_in_front_of_the_quantized_axis_move_it(axis: int, axes: tuple[int, ...], moved: int) -> None:
    proto = model(
        f"""b[2,2] = DequantizeLinear(q:const:int8[2,2], s:const[2], z:const:int8[2], axis={axis})
            y[2,2] = Add(x[2,2], b)"""
    )
    opened = engine.load(proto)
    opened.apply(opened.graphs[0].nodes[1], [Lift(1, axes)])
    assert attribute(made_by(onnx.load_from_string(opened.tobytes()), "b"), "axis") == moved


def test_what_an_edit_made_of_a_node_is_edited_in_front_of_as_well() -> None:
    """The view is that of a file in which nothing quantizes."""
    opened = engine.load(model("q[3] = Cast(p[3], to=3)\nb[3] = Cast(q, to=1)\ny[2,3] = Add(x[2,3], b)"))
    graph = opened.graphs[0]
    scale = Numbers((0.5,), (), "float32")
    opened.apply(graph.nodes[1], [Replace(New("DequantizeLinear", (0, scale), Shape((3,)), "float32"), "GF304")])
    opened.apply(graph.nodes[2], [Lift(1, (0,))])
    made = onnx.load_from_string(opened.tobytes())
    assert [node.op_type for node in made.graph.node] == ["Cast", "Reshape", "DequantizeLinear", "Add"]


# --- element types that onnxruntime dequantizes and does not move --------------------------------------------------


def dequantized(element: int, opset: int = 21) -> onnx.ModelProto:
    """`y[2,3] = Add(x[2,3], DequantizeLinear(q[3]))`, q a constant of this type."""
    nodes = [
        onnx.helper.make_node("DequantizeLinear", ["q", "s"], ["w"], "dq"),
        onnx.helper.make_node("Add", ["x", "w"], ["y"], "add"),
    ]
    tensors = [
        onnx.helper.make_tensor("q", element, [3], [1, 0, 1]),
        onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [], [0.5]),
    ]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in ("x", "y")]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)


@pytest.mark.parametrize("name", ["INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E5M2"])
def test_a_constant_that_no_kernel_stretches_is_stretched_behind_its_dequantize(name: str) -> None:
    before = dequantized(onnx.TensorProto.DataType.Value(name))
    result = fixed(before)
    assert [site.status for site in result.outcome.sites] == ["changed", "changed"]
    assert [node.op_type for node in result.after.graph.node] == ["DequantizeLinear", "Expand", "Add"]
    feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    assert run(result.after, feeds)[0].tolist() == run(before, feeds)[0].tolist()


def _expands(element: int) -> bool:
    ends = [onnx.helper.make_tensor_value_info(name, element, None) for name in ("x", "y")]
    target = onnx.helper.make_tensor("t", onnx.TensorProto.INT64, [1], [2])
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Expand", ["x", "t"], ["y"])], "g", ends[:1], ends[1:], [target]
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 - onnxruntime's errors have no common base
        return False
    return True


def test_the_types_without_kernels_are_those_that_onnxruntime_does_not_expand() -> None:
    """But for those that no DequantizeLinear takes: they are never read through one."""
    schema = onnx.defs.get_schema("DequantizeLinear", 25)
    taken = [
        code
        for code in onnx.TensorProto.DataType.values()
        if f"tensor({onnx.TensorProto.DataType.Name(code).lower()})" in schema.inputs[0].types
    ]
    assert {dtype_name(code) for code in taken if not _expands(code)} == {
        dtype_name(code) for code in taken if dtype_name(code) in WITHOUT_KERNELS
    }


@pytest.mark.parametrize("target", ["ranks", "explicit"])
def test_a_scale_of_an_axis_that_the_operator_set_lacks_is_lifted_behind_its_dequantize(target: str) -> None:
    """Quantizers write `axis` into models of operator set 11; no runtime loads them, and nothing says what it means."""
    text = "b[3] = DequantizeLinear(q:const:int8[3], s:const[3], z:const:int8[3], axis=0)\ny[2,3] = Add(x[2,3], b)"
    result = fixed(model(text, opset=12), target=target)
    assert result.view[:2] == [
        "b[3] = DequantizeLinear(q[3], s[3], z[3])",
        "b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
    ]
    assert attribute(made_by(result.after, "b"), "axis") == 0


@pytest.mark.parametrize("opset", [11, 18])
def test_a_scale_of_one_element_gets_no_axis_where_the_default_named_none(opset: int) -> None:
    text = (
        "b[1] = DequantizeLinear(q:const:int32[1], s:const[1], z:const:int32[]{0})\n"
        "y[N,1] = Gemm(x[N,2], w:const[2,1], b)"
    )
    result = fixed(model(text, opset=opset), target="ranks")
    assert result.view[0] == "b[1,1] = DequantizeLinear(q[1,1], s[1], z[])"
    assert not made_by(result.after, "b").attribute


def test_the_axis_of_onnxruntimes_own_dequantize_moves_too(tmp_path: Path) -> None:
    text = """b[3] = com.microsoft.DequantizeLinear(q:const:int8[3], s:const[3], z:const:int8[3], axis=0)
              y[2,3] = Add(x[2,3], b)"""
    onnx.save(model(text), tmp_path / "m.onnx")
    outcome = graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx")
    assert attribute(made_by(onnx.load(tmp_path / "f.onnx"), "b"), "axis") == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


@pytest.mark.ci
@pytest.mark.parametrize("target", ["ranks", "explicit"])
def test_what_is_dequantized_to_the_type_of_its_scale_is_proved(tmp_path: Path, target: str) -> None:
    """Since operator set 23 no operand's type is the result's by the definition."""
    text = "b[1,3] = DequantizeLinear(q:const:int8[1,3], s:const[]{0.5}, z:const:int8[]{0})\ny[2,3] = Add(x[2,3], b)"
    onnx.save(model(text, opset=23), tmp_path / "m.onnx")
    verdict = graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx", target=target).verdict
    assert verdict is not None
    assert verdict.status == "proved"
