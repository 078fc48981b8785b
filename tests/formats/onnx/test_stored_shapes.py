"""Stored shapes that could make an edited file fail are restated or dropped; others stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import graphfix
from graphfix.formats.onnx.edit.stored_shapes import _without_underived, drop_underived, restate
from graphfix.formats.onnx.infer.analysis import analyse
from graphfix.formats.onnx.infer.scope import Restated
from graphfix.graph.edits import Refused
from graphfix.graph.view import Graph, Kind, Value
from graphfix.shapes.dim import Dim, Shape
from tests.support import engine
from tests.support.onnx.fixing import fixed as in_process


def declare(text: str, **dims: list[int | str]) -> onnx.ModelProto:
    """Return a parsed model with these stored shapes."""
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> ' + text)
    infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in dims.items()]
    model.graph.value_info.extend(infos)
    return model


def underived(stored: int, kept: int) -> onnx.ModelProto:
    """Return a model in which v, of `kept` elements, is stored with another number that z has too."""
    bits = ",".join("1" if at < kept else "0" for at in range(8))
    text = f"""g (float[8] x, float[{stored}] z) => (float[{stored}] y) <bool[8] c = {{{bits}}}> {{
        v = Compress <axis: int = 0> (x, c)
        a = Exp (v)
        rs = ReduceSum <keepdims: int = 0> (a)
        y = Add (z, rs)
    }}"""
    return declare(text, v=[stored])


def exported_at(number: int, rank: int, operator: str) -> onnx.ModelProto:
    """Return a model whose intermediate values are stored with `number` in the place of the input's size N."""
    dims = ",".join(["N", *["2"] * (rank - 1)])
    stored = ",".join([str(number), *["2"] * (rank - 1)])
    text = f"""g (float[{dims}] x) => (float[{stored}] y) <float[1] w = {{0.5}}> {{
        a = {operator} (x)
        b = Mul (a, w)
        y = Neg (b)
    }}"""
    sizes: list[int | str] = [number, *[2] * (rank - 1)]
    return declare(text, a=sizes, b=sizes)


def fixed(model: onnx.ModelProto, folder: Path) -> tuple[graphfix.Outcome, onnx.ModelProto]:
    """Return the outcome of `fix` and the model that it wrote."""
    onnx.save(model, folder / "in.onnx")
    outcome = graphfix.fix_file(folder / "in.onnx", folder / "out.onnx", runs=1)
    return outcome, onnx.load(folder / "out.onnx")


def stored_dims(model: onnx.ModelProto, name: str) -> list[int | str] | None:
    """Return the stored shape of a value, None where none is stored."""
    infos = [info for info in (*model.graph.value_info, *model.graph.output) if info.name == name]
    if not infos or not infos[0].type.tensor_type.HasField("shape"):
        return None
    return [dim.dim_param or dim.dim_value for dim in infos[0].type.tensor_type.shape.dim]


@pytest.mark.ci
@pytest.mark.parametrize(("stored", "kept"), [(3, 2), (2, 3), (5, 1), (4, 7), (7, 6), (6, 2), (9, 8)])
def test_a_number_that_nothing_derives_is_dropped_beside_a_new_value_of_that_shape(
    stored: int, kept: int, tmp_path: Path
) -> None:
    outcome, written = fixed(underived(stored, kept), tmp_path)
    assert outcome.verdict is not None
    assert (outcome.verdict.status, outcome.sites_left) == ("proved", 0)
    assert stored_dims(written, "v") == [0]  # an open size
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    result = session.run(None, {"x": np.zeros(8, np.float32), "z": np.zeros(stored, np.float32)})[0]
    assert result.tolist() == [kept] * stored


@pytest.mark.parametrize(("stored", "beside"), [(3, 4), (2, 5), (5, 3), (4, 2)])
def test_a_number_that_no_new_value_has_stays(stored: int, beside: int, tmp_path: Path) -> None:
    model = underived(stored, stored)
    for info in (model.graph.input[1], model.graph.output[0]):
        info.type.tensor_type.shape.dim[0].dim_value = beside
    outcome, written = fixed(model, tmp_path)
    assert outcome.verdict is not None
    assert outcome.verdict.status in ("proved", "equal")
    assert stored_dims(written, "v") == [stored]


@pytest.mark.ci
@pytest.mark.parametrize("operator", ["Exp", "Relu", "Abs", "Sigmoid"])
@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("number", [3, 7])
def test_a_number_in_the_place_of_a_free_size_is_restated(
    number: int, rank: int, operator: str, tmp_path: Path
) -> None:
    outcome, written = fixed(exported_at(number, rank, operator), tmp_path)
    assert outcome.verdict is not None
    assert (outcome.verdict.status, outcome.sites_left) == ("proved", 0)
    assert [stored_dims(written, name) for name in "aby"] == [["N", *[2] * (rank - 1)]] * 3
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    shape = (number + 2, *[2] * (rank - 1))
    assert session.run(None, {"x": np.zeros(shape, np.float32)})[0].shape == shape


