"""Models that the fuzz found to come out wrong once, each as small as it still did."""

from __future__ import annotations

import onnx
from onnx import TensorProto

from tests.support.fuzz.onnx.graph_builder import Axis, Draft

ONCE_WRONG = {
    "an assumption is stated in words that a second run repeats": """
        <ir_version: 8, opset_import: ["": 17]>
        g (bool[3,N,M] x) => (float[3,N,0] y) <float[0] c = {}> { [w] y = Where (x, c, c) }
    """,
    "a Gemm's C keeps a size that is not known under a stated Expand": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[3,2] a, float[1,3] b, float[1,N] c) => (float[2,1] y)
            { [m] y = Gemm <transA = 1, transB = 1> (a, b, c) }
    """,
    "a Gemm's C keeps a size that is known under a computed Expand": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[2,2] a, float[N,2] b, float[1,3] c) => (float[2,N] y) { [m] y = Gemm <transB = 1> (a, b, c) }
    """,
    "a Tile by ones tells the size that its result has": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[2,N] x, float z) => (float[2,N] y) <int64[2] once = {1, 1}>
            { [t] a = Tile (x, once) [m] y = Mean (z, a) }
    """,
    "integers pass the full check before opset 9 and IR version 4": """
        <ir_version: 3, opset_import: ["": 8]>
        g (float[2,3] x, float[3] b, float[1,3] c) => (float[2,3] y) { [p] a = Add (x, b) [q] y = Mul (a, c) }
    """,
    "three operands have one name together where one has no rank": """
        <ir_version: 8, opset_import: ["": 17]>
        g (bool[2,2,1] c, float[] x, float[1,2,1] z) => (float[] y) { [w] y = Where (c, x, z) }
    """,
    "the shapes of two axes are one broadcast in any order where a rank is not known": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[2,1] a, float[] x, float[1,3] b) => (float[] y) { [s] y = Sum (a, x, b) }
    """,
    "a slope without a rank is stretched": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[1,2,2] x, float[] s) => (float[1,2,2] y) { [p] y = PRelu (x, s) }
    """,
    "an Expand that may fail when the model runs stays": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[3,2] x, float[N,2] z) => (float[3,2] y) { [s] k = Shape (z) [e] a = Expand (x, k) [n] y = Neg (a) }
    """,
    "an Expand that only adds axes goes in the first run": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float x, float[1] z) => (float[1] y) { [s] k = Shape (z) [e] a = Expand (x, k) [n] y = Neg (a) }
    """,
    "a scalar beside an operand without a rank is lifted, not expanded to its own shape": """
        <ir_version: 8, opset_import: ["": 17]>
        g (float x, float[1] z, float[] u) => (float[] y) { [m] y = Max (z, x, u) }
    """,
    "a value that is restated twice states its last shape": """
        <ir_version: 8, opset_import: ["": 17]>
        g (bool[1,2] c) => (float[1,2] y)
        <int8 q = {2}, int8 zero = {0}, float scale = {0.5}, float z = {3}, float d>
        { [k] d = DequantizeLinear (q, scale, zero) [w] y = Where (c, d, z) }
    """,
    "branches of an If keep their own sizes before opset 11": """
        <ir_version: 8, opset_import: ["": 10]>
        g (bool c, float[N] x, float[2] z) => (float[M] y) {
            [i] a = If (c) <then_branch = one () => (float[] p) { [p1] p = Add (x, x) },
                            else_branch = two () => (float[] q) { [q1] q = Add (x, z) }>
            [s] y = Sub (a, x)
        }
    """,
}
"""What must hold -> the model."""

KINDS = {TensorProto.FLOAT: "float32", TensorProto.INT64: "int64", TensorProto.BOOL: "bool"}


def written(text: str) -> Draft:
    """The model of a text; `float[]` is a value that states no shape, made with [1,2]; symbols are made with 2."""
    model = onnx.parser.parse_model(text)
    inputs: dict[str, tuple[tuple[Axis, ...], str]] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        axes = tuple(dim.dim_param or dim.dim_value for dim in tensor.shape.dim)
        inputs[value.name] = (axes if tensor.HasField("shape") else (1, 2), KINDS[tensor.elem_type])
    return Draft(model, inputs, {"N": 2, "M": 2})
