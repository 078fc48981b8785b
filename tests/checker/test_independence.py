"""The checker shares nothing with what it checks, and reads models without their weights."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import graphfix
from graphfix.checker.files.onnx import external_data
from graphfix.checker.files.onnx.skeleton import read
from graphfix.results import GraphfixError
from graphfix.runtimes.onnx import onnxruntime
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.sessions import more_outputs
from models.builders.tflite.text import model as tflite
from tests.support.checked import verify
from tests.support.written import Written

ALLOWED = ("graphfix", "graphfix.version", "graphfix.results", "graphfix.runtimes", "graphfix.checker")
OURS = tuple(f"{name}." for name in ALLOWED[1:])


def imported(code: str, *arguments: str) -> list[str]:
    """Run code in another process, and give the names of the modules that it had imported at its end."""
    root = str(Path(graphfix.__file__).parent.parent)
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(*sys.modules, sep=chr(10))", *arguments],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    return result.stdout.splitlines()


DIFFERENT = """\
import sys, pathlib
from tests.support.checked import verify
assert verify(*map(pathlib.Path, sys.argv[1:3])).status == 'different'
"""


@pytest.mark.ci
def test_a_verification_imports_nothing_of_the_rewriter(written: Written) -> None:
    text = "g (float[N] x) => (float[N] y) {{ y = {}(x) }}"
    names = imported(DIFFERENT, str(written(text.format("Neg"))), str(written(text.format("Abs"))))
    ours = [name for name in names if name.split(".")[0] in ("graphfix", "rewrites")]
    assert "graphfix.checker.runs.comparing.first_difference" in ours
    assert [n for n in ours if n not in ALLOWED and not n.startswith(OURS)] == []


@pytest.mark.ci
def test_a_verification_of_tflite_imports_nothing_of_the_rewriter_and_no_onnx(tmp_path: Path) -> None:
    paths = [tmp_path / f"{op}.tflite" for op in ("NEG", "ABS")]
    for path in paths:
        path.write_bytes(tflite(f"y[N,2] = {path.stem}(x[N,2])"))
    names = imported(DIFFERENT, *map(str, paths))
    ours = [name for name in names if name.split(".")[0] in ("graphfix", "rewrites")]
    assert "graphfix.checker.files.tflite" in ours
    assert [n for n in ours if n not in ALLOWED and not n.startswith(OURS)] == []
    assert {"onnx", "onnxruntime", "tflite"}.isdisjoint(names)
    assert "ai_edge_litert.interpreter" not in names  # LiteRT runs in a child process only


def imports(path: Path) -> set[str]:
    """Give what a module imports of the house, types and late imports included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return {name for name in found if name.startswith((".", "graphfix", "rewrites"))}


@pytest.mark.ci
def test_the_proof_imports_nothing_of_the_house_but_results_itself_and_the_reader_of_files() -> None:
    modules = sorted((Path(graphfix.__file__).parent / "checker" / "proof").glob("**/*.py"))
    assert len(modules) > 20
    named = {name for path in modules for name in imports(path)}
    ours = ("graphfix.checker.proof.", "graphfix.checker.files.")
    assert {name for name in named if not name.startswith(ours)} == {
        "graphfix.results.InexactSite",
        "graphfix.results.InputValue",
        "graphfix.results.claims.StoredShape",
        "graphfix.results.claims.StoredSize",
        "graphfix.results.claims.assumptions",  # the text of what is assumed; it decides nothing
        "graphfix.results.claims.equal_dims",  # likewise
        "graphfix.results.records.dataclass",  # the standard library's, whose methods are compiled later
        "graphfix.results.records.field",
        "graphfix.results.axis_names.axis_fault",  # the text of an error; it decides nothing
        "graphfix.results.error_texts.no_dim",  # likewise
        "graphfix.results.runtime_facts.MOST_AXES",  # a limit of numpy: more axes are not folded
        "graphfix.runtimes.onnx.shape_inference.InferenceError",  # onnx's inference, as onnxruntime asks it at load
        "graphfix.runtimes.onnx.shape_inference.infer_shapes",
        "graphfix.runtimes.onnx.shape_inference.start",
    }


def test_importing_the_checker_imports_no_runtime_and_no_numpy() -> None:
    names = imported("import sys; import graphfix.checker")
    assert {"numpy", "onnx", "onnxruntime", "ai_edge_litert", "flatbuffers"}.isdisjoint(names)


def test_weights_are_left_out_and_everything_else_is_kept(written: Written) -> None:
    text = """g (float[N,64] x, bool c) => (float[N,64] y) {
        k = Constant<value_int = 3>()
        y = If (c) <then_branch = a () => (float[N,64] p) { p = Add(x, w) },
                    else_branch = b () => (float[N,64] q) { q = Neg(x) }>
    }"""
    path = written(text, w=np.ones((64, 64), np.float32), small=np.ones(4, np.float32))
    full, light = onnx.load(path), read(path)
    assert light.ByteSize() < 2048 < full.ByteSize()
    assert light.graph.initializer[0].raw_data == b""
    full.graph.initializer[0].ClearField("raw_data")
    assert light == full


