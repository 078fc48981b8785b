"""`--set`: inputs that are taken for constants, in the view, in the proof, in the runs and in the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from ai_edge_litert.interpreter import Interpreter
from onnx import TensorProto, helper

from graphfix import api
from graphfix.results import GraphfixError
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite
from tests.support.checked import verify
from tests.support.notation import model

FORMATS = ("onnx", "tflite")
RESHAPED = {
    "onnx": "y[*] = Reshape(x[2,6], sizes:int64[2])",
    "tflite": "y[?,?] = RESHAPE(x[2,6], sizes:int32[2])",
}
SCALED = {"onnx": "y[2,3] = Mul(x[2,3], k[])", "tflite": "y[2,3] = MUL(x[2,3], k[])"}


def file(folder: Path, text: str, format_: str, name: str = "before") -> Path:
    path = folder / f"{name}.{format_}"
    path.write_bytes(model(text).SerializeToString() if format_ == "onnx" else tflite(text))
    return path


def choosing(ir_version: int = 10, *, default: int | None = None) -> onnx.ModelProto:
    """Return y = Relu(x) at a rate of 16000, else Neg(x)."""
    f32, i64 = TensorProto.FLOAT, TensorProto.INT64
    branches = [
        helper.make_graph(
            [helper.make_node(op, ["x"], [out])], name, [], [helper.make_tensor_value_info(out, f32, [2])]
        )
        for op, out, name in (("Relu", "t", "yes"), ("Neg", "e", "no"))
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Equal", ["rate", "fast"], ["c"]),
            helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1]),
        ],
        "g",
        [helper.make_tensor_value_info("x", f32, [2]), helper.make_tensor_value_info("rate", i64, [])],
        [helper.make_tensor_value_info("y", f32, [2])],
        [helper.make_tensor("fast", i64, [], [16000])],
    )
    if default is not None:
        graph.initializer.append(helper.make_tensor("rate", i64, [], [default]))
    if ir_version < 4:
        graph.input.append(helper.make_tensor_value_info("fast", i64, []))
    return helper.make_model(graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", 18)])


def branch_of(proto: onnx.ModelProto, name: str) -> onnx.GraphProto:
    return next(attribute.g for attribute in proto.graph.node[1].attribute if attribute.name == name)


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    path = tmp_path / "rated.onnx"
    onnx.save(choosing(), path)
    return path


# --- what becomes constant ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", FORMATS)
def test_shapes_follow_from_the_value(tmp_path: Path, format_: str) -> None:
    path = file(tmp_path, RESHAPED[format_], format_)
    lines = list(api.show(path, values={"sizes": (3, 4)}))
    assert any("y[3,4]" in line for line in lines)
    assert not any("y[3,4]" in line for line in api.show(path))


@pytest.mark.parametrize(("rate", "op"), [("16000", "Relu"), ("8000", "Neg")])
def test_an_if_is_decided_and_the_input_stays_unread(rated: Path, tmp_path: Path, rate: str, op: str) -> None:
    outcome = api.fix_file(rated, tmp_path / "after.onnx", target="tosa", values={"rate": rate})
    after = onnx.load(tmp_path / "after.onnx")
    assert [node.op_type for node in after.graph.node] == [op]
    assert [value.name for value in after.graph.input] == ["x", "rate"]
    assert not after.graph.initializer[1:]
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    said = f"rate is {rate}, as set"
    assert said in outcome.assumes
    assert said in outcome.verdict.assumes
    assert outcome.verdict.proof is not None
    assert said in outcome.verdict.proof["assumes"]


@pytest.mark.ci
@pytest.mark.parametrize("format_", FORMATS)
def test_every_target_reads_the_constant(tmp_path: Path, format_: str) -> None:
    path, after = file(tmp_path, SCALED[format_], format_), tmp_path / f"after.{format_}"
    outcome = api.fix_file(path, after, values={"k": 2.5})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert api.verify(path, after, values={"k": 2.5}).status == "proved"
    assert api.verify(path, after, values={"k": 2.25}).status == "different"
    assert api.verify(path, after).status == "different"


@pytest.mark.ci
def test_before_ir_version_4_the_constant_is_a_node(tmp_path: Path) -> None:
    path, after = tmp_path / "old.onnx", tmp_path / "after.onnx"
    onnx.save(choosing(3), path)
    outcome = api.fix_file(path, after, target="ranks", values={"rate": 16000})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert [node.op_type for node in onnx.load(after).graph.node] == ["Constant", "Equal", "If"]


@pytest.mark.ci
def test_a_default_is_overridden(tmp_path: Path) -> None:
    path, after = tmp_path / "rated.onnx", tmp_path / "after.onnx"
    onnx.save(choosing(default=8000), path)
    outcome = api.fix_file(path, after, target="tosa", values={"rate": 16000}, drop_set_inputs=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    made = onnx.load(after).graph
    assert [value.name for value in made.input] == ["x"]
    assert not made.initializer


@pytest.mark.ci
def test_a_value_binds_the_sizes_of_its_input(tmp_path: Path) -> None:
    path = file(tmp_path, "y[N] = Add(x[N], k[N])", "onnx")
    after = tmp_path / "after.onnx"
    outcome = api.fix_file(path, after, values={"k": (1, 2, 3)})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert onnx.load(after).graph.input[0].type.tensor_type.shape.dim[0].dim_value == 3
    assert api.verify(path, after, values={"k": (1, 2, 3)}).status == "proved"


def test_sizes_that_a_value_gives_are_assumed_of_the_other_inputs_as_declared(tmp_path: Path) -> None:
    before = file(tmp_path, "y:int64[1] = Shape(x[N])", "onnx")
    proto = onnx.load(before)
    proto.graph.input.append(onnx.helper.make_tensor_value_info("k", onnx.TensorProto.FLOAT, ["N"]))
    onnx.save(proto, before)
    verdict = api.verify(before, before, values={"k": (1, 2, 3)}, proof="only")
    assert (verdict.proof or {})["assumes"] == ["the dims named 'N' are equal: x[0], k[0]", "k is [1, 2, 3], as set"]


def test_values_that_give_one_size_two_numbers_are_refused(tmp_path: Path) -> None:
    path = file(tmp_path, "y[N] = Add(x[N], k[N])", "onnx")
    said = "--set k: it gives N as 2, another one as 3"
    with pytest.raises(GraphfixError, match=said):
        api.verify(path, path, values={"x": (1, 2, 3), "k": (1, 2)})
    with pytest.raises(GraphfixError, match=said):
        api.check(path, values={"x": (1, 2, 3), "k": (1, 2)})


def test_a_name_in_a_body_that_shadows_the_input_is_another_value(tmp_path: Path) -> None:
    proto = choosing()
    shadowing = branch_of(proto, "else_branch")
    shadowing.initializer.append(helper.make_tensor("x", TensorProto.FLOAT, [2], [5, 6]))
    path, after = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(proto, path)
    api.fix_file(path, after, values={"x": (1, -2)}, check_result=False)
    made = onnx.load(after)
    read = [branch_of(made, name).node[0].input[0] for name in ("then_branch", "else_branch")]
    assert read == ["x_value", "x"]


@pytest.mark.ci
def test_a_quantized_value_is_what_is_stored(tmp_path: Path) -> None:
    path, after = file(tmp_path, "y:int8[2,3] = MUL(x:int8[2,3], k:int8[])", "tflite"), tmp_path / "after.tflite"
    outcome = api.fix_file(path, after, values={"k": -7})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert api.verify(path, after, values={"k": -6}).status == "different"


# --- the proof leans on the value where it says so ------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("rate", ["8000", "15999", None])
@pytest.mark.parametrize("drop", [False, True])
def test_what_holds_for_one_value_is_not_proved_for_another(
    rated: Path, tmp_path: Path, rate: str | None, drop: bool
) -> None:
    after = tmp_path / "after.onnx"
    api.fix_file(rated, after, target="tosa", values={"rate": 16000}, drop_set_inputs=drop)
    values = {} if rate is None else {"rate": rate}
    assert api.verify(rated, after, values=values, proof="only").status != "proved"
    assert api.verify(rated, after, values=values).status == "different"
    assert api.verify(rated, after, values={"rate": 16000}).status == "proved"


@pytest.mark.ci
def test_a_dropped_input_that_is_not_set_is_a_difference(rated: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.onnx"
    api.fix_file(rated, after, target="tosa", values={"rate": 16000}, drop_set_inputs=True)
    verdict = api.verify(rated, after, values={"x": (1, 2)})
    assert verdict.status == "different"
    assert "rate" in str(verdict.reason)


@pytest.mark.ci
def test_the_runs_feed_the_value(rated: Path, tmp_path: Path) -> None:
    """Without the proof, a fault at this value alone shows."""
    changed = onnx.load(rated)
    branch_of(changed, "then_branch").node[0].op_type = "Neg"
    onnx.save(changed, tmp_path / "changed.onnx")
    for rate, status in (("16000", "different"), ("8000", "equal")):
        assert api.verify(rated, tmp_path / "changed.onnx", values={"rate": rate}, proof="without").status == status


def test_given_inputs_may_leave_the_value_out_and_must_not_contradict_it(rated: Path, tmp_path: Path) -> None:
    x, data = np.float32([1, -2]), tmp_path / "d.npz"
    np.savez(data, x=x)
    assert api.verify(rated, rated, values={"rate": 16000}, inputs=data, proof="without").status == "equal"
    np.savez(data, x=x, rate=np.int64(8000))
    with pytest.raises(GraphfixError, match="'rate' has another value than --set gives it"):
        api.verify(rated, rated, values={"rate": 16000}, inputs=data, proof="without")


@pytest.mark.ci
def test_another_constant_in_the_place_of_the_input_is_not_proved(tmp_path: Path) -> None:
    one = file(tmp_path, SCALED["onnx"], "onnx")
    two = file(tmp_path, "y[2,3] = Mul(x[2,3], c:const[]{3.0})", "onnx", "after")
    assert verify(one, two, values={"k": 3.0}).status == "proved"
    assert verify(one, two, values={"k": 3.0000002}, proof="only").status != "proved"
    assert verify(one, two, values={"k": 2.0}).status == "different"


# --- what is refused, in one line -----------------------------------------------------------------------------------

REFUSED = {
    "no such input": ({"z": "1"}, "--set z: there is no input 'z'; inputs: x, sizes"),
    "no number": ({"sizes": "3,b"}, "--set sizes=3,b: give a number such as 16000, true or false, or a flat list"),
    "a float for an integer": ({"sizes": "3,4.0"}, "4.0 does not fit: the input holds int"),
    "a truth value for a number": ({"x": "true"}, "true does not fit: the input holds float32; give a number"),
    "beyond the type": ({"sizes": "3,99999999999999999999"}, "does not fit: the input holds int"),
    "beyond float32": ({"x": "1e39"}, "1e+39 does not fit: the input holds float32, which is at most"),
    "too few": ({"sizes": "3"}, "--set sizes=3: 1 given, the input [2] has 2 elements"),
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("values", "said"), REFUSED.values(), ids=list(REFUSED))
def test_what_does_not_fit_is_refused(tmp_path: Path, format_: str, values: dict[str, str], said: str) -> None:
    path = file(tmp_path, RESHAPED[format_], format_)
    with pytest.raises(GraphfixError) as caught:
        api.check(path, values=values)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    "values", [{"z": "1"}, {"sizes": "3,4.0"}, {"x": "true"}, {"sizes": "3,99999999999999999999"}, {"sizes": "3"}]
)
@pytest.mark.parametrize("proof", ["only", "without"])
def test_verify_refuses_the_same(tmp_path: Path, format_: str, values: dict[str, str], proof: str) -> None:
    path = file(tmp_path, RESHAPED[format_], format_)
    with pytest.raises(GraphfixError, match="--set"):
        api.verify(path, path, values=values, proof=proof)  # type: ignore[arg-type]  # a literal of the list above


def test_sizes_that_do_not_follow_are_asked_for(tmp_path: Path) -> None:
    path = file(tmp_path, "y[M,N] = Neg(x[M,N])", "onnx")
    with pytest.raises(GraphfixError, match=r"the input is \[M,N\]; bind its sizes too, by --shape"):
        api.check(path, values={"x": (1, 2)})
    assert any("y[2,1]" in line for line in api.show(path, values={"x": (1, 2)}, shapes={"x": (2, None)}))


def test_only_what_is_set_can_be_dropped(rated: Path, tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match="--drop-set-inputs: no input is set"):
        api.fix_file(rated, tmp_path / "after.onnx", drop_set_inputs=True)


def test_an_input_that_is_an_output_is_not_dropped(tmp_path: Path) -> None:
    proto = choosing()
    proto.graph.output.append(proto.graph.input[1])
    path = tmp_path / "a.onnx"
    onnx.save(proto, path)
    with pytest.raises(GraphfixError, match="the input 'rate' is an output as well"):
        api.fix_file(path, tmp_path / "after.onnx", values={"rate": 1}, drop_set_inputs=True)


@pytest.mark.ci
@pytest.mark.parametrize("named", [{"k": 2.5}, {"factor": 2.5}], ids=str)
def test_a_tflite_input_goes_from_the_signatures_too(tmp_path: Path, named: dict[str, float]) -> None:
    path, after = tmp_path / "m.tflite", tmp_path / "after.tflite"
    signatures = {"serve": Signature("main", {"image": "x", "factor": "k"}, {"scores": "y"})}
    path.write_bytes(tflite("y[2,3] = MUL(x[2,3], k[])", signatures=signatures))
    outcome = api.fix_file(path, after, values=named, drop_set_inputs=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)
    found = Interpreter(model_path=str(after)).get_signature_runner("serve")
    assert list(found.get_input_details()) == ["image"]
    assert np.array_equal(found(image=np.float32([[1, 2, 3], [4, 5, 6]]))["scores"], [[2.5, 5, 7.5], [10, 12.5, 15]])
    assert api.verify(path, after, values={"k": 2.25}).status == "different"
    assert api.verify(path, after, values={"k": 2.25}, proof="only").status != "proved"
    assert api.verify(path, after).status == "different"
    assert api.verify(path, after, proof="only").status != "proved"


@pytest.mark.ci
def test_an_input_that_goes_leaves_the_others_in_their_places(tmp_path: Path) -> None:
    path, after = tmp_path / "m.tflite", tmp_path / "after.tflite"
    path.write_bytes(tflite("t[2,3] = MUL(k[], x[2,3])\ny[2,3] = SUB(t, z[2,3])"))
    outcome = api.fix_file(path, after, values={"k": 2.5}, drop_set_inputs=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    other = tmp_path / "other.tflite"
    other.write_bytes(tflite("t[2,3] = MUL(c:const[]{2.5}, x[2,3])\ny[2,3] = SUB(z[2,3], t)"))
    assert api.verify(path, other, values={"k": 2.5}).status == "different"
    assert api.verify(path, other, values={"k": 2.5}, proof="only").status != "proved"


def test_a_tflite_input_that_is_an_output_is_not_dropped(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite("y[2,3] = MUL(x[2,3], k[])", outputs=["y", "k"]))
    with pytest.raises(GraphfixError, match="the input 'k' is an output as well"):
        api.fix_file(path, tmp_path / "after.tflite", values={"k": 1}, drop_set_inputs=True)


# --- a scalar's shape -----------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_an_empty_shape_is_a_scalars(tmp_path: Path) -> None:
    path = file(tmp_path, "y[2] = Mul(x[2], k[*])", "onnx")
    assert any("k[] " in line for line in api.show(path, shapes={"k": ()}))
    with pytest.raises(GraphfixError, match="target tosa needs sizes"):
        api.fix_file(path, tmp_path / "after.onnx", target="tosa")
    outcome = api.fix_file(path, tmp_path / "after.onnx", target="tosa", shapes={"k": ()})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


# --- LiteRT is asked at the value ------------------------------------------------------------------------------------


@pytest.mark.ci
def test_what_follows_from_the_value_is_folded_to_what_it_is(tmp_path: Path) -> None:
    """LiteRT, which computes it, runs the file as it is stored: on this value, not on zeros."""
    text = "t:int32[2] = ADD(sizes:int32[2], one:const:int32[2]{1,1})\ny[?,?] = RESHAPE(x[2,6], t)"
    path, after = file(tmp_path, text, "tflite"), tmp_path / "after.tflite"
    assert any("y[3,4] = RESHAPE" in line for line in api.show(path, values={"sizes": (2, 3)}))
    outcome = api.fix_file(path, after, target="tosa", values={"sizes": (2, 3)})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert outcome.rewrites["fold-shape-arithmetic"] == 1
    assert next(line for line in api.show(after) if "=" in line).strip().startswith("y[3,4] = RESHAPE(x[2,6], ")
    assert not any("ADD" in line for line in api.show(after))
    assert api.verify(path, after, values={"sizes": (3, 2)}).status == "different"
