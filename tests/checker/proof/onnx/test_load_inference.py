"""Shapes that onnx infers wrongly at load, or that a file stores wrongly, and what a new node then does.

Each pair is asked of onnxruntime too: the first file runs, and the second fails when it is loaded or when it runs.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto

from graphfix.checker.proof.onnx.closed_world import load_inference
from tests.support.proved import unproved

CONSTANTS = {
    "step": "int64 step = {4}", "frame": "int64 frame = {8}", "zero": "int64[1] zero = {0}",
    "three": "int64[1] three = {3}",
    "far": "int64[1] far = {2147483647}", "farther": "int64[1] farther = {9223372036854775807}",
    "back": "int64[1] back = {-1}", "kept": "bool[5] kept = {1,0,0,0,1}", "yes": "bool yes = {1}",
}  # fmt: skip
NONE = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
KINDS = {"tensor(float)": np.float32, "tensor(bool)": np.bool_, "tensor(int64)": np.int64}


def model(inputs: str, nodes: str, opset: int = 17, *told: str) -> ModelProto:
    """Return a model with the output y, of no declared shape; `told` are further constants and stored shapes."""
    words = set(re.findall(r"\w+", nodes))
    held = ", ".join([*(constant for name, constant in CONSTANTS.items() if name in words), *filter(None, told)])
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    made = onnx.parser.parse_model(f"{head}\ng ({inputs}) => (float[] y) {f'<{held}>' if held else ''} {{ {nodes} }}")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


def loaded(made: ModelProto, level: onnxruntime.GraphOptimizationLevel = NONE) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])


def error_of(made: ModelProto, level: onnxruntime.GraphOptimizationLevel = NONE) -> str | None:
    """Load and run a model, every input ones; return the error."""
    try:
        session = loaded(made, level)
        shapes = {each.name: (each.shape, KINDS[each.type]) for each in session.get_inputs()}
        session.run(None, {name: np.full(shape, name != "never", kind) for name, (shape, kind) in shapes.items()})
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no class of their own above them
        return str(error)
    return None


def text(shape: list[int]) -> str:
    return ",".join(map(str, shape))


POOL = "kernel_shape = [3], strides = [3], pads = [1, 1], ceil_mode = 1"
WRONG = {
    "max-pool": ("float[1,1,5] x", f"MaxPool <{POOL}> (x)", [1, 1, 3], (11, 12, 17, 18, 20)),
    "max-pool-narrow": (
        "float[1,1,7] x", "MaxPool <kernel_shape = [2], strides = [4], pads = [1, 1], ceil_mode = 1> (x)", [1, 1, 3],
        (11, 12, 17, 20),
    ),
    "max-pool-2d": (
        "float[1,1,5,5] x",
        "MaxPool <kernel_shape = [3, 3], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1> (x)", [1, 1, 3, 3],
        (11, 17, 18),
    ),
    "average-pool": ("float[1,1,5] x", f"AveragePool <{POOL}> (x)", [1, 1, 3], (11, 17, 18, 20)),
    "lp-pool": ("float[1,1,5] x", f"LpPool <{POOL}> (x)", [1, 1, 3], (18, 20)),
    "max-pool-same-dilated": (
        "float[1,1,9] x", 'MaxPool <kernel_shape = [3], dilations = [2], auto_pad = "SAME_UPPER", strides = [2]> (x)',
        [1, 1, 5], (11, 17, 20, 22),
    ),
    "transposed-padding": (
        "float[1,1,4] x, float[1,1,3] w",
        'ConvTranspose <auto_pad = "SAME_UPPER", strides = [2], output_padding = [1]> (x, w)', [1, 1, 9],
        (11, 17, 20, 22),
    ),
}  # fmt: skip
"""By name: the inputs, a node, the shape that onnx infers of its result and that is none of it, operator sets."""
CASES = [(name, opset) for name, (_, _, _, opsets) in WRONG.items() for opset in opsets]


def meeting(name: str, opset: int, *, stretched: bool, shape: list[int] | None = None) -> ModelProto:
    """A sum beside a value whose shape is inferred wrongly; a new Expand makes the inferred shape, or the given one."""
    inputs, node, inferred, _ = WRONG[name]
    made = text(inferred if shape is None else shape)
    addend = "e = Expand(s, t) y = Add(z, e)" if stretched else "y = Add(z, s)"
    nodes = f"v = {node} a = Exp(v) s = ReduceSum <keepdims = 0> (a) {addend}"
    target = f"int64[{made.count(',') + 1}] t = {{{made}}}" if stretched else ""
    return model(f"{inputs}, float[{made}] z", nodes, opset, target)


def reason(one: ModelProto, two: ModelProto) -> str:
    """Say why a pair is not proved; empty where it is."""
    return unproved(one.SerializeToString(), two.SerializeToString()) or ""


@pytest.mark.parametrize(("name", "opset"), CASES)
def test_an_expand_that_meets_a_wrong_inference_is_not_proved(name: str, opset: int) -> None:
    before, after = (meeting(name, opset, stretched=stretched) for stretched in (False, True))
    assert error_of(before) is None
    assert "re-use buffer" in (error_of(after) or "")
    assert "onnx's inference at load takes" in reason(before, after)


@pytest.mark.parametrize(("name", "opset"), CASES)
def test_an_expand_of_another_shape_beside_it_is_proved(name: str, opset: int) -> None:
    before, after = (meeting(name, opset, stretched=stretched, shape=[7]) for stretched in (False, True))
    assert error_of(after) is None
    assert reason(before, after) == ""


RIGHT = {"max-pool": [1, 1, 2], "max-pool-2d": [1, 1, 2, 2], "average-pool": [1, 1, 2]}


def stating(name: str, *, stretched: bool, shape: list[int] | None = None) -> ModelProto:
    """The same behind an Identity, where the file states the right shape of the value."""
    made = meeting(name, 17, stretched=stretched, shape=shape)
    exponential = next(node for node in made.graph.node if node.op_type == "Exp")
    made.graph.node.insert(1, onnx.helper.make_node("Identity", ["v"], ["w"]))
    exponential.input[0] = "w"
    infos = (onnx.helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, RIGHT[name]) for value in "vwa")
    made.graph.value_info.extend(infos)
    return made


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_stored_shape_does_not_hide_a_wrong_inference(name: str) -> None:
    """Onnxruntime infers the shapes again where an optimization changed the graph: here the Identity goes."""
    before, after = (stating(name, stretched=stretched) for stretched in (False, True))
    assert error_of(after) is None
    basic = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    assert error_of(before, basic) is None
    assert "re-use buffer" in (error_of(after, basic) or "")
    assert "onnx's inference at load takes" in reason(before, after)
    assert reason(*(stating(name, stretched=stretched, shape=[7]) for stretched in (False, True))) == ""


LYING = {
    "Max": "v = Mul (x, x) s = ReduceSum <keepdims = 0> (x) {} a = Add (z, {}) y = Max (v, a) w = Softplus (y)",
    "Sub": "v = Exp (x) s = ReduceMax <keepdims = 0> (x) {} a = Mul (z, {}) y = Sub (v, a) w = Exp (y)",
    "Pow": "v = Abs (x) s = ReduceMin <keepdims = 0> (x) {} a = Sub (z, {}) y = Pow (v, a) w = Neg (y)",
}
"""By the operator whose result has a wrong stored shape of which one size is open."""


@pytest.mark.parametrize("rows", [2, 3, 5])
@pytest.mark.parametrize("op", LYING)
def test_two_wrong_stored_shapes_that_make_a_third_one_are_not_proved(op: str, rows: int) -> None:
    """Where a stored shape contradicts the inferred one, onnxruntime goes on with the sizes in which both agree."""
    told = "float[7,1] v", "float[1,?] y", "int64[2] t = {1,2}"
    inputs = f"float[{rows},1] x, float[1,2] z"
    before, after = (
        model(inputs, LYING[op].format(*edit), 18, *told) for edit in (("", "s"), ("e = Expand (s, t)", "e"))
    )
    for made in (before, after):
        made.graph.output[0].name = "w"
    assert error_of(before) is None
    assert "re-use buffer" in (error_of(after) or "")
    assert reason(before, after) != ""


@pytest.mark.parametrize("size", [-1, -5])
def test_a_negative_size_that_a_slice_reads_aborts_nothing(size: int) -> None:
    """Onnx's inference takes the size of an Expand as it is, and asserts in a Slice that it is none below 0."""
    inputs, told = "float[N,4] x, float[1,1,5] q, float[1,1] z", (f"int64[2] t = {{{size},1}}", "int64[1] o = {0}")
    nodes = f"p = MaxPool <{POOL}> (q) e = Expand (x, t) s = Slice (e, o, far, o, back)"
    lifted = f"{nodes} w = Unsqueeze (z, o) y = Add (p, w)"
    before, after = (model(inputs, each, 17, *told) for each in (f"{nodes} y = Add (p, z)", lifted))
    assert "onnx's inference aborts its process" in reason(before, after)


