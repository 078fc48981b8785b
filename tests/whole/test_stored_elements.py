"""Constants that a reader leaves out, or that hold no elements of their type: every command ends in the usual way."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphfix.cli.commands import main

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x) => (float[?] y) '
USES = {
    "filled": "s = Shape (x) z = ConstantOfShape (s) f = Cast <to = 1> (z) y = Add (x, f)",
    "filled vector": "s = Constant <value_ints = [1]> () z = ConstantOfShape (s) y = Expand (x, z)",
    "trips": "y = Loop (c, , x) <body = b (int64 i, bool p, float[N,4] v) => (bool q, float[N,4] w) "
    "<float[1] k = {2.0}> { q = Identity (p) w = Add (v, k) }>",
    "shape": "r = Reshape (x, c) y = Add (x, r)",
    "indices": "r = Gather <axis = 1> (x, c) y = Add (x, r)",
    "axes": "r = Unsqueeze (x, c) y = Add (x, r)",
    "operand": "k = Cast <to = 1> (c) y = Add (x, k)",
    "limit": "z = Constant <value_int = 0> () o = Constant <value_int = 1> () r = Range (z, c, o) "
    "k = Cast <to = 1> (r) y = Add (x, k)",
    "count": "v, j = TopK (x, c) y = Add (x, v)",
    "ends": "v = Slice (x, c, c, c) y = Add (x, v)",
    "condition": "p = Cast <to = 9> (c) y = If (p) <then_branch = t () => (float[?] a) <float[1] k = {2.0}> "
    "{ a = Add (x, k) }, else_branch = e () => (float[?] b) <float[1] m = {3.0}> { b = Add (x, m) }>",
}
"""What reads the constant `c`; a ConstantOfShape holds it."""
WRONG: dict[str, dict[str, Any]] = {
    "none": {},
    "two": {"int64_data": [1, 2]},
    "too few bytes": {"raw_data": b"\1\0\0"},
    "too many bytes": {"raw_data": b"\1" + bytes(15)},
    "two fields": {"raw_data": b"\1" + bytes(7), "int64_data": [1]},
    "another field": {"float_data": [1.0]},
    "strings": {"string_data": [b"x"]},
}
"""Fields of a tensor that holds one integer, by how they are wrong."""
COMMANDS = {
    "check": ["check", "{one}"],
    "rewrite": ["fix", "--no-verify", "{one}", "-o", "{out}"],
    "fix": ["fix", "{one}", "-o", "{out}"],
    "proof": ["verify", "--proof-only", "{one}", "{two}"],
}


def using(tensor: TensorProto, use: str, *, inside: bool) -> onnx.ModelProto:
    """Return a model that reads a constant in one way; `inside` says that a Constant node holds it."""
    model = onnx.parser.parse_model(f"{HEAD}{{ {USES[use]} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    tensor.name = "c"
    filled = next((node for node in model.graph.node if node.op_type == "ConstantOfShape"), None)
    if filled is not None:
        filled.attribute.append(helper.make_attribute("value", tensor))
    elif inside:
        model.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=tensor))
    else:
        model.graph.initializer.append(tensor)
    return model


PLACES = [*product(([], [1]), (TensorProto.INT64, TensorProto.INT32), (False, True))]
"""The dims and the type of the tensor, and whether a Constant node holds it."""
BY_TURNS = [
    [each for each in PLACES if (each[0] == [1]) ^ (each[1] == TensorProto.INT32) ^ each[2] == odd]
    for odd in (True, False)
]
"""Halves of the places: in each, any two of the three are met in every way."""


@pytest.mark.parametrize(
    "all_places", [pytest.param(False, marks=pytest.mark.ci), pytest.param(True, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("use", USES)
def test_elements_that_are_wrong_are_no_fault_of_graphfix(
    use: str, *, all_places: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CI puts each wrong tensor into half of its places, in turn, `full` into all."""
    paths = {name: str(tmp_path / f"{name}.onnx") for name in ("one", "two", "out")}
    ended: set[int] = set()
    turn = [*USES].index(use)
    for wrong, (dims, dtype, inside) in (
        (wrong, place)
        for at, wrong in enumerate(WRONG.values(), turn)
        for place in (PLACES if all_places else BY_TURNS[at % 2])
    ):
        model = using(TensorProto(data_type=dtype, dims=dims, **wrong), use, inside=inside)
        onnx.save(model, paths["one"])
        model.graph.node.add(op_type="Identity", input=["x"], output=["unused"])
        onnx.save(model, paths["two"])
        for name in ("proof", "check", "fix" if (dims, inside) == ([1], True) else "rewrite"):
            (tmp_path / "out.onnx").unlink(missing_ok=True)
            ended.add(main([each.format(**paths) for each in COMMANDS[name]]))
            assert "internal error" not in capsys.readouterr().err, (wrong, dims, dtype, inside, name)
    assert ended <= {0, 1, 2, 3}


@pytest.mark.ci
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("count", [64, 128, 129, 600])
def test_a_constant_of_many_integers_is_run(
    count: int, inside: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensor = numpy_helper.from_array(np.arange(count, dtype=np.int64) % 4)
    model = using(tensor, "indices", inside=inside)
    model.graph.node[-1].CopyFrom(helper.make_node("Add", ["r", "one"], ["y"]))
    model.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), "one"))
    one, out = tmp_path / "one.onnx", tmp_path / "out.onnx"
    onnx.save(model, one)
    assert main(["fix", str(one), "-o", str(out)]) == 0
    assert "proved for all inputs and sizes; 1 output bit-equal over" in capsys.readouterr().out
