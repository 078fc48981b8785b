"""What a pattern of a fusion asks of an operand: each kind, both sides of its bounds, and how its text is read."""

from __future__ import annotations

import pytest

from graphfix.graph.view import Node
from graphfix.targets.onnxruntime import patterns
from graphfix.targets.onnxruntime.patterns import KINDS, is_identity, met
from tests.support import engine
from tests.support.notation import model, node

ASKED = {
    # kind: texts of which operand 1 is such, and texts of which it is not
    "constant": (["y[3] = Add(x[3], b:const[3])"], ["y[3] = Add(x[3], b[3])"]),
    "one": (
        [
            "y[2,3] = Add(x[2,3], b:const[])",
            "y[2,3] = Add(x[2,3], b:const[1,1])",
            "y[] = Add(x[], b:const[1])",
        ],
        [
            "y[2,3] = Add(x[2,3], b[])",
            "y[2,3] = Add(x[2,3], b:const[3])",
            "y[2,3] = Add(x[2,3], b:const[1,2])",
            "y[1,2,3] = Add(x[2,3], b:const[1,1,1])",
            "y[1,1] = Add(x[], b:const[1,1])",
            "y[*] = Add(x[*], b:const[1])",
            "y[2,3] = Add(x[2,3], b[*])",
        ],
    ),
    "scalar": (
        ["y[2] = Mul(x[2], b:const[])", "y[2] = Mul(x[2], b:const[1])"],
        ["y[2] = Mul(x[2], b:const[2])", "y[1,2] = Mul(x[2], b:const[1,1])", "y[2] = Mul(x[2], b[])"],
    ),
    "number": (["y[2] = Mul(x[2], b:const[])"], ["y[2] = Mul(x[2], b:const[1])", "y[2] = Mul(x[2], b[])"]),
    "vector": (
        ["y[2,3] = Mul(x[2,3], b:const[3])"],
        ["y[2,3] = Mul(x[2,3], b[3])", "y[2,3] = Mul(x[2,3], b:const[1,3])", "y[2,3] = Mul(x[2,3], b:const[])"],
    ),
    "matrix": (
        ["y[2,3] = Mul(x[2,3], b[N,3])"],
        ["y[2,3] = Mul(x[2,3], b[3])", "y[2,3] = Mul(x[2,3], b[1,2,3])", "y[2,3] = Mul(x[2,3], b[*])"],
    ),
    "fixed": (
        ["y[2,3] = Mul(x[2,3], b[3])", "y[2,3] = Mul(x[2,3], b[1,2,3])"],
        ["y[2,3] = Mul(x[2,3], b[2,3])", "y[*] = Mul(x[2,3], b[N])", "y[*] = Mul(x[2,3], b[*])"],
    ),
    "float": (
        ["y[3] = Mul(x[3], b[3])", "y:float16[3] = Mul(x:float16[3], b:float16[3])"],
        ["y:float64[3] = Mul(x:float64[3], b:float64[3])", "y:int32[3] = Mul(x:int32[3], b:int32[3])"],
    ),
    "float64": (["y:float64[3] = Mul(x:float64[3], b:float64[3])"], ["y[3] = Mul(x[3], b[3])"]),
    "last": (
        ["y[2,3] = Add(x[2,3], b[3])", "y[2,H] = Add(x[2,H], b[H])", "y[3] = Add(x[3], b[3])"],
        [
            "y[2,3] = Add(x[2,3], b[1])",
            "y[2,3] = Add(x[2,1], b[3])",
            "y[2,3] = Add(x[2,3], b[1,3])",
            "y[2,3] = Add(x[2,3], b[])",
            "y[3] = Add(x[], b[3])",
            "y[*] = Add(x[*], b[3])",
            "y[*] = Add(x[2,3], b[*])",
            "y[?] = Add(x[2,?], b[?])",
            "y[3] = Add(b[3], b)",
        ],
    ),
    "columns": (
        [f"y:{dtype}[2,3] = Add(x:{dtype}[2,3], b:{dtype}[3])" for dtype in ("float32", "float16", "bfloat16")],
        ["y:float64[2,3] = Add(x:float64[2,3], b:float64[3])", "y[2,3] = Add(x[2,3], b[2,3])"],
    ),
    "row": (
        ["y[2,3] = Add(x[2,3], b[3])", "y[2,3] = Add(x[2,3], b[1,3])", "y:bfloat16[2,3] = Add(x[2,3], b:bfloat16[3])"],
        [
            "y[2,3] = Add(x[2,3], b[])",
            "y[2,3] = Add(x[2,3], b[1,2,3])",
            "y[2,3] = Add(x[2,3], b[*])",
            "y:float64[2,3] = Add(x:float64[2,3], b:float64[3])",
        ],
    ),
    "whole": (
        ["y[2,3,4] = Add(x[4], b[2,3,4])", "y[N,S,4] = Add(x[4], b[N,S,4])"],
        [
            "y[2,3] = Add(x[3], b[2,3])",
            "y[5,2,3,4] = Add(x[4], b[5,2,3,4])",
            "y[2,3,4] = Add(x[2,3,4], b[1,3,4])",
            "y[2,3,H] = Add(x[H], b[2,3,H])",
            "y[*] = Add(x[*], b[2,3,4])",
            "y[*] = Add(x[*], b[*])",
        ],
    ),
    "channels": (
        [
            "y[2,8,4,4] = Add(x[2,8,4,4], b:const[8,1,1])",
            "y[N,8,H,W] = Add(x[N,8,H,W], b:const[1,8,1,1])",
            "y[2,8,4,4,4] = Add(x[2,8,4,4,4], b:const[8,1,1,1])",
            "y[2,8,4] = Add(x[2,8,4], b:const[8,1])",
        ],
        [
            "y[2,8,4,4] = Add(x[2,8,4,4], b[8,1,1])",
            "y[2,8,4,4] = Add(x[2,8,4,4], b:const[1,1,1])",
            "y[2,8,4,4] = Add(x[2,8,4,4], b:const[8,1,4])",
            "y[2,8,4,4] = Add(x[2,8,4,4], b:const[2,8,1,1])",
            "y[2,1,4,4] = Add(x[2,1,4,4], b:const[1,1])",
            "y[2,1] = Add(x[2,1], b:const[1])",
            "y[] = Add(x[], b:const[])",
            "y[*] = Add(x[*], b:const[8,1,1])",
            "y[2,C,4,4] = Add(x[2,C,4,4], b:const[8,1,1])",
        ],
    ),
}


