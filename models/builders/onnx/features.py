"""Small models, each with one feature of ONNX files that a rewrite can trip over."""

from __future__ import annotations

import numpy as np
import onnx

from models.builders.onnx.cases import Case, case

_LEGACY = (
    case(
        "legacy/axis",
        "no kernel",
        "opset 6: Add with broadcast=1 and axis=1, [3,4] under axes 1 and 2 of [2,3,4,5]",
        """main (float[2,3,4,5] x, float[3,4] b) => (float[2,3,4,5] y) {
            [add] y = Add <broadcast=1, axis=1> (x, b) }""",
        opset=6,
        ir=3,
    ),
    case(
        "legacy/suffix",
        "no kernel",
        "opset 6: broadcast=1 without an axis (a suffix), a one-element operand, Pow",
        """main (float[2,3,4] x, float[3,4] b, float[1] s = {2.0}) => (float[2,3,4] z) {
            y = Mul <broadcast=1> (x, b) w = Div <broadcast=1> (y, s) z = Pow <broadcast=1> (w, s) }""",
        opset=6,
        ir=3,
    ),
    case(
        "legacy/comparison",
        "no kernel",
        "opset 6: Greater and And on axis 0",
        """main (float[2,3] x, float[2] b, bool[2] m) => (bool[2,3] z) {
            y = Greater <broadcast=1, axis=0> (x, b) z = And <broadcast=1, axis=0> (y, m) }""",
        opset=6,
        ir=3,
    ),
    case(
        "legacy/prelu",
        "no kernel",
        "opset 6: the slope [3] of PRelu follows axis 1 although the last axis has 3 as well",
        """main (float[2,3,4,3] x, float[3] slope = {0.25, 0.5, 0.75}) => (float[2,3,4,3] y) {
            y = PRelu(x, slope) }""",
        opset=6,
        ir=3,
    ),
    case(
        "legacy/ir_version_3",
        "sound",
        "IR version 3: every initializer has to be an input too",
        """main (float[2,3,4] x, float[4] b = {1.0, 2.0, 3.0, 4.0}, float[1] s = {0.5}) => (float[2,3,4] z) {
            y = Add(x, b) z = Mul(s, y) }""",
        opset=8,
        ir=3,
    ),
    case(
        "legacy/opset_7",
        "sound",
        "opset 7 broadcasts as numpy does and has no Expand",
        """main (float[2,3,4] x, float[3,1] b, float[N,4] c) => (float[2,3,4] z) {
            y = Add(x, b) z = Mul(y, c) }""",
        opset=7,
        ir=3,
    ),
)

