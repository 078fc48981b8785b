"""Pairs of ONNX models that differ, as little as possible, in ways that look like a broadcast written otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from graphfix.checker.proof import Proof
from tests.support.proving import prove

Change = Callable[[ModelProto], object]


class Text(NamedTuple):
    """A model as text."""

    graph: str
    weights: Mapping[str, object] = {}
    opset: int = 17
    ir: int = 8
    domains: str = ""
    functions: str = ""
    change: Change | None = None

    def model(self) -> ModelProto:
        head = f'<ir_version: {self.ir}, opset_import: ["" : {self.opset}{self.domains}]>'
        model = onnx.parser.parse_model(f"{head}\n{self.graph}\n{self.functions}")
        for name, value in self.weights.items():
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        if self.change is not None:
            self.change(model)
        return model


def proof(before: Text, after: Text, folder: Path) -> Proof:
    one, two = folder / "before.onnx", folder / "after.onnx"
    one.write_bytes(before.model().SerializeToString())
    two.write_bytes(after.model().SerializeToString())
    return prove(one, two)


def text(body: str, inputs: str = "float[2,3] x", outputs: str = "float[] y", **fields: object) -> Text:
    weights = {name: value for name, value in fields.items() if name not in Text._fields}
    rest = {name: value for name, value in fields.items() if name in Text._fields}
    return Text(f"g ({inputs}) => ({outputs}) {{ {body} }}", weights, **rest)  # type: ignore[arg-type]  # by name


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def floats(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def alike(one: Text, **fields: object) -> tuple[Text, Text]:
    return one, one._replace(**fields)


def branch(inside: str, outside: str = "") -> str:
    return (
        f"{outside} z = If (c) <then_branch = t () => (float[] r) {{ {inside} }},"
        " else_branch = e () => (float[] q) { q = Identity (x) }>"
    )


def _doubled(model: ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.float32(9), "b"))


def _says(kind: int, dims: list[int]) -> Change:
    return lambda model: model.graph.value_info.append(helper.make_tensor_value_info("a", kind, dims))


def _one_result_more(model: ModelProto) -> None:
    model.graph.node[0].output.append("")


def _typed_bools(*numbers: int) -> Change:
    def change(model: ModelProto) -> None:
        model.graph.initializer.add(name="b", data_type=TensorProto.BOOL, dims=[len(numbers)], int32_data=numbers)

    return change


def _own_bodies(op: str) -> Change:
    def added(model: ModelProto) -> None:
        body = helper.make_graph(
            [helper.make_node(op, ["i"], ["o"])], "b", [helper.make_empty_tensor_value_info("i")],
            [helper.make_empty_tensor_value_info("o")],
        )  # fmt: skip
        for node in model.graph.node:
            if node.domain == "own":
                node.attribute.append(helper.make_attribute("body", body))

    return added


def _call_bodies(number: float) -> Change:
    """Two calls of a function whose attribute is the branch that it takes: 1 in the first call."""

    def added(model: ModelProto) -> None:
        for node, value in zip(model.graph.node, (1.0, number), strict=True):
            made = helper.make_node("Constant", [], ["r"], value_float=value)
            given = [helper.make_tensor_value_info("r", TensorProto.FLOAT, [])]
            node.attribute.append(helper.make_attribute("taken", helper.make_graph([made], "taken", [], given)))
        inner = helper.make_node("If", ["c"], ["r"])
        for side in ("then_branch", "else_branch"):
            inner.attribute.add(name=side, type=onnx.AttributeProto.GRAPH, ref_attr_name="taken")
        sets = [helper.make_opsetid("", 17)]
        model.functions.append(helper.make_function("own", "F", ["c"], ["r"], [inner], sets, ["taken"]))

    return added


QUANTIZED = text("y = DequantizeLinear <axis = 0> (e, s)", "uint8[1,4] x", s=floats(3))
FOUR, THREE = ints(4), ints(3)

NORMALIZED = "y = BatchNormalization {} (x, b, b, b, b)"
PAIRS: Mapping[str, tuple[Text, Text]] = {
    # --- stretches that are looked at after an elementwise operator, or by nobody ---
    "a stretch by another value of unknown rank, behind an operator": (
        text("s = Shape (u) e = Expand (x, s) y = Neg (e)", "float[3,1] x, float[] u, float[] v"),
        text("s = Shape (v) e = Expand (x, s) y = Neg (e)", "float[3,1] x, float[] u, float[] v"),
    ),
    "two stretches by values of unknown rank, behind an operator": (
        text("s = Shape (u) e = Expand (x, s) y = Neg (e) r = Shape (v) f = Expand (x, r) z = Neg (f)",
             "float[3,1] x, float[] u, float[] v", "float[] y, float[] z"),
        text("s = Shape (v) e = Expand (x, s) y = Neg (e) r = Shape (u) f = Expand (x, r) z = Neg (f)",
             "float[3,1] x, float[] u, float[] v", "float[] y, float[] z"),
    ),
    "a stretch that can't be, read by nobody": (
        text("y = Neg (x)"),
        text("y = Neg (x) e = Expand (x, t)", t=FOUR),
    ),
    "a stretch that may fail, read by nobody": (
        text("y = Neg (x)", "float[N] x"),
        text("y = Neg (x) e = Expand (x, t)", "float[N] x", t=FOUR),
    ),
    "a stretch of unknown rank, read by nobody": (
        text("y = Neg (x)", "float[] x, float[] u"),
        text("y = Neg (x) s = Shape (u) e = Expand (x, s)", "float[] x, float[] u"),
    ),
    # --- when a node is executed ---
    "an addition that a branch alone did": (
        text(branch("r = Add (x, u)") + " y = Identity (z)", "bool c, float[N] x, float[M] u"),
        text(branch("r = Identity (h)", "h = Add (x, u)") + " y = Identity (z)", "bool c, float[N] x, float[M] u"),
    ),
    "a branch that gives what is outside": (
        text("a = Neg (x) b = Neg (x) " + branch("r = Identity (a)") + " y = Identity (z)", "bool c, float[N] x"),
        text("r = Neg (x) b = Neg (x) " + branch("") + " y = Identity (z)", "bool c, float[N] x"),
    ),
    "a side effect that a branch alone had": (
        text(branch("r = own.Do (x)") + " y = Identity (z)", "bool c, float[N] x", domains=', "own" : 1'),
        text(branch("r = Identity (h)", "h = own.Do (x)") + " y = Identity (z)", "bool c, float[N] x",
             domains=', "own" : 1'),
    ),
    "a side effect that only a branch has now": (
        text(branch("r = Identity (h)", "h = own.Do (x)") + " y = Identity (z)", "bool c, float[N] x",
             domains=', "own" : 1'),
        text(branch("r = own.Do (x)") + " y = Identity (z)", "bool c, float[N] x", domains=', "own" : 1'),
    ),
    "an operator that gives nothing": (
        text("y = Neg (x)", domains=', "own" : 1'),
        text("y = Neg (x)", domains=', "own" : 1',
             change=lambda model: model.graph.node.append(helper.make_node("Do", ["x"], [], domain="own"))),
    ),
    "the body of an operator of another domain": (
        text("y = own.Do (x)", domains=', "own" : 1', change=_own_bodies("Neg")),
        text("y = own.Do (x)", domains=', "own" : 1', change=_own_bodies("Abs")),
    ),
    "the body that the second call of a function is given": alike(
        text("a = own.F (c) y = own.F (c)", "bool c", "float a, float y", domains=', "own" : 1',
             change=_call_bodies(1.0)),
        change=_call_bodies(2.0),
    ),
    # --- draws that are one, or two ---
    "two masks and one": (
        text("a = Dropout (x, r, t) b = Dropout (x, r, t) y = Add (a, b)", r=np.float32(0.5), t=np.True_),
        text("a = Dropout (x, r, t) y = Add (a, a)", r=np.float32(0.5), t=np.True_),
    ),
    # --- what makes a file load ---
    "a target of int32": alike(text("y = Reshape (x, t)", t=ints(1, 2, 3)), weights={"t": np.int32([1, 2, 3])}),
    "a target that is a scalar": alike(
        text("y = Reshape (x, t)", "float[1,6] x", t=ints(6)), weights={"t": np.int64(6)}
    ),
    "repeats of int32": alike(text("y = Tile (x, t)", "float[1] x", t=THREE), weights={"t": np.int32([3])}),
    "an axis of a vector that it has not": (
        text("s = Shape (x) y = Gather <axis = 0> (s, i)", outputs="int64[1] y", i=ints(0)),
        text("s = Shape (x) y = Gather <axis = 1> (s, i)", outputs="int64[1] y", i=ints(0)),
    ),
    "vectors joined along an axis that they have not": (
        text("s = Shape (x) y = Concat <axis = 0> (s, s)", outputs="int64[4] y"),
        text("s = Shape (x) y = Concat <axis = 1> (s, s)", outputs="int64[4] y"),
    ),
    "an attribute that the operator has not": (text("y = Identity (x)"), text("y = Identity <foo = 1> (x)")),
    "an attribute that came with a later operator set": (
        text("y = Reshape (x, t)", opset=13, t=ints(1, 2, 3)),
        text("y = Reshape <allowzero = 1> (x, t)", opset=13, t=ints(1, 2, 3)),
    ),
    "an attribute of another type": (
        text("y = Flatten <axis = 1> (x)"),
        text("y = Flatten <axis = 1.0> (x)"),
    ),
    "an operand too many": (text("y = Identity (x)"), text("y = Identity (x, x)")),
    "a constant with an operand": (
        text("b = Constant <value_float = 1.0> () y = Add (x, b)"),
        text("b = Constant <value_float = 1.0> (x) y = Add (x, b)"),
    ),
    "a type that the operator took later": (
        text("y = Identity (x)", "int64[2,3] x", "int64[] y", opset=8),
        text("y = Flatten (x)", "int64[2,3] x", "int64[] y", opset=8),
    ),
    "numbers of two types added": (
        text("s = Shape (x) y = Add (s, b)", outputs="int64[2] y", b=ints(1, 1)),
        text("s = Shape (x) y = Add (s, b)", outputs="int64[2] y", b=np.int32([1, 1])),
    ),
    "a newer operator set than runtimes know": alike(text("y = Neg (x)"), opset=99),
    "a newer file format than runtimes know": alike(text("y = Neg (x)"), ir=99),
    "an operator set that is not imported": (
        text("y = com.microsoft.Gelu (x)", domains=', "com.microsoft" : 1'),
        text("y = com.microsoft.Gelu (x)"),
    ),
    "two versions of an operator set": (
        text("y = Neg (x)", opset=13),
        text("y = Neg (x)", opset=13, change=lambda model: model.opset_import.add(domain="ai.onnx", version=6)),
    ),
    # --- operator sets below 8 ---
    "a sum of unlike shapes before they were allowed": alike(text("y = Sum (x, b)", opset=8, b=floats(3)), opset=7),
    "a default that another operator set changed": alike(text("y = Selu (x)", opset=6), opset=5),
    "no bound, and the least float as bound": alike(text("y = Clip (x)", opset=6), opset=5),
    "a default that changed": alike(text("y = Selu (x)", opset=5), opset=6),
    "a default that changed, of one attribute": alike(text("y = Selu <alpha = 2.0> (x)", opset=5), opset=6),
    "a default, and what it became": (
        text("y = Selu (x)", opset=5),
        text("y = Selu <alpha = 1.67326319, gamma = 1.05070102> (x)", opset=6),
    ),
    "bounds that were left open": alike(text("y = Clip (x)", opset=5), opset=6),
    "a bound that was left open": alike(text("y = Clip <min = 0.0> (x)", opset=5), opset=8),
    "a normalization that trains unless it is told not to": (
        text(NORMALIZED.format(""), opset=6, b=floats(3)),
        text(NORMALIZED.format(""), opset=7, b=floats(3)),
    ),
    "a normalization that is told to train": (
        text(NORMALIZED.format("<is_test = 0>"), opset=6, b=floats(3)),
        text(NORMALIZED.format(""), opset=8, b=floats(3)),
    ),
    "a normalization of single elements, whose statistics had no place for them": (
        text(NORMALIZED.format("<is_test = 1, spatial = 0>"), opset=6, b=floats(3)),
        text(NORMALIZED.format("<spatial = 0>"), opset=8, b=floats(3)),
    ),
    "a Dropout that trains unless it is told not to": alike(text("y = Dropout (x)", opset=6), opset=7),
    "two draws of a Dropout that trains, and one": (
        text("a = Dropout (x) b = Dropout (x) y = Add (a, b)", opset=6),
        text("a = Dropout (x) y = Add (a, a)", opset=6),
    ),
    "a Dropout that trains, and nothing": (
        text("y = Dropout <is_test = 0> (x)", opset=6),
        text("y = Identity (x)", opset=6),
    ),
    "operands of unlike shapes without the attribute": (
        text("y = Add (x, b)", opset=7, b=floats(1, 3)),
        text("y = Add (x, b)", opset=6, b=floats(1, 3)),
    ),
    "operand 0 stretched where only operand 1 is": (
        text("y = Add (x, b)", "float[1,3] x", opset=7, b=floats(2, 3)),
        text("y = Add <broadcast = 1> (x, b)", "float[1,3] x", opset=6, b=floats(2, 3)),
    ),
    "an axis from the end before they were counted": (
        text("y = Unsqueeze <axes = [2]> (x)", opset=9),
        text("y = Unsqueeze <axes = [-1]> (x)", opset=9),
    ),
    # --- quantization ---
    "a scale for each index of an axis that is not stretched any more": (
        QUANTIZED._replace(graph=QUANTIZED.graph.replace("y =", "e = Expand (x, t) y ="),
                           weights={**QUANTIZED.weights, "t": ints(3, 4)}),
        QUANTIZED._replace(graph=QUANTIZED.graph.replace("(e,", "(x,")),
    ),
    "a scale of two axes": alike(
        text("y = DequantizeLinear (x, s)", "uint8[1,4] x", s=np.float32(2)), weights={"s": np.float32([[2]])}
    ),
    "an axis of quantization before there was one": (
        text("y = DequantizeLinear (x, s)", "uint8[3] x", opset=10, s=np.float32(2)),
        text("y = DequantizeLinear <axis = 0> (x, s)", "uint8[3] x", opset=10, s=np.float32(2)),
    ),
    "a scale of another axis": (
        text("y = DequantizeLinear <axis = 0> (x, s)", "uint8[3,3] x", s=floats(3)),
        text("y = DequantizeLinear <axis = 1> (x, s)", "uint8[3,3] x", s=floats(3)),
    ),
    # --- ranks that a rule gives ---
    "an axis behind the end of what is compressed to a vector": (
        text("a = Compress (x, k) y = Unsqueeze (a, t)", t=ints(-1), k=np.array([True, False, True])),
        text("a = Compress (x, k) y = Unsqueeze (a, t)", t=ints(2), k=np.array([True, False, True])),
    ),
    "no axes to squeeze, and no word about them": (
        text("y = Squeeze (x, t)", "float[1,3] x", t=ints()),
        text("y = Identity (x)", "float[1,3] x", t=ints()),
    ),
    # --- names and what is declared of them ---
    "two initializers of one name": alike(text("y = Add (x, b)", b=np.float32(1)), change=_doubled),
    "another declared type": alike(text("a = Neg (x) y = Abs (a)"), change=_says(TensorProto.INT64, [2, 3])),
    "another declared shape": alike(text("a = Neg (x) y = Abs (a)"), change=_says(TensorProto.FLOAT, [4, 3])),
    "another declared rank": alike(text("a = Neg (x) y = Abs (a)"), change=_says(TensorProto.FLOAT, [3])),
    "another size of an output": (
        text("y = Neg (x)", "float[N] x", "float[N] y"),
        text("y = Neg (x)", "float[N] x", "float[4] y"),
    ),
    "a value that a caller may override": (
        Text("g (float[3] x, float[3] b) => (float[3] y) { y = Add (x, b) }", {"b": floats(3), "k": floats(3)}),
        Text("g (float[3] x, float[3] b) => (float[3] y) { y = Add (x, k) }", {"b": floats(3), "k": floats(3)}),
    ),
    "a result more without a name, for which another kernel is called": (
        text("y = MaxPool <kernel_shape = [2, 2]> (x)", "float[1,1,4,4] x"),
        text("y = MaxPool <kernel_shape = [2, 2]> (x)", "float[1,1,4,4] x", change=_one_result_more),
    ),
    "a truth value that its type can't hold": (
        text("y = Xor (x, b)", "bool[2] x", "bool[2] y", change=_typed_bools(256, 1)),
        text("y = Xor (x, b)", "bool[2] x", "bool[2] y", change=_typed_bools(0, 1)),
    ),
    "the sign of a zero": alike(text("y = Div (x, b)", b=np.float32(0.0)), weights={"b": np.float32(-0.0)}),
    "the payload of a NaN": alike(
        text("y = Add (x, b)", b=np.array([0x7FC00000], np.uint32).view(np.float32)),
        weights={"b": np.array([0x7FC00001], np.uint32).view(np.float32)},
    ),
    "the order of words": alike(
        text("y = Equal (x, b)", "string[2] x", "bool[2] y", opset=19, b=np.array(["ab", "c"], object)),
        weights={"b": np.array(["a", "bc"], object)},
    ),
    # --- shapes ---
    "a 0 that copies, and one that does not": (
        text("y = Reshape <allowzero = 1> (x, t)", "float[0,3] x", t=ints(0, 3)),
        text("y = Reshape (x, t)", "float[0,3] x", t=ints(3, 0)),
    ),
    "a 0 that copies a size that may be 1": (
        text("y = Identity (x)", "float[N,1] x"),
        text("y = Reshape (x, t)", "float[N,1] x", t=ints(1, 0)),
    ),
    "a size that may be 0, where a 0 copies another": (
        text("s = Shape (x) t = Gather (s, k) y = Reshape <allowzero = 1> (x, t)", "float[1,N] x", k=ints(1, 0)),
        text("s = Shape (x) t = Gather (s, k) y = Reshape (x, t)", "float[1,N] x", k=ints(1, 0)),
    ),
    "a size that stands at another axis": (
        text("s = Shape (x) y = Expand (u, s)", "float[N,M] x, float[1,1] u"),
        text("s = Shape (x) a = Gather (s, k) y = Expand (u, a)", "float[N,M] x, float[1,1] u", k=ints(1, 0)),
    ),
    "a part of a shape from the other end": (
        text("s = Shape <start = -1> (x) y = Expand (u, s)", "float[N,M] x, float[1] u"),
        text("s = Shape <end = 1> (x) y = Expand (u, s)", "float[N,M] x, float[1] u"),
    ),
    "a division of negative numbers": (
        text("a = Div (p, q) y = Identity (a)", outputs="int64[1] y", p=ints(-7), q=ints(2)),
        text("y = Identity (r)", outputs="int64[1] y", r=ints(-4)),
    ),
    "a sum that is too big": (
        text("a = Add (p, p) y = Identity (a)", outputs="int64[1] y", p=ints(2**62)),
        text("y = Identity (r)", outputs="int64[1] y", r=ints(-(2**63))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", PAIRS)
def test_models_that_differ_are_not_proved(what: str, tmp_path: Path) -> None:
    before, after = PAIRS[what]
    assert before.model() != after.model()
    assert proof(before, after, tmp_path).status == "not proved"


@pytest.mark.parametrize("what", PAIRS)
def test_a_model_is_proved_equal_to_itself_in_another_order(what: str, tmp_path: Path) -> None:
    """So that no pair is told apart because its first model is not read at all."""
    before = PAIRS[what][0]
    after = before._replace(change=lambda model: (before.change or (lambda _: None))(model) or _annotated(model))
    assert proof(before, after, tmp_path).reason is None


def _annotated(model: ModelProto) -> None:
    model.doc_string = "the same"
