"""Inputs that are set, dropped or narrowed, sizes that are stated to be equal, and axes that a range decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from graphfix.formats.onnx import OnnxModel
from graphfix.results import GraphfixError
from graphfix.shapes.dim import symbol
from tests.support import engine
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import printed


def load(source: ModelProto | Path) -> OnnxModel:
    opened = engine.load(source)
    assert isinstance(opened, OnnxModel)
    return opened


def written(opened: OnnxModel) -> ModelProto:
    return onnx.load_from_string(opened.tobytes())


def listed(proto: ModelProto) -> list[str]:
    """The nodes, as `y = Op(x, s)`."""
    return [f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)})" for node in proto.graph.node]


# --- set --------------------------------------------------------------------------------------------------------------


def test_every_reader_of_a_set_input_reads_a_constant_and_shapes_follow() -> None:
    opened = load(model("y[?,?] = Reshape(x[2,6], s:int64[2])\nz:int64[2] = Neg(s)"))
    opened.set_inputs({"s": (3, 4)}, drop=False)
    assert printed(opened)[0] == "y[3,4] = Reshape(x[2,6], s_value[2])"
    assert opened.changed
    assert opened.assumes == ["s is [3, 4], as set"]
    after = written(opened)
    assert listed(after) == ["y = Reshape(x, s_value)", "z = Neg(s_value)"]
    assert [value.name for value in after.graph.input] == ["x", "s"]
    assert [numpy_helper.to_array(tensor).tolist() for tensor in after.graph.initializer] == [[3, 4]]
    assert [dim.dim_value for dim in after.graph.output[0].type.tensor_type.shape.dim] == [3, 4]


def test_a_set_input_is_dropped_with_its_default() -> None:
    opened = load(model("y[*] = Reshape(x[2,6], s:overridable:int64[2]{6,2})"))
    opened.set_inputs({"s": (3, 4)}, drop=True)
    after = written(opened)
    assert [value.name for value in after.graph.input] == ["x"]
    assert [tensor.name for tensor in after.graph.initializer] == ["s_value"]


def test_the_sparse_default_of_a_dropped_input_goes_and_others_stay() -> None:
    proto = model("y[4] = Add(x[4], s[4])\nz[4] = Mul(x, t[4])")
    for name in "st":
        values, places = numpy_helper.from_array(np.float32([5]), name), numpy_helper.from_array(np.int64([2]))
        proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4]))
    opened = load(proto)
    opened.set_inputs({"s": (1, 2, 3, 4)}, drop=True)
    after = written(opened)
    assert [sparse.values.name for sparse in after.graph.sparse_initializer] == ["t"]
    assert [value.name for value in after.graph.input] == ["x", "t"]


def test_an_input_that_is_an_output_is_not_dropped(tmp_path: Path) -> None:
    proto = model("y:int64[2] = Neg(s:int64[2])")
    proto.graph.output.append(proto.graph.input[0])
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    for source, where in ((proto, "the model"), (tmp_path / "m.onnx", str(tmp_path / "m.onnx"))):
        with pytest.raises(GraphfixError) as caught:
            load(source).set_inputs({"s": (3, 4)}, drop=True)
        assert str(caught.value) == f"{where}: --drop-set-inputs: the input 's' is an output as well; leave it out"


def test_a_body_reads_the_constant_too() -> None:
    proto = parsed("""main (bool c, float[3] x, float k) => (float[3] y) {
        y = If (c) <then_branch = yes () => (float[3] t) { t = Mul(x, k) },
                    else_branch = no (  ) => (float[3] e) { k2 = Neg(k) e = Add(x, k2) }> }""")
    opened = load(proto)
    opened.set_inputs({"k": 2.5}, drop=True)
    bodies = [attribute.g for attribute in written(opened).graph.node[0].attribute]
    assert [[*node.input] for body in bodies for node in body.node] == [["x", "k_value"], ["k_value"], ["x", "k2"]]


@pytest.mark.parametrize(("ir", "nodes"), [(3, ["Constant", "Reshape"]), (4, ["Reshape"])])
def test_before_ir_version_4_the_constant_is_a_node_in_front(ir: int, nodes: list[str]) -> None:
    opened = load(model("y[*] = Reshape(x[2,6], s:int64[2])", ir=ir))
    opened.set_inputs({"s": (3, 4)}, drop=False)
    assert [node.op_type for node in written(opened).graph.node] == nodes
    assert printed(opened)[-1].startswith("y[3,4] = ")


def test_a_set_value_binds_the_free_size_of_its_input_everywhere() -> None:
    opened = load(model("y[N] = Add(x[N], s:float32[N])"))
    opened.set_inputs({"s": (1.0, 2.0, 3.0)}, drop=False)
    assert printed(opened) == ["y[3] = Add(x[3], s_value[3])"]


WRONG = {
    "an unknown input": ({"q": 1}, "--set q: there is no input 'q'; inputs: x, s, t"),
    "two sizes for one name": (
        {"s": (1.0, 2.0), "t": (1.0, 2.0, 3.0)},
        "--set t: it gives N as 3, another one as 2; let them agree",
    ),
}


@pytest.mark.parametrize(("values", "words"), WRONG.values(), ids=WRONG)
def test_a_value_that_contradicts_is_refused_by_the_file_s_name(
    values: dict[str, float | tuple[float, ...]], words: str, tmp_path: Path
) -> None:
    proto = model("u[N] = Add(s[N], t[N])\ny[N] = Add(u, x[N])")
    order = {value.name: value for value in proto.graph.input}
    del proto.graph.input[:]
    proto.graph.input.extend(order[name] for name in "xst")
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    for source, where in ((proto, "the model"), (tmp_path / "m.onnx", str(tmp_path / "m.onnx"))):
        with pytest.raises(GraphfixError) as caught:
            load(source).set_inputs(values, drop=False)
        assert str(caught.value) == f"{where}: {words}"


def test_what_is_no_tensor_is_not_set() -> None:
    proto = model("y[4] = Neg(x[4])")
    proto.graph.input.append(helper.make_tensor_sequence_value_info("q", TensorProto.FLOAT, None))
    with pytest.raises(GraphfixError, match="--set q: the input is not a tensor; only tensors can be set"):
        load(proto).set_inputs({"q": 1}, drop=False)


# --- narrowed ---------------------------------------------------------------------------------------------------------


def test_inputs_of_64_bits_are_narrowed_and_all_others_stay() -> None:
    text = (
        "y[*] = Gather(x[5,2], i:int64[N])\nz:int64[N] = Add(i, k:int64[N])\nw:int64[3] = Neg(d:overridable:int64[3])"
    )
    proto = model(text + "\nv:int32[2] = Neg(j:int32[2])\nu:int64[4] = Abs(o:int64[4])")
    proto.graph.output.append(next(value for value in proto.graph.input if value.name == "o"))
    opened = load(proto)
    assert opened.narrow_inputs(["k"]) == ["i"]
    assert opened.changed
    after = written(opened)
    assert listed(after)[:3] == ["i_int64 = Cast(i)", "y = Gather(x, i_int64)", "z = Add(i_int64, k)"]
    types = {value.name: value.type.tensor_type.elem_type for value in after.graph.input}
    wide, narrow = TensorProto.INT64, TensorProto.INT32
    assert types == {"x": TensorProto.FLOAT, "i": narrow, "k": wide, "d": wide, "j": narrow, "o": wide}
    assert "the input 'i' holds whole numbers of 32 bits" in opened.assumes


def test_where_no_input_has_64_bits_nothing_changes() -> None:
    opened = load(model("y[2] = Neg(x[2])"))
    assert opened.narrow_inputs([]) == []
    assert not opened.changed


# --- equal sizes ------------------------------------------------------------------------------------------------------

ADD = "y[*] = Add(x[N,4], b[M,?])"
SAME = {
    "two symbols": ([("N", "M")], {}, "y[N,4] = Add(x[N,4], b[N,?])"),
    "an axis and a symbol": ([("x[0]", "M")], {}, "y[N,4] = Add(x[N,4], b[N,?])"),
    "a number": ([("b[1]", "x[1]")], {}, "y[?,4] = Add(x[N,4], b[M,4])"),
    "a symbol that is bound": ([("N", "M")], {"N": 3}, "y[3,4] = Add(x[3,4], b[3,?])"),
    "a number by another statement": ([("N", "M"), ("M", "x[1]")], {}, "y[4,4] = Add(x[4,4], b[4,?])"),
    "a chain that ends at a number": ([("N", "b[1]"), ("b[1]", "x[1]")], {}, "y[4,4] = Add(x[4,4], b[M,4])"),
}


@pytest.mark.parametrize(("same", "dims", "line"), SAME.values(), ids=SAME)
def test_sizes_that_are_stated_to_be_equal_are_one(
    same: list[tuple[str, ...]], dims: dict[str, int], line: str
) -> None:
    opened = load(model(ADD))
    opened.bind(dims, {}, same)
    assert printed(opened) == [line]
    assert [text for text in opened.assumes if "--same" in text] == [
        f"the sizes {', '.join(members)} are equal (--same)" for members in same
    ]


def test_the_file_keeps_its_own_names_of_equal_sizes() -> None:
    opened = load(model(ADD))
    opened.bind({}, {}, [("N", "M")])
    dims = [value.type.tensor_type.shape.dim[0].dim_param for value in written(opened).graph.input]
    assert dims == ["N", "M"]


def test_equal_sizes_are_in_both_ranges() -> None:
    opened = load(model(ADD))
    opened.bind({"N": symbol("N", 2, 9), "M": symbol("M", 4, 12)}, {}, [("N", "M")])
    sizes = [value.shape.dims[0] for value in opened.graphs[0].inputs]
    assert {(size.lo, size.hi) for size in sizes if not isinstance(size, int)} == {(4, 9)}


UNEQUAL = {
    "ranges apart": (
        [("N", "M")],
        {"N": symbol("N", 2, 3), "M": symbol("M", 4, 5)},
        "their ranges have no size in common",
    ),
    "two numbers": ([("x[1]", "z[0]")], {}, "--same x[1]=z[0]: 4 and 5 are not equal; leave it out"),
    "no such name": (
        [("N", "K")],
        {},
        "--same K: neither an axis of an input, such as ids[0], nor a symbol; inputs: x, b, z",
    ),
    "no such input": ([("N", "q[0]")], {}, "--same q[0]: neither an axis of an input"),
    "no such axis": ([("N", "z[1]")], {}, "--same z[1]: 'z' has 1 axes, the first is z[0]"),
}


@pytest.mark.parametrize(("same", "dims", "words"), UNEQUAL.values(), ids=UNEQUAL)
def test_a_statement_that_can_not_hold_is_refused(
    same: list[tuple[str, ...]], dims: dict[str, object], words: str
) -> None:
    opened = load(model(ADD + "\nw[5] = Neg(z[5])"))
    with pytest.raises(GraphfixError) as caught:
        opened.bind(dims, {}, same)  # type: ignore[arg-type]
    assert str(caught.value).startswith("the model: --same ")
    assert words in str(caught.value)


def test_an_axis_of_an_input_of_unknown_rank_is_refused_until_its_shape_is_given() -> None:
    with pytest.raises(GraphfixError, match="the rank of 'x' is not known; give its --shape too"):
        load(model("y[*] = Add(x[*], b[M])")).bind({}, {}, [("x[0]", "M")])
    opened = load(model("y[*] = Add(x[*], b[M])"))
    opened.bind({}, {"x": [None]}, [("x[0]", "M")])
    assert printed(opened) == ["y[M] = Add(x[M], b[M])"]


# --- axes that a range decides ----------------------------------------------------------------------------------------

SQUEEZED = "n[*] = Neg(x[1,N,1])\ns[*] = Squeeze(n)\nt[*] = own.Squeeze(n)\nu[*] = Squeeze(z[1,3])\ny[*] = Neg(s)"


@pytest.mark.parametrize(("opset", "low", "stated"), [(18, 2, True), (18, 1, False), (11, 2, True)])
def test_a_squeeze_that_a_range_decides_states_its_axes(opset: int, low: int, *, stated: bool) -> None:
    opened = load(model(SQUEEZED, opset=opset))
    opened.bind({"N": symbol("N", low, 64)}, {})
    assert opened.changed == stated
    neg, squeeze, other, static, _ = written(opened).graph.node
    given = squeeze.attribute[0].ints if squeeze.attribute else ()
    held = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in written(opened).graph.initializer}
    if not stated:
        assert (len(squeeze.input), [*given]) == (1, [])
    elif opset < 13:
        assert [*given] == [0, 2]
    else:
        assert [held[name] for name in squeeze.input[1:]] == [[0, 2]]
    assert [[*node.input, *node.attribute] for node in (neg, other, static)] == [["x"], ["n"], ["z"]]
    given = ", s_axes[2]" if opset >= 13 else ""
    assert printed(opened)[1] == (f"s[N] = Squeeze(n[1,N,1]{given})" if stated else "s[*] = Squeeze(n[1,N,1])")


# --- sizes that onnx infers wrongly -----------------------------------------------------------------------------------


def pooled(width: int | str) -> ModelProto:
    """A pool that onnx takes to be of 3 at a width of 5, where it is of 2, beside another value of 3."""
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
g (float[1,1,{width}] x, float[1,1,3] z, float[M] m) => (float y, float[1,1,3] w, float[M] n) {{
    v = MaxPool <ceil_mode: int = 1, kernel_shape: ints = [3], pads: ints = [1, 1], strides: ints = [3]> (x)
    a = Exp (v)
    y = ReduceSum <keepdims: int = 0> (a)
    b = Neg (z)
    w = Neg (b)
    n = Neg (m)
}}"""
    return onnx.parser.parse_model(text)


def test_a_size_that_onnx_then_infers_wrongly_is_not_bound() -> None:
    with pytest.raises(GraphfixError) as caught:
        load(pooled("W")).bind({"W": 5}, {})
    said = "the model: the sizes can't be bound: onnx's inference at load takes [1,1,3] for "
    assert str(caught.value).startswith(said)
    assert str(caught.value).endswith("; leave a size in front of it free")
    opened = load(pooled("W"))
    opened.bind({"W": 4}, {})
    assert printed(opened)[0].startswith("v[1,1,2] = ")


def test_a_file_that_is_inferred_wrongly_already_is_bound_elsewhere() -> None:
    opened = load(pooled(5))
    opened.bind({"M": 7}, {})
    assert printed(opened)[-1] == "n[7] = Neg(m[7])"