_CONSTANTS = (
    case(
        "constants/initializer_input",
        "sound",
        "an initializer that is also an input may be overridden at run time",
        "main (float[N,3] x, float[3] b = {1.0, 2.0, 3.0}) => (float[N,3] y) { y = Add(x, b) }",
    ),
    case(
        "constants/shared",
        "sound",
        "one initializer and one Constant read at three ranks, by a per-axis operand, and as an output",
        """main (float[2,3] x, float[2,2,3] y, float[2,2,2,3] z, float[2,3,4,4] v) =>
        (float[2,3] o0, float[2,2,3] o1, float[2,2,2,3] o2, float[2,3,4,4] o3, float[3] o4)
        <float[3] b = {1.0, 2.0, 3.0}, float[3,3,1,1] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0}> {
            half = Constant <value_float: float = 0.5> ()
            a0 = Add(x, b) a1 = Add(y, b) a2 = Add(b, z)
            o0 = Mul(a0, half) o1 = Mul(a1, half) o2 = Mul(half, a2) o3 = Conv(v, w, b) o4 = Identity(b) }""",
    ),
    case(
        "quantized/qdq",
        "sound",
        "a quantized Add with a constant quantized per tensor and one per axis",
        """main (float[1,4,2,3] x) => (float[1,4,2,3] y)
        <float s = {0.05}, uint8 z = {128}, int8[3] q = {-7, 0, 7}, float t = {0.1}, int8 u = {0},
         int8[4,1,1] c = {1, 2, 3, 4}, float[4] cs = {0.1, 0.2, 0.3, 0.4}, int8[4] cz = {0, 0, 0, 0}> {
            xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) qd = DequantizeLinear(q, t, u)
            sum = Add(xd, qd) sumq = QuantizeLinear(sum, s, z) sumd = DequantizeLinear(sumq, s, z)
            cd = DequantizeLinear <axis: int = 0> (c, cs, cz) m = Mul(sumd, cd)
            yq = QuantizeLinear(m, s, z) y = DequantizeLinear(yq, s, z) }""",
    ),
    case(
        "quantized/qlinear_add",
        "sound",
        "com.microsoft's QLinearAdd: its operands broadcast, its scales do not",
        """main (uint8[2,3,4] a, uint8[4] b) => (uint8[2,3,4] y)
        <float s = {0.5}, uint8 z = {3}> { y = com.microsoft.QLinearAdd(a, s, z, b, s, z, s, z) }""",
    ),
    case(
        "operators/pow_exponent",
        "sound",
        "a one-element exponent of Pow, which is better left as it is",
        """main (float[N,3] x) => (float[N,3] z) <float two = {2.0}, float[1] three = {3.0}> {
            y = Pow(x, two) z = Pow(y, three) }""",
    ),
    case(
        "operators/bfloat16",
        "no kernel",
        "an element type that only onnx's reference evaluator computes",
        "main (bfloat16[2,3] x, bfloat16[3] b) => (bfloat16[2,3] y) { y = Add(x, b) }",
    ),
)

_SHAPES = (
    case(
        "shapes/zero_sizes",
        "sound",
        "size 0 against size 1",
        "main (float[0,3] x, float[1,3] b, float[3] c) => (float[0,3] z) { y = Add(x, b) z = Mul(y, c) }",
    ),
    case(
        "shapes/computed_reshape",
        "sound",
        "Reshape to a shape of unknown length: the rank of what follows is not known",
        """main (float[N] x, int64[?] to, float[3] b) => (float[?] z) <int64[1] flat = {-1}> {
            r = Reshape(x, to) y = Add(r, b) z = Reshape(y, flat) }""",
    ),
    case(
        "explicit/expand_forms",
        "sound",
        "Expands and Tiles of every kind: rank-changing, no-op, two-directional, static repeats",
        """main (float[4] x, float[2,3,4] y, float[3,1] v) =>
        (float[2,3,4] o0, float[2,3,4] o1, float[3,4] o2, float[2,3,4] o3, float[2,3,4] o4)
        <int64[3] full = {2, 3, 4}, int64[2] row = {1, 4}, int64[3] repeats = {2, 3, 1},
         int64[3] unit = {1, 1, 4}> {
            e0 = Expand(x, full) o0 = Add(e0, y) e1 = Expand(y, full) o1 = Mul(e1, x)
            o2 = Expand(v, row) u = Reshape(x, unit) t = Tile(u, repeats) o3 = Sub(y, t) o4 = Add(y, u) }""",
    ),
    case(
        "explicit/run_time_form",
        "sound",
        "unknown sizes already expanded by each other's Shape: nothing is left to do",
        """main (float[N,4] a, float[M,4] b) => (float[?,4] y) {
            sa = Shape(a) sb = Shape(b) ea = Expand(a, sb) eb = Expand(b, sa) y = Add(ea, eb) }""",
    ),
    case(
        "operators/n_ary",
        "sound",
        "Sum, Mean, Max and Min of three operands of different ranks",
        """main (float[N,3,4] x, float[4] b, float[3,1] c) => (float[N,3,4] y) {
            s = Sum(x, b, c) m = Mean(c, s, b) h = Max(b, c, m) y = Min(h, x, c) }""",
    ),
    case(
        "operators/where_mask",
        "sound",
        "Where with a mask of one column, a scalar and a symbolic batch",
        """main (bool[N,1] m, float[N,4] x) => (float[N,4] y) <float low = {-10000.0}> {
            y = Where(m, x, low) }""",
    ),
    case(
        "matmul",
        "sound",
        "MatMul: batch axes that broadcast, a constant weight, 1-D operands, Gemm's C",
        """main (float[B,1,2,3] x, float[4,3,5] y, float[3] v) =>
        (float[B,4,2,5] o0, float[B,1,2,2] o1, float[B,1,2] o2, float[2,2] o3)
        <float[3,2] w = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, float[2,3] g = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0},
         float[2] c = {0.5, 0.25}> {
            o0 = MatMul(x, y) o1 = MatMul(x, w) o2 = MatMul(x, v) o3 = Gemm(g, w, c) }""",
    ),
    case(
        "operators/normalization",
        "sound",
        "LayerNormalization, BatchNormalization: parameters not to be touched; PRelu: a slope that is",
        """main (float[N,3,4] x) => (float[N,3,4] z)
        <float[4] s = {1.0, 2.0, 3.0, 4.0}, float[4] b = {0.1, 0.2, 0.3, 0.4}, float[3] p = {1.0, 1.5, 2.0},
         float[3,1] slope = {0.1, 0.2, 0.3}> {
            y = LayerNormalization(x, s, b) n = BatchNormalization(y, p, p, p, p) z = PRelu(n, slope) }""",
    ),
    case(
        "operators/random_output",
        "random",
        "an output that differs from run to run",
        """main (float[2,3] x, float[3] b) => (float[2,3] y, float[2,3] z) {
            y = Add(x, b) n = RandomNormalLike(y) z = Mul(n, b) }""",
    ),
)


