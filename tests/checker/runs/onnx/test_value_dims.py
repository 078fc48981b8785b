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
        ("z, y = Constant<value = float[2,3] {1,2,3,4,5,6}>()", None),
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


RELU = "(float[2] x) => (float[2] y)"


def calling(nodes: str, *functions: tuple[str, str]) -> onnx.ModelProto:
    """A model whose functions stand in the given order."""
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "own" : 1]> g {RELU} {{ {nodes} }}')
    for name, body in functions:
        text = f'<domain: "own", opset_import: ["" : 17, "own" : 1]> {name} (a) => (b) {{ {body} }}'
        proto.functions.append(parser.parse_function(text))
    return proto


def growing(depth: int, order: int, nodes: str | None = None, *more: tuple[str, str]) -> onnx.ModelProto:
    """Functions of which the last has 2^(depth + 1) - 2 nodes."""
    bodies = [f"c = own.f{at - 1}(a) b = own.f{at - 1}(c)" if at else "c = Relu(a) b = Relu(c)" for at in range(depth)]
    functions = [(f"f{at}", body) for at, body in enumerate(bodies)]
    return calling(nodes or f"y = own.f{depth - 1}(x)", *functions[::order], *more)


@pytest.mark.parametrize("order", [1, -1], ids=["the called first", "the called last"])
def test_a_function_is_counted_with_what_it_calls_wherever_that_stands(order: int) -> None:
    said = "not run: 2097150 nodes of functions would be inlined; --proof-only proves"
    assert work_fault([growing(20, order)], thorough=True) == said
    assert work_fault([calling("y = Relu(x)"), growing(20, order)], thorough=False) == said


IN_A_BRANCH = """c = Constant<value = bool {{1}}>()
    y = If(c) <then_branch = t () => (float[2] p) {{ p = {0}(x) }},
        else_branch = e () => (float[2] q) {{ q = {0}(x) }}>"""


@pytest.mark.parametrize(
    ("nodes", "more", "count"),
    [
        pytest.param("t = own.f18(x) u = own.one(t) y = own.one(u)", "", 0, id="as many as allowed"),
        pytest.param("t = own.f18(x) u = own.one(t) v = own.one(u) y = own.one(v)", "", (1 << 20) + 1, id="one more"),
        pytest.param("t = own.f18(x) u = own.f18(t) y = Relu(u)", "", (1 << 21) - 4, id="called twice"),
        pytest.param(IN_A_BRANCH.format("own.f18"), "", (1 << 21) - 4, id="called in branches"),
        # If, its operand and the nodes of both branches, and what these call
        pytest.param("y = own.inner(x)", IN_A_BRANCH.format("own.f18"), 4 + (1 << 21) - 4, id="in branches of one"),
        pytest.param("y = other.f18(x)", "", 0, id="the name in another domain"),
        pytest.param("y = Relu(x)", "", 0, id="not called"),
        pytest.param("y = own.self(x)", "", 0, id="one that calls itself, and one that is not there"),
    ],
)
def test_the_nodes_of_called_functions_are_counted(nodes: str, more: str, count: int) -> None:
    inner = more.replace("y = If", "b = If").replace("(x)", "(a)")
    own = ("one", "b = Relu(a)"), ("self", "c = own.self(a) b = own.nowhere(c)")
    proto = growing(19, 1, nodes, *own, *([("inner", inner)] if inner else []))
    found = work_fault([proto], thorough=True)
    assert found == (f"not run: {count} nodes of functions would be inlined; --proof-only proves" if count else None)


TURN = "(int64 t, bool go, float[2] v) => (bool on, float[2] w) { on = Identity(go) w = Relu(v) }"
MUCH = 1 << 22


