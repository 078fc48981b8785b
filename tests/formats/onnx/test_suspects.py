"""Which nodes make graphfix run onnx's shape inference: those that docs/load-inference.md measures, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphfix.formats.onnx.load_inference.inferred_shapes import Told
from graphfix.formats.onnx.load_inference.suspects import is_suspect
from graphfix.formats.onnx.load_inference.wrong_shapes import Claim, LoadInference
from graphfix.graph.view import Graph, Kind, Node, Value
from graphfix.shapes.dim import Shape, Size, symbol
from tests.support import notation


def node(text: str, *, opset: int = 18) -> Node:
    """A node as the view of an ONNX model shows it: its lists are tuples."""
    made = notation.node(text, opset=opset)
    held = {key: tuple(it) if isinstance(it, list) else it for key, it in made.attributes.items()}
    return replace(made, attributes=held)


SLICE = "y[2] = Slice(x[N], s:int64[1], "
SUSPECT = {
    "sizes are rounded up": "y[*] = MaxPool(x[1,1,W], kernel_shape=[3], ceil_mode=1)",
    "of an average": "y[*] = AveragePool(x[1,1,W], kernel_shape=[3], ceil_mode=1)",
    "of a norm": "y[*] = LpPool(x[1,1,W], kernel_shape=[3], ceil_mode=1)",
    "an automatic padding beside pads": "y[*] = MaxPool(x[1,1,W], kernel_shape=[3], auto_pad='SAME_UPPER', pads=[0,1])",
    "an automatic padding apart": "y[*] = MaxPool(x[1,1,W], kernel_shape=[3], auto_pad='SAME_UPPER', dilations=[2])",
    "a given output": "y[*] = ConvTranspose(x[1,1,W], w[1,1,3], output_shape=[8])",
    "a given padding of the output": "y[*] = ConvTranspose(x[1,1,W], w[1,1,3], output_padding=[1])",
    "an automatic padding of the output": "y[*] = ConvTranspose(x[1,1,W], w[1,1,3], auto_pad='SAME_LOWER')",
    "steps that are computed": SLICE + "e:const{5}, a:const{0}, t:int64[1])",
    "backwards to the largest number": SLICE + "e:const{2147483647}, a:const{0}, t:const{-1})",
    "backwards to a computed end": SLICE + "e:int64[1], a:const{0}, t:const{-1})",
    "a scale that is a fraction": "y[*] = Resize(x[1,1,W], , s:const[3]{1.0,1.0,1.5})",
    "bytes by a scale that is a fraction": "y[*] = Resize(x:uint8[1,1,W], , s:const[3]{1.0,1.0,1.5})",
    "a ratio along axes from the end": (
        "y[*] = Resize(x[1,1,W], , , s:int64[1], axes=[-1], keep_aspect_ratio_policy='not_larger')"
    ),
    "a reduction of nothing": "y[*] = ReduceSum(x[0,4], a:const{0})",
    "an odd flag of no axes": "y[*] = ReduceMax(x[N,4], noop_with_empty_axes=2)",
    "an inner size of 0": "y[*] = MatMul(x[2,0], w[0,3])",
    "places in a scalar": "y[*] = NonZero(x[])",
    "a slope that stretches": "y[*] = PRelu(x[1,4], s[3,4])",
    "a slope that stretches the last axis": "y[*] = PRelu(x[3,1], s[4])",
    "a slope of a higher rank": "y[*] = PRelu(x[4], s[3,4])",
    "a slope of an unknown rank": "y[*] = PRelu(x[4], s[*])",
    "an operand of an unknown rank beside a slope": "y[*] = PRelu(x[*], s[4])",
    "a range of floats": "y[*] = Range(a:const[]{0.0}, b:const[]{1.0}, c:const[]{0.1})",
    "the batch in front": "y[*] = LSTM(x[B,S,8], w[1,12,8], r[1,12,3], hidden_size=3, layout=1)",
    "the batch in front of a GRU": "y[*] = GRU(x[B,S,8], w[1,9,8], r[1,9,3], hidden_size=3, layout=1)",
    "the batch in front of an RNN": "y[*] = RNN(x[B,S,8], w[1,3,8], r[1,3,3], hidden_size=3, layout=1)",
    "several axes are normalized": "y[*], d[*] = SimplifiedLayerNormalization(x[N,S,8], w[S,8], axis=1)",
    "always": "y[*] = Unique(x[N])",
}


@pytest.mark.parametrize("text", SUSPECT.values(), ids=SUSPECT)
def test_onnx_may_infer_a_wrong_size(text: str) -> None:
    assert is_suspect(node(text))


RIGHT = {
    "sizes are rounded down": "y[*] = MaxPool(x[1,1,W], kernel_shape=[3], ceil_mode=0, pads=[1,1], dilations=[2])",
    "an automatic padding alone": "y[*] = MaxPool(x[1,1,W], kernel_shape=[3], auto_pad='SAME_UPPER', dilations=[1])",
    "no automatic padding": "y[*] = MaxPool(x[1,1,W], kernel_shape=[3], auto_pad='NOTSET', pads=[0,1])",
    "an empty automatic padding": "y[*] = MaxPool(x[1,1,W], kernel_shape=[3], auto_pad='', pads=[0,1])",
    "a transposed convolution": "y[*] = ConvTranspose(x[1,1,W], w[1,1,3], output_padding=[0], pads=[1,1])",
    "no steps": SLICE + "e:int64[1])",
    "steps that go forwards": SLICE + "e:int64[1], a:const{0}, t:const{2})",
    "backwards to the front": SLICE + "e:const{-9}, a:const{0}, t:const{-1})",
    "backwards to just below the largest number": SLICE + "e:const{2147483646}, a:const{0}, t:const{-1})",
    "forwards to the largest number, backwards to the front": (
        "y[2,2] = Slice(x[N,N], s:int64[2], e:const{2147483647,-9}, a:const{0,1}, t:const{1,-1})"
    ),
    "scales that are whole": "y[*] = Resize(x[1,1,W], , s:const[3]{1.0,1.0,2.0})",
    "scales that are computed": "y[*] = Resize(x[1,1,W], , s[3])",
    "sizes, and an image of halves": "y[*] = Resize(x:const[3]{0.5,1.5,2.5}, , , s:const{7})",
    "a ratio along axes from the front": (
        "y[*] = Resize(x[1,1,W], , , s:int64[1], axes=[2], keep_aspect_ratio_policy='not_larger')"
    ),
    "no ratio along axes from the end": "y[*] = Resize(x[1,1,W], , , s:int64[1], axes=[-1])",
    "a reduction": "y[*] = ReduceSum(x[N,4], a:const{0}, noop_with_empty_axes=1)",
    "a product": "y[*] = MatMul(x[2,3], w[3,4])",
    "a product of an unknown rank": "y[*] = MatMul(x[*], w[3,4])",
    "places in a vector": "y[*] = NonZero(x[N])",
    "places in an unknown rank": "y[*] = NonZero(x[*])",
    "a slope of one element": "y[*] = PRelu(x[N,4], s[1])",
    "a slope of the operand's sizes": "y[*] = PRelu(x[1,4], s[1,4])",
    "a free size, which is not taken for 1": "y[*] = PRelu(x[N,4], s[3,4])",
    "a range of whole numbers": "y[*] = Range(a:const[]{0}, b:const[]{9}, c:const[]{2})",
    "a range of floats that are computed": "y[*] = Range(a:const[]{0.0}, b[], c:const[]{0.1})",
    "the steps in front": "y[*] = LSTM(x[S,B,8], w[1,12,8], r[1,12,3], hidden_size=3, layout=0)",
    "the last axis is normalized": "y[*], d[*] = SimplifiedLayerNormalization(x[N,S,8], w[8], axis=-1)",
    "one result of a normalization": "y[*] = SimplifiedLayerNormalization(x[N,S,8], w[S,8], axis=1)",
    "axes from the end": "y[*] = Unsqueeze(x[N], a:const{-1})",
    "an operator of another domain": "y[*] = own.Unique(x[N])",
    "another operator": "y[*] = Add(x[N], b[N])",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_onnx_infers_the_right_size(text: str) -> None:
    assert not is_suspect(node(text))


@pytest.mark.parametrize(("version", "axis", "wrong"), [(10, -1, True), (10, 1, False), (11, -1, False)])
def test_an_axis_from_the_end_is_inferred_wrongly_before_it_is_counted_so(
    version: int, axis: int, *, wrong: bool
) -> None:
    assert is_suspect(node(f"y[*] = Unsqueeze(x[N], axes=[{axis}])", opset=version)) == wrong


REFERRING = {
    **dict.fromkeys(("ceil_mode", "auto_pad", "pads", "dilations"), "y[*] = MaxPool(x[1,1,W], kernel_shape=[3])"),
    **dict.fromkeys(("output_padding", "output_shape"), "y[*] = ConvTranspose(x[1,1,W], w[1,1,3])"),
    "layout": "y[*] = LSTM(x[S,B,8], w[1,12,8], r[1,12,3], hidden_size=3)",
}


@pytest.mark.parametrize(("attribute", "text"), REFERRING.items(), ids=REFERRING)
def test_an_attribute_that_each_call_of_a_function_gives_may_be_one_that_is_inferred_wrongly(
    attribute: str, text: str
) -> None:
    made = node(text)
    assert not is_suspect(made)
    assert is_suspect(replace(made, attributes={**made.attributes, attribute: None}))


def test_a_transposed_convolution_whose_padding_each_call_gives_may_be_inferred_wrongly() -> None:
    made = node("y[*] = ConvTranspose(x[1,1,W], w[1,1,3])")
    assert is_suspect(replace(made, attributes={"auto_pad": None}))


def test_a_range_of_floats_may_become_known_where_its_function_is_called() -> None:
    made = node("y[*] = Range(a[], b[], c[])")
    assert not is_suspect(made)
    made.graph.path = "function own.F"
    assert is_suspect(made)
    whole = node("y[*] = Range(a:int64[], b:int64[], c:int64[])")
    whole.graph.path = "function own.F"
    assert not is_suspect(whole)


def test_the_size_of_resized_bytes_is_inferred_wrongly() -> None:
    """10 bytes by 1.3 are 13 in onnxruntime, and 12 for onnx: the type of the image does not matter."""
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="nearest")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 1, 10])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.float32([1, 1, 1.3]), "s")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    told = onnx.shape_inference.infer_shapes(proto).graph.output[0].type.tensor_type.shape.dim[2].dim_value
    assert (session.run(None, {"x": np.zeros((1, 1, 10), np.uint8)})[0].shape[2], told) == (13, 12)


# --- what is inferred wrongly, and what may come of it ----------------------------------------------------------------

N = symbol("N")
CERTAIN: dict[str, tuple[Told, Shape, bool, bool]] = {
    "another number": ((2, 3), Shape((2, 4)), True, True),
    "the same number": ((2, 3), Shape((2, 3)), False, True),
    "a number for a name": ((2, 3), Shape((2, N)), False, True),
    "a name for a number": ((2, "N"), Shape((2, 4)), False, True),
    "another number beside an unknown size": ((None, 3), Shape((2, 4)), True, False),
    "another rank": ((2,), Shape((2, 4)), True, True),
    "a rank that no rule knows": ((2,), Shape(None), False, True),
}


@pytest.mark.parametrize(("told", "shape", "certain", "shares"), CERTAIN.values(), ids=CERTAIN)
def test_a_shape_is_surely_wrong_by_its_rank_or_a_number(
    told: Told, shape: Shape, *, certain: bool, shares: bool
) -> None:
    claim = Claim("v", told, shape)
    assert (claim.is_certain, claim.shares) == (certain, shares)


@pytest.mark.parametrize(
    ("shape", "right"), [(Shape((2, 4)), "[2,4]"), (Shape((2, N)), "[2,N]"), (Shape(None), "of unknown rank")]
)
def test_a_claim_says_both_shapes(shape: Shape, right: str) -> None:
    said = f"onnx's inference at load takes [?,3] for 'v', which is {right}"
    assert str(Claim("v", (None, 3), shape)) == said


def beside(other: tuple[Size, ...] | None, kind: Kind = "result", op: str = "Op") -> tuple[Graph, Value]:
    """A graph of two values: `v` of [2], which onnx takes for `told`, and another one."""
    graph = Graph("main")
    values = [
        Value("v", Shape((2,)), "float32", "result", graph, None, 0),
        Value("w", Shape(other), "float32", kind, graph, None, 1),
    ]
    graph.nodes = [Node(op, "", 18, "", at, graph, (), (value,), {}, None) for at, value in enumerate(values)]
    return graph, values[1]


def claimed(graph: Graph, told: Told) -> LoadInference:
    return LoadInference({graph: {"v": Claim("v", told, Shape((2,)))}}, {}, frozenset(), {})


def test_a_value_of_the_sizes_that_are_inferred_may_get_the_same_buffer() -> None:
    graph, _ = beside((3,))
    found = claimed(graph, (3,))
    assert found.crowded[graph].name == "v"
    assert found.danger == "onnx's inference at load takes [3] for 'v', which is [2]: another value may get its buffer"


APART: dict[str, tuple[Told, tuple[Size, ...] | None, Kind]] = {
    "a value of other sizes": ((3,), (4,), "result"),
    "a value of the same size": ((3,), (2,), "result"),
    "a value of an unknown rank": ((3,), None, "result"),
    "a constant": ((3,), (3,), "constant"),
    "an inferred size that is unknown": ((None,), (3,), "result"),
}


@pytest.mark.parametrize(("told", "other", "kind"), APART.values(), ids=APART)
def test_a_value_that_gets_a_buffer_of_its_own_is_no_danger(
    told: Told, other: tuple[Size, ...] | None, kind: Kind
) -> None:
    graph, _ = beside(other, kind)
    found = claimed(graph, told)
    assert not found.crowded
    assert found.danger is None


def test_an_output_gets_a_buffer_of_its_own() -> None:
    graph, other = beside((3,))
    graph.outputs = {other}
    assert claimed(graph, (3,)).danger is None


def test_a_shape_that_is_not_surely_wrong_is_no_danger_of_the_file() -> None:
    graph, _ = beside((3,))
    found = LoadInference({graph: {"v": Claim("v", (3,), Shape((N,)))}}, {}, frozenset(), {})
    assert found.crowded
    assert found.danger is None


@pytest.mark.parametrize(("op", "dangerous"), [("If", True), ("Scan", True), ("Loop", False)])
def test_a_result_that_is_allocated_by_its_inferred_shape_is_a_danger(op: str, *, dangerous: bool) -> None:
    graph, _ = beside((4,), op=op)
    body, other = beside((4,))
    first = body.nodes[0].results[0]
    assert first is not None
    found = LoadInference({body: {"v": Claim("v", (3,), Shape((2,)))}}, {}, frozenset(), {(graph, 0): [body]})
    assert found.danger is None
    body.outputs = {first}
    wanted = f"onnx's inference at load takes [3] for 'v', which is [2]: the {op} allocates its result by it"
    assert found.danger == (wanted if dangerous else None)
    body.outputs = {other}
    assert found.danger is None