def _unknown_markers() -> Case:
    """Write dims as Paddle's converter does: -1, and the name "?"."""
    made = case(
        "shapes/unknown_markers",
        "sound",
        "unknown dims written as -1 and as the name ?",
        "main (float[N,3] x, float[N,3] b) => (float[N,3] y) { y = Add(x, b) }",
    )
    x, b = made.model.graph.input
    (y,) = made.model.graph.output
    x.type.tensor_type.shape.dim[0].dim_value = -1
    for value in (b, y):
        value.type.tensor_type.shape.dim[0].dim_param = "?"
    return made


def _annotations() -> Case:
    """Hold what has to survive beside the graph: metadata, doc strings, a quantization annotation."""
    made = case(
        "files/annotations",
        "sound",
        "metadata, doc strings, stored shapes and a quantization annotation that names an operand",
        """main (float[2,3] x) => (float[2,3] z)
        <float[3] b = {1.0, 2.0, 3.0}, float b_scale = {0.1}, float[2,3] y> {
            [shift] y = Add(x, b) [gain] z = Mul(y, b_scale) }""",
    )
    onnx.helper.set_model_props(made.model, {"author": "graphfix", "stride": "32"})
    made.model.doc_string = "what a tool must keep"
    made.model.graph.node[0].doc_string = "adds a bias"
    note = made.model.graph.quantization_annotation.add(tensor_name="b")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="b_scale")
    return made


def _sparse_constant() -> Case:
    """Write the operand [4] as a sparse initializer with two entries."""
    made = case(
        "constants/sparse",
        "unchecked",
        "a sparse initializer as the operand of lower rank",
        "main (float[2,4] x) => (float[2,4] y) { y = Add(x, b) }",
    )
    values = onnx.numpy_helper.from_array(np.array([1.5, -2.0], np.float32), "b")
    indices = onnx.numpy_helper.from_array(np.array([1, 3], np.int64), "b_indices")
    made.model.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [4]))
    return made


def feature_cases() -> list[Case]:
    """Build every model of this module."""
    return [*_LEGACY, *_CONSTANTS, *_SHAPES, _unknown_markers(), _annotations(), _sparse_constant()]
