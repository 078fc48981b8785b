"""Nodes are put into the order in which onnxruntime runs them: in front of the first node that reads their results."""

from __future__ import annotations

import onnx.parser
import pytest
from onnx import GraphProto, TensorProto, helper

from graphfix.checker.proof.onnx.compare import _names_read, _narrowed, _put_in_order
from tests.support.proved import unproved

INPUTS = "float[2] x, float[2] z, bool c, int64 n"
BRANCH = "y = If(c) <then_branch = t () => (float[2] p) {{ {0} }}, else_branch = e () => (float[2] q) {{ q = Neg(x) }}>"
LOOP = "y = Loop(n, c, x) <body = b (int64 i, bool k, float[2] s) => (bool l, float[2] r) {{ l = Identity(k) {0} }}>"


def graph(nodes: str) -> GraphProto:
    head = '<ir_version: 8, opset_import: ["" : 17]>'
    return onnx.parser.parse_model(f"{head} g ({INPUTS}) => (float[2] y) {{ {nodes} }}").graph


ORDERS: dict[str, tuple[str, str]] = {
    "none": ("", ""),
    "in order": ("a = Abs(x) b = Neg(a) y = Add(a, b)", "Abs Neg Add"),
    "what is not read stays": ("a = Abs(x) b = Neg(x) y = Exp(x)", "Abs Neg Exp"),
    "the last one is read first": ("y = Neg(a) a = Abs(x)", "Abs Neg"),
    "turned around": ("y = Neg(b) b = Exp(a) a = Abs(x)", "Abs Exp Neg"),
    "in the order of the operands": ("y = Add(b, a) a = Abs(x) b = Exp(x)", "Exp Abs Add"),
    "one reads the other": ("y = Add(b, a) b = Exp(a) a = Abs(x)", "Abs Exp Add"),
    "in front of the first reader": ("b = Neg(x) y = Add(b, a) c2 = Sin(a) a = Abs(x)", "Neg Abs Add Sin"),
    "a second result": ("y = Neg(b) a, b = Split<axis = 0>(x)", "Split Neg"),
    "an operand without a name": ("y = Clip(x, , a) a = Abs(z)", "Abs Clip"),
    "each other": ("a = Neg(b) b = Exp(a) y = Abs(x)", "Exp Neg Abs"),
    "itself": ("a = Neg(a) y = Abs(x)", "Neg Abs"),
    "read in a body": (f"{BRANCH.format('p = Neg(a)')} a = Abs(x)", "Abs If"),
    "returned by a body": (f"{BRANCH.format('o = Neg(x)').replace('float[2] p', 'float[2] a')} a = Abs(x)", "Abs If"),
    "made in a body": (f"{BRANCH.format('a = Neg(x) p = Exp(a)')} a = Abs(x)", "If Abs"),
    "an input of a body": (f"{LOOP.format('r = Neg(s)')} s = Abs(x)", "Loop Abs"),
    "read in a body of a body": (
        LOOP.format(BRANCH.format("p = Neg(a)").replace("y = If", "r = If").replace("(c)", "(k)")) + " a = Abs(x)",
        "Abs Loop",
    ),
}


@pytest.mark.parametrize(("nodes", "expected"), ORDERS.values(), ids=ORDERS)
def test_a_node_gets_in_front_of_the_first_node_that_reads_its_results(nodes: str, expected: str) -> None:
    made = graph(nodes)
    before = [node.op_type for node in made.node]
    contents = {node.op_type: node.SerializeToString() for node in made.node}
    moved = _put_in_order(made)
    assert [node.op_type for node in made.node] == expected.split()
    assert moved is (before != expected.split())
    assert {node.op_type: node.SerializeToString() for node in made.node} == contents