def test_weights_inside_bodies_and_constants_are_left_out(written: Written) -> None:
    path = written("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    model = onnx.load(path)
    big = onnx.numpy_helper.from_array(np.ones(5000, np.float32), "big")
    body = onnx.helper.make_graph([onnx.helper.make_node("Constant", [], ["v"], value=big)], "b", [], [], [big])
    model.graph.node.append(onnx.helper.make_node("If", ["c"], ["v"], then_branch=body, else_branch=body))
    onnx.save(model, path)
    light = read(path)
    assert light.ByteSize() < 2048
    assert light.graph.node[1].attribute[0].g.initializer[0].dims == [5000]


def test_a_model_is_run_by_its_path_unless_it_has_data_files(written: Written, tmp_path: Path) -> None:
    path = written("g (float[N] x) => (float[N] y) { y = Add(x, b) }", b=np.ones(1, np.float32))
    plain = external_data.checked(path, read(path))
    assert (plain.runnable(), plain.folder) == (path, None)
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="d", size_threshold=0)
    split = external_data.checked(path, read(path))
    assert isinstance(split.runnable(), bytes)
    assert split.folder == tmp_path.resolve()


@pytest.mark.parametrize("kind", ["empty", "random", "cut", "folder", "absent", "text"])
def test_what_is_no_model_is_refused_in_one_line_with_its_name(written: Written, tmp_path: Path, kind: str) -> None:
    good = written("g (float[N] x) => (float[N] y) { y = Add(x, b) }", b=np.ones(1000, np.float32))
    bad = tmp_path / "bad.onnx"
    contents = {"empty": b"", "random": np.random.default_rng(1).bytes(999), "text": b"# a README\n"}
    contents["cut"] = good.read_bytes()[:-700]
    if kind == "folder":
        bad.mkdir()
    elif kind != "absent":
        bad.write_bytes(contents[kind])
    for pair in ((bad, good), (good, bad)):
        with pytest.raises(GraphfixError, match=r"bad\.onnx") as refused:
            verify(*pair)
        assert "\n" not in str(refused.value)


def test_exposed_values_come_behind_the_outputs(written: Written) -> None:
    path = written("g (float[N] x) => (float[N] y) { t = Add(x, x) y = Neg(t) }")
    session = onnxruntime.load(path, more=more_outputs(["t"], ()))
    assert session.outputs == ("y", "t")
    y, t = session.run({"x": np.float32([1, 2])})
    assert np.asarray(t).tolist() == [2, 4]
    assert np.asarray(y).tolist() == [-2, -4]
    assert len(list(path.parent.iterdir())) == 1


def test_a_refusal_is_one_line_and_tells_a_missing_kernel(written: Written) -> None:
    broken = written("g (float[N] x) => (float[N] y) { y = own.Frob(x) }", domains=', "own" : 1')
    lacking = written("g (float[N] x) => (float[N] y) { y = Add(x, x) }", opset=6)
    for path, missing in ((broken, False), (lacking, True)):
        with pytest.raises(RefusedError) as refused:
            onnxruntime.load(path).run({"x": np.ones(2, np.float32)})
        assert refused.value.missing_kernel is missing
        assert "\n" not in str(refused.value)


def test_a_child_that_dies_is_refused_and_the_next_request_starts_another(written: Written) -> None:
    path = written("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    with Child() as child:
        session = child.load(path)
        process = child._process
        assert process is not None
        process.kill()
        with pytest.raises(RefusedError, match="SIGKILL"):
            session.run({"x": np.ones(2, np.float32)})
        assert np.asarray(session.run({"x": np.ones(2, np.float32)})[0]).tolist() == [-1, -1]


def test_bits_are_compared_without_optimizations_and_without_prepacked_weights() -> None:
    from onnxruntime import ExecutionMode, GraphOptimizationLevel

    plain, best = onnxruntime._options(optimized=False), onnxruntime._options(optimized=True)
    assert plain.graph_optimization_level == GraphOptimizationLevel.ORT_DISABLE_ALL
    assert best.graph_optimization_level == GraphOptimizationLevel.ORT_ENABLE_ALL
    assert plain.get_session_config_entry("session.disable_prepacking") == "1"
    for options in (plain, best):
        assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
        assert options.execution_mode == ExecutionMode.ORT_SEQUENTIAL


def test_a_weight_that_only_gained_an_axis_gives_equal_bits(written: Written) -> None:
    weight = np.random.default_rng(0).normal(size=(300, 200)).astype(np.float32)
    text = "g (float[N,9,300] x) => (float[N,9,200] y) { y = MatMul(x, w) }"
    assert verify(written(text, w=weight), written(text, w=weight[None]), proof="without").status == "equal"
