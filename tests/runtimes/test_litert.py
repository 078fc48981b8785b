"""LiteRT behind a child process: what it is fed and gives, its refusals, its aborts and hangs, its shapes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphfix
from graphfix.runtimes.litert.evaluation import KERNELS, Shapes, shapes
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from models.builders.tflite.text import Signature, pack, tree
from models.builders.tflite.text import model as tflite

ADD = tflite("y[N,4] = ADD(x[N,4], b:const[4]{1.0,2.0,3.0,4.0})")
ABORTING = tflite("y[2,2,2,2,2,2,2,2,2] = ADD(x[1,1,1,1,1,1,1,1,2], b[2,2,2,2,2,2,2,2,2])")
COLUMN = "y:string[N,1] = RESHAPE(x:string[N], s:const:int32{-1,1})"


@pytest.mark.ci
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("kernels", KERNELS)
def test_every_kernel_set_runs_at_sizes_that_change_from_run_to_run(kernels: str) -> None:
    with Child() as child:
        session = child.load_tflite(ADD, kernels)
        for rows in (3, 1, 2):
            (y,) = session.run({"x": np.ones((rows, 4), np.float32)})
            assert np.asarray(y).tolist() == [[2, 3, 4, 5]] * rows


def test_a_session_tells_types_shapes_and_quantization() -> None:
    signatures = {"main": Signature("main", {"in": "x"}, {"out": "y"})}
    model = tflite("y:int8[2] = RELU(x:int8[2])", signatures=signatures)
    with Child() as child:
        spec = child.load_tflite(model, "builtin").inputs[0]
        assert (spec.name, spec.index, spec.dtype, spec.shape, spec.alias) == ("x", 0, "int8", (2,), "in")
        assert (spec.scales, spec.zero_points) == ((0.5,), (3,))
        free = child.load_tflite(ADD, "builtin").inputs[0]
        assert (free.shape, free.shape_signature) == ((1, 4), (-1, 4))


def test_a_path_is_loaded_as_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(ADD)
    with Child() as child:
        assert child.load_tflite(path, "reference").inputs == child.load_tflite(ADD, "reference").inputs


def test_empty_and_repeated_names_give_way_to_the_index() -> None:
    made = tree("subgraph main(x[2], same[2], unread[2]) -> y:\ny[2] = ADD(x, same)")
    for tensor, name in zip(made.subgraphs[0].tensors, ("", "same", "y", "y"), strict=True):
        tensor.name = name
    with Child() as child:
        names = [spec.name for spec in child.load_tflite(pack(made), "builtin").inputs]
    assert names == ["t0", "same", "t2"]


def test_strings_go_in_and_come_out() -> None:
    with Child() as child:
        (y,) = child.load_tflite(tflite(COLUMN), "builtin").run({"x": np.array(["a", "bc", ""], object)})
    assert np.asarray(y).tolist() == [[b"a"], [b"bc"], [b""]]


def test_a_signature_of_another_subgraph_runs_under_its_own_names() -> None:
    model = tflite(
        "y[N,4] = ABS(x[N,4])\nsubgraph second:\nq[N,2] = NEG(p[N,2])",
        signatures={
            "one": Signature("main", {"a": "x"}, {"b": "y"}),
            "two": Signature("second", {"c": "p"}, {"d": "q"}),
        },
    )
    with Child() as child:
        session = child.load_tflite(model, "xnnpack", signature="two")
        assert session.interface.signatures == (("one", 0), ("two", 1))
        assert list(session.outputs) == ["d"]
        assert np.asarray(session.run({"c": np.ones((3, 2), np.float32)})[0]).tolist() == [[-1, -1]] * 3


def test_exposed_tensors_come_behind_the_outputs() -> None:
    model = tflite("t[N,4] = ABS(x[N,4])\ny[N,4] = NEG(t)")
    with Child() as child:
        session = child.load_tflite(model, "reference", expose=["t"])
        y, t = session.run({"x": np.full((2, 4), -3, np.float32)})
    assert list(session.outputs) == ["y", "t"]
    assert (np.asarray(y) == -3).all()
    assert (np.asarray(t) == 3).all()


def test_variables_start_anew_in_each_run() -> None:
    """A seeded random operator keeps its state in its kernel; only a new interpreter starts it again."""
    model = tflite("y[N] = RANDOM_UNIFORM(s:int32[1], seed=7, seed2=9)")
    with Child() as child:
        session = child.load_tflite(model, "builtin")
        first, second = (np.asarray(session.run({"s": np.int32([5])})[0]) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert len(set(first.tolist())) > 1


@pytest.mark.ci
@pytest.mark.needs_release("ai-edge-litert>=2.3")  # an older one runs the model
@pytest.mark.usefixtures("processes")
def test_a_kernel_that_aborts_is_refused_and_the_next_request_is_answered() -> None:
    feeds = {"x": np.ones([1] * 8 + [2], np.float32), "b": np.ones([2] * 9, np.float32)}
    with Child() as child:
        with pytest.raises(RefusedError, match=r"^LiteRT aborts the process \(SIGABRT\)$") as refused:
            child.load_tflite(ABORTING, "reference").run(feeds)
        assert refused.value.aborted
        assert child.load_tflite(ADD, "reference").run({"x": np.ones((1, 4), np.float32)})


@pytest.mark.usefixtures("processes")
def test_what_takes_too_long_is_stopped() -> None:
    with Child(0.01) as child, pytest.raises(RefusedError, match=r"stopped: no answer within 0\.01 seconds"):
        child.load_tflite(ADD, "builtin")


def test_an_unknown_custom_operator_is_named() -> None:
    model = tflite("y[N,4] = CUSTOM.own.Frob(x[N,4])")
    with (
        Child() as child,
        pytest.raises(RefusedError, match=r"no kernel for the custom operator 'own\.Frob'") as refused,
    ):
        child.load_tflite(model, "builtin").run({"x": np.ones((1, 4), np.float32)})
    assert refused.value.missing_kernel
    assert refused.value.custom == "own.Frob"


@pytest.mark.parametrize("content", [b"\x1c\0\0\0TFL3", b"\x1c\0\0\0TFL3" + bytes(60), ADD[:-40]])
def test_what_is_no_model_is_refused_in_one_line(content: bytes) -> None:
    with Child() as child, pytest.raises(RefusedError) as refused:
        child.load_tflite(content, "builtin").run({"x": np.ones((1, 4), np.float32)})
    assert "\n" not in str(refused.value)


def allocated(model: bytes, inputs: dict[int, tuple[int, ...]]) -> Shapes:
    """The shapes after a resize as LiteRT plans them, before any run."""
    with Child() as child:
        planned: Shapes = child.ask(child.load_tflite(model, "preserving").request, "allocate", inputs)
        return planned


def test_shapes_follow_a_resize_in_every_subgraph() -> None:
    text = "y[N,4] = IF(c:bool[], x[N,4], then=body, else=body)\nsubgraph body:\nq[N,4] = NEG(p[N,4])"
    planned = allocated(tflite(text), {1: (5, 4)})
    assert planned[0][1:] == ((5, 4), (5, 4))
    assert planned[1] == ((5, 4), (5, 4))
    found = shapes(tflite(text), {1: (5, 4)})
    assert found.invoked is not None
    assert found.invoked[0][2] == (5, 4)
    assert found.reason is None


def test_a_shape_that_follows_from_values_is_known_after_a_run() -> None:
    found = shapes(tflite(COLUMN), {0: [4]})
    assert found.invoked is not None
    assert found.invoked[0][2] == (4, 1)


def test_shapes_of_a_model_that_can_not_be_allocated_are_refused() -> None:
    with pytest.raises(RefusedError, match="not broadcastable"):
        shapes(tflite("y[N,4] = ADD(x[N,4], z[N,4])"), {0: (2, 4), 1: (3, 4)})


def test_shapes_are_planned_where_the_run_aborts() -> None:
    model = tflite("y[2,2,2,2,2,2,2,2,2] = ADD(x[1,2,1,2,1,2,1,2,1], b[2,1,2,1,2,1,2,1,2])")
    assert allocated(model, {})[0][2] == (2,) * 9
    found = shapes(model, {})
    assert found.invoked is None
    assert found.reason is not None
    assert "aborts" in found.reason


@pytest.mark.ci
def test_the_parent_needs_no_numpy_for_shapes(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(ADD)
    code = (
        "import sys, pathlib; from graphfix.runtimes.litert.evaluation import shapes\n"
        "print(shapes(pathlib.Path(sys.argv[1]), {0: (3, 4)}).invoked[0][2], 'numpy' in sys.modules)"
    )
    root = str(Path(graphfix.__file__).parent.parent)
    ended = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    assert ended.stdout.split("\n")[0] == "(3, 4) False"
    assert ended.stderr == ""
