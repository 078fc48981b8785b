"""Files of a few nodes that ask for work which doubles with each node: the proof ends in seconds, in bounded memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper

from graphfix.checker.files.pair import Pair
from graphfix.checker.proof.core.budget import Budget, TooLargeError
from graphfix.checker.proof.onnx import compare
from tests.support import child

HEAD = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]>'
STEPS = 40
MEMORY = 512 << 20
"""Bytes of data."""
SECONDS = 20


def chain(first: str, step: str, last: str, head: str = "(float[N,M] x) => (float y)", held: str = "") -> str:
    """Return a graph: `step` is a node from `v{i}` to `v{n}`, between a first and a last node."""
    steps = " ".join(step.format(i=at, n=at + 1) for at in range(STEPS))
    return f"g {head} {held} {{ {first} {steps} {last.format(n=STEPS)} }}"


SHAPE, EXPAND = "s = Shape(x) v0 = ReduceProd(s)", "y = Expand(x, v{n})"
ONE = "<int64[1] one = {1}, int64[1] zero = {0}, int64[2] two = {2, 2}, float[1] c = {1}>"
GRAPHS = {
    "sizes multiplied by themselves": chain(SHAPE, "v{n} = Mul(v{i}, v{i})", EXPAND),
    "sizes added to themselves": chain(SHAPE, "v{n} = Add(v{i}, v{i})", EXPAND),
    "sums multiplied by sums": chain(SHAPE, "w{n} = Add(v{i}, one) v{n} = Mul(w{n}, v{i})", EXPAND, held=ONE),
    "the greater of two sizes": chain(
        SHAPE, "a{n} = Mul(v{i}, v{i}) b{n} = Sub(a{n}, one) v{n} = Max(b{n}, v{i})", EXPAND, held=ONE
    ),
    "sizes divided": chain(SHAPE, "a{n} = Mul(v{i}, v{i}) v{n} = Div(a{n}, w)", EXPAND, held="<int64[1] w = {3}>"),
    "shapes joined with themselves": chain("v0 = Shape(x)", "v{n} = Concat <axis = 0> (v{i}, v{i})", EXPAND),
    "constants joined with themselves": chain(
        "v0 = Identity(c)", "v{n} = Concat <axis = 0> (v{i}, v{i})", "y = Add(x, v{n})", held=ONE
    ),
    "different constants joined": chain(
        "v0 = Concat <axis = 0> (d, e)",
        "v{n} = Concat <axis = 0> (v{i}, v{i})",
        "y = Add(x, v{n})",
        held="<float[1] d = {1}, float[1] e = {2}>",
    ),
    "constants repeated": chain(
        "v0 = Unsqueeze(d, one)", "v{n} = Tile(v{i}, two)", "y = Add(x, v{n})", held=ONE[:-1] + ", float[2] d = {1, 2}>"
    ),
    "constants stretched": chain(
        "v0 = Range(f, l, t) r = Unsqueeze(v0, one)",
        "a{n} = Add(v{i}, r) v{n} = Reshape(a{n}, m)",
        "y = Expand(x, v{n})",
        held="<int64[1] one = {1}, int64[1] m = {-1}, int64 f = {0}, int64 l = {65000}, int64 t = {1}>",
    ),
    "values joined with themselves": chain(
        "v0 = Identity(x)", "v{n} = Concat <axis = 0> (v{i}, v{i})", "y = Identity(v{n})"
    ),
    "outer products": chain(
        "v0 = Reshape(x, m)",
        "a{n} = Unsqueeze(v{i}, one) b{n} = Mul(a{n}, v{i}) v{n} = Reshape(b{n}, m)",
        "y = Identity(v{n})",
        held="<int64[1] one = {1}, int64[1] m = {-1}>",
    ),
    "outer products by Einsum": chain(
        "v0 = Reshape(x, m)",
        'b{n} = Einsum <equation = "i,j->ij"> (v{i}, v{i}) v{n} = Reshape(b{n}, m)',
        "y = Identity(v{n})",
        held="<int64[1] m = {-1}>",
    ),
    "maps over maps": chain(
        "v0 = Identity(x)", "a{n} = Transpose(v{i}) v{n} = Add(a{n}, v{i})", "y = Identity(v{n})",
        "(float[N,N] x) => (float y)",
    ),
    "axes added": chain(
        "v0 = Identity(x)", "v{n} = Unsqueeze(v{i}, zero)", "y = Add(v{n}, x)", held=ONE
    ),
    "parts of a sequence": chain(
        "v0 = SplitToSequence <axis = 0> (x)",
        "a{n} = ConcatFromSequence <axis = 0> (v{i}) b{n} = Concat <axis = 0> (a{n}, a{n}) "
        "v{n} = SplitToSequence <axis = 0> (b{n})",
        "y = ConcatFromSequence <axis = 0> (v{n})",
        "(float[2,3] x) => (float y)",
    ),
}  # fmt: skip


def functions(body: str) -> str:
    """Return a model whose functions each call the next one as the body says."""
    texts = [
        f'<domain: "f", opset_import: ["" : 18, "f" : 1]> F{at} (x) => (y) {{ {body.format(n=at + 1)} }}'
        for at in range(24)
    ]
    last = '<domain: "f", opset_import: ["" : 18]> F24 (x) => (y) { y = Neg(x) }'
    return f"{HEAD} g (float[2,3] x) => (float[2,3] y) {{ y = f.F0(x) }} " + " ".join([*texts, last])


def has_bodies(path: Path) -> bool:
    """Return whether a model has bodies or functions; the budget counts no other nodes."""
    model = onnx.load(path, load_external_data=False)
    return bool(model.functions) or any(a.HasField("g") for node in model.graph.node for a in node.attribute)


MODELS = {
    **{name: f"{HEAD} {text}" for name, text in GRAPHS.items()},
    "functions that call the next one twice": functions("a = f.F{n}(x) y = f.F{n}(a)"),
    "functions that call the next one on two values": functions("b = Neg(x) a = f.F{n}(x) d = f.F{n}(b) y = Add(a, d)"),
}


def chosen(depth: int) -> ModelProto:
    """Return an If whose branches hold an If each, and so on: the file doubles with each level."""

    def branch(level: int, name: str) -> onnx.GraphProto:
        result = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])
        if not level:
            return helper.make_graph([helper.make_node("Neg", ["x"], [name])], name, [], [result])
        one, two = (branch(level - 1, f"{name}{side}") for side in "te")
        node = helper.make_node("If", ["c"], [name], then_branch=one, else_branch=two)
        return helper.make_graph([node], name, [], [result])

    made = branch(depth, "y")
    made.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]))
    made.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    return helper.make_model(made, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])


def looped(depth: int) -> ModelProto:
    """Return loops within each other, whose states change their shape: each body is read several times."""

    def body(level: int) -> onnx.GraphProto:
        names = [f"s{level}_{at}" for at in range(4)]
        states = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 3]) for name in names]
        given = [
            helper.make_tensor_value_info(f"i{level}", TensorProto.INT64, []),
            helper.make_tensor_value_info(f"c{level}", TensorProto.BOOL, []),
        ]
        nodes = [helper.make_node("Identity", [f"c{level}"], [f"d{level}"])]
        last = names
        if level:
            last = [f"r{level}_{at}" for at in range(4)]
            nodes.append(helper.make_node("Loop", ["n", "c", *names], last, body=body(level - 1)))
        results = [f"o{level}_{at}" for at in range(4)]
        nodes.append(helper.make_node("Concat", [last[3], last[3]], [results[0]], axis=0))
        nodes += [helper.make_node("Neg", [last[at]], [results[at + 1]]) for at in range(3)]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 3]) for name in results]
        condition = helper.make_tensor_value_info(f"d{level}", TensorProto.BOOL, [])
        return helper.make_graph(nodes, f"b{level}", [*given, *states], [condition, *outputs])

    outputs = [helper.make_tensor_value_info(f"y{at}", TensorProto.FLOAT, [None, 3]) for at in range(4)]
    names = [output.name for output in outputs]
    node = helper.make_node("Loop", ["n", "c", "x", "x", "x", "x"], names, body=body(depth))
    given = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("n", TensorProto.INT64, []),
    ]
    graph = helper.make_graph([node], "g", given, outputs)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])


def made(name: str) -> ModelProto:
    if name == "branches within branches":
        return chosen(8)
    if name == "loops within loops":
        return looped(10)
    return onnx.parser.parse_model(MODELS[name])


PROVE = """
import resource, sys
from pathlib import Path
from tests.support.proving import prove
for at in range(int(sys.argv[1])):
    proof = prove(Path(f"{at}.before"), Path(f"{at}.after"))
    print("proved" if proof.proved else proof.reason, flush=True)
