"""Files in which a few nodes ask for much work: `check` and `fix` end in seconds, in little memory, with an answer."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from graphfix.checker.runs.onnx.work import work_fault
from graphfix.cli import commands
from graphfix.formats import onnx as onnx_format
from graphfix.formats.onnx.infer.budget import EACH, FEWEST, Budget

SECONDS, BYTES = 20, 512 << 20
ENDS = {"check": {0, 1, 2, 3}, "fix": {0, 2, 3, 4}}
"""Exit statuses that are an answer, or one line of why there is none."""
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
LOCAL = helper.make_opsetid("local", 1)
OPSETS = [helper.make_opsetid("", 18), LOCAL]
node, graph = helper.make_node, helper.make_graph


def value(name: str, sizes: Sequence[int | str] | None, dtype: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, sizes)


def written(
    path: Path,
    nodes: Sequence[NodeProto],
    last: str,
    inputs: Sequence[ValueInfoProto],
    constants: dict[str, object] | None = None,
    functions: Sequence[FunctionProto] = (),
) -> Path:
    """Write o = Add(last, y[Q]) behind the nodes."""
    tensors = [numpy_helper.from_array(np.asarray(held), name) for name, held in (constants or {}).items()]
    body = [*nodes, node("Add", [last, "y"], ["o"])]
    whole = graph(body, "g", [*inputs, value("y", ["Q"])], [value("o", None)], tensors)
    proto = helper.make_model(whole, opset_imports=OPSETS, functions=list(functions), ir_version=9)
    path.write_bytes(proto.SerializeToString())
    return path


def expanded(nodes: Sequence[NodeProto], sizes: str) -> list[NodeProto]:
    """A value whose size is what a vector holds."""
    return [*nodes, node("Expand", ["b", sizes], ["last"])]


def chain(op: str, count: int, first: str, **attributes: object) -> tuple[list[NodeProto], str]:
    """The same operator again and again, on its own result twice."""
    names = [first, *[f"{first}_{at}" for at in range(count)]]
    pairs = pairwise(names)
    return [node(op, [before, before], [behind], **attributes) for before, behind in pairs], names[-1]


# --- the kinds --------------------------------------------------------------------------------------------------------


def products(path: Path, count: int = 60) -> Path:
    """Squares of a size: in the name N is twice as often each time, then the range has twice the digits."""
    nodes, last = chain("Mul", count, "s")
    return written(path, expanded([node("Shape", ["x"], ["s"]), *nodes], last), "last", [value("x", ["N"]), B])


def products_of_sums(path: Path, count: int = 30) -> Path:
    """(N0 + M0) * (N1 + M1) * ..: a product has 2**30 monomials."""
    nodes, inputs, sizes = [], [B], [f"s{at}" for at in range(count)]
    for at, size in enumerate(sizes):
        inputs += [value(f"n{at}", [f"N{at}"]), value(f"m{at}", [f"M{at}"])]
        nodes += [node("Concat", [f"n{at}", f"m{at}"], [f"c{at}"], axis=0), node("Shape", [f"c{at}"], [size])]
    nodes += [node("Concat", sizes, ["all"], axis=0), node("ReduceProd", ["all"], ["p"], keepdims=1)]
    return written(path, expanded(nodes, "p"), "last", inputs)


def sums(path: Path, count: int = 1300) -> Path:
    """A Concat doubled: 2**1300 N, whose coefficient no float holds."""
    nodes, last = chain("Concat", count, "x", axis=0)
    return written(path, nodes, last, [value("x", ["N"])])


def maps(path: Path, count: int = 60) -> Path:
    """Sums of a value and its transpose: each size is the broadcast of both before it."""
    nodes, last = [], "x"
    for at in range(count):
        nodes += [node("Transpose", [last], [f"t{at}"], perm=[1, 0]), node("Add", [last, f"t{at}"], [f"a{at}"])]
        last = f"a{at}"
    return written(path, nodes, last, [value("x", ["N", "M"])])


def calls(path: Path, count: int = 24) -> Path:
    """Each function calls the next one twice, on another shape each time."""
    functions = []
    for at in range(count):
        body = [
            node("Concat", ["x", "x"], ["c"], axis=0),
            node(f"f{at + 1}", ["x"], ["t"], domain="local"),
            node(f"f{at + 1}", ["c"], ["u"], domain="local"),
            node("Concat", ["t", "u"], ["y"], axis=0),
        ]
        body = body if at < count - 1 else [node("Relu", ["x"], ["y"])]
        functions.append(helper.make_function("local", f"f{at}", ["x"], ["y"], body, OPSETS))
    first = node("f0", ["x"], ["last"], domain="local")
    return written(path, [first], "last", [value("x", ["N"])], functions=functions)


def loops(path: Path, depth: int = 14) -> Path:
    """Loops in each other: each widens one carried value after another, and is read again for each of them."""
    carried = range(6)

    def body(level: int) -> GraphProto:
        own, out = [f"v{level}_{at}" for at in carried], [f"w{level}_{at}" for at in carried]
        nodes = [node("Identity", [f"c{level}"], [f"d{level}"])]
        held = own if level == depth else [f"r{level}_{at}" for at in carried]
        if level < depth:
            nodes.append(node("Loop", ["count", "", *own], held, body=body(level + 1)))
        nodes.append(node("Concat", [held[0], held[0]], [out[0]], axis=0))
        nodes += [node("Identity", [held[at - 1]], [out[at]]) for at in carried[1:]]
        inputs = [value(f"i{level}", [], INT64), value(f"c{level}", [], BOOL), *[value(name, None) for name in own]]
        return graph(nodes, f"b{level}", inputs, [value(f"d{level}", [], BOOL), *[value(name, None) for name in out]])

    results = [f"r_{at}" for at in carried]
    loop = node("Loop", ["count", "", *["x"] * len(carried)], results, body=body(0))
    return written(path, [loop], results[-1], [value("x", ["N"])], {"count": np.int64(3)})


def constants(path: Path, count: int = 40, op: str = "Concat") -> Path:
    """A constant doubled 40 times by Concat, Tile or Expand."""
    if op == "Concat":
        nodes, last = chain("Concat", count, "k", axis=0)
        return written(path, nodes, last, [], {"k": np.ones(2, np.float32)})
    names = ["k", *[f"k{at}" for at in range(count)]]
    pairs = [*pairwise(names)]
    held: dict[str, object] = {"k": np.ones(2, np.float32)}
    if op == "Tile":
        held["by"] = np.array([2])
        return written(path, [node("Tile", [one, "by"], [two]) for one, two in pairs], names[-1], [], held)
    held |= {f"e{at}": np.array([2] * min(at + 1, 40) + [2]) for at in range(count)}
    nodes = [node("Expand", [one, f"e{at}"], [two]) for at, (one, two) in enumerate(pairs)]
    return written(path, nodes, names[-1], [], held)


def stored_names(path: Path, count: int = 1 << 16) -> Path:
    """A stored name of a size that is a sum of 65,536 names, on a value that no rule knows."""
    last = node("Unknown", ["x"], ["last"], domain="local")
    made = onnx.load(written(path, [last], "last", [value("x", ["N"])]))
    made.graph.value_info.append(value("last", ["+".join(["N"] * count)]))
    path.write_bytes(made.SerializeToString())
    return path


def einsums(path: Path, count: int = 30) -> Path:
    """The outer product of a value with itself, flattened: a size is squared each time."""
    nodes, last = [], "x"
    for at in range(count):
        nodes += [
            node("Einsum", [last, last], [f"p{at}"], equation="a,b->ab"),
            node("Reshape", [f"p{at}", "m"], [f"x{at}"]),
        ]
        last = f"x{at}"
    return written(path, nodes, last, [value("x", ["N"])], {"m": np.array([-1])})


def branches(path: Path, count: int = 40) -> Path:
    """Ifs behind each other: one branch doubles, the other does not."""
    nodes, last = [], "x"
    for at in range(count):
        then = graph([node("Concat", [last, last], [f"t{at}"], axis=0)], "t", [], [value(f"t{at}", None)])
        other = graph([node("Relu", [last], [f"e{at}"])], "e", [], [value(f"e{at}", None)])
        nodes.append(node("If", ["going"], [f"x{at}"], then_branch=then, else_branch=other))
        last = f"x{at}"
    return written(path, nodes, last, [value("x", ["N"]), value("going", [], BOOL)])


def sequences(path: Path, count: int = 60) -> Path:
    """The concatenation of a sequence is put into it: each is as long as all before it together."""
    nodes, last = [node("SequenceConstruct", ["x", "x"], ["q"])], "q"
    for at in range(count):
        nodes.append(node("ConcatFromSequence", [last], [f"x{at}"], axis=0))
        nodes.append(node("SequenceInsert", [last, f"x{at}"], [f"q{at}"]))
        last = f"q{at}"
    return written(path, nodes, f"x{count - 1}", [value("x", ["N"])])


B = value("b", [1])
KINDS: dict[str, tuple[Callable[[Path], Path], Sequence[str]]] = {
    "products": (products, ("--dim", "N=2..64")),
    "products of sums": (products_of_sums, ()),
    "sums": (sums, ()),
    "maps": (maps, ()),
    "functions": (calls, ()),
    "nested bodies": (loops, ()),
    "constants by Concat": (constants, ()),
    "constants by Tile": (lambda path: constants(path, op="Tile"), ()),
    "constants by Expand": (lambda path: constants(path, op="Expand"), ()),
    "stored names": (stored_names, ()),
    "Einsum": (einsums, ()),
    "If": (branches, ()),
    "sequences": (sequences, ()),
}


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
def test_doubling_ends_within_20_seconds_and_512_mib(kind: str, tmp_path: Path) -> None:
    make, options = KINDS[kind]
    path, out = make(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    for command, more in (("check", ()), ("fix", ("-o", str(out), "--no-verify"))):
        done = subprocess.run(
            [sys.executable, "-m", "graphfix", command, str(path), *options, *more],
            preexec_fn=limits,  # the test is one thread
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stderr.strip().splitlines()
        assert done.returncode in ENDS[command], (command, done.returncode, said[-3:])
        assert done.returncode not in {2, 3} or len(said) == 1, said
        assert "Traceback" not in done.stderr
        assert "memory" not in done.stderr


@pytest.mark.alike(2)
@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
def test_fix_ends_within_20_seconds_of_each_process_with_its_runs(kind: str, tmp_path: Path) -> None:
    make, options = KINDS[kind]
    path, out = make(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    done = subprocess.run(
        [sys.executable, "-m", "graphfix", "fix", str(path), "-o", str(out), *options],
        preexec_fn=limits,  # the test is one thread
        capture_output=True,
        text=True,
        timeout=6 * SECONDS,  # of another, busy machine
        check=False,
    )
    assert done.returncode in {*ENDS["fix"], 3}, (done.returncode, done.stderr[-300:])
    assert out.exists() == (done.returncode not in {2, 3})
    assert "Traceback" not in done.stderr


def test_a_loop_whose_condition_may_end_it_is_run(tmp_path: Path) -> None:
    for ends in (False, True):
        model = onnx.load(counted(tmp_path / "m.onnx", 1, 1 << 30))
        if ends:
            body = model.graph.node[0].attribute[0].g
            body.initializer.append(numpy_helper.from_array(np.array(False), "no"))
            next(each for each in body.node if each.op_type == "Identity").input[0] = "no"
        assert (work_fault([model, model], thorough=False) is None) == ends
        assert work_fault([model, model], thorough=True) is None


@pytest.mark.parametrize("kind", ["products", "products of sums", "sums", "Einsum", "sequences"])
def test_a_few_of_a_kind_are_followed(kind: str, tmp_path: Path) -> None:
    small = {products: 3, products_of_sums: 3, sums: 3, einsums: 2, sequences: 3}
    make, _ = KINDS[kind]
    path = make(tmp_path / "m.onnx", small[make])  # type: ignore[call-arg] -- how often is the second argument of these
    (last,) = [made.operands[0] for made in onnx_format.load(path.read_bytes()).graphs[0].nodes if made.op == "Add"]
    assert last is not None
    (size,) = last.shape.dims
    assert not isinstance(size, int)
    assert size.parts[0].startswith("?=")  # arithmetic over the names of the inputs


# --- loops that are unrolled ------------------------------------------------------------------------------------------


def counted(path: Path, depth: int, trips: int) -> Path:
    """Loops in each other that add 1, of which the number of trips is a constant."""

    def body(level: int) -> GraphProto:
        inner = node("Add", [f"v{level}", "one"], [f"w{level}"])
        if level < depth:
            inner = node("Loop", ["count", "", f"v{level}"], [f"w{level}"], body=body(level + 1))
        nodes = [node("Identity", [f"c{level}"], [f"d{level}"]), inner]
        inputs = [value(f"i{level}", [], INT64), value(f"c{level}", [], BOOL), value(f"v{level}", [1])]
        return graph(nodes, f"b{level}", inputs, [value(f"d{level}", [], BOOL), value(f"w{level}", [1])])

    loop = node("Loop", ["count", "", "x"], ["last"], body=body(1))
    held: dict[str, object] = {"count": np.int64(trips), "one": np.ones(1, np.float32)}
    return written(path, [loop], "last", [value("x", [1])], held)


@pytest.mark.parametrize(("depth", "trips", "stays"), [(1, 100, False), (2, 20, False), (3, 100, True), (12, 5, True)])
def test_a_nest_of_loops_is_unrolled_as_a_whole_or_not(depth: int, trips: int, stays: bool, tmp_path: Path) -> None:
    path, out = counted(tmp_path / "m.onnx", depth, trips), tmp_path / "o.onnx"
    options = ["--target", "tosa", "--bind-defaults", "--no-verify", "--exit-zero"]
    assert commands.main(["fix", str(path), "-o", str(out), *options]) == 0
    assert any(each.op_type == "Loop" for each in onnx.load(out).graph.node) == stays
    again = tmp_path / "p.onnx"
    assert commands.main(["fix", str(out), "-o", str(again), *options]) == 0
    assert again.read_bytes() == out.read_bytes()


# --- what models take of the budget -----------------------------------------------------------------------------------


def test_no_model_takes_a_tenth_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(Budget, "read", lambda _, nodes: read.append(nodes))
    paths = sorted(Path("models/bodies").glob("*.onnx"))
    assert len(paths) > 5  # or there is nothing to see
    for path in paths:
        read.clear()
        model = onnx_format.load(path.read_bytes())
        count = sum(len(each.nodes) for each in model.graphs)
        assert sum(read) < (FEWEST + EACH * count) / 10, path


def test_the_budget_grows_with_the_file() -> None:
    budget = Budget()
    budget.allow(1000)
    assert budget.left == FEWEST + EACH * 1000
    budget.read(budget.left - 10)
    assert budget.allows(10)
    assert not budget.allows(11)


# --- runs -------------------------------------------------------------------------------------------------------------


def squared(path: Path) -> Path:
    """A value of 24 GiB, from two numbers."""
    node_ = node("ConstantOfShape", ["shape"], ["last"])
    return written(path, [node_], "last", [], {"shape": np.array([80_000, 80_000])})


@pytest.mark.ci
@pytest.mark.parametrize(("make", "status"), [(calls, 0), (sums, 0), (squared, 0)])
def test_runs_that_ask_for_too_much_are_left_out(
    make: Callable[[Path], Path], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = make(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    started = time.monotonic()
    assert commands.main(["fix", str(path), "-o", str(out)]) == status, capsys.readouterr()
    assert time.monotonic() - started < 3 * SECONDS