BODIES = (
    "y = If(c) <then_branch = t () => (float[2] p) {} {{ {} }}, else_branch = e () => (float[2] r) {{ r = Abs(x) }}>"
)
# nodes -> the first results of the sorted nodes, and whether one moved
BY_RESULT: dict[str, tuple[str, str, bool]] = {
    "in order": ("a = Neg(x) y = Abs(a)", "a y", False),
    "no node": ("", "", False),
    "behind its reader": ("y = Abs(a) a = Neg(x)", "a y", True),
    "behind the reader of its reader": ("y = Add(b, a) a = Neg(b) b = Abs(x)", "b a y", True),
    "behind one of two readers": ("b = Abs(x) y = Add(b, a) a = Neg(x)", "b a y", True),
    "only what is read moves": ("b = Abs(x) d = Exp(x) y = Neg(a) e = Exp(d) a = Neg(x)", "b d a y e", True),
    "an operand without a name": ('y = Sum("", a) a = Neg(x)', "a y", True),
    "a result without a name": ('y = Sum("", x) d, "" = TopK(x, y)', "y d", False),
    "nodes that read each other": ("y = Add(a, b) b = Neg(y) a = Neg(x)", "a b y", True),
    "a node that reads itself": ("y = Add(y, x) a = Neg(y)", "y a", False),
    "behind a body that reads it": (f"{BODIES.format('', 'p = Neg(k)')} k = Abs(x)", "k y", True),
    "before a body that reads it": (f"k = Abs(x) {BODIES.format('', 'p = Neg(k)')}", "k y", False),
    "behind a body that returns it": (f"{BODIES.format('', 'q = Neg(x)')} p = Abs(x)", "p y", True),
    "a body has a constant of its name": (
        f"{BODIES.format('<float[2] k = {1, 2}>', 'p = Neg(k)')} k = Abs(y)", "y k", False),
    "a body makes a value of its name": (f"{BODIES.format('', 'k = Neg(x) p = Neg(k)')} k = Abs(y)", "y k", False),
    "a body has an input of its name": (f"{LOOP.format('r = Neg(s)')} s = Abs(y)", "y s", False),
    "a loop reads it": (f"{LOOP.format('r = Add(s, k2)')} k2 = Abs(x)", "k2 y", True),
    "a body of a body reads it": (
        f"{BODIES.format('', BODIES.format('', 'p = Neg(k)').replace('y = ', 'p = ', 1))} k = Abs(x)", "k y", True),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_RESULT)
def test_a_node_stands_in_front_of_the_first_that_reads_it(name: str) -> None:
    nodes, order, moved = BY_RESULT[name]
    made = graph(nodes)
    assert _put_in_order(made) is moved
    assert [node.output[0] for node in made.node] == order.split()


def test_a_body_reads_what_it_does_not_make() -> None:
    read = _names_read(graph(BODIES.format("<float[2] k = {1, 2}>", "q = Add(k, x) p = Add(q, z)")).node[0])
    assert sorted(read) == ["c", "x", "x", "z"]


def test_a_result_without_a_name_is_read_by_none() -> None:
    made = graph("y = Clip(x, , z) a, b = Split<axis = 0>(x)")
    made.node[1].output[0] = ""
    assert not _put_in_order(made)
    assert [node.op_type for node in made.node] == ["Clip", "Split"]


def test_bodies_stay_as_they_are() -> None:
    made = graph(f"{BRANCH.format('p = Neg(o) o = Abs(a)')} a = Abs(x)")
    assert _put_in_order(made)
    assert [node.op_type for node in made.node[1].attribute[0].g.node] == ["Neg", "Abs"]


def test_a_body_reads_what_it_neither_makes_nor_holds() -> None:
    (node,) = graph(LOOP.format("r = Sum(s, w, x, v)")).node
    body = node.attribute[0].g
    assert list(_names_read(node)) == ["n", "c", "x", "w", "x", "v"]
    body.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1]))
    body.output[1].name = "z"
    assert list(_names_read(node)) == ["n", "c", "x", "x", "v", "z"]


SORTED, UNSORTED = "a = Abs(x) y = Neg(a)", "y = Neg(a) a = Abs(x)"


@pytest.mark.parametrize(
    ("one", "two", "proved"),
    [(SORTED, SORTED, True), (UNSORTED, UNSORTED, True), (UNSORTED, SORTED, True), (SORTED, UNSORTED, False)],
)
def test_a_second_file_in_another_order_is_proved_where_the_first_is_out_of_order_too(
    one: str, two: str, proved: bool
) -> None:
    files = [
        helper.make_model(graph(nodes), ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
        for nodes in (one, two)
    ]
    reason = "the nodes of the second file are not in the order of execution, those of the first are"
    found = unproved(*files)
    assert found is None if proved else reason in str(found)


def test_narrowed_inputs_are_int64_in_the_first_file_and_int32_in_the_second() -> None:
    kinds = {"a": "int64", "b": "int32", "c": "int64", "d": "float", "e": "int64", "f": "int32"}
    others = {**kinds, "a": "int32", "b": "int64", "d": "int32", "e": "float"}
    one, two = (
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g ('
            + ", ".join(f"{kind}[2] {name}" for name, kind in each.items())
            + ") => (float[2] y) { y = Neg(x) }"
        )
        for each in (kinds, others)
    )
    assert _narrowed(one, two) == {"a"}
    assert _narrowed(two, one) == {"b"}
    assert _narrowed(one, one) == frozenset()
