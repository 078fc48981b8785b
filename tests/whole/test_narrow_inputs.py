"""Inputs of int64 that become int32: what is proved and what runs under that assumption, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, parser

import graphfix
from graphfix.results import GraphfixError
from tests.support.notation import model

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
EMBEDDED = "g (int64[2,3] ids, float[5,4] table) => (float[2,3,4] y) {e = Gather(table, ids) y = Neg(e)}"
INSIDE = """g (int64[2] ids, bool c) => (int64[2] y)
{y = If (c) <then_branch = t () => (int64[2] a) {a = Neg(ids)}, else_branch = e () => (int64[2] b) {b = Abs(ids)}>}"""
RETURNED = "g (int64[2] ids, int64[2] more) => (int64[2] ids, int64[2] y) {y = Add(ids, more)}"


def saved(folder: Path, text: str, name: str = "before.onnx") -> Path:
    path = folder / name
    onnx.save(parser.parse_model(HEAD + text), path)
    return path


def input_types(path: Path) -> dict[str, int]:
    return {value.name: value.type.tensor_type.elem_type for value in onnx.load(path).graph.input}


@pytest.mark.ci
@pytest.mark.parametrize("text", [EMBEDDED, INSIDE], ids=["an index", "read inside of branches"])
def test_the_model_is_proved_with_inputs_of_int32(tmp_path: Path, text: str) -> None:
    before, after = saved(tmp_path, text), tmp_path / "after.onnx"
    outcome = graphfix.fix_file(before, after, narrow_inputs=True)
    assert outcome.verdict is not None
    assert (outcome.verdict.status, {run.status for run in outcome.verdict.runs}) == ("proved", {"equal"})
    assert input_types(after)["ids"] == TensorProto.INT32
    stated = "the input 'ids' holds whole numbers of 32 bits"
    assert stated in outcome.assumes
    assert stated in outcome.verdict.assumes
    assert graphfix.verify(before, after, narrow_inputs=True).status == "proved"
    onnx.checker.check_model(onnx.load(after), full_check=True)


@pytest.mark.ci
def test_twice_is_once(tmp_path: Path) -> None:
    before, once, twice = saved(tmp_path, EMBEDDED), tmp_path / "once.onnx", tmp_path / "twice.onnx"
    graphfix.fix_file(before, once, narrow_inputs=True)
    graphfix.fix_file(once, twice, narrow_inputs=True)
    assert once.read_bytes() == twice.read_bytes()


def test_an_input_that_is_an_output_keeps_its_type(tmp_path: Path) -> None:
    before, after = saved(tmp_path, RETURNED), tmp_path / "after.onnx"
    outcome = graphfix.fix_file(before, after, narrow_inputs=True)
    assert input_types(after) == {"ids": TensorProto.INT64, "more": TensorProto.INT32}
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


def test_without_the_option_another_type_is_a_difference(tmp_path: Path) -> None:
    before, after = saved(tmp_path, EMBEDDED), tmp_path / "after.onnx"
    graphfix.fix_file(before, after, narrow_inputs=True)
    verdict = graphfix.verify(before, after)
    assert verdict.status == "different"
    assert "int32" in str(verdict.reason)


@pytest.mark.ci
@pytest.mark.parametrize(
    "faulty",
    [
        EMBEDDED.replace("e = Gather", "one = Constant<value = int64 {1}>() i = Sub(ids, one) e = Gather").replace(
            "table, ids", "table, i"
        ),
        EMBEDDED.replace("int64[2,3]", "int32[2,3]").replace(
            "e = Gather(table, ids)",
            "one = Constant<value = int64 {1}>() w = Cast<to=7>(ids) i = Sub(w, one) e = Gather(table, i)",
        ),
    ],
    ids=["another index", "another index of an int32"],
)
def test_a_wrong_model_is_not_proved(tmp_path: Path, faulty: str) -> None:
    before, after = saved(tmp_path, EMBEDDED), saved(tmp_path, faulty, "after.onnx")
    verdict = graphfix.verify(before, after, narrow_inputs=True)
    assert verdict.status == "different"
    assert verdict.proof is not None
    assert verdict.proof["status"] == "not proved"


def test_what_loses_bits_is_not_proved_though_no_run_shows_it(tmp_path: Path) -> None:
    faulty = EMBEDDED.replace("int64[2,3]", "int32[2,3]").replace(
        "e = Gather(table, ids)", "b = Cast<to=3>(ids) w = Cast<to=7>(b) e = Gather(table, w)"
    )
    before, after = saved(tmp_path, EMBEDDED), saved(tmp_path, faulty, "after.onnx")
    assert graphfix.verify(before, after, narrow_inputs=True).status == "equal"


def test_a_number_that_int32_does_not_hold_is_named(tmp_path: Path) -> None:
    text = "g (int64[2] ids) => (int64[2] y) {y = Neg(ids)}"
    before, after, given = saved(tmp_path, text), tmp_path / "after.onnx", tmp_path / "given.npz"
    graphfix.fix_file(before, after, narrow_inputs=True)
    np.savez(given, ids=np.array([1, 2**40]))
    verdict = graphfix.verify(before, after, narrow_inputs=True, inputs=given, proof="without")
    assert verdict.status == "different"
    assert "--narrow-inputs" in str(verdict.reason)


def test_tflite_is_refused_in_one_line() -> None:
    with pytest.raises(GraphfixError, match="--narrow-inputs is for ONNX"):
        graphfix.check("models/prelu.tflite", narrow_inputs=True)


def test_nothing_is_changed_where_no_input_is_int64(tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(model("y[2,3] = Neg(x[2,3])"), before)
    assert not graphfix.fix_file(before, after, narrow_inputs=True).changed
    assert before.read_bytes() == after.read_bytes()
