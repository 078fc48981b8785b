"""What a model must keep to be read: payloads, types, names, domains and functions, each fault by what is said of it.

`tests/whole/test_bad_models.py` has the faults that every command must refuse; here are the limits of each rule.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, helper, numpy_helper

import graphfix
from graphfix.results import GraphfixError
from tests.support.onnx.broken import ADD, functions, model, value

Change = Callable[[ModelProto], object]


def held(code: int, field: str, numbers: int, dims: tuple[int, ...] = (3,)) -> Change:
    """Give the model one more constant, of this element type, with so many numbers in this field."""

    def change(made: ModelProto) -> None:
        tensor = made.graph.initializer.add(name="t", data_type=code, dims=dims)
        getattr(tensor, field).extend([b"a" if field == "string_data" else 1] * numbers)

    return change


def raw(code: int, size: int, dims: tuple[int, ...] = (3,)) -> Change:
    return lambda made: made.graph.initializer.add(name="t", data_type=code, dims=dims, raw_data=bytes(size))


def outside(**entries: str) -> Change:
    def change(made: ModelProto) -> None:
        tensor = made.graph.initializer.add(name="t", data_type=TensorProto.FLOAT, dims=[3])
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in ({"location": "w.bin"} | entries).items():
            tensor.external_data.add(key=key, value=text)

    return change


def floats(count: int, dims: tuple[int, ...] | None = None) -> TensorProto:
    """So many numbers, of this shape."""
    tensor = numpy_helper.from_array(np.ones(count, np.float32), "t")
    if dims is not None:
        del tensor.dims[:]
        tensor.dims.extend(dims)
    return tensor


def named(name: str) -> TensorProto:
    """No numbers, under this name."""
    return TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[0])


def whole(*numbers: int) -> TensorProto:
    return numpy_helper.from_array(np.array(numbers, np.int64), "i")


def sparse(values: TensorProto, indices: TensorProto, *dims: int) -> SparseTensorProto:
    return SparseTensorProto(values=values, indices=indices, dims=dims)


def with_attribute(attribute: AttributeProto) -> Change:
    """Give the model a node of a domain without schemas, which has this attribute."""
    node = NodeProto(op_type="Thing", domain="own", input=["x"], output=["u"], attribute=[attribute])
    return lambda made: (made.graph.node.append(node), made.opset_import.add(domain="own", version=1))


def attribute(kind: int, **fields: object) -> AttributeProto:
    return AttributeProto(name="a", type=kind, **fields)  # type: ignore[arg-type]


def with_nodes(text: str) -> Change:
    """Put further nodes behind those of the model."""
    graph = onnx.parser.parse_graph(f"g (float[2,3] x, bool c) => (float[2,3] y) {{ {text} }}")

    def change(made: ModelProto) -> None:
        made.graph.node.extend(graph.node)
        made.graph.input.append(value("c", [], TensorProto.BOOL))

    return change


def function(*body: NodeProto, inputs: str = "a", outputs: str = "r", opset: int = 17, domain: str = "f") -> Change:
    """Give the model a function, which nothing calls."""
    made = helper.make_function(domain, "F", [*inputs], [*outputs], body, [helper.make_opsetid("", opset)])
    return lambda proto: proto.functions.append(made)


def node(op: str, inputs: str, outputs: str, domain: str = "") -> NodeProto:
    return helper.make_node(op, [*inputs], [*outputs], domain=domain)


def branch(*nodes: NodeProto) -> GraphProto:
    return helper.make_graph(nodes, "b", [], [value("e", None)])


def deciding(calls: NodeProto) -> NodeProto:
    """An If in whose branch a function is called."""
    other = branch(node("Identity", "a", "e"))
    return helper.make_node("If", ["a"], ["r"], then_branch=branch(calls), else_branch=other)


IF = (
    "{} = If (c) <then_branch = t () => (float[2,3] p) {{ {} }},"
    " else_branch = o () => (float[2,3] q) {{ q = Neg (x) }}>"
)
T = TensorProto
KIND = AttributeProto
REFUSED: dict[str, tuple[Change, str]] = {
    "a payload of no type": (raw(0, 12), "'t' has the unknown element type 0"),
    "a byte too few": (raw(T.FLOAT, 11), "holds 11 bytes, its shape [3] asks for 12"),
    "a byte too many of 4 bits": (raw(T.INT4, 3), "holds 3 bytes, its shape [3] asks for 2"),
    "too few numbers of 16 bits": (held(T.FLOAT16, "int32_data", 2), "holds 2 numbers, its shape [3] asks for 3"),
    "too few numbers of 64 bits": (held(T.INT64, "int64_data", 2), "holds 2 numbers, its shape [3] asks for 3"),
    "too few doubles": (held(T.DOUBLE, "double_data", 2), "holds 2 numbers, its shape [3] asks for 3"),
    "too few without a sign": (held(T.UINT32, "uint64_data", 2), "holds 2 numbers, its shape [3] asks for 3"),
    "too few of 64 bits without a sign": (
        held(T.UINT64, "uint64_data", 2),
        "holds 2 numbers, its shape [3] asks for 3",
    ),
    "half a complex number": (held(T.COMPLEX64, "float_data", 5), "holds 5 numbers, its shape [3] asks for 6"),
    "half a large complex number": (held(T.COMPLEX128, "double_data", 5), "holds 5 numbers, its shape [3] asks for 6"),
    "a byte for each of 4 bits": (held(T.INT4, "int32_data", 3), "holds 3 numbers, its shape [3] asks for 2"),
    "too few texts": (held(T.STRING, "string_data", 2), "holds 2 elements, its shape [3] asks for 3"),
    "a size below 0": (raw(T.FLOAT, 0, (0, -1)), "'t' has the shape [0, -1]"),
    "far too many numbers": (
        held(T.INT64, "int64_data", 9000, (1,)),
        "bytes of numbers, more than its shape [1] asks for",
    ),
    "sparse values of no shape": (
        lambda made: made.graph.sparse_initializer.append(sparse(floats(2, (3,)), whole(0, 1), 4)),
        "the sparse initializer 't' holds 8 bytes, its shape [3] asks for 12",
    ),
    "sparse indices of no type": (
        lambda made: made.graph.sparse_initializer.append(sparse(floats(1), TensorProto(dims=[1]), 4)),
        "the sparse initializer 't' has the unknown element type 0",
    ),
    "a sparse size below 0": (
        lambda made: made.graph.sparse_initializer.append(sparse(floats(1), whole(0), 4, -1)),
        "the sparse initializer 't' has the shape [4, -1]",
    ),
    "a sparse constant of a name that is there": (
        lambda made: made.graph.sparse_initializer.append(sparse(named("b"), whole(), 4)),
        "'b' is given twice",
    ),
    "a tensor of an attribute": (
        with_attribute(attribute(KIND.TENSOR, t=floats(2, (3,)))),
        "Thing 'Thing#1', attribute 'a' holds 8 bytes, its shape [3] asks for 12",
    ),
    "the second of the tensors of an attribute": (
        with_attribute(attribute(KIND.TENSORS, tensors=[floats(1), floats(2, (3,))])),
        "attribute 'a' holds 8 bytes, its shape [3] asks for 12",
    ),
    "a sparse tensor of an attribute": (
        with_attribute(attribute(KIND.SPARSE_TENSOR, sparse_tensor=sparse(floats(1), whole(0), -4))),
        "attribute 'a' has the shape [-4]",
    ),
    "one of the sparse tensors of an attribute": (
        with_attribute(attribute(KIND.SPARSE_TENSORS, sparse_tensors=[sparse(floats(1), whole(0), -4)])),
        "attribute 'a' has the shape [-4]",
    ),
    "no tensor in an attribute": (with_attribute(attribute(KIND.TENSOR)), "attribute 'a' is empty"),
    "no graph in an attribute": (with_attribute(attribute(KIND.GRAPH)), "attribute 'a' is empty"),
    "no sparse tensor in an attribute": (with_attribute(attribute(KIND.SPARSE_TENSOR)), "attribute 'a' is empty"),
    "one of the graphs of an attribute": (
        with_attribute(attribute(KIND.GRAPHS, graphs=[branch(node("Neg", "z", "e"))])),
        "main/Thing.a: Neg 'Neg#0' reads 'z', which nothing makes",
    ),
    "an output of no type": (
        lambda made: setattr(made.graph.output[0].type.tensor_type, "elem_type", 77),
        "main: 'y' has the unknown element type 77",
    ),
    "an inner value of no type": (
        lambda made: made.graph.value_info.append(value("v", [], 77)),
        "main: 'v' has the unknown element type 77",
    ),
    "a result twice in one node": (with_nodes("s, s = Split <num_outputs = 2> (x)"), "makes 's', a name that exists"),
    "a result that another node made": (with_nodes("y = Neg (x)"), "Neg 'Neg#1' makes 'y', a name that exists already"),
    "nodes of a cycle": (with_nodes("z = Neg (u) u = Abs (w) w = Exp (u)"), "the nodes form a cycle: "),
    "a value that nothing makes, beside nodes that are not sorted": (
        with_nodes("z = Neg (u) u = Abs (ghost)"),
        "Abs 'Abs#1' reads 'ghost', which nothing makes",
    ),
    "a second operand that nothing makes": (with_nodes("z = Add (x, ghost)"), "reads 'ghost', which nothing makes"),
    "an initializer twice": (
        lambda made: made.graph.initializer.extend([named("k"), named("k")]),
        "main: the name 'k' is given twice",
    ),
    "a function that calls itself by another": (
        lambda made: made.functions.extend(
            helper.make_function("f", name, ["a"], ["r"], [node(called, "a", "r", "f")], [helper.make_opsetid("f", 1)])
            for name, called in ("FG", "GF")
        ),
        "calls itself",
    ),
    "a value that a later node of a branch makes": (
        with_nodes(IF.format("z", "p = Neg (u) u = Abs (x)")),
        "Neg 'Neg#0' reads 'u', which a later node makes: the nodes are not sorted",
    ),
    "a result of a branch that nothing makes": (
        with_nodes(IF.format("z", "u = Neg (x)")),
        "no node makes the output 'p'",
    ),
    "a name of the graph around that a branch gives again": (
        with_nodes(IF.format("z", "p = Neg (x) p = Abs (x)")),
        "Abs 'Abs#1' makes 'p', a name that exists already",
    ),
    "a result too many": (with_nodes("z, w = Neg (x)"), "'Neg#1' has 1 operands and 2 results, which its operator"),
    "an operand too many": (with_nodes("z = Neg (x, x)"), "'Neg#1' has 2 operands and 1 results, which its operator"),
    "an operand too few": (with_nodes("z = Add (x)"), "'Add#1' has 1 operands and 1 results, which its operator"),
    "a domain that is not imported": (with_nodes("z = own.Thing (x)"), "is of the domain 'own', which is not imported"),
    "a domain of a branch that is not imported": (
        with_nodes(IF.format("z", "p = own.Thing (x)")),
        "main/If.then_branch: Thing 'Thing#0' is of the domain 'own', which is not imported",
    ),
    "another domain of a version below 1": (
        lambda made: made.opset_import.add(domain="own", version=0),
        "it imports an operator set of a version below 1",
    ),
    "a quantization without a scale": (
        lambda made: made.graph.node.append(helper.make_node("QuantizeLinear", ["x", ""], ["z"])),
        "QuantizeLinear 'QuantizeLinear#1' has no operand 1",
    ),
    "an operand of a function twice": (
        function(node("Neg", "a", "r"), inputs="aa"),
        "'F': the name 'a' is given twice",
    ),
    "an output of a function that nothing makes": (
        function(node("Neg", "a", "u")),
        "'F': no node makes the output 'r'",
    ),
    "a function that reads a value around it": (function(node("Neg", "x", "r")), "reads 'x', which nothing makes"),
    "a function of a version that is not known": (
        function(node("Neg", "a", "r"), opset=99),
        "version 99 of the standard operators, known are 1 to",
    ),
    "a function that calls itself from a branch": (
        function(deciding(node("F", "a", "e", "f"))),
        "the function 'F' calls itself",
    ),
}


@pytest.mark.parametrize(("change", "words"), REFUSED.values(), ids=REFUSED)
def test_a_fault_is_refused_by_its_place(change: Change, words: str) -> None:
    made = model(ADD)
    change(made)
    with pytest.raises(GraphfixError) as caught:
        graphfix.load(made)
    assert words in str(caught.value)


TAKEN: dict[str, Change] = {
    "bytes of 4 bits": raw(T.INT4, 2),
    "numbers of 4 bits": held(T.INT4, "int32_data", 2),
    "numbers of 16 bits": held(T.FLOAT16, "int32_data", 3),
    "a complex number": held(T.COMPLEX64, "float_data", 6),
    "texts": held(T.STRING, "string_data", 3),
    "a constant of nothing": raw(T.FLOAT, 0, (0, 4)),
    "a typed constant of nothing": held(T.INT64, "int64_data", 0, (4, 0)),
    "many numbers": held(T.INT64, "int64_data", 9000, (9000,)),
    "a sparse constant": lambda made: made.graph.sparse_initializer.append(sparse(floats(1), whole(0), 0, 4)),
    "a tensor of an attribute": with_attribute(attribute(KIND.TENSOR, t=floats(3))),
    "tensors of an attribute": with_attribute(attribute(KIND.TENSORS, tensors=[floats(3)])),
    "an attribute that says no type": with_attribute(attribute(KIND.UNDEFINED, i=3)),
    "a result that is left out": with_nodes("s, i = MaxPool <kernel_shape = [1]> (x)"),
    "a branch that reads what stands before it": with_nodes("u = Neg (x) " + IF.format("z", "p = Neg (u)")),
    "a branch that reads what a later node makes": with_nodes(IF.format("z", "p = Neg (u)") + " u = Neg (x)"),
    "nodes that are not sorted": with_nodes("z = Neg (u) u = Abs (x)"),
    "an operator of onnxruntime": with_nodes("z = com.microsoft.Gelu (x)"),
    "an operator of onnxruntime's layout": with_nodes("z = com.microsoft.nchwc.ReorderInput (x)"),
    "an operand that this program does not read": (
        lambda made: made.graph.node.append(helper.make_node("Det", [""], ["z"]))
    ),
    "a stored shape of a value that nothing makes": lambda made: made.graph.value_info.append(value("ghost", [2, "N"])),
    "an attribute that is a type": lambda made: made.graph.node.append(helper.make_node("Optional", ["x"], ["o"])),
    "a function": function(node("Neg", "a", "r")),
    "a function of a domain that it does not import": function(node("Thing", "a", "r", "own")),
    "a function that calls none": function(deciding(node("Neg", "a", "e"))),
}


@pytest.mark.parametrize("change", TAKEN.values(), ids=TAKEN)
def test_what_keeps_the_rules_is_read(change: Change) -> None:
    made = model(ADD)
    change(made)
    assert "Add" in [node.op for node in graphfix.load(made).graphs[0].nodes]


@pytest.mark.parametrize(("length", "read"), [(None, True), ("12", True), ("0", True), ("8", False)])
def test_data_in_another_file_is_as_long_as_its_shape_asks_for(
    length: str | None, tmp_path: Path, *, read: bool
) -> None:
    made = model(ADD)
    outside(**({} if length is None else {"length": length}))(made)
    (tmp_path / "w.bin").write_bytes(bytes(12))
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    if read:
        assert graphfix.load(tmp_path / "m.onnx").graphs[0].nodes[0].op == "Add"
    else:
        with pytest.raises(GraphfixError, match=r"'t' holds 8 bytes, its shape \[3\] asks for 12"):
            graphfix.load(tmp_path / "m.onnx")


@pytest.mark.parametrize(("depth", "read"), [(100, True), (101, False)])
def test_functions_that_call_each_other_are_followed_100_deep(depth: int, *, read: bool) -> None:
    if read:
        assert graphfix.load(functions(depth)).graphs[0].nodes[0].op == "F0"
    else:
        with pytest.raises(GraphfixError, match="call each other 101 deep, at most 100 are followed"):
            graphfix.load(functions(depth))


def test_nodes_that_are_not_sorted_stand_before_their_first_reader_afterwards() -> None:
    """Onnxruntime sorts the main graph too; nodes that may stay where they are do."""
    text = "g (float[2] x, bool c) => (float[2] y) { y = Add (u, v) v = If (c) <then_branch = t () => (float[2] p) {"
    text += " p = Neg (w) }, else_branch = o () => (float[2] q) { q = Neg (x) }> u = Abs (x) w = Exp (u) k = Neg (x) }"
    loaded = graphfix.load(model(text))
    assert [node.op for node in loaded.graphs[0].nodes] == ["Abs", "Exp", "If", "Add", "Neg"]


def test_a_branch_hides_names_of_the_graph_around_where_nodes_are_sorted() -> None:
    """`u` of the branch is its own: the main graph's `u` may stay behind."""
    text = "g (float[2] x, bool c) => (float[2] y) { a = Neg (b) y = If (c) <then_branch = t () => (float[2] u) {"
    text += " u = Neg (x) }, else_branch = o () => (float[2] q) { q = Neg (x) }> u = Abs (y) b = Exp (x) }"
    made = model(text)
    made.graph.node[1].attribute[0].g.node[0].output[0] = "u"
    loaded = graphfix.load(made)
    assert [node.op for node in loaded.graphs[0].nodes] == ["Exp", "Neg", "If", "Abs"]


