"""A node of the second file alone that fails where an element of its operand is negative: such a pair is not proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest
from ai_edge_litert.interpreter import Interpreter
from onnx import ModelProto, parser

from models.builders.tflite.text import pack, tree
from tests.support import engine
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g (float[T] x, int64[1] u, bool c) => (float[A] y, float[B] z) '
HELD = "<float f = {2.0}, float[1] v = {2.0}, int64[1] one = {1}> "
TARGETS = {
    "a smaller size": "s = Shape (x) t = Sub (s, one)",
    "an input": "t = Identity (u)",
    "a sum of both": "s = Shape (x) t = Add (s, u)",
}
"""How a vector `t` of one element that may be negative is computed."""
MAKING = {
    "Expand of a scalar": "{} = Expand (f, t)",
    "Expand of a vector": "{} = Expand (v, t)",
    "ConstantOfShape": "{} = ConstantOfShape (t)",
    "Tile": "{} = Tile (v, t)",
}
UNSEEN = {
    (node, target) for node in MAKING for target in TARGETS if target == "a smaller size" or node.startswith("Expand")
}
"""Nodes that are no terms of their own: what they make of such a vector is one element, stretched."""


def pair(node: str, target: str, place: str) -> tuple[str, str]:
    """Return a model without and with a node, or with the node inside and in front of a branch."""
    made = MAKING[node]
    if place == "dead":
        return f"{{ {TARGETS[target]} y = Relu (x) z = Neg (x) }}", (
            f"{{ {TARGETS[target]} {made.format('d')} y = Relu (x) z = Neg (x) }}"
        )
    if place == "once more":
        one = f"{TARGETS[target]} {made.format('d')} y = Relu (d) z = Neg (x)"
        return f"{{ {one} }}", f"{{ {one} {made.format('e')} }}"
    taken = (
        "z = If (c) <then_branch = a () => (float[P] p) {{ {} }}, else_branch = b () => (float[Q] q) {{ q = Abs (x) }}>"
    )
    inside = taken.format(f"{made.format('d')} p = Relu (d)")
    outside = f"{made.format('d')} {taken.format('p = Relu (d)')}"
    return tuple(f"{{ {TARGETS[target]} y = Neg (x) {each} }}" for each in (inside, outside))  # type: ignore[return-value]


def model(text: str) -> ModelProto:
    """Return a model that declares no shape of its outputs."""
    made = parser.parse_model(HEAD + HELD + text)
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made


def runs(made: ModelProto) -> bool:
    """Whether onnxruntime runs a model where the element is negative, and the branch is not taken."""
    feeds = {"x": np.ones(0, np.float32), "u": np.array([-1], np.int64), "c": np.array(False)}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    try:
        session.run(None, feeds)
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return False
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
        return False
    return True


@pytest.mark.parametrize("place", ["dead", "in front of a branch"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("node", MAKING)
def test_a_node_that_only_the_second_file_executes_is_not_proved(
    node: str, target: str, place: str, tmp_path: Path
) -> None:
    models = [model(text) for text in pair(node, target, place)]
    assert [runs(each) for each in models] == [True, False]
    paths = [tmp_path / f"{index}.onnx" for index in range(2)]
    for path, each in zip(paths, models, strict=True):
        path.write_bytes(each.SerializeToString())
    proof = prove(*paths)
    assert not proof.proved
    if (node, target) in UNSEEN and place == "dead":
        assert "only the second file fails where a size is negative" in str(proof.reason)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("node", MAKING)
def test_a_node_that_the_first_file_executes_too_is_proved(node: str, target: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{index}.onnx" for index in range(2)]
    for path, text in zip(paths, pair(node, target, "once more"), strict=True):
        path.write_bytes(model(text).SerializeToString())
    assert prove(*paths).proved


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("target", TARGETS)
def test_a_scalar_that_is_expanded_to_such_sizes_is_fixed_and_proved(target: str, rank: int, tmp_path: Path) -> None:
    sizes = " ".join(f"w{axis} = Concat <axis = 0> (w{axis - 1}, one)" for axis in range(2, rank + 1))
    text = f"{{ {TARGETS[target]} w1 = Identity (t) {sizes} d = Expand (f, w{rank}) y = Relu (d) z = Neg (x) }}"
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    before.write_bytes(model(text).SerializeToString())
    loaded = engine.load(before)
    assert engine.fix(loaded).changed
    loaded.save(after)
    assert prove(before, after).proved


SMALLER = (
    "k[4] = FILL(four:const:int32[1]{4}, f:const:float32[]{2})\ns:int32[1] = SHAPE(x[N], out_type=INT32)\n"
    "t:int32[1] = SUB(s, o:const:int32[1]{1})\nv:int32[1] = NEG(u:int32[1])\ny[N] = ABS(x)\n"
)
"""A TFLite model whose value `t` is negative where x has no element."""
DEAD = {
    "TILE": "d[?] = TILE(one:const:float32[1]{2}, t)\n",
    "TILE of an input": "d[?] = TILE(x, t)\n",
    "FILL": "d[?] = FILL(t, f)\n",
    "BROADCAST_TO": "d[?] = BROADCAST_TO(one:const:float32[1]{2}, t)\n",
    "TILE by an input": "d[?] = TILE(one:const:float32[1]{2}, u)\n",
    "FILL by an input": "d[?] = FILL(u, f)\n",
    "BROADCAST_TO by an input": "d[?] = BROADCAST_TO(one:const:float32[1]{2}, u)\n",
}


def without_output(lines: str) -> bytes:
    """Return a model in which nothing reads the value `d`."""
    made = tree(lines)
    graph = made.subgraphs[0]
    graph.outputs = [each for each in graph.outputs if graph.tensors[each].name != "d"]
    return pack(made)


def invokes(data: bytes) -> bool:
    """Whether LiteRT runs a model of which x has no element, and u is -1."""
    interpreter = Interpreter(model_content=data)
    for each in interpreter.get_input_details():
        if each["dtype"] == np.float32:
            interpreter.resize_tensor_input(each["index"], [0])
    interpreter.allocate_tensors()
    for each in interpreter.get_input_details():
        interpreter.set_tensor(each["index"], np.full(each["shape"], -1, each["dtype"]))
    try:
        interpreter.invoke()
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", DEAD)
def test_a_tflite_node_that_only_the_second_file_executes_is_not_proved(name: str, tmp_path: Path) -> None:
    files = [without_output(lines) for lines in (SMALLER, SMALLER + DEAD[name])]
    assert [invokes(each) for each in files] == [True, False]
    paths = [tmp_path / f"{index}.tflite" for index in range(2)]
    for path, each in zip(paths, files, strict=True):
        path.write_bytes(each)
    assert not prove(*paths, tflite=True).proved


@pytest.mark.parametrize("name", [name for name in DEAD if name in ("TILE", "FILL")])
def test_a_tflite_node_that_the_first_file_executes_too_is_proved(name: str, tmp_path: Path) -> None:
    once = SMALLER + DEAD[name]
    paths = [tmp_path / f"{index}.tflite" for index in range(2)]
    for path, lines in zip(paths, (once, once + DEAD[name].replace("d[", "e[").replace("one:", "more:")), strict=True):
        made = tree(lines)
        made.subgraphs[0].outputs = tree(once).subgraphs[0].outputs
        path.write_bytes(pack(made))
    assert prove(*paths, tflite=True).proved
