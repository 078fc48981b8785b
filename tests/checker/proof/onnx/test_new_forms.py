"""The forms that may be new in the second file: the proof has no others, and onnxruntime has a kernel for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING

import onnx
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from graphfix.checker.proof.onnx.closed_world.model_parts import KNOWN_FORM, KNOWN_SET
from graphfix.checker.proof.onnx.closed_world.new_nodes import FORMS
from graphfix.checker.proof.onnx.definitions.decompositions import DEFINED
from graphfix.checker.proof.onnx.operators.registry import FOLDS, VIEWS
from graphfix.checker.proof.onnx.reading.types import type_name
from tests.support.needs import by_release

if TYPE_CHECKING:
    from onnx.defs import OpSchema

FIRST_SET = 7
NUMBERS = {type_name(number): number for number in TensorProto.DataType.values()}
BITS = {"int4": 4, "uint4": 4}
TWICE = frozenset(
    "Concat Add Sub Mul Div Mod Less LessOrEqual Greater GreaterOrEqual Equal And Or Xor Max Min PRelu Pow".split()
)
INDEXED = frozenset("Reshape Expand Gather".split())
Made = tuple[list[str], Mapping[str, object]]


def filled(number: int) -> TensorProto:
    made = TensorProto(dims=[1], data_type=number)
    if number == TensorProto.STRING:
        made.string_data.append(b"")
    else:
        made.raw_data = bytes(max(1, helper.tensor_dtype_to_np_dtype(number).itemsize))
    return made


def axes(schema: OpSchema, _: int) -> Made:
    return (["x"], {"axes": [0]}) if "axes" in schema.attributes else (["x", "i"], {})


def sliced(schema: OpSchema, _: int) -> Made:
    return (["x"], {"starts": [0], "ends": [1]}) if "starts" in schema.attributes else (["x", "i", "i"], {})


def resized(schema: OpSchema, _: int) -> Made:
    return (["x", "scales"] if schema.since_version == 10 else ["x", "roi", "scales"]), {}


def branches(_: OpSchema, number: int) -> Made:
    result = [helper.make_tensor_value_info("r", number, None)]
    made = [helper.make_graph([helper.make_node("Identity", ["x"], ["r"])], name, [], result) for name in "te"]
    return ["c"], {"then_branch": made[0], "else_branch": made[1]}


SPECIAL: Mapping[str, Callable[[OpSchema, int], Made]] = {
    **dict.fromkeys(("Squeeze", "Unsqueeze", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"), axes),
    "Slice": sliced,
    "Resize": resized,
    "If": branches,
    "Concat": lambda _, __: (["x", "x"], {"axis": 0}),
    "Einsum": lambda _, __: (["x", "x"], {"equation": "ab,ab->a"}),
    "Tile": lambda _, __: (["x", "ii"], {}),
    "Where": lambda _, __: (["c", "x", "x"], {}),
    "SequenceAt": lambda _, __: (["q", "at"], {}),
    "ReverseSequence": lambda _, __: (["x", "ii"], {}),
    "CastLike": lambda _, __: (["x", "x"], {}),
    "Range": lambda _, __: (["s", "s", "s"], {}),
    "Split": lambda schema, _: (["x"], {"num_outputs": 1} if "num_outputs" in schema.attributes else {}),
    "Cast": lambda _, number: (["x"], {"to": number}),
    "Constant": lambda _, number: ([], {"value": filled(number)}),
    "ConstantOfShape": lambda _, number: (["i"], {"value": filled(number)}),
}


def node(op: str, schema: OpSchema, number: int) -> NodeProto:
    names = ["x", "x"] if op in TWICE else ["x", "i"] if op in INDEXED else ["x"]
    operands, attributes = SPECIAL[op](schema, number) if op in SPECIAL else (names, {})
    return helper.make_node(op, operands, ["y"], **attributes)


def model(op: str, number: int, version: int) -> ModelProto | None:
    """A model of one node on operands of a type, None where the operator set does not take it."""
    schema = onnx.defs.get_schema(op, version, "")
    of = FORMS[op].of
    allowed = (schema.outputs[0] if of is None else schema.inputs[of]).types
    if f"tensor({TensorProto.DataType.Name(number).lower()})" not in allowed:
        return None
    inputs = {
        "x": (number, [1, 2]), "s": (number, []), "c": (TensorProto.BOOL, []), "i": (TensorProto.INT64, [1]),
        "ii": (TensorProto.INT64, [2]), "scales": (TensorProto.FLOAT, [2]), "roi": (TensorProto.FLOAT, [0]),
        "at": (TensorProto.INT64, []),
    }  # fmt: skip
    infos = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]
    infos.append(helper.make_tensor_sequence_value_info("q", number, [1]))
    graph = helper.make_graph([node(op, schema, number)], "g", infos, [ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=KNOWN_FORM)


def versions(op: str) -> list[int]:
    """The operator sets in which it changed."""
    known = range(FIRST_SET, KNOWN_SET + 1)
    since = {onnx.defs.get_schema(op, each, "").since_version for each in known if onnx.defs.has(op, each, "")}
    return sorted(max(each, FIRST_SET) for each in since)


def refused(op: str, types: frozenset[str], sets: list[int]) -> list[tuple[str, int, str]]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    found = list[tuple[str, int, str]]()
    for kind, version in product(sorted(types), sets):
        made = model(op, NUMBERS[kind], version)
        if made is None:
            continue
        try:
            onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no class
            found.append((kind, version, str(error)[:200]))
    return found


def test_no_rule_reads_an_operator_that_is_not_listed() -> None:
    assert {*VIEWS, *FOLDS, *DEFINED} <= set(FORMS)


EIGHT_BITS = dict.fromkeys(("Max", "Min", "Where"), "onnxruntime>=1.31")
"""Older releases have no kernels of these for int8."""


@pytest.mark.alike(3)
@pytest.mark.parametrize("op", by_release(sorted(FORMS), EIGHT_BITS))
def test_onnxruntime_has_a_kernel_in_each_operator_set(op: str) -> None:
    assert refused(op, FORMS[op].types, versions(op)) == []


@pytest.mark.parametrize(("op", "kind"), [("Flatten", "float8e4m3fn"), ("Expand", "bfloat16"), ("Tile", "bfloat16")])
def test_a_type_that_is_not_listed_is_refused(op: str, kind: str) -> None:
    assert refused(op, frozenset({kind}), [KNOWN_SET])