@pytest.mark.parametrize(("ir", "read"), [(2, True), (3, False)])
def test_before_ir_version_3_a_model_imports_nothing_and_its_operators_are_of_version_1(ir: int, *, read: bool) -> None:
    made = helper.make_model(
        helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [value("x", [2])], [value("y", [2])])
    )
    made.ir_version = ir
    del made.opset_import[:]
    if read:
        assert graphfix.load(made).graphs[0].nodes[0].version == 1
    else:
        with pytest.raises(GraphfixError, match="no opset_import"):
            graphfix.load(made)


@pytest.mark.parametrize(("place", "words"), [("opset_import", "an opset_import"), ("function", "function 'F'")])
def test_a_domain_that_is_no_utf_8_is_refused(place: str, words: str) -> None:
    made = model(ADD)
    if place == "function":
        function(node("Neg", "a", "r"), domain="dddd")(made)
    else:
        made.opset_import.add(domain="dddd", version=1)
    with pytest.raises(GraphfixError) as caught:
        graphfix.load(made.SerializeToString().replace(b"dddd", b"dd\xff\xfe"))
    assert f"{words}: the name b'dd\\xff\\xfe' is not UTF-8" in str(caught.value)


def test_an_operator_set_that_onnxruntime_imports_by_itself_is_of_version_1() -> None:
    made = model(ADD)
    with_nodes("z = com.microsoft.Gelu (x)")(made)
    assert [(node.op, node.version) for node in graphfix.load(made).graphs[0].nodes] == [("Add", 17), ("Gelu", 1)]


def test_a_model_that_imports_nothing_may_have_what_version_1_alone_has() -> None:
    nodes = [helper.make_node("Split", ["x", "sizes"], ["y", "z"])]  # version 2 has the sizes as an attribute
    inputs = [value("x", [2]), value("sizes", [2])]
    made = helper.make_model(helper.make_graph(nodes, "g", inputs, [value("y", [1])]), ir_version=2)
    del made.opset_import[:]
    assert [node.version for node in graphfix.load(made).graphs[0].nodes] == [1]


@pytest.mark.parametrize(("ir", "read"), [(0, False), (1, True)])
def test_the_first_ir_version_is_1(ir: int, *, read: bool) -> None:
    graph = helper.make_graph([node("Neg", "x", "y")], "g", [value("x", [2])], [value("y", [2])])
    made = helper.make_model(graph, ir_version=ir)
    del made.opset_import[:]
    if read:
        assert graphfix.load(made).graphs[0].nodes[0].version == 1
    else:
        with pytest.raises(GraphfixError, match="its IR version is 0"):
            graphfix.load(made)