"""
NAMES = [*MODELS, "branches within branches", "loops within loops"]


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Prove each model equal to itself; one process has the seconds and the memory that one proof may take."""
    folder = tmp_path_factory.mktemp("pairs")
    for at, name in enumerate(NAMES):
        model = made(name)
        for file in ("before", "after"):
            model.doc_string = file
            (folder / f"{at}.{file}").write_bytes(model.SerializeToString())
    command = [sys.executable, "-c", PROVE, str(len(NAMES))]
    where = {"cwd": folder, "env": child.environment()}
    done = subprocess.run(command, **where, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return dict(zip(NAMES, done.stdout.splitlines(), strict=True))


@pytest.mark.ci
@pytest.mark.parametrize("name", NAMES)
def test_a_proof_ends_in_seconds_and_in_little_memory(name: str, answers: dict[str, str]) -> None:
    undecided = {"functions that call the next one twice": "function f.F", "loops within loops": "main/Loop#0.body/"}
    if name in undecided:
        assert answers[name].startswith(f"too large to decide: {undecided[name]}")
    else:
        assert answers[name] == "proved"


def test_computed_constants_are_counted() -> None:
    budget = Budget(folded=100)
    budget.fold(60, "Add#0")
    with pytest.raises(TooLargeError, match="too large to decide: Add#1 and nodes before it"):
        budget.fold(60, "Add#1")


def test_the_budget_grows_with_the_files() -> None:
    small, large = Budget(), Budget()
    large.allow(10)
    assert large.nodes - small.nodes == 10 * (large.nodes - small.nodes) // 10 > 0
    small.read(small.nodes, "main")
    with pytest.raises(TooLargeError, match="too large to decide: main is read too often"):
        small.read(1, "main")


BODIES = [path for path in sorted(Path("models").rglob("*.onnx")) if has_bodies(path)]


@pytest.mark.parametrize("path", BODIES, ids=str)
def test_models_of_this_project_need_a_tenth_of_the_budget(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[Budget] = []
    kept = Budget.allow

    def allow(self: Budget, nodes: int) -> None:
        kept(self, nodes)
        budgets.append(Budget(self.nodes, self.folded))
        budgets.append(self)

    monkeypatch.setattr(Budget, "allow", allow)
    with ExitStack() as stack:
        compare.compared(Pair(path, path), stack)
    whole, left = budgets[:2]
    assert left.nodes >= 0.9 * whole.nodes
    assert left.folded >= 0.9 * whole.folded
