"""Sites beside values that onnx infers wrongly at load: left with the reason, and made explicit beside equal twins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import graphfix
from graphfix.formats.onnx.load_inference import inferred_shapes, wrong_shapes
from graphfix.formats.onnx.load_inference.wrong_shapes import Claim
from graphfix.formats.onnx.view import Views
from graphfix.graph.view import Graph, Kind, Node, Value
from graphfix.runtimes.onnx.shape_inference import InferenceError
from graphfix.shapes.dim import Shape, symbol
from tests.support.notation import parsed
from tests.support.places import MODELS

POOLS = [
    (op, size, kernel, pads, strides)
    for op in ("MaxPool", "AveragePool", "LpPool")
    for size, kernel, pads, strides in [
        (5, 3, 1, 3),
        (8, 3, 1, 3),
        (11, 3, 1, 3),
        (3, 2, 1, 2),
        (9, 4, 2, 4),
        (5, 2, 1, 2),
    ]
]
"""Pools whose last window, of those that ceil_mode counts, begins in the padding."""
EQUAL = [(op, size, 3, 1, 2) for op in ("MaxPool", "AveragePool", "LpPool") for size in (4, 6, 9)]
"""Pools that onnx infers rightly."""


def model_of(op: str, size: int, kernel: int, pads: int, strides: int, z: int) -> onnx.ModelProto:
    """Return v = Pool(x), and an implicit broadcast of a scalar beside v to the shape [1,1,z]."""
    windows = f"kernel_shape: ints = [{kernel}], pads: ints = [{pads}, {pads}], strides: ints = [{strides}]"
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
g (float[1,1,{size}] x, float[1,1,{z}] z) => (float[1,1,{z}] y) {{
    v = {op} <ceil_mode: int = 1, {windows}> (x)
    a = Exp (v)
    rs = ReduceSum <keepdims: int = 0> (a)
    y = Add (z, rs)
}}"""
    return onnx.parser.parse_model(text)


def sizes(model: onnx.ModelProto, size: int) -> tuple[int, int]:
    """Return the size of v that onnx infers, and the size that onnxruntime computes."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
    told = next(info for info in inferred if info.name == "v").type.tensor_type.shape.dim[2].dim_value
    probe.graph.output.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, ["a", "b", "c"]))
    session = onnxruntime.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    z = model.graph.input[1].type.tensor_type.shape.dim[2].dim_value
    feeds = {"x": np.ones((1, 1, size), np.float32), "z": np.ones((1, 1, z), np.float32)}
    return told, session.run(["v"], feeds)[0].shape[2]


def left(outcome: graphfix.Outcome) -> list[str]:
    """Return the reasons of the sites that are left because of the inference at load."""
    reasons = [site.reason or "" for site in outcome.sites if site.status == "left"]
    return [reason for reason in reasons if "inference at load" in reason]


@pytest.mark.ci
@pytest.mark.parametrize(("op", "size", "kernel", "pads", "strides"), POOLS)
def test_no_value_is_made_of_a_size_that_is_inferred_wrongly(
    op: str, size: int, kernel: int, pads: int, strides: int, tmp_path: Path
) -> None:
    told, right = sizes(model_of(op, size, kernel, pads, strides, 1), size)
    assert told != right
    onnx.save(model_of(op, size, kernel, pads, strides, told), tmp_path / "in.onnx")
    outcome = graphfix.fix_file(tmp_path / "in.onnx", tmp_path / "out.onnx", runs=1)
    assert len(left(outcome)) == 1
    session = onnxruntime.InferenceSession(str(tmp_path / "out.onnx"), providers=["CPUExecutionProvider"])
    feeds = {"x": np.ones((1, 1, size), np.float32), "z": np.ones((1, 1, told), np.float32)}
    assert session.run(None, feeds)[0].shape == (1, 1, told)


@pytest.mark.parametrize(("op", "size", "kernel", "pads", "strides"), EQUAL)
def test_beside_a_pool_that_is_inferred_rightly_all_is_made_explicit(
    op: str, size: int, kernel: int, pads: int, strides: int, tmp_path: Path
) -> None:
    told, right = sizes(model_of(op, size, kernel, pads, strides, 1), size)
    assert told == right
    onnx.save(model_of(op, size, kernel, pads, strides, told), tmp_path / "in.onnx")
    outcome = graphfix.fix_file(tmp_path / "in.onnx", tmp_path / "out.onnx", runs=1)
    assert outcome.changed
    assert not left(outcome)
    assert outcome.sites_left == 0


def hidden_model(op: str, size: int, kernel: int, pads: int, strides: int, z: int) -> onnx.ModelProto:
    """Return the same model with a reshape in front of the pool, to sizes that only folding makes a constant."""
    model = model_of(op, size, kernel, pads, strides, z)
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
g (float[{size}] x) => (float[1,1,{size}] q) <int64[3] one = {{1,1,1}}, int64[3] to = {{1,1,{size}}}> {{
    s = Max (one, to)
    q = Reshape (x, s)
}}"""
    front = onnx.parser.parse_model(text)
    model.graph.node[0].input[0] = "q"
    for node in reversed(front.graph.node):
        model.graph.node.insert(0, node)
    model.graph.initializer.extend(front.graph.initializer)
    model.graph.input[0].CopyFrom(front.graph.input[0])
    return model


