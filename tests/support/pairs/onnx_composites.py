"""First files that one node does not make: bodies, functions, constants stored in every way, chains of shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper, parser

from tests.support.pairs.onnx_initializers import WEIGHTS
from tests.support.pairs.onnx_more_instances import array
from tests.support.pairs.onnx_run import Feeds
from tests.support.pairs.onnx_seeds import Seed, special

BODIES = {
    "If": """(float[N,3] x, bool c) => (float[N,3] y) <float[3] b = {1, 2, 3}> {
        t = Add (x, b)
        y = If (c) <then_branch = yes () => (float[N,3] r) { r = Relu (t) },
                    else_branch = no () => (float[N,3] q) <float[1] k = {2}> { s = Mul (t, k)  q = Neg (s) }>
    }""",
    "If of two results": """(float[N,3] x, bool c) => (y, z) {
        y, z = If (c) <then_branch = yes () => (float[N,3] r, float[N,3] u) { r = Relu (x)  u = Abs (x) },
                       else_branch = no () => (float[N,3] q, float[N,3] v) { q = Neg (x)  v = Exp (x) }>
    }""",
    "If decided": """(float[N,3] x) => (float[N,3] y) <bool c = {1}> {
        y = If (c) <then_branch = yes () => (float[N,3] r) { r = Relu (x) },
                    else_branch = no () => (float[N,3] q) { q = Neg (x) }>
    }""",
    "If in If": """(float[N,3] x, bool c, bool d) => (y) {
        y = If (c) <then_branch = yes () => (float[N,3] r) {
                r = If (d) <then_branch = a () => (float[N,3] e) { e = Relu (x) },
                            else_branch = b () => (float[N,3] f) { f = Abs (x) }> },
            else_branch = no () => (float[N,3] q) { q = Neg (x) }>
    }""",
    "Loop": """(float[3] x, int64 n) => (float[3] y, float[k,3] z) <bool go = {1}, float[1] one = {1}> {
        y, z = Loop (n, go, x) <body = body (int64 i, bool c, float[3] v) => (bool d, float[3] w, float[3] s) {
            d = Identity (c)  w = Add (v, one)  s = Mul (w, v) }>
    }""",
    "Loop that reads outside": """(float[2,3] x, int64 n) => (y) <bool go = {1}> {
        b = Relu (x)
        y = Loop (n, go, x) <body = body (int64 i, bool c, float[2,3] v) => (bool d, float[2,3] w) {
            d = Identity (c)  w = Add (v, b) }>
    }""",
    "Loop without a state": """(int64 n) => (z) <bool go = {1}> {
        z = Loop (n, go) <body = body (int64 i, bool c) => (bool d, int64 s) { d = Identity (c)  s = Add (i, i) }>
    }""",
    "Scan": """(float[3] s, float[4,3] x) => (y, z) {
        y, z = Scan <num_scan_inputs = 1, body = body (float[3] a, float[3] v) => (float[3] b, float[3] o) {
            b = Add (a, v)  o = Relu (b) }> (s, x)
    }""",
}
FUNCTIONS = {
    "function": """(float[N,3] x) => (float[N,3] y) { t = own.scaled <by = 2.0> (x)  y = own.scaled (t) }
        <domain: "own", opset_import: ["" : 17]> scaled <by: float = 0.5> (a) => (b) {
            k = Constant <value_float: float = @by> ()  b = Mul (a, k) }""",
    "function in a function": """(float[N,3] x) => (y) { y = own.outer (x) }
        <domain: "own", opset_import: ["" : 17]> inner (a) => (b) { b = Relu (a) }
        <domain: "own", opset_import: ["" : 17, "own" : 1]> outer (c) => (d) { e = own.inner (c)  d = Neg (e) }""",
    "function of two operands": """(float[2,3] x, float[3] z) => (y, w) { y, w = own.pair (x, z)  }
        <domain: "own", opset_import: ["" : 17]> pair (a, b) => (c, d) { c = Add (a, b)  d = Mul (a, b) }""",
    "function with an axis": """(float[2,3] x) => (y) { y = own.sum <on = 1> (x) }
        <domain: "own", opset_import: ["" : 11]> sum <on> (a) => (b) { b = Softmax <axis: int = @on> (a) }""",
    "function with a body": """(float[2,3] x, bool c) => (y) { y = own.choose (x, c) }
        <domain: "own", opset_import: ["" : 17]> choose (a, b) => (d) {
            d = If (b) <then_branch = yes () => (r) { r = Relu (a) }, else_branch = no () => (q) { q = Neg (a) }> }""",
}
CHAINS = {
    "two of a kind": "(float[N,3] x, float[M,3] z) => (y, w) { y = Relu (x)  w = Relu (z) }",
    "two inputs that meet": "(float[N,3] x, float[M,3] z) => (y) { y = Add (x, z) }",
    "expanded to a shape": "(float[N,3] x, float[3] b) => (y) { s = Shape (x)  e = Expand (b, s)  y = Add (x, e) }",
    "reshaped to its shape": """(float[N,4] x) => (y) <int64[1] i = {0}, int64[1] two = {2}> {
        s = Shape (x)  n = Gather (s, i)  t = Concat <axis = 0> (n, two, two)  y = Reshape (x, t) }""",
    "a size through casts": """(float[N,4] x) => (y) <int64[1] i = {0}, float[1] half = {0.5}> {
        s = Shape (x)  n = Gather (s, i)  f = Cast <to = 1> (n)  g = Mul (f, half)  h = Cast <to = 7> (g)
        y = ConstantOfShape (h) }""",
    "a size through bytes": """(float[N,4] x) => (y) <int64[1] i = {0}> {
        s = Shape (x)  n = Gather (s, i)  f = Cast <to = 2> (n)  h = Cast <to = 7> (f)  y = ConstantOfShape (h) }""",
    "sizes divided": """(float[N,4] x) => (y) <int64[1] i = {0}, int64[1] two = {2}, int64[1] one = {1}> {
        s = Shape (x)  n = Gather (s, i)  a = Add (n, one)  h = Div (a, two)  m = Mul (h, two)  y = Expand (x, m) }""",
    "sliced by a size": """(float[N,4] x, float[M,4] z) => (y) <int64[1] i = {0}, int64[1] zero = {0}> {
        s = Shape (z)  n = Gather (s, i)  y = Slice (x, zero, n, zero) }""",
    "a range over a size": """(float[N,4] x) => (y) <int64 zero = {0}, int64 one = {1}> {
        s = Shape (x)  n = Gather (s, zero)  y = Range (zero, n, one) }""",
    "a conditional size": """(float[N,4] x) => (y) <int64[1] i = {0}, int64[1] two = {2}> {
        s = Shape (x)  n = Gather (s, i)  c = Greater (n, two)  h = Where (c, n, two)  y = ConstantOfShape (h) }""",
    "pooled and read": """(float[1,2,W,5] x, float[1] b) => (y) {
        p = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)  y = Add (p, b) }""",
    "transposed convolution": """(float[1,2,W] x, float[2,1,3] w, float[1] b) => (y) {
        p = ConvTranspose <strides = [2], output_padding = [1]> (x, w)  y = Add (p, b) }""",
    "quantized": """(float[2,3] x) => (y) <float s = {0.5}, uint8 z = {3}, float[3] k = {1, 2, 3},
                                             int8[3] q = {1, 2, 3}> {
        a = QuantizeLinear (x, s, z)  b = DequantizeLinear (a, s, z)  w = DequantizeLinear <axis = 0> (q, k)
        y = Mul (b, w) }""",
    "squared": "(float[2,3] x) => (y) { y = Mul (x, x) }",
    "squared whole numbers": "(int32[2,3] x) => (y) { y = Mul (x, x) }",
    "a power": "(float[2,3] x) => (y) <float two = {2}> { y = Pow (x, two) }",
    "a normalization that is stretched": "(float[2,1] x, float[3] s) => (y) { y = LayerNormalization (x, s) }",
    "a PRelu that is stretched": "(float[1,3] x, float[2,3] s) => (y) { y = PRelu (x, s) }",
    "a value_info": "(float[N,3] x) => (y) <float[N,3] t> { t = Relu (x)  y = Neg (t) }",
    "a constant of a node": """(float[N,3] x) => (y) {
        k = Constant <value: tensor = float[3] {1, 2, 3}> ()  y = Add (x, k) }""",
    "nothing to do": "(float[N,3] x) => (y) { y = Identity (x) }",
    "a random number": "(float[2] x) => (y) { r = RandomNormalLike <seed = 1.0> (x)  z = Mul (r, x)  y = Sub (z, z) }",
    "strings": "(string[2] x) => (y) { y = Concat <axis = 0> (x, x) }",
    "a sequence": """(float[2,3] x, float[2,3] z) => (y) <int64 i = {1}> {
        s = SequenceConstruct (x, z)  y = SequenceAt (s, i) }""",
    "an optional": "(float[2,3] x) => (y) { o = Optional (x)  y = OptionalGetElement (o) }",
}
LATE = 17
VERSIONS = {"early": 11, "middle": 13, "": LATE, "new": 21}
"""Chains and bodies are declared at each of these operator sets where they run."""
SIZES = ({"N": 2, "M": 2, "W": 5}, {"N": 3, "M": 1, "W": 6}, {"N": 1, "M": 4, "W": 9}, {"N": 300, "M": 1, "W": 2})


def composites() -> Iterator[Seed]:
    """Every composite seed; whether it runs is for the judge to say."""
    for texts in (BODIES, CHAINS):
        for name, text in texts.items():
            for which, version in VERSIONS.items():
                yield seed(f"{name} {which}".strip(), _parsed(text, version))
    for name, text in FUNCTIONS.items():
        yield seed(name, _parsed(text, LATE, own=True))
    for name, model in stored().items():
        yield seed(name, model)


def _parsed(text: str, version: int, *, own: bool = False) -> ModelProto:
    imports = f'"" : {version}' + ', "own" : 1' * own
    return parser.parse_model(f"<ir_version: {10 if version > 20 else 8}, opset_import: [{imports}]> main {text}")


def seed(name: str, model: ModelProto) -> Seed:
    """A seed with inputs of several sizes."""
    feeds = [_feeds(model, sizes) for sizes in SIZES]
    return Seed(name, name, "onnxruntime", model.SerializeToString(), (*feeds, special(feeds[0])))


def _feeds(model: ModelProto, sizes: Mapping[str, int]) -> Feeds:
    held = {tensor.name for tensor in model.graph.initializer}
    return {value.name: _value(value, sizes) for value in model.graph.input if value.name not in held}


def _value(value: onnx.ValueInfoProto, sizes: Mapping[str, int]) -> np.ndarray:
    tensor = value.type.tensor_type
    dims = [sizes.get(dim.dim_param, 3) if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
    if tensor.elem_type == TensorProto.STRING:
        return np.resize(np.array(["a", "b"], object), dims)
    if tensor.elem_type == TensorProto.BOOL:
        return np.ones(dims, bool)
    return array(*dims, kind=str(helper.tensor_dtype_to_np_dtype(tensor.elem_type)))


def stored() -> Mapping[str, ModelProto]:
    """One small model, its constant stored in different ways."""
    values = np.arange(3, dtype=np.float32)
    whole = numpy_helper.from_array(values, "w")
    outside = TensorProto(name="w", data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": WEIGHTS, "offset": "0", "length": "12"}.items():
        outside.external_data.add(key=key, value=value)
    behind = TensorProto.FromString(outside.SerializeToString())
    behind.external_data[1].value = "16"
    typed = helper.make_tensor("w", 1, [3], values)
    half = numpy_helper.from_array(values.astype(np.float16), "w")
    four = helper.make_tensor("w", TensorProto.INT4, [3], [1, -2, 3])
    eight = helper.make_tensor("w", TensorProto.FLOAT8E4M3FN, [3], [1.0, -2.0, 3.0])
    text = helper.make_tensor("w", TensorProto.STRING, [3], [b"a", b"b", b"c"])
    sparse = SparseTensorProto(dims=[3])
    sparse.values.CopyFrom(numpy_helper.from_array(values[1:], "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([1, 2], np.int64)))
    models = {
        name: _adding([it]) for name, it in (("raw", whole), ("outside", outside), ("behind", behind), ("typed", typed))
    }
    models["in float16"] = _adding([half], TensorProto.FLOAT16)
    models["strings held"] = _reading(text)
    models["four bits"], models["eight bits"] = _dequantizing(four), _dequantizing(eight)
    models["sparse"] = _adding([])
    models["sparse"].graph.sparse_initializer.append(sparse)
    models["also an input"] = _adding([whole])
    models["also an input"].graph.input.append(helper.make_tensor_value_info("w", 1, [3]))
    models["of IR version 3"] = ModelProto.FromString(models["also an input"].SerializeToString())
    models["of IR version 3"].ir_version = 3
    models["unread"] = _adding([whole, numpy_helper.from_array(values, "v")])
    models["annotated"] = _adding([whole])
    models["annotated"].graph.quantization_annotation.add(
        tensor_name="x", quant_parameter_tensor_names=[onnx.StringStringEntryProto(key="SCALE_TENSOR", value="w")]
    )
    return models


def _adding(constants: Sequence[TensorProto], element: int = TensorProto.FLOAT) -> ModelProto:
    return _model([helper.make_node("Add", ["x", "w"], ["y"])], element, constants, 17)


def _reading(constant: TensorProto) -> ModelProto:
    nodes = [helper.make_node("Equal", ["w", "w"], ["e"]), helper.make_node("Where", ["e", "x", "x"], ["y"])]
    return _model(nodes, TensorProto.FLOAT, [constant], 21)


def _dequantizing(constant: TensorProto) -> ModelProto:
    nodes = [helper.make_node("DequantizeLinear", ["w", "scale"], ["d"]), helper.make_node("Add", ["x", "d"], ["y"])]
    return _model(nodes, TensorProto.FLOAT, [constant, numpy_helper.from_array(np.float32(0.5), "scale")], 21)


def _model(nodes: Sequence[onnx.NodeProto], element: int, constants: Sequence[TensorProto], version: int) -> ModelProto:
    ends = [[helper.make_tensor_value_info(name, element, ["N", 3])] for name in "xy"]
    graph = helper.make_graph(nodes, "main", *ends, initializer=constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10, producer_name="")