@pytest.mark.ci
@pytest.mark.parametrize("number", [3, 7])
def test_a_file_without_a_broadcast_is_corrected_too(number: int, tmp_path: Path) -> None:
    model = exported_at(number, 1, "Exp")
    model.graph.node[1].input[1] = "a"
    outcome, written = fixed(model, tmp_path)
    assert {site.code for site in outcome.sites} == {"GF204"}
    assert [node.op_type for node in written.graph.node] == [node.op_type for node in model.graph.node]
    assert [stored_dims(written, name) for name in "aby"] == [["N"]] * 3


@pytest.mark.parametrize("kept", [2, 3])
def test_a_size_that_nothing_derives_is_open_beside_a_new_value_of_that_shape(kept: int) -> None:
    written = in_process(underived(3, kept), target="explicit").after
    assert stored_dims(written, "v") == [0]


def test_of_a_stored_shape_only_the_numbers_that_nothing_derives_are_dropped() -> None:
    computed = (Dim(("?n",)), Dim(("N",)), Dim(("?m",)), 4, 5)
    assert _without_underived((3, "N", None, 4, 6), computed) == [None, "N", None, 4, 6]


@pytest.mark.parametrize(
    ("wrong", "kind", "dims"),
    [
        (None, "input", [0, 0]),
        (None, "result", None),
        ((2, "N"), "input", [2, 0]),
        ((2, "M"), "result", [2, "M"]),
    ],
)
def test_a_wrong_stored_shape_of_a_body_is_corrected(
    wrong: tuple[int | str, ...] | None, kind: Kind, dims: list[int | str] | None
) -> None:
    """Of a body's input the rank stays stored; a symbol that is another's size stays open."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 18]>
        g (int64 n, bool go, float[2,3] x) => (float[2,3] y) {
            y = Loop (n, go, x) <body = turn (int64 i, bool k, float[7] v) => (bool again, float[2,3] w) {
                again = Identity(k) w = Neg(v) }> }""")
    body = next(iter(analyse(model, {}).main.children.values()))
    assert body.graph is not None
    body.misstated["v"] = Restated("it is wrong", wrong)
    value = Value("v", Shape((2, 3)), "float32", kind, Graph("main"), None, 0)
    restate(body, value, {"N"})
    tensor = body.graph.input[2].type.tensor_type
    stored = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim] if tensor.HasField("shape") else None
    assert stored == dims
    with pytest.raises(Refused, match="the file states no wrong shape of 'u'"):
        restate(body, replace(value, name="u"), ())


@pytest.mark.parametrize("number", [3, 7])
def test_a_stored_number_in_the_place_of_a_free_size_is_wrong(number: int) -> None:
    misstated = analyse(exported_at(number, 2, "Exp"), {}).main.misstated
    assert {name: wrong.dims for name, wrong in misstated.items()} == dict.fromkeys("aby", ("N", 2))
    assert misstated["a"].why == (
        f"the stored shape [{number},2] of 'a' is that of some sizes of the inputs alone: the computed one is [N, 2]"
    )


@pytest.mark.parametrize(
    ("stored", "reads", "made", "kept"),
    [
        ([3], False, Shape((3,)), [0]),
        ([3], True, Shape((4,)), [0]),
        ([3], True, Shape((Dim(("N",)),)), [0]),
        ([3], False, Shape((4,)), [3]),
        ([3], False, Shape((3, 1)), [3]),
        ([3], False, Shape((Dim(("N",)),)), [3]),
        ([3, 3], True, Shape((3, 3)), [3, 3]),
        (["K"], True, Shape((3,)), ["K"]),
    ],
    ids=[
        "a new value has the shape",
        "a new node reads the value",
        "a new node of a free size reads it",
        "a new value has another shape",
        "a new value has another rank",
        "a new value has a free size",
        "the stored rank is another one",
        "a name is stored",
    ],
)
def test_a_number_that_nothing_derives_is_dropped_where_a_new_value_may_meet_it(
    stored: list[int | str], reads: bool, made: Shape, kept: list[int | str]
) -> None:
    model = declare(
        """g (float[8] x, bool[8] c) => (float[M] y) {
        v = Compress <axis: int = 0> (x, c)
        y = Exp (v)
    }""",
        v=stored,
    )
    main, graph = analyse(model, {}).main, engine.load(model).graphs[0]
    compress, exp = graph.nodes
    value = Value("n", made, "float32", "result", graph)
    operand = compress.results[0] if reads else graph.inputs[0]
    graph.made.append(replace(exp, operands=(operand,), results=(value,)))
    drop_underived(main, graph)
    assert main.graph is not None
    (info,) = main.graph.value_info
    assert [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim] == kept


def test_a_number_that_is_derived_stays_beside_a_new_value_of_that_shape() -> None:
    model = declare("g (float[3] x) => (float[3] y) { v = Neg (x) y = Exp (v) }", v=[3])
    main, graph = analyse(model, {}).main, engine.load(model).graphs[0]
    graph.made.append(graph.nodes[1])
    drop_underived(main, graph)
    assert stored_dims(model, "v") == [3]
