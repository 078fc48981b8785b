"""Sizes that follow from others: as onnxruntime has them for every operator of the table, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, parser

from graphfix.checker.runs.onnx.derived_sizes import BROADCASTING, PRESERVING, derived_sizes
from graphfix.results.claims import ClaimedShape, Claims
from tests.support.checked import verify
from tests.support.runtimes.one_node import NEWEST, NoKernel, Refused
from tests.support.written import Written

FLOAT, INT64, BOOL, STRING, UINT8 = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.INT64,
    onnx.TensorProto.BOOL,
    onnx.TensorProto.STRING,
    onnx.TensorProto.UINT8,
)
Sizes = tuple[int, ...]
SHAPES: tuple[tuple[Sizes, ...], ...] = (
    ((2, 1, 3), (4, 1), (1, 3)),
    ((), (3,), ()),
    ((5,), (1, 1), (2, 1, 1)),
    ((0, 1), (1, 4), (1,)),
    ((1, 4), (0, 1), (4,)),
    ((), (), ()),
    ((2, 0), (2, 1), (1,)),
)
APART = ((2, 3), (3, 2)), ((2,), (3,)), ((0,), (3,))
ARITY = {"Where": 3, **dict.fromkeys(["Max", "Min", "Sum", "Mean", "Clip"], 3)}
ATTRIBUTES: Mapping[str, Mapping[str, object]] = {
    "BitShift": {"direction": "LEFT"},
    "Mod": {"fmod": 1},
}


def session(op: str, operands: int, opset: int) -> onnxruntime.InferenceSession:
    """A model of one node on operands of any shape, of the first element type of which there is a kernel."""
    for kind in (FLOAT, INT64, BOOL, STRING, UINT8):
        kinds = [BOOL, FLOAT, FLOAT] if op == "Where" else [kind] * operands
        inputs = [helper.make_tensor_value_info(f"x{at}", kind, None) for at, kind in enumerate(kinds)]
        node = helper.make_node(op, [value.name for value in inputs], ["y"], **ATTRIBUTES.get(op, {}))
        graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except (*Refused, NoKernel):
            continue
    raise LookupError(op)


def fed(loaded: onnxruntime.InferenceSession, shapes: Sequence[Sizes]) -> dict[str, np.ndarray]:
    """Ones of the types that a session asks for."""
    types = {"float": np.float32, "int64": np.int64, "bool": np.bool_, "string": np.object_, "uint8": np.uint8}
    values = zip(loaded.get_inputs(), shapes, strict=False)
    made = {spec.name: np.ones(shape, types[spec.type[len("tensor(") : -1]]) for spec, shape in values}
    return {name: np.full(value.shape, "a", object) if value.dtype == object else value for name, value in made.items()}


def derived(op: str, shapes: Sequence[Sizes], opset: int = NEWEST) -> Sizes | None:
    """What follows for the result of one node."""
    names = [f"x{at}" for at in range(len(shapes))]
    inputs = [helper.make_tensor_value_info(name, FLOAT, None) for name in names]
    graph = helper.make_graph([helper.make_node(op, names, ["y"])], "g", inputs, [])
    sizes = derived_sizes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), ["y"])
    return sizes(dict(zip(names, shapes, strict=True))).get("y")


@pytest.mark.ci
@pytest.mark.parametrize("opset", [9, 14, NEWEST])
def test_results_have_the_sizes_that_follow(opset: int) -> None:
    """Every operator of the table that onnxruntime has in that set."""
    lacking = set()
    for op in sorted(BROADCASTING | PRESERVING):
        count = ARITY.get(op, 2 if op in BROADCASTING else 1)
        try:
            loaded = session(op, count, opset)
        except LookupError:
            lacking.add(op)
            continue
        for every in SHAPES:
            shapes = (every[0], (), ()) if op == "Clip" else every[:count]
            (result,) = loaded.run(None, fed(loaded, shapes))
            assert derived(op, shapes, opset) == result.shape, (op, shapes)
    assert opset < NEWEST or lacking == {"Swish"}  # of that it has no kernel


def test_operands_that_do_not_meet_have_no_result() -> None:
    for op in sorted(BROADCASTING):
        loaded = session(op, ARITY.get(op, 2), NEWEST)
        for pair in APART:
            shapes = (*pair, ())[: ARITY.get(op, 2)]
            assert derived(op, shapes) is None
            with pytest.raises(Refused):
                loaded.run(None, fed(loaded, shapes))


# --- what is observed -----------------------------------------------------------------------------------------------

CHAIN = """<ir_version: 10, opset_import: ["" : 21]> g (float[N,3] x) => (float[N,3] y) <float[3] w = {1, 2, 3}> {
    k = Constant <value = float[1,3] {1, 2, 3}> ()
    a = Add(x, w)
    m = MatMul(a, v)
    b = Mul(m, k)
    c = Relu(b)
    y = Add(c, a)
}"""


def parsed(text: str) -> onnx.ModelProto:
    return parser.parse_model(text)


def test_what_no_elementwise_operator_makes_is_observed() -> None:
    sizes = derived_sizes(parsed(CHAIN), "axmbckwy")
    assert sizes.observed == ("m",)
    found = sizes({"x": (5, 3), "m": (5, 1)})
    assert found == {"w": (3,), "k": (1, 3), "a": (5, 3), "b": (5, 3), "c": (5, 3), "y": (5, 3)}


def test_what_nobody_wants_is_not_observed() -> None:
    assert derived_sizes(parsed(CHAIN), "a").observed == ()


def test_an_initializer_that_is_fed_has_the_sizes_that_are_fed() -> None:
    sizes = derived_sizes(parsed(CHAIN), "a")
    assert sizes({"x": (5, 3), "w": (5, 1)}) == {"a": (5, 3)}
    assert sizes({"x": (5, 3)}) == {"w": (3,), "a": (5, 3)}


def test_nothing_follows_from_what_is_not_known() -> None:
    """A file that does not load with more nodes is not observed."""
    assert derived_sizes(parsed(CHAIN), "abc")({"x": (5, 3)}).keys() == {"w", "k", "a"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            '<ir_version: 3, opset_import: ["" : 6]> g (float[N,3] x, float[3] w) => (float[N,3] y)'
            " { t = Add <broadcast = 1> (x, w) y = Relu(t) }",
            id="an operator set in which operands align otherwise",
        ),
        pytest.param(
            '<ir_version: 10, opset_import: ["" : 21, "own" : 1]> g (float[N,3] x) => (float[N,3] y)'
            " { t = own.Add(x, x) y = own.Relu(t) }",
            id="an operator of another domain",
        ),
        pytest.param(
            '<ir_version: 10, opset_import: ["" : 21]> g (float[N,3] x) => (float[N,3] y) { t = Add(x, x) y = Relu(t) }'
            ' <domain: "", opset_import: ["" : 21]> Add (a, b) => (c) { c = MatMul(a, b) }'
            ' <domain: "", opset_import: ["" : 21]> Relu (a) => (c) { c = Transpose(a) }',
            id="functions that are called like operators",
        ),
        pytest.param(
            '<ir_version: 10, opset_import: ["" : 21]> g (float[N,3] x) => (float[3,N] t, float[N,3] y)'
            " { t = Transpose(x) y = Identity(x) }",
            id="operators that are not elementwise",
        ),
    ],
)
def test_where_no_law_holds_every_value_is_observed(text: str) -> None:
    assert derived_sizes(parsed(text), "ty").observed == ("t", "y")


def test_nodes_in_no_order_lose_no_value() -> None:
    model = parsed(CHAIN)
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    sizes = derived_sizes(model, "abcy")
    assert sizes.observed == ("y", "c", "b")
    assert sizes({"x": (5, 3)})["a"] == (5, 3)


def test_what_reads_a_sparse_initializer_is_observed() -> None:
    model = parsed(CHAIN)
    values, places = helper.make_tensor("w", FLOAT, [1], [1.0]), helper.make_tensor("i", INT64, [1], [2])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3]))
    del model.graph.initializer[:]
    assert derived_sizes(model, "bc").observed == ("m",)
    assert derived_sizes(model, "abc").observed == ("a", "m")


def test_a_value_of_whose_type_onnxruntime_takes_no_shape_hides_no_other(written: Written) -> None:
    steps = "i = Cast <to = 22> (x) t = Transpose(i) f = Cast <to = 1> (t) y = Add(f, b)"
    model = written(f"g (float[2,3] x) => (float[3,2] y) {{ {steps} }}", opset=21, b=np.float32([1, 2]))
    claims = Claims({"x": (2, 3)}, {"f": (1, 2)})
    assert verify(model, model, proof="without", claims=claims).status == "contradicted"


RIGHT: dict[str, ClaimedShape] = {"x": (2, 3), "a": (2, 3), "m": (2, 1), "b": (2, 3), "c": (2, 3)}
STEPS = "g (float[2,3] x) => (float[2,3] y) { a = Add(x, w) m = MatMul(a, v) b = Mul(m, w) c = Relu(b) y = Add(c, a) }"


@pytest.mark.ci
@pytest.mark.parametrize("value", ["", "a", "m", "b", "c"])
def test_a_wrong_claim_is_seen_of_what_is_derived_too(written: Written, value: str) -> None:
    model = written(STEPS, w=np.float32([1, 2, 3]), v=np.float32([[1], [2], [3]]))
    for wrong in ((1, 3), (2, 2), (3,)) if value else ((2, 3),):
        claims = Claims({"x": (2, 3)}, {**RIGHT, **({value: wrong} if value else {})})
        verdict = verify(model, model, proof="without", claims=claims)
        assert verdict.facts is not None
        assert (verdict.facts.claimed, verdict.facts.observed) == (5, 5)
        assert verdict.status == ("contradicted" if value else "equal")
        assert verdict.facts.first is None or verdict.facts.first.value == value
