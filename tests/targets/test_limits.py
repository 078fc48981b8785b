"""What a target names and can't change: plans only, no format."""

from __future__ import annotations

from typing import Any

import pytest

from graphfix.graph.edits import Leave
from graphfix.graph.view import Node
from graphfix.targets import limits
from graphfix.targets.registry import TARGETS
from graphfix.targets.target import Target, target_of
from graphfix.targets.tosa import either_format
from tests.support.notation import node


def asked(target: str, about: Node) -> list[Leave]:
    questions = limits.of(target_of(target))
    assert questions is not None
    return list(questions(about))


NAMED = {
    "rank 7": ("y[1,1,1,1,1,1,2] = tflite.ADD(a[1,1,1,1,1,1,2], b[1,1,1,1,1,1,2])", "GF301", "rank 7"),
    "a free size": ("y[N,3] = Add(a[N,3], b[N,3])", "GF302", "a[N,3]"),
    "no rank": ("y[*] = Relu(x[*])", "GF302", "x[*]"),
    "a loop": ("y[2,1,4] = LSTM(x[2,1,3], w[1,16,3], r[1,16,4])", "GF305", "loops"),
    "a loop whose count an input decides": ("y[2] = Loop(n:int64[], c:bool[], x[2])", "GF305", "--set NAME=VALUE"),
    "a loop of TFLite": ("y[2] = tflite.WHILE(i:int32[], x[2])", "GF305", "--set NAME=VALUE"),
    "bytes without a sign": ("y:uint8[4] = tflite.ADD(a:uint8[4], b:uint8[4])", "GF305", "uint8"),
    "a base that may be negative": ("y[3] = Pow(x[3], e:const[]{3.0})", "GF305", "negative"),
    "a custom operator": ("y[3] = tflite.custom.Nope(x[3])", "GF305", "tosa.custom"),
    "a domain that nobody converts": ("y[3] = com.microsoft.Gelu(x[3])", "GF305", "com.microsoft"),
    "computes something else": ("y[3] = tflite.FLOOR_MOD(a[3], b[3])", "GF305", "something else"),
    "StableHLO": ("y[3] = tflite.STABLEHLO_ADD(a[3], b[3])", "GF305", "StableHLO"),
    "weights of 4 bits": ("y[2,3] = tflite.FULLY_CONNECTED(x[2,4], w:const:int4[3,4])", "GF305", "int4"),
    "StableHLO with a body": ("y[3] = tflite.STABLEHLO_SCATTER(a[3], i:int32[2,1], b[2])", "GF305", "StableHLO"),
    "regions of an image": (
        "y[1,2,2,2] = RoiAlign(x[1,2,4,4], r[1,4], b:int64[1], output_height=2, output_width=2)",
        "GF305",
        "torch-mlir has no form for it",
    ),
    "losses of an image": ("y[] = NegativeLogLikelihoodLoss(x[1,2,4,4], t:int32[1,4,4])", "GF305", "images"),
    "sequences in reverse": ("y[4,2] = ReverseSequence(x[4,2], l:int64[2])", "GF305", "loops"),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_stands_in_the_way_is_named(case: str) -> None:
    text, code, words = NAMED[case]
    (found,) = asked("tosa", node(text))
    assert isinstance(found, Leave)
    assert (found.code, found.status) == (code, "left")
    assert words in found.reason


FINE = {
    "rank 6": "y[1,1,1,1,1,2] = tflite.ADD(a[1,1,1,1,1,2], b[1,1,1,1,1,2])",
    "a broadcast": "y[2,3] = Add(a[2,3], b[1,3])",
    "a base that is never negative": "y[3] = Pow(x:const[3]{0.0, 1.0, 2.0}, e:const[]{0.5})",
    "8 bits with a sign": "y:int8[4] = tflite.ADD(a:int8[4], b:int8[4])",
}


@pytest.mark.parametrize("case", FINE)
def test_what_converts_is_no_finding(case: str) -> None:
    assert not asked("tosa", node(FINE[case]))


BLOCKING = {
    "rank 7": True,
    "a free size": False,
    "a loop": True,
    "bytes without a sign": False,
    "a base that may be negative": False,
    "a custom operator": False,
    "a domain that nobody converts": True,
    "computes something else": True,
    "StableHLO": True,
    "sequences in reverse": True,
    "regions of an image": True,
    "losses of an image": True,
    "weights of 4 bits": False,
}


@pytest.mark.parametrize("case", BLOCKING)
def test_what_no_converter_gets_right_ends_the_work(case: str) -> None:
    (found,) = asked("tosa", node(NAMED[case][0]))
    assert found.blocks == BLOCKING[case]


BY_TABLES = {
    ("litert-gpu", "y[2,1,1,1,3] = tflite.ADD(a[2,1,1,1,3], b[2,1,1,1,3])"): ("GF301", "ends at 4"),
    ("ethos-u", "y:int8[*] = tflite.RELU(x:int8[*])"): ("GF302", "has no known rank: target ethos-u needs numbers"),
    ("litert-gpu", "y[*] = tflite.RELU(x[*])"): ("GF301", "not known"),
    ("litert-gpu", "y[2,3] = tflite.BROADCAST_TO(x[1,3], s:const:int32[2]{2, 3})"): (
        "GF304",
        "target litert-gpu takes RESHAPE and TILE, no BROADCAST_TO: one takes",
    ),
    ("litert-gpu", "y[1,2] = tflite.EXPAND_DIMS(x[2], a:const:int32[]{0})"): ("GF304", "off the GPU"),
    ("litert-gpu", "y[2] = tflite.FILL(s:const:int32[1]{2}, v[])"): ("GF305", "FILL"),
    ("litert-gpu", "y[2,3] = Expand(x[1,3], s:const:int64[2]{2, 3})"): ("GF304", "Reshape"),
    ("ethos-u", "y:int8[N,3] = tflite.ADD(a:int8[N,3], b:int8[N,3])"): ("GF302", "free"),
    ("ethos-u", "y[2] = tflite.ADD(a[2], b[2])"): ("GF305", "float32"),
    ("ethos-u", "y:int8[2] = tflite.COS(a:int8[2])"): ("GF305", "COS"),
}


@pytest.mark.parametrize(("target", "text"), BY_TABLES)
def test_what_is_in_no_table_of_a_target_is_named(target: str, text: str) -> None:
    code, words = BY_TABLES[target, text]
    (found,) = asked(target, node(text))
    assert (found.code, found.status) == (code, "left")
    assert words in found.reason


TAKEN = {
    ("litert-gpu", "y[N,2,1,3] = tflite.ADD(a[N,2,1,3], b[1,2,1,3])"),
    ("litert-gpu", "y[2,3] = tflite.TILE(x[1,3], s:const:int32[2]{2, 1})"),
    ("litert-gpu", "y[2,3] = Tile(x[1,3], s:const:int64[2]{2, 1})"),
    ("ethos-u", "y:int8[1,2] = tflite.EXPAND_DIMS(x:int8[2], a:const:int64[]{0})"),
    ("ethos-u", "y[2] = Cos(x[2])"),  # the tables are of TFLite's operators
}


@pytest.mark.parametrize(("target", "text"), sorted(TAKEN))
def test_what_is_in_its_tables_is_no_finding(target: str, text: str) -> None:
    assert not asked(target, node(text))


def test_a_target_of_forms_alone_asks_nothing() -> None:
    assert [name for name in TARGETS if limits.of(target_of(name)) is None] == [
        "explicit",
        "ranks",
        "compact",
        "onnxruntime",
    ]


@pytest.mark.parametrize(
    "table",
    [
        {"max_rank": 4},
        {"static": True},
        {"elements": True},
        {"questions": "tosa"},
        {"not_supported": {"FILL": "no"}},
        {"operators": frozenset({"ADD"})},
        {"types": frozenset({"int8"})},
        {"movement": frozenset({"TILE"})},
        {"operators": frozenset()},
    ],
    ids=str,
)
def test_each_table_of_a_target_is_asked(table: dict[str, Any]) -> None:
    assert limits.of(Target("keep", (), **table)) is not None
    assert limits.of(Target("keep", ())) is None


@pytest.mark.parametrize("target", ["tosa", "ethos-u"])
@pytest.mark.parametrize(
    ("text", "named_"),
    [
        ("y:int8[0,2] = tflite.RELU(x:int8[0,2])", True),
        ("y:int8[1,2] = tflite.RELU(x:int8[1,2])", False),
        ("y:int8[1,2] = tflite.PAD(x:int8[1,2], p:const:int32[0,2])", False),
    ],
    ids=["no elements", "elements", "a constant without any"],
)
def test_a_value_without_elements_is_named(target: str, text: str, named_: bool) -> None:
    about = node(text)
    for value in filter(None, about.operands):
        about.graph.note(0, value)
    found = [left.reason for left in asked(target, about)]
    assert any("has no elements" in reason for reason in found) == named_


@pytest.mark.parametrize(
    ("target", "format_", "said"),
    [
        (Target("keep", (), "mine", types=frozenset({"int8"}), reads="tflite"), "onnx", "the types of target mine"),
        (
            Target("keep", (), "mine", not_supported={"A": "no"}, reads="onnx"),
            "tflite",
            "the operators of target mine are",
        ),
        (Target("keep", (), "mine", not_supported={"A": "no"}, reads="onnx"), "onnx", None),
        (Target("keep", (), "mine", max_rank=3, reads="onnx"), "tflite", None),
        (Target("keep", (), "mine", types=frozenset({"int8"})), "tflite", None),
    ],
)
def test_what_is_not_asked_is_said_of_the_tables_that_there_are(target: Target, format_: str, said: str | None) -> None:
    found = list(limits.unasked(target, format_))
    assert [note.startswith(said or "-") for note in found] == [True] * (said is not None)


def test_tables_in_the_names_of_the_other_format_are_no_silent_clean_bill() -> None:
    (note,) = limits.unasked(target_of("ethos-u"), "onnx")
    assert note.startswith("the operators and types of target ethos-u are TFLite's, and the model is ONNX's: convert")
    (note,) = limits.unasked(target_of("litert-gpu"), "onnx")
    assert note.startswith("the operators of target litert-gpu are TFLite's")
    for name, format_ in (("ethos-u", "tflite"), ("ranks", "onnx"), ("tosa", "onnx")):
        assert not list(limits.unasked(target_of(name), format_))


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("y[2] = Pow(x:const[2]{0.0,1.5}, e[])", True),
        ("y[2] = Pow(x:const[2]{1.0,-0.5}, e[])", False),
        ("y:string[1] = Pow(x:const:string[1]{a}, e[])", False),
        ("y[2] = Pow(x:const[2], e[])", False),
        ("y[2] = Pow(x[2], e[])", False),
    ],
)
def test_a_base_is_never_negative_where_a_constant_says_so(text: str, never: bool) -> None:
    assert either_format.never_negative(node(text).operand(0)) == never
    assert (either_format.power(node(text)) is None) == never
