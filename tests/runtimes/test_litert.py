"""LiteRT behind a child process: what it is fed and gives, its refusals, its aborts and hangs, its shapes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphfix
from graphfix.runtimes.litert import KERNELS, shapes
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from tests.support.tflite.written import G, Op, T, tflite

X, B, Y = T("x", [-1, 4]), T("b", data=np.float32([1, 2, 3, 4])), T("y", [-1, 4])
ADD = tflite(G([X, B, Y], [Op("ADD", ["x", "b"], ["y"])], ["x"], ["y"]))
RANK_9 = [2] * 9
ABORTING = tflite(
    G(
        [T("x", [1] * 8 + [2]), T("b", RANK_9), T("y", RANK_9)],
        [Op("ADD", ["x", "b"], ["y"])],
        ["x", "b"],
        ["y"],
    )
)


@pytest.mark.parametrize("kernels", KERNELS)
def test_every_kernel_set_runs_at_sizes_that_change_from_run_to_run(kernels: str) -> None:
    with Child() as child:
        session = child.load_tflite(ADD, kernels)
        for rows in (3, 1, 2):
            (y,) = session.run({"x": np.ones((rows, 4), np.float32)})
            assert np.asarray(y).tolist() == [[2, 3, 4, 5]] * rows


def test_a_session_tells_types_shapes_and_quantization() -> None:
    quantized = [T("x", [2], "int8", scale=0.5, zero_point=3), T("y", [2], "int8", scale=0.5, zero_point=3)]
    model = tflite(
        G(quantized, [Op("RELU", ["x"], ["y"])], ["x"], ["y"]), signatures=[("main", 0, {"in": "x"}, {"out": "y"})]
    )
    with Child() as child:
        port = child.load_tflite(model, "builtin").inputs[0]
        assert (port.name, port.index, port.dtype, port.shape, port.alias) == ("x", 0, "int8", (2,), "in")
        assert (port.scales, port.zero_points) == ((0.5,), (3,))
        free = child.load_tflite(ADD, "builtin").inputs[0]
        assert (free.shape, free.shape_signature) == ((1, 4), (-1, 4))


def test_a_path_is_loaded_as_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(ADD)
    with Child() as child:
        assert child.load_tflite(path, "reference").inputs == child.load_tflite(ADD, "reference").inputs


def test_empty_and_repeated_names_give_way_to_the_index() -> None:
    tensors = [T("", [2]), T("same", [2]), T("own", [2]), T("y", [2])]
    model = tflite(G(tensors, [Op("ADD", ["", "same"], ["y"])], ["", "same", "own"], ["y"]))
    # the helper finds tensors by name, so the name is repeated afterwards
    with Child() as child:
        names = [port.name for port in child.load_tflite(model.replace(b"own\0", b"y\0\0\0"), "builtin").inputs]
    assert names == ["t0", "same", "t2"]


def test_strings_go_in_and_come_out() -> None:
    model = tflite(
        G(
            [T("x", [-1], "string"), T("s", data=np.int32([-1, 1]), dtype="int32"), T("y", [-1, 1], "string")],
            [Op("RESHAPE", ["x", "s"], ["y"])],
            ["x"],
            ["y"],
        )
    )
    with Child() as child:
        (y,) = child.load_tflite(model, "builtin").run({"x": np.array(["a", "bc", ""], object)})
    assert np.asarray(y).tolist() == [[b"a"], [b"bc"], [b""]]


def test_a_signature_of_another_subgraph_runs_under_its_own_names() -> None:
    model = tflite(
        G([X, Y], [Op("ABS", ["x"], ["y"])], ["x"], ["y"]),
        G([T("p", [-1, 2]), T("q", [-1, 2])], [Op("NEG", ["p"], ["q"])], ["p"], ["q"]),
        signatures=[("one", 0, {"a": "x"}, {"b": "y"}), ("two", 1, {"c": "p"}, {"d": "q"})],
    )
    with Child() as child:
        session = child.load_tflite(model, "xnnpack", signature="two")
        assert session.interface.signatures == (("one", 0), ("two", 1))
        assert list(session.outputs) == ["d"]
        assert np.asarray(session.run({"c": np.ones((3, 2), np.float32)})[0]).tolist() == [[-1, -1]] * 3


def test_exposed_tensors_come_behind_the_outputs() -> None:
    tensors = [X, T("t", [-1, 4]), Y]
    model = tflite(G(tensors, [Op("ABS", ["x"], ["t"]), Op("NEG", ["t"], ["y"])], ["x"], ["y"]))
    with Child() as child:
        session = child.load_tflite(model, "reference", expose=["t"])
        y, t = session.run({"x": np.full((2, 4), -3, np.float32)})
    assert list(session.outputs) == ["y", "t"]
    assert (np.asarray(y) == -3).all()
    assert (np.asarray(t) == 3).all()


def test_variables_start_anew_in_each_run() -> None:
    """A seeded random operator keeps its state in its kernel; only a new interpreter starts it again."""
    tensors = [T("s", [1], "int32"), T("y", [-1])]
    options = {"seed": 7, "seed2": 9}
    model = tflite(G(tensors, [Op("RANDOM_UNIFORM", ["s"], ["y"], options)], ["s"], ["y"]))
    with Child() as child:
        session = child.load_tflite(model, "builtin")
        first, second = (np.asarray(session.run({"s": np.int32([5])})[0]) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert len(set(first.tolist())) > 1


def test_a_kernel_that_aborts_is_refused_and_the_next_request_is_answered() -> None:
    feeds = {"x": np.ones([1] * 8 + [2], np.float32), "b": np.ones(RANK_9, np.float32)}
    with Child() as child:
        with pytest.raises(RefusedError, match=r"^LiteRT aborts the process \(SIGABRT\)$") as refused:
            child.load_tflite(ABORTING, "reference").run(feeds)
        assert refused.value.aborted
        assert child.load_tflite(ADD, "reference").run({"x": np.ones((1, 4), np.float32)})


def test_what_takes_too_long_is_stopped() -> None:
    with Child(0.01) as child, pytest.raises(RefusedError, match=r"stopped: no answer within 0\.01 seconds"):
        child.load_tflite(ADD, "builtin")


def test_an_unknown_custom_operator_is_named() -> None:
    model = tflite(G([X, Y], [Op("own.Frob", ["x"], ["y"])], ["x"], ["y"]))
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


def test_shapes_follow_a_resize_in_every_subgraph() -> None:
    body = G([T("p", [-1, 4]), T("q", [-1, 4])], [Op("NEG", ["p"], ["q"])], ["p"], ["q"])
    options = {"thenSubgraphIndex": 1, "elseSubgraphIndex": 1}
    main = G([T("c", [], "bool"), X, Y], [Op("IF", ["c", "x"], ["y"], options)], ["c", "x"], ["y"])
    found = shapes(tflite(main, body), {1: (5, 4)})
    assert found.allocated[0][1:] == ((5, 4), (5, 4))
    assert found.allocated[1] == ((5, 4), (5, 4))
    assert found.invoked is not None
    assert found.invoked[0][2] == (5, 4)
    assert found.reason is None


def test_a_shape_that_follows_from_values_is_known_after_a_run() -> None:
    tensors = [T("x", [-1], "string"), T("s", data=np.int32([-1, 1]), dtype="int32"), T("y", [-1, 1], "string")]
    found = shapes(tflite(G(tensors, [Op("RESHAPE", ["x", "s"], ["y"])], ["x"], ["y"])), {0: [4]})
    assert found.invoked is not None
    assert found.invoked[0][2] == (4, 1)


def test_shapes_of_a_model_that_can_not_be_allocated_are_refused() -> None:
    with pytest.raises(RefusedError, match="not broadcastable"):
        shapes(
            tflite(G([X, T("z", [-1, 4]), Y], [Op("ADD", ["x", "z"], ["y"])], ["x", "z"], ["y"])),
            {0: (2, 4), 1: (3, 4)},
        )


def test_shapes_are_planned_where_the_run_aborts() -> None:
    mixed = [1, 2, 1, 2, 1, 2, 1, 2, 1]
    tensors = [T("x", mixed), T("b", [2, 1, 2, 1, 2, 1, 2, 1, 2]), T("y", RANK_9)]
    found = shapes(tflite(G(tensors, [Op("ADD", ["x", "b"], ["y"])], ["x", "b"], ["y"])), {})
    assert found.allocated[0][2] == tuple(RANK_9)
    assert found.invoked is None
    assert found.reason is not None
    assert "aborts" in found.reason


def test_the_parent_needs_no_numpy_for_shapes(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(ADD)
    code = (
        "import sys, pathlib; from graphfix.runtimes.litert import shapes\n"
        "print(shapes(pathlib.Path(sys.argv[1]), {0: (3, 4)}).allocated[0][2], 'numpy' in sys.modules)"
    )
    root = str(Path(graphfix.__file__).parent.parent)
    told = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip
    assert told.stdout.split("\n")[0] == "(3, 4) False"
    assert told.stderr == ""
