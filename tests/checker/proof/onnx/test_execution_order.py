"""The nodes of the main graph in the order in which onnxruntime executes them."""

from __future__ import annotations

import onnx.parser
import pytest

from graphfix.checker.proof.onnx.compare import _names_read, _put_in_order

BODIES = (
    "y = If(c) <then_branch = t () => (float[2] p) {} {{ {} }}, else_branch = e () => (float[2] r) {{ r = Abs(x) }}>"
)
LOOP = "y = Loop(n, c, x) <body = b (int64 i, bool k, float[2] s) => (bool l, float[2] t) {{ l = Identity(k) {} }}>"
# nodes -> the first results of the sorted nodes, and whether one moved
ORDERS: dict[str, tuple[str, str, bool]] = {
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
    "a body has an input of its name": (f"{LOOP.format('t = Neg(s)')} s = Abs(y)", "y s", False),
    "a loop reads it": (f"{LOOP.format('t = Add(s, k2)')} k2 = Abs(x)", "k2 y", True),
    "a body of a body reads it": (
        f"{BODIES.format('', BODIES.format('', 'p = Neg(k)').replace('y = ', 'p = ', 1))} k = Abs(x)", "k y", True),
}  # fmt: skip


def graph(nodes: str) -> onnx.GraphProto:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, bool c, int64 n) => (float[2] y) {{ {nodes} }}'
    return onnx.parser.parse_model(text).graph


@pytest.mark.parametrize("name", ORDERS)
def test_a_node_stands_in_front_of_the_first_that_reads_it(name: str) -> None:
    nodes, order, moved = ORDERS[name]
    made = graph(nodes)
    assert _put_in_order(made) is moved
    assert [node.output[0] for node in made.node] == order.split()


def test_a_body_reads_what_it_does_not_make() -> None:
    read = _names_read(graph(BODIES.format("<float[2] k = {1, 2}>", "q = Add(k, x) p = Add(q, z)")).node[0])
    assert sorted(read) == ["c", "x", "x", "z"]
