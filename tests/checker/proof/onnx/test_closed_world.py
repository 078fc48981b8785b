"""A second file that may not load where the first does is not proved, whatever its nodes compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from graphfix.checker.proof import Proof
from graphfix.results.runtime_facts import FUNCTION_TWICE_REFUSED
from tests.support.needs import by_release
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

Change = Callable[[ModelProto], object]

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
PLAIN = HEAD + "g (float[2,3] x) => (float[2,3] y) { [one] a = LeakyRelu<alpha = 0.5>(x)  [two] y = Sigmoid(a) }"
CONSTANTS = HEAD + (
    "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}, int64[2] s = {2, 3}> { a = Add(x, w)"
    "  y = Reshape(a, s) }"
)
SIZES = HEAD + (
    "g (float[N] x, float[M] z) => (float[K] y) <float[1,P] p> { a = Relu(x)  b = Relu(z)  y = Add(a, b)"
    "  e = Constant<value_ints = [0]>()  p = Unsqueeze(a, e) }"
)
BRANCHES = HEAD + (
    "g (float[2,3] x, bool c) => (float[2,3] y) { a = Neg(x)  y = If(c)<"
    "then_branch = one () => (float[2,3] r) { [n] t = Relu(a)  [m] r = Sigmoid(t) },"
    " else_branch = two () => (float[2,3] q) { q = Identity(x) }> }"
)
LOOP = HEAD + (
    "g (float[2,3] x, int64 n, bool c) => (float[2,3] y) { y, z = Loop(n, c, x)<body = b (int64 i, bool k,"
    " float[2,3] s) => (bool kk, float[2,3] t, float[2,3] u) { kk = Identity(k)  t = Relu(s)  u = Neg(s) }> }"
)
SEQUENCE = HEAD + (
    "g (float[2,3] x) => (float[2,3] y) { s = SequenceConstruct(x)  i = Constant<value_int = 0>()"
    "  y = SequenceAt(s, i) }"
)
CALL = (
    '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
    "g (float[2,3] x) => (float[2,3] y) { y = local.F<slope = 0.5>(x) }\n"
    '<domain: "local", opset_import: ["" : 17]>\n'
    "F <slope> (a) => (b) { [n] t = LeakyRelu<alpha: float = @slope>(a)  [m] b = Relu(t) }"
)
GIVEN = CALL[: CALL.index("F <slope>")] + "F (a, e) => (b, c) { b = Identity(a)  c = Clip(a, e) }"
GIVEN = GIVEN.replace("y = local.F<slope = 0.5>(x)", "p, q = local.F(x)  y = Neg(p)")
UNCALLED = GIVEN.replace("p, q = local.F(x)  y = Neg(p)", "y = Neg(x)")
LATE = HEAD.replace("17", "15")
STORED = HEAD + 'g (float[1] x) => (float[1] y) <float[1] w = ["location": "weights"]> { y = Add(x, w) }'
OPTIONAL = LATE + "g (float[2,3] x) => (float[2,3] y) { o = Optional(x)  y = OptionalGetElement(o) }"
MAPS = (
    '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>\n'
    "g (float[2,3] x) => (float[2,3] y) { m = ai.onnx.ml.ZipMap<classlabels_int64s = [1, 2, 3]>(x)  y = Neg(x) }"
)
ADDED = HEAD + (
    "g (float[2,3] x, int64[2,3] i) => (float[2,3] y) <float[3] w = {1, 2, 3}, int64[3] k = {1, 2, 3}> {"
    " a = Relu(x)  y = SimplifiedLayerNormalization<axis = -1>(a, w) }"
)
QUANTIZED = (
    '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>\n'
    "g (float[2,3] x) => (float[2,3] y) <int8[3] k = {1, 2, 3}, float s = {0.5}, double h = {0.5}> {"
    " a = com.microsoft.DequantizeLinear(k, s)  y = Add(x, a) }"
)
SHADOWS = (
    LOOP.replace("float[2,3] s)", "float[2,3] x)")
    .replace("(s)", "(x)")
    .replace("t = Relu(x)", "d = Exp(x)  t = Relu(d)")
)
OPERANDS = HEAD + (
    "g (float[2,3] x) => (float[2,3] y) <float low = {0}> { a = Clip(x, low)  b, c = Split<axis = 0>(a)"
    "  d = Concat<axis = 0>(b, c)  e = Max(d, a)  y = Dropout(e) }"
)


def node(model: ModelProto, index: int) -> NodeProto:
    return model.graph.node[index]


def body(model: ModelProto, index: int = 0) -> GraphProto:
    holder = next(each for each in model.graph.node if each.op_type in ("If", "Loop"))
    return holder.attribute[index].g


def attribute(model: ModelProto) -> AttributeProto:
    return model.graph.node[0].attribute[0]


def tensor(**fields: object) -> Change:
    return lambda model: model.graph.initializer.append(TensorProto(name="dead", **fields))


def function(text: str) -> Change:
    return lambda model: model.functions.append(onnx.parser.parse_function(text))


def sparse(model: ModelProto) -> None:
    values = helper.make_tensor("dead", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("", TensorProto.INT64, [1], [9])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))


def renamed(axis: int, name: str) -> Change:
    def change(model: ModelProto) -> None:
        model.graph.input[axis].type.tensor_type.shape.dim[0].dim_param = name

    return change


def other(text: str) -> Change:
    def change(model: ModelProto) -> None:
        model.CopyFrom(onnx.parser.parse_model(text))

    return change


def node_names(graph: GraphProto) -> None:
    for each in graph.node:
        each.name = "same"


REFUSED: dict[str, tuple[str, Change]] = {
    "an operand more": (PLAIN, lambda model: node(model, 1).input.append("x")),
    "a result more": (PLAIN, lambda model: node(model, 1).output.append("more")),
    "no operands": (PLAIN, lambda model: model.graph.node.add(op_type="Relu", output=["z"])),
    "a required operand without a name": (OPERANDS, lambda model: model.graph.node.add(
        op_type="Concat", input=["", "a"], output=["z"], attribute=[helper.make_attribute("axis", 0)])),
    "an attribute of another type": (PLAIN, lambda model: attribute(model).CopyFrom(helper.make_attribute("alpha", 1))),
    "an attribute that the operator does not have": (
        PLAIN, lambda model: node(model, 1).attribute.append(helper.make_attribute("alpha", 1.0))),
    "an attribute twice": (PLAIN, lambda model: node(model, 0).attribute.append(attribute(model))),
    "a second field": (PLAIN, lambda model: attribute(model).t.CopyFrom(helper.make_tensor("t", 1, [1], [1.0]))),
    "a function that returns what it is given": (GIVEN, lambda model: [
        model.functions[0].output.__setitem__(0, "a"), model.functions[0].node.pop(0)]),
    "a function that returns what none of its nodes computes": (GIVEN, lambda model: model.functions[0].node.pop()),
    "what a call does not give is read": (GIVEN, lambda model: model.functions[0].node.add(
        op_type="Identity", input=["e"], output=["d"])),
    "a result of a body that has the name of one around it, as an input has in the first": (SHADOWS, other(
        LOOP.replace("t = Relu(s)", "x = Exp(s)  t = Relu(x)"))),
    "a constant in what is written as a folder": (STORED, lambda model: setattr(
        model.graph.initializer[0].external_data[0], "value", "weights/")),
    "an identity of an optional before there was one": (OPTIONAL, lambda model: model.graph.node.add(
        op_type="Identity", input=["o"], output=["d"])),
    "an identity of maps": (MAPS, lambda model: model.graph.node.add(op_type="Identity", input=["m"], output=["d"])),
    "an unknown operator": (PLAIN, lambda model: setattr(node(model, 1), "op_type", "Sigmoids")),
    "two nodes of one name": (PLAIN, lambda model: node_names(model.graph)),
    "two nodes of a body of one name": (BRANCHES, lambda model: node_names(body(model))),
    "two nodes of a function of one name": (
        CALL, lambda model: [setattr(each, "name", "same") for each in model.functions[0].node]),
    "a node named as one of an inlined function": (
        CALL.replace("y = local.F", "[k] z = Relu(x)  y = local.F"),
        lambda model: setattr(node(model, 0), "name", "_inlfunc_F_n")),
    "a value named as one of an inlined function": (
        CALL.replace("y = local.F", "[k] z = Relu(x)  y = local.F"),
        lambda model: node(model, 0).output.__setitem__(0, "_inlfunc_F_t")),
    "a body without a name": (BRANCHES, lambda model: body(model).ClearField("name")),
    "a value of a body named as one around it": (BRANCHES, lambda model: [
        body(model).node[0].output.__setitem__(0, "x"), body(model).node[1].input.__setitem__(0, "x")]),
    "a branch of another type": (CONSTANTS, other(
        HEAD + "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}, int64[2] s = {2, 3}, bool c = {1}> {"
        " a = If(c)<then_branch = t () => (float[2,3] r) { r = Add(x, w) },"
        " else_branch = e () => (int64[2] q) { q = Identity(s) }>  y = Reshape(a, s) }")),
    "a loop without the last result": (LOOP, lambda model: node(model, 0).output.pop()),
    "an if without its result": (BRANCHES, lambda model: body(model).output.append(
        helper.make_tensor_value_info("t", TensorProto.FLOAT, [2, 3]))),
    "an operator set from the future": (
        PLAIN, lambda model: model.opset_import.add(domain="com.microsoft", version=999)),
    "an operator set of another domain": (
        PLAIN, lambda model: model.opset_import.add(domain="ai.onnx.ml", version=99)),
    "no IR version": (PLAIN, lambda model: model.ClearField("ir_version")),
    "an IR version from the future": (PLAIN, lambda model: setattr(model, "ir_version", 99)),
    "a function twice": (CALL, lambda model: model.functions.append(model.functions[0])),
    "a function of a future operator set": (
        PLAIN, function('<domain: "local", opset_import: ["" : 99]> F (a) => (b) { b = Relu(a) }')),
    "a function whose domain is not imported": (CALL, lambda model: model.opset_import.pop()),
    "a call with an operand too many": (CALL, lambda model: node(model, 0).input.append("x")),
    "a call with a result too many": (CALL, lambda model: node(model, 0).output.append("z")),
    "a dead constant without a type": (PLAIN, tensor(dims=[1], float_data=[1.0])),
    "a dead sparse constant out of range": (PLAIN, sparse),
    "operands of two types": (CONSTANTS, lambda model: model.graph.node.add(
        op_type="Concat", input=["w", "s"], output=["z"], attribute=[helper.make_attribute("axis", 0)])),
    "a size of a sequence": (SEQUENCE, lambda model: model.graph.node.add(op_type="Size", input=["s"], output=["z"])),
    "a quantization of onnxruntime's own, by another type than any": (
        QUANTIZED, lambda model: model.graph.node.add(
            domain="com.microsoft", op_type="DequantizeLinear", input=["k", "h"], output=["z"])),
    "a quantization of onnxruntime's own, with an attribute that it lacks": (
        QUANTIZED, lambda model: model.graph.node.add(
            domain="com.microsoft", op_type="DequantizeLinear", input=["k", "s"], output=["z"],
            attribute=[helper.make_attribute("block_size", 2)])),
    "an operator that onnxruntime adds, of integers": (ADDED, lambda model: model.graph.node.add(
        op_type="SimplifiedLayerNormalization", input=["i", "k"], output=["z"], attribute=node(model, 1).attribute)),
    "a type without a kernel": (CONSTANTS, other(
        HEAD.replace("17", "21") +
        "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}, int64[2] s = {2, 3}> { a = Add(x, w)"
        " f = Cast<to = 17>(w)  h = Unsqueeze(f, e)  e = Constant<value_ints = [0]>()  y = Reshape(a, s) }")),
}  # fmt: skip
"""Kinds of change after which onnxruntime refuses the file."""

LOADED_BEFORE = {"a dead sparse constant out of range": "onnxruntime>=1.26"}
"""What older releases of onnxruntime do not refuse."""
UNKNOWN: dict[str, tuple[str, Change]] = {
    "a hint to old runtimes": (
        PLAIN.replace("17", "5"), lambda model: node(model, 1).attribute.append(
            helper.make_attribute("consumed_inputs", [0]))),
    "a cast to no type": (PLAIN, lambda model: model.graph.node.add(
        op_type="Cast", input=["x"], output=["z"], attribute=[helper.make_attribute("to", 2**62)])),
    "a trailing operand without a name": (PLAIN, lambda model: node(model, 1).input.append("")),
    "a trailing result without a name": (OPERANDS, lambda model: node(model, 4).output.append("")),
    "a third part that nobody reads": (OPERANDS, lambda model: node(model, 1).output.append("")),
    "a reference out of functions": (PLAIN, lambda model: setattr(attribute(model), "ref_attr_name", "beta")),
    "a reference to another attribute": (
        CALL, lambda model: setattr(model.functions[0].node[0].attribute[0], "ref_attr_name", "slop")),
    "another name of the domain": (PLAIN, lambda model: setattr(node(model, 1), "domain", "ai.onnx")),
    "an overload": (PLAIN, lambda model: setattr(node(model, 1), "overload", "o")),
    "a new domain": (PLAIN, lambda model: model.opset_import.add(domain="mine", version=1)),
    "the operator set twice": (PLAIN, lambda model: model.opset_import.add(domain="ai.onnx", version=17)),
    "a later operator set than all runtimes know": (
        PLAIN, lambda model: setattr(model.opset_import[0], "version", 22)),
    "another function that nothing calls": (
        PLAIN, function('<domain: "local", opset_import: ["" : 17]> F (a) => (b) { b = Relu(a) }')),
    "a call without an attribute": (CALL, lambda model: node(model, 0).attribute.pop()),
    "a call with an attribute more": (
        CALL, lambda model: node(model, 0).attribute.append(helper.make_attribute("other", 1))),
    "metadata of a runtime": (PLAIN, lambda model: model.metadata_props.add(key="ort_config", value="{}")),
    "an annotation": (PLAIN, lambda model: model.graph.quantization_annotation.add(tensor_name="x")),
    "a declaration of nothing": (
        PLAIN, lambda model: model.graph.value_info.append(helper.make_tensor_value_info("no", 1, [2]))),
    "two inputs of one size": (SIZES, renamed(1, "N")),
    "an input of the size of a value within": (SIZES, renamed(1, "P")),
    "a size below 0": (SIZES, lambda model: setattr(
        model.graph.output[0].type.tensor_type.shape.dim[0], "dim_value", -1)),
    "a dead constant in two fields": (PLAIN, tensor(dims=[1], data_type=1, float_data=[1.0], raw_data=b"1234")),
    "a dead constant of negative size": (PLAIN, tensor(dims=[-1], data_type=1)),
    "a dead constant of numbers too large": (PLAIN, tensor(dims=[1], data_type=3, int32_data=[300])),
    "a dead constant of too few bytes": (PLAIN, tensor(dims=[2], data_type=1, raw_data=b"1234")),
    "dead strings with bytes": (PLAIN, tensor(dims=[1], data_type=8, string_data=[b"a"], raw_data=b"1234")),
    "a dead constant with an unknown key": (PLAIN, tensor(dims=[1], data_type=1, data_location=1, external_data=[
        onnx.StringStringEntryProto(key="location", value="weights"),
        onnx.StringStringEntryProto(key="locations", value="weights")])),
    "a body that does not say a type": (BRANCHES, lambda model: body(model).output[0].ClearField("type")),
    "a node on a device": (PLAIN, lambda model: node(model, 0).device_configurations.add(configuration_id="two")),
    "a value larger than any before": (CONSTANTS, lambda model: [
        model.graph.initializer.append(helper.make_tensor("t", TensorProto.INT64, [2], [2**40, 3])),
        model.graph.node.add(op_type="Expand", input=["w", "t"], output=["z"])]),
    "a configuration of devices": (PLAIN, lambda model: model.configuration.add(name="two", num_devices=2)),
    # onnxruntime ends the process where it is an Add of one operand
    "a function with the name of an operator": (GIVEN, lambda model: [
        setattr(node(model, 0), "op_type", "Add"), setattr(model.functions[0], "name", "Add")]),
}  # fmt: skip
"""Kinds of change that the first file does not have and no list names: a runtime may refuse them."""

KEPT: dict[str, tuple[str, Change]] = {
    "an identity": (PLAIN, lambda model: [
        node(model, 1).input.__setitem__(0, "z"),
        model.graph.node.insert(1, helper.make_node("Identity", ["a"], ["z"]))]),
    "a later operator set and what it leaves without a name": (
        PLAIN.replace("y = Sigmoid(a)", 'y = Clip(a, "", "")'),
        lambda model: setattr(model.opset_import[0], "version", 18)),
    "a dead view": (CONSTANTS, lambda model: model.graph.node.insert(
        1, helper.make_node("Identity", ["w"], ["z"]))),
    "a dead constant": (PLAIN, tensor(dims=[1], data_type=1, float_data=[1.0])),
    "a dead constant of bytes": (PLAIN, tensor(dims=[2], data_type=1, raw_data=b"12345678")),
    "no elements": (PLAIN, tensor(dims=[0], data_type=1)),
    "a constant of a node's name": (PLAIN, lambda model: model.graph.node.add(
        op_type="Constant", name="two", output=["z"], attribute=[helper.make_attribute("value_float", 1.0)])),
    "other names of nodes": (PLAIN, lambda model: node(model, 0).ClearField("name")),
    "another name in a body": (BRANCHES, lambda model: [
        body(model).node[0].output.__setitem__(0, "q"), body(model).node[1].input.__setitem__(0, "q")]),
    "a later IR version": (PLAIN, lambda model: setattr(model, "ir_version", 10)),
    "another name of a size": (SIZES, renamed(1, "other")),
    "another producer": (PLAIN, lambda model: setattr(model, "producer_name", "graphfix")),
    "what fix assumed": (PLAIN, lambda model: model.metadata_props.add(key="graphfix.assumes", value="N is 1")),
    "an operand that a call does not give, without a name": (GIVEN, lambda model: [
        model.functions[0].node[1].input.__setitem__(1, "")]),
    "a view in front of an operator that onnxruntime adds": (ADDED, lambda model: [
        node(model, 1).input.__setitem__(0, "z"),
        model.graph.node.insert(1, helper.make_node("Identity", ["a"], ["z"]))]),
    "another function body": (CALL, lambda model: [
        model.functions[0].node[1].input.__setitem__(0, "v"),
        model.functions[0].node.insert(1, helper.make_node("Identity", ["t"], ["v"]))]),
}  # fmt: skip
"""Siblings that load and compute the same."""


def pair(text: str, change: Change) -> tuple[ModelProto, ModelProto]:
    before = onnx.parser.parse_model(text)
    after = ModelProto()
    after.CopyFrom(before)
    change(after)
    return before, after


def written(folder: Path, models: tuple[ModelProto, ModelProto]) -> list[Path]:
    """Two models in one folder, with weights in it and around it."""
    inner = folder / "models"
    inner.mkdir()
    paths = [inner / "before.onnx", inner / "after.onnx"]
    for path, model in zip(paths, models, strict=True):
        path.write_bytes(model.SerializeToString())
    for place in (folder, inner):
        (place / "weights").write_bytes(b"1234")
    return paths


def proof(folder: Path, models: tuple[ModelProto, ModelProto]) -> Proof:
    return prove(*written(folder, models))


def loads(path: Path) -> bool:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 - onnxruntime's errors share no class
        return False
    return True


SINCE = {"a function twice": FUNCTION_TWICE_REFUSED}
"""By name of what not every version of onnxruntime refuses: the fact."""


@pytest.mark.parametrize("name", by_release(REFUSED, LOADED_BEFORE))
def test_what_onnxruntime_refuses_is_not_proved(name: str, tmp_path: Path) -> None:
    before, after = written(tmp_path, pair(*REFUSED[name]))
    assert loads(before)
    assert loads(after) == (name in SINCE and not SINCE[name].holds(onnxruntime.__version__))
    assert not prove(before, after).proved


@pytest.mark.parametrize(("text", "change"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_no_list_names_is_not_proved(text: str, change: Change, tmp_path: Path) -> None:
    assert not proof(tmp_path, pair(text, change)).proved


@pytest.mark.parametrize(("text", "change"), KEPT.values(), ids=list(KEPT))
def test_a_sibling_that_loads_is_proved(text: str, change: Change, tmp_path: Path) -> None:
    before, after = written(tmp_path, pair(text, change))
    assert loads(after)
    assert prove(before, after).reason is None


UNTYPED = {
    "a product of a rank that is not known": ("", "MatMul(a, w)"),
    "a product of a scalar": ("", "MatMul(s, w)"),
    "an operand of more axes than the data": ("", "LayerNormalization(w, a)"),
    "an operator that onnxruntime adds, on a value that only a declaration gives a type": (
        "float[2,3] a", "SimplifiedLayerNormalization(a, w)"),
}  # fmt: skip
"""What is declared, and nodes on a value whose type and rank no rule knows, or which no runtime runs."""


@pytest.mark.parametrize(("declared", "text"), UNTYPED.values(), ids=list(UNTYPED))
def test_a_view_of_what_reads_its_operands_exactly_is_proved(declared: str, text: str, tmp_path: Path) -> None:
    graph = (
        '<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>\n'
        f"g (float[2,3] x, float s) => (float y) <float[3] w = {{1, 2, 3}}{declared and ', '}{declared}> {{"
        f" a = mine.Unknown(x)  b = {text}  y = Neg(b) }}"
    )
    before, after = pair(graph, lambda model: node(model, 2).input.__setitem__(0, "v"))
    after.graph.node.insert(2, helper.make_node("Identity", ["b"], ["v"]))
    assert proof(tmp_path, (before, after)).reason is None


MEANINGLESS = frozenset({"reference", "negative", "cast"})
ODD = {name: UNKNOWN[name] for name in UNKNOWN if MEANINGLESS.isdisjoint(name.split())}


@pytest.mark.parametrize(("text", "change"), ODD.values(), ids=list(ODD))
def test_what_is_odd_in_both_files_is_proved(text: str, change: Change, tmp_path: Path) -> None:
    _, odd = pair(text, change)
    again = ModelProto()
    again.CopyFrom(odd)
    again.producer_name = "another"
    assert proof(tmp_path, (odd, again)).reason is None