STORED = {
    "compress": ("float[5] x", "Compress <axis = 0> (x, kept)", "float[3] v"),
    "compress-all": ("float[5] x", "Compress (x, kept)", "float[4] v"),
    "compress-2d": ("float[5,2] x", "Compress <axis = 0> (x, kept)", "float[3,2] v"),
}
"""By name: the input, a node, and a wrong shape that both files store of its result."""


@pytest.mark.parametrize("opset", [11, 17, 20])
@pytest.mark.parametrize("name", STORED)
def test_an_expand_that_meets_a_wrong_stored_shape_is_not_proved(name: str, opset: int) -> None:
    inputs, node, info = STORED[name]
    shape = info[info.index("[") + 1 : info.index("]")]
    nodes = f"v = {node} a = Exp(v) s = ReduceSum <keepdims = 0> (a)"
    inputs, target = f"{inputs}, float[{shape}] z", f"int64[{shape.count(',') + 1}] t = {{{shape}}}"
    stretched = f"{nodes} e = Expand(s, t) y = Add(z, e)"
    before, after = model(inputs, f"{nodes} y = Add(z, s)", opset, info), model(inputs, stretched, opset, info, target)
    assert error_of(before) is None
    assert "re-use buffer" in (error_of(after) or "")
    assert "and no rule" in reason(before, after) or "which is" in reason(before, after)
    before, after = model(inputs, f"{nodes} y = Add(z, s)", opset), model(inputs, stretched, opset, target)
    assert error_of(after) is None
    assert reason(before, after) == ""