@pytest.mark.ci
@pytest.mark.parametrize(("op", "size", "kernel", "pads", "strides"), POOLS)
def test_a_constant_that_lets_a_size_be_inferred_wrongly_is_not_folded(
    op: str, size: int, kernel: int, pads: int, strides: int, tmp_path: Path
) -> None:
    told, right = sizes(model_of(op, size, kernel, pads, strides, 1), size)
    assert told != right
    onnx.save(hidden_model(op, size, kernel, pads, strides, told), tmp_path / "in.onnx")
    outcome = graphfix.fix_file(tmp_path / "in.onnx", tmp_path / "out.onnx", target="tosa", runs=1)
    assert any("once the sizes in front of it are stated" in reason for reason in left(outcome))
    session = onnxruntime.InferenceSession(str(tmp_path / "out.onnx"), providers=["CPUExecutionProvider"])
    assert [each.name for each in session.get_inputs()] == ["x", "z"]
    assert outcome.verdict is not None
    assert outcome.verdict.status in ("proved", "equal")


@pytest.mark.ci
@pytest.mark.parametrize(("op", "size", "kernel", "pads", "strides"), EQUAL)
def test_in_front_of_a_pool_that_is_inferred_rightly_constants_are_folded(
    op: str, size: int, kernel: int, pads: int, strides: int, tmp_path: Path
) -> None:
    told, right = sizes(model_of(op, size, kernel, pads, strides, 1), size)
    assert told == right
    onnx.save(hidden_model(op, size, kernel, pads, strides, told), tmp_path / "in.onnx")
    outcome = graphfix.fix_file(tmp_path / "in.onnx", tmp_path / "out.onnx", target="tosa", runs=1)
    assert not left(outcome)
    assert "Max" not in [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]


@pytest.mark.ci
def test_a_stored_shape_that_onnx_refuses_ends_no_fix(tmp_path: Path) -> None:
    """onnx's inference raises an error for a stored shape of this model, which onnxruntime only warns of."""  # noqa: D403 - a package's name
    model = onnx.load(MODELS / "deployed" / "optimized" / "gpt_neox_dynamo_fused_gpt_neox.onnx")
    with pytest.raises(onnx.shape_inference.InferenceError):
        onnx.shape_inference.infer_shapes(model, data_prop=True)
    pool = onnx.helper.make_node(
        "MaxPool", ["px"], ["py"], "pool", kernel_shape=[3], strides=[3], pads=[1, 1], ceil_mode=1
    )
    model.graph.node.append(pool)
    model.graph.input.append(onnx.helper.make_tensor_value_info("px", onnx.TensorProto.FLOAT, [1, 1, 5]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("py", onnx.TensorProto.FLOAT, [1, 1, 2]))
    onnx.save(model, tmp_path / "before.onnx")
    outcome = graphfix.fix_file(tmp_path / "before.onnx", tmp_path / "after.onnx", check_result=False)
    assert outcome.changed


class Inferring:
    """An inference that refuses a model so often, and then returns it."""

    def __init__(self, refusals: int, *, aborted: bool = False) -> None:
        self.refusals, self.aborted = refusals, aborted
        self.stored: list[list[str]] = []
        """The values of stored shapes, of each model that it was asked about."""

    def __call__(self, asked: onnx.ModelProto, *, data_prop: bool) -> onnx.ModelProto:
        assert data_prop
        outputs = [value.name for value in asked.graph.output if value.type.tensor_type.HasField("shape")]
        self.stored.append([*(info.name for info in asked.graph.value_info), *outputs])
        if len(self.stored) <= self.refusals:
            raise InferenceError("a stored shape is wrong", aborted=self.aborted)
        answer = onnx.ModelProto()
        answer.CopyFrom(asked)
        answer.producer_name = "inferred"
        return answer


def asked(inferring: Inferring, monkeypatch: pytest.MonkeyPatch) -> onnx.ModelProto:
    proto = model_of("MaxPool", 5, 3, 1, 3, 2)
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, [1, 1, 9]))
    monkeypatch.setattr(inferred_shapes, "infer_shapes", inferring)
    return inferred_shapes._inferred(proto)