@pytest.mark.parametrize(
    ("nodes", "count"),
    [
        pytest.param(f"u = Loop<body = b {TURN}>(most, , x) y = Relu(u)", 0, id="as many as allowed"),
        pytest.param(f"u = Loop<body = b {TURN}>(most, , x) t = Relu(u) y = Relu(t)", MUCH + 1, id="one more"),
        pytest.param(
            f"u = Loop<body = b {TURN}>(less, , x) y = Loop<body = d {TURN}>(much, , u)", 2 * MUCH + 2,
            id="beside a count below 0"),
        pytest.param(f"y = Loop<body = b {TURN}>(much, , x)", 2 * MUCH + 1, id="a count in a vector"),
        pytest.param(f"y = Loop<body = b {TURN}>(much)", 2 * MUCH + 1, id="no other operand"),
        pytest.param(f"y = Loop<body = b {TURN}>(two, , x)", 0, id="two counts"),
        pytest.param(f"y = Loop<body = b {TURN}>(short, , x)", 0, id="a count of 32 bits"),
        pytest.param(f"y = Loop<body = b {TURN}>(absent, , x)", 0, id="a count that nothing makes"),
        pytest.param(
            f"n = Constant<value = int64 {{{MUCH}}}>() y = Loop<body = b {TURN}>(n, , x)", 2 * MUCH + 2,
            id="a count of a node"),
        pytest.param(
            f"n = Constant<value_int = {MUCH}>() y = Loop<body = b {TURN}>(n, , x)", 0, id="a count of another form"),
        pytest.param(f"n = Relu<value = int64 {{{MUCH}}}>(x) y = Loop<body = b {TURN}>(n, , x)", 0, id="no constant"),
        pytest.param(
            f"y = If(c) <then_branch = t () => (float[2] p) {{ p = Loop<body = b {TURN}>(much, , x) }},"
            f" else_branch = e () => (float[2] q) {{ q = Loop<body = d {TURN}>(much, , x) }}>", 4 * MUCH + 3,
            id="in branches"),
        pytest.param(
            f"y = If(c) <then_branch = t () => (float[2] p) {{ much = Constant<value = int64 {{1}}>()"
            f" p = Loop<body = b {TURN}>(much, , x) }}, else_branch = e () => (float[2] q) {{ q = Relu(x) }}>", 0,
            id="in a branch with a constant of the same name"),
        pytest.param(
            f"y = Scan<num_scan_inputs = 1, body = b {TURN}>(much, , x)", 0, id="another operator with a body"),
        pytest.param("y = Loop<body = b () => (bool on) { on = Relu(c) }>(much, , x)", 0, id="a body without inputs"),
        pytest.param("y = Loop<body = b (int64 t) => (bool on) { on = Relu(c) }>(much, , x)", 0, id="a count alone"),
        pytest.param("y = Loop<body = b (int64 t, bool go) => () { w = Relu(x) }>(much, , x)", 0, id="no result"),
        pytest.param(
            "y = Loop<body = b (int64 t, bool go) => (bool go) { w = Relu(x) }>(much, , x)", MUCH + 1,
            id="a condition that is passed on as it is"),
        pytest.param(
            "y = Loop<body = b (int64 t, bool go) => (bool on) { on = Not(go) }>(much, , x)", 0,
            id="a condition that is computed"),
        pytest.param("y = Loop(much, , x)", 0, id="no body"),
        pytest.param(f"y = Loop<turn = b {TURN}>(much, , x)", 0, id="a body of another name"),
        pytest.param(f"y = Loop<body = b {TURN}>()", 0, id="no operand"),
    ],
)  # fmt: skip
def test_the_nodes_that_loops_execute_are_counted(nodes: str, count: int) -> None:
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {RELU} {{ {nodes} }}')
    numbers = {
        "most": np.int64((1 << 21) - 1), "much": np.int64([MUCH]), "less": np.int64(-9), "two": np.int64([MUCH, MUCH]),
        "short": np.int32(MUCH), "c": np.bool_(True),
    }  # fmt: skip
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in numbers.items())
    found = work_fault([proto], thorough=False)
    assert found == (f"not run: the loops execute {count} nodes; --thorough runs them all the same" if count else None)
    assert work_fault([proto], thorough=True) is None