SLICES = ["Slice(x, zero, far, zero, back)", "Slice(x, three, far, zero, back)", "Slice(x, three, farther, zero, back)"]


@pytest.mark.parametrize("op", ["Ceil", "Neg", "Abs"])
@pytest.mark.parametrize("node", SLICES)
def test_an_if_around_a_wrong_inference_is_not_proved(node: str, op: str) -> None:
    """The result of an If is allocated."""
    before = model("float[4] x", f"v = {node} y = {op}(v)")
    body = "{{ {0} = {1}(v) }}"
    then, other = (f"{at} () => (float {name}) {body.format(name, op)}" for at, name in (("t", "a"), ("e", "b")))
    after = model("float[4] x", f"v = {node} y = If(yes) <then_branch = {then}, else_branch = {other}>")
    for branch in after.graph.node[-1].attribute:
        branch.g.output[0].type.tensor_type.ClearField("shape")
    assert error_of(before) is None
    assert error_of(after) is not None
    assert "onnx's inference at load takes" in reason(before, after)


# --- a clash in a body that is not executed ---------------------------------------------------------------------------

HIDDEN = {"a product": "ReduceProd <keepdims = 1> (c)", "a maximum": "Max(c, c)", "an amount": "Abs(c)"}
"""Nodes that return a constant as it is: onnx's inference does not follow them."""
CLASHES = {
    "expand": "e = Expand(w, s) r = Add(x, e)",
    "tile": "e = Tile(w, s) r = Add(x, e)",
    "filled": "e = ConstantOfShape(s) r = Add(x, e)",
    "multiplied": "e = Expand(w, s) r = Mul(e, x)",
}
PLACES = ["then_branch", "else_branch", "loop"]