def test_every_kind_is_asked_for_here() -> None:
    assert {*ASKED, "made"} == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "text", "such"),
    [(kind, text, at == 0) for kind, both in ASKED.items() for at, texts in enumerate(both) for text in texts],
)
def test_an_operand_is_of_a_kind(kind: str, text: str, such: bool) -> None:
    asked = node(text)
    assert KINDS[kind](asked.operand(1), asked) is such


def nodes(text: str) -> list[Node]:
    return list(engine.load(model(text)).graphs[0].nodes)


def test_what_nodes_make_of_constants_is_one_and_what_they_make_of_an_input_is_not() -> None:
    first, _, _, add, other = nodes("""a = Neg(k:const[3]{1.0,2.0,3.0})
        b = Add(a, k)
        c = Add(x[3], k)
        y = Add(b, c)
        z = Add(c, c)""")
    assert [KINDS["constant"](add.operand(at), add) for at in (0, 1)] == [True, False]
    assert KINDS["constant"](first.operand(0), first)
    assert not KINDS["constant"](other.operand(0), other)


@pytest.mark.parametrize(
    ("made", "such"),
    [
        ("c = Constant(value_floats=[1.0,2.0,3.0])", True),
        ("c = Clip(k:const[3], , m:const[]{2.0})", True),
        ("c = RandomNormal(shape=[3])", False),
    ],
    ids=["a Constant", "an operand that is left out", "of nothing, and random"],
)
def test_what_a_node_makes_of_no_operand_is_constant_only_where_it_is_one(made: str, such: bool) -> None:
    last = nodes(f"{made}\ny = Add(c, x[3])")[-1]
    assert KINDS["constant"](last.operand(0), last) is such


def test_beside_an_operand_that_is_left_out_stands_the_next() -> None:
    asked = node("y[2,3] = com.example.Op(b[3], , x[2,3])")
    assert KINDS["last"](asked.operand(0), asked)