@pytest.mark.parametrize(
    ("refusals", "stored", "by"),
    [
        (0, [["v", "y"]], "inferred"),
        (1, [["v", "y"], []], "inferred"),
        (2, [["v", "y"], []], ""),
    ],
)
def test_where_inference_refuses_the_stored_shapes_it_is_asked_without_them(
    refusals: int, stored: list[list[str]], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inferring = Inferring(refusals)
    found = asked(inferring, monkeypatch)
    assert (inferring.stored, found.producer_name) == (stored, by)
    assert len(found.graph.value_info) == (0 if refusals else 1)


def test_an_inference_that_ended_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    inferring = Inferring(1, aborted=True)
    with pytest.raises(InferenceError):
        asked(inferring, monkeypatch)
    assert inferring.stored == [["v", "y"]]


def test_constants_of_1024_bytes_and_those_in_other_files_are_given_without_elements() -> None:
    """The model itself keeps them; what a small one holds decides shapes."""
    held = {
        name: numpy_helper.from_array(np.zeros(size, np.int8), name) for name, size in (("few", 900), ("many", 1024))
    }
    exactly = numpy_helper.from_array(np.zeros(1, np.int8), "last")
    while exactly.ByteSize() < inferred_shapes.FEW_BYTES - 1:
        exactly.doc_string += "."
    over = onnx.TensorProto()
    over.CopyFrom(exactly)
    over.name, over.doc_string = "over", exactly.doc_string + "."
    far = onnx.TensorProto(name="far", data_type=onnx.TensorProto.INT8, dims=[3])
    far.external_data.add(key="location", value="w.bin")
    graph = onnx.helper.make_graph([], "g", [], [], [*held.values(), exactly, over, far])
    proto = onnx.helper.make_model(graph)
    bare = inferred_shapes._without_large_constants(proto)
    given = {tensor.name: (bool(tensor.raw_data), list(tensor.dims)) for tensor in bare.graph.initializer}
    assert given == {
        "few": (True, [900]),
        "many": (False, [1024]),
        "last": (True, [1]),
        "over": (False, [1]),
        "far": (False, [3]),
    }
    assert not bare.graph.initializer[4].external_data
    assert len(proto.graph.initializer[1].raw_data) == 1024


def test_the_other_name_of_the_standard_operators_is_not_given_to_the_inference() -> None:
    inner = onnx.helper.make_node("Neg", ["x"], ["t"], domain="ai.onnx")
    branch = onnx.helper.make_graph([inner], "b", [], [onnx.helper.make_tensor_value_info("t", 1, None)])
    node = onnx.helper.make_node("If", ["c"], ["y"], domain="ai.onnx", then_branch=branch, else_branch=branch)
    other = onnx.helper.make_node("Thing", ["x"], ["z"], domain="own")
    proto = onnx.helper.make_model(onnx.helper.make_graph([node, other], "g", [], []))
    proto.opset_import[0].domain = "ai.onnx"
    bare = inferred_shapes._without_large_constants(proto)
    assert [entry.domain for entry in bare.opset_import] == [""]
    assert [node.domain for node in bare.graph.node] == ["", "own"]
    assert [held.g.node[0].domain for held in bare.graph.node[0].attribute] == ["", ""]
    assert proto.graph.node[0].domain == "ai.onnx"


@pytest.mark.parametrize(
    ("names", "stored", "outputs"),
    [(None, [], [False, False]), ({"v", "y"}, ["w"], [False, True]), (set[str](), ["v", "w"], [True, True])],
)
def test_stored_shapes_of_some_results_or_of_all_are_dropped(
    names: set[str] | None, stored: list[str], outputs: list[bool]
) -> None:
    infos = {name: onnx.helper.make_tensor_value_info(name, 1, [2]) for name in "vwyz"}
    graph = onnx.helper.make_graph([], "g", [], [infos["y"], infos["z"]], value_info=[infos["v"], infos["w"]])
    texts = onnx.helper.make_tensor_sequence_value_info("s", 1, [2])
    graph.output.append(texts)
    inferred_shapes._drop_stored(graph, names)
    assert [info.name for info in graph.value_info] == stored
    assert [value.type.tensor_type.HasField("shape") for value in graph.output[:2]] == outputs
    assert graph.output[2] == texts


def told(text: str, doubtful: frozenset[tuple[str, str]] = frozenset()) -> dict[tuple[str, str], set[object]]:
    """What onnx's inference says of a model without stored shapes of results, those of functions inlined."""
    proto = parsed(text)
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    return {key: set(shapes) for key, shapes in inferred_shapes.inferred_shapes(proto, doubtful).items()}


def test_a_name_that_no_input_declares_is_not_told() -> None:
    proto = parsed("main (float[N,3] x) => (float[] y, float[K,3,N] z) { y = my.Thing(x) z = Neg(y) }")
    proto.opset_import.add(domain="my", version=1)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    assert inferred_shapes.inferred_shapes(proto, frozenset()) == {("main", "z"): {(None, 3, "N")}}


def test_of_a_function_the_values_of_all_its_calls_are_told() -> None:
    """A value of the main graph that has the name of one of the function is another."""
    text = """main (float[2,3] x, float[4,3] z) => (float[] y, float[] w, float[] v) {
        y = local.f(x) w = local.f(z) v = Transpose(z) }
        <domain: "local", opset_import: ["" : 18]> f (p) => (r) { v = Abs(p) r = Neg(v) }"""
    path = "function local.f"
    assert (path, "v") not in told(text)
    found = told(text, frozenset({(path, "v")}))
    assert found[path, "v"] == {(2, 3), (4, 3)}
    assert [found["main", name] for name in "ywv"] == [{(2, 3)}, {(4, 3)}, {(3, 4)}]


def test_claims_of_a_function_are_those_of_every_graph_that_may_call_it_and_a_graph_own_ones_come_first() -> None:
    main, body, function = Graph("main"), Graph("main/If.then_branch"), Graph("function local.f")
    a, b, other = (Claim(name, (told,), Shape((2,))) for name, told in (("a", 3), ("b", 4), ("a", 5)))
    views = Views([main, body, function])
    assert wrong_shapes._everywhere({function: {"a": a}, main: {"a": other, "b": b}}, views) == {
        main: {"a": other, "b": b},
        body: {"a": a},
        function: {"a": a},
    }
    assert wrong_shapes._everywhere({main: {"b": b}}, views) == {main: {"b": b}}


def test_the_sizes_that_are_numbers_are_stated_of_visible_values_that_are_no_outputs() -> None:
    infos = {name: onnx.helper.make_tensor_value_info(name, 1, None) for name in ("told", "free", "y")}
    body = onnx.helper.make_graph([], "body", [], [], value_info=[infos["told"]])
    graph = onnx.helper.make_graph([], "g", [], [infos["y"]], value_info=[infos["told"], infos["free"]])
    main, inside = Graph("main"), Graph("main/if.then_branch")
    shape, free = Shape((2, symbol("N"), 3)), Shape((symbol("N"),))
    visible = [
        Value("told", shape, "int64", "result", main),
        Value("y", shape, "float32", "result", main),
        Value("free", free, "float32", "result", main),
        Value("untyped", shape, "?", "result", main),
        Value("new", shape, "float32", "result", inside),
    ]
    inferred_shapes._state_sizes({"main": graph, inside.path: body}, visible)
    sizes = onnx.helper.make_tensor_value_info
    assert list(graph.value_info) == [infos["free"], sizes("told", onnx.TensorProto.INT64, [2, None, 3])]
    assert list(body.value_info) == [infos["told"], sizes("new", onnx.TensorProto.FLOAT, [2, None, 3])]
    assert graph.output[0] == infos["y"]


def test_known_operands_of_suspects_become_constants_of_their_own_graph() -> None:
    main, inside = Graph("main"), Graph("main/if.then_branch")
    known = {"n": (5, 6), "k": (7,), "far": (8,), "text": ("a",), "free": (9,)}

    def value(name: str, kind: Kind, graph: Graph, dtype: str = "int64", shape: Shape | None = None) -> Value:
        graph.read_literal = lambda asked: known.get(asked.name)
        return Value(name, shape or Shape((len(known.get(name, ())),)), dtype, kind, graph)

    operands = (
        value("n", "constant", main),
        None,
        value("k", "constant", inside),
        value("text", "constant", main, "string"),
        value("unknown", "input", inside),
        value("free", "constant", main, shape=Shape((symbol("N"),))),
    )
    names = ["" if each is None else each.name for each in operands]
    body = onnx.helper.make_graph([onnx.helper.make_node("Op", names, ["y"])], "body", [], [])
    suspect = Node("Op", "", 18, "", 0, inside, operands, (), {}, None)
    elsewhere = Node("Op", "", 18, "", 0, Graph("gone"), operands, (), {}, None)
    inferred_shapes._state_operands({inside.path: body}, [elsewhere, suspect])
    assert [*body.node[0].input] == ["0 known n", "", "k", "text", "unknown", "free"]
    (tensor,) = body.initializer
    assert (tensor.name, numpy_helper.to_array(tensor).tolist()) == ("0 known n", [5, 6])