def clash(place: str, nodes: str, target: str) -> ModelProto:
    """A body that is not executed, in which three elements meet two; `target` makes the 3."""
    held = "c = Constant <value = int64[1] {3}> ()"
    inside = f"{{ {held} s = {target} {nodes} }}"
    if place == "loop":
        body = f"b (int64 i, bool go, float[2] state) => (bool on, float r) {{ on = Identity(go) {inside[1:]}"
        made = model("float[2] x, float[1] w, int64 n", f"y = Loop(n, , x) <body = {body}>")
        made.graph.node[0].attribute[0].g.output[1].type.tensor_type.ClearField("shape")
        return made
    quiet, busy = "q () => (float q) { q = Neg(x) }", f"b () => (float r) {inside}"
    then, other = (busy, quiet) if place == "then_branch" else (quiet, busy)
    made = model("float[2] x, float[1] w, bool never", f"y = If(never) <then_branch = {then}, else_branch = {other}>")
    for branch in made.graph.node[0].attribute:
        branch.g.output[0].type.tensor_type.ClearField("shape")
    return made


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("nodes", CLASHES)
@pytest.mark.parametrize("place", PLACES)
def test_a_clash_that_a_constant_makes_visible_is_not_proved(place: str, nodes: str, hidden: str) -> None:
    before = clash(place, CLASHES[nodes], HIDDEN[hidden])
    after = clash(place, CLASHES[nodes], "Constant <value = int64[1] {3}> ()")
    assert loads(before)
    assert not loads(after)
    assert reason(before, after) != ""


def loads(made: ModelProto) -> bool:
    try:
        loaded(made)
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no class of their own above them
        assert "Incompatible dimensions" in str(error) or "inference" in str(error).lower()  # noqa: PT017 - of any class
        return False
    return True


SPREAD = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, float[2] z, int64 n, bool c) => (float[2] y, float[2] w) {
a = Exp(x)
y = Loop(n, c, a) <body = b (int64 i, bool k, float[2] s) => (bool l, float[2] t) { l = Identity(k) t = Neg(s) }>
w = If(c) <then_branch = d () => (float[2] p) { q = Abs(x) p = Neg(z) }, else_branch = e () => (float[2] r)
{ r = Neg(x) }>
}"""


@pytest.mark.parametrize(
    ("found", "expected", "reached"),
    [
        ("a", "a y i k l s t", True),
        ("x", "x a y i k l s t q r w", True),
        ("z", "z p w", True),
        ("q", "q", False),
        ("s", "s t y", True),
        ("l", "l y", True),
        ("y", "y", True),
        ("", "", False),
    ],
)
def test_what_a_doubtful_shape_reaches_is_what_reads_it(found: str, expected: str, reached: bool) -> None:
    """A node that reads it hands it to all inputs of its bodies, and has it of a body that returns it."""
    names = set(found.split())
    assert load_inference._spread(onnx.parser.parse_model(SPREAD).graph, names) is reached
    assert names == set(expected.split())


def test_a_body_gets_the_constants_around_it_that_it_reads() -> None:
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["ai.onnx" : 17]> g (float[2] x, bool c) => (float[2] y)'
        " <float[2] w = {1, 2}, float[2] u = {3, 4}> { k = Constant<value = float[2] {5, 6}>() ai.onnx.Neg(x) y = If(c)"
        " <then_branch = t () => (float[2] p) { q = Add(x, w) p = Add(q, k) },"
        " else_branch = e () => (float[2] r) <float[2] u = {7, 8}> { r = Add(x, u) }> }".replace(
            "ai.onnx.Neg(x)", "h = ai.onnx.Neg(x)"
        )
    )
    bare = load_inference._bare(made, ())
    then, other = (each.g for each in bare.graph.node[-1].attribute)
    assert [tensor.name for tensor in then.initializer] == ["w"]
    assert [node.op_type for node in then.node] == ["Constant", "Add", "Add"]
    assert [list(tensor.float_data) for tensor in other.initializer] == [[7, 8]]
    assert [node.op_type for node in other.node] == ["Add"]
    assert {node.domain for node in bare.graph.node} == {""}
    assert [entry.domain for entry in bare.opset_import] == [""]
    assert [entry.domain for entry in made.opset_import] == ["ai.onnx"]


@pytest.mark.parametrize(("count", "kept"), [(4, True), (200, True), (400, False)])
def test_only_small_constants_are_given_to_the_inference(count: int, kept: bool) -> None:
    made = model("float[N] x", "y = Identity(x)")
    array = np.ones(count, np.float32)
    made.graph.initializer.append(onnx.numpy_helper.from_array(array, "w"))
    made.graph.node.append(onnx.helper.make_node("Constant", [], ["v"], value=onnx.numpy_helper.from_array(array)))
    bare = load_inference._bare(made, ())
    for tensor in (bare.graph.initializer[0], bare.graph.node[-1].attribute[0].t):
        assert list(tensor.dims) == [count]
        assert bool(tensor.raw_data) is kept
    assert len(made.graph.initializer[0].raw_data) == 4 * count


def test_the_stored_shapes_of_constants_and_suspects_are_not_given_to_the_inference() -> None:
    made = model("float[2] x", "v = Exp(x) w = Neg(v) y = Add(w, k)", 17, "float[2] k = {1, 2}")
    for name in "vwk":
        made.graph.value_info.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]))
    assert [info.name for info in load_inference._bare(made, {"v"}).graph.value_info] == ["w"]
    assert [info.name for info in load_inference._bare(made, ()).graph.value_info] == ["v", "w"]
    assert len(made.graph.value_info) == 3


KEPT = "v = Compress <axis = 0> (x, kept) a = Exp(v) s = ReduceSum <keepdims = 0> (a) "
ALSO = "u = Compress <axis = 0> (w, kept) b = Exp(u) r = ReduceSum <keepdims = 0> (b) q = Add(s, r) "


@pytest.mark.parametrize(
    ("nodes", "told", "proved"),
    [
        (f"{KEPT}q = Neg(s) ", ["float[3] v"], True),
        (KEPT + ALSO, ["float[3] v"], True),
        (KEPT + ALSO, ["float[3] v", "float[4] u"], True),
        (KEPT + ALSO, ["float[3] v", "float[3] u"], False),
        (KEPT + ALSO.replace("(w,", "(x,"), ["float[3] v", "float[3] u"], True),
    ],
    ids=["one", "one of two", "two of two shapes", "two of one shape", "the same twice"],
)
def test_two_values_that_may_differ_in_size_have_no_stored_shape_in_common(
    nodes: str, told: list[str], proved: bool
) -> None:
    inputs = "float[5] x, float[5] w, float[7] z"
    before = model(inputs, f"{nodes}y = Add(z, q)", 17, *told)
    after = model(inputs, f"{nodes}e = Expand(q, t) y = Add(z, e)", 17, "int64[1] t = {7}", *told)
    found = reason(before, after)
    assert found == "" if proved else "onnx's inference at load takes" in found


STORED_SHAPES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, bool c) => (float[2] y, seq(float[4]) z) <float[3] v, float[2] w> {
v = Exp(x) w = Neg(v) z = SequenceConstruct(v)
y = If(c) <then_branch = t () => (float[2] p) { p = Neg(w) }, else_branch = e () => (float[2] q) { q = Neg(v) }> }"""


