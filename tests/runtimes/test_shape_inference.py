"""onnx's shape inference in a process apart: the same shapes and errors, and no crash or endless wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
import onnx.parser
import pytest

from graphfix.runtimes.onnx import shape_inference
from graphfix.runtimes.onnx.shape_inference import InferenceError, infer_shapes

CONSTANTS = (
    "int64[1] o = {0}, int64[1] last = {2}, int64[1] far = {9}, int64[1] back = {-1}, int64[2] below = {-3,1}, "
    "int64[2] cut = {-6,0}"
)
ABORTING = {
    "expand": "e = Expand (x, below) y = Slice (e, o, far, o, back)",
    "computed": "s = Shape (v) m = Sub (s, far) e = Expand (go, m) y = Slice (e, o, far, o, back)",
    "pad": "e = Pad (v, cut) y = Slice (e, o, far, o, back)",
    "pool": "e = MaxPool <kernel_shape = [7]> (w) y = Slice (e, o, far, last, back)",
    "body": "e = Expand (x, below) y = If (go) <"
    "then_branch = t () => (float[?,?] r) <int64[1] p = {0}, int64[1] q = {9}, int64[1] s = {-1}> "
    "{ r = Slice (e, p, q, p, s) }, else_branch = f () => (float[?,?] i) { i = Identity (x) }>",
}
"""Nodes whose inference asserts that a size is not negative: by name, how a negative size comes about."""


def model(nodes: str) -> onnx.ModelProto:
    """Return a model that declares no shape of its output y."""
    graph = f"g (float[N,4] x, float[4] v, float[1,1,3] w, bool go) => (float[?] y) <{CONSTANTS}> {{ {nodes} }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


def test_the_shapes_are_those_of_onnx() -> None:
    given = model("a = Concat <axis = 0> (x, x) b = Shape (a) c = ConstantOfShape (b) y = Add (a, c)")
    for data_prop in (False, True):
        expected = onnx.shape_inference.infer_shapes(given, data_prop=data_prop)
        assert infer_shapes(given, data_prop=data_prop) == expected
    assert {value.name for value in expected.graph.value_info} == {"a", "b", "c"}


def test_what_onnx_objects_to_is_an_error_with_its_text() -> None:
    given = model("a = Concat <axis = 5> (x, x) y = Relu (a)")
    with pytest.raises(onnx.shape_inference.InferenceError) as expected:
        onnx.shape_inference.infer_shapes(given, strict_mode=True)
    with pytest.raises(InferenceError) as raised:
        infer_shapes(given, strict=True)
    assert str(raised.value) == str(expected.value)
    assert not raised.value.aborted


@pytest.mark.parametrize("name", ABORTING)
def test_an_abort_is_an_error(name: str) -> None:
    with pytest.raises(InferenceError, match="onnx's inference aborts its process") as raised:
        infer_shapes(model(ABORTING[name]), data_prop=True)
    assert raised.value.aborted


def test_a_node_without_its_operands_ends_nothing() -> None:
    for node in ("Slice ()", "Concat <axis = 0> ()", "Reshape (x)", "Pad (x)", 'Einsum <equation = "ij->ji"> ()'):
        try:
            infer_shapes(model(f"a = {node} y = Relu (x)"), data_prop=True)
        except InferenceError:
            continue


@pytest.mark.ci
def test_an_inference_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_inference, "SECONDS", 1.0)
    with pytest.raises(InferenceError, match="was stopped: no answer within 1 seconds") as raised:
        infer_shapes(model('y = Einsum <equation = "a2,a2->a2"> (o, far)'))
    assert raised.value.aborted


def pid() -> int:
    """Return the number of the process that is kept."""
    process = shape_inference._KEPT._process
    assert process is not None
    return process.pid


@pytest.mark.ci
def test_one_process_answers_all_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_inference, "SECONDS", 1.0)
    infer_shapes(model("y = Relu (x)"))
    first = pid()
    time.sleep(1.2)  # its time is that of a question
    with pytest.raises(InferenceError):
        infer_shapes(model("a = Concat <axis = 5> (x, x) y = Relu (a)"), strict=True)
    shape_inference.start()
    assert infer_shapes(model("y = Relu (x)")).graph.output[0].type.tensor_type.HasField("shape")
    assert pid() == first


def test_a_process_that_was_ended_while_it_waited_is_started_again() -> None:
    infer_shapes(model("y = Relu (x)"))
    first = pid()
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert infer_shapes(model("y = Relu (x)")).graph.output[0].type.tensor_type.HasField("shape")
    assert pid() != first


def test_no_answer_is_taken_for_that_of_an_interrupted_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("graphfix.runtimes.pipes.pickle.load", interrupted)
        with pytest.raises(KeyboardInterrupt):
            infer_shapes(model("y = Relu (x)"))
    inferred = infer_shapes(model("a = Concat <axis = 0> (x, x) y = Relu (a)"))
    assert [value.name for value in inferred.graph.value_info] == ["a"]


def test_threads_take_turns() -> None:
    models = [model(f"{name} = Relu (x) y = Relu ({name})") for name in map("r{}".format, range(40))]
    with ThreadPoolExecutor(8) as threads:
        inferred = list(threads.map(infer_shapes, models))
    assert [[value.name for value in each.graph.value_info] for each in inferred] == [[f"r{at}"] for at in range(40)]


def test_a_fork_asks_a_process_of_its_own() -> None:
    infer_shapes(model("y = Relu (x)"))
    first = pid()
    forked = os.fork()
    if not forked:
        infer_shapes(model("y = Relu (x)"))
        os._exit(int(pid() == first))
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert infer_shapes(model("y = Relu (x)")).graph.output[0].type.tensor_type.HasField("shape")
    assert pid() == first


@pytest.mark.ci
def test_the_process_ends_with_the_one_that_started_it() -> None:
    asks = (
        "from graphfix.runtimes.onnx import shape_inference as o; o.start(); print(o._KEPT._process.pid, flush=True); "
    )
    endless = model('y = Einsum <equation = "a2,a2->a2"> (o, far)').SerializeToString()
    while_it_asks = (
        f"import os, threading, onnx; o.SECONDS = 2; threading.Timer(0.5, os.kill, (os.getpid(), 9)).start(); "
        f"o.infer_shapes(onnx.ModelProto.FromString({endless!r}))"
    )
    for ends in ("", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)", while_it_asks):
        ran = subprocess.run([sys.executable, "-c", asks + ends], capture_output=True, text=True, check=False)
        assert ran.stderr == ""
        for _ in range(100):
            if not Path(f"/proc/{int(ran.stdout)}").exists():
                break
            time.sleep(0.1)
        else:
            pytest.fail(f"process {ran.stdout.strip()} is left behind after {ends or 'the end'!r}")
