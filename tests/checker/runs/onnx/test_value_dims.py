"""The dims of inner values that follow from those of the inputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from graphfix.checker.runs.onnx.value_dims import value_dims
from graphfix.checker.runs.onnx.work import work_fault

HEADER = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
INPUTS = "float[N,4,6] x, float[N,1,6] a, float[M,6] b, float[6] c, int64[K,2] i, int64 n, float[N,?] u, float[?,S] p"


def model(nodes: str, more: str = "", **weights: object) -> onnx.ModelProto:
    proto = parser.parse_model(f"{HEADER} g ({INPUTS}) => (float[R,4] stored) <{more}> {{ {nodes} }}")
    for name, value in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return proto


WEIGHTS = {
    "w": np.zeros((6, 8), np.float32), "w3": np.zeros((2, 3, 6, 8), np.float32), "one": np.int64([1]),
    "codes": np.zeros((9, 8), np.uint8), "scales": np.zeros((9, 2), np.float32), "few": np.zeros((9,), np.float32),
    "shape": np.int64([0, -1, 3]), "long": np.int64([2, 3, 4, 0]), "square": np.int64([[1, 2]]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("y = Relu(x)", ("N", 4, 6)),
        ("y = Softmax(u)", ("N", "u[1]")),
        ("y, z = Dropout(x)", ("N", 4, 6)),
        ("z, y = Dropout(x)", None),
        ("q, r, t, y = com.microsoft.SkipLayerNormalization(x, x, c)", ("N", 4, 6)),
        ("q, r, y = com.microsoft.SkipLayerNormalization(x, x, c)", None),
        ("y = com.microsoft.FastGelu(x, c)", ("N", 4, 6)),
        ("y = Relu(unknown)", None),
        # broadcasts
        ("y = Add(x, a)", ("N", 4, 6)),
        ("y = Add(a, x)", ("N", 4, 6)),
        ("y = Mul(c, x)", ("N", 4, 6)),
        ("y = Add(a, b)", ("N", "M", 6)),
        ("y = Add(x, b)", ("N", 4, 6)),
        ("y = Add(u, b)", (None, 6)),
        ("y = Sum(x, a, c)", ("N", 4, 6)),
        ("y = Add(x, unknown)", None),
        ("y = Add(one, one)", (1,)),
        ("y = Add(p, b)", (None, 6)),
        # products
        ("y = MatMul(x, w)", ("N", 4, 8)),
        ("y = com.microsoft.FusedMatMul(x, w)", ("N", 4, 8)),
        ("y = MatMul(x, w3)", None),
        ("y = MatMul(x, c)", None),
        ("y = MatMul(c, w)", None),
        ("y = MatMul(b, w)", ("M", 8)),
        ("y = MatMul(x, unknown)", None),
        ("y = com.microsoft.MatMulNBits<K = 6, N = 12>(x, w, w)", ("N", 4, 12)),
        ("y = com.microsoft.MatMulBnb4<K = 6>(x, w, w)", ("N", 4, None)),
        # gathers
        ("y = Gather(x, i)", ("K", 2, 4, 6)),
        ("y = Gather<axis = 1>(x, i)", ("N", "K", 2, 6)),
        ("y = Gather<axis = -1>(x, n)", ("N", 4)),
        ("y = Gather<axis = -3>(x, n)", (4, 6)),
        ("y = Gather<axis = 3>(x, n)", None),
        ("y = Gather<axis = -4>(x, n)", None),
        ("y = Gather(x, unknown)", None),
        ("y = com.microsoft.GatherBlockQuantized<block_size = 16>(codes, i, scales)", ("K", 2, 32)),
        ("y = com.microsoft.GatherBlockQuantized(codes, i, scales)", ("K", 2, 256)),
        ("y = com.microsoft.GatherBlockQuantized<quantize_axis = -1, block_size = 16>(codes, i, scales)", ("K", 2, 32)),
        ("y = com.microsoft.GatherBlockQuantized<gather_axis = 1>(codes, i, scales)", None),
        ("y = com.microsoft.GatherBlockQuantized(codes, i, few)", None),
        ("y = com.microsoft.GatherBlockQuantized(codes, unknown, scales)", None),
        ("y = com.microsoft.GatherBlockQuantized(codes, i, u)", ("K", 2, None)),
        # other shapes
        ("y = Reshape(x, shape)", ("N", None, 3)),
        ("y = Reshape(x, long)", (2, 3, 4, None)),
        ("y = Reshape(x, i)", None),
        ("y = Reshape(x, square)", None),
        ("y = Transpose<perm = [2, 0, 1]>(x)", (6, "N", 4)),
        ("y = Transpose(x)", (6, 4, "N")),
        ("y = Transpose<perm = [0, 1]>(x)", None),
        ("y = Constant<value = float[2,3] {1,2,3,4,5,6}>()", (2, 3)),
        ("y = com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1>(x, , , b, b)", ("N", 4, 2)),
        ("y = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 1>(x, , , b, b)", ("N", 4, 4)),
        ("y = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 1>(x, x, x)", ("N", 4, 6)),
        ("y = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 1>(u, , , b, b)", ("N", "u[1]")),
        ("y, z = Split<axis = 0>(x)", None),
    ],
)  # fmt: skip
def test_a_result_has_the_dims_that_follow(nodes: str, expected: tuple[object, ...] | None) -> None:
    assert value_dims(model(nodes, **WEIGHTS)).dims.get("y") == expected


LIKE_FIRST = """SimplifiedLayerNormalization SkipSimplifiedLayerNormalization SkipLayerNormalization LayerNormalization
    RMSNormalization RotaryEmbedding BiasGelu FastGelu QuickGelu Gelu QuantizeLinear DequantizeLinear
    DynamicQuantizeLinear Softmax Clip Dropout Relu Cast"""


def test_results_of_normalizations_activations_and_the_like_have_the_dims_of_the_first_operand() -> None:
    nodes = " ".join(f"y{at} = {op}(x, a)" for at, op in enumerate(LIKE_FIRST.split()))
    dims = value_dims(model(nodes)).dims
    assert {op: dims.get(f"y{at}") for at, op in enumerate(LIKE_FIRST.split())} == dict.fromkeys(
        LIKE_FIRST.split(), ("N", 4, 6)
    )


def test_dims_that_no_rule_knows_are_those_of_the_file() -> None:
    proto = model("stored = Unknown(x) y = Reshape(x, shape) z = Reshape(x, shape)", shape=np.int64([0, -1]))
    proto.graph.value_info.append(helper.make_tensor_value_info("y", 1, ["Q", "P"]))
    proto.graph.value_info.append(helper.make_tensor_value_info("z", 1, ["Q", "P", 3]))
    found = value_dims(proto)
    assert [found.dims[name] for name in ("stored", "y", "z")] == [("R", 4), ("N", "P"), ("N", None)]
    assert [found.dim("y", axis) for axis in (0, 1, 2, -1, -2, -3)] == ["N", "P", None, "P", "N", None]
    assert found.dim("nothing", 0) is None


def test_an_input_with_a_default_has_the_dims_of_the_default() -> None:
    assert value_dims(model("y = Relu(u)", u=np.zeros((2, 3), np.float32))).dims["y"] == (2, 3)


NUMBER = "s = Shape(x) "


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (NUMBER + "y = Gather(s, at)", 4),
        (NUMBER + "y = Gather(s, first)", "N"),
        (NUMBER + "g = Gather(s, at) q = Unsqueeze(g, axes) y = Cast<to = 6>(q)", 4),
        (NUMBER + "g = Gather(s, at) q = Reshape(g, axes) r = Identity(q) y = Squeeze(r)", 4),
        (NUMBER + "y = Gather(s, two)", None),
        (NUMBER + "y = Gather(s, n)", None),
        (NUMBER + "y = Add(s, at)", None),
        ("s = Shape<start = 1>(x) y = Gather(s, at)", None),
        ("s = Relu(i) y = Gather(s, at)", None),
        ("y = Gather(i, at)", None),
        ("y = Identity(at)", 1),
        ("y = Identity(two)", None),
        ("y = Identity(half)", None),
        ("y = Identity(n)", None),
        ("y = Relu(n)", None),
    ],
)
def test_a_number_is_a_constant_or_an_element_of_a_shape(nodes: str, expected: int | str | None) -> None:
    proto = model(
        nodes, at=np.int64([1]), first=np.int64(0), axes=np.int64([0]), two=np.int64([0, 1]), half=np.float32(0.5)
    )
    assert value_dims(proto).number("y") == expected


# --- models that ask for too much work --------------------------------------------------------------------------------

BODY = "(int64 t, bool go, float[2] v) => (bool on, float[2] w) {{ on = Identity({ended}) {nodes} }}"


def looped(times: str = "times", after: str = "", ended: str = "go", inner: str = "w = Relu(v)") -> onnx.ModelProto:
    body = BODY.format(ended=ended, nodes=inner)
    text = f"g (float[2] x, int64[1] free) => (float[2] y) {{ y = Loop<body = b {body}>({times}, {after}, x) }}"
    proto = parser.parse_model(f"{HEADER} {text}")
    proto.graph.initializer.append(numpy_helper.from_array(np.int64(1 << 21), "times"))
    proto.graph.initializer.append(numpy_helper.from_array(np.bool_(True), "yes"))
    return proto


AGAIN = (
    "w = Loop<body = c (int64 a, bool b, float[2] d) => (bool e, float[2] f) { e = Identity(b) f = Relu(d) }>(k, , v)"
)


@pytest.mark.parametrize(
    ("proto", "runs"),
    [
        pytest.param(looped(), (1 << 22) + 1, id="a loop"),
        pytest.param(looped(times="free"), 0, id="a count that is an input"),
        pytest.param(looped(after="yes"), 0, id="a condition before it"),
        pytest.param(looped(ended="yes"), 0, id="a condition of its own"),
        pytest.param(looped(times=""), 0, id="no count"),
    ],
)
def test_loops_that_execute_too_many_nodes_are_not_run(proto: onnx.ModelProto, runs: int) -> None:
    found = work_fault([model("y = Relu(x)"), proto], thorough=False)
    assert found == (f"not run: the loops execute {runs} nodes; --thorough runs them all the same" if runs else None)
    assert work_fault([proto], thorough=True) is None


def test_loops_in_each_other_multiply_and_the_limit_itself_is_run() -> None:
    inner = "k = Constant<value = int64 {2000}>() " + AGAIN
    proto = looped(inner=inner)
    for times, is_run in ((1000, True), (2000, False)):
        proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.int64([times]), "times"))
        found = work_fault([proto], thorough=False)
        assert (found is None) == is_run
    assert f"execute {1 + 2000 * (3 + 2000 * 2)} nodes" in str(found)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.int64(-5), "times"))
    assert work_fault([proto], thorough=False) is None


def test_functions_that_call_each_other_are_counted_as_they_are_inlined() -> None:
    def doubling(depth: int) -> onnx.ModelProto:
        own = helper.make_opsetid("own", 1)
        functions = [
            helper.make_function(
                "own", f"f{at}", ["a"], ["c"],
                [
                    helper.make_node(f"f{at - 1}" if at else "Relu", [each], [made], domain="own" if at else "")
                    for each, made in (("a", "b"), ("b", "c"))
                ],
                [helper.make_opsetid("", 17), own],
            )
            for at in range(depth)
        ]  # fmt: skip
        proto = model(f"y = own.f{depth - 1}(x)")
        proto.functions.extend(functions[::-1])
        return proto

    assert work_fault([doubling(18)], thorough=True) is None
    # f0 has 2 nodes, and each further one 2 calls and twice the nodes of the one before: 2^(depth + 1) - 2
    assert work_fault([doubling(20)], thorough=True) == (
        "not run: 2097150 nodes of functions would be inlined; --proof-only proves"
    )
    assert work_fault([doubling(19)], thorough=True) is None