@pytest.mark.parametrize(
    ("names", "values", "kept"),
    [((), "vw", True), (("w",), "v", True), (("v", "w"), "", True), (("y",), "vw", True), (None, "", False)],
)
def test_stored_shapes_of_outputs_are_dropped_with_all_others_alone(
    names: tuple[str, ...] | None, values: str, kept: bool
) -> None:
    graph = onnx.parser.parse_model(STORED_SHAPES).graph
    load_inference._drop_stored(graph, names)
    assert [info.name for info in graph.value_info] == list(values)
    assert graph.output[0].type.tensor_type.HasField("shape") is kept
    assert graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert graph.output[1].type.sequence_type.elem_type.tensor_type.HasField("shape")


def test_a_wrong_stored_shape_gives_way_to_what_is_inferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first question is refused: the second one has no stored shape, in bodies neither; both follow constants."""
    asked: list[tuple[int, list[bool], dict[str, bool]]] = []

    def infer_shapes(bare: ModelProto, **options: bool) -> ModelProto:
        bodies = [attribute.g for node in bare.graph.node for attribute in node.attribute if attribute.HasField("g")]
        outputs = [body.output[0].type.tensor_type.HasField("shape") for body in (bare.graph, *bodies)]
        asked.append((len(bare.graph.value_info), outputs, options))
        if bare.graph.value_info:
            raise load_inference.InferenceError("Inferred shape and existing shape differ")
        return onnx.shape_inference.infer_shapes(bare)

    monkeypatch.setattr(load_inference, "infer_shapes", infer_shapes)
    found = load_inference._shapes(onnx.parser.parse_model(STORED_SHAPES))
    options = {"strict": False, "data_prop": True}
    assert asked == [(2, [True] * 3, options), (0, [False] * 3, options)]
    assert found == {name: {(2,)} for name in "vwypq"}


@pytest.mark.parametrize("aborted", [False, True])
def test_what_is_refused_whatever_is_stored_has_no_shapes(aborted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def infer_shapes(_: ModelProto, **__: bool) -> ModelProto:
        raise load_inference.InferenceError("no", aborted=aborted)

    monkeypatch.setattr(load_inference, "infer_shapes", infer_shapes)
    bare = onnx.parser.parse_model(STORED_SHAPES)
    if aborted:
        with pytest.raises(load_inference.InferenceError, match="no"):
            load_inference._shapes(bare)
    else:
        assert load_inference._shapes(bare) is None


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("", None),
        ("one", "one"),
        ("one\ntwo\n", "two"),
        ("one\nInferred shape and existing shape differ in rank", "one"),
        ("(op_type:Add): Inferred shape and existing shape differ", None),
    ],
)
def test_the_last_line_of_what_inference_refuses_is_said_but_for_stored_shapes(
    said: str, fault: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict: list[object] = []

    def infer_shapes(bare: ModelProto, **options: bool) -> ModelProto:
        strict.append(options)
        if said:
            raise load_inference.InferenceError(said)
        return bare

    monkeypatch.setattr(load_inference, "infer_shapes", infer_shapes)
    assert load_inference._fault(ModelProto()) == fault
    assert strict == [{"strict": True, "data_prop": False}]


REFUSED, STORED_WRONG = "(op_type:Add) bad", "Inferred shape and existing shape differ"
ASKED: dict[str, tuple[tuple[str, ...], bool, str, str, bool, str | None, int]] = {
    "nothing to ask": ((), False, REFUSED, "", False, None, 0),
    "a body, and nothing wrong": ((), True, "", "", False, None, 1),
    "a body, and the second is refused": (
        (), True, REFUSED, "", False, f"onnx's inference refuses the second file, and not the first: {REFUSED}", 3),
    "a body, and both are refused": ((), True, REFUSED, REFUSED, False, None, 3),
    "a body, and a stored shape is wrong": ((), True, STORED_WRONG, "", False, None, 2),
    "a doubtful value, and a stored shape is wrong": (
        ("y",), False, STORED_WRONG, "", False, "onnx's inference refuses the second file", 4),
    "a doubtful value that is no value": (("y",), False, "", "", False, None, 1),
    "an end of the process": (
        ("y",), False, REFUSED, "", True, f"{REFUSED}: what onnxruntime infers at load is not known", 1),
}  # fmt: skip
"""By name: doubtful values, whether there is a body, what is said of each file, whether that ends the process of the
inference, what the proof says, and how often inference is asked."""


@pytest.mark.parametrize(
    ("doubtful", "body", "of_two", "of_one", "aborted", "expected", "count"), ASKED.values(), ids=ASKED
)
def test_inference_is_asked_of_what_may_be_inferred_wrongly(
    doubtful: tuple[str, ...],
    body: bool,
    of_two: str,
    of_one: str,
    aborted: bool,
    expected: str | None,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def infer_shapes(bare: ModelProto, **_: bool) -> ModelProto:
        asked.append(bare.graph.name)
        if said := {"one": of_one, "two": of_two}[bare.graph.name]:
            raise load_inference.InferenceError(said, aborted=aborted)
        return bare

    monkeypatch.setattr(load_inference, "infer_shapes", infer_shapes)
    one, two = (model("float[2] x", "y = Neg(x)") for _ in range(2))
    one.graph.name, two.graph.name = "one", "two"
    scopes = [(two.graph, SimpleNamespace(values={}))] * (1 + body)
    table = SimpleNamespace(unconfirmed_shapes=doubtful)
    reading = SimpleNamespace(scopes=scopes, model=two, called=set(), table=table)
    assert load_inference.objection(one, two, reading) == expected  # type: ignore[arg-type]
    assert len(asked) == count
    one.graph.name = "two"
    assert load_inference.objection(one, two, reading) is None  # type: ignore[arg-type]


def test_bodies_in_functions_are_given_to_the_inference_as_it_knows_them() -> None:
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "own" : 1]> g (float[2] x, bool c) => (float[2] y) { y = own.F(x, c) }'
        ' <domain: "own", opset_import: ["ai.onnx" : 17]> F (x, c) => (y)'
        " { y = If(c) <then_branch = t () => (p) { p = ai.onnx.Neg(x) },"
        " else_branch = e () => (q) <float[300] w> { q = Add(x, w) }> }"
    )
    then, other = (each.g for each in made.functions[0].node[0].attribute)
    other.initializer.append(onnx.numpy_helper.from_array(np.ones(300, np.float32), "w"))
    bare = load_inference._bare(made, ())
    then, other = (each.g for each in bare.functions[0].node[0].attribute)
    assert [entry.domain for entry in bare.functions[0].opset_import] == [""]
    assert (then.node[0].op_type, then.node[0].domain) == ("Neg", "")
    assert [(list(each.dims), each.raw_data) for each in other.initializer] == [([300], b"")]
    assert not other.value_info


FUNCTIONS = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
g (float[2] x) => (float[2] y) { v, w = own.F(x) u = own.G(x) y = Add(v, u) }
<domain: "own", opset_import: ["" : 17]> F (a) => (b, c) { b = Neg(a) c = Neg(a) }
<domain: "own", opset_import: ["" : 17]> G (a) => (b) { b = Abs(a) c = SUSPECT(a) }"""