def test_a_chain_of_nodes_is_followed_so_far() -> None:
    for length, such in ((patterns.DEEP, True), (patterns.DEEP + 1, False)):
        text = "\n".join(f"v{at + 1} = Neg({f'v{at}' if at else 'k:const[3]'})" for at in range(length))
        last = nodes(f"{text}\ny = Neg(v{length})")[-1]
        assert KINDS["constant"](last.operand(0), last) is such


def test_made_is_what_a_node_makes_for_a_result_inside_of_the_graph() -> None:
    first, inside, last = nodes("a = Neg(x[3])\nb = Neg(a)\ny = Neg(b)")
    assert [KINDS["made"](each.operand(0), each) for each in (first, inside, last)] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("y[3] = Identity(x[3])", True),
        ("y[3] = Dropout(x[3])", True),
        ("y[3] = Neg(x[3])", False),
        ("y[3] = com.example.Identity(x[3])", False),
        ("y[3] = Cast(x[3], to=1)", True),
        ("y:float16[3] = Cast(x[3], to=10)", False),
        ("y[3] = Add(x[3], k:const[]{0.0})", True),
        ("y[3] = Add(x[3], k:const[1]{0.0})", True),
        ("y[1,3] = Add(x[3], k:const[1,1]{0.0})", False),
        ("y[3] = Add(x[3], k:const[]{1.0})", False),
        ("y[3] = Add(x[3], k[])", False),
        ("y[3] = Mul(x[3], k:const[]{1.0})", True),
        ("y[3] = Mul(x[3], k:const[]{0.0})", False),
    ],
)
def test_a_node_is_taken_away_first(text: str, taken: bool) -> None:
    assert is_identity(node(text)) is taken


def test_a_line_names_operands_in_one_order_or_in_either() -> None:
    one, either = patterns._line("y = Mul(x, s)"), patterns._line("y = Mul(x | s)")
    assert [operand.name for operand in one.operands] == ["x", "s"] == [operand.name for operand in either.operands]
    assert one.orders == ((0, 1),)
    assert either.orders == ((0, 1), (1, 0))
    assert (one.operator, one.results) == (("", "Mul"), ("y",))
    assert patterns._line("y, z = com.microsoft.Op(x)").operator == ("com.microsoft", "Op")
    assert patterns._line("y, z = com.microsoft.Op(x)").results == ("y", "z")


@pytest.mark.parametrize("text", ["y = Mul", "Mul(x)", "y = Mul(x, s"])
def test_what_is_no_line_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a line of a pattern"):
        patterns._line(text)


@pytest.mark.parametrize("text", ["a b", "a:", ""])
def test_what_is_no_operand_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not an operand of a pattern"):
        patterns._operand(text)


@pytest.mark.parametrize(
    ("asked", "text", "is_met"),
    [
        ("s", "y[3] = Mul(x[3], s[3])", True),
        ("s:scalar", "y[3] = Mul(x[3], s[3])", False),
        ("s:scalar", "y[3] = Mul(x[3], s:const[]{7.0})", True),
        ("s:scalar{0.5}", "y[3] = Mul(x[3], s:const[]{0.5})", True),
        ("s:scalar{0.5}", "y[3] = Mul(x[3], s:const[]{0.5004})", True),
        ("s:scalar{0.5}", "y[3] = Mul(x[3], s:const[]{0.4996})", True),
        ("s:scalar{0.5}", "y[3] = Mul(x[3], s:const[]{0.501})", False),
        ("s:scalar{0.5}", "y[3] = Mul(x[3], s:const[]{0.499})", False),
        ("s:scalar{-0.5}", "y[3] = Mul(x[3], s:const[]{-0.5004})", True),
        ("s:scalar{0.5}", "y[3] = Mul(x[3], s:const[])", False),
        ("s:scalar{0.5}", "y[3] = Mul(x[3], s:const[3]{0.5,0.5,0.5})", False),
        ("s{0.5}", "y[3] = Mul(x[3], s[])", False),
    ],
)
def test_a_number_is_met_by_what_half_precision_makes_of_it(asked: str, text: str, is_met: bool) -> None:
    reader = node(text)
    assert met(patterns._operand(asked), reader.operand(1), reader) is is_met
