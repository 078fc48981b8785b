"""The pass of onnx-ir: alone, in a PassManager beside passes of that library, and with external data."""

from __future__ import annotations

import inspect
from pathlib import Path

import onnx
import onnx_ir
import pytest
from onnx_ir.passes import PassError, PassManager, common

import graphfix
from graphfix.adapters.onnx_ir import ExplicitBroadcastsPass
from tests.support.notation import model

ADD = "v[2,3] = Add(x[2,3], b:const[3])\ny[2,3] = Mul(v, w:const[2,3])"


def operators(made: onnx_ir.Model) -> list[str]:
    return [node.op_type for node in made.graph]


def test_the_pass_returns_a_new_model_and_leaves_the_given_one_as_it_is() -> None:
    given = onnx_ir.from_proto(model(ADD))
    before = onnx_ir.to_proto(given).SerializeToString()
    explicit = ExplicitBroadcastsPass()
    result = explicit(given)
    assert result.modified
    assert result.model is not given
    assert onnx_ir.to_proto(given).SerializeToString() == before
    assert operators(result.model) == ["Expand", "Add", "Mul"]
    assert graphfix.verify(given, result.model, runs=1).status == "proved"
    assert explicit.outcome is not None
    assert explicit.outcome.source == "<onnx_ir.Model>"


def test_a_pass_manager_runs_it_among_others_until_nothing_changes() -> None:
    manager = PassManager(
        [common.RemoveUnusedNodesPass(), ExplicitBroadcastsPass(), common.TopologicalSortPass()], steps=5
    )
    result = manager(onnx_ir.from_proto(model(ADD)))
    assert result.modified
    assert not ExplicitBroadcastsPass()(result.model).modified


def test_the_keywords_are_those_of_fix() -> None:
    result = ExplicitBroadcastsPass(target="ranks")(onnx_ir.from_proto(model(ADD)))
    assert [tuple(value.shape) for value in result.model.graph.initializers.values()] == [(1, 3), (2, 3)]
    with pytest.raises(graphfix.GraphfixError, match="target 'moon' is not one of"):
        ExplicitBroadcastsPass(target="moon")  # type: ignore[arg-type] -- wrong on purpose
    with pytest.raises(graphfix.GraphfixError, match="broadcasts 'some' is not one of"):
        ExplicitBroadcastsPass(broadcasts="some")  # type: ignore[arg-type] -- as above


def test_the_defaults_are_those_of_fix() -> None:
    of_fix = inspect.signature(graphfix.fix).parameters
    of_pass = inspect.signature(ExplicitBroadcastsPass).parameters
    assert len(of_pass) > 5
    assert {name: each.default for name, each in of_pass.items()} == {name: of_fix[name].default for name in of_pass}


def test_a_model_that_can_not_be_fixed_is_an_error_of_the_pass_manager() -> None:
    with pytest.raises(PassError) as caught:
        PassManager([ExplicitBroadcastsPass(unknown="error")])(onnx_ir.from_proto(model("y[?] = Add(x[N], b[M])")))
    causes = [caught.value, caught.value.__cause__, getattr(caught.value.__cause__, "__cause__", None)]
    assert any(isinstance(each, graphfix.GraphfixError) for each in causes)


def test_external_data_stays_external(tmp_path: Path) -> None:
    proto = model(ADD)
    for tensor in proto.graph.initializer:  # onnx moves raw data only
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    given = onnx_ir.load(tmp_path / "m.onnx")
    result = ExplicitBroadcastsPass()(given)
    tensors = {name: value.const_value for name, value in result.model.graph.initializers.items()}
    assert isinstance(tensors["w"], onnx_ir.ExternalTensor)
    assert tensors["w"].numpy().tolist() == given.graph.initializers["w"].const_value.numpy().tolist()
    assert graphfix.verify(given, result.model, runs=1).status == "proved"
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx", "w.bin"}