@pytest.mark.parametrize(
    ("suspect", "called", "expected"),
    [
        (("Abs",), True, {"u"}),
        (("Neg",), True, {"v", "w"}),
        (("Neg", "Abs"), True, {"u", "v", "w"}),
        (("Exp",), True, set()),
        (("Abs",), False, set()),
        (("Add",), True, {"y"}),
        (("Add",), False, {"y"}),
    ],
)
def test_calls_of_functions_with_a_suspect_operator_are_suspects(
    suspect: tuple[str, ...], called: bool, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = onnx.parser.parse_model(FUNCTIONS.replace("SUSPECT", "Sin"))
    monkeypatch.setattr(load_inference, "SUSPECT", frozenset(suspect))
    monkeypatch.setattr(load_inference, "is_suspect", lambda *_: True)
    reading = SimpleNamespace(scopes=[(made.graph, None)], model=made, called={"any"} if called else set())
    assert load_inference._suspects(reading) == expected  # type: ignore[arg-type]


def test_no_result_without_a_name_is_a_suspect(monkeypatch: pytest.MonkeyPatch) -> None:
    made = onnx.parser.parse_model(FUNCTIONS.replace("SUSPECT", "Sin"))
    made.graph.node[0].output[0] = ""
    monkeypatch.setattr(load_inference, "SUSPECT", frozenset({"F", "Add"}))
    monkeypatch.setattr(load_inference, "is_suspect", lambda node, _: node.op_type == "F")
    reading = SimpleNamespace(scopes=[(made.graph, None)], model=made, called=set())
    assert load_inference._suspects(reading) == {"w"}  # type: ignore[arg-type]


def conditional(*, chosen: bool, stretched: bool) -> ModelProto:
    """A sum beside a slice that is inferred wrongly, and that an If returns if it is `chosen`."""
    then, other = (f"{at} () => (float {name}) {{ {name} = Neg(v) }}" for at, name in (("t", "a"), ("e", "b")))
    made_by = f"w = If(yes) <then_branch = {then}, else_branch = {other}>" if chosen else "w = Neg(v)"
    addend = "e = Expand(s, t) y = Add(z, e)" if stretched else "y = Add(z, s)"
    nodes = f"v = Slice(x, zero, far, zero, back) {made_by} s = ReduceSum <keepdims = 0> (w) {addend}"
    made = model("float[4] x, float[7] z", nodes, 17, "int64[1] t = {7}")
    for branch in (attribute.g for node in made.graph.node if node.op_type == "If" for attribute in node.attribute):
        branch.output[0].type.tensor_type.ClearField("shape")
    return made


def test_an_if_around_a_wrong_inference_that_both_files_have_is_as_wrong_in_both() -> None:
    after = conditional(chosen=True, stretched=True)
    assert reason(conditional(chosen=True, stretched=False), after) == ""
    assert "onnx's inference at load takes" in reason(conditional(chosen=False, stretched=False), after)
