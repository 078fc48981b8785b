"""Operators of a value beside itself, stretched by the operator or in front of it; types that an operand decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest
from onnx import parser

from tests.support import engine
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g (float[B,S] x, float[S] b) => ({kind}[A] y) '
HELD = (
    "<bool[1,1] k = {1}, float two = {2.0}, int64[1] front = {1}, int64[1] back = {2}, int64[1] one = {1}, "
    "int64[1] zero = {0}> "
)
MASK = "s = Shape (x) m = Expand (k, s)"
FULL = "s = Shape (x) z = ConstantOfShape (s) m = Add (z, two)"
VIEWS = "c = Unsqueeze (m, back) d = Unsqueeze (m, front)"
STRETCHED = "n = Shape <start = 1> (x) a = Shape (x) t = Concat <axis = 0> (a, n) e = Expand (c, t) f = Expand (d, t)"
BESIDE_ITSELF = {"Or": ("bool", MASK), "And": ("bool", MASK), "Max": ("float", FULL), "Min": ("float", FULL)}
LIKE = "EyeLike RandomNormalLike RandomUniformLike Bernoulli".split()


def written(text: str, kind: str, path: Path) -> Path:
    """Write a model that declares no shape of its output."""
    made = parser.parse_model(f"{HEAD.format(kind=kind)}{HELD}{{ {text} }}")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    path.write_bytes(made.SerializeToString())
    return path


def fixed(path: Path) -> bool:
    """Fix a model, and say whether the result is proved."""
    loaded, after = engine.load(path), path.with_name("after.onnx")
    assert engine.fix(loaded).changed
    loaded.save(after)
    return prove(path, after).proved


@pytest.mark.parametrize("op", BESIDE_ITSELF)
def test_two_views_of_one_number_beside_each_other(op: str, tmp_path: Path) -> None:
    kind, made = BESIDE_ITSELF[op]
    implicit = written(f"{made} {VIEWS} y = {op} (c, d)", kind, tmp_path / "implicit.onnx")
    explicit = written(f"{made} {VIEWS} {STRETCHED} y = {op} (e, f)", kind, tmp_path / "explicit.onnx")
    assert prove(implicit, explicit).proved
    assert fixed(implicit)


@pytest.mark.parametrize("op", BESIDE_ITSELF)
def test_two_sizes_of_one_number_stay_two(op: str, tmp_path: Path) -> None:
    kind, made = BESIDE_ITSELF[op]
    one = written(f"{made} {VIEWS} y = {op} (c, d)", kind, tmp_path / "one.onnx")
    two = written(f"{made} {VIEWS} y = {op} (c, c)", kind, tmp_path / "two.onnx")
    assert not prove(one, two).proved


@pytest.mark.parametrize("op", ["Or", "Max"])
def test_two_views_of_a_row_are_not_one_value(op: str, tmp_path: Path) -> None:
    made = "m = Cast <to = 9> (x)" if op == "Or" else "m = Relu (x)"
    kind = "bool" if op == "Or" else "float"
    one = written(f"{made} {VIEWS} y = {op} (c, d)", kind, tmp_path / "one.onnx")
    two = written(f"{made} {VIEWS} {STRETCHED} y = Identity (e)", kind, tmp_path / "two.onnx")
    assert not prove(one, two).proved


def test_two_shapes_that_an_older_operator_set_refuses(tmp_path: Path) -> None:
    views = "s = Shape (x) f = Tile (n, s) c = Unsqueeze <axes = [2]> (f) d = Unsqueeze <axes = [1]> (f)"
    tiled = (
        "l = Slice <axes = [0], starts = [1], ends = [2]> (s) "
        "p = Concat <axis = 0> (one, one, l) q = Concat <axis = 0> (one, l, one) e = Tile (c, p) h = Tile (d, q)"
    )
    paths = []
    for name, text in {"one": f"{views} {tiled} y = Max (e, h)", "two": f"{views} y = Max (c, d)"}.items():
        head = HEAD.format(kind="float").replace("17", "7")
        held = "<float[1,1] n = {2.0}, int64[1] one = {1}> "
        made = parser.parse_model(f"{head}{held}{{ {text} }}")
        made.graph.output[0].type.tensor_type.ClearField("shape")
        paths.append(tmp_path / f"{name}.onnx")
        paths[-1].write_bytes(made.SerializeToString())
    ran = [_runs(path) for path in paths]
    assert ran == [True, False]
    assert not prove(*paths).proved


def _runs(path: Path) -> bool:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    try:
        session.run(None, {"x": np.ones((3, 3), np.float32), "b": np.ones(3, np.float32)})
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return False
    return True


@pytest.mark.parametrize("op", LIKE)
def test_the_type_of_what_is_like_an_operand_is_its_own(op: str, tmp_path: Path) -> None:
    assert fixed(written(f"e = {op} (x) y = Add (b, e)", "float", tmp_path / "m.onnx"))


@pytest.mark.parametrize("op", LIKE)
def test_a_type_that_is_stated_is_that(op: str, tmp_path: Path) -> None:
    text = f"e = {op} <dtype = 11> (x) d = Cast <to = 11> (b) y = Add (d, e)"
    assert fixed(written(text, "double", tmp_path / "m.onnx"))
